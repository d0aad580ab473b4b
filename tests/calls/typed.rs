//! Calls as people type them: values without a name, slips in names, `--root`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, executable};

fn project() -> Workspace {
    Workspace::new()
        .file("README.md", "# Demo TODO\n")
        .file("src/main.rs", "fn main() {} // TODO\n")
}

fn typed(ws: &Workspace, words: &[&str]) -> Answer {
    ws.call_tool(words).flags(&["--output", "text"]).run()
}

#[track_caller]
fn refuses(ws: &Workspace, words: &[&str], said: &[&str]) {
    let answer = ws.call_tool(words).run();
    let message = answer.error("invalid_tool_params", 2);
    answer.must_say(&message, said);
}

#[test]
fn a_value_without_a_name_is_for_the_one_obvious_parameter() {
    let ws = project();
    for (words, printed) in [
        (&["read_file", "README.md"][..], "# Demo TODO\n"),
        (&["list_directory", "src"], "main.rs"),
        (
            &["search_file_content", "TODO", "include=*.rs"],
            "L1: fn main",
        ),
        (
            &["search_file_content", "include=*.md", "TODO"],
            "L1: # Demo",
        ),
        (
            &["search_file_content", "main() {", "fixed_strings:=true"],
            "src/main.rs",
        ),
        (&["glob", "**/*.rs"], "main.rs"),
        (&["run_shell_command", "printf '%s' a=b"], "Output: a=b"),
        (
            &["read_many_files", "README.md", "src/main.rs"],
            "fn main() {} // TODO",
        ),
        (&["discovered_tool_read_file", "README.md"], "# Demo TODO\n"),
    ] {
        let answer = typed(&ws, words);
        assert_eq!(answer.status(), 0, "{words:?}: {}", answer.shown());
        answer.must_say(answer.text(), &[printed]);
    }
    refuses(
        &ws,
        &["stop_background_process", "1"],
        &["Process 1 is not a background process"],
    );
}

#[test]
fn a_custom_tool_takes_a_value_without_a_name_too() {
    let manifest = "description = \"Greets.\"\ncommand = [\"echo\", \"Hello {name}\"]\n\
                    [params.name]\ntype = \"string\"\ndescription = \"Whom.\"\n";
    let ws = project().home(".gemini/tools/hello.toml", manifest);
    assert_eq!(typed(&ws, &["hello", "Bob"]).text(), "Hello Bob\n");
    refuses(
        &ws,
        &["hello", "nme=Bob"],
        &["no argument \"nme\"", "Did you mean name?"],
    );
}

#[test]
fn what_can_not_be_placed_is_refused_with_what_the_tool_takes() {
    let ws = project();
    refuses(
        &ws,
        &["replace", "README.md"],
        &[
            "\"README.md\" is not an argument of the form KEY=VALUE",
            "It takes file_path,",
        ],
    );
    refuses(
        &ws,
        &["read_file", "a", "b"],
        &[
            "Unexpected \"b\"",
            "takes one bare value, its absolute_path",
        ],
    );
    refuses(
        &ws,
        &["read_file", "a", "path=b"],
        &["given as path= already"],
    );
    refuses(
        &ws,
        &["list_background_processes", "x"],
        &["takes no arguments"],
    );
    refuses(
        &ws,
        &["stop_background_process", "x"],
        &[
            "pid takes a value of the type integer, not \"x\"",
            "such as pid=1",
        ],
    );
    refuses(
        &ws,
        &["run_shell_command", "CC=gcc make"],
        &["no argument \"CC\"", "command='CC=gcc make'"],
    );
}

#[test]
fn an_unknown_argument_that_was_typed_is_refused_with_the_nearest() {
    let ws = project();
    for (words, said) in [
        (
            &["read_file", "file=README.md"][..],
            "Did you mean absolute_path?",
        ),
        (&["read_file", "README.md", "limt=2"], "Did you mean limit?"),
        (
            &["run_shell_command", "cmd=ls"],
            "Did you mean command=ls, or command='cmd=ls' for all of it?",
        ),
        (
            &["search_file_content", "a=b"],
            "Did you mean pattern=b, or pattern='a=b' for all of it?",
        ),
        (
            &["search_file_content", "TODO", "case_sensitve:=true"],
            "Did you mean case_sensitive?",
        ),
        (
            &["search_file_content", "TODO", "file=*.rs"],
            "It takes pattern, include, path, ",
        ),
    ] {
        refuses(&ws, words, &["has no argument", said]);
    }
    // Other names of arguments, and those that are not declared, are known.
    for words in [
        &["read_file", "file_path=README.md", "count_lines:=true"][..],
        &[
            "search_file_content",
            "TODO",
            "names_only:=true",
            "dir_path=src",
        ],
        &["glob", "*", "respect_gemini_ignore:=false"],
        &["read_file", "README.md", "wait_for_previous:=true"],
    ] {
        assert_eq!(ws.call_tool(words).run().status(), 0, "{words:?}");
    }
}

