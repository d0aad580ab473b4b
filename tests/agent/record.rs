//! Runs that are recorded as scripts, and played again without a model.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::agent::{agent, call, ended, said};
use crate::harness::stand_in::StandIn;
use crate::harness::web_server::{WebServer, answer};
use crate::harness::{Answer, Call, PNG_BASE64, Workspace, executable, skipped};

/// A run without a credential, whose API would be nowhere.
fn alone<'a>(ws: &'a Workspace, args: &[&str]) -> Call<'a> {
    ws.program(&executable("run_agent"), args)
        .env("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
        .unwatched()
}

/// A job with tools that read, that write and that run, one of which fails.
fn job(ws: &Workspace) -> Value {
    let shell = "echo pid $$; date; date -u +%FT%TZ; mktemp -u; pwd; echo done in 12 ms";
    json!({"turns": [
        [call("r", "read_file", json!({"absolute_path": ws.path("a.txt")})), call("l", "list_directory", json!({"path": "."}))],
        [call("w", "write_file", json!({"file_path": ws.path("new/b.txt"), "content": "b\n"}))],
        [call("s", "run_shell_command", json!({"command": shell})), call("m", "read_file", json!({"absolute_path": "missing.txt"}))],
        [call("n", "no_such_tool", json!({}))],
    ], "closing": "Done."})
}

fn place() -> Workspace {
    Workspace::new().file("a.txt", "one\n")
}

fn recording(ws: &Workspace) -> String {
    fs::read_to_string(ws.path("run.yaml")).expect("a recording")
}

