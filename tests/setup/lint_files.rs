//! `get_tools lint FILE`: declarations for any API against what that API takes, and the formats of the findings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace};
use crate::sarif::{check_junit, check_sarif};

fn lint(ws: &Workspace, args: &[&str]) -> Answer {
    ws.get_tools(&["lint"]).flags(args).run()
}

fn lint_text(text: &str, args: &[&str]) -> Answer {
    let ws = Workspace::new();
    let call = ws.get_tools(&["lint", "-"]).flags(args);
    let answer = call.input(text).run();
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
    answer
}

/// The findings as (severity, code, key).
#[track_caller]
fn findings(document: &Value, args: &[&str]) -> BTreeSet<(String, String, String)> {
    let answer = lint_text(&document.to_string(), &[&["--json"], args].concat());
    let lines = answer.text().lines();
    let all: BTreeSet<_> = lines
        .map(|line| {
            let finding: Value = serde_json::from_str(line).expect("JSON");
            assert!(finding["line"].as_u64() >= Some(1), "{line}");
            assert!(finding["column"].as_u64() >= Some(1), "{line}");
            assert!(finding["message"].as_str().is_some_and(|m| m.len() > 10));
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            (text("severity"), text("code"), text("key"))
        })
        .collect();
    let has_errors = all.iter().any(|(severity, _, _)| severity == "error");
    assert_eq!(answer.status(), i32::from(has_errors), "{all:?}");
    all
}

#[track_caller]
fn errors(document: &Value, args: &[&str]) -> Vec<(String, String)> {
    let all = findings(document, args).into_iter();
    let errors = all.filter(|(severity, _, _)| severity == "error");
    errors.map(|(_, rule, place)| (rule, place)).collect()
}

fn one(rule: &str, place: &str) -> Vec<(String, String)> {
    vec![(rule.to_owned(), place.to_owned())]
}

fn openai(name: &str, parameters: &Value) -> Value {
    json!([{"type": "function", "function":
        {"name": name, "description": "d", "parameters": parameters}}])
}

fn anthropic(name: &str, schema: &Value) -> Value {
    json!([{"name": name, "description": "d", "input_schema": schema}])
}

fn mcp(name: &str, more: &Value) -> Value {
    let mut tool = json!({"name": name, "description": "d", "inputSchema": {"type": "object"}});
    let map = tool.as_object_mut().expect("an object");
    map.extend(more.as_object().expect("an object").clone());
    json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}})
}

#[test]
fn our_own_declarations_are_sound_in_every_dialect() {
    let ws = Workspace::new();
    for dialect in ["gemini", "openai", "openai-responses", "anthropic", "mcp"] {
        for wrap in [&[][..], &["--wrap"]] {
            let printed = ws.get_tools(&["--format", dialect]).flags(wrap).run();
            let answer = lint_text(printed.text(), &[]);
            assert_eq!(answer.status(), 0, "{dialect}: {}", answer.shown());
            answer.must_say(
                answer.text(),
                &["15 tools in 1 file: 0 errors, 0 warnings, 0 repairs"],
            );
        }
    }
}

#[test]
fn gemini_declarations_are_judged_by_the_compiler() {
    let with = |x: Value| {
        json!([{"functionDeclarations": [{"name": "t", "description": "d",
            "parametersJsonSchema": {"type": "object", "properties": {"x": x}}}]}])
    };
    assert_eq!(errors(&with(json!({"type": "string"})), &[]), []);
    assert_eq!(
        errors(&with(json!({"description": "d"})), &[]),
        one("untyped", "x")
    );
    let loose = json!([{"name": "a b", "description": "d"}]);
    assert_eq!(errors(&loose, &[]), one("name", "name"));
    let twice = json!([{"name": "a", "description": "d"}, {"name": "a", "description": "d"}]);
    assert_eq!(errors(&twice, &[]), one("duplicate-name", "name"));
    let hidden = json!([{"name": "a", "description": "d\u{200b}x"}]);
    assert_eq!(errors(&hidden, &[]), one("hidden-text", "description"));
    let long = json!([{"name": "x".repeat(50), "description": "d"}]);
    let warned = findings(&long, &[]);
    assert!(
        warned
            .iter()
            .any(|(s, rule, _)| s == "warning" && rule == "long-name")
    );
    let native = json!([{"name": "t", "description": "d", "parameters": {"type": "OBJECT"}}]);
    let repaired = findings(&native, &[]);
    let rules: Vec<_> = repaired.iter().map(|(_, rule, _)| rule.as_str()).collect();
    assert_eq!(rules, ["parameters-key", "type-name"]);
}

