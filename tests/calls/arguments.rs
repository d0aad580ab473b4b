//! Arguments, good and bad: on standard input, on the command line, under other names.

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::client::Server;

fn hello() -> Workspace {
    Workspace::new().file("hello.txt", "hello\nworld\n")
}

#[test]
fn refuses_what_is_no_object_of_json() {
    let inputs: [&[u8]; 13] = [
        b"{\"absolute_path\": ",
        b"hello",
        b"{'a': 1}",
        b"{} {}",
        b"\0",
        b"{\"a\":}",
        b"{\"absolute_path\": \"\xff\xfe\"}",
        b"[]",
        b"[\"a\"]",
        b"\"a\"",
        b"17",
        b"true",
        b"null",
    ];
    for input in inputs {
        let answer = hello().tool("read_file").input(input).run();
        answer.error("invalid_tool_params", 2);
    }
}

#[test]
fn takes_a_byte_order_mark_or_refuses_it_in_words() {
    let answer = hello()
        .tool("list_directory")
        .input("\u{feff}{\"path\": \".\"}")
        .run();
    let response = answer.function_response();
    assert_eq!(response.name, "list_directory");
}

#[test]
fn names_the_argument_of_a_wrong_type_and_what_was_expected() {
    let ws = hello();
    let path = ws.path("hello.txt");
    let cases = [
        (
            "read_file",
            json!({"absolute_path": 5}),
            "absolute_path",
            "string",
        ),
        (
            "read_file",
            json!({"absolute_path": path, "offset": [1]}),
            "offset",
            "number",
        ),
        (
            "list_directory",
            json!({"path": path, "ignore": {"*.log": true}}),
            "ignore",
            "array",
        ),
        (
            "glob",
            json!({"pattern": "*", "case_sensitive": 1}),
            "case_sensitive",
            "boolean",
        ),
        ("read_many_files", json!({"paths": null}), "paths", "array"),
        ("read_many_files", json!({"paths": [1]}), "paths", "string"),
    ];
    for (tool, arguments, name, expected) in cases {
        let answer = ws.call(tool, &arguments);
        let message = answer.error("invalid_tool_params", 2);
        // Integers are numbers.
        answer.must_say(&message.replace("integer", "number"), &[name, expected]);
    }
}

/// Arguments as models with strict schemas, and small ones, write them, and what is in the answer.
fn loosely_typed() -> [(&'static str, Value, &'static str); 9] {
    [
        (
            "read_file",
            json!({"absolute_path": "hello.txt", "limit": null, "offset": null}),
            "hello\nworld\n",
        ),
        (
            "read_file",
            json!({"absolute_path": "hello.txt", "offset": "1", "limit": " 1.0 "}),
            "world",
        ),
        (
            "read_file",
            json!({"file_path": "hello.txt", "start_line": "2", "end_line": null}),
            "world",
        ),
        (
            "glob",
            json!({"pattern": "HELLO*", "case_sensitive": "false", "path": null}),
            "hello.txt",
        ),
        (
            "search_file_content",
            json!({"pattern": "WORLD", "case_sensitive": "true", "context": null}),
            "No matches",
        ),
        ("read_many_files", json!({"paths": "hello.txt"}), "world"),
        (
            "read_many_files",
            json!({"paths": "[\"hello.txt\"]", "exclude": null, "recursive": "true"}),
            "world",
        ),
        (
            "list_directory",
            json!({"path": ".", "ignore": "no*", "file_filtering_options":
                {"respect_git_ignore": "false", "respect_gemini_ignore": null}}),
            "hello.txt",
        ),
        (
            "list_directory",
            json!({"path": ".", "file_filtering_options": "{\"respect_git_ignore\":\"false\"}"}),
            "hello.txt",
        ),
    ]
}

#[test]
fn null_and_text_count_as_what_they_can_only_mean_however_they_come() {
    let ws = hello();
    for (tool, arguments, says) in loosely_typed() {
        let answer = ws.call(tool, &arguments);
        answer.must_say(&answer.output(), &[says]);
        let line = json!({"id": "1", "name": tool, "args": arguments}).to_string();
        let answer = ws.call_tool(&["--batch"]).input(line).run();
        answer.must_say(answer.text(), &[&says.replace('\n', "\\n")]);
        let function = json!({"name": tool, "arguments": arguments.to_string()});
        let call = json!({"id": "c", "type": "function", "function": function});
        let answer = ws.call_tool(&["--from", "openai"]).input(call.to_string());
        let answer = answer.run();
        answer.must_say(answer.text(), &[&says.replace('\n', "\\n")]);
        let mut server = Server::greeted(&ws, &[], &json!({}));
        let result = server.call(tool, &arguments);
        assert_ne!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(says), "{result}");
    }
}

