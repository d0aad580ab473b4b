//! What is printed where nothing says in which form: a terminal gets text with colours, a pipe what a host reads. And
//! the forms for people, which can be asked for anywhere.

use serde_json::{Value, json};

use crate::harness::{Call, Workspace};

fn project() -> Workspace {
    Workspace::new()
        .file(
            "src/main.rs",
            "fn main() {\n    // TODO: one, todo two\n}\n",
        )
        .file("src/lib.rs", "// nothing\n")
        .file("README.md", "# Demo\n")
}

const SEARCH: [&str; 2] = ["search_file_content", "pattern=todo"];

/// What a person sees, with plain line ends.
#[track_caller]
fn shown(call: Call<'_>, status: i32) -> String {
    let call = call.env("TERM", "xterm-256color").unwatched();
    call.at_a_terminal()
        .sees_it_end(status)
        .replace("\r\n", "\n")
}

/// The text of a success in a pipe.
#[track_caller]
fn piped(call: Call<'_>) -> String {
    let answer = call.unwatched().run();
    assert_eq!(answer.status(), 0, "{}", answer.text());
    assert_eq!(answer.errors(), "");
    answer.text().to_owned()
}

#[test]
fn a_terminal_gets_text_with_paths_numbers_and_matches_in_colour() {
    let ws = project();
    assert_eq!(
        shown(ws.call_tool(&SEARCH), 0),
        "Found 1 match for pattern \"todo\" in the workspace directory:\n---\n\
         File: \x1b[35msrc/main.rs\x1b[0m\nL\x1b[32m2\x1b[0m:     // \x1b[1;31mTODO\x1b[0m: one, \
         \x1b[1;31mtodo\x1b[0m two\n---\n"
    );
    let listed = shown(ws.call_tool(&["list_directory", "path=."]), 0);
    assert!(
        listed.contains("\n[DIR] \x1b[1;34msrc\x1b[0m\nREADME.md\n"),
        "{listed:?}"
    );
    let found = shown(ws.call_tool(&["glob", "pattern=*.md"]), 0);
    assert!(found.contains("\n\x1b[35mREADME.md\x1b[0m"), "{found:?}");
}

#[test]
fn what_an_engine_that_goes_back_finds_is_in_colour_too() {
    let ws = project();
    let search = ["search_file_content", "pattern=to(?=do)"];
    let text = shown(ws.call_tool(&search), 0);
    assert!(
        text.contains("\x1b[1;31mTO\x1b[0mDO: one, \x1b[1;31mto\x1b[0mdo two"),
        "{text:?}"
    );
}

#[test]
fn an_edit_shows_its_diff_in_colour_and_an_error_is_a_sentence() {
    let ws = project();
    let edit = [
        "replace",
        "file_path=README.md",
        "old_string=Demo",
        "new_string=More",
    ];
    let text = shown(ws.call_tool(&edit), 0);
    assert!(
        text.contains("\x1b[31m-# Demo\x1b[0m\n\x1b[32m+# More\x1b[0m\n"),
        "{text:?}"
    );
    let text = shown(ws.call_tool(&["read_file", "absolute_path=none"]), 1);
    assert!(
        text.starts_with("call_tool: ") && text.contains("does not exist"),
        "{text:?}"
    );
    let text = shown(ws.call_tool(&["raed_file"]), 2);
    assert!(
        text.starts_with("call_tool: There is no tool named \"raed_file\""),
        "{text:?}"
    );
}