#[test]
fn what_openai_refuses_is_an_error() {
    let object = |x: Value| json!({"type": "object", "properties": {"x": x}});
    for (name, parameters, wanted) in [
        (
            "fine",
            object(json!({"anyOf": [{"type": "string"}, {}]})),
            vec![],
        ),
        (
            "a.b",
            object(json!({"type": "string"})),
            one("name", "name"),
        ),
        (&"x".repeat(65), object(json!({})), one("name", "name")),
        (
            "t",
            json!({"type": "object", "properties": {}, "anyOf": [{"required": ["a"]}]}),
            one("top-level", "anyOf"),
        ),
        (
            "t",
            json!({"type": "object", "properties": {}, "not": {}}),
            one("top-level", "not"),
        ),
        (
            "t",
            json!({"type": "object"}),
            one("no-properties", "schema"),
        ),
        (
            "t",
            object(json!({"type": ["array", "null"]})),
            one("array-items", "x"),
        ),
        ("t", json!({"type": "string"}), one("schema", "type")),
        (
            "t",
            object(json!({"type": "array"})),
            one("array-items", "x"),
        ),
        (
            "t",
            object(json!({"$ref": "#/none"})),
            one("reference", "x"),
        ),
    ] {
        assert_eq!(
            errors(&openai(name, &parameters), &[]),
            wanted,
            "{parameters}"
        );
    }
    let many: Vec<Value> = (0..129)
        .map(|i| openai(&format!("t{i}"), &json!({"type": "object"}))[0].clone())
        .collect();
    let answer = lint_text(&json!({ "tools": many }).to_string(), &[]);
    answer.must_say(answer.text(), &["error[too-many-tools]", "129 tools"]);
    let long =
        json!([{"type": "function", "function": {"name": "t", "description": "d".repeat(1025)}}]);
    assert!(
        findings(&long, &[])
            .iter()
            .any(|(_, rule, _)| rule == "description-length")
    );
}

#[test]
fn strict_functions_must_be_closed_and_required_and_responses_are_strict_unless_told() {
    let mut function = openai(
        "t",
        &json!({"type": "object", "properties":
        {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
    );
    function[0]["function"]["strict"] = true.into();
    assert_eq!(errors(&function, &[]), []);
    let parameters = &mut function[0]["function"]["parameters"];
    parameters["required"] = json!([]);
    let open = parameters.clone();
    assert_eq!(errors(&function, &[]), one("strict", "schema"));
    function[0]["function"]["parameters"]["properties"]["a"] =
        json!({"type": "object", "properties": {}});
    function[0]["function"]["parameters"]["required"] = json!(["a"]);
    assert_eq!(errors(&function, &[]), one("strict", "a"));
    let flat = json!([{"type": "function", "name": "t", "description": "d", "parameters": open}]);
    let rules = findings(&flat, &[]);
    assert!(rules.iter().any(|(_, rule, _)| rule == "strict-by-default"));
    let mut told = flat;
    told[0]["strict"] = false.into();
    assert!(findings(&told, &[]).is_empty());
}

#[test]
fn what_anthropic_refuses_is_an_error() {
    let object = |key: &str| json!({"type": "object", "properties": {key: {"type": "string"}}});
    for (name, schema, wanted) in [
        (&*"x".repeat(128), object("a.b-c"), vec![]),
        (&*"x".repeat(129), object("a"), one("name", "name")),
        ("t", object("$top"), one("property-name", "$top")),
        (
            "t",
            object(&"k".repeat(65)),
            one("property-name", &"k".repeat(65)),
        ),
        (
            "t",
            json!({"type": "object", "oneOf": [{}]}),
            one("top-level", "oneOf"),
        ),
    ] {
        assert_eq!(errors(&anthropic(name, &schema), &[]), wanted, "{schema}");
    }
    let wrong = json!([{"name": "t", "description": "d", "parameters": {"type": "object"}}]);
    assert_eq!(
        errors(&wrong, &["--dialect", "anthropic"]),
        one("schema-key", "parameters")
    );
    // The API's own tools have no schema.
    let own = json!([{"type": "bash_20250124", "name": "bash"}, anthropic("t", &object("a"))[0]]);
    assert_eq!(errors(&own, &[]), []);
}

#[test]
fn what_the_protocol_does_not_know_is_told_of_an_mcp_server() {
    assert_eq!(errors(&mcp("fine", &json!({})), &[]), []);
    let odd = mcp("t", &json!({"annotations": {"readOnlyHint": "yes"}}));
    assert_eq!(
        errors(&odd, &[]),
        one("annotation", "annotations.readOnlyHint")
    );
    let torn = mcp(
        "t",
        &json!({"annotations": {"readOnlyHint": true, "destructiveHint": true}}),
    );
    assert!(
        findings(&torn, &[])
            .iter()
            .any(|(s, rule, _)| s == "warning" && rule == "annotation")
    );
    for name in ["a.b", "a b"] {
        let rules = findings(&mcp(name, &json!({})), &[]);
        assert!(
            rules
                .iter()
                .any(|(s, rule, _)| s == "warning" && rule == "name"),
            "{name}"
        );
    }
    let none = json!({"tools": [{"name": "t", "description": "d"}]});
    assert_eq!(errors(&none, &["--dialect", "mcp"]), one("schema-key", ""));
}

#[test]
fn findings_name_the_line_and_column_in_which_the_key_stands() {
    let ws = Workspace::new().file(
        "tools/odd name.json",
        "[\n  {\n    \"name\": \"a.b\",\n    \"description\": \"d\",\n    \"input_schema\": {\n      \
         \"type\": \"object\",\n      \"properties\": {\n        \"ok\": { \"type\": \"string\" },\n        \
         \"x y\": { \"type\": \"string\" }\n      }\n    }\n  }\n]\n",
    );
    let answer = lint(&ws, &["tools/odd name.json"]);
    assert_eq!(answer.status(), 1);
    let text = answer.text();
    answer.must_say(
        text,
        &[
            "error[name]: tools/odd name.json:3:5: a.b: name: ",
            "error[property-name]: tools/odd name.json:9:9: a.b: x y: ",
            "0 tools in 1 file: 2 errors, 0 warnings, 0 repairs\n",
        ],
    );
    let github = lint(&ws, &["tools/odd name.json", "--format", "github"]);
    assert_eq!(github.status(), 1);
    let lines: Vec<&str> = github.text().lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0]
            .starts_with("::error file=tools/odd name.json,line=3,col=5,title=name::a.b: name: "),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("::error file=tools/odd name.json,line=9,col=9,"),
        "{lines:?}"
    );
    let sarif = lint(&ws, &["tools/odd name.json", "--format", "sarif"]).json();
    check_sarif(&sarif);
    let results = &sarif["runs"][0]["results"];
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(
        *place,
        json!({"artifactLocation": {"uri": "tools/odd%20name.json"}, "region": {"startLine": 9, "startColumn": 9}})
    );
    let junit = lint(&ws, &["tools/odd name.json", "--format", "junit"]);
    check_junit(junit.text());
    junit.must_say(
        junit.text(),
        &[
            "failures=\"2\"",
            "type=\"property-name\"",
            "file=\"tools/odd name.json\" tests=\"2\"",
            ":9:9\"",
        ],
    );
}

#[test]
fn an_annotation_is_one_line_whatever_stands_in_it() {
    let document =
        json!([{"name": "a,b:c%\nd", "description": "d", "input_schema": {"type": "object"}}]);
    let ws = Workspace::new().file("x,y:z.json", document.to_string());
    let answer = lint(&ws, &["x,y:z.json", "--format", "github"]);
    assert_eq!(answer.text().lines().count(), 1);
    answer.must_say(
        answer.text(),
        &["file=x%2Cy%3Az.json,line=1,col=", "a,b:c%25\\nd"],
    );
}

/// A project as it was cloned: a tool with a fault, a sound one whose interpreter is not there, a
/// script that is no tool, and a pair whose command leaves a trace.
fn cloned() -> Workspace {
    let broken = "description = \"d\"\ncommand = [\"echo\", \"{nme}\"]\n";
    let script = "#!/usr/bin/env -S rubyy -w\n# /// tool\n# description = \"d\"\n# ///\n";
    let pair = "discovery_command = \"touch ran\"\ncall_command = \"no_such_program x\"\n";
    Workspace::new()
        .file(".gemini/tools/bad.toml", broken)
        .file(".gemini/tools/good.rb", script)
        .file(".gemini/tools/helper.sh", "#!/bin/sh\necho\n")
        .file(".gemini/tools/notes.txt", "About them.\n")
        .file(".gemini/tools/pair.toml", pair)
}

#[test]
fn a_project_s_tools_are_looked_at_without_trust_and_named_from_its_root() {
    let ws = cloned();
    let expected = [
        "error[manifest]: .gemini/tools/bad.toml:2:20: bad: command[1]: There is no parameter",
        "warning[missing-program]: .gemini/tools/good.rb:3:3: good: The program \"rubyy\" was not found",
        "warning[no-block]: .gemini/tools/helper.sh: helper: This file has no `/// tool` block",
        "warning[missing-program]: .gemini/tools/pair.toml:2:1: pair: call_command: The program \"no_such_program\"",
    ];
    let own = lint(&ws, &[]);
    let directory = lint(&ws, &[".gemini/tools"]);
    for answer in [&own, &directory] {
        assert_eq!(answer.status(), 1, "{}", answer.shown());
        answer.must_say(answer.text(), &expected);
        answer.must_say(answer.text(), &["1 tool in 3 files: 1 error, "]);
        assert!(!answer.text().contains("notes.txt"), "{}", answer.shown());
    }
    own.must_say(own.text(), &["warning[untrusted]: .gemini/tools: "]);
    let github = lint(&ws, &["--format", "github"]);
    github.must_say(
        github.text(),
        &["::error file=.gemini/tools/bad.toml,line=2,col=20,title=manifest::bad: "],
    );
    let sarif = lint(&ws, &["--format", "sarif"]).json();
    check_sarif(&sarif);
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], ".gemini/tools/bad.toml");
}

