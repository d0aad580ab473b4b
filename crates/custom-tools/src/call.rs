//! A custom tool, and a validated call of one that is defined by a manifest or a script.

use super::catalogue::{ToolEntry, definition};
use super::files::is_executable;
use super::keys::Output;
use super::manifest::{Action, Definition, Manifest, Stdin};
use super::output::{self, Printed};
use super::run::{MAX_WHOLE_BYTES, Program, Streams, working_directory};
use super::words::Bindings;
use super::{env, pair};
use gemini_tools_builtin_tools::builtin::ToolEnv;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::names::with_underscores;
use gemini_tools_core::tool::{
    Args, Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, Location, OutputUpdate,
    ResultError, Schema, Tool, ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_process::capture::{Capture, CapturedOutput};
use gemini_tools_process::command::CommandOutcome;
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::kept_answers;
use gemini_tools_process::terminal::plain_text;
use gemini_tools_shell::analyse;
use gemini_tools_workspace::{WorkspacePath, show_path};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

const UNLIMITED_CHARS: usize = 1_000_000;

const FAILURE_CHARS: usize = 4_000;

/// Maximum number of times that a call asks its client, since its time limit does not count
/// meanwhile.
const MAX_ROUNDS: usize = 10;

/// A longer value is not put into an environment variable. Linux allows 128 KiB for one.
pub(super) const MAX_VARIABLE_BYTES: usize = 100_000;

/// A tool of a manifest, of a script, or of a pair of commands that a file names. The tool's
/// declaration is parsed only when it is needed.
#[derive(Debug)]
pub(super) struct CustomTool {
    listed: ToolEntry,
    tool_env: ToolEnv,
    declared: OnceLock<(String, Schema)>,
}

impl Tool for CustomTool {
    fn name(&self) -> &str {
        &self.listed.name
    }

    fn description(&self) -> &str {
        &self.declared().0
    }

    fn parameters(&self) -> &Schema {
        &self.declared().1
    }

    fn info(&self) -> ToolInfo<'_> {
        let listed = &self.listed;
        let mut info = ToolInfo::new(&listed.display_name, listed.kind).checking_arguments();
        info.is_read_only = listed.read_only;
        info.is_idempotent = listed.read_only;
        info.is_open_world = !listed.read_only || listed.kind == Kind::Fetch;
        info.can_update_output = listed.streaming;
        info.is_prompt = listed.prompt;
        info.resource = listed.resource.as_deref();
        info
    }

    fn usage(&self) -> Usage<'_> {
        Usage {
            file: Some(&self.listed.file),
            ..Usage::default()
        }
    }

    fn build(&self, args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        let listed = &self.listed;
        match self.definition()? {
            Definition::Tool(manifest) => {
                let args = args.filled(&manifest.declared.arguments())?;
                let call = Call::new(*manifest, args, listed, &self.tool_env)?;
                Ok(Box::new(call))
            }
            // Here, missing arguments are not replaced by their defaults: that is left to the call
            // command.
            Definition::Pair(pair) => {
                let args = Value::Object(args.as_map().clone());
                self.parameters().validate(&args)?;
                pair::call(*pair, &args, listed, &self.tool_env)
            }
        }
    }
}

impl CustomTool {
    pub(super) fn new(listed: ToolEntry, tool_env: ToolEnv) -> Self {
        Self {
            listed,
            tool_env,
            declared: OnceLock::new(),
        }
    }

    fn declared(&self) -> &(String, Schema) {
        self.declared.get_or_init(|| {
            let mut value: Value = serde_json::from_str(&self.listed.json).unwrap_or_default();
            let description = value["description"].as_str().unwrap_or_default().to_owned();
            let schema = value["parametersJsonSchema"].take();
            let whole = self.listed.whole.as_deref();
            let whole = whole.and_then(|text| serde_json::from_str(text).ok());
            (description, Schema::from_value(schema).checked_by(whole))
        })
    }

    /// Reads the tool's file again, since it may have changed after it was listed.
    fn definition(&self) -> Result<Definition, ToolError> {
        let file = &self.listed.file;
        let owner = super::owner_of(file, &self.tool_env);
        let is_executable = is_executable(file, owner);
        match definition(file, owner, is_executable) {
            Some(Ok((definition, _))) => Ok(definition),
            Some(Err(findings)) => {
                let texts: Vec<String> = findings.iter().map(Diagnostic::text).collect();
                Err(ToolError::failed(texts.join("\n")))
            }
            None => Err(ToolError::new(
                ErrorKind::ToolNotRegistered,
                format!("{} defines no tool any more.", show_path(file)),
            )),
        }
    }
}

