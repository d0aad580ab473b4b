//! `replace`: exactly what was asked, or nothing and a message that helps.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use crate::harness::{Workspace, lines};

fn with(content: impl AsRef<[u8]>) -> Workspace {
    Workspace::new().file("a.txt", content)
}

fn arguments(ws: &Workspace, old: &str, new: &str) -> Value {
    json!({"file_path": ws.path("a.txt"), "old_string": old, "new_string": new})
}

/// Replaces in `a.txt` and must succeed.
#[track_caller]
fn edit(ws: &Workspace, old: &str, new: &str) {
    let call = ws.tool("replace").arguments(&arguments(ws, old, new));
    call.changing(&["a.txt"]).run().output();
}

fn bytes(ws: &Workspace) -> Vec<u8> {
    fs::read(ws.path("a.txt")).expect("the edited file")
}

#[track_caller]
fn becomes(before: impl AsRef<[u8]>, old: &str, new: &str, after: impl AsRef<[u8]>) {
    let ws = with(before);
    edit(&ws, old, new);
    let (got, want) = (bytes(&ws), after.as_ref());
    assert_eq!(got, want, "{:?}", String::from_utf8_lossy(&got));
}

#[test]
fn the_answer_begins_with_what_gemini_cli_says() {
    let ws = with("one\ntwo\none\n");
    let mut call = arguments(&ws, "one", "1");
    call["expected_replacements"] = json!(2);
    let answer = ws
        .tool("replace")
        .arguments(&call)
        .changing(&["a.txt"])
        .run();
    let said = format!(
        "Successfully modified file: {} (2 replacements). The text was at line 1, line 3.",
        ws.path("a.txt")
    );
    assert_eq!(answer.output(), said);
    let new = json!({"file_path": "new.txt", "old_string": "", "new_string": "x"});
    let answer = ws
        .tool("replace")
        .arguments(&new)
        .changing(&["new.txt"])
        .run();
    let said = "Successfully created and wrote to new file: ";
    assert!(answer.output().starts_with(said), "{}", answer.output());
}

#[test]
fn a_line_that_stands_for_code_left_out_is_written_only_where_it_is_there_already() {
    let new = "one\n  # rest of the code ...";
    let refuses = |before: &str| {
        let ws = with(before);
        let message = ws
            .call("replace", &arguments(&ws, "one", new))
            .error("invalid_tool_params", 2);
        assert!(message.contains("# rest of the code ..."), "{message}");
    };
    refuses("one\ntwo\n");
    refuses("one\n...\n");
    let before = "one\n# rest of the code ...\n";
    becomes(before, "one", new, before.replacen("one", new, 1));
    becomes("one\n", "one", "one\n...", "one\n...\n");
    becomes(
        "one\n",
        "one",
        "f(...rest)\nand so on...",
        "f(...rest)\nand so on...\n",
    );
}

#[test]
fn last_newline_can_be_removed_and_added() {
    becomes("one\ntwo\n", "two\n", "two", "one\ntwo");
    becomes("one\ntwo", "two", "two\n", "one\ntwo\n");
    becomes("one\ntwo", "one", "1", "1\ntwo");
}

#[test]
fn crlf_file_keeps_crlf_and_gives_it_to_new_lines() {
    becomes("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n");
    becomes("a\r\nb\r\nc\r\n", "a\nb\n", "x\n", "x\r\nc\r\n");
    becomes(
        "a\r\nb\r\nc\r\n",
        "a\r\nb",
        "x\r\ny\r\nz",
        "x\r\ny\r\nz\r\nc\r\n",
    );
    becomes("a\r\nb", "b", "b\n", "a\r\nb\r\n");
    // An empty line is one, too.
    becomes(
        "x = 1\r\n\r\nvar\r\n",
        "1\n\nvar",
        "2\n\nlet",
        "x = 2\r\n\r\nlet\r\n",
    );
}

