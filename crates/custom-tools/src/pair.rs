//! Foreign pairs of commands, one that prints declarations and one that runs calls: their
//! declarations repaired and kept, their calls made and judged as Gemini CLI does it, but that
//! one which ends with 0 has succeeded whatever is on its standard error.
//!
//! Discovery runs when what is kept is stale: if the pointer to the pair has changed, or a file
//! that a word of its commands names. What else the declarations depend on is not known;
//! `get_tools --refresh` asks anew.

use super::catalogue::{Listed, definition};
use super::env;
use super::files::{self, escaped, unescaped, unescaped_text};
use super::manifest::{Definition, Pair};
use super::program_output::{self, ParsedOutput};
use super::run::{MAX_WHOLE_BYTES, Program, Streams, ending_of, interrupted, place};
use gemini_tools_builtin_tools::builtin::ToolEnv;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::message::FunctionResponse;
use gemini_tools_core::text::{excerpt, hex};
use gemini_tools_core::tool::{
    Cancellation, Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, LlmContent,
    Location, PartOrText, ResultError, ToolError, ToolInvocation, ToolResult,
};
use gemini_tools_declarations::{self as declaration, Names};
use gemini_tools_platform::ffi::{OsStrExt, OsStringExt};
use gemini_tools_process::command::CommandOutcome;
use gemini_tools_process::ending::Ending;
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::stamp::Stamp;
use gemini_tools_workspace::{WorkspacePath, atomic_file, show_path};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The first line; another version's file is none.
const HEAD: &str = concat!("gemini-tools pair 3 ", env!("CARGO_PKG_VERSION"));

/// The files of the pairs whose commands run above this process, each in a line: commands that
/// start us again, such as a wrapper of `get_tools`, would otherwise go on without end.
const RUNNING: &str = "GEMINI_TOOLS_PAIRS";

/// How long a discovery command may take.
const DISCOVERY_TIME: Duration = Duration::from_secs(10);

/// Maximum bytes of declarations; more are refused, as by Gemini CLI.
const MAX_DECLARATION_BYTES: usize = 10 * 1024 * 1024;

/// A discovery that has failed is not tried again for so long: a host that starts often must
/// not wait for it each time.
const FAILURE_SECS: u64 = 60;

/// What a pair has come to.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    pub(super) tools: Vec<Listed>,
    /// Why there are no tools.
    pub(super) failure: Option<String>,
    /// What was repaired, and what was left out.
    pub(super) findings: Vec<Diagnostic>,
}

/// Whether this process was started, by whatever ways, by a command of the pair in `file`.
pub(super) fn is_above(file: &Path) -> bool {
    let running = std::env::var_os(RUNNING).unwrap_or_default();
    let mut files = running.as_bytes().split(|b| *b == b'\n');
    files.any(|above| above == file.as_os_str().as_bytes())
}

/// [`RUNNING`] for what the pair in `file` starts.
fn running_with(file: &Path) -> OsString {
    let mut running = std::env::var_os(RUNNING).unwrap_or_default();
    if !running.is_empty() {
        running.push("\n");
    }
    running.push(file);
    running
}

/// What is kept of a pair, where that still counts.
pub(super) fn kept(file: &Path, cache: &Path) -> Option<Discovered> {
    let text = String::from_utf8(files::beginning(
        cache,
        FileOwner::Users,
        super::MAX_CACHE_BYTES,
    )?)
    .ok()?;
    let written = Stamp::of_path(cache)?.modified();
    let mut lines = text.strip_suffix("end\n")?.lines();
    if lines.next()? != HEAD {
        return None;
    }
    let mut discovered = Discovered::default();
    for line in lines {
        let (letter, rest) = line.split_once('\t')?;
        match letter {
            "W" => {
                let (path, stamp) = rest.split_once('\t')?;
                let path = PathBuf::from(OsString::from_vec(unescaped(path)?));
                let now = Stamp::of_path(&path);
                let is_racy = now.is_some_and(|stamp| stamp.time_until_stable(written).is_some());
                if is_racy || now.map_or_else(|| "-".to_owned(), Stamp::to_text) != stamp {
                    return None;
                }
            }
            "E" => {
                let (until, reason) = rest.split_once('\t')?;
                let until: u64 = until.parse().ok()?;
                // A clock that was set back must not keep it for ever.
                if !(until.saturating_sub(FAILURE_SECS)..until).contains(&now_secs()) {
                    return None;
                }
                discovered.failure = Some(unescaped_text(reason)?);
            }
            "T" => discovered
                .tools
                .push(Listed::from_line(rest, file.to_owned())?),
            _ => return None,
        }
    }
    Some(discovered)
}

