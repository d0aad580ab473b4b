//! MCP servers whose answers deviate from the protocol: every call ends by its answer, and none without a valid result
//! is a success.

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::mcp::Servers;
use crate::harness::random::{Random, seeds};

/// A server that is waited for ends a call by its time limit, which is another error than those expected.
const LIMIT_MS: u32 = 30_000;

/// Servers by name, each with its answer to `tools/list`, and what else its entry has.
fn servers(of: &[(&str, &str, Value)]) -> Servers {
    let ws = Workspace::new().outside("odd.py", include_str!("servers/odd.py"));
    let script = ws.outside_path("odd.py");
    let entry = |(name, list, more): &(&str, &str, Value)| {
        let mut entry = json!({"command": "python3", "args": [script, list], "timeout": LIMIT_MS});
        for (key, value) in more.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        ((*name).to_owned(), entry)
    };
    let all: serde_json::Map<String, Value> = of.iter().map(entry).collect();
    Servers::configured(ws, all.into(), &json!({}))
}

const ONE: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;

const TEXT: &str = r#"{"type":"text","text":"said"}"#;

/// What an answer has besides its id, and whether it is a success.
fn outcome(random: &mut Random) -> (String, bool) {
    let block = random.of(&[
        r#"{"type":"text","text":5}"#,
        r#"{"type":"text"}"#,
        r#"{"text":"said"}"#,
        r#"{"type":"image","data":"!!!","mimeType":"image/png"}"#,
        r#"{"type":"resource","resource":{"uri":"u:1"}}"#,
        r#"{"type":"resource_link","name":"n"}"#,
        r#"{"type":"video","text":"said"}"#,
        "\"said\"",
        "null",
    ]);
    let result = random.of(&[
        "null",
        "\"said\"",
        "[\"said\"]",
        "7",
        "{}",
        "{\"content\":\"said\"}",
        "{\"content\":{\"type\":\"text\",\"text\":\"said\"}}",
        "{\"task\":{\"taskId\":\"1\"}}",
        "{\"content\":[],\"isError\":\"true\"}",
        "{\"content\":[],\"isError\":1}",
        "{\"content\":[],\"resultType\":\"odd\"}",
    ]);
    let error = random.of(&[
        "\"said\"",
        "{\"code\":\"E\",\"message\":\"said\"}",
        "{\"message\":\"said\"}",
        "{\"code\":-32000}",
        "{\"code\":1.5,\"message\":\"said\"}",
        "{\"code\":99999999999,\"message\":\"said\"}",
        "[1]",
    ]);
    match random.below(8) {
        0 | 1 => (format!(r#""result":{{"content":[{TEXT}]}}"#), true),
        2 => (
            format!(r#""result":{{"content":[{TEXT}]}},"error":null"#),
            true,
        ),
        3 => (format!(r#""result":{{"content":[{block}]}}"#), false),
        4 => (format!(r#""result":{result}"#), false),
        5 => (format!(r#""error":{error}"#), false),
        6 => (
            format!(r#""result":{{"content":[{TEXT}]}},"error":{error}"#),
            false,
        ),
        _ => (r#""error":null"#.to_owned(), false),
    }
}

/// A line that answers a call, and whether it is a success.
fn answer(random: &mut Random) -> (Vec<u8>, bool) {
    let (outcome, succeeds) = outcome(random);
    let id = random.of(&[r#""id":ID"#, r#""id":ID.0"#, r#""id":"ID""#]);
    let deep = format!(r#""x":{}{}"#, "[".repeat(200), "]".repeat(200));
    let (odd, is_harmless) = match random.below(10) {
        0 => (r#""x":NaN"#, false),
        1 => (r#""x":1e400"#, false),
        2 => (deep.as_str(), false),
        3 => ("\"x\":\"\u{1}\"", false),
        4 => (r#""x":"\ud83d""#, true),
        _ => (r#""x":{"id":1,"method":"m"}"#, true),
    };
    let mut members = [r#""jsonrpc":"2.0""#, id, &outcome, odd];
    for at in (1..members.len()).rev() {
        members.swap(at, random.below(at + 1));
    }
    let mut line = format!("{{{}}}", members.join(",")).into_bytes();
    let is_whole = match random.below(12) {
        0 => line.pop().is_none(),
        1 => {
            line.push(b'x');
            false
        }
        2 => {
            let at = line.len() - 1;
            line.splice(at..at, *b",\"y\":\"\xff\"");
            false
        }
        3 => {
            line.splice(0..0, *b"\xef\xbb\xbf");
            true
        }
        _ => true,
    };
    (line, succeeds && is_harmless && is_whole)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

#[test]
fn every_answer_ends_its_call_and_only_a_valid_result_is_a_success() {
    let s = servers(&[("odd", ONE, json!({"trust": true}))]);
    for seed in seeds("answers of a server", 4) {
        let mut random = Random::new(seed);
        let cases: Vec<(Vec<u8>, bool)> = (0..60).map(|_| answer(&mut random)).collect();
        let calls: Vec<(&str, Value)> = cases
            .iter()
            .map(|(line, _)| ("odd__t", json!({"hex": hex(line)})))
            .collect();
        for ((line, succeeds), answer) in cases.iter().zip(s.batch(&calls)) {
            let line = String::from_utf8_lossy(line);
            let response = &answer["response"];
            if *succeeds {
                assert!(response["error"].is_null(), "{line}: {response}");
                assert!(response.to_string().contains("said"), "{line}: {response}");
            } else {
                assert_eq!(
                    response["errorType"], "mcp_tool_error",
                    "{line}: {response}"
                );
                assert_ne!(response["error"], "", "{line}: {response}");
            }
        }
    }
    s.all_gone();
}

#[test]
fn the_last_words_of_a_server_need_no_newline() {
    let s = servers(&[("odd", ONE, json!({"trust": true}))]);
    for is_whole in [true, false] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":[{TEXT}]}}}}"#);
        let line = if is_whole {
            &line
        } else {
            &line[..line.len() - 1]
        };
        let call = json!({"hex": hex(line.as_bytes()), "last": true});
        let response = &s.batch(&[("odd__t", call)])[0]["response"];
        assert_eq!(response["error"].is_null(), is_whole, "{response}");
    }
    s.all_gone();
}

#[test]
fn an_odd_list_of_tools_is_told_at_once() {
    let lists = ["\"oops\"", "[\"x\"]", "null", "7", "{}", "{\"tools\":{}}"];
    for list in lists {
        let s = servers(&[("odd", list, json!({}))]);
        let told = s.list(&["--mcp", "--notes"]).errors();
        assert!(
            told.contains("The MCP server odd: it has no tools: it"),
            "{list}: {told}"
        );
        assert!(!told.contains("too long"), "{list}: {told}");
        s.all_gone();
    }
}

#[test]
fn a_tool_that_the_settings_leave_out_takes_no_name() {
    let list = |names: &[&str]| {
        let tools = names
            .iter()
            .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
        json!({"tools": tools.collect::<Vec<_>>()}).to_string()
    };
    let hex =
        json!({"hex": hex(format!(r#"{{"id":ID,"result":{{"content":[{TEXT}]}}}}"#).as_bytes())});
    for (shown, name) in [(["x y", "x_y"], "one__x_y"), (["x_y", "x y"], "one__x_y")] {
        for kept in shown {
            let more = json!({"includeTools": [kept], "trust": true});
            let s = servers(&[("one", &list(&shown), more)]);
            assert_eq!(s.names(), [name]);
            assert_eq!(s.call(name, &hex).output(), "said");
        }
    }
    let s = servers(&[
        (
            "a",
            &list(&["b__c"]),
            json!({"excludeTools": ["b__c"], "trust": true}),
        ),
        ("a__b", &list(&["c"]), json!({"trust": true})),
    ]);
    // Also where nothing is known of either.
    assert_eq!(s.call("a__b__c", &hex).output(), "said");
    assert_eq!(s.names(), ["a__b__c"]);
    assert_eq!(s.call("a__b__c", &hex).output(), "said");
    let s = servers(&[("a", &list(&["c"]), json!({"excludeTools": ["c"]}))]);
    let denied = s.call("a__c", &hex);
    denied.must_say(&denied.failure().message, &["leave its tool \"c\" out"]);
}

#[test]
fn a_name_is_told_on_one_line() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"$ref": "#/nowhere"}});
    let odd = "x\nget_tools: The MCP server good: all fine";
    let list = json!({"tools": [tool(odd), tool("\u{1b}[2J")]}).to_string();
    let s = servers(&[("odd", &list, json!({}))]);
    let told = s.list(&["--mcp", "--notes"]).errors();
    assert!(
        !told
            .lines()
            .any(|line| line.contains("server good: all fine") && !line.contains("\\n")),
        "{told}"
    );
    assert!(!told.contains('\u{1b}') && told.contains("\\n"), "{told}");
}
