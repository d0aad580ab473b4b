//! `get_tools lint FILE`: own tools and printed declarations, and the formats of the findings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::sarif::{check_junit, check_sarif};
use crate::harness::{Answer, Workspace, set_mode};

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
fn findings(list: &Value) -> BTreeSet<(String, String, String)> {
    let answer = lint_text(&list.to_string(), &["--json"]);
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
fn errors(list: &Value) -> Vec<(String, String)> {
    let all = findings(list).into_iter();
    let errors = all.filter(|(severity, _, _)| severity == "error");
    errors.map(|(_, rule, place)| (rule, place)).collect()
}

fn one(rule: &str, place: &str) -> Vec<(String, String)> {
    vec![(rule.to_owned(), place.to_owned())]
}

/// A list of one declaration with a parameter `x`.
fn declaring(x: &Value) -> Value {
    json!([{"name": "t", "description": "d",
        "parametersJsonSchema": {"type": "object", "properties": {"x": x}}}])
}

#[test]
fn what_get_tools_prints_is_sound() {
    let ws = Workspace::new();
    for wrap in [&[][..], &["--wrap"]] {
        let printed = ws.get_tools(&["--format", "gemini"]).flags(wrap).run();
        let answer = lint_text(printed.text(), &[]);
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        let summary = "16 tools in 1 file: 0 errors, 0 warnings, 0 repairs";
        answer.must_say(answer.text(), &[summary]);
    }
}

#[test]
fn what_a_host_would_refuse_of_a_declaration_is_an_error() {
    assert_eq!(errors(&declaring(&json!({"type": "string"}))), []);
    let untyped = declaring(&json!({"description": "d"}));
    assert_eq!(errors(&untyped), one("untyped", "x"));
    for wrong in [json!("file"), json!([]), json!(7)] {
        let document = declaring(&json!({ "type": wrong }));
        assert_eq!(errors(&document), one("untyped", "x"), "{wrong}");
    }
    for wrong in [json!("string"), json!(null), json!([])] {
        let document = declaring(&json!({"type": "object", "properties": {"y": wrong}}));
        assert_eq!(errors(&document), one("schema", "x.y"), "{wrong}");
        let document = json!([{"name": "t", "description": "d", "parametersJsonSchema": "x"}]);
        assert_eq!(errors(&document), one("schema", "parametersJsonSchema"));
    }
    for (list, code, key) in [
        (json!([{"name": "a b", "description": "d"}]), "name", "name"),
        (
            json!([{"name": "a", "description": "d"}, {"name": "a", "description": "d"}]),
            "duplicate-name",
            "name",
        ),
        (
            json!([{"name": "a", "description": "d\u{200b}x"}]),
            "hidden-text",
            "description",
        ),
        (json!([{"description": "d"}]), "nameless", "name"),
        (json!([1]), "nameless", "name"),
    ] {
        assert_eq!(errors(&list), one(code, key), "{list}");
    }
}

#[test]
fn what_get_tools_repairs_of_a_declaration_is_no_error() {
    let codes = |list: &Value, severity: &str| -> Vec<String> {
        let found = findings(list).into_iter().filter(|(s, _, _)| s == severity);
        found.map(|(_, code, _)| code).collect()
    };
    let native = json!([{"name": "t", "description": "d", "parameters": {"type": "OBJECT"}}]);
    assert_eq!(codes(&native, "repair"), ["parameters-key", "type-name"]);
    let wrapped = json!([{"type": "function", "function": {"name": "t", "description": "d"}}]);
    assert_eq!(codes(&wrapped, "repair"), ["wrapper"]);
    let odd = declaring(&json!({"type": "string", "format": "uri", "minLength": "1", "x-own": 1}));
    assert_eq!(codes(&odd, "repair"), ["keyword"]);
    let long = json!([{"name": "x".repeat(50), "description": "d"}]);
    assert_eq!(codes(&long, "warning"), ["long-name"]);
    for list in [native, wrapped, odd, long] {
        assert_eq!(errors(&list), []);
    }
}

#[test]
fn a_rule_file_is_known_however_it_is_written_and_wherever_it_lies() {
    let body = "id = 'r'\npattern = 'x'\n";
    let ws = Workspace::new()
        .file("d/1.toml", format!("[[rule]]\n{body}"))
        .file("d/2.toml", format!("[[ rule ]]\n{body}"))
        .file("d/3.toml", format!("[[\"rule\"]]\n{body}"))
        .file("d/4.toml", "rule = [{ id = 'r', pattern = 'x' }]\n");
    let clean = ["d/1.toml", "d/2.toml", "d/3.toml", "d/4.toml"];
    for args in [&clean[..], &["d"]] {
        let answer = lint(&ws, args);
        let summary = "0 tools and 4 rules in 4 files: 0 errors, 0 warnings, 0 repairs\n";
        assert_eq!(answer.text(), summary, "{args:?}");
    }
    for (text, status, says) in [
        (
            "[[ rule ]]\nid = 'r'\npattern = 'x'\n",
            0,
            "1 rule in 1 file",
        ),
        ("[rule]\nid = 'r'\n", 1, "each begins with [[rule]]"),
        ("[[rules]]\nid = 'r'\n", 1, "Did you mean \"rule\"?"),
    ] {
        let answer = lint_text(text, &[]);
        assert_eq!(answer.status(), status, "{}", answer.shown());
        answer.must_say(answer.text(), &[says]);
    }
}

/// Two errors, in lines 3 and 9.
const ODD: &str = "[\n  {\n    \"name\": \"a b\",\n    \"description\": \"d\",\n    \"parametersJsonSchema\": {\n      \
    \"type\": \"object\",\n      \"properties\": {\n        \"ok\": { \"type\": \"string\" },\n        \
    \"x y\": { \"title\": \"t\" }\n      }\n    }\n  }\n]\n";

#[test]
fn findings_name_the_line_and_column_in_which_the_key_stands() {
    let ws = Workspace::new().file("tools/odd name.json", ODD);
    let answer = lint(&ws, &["tools/odd name.json"]);
    assert_eq!(answer.status(), 1);
    let text = answer.text();
    answer.must_say(
        text,
        &[
            "error[name]: tools/odd name.json:3:5: a b: name: ",
            "error[untyped]: tools/odd name.json:9:9: a b: x y: ",
            "0 tools in 1 file: 2 errors, 0 warnings, 0 repairs\n",
        ],
    );
    let github = lint(&ws, &["tools/odd name.json", "--format", "github"]);
    assert_eq!(github.status(), 1);
    let lines: Vec<&str> = github.text().lines().collect();
    assert_eq!(lines.len(), 2);
    let first = "::error file=tools/odd name.json,line=3,col=5,title=name::a b: name: ";
    assert!(lines[0].starts_with(first), "{lines:?}");
    let second = "::error file=tools/odd name.json,line=9,col=9,";
    assert!(lines[1].starts_with(second), "{lines:?}");
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
            "type=\"untyped\"",
            "classname=\"tools/odd name.json\"",
            ":9:9\"",
        ],
    );
}

