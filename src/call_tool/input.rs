//! Standard input, and the arguments of a call.

use crate::call_tool::options::CallToolOptions;
use gemini_tools::json::{MAX_BYTES, parse_json};
use gemini_tools::process::{ReadBuffer, wait_for_stdin};
use gemini_tools::session::Session;
use gemini_tools::tool::{Cancellation, Context, ToolError, from_words};
use serde_json::{Value, json};
use std::io::Read;

/// Returns the arguments of a call: from the command line, or a JSON object from standard input.
pub(crate) fn arguments(
    options: &CallToolOptions,
    session: &Session,
    input: &[u8],
    cx: &Context,
) -> Result<Value, ToolError> {
    if let Some(words) = &options.args {
        return session.with_tool(&options.name, cx, |tool| {
            from_words(tool, words, &|file| read_named(file, &cx.cancel))
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
fn read_named(file: &str, cancel: &Cancellation) -> Result<String, ToolError> {
    String::from_utf8(read_bytes(file, cancel)?)
        .map_err(|_| ToolError::invalid(format!("The content of {file:?} is not UTF-8.")))
}

/// Reads a file that the command line names; `-` is standard input.
pub(crate) fn read_bytes(file: &str, cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    let bytes = if file == "-" {
        read_stdin(cancel)?
    } else {
        let limit = u64::try_from(MAX_BYTES)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let mut bytes = Vec::new();
        let read = std::fs::File::open(file).and_then(|f| f.take(limit).read_to_end(&mut bytes));
        read.map_err(|e| ToolError::invalid(format!("Can't read {file:?}: {e}.")))?;
        bytes
    };
    if bytes.len() > MAX_BYTES {
        return Err(too_large());
    }
    Ok(bytes)
}

fn too_large() -> ToolError {
    ToolError::invalid(format!("The arguments are larger than {MAX_BYTES} bytes."))
}

/// Reads standard input to its end, even if it is too large: if its reader went away, a host could
/// fail when it writes. On a terminal nothing is read, so that a person is not waited for.
pub(crate) fn read_input(cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    if rustix::termios::isatty(rustix::stdio::stdin()) {
        return Ok(Vec::new());
    }
    read_stdin(cancel)
}

fn read_stdin(cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    let stdin = rustix::stdio::stdin();
    let failed = |e: rustix::io::Errno| {
        let reason = std::io::Error::from(e);
        ToolError::invalid(format!("Standard input can't be read: {reason}."))
    };
    let mut input = Vec::new();
    let mut buffer = ReadBuffer::new(64 * 1024);
    let mut is_too_large = false;
    loop {
        if !wait_for_stdin(|| cancel.interruption().is_some()) {
            cancel.check()?;
        }
        match buffer.read(stdin) {
            Ok([]) => break,
            // What follows is discarded, but must be read so that the writer can finish.
            Ok(_) if is_too_large => {}
            Ok(piece) => {
                is_too_large = input.len() + piece.len() > MAX_BYTES;
                if is_too_large {
                    input = Vec::new();
                } else {
                    input.extend_from_slice(piece);
                }
            }
            Err(rustix::io::Errno::AGAIN) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    if is_too_large {
        return Err(too_large());
    }
    Ok(input)
}
