//! What is wrong with a tool's file is said with the file, the key and what to do, and costs only that tool.

use serde_json::{Value, json};

use crate::harness::custom::{SHOW, call, declared, with};
use crate::harness::{Workspace, make_fifo};
use std::os::unix::fs::symlink;

/// What `get_tools lint` says about one file, which must be left out.
#[track_caller]
fn fault(name: &str, content: &str, expected: &[&str]) {
    let ws = with(name, content).home(".gemini/tools/show.toml", SHOW);
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(lint.status(), 1, "{}", lint.shown());
    lint.must_say(lint.text(), expected);
    lint.must_say(lint.text(), &["error[", name]);
    assert_eq!(declared(&ws), ["show"], "it costs only itself");
}

/// The same for a manifest with these keys besides the least that it needs.
#[track_caller]
fn key(keys: &str, expected: &[&str]) {
    fault(
        "x.toml",
        &format!("description = \"d\"\n{keys}\n"),
        expected,
    );
}

/// The same with a command.
#[track_caller]
fn more(keys: &str, expected: &[&str]) {
    key(&format!("command = [\"true\"]\n{keys}"), expected);
}

#[test]
fn keys_of_the_wrong_kind_or_name() {
    more(
        "descripton = \"d\"",
        &[
            "x.toml:3:1: x: descripton: Unknown field `descripton`, expected one of ",
            "Did you mean \"description\"?",
        ],
    );
    for gone in ["name = \"y\"", "call_description = \"d\"", "[confirmation]"] {
        more(gone, &["x.toml:3:", ": Unknown field `", "`script`"]);
    }
    more(
        "kind = \"reed\"",
        &[
            "x.toml:3:8: x: kind: Unknown variant `reed`, ",
            "Did you mean \"read\"?",
        ],
    );
    more(
        "kind = \"read\"\nread_only = false",
        &["read_only: A tool of this \"kind\" only reads; correct one of the two"],
    );
    for timeout in ["0", "4000", "-1", "nan", "inf"] {
        let line = format!("timeout = {timeout}");
        more(
            &line,
            &["x.toml:3:1: x: timeout: It must be a number of seconds"],
        );
    }
    more("cwd = \"../x\"", &["cwd: It must lie beneath"]);
    more(
        "env.\"A-B\" = \"x\"",
        &["env.A-B: That is not a valid name of a variable"],
    );
    more("env.A = \"\\u0000\"", &["env.A: It holds a NUL character"]);
    more(
        "sandbox = \"on\"",
        &["sandbox: \"on\" is not one of off, workspace-write, read-only"],
    );
    more(
        "stdin = \"param:x\"",
        &["stdin: There is no parameter \"x\""],
    );
    more(
        "success_statuses = [256]",
        &["success_statuses[0]: ", "integer `256`, expected u8"],
    );
    more("args = [\"a\"]", &["args:", "there is none"]);
}

#[test]
fn keys_of_another_form_are_refused() {
    key(
        "discovery_command = \"a\"\ncall_command = \"b\"\nparams.x.type = \"string\"",
        &["x.toml:4:1: x: params: A pair has no such key"],
    );
    fault(
        "x.sh",
        "#!/bin/sh\n# /// tool\n# description = \"d\"\n# command = [\"ls\"]\n# ///\n",
        &["x.sh:4:3: x: command: There is no such key here: the script itself is run."],
    );
}

