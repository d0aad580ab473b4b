//! Parses the command line of `run_agent`.

pub(crate) use crate::run_agent::command::RunAgentOptions;
use crate::start::refuse;
use clap::Parser;
use gemini_tools::tool::ApprovalMode;

const BAD_INPUT: u8 = 42;

/// Parses the command line.
///
/// # Errors
///
/// Returns the status to exit with; a message, or the help, has been printed.
pub(crate) fn options() -> Result<RunAgentOptions, u8> {
    RunAgentOptions::try_parse().map_err(|e| refuse("run_agent", &e, BAD_INPUT))
}

impl RunAgentOptions {
    pub(crate) fn written_prompt(&self) -> String {
        let words = self.words.join(" ");
        let parts = self.prompt.iter().chain(Some(&words));
        let parts: Vec<&str> = parts
            .map(String::as_str)
            .filter(|p| !p.is_empty())
            .collect();
        parts.join("\n\n")
    }

    pub(crate) fn approval(&self) -> ApprovalMode {
        let yolo = self.yolo.then_some(ApprovalMode::Yolo);
        yolo.or(self.approval_mode).unwrap_or_default()
    }
}