#[test]
fn json_is_taken_with_unknown_arguments_but_a_missing_one_is_explained_by_them() {
    let ws = project();
    let lenient = json!({"absolute_path": "README.md", "zzz": 1});
    assert_eq!(ws.call("read_file", &lenient).output(), "# Demo TODO\n");
    let explained = |args: Value, is_explained: bool| {
        let message = ws.call("read_file", &args).error("invalid_tool_params", 2);
        assert!(
            message.contains("\"absolute_path\" is missing; it is required."),
            "{message}"
        );
        let hint = message.contains("did you mean absolute_path?");
        assert_eq!(hint, is_explained, "{message}");
    };
    explained(json!({"file": "README.md"}), true);
    explained(json!({"zzz": "README.md"}), true);
    explained(json!({"zzz": 1, "yyy": 2}), false);
    explained(json!({"limit": 1, "wait_for_previous": true}), false);
}

#[test]
fn a_search_that_is_a_check_refuses_unknown_arguments_in_json_too() {
    let ws = project();
    let args = json!({"pattern": "TODO", "inclde": "*.rs"});
    for flag in ["--fail-on-match", "--format=sarif", "--format=junit"] {
        let answer = ws
            .tool("search_file_content")
            .arguments(&args)
            .flags(&[flag])
            .run();
        assert_eq!(answer.status(), 2, "{flag}");
        answer.must_say(answer.text(), &["Did you mean include?"]);
    }
}

#[test]
fn a_check_whose_include_matches_no_file_has_searched_nothing() {
    let ws = project();
    let check = |words: &[&str]| {
        let answer = ws
            .call_tool(&["search_file_content", "absent"])
            .flags(words);
        answer.flags(&["--fail-on-match"]).run()
    };
    let answer = check(&["include=sorce/**"]);
    let message = answer.error("invalid_tool_params", 2);
    answer.must_say(&message, &["\"sorce/**\"", "nothing was searched"]);
    for fine in [
        &["include=src/**"][..],
        &["include=!src"],
        &[],
        &["path=src"],
    ] {
        assert_eq!(check(fine).status(), 0, "{fine:?}");
    }
    // Without the flag it is a search that finds nothing.
    let words = ["search_file_content", "absent", "include=sorce/**"];
    assert_eq!(ws.call_tool(&words).run().status(), 0);
}

#[test]
fn an_argument_with_dashes_is_shown_without() {
    let ws = project();
    for (words, said) in [
        (
            &["read_file", "--absolute_path", "README.md"][..],
            "absolute_path=VALUE",
        ),
        (
            &["read_file", "--absolute-path=a b.md"],
            "absolute_path=VALUE",
        ),
        (&["--path=a b", "list_directory"], "path=VALUE"),
        (&["read_file", "--zzz"], "zzz=VALUE"),
    ] {
        let answer = ws.call_tool(words).run();
        let message = answer.error("invalid_tool_params", 2);
        answer.must_say(&message, &["There is no option --", "have no dashes", said]);
        assert!(!message.contains("tip:"), "{message}");
    }
    let both = ws.call_tool(&["list_directory", "--undo", "--session", "x"]);
    let message = both.run().error("invalid_tool_params", 2);
    let said = "No tool is called with --undo. Put a path or an id right behind it.";
    assert!(message.contains(said), "{message}");
    let answer = ws.call_tool(&["read_file", "--outptu", "text"]).run();
    answer.must_say(&answer.error("invalid_tool_params", 2), &["'--output'"]);
}

