//! `apply_patch`: what it changes, what it refuses, and what it is judged by.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::peers::output;
use crate::harness::tree::{Node, Tree};
use crate::harness::{Answer, Workspace, lines, write};

fn envelope(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch\n")})
}

fn patch(ws: &Workspace, body: &str) -> Answer {
    let call = ws.tool("apply_patch").arguments(&envelope(body));
    call.unwatched().run()
}

fn text(ws: &Workspace, name: &str) -> Option<String> {
    fs::read_to_string(ws.path(name)).ok()
}

#[test]
fn all_files_are_changed_or_none() {
    let ws = Workspace::new()
        .file("a.txt", "one\n")
        .file("b.txt", "two\n")
        .file("c.txt", "three\n");
    let body = "*** Update File: a.txt\n-one\n+1\n*** Delete File: c.txt\n*** Add File: new/d.txt\n+4\n*** Update File: b.txt\n";
    let refused = patch(&ws, &format!("{body}-three\n+3")).error("edit_no_occurrence_found", 1);
    assert!(
        refused.contains("b.txt") && refused.contains("no file was changed"),
        "{refused}"
    );
    assert_eq!(text(&ws, "a.txt").as_deref(), Some("one\n"));
    assert!(text(&ws, "c.txt").is_some() && text(&ws, "new/d.txt").is_none());
    let said = patch(&ws, &format!("{body}-two\n+2")).output();
    assert_eq!(
        said,
        "Successfully applied the patch to 4 files:\nupdates a.txt\ndeletes c.txt\ncreates new/d.txt\nupdates b.txt"
    );
    assert_eq!(text(&ws, "b.txt").as_deref(), Some("2\n"));
    assert!(text(&ws, "c.txt").is_none());
    let undone = ws.call_tool(&["--undo"]).unwatched().run();
    assert_eq!(undone.status(), 0, "{}", undone.shown());
    assert_eq!(text(&ws, "c.txt").as_deref(), Some("three\n"));
    assert!(!ws.dir().join("new").exists());
}

#[test]
fn a_hunk_that_is_elsewhere_than_it_says_is_named_in_the_answer() {
    let ws = Workspace::new().file("a.txt", "0\n0\n0\none\ntwo\n");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    let call = ws.tool("apply_patch").arguments(&json!({"patch": patch}));
    let said = call.unwatched().run().output();
    assert!(said.contains("not at the lines that it says, but at 4") && said.contains("+2"));
    assert_eq!(text(&ws, "a.txt").as_deref(), Some("0\n0\n0\none\n2\n"));
}

#[test]
fn a_patch_that_only_adds_lines_adds_them_once() {
    for (before, unified, body) in [
        ("s\nA\nB\ne\n", "@@ -1,2 +1,4 @@", " s\n+A\n+B\n A"),
        (
            "a {\n  1\n}\nz {\n}\n",
            "@@ -3,2 +3,5 @@",
            " }\n+b {\n+  2\n+}\n z {",
        ),
        (
            "1\n}\nz\n}\n",
            "@@ -1,4 +1,7 @@",
            " 1\n }\n+b\n+1\n+}\n z\n }",
        ),
        ("one\ntwo\n", "@@ -1,1 +1,2 @@", "-one\n+one\n+new"),
        ("one\ntwo\n", "@@ -2,1 +2,2 @@", "+new\n-two\n+two"),
    ] {
        let ws = Workspace::new().file("a.txt", before).file("b.txt", before);
        let unified = format!("--- a/b.txt\n+++ b/b.txt\n{unified}\n{body}\n");
        let body = format!("*** Update File: a.txt\n@@\n{body}");
        patch(&ws, &body).output();
        diff(&ws, &unified).output();
        let once = text(&ws, "a.txt");
        assert_eq!(once, text(&ws, "b.txt"));
        for again in [patch(&ws, &body), diff(&ws, &unified)] {
            again.must_say(&again.shown(), &["already"]);
        }
        assert_eq!(
            [text(&ws, "a.txt"), text(&ws, "b.txt")],
            [once.clone(), once]
        );
    }
}

