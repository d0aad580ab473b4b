//! Runs of `run_agent` with the stand-in as the API, and what the model was told in them.

use serde_json::{Value, json};

use crate::stand_in::StandIn;
use crate::{Answer, Call, Workspace, executable};

/// A run with a credential for the stand-in.
pub fn agent<'a>(ws: &'a Workspace, api: &StandIn, args: &[&str]) -> Call<'a> {
    let call = ws.program(&executable("run_agent"), args);
    call.env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url())
        .unwatched()
}

/// A call of a turn of the stand-in's script.
pub fn call(id: &str, tool: &str, args: Value) -> Value {
    let mut call = json!({"id": id, "tool": tool});
    call["args"] = args;
    call
}

/// What ended well, and printed this.
#[track_caller]
pub fn said(answer: &Answer) -> String {
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    String::from_utf8(answer.stdout.clone()).expect("UTF-8")
}

#[track_caller]
pub fn ended(answer: &Answer, code: i32, pieces: &[&str]) {
    assert_eq!(answer.status(), code, "{}", answer.shown());
    let stderr = answer.errors();
    for piece in pieces {
        assert!(stderr.contains(piece), "{piece:?}: {}", answer.shown());
    }
}

/// The bodies of the model's turns.
pub fn turns(api: &StandIn) -> Vec<Value> {
    let requests = api.requests();
    let turns = requests.into_iter().filter(|r| r["kind"] == "turn");
    turns.map(|mut r| r["body"].take()).collect()
}

/// The parts of the last message of the last turn.
pub fn last_parts(api: &StandIn) -> Vec<Value> {
    let body = turns(api).pop().expect("a turn");
    let last = body["contents"].as_array().and_then(|c| c.last()).cloned();
    let last = last.expect("a message");
    assert_eq!(last["role"], "user", "{last}");
    last["parts"].as_array().expect("parts").clone()
}

/// `output` or `error` of the response with this id in the last message.
pub fn response(api: &StandIn, id: &str) -> Value {
    let parts = last_parts(api);
    let found = parts.iter().find(|p| p["functionResponse"]["id"] == id);
    found.unwrap_or_else(|| panic!("no {id}: {parts:?}"))["functionResponse"]["response"].clone()
}
