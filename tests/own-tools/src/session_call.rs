//! A program that makes one call in a session of the current directory, for the tests: `session-call MODE NAME`, where
//! `MODE` is `host` if the host has asked. It prints the result, or the kind of the error and its message.

use gemini_tools_core::tool::{ApprovalMode, Context, ToolError};
use gemini_tools_session::{CallOptions, PolicyOptions, Session};
use serde_json::json;
use std::env;
use std::io::{self, Write};

fn main() -> io::Result<()> {
    let said = match call() {
        Ok(text) => text,
        Err(e) => format!("{}: {e}", json!(e.kind)),
    };
    writeln!(io::stdout(), "{said}")
}

fn call() -> Result<String, ToolError> {
    let mut words = env::args().skip(1);
    let (mode, name) = (words.next(), words.next().unwrap_or_default());
    let root = env::current_dir().and_then(|root| root.canonicalize());
    let root = root.map_err(|e| ToolError::failed(e.to_string()))?;
    let mut options = PolicyOptions::default();
    options.approval = match mode.as_deref() {
        Some("host") => None,
        Some("yolo") => Some(ApprovalMode::Yolo),
        _ => Some(ApprovalMode::Default),
    };
    let session = Session::open(&root, &[], &options)?.without_servers();
    let mut cx = Context::default();
    let result = session
        .run(&name, json!({}), CallOptions::default(), &mut cx)
        .outcome?;
    Ok(json!(result.llm_content).to_string())
}
