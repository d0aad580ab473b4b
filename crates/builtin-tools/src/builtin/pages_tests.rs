//! Tests that the pages in `docs/tools` agree with the built-in tools. What follows [`MARK`] in a
//! page is written by hand and is not compared.
//!
//! `scripts/generate` writes the compared part anew, and the lists of tools in other files. Each
//! error of a page has a case in `tests/errors/cases.jsonl`, which `tests/docs/book.rs` provokes.

use super::{BuiltinTool, TOOLS, web_fetch};
use gemini_tools_core::tool::{kind_of_parameter, parameters};
use gemini_tools_test_harness::hold_generated;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const MARK: &str = "<!-- Generated up to here by scripts/generate. -->";

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn section(page: &mut String, heading: &str, table_head: &str, rows: &[String]) {
    if rows.is_empty() {
        return;
    }
    let columns = table_head.matches('|').count() - 1;
    page.push_str(&format!(
        "\n## {heading}\n\n{table_head}\n{}|\n{}\n",
        "|---".repeat(columns),
        rows.join("\n")
    ));
}

fn kind_of(tool: &BuiltinTool) -> String {
    let kind = serde_json::json!(tool.info.kind);
    kind.as_str().unwrap_or_default().to_owned()
}

fn facts(tool: &BuiltinTool) -> String {
    let info = &tool.info;
    let mut facts = format!("Kind `{}`, shown as {}.", kind_of(tool), info.display_name);
    if !info.aliases.is_empty() {
        let names: Vec<String> = info.aliases.iter().map(|a| format!("`{a}`")).collect();
        facts += &format!(" Also called {}.", names.join(", "));
    }
    for (is_so, fact) in [
        (info.is_idempotent, " Idempotent."),
        (info.is_open_world, " May reach beyond this machine."),
        (info.can_update_output, " Shows output while it runs."),
    ] {
        if is_so {
            facts += fact;
        }
    }
    facts
}

fn page(tool: &BuiltinTool) -> String {
    let BuiltinTool { name, usage, .. } = tool;
    let examples = usage.examples.join("\n");
    let mut page = format!(
        "# {name}\n\n```sh\n{examples}\n```\n\n{}\n\n{}\n",
        cell(tool.description),
        facts(tool)
    );
    let schema: Value = serde_json::from_str(tool.schema()).expect("a schema is JSON");
    let rows = parameters(&schema).into_iter().map(|parameter| {
        let required = if parameter.is_required {
            ", required"
        } else {
            ""
        };
        let (name, kind) = (parameter.name, parameter.kind);
        let meaning = cell(parameter.description);
        format!("| `{name}` | {kind}{required} | {meaning} |")
    });
    let rows: Vec<String> = rows.collect();
    section(&mut page, "Parameters", "| Name | Type | Meaning |", &rows);
    if rows.is_empty() {
        page.push_str("\n## Parameters\n\nNone.\n");
    }
    let mut other_names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for &(other, name) in usage.renamed {
        other_names
            .entry(name)
            .or_default()
            .push(format!("`{other}`"));
    }
    let renamed = other_names.iter().map(|(name, others)| {
        let kind = kind_of_parameter(&schema["properties"][*name]);
        format!("| {} | {kind} | The same as `{name}`. |", others.join(", "))
    });
    let more = tool.undeclared().into_iter().map(|more| {
        let meaning = cell(more.meaning);
        format!("| `{}` | {} | {meaning} |", more.name, more.kind)
    });
    let rows: Vec<String> = renamed.chain(more).collect();
    section(
        &mut page,
        "Other accepted arguments",
        "| Argument | Type | Meaning |",
        &rows,
    );
    let limits = usage.limits.iter();
    let rows: Vec<String> = limits
        .map(|(thing, limit)| format!("| {thing} | {limit} |"))
        .collect();
    section(&mut page, "Limits", "| What | Limit |", &rows);
    let errors = usage.errors.iter().map(|(kind, when)| {
        let kind = serde_json::json!(kind);
        format!("| `{}` | {when} |", kind.as_str().unwrap_or_default())
    });
    let rows: Vec<String> = errors.collect();
    section(&mut page, "Errors", "| `errorType` | When |", &rows);
    page.push_str(&format!("\n{MARK}\n"));
    page
}

fn overview() -> String {
    let mut page =
        "# The tools\n\n| Tool | Kind | Required | Optional |\n|---|---|---|---|\n".to_owned();
    for tool in TOOLS {
        let name = tool.name;
        let schema: Value = serde_json::from_str(tool.schema()).expect("a schema");
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema["properties"].as_object().expect("properties");
        let optional: Vec<&str> = properties
            .keys()
            .map(String::as_str)
            .filter(|name| !required.contains(name))
            .collect();
        let shown = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            names.join(", ")
        };
        page.push_str(&format!(
            "| [`{name}`]({name}.md) | {} | {} | {} |\n",
            kind_of(tool),
            shown(&required),
            shown(&optional)
        ));
    }
    page.push_str(&format!("\n{MARK}\n"));
    page
}

