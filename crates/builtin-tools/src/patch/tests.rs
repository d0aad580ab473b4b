use super::{Change, FilePatch, HunkError, Misfit, apply, parse};
use gemini_tools_core::tool::Kind;

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch\n")
}

fn update(text: &str, hunks: &str) -> Result<String, HunkError> {
    let patches = parse(&envelope(&format!("*** Update File: f\n{hunks}"))).expect("a patch");
    patched(text, &patches[0])
}

fn patched(text: &str, patch: &FilePatch) -> Result<String, HunkError> {
    match &patch.change {
        Change::Update { hunks, .. } => apply(text, hunks).map(|patched| patched.text),
        Change::Delete { hunks } => {
            let hunks = hunks.as_deref().unwrap_or_default();
            apply(text, hunks).map(|patched| patched.text)
        }
        Change::Create { text, .. } => Ok(text.clone()),
    }
}

fn fault(text: &str) -> String {
    let error = parse(text).expect_err("no patch");
    format!("{}: {}", error.line, error.why)
}

#[test]
fn an_envelope_has_sections_in_any_number() {
    let text = envelope(
        "*** Add File: new.txt\n+one\n+\n\n*** Delete File: old.txt\n*** Update File: a.txt\n*** Move to: b.txt\n@@ fn x\n-1\n+2",
    );
    let patches = parse(&text).expect("a patch");
    let effects: Vec<_> = patches.iter().flat_map(FilePatch::effects).collect();
    let expected = [
        ("new.txt", Kind::Edit),
        ("old.txt", Kind::Delete),
        ("a.txt", Kind::Move),
        ("b.txt", Kind::Edit),
    ];
    assert_eq!(effects, expected);
    assert_eq!(patched("", &patches[0]).expect("text"), "one\n\n");
}

#[test]
fn a_blank_line_within_a_new_file_is_a_line_of_it() {
    for (body, expected) in [
        ("+a\n\n+b", "a\n\nb\n"),
        ("+a\n \n\t\n+b", "a\n\n\nb\n"),
        ("\n+a", "\na\n"),
        ("+a\r\n\r\n+b\r", "a\r\n\r\nb\r\n"),
        // Blank lines behind the last line of the file separate sections.
        ("+a\n+\n\n \n*** Delete File: g", "a\n\n"),
        ("", ""),
    ] {
        let patches = parse(&envelope(&format!("*** Add File: f\n{body}"))).expect("a patch");
        assert_eq!(
            patched("", &patches[0]).expect("text"),
            expected,
            "{body:?}"
        );
    }
}

#[test]
fn line_ends_of_the_whole_patch_are_not_those_of_its_files() {
    let text = envelope("*** Add File: f\n+a\n+b").replace('\n', "\r\n");
    for text in [text.as_str(), text.trim_end(), &format!("```\r\n{text}```")] {
        let patches = parse(text).expect("a patch");
        assert_eq!(
            patched("", &patches[0]).expect("text"),
            "a\nb\n",
            "{text:?}"
        );
    }
    let text = envelope("*** Add File: f\n+a\r\n+b\r");
    let patches = parse(&text).expect("a patch");
    assert_eq!(patched("", &patches[0]).expect("text"), "a\r\nb\r\n");
}