#[test]
fn the_marks_behind_a_line_that_names_the_place_are_no_part_of_it() {
    for head in ["@@ fn b() @@", "@@ fn b()", "@@ fn b() @@ "] {
        let ws = Workspace::new().file("a.txt", "fn a()\n  x\nfn b()\n  x\n");
        patch(&ws, &format!("*** Update File: a.txt\n{head}\n-  x\n+  y")).output();
        let after = "fn a()\n  x\nfn b()\n  y\n";
        assert_eq!(text(&ws, "a.txt").as_deref(), Some(after), "{head}");
    }
}

#[test]
fn new_lines_alone_are_at_the_end_only_if_no_other_hunk_follows() {
    let ws = Workspace::new().file("a.txt", "one\ntwo\n");
    let body = "*** Update File: a.txt\n@@\n+zero\n@@\n-two\n+TWO";
    let why = patch(&ws, body).error("edit_no_occurrence_found", 1);
    assert!(why.contains("its place is not known"), "{why}");
    let body = "*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n+three\n@@\n+four";
    patch(&ws, body).output();
    assert_eq!(
        text(&ws, "a.txt").as_deref(),
        Some("one\nTWO\nthree\nfour\n")
    );
}

/// A placeholder that the hunk keeps is the file's; one elsewhere in the file stands for other lines.
#[test]
fn dots_that_the_file_has_elsewhere_excuse_no_placeholder() {
    let before = "one\n// ...\ntwo\nthree\nfour\n";
    let ws = Workspace::new().file("a.txt", before);
    let refused = patch(&ws, "*** Update File: a.txt\n two\n-three\n+// ...\n four");
    let message = refused.error("invalid_tool_params", 2);
    assert!(message.contains("placeholder"), "{message}");
    assert_eq!(text(&ws, "a.txt").as_deref(), Some(before));
    patch(
        &ws,
        "*** Update File: a.txt\n one\n-// ...\n-two\n+2\n+// ...",
    )
    .output();
    assert!(text(&ws, "a.txt").is_some_and(|text| text.starts_with("one\n2\n// ...\nthree")));
}

#[test]
fn an_explanation_shows_every_file_and_changes_none() {
    let ws = Workspace::new()
        .file("a.txt", "one\n")
        .file("b.txt", "two\n");
    let body = "*** Update File: a.txt\n*** Move to: c.txt\n-one\n+1\n*** Delete File: b.txt";
    let call = ws
        .tool("apply_patch")
        .flags(&["--explain"])
        .arguments(&envelope(body));
    let explained = call.run().json();
    let files = explained["confirmation"]["files"]
        .as_array()
        .expect("the files");
    let changes: Vec<_> = files
        .iter()
        .map(|file| file["change"].as_str().expect("text"))
        .collect();
    assert_eq!(changes, ["moves", "deletes"]);
    assert!(
        files[0]["newPath"]
            .as_str()
            .is_some_and(|path| path.ends_with("/c.txt"))
    );
    let whole = explained["confirmation"]["fileDiff"]
        .as_str()
        .expect("text");
    for file in files {
        assert!(
            whole.contains(file["fileDiff"].as_str().expect("text")),
            "{explained}"
        );
    }
    assert_eq!(explained["locations"].as_array().map(Vec::len), Some(3));
}

/// Runs a unified difference.
fn diff(ws: &Workspace, patch: &str) -> Answer {
    let call = ws.tool("apply_patch").arguments(&json!({"patch": patch}));
    call.unwatched().run()
}