#[test]
fn a_value_takes_the_type_that_the_schema_gives_its_parameter() {
    let ws = project().file("two.txt", "one\nTODO\nthree\n");
    for (words, printed, hidden) in [
        (
            &["read_file", "two.txt", "offset=1", "limit=1"][..],
            "TODO\n",
            "three",
        ),
        (
            &["search_file_content", "TODO", "names_only=true"],
            "two.txt",
            "L2",
        ),
        (
            &["search_file_content", "TODO", "context=1"],
            "L3- three",
            "none",
        ),
        (&["read_many_files", "paths=two.txt"], "three", "fn main"),
        (
            &["read_many_files", "paths=two.txt", "paths=src/main.rs"],
            "fn main",
            "# Demo",
        ),
    ] {
        let answer = typed(&ws, words);
        assert_eq!(answer.status(), 0, "{words:?}: {}", answer.shown());
        answer.must_say(answer.text(), &[printed]);
        assert!(
            !answer.text().contains(hidden),
            "{words:?}: {}",
            answer.shown()
        );
    }
    for (word, said) in [
        ("context=x", "Write a number, such as context=1."),
        (
            "names_only=yes",
            "Write names_only=true or names_only=false.",
        ),
        ("context:=x", "such as context=1."),
        ("include:=x", "Without the colon it is: include=x."),
    ] {
        refuses(&ws, &["search_file_content", "TODO", word], &[said]);
    }
}

#[test]
fn a_value_is_read_from_a_file_or_from_standard_input() {
    let ws = project().file("draft", "line\n");
    // Only one of the calls reads the pipe; the others could end before it is written to.
    let write = |content: &str, input: &str| {
        let words = ["write_file", "file_path=made.txt", content];
        let call = ws.call_tool(&words).input(input).unwatched();
        assert_eq!(call.run().status(), 0, "{content}");
        std::fs::read_to_string(ws.path("made.txt")).expect("written")
    };
    assert_eq!(write("content=@draft", ""), "line\n");
    assert_eq!(write("content=@-", "from a pipe\n"), "from a pipe\n");
    assert_eq!(write("content=@@draft", ""), "@draft");
    assert_eq!(write("content:=\"@draft\"", ""), "@draft");
    // The path is the shell's, and not one of the workspace.
    let below = ["write_file", "file_path=b.txt", "content=@draft"];
    let below = ws.call_tool(&below).flags(&["--root", "src"]).unwatched();
    assert_eq!(below.run().status(), 0);
    refuses(
        &ws,
        &["write_file", "file_path=a", "content=@none"],
        &["Can't read \"none\"", "write content='@@none'"],
    );
}

#[test]
fn standard_input_is_read_for_one_word() {
    let words = [
        "content=@-",
        "file_path=@-",
        "content:=@-",
        "content=@/dev/stdin",
    ];
    // A name, and JSON.
    let ws = project().file("17", "kept\n");
    for first in words {
        for second in words.iter().filter(|second| second[..4] != first[..4]) {
            let call = ws.call_tool(&["write_file", first, second]);
            let answer = call.input("17").unwatched().run();
            let message = answer.error("invalid_tool_params", 2);
            let said = format!("but {first} and {second} are to be read from it");
            answer.must_say(&message, &["Standard input can be read once", &said]);
        }
    }
    let call = ws.call_tool(&["search_file_content", "pattern=@-", "--files-from", "-"]);
    let answer = call.input("17").unwatched().run();
    assert_eq!(answer.status(), 2, "{}", answer.shown());
    let said = "but pattern=@- and --files-from - are to be read from it";
    answer.must_say(&answer.errors(), &[said]);
    let kept = std::fs::read_to_string(ws.path("17")).expect("a file");
    assert_eq!(kept, "kept\n");
}

#[test]
fn a_word_that_is_not_utf8_is_a_path_or_refused() {
    let ws = project().file(OsStr::from_bytes(b"caf\xe9"), "inside\n");
    let call = |words: &[&str], odd: &[u8]| {
        let call = ws.call_tool(words).flags(&[OsStr::from_bytes(odd)]);
        call.unwatched().run()
    };
    for (tool, odd) in [
        (&["read_file"][..], &b"caf\xe9"[..]),
        (&["read_file"], b"file_path=caf\xe9"),
        (&["search_file_content", "inside"], b"path=caf\xe9"),
        (&["write_file", "file_path=new"], b"content=@caf\xe9"),
        (
            &["search_file_content", "inside", "--files-from"],
            b"caf\xe9",
        ),
    ] {
        let answer = call(tool, odd);
        // The file is no list of files, but it is read as one.
        let is_list = tool.contains(&"--files-from");
        assert_eq!(answer.status() == 0, !is_list, "{}", answer.shown());
        let is_shown = answer.shown().contains("inside");
        assert!(
            is_shown || tool.contains(&"file_path=new"),
            "{}",
            answer.shown()
        );
    }
    let written = std::fs::read_to_string(ws.path("new")).expect("written");
    assert_eq!(written, "inside\n");
    for (words, odd, key) in [
        (
            &["write_file", "file_path=l"][..],
            &b"content=caf\xe9"[..],
            "content",
        ),
        (&["run_shell_command"], b"echo caf\xe9", "command"),
        (&["run_shell_command"], b"command=@@caf\xe9", "command"),
        (&["glob"], b"caf\xe9*", "pattern"),
    ] {
        let answer = call(words, odd);
        let message = answer.error("invalid_tool_params", 2);
        let said = format!("{key} takes text in UTF-8, not \"");
        answer.must_say(&message, &[&said, "caf\\x{e9}"]);
    }
    let undo = call(&["--undo"], b"caf\xe9");
    undo.must_say(&undo.errors(), &["no change with the id or path \"caf"]);
}

