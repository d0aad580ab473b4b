//! `call_tool --from`: calls as other APIs write them, answered in the same shape.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, has_signal, skipped, wait_until};
use rustix::process::{Pid, Signal, kill_process};

/// The smallest files that count as what they are.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000";
const PDF: &[u8] = b"%PDF-1.4\n%%EOF\n";

fn files() -> Workspace {
    Workspace::new()
        .file("a.txt", "one TODO\n")
        .file("empty.txt", "")
        .file("i.png", PNG)
        .file("d.pdf", PDF)
}

fn send(ws: &Workspace, dialect: &str, input: &(impl ToString + ?Sized)) -> Answer {
    let call = ws.call_tool(&["--from", dialect]);
    let answer = call.input(input.to_string()).run();
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
    answer
}

fn tool_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn read(path: &str) -> String {
    json!({ "absolute_path": path }).to_string()
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn an_openai_tool_call_becomes_a_tool_message() {
    let ws = files();
    let answer = send(&ws, "openai", &tool_call("c1", "read_file", &read("a.txt")));
    assert_eq!(
        (answer.status(), answer.json()),
        (
            0,
            json!({"role": "tool", "tool_call_id": "c1", "content": "one TODO\n"})
        )
    );
    let failed = send(&ws, "openai", &tool_call("c2", "read_file", &read("none")));
    assert_eq!(failed.status(), 1);
    let message = failed.json();
    failed.must_say(
        message["content"].as_str().expect("a text"),
        &["Error: ", "none does not exist"],
    );
    let image = send(&ws, "openai", &tool_call("c3", "read_file", &read("i.png"))).json();
    assert_eq!(
        image["content"],
        "Content of the type image/png is left out: a tool message of this API holds text only."
    );
}

#[test]
fn arguments_may_be_empty_or_json_but_not_broken() {
    let ws = files();
    for arguments in [json!(""), json!(null), json!({}), json!("{}")] {
        let call = json!({"id": "c", "function":
            {"name": "list_background_processes", "arguments": arguments}});
        assert_eq!(send(&ws, "openai", &call).status(), 0, "{arguments}");
    }
    for (arguments, said) in [
        ("{\"a\":", "\"arguments\" is not valid JSON"),
        ("[1]", "must be one JSON object"),
        ("{}", "\"pattern\" is missing"),
    ] {
        let answer = send(&ws, "openai", &tool_call("c", "glob", arguments));
        assert_eq!(answer.status(), 2, "{arguments}");
        let message = answer.json();
        assert_eq!(message["tool_call_id"], "c");
        answer.must_say(message["content"].as_str().expect("a text"), &[said]);
    }
}

#[test]
fn an_assistant_message_is_answered_call_by_call_in_order() {
    let ws = files();
    let calls = json!([
        tool_call(
            "w",
            "write_file",
            r#"{"file_path":"new","content":"fresh"}"#
        ),
        tool_call("r", "read_file", &read("new")),
        tool_call("x", "no_such_tool", "{}"),
    ]);
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let completion = json!({"object": "chat.completion", "choices": [{"message": message}]});
    for input in [message, completion, calls] {
        let call = ws.call_tool(&["--from", "openai"]).input(input.to_string());
        let answer = call.changing(&["new"]).run();
        assert_eq!(answer.status(), 1, "one of them failed");
        let messages = answer.json();
        let ids = messages.as_array().expect("a list").iter();
        let ids: Vec<_> = ids.map(|m| m["tool_call_id"].as_str()).collect();
        assert_eq!(ids, [Some("w"), Some("r"), Some("x")]);
        assert_eq!(messages[1]["content"], "fresh");
        answer.must_say(&messages[2].to_string(), &["no_such_tool"]);
    }
}

#[test]
fn items_of_the_responses_api_become_outputs_with_media() {
    let ws = files();
    let item = |id: &str, path: &str| {
        json!({"type": "function_call", "call_id": id, "name": "read_file",
            "arguments": read(path), "id": "fc_1", "status": "completed"})
    };
    let one = send(&ws, "openai", &item("a", "a.txt")).json();
    assert_eq!(
        one,
        json!({"type": "function_call_output", "call_id": "a", "output": "one TODO\n"})
    );
    let output = json!([{"type": "reasoning", "summary": []}, item("i", "i.png"),
        item("d", "d.pdf"), {"type": "message", "content": []}]);
    let response = json!({"object": "response", "output": output});
    for input in [output, response] {
        let items = send(&ws, "openai", &input).json();
        assert_eq!(items.as_array().map(Vec::len), Some(2));
        let image = format!("data:image/png;base64,{}", base64(PNG));
        assert_eq!(
            items[0]["output"],
            json!([{"type": "input_image", "image_url": image}])
        );
        assert_eq!(items[1]["output"][0]["type"], "input_file");
        assert_eq!(
            items[1]["output"][0]["file_data"],
            format!("data:application/pdf;base64,{}", base64(PDF))
        );
    }
}

#[test]
fn an_anthropic_block_becomes_a_tool_result() {
    let ws = files();
    let block = |id: &str, path: &str| {
        json!({"type": "tool_use", "id": id, "name": "read_file",
            "input": {"absolute_path": path}})
    };
    assert_eq!(
        send(&ws, "anthropic", &block("t1", "a.txt")).json(),
        json!({"type": "tool_result", "tool_use_id": "t1",
            "content": [{"type": "text", "text": "one TODO\n"}]})
    );
    let failed = send(&ws, "anthropic", &block("t2", "none"));
    let result = failed.json();
    assert_eq!((failed.status(), &result["is_error"]), (1, &json!(true)));
    failed.must_say(&result["content"][0].to_string(), &["does not exist"]);
    for (path, kind, media_type, bytes) in [
        ("i.png", "image", "image/png", PNG),
        ("d.pdf", "document", "application/pdf", PDF),
    ] {
        let result = send(&ws, "anthropic", &block("m", path)).json();
        let source = json!({"type": "base64", "media_type": media_type, "data": base64(bytes)});
        assert_eq!(result["content"], json!([{"type": kind, "source": source}]));
    }
    // That API refuses a text that is empty.
    let message = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "…"},
        {"type": "text", "text": "Let me see."}, block("t1", "a.txt"), block("t2", "none")]});
    let answer = send(&ws, "anthropic", &message);
    let message = answer.json();
    assert_eq!((answer.status(), &message["role"]), (1, &json!("user")));
    let ids = message["content"].as_array().expect("blocks").iter();
    let ids: Vec<_> = ids.map(|b| b["tool_use_id"].as_str()).collect();
    assert_eq!(ids, [Some("t1"), Some("t2")]);
    let list = send(&ws, "anthropic", &json!([block("t", "a.txt")])).json();
    assert_eq!(list[0]["tool_use_id"], "t");
}

