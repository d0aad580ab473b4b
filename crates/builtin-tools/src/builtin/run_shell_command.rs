//! `run_shell_command`: runs a bash command line within limits. If it is ended early, for example
//! at its time limit, so are all processes that it has started. What it leaves running when it ends
//! by itself runs on in the background.

use super::confinement::{changes, sandbox, undo_note};
use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::{
    Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, Limit, Location, OutputUpdate,
    ResultError, ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_environment::variables::seconds_of;
use gemini_tools_process::capture::{Capture, CapturedOutput};
use gemini_tools_process::command::{
    CommandLimits, CommandOutcome, ShellCommand, StopReason, supervise,
};
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::jobs::{JobRecord, Jobs, seconds};
use gemini_tools_process::kept_answers;
use gemini_tools_process::signal_name;
use gemini_tools_process::supervisor::SupervisedProgram;
use gemini_tools_process::tree;
use gemini_tools_process::tree::Identity;
use gemini_tools_shell::analyse;
use gemini_tools_workspace::{WorkspacePath, show_path};
use rustix::fd::AsFd;
use serde::Deserialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "run_shell_command",
    summary: "Runs a line of bash",
    description: "Runs a command with bash -c in the project's root or in 'directory', without a \
        terminal and with nothing on standard input. Answers with the lines Command, Directory, \
        Output (both streams as they came), Error, Exit Code, Signal, Background PIDs and Process \
        Group PGID; kill -- -PGID ends what is left of the group. It is ended after 'timeout' seconds (default 120) with all that it started. Start servers and \
        watchers with is_background: then it answers at once, and read_background_output, \
        list_background_processes and stop_background_process go on with them.",
    info: ToolInfo::new("Shell", Kind::Execute)
        .with_aliases(&["ShellTool"])
        .with_live_output(),
    usage: Usage {
        renamed: &[("dir_path", "directory")],
        paths: &["directory"],
        limits: &[
            Limit::Seconds(DEFAULT_TIMEOUT.as_secs()).of(
                "time, where neither `timeout` nor `GEMINI_TOOLS_SHELL_TIMEOUT` says otherwise",
            ),
            Limit::Seconds(MAX_TIMEOUT.as_secs()).of("the longest `timeout`"),
            Limit::Characters(UNLIMITED_CHARS).of("output with `--output text`"),
        ],
        examples: &[
            "call_tool run_shell_command 'make test' timeout=600 --propagate-status",
            "call_tool run_shell_command 'sleep 60' is_background=true",
        ],
        errors: &[
            ErrorKind::Timeout
                .when("the time limit is reached; every process that the command started is ended"),
            ErrorKind::FileNotFound.when("`directory` does not exist"),
            ErrorKind::PathIsNotADirectory.when("`directory` is a file"),
            ErrorKind::PathNotInWorkspace.when("`directory` is outside"),
            ErrorKind::InvalidToolParams.when("`command` is blank, or `timeout` out of range"),
        ],
        ..Usage::NONE
    },
};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// Time for which a background command is watched before the call returns, so that the answer can
/// say if it fails at once.
const BACKGROUND_DELAY: Duration = Duration::from_millis(150);

const UNLIMITED_CHARS: usize = 1_000_000;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// The command line, for bash -c.
    command: String,
    /// What the command is for, in a few words for the user.
    description: Option<String>,
    /// Directory to run in: absolute, or relative to the project's root. Default: the project's
    /// root.
    directory: Option<String>,
    /// Whether to leave the command running and answer at once. Default: false.
    is_background: Option<bool>,
    /// Seconds after which the command is ended, up to 3600. Default: 120.
    #[cfg_attr(test, schemars(range(max = 3600)), schemars(extend("exclusiveMinimum" = 0)))]
    timeout: Option<f64>,
    /// Whether to show repetitive lines of long output, too. Default: false.
    raw: Option<bool>,
}

