//! Ignore rules against git itself: what `glob` finds in random trees under random ignore files is what
//! `git ls-files` names.

use std::process::Command;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::harness::Workspace;

const PIECES: [&str; 18] = [
    "a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "a*", "*.c", "x.c", "*b", "a?", ".c", "[a-c]*",
    "\\a", ".", "***",
];

fn pattern() -> impl Strategy<Value = String> {
    let path = vec(prop::sample::select(&PIECES[..]), 1..4).prop_map(|p| p.join("/"));
    (path, 0..8_u8).prop_map(|(path, form)| {
        let negated = if form & 1 == 0 { "" } else { "!" };
        let anchored = if form & 2 == 0 { "" } else { "/" };
        let directory = if form & 4 == 0 { "" } else { "/" };
        format!("{negated}{anchored}{path}{directory}")
    })
}

fn rules() -> impl Strategy<Value = String> {
    vec(pattern(), 1..6).prop_map(|lines| lines.join("\n"))
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let name = prop::sample::select(&["a", "b", "ab", "c", "x.c", "ab.c", "abc", "d"][..]);
    let path = vec(name, 1..5).prop_map(|p| p.join("/"));
    vec(path, 4..16)
}

/// The files that git would add, and that glob does not list because it never does.
fn by_git(ws: &Workspace) -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard", "-z"])
        .current_dir(ws.dir())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs");
    let text = String::from_utf8(output.stdout).expect("plain names");
    let mut files: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    files.sort();
    files
}

fn by_glob(ws: &Workspace) -> Vec<String> {
    let output = ws.call("glob", &json!({ "pattern": "**/*" })).output();
    let root = format!("{}/", ws.dir().display());
    let mut files: Vec<String> = output
        .lines()
        .filter_map(|l| l.strip_prefix(&root))
        .map(str::to_owned)
        .collect();
    files.sort();
    files
}

#[test]
fn what_is_found_is_what_git_would_add() {
    let mut runner = TestRunner::new(Config {
        cases: 150,
        failure_persistence: None,
        ..Config::default()
    });
    let case = (names(), rules(), rules(), rules(), 0..4_u8);
    runner
        .run(&case, |(names, top, nested, exclude, form)| {
            let mut ws = Workspace::new().git();
            let mut placed: Vec<&String> = Vec::new();
            for name in &names {
                // A name can't be a file and a directory at once.
                let clashes = placed.iter().any(|p| {
                    *p == name
                        || p.starts_with(&format!("{name}/"))
                        || name.starts_with(&format!("{p}/"))
                });
                if !clashes {
                    ws = ws.file(name, "x");
                    placed.push(name);
                }
            }
            ws = ws.file(".gitignore", &top);
            if form & 1 == 1 && !placed.iter().any(|p| *p == "a") {
                ws = ws.file("a/.gitignore", &nested);
            }
            if form & 2 == 2 {
                ws = ws.file(".git/info/exclude", &exclude);
            }
            prop_assert_eq!(
                by_glob(&ws),
                by_git(&ws),
                "{} | {} | {}",
                top,
                nested,
                exclude
            );
            Ok(())
        })
        .expect("git and glob agree");
}
