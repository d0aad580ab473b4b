//! The README: it is short, its shell examples are run, its table of tools is compared with what `get_tools` prints, and
//! its links lead somewhere. So are the pages of the book that took over its lists; `book` runs the examples of
//! all pages. How examples are written is said in `harness/page.rs`.

use std::path::Path;

use serde_json::Value;

use crate::book::anchors;
use crate::harness::page::{Page, in_checkout};
use crate::harness::{Workspace, executable};

#[test]
fn examples_print_what_the_readme_says() {
    assert!(readme().run_examples() > 1, "the README has examples");
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
    answer.must_say(
        answer.text(),
        &["File: crates/core/src/tool/", ": pub trait Tool: "],
    );
}

#[test]
fn it_is_short() {
    let readme = readme();
    assert!(readme.text().len() <= 14 * 1024, "{}", readme.text().len());
    assert!(readme.text().lines().count() <= 250);
    for (index, line) in readme.text().lines().enumerate() {
        let columns = line.chars().count();
        assert!(columns <= 120, "README.md:{}: {columns}", index + 1);
    }
}

#[test]
fn policy_rule_lists_every_tool() {
    let page = Page::read("docs/gemini-cli.md");
    for name in tools() {
        let item = format!("\"discovered_tool_{name}\",");
        assert!(page.text().contains(&item), "{item}");
    }
}

/// `book` reads the snippets of all pages.
#[test]
fn settings_name_both_commands_in_each_spelling() {
    let snippets = Page::read("docs/gemini-cli.md").blocks("json");
    let parsed: Vec<Value> = snippets
        .iter()
        .map(|block| serde_json::from_str(&block.text).expect("JSON"))
        .collect();
    let [now, before, ..] = parsed.as_slice() else {
        panic!("none for each spelling: {parsed:?}");
    };
    for (discovery, call) in [
        (
            &now["tools"]["discoveryCommand"],
            &now["tools"]["callCommand"],
        ),
        (&before["toolDiscoveryCommand"], &before["toolCallCommand"]),
    ] {
        let ends =
            |command: &Value, name: &str| command.as_str().is_some_and(|c| c.ends_with(name));
        assert!(ends(discovery, "bin/get_tools"), "{parsed:?}");
        assert!(ends(call, "bin/call_tool"), "{parsed:?}");
    }
}

#[test]
fn links_lead_to_files_and_headings_of_the_checkout() {
    let readme = readme();
    let targets: Vec<&str> = readme
        .text()
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(targets.len() > 30);
    for target in targets {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        assert!(in_checkout(file).exists(), "{target}");
        let is_there = heading.is_empty() || anchors(&Page::read(file)).contains(heading);
        assert!(is_there, "{target}");
    }
}

fn readme() -> Page {
    Page::read("README.md")
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The names of all tools, as `get_tools` has them.
fn tools() -> Vec<String> {
    let declared = Workspace::new().get_tools(&[]).run().json();
    let tools = declared.as_array().expect("a list");
    let names = tools.iter().map(|tool| tool["name"].as_str());
    names.map(|name| name.expect("a name").to_owned()).collect()
}
