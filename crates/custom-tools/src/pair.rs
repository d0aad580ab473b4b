//! Pairs of commands of other programs: one that prints declarations (discovery) and one that runs
//! calls. Declarations are repaired and cached. Results are judged as Gemini CLI does, except that
//! a call with exit status 0 has succeeded even if it writes to standard error.
//!
//! Discovery runs if the cache is stale: if the file that defines the pair has changed, or a file
//! named by a word of its commands. Other dependencies are not known; `get_tools --refresh` always
//! runs it.

use super::catalogue::{ToolEntry, definition};
use super::manifest::{Definition, Pair, RunSettings};
use super::program_output::{self, ParsedOutput};
use super::run::{MAX_WHOLE_BYTES, Program, Streams, working_directory};
use super::{env, kept};
use gemini_tools_builtin_tools::builtin::ToolEnv;
use gemini_tools_core::declarations::{self as declaration, Names};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::message::FunctionResponse;
use gemini_tools_core::text::hex;
use gemini_tools_core::tool::{
    Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, LlmContent, Location, PartOrText,
    ResultError, ToolError, ToolInvocation, ToolResult,
};
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::terminal::excerpt;
use gemini_tools_workspace::stamp::Stamp;
use gemini_tools_workspace::{WorkspacePath, show_path};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DISCOVERY_TIME: Duration = Duration::from_secs(10);

const MAX_DECLARATION_BYTES: usize = 10 * 1024 * 1024;

/// A failed discovery is not repeated for this many seconds, so that a host that starts often does
/// not wait for the command each time.
const FAILURE_SECS: u64 = 60;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Discovery {
    pub(super) tools: Vec<ToolEntry>,
    pub(super) failure: Option<String>,
    #[serde(skip)]
    pub(super) findings: Vec<Diagnostic>,
}

#[derive(Serialize, Deserialize)]
struct KeptPair {
    /// The files on which the declarations depend, with their time stamps, or `None` for a file
    /// that did not exist. If one has changed, the stored outcome no longer counts.
    watched: Vec<(PathBuf, Option<String>)>,
    outcome: Discovery,
    /// For a failed discovery, until when it is not tried again, in seconds since 1970.
    until: Option<u64>,
}

pub(super) fn read_kept(cache: &Path) -> Option<Discovery> {
    let (pair, written): (KeptPair, _) = kept::read(cache)?;
    let is_same = |(path, stamp): &(PathBuf, Option<String>)| {
        let now = Stamp::from_path(path);
        let is_racy = now.is_some_and(|stamp| stamp.time_until_stable(written).is_some());
        !is_racy && now.map(Stamp::to_text) == *stamp
    };
    // The lower bound is for a clock that was set back: the failure must not last for ever.
    let lasts = |until: u64| (until.saturating_sub(FAILURE_SECS)..until).contains(&now_secs());
    let is_fresh = pair.watched.iter().all(is_same) && pair.until.is_none_or(lasts);
    is_fresh.then_some(pair.outcome)
}

fn now_secs() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
}

pub(super) fn discover(file: &Path, cache: Option<&Path>, tool_env: &ToolEnv) -> Discovery {
    let owner = super::owner_of(file, tool_env);
    let Some(Ok((Definition::Pair(pair), _))) = definition(file, owner, false) else {
        return Discovery {
            failure: Some("It points to no pair any more.".to_owned()),
            ..Discovery::default()
        };
    };
    // The stamps are taken before the command runs, so that a change meanwhile makes the cache
    // stale.
    let watched = watched(file, &pair, tool_env);
    let outcome = declarations(file, &pair, tool_env);
    let outcome = outcome.unwrap_or_else(|reason| Discovery {
        failure: Some(format!("discovery_command: {reason}")),
        ..Discovery::default()
    });
    let pair = KeptPair {
        watched,
        until: outcome.failure.as_ref().map(|_| now_secs() + FAILURE_SECS),
        outcome,
    };
    if let Some(cache) = cache {
        kept::write(cache, &pair);
    }
    pair.outcome
}

