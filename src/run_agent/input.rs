//! The prompt: from the command line, from standard input, or both.

use crate::run_agent::bad_input;
use crate::run_agent::command::RunAgentOptions;
use crate::start::is_stdin;
use gemini_tools::agent::event::SessionError;
use gemini_tools::process::read_stdin;
use gemini_tools::tool::Cancellation;
use rustix::io::Errno;
use std::io::IsTerminal;

const MAX_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Prompt {
    /// Standard input, if it is not a terminal, followed by the prompt of the command line.
    pub(crate) text: String,
    /// The prompt of the command line alone. Only in this must an `@path` exist: text from a pipe
    /// may contain such words by chance.
    pub(crate) written: String,
}

pub(crate) fn prompt(
    options: &RunAgentOptions,
    cancel: &Cancellation,
) -> Result<Prompt, SessionError> {
    let written = options.written_prompt();
    let is_script = options.model_script.as_deref().is_some_and(is_stdin);
    if is_script || std::io::stdin().is_terminal() {
        let text = written.clone();
        return Ok(Prompt { text, written });
    }
    let piped = match read_stdin(MAX_BYTES, cancel) {
        Ok(bytes) => bytes,
        // `nohup` leaves a write-only descriptor: there is nothing to read.
        Err(e) if Errno::from_io_error(&e) == Some(Errno::BADF) => Vec::new(),
        Err(e) => {
            return Err(bad_input(format!(
                "Standard input can't be read: {e}. Name a long text in the prompt as @FILE."
            )));
        }
    };
    let piped = String::from_utf8_lossy(&piped);
    let piped = piped.trim_end();
    let text = match (piped.is_empty(), written.is_empty()) {
        (true, _) => written.clone(),
        (false, true) => piped.to_owned(),
        (false, false) => format!("{piped}\n\n{written}"),
    };
    Ok(Prompt { text, written })
}