#[test]
fn files_and_directories_of_every_format_are_looked_at_together() {
    let declared = json!([{"name": "a b", "description": "d"}]).to_string();
    let ws = cloned()
        .file("more/declared.json", &declared)
        .file("more/package.json", "{\"name\": \"x\"}")
        .file("discovered", &declared);
    let files = [
        ".gemini/tools/bad.toml",
        ".gemini/tools/good.rb",
        ".gemini/tools/notes.txt",
        "more",
        "discovered",
    ];
    let answer = lint(&ws, &files);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    answer.must_say(
        answer.text(),
        &[
            "error[manifest]: .gemini/tools/bad.toml:2:20: ",
            "warning[missing-program]: .gemini/tools/good.rb:",
            "warning[no-block]: .gemini/tools/notes.txt: notes: This file has no",
            "error[name]: more/declared.json:1:21: ",
            "error[name]: discovered:1:21: ",
            "1 tool in 4 files: 3 errors, 2 warnings, ",
        ],
    );
    assert!(!answer.text().contains("package"), "{}", answer.shown());
}

#[test]
fn several_files_are_looked_at_together_and_each_is_named() {
    let good = anthropic("good", &json!({"type": "object"})).to_string();
    let ws = Workspace::new()
        .file("a.json", &good)
        .file("b.json", "{\n\"a\": \n}");
    let answer = lint(&ws, &["a.json", "b.json"]);
    assert_eq!(answer.status(), 1);
    answer.must_say(
        answer.text(),
        &[
            "error[json]: b.json:3:1: The text is not valid JSON: ",
            "1 tool in 2 files: 1 error, ",
        ],
    );
    let json = lint(&ws, &["a.json", "b.json", "--format", "json"]);
    let same = lint(&ws, &["a.json", "b.json", "--json"]);
    assert_eq!(json.text(), same.text());
    let none = lint(&ws, &["a.json", "--format", "github"]);
    assert_eq!((none.status(), none.stdout.len()), (0, 0));
    let junit = lint(&ws, &["a.json", "--format", "junit"]);
    junit.must_say(junit.text(), &["tests=\"1\" failures=\"0\" errors=\"0\""]);
}

