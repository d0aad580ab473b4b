//! `read_many_files`: what is taken, what is left out and said to be.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::PNG_BASE64;
use crate::harness::{Answer, Workspace};

fn tree() -> Workspace {
    Workspace::new()
        .file("README.md", "# Readme\n")
        .file("docs/one.md", "# One\n")
        .file("docs/deep/two.md", "# Two\n")
        .file("src/a.ts", "let a;\n")
        .file("node_modules/x/i.js", "x\n")
        .file("dist/o.js", "o\n")
}

fn read(ws: &Workspace, arguments: &Value) -> Answer {
    ws.call("read_many_files", arguments)
}

/// The files that are shown, relative to the workspace.
fn shown(ws: &Workspace, answer: &Answer) -> Vec<String> {
    let root = format!("{}/", ws.dir().display());
    let output = answer.output();
    let headings = output
        .lines()
        .filter_map(|l| l.strip_prefix("--- ")?.strip_suffix(" ---"));
    let files = headings.filter(|h| *h != "End of content");
    files
        .map(|f| f.strip_prefix(&root).unwrap_or(f).to_owned())
        .collect()
}

#[test]
fn a_directory_of_which_nothing_is_read_is_named_with_the_reason() {
    let ws = tree()
        .file("logs/a.log", "x")
        .file(".geminiignore", "*.log\n");
    for (paths, reason) in [
        (
            json!(["dist"]),
            "[Left out 1 file: excluded by default; useDefaultExcludes: false reads it]",
        ),
        (
            json!(["docs/one.md", "logs/"]),
            "logs: no file of it is read",
        ),
        (
            json!(["docs/one.md", "logs/"]),
            "[Left out 1 file: ignored by .geminiignore; file_filtering_options: {\"respect_gemini_ignore\": false} reads it]",
        ),
    ] {
        let answer = read(&ws, &json!({"paths": paths}));
        assert!(
            answer.output().contains(&format!("\n{reason}\n")),
            "{}",
            answer.output()
        );
    }
    let answer = read(&ws, &json!({"paths": ["docs"]}));
    assert!(!answer.output().contains("Skipped"), "{}", answer.output());
}

#[test]
fn the_advice_on_what_is_left_out_is_true() {
    let ws = Workspace::new()
        .git()
        .file(".gitignore", "build/\n*.log\n")
        .file("src/main.rs", "1\n")
        .file("src/target/t.rs", "2\n")
        .file("src/build/mod.rs", "3\n")
        .file("a.log", "4\n");
    for (path, file) in [
        ("**/t.rs", "src/target/t.rs"),
        ("src/build/mod.rs", "src/build/mod.rs"),
        ("src/*/mod.rs", "src/build/mod.rs"),
        ("*.log", "a.log"),
        ("a.log", "a.log"),
    ] {
        let advice = read(&ws, &json!({"paths": [path]})).output();
        let mut arguments = json!({"paths": [path]});
        let is_advised = |words: &str| advice.contains(words);
        assert!(is_advised(" read"), "{advice}");
        if is_advised("useDefaultExcludes: false") {
            arguments["useDefaultExcludes"] = false.into();
        }
        if is_advised("file_filtering_options") {
            arguments["file_filtering_options"] = json!({"respect_git_ignore": false});
        }
        let answer = read(&ws, &arguments);
        assert_eq!(shown(&ws, &answer), [file], "{path}: {advice}");
    }
    let all = read(&ws, &json!({"paths": ["**/*.rs"]})).output();
    assert!(
        all.contains("Left out 1 file: excluded by default; "),
        "{all}"
    );
    assert!(
        all.contains("Left out 1 file: excluded by default, and "),
        "{all}"
    );
    let named = read(&ws, &json!({"paths": ["**/*.rs"], "exclude": ["src/**"]})).output();
    assert!(
        named.contains("Left out 3 files: excluded by the call"),
        "{named}"
    );
}

#[test]
fn a_text_with_the_name_of_an_image_is_a_text() {
    let text = "version https://git-lfs.github.com/spec/v1\n";
    let ws = Workspace::new().file("logo.png", text);
    let answer = read(&ws, &json!({"paths": ["**/*"]}));
    answer.must_say(&answer.output(), &[text]);
}

#[test]
fn images_come_only_when_asked_for() {
    let png = STANDARD.decode(PNG_BASE64).expect("base64");
    let ws = Workspace::new()
        .file("img/dot.png", png)
        .file("img/t.txt", "text\n");
    for (paths, parts) in [
        (json!(["img/*"]), 0),
        (json!(["img/*.png"]), 1),
        (json!(["img/dot.png"]), 1),
    ] {
        let answer = read(&ws, &json!({"paths": paths}));
        answer.output();
        assert_eq!(answer.function_response().parts.len(), parts, "{paths}");
    }
}

#[test]
fn what_was_skipped_is_named() {
    let ws = Workspace::new()
        .file("data/a.txt", "text\n")
        .file("data/blob", b"\0\x01\x02\xff");
    let answer = read(&ws, &json!({"paths": ["data/*"]}));
    answer.must_say(&answer.output(), &["text\n", "blob"]);
    let answer = read(&ws, &json!({"paths": ["data/a.txt", "data/missing.txt"]}));
    answer.must_say(&answer.output(), &["text\n", "missing.txt"]);
}

#[test]
fn total_is_limited_and_says_what_is_missing() {
    let text = "x".repeat(1000) + "\n";
    let ws = (0..60).fold(Workspace::new(), |ws, n| {
        ws.file(format!("f{n:02}.txt"), text.repeat(20))
    });
    let answer = read(&ws, &json!({"paths": ["*.txt"]}));
    let output = answer.output();
    assert!(
        output.chars().count() < 410_000,
        "{}",
        output.chars().count()
    );
    let last = shown(&ws, &answer).contains(&"f59.txt".to_owned());
    assert!(!last || output.contains("truncated"));
    answer.must_say(&output, &["f59.txt"]);
}

#[test]
fn a_link_to_a_directory_is_not_followed_by_a_pattern() {
    let ws = tree().link("linked", "docs");
    let answer = read(&ws, &json!({"paths": ["**/one.md", "linked/**/*.md"]}));
    assert_eq!(shown(&ws, &answer), ["docs/one.md"]);
}