#[test]
fn commands_that_can_not_be_right() {
    key("", &["command: Nothing says what to run"]);
    key(
        "command = \"ls -l\"",
        &["command: ", "string \"ls -l\", expected a sequence"],
    );
    key("command = []", &["command: It is empty"]);
    key(
        "command = [\"ls\", \"{x}\"]",
        &["command[1]: There is no parameter \"x\""],
    );
    key(
        "command = [\"ls\", \"{x\"]",
        &["command[1]: A brace is not closed"],
    );
    key(
        "command = [\"ls\", [[]]]",
        &["command[1]: A word in quotes, or a list of such words."],
    );
    key(
        "command = [\"true\"]\nscript = \"true\"",
        &["script: There is a \"command\" as well"],
    );
    key("script = \" \"", &["script: It is empty"]);
    let x = "params.x = { type = \"string\", description = \"d\" }";
    key(
        &format!("command = [\"{{x}}\"]\n{x}"),
        &["command[0]: The program must be fixed"],
    );
    key(
        "command = [\"ls\", \"{pth}\"]\nparams.path = { type = \"string\" }",
        &["There is no parameter \"pth\". Did you mean \"path\""],
    );
    for code in [
        "[\"bash\", \"-c\", \"echo {x}\"]",
        "[\"sh\", \"-ec\", \"{x}\"]",
        "[\"/usr/bin/env\", \"python3.12\", \"-c\", \"print('{x}')\"]",
        "[\"node\", \"--eval\", \"{x}\"]",
        "[\"perl\", \"-e\", \"{x}\"]",
    ] {
        key(
            &format!("command = {code}\n{x}"),
            &["A parameter would become a program, or part of a program's text"],
        );
    }
}

/// The parameters of the commands in the next test: any text, a number, and one of a list.
const CHOICES: &str = "params.x = { type = \"string\", required = true, description = \"d\" }\n\
    params.n = { type = \"integer\", required = true, description = \"d\" }\n\
    params.e = { type = \"string\", enum = [\"a\", \"b\"], required = true, description = \"d\" }\n";

#[test]
fn an_argument_becomes_neither_a_program_nor_a_program_s_text() {
    let refused = [
        "'sed', '-n', '/{x}/p', 'f'",
        "'sed', '-e', 'p', '-e', '{x}'",
        "'awk', '{x}'",
        "'awk', '-f', '{x}', 'f'",
        "'su', '-c', '{x}'",
        "'flock', '-c', '{x}'",
        "'script', '-qc', '{x}'",
        "'vim', '-c', '{x}'",
        "'gdb', '-ex', '{x}'",
        "'ssh', '-o', '{x}', 'host'",
        "'timeout', '5', '{x}'",
        "'timeout', '{n}', 'bash', '-c', '{x}'",
        "'timeout', '5', ['wc', '{?n}'], '{x}'",
        "'nice', '{x}'",
        "'env', '{x}'",
        "'env', '{x}', 'ls'",
        "'xargs', '{x}'",
        "'setsid', '{x}'",
        "'strace', '{x}'",
        "'find', '.', '-exec', '{x}', ';'",
        "'python3', '-W', 'ignore', '-c', '{x}'",
        "'perl', '-p', '-e', '{x}', 'f'",
        "'bash', '{x}'",
        "'make', '{x}'",
    ];
    let accepted = [
        "'python3', 'tool.py', '-e', '{x}'",
        "'python3', '-m', 'pytest', '{x}'",
        "'python3', '-c', 'import sys', '{x}'",
        "'bash', '-c', 'echo \"$1\"', '_', '{x}'",
        "'bash', '-c', 'case $1 in a) ;; esac; coproc cat', '_', '{x}'",
        "'perl', '-pe', 's/a/b/', '{x}'",
        "'awk', '-v', 'a={x}', '{{print a}}', '{x}'",
        "'sed', '-n', '{n}p', '{x}'",
        "'timeout', '{n}', 'wc', '{x}'",
        "'env', 'A=1', 'wc', '{x}'",
        "'make', '{e}'",
        "'git', 'log', '--max-count={n}', '--', '{x}'",
        "'grep', '-rn', '--include={x}', '-e', '{x}', '--', 'src'",
        "'find', '{x}', '-name', '{x}'",
    ];
    let mut ws = Workspace::new();
    for (kind, commands) in [("bad", &refused[..]), ("good", &accepted)] {
        for (i, command) in commands.iter().enumerate() {
            let manifest = format!("description = \"d\"\ncommand = [{command}]\n{CHOICES}");
            let file = format!(".gemini/tools/{kind}_{i}.toml");
            ws = ws.home(file.as_str(), manifest);
        }
    }
    let lint = ws.get_tools(&["lint"]).run();
    let faults: Vec<&str> = lint.text().lines().collect();
    let is_told = |name: String| {
        let place = format!(": {name}: command[");
        let mut faults = faults.iter().filter(|fault| fault.contains(&place));
        faults.any(|fault| fault.contains("would become a program"))
    };
    for (i, command) in refused.iter().enumerate() {
        assert!(is_told(format!("bad_{i}")), "{command}");
    }
    for (i, command) in accepted.iter().enumerate() {
        assert!(!is_told(format!("good_{i}")), "{command}: {faults:?}");
    }
    assert_eq!(declared(&ws).len(), accepted.len(), "{}", lint.shown());
}

