//! A tool that somebody has added: its call, checked before anything is started, and run under
//! a warden like every command.

use super::Shared;
use super::manifest::{Action, Manifest, Output, Stdin, variable};
use super::outcome;
use super::words::text_of;
use crate::builtin::{Surroundings, sandbox};
use crate::commands::analyse;
use crate::process::capture::{Capture, Captured};
use crate::process::command::{End, Limits, ProgramCommand, Why, supervise_both};
use crate::process::signal_name;
use crate::process::warden::Ending;
use crate::shown::show_path;
use crate::tool::{
    Args, Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, LiveOutput, Location,
    Schema, Tool, ToolError, ToolInvocation, ToolResult,
};
use crate::workspace::Place;
use rustix::fd::AsFd;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most characters of output where the caller does not limit the answer.
const UNLIMITED_CHARS: usize = 1_000_000;

/// The most bytes of output that is read as JSON.
const MAX_JSON: usize = 64 * 1024 * 1024;

/// How much of what a failed program has printed goes into the error, in characters.
const TAIL_CHARS: usize = 4000;

/// The longest value of a variable that every system takes, in bytes.
const MAX_VARIABLE: usize = 100_000;

/// A tool that the user or the project has added.
#[derive(Debug, Clone)]
pub(super) struct CustomTool {
    name: String,
    path: PathBuf,
    manifest: Shared,
    schema: Schema,
    surroundings: Surroundings,
}

impl CustomTool {
    pub(super) fn new(
        name: String,
        path: PathBuf,
        manifest: Manifest,
        surroundings: &Surroundings,
    ) -> Self {
        Self {
            name,
            path,
            schema: Schema::from_value(manifest.parameters.clone()),
            manifest: Arc::new(manifest),
            surroundings: surroundings.clone(),
        }
    }

    /// Whether its result may ask for another tool.
    pub(super) fn may_call_others(&self) -> bool {
        self.manifest.output == Output::ToolResult
    }

    /// The directory of the tool's file, absolute.
    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    fn words(&self, args: &Map<String, Value>) -> Result<Vec<OsString>, ToolError> {
        match &self.manifest.action {
            Action::Command(template) => template.expand(args, self.directory()),
            Action::Script(script) => Ok(["bash", "-c", "--", script].map(OsString::from).to_vec()),
            Action::Itself => Ok(vec![self.path.clone().into()]),
        }
    }

    /// What the program finds in its environment. Parameters that are not given are taken away,
    /// so that none of the caller's is taken for one.
    fn variables(&self, args: &Map<String, Value>) -> Vec<(OsString, Option<OsString>)> {
        let mut list: Vec<(OsString, Option<OsString>)> = vec![
            ("GEMINI_TOOL_NAME".into(), Some(self.name.clone().into())),
            ("GEMINI_TOOL_DIR".into(), Some(self.directory().into())),
            (
                "GEMINI_PROJECT_DIR".into(),
                Some(self.surroundings.workspace.root().into()),
            ),
        ];
        let own = self.manifest.env.iter();
        list.extend(own.map(|(name, value)| (name.into(), Some(value.into()))));
        let declared = self.schema.value().get("properties");
        let declared = declared.and_then(Value::as_object).into_iter().flatten();
        list.extend(declared.map(|(name, _)| {
            let value = args.get(name).filter(|value| !value.is_null());
            let value = value.map(text_of).filter(|text| text.len() <= MAX_VARIABLE);
            (variable(name).into(), value.map(OsString::from))
        }));
        list
    }
}

impl Tool for CustomTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn display_name(&self) -> &str {
        self.manifest.display_name.as_deref().unwrap_or(&self.name)
    }

    fn description(&self) -> &str {
        &self.manifest.description
    }

    fn kind(&self) -> Kind {
        self.manifest.kind
    }

    fn parameters(&self) -> &Schema {
        &self.schema
    }

    fn can_update_output(&self) -> bool {
        self.manifest.streaming
    }

    fn is_read_only(&self) -> bool {
        self.manifest.read_only
    }

    fn build(&self, args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        let args = args.for_program(&self.schema)?;
        check_characters(&args, &self.manifest)?;
        let words = self.words(&args)?;
        let workspace = &self.surroundings.workspace;
        let place = match &self.manifest.cwd {
            Some(cwd) => workspace.locate(cwd)?,
            None => workspace.root_place(),
        };
        let input = match &self.manifest.stdin {
            Stdin::Nothing => Vec::new(),
            Stdin::Args => Value::Object(args.clone()).to_string().into_bytes(),
            Stdin::Param(name) => match args.get(name) {
                None | Some(Value::Null) => Vec::new(),
                Some(value) => text_of(value).into_bytes(),
            },
        };
        Ok(Box::new(Call {
            variables: self.variables(&args),
            tool: self.clone(),
            args,
            words,
            place,
            input,
        }))
    }
}

