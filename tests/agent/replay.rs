//! Runs that are recorded, and played again without a model.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::agent::{agent, ended, said};
use crate::harness::stand_in::StandIn;
use crate::harness::web_server::{WebServer, answer};
use crate::harness::{Answer, Call, PNG_BASE64, Workspace, executable, skipped};

/// A run without a credential, whose API would be nowhere.
fn alone<'a>(ws: &'a Workspace, args: &[&str]) -> Call<'a> {
    ws.program(&executable("run_agent"), args)
        .env("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
        .unwatched()
}

fn call(id: &str, tool: &str, args: Value) -> Value {
    let mut call = json!({"id": id, "tool": tool});
    call["args"] = args;
    call
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
    fs::read_to_string(ws.path("run.jsonl")).expect("a recording")
}

/// The lines of `--output-format stream-json`, without what differs between two runs.
fn events(answer: &Answer, ws: &Workspace) -> Vec<String> {
    let text = answer
        .text()
        .replace(ws.dir().to_str().expect("text"), "/ws");
    let rules = [
        (r#""timestamp":"[^"]*""#, r#""timestamp":"T""#),
        (r#""session_id":"[^"]*""#, r#""session_id":"S""#),
        (r#""duration_ms":\d+"#, r#""duration_ms":0"#),
        (
            r"\d{4}-\d\d-\d\dT[\d:]+Z|(Mon|Tue|Wed|Thu|Fri|Sat|Sun) .*? \d{4}",
            "T",
        ),
        (r"pid \d+|PGID: \d+", "pid P"),
        (r"/tmp/tmp\.\w+", "/tmp/X"),
    ];
    let stable = |line: &str| {
        let mut line = line.to_owned();
        for (rule, to) in rules {
            let rule = regex::Regex::new(rule).expect("a rule");
            line = rule.replace_all(&line, to).into_owned();
        }
        line
    };
    let mut lines: Vec<String> = text.lines().map(stable).collect();
    // Calls that only read are over in any order.
    lines.sort();
    lines
}

#[test]
fn a_recorded_run_is_played_elsewhere_without_network_or_credential() {
    let ws = place();
    let Some(api) = StandIn::playing(&job(&ws)) else {
        return;
    };
    let shown = ["--output-format", "stream-json", "-y"];
    let args = [&["--record", "run.jsonl", "Look into a.txt"][..], &shown].concat();
    let recorded = agent(&ws, &api, &args).run();
    let mode = fs::metadata(ws.path("run.jsonl"))
        .expect("there")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let text = recording(&ws);
    let kinds: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["type"].to_string())
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("\"recording\""));
    assert_eq!(kinds.last().map(String::as_str), Some("\"end\""));
    assert_eq!(kinds.iter().filter(|kind| *kind == "\"answer\"").count(), 6);
    // It is of this run, and of no machine.
    assert!(!text.contains(ws.root().to_str().expect("text")), "{text}");
    assert!(text.contains("{{workspace}}/new/b.txt"), "{text}");
    let asked = api.requests().len();
    let there = place().file("run.jsonl", &text);
    let args = [&["--replay", "run.jsonl", "--replay-check"][..], &shown].concat();
    let replayed = alone(&there, &args).run();
    said(&replayed);
    assert_eq!(events(&replayed, &there), events(&recorded, &ws));
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
    let there = place().file("run.jsonl", &text);
    let replayed = alone(&there, &args)
        .in_bash("exec unshare -rn \"$@\"")
        .run();
    assert_eq!(events(&replayed, &there), events(&recorded, &ws));
}

#[test]
fn a_tool_that_answers_otherwise_is_named_with_the_difference() {
    let ws = place();
    let Some(api) = StandIn::playing(&job(&ws)) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.jsonl", "Go", "-y"]).run());
    let text = recording(&ws);
    let check = ["--replay", "run.jsonl", "--replay-check", "-y"];
    let there = || Workspace::new().file("run.jsonl", &text);
    let other = there().file("a.txt", "two\n");
    ended(
        &alone(&other, &check).run(),
        4,
        &[
            "The run differs from the recording run.jsonl in call 1, read_file {\"absolute_path\":",
            "\n--- recorded\n+++ replayed\n@@ -1,",
            "\n-  one\n+  two\n",
        ],
    );
    // It has ended there.
    assert!(!Path::new(&other.path("new/b.txt")).exists());
    // Without the check the run goes on as the model went on.
    let answer = alone(&other, &["--replay", "run.jsonl", "-y"]).run();
    assert!(said(&answer).ends_with(
        "
Done.
"
    ));
    // How a call ends counts too, and each call of the turn is named.
    let gone = there().file("c.txt", "c\n");
    let answer = alone(&gone, &check).run();
    ended(
        &answer,
        4,
        &[
            "\n-success\n",
            "\n+error (file_not_found)\n",
            "\n\nand in call 2, list_directory",
            "+  c.txt",
        ],
    );
    // So does what may not run: a recording is no permission.
    let careful = there().file("a.txt", "one\n");
    let answer = alone(&careful, &check[..3]).run();
    ended(
        &answer,
        4,
        &["in call 3, write_file", "+error (policy_violation)"],
    );
    let answer = alone(
        &careful,
        &[&check[..3], &["-o", "json", "--approval-mode", "plan"]].concat(),
    )
    .run();
    assert_eq!(
        answer.json()["error"]["type"],
        "ReplayDiffersError",
        "{}",
        answer.shown()
    );
}

#[test]
fn faults_of_the_api_are_played_by_the_same_way_and_without_the_wait() {
    let fault = |fault: &str| json!({"fault": fault, "match": {"kind": "turn"}});
    let mut asks = fault("429");
    asks["retryAfter"] = 1.into();
    let mut begun = fault("cut");
    begun["afterChunks"] = 0.into();
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
        (vec![fault("MALFORMED_FUNCTION_CALL")], 0),
        (vec![fault("empty")], 1),
        (vec![fault("SAFETY")], 1),
        (vec![fault("MAX_TOKENS")], 0),
    ] {
        let ws = place();
        let script = json!({"faults": faults, "turns": [[call("r", "read_file", json!({"absolute_path": "a.txt"}))]], "closing": "Done."});
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let recorded = agent(&ws, &api, &["--record", "run.jsonl", "Go"]).run();
        let name = format!("{faults:?}: {}\n{}", recorded.shown(), recording(&ws));
        assert_eq!(recorded.status(), status, "{name}");
        // What it waited for would not be over: a day is more than any replay lasts.
        let text = recording(&ws).replace(r#""retry_after":"1""#, r#""retry_after":"50""#);
        fs::write(ws.path("run.jsonl"), text).expect("written");
        let args = [
            "--replay",
            "run.jsonl",
            "--replay-check",
            "--time-limit",
            "40",
        ];
        let replayed = alone(&ws, &args).run();
        assert_eq!(replayed.status(), status, "{name}{}", replayed.shown());
        assert_eq!(replayed.stdout, recorded.stdout, "{name}");
        assert_eq!(replayed.errors(), recorded.errors(), "{name}");
    }
}

/// Lines of a recording, so many of them.
fn first_lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').take(count).collect()
}