/// The turns of a recorded script.
fn turns(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn a_recorded_run_is_played_elsewhere_without_network_or_credential() {
    let ws = place();
    let Some(api) = StandIn::playing(&job(&ws)) else {
        return;
    };
    let recorded = agent(
        &ws,
        &api,
        &["--record", "run.yaml", "Look into a.txt", "-y"],
    )
    .run();
    let mode = fs::metadata(ws.path("run.yaml"))
        .expect("there")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let text = recording(&ws);
    let turns = turns(&text);
    assert_eq!(turns.len(), 5, "{text}");
    let calls = turns.iter().filter_map(|turn| turn["calls"].as_array());
    let expected: Vec<&Value> = calls.flatten().map(|call| &call["expect"]).collect();
    assert_eq!(expected.len(), 6);
    assert!(expected.iter().all(|expect| expect["answer"].is_string()));
    assert_eq!(expected[4]["error_type"], "file_not_found");
    // It is of this run, and of no machine.
    assert!(!text.contains(ws.root().to_str().expect("text")), "{text}");
    assert!(text.contains("{{workspace}}/new/b.txt"), "{text}");
    let asked = api.requests().len();
    let there = place().file("run.yaml", &text);
    let args = ["--model-script", "run.yaml", "-y"];
    let played = alone(&there, &args).run();
    assert_eq!(said(&played), said(&recorded));
    played.must_say(&played.errors(), &["6 expectations met"]);
    assert_eq!(
        fs::read_to_string(there.path("new/b.txt")).expect("written"),
        "b\n"
    );
    assert_eq!(api.requests().len(), asked, "nothing was sent");
    // Nor could it have been.
    let is_cut_off = Command::new("unshare").args(["-rn", "true"]).status();
    if !is_cut_off.is_ok_and(|status| status.success()) {
        return skipped("unshare with a network of its own");
    }
    let there = place().file("run.yaml", &text);
    let played = alone(&there, &args)
        .in_bash("exec unshare -rn \"$@\"")
        .run();
    assert_eq!(said(&played), said(&recorded));
}

#[test]
fn a_tool_that_answers_otherwise_is_named_with_the_difference() {
    let ws = place();
    let Some(api) = StandIn::playing(&job(&ws)) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.yaml", "Go", "-y"]).run());
    let text = recording(&ws);
    let play = ["--model-script", "run.yaml", "-y"];
    let there = || Workspace::new().file("run.yaml", &text);
    let other = there().file("a.txt", "two\n");
    ended(
        &alone(&other, &play).run(),
        4,
        &[
            "The run differs from the model script run.yaml in call 1, read_file {\"absolute_path\":",
            ":\n--- expected\n+++ answered\n@@ -1,",
            "\n success\n-one\n+two\n",
        ],
    );
    // It has ended there.
    assert!(!Path::new(&other.path("new/b.txt")).exists());
    // Recorded anew, the answers of today are what is expected.
    let anew = [&play[..], &["--record", "new.yaml"]].concat();
    assert!(said(&alone(&other, &anew).run()).ends_with("\nDone.\n"));
    fs::remove_dir_all(other.path("new")).expect("removed");
    said(&alone(&other, &["--model-script", "new.yaml", "-y"]).run());
    // How a call ends counts too, and each call of the turn is named.
    let gone = there().file("c.txt", "c\n");
    let answer = alone(&gone, &play).run();
    ended(
        &answer,
        4,
        &[
            "\n-success\n",
            "\n+error (file_not_found)\n",
            "\n\nand in call 2, list_directory",
            "+c.txt",
        ],
    );
    // So does what may not run: a recording is no permission.
    let careful = there().file("a.txt", "one\n");
    ended(
        &alone(&careful, &play[..2]).run(),
        4,
        &["in call 3, write_file", "+error (policy_violation)"],
    );
    let in_plan_mode = [&play[..2], &["-o", "json", "--approval-mode", "plan"]].concat();
    let answer = alone(&careful, &in_plan_mode).run();
    assert_eq!(
        answer.json()["error"]["type"],
        "ScriptDiffersError",
        "{}",
        answer.shown()
    );
}

#[test]
fn faults_of_the_api_are_recorded_and_played_without_the_wait() {
    let fault = |fault: &str| json!({"fault": fault, "match": {"kind": "turn"}});
    let mut asks = fault("429");
    asks["retryAfter"] = 1.into();
    let mut begun = fault("cut");
    begun["afterChunks"] = 0.into();
    // A fault after a thought, and one after a call.
    let thinks = |fault: &Value, then: Value| {
        let mut fault = fault.clone();
        fault["parts"] = json!([{"text": "**A** b", "thought": true}, then, {"text": "y"}]);
        fault["afterChunks"] = 1.into();
        fault
    };
    let list =
        json!({"functionCall": {"id": "z", "name": "list_directory", "args": {"path": "."}}});
    let late = |name: &str, then: &Value| {
        let mut late = thinks(&fault(name), then.clone());
        late["afterChunks"] = 2.into();
        late
    };
    let says = json!({"text": "x"});
    let mut daily = fault("429");
    daily["perDay"] = true.into();
    let mut accepted = fault("html");
    accepted["status"] = 202.into();
    let mut early = fault("wrong-json");
    early["afterChunks"] = 0.into();
    let mut always = fault("503");
    always["times"] = 2.into();
    for (faults, status) in [
        (vec![asks], 0),
        (vec![always], 0),
        (vec![begun], 0),
        (vec![early], 0),
        (vec![fault("html")], 0),
        (vec![fault("hang-up")], 0),
        (vec![fault("half")], 1),
        (vec![thinks(&fault("cut"), json!({"text": "x"}))], 0),
        (vec![thinks(&fault("wrong-json"), json!({"text": "x"}))], 0),
        (
            vec![thinks(&fault("error-in-stream"), json!({"text": "x"}))],
            0,
        ),
        (vec![late("cut", &list)], 1),
        (vec![late("error-in-stream", &list)], 1),
        (vec![late("error-in-stream", &says)], 1),
        (vec![daily], 1),
        (vec![accepted], 1),
        (vec![fault("MALFORMED_FUNCTION_CALL")], 0),
        (vec![fault("empty")], 0),
        (vec![fault("SAFETY")], 1),
        (vec![fault("MAX_TOKENS")], 0),
    ] {
        let ws = place();
        let script = json!({"faults": faults, "turns": [[call("r", "read_file", json!({"absolute_path": "a.txt"}))]], "closing": "Done."});
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let recorded = agent(&ws, &api, &["--record", "run.yaml", "Go"]).run();
        let name = format!("{faults:?}: {}\n{}", recorded.shown(), recording(&ws));
        assert_eq!(recorded.status(), status, "{name}");
        let played = alone(&ws, &["--model-script", "run.yaml"]).run();
        assert_eq!(played.status(), status, "{name}{}", played.shown());
        assert_eq!(played.stdout, recorded.stdout, "{name}");
        let is_failure = |answer: &Answer| {
            !answer
                .errors()
                .replace("run_agent: 1 expectation met\n", "")
                .is_empty()
        };
        assert_eq!(
            is_failure(&played),
            is_failure(&recorded),
            "{name}{}",
            played.shown()
        );
    }
}

#[test]
fn a_run_that_asks_for_more_than_was_recorded_ends_clearly() {
    let ws = place();
    let Some(api) = StandIn::playing(&job(&ws)) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.yaml", "Go", "-y"]).run());
    let text = recording(&ws);
    let first: Vec<&str> = text.lines().take(5).collect();
    let ws = place().file("run.yaml", first.join("\n") + "\n");
    let answer = alone(&ws, &["--model-script", "run.yaml"]).run();
    ended(
        &answer,
        4,
        &[
            "The model script run.yaml has 1 answer of the model, and the run asks for one more",
            "record the run again",
        ],
    );
}

#[test]
fn the_prompt_is_recorded_and_the_file_that_it_names_read_anew() {
    let ws = place();
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.yaml", "What is in @a.txt?"]).run());
    fs::write(ws.path("a.txt"), "another\n").expect("written");
    let answer = alone(&ws, &["--model-script", "run.yaml", "--session", "s.jsonl"]).run();
    said(&answer);
    let session = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    assert!(session.contains(r"\n\nanother\n"), "{session}");
}

#[test]
fn a_run_of_a_script_is_nothing_to_go_on_with_and_sends_no_telemetry() {
    let ws = place().file("turns.yaml", "turns: [{text: Done.}]");
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    let events = ws.outside_path("events.jsonl");
    let answer = alone(&ws, &["--model-script", "turns.yaml", "Go"])
        .env("GEMINI_TELEMETRY_OUTFILE", &events)
        .run();
    assert_eq!(said(&answer), "Done.\n");
    assert!(!Path::new(&events).exists());
    let answer = agent(&ws, &api, &["--continue", "x"]).run();
    ended(&answer, 42, &["no session of this directory"]);
}

#[test]
fn options_that_don_t_go_together_are_refused_and_nothing_is_overwritten() {
    let ws = place();
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.yaml", "Go"]).run());
    let text = recording(&ws);
    let play = ["--model-script", "run.yaml"];
    for (args, said) in [
        (&["--continue"][..], "cannot be used with"),
        (&["--resume", "s"], "cannot be used with"),
        (&["--record", "./run.yaml"], "Name another file"),
    ] {
        ended(&alone(&ws, &[&play[..], args].concat()).run(), 42, &[said]);
    }
    for (file, said) in [
        ("missing.yaml", "missing.yaml: No such file"),
        (".", "Is a directory"),
        ("a.txt", "a.txt"),
    ] {
        ended(
            &alone(&ws, &["--model-script", file, "Go"]).run(),
            42,
            &[said],
        );
    }
    let answer = agent(&ws, &api, &["--record", "a.txt", "Go"]).run();
    ended(
        &answer,
        42,
        &["The model script a.txt: it holds something else"],
    );
    assert_eq!(fs::read(ws.path("a.txt")).expect("there"), b"one\n");
    assert_eq!(recording(&ws), text);
    // Without a credential, the recording that is there stays.
    let answer = alone(&ws, &["--record", "run.yaml", "Go"]).run();
    ended(&answer, 42, &["no credential"]);
    assert_eq!(recording(&ws), text);
}

#[test]
fn a_run_that_is_killed_leaves_whole_lines() {
    let script = json!([
        [call(
            "a",
            "run_shell_command",
            json!({"command": "echo one"})
        )],
        [call(
            "b",
            "run_shell_command",
            json!({"command": "sleep 60"})
        )],
    ]);
    let Some(api) = StandIn::playing(&json!({ "turns": script })) else {
        return;
    };
    let ws = place();
    let running = agent(&ws, &api, &["--record", "run.yaml", "Go", "-y"]).start();
    let until = Instant::now() + Duration::from_secs(60);
    let answers = || fs::read_to_string(ws.path("run.yaml")).unwrap_or_default();
    while api.count("turn") < 2 || !answers().contains("echo one") {
        assert!(Instant::now() < until, "{}", answers());
        thread::sleep(Duration::from_millis(20));
    }
    running.kill();
    let text = recording(&ws);
    assert!(text.ends_with('\n'), "{text}");
    assert_eq!(turns(&text).len(), 1, "{text}");
    // The turn whose calls were not answered is not there.
    let answer = alone(&ws, &["--model-script", "run.yaml", "-y"]).run();
    ended(
        &answer,
        4,
        &["has 1 answer of the model", "asks for one more"],
    );
}

/// A server that says in its answer what it was let in by, and gives tokens.
fn indiscreet() -> WebServer {
    WebServer::new(move |asked, line| {
        if asked.target.starts_with("/token") {
            let token = json!({"access_token": "secret-of-adc", "expires_in": 3600, "token_type": "Bearer"});
            let kind = [("Content-Type", "application/json")];
            return line.send(answer(200, &kind, token.to_string().as_bytes()));
        }
        let by = asked
            .header("authorization")
            .or(asked.header("x-goog-api-key"))
            .unwrap_or_default();
        let is_answered = String::from_utf8_lossy(&asked.body).contains("functionResponse");
        let part = if is_answered {
            json!({"text": format!("I know {by}.")})
        } else {
            json!({"functionCall": {"name": "run_shell_command", "args": {"command": format!("echo '{by}'")}}})
        };
        let response = json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]});
        let chunk = if asked.target.contains("v1internal") {
            json!({ "response": response })
        } else {
            response
        };
        let kind = [("Content-Type", "text/event-stream")];
        line.send(answer(200, &kind, format!("data: {chunk}\n\n").as_bytes()))
    })
}