struct Call {
    manifest: Manifest,
    args: Map<String, Value>,
    place: WorkspacePath,
    program: Program,
}

impl Call {
    fn new(
        manifest: Manifest,
        args: Map<String, Value>,
        listed: &ToolEntry,
        tool_env: &ToolEnv,
    ) -> Result<Self, ToolError> {
        let place = working_directory(&manifest.running, tool_env)?;
        let root = tool_env.workspace.root();
        let directory = listed.file.parent().unwrap_or(root);
        let filling = Bindings {
            args: &args,
            directory,
            root,
            guards_options: true,
        };
        let words = match &manifest.action {
            Action::Command(template) => template.fill(filling)?,
            Action::Script(script, template) => {
                let plain = Bindings {
                    guards_options: false,
                    ..filling
                };
                let mut words: Vec<OsString> = vec!["bash".into(), "-c".into(), "--".into()];
                words.push(script.into());
                words.push(listed.name.clone().into());
                words.extend(template.fill(plain)?);
                words
            }
            Action::File(before) => before
                .iter()
                .map(OsString::from)
                .chain([listed.file.clone().into_os_string()])
                .collect(),
        };
        let mut environment = env::expanded(&manifest.running.env)?;
        if !matches!(manifest.action, Action::Command(_)) {
            environment.extend(parameters(&manifest, &args, &listed.file)?);
        }
        environment.extend(env::places(&listed.name, directory, root));
        let input = match &manifest.stdin {
            Stdin::Nothing => Vec::new(),
            Stdin::Arguments => Value::Object(args.clone()).to_string().into_bytes(),
            Stdin::Parameter(name) => match args.get(name) {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::String(text)) => text.clone().into_bytes(),
                Some(other) => other.to_string().into_bytes(),
            },
        };
        let program = Program {
            tool: manifest.declared.name.clone(),
            file: listed.file.clone(),
            words,
            environment,
            input,
            running: manifest.running.clone(),
            tool_env: tool_env.clone(),
        };
        Ok(Self {
            manifest,
            args,
            place,
            program,
        })
    }

    /// Formats the command as a shell would accept it, for the user to approve. For a script,
    /// returns its text, with the arguments as a comment.
    fn command_line(&self) -> String {
        let args = Value::Object(self.args.clone());
        if let Action::Script(script, _) = &self.manifest.action {
            return format!("{}\n# {args}", script.trim_end());
        }
        let has_input = self.manifest.stdin != Stdin::Nothing;
        let mut line = self.program.shell_line(has_input);
        // The arguments are in the environment, so they are shown as a comment.
        if matches!(self.manifest.action, Action::File(_))
            && self.manifest.stdin != Stdin::Arguments
        {
            line.push_str(&format!("\n# {args}"));
        }
        line
    }

    fn report(&self, mut streams: Streams<'_>, end: CommandOutcome) -> Result<Printed, ToolError> {
        let name = &self.program.tool;
        let captured = streams.text.take().map(Capture::finish);
        let errors = streams.errors.text();
        let printed = |captured: Option<&CapturedOutput>| match captured {
            Some(captured) => end_of(&captured.text, captured.bytes, captured.file.as_deref()),
            None => end_of(
                &plain_text(&streams.whole),
                streams.whole.len() as u64,
                None,
            ),
        };
        let failure = |message: String| Err(ToolError::failed(message));
        if streams.is_cut {
            return failure(format!(
                "{name} printed more than {MAX_WHOLE_BYTES} bytes and was ended: that is too much \
                 for \"output\" other than \"text\"."
            ));
        }
        if let Some(error) = self.program.interrupted(end) {
            let output = captured.map(|c| printed(Some(&c))).unwrap_or_default();
            let message = with_streams(&error.to_string(), &errors, &output);
            return Ok(of_result(failed(message, error.kind)));
        }
        let ending = end.ending();
        let with_code = |result: ToolResult| match ending {
            Some(ProcessEnd::Code(code)) => result.with_data("exitCode", code),
            Some(ProcessEnd::Signal(signal)) => result.with_data("signal", signal),
            None => result,
        };
        let codes = &self.manifest.success;
        if !matches!(ending, Some(ProcessEnd::Code(code)) if codes.contains(&code)) {
            if self.manifest.output == Output::ToolResult
                && let Ok(Printed::Result(result)) = output::printed(&streams.whole)
                && result.error.is_some()
            {
                // The printed result contains the error, so it is returned as it is.
                return Ok(Printed::Result(result));
            }
            let how = ending.map_or_else(|| "no ending".to_owned(), |ending| ending.to_string());
            let first = format!("{name} failed with {how}.");
            let message = with_streams(&first, &errors, &printed(captured.as_ref()));
            return Ok(of_result(with_code(failed(
                message,
                ErrorKind::ExecutionFailed,
            ))));
        }
        let result = match (self.manifest.output, captured) {
            (Output::Text, Some(captured)) => {
                return Ok(of_result(with_code(text_result(captured, errors))));
            }
            (Output::ToolResult, _) => output::printed(&streams.whole),
            (Output::Json | Output::Text, _) => output::of_json(&streams.whole).map(of_result),
        };
        result.or_else(|reason| {
            let first = format!("What {name} printed can't be used: {reason}");
            failure(with_streams(&first, &errors, &printed(None)))
        })
    }
}