#[test]
fn rules_judge_arguments_in_the_types_in_which_they_count() {
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\nargsPattern = '\"is_background\":true'\n\
                decision = \"deny\"\npriority = 100\n";
    let ws = hello().home(".gemini/policies/mine.toml", rule);
    for value in [json!(true), json!("true"), json!(" True ")] {
        let arguments = json!({"command": "true", "is_background": value});
        ws.call("run_shell_command", &arguments)
            .error("policy_violation", 3);
        let explained = ws.tool("run_shell_command").flags(&["--explain"]);
        assert_eq!(explained.arguments(&arguments).run().status(), 3, "{value}");
    }
    for value in [json!("false"), json!(null)] {
        let arguments = json!({"command": "true", "is_background": value});
        ws.call("run_shell_command", &arguments).output();
    }
}

#[test]
fn tools_of_users_get_arguments_in_the_types_that_they_declare() {
    let manifest = "description = \"Shows its arguments.\"\ncommand = [\"cat\"]\nstdin = \"args\"\n\
                    [params.n]\ntype = \"integer\"\ndescription = \"A number.\"\n\
                    [params.text]\ntype = \"string\"\ndescription = \"A text.\"\n";
    let ws = hello().home(".gemini/tools/show.toml", manifest);
    let answer = ws.call("show", &json!({"n": "5", "text": "5"}));
    answer.must_say(&answer.output(), &["\"n\":5", "\"text\":\"5\""]);
    let answer = ws.call("show", &json!({"n": null, "text": "null"}));
    answer.must_say(&answer.output(), &["\"text\":\"null\""]);
    assert!(!answer.output().contains("\"n\""), "{}", answer.shown());
    ws.call("show", &json!({"n": "five"}))
        .error("invalid_tool_params", 2);
}

#[test]
fn names_the_argument_that_is_missing() {
    let cases = [
        ("read_file", json!({}), "absolute_path"),
        ("write_file", json!({"file_path": "a"}), "content"),
        ("write_file", json!({"content": "a"}), "file_path"),
        (
            "replace",
            json!({"file_path": "a", "old_string": "b"}),
            "new_string",
        ),
        ("list_directory", json!({}), "path"),
        ("glob", json!({}), "pattern"),
        ("search_file_content", json!({}), "pattern"),
        ("read_many_files", json!({}), "paths"),
    ];
    for (tool, arguments, name) in cases {
        let answer = hello().call(tool, &arguments);
        let message = answer.error("invalid_tool_params", 2);
        answer.must_say(&message, &[name]);
    }
}

