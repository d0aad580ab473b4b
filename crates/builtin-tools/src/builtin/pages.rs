//! The pages about the built-in tools in `docs/tools`: all that can be told from the code is
//! there as the code has it. What follows the mark is written by hand.
//!
//! `UPDATE_TOOL_PAGES=1 cargo test --workspace --lib tool_pages` writes it anew. The errors are those of
//! `tests/errors/cases.jsonl`, each of which `tests/docs/book.rs` provokes.

use super::{
    ALL, READ_LIMIT_CHARS, Spec, glob, list_background_processes, read_background_output,
    read_file, read_many_files, run_shell_command, save_memory, search, search_file_content,
    smart_edit, web_fetch, words::words, write_file,
};
use gemini_tools_core::tool::{kind_of_parameter, parameters};
use gemini_tools_workspace::media::MAX_MEDIA_BYTES;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is generated ends with this line.
const MARK: &str =
    "<!-- Written by UPDATE_TOOL_PAGES=1 cargo test --workspace --lib tool_pages up to here. -->";

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", grouped(bytes / (1024 * 1024)))
}

fn characters(count: usize) -> String {
    format!("{} characters", grouped(count as u64))
}

fn seconds(time: Duration) -> String {
    format!("{} s", grouped(time.as_secs()))
}

/// What is limited, and to how much, first of the tools for files. The limit of every answer is
/// on the page about all tools.
fn limits(name: &str) -> Vec<(&'static str, String)> {
    let media = ("media", mebibytes(MAX_MEDIA_BYTES));
    let text = ("the text of an answer", characters(READ_LIMIT_CHARS));
    let line = ("a line that is shown", characters(read_file::LINE_CHARS));
    match name {
        "glob" => vec![
            (
                "files that count as recent, and stand first",
                format!("changed within {} hours", glob::RECENT_SECS / 3600),
            ),
            ("paths of matching files", mebibytes(glob::MAX_BYTES as u64)),
        ],
        "list_directory" => vec![(
            "names of entries",
            mebibytes(gemini_tools_workspace::walk::MAX_ENTRIES_BYTES as u64),
        )],
        "replace" => vec![(
            "places that one call replaces",
            grouped(gemini_tools_workspace::edit::MAX_PLACES as u64),
        )],
        "read_file" => vec![
            (
                "lines, where `limit` is missing",
                grouped(read_file::DEFAULT_LINES),
            ),
            line,
            text,
            media,
            (
                "a file whose lines are counted without `count_lines`",
                mebibytes(read_file::COUNT_BYTES),
            ),
        ],
        "read_many_files" => vec![
            ("lines of each file", grouped(read_file::DEFAULT_LINES)),
            line,
            text,
            ("media, all together", media.1),
            (
                "files that are looked at, in the order of their paths",
                grouped(read_many_files::MAX_FILES as u64),
            ),
            (
                "skipped files that are named",
                read_many_files::NAMED_SKIPS.to_string(),
            ),
        ],
        "search_file_content" => vec![
            (
                "matching lines, where `total_max_matches` is missing",
                grouped(search_file_content::MAX_MATCHES),
            ),
            (
                "lines that are shown, with 64 bytes for each",
                mebibytes(search_file_content::MAX_BYTES as u64),
            ),
            (
                "lines of `context`, `before` and `after`",
                grouped(search_file_content::MAX_CONTEXT_LINES),
            ),
            (
                "an expression, in bytes",
                grouped(search::MAX_PATTERN_BYTES as u64),
            ),
            (
                "the same in characters, repetitions written out",
                grouped(search::MAX_CHARS),
            ),
            (
                "the program of an expression",
                mebibytes(search::PROGRAM_BYTES as u64),
            ),
        ],
        "smart_edit" => vec![(
            "a file that is sent to a model, where edit matching ends",
            characters(smart_edit::MODEL_CHARS),
        )],
        "write_file" => vec![(
            "a present file that is compared with the new content",
            mebibytes(write_file::DIFF_BYTES),
        )],
        _ => limits_elsewhere(name),
    }
}

/// The limits of the tools for commands, memory and the web.
fn limits_elsewhere(name: &str) -> Vec<(&'static str, String)> {
    match name {
        "list_background_processes" => vec![
            (
                "processes that have ended",
                format!("the last {}", list_background_processes::MAX_ENDED),
            ),
            (
                "a command line that is shown",
                characters(list_background_processes::MAX_COMMAND_CHARS),
            ),
        ],
        "read_background_output" => vec![
            (
                "lines, where `lines` is missing",
                read_background_output::DEFAULT_LINES.to_string(),
            ),
            (
                "the wait for `pattern`, where `wait` is missing",
                seconds(read_background_output::DEFAULT_WAIT),
            ),
            (
                "a line that is shown",
                characters(read_background_output::MAX_LINE_CHARS),
            ),
        ],
        "run_shell_command" => vec![
            (
                "time, where neither `timeout` nor `GEMINI_TOOLS_SHELL_TIMEOUT` says otherwise",
                seconds(run_shell_command::DEFAULT_TIMEOUT),
            ),
            (
                "the longest `timeout`",
                seconds(run_shell_command::MAX_TIMEOUT),
            ),
            (
                "output with `--output text`",
                characters(run_shell_command::UNLIMITED_CHARS),
            ),
        ],
        "save_memory" => vec![
            ("a fact", characters(save_memory::MAX_FACT_CHARS)),
            ("the file", mebibytes(save_memory::MAX_FILE_BYTES)),
        ],
        "web_fetch" => vec![
            ("addresses", web_fetch::MAX_ADDRESSES.to_string()),
            (
                "pages at the same time",
                gemini_tools_net::web::AT_ONCE.to_string(),
            ),
            (
                "bytes of all pages",
                mebibytes(gemini_tools_net::web::ALL_BYTES as u64),
            ),
            (
                "characters of pages for a model",
                grouped(gemini_tools_net::web::MODEL_CHARS as u64),
            ),
        ],
        _ => Vec::new(),
    }
}

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

