//! The tools of a session, discovered by running commands, and calls of them.
//!
//! # How it works
//!
//! A session uses up to two pairs of discovery and call commands: this project's own, which is
//! asked first, and a foreign pair of any origin. A call goes to the call command of the pair that
//! declared its tool. A foreign pair must not be able to replace one of our tools: if it declares
//! the same name, the model is given the name with the prefix `discovered_tool_`, which Gemini CLI
//! 0.61 puts before every discovered tool, and policy rules see that name as well.

use super::batch_client::{BatchClient, outcome};
use super::call::{CallOutcome, CallRequest};
use super::external_commands::{ExternalCommand, UNWATCHED};
use gemini_tools_core::declarations::{self as declaration, Names, ServerOrigin};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::registry::{DISCOVERED_PREFIX, bare_name, hint, nearest};
use gemini_tools_core::tool::{
    Cancellation, ConfirmationDetails, ErrorKind, Kind, LlmContent, ModelCall, Schema, ServerTool,
    TailToolCallRequest,
};
use gemini_tools_policy::approval::Explanation;
use gemini_tools_policy::{PolicyCall, is_built_in};
use gemini_tools_process::command::StopReason;
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::program_run::ProgramRun;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// Larger output of a discovery command is refused. The limit is Gemini CLI's.
const MAX_DECLARATIONS_BYTES: usize = 10 * 1024 * 1024;

const MAX_NAME_CHARS: usize = 63;

const DISCOVERY_TIME: Duration = Duration::from_secs(60);

/// A tool that the discovery command has declared.
#[derive(Debug, Clone)]
pub struct DiscoveredTool {
    /// The name that the model uses.
    pub name: String,
    /// The name that the call command expects.
    pub original: String,
    /// The description for the model.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Schema,
    /// The kind of effect. Taken only from our own commands, since policy rules trust it; otherwise
    /// `Other`.
    pub kind: Kind,
    /// The MCP server that provides the tool. Taken only from our own commands, since policy rules
    /// trust it.
    pub mcp: Option<ServerOrigin>,
    /// Set for a built-in tool of our own commands.
    pub is_built_in: bool,
    /// Set if a foreign tool of the session has the same name, behind a prefix.
    pub has_namesake: bool,
    /// Set if our own commands have declared the tool. `call_tool` can explain a call before it
    /// runs, and accepts more spellings of arguments than are declared.
    pub is_own: bool,
}

impl DiscoveredTool {
    /// Returns the declaration for the model.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "parametersJsonSchema": self.schema.value(),
        })
    }

    /// Returns the names of the required arguments, in the order of the declaration.
    pub fn needed(&self) -> Vec<String> {
        let needed = self.schema.value()["required"].as_array();
        let names = needed.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    pub(crate) fn changes_files(&self) -> bool {
        let is_edit = self.kind == Kind::Edit || self.original == "save_memory";
        self.is_built_in && is_edit
    }

    /// Returns a call of the tool in the form that policy rules match.
    pub fn to_call<'a>(&'a self, args: &'a Map<String, Value>) -> PolicyCall<'a> {
        let mcp = self.mcp.as_ref();
        let server = mcp.map(|mcp| ServerTool {
            name: &mcp.server,
            tool: &mcp.tool,
        });
        PolicyCall {
            kind: self.kind,
            is_built_in: self.is_built_in,
            has_namesake: self.has_namesake,
            server: server.or_else(|| ServerTool::from_name(&self.name)),
            annotations: mcp.and_then(|mcp| mcp.annotations.as_ref()),
            // Another program's tool may have the name of a built-in one. It then also gets the
            // built-in tool's aliases here, so that a rule that restricts either applies to it.
            ..PolicyCall::by_name(&self.name, args)
        }
    }
}

/// The discovery and call commands of a session. If both pairs are `None`, there are no tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// The directory that contains `get_tools` and `call_tool` of this installation.
    pub directory: PathBuf,
    /// The arguments with which `get_tools` lists our tools, with their kinds, and prints notes
    /// about them; `None` if the session does not use them.
    pub own: Option<Vec<String>>,
    /// A pair of commands of any origin; `None` if there is none.
    pub foreign: Option<ForeignCommands>,
    /// What bounds the calls of the foreign pair. Our own call command has the same limits itself.
    pub limits: CallLimits,
}