#[test]
fn refuses_numbers_that_make_no_sense() {
    let ws = hello();
    let path = ws.path("hello.txt");
    for number in ["-1", "-0.5", "1e400", "-1e400"] {
        let input = format!(r#"{{"absolute_path": "{path}", "offset": {number}, "limit": 1}}"#);
        ws.tool("read_file")
            .input(input)
            .run()
            .error("invalid_tool_params", 2);
    }
}

#[test]
fn huge_numbers_do_not_panic() {
    let ws = hello();
    let path = ws.path("hello.txt");
    for number in [
        "1.5",
        "18446744073709551615",
        "18446744073709551616",
        "9007199254740993",
        "1e30",
    ] {
        for key in ["offset", "limit"] {
            let input = format!(r#"{{"absolute_path": "{path}", "offset": 0, "{key}": {number}}}"#);
            let input = input.replace(r#""offset": 0, "offset""#, r#""limit": 1, "offset""#);
            let answer = ws.tool("read_file").input(input).run();
            answer.function_response();
            assert!((0..=2).contains(&answer.status()));
        }
    }
}

#[test]
fn whole_numbers_may_be_written_as_fractions() {
    let ws = hello();
    let input = format!(
        r#"{{"absolute_path": "{}", "offset": 1.0, "limit": 1.0}}"#,
        ws.path("hello.txt")
    );
    let answer = ws.tool("read_file").input(input).run();
    answer.must_say(&answer.output(), &["world"]);
}

#[test]
fn deeply_nested_json_is_no_stack_overflow() {
    let deep = 100_000;
    let (open, close) = ("[".repeat(deep), "]".repeat(deep));
    let objects = "{\"a\":".repeat(deep);
    let path = hello().path("hello.txt");
    for input in [
        format!("{open}{close}"),
        open.clone(),
        objects,
        format!(r#"{{"absolute_path": "{path}", "x": {open}{close}}}"#),
        format!(r#"{{"absolute_path": {open}{close}}}"#),
    ] {
        let answer = hello().tool("read_file").input(input).run();
        answer.function_response();
        assert!(answer.status() > 0);
    }
}

#[test]
fn repeated_key_does_not_panic() {
    let input = r#"{"pattern": "a", "pattern": "b"}"#;
    hello().tool("glob").input(input).run().function_response();
}

#[test]
fn only_an_unknown_argument_is_named_under_strict() {
    let ws = hello();
    let strict = |arguments: &Value| {
        let call = ws.tool("read_file").flags(&["--strict"]);
        call.arguments(arguments).run()
    };
    let answer = strict(&json!({"absolute_path": "hello.txt", "colour": "red"}));
    let message = answer.error("invalid_tool_params", 2);
    answer.must_say(&message, &["colour"]);
    let by_another_name = json!({"file_path": "hello.txt"});
    assert_eq!(strict(&by_another_name).output(), "hello\nworld\n");
}

#[test]
fn current_names_of_arguments_are_accepted() {
    let ws = hello().file("d/x.txt", "needle\n");
    let path = ws.path("hello.txt");
    let dir = ws.path("d");
    let cases: [(&str, Value, &str); 7] = [
        ("read_file", json!({"file_path": path}), "world"),
        ("read_file", json!({"path": path}), "world"),
        (
            "read_file",
            json!({"path": path, "start_line": 2, "end_line": 2}),
            "world",
        ),
        ("list_directory", json!({"dir_path": dir}), "x.txt"),
        (
            "glob",
            json!({"pattern": "*.txt", "dir_path": dir}),
            "x.txt",
        ),
        (
            "search_file_content",
            json!({"pattern": "needle", "dir_path": dir}),
            "needle",
        ),
        (
            "search_file_content",
            json!({"pattern": "needle", "include_pattern": "*.txt"}),
            "needle",
        ),
    ];
    for (tool, arguments, piece) in cases {
        let answer = ws.call(tool, &arguments);
        answer.must_say(&answer.output(), &[piece]);
    }
    let answer = ws
        .call_tool(&["grep_search"])
        .arguments(&json!({"pattern": "needle"}))
        .run();
    answer.must_say(&answer.output(), &["L1: needle"]);
}

#[test]
fn current_names_of_arguments_are_accepted_for_writing() {
    let ws = hello();
    let arguments = json!({"absolute_path": ws.path("new.txt"), "content": "n"});
    ws.tool("write_file")
        .arguments(&arguments)
        .changing(&["new.txt"])
        .run()
        .output();
    assert_eq!(
        std::fs::read_to_string(ws.path("new.txt")).expect("a new file"),
        "n"
    );
}

#[test]
fn command_line_takes_strings_and_json() {
    let ws = hello().file("c.ini", "key=value\n");
    let cases: [(&str, &[&str], &str); 4] = [
        ("glob", &["pattern=**/*.ini"], "c.ini"),
        (
            "read_file",
            &["absolute_path=hello.txt", "offset:=1", "limit:=1"],
            "world",
        ),
        ("read_many_files", &[r#"paths:=["hello.txt"]"#], "world"),
        (
            "search_file_content",
            &["pattern=key=value"],
            "L1: key=value",
        ),
    ];
    for (tool, words, said) in cases {
        let answer = ws.tool(tool).flags(words).input_held_open().run();
        answer.must_say(&answer.output(), &[said]);
    }
}

#[test]
fn command_line_json_that_is_none_is_named() {
    let answer = hello()
        .tool("read_file")
        .flags(&["absolute_path=hello.txt", "offset:=one"])
        .run();
    let message = answer.error("invalid_tool_params", 2);
    answer.must_say(&message, &["offset"]);
}

#[test]
fn name_that_is_nearly_right_is_answered_with_the_right_one() {
    let near = [
        ("read_fil", "read_file"),
        ("readfile", "read_file"),
        ("write-file", "write_file"),
        ("list_dir", "list_directory"),
        ("search_file", "search_file_content"),
        ("globb", "glob"),
        ("ReadManyFiles", "read_many_files"),
    ];
    for (name, right) in near {
        let answer = hello().call(name, &json!({}));
        let message = answer.error("tool_not_registered", 2);
        answer.must_say(&message, &[name, right]);
    }
}

#[test]
fn strange_names_of_tools_do_not_panic() {
    for name in [
        "",
        " ",
        "../read_file",
        "read_file\u{0301}",
        "discovered_tool_",
        &"x".repeat(5000),
    ] {
        let answer = hello().call_tool(&[name]).input("{}").run();
        assert_eq!(answer.status(), 2, "{name:?}");
    }
}

#[test]
fn half_a_surrogate_pair_is_what_node_makes_of_it() {
    let ws = Workspace::new();
    let answer = ws
        .tool("write_file")
        .input(r#"{"file_path": "a.txt", "content": "cut \ud83d, whole \ud83d\ude00"}"#)
        .unwatched()
        .run();
    answer.output();
    let text = std::fs::read_to_string(ws.dir().join("a.txt")).expect("a file");
    assert_eq!(text, "cut \u{fffd}, whole \u{1f600}");
}
