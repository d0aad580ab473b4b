//! `--explain`: what a call would do, without doing it.

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace};

fn explain(ws: &Workspace, tool: &str, arguments: &Value) -> Answer {
    // The harness fails when anything changes on disk.
    ws.tool(tool)
        .flags(&["--explain"])
        .arguments(arguments)
        .run()
}

#[test]
fn reading_needs_no_confirmation() {
    let ws = Workspace::new().file("a.txt", "text\n");
    for (tool, arguments) in [
        ("read_file", json!({"absolute_path": ws.path("a.txt")})),
        ("list_directory", json!({"path": ws.path("")})),
        ("glob", json!({"pattern": "*"})),
        ("search_file_content", json!({"pattern": "text"})),
        ("read_many_files", json!({"paths": ["a.txt"]})),
    ] {
        let answer = explain(&ws, tool, &arguments);
        let plan = answer.json();
        assert_eq!(plan["confirmation"], false, "{tool}");
        assert!(
            plan["description"].as_str().is_some_and(|d| !d.is_empty()),
            "{tool}: {plan}"
        );
        assert!(plan["locations"].is_array(), "{tool}: {plan}");
        assert_eq!((answer.status(), answer.stderr.len()), (0, 0), "{tool}");
        let keys: Vec<_> = plan.as_object().expect("an object").keys().collect();
        assert_eq!(keys.len(), 4, "{keys:?}");
        assert_eq!(plan["policy"]["decision"], "allow", "{tool}");
    }
}

#[test]
fn edit_shows_its_diff() {
    let ws = Workspace::new().file("a.txt", "one\ntwo\n");
    let arguments = json!({"file_path": ws.path("a.txt"), "old_string": "two", "new_string": "2"});
    let answer = explain(&ws, "replace", &arguments);
    assert_eq!(answer.status(), 0);
    let plan = answer.json();
    assert_eq!(plan["locations"][0]["path"], ws.path("a.txt").as_str());
    let details = &plan["confirmation"];
    assert_eq!(details["type"], "edit");
    assert_eq!(details["fileName"], "a.txt");
    assert_eq!(details["filePath"], ws.path("a.txt").as_str());
    assert_eq!(details["originalContent"], "one\ntwo\n");
    assert_eq!(details["newContent"], "one\n2\n");
    let diff = details["fileDiff"].as_str().unwrap_or_default();
    assert!(diff.contains("-two\n") && diff.contains("+2\n"), "{diff}");
    assert!(
        details["title"]
            .as_str()
            .is_some_and(|t| t.contains("a.txt")),
        "{details}"
    );
}

#[test]
fn new_file_has_no_original_content() {
    let ws = Workspace::new();
    for (tool, arguments) in [
        (
            "write_file",
            json!({"file_path": "d/new.txt", "content": "x\n"}),
        ),
        (
            "replace",
            json!({"file_path": "d/new.txt", "old_string": "", "new_string": "x\n"}),
        ),
    ] {
        let details = explain(&ws, tool, &arguments).json()["confirmation"].clone();
        assert_eq!(details["originalContent"], Value::Null, "{tool}: {details}");
        assert_eq!(details["newContent"], "x\n");
    }
}

#[test]
fn refusals_end_with_their_status() {
    let ws = Workspace::new().file("a.txt", "one\n");
    for (tool, arguments, status) in [
        ("read_file", json!({"absolute_path": "/etc/hostname"}), 1),
        (
            "write_file",
            json!({"file_path": "../out/x", "content": ""}),
            1,
        ),
        ("read_file", json!({}), 2),
        (
            "replace",
            json!({"file_path": "a.txt", "old_string": "none", "new_string": "x"}),
            1,
        ),
        ("no_such_tool", json!({}), 2),
    ] {
        let answer = explain(&ws, tool, &arguments);
        assert_eq!(
            answer.status(),
            status,
            "{tool} {arguments}: {}",
            answer.text()
        );
        answer.json();
        assert!(answer.stderr.is_empty());
    }
}

#[test]
fn what_would_be_written_to_a_large_file_is_shown_whole() {
    let lines = "int main(void) { return 0; }\n".repeat(6000);
    let ws = Workspace::new().file("large.c", format!("let x = 1;\n{lines}"));
    let content = format!("let x = 2;\n{lines}");
    let edit =
        json!({"file_path": "large.c", "old_string": "let x = 1;", "new_string": "let x = 2;"});
    for (tool, arguments) in [
        ("replace", edit),
        (
            "write_file",
            json!({"file_path": "large.c", "content": content}),
        ),
    ] {
        let plan = explain(&ws, tool, &arguments).json();
        let after = plan["confirmation"]["newContent"].as_str();
        assert_eq!(after, Some(content.as_str()), "{tool}");
        let line = json!({"id": "a", "name": tool, "args": arguments}).to_string();
        let batch = ws.call_tool(&["--batch", "--explain"]).input(line).run();
        let after = batch.json()["confirmation"]["newContent"].clone();
        assert_eq!(after, content.as_str(), "{tool}");
    }
}
