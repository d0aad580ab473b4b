//! The output of a call that still runs: as text on a terminal, or as lines of JSON for `--stream`.

use crate::call_tool::print::{Medium, print, print_json};
use gemini_tools::answer::to_line;
use gemini_tools::text::harmless_lines;
use gemini_tools::tool::OutputUpdate;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// Shows output of a running call, and adds it to the text that the terminal has shown.
pub(crate) fn show(output: OutputUpdate, shown: &Mutex<String>) {
    if let OutputUpdate::Text(text) = output {
        write(&harmless_lines(&text));
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.push_str(&text);
    }
}

pub(crate) fn write(text: &str) {
    print(text.as_bytes(), Medium::Text);
}

pub(crate) fn print_line(output: OutputUpdate) {
    if let Some(line) = line(output) {
        print_json(&to_line(&line), 0);
    }
}

pub(crate) fn line(output: OutputUpdate) -> Option<Value> {
    match output {
        OutputUpdate::Text(text) => Some(json!({ "type": "output", "text": text })),
        OutputUpdate::ModelCall(call) => Some(json!({ "type": "model_call", "call": call })),
        _ => None,
    }
}
