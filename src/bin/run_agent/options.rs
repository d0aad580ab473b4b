//! The options of the command line.

use crate::command::command;
use clap::ArgMatches;
use gemini_tools::output::write_status;
use gemini_tools::start::usage_message;
use gemini_tools::tool::ApprovalMode;
use std::env::args_os;
use std::io::Write;
use std::path::PathBuf;

/// The exit status of a command line that can't be used, as Gemini CLI has it.
const BAD_INPUT: u8 = 42;

/// The form in which a session is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

/// The options of the command line.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct RunAgentOptions {
    pub(crate) prompt: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) approval: ApprovalMode,
    pub(crate) allowed: Vec<String>,
    pub(crate) fail_on_refusal: bool,
    pub(crate) policy: Vec<PathBuf>,
    pub(crate) discovery: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) only_discovered: bool,
    pub(crate) no_mcp: bool,
    pub(crate) trust: bool,
    pub(crate) max_turns: Option<u32>,
    pub(crate) time_limit: Option<f64>,
    pub(crate) format: OutputFormat,
    pub(crate) session: Option<PathBuf>,
    pub(crate) resume: Option<PathBuf>,
    pub(crate) continues: bool,
    pub(crate) keeps: bool,
    pub(crate) report: Option<PathBuf>,
    pub(crate) record: Option<PathBuf>,
    pub(crate) model_script: Option<PathBuf>,
    pub(crate) sandbox: Option<String>,
    pub(crate) include: Vec<PathBuf>,
}

/// Reads the command line.
///
/// # Errors
///
/// The exit status, once a message was printed.
pub(crate) fn options() -> Result<RunAgentOptions, u8> {
    let matches = parse()?;
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    let list = |id: &str| -> Vec<String> {
        let values = matches.get_many::<String>(id);
        values.into_iter().flatten().cloned().collect()
    };
    let path = |id: &str| matches.get_one::<String>(id).map(PathBuf::from);
    let words = list("PROMPT").join(" ");
    let prompt = match (text("prompt"), words.is_empty()) {
        (Some(prompt), true) => Some(prompt),
        (Some(prompt), false) => Some(format!("{prompt}\n\n{words}")),
        (None, false) => Some(words),
        (None, true) => None,
    };
    let approval = match text("approval-mode").as_deref() {
        _ if matches.get_flag("yolo") => ApprovalMode::Yolo,
        Some("auto_edit") => ApprovalMode::AutoEdit,
        Some("yolo") => ApprovalMode::Yolo,
        Some("plan") => ApprovalMode::Plan,
        _ => ApprovalMode::Default,
    };
    let format = match text("output-format").as_deref() {
        Some("json") => OutputFormat::Json,
        Some("stream-json") => OutputFormat::StreamJson,
        _ => OutputFormat::Text,
    };
    Ok(RunAgentOptions {
        prompt,
        model: text("model"),
        approval,
        allowed: list("allowed-tools"),
        fail_on_refusal: matches.get_flag("fail-on-refusal"),
        policy: list("policy").into_iter().map(PathBuf::from).collect(),
        discovery: text("discovery-command"),
        call: text("call-command"),
        only_discovered: matches.get_flag("only-discovered"),
        no_mcp: matches.get_flag("no-mcp"),
        trust: matches.get_flag("trust"),
        max_turns: matches.get_one::<u32>("max-turns").copied(),
        time_limit: matches.get_one::<f64>("time-limit").copied(),
        format,
        session: path("session"),
        resume: path("resume"),
        continues: matches.get_flag("continue"),
        keeps: !matches.get_flag("no-session"),
        report: path("report"),
        record: path("record"),
        model_script: path("model-script"),
        sandbox: text("sandbox"),
        include: list("include-directories")
            .into_iter()
            .map(PathBuf::from)
            .collect(),
    })
}

fn parse() -> Result<ArgMatches, u8> {
    command().try_get_matches_from(args_os()).map_err(|e| {
        if e.use_stderr() {
            // Where standard error is gone, there is no reader.
            let message = usage_message("run_agent", &e.to_string());
            let _ = writeln!(std::io::stderr(), "{message}");
            return BAD_INPUT;
        }
        write_status(e.print())
    })
}
