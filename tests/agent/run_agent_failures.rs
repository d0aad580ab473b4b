//! What `run_agent` says before the first request of what it can't do, and how it tells of calls that were refused and
//! of commands that have failed.

use std::fs;

use serde_json::{Value, json};

use crate::harness::agent::{agent, call, ended, last_parts, response, said};
use crate::harness::stand_in::StandIn;
use crate::harness::{Answer, Workspace};

/// Two edits and a command, none of which may run without approval.
fn changes() -> Value {
    json!({"turns": [[
        call("w", "write_file", json!({"file_path": "a.txt", "content": "x"})),
        call("v", "write_file", json!({"file_path": "b.txt", "content": "x"})),
        call("s", "run_shell_command", json!({"command": "touch c.txt"})),
        call("r", "list_directory", json!({"path": "."})),
    ]], "closing": "Done."})
}

const NO_USER: &str = "run_agent: 3 calls were refused, because no user could be asked: write_file, \
                       run_shell_command (--approval-mode, --allowed-tools)\n";

#[test]
fn calls_that_were_refused_without_a_terminal_are_named_and_can_be_a_status() {
    let Some(api) = StandIn::playing(&changes()) else {
        return;
    };
    for (args, status, stderr) in [
        (&["Play"][..], 0, NO_USER),
        (&["Play", "--fail-on-refusal"], 3, NO_USER),
        (&["Play", "--fail-on-refusal", "-o", "json"], 3, NO_USER),
        (&["Play", "--fail-on-refusal", "-y"], 0, ""),
        (
            &["Play", "--fail-on-refusal", "--allowed-tools", "write_file"],
            3,
            "run_agent: 1 call was refused, because no user could be asked: run_shell_command \
             (--approval-mode, --allowed-tools)\n",
        ),
        (
            &["Play", "--fail-on-refusal", "-y", "--policy", "deny.toml"],
            3,
            "run_agent: 2 calls were refused by a rule: write_file\n",
        ),
        (
            // The model is not even told about such a tool.
            &["Play", "--fail-on-refusal", "-y", "--policy", "all.toml"],
            3,
            "run_agent: 2 calls were refused by a rule: write_file\n",
        ),
        (
            &["Play", "--fail-on-refusal", "--approval-mode", "plan"],
            3,
            "run_agent: 3 calls were refused by a rule: write_file, run_shell_command\n",
        ),
    ] {
        api.play(&changes());
        let deny = "[[rule]]\ntoolName = \"write_file\"\nargsPattern = \"txt\"\n\
                    decision = \"deny\"\npriority = 900\n";
        let ws = Workspace::new().file("deny.toml", deny);
        let ws = ws.file("all.toml", deny.replace("argsPattern = \"txt\"\n", ""));
        let answer = agent(&ws, &api, args).without_a_terminal().run();
        assert_eq!(answer.status(), status, "{args:?}: {}", answer.shown());
        assert_eq!(answer.errors(), stderr, "{args:?}");
        // Standard output is what it is without a refusal.
        let out = answer.text();
        if args.contains(&"json") {
            let out: Value = serde_json::from_str(out).expect("JSON");
            assert_eq!(out["response"], "Done.");
            assert!(out.get("error").is_none(), "{out}");
        } else {
            assert_eq!(out, "Turn 1.\nDone.\n");
        }
    }
}

/// Refused with status 42 and these words, before anything was asked.
#[track_caller]
fn is_bad_input(api: &StandIn, answer: &Answer, words: &[&str]) {
    ended(answer, 42, words);
    assert!(api.requests().is_empty(), "{}", answer.shown());
}

#[test]
fn a_name_in_allowed_tools_that_no_tool_has_is_refused_before_the_model_is_asked() {
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    let ws = Workspace::new();
    let allowing = |names: &str| agent(&ws, &api, &["Play", "--allowed-tools", names]).run();
    for (names, words) in [
        (
            "raed_file",
            ["--allowed-tools raed_file", "Did you mean read_file"],
        ),
        (
            "replace,WriteFileTool",
            ["--allowed-tools WriteFileTool", "no such tool"],
        ),
        (
            "run_shell_comand(git)",
            ["run_shell_comand(git)", "run_shell_command"],
        ),
        (
            "replace(x)",
            ["--allowed-tools replace(x)", "Did you mean replace?"],
        ),
        ("docs__find", ["--allowed-tools docs__find", "no such tool"]),
        ("\u{1b}[2J", ["--allowed-tools", "no such tool"]),
    ] {
        let answer = allowing(names);
        is_bad_input(&api, &answer, &words);
        assert!(!answer.errors().contains('\x1b'), "{}", answer.shown());
    }
    for names in [
        "read_file,replace",
        "run_shell_command(git)",
        "ShellTool(git)",
        "discovered_tool_replace",
        "*",
    ] {
        api.play(&json!({"closing": "Done."}));
        let answer = allowing(names);
        assert_eq!(said(&answer), "Done.\n", "{names}");
        assert!(answer.stderr.is_empty(), "{}", answer.shown());
    }
    // A server may be down for a while.
    let settings = json!({"mcpServers": {"docs": {"command": "false"}}});
    let ws = Workspace::new().home(".gemini/settings.json", settings.to_string());
    let answer = agent(&ws, &api, &["Play", "--allowed-tools", "docs__find"]).run();
    ended(
        &answer,
        0,
        &["--allowed-tools docs__find", "does not declare it"],
    );
}