/// Whether the pair in `file` failed when it was asked last, by what is kept in the directory
/// `caches`.
pub(super) fn has_failed(file: &Path, caches: &Path) -> bool {
    files::beginning(
        &cache_of(file, caches),
        FileOwner::Users,
        super::MAX_CACHE_BYTES,
    )
    .is_some_and(|text| {
        text.split(|b| *b == b'\n')
            .any(|line| line.starts_with(b"E\t"))
    })
}

fn now_secs() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
}

/// Asks the discovery command of the pair in `file`, and keeps what it says in `cache`.
pub(super) fn discover(file: &Path, cache: Option<&Path>, tool_env: &ToolEnv) -> Discovered {
    let whose = super::whose(file, tool_env);
    let Some(Ok((Definition::Pair(pair), _))) = definition(file, whose, false) else {
        return Discovered {
            failure: Some(format!("{} points to no pair any more.", show_path(file))),
            ..Discovered::default()
        };
    };
    // Before it runs: what changes meanwhile makes it stale.
    let watched = watched(file, &pair, tool_env);
    let discovered = ask(file, &pair, tool_env);
    if let Some(cache) = cache {
        let mut text = format!("{HEAD}\n");
        for (path, stamp) in watched {
            let stamp = stamp.map_or_else(|| "-".to_owned(), Stamp::to_text);
            text.push_str(&format!(
                "W\t{}\t{stamp}\n",
                escaped(path.as_os_str().as_bytes())
            ));
        }
        if let Some(failure) = &discovered.failure {
            let until = now_secs() + FAILURE_SECS;
            text.push_str(&format!("E\t{until}\t{}\n", escaped(failure.as_bytes())));
        }
        for tool in &discovered.tools {
            text.push_str(&format!("T\t{}\n", tool.to_line()));
        }
        text.push_str("end\n");
        atomic_file::write_cache(cache, text.as_bytes());
    }
    discovered
}

/// The files on which a pair's declarations are known to depend.
fn watched(file: &Path, pair: &Pair, tool_env: &ToolEnv) -> Vec<(PathBuf, Option<Stamp>)> {
    let from = place(&pair.running, tool_env).map_or_else(
        |_| tool_env.workspace.root().to_owned(),
        |p| p.path().to_owned(),
    );
    let words = words_of(&pair.discovery, file, tool_env);
    let named = words
        .iter()
        .chain(words_of(&pair.call, file, tool_env).iter())
        .filter(|word| !word.as_bytes().starts_with(b"-"))
        .map(|word| from.join(word))
        .filter(|path| path.is_file())
        .collect::<Vec<_>>();
    let own = [file.to_owned()];
    let mut paths: Vec<PathBuf> = own.into_iter().chain(named).collect();
    paths.sort();
    paths.dedup();
    paths
        .into_iter()
        .map(|path| {
            let stamp = Stamp::of_path(&path);
            (path, stamp)
        })
        .collect()
}

/// The words of a command with `{@dir}` and `{@root}` in them replaced.
fn words_of(words: &[String], file: &Path, tool_env: &ToolEnv) -> Vec<OsString> {
    let root = tool_env.workspace.root();
    let directory = file.parent().unwrap_or(root);
    words
        .iter()
        .map(|word| {
            let mut out = OsString::new();
            let mut rest = word.as_str();
            while let Some(at) = rest.find("{@") {
                out.push(&rest[..at]);
                rest = &rest[at..];
                if let Some(after) = rest.strip_prefix("{@dir}") {
                    out.push(directory);
                    rest = after;
                } else if let Some(after) = rest.strip_prefix("{@root}") {
                    out.push(root);
                    rest = after;
                } else {
                    out.push("{@");
                    rest = &rest[2..];
                }
            }
            out.push(rest);
            out
        })
        .collect()
}

