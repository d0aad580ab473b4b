//! Asking a person.

use crate::print::warn;
use std::io::{BufRead, IsTerminal, Read, Write};

/// Asks a person to confirm; `Err` is the status to exit with. `otherwise` says what goes without
/// being asked.
pub(crate) fn confirm(question: &str, otherwise: &str, asks: bool) -> Result<(), u8> {
    let has_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    // Gemini CLI and run_agent set this for the commands of a model.
    let is_for_model = std::env::var_os("GEMINI_CLI").is_some_and(|v| !v.is_empty());
    if !has_terminal && is_for_model {
        warn("get_tools: a command of an agent can't agree to this; a person can, on a terminal");
        return Err(2);
    }
    if !asks {
        return Ok(());
    }
    if !has_terminal {
        warn(&format!(
            "get_tools: there is no terminal to ask on; {otherwise}"
        ));
        return Err(2);
    }
    // Where standard error is gone, there is no answer either.
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().take(100).read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes") {
        return Ok(());
    }
    warn("get_tools: nothing was done");
    Err(1)
}