fn watched(file: &Path, pair: &Pair, tool_env: &ToolEnv) -> Vec<(PathBuf, Option<String>)> {
    let from = working_directory(&pair.running, tool_env).map_or_else(
        |_| tool_env.workspace.root().to_owned(),
        |p| p.path().to_owned(),
    );
    let words = [&pair.discovery, &pair.call].map(|words| words_of(words, file, tool_env));
    let words = words.iter().flatten();
    let named = words
        .filter(|word| !word.as_bytes().starts_with(b"-"))
        .map(|word| from.join(word))
        .filter(|path| path.is_file());
    let paths: BTreeSet<PathBuf> = named.chain([file.to_owned()]).collect();
    let with_stamp = |path: PathBuf| {
        let stamp = Stamp::from_path(&path).map(Stamp::to_text);
        (path, stamp)
    };
    paths.into_iter().map(with_stamp).collect()
}

fn words_of(words: &[String], file: &Path, tool_env: &ToolEnv) -> Vec<OsString> {
    let root = tool_env.workspace.root();
    let directory = file.parent().unwrap_or(root);
    let with_root = |piece: &str| {
        let parts: Vec<&OsStr> = piece.split("{@root}").map(OsStr::new).collect();
        parts.join(root.as_os_str())
    };
    let with_places = |word: &String| {
        let parts: Vec<OsString> = word.split("{@dir}").map(with_root).collect();
        parts.join(directory.as_os_str())
    };
    words.iter().map(with_places).collect()
}

fn declarations(file: &Path, pair: &Pair, tool_env: &ToolEnv) -> Result<Discovery, String> {
    let mut running = pair.running.clone();
    running.timeout = running.timeout.min(DISCOVERY_TIME);
    let input = String::new();
    let mut printed = Streams::new(None, false);
    let program = program(file, &pair.discovery, None, input, running, tool_env);
    let program = program.map_err(|e| e.to_string())?;
    let ended = program.run(&mut printed, &Context::default(), &|_| {});
    let (end, _) = ended.map_err(|e| e.to_string())?;
    let name = &program.tool;
    let stderr = match printed.errors.text() {
        text if text.is_empty() => text,
        text => format!(" It said: {text}"),
    };
    if printed.whole.len() > MAX_DECLARATION_BYTES {
        let limit = MAX_DECLARATION_BYTES;
        return Err(format!("{name} printed more than {limit} bytes."));
    }
    if let Some(e) = program.interrupted(end) {
        return Err(format!("{}{stderr}", e.message));
    }
    if let Some(ending) = end.ending().filter(|ending| *ending != ProcessEnd::Code(0)) {
        return Err(format!("{name} failed with {ending}.{stderr}"));
    }
    let mut names = Names::new(Names::LONGEST).without_servers();
    let compiled = declaration::read(&printed.whole, &mut names).map_err(|reason| {
        // If the command printed anything to standard output, that shows best what is wrong, so
        // standard error is left out.
        let printed = match excerpt(&printed.whole) {
            nothing if nothing.is_empty() => format!("nothing{stderr}"),
            printed => printed,
        };
        format!("What it printed can't be used: {reason} It printed: {printed}")
    })?;
    let tools = compiled.tools.iter().map(|tool| {
        let kind = tool.kind.or(pair.kind).unwrap_or(Kind::Other);
        let read_only = tool.kind.map_or(pair.read_only, Kind::is_read_only);
        ToolEntry::new(tool, file, kind, read_only)
    });
    let findings = compiled.findings.into_iter();
    let findings = findings.map(|finding| finding.in_file(file));
    Ok(Discovery {
        tools: tools.collect(),
        failure: None,
        findings: findings.collect(),
    })
}

fn program(
    file: &Path,
    command: &[String],
    tool: Option<&str>,
    input: String,
    running: RunSettings,
    tool_env: &ToolEnv,
) -> Result<Program, ToolError> {
    let mut words = words_of(command, file, tool_env);
    words.extend(tool.map(OsString::from));
    let root = tool_env.workspace.root();
    let mut environment = env::expanded(&running.env)?;
    let name = tool.unwrap_or_default();
    environment.extend(env::places(name, file.parent().unwrap_or(root), root));
    Ok(Program {
        tool: tool.unwrap_or("The discovery command").to_owned(),
        file: file.to_owned(),
        words,
        environment,
        input: input.into_bytes(),
        running,
        tool_env: tool_env.clone(),
    })
}