fn ask(file: &Path, pair: &Pair, tool_env: &ToolEnv) -> Discovered {
    let failed = |reason: String| Discovered {
        failure: Some(reason),
        ..Discovered::default()
    };
    let shown = show_path(file).into_owned();
    let mut running = pair.running.clone();
    running.timeout = running.timeout.min(DISCOVERY_TIME);
    let (printed, end) = match run(
        file,
        &pair.discovery,
        &[],
        b"",
        &running,
        tool_env,
        &Cancellation::default(),
    ) {
        Ok(ended) => ended,
        Err(e) => return failed(format!("{shown}: discovery_command: {e}")),
    };
    let name = "The discovery command";
    let said = printed.errors.text();
    let said = if said.is_empty() {
        said
    } else {
        format!(" It said: {said}")
    };
    if let Some(e) = interrupted(name, end, &running) {
        return failed(format!("{shown}: discovery_command: {}{said}", e.message));
    }
    if let Some(ending) = ending_of(end).filter(|ending| *ending != Ending::Code(0)) {
        return failed(format!(
            "{shown}: discovery_command: {name} failed with {ending}.{said}"
        ));
    }
    if printed.whole.len() > MAX_DECLARATION_BYTES {
        return failed(format!(
            "{shown}: discovery_command: {name} printed more than {MAX_DECLARATION_BYTES} bytes."
        ));
    }
    let mut names = Names::new(Names::LONGEST).without_servers();
    let outcome = match declaration::read(&printed.whole, &mut names) {
        Ok(outcome) => outcome,
        Err(reason) => {
            // What it says on standard error is only the reason where it prints nothing else.
            let said = if printed.whole.trim_ascii().is_empty() {
                said
            } else {
                String::new()
            };
            let printed = match excerpt(&printed.whole) {
                nothing if nothing.is_empty() => "nothing".to_owned(),
                printed => printed,
            };
            return failed(format!(
                "{shown}: discovery_command: What it printed can't be used: {reason} It printed: \
                 {printed}{said}"
            ));
        }
    };
    let tools = outcome.tools.into_iter().map(|tool| {
        let kind = tool.kind.or(pair.kind).unwrap_or(Kind::Other);
        Listed {
            read_only: if tool.kind.is_some() {
                kind.is_read_only()
            } else {
                pair.read_only
            },
            whole: tool.whole.as_ref().map(Value::to_string),
            json: tool.to_json(),
            display_name: tool.name.clone(),
            name: tool.name,
            original: tool.original,
            kind,
            streaming: false,
            file: file.to_owned(),
        }
    });
    Discovered {
        tools: tools.collect(),
        failure: None,
        findings: outcome
            .findings
            .into_iter()
            .map(|finding| finding.in_file(file))
            .collect(),
    }
}

/// Runs one of the commands of a pair.
fn run(
    file: &Path,
    command: &[String],
    more: &[&str],
    input: &[u8],
    running: &super::manifest::Running,
    tool_env: &ToolEnv,
    cancel: &Cancellation,
) -> Result<(Streams<'static>, CommandOutcome), ToolError> {
    let mut words = words_of(command, file, tool_env);
    words.extend(more.iter().map(OsString::from));
    let root = tool_env.workspace.root();
    let mut environment = env::expanded(&running.env)?;
    let name = more.first().copied().unwrap_or_default();
    environment.extend(env::places(name, file.parent().unwrap_or(root), root));
    environment.push((RUNNING.into(), running_with(file)));
    let program = Program {
        tool: if name.is_empty() {
            "The discovery command"
        } else {
            name
        },
        file,
        words: &words,
        environment: &environment,
        input,
        running,
        tool_env,
    };
    let mut streams = Streams::whole();
    let end = program.run(&mut streams, cancel, &|_| {})?;
    Ok((streams, end))
}

