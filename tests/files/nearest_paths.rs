//! A path that does not exist is answered with those that do and may have been meant.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Workspace;

fn project() -> Workspace {
    Workspace::new()
        .git()
        .file("crates/core/main.rs", "")
        .file("crates/core/src/lib.rs", "")
        .file("src/util/helpers.ts", "")
        .file("src/util/read_file.ts", "")
        .file("docs/helpers.ts", "")
        .file("README.md", "")
        .file("build/mainn.rs", "")
        .file("secret/keys.ts", "")
        .file(".gitignore", "build/\n*.log\n")
        .file(".geminiignore", "secret/\n")
        .file("run.log", "")
        .outside("outer.txt", "")
        .link("way", "../out")
}

#[track_caller]
fn hint(ws: &Workspace, tool: &str, arguments: &Value) -> String {
    let message = ws.call(tool, arguments).failure().message;
    let question = message.split("Did you mean ").nth(1);
    let names = question.and_then(|rest| rest.split_once('?'));
    names.map_or_else(String::new, |(names, _)| names.to_owned())
}

#[test]
fn a_missing_path_is_answered_with_the_nearest_that_exist() {
    let ws = project();
    for (path, near) in [
        ("crates/core/mainn.rs", "crates/core/main.rs"),
        ("crates/core/mian.rs", "crates/core/main.rs"),
        ("crates/Core/MAIN.rs", "crates/core/main.rs"),
        ("crates/coer/src/lib.rs", "crates/core/src/lib.rs"),
        ("cratse/core/src/libb.rs", "crates/core/src/lib.rs"),
        ("readme.md", "README.md"),
        ("README", "README.md"),
        ("src/util/readFile.ts", "src/util/read_file.ts"),
        ("lib.rs", "crates/core/src/lib.rs"),
        (
            "src/utils/helpers.ts",
            "src/util/helpers.ts or docs/helpers.ts",
        ),
        ("src\\util\\read_file.ts", "src/util/read_file.ts"),
        ("x/util", "src/util"),
        // Nothing is near.
        ("zzz.qq", ""),
        ("crates/core/other.rs", ""),
        // What listings leave out is not named.
        ("build/main.rs", "crates/core/main.rs"),
        ("mainn.rs", ""),
        ("run.logg", ""),
        ("secret/key.ts", ""),
        ("keys.ts", ""),
        (".git/HEADD", ""),
        ("way/outerr.txt", ""),
        ("outer.txt", ""),
    ] {
        let found = hint(&ws, "read_file", &json!({"absolute_path": path}));
        assert_eq!(found, near, "{path}");
        let absolute = json!({"absolute_path": ws.path(path)});
        assert_eq!(hint(&ws, "read_file", &absolute), near, "{path}");
    }
}

#[test]
fn every_tool_that_needs_a_path_names_the_nearest() {
    let ws = project();
    let edit = json!({"file_path": "crates/core/mian.rs", "old_string": "a", "new_string": "b",
                      "instruction": "x"});
    for (tool, arguments, near) in [
        ("replace", edit.clone(), "crates/core/main.rs"),
        ("smart_edit", edit, "crates/core/main.rs"),
        (
            "list_directory",
            json!({"path": "crates/cor"}),
            "crates/core",
        ),
        ("glob", json!({"pattern": "*", "path": "scr"}), "src"),
        (
            "search_file_content",
            json!({"pattern": "x", "path": "src/utl"}),
            "src/util",
        ),
        (
            "run_shell_command",
            json!({"command": "ls", "directory": "doc"}),
            "docs",
        ),
    ] {
        assert_eq!(hint(&ws, tool, &arguments), near, "{tool}");
    }
    let answer = ws.call("read_many_files", &json!({"paths": ["redme.md"]}));
    answer.must_say(
        &answer.output(),
        &["redme.md: does not exist. Did you mean README.md?"],
    );
}

#[test]
fn a_link_to_nothing_is_not_answered_with_itself() {
    let ws = Workspace::new().link("dead", "nowhere");
    for (tool, arguments) in [
        ("read_file", json!({"absolute_path": "dead"})),
        ("list_directory", json!({"path": "dead"})),
        ("glob", json!({"pattern": "*", "path": "dead"})),
    ] {
        let message = ws.call(tool, &arguments).failure().message;
        assert!(
            message.contains("It is a symbolic link, and its target does not exist."),
            "{message}"
        );
    }
}

#[test]
fn three_are_named_at_most_and_always_the_same() {
    let mut ws = Workspace::new();
    for directory in ["a", "b", "c", "d", "e/f"] {
        ws = ws.file(format!("{directory}/index.ts"), "");
    }
    for _ in 0..5 {
        let found = hint(&ws, "read_file", &json!({"absolute_path": "index.ts"}));
        assert_eq!(found, "a/index.ts or b/index.ts or c/index.ts");
    }
}

#[test]
fn in_a_huge_tree_only_the_directory_itself_is_looked_through() {
    let ws = Workspace::new()
        .file("near/name.txt", "")
        .file("far/other.txt", "");
    for directory in 0..101 {
        let directory = ws.dir().join(format!("many/{directory}"));
        fs::create_dir_all(&directory).expect("made");
        for file in 0..1_000 {
            fs::write(directory.join(file.to_string()), "").expect("written");
        }
    }
    let ask = |path: &str| {
        let call = ws
            .tool("read_file")
            .arguments(&json!({"absolute_path": path}));
        call.unwatched().run().failure().message
    };
    assert!(ask("near/nmae.txt").contains("Did you mean near/name.txt?"));
    assert!(!ask("near/other.txt").contains("Did you mean"));
}
