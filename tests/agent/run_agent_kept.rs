//! Sessions that `run_agent` keeps without being asked to, and how the next run goes on with them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::agent::{agent, ended, last_parts, response, said, turns};
use crate::harness::stand_in::StandIn;
use crate::harness::terminal::{ASKED, CTRL_C};

/// All files below the directories of projects in the home directory.
fn kept(ws: &Workspace) -> Vec<PathBuf> {
    let tmp = ws.dir().with_file_name("home").join(".gemini/tmp");
    let list = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let projects = list(&tmp).map(|entry| entry.path().join("agent-sessions"));
    let files = projects.flat_map(|path| list(&path).map(|entry| entry.path()).collect::<Vec<_>>());
    files.collect()
}

#[test]
fn each_session_is_kept_for_its_owner_and_the_newest_goes_on() {
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    let ws = Workspace::new();
    ended(
        &agent(&ws, &api, &["--continue", "x"]).run(),
        42,
        &["--continue"],
    );
    ended(&agent(&ws, &api, &[]).run(), 42, &["no prompt"]);
    assert!(kept(&ws).is_empty() && api.requests().is_empty());
    for prompt in ["First", "Second"] {
        let answer = agent(&ws, &api, &[prompt]).run();
        assert_eq!(said(&answer), "Done.\n");
        assert!(answer.stderr.is_empty(), "{}", answer.shown());
    }
    let files = kept(&ws);
    assert_eq!(files.len(), 2, "{files:?}");
    let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&files[0]), 0o600);
    assert_eq!(mode(files[0].parent().expect("a directory")), 0o700);
    said(&agent(&ws, &api, &["-c", "Third"]).run());
    let body = turns(&api).pop().expect("a turn");
    let body = body["contents"].to_string();
    assert!(body.contains("Second") && body.contains("Third"), "{body}");
    assert!(!body.contains("First"), "{body}");
    assert_eq!(kept(&ws).len(), 2, "a session that goes on stays one");
    ended(&agent(&ws, &api, &["--continue"]).run(), 42, &["no prompt"]);
}

#[test]
fn nothing_is_kept_where_the_user_or_another_file_says_so() {
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    let ws = Workspace::new();
    said(&agent(&ws, &api, &["Play", "--no-session"]).run());
    said(&agent(&ws, &api, &["Play", "--session", "s.jsonl"]).run());
    said(&agent(&ws, &api, &["Play", "--resume", "s.jsonl"]).run());
    assert!(kept(&ws).is_empty());
    for option in ["--session", "--resume"] {
        let answer = agent(&ws, &api, &["x", "-c", option, "s.jsonl"]).run();
        ended(&answer, 42, &["cannot be used with"]);
    }
    // Without a place for it the session is as good.
    let ws = Workspace::new().home(".gemini/tmp", "a file");
    let answer = agent(&ws, &api, &["Play"]).run();
    assert_eq!(said(&answer), "Done.\n");
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
}

#[test]
fn ctrl_c_shows_the_command_by_which_the_session_goes_on() {
    let call =
        json!({"id": "a", "tool": "write_file", "args": {"file_path": "a.txt", "content": "x"}});
    let script = json!({"turns": [[call]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    for (columns, args, command) in [
        (80, &["Play"][..], "run_agent --continue"),
        (
            120,
            &["Play", "--session", "a b.jsonl"],
            "run_agent --resume 'a b.jsonl'",
        ),
    ] {
        api.play(&script);
        let ws = Workspace::new();
        let mut person = agent(&ws, &api, args).at_a_terminal_of(columns);
        person.sees(ASKED);
        person.types(CTRL_C);
        let shown = person.sees_it_end(130);
        let line = format!("Go on with: {command}\r\n");
        assert!(shown.ends_with(&line), "{shown:?}");
        // The command as it is there.
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let words = [words[0], words.get(1).map_or("", |_| "a b.jsonl")];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        api.play(&json!({"closing": "Gone on."}));
        assert_eq!(said(&agent(&ws, &api, &words).run()), "Gone on.\n");
        assert!(
            response(&api, "a")["error"]
                .to_string()
                .contains("declined")
        );
    }
    // Where it is done, a word of the user is wanted.
    api.play(&json!({"closing": "Done."}));
    let ws = Workspace::new();
    let shown = agent(&ws, &api, &["Play"])
        .at_a_terminal_of(80)
        .sees_it_end(0);
    assert!(
        shown.ends_with("Go on with: run_agent --continue 'PROMPT'\r\n"),
        "{shown}"
    );
    let shown = agent(&ws, &api, &["Play", "--no-session"])
        .at_a_terminal()
        .sees_it_end(0);
    assert!(!shown.contains("Go on"), "{shown}");
    assert_eq!(Value::from(last_parts(&api))[0]["text"], "Play");
}
