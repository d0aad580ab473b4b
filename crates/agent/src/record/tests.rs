use super::{Line, SessionRecord};
use crate::call::{CallOutcome, CallRequest};
use gemini_tools_core::message::Content;
use serde_json::{Map, json};

fn request(id: &str) -> CallRequest {
    CallRequest {
        id: id.to_owned(),
        name: "t".to_owned(),
        args: Map::new(),
    }
}

fn model() -> Content {
    serde_json::from_value(json!({"role": "model", "parts": [
        {"functionCall": {"name": "t", "args": {}}, "thoughtSignature": "c2ln"},
    ]}))
    .expect("a message")
}

fn lines() -> Vec<Line> {
    vec![
        Line::Content {
            content: Content::user("a"),
            prompt_tokens: None,
        },
        Line::Content {
            content: model(),
            prompt_tokens: None,
        },
        Line::Calls {
            requests: ["1", "2", "3", "4"].map(request).to_vec(),
        },
        Line::Done {
            place: 0,
            outcome: CallOutcome::default(),
        },
    ]
}

#[test]
fn a_session_that_was_cut_off_anywhere_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    let mut record = SessionRecord::create(&path, "id", "m").expect("new");
    for line in lines() {
        record.write(&line);
    }
    record.check().expect("written");
    drop(record);
    let (_, resumed) = SessionRecord::resume(&path, "new", "m").expect("a session");
    assert_eq!((resumed.id.as_str(), resumed.contents.len()), ("id", 2));
    let done: Vec<bool> = resumed.open.iter().map(|c| c.outcome.is_some()).collect();
    assert_eq!(done, [true, false, false, false]);
    let whole = std::fs::read(&path).expect("a file");
    let first = whole.iter().position(|b| *b == b'\n').expect("a line") + 1;
    for end in first..whole.len() {
        std::fs::write(&path, &whole[..end]).expect("written");
        let (mut record, resumed) = SessionRecord::resume(&path, "new", "m").expect("a session");
        assert!(resumed.contents.len() <= 2);
        assert_eq!(resumed.open.is_empty(), resumed.contents.len() < 2, "{end}");
        record.write(&Line::Content {
            content: Content::user("more"),
            prompt_tokens: None,
        });
        record.check().expect("written");
        drop(record);
        let (_, again) = SessionRecord::resume(&path, "new", "m").expect("still a session");
        let last = again.contents.last().expect("a message");
        assert_eq!(last, &Content::user("more"));
    }
}

#[test]
fn a_session_goes_on_without_a_spare_file_that_can_not_be_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    for best_effort in [false, true] {
        let mut record = SessionRecord::create(&path, "id", "m").expect("new");
        if best_effort {
            record.best_effort = true;
        }
        record.file = std::fs::File::open(&path).expect("a file that is only read");
        record.write(&lines()[0]);
        assert_eq!(record.check().is_ok(), best_effort);
        assert_eq!(path.exists(), !best_effort);
        drop(record);
        let _ = std::fs::remove_file(&path);
    }
}

#[test]
fn a_message_that_was_cut_off_from_its_calls_is_never_there_twice() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    let mut record = SessionRecord::create(&path, "id", "m").expect("new");
    let user = |text| Line::Content {
        content: Content::user(text),
        prompt_tokens: None,
    };
    record.write(&user("a"));
    record.write(&Line::Content {
        content: model(),
        prompt_tokens: None,
    });
    drop(record);
    // The process was killed before it recorded the calls of the model's message. The model is
    // asked again, after another prompt or without one.
    for (more, count) in [(None, 2), (Some("b"), 3)] {
        let (mut record, resumed) = SessionRecord::resume(&path, "new", "m").expect("a session");
        assert_eq!(resumed.contents.last().map(|c| &*c.role), Some("user"));
        if let Some(text) = more {
            record.write(&user(text));
        }
        record.write(&Line::Content {
            content: model(),
            prompt_tokens: None,
        });
        drop(record);
        let (mut record, _) = SessionRecord::resume(&path, "new", "m").expect("a session");
        record.write(&Line::Content {
            content: model(),
            prompt_tokens: None,
        });
        record.write(&Line::Calls {
            requests: vec![request("1")],
        });
        drop(record);
        let text = std::fs::read_to_string(&path).expect("a file");
        let (_, resumed) = SessionRecord::resume(&path, "new", "m").expect("a session");
        assert_eq!(resumed.contents.len(), count);
        assert_eq!(resumed.open.len(), 1);
        // The next round again starts from a file without the line of the calls.
        let calls = text.find("{\"type\":\"calls\"").expect("calls");
        std::fs::write(&path, &text[..calls]).expect("written");
    }
}

#[test]
fn nobody_goes_on_with_a_session_that_is_at_work() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    let record = SessionRecord::create(&path, "id", "m").expect("new");
    let error = SessionRecord::resume(&path, "new", "m").expect_err("at work");
    assert!(error.contains("another run_agent"), "{error}");
    drop(record);
    let (record, _) = SessionRecord::resume(&path, "new", "m").expect("a session");
    assert!(SessionRecord::resume(&path, "new", "m").is_err());
    drop(record);
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    for (text, piece) in [
        ("{\"type\":\"session\"", "no whole line"),
        ("hello\n", "line 1"),
        ("{\"type\":\"calls\",\"requests\":[]}\n", "first line"),
        (
            "{\"type\":\"session\",\"version\":99,\"id\":\"x\",\"model\":\"m\"}\n",
            "version 99",
        ),
    ] {
        std::fs::write(&path, text).expect("written");
        let error = SessionRecord::resume(&path, "new", "m").expect_err("no session");
        assert!(error.contains(piece), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
    }
    let error = SessionRecord::create(&path, "id", "m").expect_err("not empty");
    assert!(error.contains("--resume"), "{error}");
    assert!(SessionRecord::resume(dir.path(), "new", "m").is_err());
}