#[test]
fn every_executable_names_an_argument_that_is_not_utf8() {
    let ws = project();
    let odd = [OsStr::from_bytes(b"caf\xe9")];
    for (program, words, status) in [
        ("call_tool", &["--id"][..], 2),
        ("call_tool", &[], 2),
        ("get_tools", &["show"], 2),
        ("serve_tools", &["--http"], 2),
        ("serve_tools", &["--policy"], 2),
        ("run_agent", &[], 42),
    ] {
        let call = ws.program(&executable(program), words).flags(&odd);
        let answer = call.unwatched().run();
        assert_eq!(answer.status(), status, "{}", answer.shown());
        let said = format!("{}{}", answer.text(), answer.errors());
        answer.must_say(&said, &["invalid UTF-8"]);
    }
    let first = ws.program(&executable("serve_tools"), &[]).flags(&odd);
    assert_eq!(first.unwatched().run().status(), 2);
}

#[test]
fn json_is_another_name_of_a_part() {
    let ws = project();
    let json = ws
        .call_tool(&["read_file", "README.md", "-o", "json"])
        .run();
    assert_eq!(json.output(), "# Demo TODO\n");
}

#[test]
fn options_and_forms_that_exclude_each_other_are_refused() {
    let ws = project();
    let said = |words: &[&str]| {
        let answer = ws.call_tool(words).run();
        assert_eq!(answer.status(), 2, "{words:?}");
        answer.errors()
    };
    for words in [&["--batch", "-t"][..], &["glob", "*", "--stream", "-t"]] {
        assert!(said(words).contains("prints lines of JSON"), "{words:?}");
    }
}

#[test]
fn a_command_line_without_a_name_names_the_tools_in_the_form_asked_for() {
    let ws = project();
    let message = ws.call_tool(&[]).run().error("invalid_tool_params", 2);
    assert!(
        message.starts_with("Name a tool: apply_patch, glob, "),
        "{message}"
    );
    for words in [&["-t"][..], &["-o", "text"], &["--output=lines"]] {
        let answer = ws.call_tool(words).run();
        assert_eq!((answer.status(), answer.text()), (2, ""), "{words:?}");
        answer.must_say(
            &answer.errors(),
            &["call_tool: Name a tool: apply_patch, glob, "],
        );
    }
}

#[test]
fn the_lines_of_a_command_are_its_output() {
    let ws = project();
    let words = [
        "run_shell_command",
        "printf 'a\\nb\\n'; exit 3",
        "-o",
        "lines",
    ];
    let answer = ws.call_tool(&words).run();
    assert_eq!((answer.status(), answer.text()), (0, "a\nb\n"));
    let silent = ws.call_tool(&["run_shell_command", "true", "-o", "lines"]);
    assert_eq!(silent.run().text(), "");
}

#[test]
fn a_path_outside_is_answered_with_the_option_for_another_root() {
    let ws = project();
    let outside = ws.call_tool(&["read_file", "../README.md", "-t"]);
    let answer = outside.flags(&["--root", "src"]).run();
    answer.must_say(&answer.errors(), &["Another root: --root DIR."]);
    assert!(!answer.errors().contains("includeDirectories"));
}

#[test]
fn root_is_where_a_call_works() {
    let ws = project();
    let below = |words: &[&str]| ws.call_tool(words).flags(&["--root", "src"]).run();
    assert_eq!(
        below(&["read_file", "main.rs"]).output(),
        "fn main() {} // TODO\n"
    );
    below(&["read_file", "../README.md"]).error("path_not_in_workspace", 1);
    let both = ["read_file", "README.md", "--root", ".", "--root", "src"];
    assert_eq!(ws.call_tool(&both).run().status(), 0);
    let answer = below(&["run_shell_command", "basename \"$PWD\""]);
    answer.must_say(&answer.output(), &["Output: src"]);
    for (root, said) in [
        ("none", "--root none: "),
        ("README.md", "--root README.md: "),
    ] {
        refuses(&ws, &["list_directory", ".", "--root", root], &[said]);
    }
}