#[test]
fn a_run_that_asks_for_more_than_was_recorded_ends_clearly() {
    let ws = place();
    let Some(api) = StandIn::playing(&job(&ws)) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.jsonl", "Go", "-y"]).run());
    let text = recording(&ws);
    // Up to the answers of the first turn, and a line that was cut off.
    let cut = first_lines(&text, 5) + "{\"type\":\"req";
    let ws = place().file("run.jsonl", cut);
    let answer = alone(&ws, &["--replay", "run.jsonl"]).run();
    ended(
        &answer,
        4,
        &[
            "The recording run.jsonl has 1 answer of the model, and the run asks for one more",
            "broken off",
        ],
    );
    // A turn is missing in the middle.
    let lines: Vec<&str> = text.lines().collect();
    let requests: Vec<usize> = (0..lines.len())
        .filter(|n| lines[*n].starts_with(r#"{"type":"request""#))
        .collect();
    let without = [&lines[..requests[1]], &lines[requests[2]..]].concat();
    let ws = place().file("run.jsonl", without.join("\n") + "\n");
    let answer = alone(&ws, &["--replay", "run.jsonl", "-y"]).run();
    ended(
        &answer,
        4,
        &[
            "does not fit",
            "what read_file, list_directory answered",
            "write_file",
        ],
    );
    // And a tool without the turn that calls it.
    let ws = place().file("run.jsonl", format!("{}\n{}\n", lines[0], lines[3]));
    ended(
        &alone(&ws, &["--replay", "run.jsonl"]).run(),
        42,
        &["run.jsonl, line 2", "before the model"],
    );
}

#[test]
fn the_prompt_is_the_recorded_one() {
    let ws = place();
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.jsonl", "What is in @a.txt?"]).run());
    let replay = ["--replay", "run.jsonl"];
    let with = |prompt: &str| alone(&ws, &[&replay[..], &[prompt]].concat()).run();
    said(&with("What is in @a.txt?"));
    ended(
        &with("What else?"),
        42,
        &["not the one that run.jsonl has the answers to: What is in @a.txt?"],
    );
    ended(
        &alone(&ws, &replay).input("What else?").run(),
        42,
        &["Leave it out"],
    );
    // The file that it names is read as it is now.
    let answer = alone(&ws, &[&replay[..], &["--session", "s.jsonl"]].concat()).run();
    said(&answer);
    let session = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    assert!(session.contains(r#"{"text":"one"}"#), "{session}");
    assert!(
        session.starts_with(r#"{"type":"session""#) && session.contains(r#""replay":true"#),
        "{session}"
    );
}

#[test]
fn a_replay_is_nothing_to_go_on_with_and_sends_no_telemetry() {
    let ws = place();
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    said(&agent(&ws, &api, &["--record", "run.jsonl", "--no-session", "Go"]).run());
    let events = ws.outside_path("events.jsonl");
    let answer = alone(&ws, &["--replay", "run.jsonl"])
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
    said(&agent(&ws, &api, &["--record", "run.jsonl", "Go"]).run());
    let text = recording(&ws);
    for (args, said) in [
        (
            &["--replay", "run.jsonl", "--continue"][..],
            "cannot be used with",
        ),
        (
            &["--replay", "run.jsonl", "--resume", "s"],
            "cannot be used with",
        ),
        (
            &["--replay", "run.jsonl", "--model-script", "s"],
            "cannot be used with",
        ),
        (&["--replay-check"], "--replay <FILE>"),
        (
            &["--replay", "run.jsonl", "--replay-check", "--record", "x"],
            "cannot be used with",
        ),
        (
            &["--replay", "run.jsonl", "--record", "./run.jsonl"],
            "Name another file",
        ),
        (
            &["--replay", "missing.jsonl"],
            "missing.jsonl: No such file",
        ),
        (
            &["--replay", "a.txt"],
            "a.txt: It is not a recording (run_agent --record)",
        ),
        (&["--replay", "."], "not a regular file"),
        (&["--model-script", "a.txt", "Go"], "a.txt"),
    ] {
        ended(&alone(&ws, args).run(), 42, &[said]);
    }
    let answer = agent(&ws, &api, &["--record", "a.txt", "Go"]).run();
    ended(
        &answer,
        42,
        &["The recording a.txt: it holds something else"],
    );
    assert_eq!(fs::read(ws.path("a.txt")).expect("there"), b"one\n");
    assert_eq!(recording(&ws), text);
    // Without a credential, the recording that is there stays.
    let answer = alone(&ws, &["--record", "run.jsonl", "Go"]).run();
    ended(&answer, 1, &["no credential"]);
    assert_eq!(recording(&ws), text);
    // What tools answer now can be recorded anew, beside it.
    said(&alone(&ws, &["--replay", "run.jsonl", "--record", "new.jsonl"]).run());
    assert_eq!(fs::read_to_string(ws.path("new.jsonl")).expect("new"), text);
}

#[test]
fn a_run_that_is_killed_leaves_whole_lines() {
    let turns = json!([
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
    let Some(api) = StandIn::playing(&json!({ "turns": turns })) else {
        return;
    };
    let ws = place();
    let running = agent(&ws, &api, &["--record", "run.jsonl", "Go", "-y"]).start();
    let until = Instant::now() + Duration::from_secs(60);
    let answers = || fs::read_to_string(ws.path("run.jsonl")).unwrap_or_default();
    while answers().matches(r#""type":"response""#).count() < 2 {
        assert!(Instant::now() < until, "{}", answers());
        thread::sleep(Duration::from_millis(20));
    }
    running.kill();
    let text = recording(&ws);
    assert!(text.ends_with('\n'), "{text}");
    for line in text.lines() {
        serde_json::from_str::<Value>(line).expect("a whole line");
    }
    // The call that was not answered is made; then there is no more.
    let text = text.replace("sleep 60", "true");
    fs::write(ws.path("run.jsonl"), text).expect("written");
    let answer = alone(&ws, &["--replay", "run.jsonl", "--replay-check", "-y"]).run();
    ended(
        &answer,
        4,
        &["has 2 answers of the model", "was broken off there"],
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
        let args = ["--record", "run.jsonl", "-y", "Go"];
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
        let replay = ["--replay", "run.jsonl", "--replay-check", "-y"];
        assert!(said(&alone(&ws, &replay).run()).contains("***"), "{name}");
    }
}

#[test]
fn the_file_of_a_session_is_played_too() {
    let ws = place();
    let Some(api) = StandIn::playing(&job(&ws)) else {
        return;
    };
    said(&agent(&ws, &api, &["--session", "run.jsonl", "Go", "-y"]).run());
    api.play(&json!({"closing": "Nothing more."}));
    said(&agent(&ws, &api, &["--resume", "run.jsonl", "And now?", "-y"]).run());
    let replay = ["--replay", "run.jsonl", "--replay-check", "-y"];
    let text = recording(&ws);
    // It has the paths of its machine.
    fs::remove_dir_all(ws.path("new")).expect("removed");
    let answer = alone(&ws, &replay).run();
    assert!(said(&answer).ends_with("Done.\nNothing more.\n"));
    fs::write(ws.path("a.txt"), "two\n").expect("written");
    fs::remove_dir_all(ws.path("new")).expect("removed");
    let answer = alone(&ws, &replay).run();
    ended(
        &answer,
        4,
        &[
            "The run differs from the session run.jsonl in call 1, read_file",
            "-  one\n+  two",
        ],
    );
    let answer = alone(&ws, &["--replay", "run.jsonl", "Go"]).run();
    ended(&answer, 42, &["run.jsonl has 2 prompts"]);
    assert_eq!(
        recording(&ws),
        text,
        "a session that is replayed does not go on"
    );
}

#[test]
fn a_run_that_goes_on_is_recorded_from_there() {
    let ws = place();
    let Some(api) = StandIn::playing(&json!({"closing": "One."})) else {
        return;
    };
    said(&agent(&ws, &api, &["First"]).run());
    api.play(&job(&ws));
    said(&agent(&ws, &api, &["-c", "Second", "-y", "--record", "run.jsonl"]).run());
    let text = recording(&ws);
    assert!(text.contains("Second") && !text.contains("First"), "{text}");
    let ws = place().file("run.jsonl", &text);
    let answer = alone(&ws, &["--replay", "run.jsonl", "--replay-check", "-y"]).run();
    assert!(said(&answer).ends_with("Done.\n"));
    // One that went on without a word has none to repeat.
    let text = text.replace("Second", "");
    let ws = place().file("run.jsonl", &text);
    let replay = ["--replay", "run.jsonl", "-y"];
    ended(&alone(&ws, &replay).run(), 42, &["There is no prompt."]);
    said(&alone(&ws, &[&replay[..], &["Go"]].concat()).run());
}

#[test]
fn a_history_that_was_shortened_is_shortened_in_the_replay() {
    let usage = json!({"promptTokenCount": 900_000, "totalTokenCount": 900_010});
    let read = |id: &str| call(id, "read_file", json!({"absolute_path": "a.txt"}));
    let script = json!({
        "answers": [
            {"calls": [read("a")]},
            {"calls": [read("b")], "usageMetadata": usage},
            {"text": "The summary.", "match": {"kind": "side"}},
            {"body": {"totalTokens": 700}, "match": {"method": "countTokens"}},
        ],
        "closing": "Done.",
    });
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new().file("a.txt", "one\n".repeat(1000));
    said(&agent(&ws, &api, &["--record", "run.jsonl", "Go"]).run());
    assert_eq!(api.count("count"), 1);
    let text = recording(&ws);
    assert!(
        text.contains("The summary.") && text.contains("countTokens"),
        "{text}"
    );
    let args = [
        "--replay",
        "run.jsonl",
        "--replay-check",
        "--session",
        "s.jsonl",
    ];
    assert!(said(&alone(&ws, &args).run()).ends_with("Done.\n"));
    let session = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    assert!(session.contains("The summary."), "{session}");
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
    said(&run(&["--record", "run.jsonl", "Go"], "hush-hush-hush"));
    let text = recording(&ws);
    assert!(
        text.contains("image/png") && !text.contains("hush"),
        "{text}"
    );
    let replay = ["--replay", "run.jsonl", "--replay-check"];
    assert!(said(&run(&replay, "hush-hush-hush")).ends_with("Done.\n"));
    assert!(said(&run(&replay, "another-secret")).ends_with("Done.\n"));
    let other = [&png[..], b"\0"].concat();
    fs::write(ws.path("dot.png"), other).expect("written");
    ended(
        &run(&replay, "hush-hush-hush"),
        4,
        &[
            "call 1, read_file",
            "-image/png, some ",
            "+image/png, some ",
        ],
    );
}
