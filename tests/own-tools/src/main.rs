//! A program that serves tools of its own to an MCP client, for the tests.

use gemini_tools_core::registry::ToolRegistry;
use gemini_tools_core::tool::{
    Context, ErrorKind, FunctionTool, Kind, OutputUpdate, Schema, ToolError, ToolResult,
};
use gemini_tools_mcp_sdk::serve::{ServerInfo, registry};
use serde::Deserialize;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(10);

#[derive(Deserialize)]
struct Shout {
    text: String,
}

fn main() -> ExitCode {
    let mut tools = ToolRegistry::default();
    add(&mut tools).expect("each name is valid, and used once");
    let mut info = ServerInfo::new("own-tools", "3.2.1");
    info.title = Some("Own tools".to_owned());
    info.instructions = Some("Shout only when asked.".to_owned());
    info.structured_content = true;
    registry(tools, info, log).into()
}

fn log(message: &str) {
    let _ = writeln!(io::stderr(), "own-tools: {message}");
}

fn add(tools: &mut ToolRegistry) -> Result<(), ToolError> {
    let nothing = || Schema::from_static(r#"{"type":"object"}"#);
    let text = Schema::from_static(
        r#"{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}"#,
    );
    let shout = |args: Shout, _: &Context| Ok(ToolResult::text(args.text.to_uppercase()));
    tools.register(FunctionTool::read_only(
        "shout",
        "Gives the text in capitals.",
        text,
        shout,
    ))?;

    let erase = |(): (), _: &Context| -> Result<ToolResult, ToolError> {
        Err(ToolError::new(ErrorKind::FileNotFound, "Nothing to erase."))
    };
    tools.register(FunctionTool::changing(
        "erase",
        "Erases everything.",
        Kind::Delete,
        nothing(),
        erase,
    ))?;

    let crash = |(): (), _: &Context| -> Result<ToolResult, ToolError> { panic!("on purpose") };
    tools.register(FunctionTool::read_only(
        "crash",
        "Crashes.",
        nothing(),
        crash,
    ))?;

    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    let wait = move |(): (), cx: &Context| {
        cx.update_output(OutputUpdate::Text("waiting".to_owned()));
        let error = loop {
            match cx.cancel.check() {
                Ok(()) => thread::sleep(PAUSE),
                Err(error) => break error,
            }
        };
        ended.store(true, Ordering::Release);
        Err(error)
    };
    tools.register(FunctionTool::read_only(
        "wait",
        "Waits until it is cancelled.",
        nothing(),
        wait,
    ))?;

    let until_ended = move |(): (), cx: &Context| {
        while !has_ended.load(Ordering::Acquire) {
            cx.cancel.check()?;
            thread::sleep(PAUSE);
        }
        Ok(ToolResult::text("it has ended"))
    };
    tools.register(FunctionTool::read_only(
        "until_ended",
        "Waits until a call of wait has ended.",
        nothing(),
        until_ended,
    ))
}