#[test]
fn an_empty_text_is_no_block_that_the_api_would_refuse() {
    let ws = Workspace::new().home(
        ".gemini/tools/silent.toml",
        "description = \"Says nothing.\"\ncommand = [\"true\"]\n",
    );
    let call = json!({"type": "tool_use", "id": "t", "name": "silent", "input": {}});
    let call = ws
        .call_tool(&["--from", "anthropic"])
        .input(call.to_string());
    let answer = call.changing_at_home(&[".gemini/tmp"]).run();
    let text = answer.json()["content"][0]["text"].clone();
    assert!(text.as_str().is_some_and(|t| !t.is_empty()), "{text}");
}

/// Sends what is not a call, which is refused in the dialect.
#[track_caller]
fn refused(dialect: &str, input: &str, said: &str) {
    let ws = files();
    let answer = send(&ws, dialect, input);
    assert_eq!(answer.status(), 2, "{input}");
    let error = answer.json();
    let message = error["error"]["message"].as_str().unwrap_or_default();
    answer.must_say(message, &[said]);
    match dialect {
        "anthropic" => assert_eq!(error["type"], "error", "{input}"),
        _ => assert_eq!(error["error"]["type"], "invalid_request_error", "{input}"),
    }
}

#[test]
fn malformed_calls_are_refused_in_their_own_dialect() {
    for (dialect, input, said) in [
        ("openai", "", "no call on standard input"),
        ("openai", "{", "not valid JSON"),
        ("openai", "{}", "not a call of a tool"),
        ("openai", "7", "not a call of a tool"),
        ("openai", "[]", "no call of a tool"),
        ("openai", r#"{"tool_calls":[]}"#, "empty"),
        (
            "openai",
            r#"{"tool_calls":[{"id":"c"}]}"#,
            "\"function\" is missing",
        ),
        ("openai", r#"{"choices":[]}"#, "\"choices\" is empty"),
        (
            "openai",
            r#"{"function":{"name":"glob"}}"#,
            "\"id\" is missing",
        ),
        (
            "openai",
            r#"{"id":7,"function":{"name":"glob"}}"#,
            "\"id\" of the call",
        ),
        (
            "openai",
            r#"{"id":"c","function":{}}"#,
            "\"name\" is missing",
        ),
        (
            "openai",
            r#"{"type":"function_call","name":"glob"}"#,
            "\"call_id\" is missing",
        ),
        (
            "openai",
            r#"{"type":"custom","id":"c"}"#,
            "not a call of a tool",
        ),
        (
            "openai",
            r#"{"output":[{"type":"message"}]}"#,
            "no call of a tool",
        ),
        ("anthropic", "[", "not valid JSON"),
        (
            "anthropic",
            r#"{"type":"tool_use","name":"glob"}"#,
            "\"id\" is missing",
        ),
        (
            "anthropic",
            r#"{"role":"assistant","content":"hi"}"#,
            "only text",
        ),
        (
            "anthropic",
            r#"{"content":[{"type":"text"}]}"#,
            "no block \"tool_use\"",
        ),
    ] {
        refused(dialect, input, said);
    }
}

#[test]
fn a_name_on_the_command_line_must_agree_with_the_call() {
    let ws = files();
    let call = tool_call("c", "discovered_tool_read_file", &read("a.txt")).to_string();
    let with = |name: &str| {
        let command = ws.call_tool(&[name, "--from", "openai"]);
        command.input(call.clone()).run()
    };
    assert_eq!(with("read_file").json()["content"], "one TODO\n");
    let other = with("glob");
    assert_eq!(other.status(), 2);
    other.must_say(
        other.text(),
        &["discovered_tool_read_file", "glob", "\"c\""],
    );
}

#[test]
fn options_that_say_another_form_are_refused() {
    let ws = Workspace::new();
    for args in [
        &["read_file", "absolute_path=a", "--from", "openai"][..],
        &["--from", "openai", "--output", "response"],
        &["--from", "openai", "--id", "x"],
        &["--from", "openai", "--stream"],
        &["--from", "openai", "--explain"],
        &["--from", "gemini"],
        &["--from", "mcp"],
    ] {
        let answer = ws.call_tool(args).run();
        let _ = answer.error("invalid_tool_params", 2);
    }
}

#[test]
fn a_batch_takes_lines_of_a_dialect() {
    let ws = files();
    let lines = [
        tool_call("a", "read_file", &read("a.txt")).to_string(),
        "no json".to_owned(),
        json!({"role": "assistant", "tool_calls":
            [tool_call("b", "read_file", &read("a.txt")), tool_call("c", "glob", "{}")]})
        .to_string(),
    ];
    let answer = ws.call_tool(&["--batch", "--from", "openai"]);
    let answer = answer.input(lines.join("\n")).run();
    assert_eq!((answer.status(), answer.stderr.len()), (1, 0));
    let all: Vec<Value> = answer
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(all.len(), 3);
    assert!(all.iter().any(|v| v["tool_call_id"] == "a"));
    assert!(all.iter().any(|v| v["error"]["message"].is_string()));
    let list = all.iter().find_map(Value::as_array).expect("two messages");
    assert_eq!((list.len(), &list[1]["tool_call_id"]), (2, &json!("c")));
}

#[test]
fn what_the_policy_denies_is_denied_to_every_dialect() {
    let ws = files().home(
        ".gemini/policies/p.toml",
        "[[rule]]\ntoolName = \"read_file\"\nargsPattern = \"secret\"\ndecision = \"deny\"\npriority = 100\n",
    );
    let answer = send(&ws, "openai", &tool_call("c", "read_file", &read("secret")));
    assert_eq!(answer.status(), 3);
    let answer = send(
        &ws,
        "anthropic",
        &json!({"type": "tool_use", "id": "t", "name": "read_file",
            "input": {"absolute_path": "secret"}}),
    );
    assert_eq!(
        (answer.status(), &answer.json()["is_error"]),
        (3, &json!(true))
    );
}

#[test]
fn calls_of_a_message_that_only_read_are_made_at_the_same_time_and_answered_in_order() {
    let ws = Workspace::new()
        .fifo("pipe")
        .file("a.txt", "one\n")
        .home(
            ".gemini/tools/waits.toml",
            "description = \"d\"\nread_only = true\ntimeout = 60\nscript = \"cat pipe\"\n",
        )
        .home(
            ".gemini/tools/wakes.toml",
            "description = \"d\"\nread_only = true\ntimeout = 60\nscript = \"echo met > pipe; echo woken\"\n",
        );

    let names = ["waits", "wakes", "read_file"];
    let openai: Vec<Value> = names
        .iter()
        .map(|name| tool_call(name, name, &read("a.txt")))
        .collect();
    let call = ws.call_tool(&["--from", "openai"]);
    let call = call.input(json!({"role": "assistant", "tool_calls": openai}).to_string());
    let answer = call.changing_at_home(&[".gemini/tmp"]).run();
    let got: Vec<(&str, &str)> = answer_list(&answer);
    assert_eq!(
        got,
        [("waits", "met"), ("wakes", "woken"), ("read_file", "one\n")],
        "{}",
        answer.shown()
    );
}

/// Ids and texts of tool messages.
fn answer_list(answer: &Answer) -> Vec<(&'static str, &'static str)> {
    let list: &'static Value = Box::leak(Box::new(answer.json()));
    let list = list.as_array().expect("a list").iter();
    let text = |message: &'static Value, key: &str| message[key].as_str().expect("a text");
    list.map(|m| (text(m, "tool_call_id"), text(m, "content")))
        .collect()
}

#[test]
fn a_call_that_changes_something_is_made_alone_and_in_its_place() {
    let ws = Workspace::new().file("a.txt", "one\n");
    let edit = |from: &str, to: &str| {
        json!({"file_path": "a.txt", "old_string": from, "new_string": to}).to_string()
    };
    let message = json!([
        tool_call("1", "read_file", &read("a.txt")),
        tool_call("2", "replace", &edit("one", "two")),
        tool_call("3", "read_file", &read("a.txt")),
        tool_call("4", "replace", &edit("two", "three")),
        tool_call("5", "replace", &edit("three", "four")),
        tool_call("6", "read_file", &read("a.txt")),
        tool_call("7", "no_such_tool", "{}"),
    ]);
    let call = ws
        .call_tool(&["--from", "openai"])
        .input(message.to_string());
    let answer = call.changing(&["a.txt"]).run();
    assert_eq!(answer.status(), 1, "one has failed");
    let list = answer.json();
    let texts: Vec<&str> = [0, 2, 5]
        .iter()
        .map(|i| list[*i]["content"].as_str().expect("a text"))
        .collect();
    assert_eq!(texts, ["one\n", "two\n", "four\n"]);
    let ids: Vec<&str> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|m| m["tool_call_id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5", "6", "7"]);
}

/// The packages of scripts/sdks, with the compiler that knows their types.
fn sdks() -> Option<std::path::PathBuf> {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/sdks");
    let found = Command::new(script).arg("--installed").output().ok()?;
    let has_node = Command::new("node").arg("--version").output().is_ok();
    if has_node && found.status.success() {
        return Some(String::from_utf8(found.stdout).ok()?.trim().into());
    }
    skipped("node, or a package that scripts/sdks installs,");
    None
}

#[test]
fn answers_are_of_the_types_of_the_official_sdks() {
    let Some(packages) = sdks() else {
        return;
    };
    let wav = [&b"RIFF\x24\0\0\0WAVEfmt "[..], &[0; 28]].concat();
    let ws = files()
        .file("s.wav", wav)
        .file("b.bmp", b"BM0000000000000000");
    let mut code = "import type { ChatCompletionToolMessageParam as Chat } from 'openai/resources/chat/completions';\n\
                    import type { ResponseInputItem } from 'openai/resources/responses/responses';\n\
                    import type { MessageParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';\n\
                    type Output = ResponseInputItem.FunctionCallOutput;\n\
                    // @ts-expect-error: an image has no place there.\n\
                    export const w0: Chat = {role: 'tool', tool_call_id: 'x', content: [{type: 'image_url', image_url: {url: ''}}]};\n\
                    // @ts-expect-error: there is no such key.\n\
                    export const w1: ToolResultBlockParam = {type: 'tool_result', tool_use_id: 'x', isError: true};\n"
        .to_owned();
    let paths = [
        "a.txt",
        "empty.txt",
        "i.png",
        "d.pdf",
        "s.wav",
        "b.bmp",
        "none",
    ];
    let input = |path: &str| json!({ "absolute_path": path });
    let chat = paths.map(|path| tool_call(path, "read_file", &input(path).to_string()));
    let items = paths.map(|path| {
        json!({"type": "function_call", "call_id": path, "name": "read_file", "arguments": input(path).to_string()})
    });
    let blocks = paths.map(
        |path| json!({"type": "tool_use", "id": path, "name": "read_file", "input": input(path)}),
    );
    let message = json!({"role": "assistant", "content": blocks});
    for (name, kind, dialect, input) in [
        ("chat", "Chat[]", "openai", json!({ "tool_calls": chat })),
        ("one", "Chat", "openai", chat[0].clone()),
        ("items", "Output[]", "openai", json!({ "output": items })),
        (
            "blocks",
            "ToolResultBlockParam[]",
            "anthropic",
            json!(blocks),
        ),
        ("message", "MessageParam", "anthropic", message),
    ] {
        let answer = send(&ws, dialect, &input).json();
        code.push_str(&format!("export const {name}: {kind} = {answer};\n"));
    }
    let directory = tempfile::TempDir::new().expect("a directory");
    std::os::unix::fs::symlink(&packages, directory.path().join("node_modules")).expect("a link");
    std::fs::write(
        directory.path().join("package.json"),
        "{\"type\":\"module\"}",
    )
    .expect("written");
    std::fs::write(directory.path().join("check.ts"), &code).expect("written");
    let run = Command::new("node")
        .arg(packages.join("typescript/bin/tsc"))
        .args([
            "--noEmit",
            "--strict",
            "--skipLibCheck",
            "--target",
            "es2022",
            "--module",
            "nodenext",
        ])
        .arg("check.ts")
        .current_dir(directory.path())
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{code}");
}

#[test]
fn a_signal_that_comes_before_the_call_is_no_fault_of_the_call() {
    let ws = files();
    for dialect in ["openai", "anthropic"] {
        let call = ws.call_tool(&["--from", dialect]);
        let running = call.input_held_open().start();
        wait_until("its handlers", || {
            has_signal(running.id(), "SigCgt:", Signal::TERM)
        });
        let pid = Pid::from_raw(i32::try_from(running.id()).expect("an id")).expect("a process");
        kill_process(pid, Signal::TERM).expect("a child of ours");
        let answer = running.finish();
        assert_eq!(answer.status(), 143, "{}", answer.shown());
        assert_eq!(answer.json()["error"]["type"], "api_error");
    }
}