/// What bounds a call, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// How long a call may take.
    pub time: Duration,
    /// The most characters of an answer; `None` for any number.
    pub chars: Option<usize>,
    /// The directory that keeps the whole of an answer that was cut; `None` to keep none.
    pub kept: Option<PathBuf>,
}

/// A pair of commands of any origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignCommands {
    /// The words of the command that prints the declarations, of which there is one at least.
    pub discovery: Vec<String>,
    /// The path of the program that runs a call.
    pub call: String,
}

/// The tools of a session.
#[derive(Debug)]
pub struct Pair {
    tools: Vec<DiscoveredTool>,
    own: BatchClient,
    foreign: Option<ExternalCommand>,
    /// Tools that the model is not told about because the policy denies every call of them, each
    /// with the reason. A call of one is refused by the policy, and not unknown.
    pub(super) denied: BTreeMap<String, String>,
    /// Notes about tools that were left out or fixed.
    pub notes: Vec<String>,
}

impl Pair {
    /// Runs the discovery commands. All commands get the variables of `environment` in addition to
    /// those of this process.
    ///
    /// # Errors
    ///
    /// Returns a message if a command can't be started, fails, or prints something other than
    /// declarations.
    pub fn discover(
        commands: &Commands,
        environment: &[(String, String)],
        cancel: &Cancellation,
    ) -> Result<Self, String> {
        let limits = &commands.limits;
        let call = commands.directory.join("call_tool");
        let call = ExternalCommand::new(call, environment, limits);
        let mut pair = Self {
            tools: Vec::new(),
            own: BatchClient::new(call),
            foreign: None,
            denied: BTreeMap::new(),
            notes: Vec::new(),
        };
        if let Some(arguments) = &commands.own {
            let program = commands.directory.join("get_tools").display().to_string();
            let words = [&[program], &arguments[..]].concat();
            let printed = run_discovery(&words, environment, limits, cancel)?;
            pair.add(&words[0], &printed.stdout, true)?;
            let stderr = String::from_utf8_lossy(&printed.stderr);
            let notes = stderr.lines();
            let notes = notes.map(|line| line.strip_prefix("get_tools: ").unwrap_or(line));
            pair.notes.extend(notes.map(str::to_owned));
        }
        if let Some(foreign) = &commands.foreign {
            let words = &foreign.discovery;
            let printed = run_discovery(words, environment, limits, cancel)?;
            pair.add(&words[0], &printed.stdout, false)?;
            pair.foreign = Some(ExternalCommand::new(&foreign.call, environment, limits));
        }
        Ok(pair)
    }

    fn add(&mut self, command: &str, printed: &[u8], is_own: bool) -> Result<(), String> {
        let (tools, notes) = read_declarations(printed, is_own).map_err(|reason| {
            format!("What the discovery command {command} printed can't be used: {reason}")
        })?;
        self.notes.extend(notes);
        for mut tool in tools {
            let is_taken = |name: &str| self.tools.iter().any(|other| other.name == name);
            if is_taken(&tool.name) {
                let name = format!("{DISCOVERED_PREFIX}{}", tool.name);
                let is_prefixed = tool.name.starts_with(DISCOVERED_PREFIX);
                if is_prefixed || name.chars().count() > MAX_NAME_CHARS || is_taken(&name) {
                    self.notes.push(format!(
                        "The discovered tool {} is left out, because another tool has its name; \
                         rename it.",
                        tool.name
                    ));
                    continue;
                }
                self.notes.push(format!(
                    "The model knows the discovered tool {} as {name}, because another tool has \
                     its name.",
                    tool.name
                ));
                for other in &mut self.tools {
                    other.has_namesake |= other.name == tool.name;
                }
                tool.name = name;
            }
            self.tools.push(tool);
        }
        Ok(())
    }

    /// Returns the tools, in the order in which they were declared.
    pub fn tools(&self) -> &[DiscoveredTool] {
        &self.tools
    }

    /// Removes a tool of which the policy denies every call, for this reason.
    pub fn deny(&mut self, name: String, reason: String) {
        self.tools.retain(|tool| tool.name != name);
        self.denied.insert(name, reason);
    }

