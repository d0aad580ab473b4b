//! Runs the programs of tools, within limits, and collects their output.

use super::call::PARAMETERS;
use super::manifest::RunSettings;
use super::owner_of;
use gemini_tools_builtin_tools::builtin::{ToolEnv, changes, sandbox, undo_note};
use gemini_tools_core::tool::{Context, ErrorKind, ToolError};
use gemini_tools_process::capture::Capture;
use gemini_tools_process::command::{
    CommandLimits, CommandOutcome, OutputSink, ProgramCommand, StopReason, supervise,
};
use gemini_tools_process::ending::GRACE;
use gemini_tools_process::sandbox::Sandbox;
use gemini_tools_process::terminal::plain_text;
use gemini_tools_settings::trust::Trust;
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::{WorkspacePath, show_path};
use rustix::fd::AsFd;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) const MAX_WHOLE_BYTES: usize = 16 * 1024 * 1024;

/// When more than four times this many bytes of standard error have accumulated, all but the last
/// this many are dropped. The limit is large because standard error may become part of the answer.
const MAX_STDERR_BYTES: usize = MAX_WHOLE_BYTES / 4;

const TAIL_BYTES: usize = 4 * 1024;

/// The variable with a list of files, each with a line break after it: those whose programs have
/// started this process, directly or not. Without it, a discovery command that starts `get_tools`
/// would be started again by it, without end, as would a tool that calls itself.
const RUNNING: &str = "GEMINI_TOOLS_RUNNING";

const MAX_DEPTH: usize = 5;

/// Returns true if this process was started, directly or not, by a program that `file` names.
pub(super) fn is_above(file: &Path) -> bool {
    let running = std::env::var_os(RUNNING).unwrap_or_default();
    let mut files = running.as_bytes().split(|b| *b == b'\n');
    files.any(|above| above == file.as_os_str().as_bytes())
}

/// A program that a tool's file names. `tool` is what messages call it.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) tool: String,
    pub(super) file: PathBuf,
    pub(super) words: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) input: Vec<u8>,
    pub(super) running: RunSettings,
    pub(super) tool_env: ToolEnv,
}

pub(super) fn working_directory(
    running: &RunSettings,
    tool_env: &ToolEnv,
) -> Result<WorkspacePath, ToolError> {
    let workspace = &tool_env.workspace;
    let Some(cwd) = &running.cwd else {
        return Ok(workspace.root_place());
    };
    let place = workspace.locate(cwd)?;
    if !place.path().starts_with(workspace.root()) {
        return Err(ToolError::new(
            ErrorKind::PathNotInWorkspace,
            format!("The tool's cwd {cwd:?} lies outside of the project's root."),
        ));
    }
    Ok(place)
}

impl Program {
    pub(super) fn shell_line(&self, has_input: bool) -> String {
        let words: Vec<_> = self.words.iter().map(|w| show_path(Path::new(w))).collect();
        let line = shlex::try_join(words.iter().map(|word| &**word)).unwrap_or_default();
        if !has_input {
            return line;
        }
        let input = String::from_utf8_lossy(&self.input);
        let input = shlex::try_quote(&input).unwrap_or_default();
        format!("{line} <<< {input}")
    }

    pub(super) fn run(
        &self,
        sink: &mut dyn OutputSink,
        cx: &Context,
        show: &dyn Fn(String),
    ) -> Result<(CommandOutcome, Option<String>), ToolError> {
        let confined = sandbox(&self.tool_env, cx, self.running.sandbox)?;
        let place = working_directory(&self.running, &self.tool_env)?;
        let directory = self.tool_env.workspace.open_dir(&place)?;
        let Some((program, arguments)) = self.words.split_first() else {
            return Err(ToolError::failed("There is nothing to run."));
        };
        let name = || vec![program.to_string_lossy().into_owned()];
        let words = self.words.iter().map(|word| word.to_string_lossy());
        let line = words.collect::<Vec<_>>().join(" ");
        let changes = changes(&self.tool_env, &self.tool, &line, name);
        let mut environment = self.environment.clone();
        environment.push((RUNNING.into(), self.running_below()?));
        let command = ProgramCommand {
            program,
            arguments,
            not_inherited: PARAMETERS,
            environment: &environment,
            input: &self.input,
            directory: directory.as_fd(),
            path: place.path(),
            sandbox: confined.as_ref(),
            changes: changes.as_ref(),
        };
        self.check_trust()?;
        let acting = cx.cancel.acting()?;
        let watched = command
            .start()
            .map_err(|e| self.not_started(program, place.path(), confined.as_ref(), &e))?;
        drop(acting);
        let limits = CommandLimits {
            wall: self.running.timeout,
            idle: None,
            background_after: None,
            hold: None,
        };
        let end = supervise(&watched, sink, limits, &cx.cancel, show);
        if let CommandOutcome::Done {
            has_survivors: true,
            ..
        } = end
        {
            // Processes left running are ended; the result is complete without them.
            watched.end_all(GRACE);
        }
        let undo = undo_note(&watched).map(|note| format!("Undo: {note}"));
        Ok((end, undo))
    }

    fn running_below(&self) -> Result<OsString, ToolError> {
        let mut running = std::env::var_os(RUNNING).unwrap_or_default();
        let depth = running.as_bytes().split(|b| *b == b'\n').count() - 1;
        if depth >= MAX_DEPTH {
            return Err(ToolError::failed(format!(
                "{} was not started: {depth} tools' programs run below each other already.",
                self.tool
            ))
            .with_hint("Perhaps a tool calls itself."));
        }
        running.push(&self.file);
        running.push("\n");
        Ok(running)
    }

