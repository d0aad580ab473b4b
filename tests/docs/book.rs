//! The book in `docs/`: its examples are run, its links lead somewhere, and what it says of files, crates, tests and
//! errors is so. How it looks is told by `book_in_browser`; the pages of tools are held against the code by
//! `crates/builtin-tools/src/builtin/pages_tests.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gemini_tools::builtin;
use regex::Regex;
use serde_json::Value;

use crate::harness::page::{Page, in_checkout, is_installed};
use crate::harness::{Workspace, executable, set_mode, skipped};

/// Every page, by its path from the checkout.
pub(crate) fn pages() -> Vec<Page> {
    let mut names = Vec::new();
    let mut directories = vec!["docs".to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(in_checkout(&directory)).expect("a directory of the book") {
            let entry = entry.expect("its entry");
            let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                directories.push(name);
            } else if entry.path().extension().is_some_and(|e| e == "md")
                && entry.file_name() != "SUMMARY.md"
            {
                names.push(name);
            }
        }
    }
    names.sort();
    names.iter().map(|name| Page::read(name)).collect()
}

/// Where links lead, with the lines in which they are. Code is not a link.
fn links(page: &Page) -> Vec<(usize, String)> {
    let code = Regex::new("`[^`]*`").expect("a pattern");
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let mut found = Vec::new();
    for (line, text) in page.prose() {
        // A link's words may be code.
        let text = code.replace_all(text, "`");
        for target in link.captures_iter(&text) {
            found.push((line, target[1].to_owned()));
        }
    }
    found
}

/// The anchor of a heading, as mdBook and forges make it.
fn anchor(heading: &str) -> String {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("a pattern");
    link.replace_all(heading, "$1")
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
            _ => None,
        })
        .collect()
}

/// The anchors of a page's headings.
pub(crate) fn anchors(page: &Page) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (line, text) in page.prose() {
        let heading = text.trim_start_matches('#');
        if heading.len() < text.len() && heading.starts_with(' ') {
            let is_new = anchors.insert(anchor(heading));
            assert!(is_new, "{}:{line}: twice: {heading}", page.name());
        }
    }
    anchors
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(normal.pop(), "{}", path.display()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[test]
fn examples_print_what_the_book_says() {
    /// Pages at a time: examples of each wait for processes.
    const AT_ONCE: usize = 4;
    let pages = pages();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let examples = page.run_examples();
                    let needs_one = page.name().starts_with("docs/tools/");
                    assert!(examples > 0 || !needs_one, "{}: no example", page.name());
                }
            });
        }
    });
}

#[test]
fn every_page_stands_in_the_summary_once() {
    let summary = Page::read("docs/SUMMARY.md");
    let mut listed: Vec<String> = links(&summary)
        .into_iter()
        .map(|(_, target)| format!("docs/{target}"))
        .collect();
    listed.sort();
    let there: Vec<String> = pages().iter().map(|p| p.name().to_owned()).collect();
    assert_eq!(listed, there);
}

#[test]
fn every_tool_has_a_page() {
    let there: BTreeSet<String> = pages().iter().map(|p| p.name().to_owned()).collect();
    for tool in builtin::TOOLS {
        let page = format!("docs/tools/{}.md", tool.name);
        assert!(there.contains(&page), "{page}");
    }
}

#[test]
fn links_lead_to_pages_and_headings_of_the_book() {
    let pages = pages();
    let known: BTreeMap<PathBuf, BTreeSet<String>> = pages
        .iter()
        .map(|page| (PathBuf::from(page.name()), anchors(page)))
        .collect();
    let mut count = 0;
    for page in &pages {
        let from = Path::new(page.name());
        for (line, target) in links(page) {
            let at = format!("{}:{line}: {target}", page.name());
            if target.starts_with("https://") {
                continue;
            }
            count += 1;
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() {
                from.to_owned()
            } else {
                normal(&from.parent().expect("a directory").join(file))
            };
            if file.extension().is_some_and(|e| e == "md") {
                // It becomes index.html, but mdBook does not change links to it.
                assert!(!file.ends_with("README.md"), "{at}");
                let anchors = known.get(&file);
                let anchors = anchors.unwrap_or_else(|| panic!("{at}: no page of the book"));
                assert!(heading.is_empty() || anchors.contains(heading), "{at}");
            } else {
                // Only what lies beside the pages is in the book.
                assert!(file.starts_with("docs"), "{at}");
                assert!(in_checkout(&file.to_string_lossy()).is_file(), "{at}");
            }
        }
    }
    assert!(count > 30, "{count} links");
}

