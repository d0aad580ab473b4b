//! `run_agent` with a person at its terminal: what is asked, what each answer does, and Ctrl-C at each stage.

use std::fs;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::agent::{agent, call, last_parts, response, said, turns};
use crate::harness::stand_in::StandIn;
use crate::harness::terminal::{ASKED, CTRL_C, CTRL_D, Person, with_editor};
use crate::harness::{
    Workspace, has_signal, lines, marked_processes, processes_below, wait_until, write,
};

fn write_file(id: &str, name: &str, content: &str) -> Value {
    call(
        id,
        "write_file",
        json!({"file_path": name, "content": content}),
    )
}

fn shell(id: &str, command: &str) -> Value {
    call(id, "run_shell_command", json!({"command": command}))
}

/// A script whose turns have these calls.
fn playing(turns: Value) -> Option<StandIn> {
    let mut script = json!({"closing": "All done."});
    script["turns"] = turns;
    StandIn::playing(&script)
}

fn at_work(ws: &Workspace, api: &StandIn) -> Person {
    agent(ws, api, &["Play"]).at_a_terminal()
}

#[track_caller]
fn is_done(person: &mut Person) -> String {
    let shown = person.sees_it_end(0);
    assert!(shown.contains("All done."), "{shown}");
    shown
}

fn content(ws: &Workspace, name: &str) -> Option<String> {
    fs::read_to_string(ws.path(name)).ok()
}

/// What the model was told went wrong with a call.
fn error(api: &StandIn, id: &str) -> String {
    response(api, id)["error"].to_string()
}

/// Waits for something that is not shown.
#[track_caller]
fn editing(ws: &Workspace, api: &StandIn, args: &[&str]) -> Person {
    // With a word of its own before the file, as people have it.
    let editor = format!("bash '{}'", ws.outside_path("editor"));
    agent(ws, api, args).env("EDITOR", &editor).at_a_terminal()
}