#[test]
fn what_is_around_a_patch_is_taken_off() {
    let bare = envelope("*** Update File: f\n a\n+b");
    let wanted = parse(&bare).expect("a patch");
    let plain = |patches: Vec<FilePatch>| patched("a\n", &patches[0]).expect("text");
    for text in [
        format!("\n\n{bare}\n"),
        format!("<<'EOF'\n{bare}EOF\n"),
        format!("apply_patch <<\"EOF\"\n{bare}EOF\n"),
        format!("```diff\n{bare}```"),
        bare.replace('\n', "\r\n"),
        bare.replace("*** ", "  *** ")
            .replace("Patch\n", "Patch  \n"),
    ] {
        let patches = parse(&text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert_eq!(plain(patches), plain(wanted.clone()), "{text}");
    }
    assert!(fault(&format!("<<\"EOF'\n{bare}EOF\n")).contains("no patch begins there"));
}

const FAULTS: &[(&str, &str)] = &[
    ("bad", "1: no patch begins"),
    ("\n*** Begin Patch\n", "2: the patch does not end"),
    (
        "*** Begin Patch\n*** End Patch",
        "1: the patch changes no file",
    ),
    (
        "*** Begin Patch\n*** Update File: f\n*** End Patch",
        "2: the section changes nothing",
    ),
    (
        "*** Begin Patch\n*** Update File: f\n@@\n*** End Patch",
        "4: the hunk before has no lines",
    ),
    (
        "*** Begin Patch\n*** Update File: f\n@@\nbad\n*** End Patch",
        "4: each line of a hunk begins",
    ),
    (
        "*** Begin Patch\n*** Add File: f\nbad\n*** End Patch",
        "3: each line of a new file begins",
    ),
    (
        "*** Begin Patch\n*** Frobnicate File: f\n*** End Patch",
        "2: \"*** Add File: PATH\"",
    ),
    (
        "*** Begin Patch\n*** Delete File:  \n*** End Patch",
        "2: the path is missing",
    ),
    (
        "*** Begin Patch\n*** Delete File: f\n*** End Patch\nmore",
        "4: something follows",
    ),
    (
        "--- a/f\n+++ b/f\n@@ nonsense\n-a\n",
        "3: the head of a hunk",
    ),
    (
        "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
        "1: both names of the file differ",
    ),
    (
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n",
        "3: the hunk changes nothing",
    ),
    ("diff --git a/f b/f\nGIT binary patch\n", "2: a binary file"),
    (
        "diff --git a/f b/g\ncopy from f\ncopy to g\n",
        "2: a copy is not taken",
    ),
    (
        "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n",
        "1: only regular files",
    ),
    (
        "diff --git a/f b/f\nindex 1..2 120000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n",
        "1: only regular files",
    ),
    (
        "diff --git a/f b/f\nindex 1..2 160000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n",
        "1: only regular files",
    ),
    (
        "diff --git a/1/f b/2/f\nnew file mode 100644\n--- /dev/null\n+++ w/2/f\n@@ -0,0 +1 @@\n+x\n",
        "1: the name is \"w/2/f\" or, without a prefix, \"2/f\"",
    ),
    (
        "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n",
        "1: the name is \"b/g\" here and \"b/f\"",
    ),
    (
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-x\n",
        "1: the line \"+++\" should have /dev/null",
    ),
    (
        "--- /dev/null\n+++ \"b/caf\\351\"\n@@ -0,0 +1 @@\n+x\n",
        "2: the name can't be read",
    ),
    (
        "@@ -1 +1 @@\n-a\n+b\n--- a/f\n+++ b/f\n",
        "1: the hunk belongs to no file",
    ),
    (
        "--- a/f\n+++ b/f\n@@ -2,0 +3,2 @@\n+x\n",
        "3: the patch is cut off",
    ),
    ("--- /dev/null\n+++ b/f\n", "1: the section lacks the hunks"),
    (
        "diff --git a/f b/ge\nrename from f\nrename to g\n",
        "1: the file is renamed",
    ),
    (
        "diff --git a/f b/g\nrename from f\nrename to g\n--- a/h\n+++ b/h\n@@ -1 +1 @@\n-a\n+b\n",
        "1: the file is renamed",
    ),
    (
        "diff --git a/f b/f\nnew file mode 100644\nindex 0..c\n",
        "1: the section lacks the hunks",
    ),
    (
        "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n",
        "1: the section lacks the hunks",
    ),
    (
        "diff --cc f\n--- a/f\n+++ b/f\n",
        "1: the difference of a merge",
    ),
    (
        "--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n- a\n++b\n",
        "3: the difference of a merge",
    ),
    (
        "--- a/f\n+++ b/f\n@@ -1,1 +1,3 @@\n a\n-b\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
        "6: the head of a file",
    ),
];

#[test]
fn a_fault_names_its_line() {
    for (text, expected) in FAULTS {
        let said = fault(text);
        assert!(said.starts_with(expected), "{text}: {said}");
    }
}

const SECTION: &str = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";

/// A piece of a patch that belongs to no section must not be skipped like a commit message, because
/// the patch would then be applied without it.
#[test]
fn a_piece_of_a_patch_outside_of_all_hunks_is_a_fault() {
    let hunk = " 10\n-11\n+eleven\n 12\n";
    let heads = [
        "@@",
        "@@@ -10,3 +10,3 @@@",
        "**@@ -10,3 +10,3 @@**",
        "*** Update File: f\n@@",
    ];
    let hunks = heads.map(|head| format!("{head}\n{hunk}"));
    let others = [
        "+1 from me",
        " 4\n+x",
        "\n+more\n",
        "\n-gone",
        "+++ b/g\n@@ -4 +4 @@\n-5\n+five\n",
        "\n@@ -10,3 +10,3 @@\n 10\n-11\n+eleven\n 12\n",
        "rename from a\nrename to b",
        "\u{feff}diff --git a/a b/b\nrename from a\nrename to b",
        "old mode 100644",
        "Binary files a/x and b/x differ",
        "Only in b: x",
        "diff --cc x",
        "*** End Patch",
        "Submodule s 123..456:",
        "* Unmerged path x",
        "text\n\n  - 5\n",
        "GIT binary patch",
    ];
    for stray in hunks.iter().map(String::as_str).chain(others) {
        let whole = format!("{SECTION}{stray}");
        let line: usize = fault(&whole)
            .split(':')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a line");
        assert!(line > 7, "{whole}");
    }
}

#[test]
fn text_that_is_no_piece_of_a_patch_is_passed_over() {
    for stray in [
        "",
        "\n",
        "-- \n2.1\n\n",
        "--\n2.1",
        "``` \nDone.",
        "diff -ru a/x b/x",
        "Index: x\n===\n",
        " 4\n 5\n",
    ] {
        assert_eq!(parse(&format!("{SECTION}{stray}")).expect(stray).len(), 1);
    }
    // The message of a commit may have lists.
    let next = SECTION.replace("/f", "/g");
    for commit in [
        "From 0123456789abcdef Mon Sep 17\n",
        "commit 0123456\n",
        "# HG changeset patch\n",
    ] {
        let two = format!(
            "- item\n+ item\n\n{SECTION}-- \n2.1\n\n{commit}- item\n---\n a | 2 +-\n{next}"
        );
        assert_eq!(parse(&two).expect(commit).len(), 2);
    }
    // A mark of the encoding stands before many a first line.
    let renamed = "\u{feff}diff --git a/a b/b\nrename from a\nrename to b\n";
    assert_eq!(
        parse(&format!("{renamed}diff --git a/f b/f\n{SECTION}"))
            .expect("a patch")
            .len(),
        2
    );
}

#[test]
fn git_s_heads_say_what_becomes_of_a_file() {
    let text = "From 1 Mon\nSubject: x\n\ndiff --git a/x y b/x y\nold mode 100644\nnew mode 100755\ndiff --git a/gone b/gone\n\
        deleted file mode 100644\nindex 1..0\n--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\
        diff --git a/empty b/empty\nnew file mode 100755\nindex 0..e69de29\n\
        diff --git \"a/f\\303\\274r\" b/to\nsimilarity index 100%\nrename from \"f\\303\\274r\"\nrename to to\n-- \n2.1\n";
    let patches = parse(text).expect("a patch");
    let paths: Vec<&str> = patches.iter().map(|patch| patch.path.as_str()).collect();
    assert_eq!(paths, ["x y", "gone", "empty", "für"]);
    assert!(matches!(
        patches[0].change,
        Change::Update {
            is_executable: Some(true),
            ..
        }
    ));
    assert_eq!(patched("a\nb\n", &patches[1]).expect("text"), "");
    assert!(
        matches!(&patches[2].change, Change::Create { text, is_executable: true } if text.is_empty())
    );
    assert!(matches!(&patches[3].change, Change::Update { to: Some(to), .. } if to == "to"));
}

#[test]
fn names_lose_their_prefixes_only_where_both_sides_show_one() {
    let path = |old: &str, new: &str| {
        let text = format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n");
        parse(&text).expect("a patch")[0].path.clone()
    };
    assert_eq!(path("a/src/x", "b/src/x"), "src/x");
    assert_eq!(path("src/x\t2026-01-01", "src/x\t2026-01-02"), "src/x");
    assert_eq!(path("one-1.0/src/x", "one-1.1/src/x"), "src/x");
    let name = r#""a/\a\b\t\n\v\f\r\"\\\303\274""#;
    let expected = "\u{7}\u{8}\t\n\u{b}\u{c}\r\"\\ü";
    assert_eq!(path(name, &name.replace("a/", "b/")), expected);
}

#[test]
fn the_line_of_git_tells_the_prefixes_of_a_new_file() {
    for (header, name, expected) in [
        ("a/f b/f", "b/f", "f"),
        ("i/f w/f", "w/f", "f"),
        ("old/a b new/a b", "new/a b\t", "a b"),
        ("a/f  b/f ", "b/f \t", "f "),
        ("b/b b/b", "b/b", "b/b"),
        ("a/x b/x a/x b/x", "a/x b/x\t", "a/x b/x"),
        (r#""a/q\" f" "b/q\" f""#, r#""b/q\" f""#, "q\" f"),
        ("a/f b/f", "f", "f"),
    ] {
        let text = format!(
            "diff --git {header}\nnew file mode 100644\n--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n"
        );
        let patches = parse(&text).unwrap_or_else(|e| panic!("{header}: {e:?}"));
        assert_eq!(patches[0].path, expected, "{header}");
    }
}

#[test]
fn the_first_second_of_1970_is_that_of_a_file_that_is_not_there() {
    let old = "@@ -1 +0,0 @@\n-a\n";
    let new = "@@ -0,0 +1 @@\n+a\n";
    for (time, body, is_gone) in [
        ("1970-01-01 00:00:00.000000000 +0000", old, true),
        ("1969-12-31 19:00:00 -05:00", old, true),
        ("1970-01-01 05:30:00.000 +0530", old, true),
        ("1970-01-01 05:30:00.000 +0500", old, false),
        ("1970-01-01 00:00:01.000000000 +0000", old, false),
        ("1970-01-01 00:00:00.000000001 +0000", old, false),
        ("1970-01-01 71582788:16:00 +0000", old, false),
        ("1970-01-01 00:00:00 -32768", old, false),
        (
            "1970-01-01 00:00:00.000000000 +0000",
            "@@ -1 +1 @@\n-a\n+b\n",
            false,
        ),
    ] {
        let text =
            format!("--- \"a/f\\t\"\t2026-01-01 00:00:00 +0000\n+++ \"b/f\\t\"\t{time}\n{body}");
        let patches = parse(&text).expect("a patch");
        let change = &patches[0].change;
        assert_eq!(matches!(change, Change::Delete { .. }), is_gone, "{text}");
        assert_eq!(patches[0].path, "f\t");
    }
    let text =
        format!("--- a/f\t1970-01-01 00:00:00 +0000\n+++ b/f\t2026-01-01 00:00:00 +0000\n{new}");
    let patches = parse(&text).expect("a patch");
    assert!(matches!(&patches[0].change, Change::Create { text, .. } if text == "a\n"));
}

#[test]
fn a_unified_difference_gives_the_very_bytes() {
    for (old, new, body) in [
        (
            "a\nb\nc\n",
            "a\nB\nc\n",
            "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
        ),
        (
            "a\r\nb\r\n",
            "a\r\nb\n",
            "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n",
        ),
        (
            "a\nb",
            "a\nb\n",
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
        ),
        (
            "a\nb\n",
            "a\nb",
            "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n",
        ),
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
        // Removed and added lines that look like the head of a file.
        (
            "x\n-- a\ny\n",
            "x\n++ b\ny\n",
            "@@ -1,3 +1,3 @@\n x\n--- a\n+++ b\n y\n",
        ),
        // The line number says which of two places is meant.
        (
            "a\nb\na\nb\n",
            "a\nb\na\nB\n",
            "@@ -3,2 +3,2 @@\n a\n-b\n+B\n",
        ),
    ] {
        let patches = parse(&format!("--- a/f\n+++ b/f\n{body}")).expect("a patch");
        assert_eq!(patched(old, &patches[0]).as_deref(), Ok(new), "{body}");
    }
}

#[test]
fn a_hunk_with_wrong_numbers_is_found_by_its_lines_alone() {
    let text = "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n@@ -7,1 +9,1 @@\n y\n-z\n+Z\n";
    assert!(
        unified("1\n2\n3\n", "@@ -2,0 +3,0 @@\n+x").is_err_and(|e| e.why.contains("its place"))
    );
    let patches = parse(text).expect("a patch");
    assert_eq!(
        patched("0\na\nb\nc\nx\ny\nz\n", &patches[0]).as_deref(),
        Ok("0\na\nB\nc\nx\ny\nZ\n")
    );
    let refused = patched("a\nb\nc\na\nb\nc\ny\nz\n", &patches[0]).expect_err("two places");
    assert_eq!(refused.misfit, Misfit::Ambiguous, "{refused:?}");
}

#[test]
fn an_anchor_chooses_the_first_place_below_it() {
    let text = "fn a() {\n    1\n}\nfn b() {\n    1\n}\n";
    assert_eq!(
        update(text, "@@ fn b() {\n-    1\n+    2").as_deref(),
        Ok("fn a() {\n    1\n}\nfn b() {\n    2\n}\n")
    );
    let refused = update(text, "@@\n-    1\n+    2").expect_err("two places");
    assert_eq!(refused.misfit, Misfit::Ambiguous);
    let missing = update(text, "@@ fn c() {\n-    1\n+    2").expect_err("no anchor");
    assert!(missing.why.contains("fn c() {"), "{missing:?}");
    let nested = "impl A {\nfn x\n1\n}\nimpl B {\nfn x\n1\n}\n";
    let wanted = "impl A {\nfn x\n1\n}\nimpl B {\nfn x\n2\n}\n";
    assert_eq!(
        update(nested, "@@ impl B {\n@@ fn x\n-1\n+2").as_deref(),
        Ok(wanted)
    );
    // Two hunks may be below one anchor. If a further place is below another one, it is not clear
    // which of them is meant.
    let twice = "@@ fn a() {\n-    1\n+    2\n@@ fn a() {\n-    3\n+    4";
    let text = "fn a() {\n    1\n    3\n}\n";
    assert_eq!(
        update(text, twice).as_deref(),
        Ok("fn a() {\n    2\n    4\n}\n")
    );
    let refused = update(&[text, "fn a() {\n    3\n}\n"].concat(), twice).expect_err("two places");
    assert_eq!(refused.misfit, Misfit::Ambiguous);
}

#[test]
fn line_ends_of_the_file_stay() {
    assert_eq!(
        update("a\r\nb\r\n", " a\n-b\n+c\n+d").as_deref(),
        Ok("a\r\nc\r\nd\r\n")
    );
    assert_eq!(update("a\nb", " a\n-b\n+c").as_deref(), Ok("a\nc"));
    assert_eq!(update("a\nb", " b\n+c").as_deref(), Ok("a\nb\nc"));
    assert_eq!(update("a\nb", " b\n+").as_deref(), Ok("a\nb\n\n"));
    assert_eq!(update("a\r\nb", "+c").as_deref(), Ok("a\r\nb\r\nc\r\n"));
}

#[test]
fn lines_alone_are_added_at_the_end() {
    assert_eq!(
        update("a\nb\nc\n", "@@\n a\n-b\n+B\n@@\n+d").as_deref(),
        Ok("a\nB\nc\nd\n")
    );
    assert!(
        update("a\nb\n", "@@ a\n+x")
            .expect_err("no place")
            .why
            .contains("its place is not known")
    );
}

#[test]
fn a_patch_that_is_applied_already_is_refused() {
    for (text, hunks) in [
        ("a\nb\nc\n", "@@\n a\n+b"),
        (
            "let a = 1;\nlet c = 3;\nlet d = 4;\n",
            "@@\n let a = 1;\n-let b = 2;\n+let c = 3;\n let d = 4;",
        ),
        ("a\nd\n", "@@\n+d"),
        ("x\na\nb\nc\n", "@@\n+a\n b\n c"),
        (
            "x\nfn f() {\n    g(1);\n}\n",
            "@@\n fn f() {\n-    g(2);\n+    g(1);\n }",
        ),
    ] {
        let refused = update(text, hunks).expect_err(hunks);
        assert_eq!(refused.misfit, Misfit::Applied, "{hunks}: {refused:?}");
    }
    let text = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n b\n+c\n";
    let patches = parse(text).expect("a patch");
    assert_eq!(patched("a\nb\n", &patches[0]).as_deref(), Ok("a\nb\nc\n"));
    assert!(patched("a\nb\nc\n", &patches[0]).is_err());
    let text = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    let patches = parse(text).expect("a patch");
    assert_eq!(
        patched("a\nb\nc\n", &patches[0]).as_deref(),
        Ok("a\nB\nc\n")
    );
    let refused = patched("a\nB\nc\n", &patches[0]).expect_err("applied");
    assert_eq!(refused.misfit, Misfit::Applied);
}

#[test]
fn what_is_applied_at_its_place_already_is_not_applied_at_the_next_one() {
    let hunk = "@@ func A() {\n \tif x {\n-\t\treturn err\n+\t\treturn wrap(err)\n \t}";
    let body = |what: &str| format!("\tif x {{\n\t\treturn {what}\n\t}}\n}}\n");
    let text = |a: &str, b: &str| format!("func A() {{\n{}func B() {{\n{}", body(a), body(b));
    let once = text("wrap(err)", "err");
    assert_eq!(
        update(&text("err", "err"), hunk).as_deref(),
        Ok(once.as_str())
    );
    let refused = update(&once, hunk).expect_err("applied");
    assert_eq!(refused.misfit, Misfit::Applied, "{refused:?}");
    // A hunk that was applied is also refused if the lines are quoted inexactly, but perhaps only
    // because it is not clear then which lines are meant.
    let refused = update(
        &once.replace("func B", "\nfunc B").replace("\t}", "\t}  "),
        hunk,
    );
    assert!(refused.is_err(), "{refused:?}");
    // The line number of a unified diff says where the hunk belongs, too. So it shows that a hunk
    // was applied, even one that only removes lines.
    let unified = |lines: &str, text: &str| {
        let patches = parse(&format!("--- a/f\n+++ b/f\n{lines}\n")).expect("a patch");
        patched(text, &patches[0])
    };
    let lines = hunk.replace("@@ func A() {", "@@ -2,3 +2,3 @@");
    assert_eq!(
        unified(&lines, &text("err", "err")).as_deref(),
        Ok(once.as_str())
    );
    assert!(unified(&lines, &once).is_err_and(|e| e.misfit == Misfit::Applied));
    let gone = "@@ -1,3 +1,2 @@\n a\n-b\n c";
    assert!(unified(gone, "a\nc\na\nb\nc\n").is_err_and(|e| e.misfit == Misfit::Applied));
    assert_eq!(
        unified(gone, "x\nc\na\nb\nc\n").as_deref(),
        Ok("x\nc\na\nc\n")
    );
    let short = "@@ ## v\n \n-1.0\n+1.1\n ";
    let refused = update("## v\n\n1.1\n\nx\n\n1.0\n\n", short).expect_err("applied");
    assert_eq!(refused.misfit, Misfit::Applied, "{refused:?}");
    // A few characters may be there by chance.
    assert_eq!(
        update("x\n2\n1\n", "@@ x\n-1\n+2").as_deref(),
        Ok("x\n2\n2\n")
    );
}

#[test]
fn a_blank_line_beside_a_change_says_where_the_change_belongs() {
    let text = "x = 1\n\ndef f(i):\n    return a[i]\n";
    for hunk in [
        " \n+def f(i: int):\n     return a[i]",
        " def f(i):\n+    i += 1\n ",
    ] {
        assert!(update(text, hunk).is_err(), "{hunk}");
    }
    // The file has the blank line, although with other blanks.
    assert_eq!(
        update(text, "   \n-def f(i):\n+def f(j):\n     return a[i]  ").as_deref(),
        Ok("x = 1\n\ndef f(j):\n    return a[i]\n")
    );
    // A blank line that is not beside the change may be missing in the file.
    assert_eq!(
        update(text, " \n def f(i):\n-    return a[i]\n+    return b[i]").as_deref(),
        Ok("x = 1\n\ndef f(i):\n    return b[i]\n")
    );
    assert_eq!(
        update(text, " \n     return a[i]\n+    # end").as_deref(),
        Ok("x = 1\n\ndef f(i):\n    return a[i]\n    # end\n")
    );
}

#[test]
fn unchanged_lines_without_their_mark_do_not_shift_the_new_ones() {
    let text = "def f():\n    if a:\n        return 1\n    return 2\n";
    let hunk = "    if a:\n        return 1\n+    if b:\n+        return 3\n    return 2";
    let refused = update(text, hunk).expect_err("no marks");
    assert!(refused.why.contains("indentation"), "{refused:?}");
    // Removed lines have their mark, so these lines are as deep as they seem.
    assert_eq!(
        update(text, "    if a:\n-       return 1\n+       return 3").as_deref(),
        Ok("def f():\n    if a:\n        return 3\n    return 2\n")
    );
}

#[test]
fn the_end_of_the_file_is_a_condition() {
    let text = "a\nb\na\nb\n";
    assert_eq!(
        update(text, " a\n-b\n+c\n*** End of File").as_deref(),
        Ok("a\nb\na\nc\n")
    );
    assert!(update("a\nb\nc\n", " a\n-b\n+x\n*** End of File").is_err());
}

#[test]
fn lines_quoted_inexactly_are_found_as_smart_edit_finds_them() {
    let text = "def f():\n    x = 1\n    y = “2”\n    return x\n";
    let hunk = " def f():\n-    y = \"2\"\n+    y = \"3\"\n     return x";
    assert!(update(text, hunk).is_err(), "a line that stays is left out");
    let hunk = " def f():\n     x = 1\n-    y = \"2\"\n+    y = \"3\"\n     return x";
    assert_eq!(
        update(text, hunk).as_deref(),
        Ok("def f():\n    x = 1\n    y = “3”\n    return x\n")
    );
    // The file's blank line must not be doubled.
    let at_end = update(
        "let a = one();\nlet b = 2;\n\n",
        " = one();\n let b = 2;\n \n+let c = 3;",
    );
    assert!(
        at_end.is_err() || at_end.as_deref() == Ok("let a = one();\nlet b = 2;\n\nlet c = 3;\n")
    );
    // A hunk does not match a part of a line.
    for text in ["abc\n", "a b\n", "1: b\n"] {
        assert!(update(text, "-b\n+x").is_err(), "{text}");
    }
    let hunk = "@@ -1 +1 @@\n-limit = 103\n+limit = 104";
    assert!(update("limit = 10³\n", hunk).is_err());
    assert!(unified("limit = 10³\n", hunk).is_err());
}

fn unified(text: &str, hunks: &str) -> Result<String, HunkError> {
    let patches = parse(&format!("--- a/f\n+++ b/f\n{hunks}\n")).expect("a patch");
    patched(text, &patches[0])
}

#[test]
fn hunks_out_of_order_do_not_land_on_twins() {
    let second = "@@ -4,3 +4,3 @@\n 1\n-2\n+two\n 3";
    let first = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c";
    let text = "a\nb\nc\n1\n2\n3\na\nb\nc\n";
    let wanted = "a\nB\nc\n1\ntwo\n3\na\nb\nc\n";
    let in_order = unified(text, &format!("{first}\n{second}"));
    assert_eq!(in_order.as_deref(), Ok(wanted));
    for text in [text, "a\nb\nc\n1\n2\n3\n"] {
        let refused = unified(text, &format!("{second}\n{first}")).expect_err("order");
        assert_eq!(refused.misfit, Misfit::Misplaced, "{refused:?}");
        assert!(
            refused.why.ends_with("not below the hunk before it"),
            "{refused:?}"
        );
    }
    // The first number is off by the distance of the two places of the second hunk.
    let off = "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3";
    let text = "x\nx\nx\n1\n2\n3\na\nb\nc\na\nb\nc\n";
    let refused = unified(text, &format!("{off}\n{}", first.replace('1', "7"))).expect_err("twins");
    assert_eq!(refused.misfit, Misfit::Ambiguous, "{refused:?}");
}

#[test]
fn a_hunk_without_lines_behind_its_change_need_not_be_at_the_end() {
    let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+B";
    assert_eq!(unified("a\nb\nc\n", hunk).as_deref(), Ok("a\nB\nc\n"));
    assert_eq!(unified("x\na\nb\nc\n", hunk).as_deref(), Ok("x\na\nB\nc\n"));
    assert!(unified("a\nb\nc\na\nb\n", hunk).is_err_and(|e| e.misfit == Misfit::Ambiguous));
    let added = "@@ -1,1 +1,2 @@\n a\n+b";
    assert_eq!(unified("a\nc\n", added).as_deref(), Ok("a\nb\nc\n"));
    assert!(unified("a\nb\nc\n", added).is_err_and(|e| e.misfit == Misfit::Applied));
    let before = "@@ -1,1 +1,2 @@\n+a\n b";
    assert_eq!(unified("x\nb\nc\n", before).as_deref(), Ok("x\na\nb\nc\n"));
    assert!(unified("x\na\nb\nc\n", before).is_err_and(|e| e.misfit == Misfit::Applied));
    let said = update("a\nb\nc\n", " a\n-b\n+x\n*** End of File").expect_err("not at the end");
    assert!(said.why.ends_with("not at the end of the file"), "{said:?}");
}