#[test]
fn an_annotation_is_one_line_whatever_stands_in_it() {
    let list = json!([{"name": "a,b:c%\nd", "description": "d"}]);
    let ws = Workspace::new().file("x,y:z.json", list.to_string());
    let answer = lint(&ws, &["x,y:z.json", "--format", "github"]);
    assert_eq!(answer.text().lines().count(), 1);
    answer.must_say(
        answer.text(),
        &["file=x%2Cy%3Az.json,line=1,col=", "a,b:c%25\\nd"],
    );
}

#[test]
fn several_files_are_looked_at_together_and_each_is_named() {
    let good = json!([{"name": "good", "description": "d"}]).to_string();
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
fn what_can_not_be_looked_at_is_told_apart_from_what_is_wrong() {
    let ws = Workspace::new().file("latin.json", b"\"\xe9\"");
    for (args, said) in [
        (&["none.json"][..], "none.json: "),
        (&["latin.json"], "not text in UTF-8"),
        (&["latin.json", "--json", "--format", "text"], "--json"),
        (&["latin.json", "--format", "xml"], "junit"),
    ] {
        let answer = lint(&ws, args);
        assert_eq!((answer.status(), answer.stdout.len()), (2, 0), "{args:?}");
        answer.must_say(&answer.errors(), &[said]);
    }
    for text in ["7", "\"x\"", "{}", "{\"tools\": []}"] {
        let answer = lint_text(text, &[]);
        assert_eq!(answer.status(), 1, "{text}");
        answer.must_say(
            answer.text(),
            &["error[json]", "not an array of declarations"],
        );
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
fn a_directory_of_tools_that_can_not_be_read_is_no_empty_one() {
    let tool = "description = \"d\"\ncommand = [\"true\"]\n";
    let ws = Workspace::new()
        .home(".gemini/tools/t.toml", tool)
        .unprivileged();
    let directory = ws.root().join("home/.gemini/tools");
    set_mode(&directory, 0);
    let answer = lint(&ws, &[]);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    answer.must_say(answer.text(), &[".gemini/tools", "Permission denied"]);
    let notes = ws.get_tools(&["--notes"]).unwatched().run();
    notes.must_say(&notes.errors(), &[".gemini/tools", "Permission denied"]);
    set_mode(&directory, 0o755);
    assert_eq!(lint(&ws, &[]).status(), 0);
}

/// A project as it was cloned: a tool with a fault, a sound one, a script that is no tool, and a pair
/// whose command leaves a trace.
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
        "warning[no-block]: .gemini/tools/helper.sh: helper: This file has no `/// tool` block",
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
            "warning[no-block]: .gemini/tools/notes.txt: notes: This file has no",
            "error[name]: more/declared.json:1:21: ",
            "error[name]: discovered:1:21: ",
            "1 tool in 4 files: 3 errors, 1 warning, ",
        ],
    );
    assert!(!answer.text().contains("package"), "{}", answer.shown());
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
            "description = \"d\"\n\ncommand = [\n  \"echo\",\n  \"{nme}\",\n]\ntimeout = 0\n[params.name]\ntype = \"strng\"\n",
        )
        .home(".gemini/tools/slip.toml", "description = \"d\"\ntimeot = 3\n")
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
            "bad.toml:7:1: bad: timeout: ",
            "bad.toml:9:1: bad: params.name.type: ",
            "broken.toml:2:",
            "slip.toml:2:1: slip: timeot: Unknown field `timeot`, ",
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
        &["bad.toml:7:1\"", "bad.toml\" name=\"manifest: "],
    );
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

#[test]
fn paths_for_ci_are_those_of_the_repository() {
    let ws = Workspace::new()
        .git()
        .file("ci/checks/a b.json", "[")
        .link("checks", "ci/checks");
    for (directory, file) in [
        (".", "ci/checks/a b.json"),
        ("ci", "checks/a b.json"),
        ("checks", "a b.json"),
    ] {
        for (format, wanted) in [
            ("github", "file=ci/checks/a b.json,"),
            ("junit", "classname=\"ci/checks/a b.json\""),
            ("sarif", "\"uri\":\"ci/checks/a%20b.json\""),
            ("text", file),
        ] {
            let call = ws.get_tools(&["lint", file, "--format", format]);
            let answer = call
                .in_bash(&format!("cd {directory} && exec \"$@\""))
                .run();
            assert_eq!(answer.status(), 1, "{}", answer.shown());
            answer.must_say(answer.text(), &[wanted]);
        }
    }
}
