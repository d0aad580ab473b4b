//! Tools of one's own: manifests and scripts that describe themselves, in the user's directory and in the project's.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Answer, Call, Workspace, set_mode, write};

/// Prints each of its arguments in brackets, and its standard input.
const SHOW: &str = r#"
description = "Shows its arguments."
command = ["bash", "-c", 'for word; do printf "[%s]" "$word"; done; cat', "show", "{x}", "--x={x}"]
params.x = { required = true }
"#;

const TRUSTED: (&str, &str) = ("GEMINI_CLI_TRUST_WORKSPACE", "true");

/// A workspace with this file in the user's directory of tools.
fn with_tool(file: &str, content: &str) -> Workspace {
    let name = format!(".gemini/tools/{file}");
    let ws = Workspace::new().home(&name, content);
    if !has_extension(file, "toml") {
        set_mode(&ws.root().join("home").join(&name), 0o755);
    }
    ws
}

fn has_extension(file: &str, extension: &str) -> bool {
    Path::new(file).extension().is_some_and(|e| e == extension)
}

/// The catalogue may be written.
fn quietly(call: Call<'_>) -> Call<'_> {
    call.changing_at_home(&[".cache"])
}

#[track_caller]
fn call(ws: &Workspace, tool: &str, arguments: &Value) -> Answer {
    quietly(ws.tool(tool).arguments(arguments)).run()
}

#[track_caller]
fn listed(ws: &Workspace) -> Vec<String> {
    names(&quietly(ws.get_tools(&["--exclude", BUILT_IN])).run())
}

const BUILT_IN: &str = "read_*,list_*,glob,google_*,replace,run_shell_command,save_memory,search_*,smart_edit,stop_*,\
    web_fetch,write_file";

#[track_caller]
fn names(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
    let json = answer.json();
    let list = json.as_array().expect("a list").iter();
    list.map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn a_manifest_is_declared_and_called() {
    let ws = with_tool(
        "greet.toml",
        r#"
description = "Greets."
command = ["printf", '%s %s', "{greeting}", "{name}"]
[params.name]
description = "Whom."
required = true
min_length = 2
[params.greeting]
default = "Hello"
enum = ["Hello", "Bye"]
"#,
    );
    let declared = quietly(ws.get_tools(&["--only", "greet"])).run().json();
    assert_eq!(
        declared,
        json!([{
            "name": "greet",
            "description": "Greets.",
            "parametersJsonSchema": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "description": "Whom.", "minLength": 2},
                    "greeting": {"type": "string", "default": "Hello", "enum": ["Hello", "Bye"]},
                },
            },
        }])
    );
    assert_eq!(
        call(&ws, "greet", &json!({"name": "you"})).output(),
        "Hello you"
    );
    let all = json!({"name": "you", "greeting": "Bye", "wait_for_previous": true});
    assert_eq!(call(&ws, "greet", &all).output(), "Bye you");
    // As Gemini CLI 0.61 names it.
    let call = ws.call_tool(&["discovered_tool_greet", "name=you"]);
    call.run().must_say(
        quietly(ws.call_tool(&["greet", "name=yo"])).run().text(),
        &["Hello yo"],
    );
    let kinds = quietly(ws.get_tools(&["--only", "greet", "--kinds"]))
        .run()
        .json();
    assert_eq!(kinds[0]["kind"], "other");
}

#[test]
fn arguments_are_checked_before_anything_is_started() {
    let ws = with_tool(
        "check.toml",
        r#"
description = "Leaves a mark."
command = ["touch", "mark"]
[parameters]
additionalProperties = false
required = ["text"]
[parameters.properties]
text = { type = "string", pattern = "^[a-z]+$", maxLength = 3 }
list = { type = "array", maxItems = 1, items = { const = 1 } }
even = { type = "integer", multipleOf = 2, exclusiveMaximum = 10 }
"#,
    );
    for (arguments, says) in [
        (json!({}), "\"text\" is missing"),
        (json!({"text": 1}), "must be a string"),
        (json!({"text": "A"}), "must match the pattern ^[a-z]+$"),
        (json!({"text": "abcd"}), "at most 3 characters"),
        (json!({"text": "a", "list": [1, 1]}), "at most 1 element"),
        (
            json!({"text": "a", "list": [2]}),
            "must be 1, but it is the number 2",
        ),
        (json!({"text": "a", "even": 3}), "a multiple of 2"),
        (json!({"text": "a", "even": 10}), "less than 10"),
        (json!({"text": "a", "odd": 1}), "must not hold \"odd\""),
    ] {
        let answer = call(&ws, "check", &arguments);
        answer.must_say(&answer.error("invalid_tool_params", 2), &[says]);
    }
    ws.call_tool(&["check", "text=a"])
        .changing(&["mark"])
        .run()
        .output();
    assert!(ws.dir().join("mark").exists());
}