    /// Finds a tool by its name, with or without the prefix that Gemini CLI 0.61 adds.
    pub fn get(&self, name: &str) -> Option<&DiscoveredTool> {
        let exact = |name: &str| self.tools.iter().find(|tool| tool.name == name);
        exact(name).or_else(|| exact(bare_name(name)))
    }

    /// Returns a hint for a name that no tool has: the nearest names, or all.
    pub fn hint(&self, name: &str) -> String {
        let names = || self.tools.iter().map(|tool| tool.name.as_str());
        hint(&nearest(name, names().map(|own| (own, own))), names())
    }

    /// Explains what a call would do.
    ///
    /// # Errors
    ///
    /// Returns the outcome of a call that can't be made, for the model.
    pub fn explain(
        &self,
        tool: &DiscoveredTool,
        request: &CallRequest,
        cancel: &Cancellation,
    ) -> Result<Explanation, Box<CallOutcome>> {
        if tool.is_own {
            return self.own.explain(&tool.original, request, cancel);
        }
        // What a tool of another program does is not known, so the user is asked.
        Ok(Explanation {
            description: request.to_string(),
            locations: Vec::new(),
            confirmation: Some(ConfirmationDetails::Info {
                title: format!("Call {}", tool.name),
                prompt: serde_json::to_string_pretty(&request.args).unwrap_or_default(),
                urls: Vec::new(),
            }),
            is_for_once: false,
        })
    }

    /// Reads the files that a prompt mentions, with the tool `read_many_files`.
    ///
    /// # Errors
    ///
    /// Returns the tool's message.
    pub fn read_files(
        &self,
        paths: &BTreeSet<String>,
        cancel: &Cancellation,
    ) -> Result<LlmContent, String> {
        let request = CallRequest {
            id: String::new(),
            name: "read_many_files".to_owned(),
            args: Map::from_iter([("paths".to_owned(), json!(paths))]),
        };
        let own = &self.own;
        let answer = own.call(&request.name, None, &request, cancel, &|_| {});
        let result = answer.map_err(|failed| failed.text)?;
        match result.error {
            None => Ok(result.llm_content),
            Some(error) => Err(error.message),
        }
    }

    /// Runs a call, and reports each request that it makes to a model. A further call that the
    /// result asks for is returned, not run. With `by_annotations`, the policy has relied on an MCP
    /// server's annotations, and the call fails if the server has changed them since.
    pub fn run(
        &self,
        tool: &DiscoveredTool,
        by_annotations: bool,
        request: &CallRequest,
        cancel: &Cancellation,
        on_model_call: &dyn Fn(ModelCall),
    ) -> (CallOutcome, Option<TailToolCallRequest>) {
        if !tool.is_own {
            let call = |foreign: &ExternalCommand| foreign.call(&tool.original, request, cancel);
            let none = || broken(request, "There is no command for this call.");
            return (self.foreign.as_ref().map_or_else(none, call), None);
        }
        let none = Map::new();
        let said = tool.mcp.as_ref().filter(|_| by_annotations);
        let judged = said.map(|mcp| mcp.annotations.as_ref().unwrap_or(&none));
        let answer = self
            .own
            .call(&tool.original, judged, request, cancel, on_model_call);
        answer.map_or_else(|failed| (*failed, None), |line| outcome(request, line))
    }
}

impl ForeignCommands {
    /// Splits the line of a discovery command into words.
    ///
    /// # Errors
    ///
    /// Returns a message if the line is empty, or if it can't be split as by a shell.
    pub fn new(discovery: &str, call: &str) -> Result<Self, String> {
        let words = shlex::split(discovery).filter(|words| !words.is_empty());
        let discovery = words.ok_or_else(|| {
            format!(
                "The discovery command {discovery:?} is empty or has an unterminated quote; \
                 quote it as for a shell."
            )
        })?;
        let call = call.to_owned();
        Ok(Self { discovery, call })
    }
}