#[test]
fn a_pipe_gets_what_a_host_reads_and_a_form_that_is_asked_for_is_printed_anywhere() {
    let ws = project();
    let read = ["read_file", "absolute_path=README.md"];
    let part =
        "{\"functionResponse\":{\"name\":\"read_file\",\"response\":{\"output\":\"# Demo\\n\"}}}\n";
    assert_eq!(piped(ws.call_tool(&read)), part);
    assert_eq!(shown(ws.call_tool(&read), 0), "# Demo\n");
    assert_eq!(shown(ws.call_tool(&read).flags(&["-o", "part"]), 0), part);
    let chosen = ws.call_tool(&read).env("GEMINI_TOOLS_OUTPUT", "part");
    assert_eq!(shown(chosen, 0), part);
    assert_eq!(piped(ws.call_tool(&read).flags(&["-t"])), "# Demo\n");
    // Lines of JSON stay lines of JSON: a text would not say where it ends.
    let streamed = shown(ws.call_tool(&read).flags(&["--stream"]), 0);
    assert_eq!(
        serde_json::from_str::<Value>(&streamed).expect("JSON")["type"],
        "result"
    );
    let batch = ws.call_tool(&["--batch"]).in_bash(
        "exec \"$@\" <<< '{\"name\":\"read_file\",\"args\":{\"absolute_path\":\"README.md\"}}'",
    );
    assert_eq!(shown(batch, 0), part);
}

#[test]
fn options_and_environment_say_where_colours_are() {
    let ws = project();
    let search = |flags: &[&str]| ws.call_tool(&SEARCH).flags(flags);
    for plain in [
        search(&["--color", "never"]),
        search(&[]).env("NO_COLOR", "1"),
        search(&[]).env("CLICOLOR", "0"),
    ] {
        assert!(!shown(plain, 0).contains('\x1b'));
    }
    for coloured in [
        search(&["-t", "--color=always"]),
        search(&["-t"]).env("CLICOLOR_FORCE", "1"),
        search(&["-o", "lines", "--color=always"]),
    ] {
        assert!(piped(coloured).contains("\x1b[35msrc/main.rs\x1b[0m"));
    }
    // What a host reads never has any.
    assert!(!piped(search(&["--color=always"])).contains("\\u001b"));
    assert!(!piped(search(&["-t"])).contains('\x1b'));
}

#[test]
fn text_on_a_terminal_commands_nothing_and_keeps_its_lines() {
    let ws = Workspace::new().file("a.txt", "one \x1b[2J\u{202e}\r\ntwo\ttabs\r\n");
    let text = shown(ws.call_tool(&["read_file", "absolute_path=a.txt"]), 0);
    assert!(text.starts_with("one \\u{1b}[2J\\u{202e}"), "{text:?}");
    assert!(text.contains("\ntwo") && !text.contains("u{d}"), "{text:?}");
    // A pipe gets the text as it is.
    let text = piped(ws.call_tool(&["read_file", "absolute_path=a.txt", "-t"]));
    assert!(text.contains("one \x1b[2J\u{202e}"), "{text:?}");
}

#[test]
fn lines_have_one_item_each_and_nothing_else() {
    let ws = project();
    let lines = |words: &[&str]| piped(ws.call_tool(words).flags(&["--output", "lines"]));
    assert_eq!(
        lines(&SEARCH),
        "src/main.rs:2:8:    // TODO: one, todo two\n"
    );
    let names = [&SEARCH[..], &["names_only:=true"]].concat();
    assert_eq!(lines(&names), "src/main.rs\n");
    assert_eq!(lines(&["glob", "pattern=src/lib.*"]), "src/lib.rs\n");
    assert_eq!(lines(&["list_directory", "path=."]), "src/\nREADME.md\n");
    assert_eq!(
        lines(&["list_directory", "path=src"]),
        "src/lib.rs\nsrc/main.rs\n"
    );
    assert_eq!(lines(&["glob", "pattern=*.none"]), "");
    // A tool that lists nothing gives its text.
    assert_eq!(lines(&["read_file", "absolute_path=README.md"]), "# Demo\n");
}

