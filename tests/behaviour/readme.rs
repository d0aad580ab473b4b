//! The README: its shell examples are run, and its lists are compared with what the executables say. How examples are
//! written is said in `harness/page.rs`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::page::{Page, in_checkout};
use crate::harness::{Workspace, executable};

#[test]
fn examples_print_what_the_readme_says() {
    assert!(readme().run_examples() > 3, "the README has examples");
}

#[test]
fn first_command_searches_the_checkout() {
    let block = readme()
        .blocks("sh")
        .into_iter()
        .next()
        .expect("a first block");
    let command = block.text.lines().next().expect("a first command");
    let arguments = command
        .strip_prefix("bin/call_tool ")
        .expect("the first command calls a tool by its launcher");
    let script = format!("cd \"$1\" && \"$2\" {arguments}");
    let call_tool = text(&executable("call_tool"));
    let answer = Workspace::new()
        .program(
            Path::new("sh"),
            &["-c", &script, "sh", env!("CARGO_MANIFEST_DIR"), &call_tool],
        )
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.text());
    answer.must_say(answer.text(), &["File: src/tool/", ": pub trait Tool: "]);
}

#[test]
fn table_has_every_tool_with_all_its_parameters() {
    let readme = readme();
    let declared = Workspace::new().get_tools(&[]).run().json();
    let tools = declared.as_array().expect("a list");
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let row = readme
            .text()
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} has no row in the README's table"));
        let shown = row.split('|').nth(2).expect("a column of parameters");
        let schema = &tool["parametersJsonSchema"];
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let parameters = schema["properties"].as_object().expect("parameters");
        for parameter in parameters.keys() {
            let mark = if required.contains(&parameter.as_str()) {
                ""
            } else {
                "?"
            };
            let cell = format!("`{parameter}{mark}`");
            assert!(shown.contains(&cell), "{name}: {cell} is not in {shown}");
        }
        assert_eq!(shown.matches('`').count(), parameters.len() * 2, "{name}");
    }
}

#[test]
fn policy_rule_lists_every_tool() {
    let readme = readme();
    let declared = Workspace::new().get_tools(&[]).run().json();
    for tool in declared.as_array().expect("a list") {
        let line = format!(
            "  \"discovered_tool_{}\",",
            tool["name"].as_str().expect("a name")
        );
        assert!(readme.text().lines().any(|l| l == line), "{line}");
    }
}

#[test]
fn settings_are_json() {
    let snippets = readme().blocks("json");
    assert_eq!(snippets.len(), 3, "one for each spelling, one for hosts");
    for block in snippets {
        let parsed: Result<Value, _> = serde_json::from_str(&block.text);
        assert!(parsed.is_ok(), "README.md:{}: {parsed:?}", block.line);
    }
}

/// The registry's example is compiled and run, as a test of the documentation.
#[test]
fn library_example_is_that_of_the_registry() {
    let registry = fs::read_to_string(in_checkout("src/registry.rs")).expect("the registry");
    let mut documented = registry
        .lines()
        .filter_map(|line| line.strip_prefix("///"))
        .map(str::trim);
    for block in readme().blocks("rust") {
        for line in block.text.lines().map(str::trim) {
            assert!(
                line.is_empty() || documented.any(|d| d == line),
                "README.md:{}: not in the registry's documentation: {line}",
                block.line
            );
        }
    }
}

#[test]
fn links_lead_to_files_of_the_checkout() {
    let readme = readme();
    let targets: Vec<&str> = readme
        .text()
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.starts_with('#'))
        .collect();
    assert!(!targets.is_empty());
    for target in targets {
        assert!(in_checkout(target).exists(), "{target}");
    }
}

fn readme() -> Page {
    Page::read("README.md")
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}
