use super::StatusOutput;
use crate::call::{CallOutcome, CallState};
use crate::event::{Observer, SessionEvent};
use crate::output::tests::{STARTED, begun, turn};
use crate::thought::Thought;
use serde_json::json;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug, Default)]
struct Terminal(Arc<Mutex<Vec<u8>>>);

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Writer(Terminal);

impl Observer for Writer {
    fn take(&mut self, _: &SessionEvent<'_>) {
        self.0.write_all(b"event\n").expect("written");
    }
}

/// Returns what a terminal of 40 columns receives, with `^` for the sequence that erases the line.
fn shown(shows_text: bool, events: &[SessionEvent<'_>]) -> String {
    let terminal = Terminal::default();
    let writer = Box::new(Writer(terminal.clone()));
    let mut status = StatusOutput::new(terminal.clone(), || 40, false, shows_text, vec![writer]);
    for event in events {
        status.take(event);
    }
    let bytes = terminal.0.lock().expect("no panic").clone();
    let text = String::from_utf8(bytes).expect("UTF-8");
    text.replace("\r\x1b[2K", "^")
}

#[test]
fn the_line_is_gone_before_anything_is_written() {
    let call = begun("t", json!({}));
    let events = [
        STARTED,
        turn(1),
        SessionEvent::Thought(&Thought::parse("**Looking around**\nI look.")),
        SessionEvent::Text("One line.\n"),
        SessionEvent::Call(&call),
    ];
    assert_eq!(
        shown(true, &events),
        "event\nevent\n… gemini-x^event\n… gemini-x  Looking around^event\n… gemini-x^event\n"
    );
}

#[test]
fn calls_that_run_at_once_are_counted() {
    let mut calls = ["first", "second"].map(|name| {
        let mut call = begun(name, json!({}));
        call.move_to(CallState::Executing);
        call
    });
    let done = CallState::Done(CallOutcome::default());
    let [first, second] = calls.clone();
    calls[0].move_to(done);
    let events = [first, second, calls[0].clone()];
    let events = events.each_ref().map(SessionEvent::Call);
    let text = shown(false, &events);
    let drawn: Vec<&str> = text.split("event\n").skip(1).collect();
    assert_eq!(drawn, ["… first^", "… first, and 1 more^", "… second"]);
}

#[test]
fn nothing_is_drawn_within_a_line_of_the_model() {
    let events = [STARTED, turn(1), SessionEvent::Text("half")];
    assert!(shown(true, &events).ends_with("gemini-x^event\n"));
    assert!(shown(false, &events).ends_with("^event\n… gemini-x"));
}

#[test]
fn a_line_is_no_wider_than_the_terminal() {
    let mut call = begun("t", json!({"long": "x".repeat(100)}));
    call.move_to(CallState::Executing);
    let text = shown(false, &[SessionEvent::Call(&call)]);
    let expected = format!("event\n… t long: {}…", "x".repeat(28));
    assert_eq!(text, expected);
}