#[test]
fn no_credential_gets_into_a_recording() {
    let server = indiscreet();
    let base = server.url("");
    let user = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "secret-of-client",
        "refresh_token": "secret-to-refresh", "token_uri": server.url("/token"),
    });
    let home = Workspace::new().outside("adc.json", user.to_string());
    let file = home.outside_path("adc.json");
    let vertex = [
        ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
        ("GOOGLE_CLOUD_PROJECT", "p"),
        ("GOOGLE_CLOUD_LOCATION", "europe-west4"),
        ("GOOGLE_VERTEX_BASE_URL", base.as_str()),
    ];
    let cases: [(&str, Vec<(&str, &str)>); 4] = [
        (
            "key",
            vec![
                ("GEMINI_API_KEY", "secret-of-key"),
                ("GOOGLE_GEMINI_BASE_URL", &base),
            ],
        ),
        (
            "log-in",
            vec![
                ("GOOGLE_GENAI_USE_GCA", "true"),
                ("GOOGLE_CLOUD_ACCESS_TOKEN", "secret-of-login"),
                ("GOOGLE_CLOUD_PROJECT", "p"),
                ("CODE_ASSIST_ENDPOINT", &base),
            ],
        ),
        (
            "token",
            [
                &vertex[..],
                &[("GOOGLE_CLOUD_ACCESS_TOKEN", "secret-of-token")],
            ]
            .concat(),
        ),
        (
            "adc",
            [&vertex[..], &[("GOOGLE_APPLICATION_CREDENTIALS", &file)]].concat(),
        ),
    ];
    for (name, variables) in cases {
        let ws = place();
        let args = ["--record", "run.yaml", "-y", "Go"];
        let mut run = ws.program(&executable("run_agent"), &args).unwatched();
        for (name, value) in variables {
            run = run.env(name, value);
        }
        let answer = run.run();
        assert!(
            said(&answer).contains("secret-of-"),
            "{name}: {}",
            answer.shown()
        );
        let text = recording(&ws);
        assert!(!text.contains("secret"), "{name}: {text}");
        assert!(
            !text.contains("127.0.0.1") && !text.contains("authorization"),
            "{name}: {text}"
        );
        assert!(
            text.contains("I know") && text.contains("***"),
            "{name}: {text}"
        );
        // It is whole all the same.
        let play = ["--model-script", "run.yaml", "-y"];
        assert!(said(&alone(&ws, &play).run()).contains("***"), "{name}");
    }
}