fn run_discovery(
    words: &[String],
    environment: &[(String, String)],
    limits: &CallLimits,
    cancel: &Cancellation,
) -> Result<ProgramRun, String> {
    let command = &words[0];
    let run = ExternalCommand::new(command, environment, limits)
        .run(&words[1..], "", DISCOVERY_TIME, cancel)
        .map_err(|e| format!("The discovery command {command} can't be started: {e}."))?;
    let how = match run.ending {
        _ if run.stdout.len() > MAX_DECLARATIONS_BYTES => {
            return Err(format!(
                "What the discovery command {command} printed can't be used: it has more than \
                 {MAX_DECLARATIONS_BYTES} bytes."
            ));
        }
        Ok(ProcessEnd::Code(0)) => return Ok(run),
        Ok(ending) => ending.to_string(),
        Err(StopReason::OutOfTime | StopReason::Idle) => {
            format!("it took more than {} s", DISCOVERY_TIME.as_secs())
        }
        Err(StopReason::CallOutOfTime(limit)) => format!("the session's time is over, {limit}"),
        Err(StopReason::Cancelled) => "it was cancelled".to_owned(),
        Err(StopReason::Unwatched) => format!("it was ended: {UNWATCHED}"),
    };
    let stderr = String::from_utf8_lossy(&run.stderr);
    let stderr = match stderr.trim() {
        "" => String::new(),
        line => format!(" It said: {line}"),
    };
    Err(format!(
        "The discovery command {command} has failed ({how}).{stderr}"
    ))
}

/// Parses the output of a discovery command into tools, and notes about those left out or
/// corrected. Kind and server origin are only believed if `is_own`: they decide what runs without
/// approval.
fn read_declarations(
    text: &[u8],
    is_own: bool,
) -> Result<(Vec<DiscoveredTool>, Vec<String>), String> {
    // Most names get no prefix, so all of the API's limit is available. `Pair::add` checks the
    // limit where it adds one.
    let outcome = declaration::read(text, &mut Names::new(MAX_NAME_CHARS))?;
    let tools = outcome.tools.into_iter().map(|tool| DiscoveredTool {
        schema: tool.arguments(),
        is_built_in: is_own && tool.mcp.is_none() && is_built_in(&tool.name),
        has_namesake: false,
        is_own,
        name: tool.name,
        original: tool.original,
        description: tool.description,
        kind: tool.kind.filter(|_| is_own).unwrap_or(Kind::Other),
        mcp: tool.mcp.filter(|_| is_own),
    });
    let notes = outcome.findings.iter();
    let notes = notes
        .filter(|finding| finding.severity != Severity::Warning)
        .map(Diagnostic::text);
    Ok((tools.collect(), notes.collect()))
}

pub(super) fn broken(request: &CallRequest, message: impl Into<String>) -> CallOutcome {
    CallOutcome::failure(request, ErrorKind::DiscoveredToolExecutionError, message)
}

#[cfg(test)]
mod tests {
    use super::read_declarations;
    use serde_json::json;

    fn read(value: &serde_json::Value) -> (Vec<String>, Vec<String>) {
        let (tools, notes) =
            read_declarations(value.to_string().as_bytes(), true).expect("an array");
        (tools.into_iter().map(|t| t.name).collect(), notes)
    }

    #[test]
    fn declarations_may_stand_alone_or_in_either_wrapper() {
        let one = |name: &str| json!({"name": name, "description": "d"});
        let (names, notes) = read(&json!([
            one("a"),
            {"function_declarations": [one("b"), one("c")]},
            {"functionDeclarations": [one("d"), one("a")]},
        ]));
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(notes.len(), 1, "{notes:?}");
    }

    #[test]
    fn what_the_api_would_refuse_is_mended_or_left_out_with_a_note() {
        let (names, notes) = read(&json!([
            {"name": "with spaces", "description": "d"},
            {"description": "nameless"},
            {"name": "untyped", "parametersJsonSchema":
                {"type": "object", "properties": {"x": {"description": "d"}}}},
            {"name": "old", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}},
        ]));
        assert_eq!(names, ["with_spaces", "untyped", "old"]);
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert!(notes[2].contains("untyped: x"), "{notes:?}");
        assert!(notes[3].contains("parametersJsonSchema"), "{notes:?}");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "{}", "[", "nothing"] {
            assert!(
                read_declarations(text.as_bytes(), true).is_err(),
                "{text:?}"
            );
        }
    }
}
