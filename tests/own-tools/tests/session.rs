//! A program that makes calls by `gemini_tools_session`: its gate is that of the executables.

use gemini_tools_test_harness::Workspace;
use gemini_tools_test_harness::custom::with;
use gemini_tools_test_harness::mcp::Servers;
use serde_json::json;
use std::fs;
use std::path::Path;

fn asking_for_a_command(kind: &str) -> Workspace {
    let wanted = json!({"name": "run_shell_command", "args": {"command": "touch made"}});
    let result = json!({"llmContent": "seen", "tailToolCallRequest": wanted});
    let head = "#!/bin/sh\n# /// tool\n# description = \"Looks.\"\n# output = \"tool_result\"";
    let script = format!("{head}\n# kind = \"{kind}\"\n# ///\necho '{result}'\n");
    with("look.sh", &script)
}

fn said(ws: &Workspace, mode: &str, name: &str) -> (String, bool) {
    let program = Path::new(env!("CARGO_BIN_EXE_session-call"));
    let answer = ws.program(program, &[mode, name]).unwatched().run();
    let is_made = fs::remove_file(ws.path("made")).is_ok();
    (answer.text().to_owned(), is_made)
}

#[test]
fn a_tail_call_in_a_session_passes_the_gate_of_the_session() {
    let ws = asking_for_a_command("read");
    for mode in ["default", "host", "yolo"] {
        let (text, is_made) = said(&ws, mode, "look");
        let expected = if mode == "default" {
            "policy_violation"
        } else {
            "look says that it only reads"
        };
        assert!(text.contains(expected) && !is_made, "{mode}: {text}");
    }
    let ws = asking_for_a_command("execute");
    let rule = "[[rule]]\ntoolName = \"look\"\ndecision = \"allow\"\npriority = 10\n";
    let ws = ws.home(".gemini/policies/look.toml", rule);
    let (text, is_made) = said(&ws, "default", "look");
    assert!(
        text.contains("run_shell_command needs") && !is_made,
        "{text}"
    );
    let (text, is_made) = said(&ws, "yolo", "look");
    assert!(is_made, "{text}");
}

#[test]
fn a_tool_that_a_program_adds_passes_the_gate_and_takes_no_name_of_another() {
    let ws = Workspace::new();
    let program = Path::new(env!("CARGO_BIN_EXE_session-call"));
    let said = |mode: &str| {
        let answer = ws.program(program, &[mode, "mark"]).unwatched().run();
        let is_marked = fs::remove_file(ws.path("marked")).is_ok();
        (answer.text().to_owned(), is_marked)
    };
    let (text, is_marked) = said("default");
    assert!(text.contains("policy_violation") && !is_marked, "{text}");
    assert_eq!(said("yolo"), ("\"Marked.\"\n".to_owned(), true));
}

#[test]
fn a_panic_anywhere_in_a_tool_is_the_error_of_its_call() {
    let built = ["no_parameters", "no_build"];
    let asked = ["no_confirmation", "no_describe", "no_locations"];
    let ws = Workspace::new();
    for (mode, names) in [
        ("registry", [&built[..], &["no_run"]].concat()),
        ("asks", [&built[..], &asked, &["no_run"]].concat()),
        ("explains", [&built[..], &asked].concat()),
        ("yolo", [&built[..], &["no_run"]].concat()),
    ] {
        for name in names {
            let (text, _) = said(&ws, mode, name);
            let expected = format!("caught: The tool {name} has crashed");
            assert!(text.starts_with(&expected), "{mode} {name}: {text}");
        }
    }
    // A source that panics has no tools, and the others stay usable.
    let (text, _) = said(&ws, "registry", "other");
    assert!(text.contains("no tool named \"other\""), "{text}");
    assert_eq!(said(&ws, "registry", "no_answer").0, "\"Done.\"\n");
    // Of the program's own panics, one in its dialog is no answer, and one in what listens is nothing.
    let (text, _) = said(&ws, "asks", "no_answer");
    assert!(text.starts_with("\"policy_violation\""), "{text}");
    assert_eq!(said(&ws, "yolo", "mark").0, "\"Marked.\"\n");
}

#[test]
fn a_session_stands_by_itself_and_a_cancelled_call_does_not_run() {
    for (case, expected) in [
        ("agents", "was changed by somebody else since you read it"),
        ("home", "home directory is not that of this process"),
        (
            "later_home",
            "the home directory whose variables this process has read",
        ),
        ("gone", "a/b.txt does not exist"),
        ("registry_cancelled", "\"cancelled\""),
        ("cancelled_before", "\"cancelled\""),
        ("cancelled_unjudged", "\"cancelled\""),
        ("cancelled_asked", "\"cancelled\""),
        ("cancelled_waiting", "\"cancelled\""),
    ] {
        let ws = Workspace::new();
        let (text, is_made) = said(&ws, case, "");
        assert!(text.contains(expected) && !is_made, "{case}: {text}");
        assert!(!Path::new(&ws.path("marked")).exists(), "{case}: {text}");
        let is_asked = Path::new(&ws.path("asked")).exists();
        assert_eq!(is_asked, case == "cancelled_asked", "{case}: {text}");
    }
}

#[test]
fn a_tool_of_the_program_hides_one_of_a_server_with_its_name() {
    let server = json!({"srv": {"command": env!("CARGO_BIN_EXE_own-tools")}});
    let servers = Servers::configured(Workspace::new(), server, &json!({}));
    let program = Path::new(env!("CARGO_BIN_EXE_session-call"));
    let answer = servers
        .marked(servers.ws.program(program, &["names"]))
        .run();
    let names: Vec<&str> = answer.text().lines().collect();
    let its = |name: &str| names.iter().filter(|one| **one == name).count();
    assert_eq!((its("srv__shout"), its("srv__erase")), (1, 1), "{names:?}");
}

#[test]
fn a_root_that_is_not_absolute_is_refused() {
    let ws = Workspace::new().directory("usr");
    let program = Path::new(env!("CARGO_BIN_EXE_session-call"));
    for root in ["", ".", "usr", "./usr", "/usr/..", "/usr/../usr"] {
        let answer = ws.program(program, &["yolo", "mark", root]);
        let answer = answer.unwatched().run();
        answer.must_say(answer.text(), &["it is relative, or has a .. in it"]);
    }
}

#[test]
fn a_root_that_is_a_link_is_refused_with_what_to_give() {
    let ws = Workspace::new().directory("real").link("link", "real");
    let program = Path::new(env!("CARGO_BIN_EXE_session-call"));
    let answer = ws.program(program, &["yolo", "mark", &ws.path("link")]);
    let answer = answer.unwatched().run();
    answer.must_say(answer.text(), &["is a link; give it without links"]);
}