#[test]
fn parameters_that_can_not_be_right() {
    more(
        "params.x = { description = \"d\" }",
        &["params.x.type: It is missing"],
    );
    more(
        "params.x = { type = \"strng\" }",
        &["params.x.type:", "Did you mean \"string\""],
    );
    more(
        "params.x = { type = \"string\", requird = true }",
        &[
            "x.toml:3:31: x: params.x.requird",
            "Did you mean \"required\"",
        ],
    );
    more(
        "params.x = { type = \"integer\", default = \"1\" }",
        &["params.x.default: It does not fit"],
    );
    more(
        "params.x = { type = \"string\", pattern = \"(\" }",
        &["params.x.pattern: It is not a valid regular expression"],
    );
    more(
        "params.x.type = \"string\"\nparameters = {}",
        &["params: There are \"parameters\" as well"],
    );
    more(
        "parameters.properties.x = { \"$ref\" = \"#/none\" }",
        &["error[reference]", "leads nowhere"],
    );
    key(
        "script = \"true\"\nparams.a_b = { type = \"string\" }\nparams.A_B = { type = \"string\" }",
        &["It would be PARAM_A_B in the environment"],
    );
}

#[test]
fn files_that_are_no_tools_though_they_should_be() {
    fault(
        "x.toml",
        "description = ",
        &["x.toml:1:15: x: The manifest is not valid TOML: "],
    );
    fault(
        "x.toml",
        "command = [\"true\"]\n",
        &["description: It is missing"],
    );
    fault(
        "with space.toml",
        "description = \"d\"\ncommand = [\"true\"]\n",
        &["can't be one"],
    );
    fault(
        "x.sh",
        "#!/bin/sh\n# /// tool\n# description = \"d\"\n",
        &["has no end; close it with a line \"# ///\""],
    );
    fault(
        "x.sh",
        "# /// tool\n# description = \"d\"\n# ///\n",
        &["It can't be run: begin it with a line such as #!"],
    );
    fault(
        "x.sh",
        "#!/bin/sh\n# /// tool\n# ///\n# /// tool\n# ///\n",
        &["a second \"/// tool\" block"],
    );
    fault(
        "x.toml",
        &format!("#{}", "x".repeat(1_100_000)),
        &["It is larger than"],
    );
}

#[test]
fn text_that_nobody_sees_holds_a_tool_back() {
    for hidden in ["\u{200b}", "\u{202e}", "\u{e0041}", "\u{2066}"] {
        more(
            &format!("display_name = \"a{hidden}b\""),
            &["error[hidden-text]", "U+"],
        );
        more(
            &format!("params.x = {{ type = \"string\", description = \"a{hidden}b\" }}"),
            &["error[hidden-text]"],
        );
        more(
            &format!("params.\"x{hidden}\" = {{ type = \"string\" }}"),
            &["error[hidden-text]"],
        );
    }
    let ws = with(
        "x.toml",
        "description = \"Reads.\u{e0049}\"\ncommand = [\"true\"]\n",
    );
    let answer = call(&ws, "x", &json!({}));
    let message = answer.error("execution_failed", 1);
    answer.must_say(&message, &["can't be used", "x.toml", "U+E0049"]);
}

