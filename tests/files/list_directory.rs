//! `list_directory`: order, ignore rules, size.

use serde_json::{Value, json};

use crate::harness::Workspace;

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
