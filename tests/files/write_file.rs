//! `write_file`: creating and overwriting, and what of the old file stays.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace};

fn write(ws: &Workspace, name: &str, content: &str) -> Answer {
    let arguments = json!({"file_path": ws.path(name), "content": content});
    ws.tool("write_file")
        .arguments(&arguments)
        .changing(&[name])
        .run()
}

fn bytes(ws: &Workspace, name: &str) -> Vec<u8> {
    fs::read(ws.path(name)).expect("the written file")
}

#[test]
fn says_whether_a_file_is_new_and_what_it_has() {
    let ws = Workspace::new();
    let answer = write(&ws, "new.txt", "hello\n");
    let path = ws.path("new.txt");
    let said = "Successfully created and wrote to new file";
    assert_eq!(answer.output(), format!("{said}: {path}. It has 6 bytes."));
    assert_eq!(bytes(&ws, "new.txt"), b"hello\n");
    let said = "Successfully overwrote file";
    let answer = write(&ws, "new.txt", "new\n");
    assert_eq!(answer.output(), format!("{said}: {path}. It has 4 bytes."));
    assert_eq!(bytes(&ws, "new.txt"), b"new\n");
}

#[test]
fn a_placeholder_that_is_anywhere_in_a_large_file_may_stay() {
    let filler = format!("{}fn last() {{}}\n", "fn one() {}\n".repeat(400_000));
    let line = "// ... existing code ...\n";
    let utf16 = |text: String| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect()
    };
    for content in [
        format!("{filler}{line}").into_bytes(),
        utf16(format!("{filler}{line}")),
        utf16(format!("{line}{filler}")),
    ] {
        let ws = Workspace::new().file("a.rs", &content);
        let edit = json!({
            "file_path": "a.rs", "old_string": "fn last", "new_string": format!("{line}fn end"),
        });
        let write = json!({"file_path": "a.rs", "content": line});
        for (tool, args) in [("replace", edit), ("write_file", write)] {
            let call = |args: &Value| ws.tool(tool).arguments(args).changing(&["a.rs"]).run();
            let other = args
                .to_string()
                .replace("existing code", "rest of the code");
            let other = serde_json::from_str(&other).expect("arguments");
            call(&other).error("invalid_tool_params", 2);
            call(&args).output();
        }
    }
}

#[test]
fn a_comment_of_dots_and_a_few_words_replaces_no_file_that_does_not_have_it() {
    let whole = "let a = 1;\n".repeat(200);
    for words in [
        "... (rest of the file unchanged)",
        "... rest of your code ...",
        "...rest of code",
        "... other methods ...",
        "... remaining code unchanged ...",
        "… (unchanged)",
        "... whatever else was here",
    ] {
        for line in [format!("// {words}"), format!("/* {words} */")] {
            let content = format!("let a0 = 2;\n{line}\n");
            let ws = Workspace::new()
                .file("a.js", &whole)
                .file("b.js", format!("{whole}  {line}\n"));
            let arguments = json!({"file_path": "a.js", "content": content});
            let answer = ws.call("write_file", &arguments);
            answer.must_say(&answer.error("invalid_tool_params", 2), &[&line]);
            write(&ws, "b.js", &content).output();
            write(&ws, "new.js", &content).output();
        }
    }
}

#[test]
fn what_read_file_shows_of_a_line_that_it_cut_is_not_written() {
    let content = format!("{}\nx = 1\n", "b".repeat(5000));
    let ws = Workspace::new().file("a.js", &content);
    let arguments = json!({"file_path": ws.path("a.js")});
    let shown = ws.call("read_file", &arguments).output();
    let (_, shown) = shown.split_once("\nb").expect("a cut line");
    let content_of_it = format!("b{shown}").replace("x = 1", "x = 2");
    let arguments = json!({"file_path": ws.path("a.js"), "content": content_of_it});
    let answer = ws.call("write_file", &arguments);
    let why = answer.error("invalid_tool_params", 2);
    answer.must_say(
        &why,
        &["... [truncated, the line has 5", "nothing was written"],
    );
    assert_eq!(bytes(&ws, "a.js"), content.as_bytes());
}

#[test]
fn failed_write_leaves_no_directories_behind() {
    let ws = Workspace::new().file("file", "x");
    let name = format!("new/dir/{}", "n".repeat(300));
    // The harness fails when `new` is there afterwards.
    let arguments = json!({"file_path": ws.path(&name), "content": "x"});
    ws.call("write_file", &arguments).failure();
    let arguments = json!({"file_path": ws.path("file/below.txt"), "content": "x"});
    ws.call("write_file", &arguments).failure();
}

#[test]
fn new_file_has_the_usual_mode() {
    let ws = Workspace::new();
    let arguments = json!({"file_path": ws.path("new.txt"), "content": "x"});
    let call = ws
        .tool("write_file")
        .arguments(&arguments)
        .changing(&["new.txt"]);
    call.in_bash("umask 027; exec \"$@\"").run().output();
    assert_eq!(mode(&ws, "new.txt"), 0o640);
}