#[test]
fn a_run_that_goes_on_is_recorded_from_there() {
    let ws = place();
    let Some(api) = StandIn::playing(&json!({"closing": "One."})) else {
        return;
    };
    said(&agent(&ws, &api, &["First"]).run());
    api.play(&job(&ws));
    said(&agent(&ws, &api, &["-c", "Second", "-y", "--record", "run.yaml"]).run());
    let text = recording(&ws);
    assert!(text.contains("Second") && !text.contains("First"), "{text}");
    let ws = place().file("run.yaml", &text);
    let answer = alone(&ws, &["--model-script", "run.yaml", "-y"]).run();
    assert!(said(&answer).ends_with("Done.\n"));
    // One that went on without a word has none to repeat.
    let text = text.replace("Second", "");
    let ws = place().file("run.yaml", &text);
    let play = ["--model-script", "run.yaml", "-y"];
    ended(&alone(&ws, &play).run(), 42, &["There is no prompt."]);
    said(&alone(&ws, &[&play[..], &["Go"]].concat()).run());
}

#[test]
fn what_shortens_a_history_is_no_turn_of_the_script() {
    let usage = |count: u64| json!({"promptTokenCount": count, "totalTokenCount": count + 10});
    let read = |id: &str| call(id, "read_file", json!({"absolute_path": "a.txt"}));
    let summary = json!({"text": "The summary.", "match": {"kind": "side"}});
    let words = "The input token count exceeds the maximum number of tokens allowed.";
    let refused = json!({"status": 400, "body": {"error": {"message": words}}});
    for (used, more) in [
        (900_000, vec![summary.clone()]),
        (500_000, vec![refused, summary]),
    ] {
        let mut answers = vec![
            json!({"calls": [read("a")]}),
            json!({"calls": [read("b")], "usageMetadata": usage(used)}),
        ];
        answers.extend(more);
        let Some(api) = StandIn::playing(&json!({"answers": answers, "closing": "Done."})) else {
            return;
        };
        let ws = Workspace::new().file("a.txt", "one\n".repeat(1000));
        said(&agent(&ws, &api, &["--record", "run.yaml", "Go"]).run());
        assert_eq!(api.count("side"), 1);
        let text = recording(&ws);
        assert_eq!(turns(&text).len(), 3, "{text}");
        assert!(!text.contains("The summary."), "{text}");
        let played = alone(&ws, &["--model-script", "run.yaml"]).run();
        assert!(said(&played).ends_with("Done.\n"));
    }
}