struct Call {
    listed: Listed,
    pair: Pair,
    args: Value,
    place: WorkspacePath,
    tool_env: ToolEnv,
}

/// A call of a tool of a pair.
pub(super) fn call(
    pair: Pair,
    args: Value,
    listed: &Listed,
    tool_env: &ToolEnv,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    Ok(Box::new(Call {
        place: place(&pair.running, tool_env)?,
        listed: listed.clone(),
        pair,
        args,
        tool_env: tool_env.clone(),
    }))
}

impl Call {
    fn command_line(&self) -> String {
        let words = words_of(&self.pair.call, &self.listed.file, &self.tool_env);
        let words: Vec<String> = words
            .iter()
            .map(|word| show_path(Path::new(word)).into_owned())
            .chain([self.listed.original.clone()])
            .collect();
        let input = self.args.to_string();
        let quoted = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
        let input = shlex::try_quote(&input).unwrap_or_default().into_owned();
        format!("{quoted} <<< {input}")
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("`{}`", self.command_line().replace('\n', " "))
    }

    fn locations(&self) -> Vec<Location> {
        vec![Location {
            path: self.place.path().to_owned(),
            line: None,
        }]
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        if self.listed.read_only {
            return Ok(Confirmation::NotNeeded);
        }
        let program = self.pair.call[0].clone();
        Ok(Confirmation::Ask(ConfirmationDetails::Exec {
            title: format!("Confirm {}", self.listed.display_name),
            command: self.command_line(),
            root_command: program.clone(),
            root_commands: vec![program],
            unresolved: Vec::new(),
            runs: None,
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let name = self.listed.original.as_str();
        let input = self.args.to_string();
        let ended = run(
            &self.listed.file,
            &self.pair.call,
            &[name],
            input.as_bytes(),
            &self.pair.running,
            &self.tool_env,
            &cx.cancel,
        );
        let (streams, end) = match ended {
            Ok(ended) => ended,
            Err(e) if e.kind == ErrorKind::ExecutionFailed => {
                return Ok(broken(program_output::not_started(&e.to_string())));
            }
            Err(e) => return Err(e),
        };
        if let Some(error) = interrupted(name, end, &self.pair.running) {
            return Err(error);
        }
        if streams.is_cut {
            return Ok(broken(format!(
                "The call has printed more than {MAX_WHOLE_BYTES} bytes; narrow it down to see its \
                 answer."
            )));
        }
        let ending = ending_of(end);
        // A warning there makes a failure of a success for Gemini CLI: the commonest fault of
        // pairs, from which these are to be kept.
        let stderr = if ending == Some(Ending::Code(0)) {
            &[]
        } else {
            streams.errors.raw()
        };
        let verdict = program_output::parse(program_output::ProgramOutput {
            stdout: &streams.whole,
            stderr,
            ending,
        });
        Ok(match verdict {
            ParsedOutput::Text(text) if text.is_empty() => {
                let said = streams.errors.text();
                ToolResult::text(said.as_str()).with_display(said)
            }
            ParsedOutput::Answer(answer) => unwrapped(*answer),
            ParsedOutput::Text(text) => ToolResult::text(text.as_str()).with_display(text),
            ParsedOutput::Failure(text) => broken(text),
        })
    }
}

fn broken(message: String) -> ToolResult {
    super::call::failed(message, ErrorKind::DiscoveredToolExecutionError)
}

/// The answer of a command that speaks as ours do.
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

/// The errors among what was found, in words.
pub(super) fn errors(discovered: &Discovered) -> Vec<String> {
    let errors = discovered.findings.iter();
    let errors = errors.filter(|f| f.severity == Severity::Error);
    let texts = errors.map(Diagnostic::text);
    discovered.failure.iter().cloned().chain(texts).collect()
}

/// The file in which what is known of a pair is kept.
pub(super) fn cache_of(file: &Path, directory: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or(OsStr::new("pair"));
    let mut name = OsString::from("tool-pair-");
    name.push(hex(&Sha256::digest(file.as_os_str().as_bytes())[..6]));
    name.push("-");
    name.push(stem);
    directory.join(name)
}