/// Both as `git apply` does them.
#[test]
fn names_of_the_first_line_count_alone_and_a_new_file_has_one_hunk() {
    let [edit, add] = ["@@ -1 +1 @@\n-one\n+two\n", "@@ -0,0 +1 @@\n+a\n"];
    for (patch, file, after) in [
        (
            format!("diff --git a/n b/n\nindex 1..2 100644\n{edit}"),
            "one\n",
            Some("two\n"),
        ),
        (format!("--- /dev/null\n+++ b/n\n{add}"), "", Some("a\n")),
        (format!("--- /dev/null\n+++ b/n\n{add}{add}"), "", None),
        (
            format!("--- /dev/null\n+++ b/n\n{add}@@ -0,0 +2 @@\n+b\n"),
            "",
            None,
        ),
    ] {
        let mut ws = Workspace::new().file("p", &patch);
        if !file.is_empty() {
            ws = ws.file("n", file);
        }
        let mut git = Command::new("git");
        let git = git.args(["apply", "--check", "p"]).current_dir(ws.dir());
        let git = git.output().expect("git").status;
        assert_eq!(git.success(), after.is_some(), "{patch}");
        let said = diff(&ws, &patch);
        match after {
            Some(_) => assert_eq!(said.status(), 0, "{}", said.shown()),
            None => assert!(said.error("invalid_tool_params", 2).contains("one hunk")),
        }
        assert_eq!(text(&ws, "n").as_deref(), after, "{patch}");
    }
}

#[test]
fn the_difference_that_is_shown_has_each_change_of_a_mode() {
    let modes = "old mode 100644\nnew mode 100755\n";
    let plain = "old mode 100755\nnew mode 100644\n";
    let edit = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n";
    for (mode, path, patch) in [
        (0o644, "f", format!("diff --git a/f b/f\n{modes}")),
        (0o644, "f", format!("diff --git a/f b/f\n{modes}{edit}")),
        (0o755, "f", format!("diff --git a/f b/f\n{plain}")),
        (0o755, "f", format!("diff --git a/f b/f\n{modes}{edit}")),
        (0o644, "f", format!("diff --git a/f b/f\n{edit}")),
        (
            0o640,
            "g",
            format!(
                "diff --git a/f b/g\n{modes}similarity index 100%\nrename from f\nrename to g\n"
            ),
        ),
        (
            0o644,
            "n",
            format!(
                "diff --git a/n b/n\nnew file mode 100755\n{}",
                "index 0..e69de29\n"
            ),
        ),
        (
            0o644,
            "n",
            format!(
                "diff --git a/n b/n\nnew file mode 100644\n{}",
                "index 0..e69de29\n"
            ),
        ),
    ] {
        let ws = Workspace::new().file("f", "one\n").mode("f", mode);
        let call = ws.tool("apply_patch").flags(&["--explain"]);
        let explained = call.arguments(&json!({"patch": patch})).run().json();
        let shown = explained["confirmation"]["fileDiff"]
            .as_str()
            .expect("text");
        diff(&ws, &patch).output();
        let now = fs::metadata(ws.path(path))
            .expect("there")
            .permissions()
            .mode()
            & 0o111;
        let is_told = [
            (modes, now > 0),
            (plain, now == 0),
            ("new file mode 100755\n", now > 0),
        ];
        let is_told = is_told
            .iter()
            .any(|(lines, is_so)| *is_so && shown.contains(lines));
        let was = if path == "n" { 0 } else { mode & 0o111 };
        assert_eq!(is_told, now != was, "{patch}\n{shown}");
        assert_eq!(shown.contains("mode "), is_told, "{patch}\n{shown}");
    }
}

#[test]
fn a_difference_without_carriage_returns_says_whether_the_last_line_has_an_end() {
    let texts = [
        "a",
        "a\n",
        "a\nb",
        "a\nb\n",
        "a\nc",
        "a\nc\n",
        "a\nb\nc",
        "a\nb\nc\n",
    ];
    let pairs = texts
        .iter()
        .flat_map(|old| texts.iter().map(move |new| (*old, *new)));
    for (old, new) in pairs.filter(|(old, new)| old != new) {
        let ws = Workspace::new();
        let [one, two] = [("one", old), ("two", new)].map(|(name, text)| {
            let path = ws.outside_path(name);
            write(Path::new(&path), text.as_bytes());
            path
        });
        let mut command = Command::new("diff");
        command.args(["-u", "--label", "f", "--label", "f", &one, &two]);
        let patch = String::from_utf8(output(&ws, command).stdout).expect("UTF-8");
        let returned = |text: &str| text.replace('\n', "\r\n");
        let longer = returned(&format!("{}\nmore\n", old.trim_end()));
        fs::write(ws.path("f"), &longer).expect("written");
        if patch.contains("\n\\ No newline") {
            assert_ne!(diff(&ws, &patch).status(), 0, "{patch}");
            assert_eq!(text(&ws, "f"), Some(longer), "{patch}");
        }
        fs::write(ws.path("f"), returned(old)).expect("written");
        let said = diff(&ws, &patch);
        assert_eq!(said.status(), 0, "{}\n{patch}", said.shown());
        // Without any line end, a file does not show its own.
        let new = if old.contains('\n') {
            returned(new)
        } else {
            new.to_owned()
        };
        assert_eq!(text(&ws, "f"), Some(new), "{patch}");
    }
}