#[test]
fn media_and_secrets_of_the_environment_are_compared_and_not_shown() {
    let turn = [
        call("i", "read_file", json!({"absolute_path": "dot.png"})),
        call(
            "e",
            "run_shell_command",
            json!({"command": "echo \"is $SOME_TOKEN\""}),
        ),
        call(
            "k",
            "tool_hush-hush-hush",
            json!({"hush-hush-hush": [{"x hush-hush-hush": "hush-hush-hush"}]}),
        ),
    ];
    let Some(api) = StandIn::playing(&json!({"turns": [turn], "closing": "Done."})) else {
        return;
    };
    let png = STANDARD.decode(PNG_BASE64).expect("base64");
    let ws = Workspace::new().file("dot.png", &png);
    let run = |args: &[&str], token: &str| {
        let args = [args, &["-y", "--sandbox", "off"]].concat();
        let run = if args.contains(&"--record") {
            agent(&ws, &api, &args)
        } else {
            alone(&ws, &args)
        };
        run.env("SOME_TOKEN", token).run()
    };
    said(&run(&["--record", "run.yaml", "Go"], "hush-hush-hush"));
    let text = recording(&ws);
    assert!(
        text.contains("image/png") && !text.contains("hush"),
        "{text}"
    );
    let play = ["--model-script", "run.yaml"];
    assert!(said(&run(&play, "hush-hush-hush")).ends_with("Done.\n"));
    assert!(said(&run(&play, "another-secret")).ends_with("Done.\n"));
    let other = [&png[..], b"\0"].concat();
    fs::write(ws.path("dot.png"), other).expect("written");
    ended(
        &run(&play, "hush-hush-hush"),
        4,
        &["call 1, read_file", "-[image/png, ", "+[image/png, "],
    );
}