#[test]
fn lines_name_what_lies_elsewhere_by_its_whole_path() {
    let ws = project()
        .outside("more/a b.md", "todo\n")
        .file("odd\nname", "todo\n");
    let call = ws.call_tool(&SEARCH).flags(&["-o", "lines"]);
    let text = piped(call.env("GEMINI_TOOLS_ROOTS", &ws.outside_path("more")));
    let expected = format!(
        "{}:1:1:todo\nodd\\x{{0a}}name:1:1:todo\nsrc/main.rs:2:8:    // TODO: one, todo two\n",
        ws.outside_path("more/a b.md")
    );
    assert_eq!(text, expected);
}

#[test]
fn what_lines_leave_out_is_said_on_standard_error() {
    let ws = project().file("b.txt", "todo\ntodo\n");
    let search = [&SEARCH[..], &["total_max_matches:=1", "-o", "lines"]].concat();
    let answer = ws.call_tool(&search).run();
    assert_eq!(answer.text(), "b.txt:1:1:todo\n");
    assert_eq!(
        answer.errors(),
        "call_tool: Showing only the first match; narrow the search to see others.\n"
    );
}

#[test]
fn lines_of_a_tool_that_a_project_adds_are_the_places_that_it_gives() {
    let tool = "description = \"d\"\nkind = \"read\"\noutput = \"tool_result\"\ncommand = [\"cat\", \"found.json\"]\n";
    let found = json!({"llmContent": "Found", "data": {"locations": [
        {"file": "src/main.rs", "line": 2, "column": 8, "text": "TODO"}, {"file": "README.md"}]}});
    let ws = project()
        .home(".gemini/tools/find_them.toml", tool)
        .file("found.json", found.to_string());
    let call = ws.call_tool(&["find_them"]).flags(&["-o", "lines"]);
    assert_eq!(piped(call.input("")), "src/main.rs:2:8:TODO\nREADME.md\n");
}

#[test]
fn an_explanation_is_text_for_people() {
    let ws = project();
    let edit = [
        "replace",
        "file_path=README.md",
        "old_string=Demo",
        "new_string=More",
        "--explain",
    ];
    let text = piped(ws.call_tool(&edit).flags(&["-t"]));
    assert_eq!(
        text,
        format!(
            "Edits `README.md`: Demo => More\nWhere: {}\nApproval: needed (built in: every other call needs the user's \
             approval)\n--- README.md\n+++ README.md\n@@ -1,1 +1,1 @@\n-# Demo\n+# More\n",
            ws.path("README.md")
        )
    );
    let command = ["run_shell_command", "command=make && sudo ls", "--explain"];
    let text = shown(ws.call_tool(&command), 0);
    assert!(
        text.contains("\x1b[1mPrograms:\x1b[0m make sudo ls\n"),
        "{text:?}"
    );
    // In a pipe it is a document.
    assert_eq!(
        serde_json::from_str::<Value>(&piped(ws.call_tool(&command))).expect("JSON")["confirmation"]
            ["rootCommands"],
        json!(["make", "sudo", "ls"])
    );
}

#[test]
fn save_memory_says_its_message_to_people() {
    let ws = Workspace::new();
    let save = ["save_memory", "fact=I like tea", "-t"];
    assert_eq!(
        piped(ws.call_tool(&save)),
        "Okay, I've remembered that: \"I like tea\"\n"
    );
    let ws = Workspace::new().home(".gemini/GEMINI.md/x", "");
    let answer = ws.call_tool(&save).run();
    assert_eq!(answer.status(), 1);
    let errors = answer.errors();
    assert!(
        errors.starts_with("call_tool: ") && !errors.contains('{'),
        "{errors}"
    );
}

