//! `call_tool --approval-mode` with a person at the terminal, and without one.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::custom::{SHOW, tool, with};
use crate::harness::mcp::Servers;
use crate::harness::terminal::with_editor;
use crate::harness::terminal::{ASKED, Person};
use crate::harness::{Answer, Call, Workspace, write};

const DENY_RM: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 10\n";

/// A call in a mode, its arguments as words, answered as a host gets it.
fn in_mode<'a>(ws: &'a Workspace, mode: &str, words: &[&str]) -> Call<'a> {
    let flags = ["--approval-mode", mode, "--output", "part"];
    ws.call_tool(words).flags(&flags)
}

fn at_work(ws: &Workspace, mode: &str, words: &[&str]) -> Person {
    in_mode(ws, mode, words).at_a_terminal()
}

/// The same with an editor of the workspace's own.
fn editing(ws: &Workspace, words: &[&str]) -> Person {
    let editor = format!("bash '{}'", ws.outside_path("editor"));
    let call = in_mode(ws, "default", words).env("EDITOR", &editor);
    call.at_a_terminal()
}

const WRITE: [&str; 3] = ["write_file", "file_path=a.txt", "content=one\n"];

fn content(ws: &Workspace, name: &str) -> Option<String> {
    fs::read_to_string(ws.path(name)).ok()
}

#[track_caller]
fn is_refused(mut person: Person, reason: &str) {
    let shown = person.sees_it_end(3);
    assert!(
        shown.contains("\"errorType\":\"policy_violation\""),
        "{shown}"
    );
    assert!(shown.contains(reason), "{shown}");
    assert!(!shown.contains(ASKED), "{shown}");
}

#[track_caller]
fn runs_unasked(mut person: Person) {
    let shown = person.sees_it_end(0);
    assert!(shown.contains("\"output\":"), "{shown}");
    assert!(!shown.contains(ASKED), "{shown}");
}

#[test]
fn yes_lets_the_call_run_that_was_shown() {
    let ws = Workspace::new();
    let mut person = at_work(&ws, "default", &WRITE);
    let page = person.sees(ASKED);
    for piece in ["write_file", "a.txt", "+one", "[y]es", "[n]o", "[e]dit"] {
        assert!(page.contains(piece), "{piece}: {page}");
    }
    assert_eq!(content(&ws, "a.txt"), None);
    person.types(b"y");
    runs_unasked(person);
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn a_single_call_is_asked_about_without_answers_for_later_calls() {
    let ws = Workspace::new();
    let touch = ["run_shell_command", "command=touch made"];
    let mut person = at_work(&ws, "default", &touch);
    let page = person.sees(ASKED);
    assert!(!page.contains("lways"), "{page}");
    // A key that is not offered is no answer.
    person.types(b"an");
    is_refused(person, "The user declined");
}

#[test]
fn output_is_shown_while_a_command_runs_and_not_twice() {
    let slow = "echo first; until [ -e go ]; do sleep 0.1; done; echo second";
    let ws = Workspace::new();
    let mut person = ws.call_tool(&["run_shell_command", slow]).at_a_terminal();
    let before = person.sees("first");
    assert!(!before.contains("Command:"), "{before}");
    write(&ws.dir().join("go"), b"");
    let rest = person.sees_it_end(0);
    assert!(
        rest.contains("second") && rest.contains("Exit Code: 0"),
        "{rest}"
    );
    assert!(
        !rest.contains("first") && !rest.contains("Output:"),
        "{rest}"
    );
}

#[test]
fn output_of_a_custom_tool_is_shown_while_it_runs_and_not_twice() {
    let script = "#!/bin/sh\n# /// tool\n# description = \"d\"\n# ///\n\
                  echo first; until [ -e go ]; do sleep 0.1; done; echo second\n";
    let ws = with("slow.sh", script);
    let mut person = ws.call_tool(&["slow"]).at_a_terminal();
    person.sees("first");
    write(&ws.dir().join("go"), b"");
    let rest = person.sees_it_end(0);
    assert!(rest.contains("second") && !rest.contains("first"), "{rest}");
}

#[test]
fn no_and_quit_are_refusals_and_do_nothing() {
    for key in [b"n", b"q"] {
        let ws = Workspace::new();
        let mut person = at_work(&ws, "default", &WRITE);
        person.sees(ASKED);
        person.types(key);
        is_refused(person, "The user declined");
        assert_eq!(content(&ws, "a.txt"), None);
    }
}

#[test]
fn a_signal_or_the_end_of_a_limit_ends_a_question() {
    for (limit, error, status) in [(None, "cancelled", 143), (Some("1"), "timeout", 124)] {
        let ws = Workspace::new();
        let call = in_mode(&ws, "default", &WRITE);
        let call = match limit {
            Some(limit) => call.env("GEMINI_TOOLS_TIMEOUT", limit),
            None => call,
        };
        let mut person = call.at_a_terminal();
        person.sees(ASKED);
        if limit.is_none() {
            let pid = i32::try_from(person.id()).ok().and_then(Pid::from_raw);
            kill_process(pid.expect("a process"), Signal::TERM).expect("a child of ours");
        }
        let shown = person.sees_it_end(status);
        assert!(shown.contains(error), "{shown}");
        assert_eq!(content(&ws, "a.txt"), None);
    }
}

#[test]
fn changed_arguments_are_shown_again_and_then_run() {
    let ws = with_editor("sed -i 's/one/two/' \"$1\"");
    let mut person = editing(&ws, &WRITE);
    person.sees(ASKED);
    person.types(b"e");
    let page = person.sees(ASKED);
    assert!(page.contains("+two") && !page.contains("+one"), "{page}");
    assert_eq!(content(&ws, "a.txt"), None);
    person.types(b"y");
    runs_unasked(person);
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("two\n"));
}

