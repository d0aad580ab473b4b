use super::TextOutput;
use crate::event::{Observer, SessionEvent};
use crate::output::tests::{
    BrokenWriter, PROMPT, STARTED, answered_turn, begun, done, stats, text, thought, turn,
};
use serde_json::json;
use std::time::Duration;

fn shown(events: &[SessionEvent<'_>]) -> String {
    shown_on(false, events)
}

fn shown_on(is_terminal: bool, events: &[SessionEvent<'_>]) -> String {
    let mut out = Vec::new();
    let mut observer = TextOutput::new(&mut out, is_terminal);
    for event in events {
        observer.take(event);
    }
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn a_pipe_gets_exactly_the_text_of_the_model() {
    let (begun, done) = (begun("t", json!({})), done("t", json!({}), text("out")));
    let (answered, stats) = (answered_turn(), stats());
    let events = [
        STARTED,
        PROMPT,
        turn(1),
        SessionEvent::Thought(&thought()),
        SessionEvent::Text("I lo"),
        SessionEvent::Text("ok.\x1b[1m"),
        SessionEvent::Response {
            turn: &answered,
            duration: Duration::ZERO,
        },
        SessionEvent::Call(&begun),
        SessionEvent::Call(&done),
        SessionEvent::Warning("hidden"),
        turn(2),
        SessionEvent::Text("It is\n\n3.\r\n"),
        SessionEvent::Ended {
            error: None,
            stats: &stats,
        },
    ];
    assert_eq!(shown(&events), "I look.\x1b[1m\nIt is\n\n3.\r\n");
}

#[test]
fn a_last_line_is_ended_once() {
    let stats = stats();
    let ended = || SessionEvent::Ended {
        error: None,
        stats: &stats,
    };
    assert_eq!(shown(&[SessionEvent::Text("a"), ended()]), "a\n");
    assert_eq!(shown(&[SessionEvent::Text("a\n"), ended()]), "a\n");
    assert_eq!(shown(&[ended()]), "");
}

#[test]
fn what_is_said_again_begins_a_line() {
    let events = [
        SessionEvent::Text("half"),
        SessionEvent::Retry("flaw"),
        SessionEvent::Text("whole"),
    ];
    assert_eq!(shown(&events), "half\nwhole");
}

#[test]
fn a_reader_that_is_gone_is_left_alone() {
    let mut broken = BrokenWriter::default();
    let mut observer = TextOutput::new(&mut broken, false);
    for _ in 0..3 {
        observer.take(&SessionEvent::Text("a"));
    }
    assert_eq!(broken.0, 1);
}

#[test]
fn a_terminal_shows_text_as_it_comes_and_obeys_none_of_its_sequences() {
    let events = ["a\x1b", "[2J\x1b]52;c;aGk=\x07 **b", "**\r\nc\u{9b}"].map(SessionEvent::Text);
    let expected = "a\\u{1b}[2J\\u{1b}]52;c;aGk=\\u{7} **b**\r\nc\\u{9b}";
    assert_eq!(shown_on(true, &events), expected);
    let warned = [
        SessionEvent::Text("a"),
        SessionEvent::Warning("w"),
        SessionEvent::Text("b"),
    ];
    assert_eq!(shown_on(true, &warned), "a\nb");
}