#[test]
fn a_value_is_one_argument_whatever_it_holds() {
    let text = SHOW.replace("\"{x}\", ", "\"--\", \"{x}\", ");
    let ws = with_tool("show.toml", &text);
    for odd in [
        "a b",
        "'\"",
        "a\nb",
        "; touch mark",
        "$(touch mark)",
        "`touch mark`",
        "{x}",
        "*",
        "é",
        "-rf",
        "--",
    ] {
        let output = call(&ws, "show", &json!({"x": odd})).output();
        assert_eq!(output, format!("[--][{odd}][--x={odd}]"));
    }
    let list = call(&ws, "show", &json!({"x": "a\u{0}b"}));
    list.must_say(&list.error("invalid_tool_params", 2), &["NUL"]);
}

#[test]
fn a_value_that_the_program_would_take_for_a_flag_is_refused() {
    let ws = with_tool("show.toml", SHOW);
    let answer = call(&ws, "show", &json!({"x": "-rf"}));
    answer.must_say(
        &answer.error("invalid_tool_params", 2),
        &["\"x\" must not begin with \"-\"", "./"],
    );
}

#[test]
fn lists_groups_and_missing_parameters() {
    let ws = with_tool(
        "show.toml",
        r#"
description = "Shows its arguments."
command = ["bash", "-c", 'printf "[%s]" "$@"', "show", "-n", "{n}", ["--in", "{dir}", "x"], "--y={y}", ["-a", "{?all}"],
    "{list}", "{{n}}", "{tool_dir}"]
params.n = { type = "integer" }
params.dir = {}
params.y = { type = "boolean" }
params.all = { type = "boolean" }
params.list = { type = "array", items = "string" }
"#,
    );
    let dir = ws.root().join("home/.gemini/tools").display().to_string();
    let output = |arguments: Value| call(&ws, "show", &arguments).output().replace(&dir, "DIR");
    assert_eq!(output(json!({})), "[{n}][DIR]");
    assert_eq!(
        output(json!({"all": false, "list": [], "n": null})),
        "[{n}][DIR]"
    );
    assert_eq!(
        output(json!({"n": 3, "dir": "d e", "y": false, "all": true, "list": ["a", "b c"]})),
        "[-n][3][--in][d e][x][--y=false][-a][a][b c][{n}][DIR]"
    );
}

#[test]
fn a_script_of_a_manifest_finds_parameters_in_variables_only() {
    let ws = with_tool(
        "vars.toml",
        r#"
description = "Shows variables."
script = 'echo "$TOOL_A_B|$TOOL_N|$TOOL_L|$TOOL_F|${TOOL_NONE-unset}|$OWN|$GEMINI_TOOL_NAME|$GEMINI_PROJECT_DIR"; cat'
env = { OWN = "own $HOME", N = 1 }
[params]
a-b = {}
n = { type = "number" }
l = { type = "array", items = {} }
f = { type = "boolean", default = true }
none = {}
"#,
    );
    let arguments = json!({"a-b": "$(id) 'x'", "n": 1.5, "l": ["a", 1]});
    let answer = ws
        .tool("vars")
        .arguments(&arguments)
        .env("TOOL_NONE", "of the caller")
        .run();
    let root = ws.path("");
    let expected = format!(
        "$(id) 'x'|1.5|[\"a\",1]|true|unset|own $HOME|vars|{}",
        root.trim_end_matches('/')
    );
    assert_eq!(answer.output(), expected);
}