fn of_result(result: ToolResult) -> Printed {
    Printed::Result(Box::new(result))
}

/// Returns the result of a program that prints text. If it prints nothing, standard error is used,
/// since many programs write there what others write to standard output.
fn text_result(captured: CapturedOutput, errors: String) -> ToolResult {
    let text = match captured.text {
        text if text.is_empty() => errors,
        text => text,
    };
    let mut result = ToolResult::text(text.as_str()).with_display(text);
    result.view.terminal_text = captured.coloured.filter(|c| !c.trim().is_empty());
    result.view.is_limited = true;
    if let Some(file) = captured.file {
        result = result.with_data("outputFile", show_path(&file).into_owned());
    }
    result
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let args = Value::Object(self.args.clone()).to_string();
        match &self.manifest.action {
            Action::Command(_) => format!("`{}`", self.command_line().replace('\n', " ")),
            _ => format!("{} `{args}`", self.manifest.entry.display_name),
        }
    }

    fn locations(&self) -> Vec<Location> {
        vec![self.place.path().into()]
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        if self.manifest.entry.read_only {
            return Ok(Confirmation::NotNeeded);
        }
        let (root_commands, unresolved) = match &self.manifest.action {
            Action::Script(script, _) => {
                let analysis = analyse(script);
                (analysis.root_commands(), analysis.unresolved_with_reason())
            }
            _ => (
                vec![show_path(Path::new(&self.program.words[0])).into_owned()],
                Vec::new(),
            ),
        };
        Ok(Confirmation::Ask(ConfirmationDetails::Exec {
            title: format!("Confirm {}", self.manifest.entry.display_name),
            command: self.command_line(),
            root_command: root_commands.first().cloned().unwrap_or_default(),
            root_commands,
            unresolved,
        }))
    }

    fn run(mut self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let mut given = cx.input.as_ref().and_then(|input| input.given());
        let fixed = self.program.environment.len();
        let mut rounds = 0;
        loop {
            self.program.environment.truncate(fixed);
            if let Some(given) = &given {
                self.program.environment.extend(env::given(given)?);
            }
            let (printed, undo) = self.run_once(cx)?;
            let wanted = match printed {
                Printed::Wanted(wanted) => wanted,
                Printed::Result(mut result) => {
                    if let Some(undo) = undo {
                        result.llm_content.push_line(&undo);
                    }
                    return Ok(*result);
                }
            };
            cx.cancel.check()?;
            if rounds == MAX_ROUNDS {
                return Err(ToolError::failed(format!(
                    "{} has asked its client {MAX_ROUNDS} times, and asks again.",
                    self.program.tool
                ))
                .with_hint("What was answered is in GEMINI_TOOL_INPUT."));
            }
            rounds += 1;
            let Some(input) = &cx.input else {
                return Err(ToolError::failed(format!(
                    "{} asks its client for {}, and only clients of the Model Context Protocol can be asked.",
                    self.program.tool,
                    wanted.requests.keys().cloned().collect::<Vec<_>>().join(", ")
                ))
                .with_hint("Call it by serve_tools, in a host whose user can be asked."));
            };
            given = Some(input.ask(wanted)?);
        }
    }
}