#[test]
fn a_call_that_was_changed_into_a_denied_one_is_refused() {
    let ws = with_editor("sed -i 's/touch/rm/' \"$1\"")
        .home(".gemini/policies/mine.toml", DENY_RM)
        .file("kept", "");
    let mut person = editing(&ws, &["run_shell_command", "command=touch kept"]);
    assert!(person.sees(ASKED).contains("touch kept"));
    person.types(b"e");
    is_refused(person, "commandPrefix = \\\"rm\\\"");
    assert_eq!(content(&ws, "kept").as_deref(), Some(""));
}

#[test]
fn modes_ask_for_what_they_say() {
    let touch = ["run_shell_command", "command=touch made"];
    let fresh = Workspace::new;
    for mode in ["auto_edit", "yolo"] {
        let ws = fresh();
        runs_unasked(at_work(&ws, mode, &WRITE));
        assert!(content(&ws, "a.txt").is_some(), "{mode}");
    }
    let ws = fresh();
    assert!(
        at_work(&ws, "auto_edit", &touch)
            .sees(ASKED)
            .contains("touch made")
    );
    let ws = fresh();
    runs_unasked(at_work(&ws, "yolo", &touch));
    assert!(content(&ws, "made").is_some());
    for words in [&WRITE[..], &touch] {
        is_refused(at_work(&ws, "plan", words), "Plans are made with");
    }
    assert_eq!(content(&ws, "a.txt"), None);
    for mode in ["default", "plan", "auto_edit", "yolo"] {
        runs_unasked(at_work(&ws, mode, &["list_directory", "path=."]));
    }
}

#[test]
fn where_yolo_is_switched_off_it_asks_like_the_default_mode() {
    let ws = Workspace::new().home(
        ".gemini/settings.json",
        r#"{"security": {"disableYoloMode": true}}"#,
    );
    let mut person = at_work(&ws, "yolo", &WRITE);
    person.sees(ASKED);
    person.types(b"n");
    is_refused(person, "The user declined");
    is_nobody_there(&in_mode(&ws, "yolo", &WRITE).without_a_terminal().run());
}

#[track_caller]
fn is_nobody_there(answer: &Answer) {
    let message = answer.error("policy_violation", 3);
    assert!(message.contains("no user can be asked"), "{message}");
}