#[test]
fn always_for_the_tool_is_for_no_other_tool() {
    let Some(api) = playing(json!([
        [
            write_file("a", "a.txt", "one\n"),
            write_file("b", "b.txt", "one\n")
        ],
        [call(
            "c",
            "replace",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"})
        )],
    ])) else {
        return;
    };
    let ws = Workspace::new();
    let mut person = at_work(&ws, &api);
    assert!(person.sees(ASKED).contains("[t]ool always"));
    person.types(b"t");
    let page = person.sees(ASKED);
    assert!(page.contains("replace") && page.contains("-one"), "{page}");
    assert_eq!(content(&ws, "b.txt").as_deref(), Some("one\n"));
    person.types(b"n");
    is_done(&mut person);
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn always_for_a_command_is_for_its_programs() {
    let Some(api) = playing(json!([
        [shell("a", "touch one.txt")],
        [shell("b", "touch two.txt")],
        [shell("c", "touch three.txt; mkdir four")],
        [shell("d", "mkdir five")],
    ])) else {
        return;
    };
    let ws = Workspace::new();
    let mut person = at_work(&ws, &api);
    let page = person.sees(ASKED);
    assert!(page.contains("touch one.txt") && page.contains("(these programs)"));
    person.types(b"a");
    // The second was not asked about; the third does more than what was agreed to.
    let page = person.sees(ASKED);
    assert!(page.contains("mkdir four"), "{page}");
    assert_eq!(page.matches("[n]o").count(), 1, "{page}");
    assert_eq!(content(&ws, "two.txt").as_deref(), Some(""));
    person.types(b"n");
    person.sees(ASKED);
    person.types(b"t");
    is_done(&mut person);
    assert_eq!(content(&ws, "three.txt"), None);
    assert!(fs::exists(ws.path("five")).expect("a name"));
}

#[test]
fn always_for_a_tool_of_other_commands_is_for_that_one() {
    let Some(api) = playing(json!([
        [call("a", "one", json!({"x": "1"}))],
        [call("b", "one", json!({"x": "2"}))],
        [call("c", "two", json!({"x": "3"}))],
    ])) else {
        return;
    };
    let declared = |name| {
        json!({"name": name, "description": "A tool.", "parametersJsonSchema": {
            "type": "object", "properties": {"x": {"type": "string"}}}})
    };
    let ws = Workspace::new()
        .file(
            "tools.json",
            json!([declared("one"), declared("two")]).to_string(),
        )
        .file(
            "call.sh",
            "#!/bin/sh\ncat >>log.txt; echo \" $1\" >>log.txt; echo ok\n",
        )
        .mode("call.sh", 0o755);
    let flags = [
        "--discovery-command",
        "cat tools.json",
        "--call-command",
        "./call.sh",
    ];
    let mut person = agent(&ws, &api, &["Play"]).flags(&flags).at_a_terminal();
    let page = person.sees(ASKED);
    assert!(
        page.contains("\"x\": \"1\"") && page.contains("(this tool)"),
        "{page}"
    );
    person.types(b"a");
    assert!(person.sees(ASKED).contains("\"x\": \"3\""));
    person.types(b"n");
    is_done(&mut person);
    let log = content(&ws, "log.txt").expect("calls");
    assert_eq!(log, "{\"x\":\"1\"} one\n{\"x\":\"2\"} one\n");
}

#[test]
fn no_is_told_to_the_model_which_goes_on() {
    let Some(api) = playing(json!([
        [
            write_file("a", "a.txt", "one\n"),
            write_file("b", "b.txt", "one\n")
        ],
        [write_file("c", "c.txt", "one\n")],
    ])) else {
        return;
    };
    // The end of input is a no, and only to this call.
    for no in [b"n", CTRL_D] {
        let ws = Workspace::new();
        let mut person = at_work(&ws, &api);
        person.sees(ASKED);
        person.types(no);
        assert!(person.sees(ASKED).contains("b.txt"));
        person.types(b"y");
        assert!(person.sees(ASKED).contains("c.txt"));
        let told = error(&api, "a");
        assert!(told.contains("declined this call"), "{told}");
        assert!(response(&api, "b")["output"].is_string());
        person.types(b"y");
        is_done(&mut person);
        assert_eq!(content(&ws, "a.txt"), None);
        assert!(content(&ws, "b.txt").is_some() && content(&ws, "c.txt").is_some());
        api.play(&json!({"turns": [
            [write_file("a", "a.txt", "one\n"), write_file("b", "b.txt", "one\n")],
            [write_file("c", "c.txt", "one\n")],
        ], "closing": "All done."}));
    }
}

#[test]
fn quitting_makes_no_further_call_and_can_be_gone_on_from() {
    let script = json!({"turns": [[
        write_file("a", "a.txt", "one\n"),
        call("r", "list_directory", json!({"path": "."})),
        shell("b", "touch b.txt"),
    ]], "closing": "All done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    for quit in [b"q", CTRL_C] {
        api.play(&script);
        let ws = Workspace::new();
        let args = ["Play", "--session", "s.jsonl"];
        let mut person = agent(&ws, &api, &args).at_a_terminal();
        person.sees(ASKED);
        person.types(quit);
        let rest = person.sees_it_end(130);
        assert!(!rest.contains(ASKED), "{rest}");
        assert_eq!(turns(&api).len(), 1);
        assert_eq!(content(&ws, "a.txt"), None);
        assert_eq!(content(&ws, "b.txt"), None);
        api.play(&json!({"closing": "All done."}));
        said(&agent(&ws, &api, &["--resume", "s.jsonl"]).run());
        assert_eq!(last_parts(&api).len(), 3);
        assert!(error(&api, "a").contains("declined this call"));
        for id in ["r", "b"] {
            assert!(error(&api, id).contains("before it began"), "{id}");
        }
    }
}

#[test]
fn what_was_typed_while_the_model_spoke_is_no_answer() {
    let Some(api) = playing(json!([
        [shell(
            "a",
            "touch running; while [ ! -e typed ]; do sleep 0.05; done"
        )],
        [write_file("b", "b.txt", "one\n")],
    ])) else {
        return;
    };
    let ws = Workspace::new();
    let flags = ["--allowed-tools", "run_shell_command"];
    let mut person = agent(&ws, &api, &["Play"]).flags(&flags).at_a_terminal();
    wait_until("the command", || content(&ws, "running").is_some());
    person.types(b"yyy\n");
    // The terminal's echo: the keys have come.
    person.sees("yyy");
    write(&ws.dir().join("typed"), b"");
    person.sees(ASKED);
    person.types(b"n");
    is_done(&mut person);
    assert_eq!(content(&ws, "b.txt"), None);
}

#[test]
fn a_long_diff_is_cut_until_all_of_it_is_wanted() {
    let lines = lines(300, |i| format!("line {i}.\n"));
    let Some(api) = playing(json!([[write_file("a", "a.txt", &lines)]])) else {
        return;
    };
    let ws = Workspace::new();
    let mut person = at_work(&ws, &api);
    let page = person.sees(ASKED);
    assert!(page.contains("lines more") && !page.contains("line 150."));
    person.types(b"v");
    assert!(person.sees(ASKED).contains("line 150."));
    person.types(b"y");
    is_done(&mut person);
    assert_eq!(content(&ws, "a.txt"), Some(lines));
}

#[test]
fn nothing_of_a_model_acts_on_the_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r";
    let script = json!({"answers": [{"parts": [
        {"text": format!("Look: {hostile}\n")},
        {"functionCall": {"id": "a", "name": "write_file", "args": {"file_path": "a.txt", "content": hostile}}},
        {"functionCall": {"id": "b", "name": "run_shell_command", "args":
            {"command": format!("printf 'A\\033[31mB\\n'; : '{hostile}'"), "description": hostile}}},
        {"functionCall": {"id": "c", "name": hostile, "args": {}}},
    ]}], "closing": "All done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    // Our own sequences are colours, the end of a line, and nothing else.
    let ours = regex::Regex::new("\x1b\\[[0-9;]*m|\r\x1b\\[2K|\r+\n").expect("a pattern");
    for term in ["dumb", "xterm"] {
        api.play(&script);
        let ws = Workspace::new();
        let mut person = agent(&ws, &api, &["Play"])
            .env("TERM", term)
            .at_a_terminal();
        let mut shown = person.sees(ASKED);
        person.types(b"y");
        shown += &person.sees(ASKED);
        person.types(b"y");
        shown += &is_done(&mut person);
        let rest = ours.replace_all(&shown, "\n");
        let is_odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!rest.contains(is_odd), "{term}: {rest:?}");
        assert!(!shown.contains("\x1b[31mB"), "{term}: {shown:?}");
        assert!(
            shown.contains("\\u{1b}") && shown.contains("\\u{202e}"),
            "{shown:?}"
        );
        assert_eq!(content(&ws, "a.txt").as_deref(), Some(hostile));
    }
}

#[test]
fn a_content_that_was_changed_in_the_editor_is_shown_again_and_told() {
    let script =
        json!({"turns": [[write_file("a", "a.py", "one\ntwo\n")]], "closing": "All done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = with_editor(
        "case $1 in *a.py) ;; *) exit 9;; esac\nsed -i 's/two/three/' \"$1\"; echo four >>\"$1\"",
    );
    let args = ["Play", "-o", "json", "--session", "s.jsonl"];
    let mut person = editing(&ws, &api, &args);
    assert!(person.sees(ASKED).contains("+two"));
    person.types(b"e");
    let page = person.sees(ASKED);
    assert!(page.contains("+three") && page.contains("+four"), "{page}");
    assert!(!page.contains("+two"), "{page}");
    assert_eq!(content(&ws, "a.py"), None);
    person.types(b"y");
    let end = person.sees_it_end(0);
    assert_eq!(content(&ws, "a.py").as_deref(), Some("one\nthree\nfour\n"));
    // The model can't know otherwise what is in the file.
    let told = response(&api, "a")["output"].to_string();
    assert!(
        told.contains("user has changed") && told.contains("three"),
        "{told}"
    );
    let json = &end[end.find('{').expect("JSON")..=end.rfind('}').expect("JSON")];
    let stats: Value = serde_json::from_str(json).expect("JSON");
    let decisions = &stats["stats"]["tools"]["totalDecisions"];
    assert_eq!(decisions["modify"], 1, "{stats}");
    let session = content(&ws, "s.jsonl").expect("a session");
    assert!(session.contains("\"user_added_lines\":2"), "{session}");
    assert!(session.contains("\"user_removed_lines\":1"), "{session}");
}

#[test]
fn a_replacement_is_edited_as_the_whole_file() {
    let Some(api) = playing(json!([[call(
        "a",
        "replace",
        json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"})
    )]])) else {
        return;
    };
    let ws = with_editor("sed -i 's/one/1/; s/2/II/' \"$1\"").file("a.txt", "one\ntwo\n");
    let mut person = editing(&ws, &api, &["Play"]);
    let page = person.sees(ASKED);
    assert!(page.contains("-two") && !page.contains("-one"), "{page}");
    person.types(b"e");
    let page = person.sees(ASKED);
    assert!(page.contains("+1") && page.contains("+II"), "{page}");
    person.types(b"y");
    is_done(&mut person);
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("1\nII\n"));
    let told = response(&api, "a")["output"].to_string();
    assert!(
        told.contains("user has changed") && told.contains("II"),
        "{told}"
    );
}

#[test]
fn arguments_that_were_changed_in_the_editor_are_shown_again_and_told() {
    let Some(api) = playing(json!([[shell("a", "touch one.txt")]])) else {
        return;
    };
    let ws = with_editor("sed -i 's/one/two/' \"$1\"");
    let mut person = editing(&ws, &api, &["Play"]);
    person.sees(ASKED);
    person.types(b"e");
    assert!(person.sees(ASKED).contains("touch two.txt"));
    person.types(b"y");
    is_done(&mut person);
    assert_eq!(content(&ws, "one.txt"), None);
    assert!(content(&ws, "two.txt").is_some());
    let told = response(&api, "a")["output"].to_string();
    assert!(
        told.contains("user has changed") && told.contains("touch two.txt"),
        "{told}"
    );
}

#[test]
fn a_change_that_is_then_refused_does_nothing() {
    let Some(api) = playing(json!([[shell("a", "touch one.txt")]])) else {
        return;
    };
    let ws = with_editor("sed -i 's/one/two/' \"$1\"");
    let mut person = editing(&ws, &api, &["Play"]);
    person.sees(ASKED);
    person.types(b"e");
    assert!(person.sees(ASKED).contains("touch two.txt"));
    person.types(b"n");
    is_done(&mut person);
    assert_eq!(content(&ws, "one.txt"), None);
    assert_eq!(content(&ws, "two.txt"), None);
    assert!(error(&api, "a").contains("declined this call"));
}

#[test]
fn an_editor_that_fails_or_changes_nothing_leaves_the_call_as_it_was() {
    let Some(api) = playing(json!([[write_file("a", "a.txt", "one\n")]])) else {
        return;
    };
    for (lines, told) in [
        (
            "echo more >>\"$1\"; exit 3",
            "(exit status: 3); nothing was changed",
        ),
        ("true", "Nothing was changed."),
        // One that dies while it has the terminal for itself.
        ("stty raw -echo; kill -9 $$", "nothing was changed"),
        ("rm -r \"${1%/*}\"", "can't be read"),
    ] {
        let ws = with_editor(lines);
        let mut person = editing(&ws, &api, &["Play"]);
        person.sees(ASKED);
        person.types(b"e");
        person.sees(told);
        if told.contains("read") {
            person.sees("[g]ive up ");
            person.types(b"g");
        }
        person.sees(ASKED);
        person.types(b"y");
        is_done(&mut person);
        assert_eq!(content(&ws, "a.txt").as_deref(), Some("one\n"), "{lines}");
        api.play(&json!({"turns": [[write_file("a", "a.txt", "one\n")]], "closing": "All done."}));
    }
    let ws = Workspace::new();
    let call = agent(&ws, &api, &["Play"]).env("VISUAL", "no-such-editor");
    let mut person = call.at_a_terminal();
    person.sees(ASKED);
    person.types(b"e");
    person.sees("The editor no-such-editor has failed");
    person.sees(ASKED);
    person.types(b"n");
    is_done(&mut person);
}

#[test]
fn json_that_is_broken_is_not_lost() {
    let script = json!({"turns": [[shell("a", "touch one.txt")]], "closing": "All done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    // The second time, what was written the first time is there to be fixed.
    let lines = "if grep -q two \"$1\"; then sed -i 's/,$//' \"$1\"\n\
                 else sed -i 's/one.txt\"/two.txt\",/' \"$1\"; fi";
    for gives_up in [false, true] {
        api.play(&script);
        let ws = with_editor(lines);
        let mut person = editing(&ws, &api, &["Play"]);
        person.sees(ASKED);
        person.types(b"e");
        person.sees("The arguments are not valid JSON");
        person.sees("[g]ive up ");
        person.types(if gives_up { b"g" } else { b"e" });
        let page = person.sees(ASKED);
        assert_eq!(page.contains("touch two.txt"), !gives_up, "{page}");
        person.types(b"y");
        is_done(&mut person);
        assert_eq!(content(&ws, "one.txt").is_some(), gives_up);
        assert_eq!(content(&ws, "two.txt").is_some(), !gives_up);
    }
}

#[test]
fn the_terminal_is_asked_while_streams_are_pipes_or_files() {
    let script = json!({"turns": [[write_file("a", "a.txt", "one\n")]], "closing": "All done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    for script_of_bash in [
        "exec \"$@\" <in.txt",
        "cat in.txt | \"$@\"",
        "exec \"$@\" >out.txt",
        "exec \"$@\" 2>err.txt",
        "\"$@\" <in.txt | cat >out.txt",
    ] {
        api.play(&script);
        let ws = Workspace::new().file("in.txt", "Piped.\n");
        let call = agent(&ws, &api, &["Play"]).in_bash(script_of_bash);
        let mut person = call.at_a_terminal();
        assert!(person.sees(ASKED).contains("+one"), "{script_of_bash}");
        person.types(b"y");
        let shown = person.sees_it_end(0);
        assert_eq!(content(&ws, "a.txt").as_deref(), Some("one\n"));
        let prompt = turns(&api)[0]["contents"][2]["parts"][0]["text"].clone();
        let is_piped = script_of_bash.contains("in.txt");
        assert_eq!(prompt, if is_piped { "Piped.\n\nPlay" } else { "Play" });
        match content(&ws, "out.txt") {
            Some(out) => assert!(
                out.ends_with("All done.\n") && !out.contains('\x1b'),
                "{out:?}"
            ),
            None => assert!(shown.contains("All done."), "{shown}"),
        }
        let err = content(&ws, "err.txt").unwrap_or_default();
        assert!(err.is_empty(), "{err:?}");
    }
}

#[test]
fn progress_is_shown_on_a_terminal_only() {
    let script = json!({"turns": [
        [shell("a", "echo 'a line'; touch begun; while [ ! -e go ]; do sleep 0.05; done")],
    ], "closing": "All done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let call = agent(&ws, &api, &["Play", "-y"]).env("TERM", "xterm");
    let mut person = call.at_a_terminal();
    wait_until("the command", || content(&ws, "begun").is_some());
    write(&ws.dir().join("go"), b"");
    person.sees("\x1b[2K");
    person.sees("✓");
    is_done(&mut person);
    for (args, script_of_bash) in [
        (&["Play", "-y"][..], "exec \"$@\" 2>err.txt"),
        (&["Play", "-y"], "exec \"$@\" >out.txt 2>err.txt"),
        (&["Play", "-y", "-o", "stream-json"], "exec \"$@\" >out.txt"),
    ] {
        api.play(&script);
        let ws = Workspace::new().file("go", "");
        let call = agent(&ws, &api, args).env("TERM", "xterm");
        let shown = call.in_bash(script_of_bash).at_a_terminal().sees_it_end(0);
        assert!(!shown.contains("✓") && !shown.contains("a line"), "{shown}");
        let out = content(&ws, "out.txt").unwrap_or_default();
        let err = content(&ws, "err.txt").unwrap_or_default();
        assert_eq!(err, "");
        assert!(!out.contains('\x1b'), "{out:?}");
    }
}

/// A session that is at some stage.
struct Stage<'a> {
    ws: &'a Workspace,
    api: &'a StandIn,
    mark: String,
}

impl<'a> Stage<'a> {
    fn new(ws: &'a Workspace, api: &'a StandIn) -> Self {
        let mark = ws.path("");
        Self { ws, api, mark }
    }

    fn begins(&self, flags: &[&str]) -> Person {
        let call = agent(self.ws, self.api, &["Play", "--session", "s.jsonl"]);
        let call = call.env("MARK", &self.mark).env("TERM", "xterm");
        call.flags(flags).at_a_terminal()
    }

    /// Nothing is left, and the session goes on from its file.
    #[track_caller]
    fn is_over(&self, flags: &[&str]) {
        assert_eq!(marked_processes("MARK", &self.mark), []);
        self.goes_on(flags);
    }

    #[track_caller]
    fn goes_on(&self, flags: &[&str]) {
        self.api.play(&json!({"closing": "Gone on."}));
        let call = agent(self.ws, self.api, &["--resume", "s.jsonl"]).flags(flags);
        assert_eq!(said(&call.run()), "Gone on.\n");
    }
}

#[test]
fn ctrl_c_while_the_model_speaks_ends_the_session() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for fault in [
        json!({"fault": "silence", "afterChunks": 1, "text": "", "parts": [{"text": "Herons \n"}, {"text": "wade."}]}),
        json!({"fault": "silence"}),
        json!({"fault": "no-headers"}),
        // Between two attempts.
        json!({"fault": "503", "retryAfter": 3}),
    ] {
        api.play(&json!({"faults": [fault], "closing": "Never."}));
        let ws = Workspace::new();
        let stage = Stage::new(&ws, &api);
        let mut person = stage.begins(&[]);
        wait_until("a request", || api.count("turn") > 0);
        if fault.get("parts").is_some() {
            person.sees("Herons ");
        }
        person.types(CTRL_C);
        let shown = person.sees_it_end(130);
        assert!(shown.contains("cancelled"), "{shown}");
        stage.is_over(&[]);
    }
}

#[test]
fn a_question_ends_with_the_session() {
    let script = json!({"turns": [[shell("a", "touch a.txt"), shell("b", "touch b.txt")]]});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    for (flags, code) in [(&[][..], 143), (&["--time-limit", "3"], 124)] {
        api.play(&script);
        let ws = Workspace::new();
        let stage = Stage::new(&ws, &api);
        let mut person = stage.begins(flags);
        person.sees(ASKED);
        if code == 143 {
            let id = Pid::from_raw(person.id() as i32).expect("a process");
            kill_process(id, Signal::TERM).expect("a child of ours");
        }
        person.sees_it_end(code);
        stage.is_over(&[]);
        let why = match code {
            143 => "before it began",
            _ => "time is over",
        };
        for id in ["a", "b"] {
            let told = error(&api, id);
            assert!(told.contains(why), "{told}");
        }
    }
}

#[test]
fn ctrl_c_in_the_editor_is_the_editors() {
    let Some(api) = playing(json!([
        [write_file("a", "a.txt", "one\n")],
        [shell("b", "touch begun; sleep 98765")],
    ])) else {
        return;
    };
    // As vi does it: each one is noticed, and none ends it. It is told behind the trap, not in it:
    // bash forgets a signal that comes while its trap still runs.
    let ws = with_editor(
        "n=0; told=0; trap 'n=$((n + 1))' INT; echo open\n\
         while [ $told -lt 3 ]; do sleep 0.1; [ $told -eq $n ] || { told=$n; echo caught $n; }; done\n\
         echo two >>\"$1\"",
    );
    let mark = ws.path("");
    let editor = format!("bash '{}'", ws.outside_path("editor"));
    let args = [
        "Play",
        "--allowed-tools",
        "run_shell_command",
        "--session",
        "s.jsonl",
    ];
    let call = agent(&ws, &api, &args)
        .env("EDITOR", &editor)
        .env("TERM", "xterm")
        .env("MARK", &mark);
    let mut person = call.at_a_terminal();
    person.sees(ASKED);
    person.types(b"e");
    person.sees("open");
    for caught in ["caught 1", "caught 2", "caught 3"] {
        person.types(CTRL_C);
        person.sees(caught);
    }
    let page = person.sees(ASKED);
    assert!(page.contains("+two"), "{page}");
    person.types(b"y");
    wait_until("the command", || content(&ws, "begun").is_some());
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("one\ntwo\n"));
    // The next one is the first of the session: it ends in order.
    person.types(CTRL_C);
    person.sees_it_end(130);
    let session = content(&ws, "s.jsonl").expect("a session");
    assert_eq!(session.matches("\"type\":\"done\"").count(), 2, "{session}");
    Stage::new(&ws, &api).is_over(&[]);
}

#[test]
fn an_editor_that_ends_by_ctrl_c_has_changed_nothing() {
    let Some(api) = playing(json!([[write_file("a", "a.txt", "one\n")]])) else {
        return;
    };
    let ws = with_editor("echo two >>\"$1\"; stty -echo; echo open; exec sleep 98765");
    let mut person = editing(&ws, &api, &["Play"]);
    person.sees(ASKED);
    person.types(b"e");
    person.sees("open");
    person.types(CTRL_C);
    person.sees("nothing was changed");
    person.sees(ASKED);
    person.types(b"y");
    is_done(&mut person);
    assert_eq!(content(&ws, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn ctrl_c_while_a_tool_runs_ends_it_and_keeps_what_it_said() {
    let Some(api) = playing(json!([[
        shell(
            "a",
            "sleep 98765 & (sleep 98765 &) ; echo begun; touch begun; sleep 98765"
        ),
        shell("b", "touch b.txt"),
    ]])) else {
        return;
    };
    let ws = Workspace::new();
    let stage = Stage::new(&ws, &api);
    let mut person = stage.begins(&["-y"]);
    wait_until("the command", || content(&ws, "begun").is_some());
    person.types(CTRL_C);
    let shown = person.sees_it_end(130);
    assert!(shown.contains("cancelled"), "{shown}");
    stage.is_over(&["-y"]);
    let told = error(&api, "a");
    assert!(
        told.contains("cancelled") && told.contains("begun"),
        "{told}"
    );
    assert!(error(&api, "b").contains("before it began"));
    assert_eq!(content(&ws, "b.txt"), None);
}

#[test]
fn ctrl_c_while_calls_run_side_by_side_ends_all_of_them() {
    let search = |id: &str| call(id, "google_web_search", json!({"query": id}));
    let script = json!({
        "turns": [[search("a"), search("b"), search("c")]],
        "faults": [{"fault": "silence", "times": "always", "match": {"kind": "search"}}],
    });
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let stage = Stage::new(&ws, &api);
    let mut person = stage.begins(&[]);
    // call_tool runs as many at a time as there are processors.
    let processors = thread::available_parallelism().map_or(1, usize::from);
    wait_until("the searches", || api.count("search") >= processors.min(3));
    person.types(CTRL_C);
    person.sees_it_end(130);
    stage.is_over(&[]);
    for id in ["a", "b", "c"] {
        assert!(error(&api, id).contains("cancelled"), "{id}");
    }
}

#[test]
fn ctrl_c_ends_tools_of_other_commands_and_their_discovery() {
    let Some(api) = playing(json!([[call("a", "one", json!({}))]])) else {
        return;
    };
    let tools = json!([{"name": "one", "description": "A tool."}]);
    let ws = Workspace::new()
        .file("tools.json", tools.to_string())
        .file(
            "call.sh",
            "#!/bin/sh\nsleep 98765 & touch begun; sleep 98765\n",
        )
        .mode("call.sh", 0o755)
        .file("slow.sh", "touch begun; sleep 98765");
    let foreign = |discovery| {
        [
            "-y",
            "--discovery-command",
            discovery,
            "--call-command",
            "./call.sh",
        ]
    };
    let stage = Stage::new(&ws, &api);
    let mut person = stage.begins(&foreign("cat tools.json"));
    wait_until("the call", || content(&ws, "begun").is_some());
    person.types(CTRL_C);
    person.sees_it_end(130);
    stage.is_over(&foreign("cat tools.json"));
    assert!(error(&api, "a").contains("cancelled"));

    fs::remove_file(ws.path("begun")).expect("a file");
    fs::remove_file(ws.path("s.jsonl")).expect("a session");
    let mut person = stage.begins(&foreign("sh slow.sh"));
    wait_until("the discovery", || content(&ws, "begun").is_some());
    person.types(CTRL_C);
    let shown = person.sees_it_end(130);
    assert!(shown.contains("cancelled"), "{shown}");
    assert_eq!(marked_processes("MARK", &stage.mark), []);
}

#[test]
fn ctrl_c_between_turns_ends_the_session() {
    let script = json!({
        "answers": [
            {"calls": [call("a", "list_directory", json!({"path": "."}))]},
            {"fault": "no-headers"},
        ],
    });
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let stage = Stage::new(&ws, &api);
    let mut person = stage.begins(&[]);
    wait_until("the second turn", || api.count("turn") == 2);
    person.types(CTRL_C);
    person.sees_it_end(130);
    stage.is_over(&[]);
    assert!(response(&api, "a")["output"].is_string());
}

#[test]
fn ctrl_c_while_the_prompt_is_awaited_ends_it() {
    let Some(api) = playing(json!([])) else {
        return;
    };
    let ws = Workspace::new().fifo("in");
    let stage = Stage::new(&ws, &api);
    let call = agent(&ws, &api, &["Play"]).env("MARK", &stage.mark);
    // It holds the writing end, too, so that no end of input comes.
    let mut person = call.in_bash("exec \"$@\" <>in").at_a_terminal();
    wait_until("the handlers", || handles_interrupts(person.id()));
    person.types(CTRL_C);
    person.sees_it_end(130);
    assert_eq!(marked_processes("MARK", &stage.mark), []);
    assert!(turns(&api).is_empty());
}

#[test]
fn a_second_ctrl_c_ends_it_at_once() {
    let Some(api) = playing(json!([[shell("a", "touch begun; sleep 98765")]])) else {
        return;
    };
    let ws = Workspace::new();
    let stage = Stage::new(&ws, &api);
    let mut person = stage.begins(&["-y"]);
    wait_until("the command", || content(&ws, "begun").is_some());
    // So that the first one can't end it.
    let found = processes_below(person.id());
    let (tool, _) = found
        .iter()
        .find(|(_, line)| line.contains("--batch"))
        .expect("call_tool");
    let tool = Pid::from_raw(*tool as i32).expect("a process");
    kill_process(tool, Signal::STOP).expect("a process of ours");
    person.types(CTRL_C);
    person.sees("^C");
    // Two that are pending are one.
    wait_until("the first is taken", || !is_pending(person.id()));
    person.types(CTRL_C);
    person.sees_it_end(130);
    let session = content(&ws, "s.jsonl").expect("a session");
    assert!(!session.contains("\"type\":\"done\""), "{session}");
    kill_process(tool, Signal::CONT).expect("a process of ours");
    wait_until("the end of all", || {
        marked_processes("MARK", &stage.mark).is_empty()
    });
    stage.goes_on(&["-y"]);
    assert!(error(&api, "a").contains("not made again"));
}

#[test]
fn a_terminal_that_goes_away_ends_the_session_in_order() {
    let Some(api) = playing(json!([[shell("a", "touch begun; sleep 98765")]])) else {
        return;
    };
    // Other commands do not notice by themselves that no host waits for them.
    let tools = json!([{"name": "run_shell_command", "description": "A tool."}]);
    let foreign = [
        "--discovery-command",
        "cat tools.json",
        "--call-command",
        "./call.sh",
    ];
    for (flags, is_asked) in [(&["-y"][..], false), (&[], true), (&foreign, false)] {
        api.play(&json!({"turns": [[shell("a", "touch begun; sleep 98765")]]}));
        let ws = Workspace::new()
            .file("tools.json", tools.to_string())
            .file("call.sh", "#!/bin/sh\ntouch begun; sleep 98765\n")
            .mode("call.sh", 0o755);
        let stage = Stage::new(&ws, &api);
        let mut flags = flags.to_vec();
        if !is_asked && !flags.contains(&"-y") {
            flags.push("-y");
        }
        let mut person = stage.begins(&flags);
        if is_asked {
            person.sees(ASKED);
        } else {
            wait_until("the call", || content(&ws, "begun").is_some());
        }
        assert_eq!(person.hangs_up(), Some(129));
        stage.is_over(&flags);
        let told = error(&api, "a");
        assert!(is_asked || told.contains("cancelled"), "{told}");
        assert!(!told.contains("declined this call"), "{told}");
    }
}

#[test]
fn a_question_ends_with_its_terminal_also_where_nohup_started_it() {
    let Some(api) = playing(json!([[shell("a", "touch begun")]])) else {
        return;
    };
    let ws = Workspace::new();
    let call = agent(&ws, &api, &["Play"]).in_bash("trap '' HUP; exec \"$@\"");
    let mut person = call.at_a_terminal();
    person.sees(ASKED);
    // What it says last can't be written any more.
    assert_eq!(person.hangs_up(), Some(1));
    let told = error(&api, "a");
    assert!(told.contains("No user can be asked"), "{told}");
    assert_eq!(content(&ws, "begun"), None);
}

#[test]
fn a_terminal_that_goes_away_is_nothing_to_what_nohup_started() {
    let Some(api) = playing(json!([[shell(
        "a",
        "touch begun; while [ ! -e go ]; do sleep 0.05; done"
    )]])) else {
        return;
    };
    let ws = Workspace::new();
    // The shell, which leads the session, ignores the signal, too, so as to see the end.
    let script = "trap '' HUP; nohup \"$@\"; echo $? >status.txt";
    let call = agent(&ws, &api, &["Play", "-y"]).in_bash(script);
    let mut person = call.at_a_terminal();
    person.sees("nohup");
    wait_until("the call", || content(&ws, "begun").is_some());
    person.goes_away();
    write(&ws.dir().join("go"), b"");
    wait_until("the end", || {
        content(&ws, "status.txt").is_some_and(|status| status == "0\n")
    });
}

fn is_pending(id: u32) -> bool {
    has_signal(id, "ShdPnd:", Signal::INT)
}

/// Bash, which it is before, has handlers of its own only where it is interactive.
fn handles_interrupts(id: u32) -> bool {
    has_signal(id, "SigCgt:", Signal::INT)
}

#[test]
fn what_a_model_says_deceives_nobody_on_the_terminal_and_in_the_report() {
    let hidden = "\u{200b}\u{200d}\u{200e}\u{200f}\u{61c}\u{feff}\u{202e}\u{2066}\u{fe00}\u{ad}\u{e0041}\u{e007f}";
    let name = format!("a{hidden}.txt");
    let script = json!({
        "turns": [[call("a", "read_file", json!({"absolute_path": name}))]],
        "closing": format!("All{hidden} done. \u{26a0}\u{fe0f} \u{1f468}\u{200d}\u{1f469}"),
    });
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let args = [
        format!("Pl{hidden}ay"),
        "--report".to_owned(),
        "page.html".to_owned(),
    ];
    let args = args.each_ref().map(String::as_str);
    let mut person = agent(&ws, &api, &args).at_a_terminal();
    let shown = person.sees_it_end(0);
    let page = content(&ws, "page.html").expect("a report");
    for text in [shown, page] {
        assert!(
            text.contains("\u{26a0}\u{fe0f} \u{1f468}\u{200d}\u{1f469}"),
            "{text:?}"
        );
        let text = text.replace("\u{26a0}\u{fe0f} \u{1f468}\u{200d}\u{1f469}", "");
        assert!(!text.contains(|c| hidden.contains(c)), "{text:?}");
        assert!(text.contains("All\\"), "{text:?}");
    }
}
