//! Standard input, and the arguments of a call.

use crate::call_tool::options::CallToolOptions;
use gemini_tools::json::{MAX_BYTES, parse_json};
use gemini_tools::process::{read_named, read_stdin};
use gemini_tools::session::Session;
use gemini_tools::tool::{Cancellation, Context, ToolError, from_words};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn arguments(
    options: &CallToolOptions,
    session: &Session,
    input: &[u8],
    cx: &Context,
) -> Result<Value, ToolError> {
    if let Some(words) = &options.args {
        return session.with_tool(&options.name, cx, |tool| {
            from_words(tool, words, &|file| read_text(file, &cx.cancel))
        })?;
    }
    let text = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    if text.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    parse_json(text).map_err(|e| {
        ToolError::invalid(format!(
            "The arguments on standard input are not valid JSON: {e}."
        ))
        .with_hint(r#"Give one object such as {"path":"src"}."#)
    })
}

/// Reads a file that the command line names after `@`. The path is the user's and not a model's, so
/// it may be outside the workspace, and a FIFO such as that of `<(command)`.
fn read_text(file: &str, cancel: &Cancellation) -> Result<String, ToolError> {
    String::from_utf8(read_bytes(file, cancel)?)
        .map_err(|_| ToolError::invalid(format!("The content of {file:?} is not UTF-8.")))
}

pub(crate) fn read_bytes(file: &str, cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    if file == "-" {
        return read_all_of_stdin(cancel);
    }
    read_named(Path::new(file), MAX_BYTES, cancel)
        .map_err(|e| unread(cancel, &format!("Can't read {file:?}: {e}.")))
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
    read_all_of_stdin(cancel)
}

fn read_all_of_stdin(cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    read_stdin(MAX_BYTES, cancel)
        .map_err(|e| unread(cancel, &format!("Standard input can't be read: {e}.")))
}