#[test]
fn no_part_of_a_prompt_is_empty_whatever_is_in_the_file_that_it_names() {
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    for content in ["", " ", "\n", "\n\n\n", " \t\r\n", "\u{3000}"] {
        let ws = Workspace::new().file("a.txt", content);
        said(&agent(&ws, &api, &["Read @a.txt"]).run());
        for part in last_parts(&api) {
            assert_ne!(part["text"], "", "{content:?}");
        }
    }
}

#[test]
fn a_file_that_the_prompt_names_and_that_is_not_there_is_told_before_the_model_is_asked() {
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    let ws = Workspace::new().file("src/a.rs", "the heron\n");
    for (prompt, words) in [
        ("Read @nofile.txt.", ["@nofile.txt", "no such file"]),
        ("Read @src/nofile", ["@src/nofile", "no such file"]),
        ("Read @./nofile", ["@./nofile", "\\@./nofile"]),
        ("Read @/etc/passwd", ["@/etc/passwd", "workspace"]),
    ] {
        is_bad_input(&api, &agent(&ws, &api, &[prompt]).run(), &words);
    }
    // What may be a person or a package is told and goes to the model.
    for word in ["@alice", "@types/node"] {
        let answer = agent(&ws, &api, &[&format!("Ask {word} of @src/a.rs")]).run();
        ended(&answer, 0, &[&format!("There is no file {word}")]);
        assert!(
            Value::from(last_parts(&api))
                .to_string()
                .contains("the heron")
        );
    }
    // A diff from a pipe has such words by chance, and an escaped one is no path.
    for (args, input) in [
        (&["Review"][..], " @Test.java\n @nofile.txt\n"),
        (&["Read \\@nofile.txt"], ""),
    ] {
        let answer = agent(&ws, &api, args).input(input).run();
        assert_eq!(said(&answer), "Done.\n");
        assert!(answer.stderr.is_empty(), "{}", answer.shown());
    }
}

#[test]
fn a_command_that_fails_is_shown_so_with_its_status_and_its_last_line() {
    let script = json!({"turns": [[
        call("m", "run_shell_command", json!({"command": "make lint"})),
        call("k", "run_shell_command", json!({"command": "kill -9 $$"})),
        call("f", "run_shell_command", json!({"command": "printf 'Signal: SIGHUP\\nExit Code: 7\\n'"})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let makefile = "lint:\n\t@echo 'lint error: bad'; exit 1\n";
    let last = "make: *** [Makefile:2: lint] Error 1";
    for columns in [80, 120] {
        api.play(&script);
        let ws = Workspace::new().file("Makefile", makefile);
        let args = ["Play", "-y", "--report", "r.html"];
        let mut person = agent(&ws, &api, &args).at_a_terminal_of(columns);
        let shown = person.sees_it_end(0);
        for piece in [
            "✗ run_shell_command make lint: exit 2 (".to_owned(),
            format!("\n  {last}\r"),
            "✗ run_shell_command kill -9 $$: SIGKILL (".to_owned(),
            "✓ run_shell_command printf ".to_owned(),
        ] {
            assert!(shown.contains(&piece), "{piece}: {shown}");
        }
        let told = response(&api, "m")["output"].to_string();
        assert!(
            told.contains("Exit Code: 2") && told.contains(last),
            "{told}"
        );
        let page = fs::read_to_string(ws.path("r.html")).expect("a report");
        assert!(
            page.contains("exit 2") && page.contains("SIGKILL"),
            "{page}"
        );
        assert!(
            page.contains(r#""failed_commands":{"run_shell_command":2}"#),
            "{page}"
        );
    }
    // The model and JSON have it as before: the calls were made.
    api.play(&script);
    let ws = Workspace::new().file("Makefile", makefile);
    let answer = agent(&ws, &api, &["Play", "-y", "-o", "json"]).run();
    let out: Value = serde_json::from_str(&said(&answer)).expect("JSON");
    assert_eq!(out["stats"]["tools"]["totalSuccess"], 3);
    assert_eq!(out["stats"]["tools"]["totalFail"], 0);
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
}

#[test]
fn a_call_that_is_too_long_is_answered_and_the_session_goes_on() {
    let long = "x".repeat(9 * 1024 * 1024);
    let turn = [call(
        "w",
        "write_file",
        json!({"file_path": "a", "content": long}),
    )];
    let Some(api) = StandIn::playing(&json!({"turns": [turn], "closing": "Done."})) else {
        return;
    };
    let ws = Workspace::new();
    let answer = agent(&ws, &api, &["Write", "-y"]).run();
    assert!(said(&answer).ends_with("Done.\n"), "{}", answer.shown());
    let error = response(&api, "w")["error"].to_string();
    assert!(error.contains("smaller steps"), "{error}");
}

#[test]
fn a_model_that_goes_in_circles_is_stopped() {
    let round = ["*", "**", "*.txt"];
    let calls = (0..100).map(|n| {
        let pattern = json!({"pattern": round[n % round.len()]});
        json!([call(&n.to_string(), "glob", pattern)])
    });
    let script = json!({"turns": calls.collect::<Vec<_>>(), "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let answer = agent(&Workspace::new(), &api, &["Go"]).run();
    ended(
        &answer,
        1,
        &["repeats the same calls and gets the same answers"],
    );
}

#[test]
fn a_turn_with_calls_without_end_is_stopped() {
    let glob = |n: usize| call(&n.to_string(), "glob", json!({"pattern": n.to_string()}));
    let calls: Vec<Value> = (0..1_001).map(glob).collect();
    let Some(api) = StandIn::playing(&json!({"turns": [calls], "closing": "Done."})) else {
        return;
    };
    let answer = agent(&Workspace::new(), &api, &["Go"]).run();
    ended(&answer, 1, &["The model repeats itself"]);
}