#[test]
fn names_whose_prefixes_other_sections_contradict_are_refused() {
    let edit = |names: &str| format!("{names}@@ -1 +1 @@\n-one\n+two\n");
    let (with, without) = (
        edit("--- old/x\n+++ new/x\n"),
        edit("--- a.txt\n+++ a.txt\n"),
    );
    let made = |name: &str| format!("--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+n\n");
    for (patch, expected) in [
        (format!("{with}{}", made("new/n")), Some("n")),
        (format!("{}{with}", made("new/n")), Some("n")),
        (format!("{with}{}", made("lib/n")), Some("lib/n")),
        (format!("{without}{}", made("new/n")), Some("new/n")),
        (format!("{with}{without}{}", made("new/n")), None),
        (format!("{without}{}", made("b/n")), None),
        (made("b/n"), Some("n")),
    ] {
        let ws = Workspace::new().file("a.txt", "one\n").file("x", "one\n");
        let said = diff(&ws, &patch);
        if let Some(name) = expected {
            assert_eq!(text(&ws, name).as_deref(), Some("n\n"), "{patch}");
        } else {
            let said = said.error("invalid_tool_params", 2);
            assert!(said.contains("or, without a prefix, \"n\""), "{said}");
            assert_eq!(text(&ws, "a.txt").as_deref(), Some("one\n"), "{patch}");
        }
    }
}

#[test]
fn modes_links_and_encodings_stay() {
    let ws = Workspace::new()
        .file("run.sh", "#!/bin/sh\necho one\n")
        .mode("run.sh", 0o750)
        .file("latin.txt", b"f\xfcr\r\nalle\r\n")
        .file("real.txt", "one\n")
        .link("link.txt", "real.txt");
    let body = "*** Update File: run.sh\n*** Move to: bin/run.sh\n-echo one\n+echo two\n*** Update File: latin.txt\n für\n-alle\n+größer\n*** Update File: link.txt\n-one\n+two";
    patch(&ws, body).output();
    let mode = fs::metadata(ws.path("bin/run.sh"))
        .expect("moved")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(
        fs::read(ws.path("latin.txt")).expect("bytes"),
        b"f\xfcr\r\ngr\xf6\xdfer\r\n"
    );
    assert_eq!(text(&ws, "real.txt").as_deref(), Some("two\n"));
    assert!(
        fs::symlink_metadata(ws.path("link.txt"))
            .expect("a link")
            .is_symlink()
    );
}

#[test]
fn what_would_be_taken_for_something_else_is_refused() {
    let ws = Workspace::new()
        .file("a.txt", "one\n")
        .file("b.txt", "two\n")
        .link("link.txt", "a.txt");
    fs::hard_link(ws.path("b.txt"), ws.path("same.txt")).expect("a link");
    for (body, kind, expected) in [
        (
            "*** Delete File: link.txt",
            "file_write_failure",
            "symbolic link",
        ),
        (
            "*** Update File: a.txt\n-one\n+1\n*** Update File: link.txt\n-one\n+1",
            "invalid_tool_params",
            "the same file",
        ),
        (
            "*** Update File: b.txt\n-two\n+2\n*** Update File: same.txt\n-two\n+2",
            "invalid_tool_params",
            "the same file",
        ),
        (
            "*** Update File: a.txt\n-one\n+1\n*** Update File: ./a.txt\n-one\n+1",
            "invalid_tool_params",
            "two sections",
        ),
        (
            "*** Update File: a.txt\n*** Move to: b.txt",
            "attempt_to_create_existing_file",
            "exists already",
        ),
        (
            "*** Add File: a.txt/below\n+x",
            "path_is_not_a_directory",
            "a.txt",
        ),
    ] {
        let status = if kind == "invalid_tool_params" { 2 } else { 1 };
        let said = patch(&ws, body).error(kind, status);
        assert!(said.contains(expected), "{said}");
    }
    let many = lines(300, |n| format!("*** Add File: new{n}\n+x\n"));
    let said = patch(&ws, many.trim_end()).error("invalid_tool_params", 2);
    assert!(said.contains("300 files"), "{said}");
}

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let nodes = Tree::of(dir).nodes.into_iter();
    let file = |(name, node)| match node {
        Node::File { content, .. } => Some((name, content)),
        _ => None,
    };
    nodes.filter_map(file).collect()
}

