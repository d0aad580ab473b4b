//! What CI services read: `--fail-on-match`, `--sarif` and `--junit` of `call_tool`, and the checks of those formats.

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace};

/// The essentials of the schema of SARIF 2.1.0: what it requires, and that nothing else is there.
#[track_caller]
pub(crate) fn check_sarif(document: &Value) {
    only(document, &["$schema", "version", "runs"]);
    assert_eq!(document["version"], "2.1.0");
    let schema = document["$schema"].as_str().expect("a URI");
    assert!(schema.starts_with("https://") && schema.ends_with("sarif-2.1.0.json"));
    for run in array(&document["runs"]) {
        only(run, &["tool", "columnKind", "invocations", "results"]);
        only(&run["tool"], &["driver"]);
        let driver = &run["tool"]["driver"];
        only(driver, &["name", "version", "rules"]);
        assert!(text(&driver["name"]) && text(&driver["version"]));
        let rules = array(&driver["rules"]);
        assert!(rules.iter().all(|rule| text(&rule["id"])), "{rules:?}");
        let mut ids: Vec<String> = rules.iter().map(|rule| rule["id"].to_string()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), rules.len(), "rules are unique");
        assert!(matches!(
            run["columnKind"].as_str(),
            Some("utf16CodeUnits" | "unicodeCodePoints")
        ));
        for invocation in array(&run["invocations"]) {
            only(
                invocation,
                &["executionSuccessful", "toolExecutionNotifications"],
            );
            assert!(invocation["executionSuccessful"].is_boolean());
            for note in array(&invocation["toolExecutionNotifications"]) {
                only(note, &["level", "message"]);
                check_level(&note["level"]);
                assert!(text(&note["message"]["text"]));
            }
        }
        for result in array(&run["results"]) {
            check_result(result, rules);
        }
    }
}

#[track_caller]
fn check_result(result: &Value, rules: &[Value]) {
    only(
        result,
        &["ruleId", "ruleIndex", "level", "message", "locations"],
    );
    check_level(&result["level"]);
    assert!(text(&result["message"]["text"]), "{result}");
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(rules[index]["id"], result["ruleId"]);
    for location in result["locations"].as_array().into_iter().flatten() {
        only(location, &["physicalLocation"]);
        let place = &location["physicalLocation"];
        only(place, &["artifactLocation", "region"]);
        let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/%".contains(&b);
        assert!(uri.bytes().all(fits), "{uri}");
        if let Some(region) = place.get("region") {
            only(region, &["startLine", "startColumn"]);
            assert!(region["startLine"].as_u64() >= Some(1), "{region}");
            let column = region.get("startColumn");
            assert!(column.is_none_or(|c| c.as_u64() >= Some(1)), "{region}");
        }
    }
}

#[track_caller]
fn check_level(level: &Value) {
    let known = ["none", "note", "warning", "error"];
    assert!(known.iter().any(|name| level == name), "{level}");
}

#[track_caller]
fn only(value: &Value, keys: &[&str]) {
    for key in value.as_object().expect("an object").keys() {
        assert!(keys.contains(&key.as_str()), "{key}: {value}");
    }
}

#[track_caller]
fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// That an XML document is well formed as far as ours can go wrong: tags are balanced, and nothing
/// stands in an attribute or a text that must not.
#[track_caller]
pub(crate) fn check_xml(document: &str) {
    let rest = document.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut rest = rest.expect("a declaration");
    let mut open: Vec<&str> = Vec::new();
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        check_text(before);
        let end = tag.find('>').expect("a tag ends");
        let inner = &tag[1..end];
        rest = &tag[end + 1..];
        if let Some(name) = inner.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{document}");
            continue;
        }
        let name = inner.split([' ', '/']).next().expect("a name");
        assert_eq!(inner.matches('"').count() % 2, 0, "{inner}");
        check_text(inner);
        if !inner.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{document}");
}

#[track_caller]
fn check_text(text: &str) {
    let is_fine = |c: char| c >= ' ' || c == '\n';
    assert!(text.chars().all(is_fine), "{text:?}");
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#"];
        assert!(known.iter().any(|e| text[at..].starts_with(e)), "{text:?}");
    }
}

fn project() -> Workspace {
    Workspace::new()
        .file("src/a b.rs", "fn main() {\n    ünï // TODO: \"x\" <&>\n}\n")
        .file("src/c.rs", "// nothing\n// todo TODO\n")
}

fn search(ws: &Workspace, arguments: &[&str]) -> Answer {
    ws.call_tool(&["search_file_content"])
        .flags(arguments)
        .run()
}

#[test]
fn a_match_fails_and_none_does_not() {
    let ws = project();
    for (pattern, status) in [("TODO", 1), ("FIXME", 0)] {
        let argument = format!("pattern={pattern}");
        for form in ["part", "response", "content", "result", "text"] {
            let with = search(&ws, &[&argument, "--fail-on-match", "--output", form]);
            let without = search(&ws, &[&argument, "--output", form]);
            assert_eq!((with.status(), without.status()), (status, 0), "{form}");
            assert_eq!(with.stdout, without.stdout, "the answer is the same");
            assert!(with.stderr.is_empty());
        }
    }
    let counted = search(&ws, &["pattern=TODO", "count:=true", "--fail-on-match"]);
    assert_eq!(counted.status(), 1);
}

