//! Pointers to another program's pair of commands.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::custom::{SHOW, call, declared, tool, with};
use crate::harness::{Call, Workspace, executable};

const POINTER: &str = "discovery_command = \"python3 'project tools.py' --discover\"\ncall_command = \"python3 'project tools.py' --call\"\n";

/// As in Gemini CLI's issue #19783, with arguments in the call command, and with the declarations of #7262.
const PROGRAM: &str = r#"
import json, sys
TOOLS = [
    {"name": "get_weather", "description": "Weather of a place.", "parameters": {
        "type": "OBJECT", "properties": {"place": {"type": "STRING", "description": "Where."}}, "required": ["place"]}},
    {"name": "with space", "description": "An odd name.", "parameters": {"type": "object", "properties": {}}},
    {"name": "files__read", "description": "As of a server."},
    {"name": "untyped", "description": "d", "parametersJsonSchema": {"type": "object", "properties": {"x": {}}}},
    {"name": "read_file", "description": "A built-in's name."},
]
if sys.argv[1] == "--discover":
    with open("discoveries", "a") as log:
        log.write("x")
    print(json.dumps([{"function_declarations": TOOLS}]))
    sys.exit()
name, args = sys.argv[2], json.load(sys.stdin)
if args.get("fail"):
    print("half")
    print("broken", file=sys.stderr)
    sys.exit(3)
if args.get("warn"):
    print("done")
    print("old", file=sys.stderr)
elif args.get("mute"):
    print("said", file=sys.stderr)
elif args.get("part"):
    print(json.dumps({"functionResponse": {"name": name, "response": {"error": "gone", "errorType": "file_not_found"}}}))
else:
    print(json.dumps([sys.argv[1:], args]))
"#;

fn pair() -> Workspace {
    Workspace::new()
        .file("project tools.py", PROGRAM)
        .file(".gemini/tools/weather.toml", POINTER)
}

