//! Asks a person on the terminal.

use crate::start::Failure;
use anyhow::bail;
use gemini_tools::process::tty::discard_typed_ahead;
use gemini_tools::variables::is_in_qwen;
use std::io::{BufRead, IsTerminal, Read, Write};

/// Refuses a command that a model runs, unless the command asks a person on a terminal. A terminal
/// alone is no sign of a person, because hosts run commands on one, too. If `asks` is true, any
/// command without a terminal is refused. `otherwise` tells the user how to proceed without a
/// question.
fn may_ask(otherwise: &str, asks: bool) -> anyhow::Result<()> {
    let has_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    // Gemini CLI and run_agent set this for commands that a model runs.
    let is_in_gemini = std::env::var_os("GEMINI_CLI").is_some_and(|v| !v.is_empty());
    if (is_in_gemini || is_in_qwen()) && !(asks && has_terminal) {
        let reason =
            "A command of an agent can't agree to this; a person can, asked on a terminal.";
        bail!(Failure(2, reason.to_owned()));
    }
    if asks && !has_terminal {
        let reason = format!("There is no terminal to ask on; {otherwise}");
        bail!(Failure(2, reason));
    }
    Ok(())
}

fn agrees(question: &str) -> bool {
    discard_typed_ahead();
    // If the question can't be printed, there will be no answer either, and no answer is a no.
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let _ = std::io::stdin().lock().take(100).read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Asks for confirmation if `asks` is true. `otherwise` tells the user how to proceed without a
/// question.
///
/// # Errors
///
/// Returns an error unless the answer is yes.
pub(crate) fn confirm(question: &str, otherwise: &str, asks: bool) -> anyhow::Result<()> {
    may_ask(otherwise, asks)?;
    if asks && !agrees(question) {
        bail!("Nothing was done.");
    }
    Ok(())
}