struct Call {
    listed: ToolEntry,
    named: String,
    place: WorkspacePath,
    program: Program,
}

pub(super) fn call(
    pair: Pair,
    args: &Value,
    listed: &ToolEntry,
    tool_env: &ToolEnv,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let (file, name, input) = (&listed.file, &*listed.original, args.to_string());
    Ok(Box::new(Call {
        place: working_directory(&pair.running, tool_env)?,
        program: program(file, &pair.call, Some(name), input, pair.running, tool_env)?,
        named: pair.call[0].clone(),
        listed: listed.clone(),
    }))
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("`{}`", self.program.shell_line(true).replace('\n', " "))
    }

    fn locations(&self) -> Vec<Location> {
        vec![self.place.path().into()]
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        if self.listed.read_only {
            return Ok(Confirmation::NotNeeded);
        }
        Ok(Confirmation::Ask(ConfirmationDetails::Exec {
            title: format!("Confirm {}", self.listed.display_name),
            command: self.program.shell_line(true),
            root_command: self.named.clone(),
            root_commands: vec![self.named.clone()],
            unresolved: Vec::new(),
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let mut streams = Streams::new(None, false);
        let (end, undo) = match self.program.run(&mut streams, cx, &|_| {}) {
            Ok(ended) => ended,
            Err(e) if e.kind == ErrorKind::ExecutionFailed => {
                return Ok(broken(program_output::not_started(&e.to_string())));
            }
            Err(e) => return Err(e),
        };
        if streams.is_cut {
            return Ok(broken(format!(
                "The call has printed more than {MAX_WHOLE_BYTES} bytes and was ended; narrow it \
                 down to see its answer."
            )));
        }
        if let Some(error) = self.program.interrupted(end) {
            return Err(error);
        }
        let ending = end.ending();
        // In Gemini CLI, a successful call counts as failed if it writes anything to standard
        // error, such as a warning. That is the most common problem with such commands. Here, a
        // call with exit status 0 does not fail for that; its standard error is only used as the
        // answer if it printed nothing else.
        let stderr = if ending == Some(ProcessEnd::Code(0)) {
            &[]
        } else {
            streams.errors.raw()
        };
        let mut result = match program_output::parse(&streams.whole, stderr, ending) {
            ParsedOutput::Text(text) if text.is_empty() => {
                let stderr = streams.errors.text();
                ToolResult::text(stderr.as_str()).with_display(stderr)
            }
            ParsedOutput::Answer(answer) => unwrapped(*answer),
            ParsedOutput::Text(text) => ToolResult::text(text.as_str()).with_display(text),
            ParsedOutput::Failure(text) => broken(text),
        };
        if let Some(undo) = undo {
            result.llm_content.push_line(&undo);
        }
        Ok(result)
    }
}

fn broken(message: String) -> ToolResult {
    super::call::failed(message, ErrorKind::DiscoveredToolExecutionError)
}

fn unwrapped(answer: FunctionResponse) -> ToolResult {
    let (text, error) = program_output::message_of(&answer);
    let mut result = ToolResult::text(text.as_str()).with_display(text.clone());
    result.error = error.map(|error| ResultError {
        kind: error.kind.or(Some(ErrorKind::DiscoveredToolExecutionError)),
        ..error
    });
    if !answer.parts.is_empty() {
        let parts = answer
            .parts
            .into_iter()
            .map(|p| PartOrText::Part(Box::new(p)));
        result.llm_content =
            LlmContent::List([PartOrText::Text(text)].into_iter().chain(parts).collect());
    }
    result
}

pub(super) fn errors(file: &Path, discovered: &Discovery) -> Vec<String> {
    let errors = discovered.findings.iter();
    let errors = errors.filter(|f| f.severity == Severity::Error);
    let texts = errors.map(Diagnostic::text);
    let failure = discovered.failure.iter();
    let failure = failure.map(|failure| format!("{}: {failure}", show_path(file)));
    failure.chain(texts).collect()
}

pub(super) fn cache_of(file: &Path, directory: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or(OsStr::new("pair"));
    let mut name = OsString::from("tool-pair-");
    name.push(hex(&Sha256::digest(file.as_os_str().as_bytes())[..6]));
    name.push("-");
    name.push(stem);
    directory.join(name)
}