/// A call of the tool. `line` is what is run: `command`, or an equivalent line that can be read in
/// one way only, if the policy has set one. `overlooks_timeout` is set for a call in the background
/// with a `timeout`, which has no effect there.
pub(super) struct Call {
    tool_env: ToolEnv,
    command: String,
    line: String,
    description: Option<String>,
    directory: Option<String>,
    place: WorkspacePath,
    limits: CommandLimits,
    is_raw: bool,
    overlooks_timeout: bool,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    if params.command.trim().is_empty() {
        return Err(ToolError::invalid("\"command\" must not be empty.")
            .with_hint("Give a command line such as \"ls -la\"."));
    }
    if params.command.contains('\0') {
        return Err(ToolError::invalid(
            "\"command\" holds a NUL character, which no command line can hold.",
        ));
    }
    let workspace = &tool_env.workspace;
    let place = match &params.directory {
        Some(directory) if !directory.trim().is_empty() => workspace.locate(directory)?,
        _ => workspace.root_place(),
    };
    let is_background = params.is_background.unwrap_or(false);
    let settings = &tool_env.settings;
    let idle = seconds_of("GEMINI_TOOLS_SHELL_IDLE_TIMEOUT");
    let idle = idle.or_else(|| settings.shell_idle_secs.map(Duration::from_secs));
    let wall = match params.timeout {
        Some(secs) => Duration::try_from_secs_f64(secs).unwrap_or(MAX_TIMEOUT),
        None => seconds_of("GEMINI_TOOLS_SHELL_TIMEOUT")
            .filter(|limit| !limit.is_zero())
            .unwrap_or(DEFAULT_TIMEOUT),
    };
    Ok(Call {
        tool_env: tool_env.clone(),
        line: params.command.clone(),
        command: params.command,
        description: params.description.filter(|d| !d.trim().is_empty()),
        directory: params.directory.filter(|d| !d.trim().is_empty()),
        place,
        limits: CommandLimits {
            wall: wall.min(MAX_TIMEOUT),
            idle: idle.filter(|idle| !idle.is_zero()),
            background_after: is_background.then_some(BACKGROUND_DELAY),
            hold: None,
        },
        is_raw: params.raw.unwrap_or(false),
        overlooks_timeout: is_background && params.timeout.is_some(),
    })
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        // A long line is cut here, because the question to the user shows the whole line.
        let command = self.command.trim();
        let mut text = format!("`{}`", excerpt(command, 1_000));
        if let Some(directory) = &self.directory {
            let _ = write!(text, " [in {directory}]");
        }
        if self.limits.background_after.is_some() {
            text.push_str(" [in the background]");
        }
        if let Some(description) = &self.description {
            let _ = write!(text, " ({})", description.trim().replace('\n', " "));
        }
        text
    }

    fn locations(&self) -> Vec<Location> {
        super::locations(&self.place)
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        let analysis = analyse(&self.command);
        let root_commands = analysis.root_commands();
        Ok(Confirmation::Ask(ConfirmationDetails::Exec {
            title: "Confirm shell command".to_owned(),
            command: self.command.clone(),
            root_command: root_commands.first().cloned().unwrap_or_default(),
            root_commands,
            unresolved: analysis.unresolved_with_reason(),
        }))
    }

    fn set_line(&mut self, line: String) {
        self.line = line;
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let workspace = &self.tool_env.workspace;
        // Most calls leave no processes running and don't need the jobs' directory, whose name is a
        // hash that takes time to compute.
        let jobs = || workspace.jobs_dir().map(Jobs::new);
        if self.limits.background_after.is_some() && jobs().is_none() {
            return Err(ToolError::new(
                ErrorKind::ShellExecuteError,
                "There is no home directory to keep a background process's output in.",
            )
            .with_hint("Set HOME, or run the command without is_background."));
        }
        let sandbox = sandbox(&self.tool_env, cx, None)?;
        let directory = workspace
            .open_dir(&self.place)
            .map_err(|e| workspace.with_nearest(e, &self.place))?;
        let programs = || analyse(&self.command).root_commands();
        let changes = changes(&self.tool_env, TOOL.name, &self.command, programs);
        let command = ShellCommand {
            line: &self.line,
            directory: directory.as_fd(),
            path: self.place.path(),
            sandbox: sandbox.as_ref(),
            changes: changes.as_ref(),
        };
        let limit = cx.view.limit_chars.unwrap_or(UNLIMITED_CHARS);
        let mut capture = Capture::new(limit, cx.wants_display, cx.wants_output(), || {
            kept_answers::new_file(&workspace.overflow_dir()?, TOOL.name)
        })
        .condensed(cx.view.condenses && !self.is_raw);
        let acting = cx.cancel.acting()?;
        let supervised = command.start().map_err(|e| self.not_started(&e))?;
        drop(acting);
        let show = |text| cx.update_output(OutputUpdate::Text(text));
        let end = supervise(&supervised, &mut capture, self.limits, &cx.cancel, &show);
        let mut report = Report {
            call: &self,
            leader: supervised.leader,
            ending: None,
            error: None,
            background: Vec::new(),
            log: None,
            undo: None,
        };
        let kind = report.conclude(end, &supervised, &mut capture, jobs, cx);
        report.undo = undo_note(&supervised);
        drop(supervised);
        Ok(report.finish(capture.finish(), kind))
    }
}

