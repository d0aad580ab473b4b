//! A program that makes one call in a session of the current directory, for the tests: `session-call MODE NAME`, where
//! `MODE` is `host` if the host has asked. It has a tool of its own, `mark`, which makes the file `marked`. It prints the
//! result, or the kind of the error and its message.

use gemini_tools_core::tool::{
    ApprovalMode, Context, FunctionTool, Kind, Schema, ToolError, ToolResult,
};
use gemini_tools_session::{CallOptions, PolicyOptions, Session};
use serde_json::{Value, json};
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
    let mut session = Session::open(&root, &[], &options)?.without_servers();
    session.add_tool(mark("mark"))?;
    let taken = session.add_tool(mark("read_file"));
    if taken.is_ok() {
        return Err(ToolError::failed("A built-in tool was replaced."));
    }
    let mut cx = Context::default();
    let result = session
        .run(&name, json!({}), CallOptions::default(), &mut cx)
        .outcome?;
    Ok(json!(result.llm_content).to_string())
}

fn mark(name: &str) -> FunctionTool<Value> {
    let schema = Schema::from_value(json!({"type": "object"}));
    FunctionTool::changing(name, "Marks.", Kind::Edit, schema, |_, _| {
        std::fs::write("marked", "").map_err(|e| ToolError::failed(e.to_string()))?;
        Ok(ToolResult::text("Marked."))
    })
}