#[test]
fn where_nobody_is_there_what_asks_is_refused_whoever_brought_the_tool() {
    let headless = |call: Call<'_>, mode: &str| {
        let call = call.flags(&["--approval-mode", mode]);
        call.without_a_terminal().run()
    };
    let ws = with("show.toml", SHOW);
    is_nobody_there(&headless(ws.call_tool(&WRITE), "default"));
    let show = || tool(&ws, "show", &json!({"text": "a"}));
    is_nobody_there(&headless(show(), "default"));
    is_nobody_there(&headless(show(), "auto_edit"));
    assert!(
        headless(show(), "plan")
            .error("policy_violation", 3)
            .contains("Plans are made")
    );
    headless(show(), "yolo").output();
    let s = Servers::new(&[("one", "plain", json!({}))]);
    let env = || s.tool("one__env", &json!({}));
    is_nobody_there(&headless(env(), "default"));
    headless(env(), "yolo").output();
    s.all_gone();
}

#[test]
fn a_question_that_nobody_could_answer_was_not_answered_no() {
    let ws = Workspace::new();
    let call = in_mode(&ws, "default", &WRITE);
    let call = call.in_bash("trap '' HUP; exec \"$@\" >answer.json");
    let mut person = call.at_a_terminal();
    person.sees(ASKED);
    assert_eq!(person.hangs_up(), Some(3));
    let answer = content(&ws, "answer.json").expect("an answer");
    assert!(answer.contains("No user can be asked"), "{answer}");
    assert_eq!(content(&ws, "a.txt"), None);
}

/// Calls of one `--batch`, at a terminal in the mode `default`.
fn batch(ws: &Workspace, calls: &[(&str, Value)]) -> Person {
    let lines: Vec<String> = calls
        .iter()
        .map(|(name, args)| json!({"name": name, "args": args}).to_string() + "\n")
        .collect();
    write(&ws.dir().join("calls.jsonl"), lines.concat().as_bytes());
    let call = ws.call_tool(&["--batch", "--approval-mode", "default"]);
    call.in_bash("exec \"$@\" <calls.jsonl").at_a_terminal()
}

#[test]
fn always_at_an_edit_is_for_the_edits_of_all_tools_and_for_nothing_else() {
    let ws = Workspace::new();
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    let mut person = batch(
        &ws,
        &[
            (
                "write_file",
                json!({"file_path": "a.txt", "content": "one\n"}),
            ),
            ("replace", edit),
            (
                "write_file",
                json!({"file_path": "Makefile", "content": "all:\n"}),
            ),
            ("run_shell_command", json!({"command": "touch made"})),
        ],
    );
    assert!(person.sees(ASKED).contains("[a]lways (all edits)"));
    person.types(b"a");
    // What a build runs is asked about all the same.
    let page = person.sees(ASKED);
    assert!(page.contains("Makefile"), "{page}");
    assert_eq!(page.matches("[n]o").count(), 1, "{page}");
    person.types(b"n");
    let page = person.sees(ASKED);
    assert!(page.contains("touch made"), "{page}");
    person.types(b"n");
    person.sees("declined this call");
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("two\n"));
    assert_eq!(
        (content(&ws, "made"), content(&ws, "Makefile")),
        (None, None)
    );
}

#[test]
fn a_no_is_a_no_however_long_a_person_has_thought() {
    let ws = Workspace::new();
    write(
        &ws.dir().join("calls.jsonl"),
        b"{\"name\": \"write_file\", \"args\": {\"file_path\": \"a.txt\", \"content\": \"x\"}}\n",
    );
    let call = ws.call_tool(&["--batch", "--approval-mode", "default"]);
    let call = call.env("GEMINI_TOOLS_TIMEOUT", "1");
    let mut person = call.in_bash("exec \"$@\" <calls.jsonl").at_a_terminal();
    person.sees(ASKED);
    std::thread::sleep(Duration::from_millis(1500));
    person.types(b"n");
    person.sees("declined this call");
}

#[test]
fn always_at_an_edit_yields_to_a_rule_that_denies_another_tool() {
    let rule = "[[rule]]\ntoolName = \"replace\"\ndecision = \"deny\"\npriority = 10\n";
    let ws = Workspace::new().home(".gemini/extensions/x/policies/p.toml", rule);
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    let mut person = batch(
        &ws,
        &[
            (
                "write_file",
                json!({"file_path": "a.txt", "content": "one\n"}),
            ),
            ("replace", edit),
        ],
    );
    person.sees(ASKED);
    person.types(b"a");
    person.sees("policy_violation");
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("one\n"));
}