#[test]
fn a_search_that_goes_wrong_keeps_its_own_status() {
    let ws = project();
    for (arguments, status) in [
        (["pattern=(", "--fail-on-match"], 2),
        (["path=none", "--fail-on-match"], 2),
        (["pattern=(", "--sarif"], 2),
        (["pattern=(", "--junit"], 2),
    ] {
        let answer = search(&ws, &arguments);
        assert_eq!(answer.status(), status, "{arguments:?}");
    }
    let sarif = search(
        &ws,
        &["pattern=x", "path=none", "--sarif", "--fail-on-match"],
    );
    assert_eq!(sarif.status(), 1);
    let document = sarif.json();
    check_sarif(&document);
    let invocation = &document["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let junit = search(&ws, &["pattern=x", "path=none", "--junit"]);
    check_xml(junit.text());
    junit.must_say(junit.text(), &["errors=\"1\"", "<error message="]);
}

#[test]
fn sarif_names_file_line_and_column_of_each_match() {
    let ws = project();
    let answer = search(&ws, &["pattern=TODO", "--sarif"]);
    assert_eq!(answer.status(), 0, "without --fail-on-match");
    let document = answer.json();
    check_sarif(&document);
    let results = array(&document["runs"][0]["results"]);
    let places: Vec<_> = results
        .iter()
        .map(|r| {
            let place = &r["locations"][0]["physicalLocation"];
            let region = &place["region"];
            json!([
                place["artifactLocation"]["uri"],
                region["startLine"],
                region["startColumn"]
            ])
        })
        .collect();
    assert_eq!(
        places,
        [json!(["src/a%20b.rs", 2, 12]), json!(["src/c.rs", 2, 4])]
    );
    // The engine for look-around knows columns too, and names of files alone have none.
    let back = search(&ws, &["pattern=(?<=do )TODO", "--sarif"]).json();
    let region = &back["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(*region, json!({"startLine": 2, "startColumn": 9}));
    let names = search(&ws, &["pattern=TODO", "names_only:=true", "--sarif"]).json();
    check_sarif(&names);
    let place = &names["runs"][0]["results"][1]["locations"][0]["physicalLocation"];
    assert_eq!(*place, json!({"artifactLocation": {"uri": "src/c.rs"}}));
    let none = search(&ws, &["pattern=FIXME", "--sarif", "--fail-on-match"]);
    assert_eq!(
        (
            none.status(),
            array(&none.json()["runs"][0]["results"]).len()
        ),
        (0, 0)
    );
}

#[test]
fn sarif_says_that_not_everything_is_told() {
    let ws = Workspace::new().file("many", "x\n".repeat(30));
    let answer = search(&ws, &["pattern=x", "total_max_matches:=20", "--sarif"]);
    let document = answer.json();
    check_sarif(&document);
    let run = &document["runs"][0];
    assert_eq!(array(&run["results"]).len(), 20);
    let notes = &run["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notes[0]["level"], "warning");
    answer.must_say(&notes[0].to_string(), &["first 20 matches"]);
}

#[test]
fn junit_is_well_formed_whatever_the_files_hold() {
    let ws = project().file("odd", "TODO \u{1}\u{1b}[2J ]]> &amp; '\"\n");
    let answer = search(&ws, &["pattern=TODO", "--junit", "--fail-on-match"]);
    assert_eq!(answer.status(), 1);
    check_xml(answer.text());
    answer.must_say(
        answer.text(),
        &[
            "tests=\"3\" failures=\"3\"",
            "line=\"2\"",
            "&lt;&amp;&gt;",
            "file=\"src/a b.rs\"",
        ],
    );
    let none = search(&ws, &["pattern=FIXME", "--junit", "--fail-on-match"]);
    assert_eq!(none.status(), 0);
    check_xml(none.text());
    none.must_say(none.text(), &["tests=\"1\" failures=\"0\""]);
}

#[test]
fn structured_results_name_the_places_too() {
    let answer = search(&project(), &["pattern=nothing", "--output", "result"]).json();
    assert_eq!(
        answer["data"]["locations"],
        json!([{"file": "src/c.rs", "line": 1, "column": 4, "text": "// nothing"}])
    );
}

#[test]
fn tools_that_find_nothing_are_refused_and_do_nothing() {
    let ws = project();
    for flag in ["--fail-on-match", "--sarif", "--junit"] {
        for arguments in [
            &["read_file", "absolute_path=src/c.rs", flag][..],
            &["write_file", "file_path=new", "content=x", flag],
            &["no_such_tool", flag],
        ] {
            let answer = ws.call_tool(arguments).run();
            assert_eq!(answer.status(), 2, "{arguments:?}");
        }
    }
    let answer = ws.call_tool(&["write_file", "file_path=n", "content=", "--fail-on-match"]);
    let message = answer.run().error("invalid_tool_params", 2);
    assert!(
        message.contains("--fail-on-match is for searches"),
        "{message}"
    );
    for flags in [
        ["--sarif", "--junit"],
        ["--sarif", "--stream"],
        ["--junit", "--explain"],
    ] {
        let answer = search(&ws, &[&["pattern=x"][..], &flags].concat());
        assert_eq!(answer.status(), 2, "{flags:?}");
    }
}
