use super::{StatusOutput, status_text};
use crate::call::CallState;
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
    fn take(&mut self, event: &SessionEvent<'_>) {
        if !matches!(event, SessionEvent::Live { .. }) {
            self.0.write_all(b"event\n").expect("written");
        }
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
fn output_stands_beside_the_call_that_has_printed_it() {
    let calls = ["first", "second"].map(|name| {
        let mut call = begun(name, json!({}));
        call.move_to(CallState::Executing);
        call
    });
    let live = |name| SessionEvent::Live {
        id: name,
        text: "news\n",
    };
    let events = [
        STARTED,
        SessionEvent::Call(&calls[0]),
        SessionEvent::Call(&calls[1]),
        live("second-1"),
        live("gone-1"),
        live("first-1"),
    ];
    let text = shown(false, &events);
    let drawn: Vec<&str> = text.rsplit('^').take(3).collect();
    assert_eq!(
        drawn,
        [
            "… first, and 1…  news",
            "… second, and …  news",
            "… second, and …  news"
        ]
    );
}

#[test]
fn nothing_is_drawn_within_a_line_of_the_model() {
    let events = [STARTED, turn(1), SessionEvent::Text("half")];
    assert!(shown(true, &events).ends_with("gemini-x^event\n"));
    assert!(shown(false, &events).ends_with("^event\n… gemini-x"));
}

#[test]
fn a_line_is_no_wider_than_the_terminal() {
    let long = "x".repeat(100);
    for (label, news, expected) in [
        ("m", "", "… m".to_owned()),
        ("m", "Looks", "… m  Looks".to_owned()),
        (&long, "", format!("… {}…", "x".repeat(36))),
        (
            &long,
            &long,
            format!("… {}…  {}…", "x".repeat(12), "x".repeat(21)),
        ),
    ] {
        let text = status_text(label, news, 40);
        assert_eq!(text, expected);
        assert!(text.chars().count() < 40);
    }
}
