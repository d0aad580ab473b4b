//! What a model sends arrives unchanged, and what answers is read and limited alike, whoever provides the tool: a script
//! of the user's, a pair of commands, or a server.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::harness::agent::{agent, response, said, turns};
use crate::harness::mcp::Servers;
use crate::harness::random::{Random, seeds};
use crate::harness::stand_in::StandIn;
use crate::harness::{Answer, Workspace};

/// A script, a pair and a server with the same tool: it says again what it was given, or prints the `raw` text.
const TOOL: &str = r#"
import json, sys
SCHEMA = {"type": "object", "properties": {"i": {"type": "integer"}, "n": {"type": "array", "items": {"type": "number"}}}}
def send(ident, result):
    print('{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(ident), result), flush=True)
if sys.argv[1] == "list":
    print(json.dumps([{"name": "pair", "description": "d", "parametersJsonSchema": SCHEMA}]))
elif sys.argv[1] == "serve":
    for line in sys.stdin:
        message = json.loads(line)
        ident, method = message.get("id"), message["method"]
        if method == "initialize":
            send(ident, '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}')
        elif method == "tools/list":
            send(ident, json.dumps({"tools": [{"name": "t", "inputSchema": SCHEMA}]}))
        elif method == "tools/call":
            arguments = message["params"]["arguments"]
            said = json.dumps({"content": [{"type": "text", "text": json.dumps(arguments)}]})
            send(ident, arguments.get("raw", said))
else:
    text = sys.stdin.read()
    sys.stdout.write(json.loads(text).get("raw", text))
    sys.exit(json.loads(text).get("code", 0))
"#;

const SCRIPT: &str = "#!/bin/sh\n# /// tool\n# description = \"d\"\n# kind = \"read\"\n# OUTPUT\n# [params]\n\
    # i = { type = \"integer\", description = \"d\" }\n\
    # n = { type = \"array\", items = \"number\", description = \"d\" }\n# ///\npython3 TOOL call\n";

const TOOLS: [&str; 3] = ["own", "pair", "s__t"];

fn servers() -> Servers {
    let ws = Workspace::new().outside("tool.py", TOOL);
    let tool = ws.outside_path("tool.py");
    let script = SCRIPT.replace("TOOL", &tool);
    let with = |output: &str| script.replace("OUTPUT", &format!("output = \"{output}\""));
    let command = |way: &str| format!("{way}_command = [\"python3\", \"{tool}\", \"");
    let pair = format!(
        "kind = \"read\"\n{}list\"]\n{}call\"]\n",
        command("discovery"),
        command("call")
    );
    let ws = ws
        .home(".gemini/tools/own.sh", with("text"))
        .home(".gemini/tools/data.sh", with("json"))
        .home(".gemini/tools/result.sh", with("tool_result"))
        .home(".gemini/tools/pair.toml", pair);
    let entry = json!({"command": "python3", "args": [tool, "serve"], "trust": true});
    Servers::configured(ws, json!({ "s": entry }), &json!({}))
}

fn call(s: &Servers, tool: &str, args: &str, flags: &[&str]) -> Answer {
    let call = s.ws.tool(tool).input(args).flags(flags);
    s.marked(call).run()
}

/// The numbers of the first list in a text, by another parser than ours.
#[track_caller]
fn doubles(text: &str) -> Vec<u64> {
    let (_, list) = text.split_once('[').expect("a list");
    let (list, _) = list.split_once(']').expect("its end");
    let double = |word: &str| word.trim().parse::<f64>().expect(text).to_bits();
    list.split(',').map(double).collect()
}

fn any_double(random: &mut Random) -> f64 {
    match random.below(3) {
        0 => random.below(1_000_000) as f64 / 7.0,
        1 => (0..9).map(|_| random.below(10_000) as f64 / 100.0).sum(),
        _ => {
            let bits = (0..3).fold(0, |bits, _| bits << 31 | random.below(1 << 31) as u64);
            Some(f64::from_bits(bits))
                .filter(|n| n.is_finite())
                .unwrap_or(0.1)
        }
    }
}

#[test]
fn a_double_arrives_bit_for_bit() {
    let s = servers();
    let api = StandIn::playing(&json!({}));
    for seed in seeds("doubles", 2) {
        let mut random = Random::new(seed);
        let sent: Vec<f64> = (0..500).map(|_| any_double(&mut random)).collect();
        let bits: Vec<u64> = sent.iter().map(|n| n.to_bits()).collect();
        let list = sent.iter().fold(String::new(), |mut list, n| {
            let _ = write!(list, ",{n:e}");
            list
        });
        let args = format!("{{\"n\":[{}]}}", &list[1..]);
        for tool in TOOLS {
            assert_eq!(
                doubles(&call(&s, tool, &args, &[]).output()),
                bits,
                "{tool}"
            );
        }
        let whole = call(&s, "data", &args, &["--output", "result"]);
        assert!(whole.text().starts_with("{\"data\""), "{}", whole.shown());
        assert_eq!(doubles(whole.text()), bits);
        let Some(api) = &api else { continue };
        let calls = json!([{"id": "c", "tool": "own", "args": {"n": sent}}]);
        api.play(&json!({"turns": [calls], "closing": "Done."}));
        said(&s.marked(agent(&s.ws, api, &["Play"])).run());
        let history = turns(api).pop().expect("a turn")["contents"].to_string();
        let (_, own) = history.split_once("\"functionCall\"").expect("the call");
        assert_eq!(doubles(&own[own.find("\"n\":").expect("n")..]), bits);
        let answer = response(api, "c")["output"].to_string();
        assert_eq!(doubles(&answer), bits);
    }
    s.all_gone();
}

#[test]
fn a_whole_number_arrives_with_all_its_digits_or_is_refused() {
    let s = servers();
    let beyond = |number: &str| format!("it is {number}, an integer of more than 64 bits");
    for (sent, expected) in [
        ("18446744073709551615", Ok("18446744073709551615")),
        ("-9223372036854775808", Ok("-9223372036854775808")),
        ("9007199254740993.0", Ok("9007199254740993")),
        ("-9.007199254740993e15", Ok("-9007199254740993")),
        ("1e22", Ok("1e+22")),
        ("10000000000000000000000", Ok("1e+22")),
        ("18446744073709551617", Err(())),
        ("-9223372036854775809", Err(())),
        ("18446744073709551617.0", Err(())),
        ("123456789012345678901e3", Err(())),
        ("10000000000000000000001", Err(())),
    ] {
        for tool in TOOLS {
            let declared = call(&s, tool, &format!("{{\"i\":{sent}}}"), &[]);
            let other = call(&s, tool, &format!("{{\"x\":[\"{sent}\",{sent}]}}"), &[]);
            let other: Value = serde_json::from_str(&other.output()).expect("JSON");
            let Ok(arrived) = expected else {
                let message = declared.error("invalid_tool_params", 2);
                declared.must_say(&message, &["\"i\" must be an integer", &beyond(sent)]);
                assert_eq!(other["x"], json!([sent, sent]), "{tool}");
                continue;
            };
            let output = declared.output().replace(' ', "");
            let is_arrived = output == format!("{{\"i\":{arrived}}}");
            assert!(is_arrived, "{tool}: {sent}: {output}");
            assert_eq!(other["x"][1].to_string(), arrived, "{tool}");
        }
    }
    for (printed, kept) in [
        (
            "{\"a\":[18446744073709551617,1]}",
            json!(["18446744073709551617", 1]),
        ),
        (
            "{\"a\":[9007199254740993.0,1.50]}",
            json!([9_007_199_254_740_993_u64, 1.5]),
        ),
    ] {
        let args = json!({ "raw": printed }).to_string();
        let whole = call(&s, "data", &args, &["--output", "result"]).json();
        assert_eq!(whole["data"]["a"], kept);
        let raw = format!("{{\"content\":[],\"structuredContent\":{printed}}}");
        let args = json!({ "raw": raw }).to_string();
        let whole = call(&s, "s__t", &args, &["--output", "result"]).json();
        assert_eq!(whole["data"]["a"], kept);
    }
    s.all_gone();
}

#[test]
fn half_a_character_or_a_byte_order_mark_costs_nothing_of_an_answer() {
    let s = servers();
    for mark in ["", "\u{feff}"] {
        for half in [r"\udce9", r"\ud83d", r"\ud83d\ud83d", r"\uDFFF\\"] {
            let shown = half.replace(r"\\", "\\");
            let shown = ["\\udce9", "\\ud83d", "\\uDFFF"]
                .iter()
                .fold(shown, |text, half| text.replace(half, "\u{fffd}"));
            let error = format!(
                "{mark}{{\"functionResponse\":{{\"name\":\"p\",\"response\":{{\"error\":\"no caf{half}.txt\"}}}}}}"
            );
            let args = json!({ "raw": error }).to_string();
            let message = call(&s, "pair", &args, &[]).error("discovered_tool_execution_error", 1);
            assert_eq!(message, format!("no caf{shown}.txt"));
            for (tool, printed) in [
                (
                    "result",
                    format!("{mark}{{\"llmContent\":\"party {half}\"}}"),
                ),
                (
                    "s__t",
                    format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"party {half}\"}}]}}"),
                ),
            ] {
                let answer = call(&s, tool, &json!({ "raw": printed }).to_string(), &[]);
                assert_eq!(answer.output(), format!("party {shown}"), "{tool}");
            }
            let printed = format!("{mark}[\"{half}\"]");
            let args = json!({ "raw": printed }).to_string();
            let whole = call(&s, "data", &args, &["--output", "result"]).json();
            assert_eq!(whole["data"]["value"], json!([shown]));
            let listed = format!("{mark}[{{\"name\":\"halved\",\"description\":\"d{half}\"}}]");
            let listing = format!(
                "kind = \"read\"\ncall_command = \"true\"\ndiscovery_command = [\"printf\", \"%s\", '{listed}']\n"
            );
            let ws = Workspace::new().home(".gemini/tools/p.toml", listing);
            let list = ws.get_tools(&[]).unwatched().run().json().to_string();
            assert!(
                list.contains(&json!(format!("d{shown}")).to_string()),
                "{list}"
            );
        }
    }
    s.all_gone();
}

