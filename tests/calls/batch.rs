//! `call_tool --batch`: many calls in one process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, lines, wait_until, write};

fn run(ws: &Workspace, lines: &[Value]) -> Answer {
    let text: String = lines
        .iter()
        .fold(String::new(), |all, line| all + &line.to_string() + "\n");
    ws.call_tool(&["--batch"]).input(text).unwatched().run()
}

/// The answers in the order in which they came.
fn answers(answer: &Answer) -> Vec<Value> {
    let lines = answer.text().lines();
    let parsed = lines.map(|l| serde_json::from_str::<Value>(l).expect("a line of JSON"));
    parsed.map(|v| v["functionResponse"].clone()).collect()
}

fn ids(answers: &[Value]) -> Vec<&str> {
    answers
        .iter()
        .map(|a| a["id"].as_str().unwrap_or("-"))
        .collect()
}

#[test]
fn every_call_is_answered_under_its_id() {
    let ws = Workspace::new().file("a", "text of a\n");
    let answer = run(
        &ws,
        &[
            json!({"id": "x", "name": "read_file", "args": {"absolute_path": "a"}}),
            json!({"id": 7, "name": "glob", "args": {"pattern": "*"}}),
            json!({"name": "list_directory", "args": {"path": "."}}),
            json!({"id": "y", "name": "discovered_tool_list_background_processes"}),
        ],
    );
    assert_eq!((answer.status(), answer.stderr.len()), (0, 0));
    let answers = answers(&answer);
    let mut seen = ids(&answers);
    seen.sort_unstable();
    assert_eq!(seen, ["-", "7", "x", "y"]);
    let of_x = answers.iter().find(|a| a["id"] == "x").expect("an answer");
    assert_eq!(of_x["name"], "read_file");
    assert_eq!(of_x["response"]["output"], "text of a\n");
}

#[test]
fn calls_that_change_things_run_alone_and_in_order() {
    let ws = Workspace::new();
    let mut lines =
        vec![json!({"id": "w", "name": "write_file", "args": {"file_path": "n", "content": "0"}})];
    for i in 0..30 {
        lines.push(
            json!({"id": format!("r{i}"), "name": "read_file", "args": {"absolute_path": "n"}}),
        );
        lines.push(json!({"id": format!("e{i}"), "name": "replace",
            "args": {"file_path": "n", "old_string": i.to_string(), "new_string": (i + 1).to_string()}}));
    }
    lines.push(json!({"id": "s", "name": "run_shell_command", "args": {"command": "cat n"}}));
    let answer = run(&ws, &lines);
    assert_eq!(answer.status(), 0);
    let answers = answers(&answer);
    let expected: Vec<String> = std::iter::once("w".to_owned())
        .chain((0..30).flat_map(|i| [format!("r{i}"), format!("e{i}")]))
        .chain(["s".to_owned()])
        .collect();
    assert_eq!(ids(&answers), expected);
    assert_eq!(answers[59]["response"]["output"], "29");
    assert_eq!(
        fs::read_to_string(ws.dir().join("n")).expect("written"),
        "30"
    );
}

#[test]
fn a_slow_reader_does_not_hold_back_a_quick_one() {
    let ws = Workspace::new().file("a", "a\n");
    let started = ws.call(
        "run_shell_command",
        &json!({"command": "sleep 300", "is_background": true}),
    );
    let text = started.output();
    let pid = text
        .split("Background PIDs: ")
        .nth(1)
        .and_then(|r| r.lines().next()?.parse::<i32>().ok());
    let pid = pid.expect("a process id");
    let answer = run(
        &ws,
        &[
            json!({"id": "slow", "name": "read_background_output", "args": {"pid": pid, "wait": 1}}),
            json!({"id": "quick", "name": "read_file", "args": {"absolute_path": "a"}}),
            json!({"id": "stop", "name": "stop_background_process", "args": {"pid": pid}}),
        ],
    );
    // On a machine of one processor one waits for the other.
    let single = std::thread::available_parallelism().is_ok_and(|n| n.get() == 1);
    let answers = answers(&answer);
    assert!(
        single || ids(&answers) == ["quick", "slow", "stop"],
        "{answers:?}"
    );
    assert!(
        answers[2]["response"]["output"]
            .as_str()
            .is_some_and(|t| t.contains("was ended"))
    );
}

