//! What comes on standard input, and the arguments of a call.

use crate::options::CallToolOptions;
use gemini_tools::json::{MAX_BYTES, parse_json};
use gemini_tools::session::Session;
use gemini_tools::sys::ReadBuffer;
use gemini_tools::sys::event::{PollFd, PollFlags, Timespec};
use gemini_tools::tool::{Cancellation, Context, ErrorKind, TICK, ToolError, from_words};
use serde_json::{Value, json};

/// The arguments of a call: typed, or one JSON object on standard input.
pub(crate) fn arguments(
    options: &CallToolOptions,
    session: &Session,
    input: &[u8],
    cx: &Context,
) -> Result<Value, ToolError> {
    if let Some(words) = &options.args {
        return session.with_tool(&options.name, cx, |tool| from_words(tool, words))?;
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

/// Reminds of the form for values that are not strings, where one was perhaps meant.
pub(crate) fn explain_types(options: &CallToolOptions, e: ToolError) -> ToolError {
    let pairs = options.args.as_deref().unwrap_or_default();
    let odd = pairs
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, value)| {
            !key.ends_with(':')
                && serde_json::from_str::<Value>(value).is_ok_and(|value| !value.is_string())
        });
    match odd {
        Some((key, value)) if e.kind == ErrorKind::InvalidToolParams && e.hint.is_none() => e
            .with_hint(format!(
                "KEY=VALUE gives a string; for numbers and the like write {key}:={value}."
            )),
        _ => e,
    }
}

/// Reads standard input to its end, in every case: a host whose write fails because its
/// reader is gone raises an error of its own. A person at a terminal is not waited for.
pub(crate) fn read_input(cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    let stdin = gemini_tools::sys::stdio::stdin();
    if gemini_tools::sys::termios::isatty(stdin) {
        return Ok(Vec::new());
    }
    let failed = |e: gemini_tools::sys::io::Errno| {
        let reason = std::io::Error::from(e);
        ToolError::invalid(format!("Standard input can't be read: {reason}."))
    };
    let mut input = Vec::new();
    let mut buffer = ReadBuffer::new(64 * 1024);
    let mut is_too_large = false;
    loop {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let tick = Timespec::try_from(TICK).ok();
        match gemini_tools::sys::event::poll(&mut ready, tick.as_ref()) {
            Ok(0) | Err(gemini_tools::sys::io::Errno::INTR) => {
                cancel.check()?;
                continue;
            }
            other => other.map_err(failed)?,
        };
        match buffer.read(stdin) {
            Ok([]) => break,
            // Read on, only to let the writer finish.
            Ok(_) if is_too_large => {}
            Ok(piece) => {
                is_too_large = input.len() + piece.len() > MAX_BYTES;
                if is_too_large {
                    input = Vec::new();
                } else {
                    input.extend_from_slice(piece);
                }
            }
            Err(gemini_tools::sys::io::Errno::INTR | gemini_tools::sys::io::Errno::AGAIN) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    if is_too_large {
        return Err(ToolError::invalid(format!(
            "The arguments are larger than {MAX_BYTES} bytes."
        )));
    }
    Ok(input)
}
