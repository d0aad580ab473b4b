//! The options of `run_agent`, read from its command line.

pub(crate) use crate::command::{OutputFormat, RunAgentOptions};
use clap::Parser;
use gemini_tools::start::refuse;
use gemini_tools::tool::ApprovalMode;

/// The exit status of a command line that can't be used, as Gemini CLI has it.
const BAD_INPUT: u8 = 42;

/// Reads the command line; `Err` is the status to exit with.
pub(crate) fn options() -> Result<RunAgentOptions, u8> {
    RunAgentOptions::try_parse().map_err(|e| refuse("run_agent", &e, BAD_INPUT))
}

impl RunAgentOptions {
    /// Returns the prompt of the command line: that of the option, then the words.
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