#[test]
fn a_batch_ends_at_the_first_answer_that_can_not_be_written() {
    let ws = Workspace::new();
    let calls = lines(20, |i| {
        json!({"name": "write_file", "args": {"file_path": format!("f{i}"), "content": "x"}})
            .to_string()
            + "\n"
    });
    let call = ws.call_tool(&["--batch"]).in_bash("exec \"$@\" >/dev/full");
    let answer = call.input(calls).unwatched().run();
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    assert_eq!(answer.errors().matches("Can't write").count(), 1);
    let made = |i: usize| ws.dir().join(format!("f{i}")).exists();
    assert_eq!((made(0), made(1)), (true, false));
}

#[test]
fn an_id_comes_back_as_it_was_written() {
    let ws = Workspace::new();
    let written = ["7", "12345678901234567890123", "1e3", "-0", "\"a b\""];
    let line = |id: &str| {
        format!("{{\"name\":\"list_directory\",\"id\" : {id} ,\"args\":{{\"path\":\".\"}}}}\n")
    };
    // A byte-order mark is no part of the first call.
    let input = format!("\u{feff}{}", written.map(line).concat());
    let answer = ws.call_tool(&["--batch"]).input(input).run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    let answers = answers(&answer);
    let mut found = ids(&answers);
    found.sort_unstable();
    let mut wanted = written.map(|id| id.trim_matches('"'));
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

#[test]
fn a_bad_line_is_one_error_answer() {
    let ws = Workspace::new().file("a", "a\n");
    let input = "nonsense\n\n  \n[1]\n{\"id\":\"u\",\"name\":\"no_tool\"}\n{\"id\":\"p\",\"name\":\"read_file\",\"args\":{}}\n\
                 {\"id\":\"q\",\"name\":\"read_file\",\"args\":[]}\n{\"id\":\"ok\",\"name\":\"read_file\",\"args\":{\"absolute_path\":\"a\"}}";
    let answer = ws.call_tool(&["--batch"]).input(input).unwatched().run();
    assert_eq!(answer.status(), 1);
    let answers = answers(&answer);
    assert_eq!(answers.len(), 6, "{answers:?}");
    let kind = |id: &str| {
        let found = answers.iter().find(|a| a["id"] == id);
        found
            .map(|a| a["response"]["errorType"].clone())
            .unwrap_or_default()
    };
    let nameless = answers.iter().filter(|a| a["name"] == "");
    assert!(
        nameless.clone().count() == 2
            && nameless
                .clone()
                .all(|a| a["response"]["errorType"] == "invalid_tool_params")
    );
    assert_eq!(kind("u"), "tool_not_registered");
    assert_eq!(
        (kind("p"), kind("q")),
        ("invalid_tool_params".into(), "invalid_tool_params".into())
    );
    assert!(kind("ok").is_null());
}

#[test]
fn the_answer_comes_before_the_next_call_is_read() {
    let ws = Workspace::new().file("a", "a\n");
    let mut child = ws
        .call_tool(&["--batch"])
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("call_tool");
    let (mut to, from) = (
        child.stdin.take().expect("piped"),
        child.stdout.take().expect("piped"),
    );
    let mut lines = BufReader::new(from).lines();
    for i in 0..3 {
        writeln!(
            to,
            "{}",
            json!({"id": i, "name": "read_file", "args": {"absolute_path": "a"}})
        )
        .expect("read");
        let line = lines.next().expect("an answer").expect("text");
        assert!(line.contains(&format!("\"id\":\"{i}\"")), "{line}");
    }
    drop(to);
    assert!(lines.next().is_none());
    assert!(child.wait().expect("a child").success());
}

#[test]
fn five_thousand_calls_are_all_answered() {
    let ws = Workspace::new().file("a", "a\n");
    let lines: Vec<_> = (0..5000)
        .map(|i| json!({"id": i, "name": "read_file", "args": {"absolute_path": "a"}}))
        .collect();
    let answer = run(&ws, &lines);
    let answers = answers(&answer);
    let mut seen: Vec<u32> = ids(&answers)
        .iter()
        .map(|id| id.parse().expect("a number"))
        .collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..5000));
}

