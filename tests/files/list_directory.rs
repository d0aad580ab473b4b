//! `list_directory`: order, ignore rules, size.

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace};

fn list(ws: &Workspace, name: &str) -> Answer {
    ws.call("list_directory", &json!({"path": ws.path(name)}))
}

/// The entries of a listing, without heading and notes.
fn entries(output: &str) -> Vec<&str> {
    let lines = output.lines().skip(1);
    lines.take_while(|l| !l.is_empty()).collect()
}

#[test]
fn heading_and_entries_have_the_known_form() {
    let ws = Workspace::new()
        .file("b.txt", "")
        .file("a.txt", "")
        .file("z/x", "")
        .file("d/x", "")
        .file(".h", "");
    let output = list(&ws, "").output();
    let dir = ws.dir();
    assert!(
        output.starts_with(&format!("Directory listing for {}", dir.display())),
        "{output}"
    );
    assert!(
        output.lines().next().is_some_and(|l| l.ends_with(':')),
        "{output}"
    );
    assert_eq!(
        entries(&output),
        ["[DIR] d", "[DIR] z", ".h", "a.txt", "b.txt"]
    );
}

#[test]
fn empty_directory_is_said_plainly() {
    let ws = Workspace::new().directory("void");
    let answer = list(&ws, "void");
    answer.must_say(&answer.output(), &["void", "empty"]);
}

#[test]
fn ignored_entries_are_counted() {
    let ws = Workspace::new()
        .git()
        .file(".gitignore", "*.log\nbuild/\n")
        .file(".geminiignore", "*.key\n")
        .file("a.log", "")
        .file("b.log", "")
        .file("c.key", "")
        .file("build/x", "")
        .file("keep", "");
    let answer = list(&ws, "");
    let output = answer.output();
    assert_eq!(entries(&output), [".geminiignore", ".gitignore", "keep"]);
    answer.must_say(&output, &["ignored"]);
    let all = json!({"path": ".", "file_filtering_options": {"respect_git_ignore": false, "respect_gemini_ignore": false}});
    let answer = ws.call("list_directory", &all);
    answer.must_say(&answer.output(), &["a.log", "c.key", "[DIR] build"]);
}

/// What Gemini CLI 0.61.0 lists in the same trees: its `FileDiscoveryService` was run on them.
#[test]
fn geminiignore_takes_back_what_git_ignores_and_decides_before_it() {
    for (git, gemini, expected) in [
        (
            "*.txt\nlogs/\n",
            "!important.txt\n!logs/\n",
            &["important.txt", "keep", "logs/a.log", "logs/b.log"][..],
        ),
        // What lies below an ignored directory stays ignored.
        (
            "logs/\n",
            "!logs/a.log\n",
            &["important.txt", "keep", "other.txt"],
        ),
        (
            "logs/*\n",
            "!logs/a.log\n",
            &["important.txt", "keep", "logs/a.log", "other.txt"],
        ),
        ("!keep\n", "keep\n*.txt\n", &["logs/a.log", "logs/b.log"]),
        (
            "*\n",
            "!*\n",
            &[
                "important.txt",
                "keep",
                "logs/a.log",
                "logs/b.log",
                "other.txt",
            ],
        ),
    ] {
        let mut ws = Workspace::new().git();
        for name in [
            "important.txt",
            "other.txt",
            "keep",
            "logs/a.log",
            "logs/b.log",
        ] {
            ws = ws.file(name, "");
        }
        let ws = ws.file(".gitignore", git).file(".geminiignore", gemini);
        let listed = |arguments: Value| {
            let output = ws.call("glob", &arguments).output();
            let names = output.lines().skip(1);
            let mut names: Vec<_> = names
                .filter(|n| !n.starts_with('.'))
                .map(str::to_owned)
                .collect();
            names.sort();
            names
        };
        let names = listed(json!({"pattern": "**/*"}));
        assert_eq!(names, expected, "{git:?} {gemini:?}");
        // Where one of the two does not count, the other does.
        let only_git = listed(json!({"pattern": "**/*", "respect_gemini_ignore": false}));
        assert_eq!(
            only_git.contains(&"keep".to_owned()),
            git != "*\n",
            "{git:?}"
        );
    }
}

#[test]
fn patterns_of_the_call_leave_entries_out() {
    let ws = Workspace::new()
        .file("a.log", "")
        .file("b.txt", "")
        .file("tmp1/x", "");
    let answer = ws.call(
        "list_directory",
        &json!({"path": ".", "ignore": ["*.log", "tmp?"]}),
    );
    assert_eq!(entries(&answer.output()), ["b.txt"]);
}

#[test]
fn ten_thousand_entries_are_listed_or_cut_with_their_number() {
    let ws = Workspace::new();
    for n in 0..10_000 {
        std::fs::write(ws.path(&format!("f{n:05}")), "").expect("a file");
    }
    let answer = ws
        .tool("list_directory")
        .arguments(&json!({"path": "."}))
        .unwatched()
        .within_cpu_seconds(10)
        .run();
    let output = answer.output();
    answer.must_say(&output, &["f00000\nf00001\n"]);
    if !output.contains("f09999") {
        answer.must_say(&output, &["more", "/.gemini/tmp/"]);
    }
}

#[test]
fn links_are_listed_and_not_followed() {
    let ws = Workspace::new()
        .file("d/a", "")
        .link("link", "d")
        .link("gone", "nowhere")
        .link("out", "../out");
    let answer = list(&ws, "");
    let output = answer.output();
    answer.must_say(&output, &["link", "gone", "out", "[DIR] d"]);
}

#[test]
fn file_is_no_directory() {
    let ws = Workspace::new().file("a.txt", "");
    let answer = list(&ws, "a.txt");
    let message = answer.error("path_is_not_a_directory", 1);
    answer.must_say(&message, &["a.txt"]);
}

#[test]
fn missing_directory_is_named() {
    let answer = list(&Workspace::new(), "none");
    let message = answer.error("file_not_found", 1);
    answer.must_say(&message, &["none"]);
}

#[test]
fn same_directory_gives_the_same_bytes() {
    let ws = (0..200).fold(Workspace::new(), |ws, n| {
        ws.file(format!("{}", (n * 7919) % 1000), "")
    });
    let arguments: Value = json!({"path": "."});
    let first = ws.call("list_directory", &arguments);
    let second = ws.call("list_directory", &arguments);
    assert_eq!(first.stdout, second.stdout);
}