fn kind_of(spec: &Spec) -> String {
    let kind = serde_json::json!(spec.declaration.kind);
    kind.as_str().unwrap_or_default().to_owned()
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// All of a tool's page that comes from the code.
fn page(spec: &Spec) -> String {
    let declaration = spec.declaration;
    let name = declaration.name;
    let mut page = format!("# {name}\n\n{}\n", cell(declaration.description));
    let names: Vec<String> = declaration
        .aliases
        .iter()
        .map(|a| format!("`{a}`"))
        .collect();
    page.push_str(&format!(
        "\n| | |\n|---|---|\n| Kind | {} |\n| Name for people | {} |\n| Other names | {} |\n\
         | The same call once more changes nothing further | {} |\n\
         | May reach beyond this machine | {} |\n\
         | Tells output while it runs | {} |\n",
        kind_of(spec),
        spec.display_name,
        names.join(", "),
        yes(declaration.is_idempotent),
        yes(declaration.is_open_world),
        yes(spec.can_update_output),
    ));
    let schema: Value = serde_json::from_str(declaration.schema).expect("a schema is JSON");
    let rows = parameters(&schema).into_iter().map(|parameter| {
        format!(
            "| `{}` | {} | {} | {} |",
            parameter.name,
            parameter.kind,
            if parameter.is_required {
                "required"
            } else {
                ""
            },
            cell(parameter.description)
        )
    });
    let rows: Vec<String> = rows.collect();
    section(
        &mut page,
        "Parameters",
        "| Name | Type | | Meaning |",
        &rows,
    );
    if rows.is_empty() {
        page.push_str("\n## Parameters\n\nNone.\n");
    }
    let renamed = declaration.renamed.iter().map(|(other, name)| {
        let kind = kind_of_parameter(&schema["properties"][*name]);
        format!("| `{other}` | {kind} | The same as `{name}`. |")
    });
    let more = spec.undeclared.iter().map(|more| {
        format!(
            "| `{}` | {} | {} |",
            more.name,
            more.kind,
            cell(more.meaning)
        )
    });
    let rows: Vec<String> = renamed.chain(more).collect();
    section(
        &mut page,
        "Other accepted arguments",
        "| Argument | Type | Meaning |",
        &rows,
    );
    let rows: Vec<String> = limits(name)
        .iter()
        .map(|(what, limit)| format!("| {what} | {limit} |"))
        .collect();
    section(&mut page, "Limits", "| What | Limit |", &rows);
    let words = words(name);
    let errors = words.errors.iter().map(|(kind, when)| {
        let kind = serde_json::json!(kind);
        format!("| `{}` | {when} |", kind.as_str().unwrap_or_default())
    });
    let rows: Vec<String> = errors.collect();
    section(&mut page, "Errors", "| `errorType` | When |", &rows);
    let examples = words.examples.join("\n");
    page.push_str(&format!(
        "\n## Calls\n\n`call_tool {name} --help` prints what this page says so far.\n\n\
         ```sh\n{examples}\n```\n\n{MARK}\n"
    ));
    page
}

/// The page about all tools: their table.
fn overview(specs: &[&Spec]) -> String {
    let mut page =
        "# The tools\n\n| Tool | Kind | Required | Optional |\n|---|---|---|---|\n".to_owned();
    for spec in specs {
        let name = spec.declaration.name;
        let schema: Value = serde_json::from_str(spec.declaration.schema).expect("a schema");
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
            kind_of(spec),
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

/// Compares what is generated of a page, or writes it and keeps what follows.
fn hold(file: &str, generated: &str) {
    let path = in_checkout(file);
    let present = fs::read_to_string(&path).unwrap_or_default();
    let by_hand = present
        .split_once(&format!("{MARK}\n"))
        .map_or("", |(_, by_hand)| by_hand);
    let wanted = format!("{generated}{by_hand}");
    if std::env::var_os("UPDATE_TOOL_PAGES").is_some() {
        fs::write(&path, &wanted).expect("written");
    }
    let present = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        present == wanted,
        "{file} is not current: UPDATE_TOOL_PAGES=1 cargo test --workspace --lib tool_pages writes it anew"
    );
}

#[test]
fn tool_pages_are_current() {
    for spec in ALL {
        let file = format!("docs/tools/{}.md", spec.declaration.name);
        hold(&file, &page(spec));
    }
    hold("docs/tools/index.md", &overview(ALL));
}

#[test]
fn every_error_of_tool_pages_has_a_case_that_provokes_it() {
    let cases = cases();
    for spec in ALL {
        let name = spec.declaration.name;
        let provoked = cases.iter().filter(|case| case["tool"] == name);
        let provoked: Vec<Value> = provoked.map(|case| case["type"].clone()).collect();
        let errors = words(name).errors.iter();
        let said: Vec<Value> = errors.map(|(kind, _)| serde_json::json!(kind)).collect();
        assert_eq!(said, provoked, "{name}");
        assert_eq!(
            said.is_empty(),
            name == "list_background_processes",
            "{name}"
        );
    }
    for case in cases {
        let is_known = ALL.iter().any(|spec| case["tool"] == spec.declaration.name);
        assert!(is_known, "{case}");
    }
}

#[test]
fn every_tool_has_two_examples() {
    for spec in ALL {
        assert_eq!(words(spec.declaration.name).examples.len(), 2);
    }
}