#[test]
fn in_a_file_of_both_new_lines_end_as_the_place_does() {
    becomes("a\r\nb\nc\n", "b", "b\r\nx", "a\r\nb\nx\nc\n");
    becomes("a\r\nb\nc\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\nc\n");
    // All places are found, whichever line ends they have.
    let ws = with("a\rb a\r\nb\n");
    let mut arguments = arguments(&ws, "a\nb", "A\nB");
    arguments["expected_replacements"] = 2.into();
    ws.tool("replace")
        .arguments(&arguments)
        .changing(&["a.txt"])
        .run()
        .output();
    assert_eq!(bytes(&ws), b"A\rB A\r\nB\n");
}

#[test]
fn the_files_line_ends_stay_whichever_the_texts_have() {
    becomes("a\nb\n", "b", "x\r\ny", "a\nx\ny\n");
    becomes("a\nb\nc\n", "a\r\nb", "a\r\nB\r\nx", "a\nB\nx\nc\n");
    becomes(
        "a\r\nb\r\nc\r\n",
        "a\r\nb",
        "a\nB\nx",
        "a\r\nB\r\nx\r\nc\r\n",
    );
    becomes(
        "a\r\nb\r\nc\r\n",
        "a\nb",
        "a\r\nB\r\nx",
        "a\r\nB\r\nx\r\nc\r\n",
    );
    becomes("a\r\nb\nc\n", "a\r\nb", "x\ny\nz", "x\r\ny\r\nz\nc\n");
    becomes("a\rb\rc\r", "a\nb", "a\r\nB\nx", "a\rB\rx\rc\r");
    // Also if they are far away.
    let long = "x".repeat(10_000);
    becomes(
        format!("a\r\n{long}b{long}\r\n"),
        "b",
        "b\nc",
        format!("a\r\n{long}b\r\nc{long}\r\n"),
    );
    becomes("a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n");
    // Half a line end joins no lines.
    becomes("a\r\nb\r\n", "a\r", "b", "b\r\nb\r\n");
    becomes("a\r\nb\r\n", "a\r\nb\r", "c", "c\r\n");
    // Line ends are not all of an edit.
    for (content, old, new) in [
        ("a\r\nb\r\n", "a\r\nb", "a\nb"),
        ("a\nb\n", "a\nb\n", "a\r\nb\r\n"),
    ] {
        let ws = with(content);
        let answer = ws.call("replace", &arguments(&ws, old, new));
        let message = answer.error("edit_no_change", 1);
        answer.must_say(&message, &["line ends"]);
    }
}

#[test]
fn among_line_feeds_a_carriage_return_alone_is_a_character_as_others() {
    becomes(
        "a = \"x\ry\"\nb\n",
        "a = ",
        "# c\na = ",
        "# c\na = \"x\ry\"\nb\n",
    );
    becomes("a = 1\nb\n", "1", "\"x\ry\"", "a = \"x\ry\"\nb\n");
    becomes("a\r\nb\r\n", "b", "x\ry\nz", "a\r\nx\ry\r\nz\r\n");
    becomes("10%\r20%\n", "10%\r", "", "20%\n");
    becomes("10%\r20%\n", "10%\r", "15%\r", "15%\r20%\n");
    // Without a line feed, it ends lines.
    becomes("a\rb\r", "b", "b\nc", "a\rb\rc\r");
    becomes("a\nb\n", "a\rb\r", "a\rc\r", "a\nc\n");
}

#[test]
fn legacy_encoding_stays() {
    let around = b"\xdcbergr\xf6\xdfe \x96 na\xefve caf\xe9, fa\xe7ade \x80 5\n".repeat(5);
    let before = [&around[..], b"das Gr\xfc\xdfen alt\n", &around].concat();
    let after = [&around[..], b"das Gr\xfc\xdfen \x80 neu\n", &around].concat();
    becomes(before, "Grüßen alt", "Grüßen € neu", after);
}

#[test]
fn the_encoding_that_a_document_says_stays() {
    let document = |text: &[u8]| {
        let head = b"<?xml version=\"1.0\" encoding=\"ISO-8859-2\"?>\n<a>\xf5r\xfcl \x80\xff ";
        [&head[..], text, b"</a>\n"].concat()
    };
    let (before, after) = (document(b"\xe1rv\xedz alt"), document(b"\xe1rv\xedz \xfbr"));
    becomes(before, "árvíz alt", "árvíz űr", after);
}