    pub(super) fn interrupted(&self, end: CommandOutcome) -> Option<ToolError> {
        let tool = &self.tool;
        let CommandOutcome::Ended { why, left } = end else {
            return None;
        };
        let mut error = match why {
            StopReason::CallOutOfTime(limit) => ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "{tool} was ended with all that it started, because the call had reached its time \
                     limit, {limit}."
                ),
            )
            .with_hint(format!("Narrow the call down, or {}.", limit.advice())),
            StopReason::OutOfTime | StopReason::Idle => ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "{tool} was ended after {} s, its time limit, with all that it started.",
                    self.running.timeout.as_secs_f64()
                ),
            )
            .with_hint("timeout (seconds) in the tool's file sets it."),
            StopReason::Cancelled => ToolError::new(
                ErrorKind::Cancelled,
                format!("{tool} was cancelled and ended."),
            ),
            StopReason::Unwatched => ToolError::failed(format!(
                "{tool} was ended, because the process that watched over it was killed."
            )),
        };
        if left > 0 {
            error.message += &format!(" {left} of its processes could not be ended.");
        }
        Some(error)
    }

    /// Refuses to run a project's program if the project has changed since it was trusted. All
    /// files that need trust count, not only the tool's own, because a program may use the files
    /// beside it.
    fn check_trust(&self) -> Result<(), ToolError> {
        if matches!(owner_of(&self.file, &self.tool_env), FileOwner::Users) {
            return Ok(());
        }
        match self.tool_env.settings.trust.again() {
            Trust::Trusted(_) => Ok(()),
            Trust::Untrusted(why) => Err(ToolError::denied(format!(
                "{} is the project's own, which is not trusted: {why}.",
                self.tool
            ))
            .with_hint("A person can look at it and let it run with: get_tools trust")),
        }
    }

    fn not_started(
        &self,
        program: &OsStr,
        directory: &Path,
        confined: Option<&Sandbox>,
        e: &std::io::Error,
    ) -> ToolError {
        let tool = &self.tool;
        let shown = show_path(Path::new(program));
        let error = |message: String| ToolError::failed(message);
        match e.kind() {
            std::io::ErrorKind::NotFound if shown.contains('/') => error(format!(
                "{tool} could not be started: there is no {shown} (seen from {}), or what its first \
                 line names is not installed.",
                show_path(directory)
            )),
            std::io::ErrorKind::NotFound => error(format!(
                "{tool} could not be started: there is no program {shown:?} on PATH."
            ))
            .with_hint("Install it, or change the tool's file."),
            std::io::ErrorKind::PermissionDenied if confined.is_some() => Sandbox::not_applied(e),
            std::io::ErrorKind::ArgumentListTooLong => error(format!(
                "{tool} could not be started: its arguments are longer than the system allows."
            ))
            .with_hint("Give the tool's file stdin = \"args\", and read them there."),
            _ => error(format!("{tool} could not be started: {shown}: {e}.")),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: Vec<u8>,
    bytes: u64,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 4 * MAX_STDERR_BYTES {
            let from = self.kept.len() - MAX_STDERR_BYTES;
            self.kept.drain(..from);
        }
    }

    pub(super) fn raw(&self) -> &[u8] {
        &self.kept
    }

    /// Returns the end of the stream as text. If something before it is left out, the text starts
    /// after its first line break, if it has one.
    pub(super) fn text(&self) -> String {
        let from = self.kept.len().saturating_sub(TAIL_BYTES);
        let text = plain_text(&self.kept[from..]);
        let text = if self.bytes as usize > TAIL_BYTES {
            let from = text.find('\n').map_or(0, |at| at + 1);
            let left = self.bytes as usize - (text.len() - from);
            format!("[… {left} bytes before are left out]\n{}", &text[from..])
        } else {
            text
        };
        text.trim_end().to_owned()
    }
}

pub(super) struct Streams<'a> {
    pub(super) text: Option<Capture<'a>>,
    pub(super) whole: Vec<u8>,
    pub(super) is_cut: bool,
    pub(super) errors: Tail,
    bytes: u64,
    live: Option<Vec<u8>>,
}

impl<'a> Streams<'a> {
    pub(super) fn new(text: Option<Capture<'a>>, is_live: bool) -> Self {
        Self {
            text,
            whole: Vec::new(),
            is_cut: false,
            errors: Tail::default(),
            bytes: 0,
            live: is_live.then(Vec::new),
        }
    }
}

impl OutputSink for Streams<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Some(text) = &mut self.text {
            return text.push(bytes);
        }
        let room = MAX_WHOLE_BYTES - self.whole.len();
        let fitting = &bytes[..bytes.len().min(room)];
        self.whole.extend_from_slice(fitting);
        self.is_cut |= bytes.len() > room;
    }

    fn push_error(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.errors.push(bytes);
        if let Some(live) = self
            .live
            .as_mut()
            .filter(|live| live.len() < 4 * TAIL_BYTES)
        {
            live.extend_from_slice(bytes);
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn is_full(&self) -> bool {
        self.is_cut
    }

    fn take_live(&mut self) -> Option<String> {
        let live = self.live.as_mut()?;
        let mut text = self
            .text
            .as_mut()
            .and_then(Capture::take_live)
            .unwrap_or_default();
        let errors = std::mem::take(live);
        text.push_str(&plain_text(&errors));
        (!text.is_empty()).then_some(text)
    }
}