/// An anchor that is not there would leave a hole, and mdBook says nothing.
#[test]
fn what_pages_include_is_there() {
    let include = Regex::new(r"\{\{#include ([^}:]+)(?::([^}]+))?\}\}").expect("a pattern");
    let mut count = 0;
    for page in pages() {
        let directory = Path::new(page.name()).parent().expect("a directory");
        for found in include.captures_iter(page.text()) {
            let file = normal(&directory.join(&found[1]));
            let text = fs::read_to_string(in_checkout(&file.to_string_lossy()))
                .unwrap_or_else(|e| panic!("{}: {}: {e}", page.name(), file.display()));
            if let Some(anchor) = found.get(2) {
                for mark in ["ANCHOR", "ANCHOR_END"] {
                    let mark = format!("<!-- {mark}: {} -->", anchor.as_str());
                    assert_eq!(text.matches(&mark).count(), 1, "{}: {mark}", page.name());
                }
            }
            count += 1;
        }
    }
    assert!(count > 0);
}

fn directories_in(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(in_checkout(name)).expect("a directory of the checkout");
    let paths = entries.map(|entry| entry.expect("its entry").path());
    paths.filter(|path| path.is_dir()).collect()
}

/// `file::name` in a page is a test.
#[test]
fn tests_that_pages_name_are_there() {
    let named = Regex::new("`([a-z_]+)::([a-z0-9_]+)`").expect("a pattern");
    let crates = directories_in("crates").into_iter();
    let mut directories = directories_in("tests");
    directories.extend(crates.map(|directory| directory.join("tests")));
    let mut count = 0;
    for page in pages() {
        for found in named.captures_iter(page.text()) {
            let (module, name) = (&found[1], &found[2]);
            let is_there = directories.iter().any(|directory| {
                fs::read_to_string(directory.join(format!("{module}.rs")))
                    .is_ok_and(|text| text.contains(&format!("fn {name}(")))
            });
            assert!(is_there, "{}: no test {module}::{name}", page.name());
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

/// The files and directories below a directory of the checkout, itself too, by their paths from there.
fn paths_below(directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        if in_checkout(&path).is_dir() {
            for entry in fs::read_dir(in_checkout(&path)).expect("a directory") {
                let name = entry.expect("its entry").file_name();
                open.push(format!("{path}/{}", name.to_string_lossy()));
            }
        }
        found.push(path);
    }
    found
}

/// What a page writes of paths: `*` is within a name, `**` spans directories, `<name>` and `NAME` stand for a name.
fn path_pattern(written: &str) -> Regex {
    let part = Regex::new(r"\*\*/|\*|<[a-z]+>|NAME").expect("a pattern");
    let mut pattern = "^".to_owned();
    let mut end = 0;
    for found in part.find_iter(written) {
        pattern += &regex::escape(&written[end..found.start()]);
        pattern += match found.as_str() {
            "**/" => "(.*/)?",
            _ => "[^/]+",
        };
        end = found.end();
    }
    pattern += &regex::escape(written[end..].trim_end_matches('/'));
    Regex::new(&(pattern + "$")).expect("a pattern")
}

/// A path that has moved would send readers nowhere.
#[test]
fn paths_of_the_checkout_that_pages_name_are_there() {
    const TOPS: [&str; 6] = ["crates", "docs", "evals", "scripts", "src", "tests"];
    let there: Vec<String> = TOPS.iter().copied().flat_map(paths_below).collect();
    let tops = TOPS.join("|");
    let named = Regex::new(&format!("`((?:{tops})/[^` ]*)`")).expect("a pattern");
    // The pages of tools show paths of other projects.
    let pages = pages().into_iter();
    let pages = pages.filter(|page| !page.name().starts_with("docs/tools/"));
    let mut count = 0;
    for page in pages.chain([Page::read("CONTRIBUTING.md")]) {
        for (line, text) in page.prose() {
            for found in named.captures_iter(text) {
                let pattern = path_pattern(&found[1]);
                let is_there = there.iter().any(|path| pattern.is_match(path));
                assert!(is_there, "{}:{line}: no {}", page.name(), &found[1]);
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_table_of_crates_is_current() {
    if !is_installed("python3") {
        return skipped("python3");
    }
    let run = Command::new(in_checkout("scripts/crates"))
        .arg("--check")
        .env("CARGO", env!("CARGO"))
        .output()
        .expect("scripts/crates");
    // The script says how the table is written anew.
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}");
}

#[test]
fn snippets_of_settings_and_rules_can_be_read() {
    for page in pages() {
        for block in page.blocks("json") {
            let parsed: Result<Value, _> = serde_json::from_str(&block.text);
            assert!(parsed.is_ok(), "{}:{}: {parsed:?}", page.name(), block.line);
        }
        for block in page.blocks("toml") {
            let parsed: Result<toml::Table, _> = toml::from_str(&block.text);
            assert!(parsed.is_ok(), "{}:{}: {parsed:?}", page.name(), block.line);
        }
    }
}

/// Keeps what it is asked, and plays the answers; one that is asked too often ends its caller.
const CURL: &str = "#!/bin/sh\ncat >\"asked$(ls asked* 2>/dev/null | wc -l)\"\n\
    n=$(ls asked* | wc -l)\n[ \"$n\" -lt 9 ] || kill -9 $PPID\ncat \"answer$n\" 2>/dev/null\n";

/// The loop around Chat Completions, with a `curl` that plays answers.
#[test]
fn the_shell_loop_ends_with_the_model_and_where_no_answer_comes() {
    if !is_installed("jq") {
        return skipped("jq");
    }
    let script = fs::read_to_string(in_checkout("examples/openai/loop")).expect("the loop");
    let call = r#"{"choices": [{"message": {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{\"absolute_path\": \"README.md\"}"}}]}}]}"#;
    let done = |calls: &str| {
        format!(
            r#"{{"choices": [{{"message": {{"role": "assistant", "content": "Done."{calls}}}}}]}}"#
        )
    };
    for (answers, status, printed) in [
        (vec![call.to_owned(), done("")], 0, "Done.\n"),
        (vec![done(r#", "tool_calls": []"#)], 0, "Done.\n"),
        (vec![done(r#", "tool_calls": null"#)], 0, "Done.\n"),
        (vec![], 1, ""),
        (vec!["gateway timeout".to_owned()], 1, ""),
        (vec![r#"{"error": {"message": "no"}}"#.to_owned()], 1, ""),
    ] {
        let mut ws = Workspace::new()
            .file("README.md", "Says hello.\n")
            .file("bin/curl", CURL);
        for (n, answer) in answers.iter().enumerate() {
            ws = ws.file(format!("answer{}", n + 1), answer);
        }
        set_mode(&ws.dir().join("bin/curl"), 0o755);
        let own = executable("get_tools");
        let own = own.parent().expect("a directory").display();
        let path = format!("{}:{own}:/usr/local/bin:/usr/bin:/bin", ws.path("bin"));
        let answer = ws
            .program(Path::new("/bin/sh"), &["-c", &script])
            .env("PATH", &path)
            .env("MODEL", "m")
            .env("OPENAI_BASE_URL", "http://localhost")
            .env("OPENAI_API_KEY", "k")
            .unwatched()
            .run();
        assert_eq!(answer.status(), status, "{answers:?}: {}", answer.shown());
        assert_eq!(answer.text(), printed, "{answers:?}: {}", answer.shown());
        if answers.len() > 1 {
            let asked = fs::read_to_string(ws.dir().join("asked1")).expect("the second request");
            assert!(asked.contains("Says hello."), "{asked}");
        }
    }
}

/// The errors of the tools' pages.
#[test]
fn errors_that_pages_list_come_as_they_say() {
    let ws = Workspace::new()
        .file("text.txt", "one\ntwo\ntwo\n")
        .file(".geminiignore", "closed.txt\n")
        .file("closed.txt", "closed\n")
        .sparse("large.bin", 21 * 1024 * 1024)
        .fifo("fifo")
        .directory("directory");
    let cases = fs::read_to_string(in_checkout("tests/errors/cases.jsonl")).expect("the cases");
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let tool = case["tool"].as_str().expect("a tool");
        let answer = ws.call(tool, &case["args"]);
        let response = &answer.json()["functionResponse"]["response"];
        assert_eq!(response["errorType"], case["type"], "{case}: {response}");
    }
}