impl Call {
    fn not_started(&self, e: &std::io::Error) -> ToolError {
        let error = |message: String| ToolError::new(ErrorKind::ShellExecuteError, message);
        match e.kind() {
            std::io::ErrorKind::NotFound => error("There is no bash on this machine.".to_owned())
                .with_hint("Install bash, or put it on PATH."),
            std::io::ErrorKind::ArgumentListTooLong => error(format!(
                "The command is longer than the system allows ({} bytes).",
                self.command.len()
            ))
            .with_hint("Write it to a file with write_file and run that."),
            _ => error(format!(
                "The command could not be started in {}: {e}.",
                show_path(self.place.path())
            )),
        }
    }

    fn why(&self, why: StopReason, left: usize) -> String {
        let mut text = match why {
            StopReason::OutOfTime => format!(
                "The command was ended after {}, its time limit. Set a larger timeout, or use \
                 is_background for a command that is not meant to end.",
                in_seconds(self.limits.wall)
            ),
            StopReason::CallOutOfTime(limit) => format!(
                "The command was ended, because its call had reached its time limit, {limit}. A \
                 larger timeout can't help: {}, or use is_background for a command that is not \
                 meant to end.",
                limit.advice()
            ),
            StopReason::Idle => format!(
                "The command was ended after {} without output, its idle limit. Use is_background \
                 for a command that is not meant to end.",
                in_seconds(self.limits.idle.unwrap_or_default())
            ),
            StopReason::Cancelled => "The command was cancelled and ended.".to_owned(),
            StopReason::Unwatched => {
                "The process that watched over the command was killed; the command was ended."
                    .to_owned()
            }
        };
        if left > 0 {
            let _ = write!(text, " {left} of its processes could not be ended.");
        }
        text
    }
}

fn in_seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

struct Report<'a> {
    call: &'a Call,
    leader: i32,
    ending: Option<ProcessEnd>,
    error: Option<String>,
    background: Vec<Identity>,
    log: Option<PathBuf>,
    undo: Option<String>,
}

