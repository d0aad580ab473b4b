//! Standard input, and the arguments of a call.

use crate::call_tool::options::CallToolOptions;
use crate::start::is_stdin;
use gemini_tools::json::{self, MAX_BYTES};
use gemini_tools::process::{read_named, read_stdin};
use gemini_tools::session::Session;
use gemini_tools::text::show_path;
use gemini_tools::tool::{Cancellation, Context, ToolError, from_words};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::OnceLock;

pub(crate) fn arguments(
    options: &CallToolOptions,
    session: &Session,
    input: &[u8],
    cx: &Context,
) -> Result<Value, ToolError> {
    if let Some(words) = &options.args {
        return session.with_tool(&options.name, cx, |tool| {
            from_words(tool, words, &|word, file| read_text(word, file, &cx.cancel))
        })?;
    }
    let text = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    if text.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    json::read(text).map_err(|e| {
        ToolError::invalid(format!(
            "The arguments on standard input are not valid JSON: {e}."
        ))
        .with_hint(r#"Give one object such as {"path":"src"}."#)
    })
}

/// Reads a file that the command line names after `@`. The path is the user's and not a model's, so
/// it may be outside the workspace, and a FIFO such as that of `<(command)`.
fn read_text(word: &str, file: &Path, cancel: &Cancellation) -> Result<String, ToolError> {
    String::from_utf8(read_bytes(word, file, cancel)?).map_err(|_| {
        ToolError::invalid(format!(
            "The content of {:?} is not UTF-8.",
            show_path(file)
        ))
    })
}

/// Reads a file that a word of the command line names; `-` is standard input.
pub(crate) fn read_bytes(
    word: &str,
    file: &Path,
    cancel: &Cancellation,
) -> Result<Vec<u8>, ToolError> {
    if is_stdin(file) {
        return take_stdin(word, cancel);
    }
    read_named(file, MAX_BYTES, cancel)
        .map_err(|e| unread(cancel, &format!("Can't read {:?}: {e}.", show_path(file))))
}

/// Returns the interruption that has ended the reading of a file, or else an error with this
/// message.
pub(crate) fn unread(cancel: &Cancellation, message: &str) -> ToolError {
    let interrupted = cancel.check().err();
    interrupted.unwrap_or_else(|| ToolError::invalid(message))
}

pub(crate) fn read_input(cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    if rustix::termios::isatty(rustix::stdio::stdin()) {
        return Ok(Vec::new());
    }
    take_stdin("the arguments in JSON", cancel)
}

/// Reads standard input for `taker`. It can be read once: a second reader would find it empty, and
/// a file that it writes would be emptied.
fn take_stdin(taker: &str, cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    static TAKEN: OnceLock<String> = OnceLock::new();
    if let Err(taker) = TAKEN.set(taker.to_owned()) {
        let first = TAKEN.get().map_or("", String::as_str);
        return Err(ToolError::invalid(format!(
            "Standard input can be read once, but {first} and {taker} are to be read from it."
        )));
    }
    read_stdin(MAX_BYTES, cancel)
        .map_err(|e| unread(cancel, &format!("Standard input can't be read: {e}.")))
}