fn in_checkout(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

fn cases() -> Vec<Value> {
    let text = fs::read_to_string(in_checkout("tests/errors/cases.jsonl")).expect("the cases");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect()
}

/// Compares the generated part of a page with the file. With `GENERATE` set, writes it and keeps
/// the rest of the file.
fn hold(file: &str, generated: &str) {
    let path = in_checkout(file);
    let present = fs::read_to_string(&path).unwrap_or_default();
    let by_hand = present
        .split_once(&format!("{MARK}\n"))
        .map_or("", |(_, by_hand)| by_hand);
    hold_generated(file, &format!("{generated}{by_hand}"));
}

/// Checks that a list in a file has one line for each tool; with `GENERATE` set, writes the list
/// instead. `line_of` returns the beginning and the rest of a tool's line. If the list has a line
/// with this beginning, that line stays as it is; otherwise a line is made of both parts.
fn hold_list(
    file: &str,
    is_line: impl Fn(&str) -> bool,
    line_of: impl Fn(&BuiltinTool) -> (String, String),
) {
    let present = fs::read_to_string(in_checkout(file)).expect(file);
    let mut lines: Vec<&str> = present.lines().collect();
    let start = lines.iter().position(|line| is_line(line)).expect("a list");
    let count = lines[start..]
        .iter()
        .take_while(|line| is_line(line))
        .count();
    let rows = TOOLS.iter().map(|tool| {
        let (begin, rest) = line_of(tool);
        let known = lines[start..start + count]
            .iter()
            .find(|line| line.starts_with(&begin));
        known.map_or_else(|| format!("{begin}{rest}"), |line| (*line).to_owned())
    });
    let rows: Vec<String> = rows.collect();
    lines.splice(start..start + count, rows.iter().map(String::as_str));
    hold_generated(file, &(lines.join("\n") + "\n"));
}

#[test]
fn generated_tool_pages_are_current() {
    for tool in TOOLS {
        hold(&format!("docs/tools/{}.md", tool.name), &page(tool));
    }
    hold("docs/tools/index.md", &overview());
}

#[test]
fn generated_lists_have_every_tool_and_no_other() {
    hold_list(
        "README.md",
        |line| line.starts_with("| [`"),
        |tool| {
            let begin = format!("| [`{0}`](docs/tools/{0}.md) | ", tool.name);
            (begin, format!("{} |", tool.summary))
        },
    );
    hold_list(
        "docs/SUMMARY.md",
        |line| line.starts_with("  - [") && line.contains("](tools/"),
        |tool| (format!("  - [{0}](tools/{0}.md)", tool.name), String::new()),
    );
    // In Plan Mode, the extension's policy must deny every tool that changes something.
    let file = "packaging/extension/policies/plan-mode.toml";
    let present = fs::read_to_string(in_checkout(file)).expect("the rules");
    let changing = TOOLS.iter().filter(|tool| !tool.info.kind.is_read_only());
    let changing: Vec<String> = changing.map(|tool| format!("{:?}", tool.name)).collect();
    let lines = present.lines().map(|line| match line.split_once(" = [") {
        Some(("toolName", _)) => format!("toolName = [{}]\n", changing.join(", ")),
        _ => format!("{line}\n"),
    });
    hold_generated(file, &lines.collect::<String>());
}

#[test]
fn every_error_of_tool_pages_has_a_case_that_provokes_it() {
    let cases = cases();
    for tool in TOOLS {
        let name = tool.name;
        let provoked = cases.iter().filter(|case| case["tool"] == name);
        let provoked: Vec<Value> = provoked.map(|case| case["type"].clone()).collect();
        let errors = tool.usage.errors.iter();
        let said: Vec<Value> = errors.map(|(kind, _)| serde_json::json!(kind)).collect();
        assert_eq!(said, provoked, "{name}");
        let has_none = name == "list_background_processes";
        assert_eq!(said.is_empty(), has_none, "{name}");
    }
    for case in cases {
        let is_known = TOOLS.iter().any(|tool| case["tool"] == tool.name);
        assert!(is_known, "{case}");
    }
}

#[test]
fn every_tool_has_two_examples() {
    for tool in TOOLS {
        assert_eq!(tool.usage.examples.len(), 2, "{}", tool.name);
    }
}

#[test]
fn the_limits_of_web_fetch_are_those_of_what_fetches() {
    assert_eq!(
        web_fetch::PAGES_AT_ONCE,
        gemini_tools_net::web::AT_ONCE as u64
    );
    assert_eq!(
        web_fetch::PAGES_BYTES,
        gemini_tools_net::web::ALL_BYTES as u64
    );
    assert_eq!(web_fetch::PAGES_CHARS, gemini_tools_net::web::MODEL_CHARS);
}
