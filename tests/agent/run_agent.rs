//! `run_agent`: the model is asked, its calls are run and answered, and the end is told by the exit status. The API is
//! the stand-in; the tools are ours unless a test says otherwise.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::agent::{agent, call, ended, last_parts, response, said, turns};
use crate::harness::stand_in::StandIn;
use crate::harness::{Workspace, executable, marked_processes};

/// The session that the page of a report holds.
fn reported(ws: &Workspace, name: &str) -> Value {
    let page = fs::read_to_string(ws.path(name)).expect("a report");
    let (_, rest) = page.split_once("id=\"session\">").expect("a session");
    let (session, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(session).expect("JSON")
}

#[test]
fn a_text_is_printed_and_the_request_has_all_that_the_model_needs() {
    let Some(api) = StandIn::playing(&json!({"closing": "Hello."})) else {
        return;
    };
    let ws = Workspace::new()
        .file("GEMINI.md", "Say it in French.\n")
        .file("src/a.rs", "")
        .home(".gemini/GEMINI.md", "Be short.\n");
    let answer = agent(&ws, &api, &["Say hello"]).run();
    assert_eq!(said(&answer), "Hello.\n");
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
    let body = &turns(&api)[0];
    let contents = body["contents"].as_array().expect("messages");
    let text = |i: usize| contents[i]["parts"][0]["text"].as_str().expect("text");
    assert!(text(0).contains("src/"), "{}", text(0));
    assert_eq!(text(1), "Got it. Thanks for the context!");
    assert_eq!(text(2), "Say hello");
    assert_eq!(contents.len(), 3);
    let system = body["systemInstruction"]["parts"][0]["text"]
        .as_str()
        .expect("text");
    for piece in ["Say it in French.", "Be short."] {
        assert!(system.contains(piece), "{piece}: {system}");
    }
    assert_eq!(
        body["generationConfig"],
        json!({
            "temperature": 0, "topP": 1,
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": -1},
        })
    );
    let tools = body["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), 1);
    let declared = tools[0]["functionDeclarations"].as_array().expect("tools");
    assert!(declared.len() >= 12);
    for tool in declared {
        let keys: Vec<_> = tool.as_object().expect("a tool").keys().collect();
        assert_eq!(keys, ["description", "name", "parametersJsonSchema"]);
    }
}

#[test]
fn standard_input_and_arguments_are_one_prompt() {
    let Some(api) = StandIn::playing(&json!({"closing": "Yes."})) else {
        return;
    };
    let ws = Workspace::new();
    for (args, input, prompt) in [
        (&["-p", "one"][..], "", "one"),
        (&["one", "two"], "", "one two"),
        (&[], "piped\n", "piped"),
        (&["-p", "one"], "piped\n", "piped\n\none"),
    ] {
        api.play(&json!({"closing": "Yes."}));
        said(&agent(&ws, &api, args).input(input).run());
        assert_eq!(last_parts(&api), [json!({"text": prompt})]);
    }
    api.play(&json!({"closing": "Yes."}));
    ended(&agent(&ws, &api, &[]).run(), 42, &["no prompt"]);
    assert!(api.requests().is_empty());
}

#[test]
fn what_the_prompt_names_by_an_at_is_in_it() {
    let Some(api) = StandIn::playing(&json!({"closing": "Yes."})) else {
        return;
    };
    let ws = Workspace::new().file("a b.txt", "the heron\n");
    let answer = agent(
        &ws,
        &api,
        &["Read @a\\ b.txt, and mail me@example.org or @nobody."],
    )
    .run();
    said(&answer);
    let parts = last_parts(&api);
    let all = Value::from(parts.clone()).to_string();
    assert!(all.contains("the heron") && parts.len() > 1, "{all}");
    assert!(
        parts[0]["text"]
            .as_str()
            .is_some_and(|t| t.starts_with("Read @")),
        "{all}"
    );
}

#[test]
fn calls_of_a_turn_are_answered_by_one_message_in_their_order() {
    let script = json!({"turns": [[
        call("r1", "read_file", json!({"absolute_path": "a.txt"})),
        call("w1", "write_file", json!({"file_path": "a.txt", "content": "new\n"})),
        call("r2", "read_file", json!({"absolute_path": "a.txt"})),
        call("w2", "replace", json!({"file_path": "a.txt", "old_string": "new", "new_string": "newer"})),
        call("r3", "read_file", json!({"absolute_path": "a.txt"})),
        call("u", "no_such_tool", json!({})),
        call("b", "read_file", json!({"limit": 3})),
        call("f", "read_file", json!({"absolute_path": "missing.txt"})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new().file("a.txt", "old\n");
    said(&agent(&ws, &api, &["Play", "--approval-mode", "auto_edit"]).run());
    let ids: Vec<_> = last_parts(&api)
        .iter()
        .map(|p| p["functionResponse"]["id"].clone())
        .collect();
    assert_eq!(ids, ["r1", "w1", "r2", "w2", "r3", "u", "b", "f"]);
    for (id, output) in [("r1", "old\n"), ("r2", "new\n"), ("r3", "newer\n")] {
        assert_eq!(response(&api, id), json!({"output": output}), "{id}");
    }
    for (id, piece) in [
        ("u", "no_such_tool"),
        ("b", "absolute_path"),
        ("f", "missing.txt"),
    ] {
        let error = response(&api, id)["error"].to_string();
        assert!(error.contains(piece), "{id}: {error}");
    }
    assert_eq!(fs::read(ws.path("a.txt")).expect("a file"), b"newer\n");
}

#[test]
fn the_report_says_how_the_changes_of_a_session_are_undone_and_that_undoes_them() {
    let script = json!({"turns": [[
        call("w", "write_file", json!({"file_path": "new.txt", "content": "new\n"})),
        call("r", "replace", json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new()
        .file("a.txt", "old\n")
        .file("b.txt", "old\n");
    let mine = json!({"file_path": "b.txt", "old_string": "old", "new_string": "mine"});
    ws.tool("replace")
        .arguments(&mine)
        .unwatched()
        .run()
        .output();
    let report = [
        "Play",
        "--approval-mode",
        "auto_edit",
        "--report",
        "report.html",
    ];
    said(&agent(&ws, &api, &report).run());
    let session = reported(&ws, "report.html");
    let undo = session["undo"].as_str().expect("a command");
    let words: Vec<&str> = undo.split(' ').collect();
    let answer = ws.call_tool(&words[1..]).unwatched().run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(fs::read(ws.path("a.txt")).expect("a file"), b"old\n");
    assert_eq!(fs::read(ws.path("b.txt")).expect("a file"), b"mine\n");
    assert!(!ws.dir().join("new.txt").exists());
}

#[test]
fn media_stand_beside_the_response() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    let script = json!({"turns": [[
        call("i", "read_file", json!({"absolute_path": "a.png"})),
        call("t", "read_file", json!({"absolute_path": "a.txt"})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new().file("a.png", png).file("a.txt", "x\n");
    said(&agent(&ws, &api, &["Play"]).run());
    let parts = last_parts(&api);
    let kinds: Vec<_> = parts
        .iter()
        .map(|p| p.as_object().expect("a part").keys().next().cloned())
        .map(|key| key.expect("a key"))
        .collect();
    assert_eq!(
        kinds,
        ["functionResponse", "inlineData", "functionResponse"]
    );
    let output = "Binary content of type image/png was processed.";
    assert_eq!(response(&api, "i"), json!({ "output": output }));
    assert_eq!(parts[1]["inlineData"]["mimeType"], "image/png");
}

#[test]
fn signatures_are_kept_and_thoughts_are_not() {
    let script = json!({"answers": [{"parts": [
        {"text": "I should look.", "thought": true},
        {"text": "Let me "}, {"text": "look."},
        {"functionCall": {"name": "glob", "args": {"pattern": "*"}}, "thoughtSignature": "c2ln"},
    ]}], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let answer = agent(&Workspace::new(), &api, &["Play"]).run();
    assert_eq!(said(&answer), "Let me look.\nDone.\n");
    let body = turns(&api).pop().expect("a turn");
    let contents = body["contents"].as_array().expect("messages");
    assert_eq!(
        contents[3]["parts"],
        json!([
            {"text": "Let me look."},
            {"functionCall": {"name": "glob", "args": {"pattern": "*"}}, "thoughtSignature": "c2ln"},
        ])
    );
    // The call had no id, so that one was made for its answer.
    let id = &contents[4]["parts"][0]["functionResponse"]["id"];
    assert!(
        id.as_str().is_some_and(|id| id.starts_with("glob-")),
        "{id}"
    );
}

#[test]
fn thoughts_are_told_with_their_subjects_but_not_in_the_answer() {
    let parts = json!([
        {"text": "**Looking around**\n\nI look.\n\n\n", "thought": true},
        {"text": "**Counting**\n\nTwo herons.", "thought": true},
        {"text": "Two."},
    ]);
    let script = json!({"answers": [{"parts": parts}]});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let run = |args: &[&str]| {
        api.play(&script);
        said(&agent(&ws, &api, args).run())
    };
    assert_eq!(run(&["Count", "--report", "r.html"]), "Two.\n");
    let session = reported(&ws, "r.html");
    let entries = session["entries"].as_array().expect("a list");
    let thoughts = entries.iter().filter(|entry| entry["type"] == "thought");
    let thoughts: Vec<Value> = thoughts
        .map(|thought| json!([thought["subject"], thought["description"]]))
        .collect();
    let want = [
        json!(["Looking around", "I look."]),
        json!(["Counting", "Two herons."]),
    ];
    assert_eq!(thoughts, want);
    let told: Value = serde_json::from_str(&run(&["Count", "-o", "json"])).expect("JSON");
    assert_eq!(told["response"], "Two.");
    let lines = run(&["Count", "-o", "stream-json"]);
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let told: Vec<Value> = lines
        .filter(|line| line["type"] == "thought" || line["role"] == "assistant")
        .map(|line| json!([line["subject"], line["description"], line["content"]]))
        .collect();
    let expected = [
        json!(["Looking around", "I look.", null]),
        json!(["Counting", "Two herons.", null]),
        json!([null, null, "Two."]),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_server_that_asks_for_time_gets_it_in_either_form_and_is_left_alone_where_it_wants_too_much() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let ws = Workspace::new();
    for (key, soon) in [("retryAfter", 0), ("retryAfterDate", -5)] {
        for name in ["429", "503"] {
            let mut fault = json!({"fault": name});
            fault[key] = soon.into();
            api.play(&json!({"faults": [fault], "closing": "At last."}));
            assert_eq!(said(&agent(&ws, &api, &["Play"]).run()), "At last.\n");
            assert_eq!(turns(&api).len(), 2, "{key}");
            // An hour is more than a session waits.
            fault[key] = 3600.into();
            api.play(&json!({"faults": [fault], "closing": "Never."}));
            ended(&agent(&ws, &api, &["Play"]).run(), 1, &[name]);
            assert_eq!(turns(&api).len(), 1, "{key}");
        }
    }
}

#[test]
fn a_turn_that_says_nothing_is_asked_for_again() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let ws = Workspace::new();
    for fault in [
        json!({"fault": "MALFORMED_FUNCTION_CALL"}),
        json!({"fault": "empty", "what": "parts"}),
        json!({"fault": "empty", "what": "text"}),
        json!({"fault": "429", "retryDelay": "0.1s"}),
        json!({"fault": "cut", "afterChunks": 0}),
    ] {
        api.play(&json!({"faults": [fault], "closing": "At last."}));
        let answer = agent(&ws, &api, &["Play"]).run();
        assert!(said(&answer).ends_with("At last.\n"), "{fault}");
        let bodies = turns(&api);
        assert_eq!(bodies.len(), 2, "{fault}");
        assert_eq!(bodies[0], bodies[1], "the same question: {fault}");
    }
    api.play(&json!({"faults": [{"fault": "MALFORMED_FUNCTION_CALL", "times": "always"}]}));
    ended(
        &agent(&ws, &api, &["Play"]).run(),
        1,
        &["MALFORMED_FUNCTION_CALL"],
    );
    assert_eq!(turns(&api).len(), 3);
}

#[test]
fn an_answer_that_is_held_back_or_cut_is_told() {
    let Some(api) = StandIn::playing(&json!({"faults": [{"fault": "SAFETY"}]})) else {
        return;
    };
    let ws = Workspace::new();
    ended(&agent(&ws, &api, &["Play"]).run(), 1, &["SAFETY"]);
    api.play(&json!({"faults": [{"fault": "blocked"}]}));
    ended(&agent(&ws, &api, &["Play"]).run(), 1, &["blocked"]);
    api.play(&json!({"faults": [{"fault": "MAX_TOKENS"}]}));
    ended(&agent(&ws, &api, &["Play"]).run(), 0, &["limit of tokens"]);
    api.play(&json!({"faults": [{"fault": "500", "times": "always"}]}));
    ended(&agent(&ws, &api, &["Play"]).run(), 1, &["500"]);
}

#[test]
fn a_session_that_goes_in_circles_or_on_for_too_long_is_ended() {
    let again = json!({"answers": [{
        "calls": [call("a", "glob", json!({"pattern": "*"}))], "times": "always",
    }]});
    let Some(api) = StandIn::playing(&again) else {
        return;
    };
    let ws = Workspace::new();
    ended(
        &agent(&ws, &api, &["Play"]).run(),
        1,
        &["The model repeats"],
    );
    assert_eq!(turns(&api).len(), 5);
    api.play(&again);
    let answer = agent(&ws, &api, &["Play", "--max-turns", "2"]).run();
    ended(&answer, 53, &["2 turns"]);
    assert_eq!(turns(&api).len(), 2);
    api.play(&json!({"answers": [{"text": "I will look into the file again. ".repeat(100)}]}));
    ended(
        &agent(&ws, &api, &["Play"]).run(),
        1,
        &["The model repeats"],
    );
}

#[test]
fn without_approval_nothing_is_changed_and_the_model_is_told() {
    let script = json!({"turns": [[
        call("w", "write_file", json!({"file_path": "a.txt", "content": "x"})),
        call("s", "run_shell_command", json!({"command": "touch b.txt"})),
        call("r", "list_directory", json!({"path": "."})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    said(&agent(&ws, &api, &["Play"]).run());
    for id in ["w", "s"] {
        let error = response(&api, id)["error"].to_string();
        assert!(error.contains("approval"), "{error}");
    }
    assert!(!response(&api, "r")["output"].to_string().contains(".txt"));
    for (args, written, touched) in [
        (&["--approval-mode", "auto_edit"][..], true, false),
        (
            &["--allowed-tools", "run_shell_command(touch)"],
            false,
            true,
        ),
        (
            &["--allowed-tools", "run_shell_command(make)"],
            false,
            false,
        ),
        (
            &["--allowed-tools", "write_file,run_shell_command"],
            true,
            true,
        ),
        (&["--yolo"], true, true),
        (&["--yolo", "--approval-mode", "plan"], true, true),
        (&["--approval-mode", "plan"], false, false),
    ] {
        api.play(&script);
        let ws = Workspace::new();
        said(&agent(&ws, &api, &["Play"]).flags(args).run());
        let is_there = |name: &str| fs::exists(ws.path(name)).expect("a name");
        assert_eq!(
            (is_there("a.txt"), is_there("b.txt")),
            (written, touched),
            "{args:?}"
        );
    }
    // A plan is made with tools that read only.
    let declared = turns(&api)[0]["tools"][0]["functionDeclarations"].to_string();
    assert!(declared.contains("read_file") && !declared.contains("write_file"));
}

#[test]
fn the_users_settings_allow_and_a_projects_do_only_where_it_is_trusted() {
    let script = json!({"turns": [[
        call("w", "write_file", json!({"file_path": "a.txt", "content": "x"})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let settings = r#"{"tools": {"allowed": ["write_file"]}}"#;
    for (ws, args, is_written) in [
        (
            Workspace::new().home(".gemini/settings.json", settings),
            &[][..],
            true,
        ),
        (
            Workspace::new().file(".gemini/settings.json", settings),
            &[],
            false,
        ),
        (
            Workspace::new().file(".gemini/settings.json", settings),
            &["--trust"],
            true,
        ),
        (
            Workspace::new()
                .home(".gemini/settings.json", settings)
                .file(
                    ".gemini/settings.json",
                    r#"{"tools": {"exclude": ["write_file"]}}"#,
                ),
            &[],
            false,
        ),
    ] {
        api.play(&script);
        said(&agent(&ws, &api, &["Play"]).flags(args).run());
        assert_eq!(fs::exists(ws.path("a.txt")).expect("a name"), is_written);
    }
}

#[test]
fn commands_run_in_a_sandbox_unless_the_user_says_otherwise() {
    let ws = Workspace::new();
    let outside = ws.outside_path("escaped");
    let script = json!({"turns": [[
        call("s", "run_shell_command", json!({"command": format!("echo x > '{outside}'; echo y > inside")})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    // What lies in the temporary directory may be written to.
    let call = agent(&ws, &api, &["Play", "-y"]).env("TMPDIR", &ws.path(""));
    said(&call.run());
    assert!(!fs::exists(&outside).expect("a name"));
    assert!(fs::exists(ws.path("inside")).expect("a name"));
    api.play(&script);
    said(&agent(&ws, &api, &["Play", "-y", "--sandbox", "off"]).run());
    assert!(fs::exists(&outside).expect("a name"));
}

#[test]
fn a_signal_ends_the_session_with_all_that_its_calls_have_started() {
    let script = json!({"turns": [[
        call("s", "run_shell_command", json!({"command": "sleep 300 & touch started; sleep 300"})),
    ]], "closing": "Never."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        api.play(&script);
        let ws = Workspace::new();
        let mark = ws.path("");
        let running = agent(&ws, &api, &["Play", "-y"]).env("MARK", &mark).start();
        while !fs::exists(ws.path("started")).expect("a name") {
            thread::sleep(Duration::from_millis(10));
        }
        let id = Pid::from_raw(running.id() as i32).expect("a process");
        kill_process(id, signal).expect("a child of ours");
        let answer = running.finish();
        assert_eq!(answer.status(), code, "{}", answer.shown());
        assert_eq!(marked_processes("MARK", &mark), []);
    }
}

#[test]
fn the_time_limit_ends_the_session() {
    let script = json!({"turns": [[
        call("s", "run_shell_command", json!({"command": "sleep 300"})),
    ]], "closing": "Never."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let answer = agent(&ws, &api, &["Play", "-y", "--time-limit", "1"]).run();
    ended(&answer, 124, &["--time-limit"]);
    api.play(&json!({"faults": [{"fault": "silence", "times": "always"}]}));
    let answer = agent(&ws, &api, &["Play", "--time-limit", "1"]).run();
    ended(&answer, 124, &["--time-limit"]);
}

#[test]
fn without_a_credential_it_says_which_variable_to_set() {
    let ws = Workspace::new();
    let answer = ws.program(&executable("run_agent"), &["Play"]).run();
    ended(&answer, 42, &["GEMINI_API_KEY"]);
}

#[test]
fn an_option_that_is_none_is_refused_by_its_own_status() {
    let ws = Workspace::new();
    for args in [
        &["--no-such-option"][..],
        &["--max-turns", "0", "x"],
        &["--time-limit", "never", "x"],
        &["--approval-mode", "sometimes", "x"],
        &["--discovery-command", "x", "x"],
    ] {
        let answer = ws.program(&executable("run_agent"), args).unwatched().run();
        assert_eq!(answer.status(), 42, "{args:?}: {}", answer.shown());
    }
    let answer = ws.program(&executable("run_agent"), &["--help"]).run();
    assert!(said(&answer).contains("Exit status"));
}

#[test]
fn a_long_history_is_shortened_to_a_summary() {
    let big = "A heron stands in the water. ".repeat(400);
    let usage = json!({"promptTokenCount": 900_000, "totalTokenCount": 900_010});
    let read = |id: &str, name: &str| call(id, "read_file", json!({"absolute_path": name}));
    let part = json!({"functionCall": {"id": "b", "name": "read_file", "args": {"absolute_path": "1.txt"}}});
    let chunk =
        |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let mut first = chunk(json!({"text": "I look on."}));
    first["usageMetadata"] = usage.clone();
    let mut last = chunk(part);
    last["candidates"][0]["finishReason"] = "STOP".into();
    // What was used may be told at the end of a stream, or at its beginning only.
    for answer in [
        json!({"calls": [read("b", "1.txt")], "usageMetadata": usage}),
        json!({"chunks": [first, last]}),
    ] {
        let script = json!({
            "answers": [
                {"calls": [read("a", "0.txt")]},
                answer,
                {"text": "The summary: herons.", "match": {"kind": "side"}},
            ],
            "closing": "Done.",
        });
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let ws = Workspace::new()
            .file("0.txt", &big)
            .file("1.txt", "short\n");
        let args = ["Look at the herons", "--output-format", "json"];
        let told: Value =
            serde_json::from_str(&said(&agent(&ws, &api, &args).run())).expect("JSON");
        let tokens = &told["stats"]["models"]["gemini-2.5-pro"]["tokens"];
        assert!(tokens["prompt"].as_u64() >= Some(900_000), "{told}");
        let body = turns(&api).pop().expect("a turn");
        let contents = body["contents"].to_string();
        assert!(contents.contains("The summary: herons."), "{contents}");
        assert!(!contents.contains("A heron stands"), "{}", contents.len());
        assert_eq!(api.count("side"), 1);
    }
}

#[test]
fn what_was_used_is_counted_for_the_model_that_answered() {
    let chunk = json!({
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 7, "totalTokenCount": 8},
        "modelVersion": "another-model",
    });
    let Some(api) = StandIn::playing(&json!({"answers": [{"chunks": [chunk]}]})) else {
        return;
    };
    let answer = agent(&Workspace::new(), &api, &["Hi", "--output-format", "json"]).run();
    let told: Value = serde_json::from_str(&said(&answer)).expect("JSON");
    let models = told["stats"]["models"].as_object().expect("models");
    let counted: Vec<_> = models
        .iter()
        .map(|(name, m)| (&**name, &m["tokens"]["prompt"]))
        .collect();
    assert_eq!(counted, [("another-model", &json!(7))]);
}

#[test]
fn what_was_used_is_what_the_last_piece_says_that_says_it() {
    let piece = |text: &str, used: Value| {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}],
            "usageMetadata": used})
    };
    let silent = |finish: Value| json!({"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": finish}]});
    let used = |count: u64| json!({"promptTokenCount": count, "candidatesTokenCount": 1, "totalTokenCount": count + 1});
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for (chunks, expected) in [
        (
            json!([
                piece("Hel", used(7)),
                piece("lo.", Value::Null),
                silent("STOP".into())
            ]),
            7,
        ),
        (
            json!([
                piece("Hel", used(7)),
                piece("lo.", used(9)),
                silent("STOP".into())
            ]),
            9,
        ),
        (
            json!([
                piece("Hello.", used(5)),
                silent(Value::Null),
                silent("STOP".into())
            ]),
            5,
        ),
    ] {
        api.play(&json!({"answers": [{"chunks": chunks}]}));
        let ws = Workspace::new();
        let call = agent(&ws, &api, &["Hi", "-o", "json"]);
        let events = ws.path("events.jsonl");
        let answer = call.env("GEMINI_TELEMETRY_OUTFILE", &events).run();
        let told: Value = serde_json::from_str(&said(&answer)).expect("JSON");
        let models = told["stats"]["models"].as_object().expect("models");
        let counted: Vec<_> = models.values().map(|m| &m["tokens"]["prompt"]).collect();
        assert_eq!(counted, [&json!(expected)]);
        let events = fs::read_to_string(events).expect("events");
        let events = events
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let counts: Vec<Value> = events
            .filter(|event| event["event.name"] == "gemini_cli.api_response")
            .map(|event| event["input_token_count"].clone())
            .collect();
        assert_eq!(counts, [json!(expected)]);
    }
}

#[test]
fn the_telemetry_has_the_lines_of_each_edit() {
    let edit = |id: &str, tool: &str, args: Value| call(id, tool, args);
    let script = json!({"turns": [[
        edit("w", "write_file", json!({"file_path": "a.txt", "content": "one\ntwo\n"})),
        edit("r", "replace", json!({"file_path": "a.txt", "old_string": "one\n", "new_string": "1\n1.5\n"})),
        edit("s", "smart_edit", json!({"file_path": "a.txt", "instruction": "Drop it.", "old_string": "two\n", "new_string": ""})),
        edit("l", "list_directory", json!({"path": "."})),
    ]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let events = ws.path("events.jsonl");
    let run = agent(&ws, &api, &["Edit", "-y"]).env("GEMINI_TELEMETRY_OUTFILE", &events);
    said(&run.run());
    let events = fs::read_to_string(events).expect("events");
    let events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let told: Vec<Value> = events
        .filter(|event| event["event.name"] == "gemini_cli.tool_call")
        .map(|event| event["metadata"].clone())
        .collect();
    let lines = |added: u64, removed: u64| {
        json!({"ai_added_lines": added, "ai_removed_lines": removed,
            "user_added_lines": 0, "user_removed_lines": 0})
    };
    assert_eq!(told, [lines(2, 0), lines(2, 1), lines(0, 1), Value::Null]);
}

#[test]
fn code_assist_is_told_of_the_session_and_its_prompts() {
    let script =
        json!({"turns": [[call("a", "list_directory", json!({"path": "."}))]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let ask = |args: &[&str]| {
        let call = ws.program(&executable("run_agent"), args).unwatched();
        let answer = call
            .env("CODE_ASSIST_ENDPOINT", api.url())
            .env("GOOGLE_GENAI_USE_GCA", "true")
            .env("GOOGLE_CLOUD_ACCESS_TOKEN", "t")
            .env("GEMINI_TELEMETRY_OUTFILE", &ws.path("events.jsonl"))
            .run();
        said(&answer);
    };
    ask(&["One", "--session", "s.jsonl"]);
    ask(&["Two", "--resume", "s.jsonl"]);
    let session = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    let session: Value =
        serde_json::from_str(session.lines().next().expect("a line")).expect("JSON");
    let id = session["id"].as_str().expect("an id");
    let [one, two] = [1, 2].map(|n| format!("{id}########{n}"));
    let asked: Vec<Value> = turns(&api);
    let prompts: Vec<&Value> = asked.iter().map(|body| &body["user_prompt_id"]).collect();
    assert_eq!(prompts, [&one, &one, &two]);
    assert!(asked.iter().all(|body| body["request"]["session_id"] == id));
    let events = fs::read_to_string(ws.path("events.jsonl")).expect("events");
    let events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let told: Vec<Value> = events
        .filter(|event| event["event.name"] == "gemini_cli.api_request")
        .map(|event| event["prompt_id"].clone())
        .collect();
    assert_eq!(told, prompts.into_iter().cloned().collect::<Vec<_>>());
}

#[test]
fn a_policy_that_can_not_be_read_ends_it_before_the_model_is_asked() {
    let Some(api) = StandIn::playing(&json!({"closing": "Never."})) else {
        return;
    };
    let ws = Workspace::new()
        .file("broken.toml", "[[rule]\n")
        .file("fine.toml", "");
    for file in ["missing.toml", "broken.toml"] {
        let args = ["-y", "Play", "--policy", "fine.toml", "--policy", file];
        ended(&agent(&ws, &api, &args).run(), 42, &[file, "can't be read"]);
    }
    // Its rules would not reach call_tool.
    let ws = ws.file("a:b.toml", "");
    for option in ["--policy", "--include-directories"] {
        let answer = agent(&ws, &api, &["Play", option, "a:b.toml"]).run();
        ended(&answer, 42, &[option, "':'"]);
    }
    let ws = ws.home(".gemini/policies/mine.toml", "[[rule]\n");
    ended(&agent(&ws, &api, &["Play"]).run(), 42, &["mine.toml"]);
    assert!(api.requests().is_empty());
    said(&agent(&ws, &api, &["Play", "--policy", "fine.toml"]).run());
}

#[test]
fn what_cannot_be_written_is_told_and_no_success() {
    let Some(api) = StandIn::playing(&json!({"closing": "Hello."})) else {
        return;
    };
    let ws = Workspace::new().file("taken", "");
    for format in ["text", "json", "stream-json"] {
        let answer = agent(&ws, &api, &["-p", "go", "--output-format", format])
            .in_bash("exec \"$@\" >/dev/full")
            .run();
        ended(
            &answer,
            1,
            &["Can't write to standard output", "No space left"],
        );
        let told = answer.errors().matches("Can't write").count();
        assert_eq!(told, 1, "{}", answer.shown());
        let gone = agent(&ws, &api, &["-p", "go", "--output-format", format])
            .in_bash("\"$@\" | true; exit 0")
            .run();
        assert!(gone.stderr.is_empty(), "{}", gone.shown());
    }
    let report = ["-p", "go", "--report", "taken/report.html"];
    let answer = agent(&ws, &api, &report).run();
    ended(&answer, 1, &["taken/report.html"]);
    assert_eq!(answer.text(), "Hello.\n");
}

#[test]
fn a_directory_to_include_that_is_not_there_is_told_and_left_out() {
    let Some(api) = StandIn::playing(&json!({"closing": "Hello."})) else {
        return;
    };
    let ws = Workspace::new();
    let include = ["-p", "go", "--include-directories", "nowhere"];
    let answer = agent(&ws, &api, &include).run();
    ended(&answer, 0, &["--include-directories nowhere", "left out"]);
}

#[test]
fn every_request_to_a_model_is_counted() {
    let usage = |count: u64| json!({"promptTokenCount": count, "totalTokenCount": count + 1});
    let search = json!({"id": "s", "tool": "google_web_search", "args": {"query": "herons"}});
    let script = json!({
        "faults": [{"fault": "500", "times": 1, "match": {"kind": "turn"}}],
        "answers": [
            {"calls": [search], "usageMetadata": usage(900_000)},
            {"text": "The summary: herons.", "usageMetadata": usage(50), "match": {"kind": "side"}},
            {"text": "Done.", "usageMetadata": usage(7)},
        ],
        "search": {"text": "Herons wade.", "usageMetadata": usage(560)},
    });
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let events = ws.path("events.jsonl");
    let prompt = "A heron stands in the water. ".repeat(400);
    let answer = agent(&ws, &api, &[&prompt, "-m", "gemini-2.5-pro", "-o", "json"])
        .env("GEMINI_TELEMETRY_OUTFILE", &events)
        .run();
    let told: Value = serde_json::from_str(&said(&answer)).expect("JSON");
    let model = |name: &str| {
        let model = &told["stats"]["models"][name];
        let api = &model["api"];
        json!([
            api["totalRequests"],
            api["totalErrors"],
            model["tokens"]["prompt"]
        ])
    };
    let side = u64::try_from(api.count("side")).expect("few");
    assert_eq!(
        model("gemini-2.5-pro"),
        json!([3 + side, 1, 900_007 + 50 * side]),
        "{told}"
    );
    assert_eq!(model("gemini-2.5-flash"), json!([1, 0, 560]), "{told}");
    let text = fs::read_to_string(&events).expect("the telemetry");
    let count = |name: &str| {
        let name = format!("\"gemini_cli.{name}\"");
        text.lines().filter(|line| line.contains(&name)).count()
    };
    let all = 4 + api.count("side");
    assert_eq!(
        [
            count("api_request"),
            count("api_response"),
            count("api_error")
        ],
        [all, all - 1, 1],
        "{text}"
    );
}

#[test]
fn what_a_tool_shows_people_is_whole_on_the_page() {
    let tool = |display: &str| {
        format!(
            "description = \"d\"\nkind = \"read\"\noutput = \"tool_result\"\n\
             script = '''cat <<'END'\n{{\"llmContent\": \"m\", \"returnDisplay\": {display}}}\nEND'''\n"
        )
    };
    let todos = r#"{"todos": [{"description": "Look"}]}"#;
    let ws = Workspace::new()
        .home(
            ".gemini/tools/lines.toml",
            tool(r#""l1\nl2\nl3\nl4\nl5 <b>""#),
        )
        .home(".gemini/tools/todos.toml", tool(todos))
        .file(
            "s.yaml",
            "turns:\n- calls: [{name: lines}, {name: todos}]\n- text: Done.\n",
        );
    let args = ["--model-script", "s.yaml", "--report", "r.html", "Go"];
    let answer = ws
        .program(&executable("run_agent"), &args)
        .unwatched()
        .run();
    assert_eq!(said(&answer), "Done.\n");
    let session = reported(&ws, "r.html");
    let calls = session["entries"].as_array().expect("a list");
    let shown = |name: &str| {
        let call = calls.iter().find(|entry| entry["name"] == name);
        call.expect(name)["display"].clone()
    };
    assert_eq!(
        shown("lines"),
        json!({"markdown": "l1\nl2\nl3\nl4\nl5 <b>"})
    );
    assert_eq!(
        shown("todos"),
        json!({"plain": "{\n  \"todos\": [\n    {\n      \"description\": \"Look\"\n    }\n  ]\n}"})
    );
}