#[test]
fn one_limit_is_for_all_texts_of_an_answer_and_for_its_error() {
    const LIMIT: usize = 40_000;
    let s = servers();
    let (text, line) = ("y".repeat(3_000), "ö\n".repeat(1_500));
    let texts = json!([text, line]).to_string();
    let many = vec![&texts[1..texts.len() - 1]; 50].join(",");
    let blocks =
        json!([{"type": "text", "text": text}, {"type": "text", "text": line}]).to_string();
    let blocks = vec![&blocks[1..blocks.len() - 1]; 50].join(",");
    let long = text.repeat(100);
    for (tool, raw, code) in [
        ("result", format!("{{\"llmContent\":[{many}]}}"), 0),
        (
            "result",
            format!("{{\"error\":{{\"message\":\"{long}\"}}}}"),
            0,
        ),
        (
            "result",
            format!("{{\"llmContent\":[{many}],\"error\":{{\"message\":\"{long}\"}}}}"),
            0,
        ),
        ("pair", long.clone(), 3),
        (
            "pair",
            format!(
                "{{\"functionResponse\":{{\"name\":\"p\",\"response\":{{\"error\":\"{long}\"}}}}}}"
            ),
            0,
        ),
        ("s__t", format!("{{\"content\":[{blocks}]}}"), 0),
        (
            "s__t",
            format!("{{\"isError\":true,\"content\":[{blocks}]}}"),
            0,
        ),
        (
            "s__t",
            format!("{{\"isError\":true,\"content\":[{{\"type\":\"text\",\"text\":\"{long}\"}}]}}"),
            0,
        ),
    ] {
        let args = json!({"raw": raw, "code": code}).to_string();
        let answer = call(&s, tool, &args, &[]);
        let response = answer.json()["functionResponse"]["response"].take();
        let said = response["error"]
            .as_str()
            .or(response["output"].as_str())
            .expect("a text");
        let (shown, note) = said.split_once("[Truncated: ").expect("a note");
        assert!(
            shown.chars().count() <= LIMIT + 1,
            "{tool}: {}",
            shown.len()
        );
        assert!(shown.chars().count() > LIMIT / 2, "{tool}: {}", shown.len());
        let (count, rest) = note.split_once(" more characters").expect("a count");
        let file = rest
            .split_once("The whole answer is in ")
            .expect("a file")
            .1;
        let whole = fs::read_to_string(file.split_once(';').expect("its end").0).expect("kept");
        let shown = shown.trim_end_matches('\n');
        assert!(
            whole.starts_with(shown) && whole.chars().count() >= 300_000,
            "{tool}"
        );
        let left = whole.chars().count() - shown.chars().count();
        let count: usize = count.parse().expect("a number");
        assert!(
            (left - 1..=left).contains(&count),
            "{tool}: {count}, {left}"
        );
        let whole = call(&s, tool, &args, &["--output", "result"]).json();
        let content = whole["llmContent"].to_string().chars().count();
        let error = whole["error"]["message"].to_string().chars().count();
        let is_once = whole["llmContent"]
            .to_string()
            .contains(&whole["error"]["message"].to_string());
        assert!(
            content.min(error) < 1_000 || is_once,
            "{tool}: {content}, {error}"
        );
        assert!(content.max(error) < 2 * LIMIT, "{tool}: {content}, {error}");
    }
    s.all_gone();
}