impl Report<'_> {
    /// Records how the command ended. If processes of it still run, tries to leave them running in
    /// the background. Returns the kind of the call's error: `None` if the command ended by itself,
    /// with whatever status, or goes on in the background.
    fn conclude(
        &mut self,
        outcome: CommandOutcome,
        supervised: &SupervisedProgram,
        capture: &mut Capture<'_>,
        jobs: impl FnOnce() -> Option<Jobs>,
        cx: &Context,
    ) -> Option<ErrorKind> {
        match outcome {
            CommandOutcome::Done {
                ending,
                has_survivors,
                ..
            } => {
                self.ending = Some(ending);
                if has_survivors {
                    self.leave(supervised, capture, jobs());
                }
                None
            }
            CommandOutcome::Background => {
                if self.leave(supervised, capture, jobs()) {
                    return None;
                }
                if self.error.is_none() {
                    let limits = CommandLimits {
                        background_after: None,
                        ..self.call.limits
                    };
                    let end = supervise(supervised, capture, limits, &cx.cancel, &|_| {});
                    self.ending = end.ending();
                    return None;
                }
                // No later call could find the processes, so they are ended instead of left
                // running.
                Some(ErrorKind::ShellExecuteError)
            }
            CommandOutcome::Ended { why, left } => {
                self.error = Some(self.call.why(why, left));
                Some(match why {
                    StopReason::OutOfTime | StopReason::CallOutOfTime(_) | StopReason::Idle => {
                        ErrorKind::Timeout
                    }
                    StopReason::Cancelled => ErrorKind::Cancelled,
                    StopReason::Unwatched => ErrorKind::ShellExecuteError,
                })
            }
        }
    }

    fn leave(
        &mut self,
        supervised: &SupervisedProgram,
        capture: &mut Capture<'_>,
        jobs: Option<Jobs>,
    ) -> bool {
        // The record lets later calls find the processes that still run.
        let living = tree::watched(supervised.supervisor, supervised.leader);
        if living.is_empty() {
            return false;
        }
        let record = JobRecord {
            processes: living.clone(),
            session: self.leader,
            supervisor: Identity::find(supervised.supervisor),
            boot_id: tree::boot_id(),
            command: self.call.command.clone(),
            directory: show_path(self.call.place.path()).into_owned(),
            conversation: self.call.tool_env.workspace.seen().conversation(),
            started_at: seconds(SystemTime::now()),
        };
        if let Some(directory) = self.call.tool_env.workspace.overflow_dir() {
            kept_answers::make_room(&directory);
        }
        let files = jobs.map(|jobs| jobs.create(&record, |log| capture.write_whole(log)));
        if let Some(Err(e)) = &files {
            self.error = Some(format!("The background output can't be kept: {e}."));
            if self.call.limits.background_after.is_some() {
                return false;
            }
        }
        let files = files.and_then(Result::ok);
        let stays = match &files {
            Some(files) => supervised.detach(&files.record, &files.log),
            // Without a record, no later call can find the processes. They run on all the same,
            // because the command has left them running on purpose.
            None => supervised.detach_unrecorded(),
        };
        if let Err(e) = stays {
            // Only the record is removed. The file with the output is removed later, like other old
            // files.
            if let Some(files) = files {
                files.forget_job();
            }
            // If processes still run, the supervisor has failed to let go of them.
            if !tree::watched(supervised.supervisor, supervised.leader).is_empty() {
                let e = std::io::Error::from(e);
                self.error = Some(format!("The background output can't be kept: {e}."));
            }
            return false;
        }
        self.log = files.map(|files| files.log);
        self.ending = self
            .ending
            .or_else(|| supervised.ended_meanwhile().map(ProcessEnd::from));
        self.background = living;
        true
    }

    fn finish(self, captured: CapturedOutput, kind: Option<ErrorKind>) -> ToolResult {
        let text = self.lines(&captured.text);
        let short = self.short_lines(&captured.text);
        let mut result = ToolResult::text(text.as_str()).with_data("bytes", captured.bytes);
        let start = self.before_output().len();
        result.view.command_output = Some(start..start + captured.text.len());
        if let Some(coloured) = &captured.coloured {
            result.view.terminal_text = Some(self.lines(coloured.trim_end()));
        }
        let display = match (&self.error, captured.text.is_empty()) {
            (_, false) => captured.coloured.unwrap_or(captured.text),
            (Some(error), true) => error.clone(),
            (None, true) => self.summary(),
        };
        result.return_display = display.into();
        result.view.is_limited = true;
        result.view.short_text = Some(short);
        match self.ending {
            Some(ProcessEnd::Code(code)) => result = result.with_data("exitCode", code),
            Some(ProcessEnd::Signal(signal)) => result = result.with_data("signal", signal),
            None => {}
        }
        if let Some(file) = &captured.file {
            result = result.with_data("outputFile", show_path(file).into_owned());
        }
        if let Some(kind) = kind {
            result.error = Some(ResultError {
                message: text,
                kind: Some(kind),
            });
        }
        result
    }

    fn summary(&self) -> String {
        match self.ending {
            Some(ProcessEnd::Code(0)) => String::new(),
            Some(ProcessEnd::Code(code)) => format!("Command exited with code: {code}"),
            Some(ProcessEnd::Signal(signal)) => {
                format!("Command terminated by signal: {}", signal_name(signal))
            }
            None => format!("Running in the background with process id {}", self.leader),
        }
    }

    fn before_output(&self) -> String {
        let directory = self.call.directory.as_deref().unwrap_or("(root)");
        let command = &self.call.command;
        format!("Command: {command}\nDirectory: {directory}\nOutput: ")
    }

    fn lines(&self, output: &str) -> String {
        let mut text = self.before_output() + or_empty(output);
        for (label, value) in self.after_output() {
            let value = value.unwrap_or_else(|| "(none)".to_owned());
            let _ = write!(text, "\n{label}: {value}");
        }
        self.push_notes(&mut text);
        text
    }

    /// Returns the output and only those lines below it that say something, as Gemini CLI 0.61
    /// does: the exit code unless it is 0, and the process group only if processes of it may still
    /// run.
    fn short_lines(&self, output: &str) -> String {
        let mut text = format!("Output: {}", or_empty(output));
        for (label, value) in self.after_output() {
            let says_something = match label {
                "Exit Code" => !matches!(self.ending, Some(ProcessEnd::Code(0))),
                "Process Group PGID" => !self.background.is_empty() || self.error.is_some(),
                _ => true,
            };
            if let Some(value) = value.filter(|_| says_something) {
                let _ = write!(text, "\n{label}: {value}");
            }
        }
        self.push_notes(&mut text);
        text
    }

    fn after_output(&self) -> [(&'static str, Option<String>); 5] {
        let (code, signal) = match self.ending {
            Some(ProcessEnd::Code(code)) => (Some(code.to_string()), None),
            Some(ProcessEnd::Signal(signal)) => (None, Some(signal_name(signal))),
            None => (None, None),
        };
        let pids: Vec<_> = self.background.iter().map(|p| p.pid.to_string()).collect();
        [
            ("Error", self.error.clone()),
            ("Exit Code", code),
            ("Signal", signal),
            (
                "Background PIDs",
                (!pids.is_empty()).then(|| pids.join(", ")),
            ),
            ("Process Group PGID", Some(self.leader.to_string())),
        ]
    }

    fn push_notes(&self, text: &mut String) {
        if let (Some(log), Some(first)) = (&self.log, self.background.first()) {
            let _ = write!(
                text,
                "\nBackground Output: {} (see read_background_output with pid {})",
                log.display(),
                first.pid
            );
        }
        if let Some(undo) = &self.undo {
            let _ = write!(text, "\nUndo: {undo}");
        }
        if let (true, Some(first)) = (self.call.overlooks_timeout, self.background.first()) {
            let _ = write!(
                text,
                "\nTime Limit: (none), because timeout does not count with is_background; end it \
                 with stop_background_process and pid {}",
                first.pid
            );
        }
    }
}

fn or_empty(output: &str) -> &str {
    if output.is_empty() { "(empty)" } else { output }
}