impl Call {
    fn run_once(&self, cx: &Context) -> Result<(Printed, Option<String>), ToolError> {
        let limit = cx.view.limit_chars.unwrap_or(UNLIMITED_CHARS);
        let is_live = self.manifest.entry.streaming && cx.wants_output();
        let program = &self.program;
        let text = (self.manifest.output == Output::Text).then(|| {
            Capture::new(limit, cx.wants_display, is_live, || {
                let directory = program.tool_env.workspace.overflow_dir()?;
                kept_answers::new_file(&directory, &program.tool)
            })
            .condensed(cx.view.condenses)
        });
        let mut streams = Streams::new(text, is_live);
        let show = |text| cx.update_output(OutputUpdate::Text(text));
        let (end, undo) = program.run(&mut streams, cx, &show)?;
        Ok((self.report(streams, end)?, undo))
    }
}

pub(super) fn failed(message: String, kind: ErrorKind) -> ToolResult {
    let mut result = ToolResult::text(message.as_str()).with_display(message.clone());
    result.error = Some(ResultError {
        message,
        kind: Some(kind),
    });
    result
}

fn with_streams(message: &str, errors: &str, output: &str) -> String {
    let mut text = message.to_owned();
    for (title, stream) in [("Standard error", errors), ("Standard output", output)] {
        if !stream.trim().is_empty() {
            text.push_str(&format!("\n{title}:\n{}", stream.trim_end()));
        }
    }
    if errors.trim().is_empty() && output.trim().is_empty() {
        text.push_str(" It printed nothing.");
    }
    text
}

/// Returns the end of an output of `bytes`, which `file` holds as a whole.
fn end_of(text: &str, bytes: u64, file: Option<&Path>) -> String {
    let text = text.trim();
    let Some((before, c)) = text.char_indices().nth_back(FAILURE_CHARS) else {
        return text.to_owned();
    };
    let end = &text[before + c.len_utf8()..];
    let left = bytes.saturating_sub(end.len() as u64);
    let whole = file.map(|file| format!("; the whole is in {}", show_path(file)));
    let whole = whole.unwrap_or_default();
    format!("[… {left} bytes before are left out{whole}]\n{end}")
}

/// The prefix of the environment variables in which a tool gets its arguments. Variables with this
/// prefix that this process has inherited are not passed on, because the tool would take them for
/// checked arguments of its own.
pub(super) const PARAMETERS: &str = "PARAM_";

pub(super) fn variable_of(parameter: &str) -> String {
    let name = with_underscores(parameter, false).replace('-', "_");
    format!("{PARAMETERS}{}", name.to_ascii_uppercase())
}

/// Returns the environment variables for the arguments that the tool declares. Other arguments get
/// no variable: nothing has checked them, and their variable could have the name of a declared
/// argument's.
fn parameters(
    manifest: &Manifest,
    args: &Map<String, Value>,
    file: &Path,
) -> Result<Vec<(OsString, OsString)>, ToolError> {
    let declared = &manifest.declared.schema["properties"];
    let mut variables = Vec::new();
    for (name, value) in args {
        if value.is_null() || declared.get(name).is_none() {
            continue;
        }
        let (text, variable) = (super::words::text_of(name, value)?, variable_of(name));
        if text.len() <= MAX_VARIABLE_BYTES {
            variables.push((variable.into(), text.into()));
            continue;
        }
        // A tool that does not know the variable takes the argument from its standard input.
        let is_read = || match &manifest.action {
            Action::Script(script, _) => script.contains(&variable),
            _ => std::fs::read(file).map_or(true, |text| {
                String::from_utf8_lossy(&text).contains(&variable)
            }),
        };
        let is_input = match &manifest.stdin {
            Stdin::Nothing => false,
            Stdin::Arguments => true,
            Stdin::Parameter(input) => input == name,
        };
        if !is_input || is_read() {
            return Err(ToolError::invalid(format!(
                "\"{name}\" has {} bytes; in the environment there is room for {MAX_VARIABLE_BYTES}.",
                text.len()
            ))
            .with_hint(format!(
                "The tool's file could take it from its standard input (stdin = \"args\"), and not \
                 from {variable}."
            )));
        }
    }
    Ok(variables)
}
