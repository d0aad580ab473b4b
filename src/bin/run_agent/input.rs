//! The prompt: from the command line, from standard input, or both.

use crate::bad_input;
use crate::options::Options;
use gemini_tools::agent::event::SessionError;
use std::io::{IsTerminal, Read};

/// More of standard input is refused, as by Gemini CLI, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What the user says: standard input first, where it is no terminal, then the command line.
pub(crate) fn prompt(options: &Options) -> Result<String, SessionError> {
    let own = options.prompt.clone().unwrap_or_default();
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(own);
    }
    let mut bytes = Vec::new();
    stdin
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| bad_input(format!("Standard input can't be read: {e}.")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(bad_input(format!(
            "Standard input has more than {MAX_BYTES} bytes. Put it into a file and name that in \
             the prompt as @FILE."
        )));
    }
    let piped = String::from_utf8_lossy(&bytes);
    let piped = piped.trim_end();
    Ok(match (piped.is_empty(), own.is_empty()) {
        (true, _) => own,
        (false, true) => piped.to_owned(),
        (false, false) => format!("{piped}\n\n{own}"),
    })
}
