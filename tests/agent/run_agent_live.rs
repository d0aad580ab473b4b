//! What a person sees of `run_agent` at a terminal: what is waited for, what has come of each call, what the session came
//! to, and what the keys of a question mean.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::agent::{agent, call, said};
use crate::harness::stand_in::StandIn;
use crate::harness::terminal::{ASKED, CTRL_C};
use crate::harness::{Workspace, lines, write};

const ERASED: &str = "\r\x1b[2K";

fn shell(id: &str, command: &str) -> Value {
    call(id, "run_shell_command", json!({"command": command}))
}

/// A model that has a thought, and then says nothing more.
fn thinking() -> Value {
    let parts =
        json!([{"text": "**Counting herons**\n\nThere are many.", "thought": true}, {"text": "x"}]);
    json!({"faults": [{"fault": "silence", "afterChunks": 1, "text": "", "parts": parts}]})
}

/// Each state of each line: colours are gone, and what was erased is a line of its own.
#[track_caller]
fn fits(shown: &str, columns: usize) {
    let styles = regex::Regex::new("\x1b\\[[0-9;]*m").expect("a pattern");
    let plain = styles.replace_all(shown, "").replace(ERASED, "\n");
    for line in plain.lines() {
        let line = line.trim_end_matches('\r');
        assert!(line.chars().count() < columns, "{columns}: {line:?}");
    }
}

#[test]
fn a_line_says_what_is_waited_for_and_is_gone_before_anything_else_is_written() {
    let Some(api) = StandIn::playing(&thinking()) else {
        return;
    };
    for (columns, plain) in [(80, ""), (120, "1")] {
        api.play(&thinking());
        let ws = Workspace::new();
        let call = agent(&ws, &api, &["Play"])
            .env("TERM", "xterm")
            .env("NO_COLOR", plain);
        let mut person = call.at_a_terminal_of(columns);
        let mut shown = person.sees("gemini-2.5-pro  Counting herons");
        person.types(CTRL_C);
        let rest = person.sees_it_end(130);
        // The line that was there last is erased before the end is told.
        let end = rest.find("Error: ").expect("the end");
        let before = rest[..end].trim_end_matches("\x1b[31m");
        assert!(before.ends_with(ERASED), "{rest:?}");
        assert!(!rest[end..].contains("gemini-2.5-pro"), "{rest:?}");
        shown += &rest;
        assert_eq!(shown.contains("\x1b[2m"), plain.is_empty(), "{shown:?}");
        fits(&shown, columns.into());
    }
}

#[test]
fn the_models_text_is_printed_as_it_comes_and_no_line_is_drawn_within_it() {
    let parts = json!([{"text": "Herons are **ta"}, {"text": "ll**.\n"}]);
    let script = json!({"faults": [{"fault": "silence", "afterChunks": 1, "parts": parts}]});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let call = agent(&ws, &api, &["Play"]).env("TERM", "xterm");
    let mut person = call.at_a_terminal();
    person.sees("Herons are **ta");
    // A line would have come by now.
    thread::sleep(Duration::from_secs(1));
    person.types(CTRL_C);
    let rest = person.sees_it_end(130);
    assert!(!rest.contains("gemini-2.5-pro "), "{rest:?}");
}

#[test]
fn no_line_is_drawn_where_it_could_not_be_erased_or_is_a_file() {
    let Some(api) = StandIn::playing(&thinking()) else {
        return;
    };
    for (name, value) in [("TERM", "dumb"), ("TERM", ""), ("CI", "true")] {
        api.play(&thinking());
        let ws = Workspace::new();
        let call = agent(&ws, &api, &["Play"]).env("TERM", "xterm");
        let mut person = call.env(name, value).at_a_terminal();
        while api.count("turn") == 0 {
            thread::sleep(Duration::from_millis(20));
        }
        // A line would have come by now.
        thread::sleep(Duration::from_secs(1));
        person.types(CTRL_C);
        let shown = person.sees_it_end(130);
        assert!(shown.contains("cancelled"), "{shown}");
        assert!(
            !shown.contains("gemini-2.5-pro") && !shown.contains(ERASED),
            "{name}: {shown:?}"
        );
    }
}

