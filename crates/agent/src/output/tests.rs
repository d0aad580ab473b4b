//! Events for the tests of all observers.

use crate::call::{CallOutcome, CallRequest, CallState, ToolCall, ToolCallDecision};
use crate::event::SessionEvent;
use crate::stats::Stats;
use crate::thought::Thought;
use crate::turn::Turn;
use gemini_tools_core::tool::{DiffStat, ErrorKind, Kind, ModelCall, ModelCallError, TokenCounts};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn still() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_769_846_950_123)
}

pub(crate) fn request(name: &str, args: Value) -> CallRequest {
    let args = serde_json::from_value(args).expect("an object");
    CallRequest {
        id: format!("{name}-1"),
        name: name.to_owned(),
        args,
    }
}

fn moved(mut call: ToolCall, states: impl IntoIterator<Item = CallState>) -> ToolCall {
    for state in states {
        call.move_to(state);
    }
    call.duration = Duration::from_millis(12);
    call
}

pub(crate) fn begun(name: &str, args: Value) -> ToolCall {
    ToolCall {
        request: request(name, args),
        kind: Some(Kind::Read),
        ..ToolCall::default()
    }
}

pub(crate) fn done(name: &str, args: Value, outcome: CallOutcome) -> ToolCall {
    let mut call = begun(name, args);
    call.decision = Some(ToolCallDecision::AutoAccept);
    moved(
        call,
        [
            CallState::Scheduled,
            CallState::Executing,
            CallState::Done(outcome),
        ],
    )
}

pub(crate) fn failed(name: &str, args: Value, why: &str) -> ToolCall {
    let outcome = CallOutcome::failure(&request(name, args.clone()), ErrorKind::FileNotFound, why);
    moved(begun(name, args), [CallState::Done(outcome)])
}

pub(crate) fn refused(name: &str, args: Value) -> ToolCall {
    let why = "The user declined this call.";
    let outcome = CallOutcome::failure(&request(name, args.clone()), ErrorKind::Cancelled, why);
    let mut call = begun(name, args);
    call.decision = Some(ToolCallDecision::Reject);
    moved(call, [CallState::Done(outcome)])
}

pub(crate) fn text(text: &str) -> CallOutcome {
    CallOutcome {
        text: text.to_owned(),
        ..CallOutcome::default()
    }
}

pub(crate) fn edit() -> CallOutcome {
    CallOutcome {
        text: "Edited.".to_owned(),
        diff: Some("--- a\n+++ a\n@@ -1 +1,2 @@\n-old\n+new\n+more\n".to_owned()),
        diff_stat: Some(DiffStat {
            ai_added_lines: 2,
            ai_removed_lines: 1,
            ..DiffStat::default()
        }),
        ..CallOutcome::default()
    }
}

pub(crate) fn usage() -> TokenCounts {
    TokenCounts {
        prompt: 100,
        candidates: 20,
        total: 130,
        cached: 60,
        thoughts: 10,
        tool: 0,
    }
}

pub(crate) fn answered_turn() -> Turn {
    Turn {
        usage: Some(usage()),
        ..Turn::default()
    }
}

pub(crate) const STARTED: SessionEvent<'static> = SessionEvent::Started {
    session: "s-1",
    model: "gemini-x",
};

pub(crate) const PROMPT: SessionEvent<'static> = SessionEvent::Prompt {
    id: "p-1",
    text: "Häng an!",
};

pub(crate) fn thought() -> Thought {
    Thought::parse("**Hidden** in the dark")
}

pub(crate) fn turn(turn: u32) -> SessionEvent<'static> {
    SessionEvent::Request {
        prompt_id: "p-1",
        turn,
    }
}

pub(crate) fn model_call() -> ModelCall {
    ModelCall {
        model: "gemini-x".to_owned(),
        duration_ms: 1_000,
        tokens: usage(),
        error: None,
    }
}

pub(crate) fn refused_call() -> ModelCall {
    ModelCall {
        model: "gemini-x".to_owned(),
        duration_ms: 1_000,
        error: Some(ModelCallError {
            kind: "Server".to_owned(),
            status: Some(500),
            message: "The Gemini API answered 500.".to_owned(),
        }),
        ..ModelCall::default()
    }
}

pub(crate) fn stats() -> Stats {
    let mut stats = Stats::default();
    stats.count_model_call(&model_call());
    stats.count_model_call(&model_call());
    stats.count_model_call(&refused_call());
    stats.count_call(&ToolCall {
        changes_files: true,
        ..done("replace", json!({}), edit())
    });
    stats.count_call(&failed("read_file", json!({}), "gone"));
    stats.turns = 2;
    stats.duration = Duration::from_millis(4_200);
    stats
}

#[derive(Debug, Default)]
pub(crate) struct BrokenWriter(pub(crate) usize);

impl Write for &mut BrokenWriter {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