/// A supervisor is forked while the other thread allocates: a lock that its allocator held then would never
/// be free in the supervisor.
#[test]
fn commands_start_while_other_calls_allocate() {
    let tool = "description = \"d\"\nkind = \"read\"\ncommand = [\"printf\", \"started\"]";
    let mut ws = Workspace::new().home(".gemini/tools/starts.toml", tool);
    for i in 0..500 {
        ws = ws.file(format!("many/a file {i}"), "");
    }
    let listing = json!({"id": "-", "name": "list_directory", "args": {"path": "many"}});
    let starting = json!({"id": "starts", "name": "starts"});
    let lines = vec![[listing, starting]; 60].concat();
    let answers = answers(&run(&ws, &lines));
    let started = answers.iter().filter(|answer| answer["id"] == "starts");
    let outputs: Vec<_> = started
        .map(|answer| &answer["response"]["output"])
        .collect();
    assert_eq!(outputs, vec!["started"; 60]);
}

#[test]
fn a_signal_ends_what_runs_and_the_rest_is_not_begun() {
    let ws = Workspace::new();
    let lines = "{\"id\":\"s\",\"name\":\"run_shell_command\",\"args\":{\"command\":\"touch begun; sleep 60\"}}\n\
                 {\"id\":\"n\",\"name\":\"write_file\",\"args\":{\"file_path\":\"never\",\"content\":\"\"}}\n";
    let running = ws.call_tool(&["--batch"]).input(lines).unwatched().start();
    wait_until("the command", || ws.dir().join("begun").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(running.id()).expect("an id"));
    rustix::process::kill_process(pid.expect("a process"), rustix::process::Signal::TERM)
        .expect("ours");
    let answer = running.finish();
    assert_eq!(answer.status(), 143);
    let answers = answers(&answer);
    assert_eq!(ids(&answers), ["s"]);
    assert_eq!(answers[0]["response"]["errorType"], "cancelled");
    assert!(!ws.dir().join("never").exists());
}

#[test]
fn other_forms_are_lines_too() {
    let ws = Workspace::new().file("a", "a\n");
    let line = json!({"id": "x", "name": "read_file", "args": {"absolute_path": "a"}}).to_string();
    let run = |form: &str| {
        let call = ws.call_tool(&["--batch", "--output", form]);
        call.input(line.clone()).unwatched().run().json()
    };
    assert_eq!(run("response"), json!({"output": "a\n", "id": "x"}));
    let content = run("content");
    assert_eq!(
        (&content["role"], &content["id"]),
        (&json!("user"), &json!("x"))
    );
    let result = run("result");
    assert!(
        result["llmContent"].is_string() && result["id"] == "x",
        "{result}"
    );
}

#[test]
fn output_of_calls_that_run_comes_before_their_answers() {
    let ws = Workspace::new();
    let command = "echo first; until [ -e go ]; do sleep 0.1; done; echo second";
    let lines = [
        json!({"id": "s", "name": "run_shell_command", "args": {"command": command}}),
        json!({"id": "r", "name": "list_directory", "args": {"path": "."}}),
    ];
    let input: String = lines.map(|line| format!("{line}\n")).concat();
    let call = ws.call_tool(&["--batch", "--stream", "--output", "result"]);
    let call = call.input(input).unwatched();
    let running = call.in_bash("exec \"$@\" >said").start();
    let said = ws.dir().join("said");
    let text = || fs::read_to_string(&said).unwrap_or_default();
    wait_until("live output", || text().contains("first"));
    write(&ws.dir().join("go"), b"");
    assert_eq!(running.finish().status(), 0);
    let said: Vec<Value> = text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let shown: Vec<_> = said
        .iter()
        .map(|l| (l["type"].as_str(), l["id"].as_str()))
        .collect();
    let first = (Some("output"), Some("s"));
    assert_eq!(shown[0], first, "{said:?}");
    assert!(said[0]["text"].to_string().contains("first"), "{said:?}");
    assert!(shown.contains(&(Some("result"), Some("s"))), "{said:?}");
    assert_eq!(shown.last(), Some(&(Some("result"), Some("r"))), "{said:?}");
}