#[test]
fn a_command_that_runs_is_on_the_line() {
    let script = json!({"turns": [[
        shell("a", "echo one; echo two; while [ ! -e go ]; do sleep 0.05; done"),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let call = agent(&ws, &api, &["Play", "-y"]).env("TERM", "xterm");
    let mut person = call.at_a_terminal_of(80);
    let mut shown = person.sees("run_shell_command echo one; echo two; while");
    write(&ws.dir().join("go"), b"");
    let rest = person.sees_it_end(0);
    let at = rest.find("✓").expect("the end of the call");
    assert!(!rest[at..].contains("… run_shell_command"), "{rest}");
    shown += &rest;
    fits(&shown, 80);
}

#[test]
fn a_request_that_is_sent_again_is_told_on_a_terminal_only() {
    for (fault, words) in [
        (json!({"fault": "429", "retryDelay": "0.1s"}), "429"),
        (json!({"fault": "503", "retryAfter": 0}), "503"),
    ] {
        let script = json!({"faults": [fault], "closing": "At last."});
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let ws = Workspace::new();
        let shown = agent(&ws, &api, &["Play"]).at_a_terminal().sees_it_end(0);
        let line = shown.lines().find(|line| line.contains(words));
        let line = line.unwrap_or_else(|| panic!("{words}: {shown}"));
        assert!(line.contains("It is asked again in "), "{line}");
        assert!(shown.contains("At last."), "{shown}");
        api.play(&script);
        let answer = agent(&ws, &api, &["Play"]).run();
        assert_eq!(said(&answer), "At last.\n");
        assert!(answer.stderr.is_empty(), "{}", answer.shown());
    }
}

#[test]
fn each_call_is_shown_with_a_line_or_two_of_its_result_and_the_session_with_its_sums() {
    let text = lines(20, |i| format!("line {i}\n"));
    let script = json!({"turns": [[
        call("r", "read_file", json!({"absolute_path": "README.md"})),
        call("e", "replace", json!({"file_path": "README.md", "old_string": "helo", "new_string": "hello"})),
        call("w", "write_file", json!({"file_path": "new.txt", "content": text})),
        shell("s", "printf '1\\n2\\n3\\n'"),
        shell("f", "false"),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let time = regex::Regex::new(r"\d+(\.\d)?m?s").expect("a pattern");
    let tokens = regex::Regex::new(r"\d+ tokens").expect("a pattern");
    // The line that says what is waited for, until it is erased.
    let frames = regex::Regex::new("… [^\n\r]*\r\x1b\\[2K").expect("a pattern");
    for columns in [80, 120] {
        api.play(&script);
        let ws = Workspace::new().file("README.md", "# Demo\nIt says helo.\n");
        let call = agent(&ws, &api, &["Play", "-y"])
            .env("NO_COLOR", "1")
            .env("TERM", "xterm");
        let shown = call.at_a_terminal_of(columns).sees_it_end(0);
        let plain = shown.replace("\r\n", "\n");
        let plain = frames.replace_all(&plain, "");
        let plain = tokens
            .replace(&time.replace_all(&plain, "T"), "N tokens")
            .into_owned();
        let diff = lines(12, |i| format!("  +line {i}\n"));
        let (sums, go_on) = plain.split_once("Done.\n").expect("an answer");
        assert_eq!(
            sums,
            format!(
                "Turn 1.\n\
                 ✓ read_file Reads `README.md` (T)\n  Read lines 1-2 of 2 of README.md\n\
                 ✓ replace Edits `README.md`: helo => hello +1 -1 (T)\n   # Demo\n  -It says helo.\n  +It says hello.\n\
                 ✓ write_file Writes `new.txt` +20 -0 (T)\n{diff}  … 8 lines more\n\
                 ✓ run_shell_command printf '1\\n2\\n3\\n' (T)\n  2\n  3\n\
                 ✗ run_shell_command false: exit 1 (T)\n  Command exited with code: 1\n"
            )
        );
        let sums = "2 turns, 5 calls (1 failed), N tokens, T, 2 files changed (+21 -1).";
        assert!(go_on.starts_with(sums), "{go_on}");
        fits(&shown, columns.into());
    }
    // A pipe gets none of it.
    api.play(&script);
    let ws = Workspace::new().file("README.md", "helo\n");
    let answer = agent(&ws, &api, &["Play", "-y"]).run();
    assert_eq!(said(&answer), "Turn 1.\nDone.\n");
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
}

#[test]
fn a_question_shows_the_command_once_and_names_its_keys() {
    let script = json!({"turns": [[shell("a", "touch a.txt")]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    for columns in [80, 120] {
        api.play(&script);
        let ws = Workspace::new();
        let mut person = agent(&ws, &api, &["Play"]).at_a_terminal_of(columns);
        let page = person.sees(ASKED);
        assert_eq!(page.matches("touch a.txt").count(), 1, "{page}");
        assert!(page.contains("[q]uit"), "{page}");
        person.types(b"y");
        let shown = person.sees_it_end(0);
        assert!(
            shown.contains("✓ run_shell_command touch a.txt ("),
            "{shown}"
        );
        assert!(std::fs::exists(ws.path("a.txt")).expect("a name"));
    }
}