#[test]
fn repaired_declarations_are_what_the_api_takes() {
    let schema = json!({"type": "object", "anyOf": [{"properties": {"a b": {"type": "string"}}}]});
    let ws = Workspace::new().file("t.json", anthropic("a.b", &schema).to_string());
    let answer = lint(&ws, &["t.json", "--print-repaired"]);
    assert_eq!(answer.status(), 1, "the file itself is as it was");
    assert!(!answer.stderr.is_empty());
    let again = lint_text(answer.text(), &["--dialect", "anthropic"]);
    assert_eq!(again.status(), 0, "{}", again.shown());
    let name = answer.json()[0]["name"].clone();
    assert!(
        name.as_str().is_some_and(|n| n.starts_with("a_b_")),
        "{name}"
    );
    let hopeless = json!([{"name": "t", "description": "d", "input_schema": []}]);
    let ws = Workspace::new().file("t.json", hopeless.to_string());
    assert_eq!(lint(&ws, &["t.json", "--print-repaired"]).json(), json!([]));
}

#[test]
fn what_can_not_be_looked_at_is_told_apart_from_what_is_wrong() {
    let ws = Workspace::new().file("latin.json", b"\"\xe9\"");
    for (args, said) in [
        (&["none.json"][..], "none.json: "),
        (&["latin.json"], "not text in UTF-8"),
        (&["--dialect", "openai"], "FILE"),
        (&["--print-repaired"], "FILE"),
        (&["latin.json", "--dialect", "cobol"], "openai-responses"),
        (&["latin.json", "--json", "--format", "text"], "--json"),
        (&["latin.json", "--format", "xml"], "junit"),
    ] {
        let answer = lint(&ws, args);
        assert_eq!((answer.status(), answer.stdout.len()), (2, 0), "{args:?}");
        answer.must_say(&answer.errors(), &[said]);
    }
    for text in ["7", "\"x\"", "{}", "[1]", "[{\"odd\":1}]"] {
        let answer = lint_text(text, &[]);
        assert_eq!(answer.status(), 1, "{text}");
        answer.must_say(answer.text(), &["error[dialect]", "--dialect"]);
    }
    for (text, at) in [
        ("{\"a\": 1,}", "line 1, column 9"),
        ("a: 1\n", "line 1, column 1"),
        ("", "line 1, column 1"),
    ] {
        let answer = lint_text(text, &[]);
        assert_eq!(answer.status(), 1, "{text}");
        answer.must_say(
            answer.text(),
            &[&format!("error[json]: {at}: The text is not valid JSON: ")],
        );
    }
    let empty = lint_text("[]", &[]);
    assert_eq!(empty.status(), 0);
    empty.must_say(empty.text(), &["0 tools in 1 file"]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(lint_text(&deep, &[]).status(), 1);
}

#[test]
fn without_a_file_it_is_about_the_users_own_tools_in_every_format() {
    let ws = Workspace::new()
        .home(".gemini/tools/bad.toml", "description = \"d\"\n")
        .home(
            ".gemini/tools/good.toml",
            "description = \"d\"\ncommand = [\"true\"]\n",
        );
    let run = |args: &[&str]| {
        let call = ws.get_tools(&["lint"]).flags(args);
        call.changing_at_home(&[".gemini/tmp"]).run()
    };
    let text = run(&[]);
    assert_eq!(text.status(), 1);
    text.must_say(text.text(), &["bad.toml:1:1: ", "1 tool in 2 files: "]);
    let sarif = run(&["--format", "sarif"]);
    assert_eq!(sarif.status(), 1);
    check_sarif(&sarif.json());
    sarif.must_say(sarif.text(), &["\"uri\":\"file:///", "bad.toml"]);
    let junit = run(&["--format", "junit"]);
    check_junit(junit.text());
    let github = run(&["--format", "github"]);
    github.must_say(
        github.text(),
        &["::error file=/", "bad.toml,line=1,col=1,title="],
    );
}

#[test]
fn findings_about_a_project_s_own_tools_name_line_and_column() {
    let ws = Workspace::new()
        .home(
            ".gemini/tools/bad.toml",
            "description = \"d\"\n\ncommand = [\n  \"echo\",\n  \"{nme}\",\n]\ntimeot = 3\n[params.name]\ntype = \"strng\"\n",
        )
        .home(".gemini/tools/broken.toml", "description = \"d\"\ncommand = [\"a\" \"b\"]\n")
        .home(
            ".gemini/tools/script.py",
            "#!/usr/bin/env python3\n# about it\n# /// tool\n# description = \"d\"\n# params.x = { type = \"nope\" }\n# ///\n",
        )
        .home(".gemini/tools/torn.sh", "#!/bin/sh\n# /// tool\n# description = = \"d\"\n# ///\n");
    let run = |args: &[&str]| {
        let call = ws.get_tools(&["lint"]).flags(args);
        call.changing_at_home(&[".gemini/tmp"]).run()
    };
    let text = run(&[]);
    text.must_say(
        text.text(),
        &[
            "bad.toml:5:3: bad: command[1]: ",
            "bad.toml:7:1: bad: timeot: ",
            "bad.toml:9:1: bad: params.name.type: ",
            "broken.toml:2:",
            "script.py:5:16: script: params.x.type: ",
            "torn.sh:3:",
            "The manifest is not valid TOML: ",
        ],
    );
    let sarif = run(&["--format", "sarif"]).json();
    check_sarif(&sarif);
    for result in sarif["runs"][0]["results"].as_array().expect("results") {
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert!(
            region["startLine"].is_u64() && region["startColumn"].is_u64(),
            "{result}"
        );
    }
    let github = run(&["--format", "github"]);
    github.must_say(github.text(), &["bad.toml,line=7,col=1,title=manifest::"]);
    let junit = run(&["--format", "junit"]);
    check_junit(junit.text());
    junit.must_say(
        junit.text(),
        &["bad.toml:7:1\"", "bad.toml\" tests=\"4\" failures=\"3\""],
    );
}

/// What is printed of a document as its API takes it, which must have no error left; the exit
/// status is that of the document as it was.
#[track_caller]
fn repaired(text: &str, dialect: &str, status: i32) -> String {
    let ws = Workspace::new().file("t.json", text);
    let flags = ["t.json", "--dialect", dialect, "--print-repaired"];
    let answer = lint(&ws, &flags);
    assert_eq!(answer.status(), status, "{}", answer.shown());
    let again = lint_text(answer.text(), &["--dialect", dialect]);
    assert_eq!(again.status(), 0, "{}", again.shown());
    answer.text().to_owned()
}

/// A function with a schema, as each of the APIs has it but Gemini's.
fn in_each_dialect(schema: &Value) -> [(&'static str, Value, &'static str); 4] {
    let flat = json!([{"type": "function", "name": "t", "description": "d",
        "parameters": schema, "strict": false}]);
    let server = json!({"tools": [{"name": "t", "description": "d", "inputSchema": schema}]});
    [
        ("anthropic", anthropic("t", schema), "/0/input_schema"),
        ("openai", openai("t", schema), "/0/function/parameters"),
        ("openai-responses", flat, "/0/parameters"),
        ("mcp", server, "/0/inputSchema"),
    ]
}

#[test]
fn what_is_no_json_schema_is_an_error_and_mended_in_what_is_printed() {
    let schema = json!({"type": "OBJECT", "required": "x", "properties": {
        "x": {"type": "str", "enum": "a"},
        "y": {"type": "numeric", "minimum": 1, "exclusiveMinimum": true},
        "z": {"not": {"type": ["int", "null"]}}}});
    let mended = json!({"type": "object", "required": ["x"], "properties": {
        "x": {"type": "string", "enum": ["a"]},
        "y": {"exclusiveMinimum": 1},
        "z": {"not": {"type": ["integer", "null"]}}}});
    for (dialect, document, place) in in_each_dialect(&schema) {
        let wanted = [
            ("bounds", "y"),
            ("enum", "x"),
            ("required", "schema"),
            ("type-name", "schema"),
            ("type-name", "x"),
            ("type-name", "y"),
            ("type-name", "z.not"),
        ];
        let mut wanted = wanted.map(|(rule, place)| (rule.to_owned(), place.to_owned()));
        wanted.sort();
        let found = findings(&document, &["--dialect", dialect]);
        assert_eq!(found.len(), wanted.len(), "{dialect}: {found:?}");
        assert_eq!(errors(&document, &["--dialect", dialect]), wanted);
        let printed = repaired(&document.to_string(), dialect, 1);
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(printed.pointer(place), Some(&mended), "{dialect}");
    }
    let empty = json!({"type": "object", "properties": {"x": {"type": "string", "enum": []}},
        "required": ["none"]});
    for (dialect, document, place) in in_each_dialect(&empty) {
        assert_eq!(errors(&document, &["--dialect", dialect]), []);
        let printed = repaired(&document.to_string(), dialect, 0);
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        let mended = json!({"type": "object", "properties": {"x": {"type": "string"}}});
        assert_eq!(printed.pointer(place), Some(&mended), "{dialect}");
    }
}

#[test]
fn a_schema_that_does_not_say_that_it_is_of_an_object_is_an_error() {
    for schema in [json!({}), json!({"properties": {"x": {"type": "string"}}})] {
        for (dialect, document, place) in in_each_dialect(&schema) {
            let mut wanted = one("type", "schema");
            let mut mended = schema.clone();
            mended["type"] = "object".into();
            if schema["properties"].is_null() && dialect.starts_with("openai") {
                wanted.insert(0, ("no-properties".to_owned(), "schema".to_owned()));
                mended["properties"] = json!({});
            }
            let found = errors(&document, &["--dialect", dialect]);
            assert_eq!(found, wanted, "{dialect}");
            let printed = repaired(&document.to_string(), dialect, 1);
            let printed: Value = serde_json::from_str(&printed).expect("JSON");
            assert_eq!(printed.pointer(place), Some(&mended), "{dialect}");
        }
    }
    let bare = json!([{"type": "function", "function": {"name": "t", "description": "d"}}]);
    assert!(findings(&bare, &[]).is_empty());
    assert_eq!(
        repaired(&bare.to_string(), "openai", 0),
        format!("{bare}\n")
    );
}

#[test]
fn what_needs_no_repair_is_printed_as_it_stands() {
    for (dialect, text) in [
        (
            "mcp",
            r#"[{"title":"T","name":"t","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"description":"d","type":"string"}},"additionalProperties":false},"outputSchema":{"type":"object"},"_meta":{"z":1,"a":[{"y":1,"b":2}]}}]"#,
        ),
        (
            "anthropic",
            r#"[{"type":"web_search_20250305","name":"web_search","max_uses":5},{"name":"t","input_schema":{"type":"object"},"description":"d","cache_control":{"type":"ephemeral"}},{"type":"custom","name":"u","description":"d","input_schema":{"type":"object"}}]"#,
        ),
        (
            "gemini",
            r#"[{"googleSearch":{}},{"functionDeclarations":[{"response":{"type":"STRING"},"name":"t","description":"d","behavior":"NON_BLOCKING","parametersJsonSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}},{"name":"u","description":"d"}],"codeExecution":{}}]"#,
        ),
        (
            "openai",
            r#"[{"type":"function","function":{"strict":true,"name":"t","description":"d","parameters":{"type":"object","properties":{},"additionalProperties":false}}},{"type":"custom","custom":{"name":"u"}}]"#,
        ),
        (
            "openai-responses",
            r#"[{"type":"web_search"},{"type":"function","name":"t","description":"d","strict":true,"parameters":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false}},{"type":"mcp","server_label":"s"}]"#,
        ),
    ] {
        let answer = lint_text(text, &["--json"]);
        assert_eq!(answer.text(), "", "{dialect}");
        assert_eq!(repaired(text, dialect, 0), format!("{text}\n"));
    }
}

#[test]
fn only_what_is_repaired_changes_in_what_is_printed() {
    for (dialect, text, wanted) in [
        (
            "mcp",
            r#"[{"title":"T","name":"a b","annotations":{"readOnlyHint":true},"parameters":{"type":"object"},"description":"d","_meta":{"z":1}}]"#,
            r#"[{"title":"T","name":"a_b_c8687a08","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"},"description":"d","_meta":{"z":1}}]"#,
        ),
        (
            "anthropic",
            r#"[{"cache_control":{"type":"ephemeral"},"name":"t","description":"d"}]"#,
            r#"[{"cache_control":{"type":"ephemeral"},"name":"t","description":"d","input_schema":{"properties":{},"type":"object"}}]"#,
        ),
        (
            "gemini",
            r#"{"functionDeclarations":[{"response":{"type":"STRING"},"parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}},"name":"t","description":"d"},{"description":"nameless"}]}"#,
            r#"[{"functionDeclarations":[{"response":{"type":"STRING"},"parametersJsonSchema":{"type":"object","properties":{"a":{"type":"string"}}},"name":"t","description":"d"}]}]"#,
        ),
        (
            "openai",
            r#"[{"type":"function","strict":true,"name":"t","description":"d","parameters":{"type":"object"}}]"#,
            r#"[{"type":"function","function":{"strict":false,"name":"t","description":"d","parameters":{"type":"object","properties":{}}}}]"#,
        ),
        (
            "openai-responses",
            r#"[{"function":{"name":"t","description":"d","parameters":{"type":"object"},"strict":false}}]"#,
            r#"[{"name":"t","description":"d","parameters":{"type":"object","properties":{}},"strict":false,"type":"function"}]"#,
        ),
        (
            "mcp",
            r#"[{"title":null,"name":"t","description":"d","annotations":{"readOnlyHint":"yes","idempotentHint":true,"x":1},"inputSchema":{"type":"object","properties":{"a":true,"b":false}},"outputSchema":{"properties":{}}}]"#,
            r#"[{"name":"t","description":"d","annotations":{"idempotentHint":true,"x":1},"inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}}}},"outputSchema":{"properties":{},"type":"object"}}]"#,
        ),
        (
            "mcp",
            r#"[{"name":"t","description":null,"annotations":5,"inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"_meta":{"z":1}}]"#,
            r#"[{"name":"t","inputSchema":{"type":"object"},"_meta":{"z":1}}]"#,
        ),
        (
            "openai",
            r#"[{"type":"function","function":{"name":"t","description":5,"parameters":{"type":"object","properties":{}},"strict":"yes"}}]"#,
            r#"[{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}},"strict":false}}]"#,
        ),
    ] {
        assert_eq!(repaired(text, dialect, 1), format!("{wanted}\n"));
    }
}

#[test]
fn what_an_alternative_requires_may_be_described_beside_it() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "object",
        "properties": {"p": {"type": "string"}, "q": {"type": "string"}},
        "anyOf": [{"required": ["p"]}, {"required": ["q"]}]}}});
    for (dialect, document, place) in in_each_dialect(&schema) {
        assert!(findings(&document, &["--dialect", dialect]).is_empty());
        let printed = repaired(&document.to_string(), dialect, 0);
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(printed.pointer(place), Some(&schema), "{dialect}");
    }
    let gemini = |key: &str| json!([{"name": "t", "description": "d", key: schema}]);
    let of_api = errors(&gemini("parameters"), &[]);
    let places = ["x.anyOf[0]", "x.anyOf[1]"];
    let wanted = places.map(|place| ("required".to_owned(), place.to_owned()));
    assert_eq!(of_api, wanted);
    for (key, status) in [("parameters", 1), ("parametersJsonSchema", 0)] {
        let printed = repaired(&gemini(key).to_string(), "gemini", status);
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        let alternatives = &printed[0]["parametersJsonSchema"]["properties"]["x"]["anyOf"];
        assert_eq!(alternatives[1]["required"], json!(["q"]), "{key}");
    }
    let unknown = json!({"type": "object", "properties": {"x": {"type": "object",
        "properties": {}, "anyOf": [{"required": ["none"]}]}}});
    let told = findings(&anthropic("t", &unknown), &[]);
    assert!(
        told.iter()
            .any(|(_, rule, place)| rule == "required" && place == "x.anyOf[0]")
    );
}