#[test]
fn settings_hold_for_every_call() {
    let ws = Workspace::new().file("a", "a\n").file(
        ".gemini/settings.json",
        r#"{"tools": {"exclude": ["read_file"], "truncateToolOutputThreshold": 100}}"#,
    );
    let answer = run(
        &ws,
        &[
            json!({"id": "x", "name": "read_file", "args": {"absolute_path": "a"}}),
            json!({"id": "y", "name": "run_shell_command", "args": {"command": "seq 500"}}),
        ],
    );
    let answers = answers(&answer);
    assert_eq!(answers[0]["response"]["errorType"], "policy_violation");
    assert!(
        answers[1]["response"]["output"]
            .as_str()
            .is_some_and(|t| t.contains("[Truncated: "))
    );
}

#[test]
fn what_is_for_one_call_is_refused() {
    let ws = Workspace::new();
    for flags in [&["--batch", "read_file"][..], &["--batch", "--id", "x"]] {
        let answer = ws.call_tool(flags).run();
        assert_eq!(answer.status(), 2, "{flags:?}");
    }
}

#[test]
fn a_faulty_call_is_answered_with_its_id() {
    let ws = Workspace::new();
    let lines = "{\"id\":\"a\",\"name\":5}\n{\"id\":7}\n";
    let answer = ws.call_tool(&["--batch"]).input(lines).run();
    assert_eq!(answer.status(), 1);
    let ids: Vec<Value> = answer
        .text()
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["functionResponse"]["id"].clone()
        })
        .collect();
    assert_eq!(ids, [json!("a"), json!("7")]);
}

#[test]
fn a_line_that_is_not_a_call_is_named_by_its_number() {
    let ws = Workspace::new().file("a", "x\n");
    let lines = "{\"name\":\"read_file\",\"arguments\":{\"absolute_path\":\"a\"}}\n\n\
                 {\"name\": read_file}\n{\"name\":5}\n\
                 {\"id\":\"b\",\"name\":\"read_file\",\"args\":{},\"arguments\":{}}\n";
    let answer = ws.call_tool(&["--batch"]).input(lines).run();
    let errors: Vec<String> = answer
        .text()
        .lines()
        .filter(|line| !line.contains("\"output\":\"x\\n\""))
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let response = &line["functionResponse"]["response"];
            response["error"].as_str().expect("an error").to_owned()
        })
        .collect();
    let said = [
        "Line 3 is not a call: it is not valid JSON: line 3, column 10: ",
        "Line 4 is not a call: \"name\" must be a string",
        "Line 5 is not a call: \"args\" and \"arguments\" are given",
    ];
    assert_eq!(errors.len(), said.len(), "{}", answer.shown());
    for (error, said) in errors.iter().zip(said) {
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_is_answered() {
    let ws = Workspace::new();
    let long = "x".repeat(11 * 1024 * 1024);
    let text = format!(
        "{{\"id\":\"long\",\"name\":\"write_file\",\"args\":{{\"content\":\"{long}\"}}}}\n\
         {{\"id\":\"short\",\"name\":\"glob\",\"args\":{{\"pattern\":\"*\"}}}}\n{long}"
    );
    let answer = ws.call_tool(&["--batch"]).input(text).unwatched().run();
    let answers = answers(&answer);
    let mut seen = ids(&answers);
    seen.sort_unstable();
    assert_eq!(seen, ["-", "-", "short"], "{}", answer.shown());
    let refused: Vec<String> = answers
        .iter()
        .filter(|answer| answer["id"].is_null())
        .map(|answer| answer["response"]["error"].to_string())
        .collect();
    assert!(refused[0].contains("Line 1 is longer than"), "{refused:?}");
    assert!(refused[1].contains("Line 3 is longer than"), "{refused:?}");
}