/// What neither words nor variables can hold.
fn check_characters(args: &Map<String, Value>, manifest: &Manifest) -> Result<(), ToolError> {
    for (name, value) in args {
        let text = text_of(value);
        let has_null = text.contains('\0')
            || value
                .as_array()
                .is_some_and(|list| list.iter().any(|item| text_of(item).contains('\0')));
        if has_null {
            return Err(ToolError::invalid(format!(
                "\"{name}\" holds a NUL character, which a program can't be given."
            )));
        }
        let is_elsewhere = manifest.stdin == Stdin::Args
            || manifest.stdin == Stdin::Param(name.clone())
            || matches!(manifest.action, Action::Command(_));
        if text.len() > MAX_VARIABLE && !is_elsewhere {
            return Err(ToolError::invalid(format!(
                "\"{name}\" is {} bytes long; a variable of the environment holds at most \
                 {MAX_VARIABLE}.",
                text.len()
            ))
            .with_hint("Give less. Who wrote the tool can set stdin = \"args\" for more."));
        }
    }
    Ok(())
}

struct Call {
    tool: CustomTool,
    args: Map<String, Value>,
    words: Vec<OsString>,
    variables: Vec<(OsString, Option<OsString>)>,
    place: Place,
    input: Vec<u8>,
}

impl Call {
    /// What is run, as a line that a shell would run in the same way.
    fn line(&self) -> String {
        let is_told = !matches!(self.tool.manifest.action, Action::Command(_));
        let variables = self
            .args
            .iter()
            .filter(|_| is_told)
            .map(|(name, value)| format!("{}={}", variable(name), quoted(&text_of(value))));
        let words = self
            .words
            .iter()
            .map(|word| quoted(&word.to_string_lossy()));
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }

    fn not_started(&self, e: &std::io::Error) -> ToolError {
        let name = &self.tool.name;
        let program = self.words.first().map(|word| word.to_string_lossy());
        let program = program.unwrap_or_default();
        let error = |what: String| ToolError::new(ErrorKind::ExecutionFailed, what);
        match (e.kind(), e.raw_os_error()) {
            (std::io::ErrorKind::NotFound, _) => error(format!(
                "The tool {name} can't be started: there is no program {program:?}, or not what \
                 its #! line names."
            ))
            .with_hint(format!(
                "Install it, or change {}.",
                show_path(&self.tool.path)
            )),
            (_, Some(libc::ENOEXEC)) => error(format!(
                "The tool {name} can't be started: {program} does not begin with a #! line."
            ))
            .with_hint("Begin it with a line such as #!/usr/bin/env python3."),
            (std::io::ErrorKind::ArgumentListTooLong, _) => error(format!(
                "The tool {name} can't be started: its arguments are longer than the system allows."
            ))
            .with_hint("Give less at once."),
            _ => error(format!("The tool {name} can't be started: {program}: {e}.")),
        }
    }

    /// Why a call has no result.
    fn failure(&self, end: End, output: &Captured, errors: &Captured) -> Option<ToolError> {
        let name = &self.tool.name;
        let (kind, mut message) = match end {
            End::Done {
                ending: Ending::Code(code),
                ..
            } => {
                if self.tool.manifest.success_statuses.contains(&code) {
                    return None;
                }
                let what = format!("The tool {name} failed with exit status {code}.");
                (ErrorKind::ExecutionFailed, what)
            }
            End::Done {
                ending: Ending::Signal(signal),
                ..
            } => (
                ErrorKind::ExecutionFailed,
                format!("The tool {name} was ended by {}.", signal_name(signal)),
            ),
            End::Ended { why, left } => self.ended(why, left),
            End::Background => return None,
        };
        for (what, captured) in [("Standard error", errors), ("Output", output)] {
            if !captured.text.is_empty() {
                message.push_str(&format!("\n{what}:\n{}", tail(&captured.text)));
            }
        }
        Some(ToolError::new(kind, message))
    }