#[test]
fn several_occurrences_need_to_be_expected() {
    let ws = with("red\nblue\nred\n\nred\n");
    let answer = ws.call("replace", &arguments(&ws, "red", "green"));
    let message = answer.error("edit_expected_occurrence_mismatch", 1);
    let message = message.replace(&ws.path("a.txt"), "");
    answer.must_say(&message, &["1", "3", "5", "expected_replacements"]);
    assert!(
        !message.contains('2') && !message.contains('4'),
        "{message}"
    );
    let mut arguments = arguments(&ws, "red", "green");
    arguments["expected_replacements"] = json!(4);
    ws.call("replace", &arguments)
        .error("edit_expected_occurrence_mismatch", 1);
}

#[test]
fn allow_multiple_replaces_all_and_an_instruction_is_ignored() {
    let ws = with("red red\nred\n");
    let mut arguments = arguments(&ws, "red", "blue");
    arguments["allow_multiple"] = json!(true);
    arguments["instruction"] = json!("make it blue");
    let call = ws.tool("replace").flags(&["--strict"]);
    let answer = call.arguments(&arguments).changing(&["a.txt"]).run();
    answer.must_say(&answer.output(), &["3"]);
    assert_eq!(bytes(&ws), b"blue blue\nblue\n");
}

/// A miss: nothing changes, and the message has these pieces.
#[track_caller]
fn misses(content: &str, old: &str, pieces: &[&str]) {
    let ws = with(content);
    let answer = ws.call("replace", &arguments(&ws, old, "new text"));
    let message = answer.error("edit_no_occurrence_found", 1);
    answer.must_say(&message, &["a.txt"]);
    let lower = message.to_lowercase();
    answer.must_say(&lower, pieces);
}

#[test]
fn a_miss_shows_what_is_near_and_how_it_differs() {
    misses(
        "alpha\nbeta\nfunction compute(total) {\n  return total;\n}\n",
        "function compute(totals) {",
        &["3", "function compute(total) {"],
    );
    misses(
        "a\nif x:\n\treturn  1\n",
        "if x:\n    return 1",
        &["2", "whitespace"],
    );
    misses(
        "a\nb\nconst Value = 1;\n",
        "const value = 1;",
        &["line 3", "the file `value`", "```\nconst value = 1;\n```"],
    );
    misses(
        "a\nlet s = “hello”;\n",
        "let s = \"hello\";",
        &["line 2", "the file `\\u{201c}hello\\u{201d}`", "look alike"],
    );
    misses("a\nputs \"x\ty\"\n", "puts \\\"x\\ty\\\"", &["2", "escap"]);
    misses("", "something", &[]);
    misses("1\n2\n3\n", "function compute(total) {\n}\n", &[]);
}

#[test]
fn miss_in_a_large_file_is_quick() {
    let content = lines(200_000, |n| format!("line number {n} of a large file\n"));
    let ws = with(content);
    let call =
        ws.tool("replace")
            .arguments(&arguments(&ws, "line number 150000 of a huge file", "x"));
    let answer = call.within_cpu_seconds(20).run();
    let message = answer.error("edit_no_occurrence_found", 1);
    assert!(message.len() < 10_000, "{} bytes", message.len());
}

#[test]
fn places_that_overlap_are_refused_unless_all_are_meant() {
    let text = "<li>a</li>\n".repeat(3);
    let old = "<li>a</li>\n".repeat(2);
    let ws = with(&text);
    for expected in 1..3 {
        let mut arguments = arguments(&ws, &old, "b\n");
        arguments["expected_replacements"] = json!(expected);
        let message = ws
            .call("replace", &arguments)
            .error("edit_expected_occurrence_mismatch", 1);
        assert!(message.contains("line 1, line 2"), "{message}");
    }
    let mut arguments = arguments(&ws, &old, "b\n");
    arguments["allow_multiple"] = json!(true);
    let call = ws.tool("replace").arguments(&arguments);
    call.changing(&["a.txt"]).run().output();
    assert_eq!(bytes(&ws), b"b\n<li>a</li>\n");
}