#[test]
fn standard_input_is_nothing_all_arguments_or_one() {
    let manifest = |stdin: &str| {
        format!(
            "description = \"Reads.\"\ncommand = [\"cat\"]\n{stdin}\n[params.t]\n[params.n]\ntype = \"integer\"\ndefault = 2\n"
        )
    };
    for (stdin, expected) in [
        ("", String::new()),
        ("stdin = \"none\"", String::new()),
        ("stdin = \"args\"", r#"{"n":2,"t":"a\nb"}"#.to_owned()),
        ("stdin = \"param:t\"", "a\nb".to_owned()),
        ("stdin = \"param:n\"", "2".to_owned()),
    ] {
        let ws = with_tool("reads.toml", &manifest(stdin));
        assert_eq!(
            call(&ws, "reads", &json!({"t": "a\nb"})).output(),
            expected,
            "{stdin}"
        );
    }
    let ws = with_tool(
        "reads.toml",
        &manifest("stdin = \"param:t\"").replace("\"cat\"", "\"wc\", \"-c\""),
    );
    let long = "x".repeat(3_000_000);
    assert_eq!(
        call(&ws, "reads", &json!({ "t": long })).output(),
        "3000000"
    );
}

#[test]
fn scripts_describe_themselves_in_any_comment() {
    for (file, start, comment, read) in [
        ("say.sh", "#!/bin/bash", "#", "cat; echo \" $TOOL_TEXT\""),
        (
            "say.py",
            "#!/usr/bin/env python3",
            "#",
            "import sys, os; print(sys.stdin.read(), os.environ['TOOL_TEXT'])",
        ),
        (
            "say.js",
            "#!/usr/bin/env node",
            "//",
            "console.log(require('fs').readFileSync(0, 'utf8'), process.env.TOOL_TEXT)",
        ),
        ("say", "#!/bin/sh", "#", "cat; echo \" $TOOL_TEXT\""),
    ] {
        let program = start.rsplit(['/', ' ']).next().expect("a program");
        if which(program).is_none() {
            skipped(&format!("there is no {program}"));
            continue;
        }
        let block = [
            "/// tool",
            "description = \"Says.\"",
            "[params.text]",
            "required = true",
            "///",
        ]
        .map(|line| format!("{comment} {line}\n"))
        .concat();
        let ws = with_tool(file, &format!("{start}\n{block}{read}\n"));
        assert_eq!(listed(&ws), ["say"], "{file}");
        assert_eq!(
            call(&ws, "say", &json!({"text": "a 'b'"})).output(),
            "{\"text\":\"a 'b'\"} a 'b'",
            "{file}"
        );
    }
}

/// Says that something was not tested.
pub(crate) fn skipped(why: &str) {
    writeln!(std::io::stderr(), "not tested: {why}").expect("standard error");
}

fn which(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

#[test]
fn discovery_runs_nothing_and_reads_only_the_beginning() {
    let late = format!(
        "#!/bin/sh\n{}# /// tool\n# description = \"x\"\n# ///\n",
        "# \n".repeat(20_000)
    );
    let ws = with_tool("late.sh", &late)
        .home(
            ".gemini/tools/mark.sh",
            "#!/bin/sh\n# /// tool\n# description = \"x\"\n# ///\ntouch mark\n",
        )
        .home(".gemini/tools/notes.md", "# /// tool\n")
        .home(".gemini/tools/plain.sh", "#!/bin/sh\ntouch mark\n")
        .home(
            ".gemini/tools/lib/inner.toml",
            "description = \"x\"\ncommand = [\"ls\"]\n",
        );
    for name in ["mark.sh", "plain.sh"] {
        set_mode(&ws.root().join("home/.gemini/tools").join(name), 0o755);
    }
    assert_eq!(listed(&ws), ["mark"]);
}

/// What a manifest says, and a part of what is said about it.
const FAULTS: &[(&str, &str)] = &[
    ("", "description: it is missing; say what"),
    (
        "description = 1",
        "description: it must be a text, but it is the number 1",
    ),
    ("description = ' '", "description: it is empty"),
    ("description = \"a\u{202e}b\"", "invisible character U+202E"),
    (
        "descripton = 'x'",
        "descripton: there is no key \"descripton\"; did you mean \"description\"?",
    ),
    ("x = [", "line 1: this is not valid TOML"),
    ("description = 'x'", "command: it is missing; give a list"),
    ("command = 'ls'", "command: it must be a list of words"),
    (
        "command = []",
        "command: the first element must be the program",
    ),
    (
        "command = ['ls', '{pth}']\nparams.path = {}",
        "command: there is no parameter \"pth\"; did you mean \"path\"?",
    ),
    ("command = ['ls', '{x']", "has a { without its }"),
    (
        "command = ['sh', '-c', 'ls {x}']\nparams.x = {}",
        "can't be part of a shell's text",
    ),
    (
        "command = ['ls']\nscript = 'ls'",
        "script: command is there as well",
    ),
    (
        "kind = 'reed'",
        "kind: \"reed\" is none; use one of read, edit",
    ),
    (
        "kind = 'edit'\nread_only = true",
        "read_only: a tool of kind edit changes things",
    ),
    ("read_only = 'yes'", "read_only: it must be true or false"),
    (
        "stdin = 'arg'",
        "stdin: \"arg\" is none; use args, none, or param:NAME",
    ),
    (
        "stdin = 'param:x'",
        "stdin: there is no parameter \"x\"; the tool has none",
    ),
    (
        "output = 'xml'",
        "output: \"xml\" is none; use text, json, or tool_result",
    ),
    ("timeout = 0", "timeout: it must be a number of seconds"),
    (
        "timeout = 'long'",
        "timeout: it must be a number of seconds",
    ),
    (
        "cwd = '../x'",
        "cwd: it must lie beneath the project's root",
    ),
    ("cwd = '/'", "cwd: it must lie beneath the project's root"),
    ("env = 1", "env: it must be a table"),
    ("env.'a=b' = 'x'", "env.a=b: a variable's name"),
    ("env.a = []", "env.a: it must be a text"),
    (
        "sandbox = 'on'",
        "sandbox: \"on\" is none; use one of off, workspace-write, read-only",
    ),
    (
        "success_statuses = 1",
        "success_statuses: it must be a list",
    ),
    (
        "success_statuses = [300]",
        "success_statuses: it must be a list",
    ),
    ("streaming = 1", "streaming: it must be true or false"),
    ("display_name = ''", "display_name: it is empty"),
    (
        "params = 1",
        "params: it must be a table for each parameter",
    ),
    ("params.x = 1", "params.x: it must be a table"),
    (
        "params.x = { typ = 'string' }",
        "params.x.typ: there is no key \"typ\"; did you mean \"type\"?",
    ),
    (
        "params.x = { type = 'text' }",
        "params.x.type: \"text\" is none; use one of string",
    ),
    (
        "params.x = { required = 1 }",
        "params.x.required: it must be true or false",
    ),
    (
        "params.x = { pattern = '(' }",
        "params.x.pattern: the pattern \"(\" can't be used",
    ),
    (
        "params.x = { type = 'integer', default = 'a' }",
        "params.x.default: it must be an integer",
    ),
    ("params.'a b' = {}", "params.a b: a name holds A-Z"),
    (
        "params.a-b = {}\nparams.a_b = {}",
        "the same variable TOOL_A_B",
    ),
    (
        "params.tool_dir = {}",
        "params.tool_dir: this name is taken",
    ),
    (
        "params.x = {}\nparameters = {}",
        "params: parameters is there as well",
    ),
    (
        "parameters = { type = 'array' }",
        "parameters: the type must be \"object\"",
    ),
    (
        "parameters = { required = ['x'] }",
        "parameters: \"x\" is required but no property",
    ),
];

#[test]
fn faults_name_the_file_the_key_and_what_to_do() {
    for (manifest, says) in FAULTS {
        let ws = with_tool("odd.toml", manifest).home(
            ".gemini/tools/fine.toml",
            "description = 'Fine.'\ncommand = ['echo', 'fine']\n",
        );
        // A bad tool costs only itself.
        assert_eq!(listed(&ws), ["fine"], "{manifest}");
        assert_eq!(call(&ws, "fine", &json!({})).output(), "fine");
        let answer = call(&ws, "odd", &json!({}));
        let error = answer.error("execution_failed", 1);
        answer.must_say(
            &error,
            &[
                "The tool odd can't be used: ",
                "/.gemini/tools/odd.toml: ",
                says,
            ],
        );
    }
}

#[test]
fn a_block_with_a_fault_says_so() {
    let start = "#!/bin/sh\n# /// tool\n";
    for (text, mode, says) in [
        (
            format!("{start}# x = 1\n# ///\n"),
            0o755,
            "x: there is no key \"x\"",
        ),
        (
            format!("{start}# a = [\n# ///\n"),
            0o755,
            "this is not valid TOML",
        ),
        (format!("{start}# description = 'x'\n"), 0o755, "has no end"),
        (
            format!("{start}echo\n# ///\n"),
            0o755,
            "line 3: the tool's block that begins in line 2",
        ),
        (
            format!("{start}# description = 'x'\n# ///\n"),
            0o644,
            "run chmod +x",
        ),
        (
            format!("{start}# description = 'x'\n# script = 'x'\n# ///\n"),
            0o755,
            "it is the script that is run",
        ),
    ] {
        let ws = with_tool("odd.sh", &text);
        set_mode(&ws.root().join("home/.gemini/tools/odd.sh"), mode);
        assert_eq!(listed(&ws), [""; 0], "{text}");
        let answer = call(&ws, "odd", &json!({}));
        answer.must_say(&answer.error("execution_failed", 1), &["odd.sh: ", says]);
    }
}

#[test]
fn a_failure_has_the_status_and_the_end_of_standard_error() {
    let ws = with_tool(
        "fails.toml",
        "description = 'Fails.'\nscript = 'seq 10000 >&2; echo said; exit 3'\n",
    );
    let answer = call(&ws, "fails", &json!({}));
    let error = answer.error("execution_failed", 1);
    answer.must_say(
        &error,
        &["failed with exit status 3", "\n10000\n", "Output:\nsaid"],
    );
    assert!(error.len() < 10_000, "{}", error.len());
    for (script, says) in [
        ("kill -9 $$", "was ended by SIGKILL"),
        ("exit 1", "failed with exit status 1."),
    ] {
        let ws = with_tool(
            "fails.toml",
            &format!("description = 'x'\nscript = '{script}'\n"),
        );
        let answer = call(&ws, "fails", &json!({}));
        answer.must_say(&answer.error("execution_failed", 1), &[says]);
    }
    let text =
        "description = 'x'\nscript = 'echo no; echo warn >&2; exit 1'\nsuccess_statuses = [0, 1]\n";
    assert_eq!(
        call(&with_tool("odd.toml", text), "odd", &json!({})).output(),
        "no"
    );
}

#[test]
fn what_can_not_be_started_is_told() {
    for (file, text, says) in [
        (
            "none.toml",
            "description = 'x'\ncommand = ['no-such-program']\n",
            "there is no program \"no-such-program\"",
        ),
        (
            "none.sh",
            "# /// tool\n# description = 'x'\n# ///\n",
            "does not begin with a #! line",
        ),
        (
            "none.py",
            "#!/no/such\n# /// tool\n# description = 'x'\n# ///\n",
            "not what its #! line names",
        ),
        (
            "none.toml",
            "description = 'x'\ncommand = ['ls']\ncwd = 'gone'\n",
            "gone",
        ),
    ] {
        let ws = with_tool(file, text);
        let answer = call(&ws, "none", &json!({}));
        let failure = answer.failure();
        answer.must_say(&failure.message, &[says]);
    }
}

#[test]
fn at_its_time_limit_everything_ends() {
    let text = "description = 'x'\ntimeout = 0.3\nscript = 'setsid sleep 4711 & echo $! > pid; sleep 4711'\n";
    let ws = with_tool("slow.toml", text);
    let answer = ws.tool("slow").changing(&["pid"]).run();
    answer.must_say(
        &answer.error("timeout", 124),
        &["The tool slow was ended at its time limit", "timeout = 0.3"],
    );
    must_be_gone(&ws);
}

#[test]
fn what_a_tool_leaves_behind_ends_with_it() {
    let text = "description = 'x'\nscript = 'setsid sleep 4711 >/dev/null 2>&1 & echo $! > pid; echo done'\n";
    let ws = with_tool("leaves.toml", text);
    assert_eq!(ws.tool("leaves").changing(&["pid"]).run().output(), "done");
    must_be_gone(&ws);
}

#[track_caller]
fn must_be_gone(ws: &Workspace) {
    let pid = fs::read_to_string(ws.dir().join("pid")).expect("the tool has started");
    let process = Path::new("/proc").join(pid.trim());
    let until = Instant::now() + Duration::from_secs(10);
    while process.exists() {
        assert!(Instant::now() < until, "{} lives", process.display());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn json_is_text_for_the_model_and_data_for_programs() {
    let text = "description = 'x'\noutput = 'json'\nscript = 'echo noise >&2; echo \"$TOOL_J\"'\nparams.j = {}\n";
    let ws = with_tool("json.toml", text);
    let answer = ws
        .tool("json")
        .arguments(&json!({"j": "{\"a\": [1, 2]}"}))
        .flags(&["--output", "result"])
        .run();
    assert_eq!(answer.json()["llmContent"], "{\"a\": [1, 2]}");
    assert_eq!(answer.json()["data"], json!({"a": [1, 2]}));
    assert_eq!(call(&ws, "json", &json!({"j": "[1]"})).output(), "[1]");
    for (printed, says) in [
        ("no json", "It printed: no json"),
        ("", "It printed nothing"),
    ] {
        let answer = call(&ws, "json", &json!({"j": printed}));
        answer.must_say(&answer.error("execution_failed", 1), &["is not JSON", says]);
    }
}

#[test]
fn a_whole_result_is_taken_strictly() {
    let text = "description = 'x'\noutput = 'tool_result'\nstdin = 'param:j'\ncommand = ['cat']\nparams.j = { type = 'object' }\n";
    let ws = with_tool("whole.toml", text).home(
        ".gemini/tools/next.toml",
        "description = 'x'\ncommand = ['echo', 'next', '{a}']\nparams.a = {}\n",
    );
    let result = |value: Value| call(&ws, "whole", &json!({ "j": value }));
    assert_eq!(
        result(json!({"llmContent": "a", "returnDisplay": "b", "data": {}})).output(),
        "a"
    );
    let parts =
        json!({"llmContent": ["see", {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]});
    let answer = result(parts);
    answer.must_say(answer.text(), &["image/png", "aGk="]);
    let tail = json!({"tailToolCallRequest": {"name": "next", "args": {"a": "b"}}});
    assert_eq!(result(tail).output(), "next b");
    let answer = result(json!({"error": {"message": "no such row", "type": "file_not_found"}}));
    assert_eq!(answer.error("file_not_found", 1), "no such row");
    let answer = result(json!({"error": {"message": "plain"}}));
    assert_eq!(answer.error("execution_failed", 1), "plain");
    for (value, says) in [
        (
            json!({}),
            "must have llmContent, error or tailToolCallRequest",
        ),
        (
            json!({"llmcontent": "a"}),
            "a tool_result has no \"llmcontent\"",
        ),
        (
            json!({"llmContent": 1}),
            "llmContent must be a text, a part, or a list",
        ),
        (
            json!({"llmContent": [1]}),
            "llmContent[0] must be a text or a part",
        ),
        (json!({"llmContent": {"txt": "a"}}), "llmContent is no part"),
        (
            json!({"llmContent": {"inlineData": {"mimeType": "image/png", "data": "?"}}}),
            "in base64",
        ),
        (
            json!({"llmContent": "a", "returnDisplay": 1}),
            "returnDisplay must be a text",
        ),
        (
            json!({"llmContent": "a", "data": 1}),
            "data must be an object",
        ),
        (json!({"error": "bad"}), "error must be an object"),
        (
            json!({"error": {"type": "unknown"}}),
            "error.message is missing",
        ),
        (
            json!({"error": {"message": "a", "type": "bad"}}),
            "error.type can't be used",
        ),
        (
            json!({"error": {"message": "a", "code": 1}}),
            "error has no \"code\"",
        ),
        (
            json!({"tailToolCallRequest": {"name": "x"}}),
            "tailToolCallRequest",
        ),
    ] {
        let answer = result(value);
        answer.must_say(
            &answer.error("execution_failed", 1),
            &["gave no usable result", says],
        );
    }
}

#[test]
fn a_tool_that_explains_its_own_failure_has_the_word() {
    let text = r#"
description = "x"
output = "tool_result"
script = """echo '{"error":{"message":"mine"}}'; exit 4"""
"#;
    let ws = with_tool("own.toml", text);
    assert_eq!(
        call(&ws, "own", &json!({})).error("execution_failed", 1),
        "mine"
    );
}

#[test]
fn long_output_is_kept_at_both_ends_with_the_whole_in_a_file() {
    let ws = with_tool(
        "long.toml",
        "description = 'x'\ncommand = ['seq', '100000']\n",
    );
    let answer = ws.tool("long").changing_at_home(&[".gemini/tmp"]).run();
    let output = answer.output();
    assert!(
        output.starts_with("1\n2\n") && output.ends_with("\n100000"),
        "{output}"
    );
    answer.must_say(
        &output,
        &["The whole output is in ", "read it with read_file"],
    );
}

#[test]
fn output_is_shown_live_where_the_manifest_says_so() {
    for (streaming, expected) in [("true", true), ("false", false)] {
        let text = format!(
            "description = 'x'\nstreaming = {streaming}\nscript = 'echo first; sleep 2.5; echo last'\n"
        );
        let ws = with_tool("live.toml", &text);
        let answer = ws.call_tool(&["live", "--stream"]).run();
        assert_eq!(
            answer.text().contains("\"type\":\"output\""),
            expected,
            "{}",
            answer.text()
        );
    }
}

#[test]
fn a_tool_that_only_reads_needs_no_confirmation() {
    let text = "description = 'x'\ncommand = ['printf', '%s', '{a}']\nparams.a = {}\n";
    let ws = with_tool("ask.toml", text)
        .home(
            ".gemini/tools/reads.toml",
            format!("read_only = true\n{text}"),
        )
        .home(
            ".gemini/tools/script.toml",
            "description = 'x'\nscript = 'ls | wc -l'\nparams.a = {}\n",
        );
    let explain = |name: &str| {
        quietly(ws.call_tool(&[name, "a=b c", "--explain"]))
            .run()
            .json()
    };
    let asked = explain("ask")["confirmation"].clone();
    assert_eq!(asked["type"], "exec");
    assert_eq!(asked["rootCommand"], "printf");
    assert_eq!(asked["command"], "printf %s 'b c'");
    assert_eq!(explain("reads")["confirmation"], false);
    assert_eq!(
        explain("script")["confirmation"]["rootCommands"],
        json!(["ls", "wc"])
    );
}

#[test]
fn a_sandbox_that_a_tool_asks_for_holds() {
    let text = "description = 'x'\nsandbox = 'read-only'\nscript = 'echo a > mark'\n";
    let ws = with_tool("boxed.toml", text);
    let answer = call(&ws, "boxed", &json!({}));
    let failure = answer.failure();
    assert!(!ws.dir().join("mark").exists());
    if failure.error_type == "policy_violation" {
        skipped(&failure.message);
    } else {
        answer.must_say(&failure.message, &["mark"]);
    }
}

#[test]
fn the_working_directory_lies_beneath_the_root() {
    let text = "description = 'x'\ncommand = ['pwd']\ncwd = 'sub'\n";
    let ws = with_tool("where.toml", text).directory("sub");
    assert_eq!(call(&ws, "where", &json!({})).output(), ws.path("sub"));
    let ws = with_tool("where.toml", text).link("sub", "../out");
    assert!(
        call(&ws, "where", &json!({}))
            .failure()
            .message
            .contains("sub")
    );
}

#[test]
fn the_first_of_one_name_counts() {
    let tool = |says: &str| format!("description = '{says}'\ncommand = ['echo', '{says}']\n");
    let script = "#!/bin/sh\n# /// tool\n# description = 'script'\n# ///\necho script\n";
    let ws = with_tool("both.toml", &tool("users"))
        .file(".gemini/tools/both.toml", tool("projects"))
        .file(".gemini/tools/forms.toml", tool("manifest"))
        .file(".gemini/tools/forms.sh", script)
        .file(".gemini/tools/glob.toml", tool("not a built-in"))
        .file(".gemini/tools/ShellTool.toml", tool("nor its other name"));
    set_mode(&ws.dir().join(".gemini/tools/forms.sh"), 0o755);
    let trusted = |call: Call<'_>| quietly(call).env(TRUSTED.0, TRUSTED.1).run();
    let list = trusted(ws.get_tools(&[]));
    let all = names(&list);
    assert_eq!(all.iter().filter(|name| *name == "glob").count(), 1);
    assert_eq!(all[all.len() - 2..], ["both", "forms"], "{all:?}");
    list.must_say(
        list.text(),
        &["\"description\":\"users\"", "\"description\":\"manifest\""],
    );
    assert_eq!(trusted(ws.call_tool(&["both"])).output(), "users");
    assert_eq!(trusted(ws.call_tool(&["forms"])).output(), "manifest");
    assert!(
        !trusted(ws.call_tool(&["glob", "pattern=*"]))
            .text()
            .contains("not a built-in")
    );
}

#[test]
fn an_untrusted_project_lists_and_runs_nothing() {
    let ws = Workspace::new()
        .file(
            ".gemini/tools/mark.toml",
            "description = 'x'\ncommand = ['touch', 'mark']\n",
        )
        .file(
            ".gemini/tools/block.sh",
            "#!/bin/sh\n# /// tool\n# description = 'x'\n# ///\ntouch mark\n",
        );
    set_mode(&ws.dir().join(".gemini/tools/block.sh"), 0o755);
    // Not even the catalogue is written.
    assert_eq!(
        names(&ws.get_tools(&["--exclude", BUILT_IN]).run()),
        [""; 0]
    );
    for name in ["mark", "block", "discovered_tool_mark"] {
        let answer = ws.call_tool(&[name]).run();
        let error = answer.error("policy_violation", 3);
        answer.must_say(&error, &["the project is not trusted", "get_tools trust"]);
    }
    let trusted = ws
        .call_tool(&["mark"])
        .env(TRUSTED.0, TRUSTED.1)
        .changing(&["mark"])
        .run();
    assert_eq!(trusted.output(), "");
    assert!(ws.dir().join("mark").exists());
}

#[test]
fn excluded_tools_are_neither_listed_nor_run() {
    let ws = with_tool("gone.toml", "description = 'x'\ncommand = ['ls']\n").home(
        ".gemini/settings.json",
        r#"{"tools": {"exclude": ["gone"]}}"#,
    );
    assert_eq!(listed(&ws), [""; 0]);
    call(&ws, "gone", &json!({})).error("policy_violation", 3);
}

#[test]
fn unknown_names_are_told_with_the_nearest_of_ones_own() {
    let ws = with_tool("count_words.toml", "description = 'x'\ncommand = ['ls']\n");
    let answer = call(&ws, "count_word", &json!({}));
    answer.must_say(
        &answer.error("tool_not_registered", 2),
        &["Did you mean count_words?"],
    );
}

#[test]
fn a_batch_calls_them_too() {
    let ws = with_tool(
        "echo.toml",
        "description = 'x'\ncommand = ['echo', '{a}']\nparams.a = {}\n",
    );
    let lines = "{\"id\":\"1\",\"name\":\"echo\",\"args\":{\"a\":\"x\"}}\n{\"id\":\"2\",\"name\":\"echo\",\"args\":{\"a\":\"y\"}}\n";
    let answer = ws.call_tool(&["--batch"]).input(lines).run();
    assert_eq!(answer.text().lines().count(), 2, "{}", answer.shown());
    answer.must_say(answer.text(), &["\"output\":\"x\"", "\"output\":\"y\""]);
}

#[test]
fn the_catalogue_follows_every_change() {
    let ws = with_tool("one.toml", "description = 'first'\ncommand = ['ls']\n");
    let path = ws.root().join("home/.gemini/tools/one.toml");
    let described = || {
        let answer = quietly(ws.get_tools(&["--only", "one,two"])).run();
        let json = answer.json();
        let list = json.as_array().expect("a list").iter();
        list.map(|tool| tool["description"].as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    // At once, and when it has come to rest: the same length, within the same second.
    for round in 0..20 {
        let text = format!("no. {round:02}");
        write(
            &path,
            format!("description = '{text}'\ncommand = ['ls']\n").as_bytes(),
        );
        assert_eq!(described(), [text.as_str()]);
        if round % 5 == 0 {
            thread::sleep(Duration::from_millis(70));
            assert_eq!(described(), [text.as_str()]);
            assert!(fs::read_dir(ws.root().join("home/.cache/gemini-tools/tools")).is_ok());
        }
    }
    write(
        &path.with_file_name("two.toml"),
        b"description = 'two'\ncommand = ['ls']\n",
    );
    assert_eq!(described().len(), 2);
    fs::remove_file(&path).expect("removed");
    assert_eq!(described(), ["two"]);
}

#[test]
fn a_broken_catalogue_is_ignored_and_a_kept_one_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let ws = with_tool("one.toml", "description = 'one'\ncommand = ['ls']\n");
    thread::sleep(Duration::from_millis(70));
    assert_eq!(listed(&ws), ["one"]);
    let dir = ws.root().join("home/.cache/gemini-tools/tools");
    let kept = || {
        fs::read_dir(&dir)
            .expect("kept")
            .next()
            .expect("one")
            .expect("readable")
            .path()
    };
    let mode = fs::metadata(kept()).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let whole = fs::read(kept()).expect("readable");
    for broken in [&b""[..], b"{", b"null", &whole[..whole.len() / 2]] {
        fs::write(kept(), broken).expect("written");
        assert_eq!(listed(&ws), ["one"]);
        assert_eq!(fs::read(kept()).expect("readable"), whole, "written anew");
    }
    // One that can't be written costs time only.
    fs::remove_dir_all(ws.root().join("home/.cache")).expect("removed");
    fs::write(ws.root().join("home/.cache"), "no directory").expect("written");
    assert_eq!(listed(&ws), ["one"]);
}
