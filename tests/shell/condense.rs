//! Long output of commands, in answers for models: what is left out of it, what stays, and where the whole is.

use std::fs;

use serde_json::json;

use crate::harness::client::Server;
use crate::harness::{Call, Workspace, custom};

/// A log of 400 files that are copied, with an error and a warning in it.
const LOG: &str = "echo begin; for i in $(seq 400); do echo \"Copying file number $i to /srv/data/$i\"; \
     [ $i = 200 ] && echo 'error: file 200 has no owner' && echo 'warning: it stays as it is'; done; echo end; exit 3";

fn call<'a>(ws: &'a Workspace, command: &str) -> Call<'a> {
    ws.tool("run_shell_command")
        .arguments(&json!({"command": command}))
}

/// The number of lines about a file that is copied.
fn copies(text: &str) -> usize {
    let lines = text.lines().map(|line| line.trim_start_matches("Output: "));
    lines
        .filter(|line| line.starts_with("Copying file number"))
        .count()
}

/// The file that an answer names as holding the whole.
fn kept(text: &str) -> String {
    let (_, rest) = text
        .split_once("The whole output is in ")
        .unwrap_or_else(|| panic!("no file in {text}"));
    let path = rest.split(';').next().expect("a path");
    fs::read_to_string(path).expect("the file is there")
}

#[test]
fn a_backtrace_keeps_its_message_and_the_frames_of_the_project() {
    let frames = "Traceback (most recent call last):\n  File \"run.py\", line 3, in <module>\n    load(1)\n\
                  \x20 File \"/usr/lib/python3.11/a.py\", line 1, in a\n    b()\n\
                  \x20 File \"/usr/lib/python3.11/b.py\", line 2, in b\n    c()\n\
                  \x20 File \"/usr/lib/python3.11/c.py\", line 3, in c\n    d()\nKeyError: 'port'\n";
    let ws = Workspace::new().file("log", frames);
    let text = call(&ws, "cat log; exit 1").run().output();
    assert!(text.contains("line 3, in <module>\n    load(1)\n  … 3 frames of libraries\nKeyError: 'port'\n[Frames left out. "), "{text}");
    assert_eq!(kept(&text), frames);
    let raw = ws
        .tool("run_shell_command")
        .arguments(&json!({"command": "cat log", "raw": true}));
    assert!(raw.run().output().contains("c.py"));
}

#[test]
fn lines_of_one_path_stand_below_it() {
    let ws = (0..4).fold(Workspace::new(), |ws, n| {
        let lines = |i: usize| format!("let value_{i} = {i};\n");
        ws.file(
            format!("crates/one/src/file{n}.rs"),
            crate::harness::lines(30, lines),
        )
    });
    let whole = call(&ws, "grep -rn let crates | sort -V")
        .flags(&["-t"])
        .run();
    let whole = whole.text().to_owned();
    let text = call(&ws, "grep -rn let crates | sort -V").run().output();
    assert!(text.len() * 10 < whole.len() * 8, "{text}");
    assert!(
        text.contains("crates/one/src/file0.rs:\n1:let value_0 = 0;\n2:let value_1 = 1;\n"),
        "{text}"
    );
    assert_eq!(text.matches("let value_").count(), 120, "no line is lost");
    let found = call(
        &ws,
        "for i in {1..90}; do echo ./some/long/directory/name$i; done",
    )
    .run()
    .output();
    assert!(
        found.contains("./some/long/directory/: name1 name2 name3 "),
        "{found}"
    );
    let raw = ws
        .tool("run_shell_command")
        .arguments(&json!({"command": "grep -rn let crates", "raw": true}));
    assert!(raw.run().output().contains("file1.rs:2:let value_1"));
}