#[test]
fn mode_and_links_stay() {
    let ws = Workspace::new()
        .file("d/real.sh", "echo one\n")
        .mode("d/real.sh", 0o750)
        .link("a.txt", "d/real.sh");
    let call = ws.tool("replace").arguments(&arguments(&ws, "one", "two"));
    call.changing(&["d/real.sh"]).run().output();
    assert_eq!(bytes(&ws), b"echo two\n");
    let mode = fs::metadata(ws.path("d/real.sh")).expect("the file").mode();
    assert_eq!(mode & 0o7777, 0o750);
}

#[test]
fn huge_file_is_edited_or_refused_in_words() {
    let ws = Workspace::new().sparse("a.txt", 5 << 30);
    let call = ws.tool("replace").arguments(&arguments(&ws, "needle", "x"));
    let failure = call.within_cpu_seconds(20).run().failure();
    assert_eq!(failure.status, 1, "{}", failure.message);
}

#[test]
fn a_file_that_changes_in_every_line_still_has_its_diff_in_time() {
    let ws = Workspace::new().file("a.txt", "old line\n".repeat(60_000));
    let arguments = json!({
        "file_path": "a.txt", "old_string": "old", "new_string": "new", "allow_multiple": true,
    });
    let answer = ws
        .tool("replace")
        .arguments(&arguments)
        .flags(&["--output", "result"])
        .changing(&["a.txt"])
        .run();
    let result = answer.json();
    assert_eq!(result["data"]["replacements"], 60_000);
    let diff = result["returnDisplay"]["fileDiff"]
        .as_str()
        .expect("a diff");
    assert!(
        diff.contains("59800 more places"),
        "{}",
        &diff[diff.len() - 200..]
    );
    assert_eq!(
        result["returnDisplay"]["diffStat"]["ai_added_lines"],
        60_000
    );
}

#[test]
fn places_near_to_each_other_share_a_hunk() {
    let ws = Workspace::new().file("f", "a\n1\n2\n3\n4\na\n");
    let arguments =
        json!({ "file_path": "f", "old_string": "a", "new_string": "b", "allow_multiple": true });
    let explained = ws
        .tool("replace")
        .arguments(&arguments)
        .flags(&["--explain"])
        .run()
        .json();
    let diff = explained["confirmation"]["fileDiff"]
        .as_str()
        .expect("a diff")
        .to_owned();
    assert_eq!(diff.matches("@@ -").count(), 1, "{diff}");
    assert!(diff.contains("@@ -1,6 +1,6 @@"), "{diff}");
}

#[test]
fn repetitive_texts_take_no_quadratic_time() {
    let cases = [
        ("\n".repeat(40_000), "\n".repeat(20_000), 2),
        ("x".repeat(1_000_000), "x".repeat(500_000), 2),
        (
            "a\n".repeat(100_000),
            format!("{}b", "a\n".repeat(20_000)),
            0,
        ),
    ];
    for (text, old, times) in cases {
        let ws = Workspace::new().file("f", &text);
        let arguments = json!({
            "file_path": "f", "old_string": old, "new_string": "y", "expected_replacements": 2,
        });
        let call = ws
            .tool("replace")
            .arguments(&arguments)
            .env("GEMINI_TOOLS_TIMEOUT", "20");
        if times == 2 {
            call.changing(&["f"]).run().output();
            assert_eq!(
                std::fs::read_to_string(ws.dir().join("f")).expect("there"),
                "yy"
            );
        } else {
            let status = call.run().status();
            assert!([1, 124].contains(&status), "{status}");
        }
    }
}

#[test]
fn a_place_in_utf_16_never_ends_within_a_line_end() {
    let utf16 = |text: &str| -> Vec<u8> {
        format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    let ws = Workspace::new().file("f", utf16("\r\n\r\n"));
    let arguments = json!({ "file_path": "f", "old_string": "\n\r\n", "new_string": "x\n\r\n" });
    ws.tool("replace")
        .arguments(&arguments)
        .changing(&["f"])
        .run()
        .output();
    assert_eq!(
        std::fs::read(ws.dir().join("f")).expect("there"),
        utf16("x\r\n\r\n")
    );
}