#[test]
fn the_form_for_hosts_is_the_very_text_that_the_json_holds() {
    let ws = project();
    let host = |words: &[&str]| ws.call_tool(words).env("GEMINI_TOOLS_OUTPUT", "host");
    for words in [
        &SEARCH[..],
        &["list_directory", "path=."],
        &["glob", "pattern=src/*"],
        &["read_file", "absolute_path=README.md"],
    ] {
        let json = ws.call_tool(words).unwatched().run().output();
        assert_eq!(piped(host(words)), json);
    }
    // Its labels that say nothing are left out.
    let command = ["run_shell_command", "command=printf one", "description=d"];
    assert_eq!(piped(host(&command)), "Output: one");
    let edit = [
        "replace",
        "file_path=README.md",
        "old_string=Demo",
        "new_string=More",
    ];
    let text = piped(host(&edit));
    assert!(
        text.ends_with("\n@@ -1,1 +1,1 @@\n-# Demo\n+# More\n"),
        "{text}"
    );
    assert_eq!(
        piped(host(&["save_memory", "fact=tea"])),
        "Okay, I've remembered that: \"tea\""
    );
    // On a terminal it is the same: it was asked for.
    assert!(!shown(host(&SEARCH), 0).contains('\x1b'));
}

#[test]
fn the_form_for_hosts_has_errors_as_text_on_standard_output() {
    let ws = project();
    for (words, status, start) in [
        (
            &["read_file", "absolute_path=none"][..],
            1,
            "none does not exist.",
        ),
        (&["read_file"], 2, "\"absolute_path\" is missing"),
        (&["raed_file"], 2, "There is no tool named \"raed_file\""),
    ] {
        let answer = ws.call_tool(words).flags(&["-o", "host"]).run();
        assert_eq!(answer.status(), status);
        assert_eq!(answer.errors(), "");
        let text = answer
            .text()
            .replace(&format!("{}/", ws.dir().display()), "");
        assert!(
            text.starts_with(start) && !text.contains("errorType"),
            "{text}"
        );
    }
}

#[test]
fn the_form_for_hosts_cuts_and_keeps_a_long_answer_as_the_json_does() {
    let ws = project().file("long.txt", "todo\n".repeat(20_000)).home(
        ".gemini/settings.json",
        r#"{"tools": {"truncateToolOutputThreshold": 1000}}"#,
    );
    let call = ws.call_tool(&SEARCH).flags(&["total_max_matches=30000"]);
    let text = piped(call.flags(&["-o", "host"]));
    assert!(text.len() < 1500, "{}", text.len());
    let (_, kept) = text
        .split_once("The whole answer is in ")
        .expect("where it is kept");
    let (file, _) = kept
        .split_once("; read it with read_file")
        .expect("how to read it");
    assert!(std::fs::read_to_string(file).expect("kept").len() > 100_000);
    // A diff is no way round the limit.
    let content = format!("content={}", "line\n".repeat(1000));
    let written = ["write_file", "file_path=new.txt", &content];
    let text = piped(ws.call_tool(&written).flags(&["-o", "host"]));
    assert!(
        text.len() < 1500 && text.contains("[Truncated: "),
        "{}",
        text.len()
    );
}

#[test]
fn the_form_for_hosts_says_which_media_it_does_not_show() {
    let pixels = [&b"\x89PNG\r\n\x1a\n"[..], &vec![0; 214_000]].concat();
    let ws = project().file("pixel.png", pixels).file(
        "wide.txt",
        format!("{}\n", "漢字かな".repeat(10)).repeat(1000),
    );
    let read = |name: &str| {
        let path = format!("absolute_path={name}");
        piped(ws.call_tool(&["read_file", &path]).flags(&["-o", "host"]))
    };
    assert_eq!(
        read("pixel.png"),
        "The content is not shown (image/png, 214008 bytes)."
    );
    assert_eq!(
        read("wide.txt"),
        format!("{}\n", "漢字かな".repeat(10)).repeat(1000)
    );
    // Lines of a batch are JSON in every form.
    let call = json!({"id": "1", "name": "read_file", "args": {"absolute_path": "README.md"}});
    let batch = ws
        .call_tool(&["--batch", "-o", "host"])
        .input(call.to_string());
    assert_eq!(batch.run().json()["functionResponse"]["id"], "1");
}