/// The cases of codex's own tests, of its executable and of its scenario files, as `(files before, patch without its
/// markers, files after)`. `None` is a refusal, after which all files must be as before.
type CodexCase = (
    &'static [(&'static str, &'static str)],
    &'static str,
    Option<&'static [(&'static str, &'static str)]>,
);

#[rustfmt::skip]
const CODEX_CASES: &[CodexCase] = &[
    (&[], "*** Add File: bar.md\n+new", Some(&[("bar.md", "new\n")])),
    (&[("gone", "x\n"), ("m", "1\n2\n")],
     "*** Add File: dir/new\n+created\n*** Delete File: gone\n*** Update File: m\n@@\n-2\n+changed",
     Some(&[("dir/new", "created\n"), ("m", "1\nchanged\n")])),
    (&[("m", "1\n2\n3\n4\n")], "*** Update File: m\n@@\n-2\n+b\n@@\n-4\n+d", Some(&[("m", "1\nb\n3\nd\n")])),
    (&[("m", "1\r\n2\r\n3\r\n")], "*** Update File: m\n@@\n-1\n+a\n@@\n 2\n+\n+between\n 3",
     Some(&[("m", "a\r\n2\r\n\r\nbetween\r\n3\r\n")])),
    (&[("m", "a\nb\n")], "*** Update File: m\n@@\n-a\n-b\n+b\n+b\n+a", Some(&[("m", "b\nb\na\n")])),
    (&[("m", "same\r\nsame\n")], "*** Update File: m\n@@\n-same\n same", Some(&[("m", "same\n")])),
    (&[("m", "1\r\n2\n3\r\n4\n")], "*** Update File: m\n@@\n 1\n 2\n-3\n+c\n 4", Some(&[("m", "1\r\n2\nc\r\n4\n")])),
    (&[("old/m", "1\n"), ("old/other", "o\n")], "*** Update File: old/m\n*** Move to: new/dir/m\n@@\n-1\n+2",
     Some(&[("new/dir/m", "2\n"), ("old/other", "o\n")])),
    (&[("m", "1\n2\n")], "*** Update File: m\n@@\n+3\n+4", Some(&[("m", "1\n2\n3\n4\n")])),
    (&[("m", "old\n")], "  *** Update File: m\n@@\n-old\n+new", Some(&[("m", "new\n")])),
    (&[("m", "1\nna\u{ef}ve caf\u{e9}\n")], "*** Update File: m\n@@\n 1\n-na\u{ef}ve caf\u{e9}\n+na\u{ef}ve caf\u{e9} \u{2705}",
     Some(&[("m", "1\nna\u{ef}ve caf\u{e9} \u{2705}\n")])),
    (&[("keep", "k\n"), ("gone", "x\n")], "*** Delete File: gone", Some(&[("keep", "k\n")])),
    (&[("m", "1\n2\n3\n")], "*** Update File: m\n@@\n 1\n-2\n 3", Some(&[("m", "1\n3\n")])),
    (&[("m", "1\n2\n")], "*** Update File: m\n@@\n 1\n-2\n+b\n*** End of File", Some(&[("m", "1\nb\n")])),
    (&[("m", "1\n")], "", None),
    (&[("m", "1\n2\n")], "*** Update File: m\n@@\n-missing\n+changed", None),
    (&[], "*** Delete File: missing", None),
    (&[("m", "1\n")], "*** Update File: m", None),
    (&[], "*** Update File: missing\n@@\n-old\n+new", None),
    (&[("dir/m", "1\n")], "*** Delete File: dir", None),
    (&[("m", "1\n")], "*** Frobnicate File: m", None),
    // These have another outcome than in codex: `docs/tools/apply_patch.md` lists them.
    (&[("m", "1\r\n2")], "*** Update File: m\n@@\n-1\n+a", Some(&[("m", "a\r\n2")])),
    (&[("m", "no end")], "*** Update File: m\n@@\n-no end\n+1\n+2", Some(&[("m", "1\n2")])),
    (&[("old/m", "1\n"), ("new/m", "there\n")], "*** Update File: old/m\n*** Move to: new/m\n@@\n-1\n+2", None),
    (&[("m", "there\n")], "*** Add File: m\n+new", None),
    (&[], "*** Add File: created\n+hello\n*** Update File: missing\n@@\n-old\n+new", None),
];