#[test]
fn mode_of_an_overwritten_file_stays() {
    let modes = [0o755, 0o600, 0o664, 0o4711];
    for kept in modes {
        let ws = Workspace::new().file("a.sh", "old\n").mode("a.sh", kept);
        write(&ws, "a.sh", "new\n").output();
        assert_eq!(mode(&ws, "a.sh"), kept);
    }
}

fn mode(ws: &Workspace, name: &str) -> u32 {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(ws.path(name)).expect("a file");
    metadata.mode() & 0o7777
}

#[test]
fn uniform_crlf_stays() {
    let ws = Workspace::new().file("a.txt", "a\r\nb\r\n");
    write(&ws, "a.txt", "c\nd\ne\n").output();
    assert_eq!(bytes(&ws, "a.txt"), b"c\r\nd\r\ne\r\n");
    write(&ws, "a.txt", "f\r\ng\r\n").output();
    assert_eq!(bytes(&ws, "a.txt"), b"f\r\ng\r\n", "no CR is doubled");
}

#[test]
fn mixed_endings_are_no_reason_to_change_the_content() {
    let ws = Workspace::new().file("a.txt", "a\r\nb\n");
    write(&ws, "a.txt", "c\nd\n").output();
    assert_eq!(bytes(&ws, "a.txt"), b"c\nd\n");
}

#[test]
fn byte_order_mark_and_encoding_stay() {
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let ws = Workspace::new()
        .file("a.txt", utf16("\u{feff}alt\n"))
        .file("b.txt", "\u{feff}alt\n");
    write(&ws, "a.txt", "neu €\n").output();
    assert_eq!(bytes(&ws, "a.txt"), utf16("\u{feff}neu €\n"));
    write(&ws, "b.txt", "neu €\n").output();
    assert_eq!(bytes(&ws, "b.txt"), "\u{feff}neu €\n".as_bytes());
    write(&ws, "b.txt", "\u{feff}noch eins\n").output();
    assert_eq!(
        bytes(&ws, "b.txt"),
        "\u{feff}noch eins\n".as_bytes(),
        "the mark is not doubled"
    );
}

#[test]
fn legacy_encoding_stays() {
    let old = b"\xdcbergr\xf6\xdfe na\xefve caf\xe9 fa\xe7ade\n".repeat(5);
    let ws = Workspace::new().file("a.txt", old);
    write(&ws, "a.txt", "Größe – café\n").output();
    assert_eq!(bytes(&ws, "a.txt"), b"Gr\xf6\xdfe \x96 caf\xe9\n");
}

#[test]
fn text_that_the_old_encoding_cannot_hold_is_not_damaged() {
    let old = b"\xdcbergr\xf6\xdfe na\xefve caf\xe9 fa\xe7ade\n".repeat(5);
    let ws = Workspace::new().file("a.txt", &old);
    let answer = write(&ws, "a.txt", "日本語 ok\n");
    let now = bytes(&ws, "a.txt");
    let as_utf8 = now == "日本語 ok\n".as_bytes() && answer.status() == 0;
    let refused = now == old && answer.status() == 1;
    assert!(as_utf8 || refused, "{}: {now:?}", answer.text());
}

#[test]
fn five_megabytes_arrive_undamaged() {
    let content = "Zeile mit Umlauten äöü und 日本語\r\n".repeat(100_000);
    let ws = Workspace::new();
    write(&ws, "big.txt", &content).output();
    assert!(bytes(&ws, "big.txt") == content.as_bytes());
}

#[test]
fn answer_for_the_display_is_a_diff_with_statistics() {
    let ws = Workspace::new().file("a.txt", "one\ntwo\nthree\n");
    let arguments = json!({"file_path": ws.path("a.txt"), "content": "one\n2\nthree\nfour\n"});
    let call = ws
        .tool("write_file")
        .flags(&["--output", "result"])
        .arguments(&arguments);
    let result = call.changing(&["a.txt"]).run().json();
    let display = &result["returnDisplay"];
    assert_eq!(display["fileName"], "a.txt");
    assert_eq!(display["originalContent"], "one\ntwo\nthree\n");
    assert_eq!(display["newContent"], "one\n2\nthree\nfour\n");
    assert_eq!(display["diffStat"]["ai_added_lines"], 2);
    assert_eq!(display["diffStat"]["ai_removed_lines"], 1);
    assert_eq!(display["diffStat"]["user_added_lines"], 0);
    let diff = display["fileDiff"].as_str().unwrap_or_default();
    for line in ["-two\n", "+2\n", "+four\n", "@@ "] {
        assert!(diff.contains(line), "{diff}");
    }
    let new = ws.tool("write_file").flags(&["--output", "result"]);
    let new = new.arguments(&json!({"file_path": "new.txt", "content": "x\n"}));
    let result = new.changing(&["new.txt"]).run().json();
    let original = &result["returnDisplay"]["originalContent"];
    assert!([Value::Null, json!("")].contains(original), "{result}");
}