#[test]
fn references_stay_where_the_api_follows_them() {
    let schema = json!({"type": "object", "properties": {
        "x": {"$ref": "#/$defs/x", "description": "d"}, "y": {"$ref": "#y"}},
        "$defs": {"x": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}},
            "y": {"$anchor": "y", "type": "str"}}});
    for (dialect, document, place) in in_each_dialect(&schema) {
        assert_eq!(
            errors(&document, &["--dialect", dialect]),
            one("type-name", "$defs.y")
        );
        assert_eq!(findings(&document, &["--dialect", dialect]).len(), 1);
        let printed = repaired(&document.to_string(), dialect, 1);
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        let mut mended = schema.clone();
        mended["$defs"]["y"]["type"] = "string".into();
        assert_eq!(printed.pointer(place), Some(&mended), "{dialect}");
    }
}

#[test]
fn a_schema_for_each_place_of_a_list_is_written_as_the_api_takes_it() {
    let tuple = json!([{"type": "string"}, {"type": "number"}]);
    let list = |items: &Value| json!({"type": "object", "properties": {"x": items}});
    let given = list(&json!({"type": "array", "items": tuple, "additionalItems": false}));
    let prefixed = list(&json!({"type": "array", "prefixItems": tuple, "items": false}));
    let joined = list(&json!({"type": "array", "items": {"anyOf": tuple}}));
    for (dialect, document, place) in in_each_dialect(&given) {
        let (wanted, mended) = match dialect {
            "anthropic" => (one("tuple", "x"), &prefixed),
            "mcp" => (vec![], &given),
            _ => (one("tuple", "x"), &joined),
        };
        assert_eq!(errors(&document, &["--dialect", dialect]), wanted);
        let printed = repaired(&document.to_string(), dialect, i32::from(dialect != "mcp"));
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(printed.pointer(place), Some(mended), "{dialect}");
    }
    let answer = lint_text(&anthropic("t", &given).to_string(), &[]);
    answer.must_say(answer.text(), &["error[tuple]", "\"prefixItems\""]);
    assert!(findings(&anthropic("t", &prefixed), &[]).is_empty());
}