#[test]
fn cases_of_codex_have_its_outcome_or_the_one_that_the_page_lists() {
    let markers = [
        ("*** Begin Patch", "*** End Patch"),
        (" *** Begin Patch", "*** End Patch "),
        ("*** Begin Patch ", " *** End Patch"),
    ];
    let cases = CODEX_CASES.iter().zip(markers.iter().cycle());
    for ((before, body, after), (begin, end)) in cases {
        let ws = before
            .iter()
            .fold(Workspace::new(), |ws, (name, text)| ws.file(name, text));
        let text = if body.is_empty() {
            format!("{begin}\n{end}\n")
        } else {
            format!("{begin}\n{body}\n{end}\n")
        };
        let answer = ws
            .tool("apply_patch")
            .arguments(&json!({"patch": text}))
            .unwatched()
            .run();
        assert_eq!(
            answer.status() == 0,
            after.is_some(),
            "{body}: {}",
            answer.shown()
        );
        let wanted = after.unwrap_or(before).iter();
        let wanted: BTreeMap<_, _> = wanted
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect();
        assert_eq!(contents(&ws.dir()), wanted, "{body}");
    }
}

/// A call without a person, in the mode `auto_edit`.
fn unasked(ws: &Workspace, body: &str) -> Answer {
    let call = ws
        .tool("apply_patch")
        .flags(&["--approval-mode", "auto_edit"]);
    call.arguments(&envelope(body)).unwatched().run()
}

#[test]
fn each_file_is_judged_as_a_change_of_its_own() {
    let rule = "[[rule]]\ntoolName = \"write_file\"\nargsPattern = '\"file_path\":\"[^\"]*secret'\ndecision = \"deny\"\npriority = 100\n";
    let ws = Workspace::new()
        .home(".gemini/policies/own.toml", rule)
        .file("a.txt", "one\n")
        .file("Makefile", "all:\n");
    unasked(
        &ws,
        "*** Update File: a.txt\n-one\n+1\n*** Add File: b.txt\n+2",
    )
    .output();
    for body in [
        // What is removed or moved is more than an edit.
        "*** Update File: a.txt\n-1\n+2\n*** Delete File: b.txt",
        "*** Update File: a.txt\n*** Move to: c.txt",
        // Files that programs obey.
        "*** Update File: a.txt\n-1\n+2\n*** Update File: Makefile\n-all:\n+all: x",
        "*** Add File: .git/hooks/post-commit\n+x",
        "*** Update File: a.txt\n*** Move to: .gemini/settings.json",
        // What a rule denies another tool.
        "*** Update File: a.txt\n-1\n+2\n*** Add File: secret.txt\n+x",
    ] {
        unasked(&ws, body).error("policy_violation", 3);
    }
    assert_eq!(text(&ws, "a.txt").as_deref(), Some("1\n"));
}

#[test]
fn other_spellings_of_the_argument_are_judged_alike() {
    let ws = Workspace::new();
    let body = envelope("*** Add File: .git/hooks/x\n+x");
    for name in ["patch", "input", "diff"] {
        let args = json!({name: body["patch"]});
        let call = ws
            .tool("apply_patch")
            .flags(&["--approval-mode", "auto_edit"]);
        call.arguments(&args).run().error("policy_violation", 3);
    }
}
