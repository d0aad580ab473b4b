//! Printing to standard output.

use crate::start;
use gemini_tools::output::write_text;
use gemini_tools::process::program;
use std::io::IsTerminal;
use std::path::Path;

/// Prints a text and returns the exit status after that, 0.
pub(crate) fn print(text: &[u8]) -> anyhow::Result<u8> {
    start::written(write_text(text))
}

/// Shows a text in the user's pager. If there is no terminal or no pager, prints the text. The
/// pager is not looked up in directories of `PATH` below `root`, the project that the text is
/// about: by the text, the user decides whether that project may run anything.
pub(crate) fn page(root: &Path, text: &[u8]) -> anyhow::Result<u8> {
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    match is_terminal.then(|| program::page(text, root)) {
        Some(Ok(true)) => Ok(0),
        _ => print(text),
    }
}