#[test]
fn warnings_and_repairs_leave_the_tool_in() {
    let manifest = "description = \"d\"\ncommand = [\"true\"]\nparams.x = { type = \"string\" }\n[parameters]\n";
    let ws = with("x.toml", &manifest.replace("[parameters]\n", ""))
        .home(".gemini/tools/y.toml", "description = \"d\"\ncommand = [\"true\"]\nstdin = \"args\"\nparameters.properties.a = { enum = [\"b\"], format = \"uri\" }\n");
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(lint.status(), 0, "{}", lint.shown());
    lint.must_say(
        lint.text(),
        &[
            "warning[unused-parameter]",
            "warning[no-description]",
            "repair[type]",
            "repair[keyword]",
            "2 tools in 2 files: 0 errors, 2 warnings,",
        ],
    );
    let lines = ws.get_tools(&["lint", "--json"]).run();
    for line in lines.text().lines() {
        let finding: Value = serde_json::from_str(line).expect("JSON");
        assert!(
            finding["severity"].is_string()
                && finding["code"].is_string()
                && finding["file"].is_string()
        );
    }
    assert_eq!(declared(&ws), ["x", "y"]);
}

#[test]
fn a_finding_in_a_file_whose_name_is_not_utf_8_is_told_as_json_too() {
    use std::os::unix::ffi::OsStrExt;
    let ws = Workspace::new().file(".gemini/tools/a.toml", "description = 3\n");
    let odd = std::ffi::OsStr::from_bytes(b"a\xff.toml");
    let tools = ws.dir().join(".gemini/tools");
    std::fs::rename(tools.join("a.toml"), tools.join(odd)).expect("renamed");
    let told = ws
        .get_tools(&["lint", "--json"])
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .run();
    let line = told.text().lines().next().expect("a finding");
    let finding: Value = serde_json::from_str(line).expect("JSON");
    let file = finding["file"].as_str().expect("a file");
    assert!(file.ends_with("/a\\x{ff}.toml"), "{file}");
}

#[test]
fn results_that_can_not_be_used_are_told_with_what_was_printed() {
    for (output, printed, expected) in [
        ("json", "not json", "it is not valid JSON"),
        ("json", "", "it is nothing"),
        ("tool_result", "{}", "\"llmContent\" is missing"),
        (
            "tool_result",
            "{\"llmContnt\": 1}",
            "Did you mean \"llmContent\"",
        ),
    ] {
        let printed = printed.replace('{', "{{").replace('}', "}}");
        let ws = with(
            "r.toml",
            &format!(
                "description = \"d\"\noutput = \"{output}\"\ncommand = [\"printf\", '%s', '{printed}']\n"
            ),
        );
        let answer = call(&ws, "r", &json!({}));
        answer.must_say(
            &answer.error("execution_failed", 1),
            &["What r printed can't be used", expected],
        );
    }
}

#[test]
fn a_program_that_prints_without_end_is_ended() {
    for output in ["json", "tool_result"] {
        let tool = format!("description = \"d\"\noutput = \"{output}\"\ncommand = [\"yes\"]\n");
        let ws = with("r.toml", &tool);
        let said = call(&ws, "r", &json!({})).error("execution_failed", 1);
        assert!(said.contains("bytes and was ended"), "{said}");
    }
    let pair = "discovery_command = \"yes\"\ncall_command = \"cat\"\n";
    let lint = with("p.toml", pair).get_tools(&["lint"]).run();
    assert!(lint.text().contains("bytes"), "{}", lint.shown());
}

#[test]
fn a_description_that_is_missing_is_told_once() {
    let ws = with("x.toml", "command = [\"ls\"]\n");
    let lint = ws.get_tools(&["lint"]).run();
    let told = lint.text().matches("description").count();
    assert_eq!(told, 1, "{}", lint.shown());
}

#[test]
fn a_script_whose_block_is_none_is_told() {
    let script = "#!/usr/bin/env lua\n--[[ /// tool\ndescription = \"d\"\n]]\n";
    let ws = with("odd.lua", script);
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(lint.status(), 0, "{}", lint.shown());
    lint.must_say(
        lint.text(),
        &[
            "warning[no-block]",
            "odd.lua: odd: This file has no `/// tool` block",
        ],
    );
    assert_eq!(declared(&ws), Vec::<String>::new());
}

#[test]
fn an_empty_directory_of_tools_is_fine() {
    let ws = Workspace::new()
        .home(".gemini/tools/README.md", "# Tools\n")
        .home(".gemini/tools/.hidden.toml", "x");
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(lint.status(), 0);
    assert_eq!(
        lint.text(),
        "0 tools in 0 files: 0 errors, 0 warnings, 0 repairs\n"
    );
}