#[test]
fn a_keyword_with_a_value_of_another_kind_is_an_error_and_taken_out() {
    let faults = json!({"description": null, "title": 5, "minLength": -1, "maxLength": 1.5,
        "pattern": 7, "uniqueItems": "yes", "multipleOf": 0, "anyOf": [], "allOf": {},
        "additionalProperties": "no", "not": null, "patternProperties": [], "examples": 1});
    let number = json!({"type": "number", "minimum": "1.5"});
    let schema = json!({"type": "object", "properties": {"x": faults, "n": number,
        "": {"type": "wrong"}}, "required": ["n", "n", 7]});
    for (dialect, document, place) in in_each_dialect(&schema) {
        // Anthropic takes no empty name.
        let (empty, more) = match dialect {
            "anthropic" => ("_e3b0c442", one("property-name", "\"\"")),
            _ => ("", vec![]),
        };
        let found = errors(&document, &["--dialect", dialect]);
        let wanted = [
            ("bounds", "n"),
            ("keyword-value", "x"),
            ("required", "schema"),
            ("type-name", "\"\""),
        ];
        let wanted = wanted.map(|(rule, place)| (rule.to_owned(), place.to_owned()));
        let mut wanted = [&wanted[..], &more].concat();
        wanted.sort();
        assert_eq!(found, wanted, "{dialect}");
        let printed = repaired(&document.to_string(), dialect, 1);
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        let mended = json!({"type": "object", "properties": {"x": {},
            "n": {"type": "number", "minimum": 1.5}, empty: {}}, "required": ["n"]});
        assert_eq!(printed.pointer(place), Some(&mended), "{dialect}");
    }
}