    fn ended(&self, why: Why, left: usize) -> (ErrorKind, String) {
        let name = &self.tool.name;
        let secs = self.tool.manifest.timeout.as_secs_f64();
        let (kind, mut text) = match why {
            Why::OutOfTime | Why::Idle => (
                ErrorKind::Timeout,
                format!(
                    "The tool {name} was ended at its time limit, with all that it had started \
                     (timeout = {secs} in {}, or the caller's own).",
                    show_path(&self.tool.path)
                ),
            ),
            Why::Cancelled => (
                ErrorKind::Cancelled,
                format!("The tool {name} was cancelled and ended."),
            ),
            Why::Unwatched => (
                ErrorKind::ExecutionFailed,
                format!("The process that watched over {name} was killed; the tool was ended."),
            ),
        };
        if left > 0 {
            text.push_str(&format!(" {left} of its processes could not be ended."));
        }
        (kind, text)
    }
}

/// A word as a shell would have to be given it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The end of a text: what is said last tells most.
fn tail(text: &str) -> String {
    let skip = text.chars().count().saturating_sub(TAIL_CHARS);
    if skip == 0 {
        return text.to_owned();
    }
    let from = text.char_indices().nth(skip).map_or(0, |(at, _)| at);
    let end = &text[from..];
    let end = end.split_once('\n').map_or(end, |(_, rest)| rest);
    format!("[…]\n{end}")
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let manifest = &self.tool.manifest;
        let name = self.tool.display_name();
        let line = match &manifest.action {
            Action::Command(_) => self.line(),
            _ => Value::Object(self.args.clone()).to_string(),
        };
        format!("{name}: `{line}`")
    }

    fn locations(&self) -> Vec<Location> {
        vec![Location {
            path: self.place.path().to_owned(),
            line: None,
        }]
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        let manifest = &self.tool.manifest;
        if manifest.read_only {
            return Ok(Confirmation::NotNeeded);
        }
        let (root_commands, unresolved) = if let Action::Script(script) = &manifest.action {
            let analysis = analyse(script);
            (analysis.root_commands(), analysis.unresolved)
        } else {
            let program = self.words.first().map(Path::new);
            let name = program.and_then(Path::file_name).unwrap_or_default();
            (vec![name.to_string_lossy().into_owned()], Vec::new())
        };
        Ok(Confirmation::Ask(ConfirmationDetails::Exec {
            title: format!("Confirm {}", self.tool.display_name()),
            command: self.line(),
            root_command: root_commands.first().cloned().unwrap_or_default(),
            root_commands,
            unresolved,
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let manifest = &self.tool.manifest;
        let workspace = &self.tool.surroundings.workspace;
        let sandbox = sandbox(&self.tool.surroundings, manifest.sandbox)?;
        let directory = workspace.open_dir(&self.place)?;
        let command = ProgramCommand {
            words: &self.words,
            variables: &self.variables,
            input: &self.input,
            directory: directory.as_fd(),
            path: self.place.path(),
            sandbox: sandbox.as_ref(),
        };
        let is_live = manifest.streaming && cx.wants_output();
        let mut output = if manifest.output == Output::Text {
            let limit = cx.limit_chars.unwrap_or(UNLIMITED_CHARS);
            Capture::new(limit, cx.wants_display, is_live, || {
                workspace.spill_path(&self.tool.name)
            })
        } else {
            Capture::new(TAIL_CHARS, false, is_live, || None).with_raw(MAX_JSON)
        };
        let mut errors = Capture::new(TAIL_CHARS, false, false, || None);
        let (watched, fd) = command.start().map_err(|e| self.not_started(&e))?;
        let limits = Limits {
            wall: manifest.timeout,
            idle: None,
            background_after: None,
        };
        let show = |text| cx.update_output(LiveOutput::Text(text));
        let both = Some((fd, &mut errors));
        let end = supervise_both(&watched, &mut output, both, limits, &cx.cancel, &show);
        // What it has started ends with it.
        drop(watched);
        let (output, errors) = (output.finish(), errors.finish());
        let failure = self.failure(end, &output, &errors);
        outcome::result(&self.tool.name, manifest.output, output, failure)
    }
}