/// A tool whose file says that it edits.
const TOUCH: &str = "description = \"d\"\nkind = \"edit\"\ncommand = [\"touch\", \"{name}\"]\n\
                     [params.name]\ntype = \"string\"\ndescription = \"d\"\n";

#[test]
fn always_at_an_edit_is_not_for_commands_of_custom_tools_which_are_shown_as_they_run() {
    let ws = with("touch_it.toml", TOUCH);
    let touch = |name: &str| ("touch_it", json!({ "name": name }));
    let edit = json!({"file_path": "a.txt", "content": "one\n"});
    let after = ("write_file", json!({"file_path": "b.txt", "content": "x"}));
    let mut person = batch(
        &ws,
        &[("write_file", edit), touch("one"), touch("two"), after],
    );
    person.sees(ASKED);
    person.types(b"a");
    let page = person.sees(ASKED);
    assert!(page.contains("touch one"), "{page}");
    assert!(page.contains("[a]lways (this tool)"), "{page}");
    assert_eq!(content(&ws, "one"), None);
    person.types(b"a");
    person.sees_it_end(0);
    assert_eq!(content(&ws, "two").as_deref(), Some(""));
    assert_eq!(content(&ws, "b.txt").as_deref(), Some("x"));
}

#[test]
fn where_always_is_switched_off_each_call_is_asked_about() {
    let settings = json!({"security": {"disableAlwaysAllow": true}});
    let ws = Workspace::new().home(".gemini/settings.json", settings.to_string());
    let write = |name: &str| ("write_file", json!({"file_path": name, "content": "x"}));
    let mut person = batch(&ws, &[write("a.txt"), write("b.txt")]);
    let page = person.sees(ASKED);
    assert!(!page.contains("lways"), "{page}");
    // Keys that are not offered are not answers.
    person.types(b"aty");
    let page = person.sees(ASKED);
    assert!(page.contains("b.txt") && !page.contains("lways"), "{page}");
    person.types(b"n");
    person.sees("declined this call");
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("x"));
    assert_eq!(content(&ws, "b.txt"), None);
}

#[test]
fn no_name_acts_on_the_terminal_of_an_explanation_the_history_an_undo_or_a_question() {
    let hostile = "x\u{1b}]0;P\u{7}\u{9b}2J\u{202e}\r\nApproval: not needed";
    let tool = format!(".gemini/tools/{hostile}.sh");
    let ws = Workspace::new()
        .file(hostile, format!("{hostile}\n"))
        .file(tool.as_str(), format!("#!/bin/sh\n# {hostile}\n"));
    let name = format!("./{hostile}");
    let edit = json!({"file_path": name, "old_string": "Approval", "new_string": hostile});
    let read = format!("absolute_path={name}");
    ws.tool("replace")
        .arguments(&edit)
        .unwatched()
        .run()
        .output();
    for (args, status) in [
        (&["read_file", &read, "--explain"][..], 0),
        (&["read_file", &read], 0),
        (&["replace", &read], 2),
        (
            &["search_file_content", "Approval", "--format", "github"],
            0,
        ),
        (&["search_file_content", "Approval", "--format", "sarif"], 0),
        (&["search_file_content", "Approval", "--format", "junit"], 0),
        (&["--history"], 0),
        (&["--undo", "--explain"], 0),
        (&["--undo", &name, "--since", "1h"], 0),
        (&["--undo", &name], 1),
        (&[], 1),
    ] {
        let asks = args.is_empty();
        let call = if asks {
            ws.get_tools(&["trust"])
        } else {
            ws.call_tool(args)
        };
        let call = call.unwatched().env("NO_COLOR", "1").env("PAGER", "cat");
        let mut person = call.at_a_terminal();
        let mut page = String::new();
        if asks {
            page = person.sees("[y/N]");
            person.types(b"n\n");
        }
        page += &person.sees_it_end(status);
        // A carriage return before a line feed is a line's end, to which the terminal adds its own.
        let page = page.replace("\r\n", "\n").replace("\r\n", "\n");
        let is_odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!page.contains(is_odd), "{args:?}: {page:?}");
        if args.contains(&"--explain") {
            // No name makes a line of its own.
            let facts = page.lines().filter(|line| line.starts_with("Approval:"));
            assert_eq!(facts.count(), usize::from(args.len() == 3), "{page}");
        }
    }
}