#[test]
fn a_name_with_two_underscores_is_kept_for_servers() {
    fault(
        "files__read.toml",
        "description = \"d\"\ncommand = [\"true\"]\n",
        &["\"files__read\" can't be one", "an MCP server and its tool"],
    );
}

#[test]
fn a_name_that_can_not_be_a_tool_s_is_a_fault_and_no_repair() {
    let ws = with("b c.toml", "description = \"d\"\ncommand = [\"true\"]\n");
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(lint.status(), 1);
    lint.must_say(
        lint.text(),
        &[
            "can't be one",
            "0 tools in 1 file: 1 error, 0 warnings, 0 repairs",
        ],
    );
}

#[test]
fn a_required_parameter_s_default_is_used() {
    let ws = with(
        "x.toml",
        "description = \"d\"\ncommand = [\"printf\", \"%s\", \"{a}\"]\n[params.a]\ntype = \"string\"\ndescription = \"d\"\nrequired = true\ndefault = \"kept\"\n",
    );
    let answer = call(&ws, "x", &json!({}));
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    answer.must_say(answer.text(), &["kept"]);
}

#[test]
fn an_alternative_may_require_what_is_described_beside_it() {
    let ws = with(
        "x.toml",
        "description = \"d\"\ncommand = [\"true\"]\nstdin = \"args\"\n[parameters]\ntype = \"object\"\nproperties.p.type = \"string\"\nproperties.q.type = \"string\"\nanyOf = [{ required = [\"p\"] }, { required = [\"q\"] }]\n",
    );
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(lint.status(), 0, "{}", lint.shown());
    assert!(
        !lint.text().contains("can't be required"),
        "{}",
        lint.shown()
    );
    let listed = ws.get_tools(&["--only", "x"]);
    let printed = listed.changing_at_home(&[".gemini/tmp"]).run().json();
    let schema = &printed[0]["parametersJsonSchema"];
    assert_eq!(schema["anyOf"][1]["required"], json!(["q"]));
    assert_eq!(call(&ws, "x", &json!({"q": "a"})).status(), 0);
    assert_ne!(call(&ws, "x", &json!({})).status(), 0);
}

#[test]
fn what_is_no_file_is_told_of_where_tools_lie() {
    let ws = with("good.toml", "description = \"d\"\ncommand = [\"true\"]\n");
    let tools = ws.root().join("home/.gemini/tools");
    symlink("gone.toml", tools.join("dangling.toml")).expect("linked");
    symlink("loop.toml", tools.join("loop.toml")).expect("linked");
    symlink("good.toml", tools.join("fine.toml")).expect("linked");
    symlink("gone", tools.join(".hidden.toml")).expect("linked");
    std::fs::create_dir(tools.join("dir.toml")).expect("made");
    std::fs::create_dir(tools.join("helpers")).expect("made");
    make_fifo(&tools.join("pipe.toml"));
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(lint.status(), 0, "{}", lint.shown());
    lint.must_say(
        lint.text(),
        &[
            "dangling.toml: dangling: This is a broken link",
            "dir.toml: dir: This is a broken link",
            "loop.toml: loop: This is a broken link",
            "pipe.toml: pipe: This is a broken link",
            "2 tools in 2 files: 0 errors, 4 warnings, 0 repairs\n",
        ],
    );
}

#[test]
fn a_type_of_a_programming_language_is_taken_for_one_of_json_schema() {
    for (wrong, right) in [
        ("int", "integer"),
        ("str", "string"),
        ("bool", "boolean"),
        ("list", "array"),
    ] {
        let manifest =
            format!("description = \"d\"\ncommand = [\"true\"]\nparams.n.type = \"{wrong}\"\n");
        let ws = Workspace::new().home(".gemini/tools/odd.toml", manifest);
        let answer = ws.get_tools(&["lint"]).run();
        answer.must_say(
            answer.text(),
            &[
                "repair[type-name]: ",
                &format!("n: {wrong:?} was taken for {right:?}."),
            ],
        );
    }
}