#[test]
fn what_stands_where_a_schema_should_is_an_error_that_nothing_repairs() {
    for wrong in [json!("string"), json!(null), json!([])] {
        let schema = json!({"type": "object", "properties": {"x": {"type": "array",
            "items": {"type": "object", "properties": {"y": wrong}}}}});
        let gemini = json!([{"name": "t", "description": "d", "parametersJsonSchema": schema}]);
        let all = in_each_dialect(&schema).into_iter();
        let all = all.map(|(dialect, document, _)| (dialect, document));
        for (dialect, document) in all.chain([("gemini", gemini)]) {
            let found = errors(&document, &["--dialect", dialect]);
            assert_eq!(found, one("schema", "x.items.y"), "{dialect}: {wrong}");
            assert_eq!(repaired(&document.to_string(), dialect, 1), "[]\n");
        }
    }
}

#[test]
fn gemini_takes_no_type_that_it_does_not_know_and_no_parameters_that_are_no_schema() {
    for wrong in [json!("file"), json!(["string", "any"]), json!([]), json!(7)] {
        let schema = json!({"type": "object", "properties": {"x": {"type": wrong}}});
        let document = json!([{"name": "t", "description": "d", "parametersJsonSchema": schema}]);
        assert_eq!(errors(&document, &[]), one("untyped", "x"), "{wrong}");
    }
    let certain = json!({"type": "object", "properties": {"x": {"type": "file", "minLength": 1}}});
    let document = json!([{"name": "t", "description": "d", "parametersJsonSchema": certain}]);
    let printed = repaired(&document.to_string(), "gemini", 0);
    assert!(
        printed.contains(r#"{"minLength":1,"type":"string"}"#),
        "{printed}"
    );
    let php = json!([{"name": "t", "description": "d", "parameters": []}]);
    let printed = repaired(&php.to_string(), "gemini", 0);
    assert!(printed.contains(r#""parametersJsonSchema":{"#), "{printed}");
    for wrong in [json!("x"), json!([1]), json!(true)] {
        let document = json!([{"name": "t", "description": "d", "parameters": wrong}]);
        let found = errors(&document, &["--dialect", "gemini"]);
        assert_eq!(found, one("schema", "parametersJsonSchema"), "{wrong}");
    }
    let described = json!([{"name": "t", "description": 5}]);
    assert_eq!(errors(&described, &[]), one("description", "description"));
    repaired(&described.to_string(), "gemini", 1);
}

#[test]
fn what_gemini_s_own_schema_does_not_know_is_an_error_under_parameters_only() {
    for wrong in [
        json!({"type": "string", "const": "a"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"type": "number", "exclusiveMinimum": 1}),
        json!({"type": ["string", "null"]}),
        json!({"type": "array"}),
        json!({"type": "integer", "enum": [1, 2]}),
        json!({"type": "integer", "enum": ["1", "2"]}),
        json!({"type": "string", "enum": ["a", ""]}),
        json!({"type": "string", "format": "uri"}),
    ] {
        let schema = json!({"type": "object", "properties": {"x": wrong}});
        let with = |key: &str| json!([{"name": "t", "description": "d", key: schema}]);
        let found = errors(&with("parameters"), &[]);
        assert_eq!(found, one("native-schema", "x"), "{wrong}");
        assert_eq!(errors(&with("parametersJsonSchema"), &[]), [], "{wrong}");
        repaired(&with("parameters").to_string(), "gemini", 1);
    }
    let native = json!({"type": "OBJECT", "properties": {
        "x": {"type": "STRING", "format": "enum", "enum": ["a"], "nullable": true, "example": "a"},
        "y": {"type": "ARRAY", "items": {"type": "INTEGER", "format": "int32"}, "min_items": "1"}},
        "propertyOrdering": ["x", "y"]});
    let document = json!([{"name": "t", "description": "d", "parameters": native}]);
    assert_eq!(errors(&document, &[]), []);
}

#[test]
fn what_clients_refuse_a_whole_list_for_is_an_error_of_an_mcp_server() {
    for (more, wanted) in [
        (json!({"outputSchema": {"type": "object"}}), vec![]),
        (
            json!({"outputSchema": {"type": "array"}}),
            one("output-schema", "outputSchema"),
        ),
        (
            json!({"outputSchema": {}}),
            one("output-schema", "outputSchema"),
        ),
        (
            json!({"outputSchema": {"type": "object", "properties": {"x": true}}}),
            one("boolean-schema", "outputSchema.x"),
        ),
        (
            json!({"inputSchema": {"type": "object", "properties": {"x": false}}}),
            one("boolean-schema", "x"),
        ),
        (
            json!({"outputSchema": null}),
            one("tool-key", "outputSchema"),
        ),
        (json!({"annotations": []}), one("tool-key", "annotations")),
        (json!({"title": 5}), one("tool-key", "title")),
        (json!({"icons": [{}]}), one("tool-key", "icons")),
        (
            json!({"icons": [{"src": "https://a.example/i.png"}]}),
            vec![],
        ),
        (json!({"execution": null}), one("tool-key", "execution")),
        (
            json!({"annotations": {"title": 5}}),
            one("annotation", "annotations.title"),
        ),
        (
            json!({"annotations": {"readOnlyHint": null}}),
            one("annotation", "annotations.readOnlyHint"),
        ),
        (
            json!({"description": null}),
            one("description", "description"),
        ),
    ] {
        let document = mcp("t", &more);
        assert_eq!(errors(&document, &[]), wanted, "{more}");
        repaired(&document.to_string(), "mcp", i32::from(!wanted.is_empty()));
    }
}

#[test]
fn settings_that_wait_for_trust_are_told_of_with_line_and_column() {
    let settings = "{\n  // ours\n  \"mcpServers\": {\"a\": {\"command\": \"true\"}}\n}\n";
    let ws = Workspace::new().file(".gemini/settings.json", settings);
    let call = ws.get_tools(&["lint"]);
    let answer = call.changing_at_home(&[".gemini/tmp"]).run();
    answer.must_say(
        answer.text(),
        &["warning[untrusted]: ", "settings.json:3:3: mcpServers"],
    );
}