#[test]
fn a_long_log_keeps_its_ends_and_errors_and_a_file_holds_every_byte() {
    let ws = Workspace::new();
    let text = call(&ws, LOG).run().output();
    for part in [
        "Output: begin\nCopying file number 1 to /srv/data/1\n… 197 lines like this (3-199)\n",
        "number 199 to /srv/data/199\nCopying file number 200 to /srv/data/200\n\
         error: file 200 has no owner\nwarning: it stays as it is\nCopying file number 201 ",
        "number 400 to /srv/data/400\nend\n[Condensed: ",
        "\nExit Code: 3\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(text.len() < 2_000, "{text}");
    assert!(
        text.contains(" read_file. Line 1 is at offset 0.]\n"),
        "{text}"
    );
    let whole = kept(&text);
    let (before, after) = (whole.matches("Copying").count(), whole.lines().count());
    assert_eq!((before, after), (400, 404));
    assert_eq!(
        whole.lines().nth(2),
        Some("Copying file number 2 to /srv/data/2")
    );
}

#[test]
fn all_that_is_printed_is_there_for_those_who_ask_for_it() {
    let ws = Workspace::new();
    let raw = ws
        .tool("run_shell_command")
        .arguments(&json!({"command": LOG, "raw": true}));
    for whole in [
        raw.run().output(),
        call(&ws, LOG)
            .env("GEMINI_TOOLS_CONDENSE", "off")
            .run()
            .output(),
        call(&ws, LOG)
            .flags(&["--output", "text"])
            .run()
            .text()
            .to_owned(),
        call(&ws, LOG)
            .flags(&["--output", "lines"])
            .run()
            .text()
            .to_owned(),
    ] {
        assert_eq!(copies(&whole), 400, "{whole}");
        assert!(!whole.contains("lines like this"), "{whole}");
    }
    let result = call(&ws, LOG).flags(&["--output", "result"]).run().json();
    let counts =
        ["llmContent", "returnDisplay"].map(|key| copies(result[key].as_str().expect("a text")));
    assert!(counts[0] < 20 && counts[1] == 400, "{counts:?}");
}

#[test]
fn what_is_short_or_data_or_can_not_be_kept_is_whole() {
    let ws = Workspace::new();
    for command in [
        "for i in $(seq 40); do echo \"Copying file number $i to /srv/data/$i\"; done",
        "for i in $(seq 400); do echo \"src/module$i/file$i.rs\"; done",
        "for i in $(seq 400); do echo \"-rw-r--r-- 1 root root $i Nov 26 02:05 file$i.rs\"; done",
    ] {
        let text = call(&ws, command).run().output();
        assert!(
            !text.contains("like this") && !text.contains("[Condensed"),
            "{text}"
        );
    }
    let file = ws.home(".gemini/tmp", "in the way");
    let text = call(&file, LOG).run().output();
    assert_eq!(copies(&text), 400, "{text}");
}

#[test]
fn a_switch_that_is_on_is_as_none() {
    let ws = Workspace::new();
    let on = call(&ws, LOG).env("GEMINI_TOOLS_CONDENSE", "on").run();
    assert!(on.output().contains("lines like this"));
}

#[test]
fn a_tool_of_ones_own_answers_condensed() {
    let manifest = format!(
        "description = \"d\"\nscript = '''{}'''\n",
        LOG.replace("; exit 3", "")
    );
    let ws = custom::with("copy.toml", &manifest);
    let text = custom::call(&ws, "copy", &json!({})).output();
    assert!(
        text.starts_with("begin\n") && text.contains("… 197 lines like this (3-199)\n"),
        "{text}"
    );
    assert_eq!(kept(&text).lines().count(), 404);
}

#[test]
fn an_mcp_client_gets_it_condensed() {
    let ws = Workspace::new();
    let mut server = Server::greeted(&ws, &[], &json!({}));
    let result = server.call("run_shell_command", &json!({"command": LOG}));
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("… 197 lines like this (3-199)\n"), "{text}");
    assert_eq!(kept(text).lines().count(), 404);
}

#[test]
fn a_flood_is_not_condensed_and_says_what_is_missing() {
    let ws = Workspace::new();
    let flood = |mib: u32| {
        call(&ws, &format!("yes 'the same line' | head -c {mib}M"))
            .run()
            .output()
    };
    let short = flood(3);
    assert!(short.contains(" lines are left out. The whole"), "{short}");
    let long = flood(5);
    assert!(!long.contains("[Condensed: "), "{long}");
    assert!(long.contains("[Truncated: "), "{long}");
}