fn trusted(call: Call<'_>) -> Call<'_> {
    call.env("GEMINI_CLI_TRUST_WORKSPACE", "true").unwatched()
}

fn run(ws: &Workspace, name: &str, arguments: &Value) -> crate::harness::Answer {
    trusted(tool(ws, name, arguments)).run()
}

fn declared_trusted(ws: &Workspace) -> Vec<String> {
    let list = trusted(ws.get_tools(&[])).run().json();
    let names = list.as_array().expect("a list").iter();
    names
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

fn discoveries(ws: &Workspace) -> usize {
    fs::read(ws.dir().join("discoveries")).map_or(0, |log| log.len())
}

#[test]
fn the_pair_of_gemini_clis_issues_works_unchanged() {
    let ws = pair();
    let list = trusted(ws.get_tools(&["--only", "get_weather,with_space,untyped"]))
        .run()
        .json();
    assert_eq!(
        list,
        json!([
            {"name": "get_weather", "description": "Weather of a place.", "parametersJsonSchema": {
                "type": "object", "properties": {"place": {"type": "string", "description": "Where."}}, "required": ["place"]}},
            {"name": "untyped", "description": "d", "parametersJsonSchema": {"type": "object", "properties": {"x": {"anyOf": [
                {"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"},
                {"type": "array"}, {"type": "null"}]}}}},
            {"name": "with_space", "description": "An odd name.", "parametersJsonSchema": {"type": "object", "properties": {}}},
        ])
    );
    let args = json!({"place": "a 'b' $(c)"});
    let seen: Value = serde_json::from_str(&run(&ws, "get_weather", &args).output()).expect("JSON");
    assert_eq!(seen, json!([["--call", "get_weather"], args]));
    let seen: Value =
        serde_json::from_str(&run(&ws, "with_space", &json!({})).output()).expect("JSON");
    assert_eq!(seen, json!([["--call", "with space"], {}]), "its own name");
    run(&ws, "get_weather", &json!({})).error("invalid_tool_params", 2);
}

#[test]
fn a_failure_is_told_as_by_gemini_cli() {
    let ws = pair();
    let with = |key: &str| json!({"place": "x", key: true});
    assert_eq!(
        run(&ws, "get_weather", &with("fail")).error("discovered_tool_execution_error", 1),
        "Stdout: half\n\nStderr: broken\n\nError: (none)\nExit Code: 3\nSignal: (none)"
    );
    assert_eq!(
        run(&ws, "get_weather", &with("part")).error("file_not_found", 1),
        "gone"
    );
}

#[test]
fn a_warning_on_standard_error_makes_no_failure_of_a_success() {
    let ws = pair();
    let with = |key: &str| json!({"place": "x", key: true});
    assert_eq!(run(&ws, "get_weather", &with("warn")).output(), "done\n");
    assert_eq!(run(&ws, "get_weather", &with("mute")).output(), "said");
}

#[test]
fn discovery_runs_when_something_that_it_names_has_changed() {
    let ws = pair();
    let list = || trusted(ws.get_tools(&[])).run().json();
    list();
    // What is as new as the clock can tell is not trusted yet.
    std::thread::sleep(std::time::Duration::from_millis(50));
    list();
    let before = discoveries(&ws);
    list();
    run(&ws, "get_weather", &json!({"place": "x"})).output();
    run(&ws, "read_file", &json!({"absolute_path": "discoveries"})).output();
    assert_eq!(discoveries(&ws), before);
    fs::write(
        ws.dir().join("project tools.py"),
        PROGRAM.replace("get_weather", "get_climate"),
    )
    .expect("written");
    let text = list().to_string();
    assert!(text.contains("get_climate") && !text.contains("get_weather"));
    let before = discoveries(&ws);
    trusted(ws.get_tools(&["--refresh"])).run().json();
    assert_eq!(discoveries(&ws), before + 1);
}

#[test]
fn a_pair_that_fails_floods_hangs_or_prints_garbage_costs_only_itself() {
    let pointer = |discovery: &str| {
        format!("discovery_command = \"{discovery}\"\ncall_command = \"true\"\ntimeout = 1\n")
    };
    for (discovery, expected) in [
        (
            "sh -c 'echo why >&2; exit 4'",
            "failed with exit status 4. It said: why",
        ),
        ("no-such-program", "no program"),
        ("echo garbage", "it is not valid JSON"),
        ("echo '{}'", "it is not an array"),
        ("sleep 60", "its time limit"),
        ("head -c 11000000 /dev/zero", "more than 10485760 bytes"),
    ] {
        let ws = with("bad.toml", &pointer(discovery)).home(".gemini/tools/show.toml", SHOW);
        assert_eq!(declared(&ws), ["show"], "{discovery}");
        let lint = ws
            .get_tools(&["lint"])
            .changing_at_home(&[".gemini/tmp"])
            .run();
        assert_eq!(lint.status(), 1);
        lint.must_say(lint.text(), &["error[discovery]", "bad.toml", expected]);
    }
}

#[test]
fn lint_quotes_what_a_pair_printed_and_not_what_it_said_beside() {
    let pointer = |discovery: &str| {
        format!("discovery_command = \"sh -c '{discovery}'\"\ncall_command = \"true\"\n")
    };
    for (discovery, expected, unexpected) in [
        (
            "echo starting up >&2; echo Loaded 4 tools",
            "It printed: Loaded 4 tools",
            "starting up",
        ),
        (
            "echo no key >&2",
            "It printed: nothing It said: no key",
            "Loaded",
        ),
    ] {
        let ws = with("bad.toml", &pointer(discovery));
        let lint = ws.get_tools(&["lint"]).unwatched().run();
        lint.must_say(lint.text(), &[expected]);
        assert!(!lint.text().contains(unexpected), "{}", lint.shown());
    }
}

#[test]
fn lint_tells_every_repair_and_clash_of_a_pair() {
    let ws = pair();
    let lint = trusted(ws.get_tools(&["lint"])).run();
    assert_eq!(lint.status(), 1);
    lint.must_say(
        lint.text(),
        &[
            "repair[parameters-key]",
            "repair[type-name]",
            "repair[name]",
            "repair[untyped]",
            "error[name-clash]",
            "a built-in tool has its name",
        ],
    );
}

#[test]
fn a_pairs_name_with_two_underscores_gets_one_and_no_rule_for_a_server_is_for_it() {
    let ws = pair().home(
        ".gemini/policies/mine.toml",
        "[[rule]]\nmcpName = \"files\"\ndecision = \"deny\"\npriority = 10\n",
    );
    assert!(declared_trusted(&ws).contains(&"files_read".to_owned()));
    let lint = trusted(ws.get_tools(&["lint"])).run();
    let repair = "__ stands between the names of an MCP server and its tool: the model knows the tool as files_read";
    lint.must_say(lint.text(), &["repair[name]", repair]);
    let seen: Value =
        serde_json::from_str(&run(&ws, "files_read", &json!({})).output()).expect("JSON");
    assert_eq!(seen, json!([["--call", "files__read"], {}]), "its own name");
}

#[test]
fn a_tool_with_a_file_counts_before_one_of_a_pair() {
    let ws = pair().home(".gemini/tools/get_weather.toml", SHOW);
    assert_eq!(
        run(&ws, "get_weather", &json!({"text": "a"})).output(),
        "[a][--n=7]"
    );
}

#[test]
fn pointers_with_faults_are_told() {
    for (pointer, expected) in [
        ("discovery_command = \"a\"\n", "call_command: It is missing"),
        (
            "discovery_command = \"a 'b\"\ncall_command = \"c\"\n",
            "discovery_command: It names no program, or its quotes are not closed.",
        ),
        (
            "discovery_command = 1\ncall_command = \"c\"\n",
            "discovery_command: A command line in quotes, or a list of words.",
        ),
        (
            "discovery_command = \"a\"\ncall_command = \"c\"\nwatch = []\n",
            "watch: Unknown field `watch`, expected one of ",
        ),
    ] {
        let ws = with("p.toml", pointer);
        let lint = ws.get_tools(&["lint"]).run();
        assert_eq!(lint.status(), 1);
        lint.must_say(lint.text(), &[expected]);
        let answer = call(&ws, "p", &json!({}));
        let message = answer.error("execution_failed", 1);
        answer.must_say(&message, &["can't be used", expected]);
    }
}

#[test]
fn a_pair_that_starts_us_again_comes_to_an_end() {
    // More often than five times it is not started, whatever goes wrong.
    let wrapper = |name: &str| {
        format!(
            "#!/bin/sh\necho x >>starts\n[ \"$(wc -l <starts)\" -lt 5 ] || exit 1\nexec '{}' \"$@\"\n",
            crate::harness::executable(name).display()
        )
    };
    let ws = Workspace::new()
        .file("mine", wrapper("get_tools"))
        .file("call mine", wrapper("call_tool"))
        .file(
            ".gemini/tools/mine.toml",
            "discovery_command = [\"./mine\"]\ncall_command = [\"./call mine\"]\n",
        );
    for name in ["mine", "call mine"] {
        crate::harness::set_mode(&ws.dir().join(name), 0o755);
    }
    let names = declared_trusted(&ws);
    assert!(names.contains(&"read_file".to_owned()), "{names:?}");
    let starts = || fs::read_to_string(ws.dir().join("starts")).expect("starts");
    assert_eq!(starts(), "x\n");
    let answer = run(&ws, "nobodys_tool", &json!({}));
    assert_eq!(answer.status(), 2, "{}", answer.shown());
    // Files that have just been written are looked at anew.
    assert!(starts().len() <= "x\nx\n".len(), "{}", starts());
}

/// A tool of a pair whose parameter `x` has the schema.
fn with_parameter(schema: &Value) -> Workspace {
    let list = json!([{"name": "t", "description": "d", "parametersJsonSchema":
        {"type": "object", "properties": {"x": schema}, "required": ["x"]}}]);
    Workspace::new().file("list.json", list.to_string()).file(
        ".gemini/tools/t.toml",
        "discovery_command = [\"cat\", \"list.json\"]\ncall_command = [\"sh\", \"-c\", \"cat\"]\n",
    )
}

#[test]
fn arguments_are_checked_against_the_schema_as_it_was_written() {
    let text = json!({"type": "string"});
    for (schema, good, bad, reason) in [
        (
            json!({"type": "object", "patternProperties": {"^x-": text}, "additionalProperties": false}),
            json!({"x-a": "y"}),
            json!({"y": "y"}),
            "\"x.y\" is not known; what is known: ^x-.",
        ),
        (
            json!({"type": "array", "prefixItems": [text], "items": {"type": "number"}}),
            json!(["a", 1, 2]),
            json!(["a", "b"]),
            "\"x[1]\" must be a number",
        ),
        (
            json!({"type": "array", "items": [text, {"type": "number"}], "maxItems": 2.0}),
            json!(["a", 1]),
            json!([1, "a"]),
            "\"x[0]\" must be a string",
        ),
        (
            json!({"type": "integer", "enum": [1, 2]}),
            json!(1.0),
            json!(3),
            "\"x\" must be one of 1, 2",
        ),
        (
            json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
            "more than one of its alternatives",
        ),
        (
            json!({"$ref": "#/properties/x/$defs/n", "$defs": {"n": {"type": "object", "properties":
                {"c": {"type": "array", "items": {"$ref": "#/properties/x/$defs/n"}}}, "required": ["c"]}}}),
            json!({"c": [{"c": []}]}),
            json!({"c": [{"c": [{}]}]}),
            "\"x.c[0].c[0].c\" is missing",
        ),
    ] {
        let ws = with_parameter(&schema);
        let call = |x: &Value| run(&ws, "t", &json!({"x": x}));
        call(&good).output();
        let refused = call(&bad);
        refused.must_say(&refused.error("invalid_tool_params", 2), &[reason]);
        // What is kept of the pair says the same.
        call(&good).output();
        call(&bad).error("invalid_tool_params", 2);
    }
}

#[test]
fn a_parameter_may_be_anything() {
    for schema in [json!({}), json!(true), json!({"title": "Any"})] {
        let ws = with_parameter(&schema);
        for value in [
            json!(null),
            json!(1),
            json!("a"),
            json!([{}]),
            json!({"b": [1]}),
        ] {
            let args = json!({"x": value});
            let seen: Value = serde_json::from_str(&run(&ws, "t", &args).output()).expect("JSON");
            assert_eq!(seen, args);
        }
        run(&ws, "t", &json!({})).error("invalid_tool_params", 2);
    }
}

/// Tools in each form call each other, and note that they run. They end by themselves after twelve calls, whatever
/// happens.
#[test]
fn a_tool_that_calls_itself_ends_at_a_small_depth_whatever_its_form() {
    let program = executable("call_tool").display().to_string();
    let body = |next: &str| {
        format!("echo x >> runs; [ $(wc -l < runs) -lt 12 ] && echo '{{}}' | {program} {next}\n")
    };
    let head = "#!/bin/sh\n# /// tool\n# description = \"x\"\n# kind = \"read\"\n# ///\n";
    let list = r#"[ $1 = list ] && { echo '[{"name": "pair", "description": "x"}]'; exit; }"#;
    let deep = "5 tools' programs run below each other";
    // A pair's command does not find the pair itself.
    let unknown = "There is no tool named";
    for (first, [one, two, three], count, said) in [
        ("one", ["one", "", ""], 5, deep),
        ("two", ["", "two", ""], 5, deep),
        ("one", ["two", "one", ""], 5, deep),
        ("pair", ["one", "", "one"], 5, deep),
        ("pair", ["", "", "pair"], 1, unknown),
        ("one", ["two", "pair", "one"], 5, unknown),
    ] {
        let manifest = "description = \"x\"\nkind = \"read\"\nscript = '''\n";
        let ws = Workspace::new()
            .home(".gemini/tools/one.sh", format!("{head}{}", body(one)))
            .home(
                ".gemini/tools/two.toml",
                format!("{manifest}{}'''\n", body(two)),
            )
            .file("pair.sh", format!("#!/bin/sh\n{list}\n{}", body(three)))
            .mode("pair.sh", 0o755);
        let pair = ws.path("pair.sh");
        let commands = format!("discovery_command = '{pair} list'\ncall_command = '{pair} call'\n");
        let ws = ws.home(
            ".gemini/tools/pointer.toml",
            format!("kind = \"read\"\n{commands}"),
        );
        let answer = tool(&ws, first, &json!({})).unwatched().run();
        let runs = fs::read_to_string(ws.path("runs")).expect("some ran");
        assert_eq!(runs.lines().count(), count, "{first}: {}", answer.shown());
        answer.must_say(answer.text(), &[said]);
    }
}

#[test]
fn the_time_limit_of_a_tool_ends_all_that_it_calls() {
    let program = executable("call_tool").display().to_string();
    let head =
        "#!/bin/sh\n# /// tool\n# description = \"x\"\n# kind = \"read\"\n# timeout = 1\n# ///\n";
    let script = format!(
        "{head}trap '' TERM INT HUP\necho x >> runs\n[ $(wc -l < runs) -lt 5 ] || exec sleep 60\n\
         sed -i s/timeout.=.1$/timeout=60/ $0\necho '{{}}' | {program} deep & wait\n"
    );
    let ws = with("deep.sh", &script);
    let began = Instant::now();
    let answer = tool(&ws, "deep", &json!({})).unwatched().run();
    answer.must_say(answer.text(), &["after 1 s, its time limit"]);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}
