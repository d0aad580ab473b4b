//! Tools that a project or its user adds: that they are declared, called, confirmed and kept apart.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::custom::{KEPT, SCRIPT, SHOW, call, declared, names, tool, with};
use crate::harness::{Call, Workspace, set_mode};

fn declaration(ws: &Workspace, name: &str) -> Value {
    let list = ws.get_tools(&[]).changing_at_home(KEPT).run().json();
    let mut list = list.as_array().expect("a list").iter();
    let found = list.find(|tool| tool["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name} is not declared"))
        .clone()
}

#[test]
fn a_manifest_is_declared_and_called_with_its_defaults() {
    let ws = with("show.toml", SHOW);
    assert_eq!(
        declaration(&ws, "show"),
        json!({"name": "show", "description": "Shows its arguments.", "parametersJsonSchema": {
            "type": "object", "required": ["text"], "properties": {
                "text": {"type": "string", "description": "A text."},
                "n": {"type": "integer", "default": 7, "minimum": 1, "description": "A number."}}}})
    );
    assert_eq!(
        call(&ws, "show", &json!({"text": "a"})).output(),
        "[a][--n=7]"
    );
    let hosts = json!({"text": "a", "n": 2, "wait_for_previous": true});
    assert_eq!(call(&ws, "show", &hosts).output(), "[a][--n=2]");
    let prefixed = call(&ws, "discovered_tool_show", &json!({"text": "a"}));
    assert_eq!(prefixed.output(), "[a][--n=7]");
}

#[test]
fn a_script_gets_its_arguments_on_standard_input_and_in_the_environment() {
    let ws = with("tell.sh", SCRIPT);
    let text = "two words \"quoted\" $(touch x) `y` ;\n* é";
    let output = call(&ws, "tell", &json!({"text": text, "list": [1, 2]})).output();
    let (json_line, rest) = output.split_once('\n').expect("lines");
    let seen: Value = serde_json::from_str(json_line).expect("JSON");
    assert_eq!(seen, json!({"text": text, "list": [1, 2]}));
    assert_eq!(rest, format!("{text} [1,2] tell"));
    let output = call(&ws, "tell", &json!({})).output();
    assert_eq!(output, "{\"text\":\"none\"}\nnone unset tell");
}

#[test]
fn only_checked_arguments_are_in_the_environment() {
    let script = "#!/bin/sh\n# /// tool\n# description = \"d\"\n# params.mode = { enum = [\"soft\"], \
                  description = \"d\" }\n# params.n = { type = \"integer\", description = \"d\" }\n\
                  # ///\necho \"${PARAM_MODE-unset} ${PARAM_N-unset} ${PARAM_X-unset}\"\n";
    let ws = with("tell.sh", script);
    let call = |arguments: &Value| {
        let call = tool(&ws, "tell", arguments).env("PARAM_N", "3");
        call.env("PARAM_X", "of_the_caller").run()
    };
    let output = |arguments: &Value| call(arguments).output();
    let undeclared = json!({"Mode": "evil", "MODE": "evil", "N": "evil", "x": "evil"});
    assert_eq!(output(&undeclared), "unset unset unset");
    let mut both = undeclared;
    both["mode"] = json!("soft");
    for (given, told) in [
        (json!(2.0), "2"),
        (json!(1e2), "100"),
        (json!(-7), "-7"),
        (json!(1e22), "1e+22"),
    ] {
        both["n"] = given;
        assert_eq!(output(&both), format!("soft {told} unset"));
    }
}

#[test]
fn defaults_are_filled_in_at_any_depth() {
    let inner = "{ type = \"object\", description = \"d\", properties = { q = { type = \"integer\", \
                 default = 3, description = \"d\" } } }";
    let script = format!(
        "#!/bin/sh\n# /// tool\n# description = \"d\"\n# [params]\n# o = {inner}\n# l = {{ type = \"array\", \
         description = \"d\", items = {inner} }}\n# ll = {{ type = \"array\", description = \"d\", items = {{ \
         type = \"array\", items = {inner} }} }}\n# ///\ncat\n"
    );
    let given = json!({"o": {}, "l": [{}, {"q": 1}, {}], "ll": [[], [{}]]});
    let filled =
        json!({"o": {"q": 3}, "l": [{"q": 3}, {"q": 1}, {"q": 3}], "ll": [[], [{"q": 3}]]});
    let output = call(&with("tell.sh", &script), "tell", &given).output();
    assert_eq!(
        serde_json::from_str::<Value>(&output).expect("JSON"),
        filled
    );
}

#[test]
fn a_failure_counts_all_of_the_output_that_it_leaves_out() {
    let printed = |to: &str| format!("seq 1 2000000 {to}; exit 1");
    for (output, to) in [("text", ""), ("text", ">&2"), ("json", ""), ("json", ">&2")] {
        let script = format!(
            "#!/bin/sh\n# /// tool\n# description = \"d\"\n# output = \"{output}\"\n# ///\n{}\n",
            printed(to)
        );
        let ws = with("tell.sh", &script);
        let said = tool(&ws, "tell", &json!({})).unwatched().run();
        let said = said.error("execution_failed", 1);
        let (_, note) = said.split_once("[… ").expect("a note");
        assert!(!note.contains('…'), "{said}");
        let (count, rest) = note
            .split_once(" bytes before are left out")
            .expect("a count");
        let (whole, shown) = rest.split_once("]\n").expect("its end");
        assert!(
            shown.len() > 3_900 && shown.ends_with("\n2000000"),
            "{said}"
        );
        // The last line break is no part of what is shown.
        let left = 14_888_896 - shown.len() - 1;
        let count: usize = count.parse().expect("a number");
        assert!((left..=left + 1).contains(&count), "{count}, {left}");
        if let Some((_, file)) = whole.split_once("the whole is in ") {
            let kept = std::fs::metadata(file).expect("kept").len();
            assert_eq!(kept, 14_888_896);
        }
        assert_eq!(whole.is_empty(), (output, to) != ("text", ""), "{said}");
    }
}

#[test]
fn an_argument_too_long_for_a_variable_is_not_lost() {
    let script = |line: &str| {
        format!(
            "#!/bin/sh\n# /// tool\n# description = \"d\"\n# params.text = {{ type = \"string\", \
             description = \"d\" }}\n# ///\n{line}\n"
        )
    };
    let long = json!({ "text": "x".repeat(130_000) });
    let ws = with("long.sh", &script("printf %s \"$PARAM_TEXT\" | wc -c"));
    let said = call(&ws, "long", &long).error("invalid_tool_params", 2);
    assert!(said.contains("\"text\" has 130000 bytes"), "{said}");
    let ws = with("long.sh", &script("wc -c"));
    assert_eq!(call(&ws, "long", &long).output(), "130011");
}

#[test]
fn a_script_need_not_be_executable_and_one_that_is_needs_no_first_line() {
    let ws = with("tell.sh", SCRIPT);
    let file = ws.root().join("home/.gemini/tools/tell.sh");
    for mode in [0o644, 0o755] {
        set_mode(&file, mode);
        let output = call(&ws, "tell", &json!({"text": "x"})).output();
        assert!(output.ends_with("x unset tell"), "{output}");
    }
}

#[test]
fn a_block_is_never_run_to_be_read() {
    let script = "#!/bin/sh\ntouch \"$HOME/ran\"\n# /// tool\n# description = \"d\"\n# ///\n";
    let ws = with("tool.sh", script);
    set_mode(&ws.root().join("home/.gemini/tools/tool.sh"), 0o755);
    assert_eq!(declared(&ws), ["tool"]);
    assert!(!ws.root().join("home/ran").exists());
}

#[test]
fn a_script_in_a_manifest_is_never_written_into() {
    let manifest = r#"
description = "d"
script = 'printf "%s|" "$PARAM_TEXT" "$@" "$0"'
args = ["{list}", "-{text}"]
[params.text]
type = "string"
description = "d"
[params.list]
type = "array"
items = "string"
description = "d"
"#;
    let ws = with("s.toml", manifest);
    let evil = "'; touch x; \"$(touch y)\" `touch z`";
    let output = call(&ws, "s", &json!({"text": evil, "list": ["a b", "-c"]})).output();
    assert_eq!(output, format!("{evil}|a b|-c|-{evil}|s|"));
    assert_eq!(call(&ws, "s", &json!({})).output(), "|s|");
}

#[test]
fn standard_input_is_what_the_file_says() {
    let manifest = |stdin: &str| {
        format!(
            "description = \"d\"\ncommand = [\"cat\"]\nstdin = \"{stdin}\"\nparams.text = {{ type = \"string\", description = \"d\" }}\n"
        )
    };
    let args = json!({"text": "é\n"});
    for (stdin, expected) in [
        ("args", r#"{"text":"é\n"}"#),
        ("none", ""),
        ("param:text", "é"),
    ] {
        let ws = with("cat.toml", &manifest(stdin));
        assert_eq!(call(&ws, "cat", &args).output(), expected, "{stdin}");
    }
    let large = "x".repeat(1_000_000);
    let ws = with(
        "cat.toml",
        &manifest("param:text").replace("cat\"", "wc\", \"-c\""),
    );
    assert_eq!(
        call(&ws, "cat", &json!({"text": large})).output(),
        "1000000"
    );
}

#[test]
fn json_is_text_and_data() {
    let manifest =
        "description = \"d\"\noutput = \"json\"\ncommand = [\"printf\", '{{\"a\": [1, 2]}}\\n']\n";
    let ws = with("j.toml", manifest);
    assert_eq!(call(&ws, "j", &json!({})).output(), "{\"a\": [1, 2]}");
    let whole = tool(&ws, "j", &json!({}))
        .flags(&["--output", "result"])
        .run()
        .json();
    assert_eq!(whole["data"], json!({"a": [1, 2]}));
}

/// A tool whose result is what a file of the workspace holds.
fn answering(result: &Value) -> Workspace {
    let manifest =
        "description = \"d\"\noutput = \"tool_result\"\ncommand = [\"cat\", \"result.json\"]\n";
    with("r.toml", manifest).file("result.json", result.to_string())
}

#[test]
fn a_whole_result_may_be_written_as_the_tools_api_writes_it() {
    let image = json!({"type": "image", "image": {"url": "data:image/png;base64,AAAA"}});
    let inline = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let whole = |result: &Value| {
        let ws = answering(result);
        let call = tool(&ws, "r", &json!({}));
        call.flags(&["--output", "result"]).run().json()
    };
    let listed =
        json!({"llmContent": ["Analysis results:", image, {"type": "text", "text": "end"}]});
    assert_eq!(
        whole(&listed)["llmContent"],
        json!(["Analysis results:", inline, {"text": "end"}])
    );
    assert_eq!(whole(&json!({"llmContent": image}))["llmContent"], inline);
    let colours = json!({"text": "red", "bold": false, "italic": false, "underline": false,
        "dim": false, "inverse": false, "fg": "#ff0000", "bg": ""});
    for display in [
        json!([[colours], []]),
        json!({"agentName": "helper", "state": "running", "recentActivity": [
            {"id": "a1", "type": "tool_call", "content": "read_file", "status": "running"}]}),
        json!({"todos": [{"description": "d", "status": "in_progress"}]}),
        json!({"fileDiff": "@@", "fileName": "a", "originalContent": null, "newContent": "b",
            "diffStat": {"ai_added_lines": 1, "ai_removed_lines": 0, "user_added_lines": 0,
                "user_removed_lines": 0}}),
    ] {
        let result = json!({"llmContent": "done", "returnDisplay": display});
        assert_eq!(whole(&result)["returnDisplay"], display);
    }
}

#[test]
fn an_error_of_a_whole_result_keeps_its_message_whatever_its_type() {
    for (kind, expected) in [
        ("EXECUTION_FAILED", "execution_failed"),
        ("FILE_NOT_FOUND", "file_not_found"),
        ("file_not_found", "file_not_found"),
        ("SOMETHING_OF_ITS_OWN", "execution_failed"),
    ] {
        let ws = answering(&json!({"error": {"message": "It is gone.", "type": kind}}));
        let said = call(&ws, "r", &json!({})).error(expected, 1);
        assert_eq!(said, "It is gone.", "{kind}");
    }
}

#[test]
fn a_whole_result_has_parts_display_error_and_tail_call() {
    let script = "#!/bin/sh\n# /// tool\n# description = \"d\"\n# output = \"tool_result\"\n# params.what = { type = \"string\", description = \"d\" }\n# ///\ncat \"$PARAM_WHAT.json\"\n[ \"$PARAM_WHAT\" != error ]\n";
    let parts = json!({"llmContent": ["seen", {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
        "returnDisplay": "**shown**", "data": {"n": 1}});
    let tail = json!({"llmContent": "", "tailToolCallRequest": {"name": "list_directory", "args": {"path": "."}}});
    let error = json!({"error": {"message": "It is gone.", "type": "file_not_found"}});
    let empty = json!({"llmContent": ["", {"text": ""}, "a", {"type": "text", "text": ""}]});
    let ws = with("r.sh", script)
        .file("empty.json", empty.to_string())
        .file("parts.json", parts.to_string())
        .file("tail.json", tail.to_string())
        .file("error.json", error.to_string());
    let of = |what: &str| json!({ "what": what });
    let whole = tool(&ws, "r", &of("parts"))
        .flags(&["--output", "result"])
        .run()
        .json();
    assert_eq!(whole["returnDisplay"], "**shown**");
    assert_eq!(whole["data"], json!({"n": 1}));
    assert_eq!(
        whole["llmContent"][1]["inlineData"]["mimeType"],
        "image/png"
    );
    // The API refuses empty texts.
    let content = tool(&ws, "r", &of("empty"))
        .flags(&["--output", "content"])
        .run()
        .json();
    assert_eq!(
        content["parts"].as_array().map(Vec::len),
        Some(1),
        "{content}"
    );
    assert!(
        call(&ws, "r", &of("tail"))
            .output()
            .starts_with("Directory listing")
    );
    assert_eq!(
        call(&ws, "r", &of("error")).error("file_not_found", 1),
        "It is gone."
    );
}

#[test]
fn a_failure_tells_the_status_and_the_end_of_standard_error() {
    let script =
        "#!/bin/sh\n# /// tool\n# description = \"d\"\n# ///\nseq 1 3000 >&2\necho half\nexit 3\n";
    let ws = with("f.sh", script);
    let answer = call(&ws, "f", &json!({}));
    let message = answer.error("execution_failed", 1);
    answer.must_say(
        &message,
        &[
            "f failed with exit status 3.",
            "Standard error:\n[… ",
            "\n2999\n3000",
            "Standard output:\nhalf",
        ],
    );
    assert!(
        message.len() < 6_000 && !message.contains("\n1000\n"),
        "{message}"
    );
    let killed = with("k.toml", "description = \"d\"\nscript = \"kill -9 $$\"\n");
    let message = call(&killed, "k", &json!({})).error("execution_failed", 1);
    assert_eq!(message, "k failed with SIGKILL. It printed nothing.");
}

#[test]
fn statuses_can_be_accepted() {
    let ws = with(
        "g.toml",
        "description = \"d\"\ncommand = [\"grep\", \"x\", \"none\"]\nsuccess_statuses = [0, 1, 2]\n",
    );
    let output = call(&ws, "g", &json!({})).output();
    assert!(
        output.contains("none"),
        "what was said on standard error: {output}"
    );
}

#[test]
fn what_is_left_behind_does_not_hold_the_answer_up() {
    let manifest = "description = \"d\"\nscript = 'sleep 60 & echo done'\n";
    let ws = with("left.toml", manifest);
    assert_eq!(call(&ws, "left", &json!({})).output(), "done");
}

#[test]
fn programs_run_where_and_with_what_the_file_says() {
    let manifest = r#"
description = "d"
script = 'pwd; echo "$A $B $C $D $GEMINI_TOOL_ROOT"'
cwd = "sub"
[env]
A = "fixed"
B = "<$FROM_HOST>"
C = "${NOT_SET:-otherwise} $$x"
D = "[${EMPTY:-otherwise}]"
"#;
    let ws = with("where.toml", manifest).directory("sub");
    let run = |call: Call<'_>| call.env("FROM_HOST", "$(no)").env("EMPTY", "").run();
    let output = run(tool(&ws, "where", &json!({}))).output();
    let root = ws.path("");
    let root = root.trim_end_matches('/');
    assert_eq!(
        output,
        format!("{root}/sub\nfixed <$(no)> otherwise $x [] {root}")
    );
    let message = call(&ws, "where", &json!({})).error("execution_failed", 1);
    assert!(
        message.contains("needs FROM_HOST from the environment"),
        "{message}"
    );
    let linked = with(
        "w.toml",
        "description = \"d\"\ncwd = \"out\"\ncommand = [\"pwd\"]\n",
    )
    .link("out", "/");
    call(&linked, "w", &json!({})).error("path_not_in_workspace", 1);
}

#[test]
fn a_stricter_sandbox_can_be_wanted_but_not_a_weaker_one() {
    let manifest = |mode: &str| {
        format!("description = \"d\"\nsandbox = \"{mode}\"\nscript = 'echo x > made'\n")
    };
    let ws = with("s.toml", &manifest("read-only"));
    let message = call(&ws, "s", &json!({})).failure().message;
    assert!(message.contains("made"), "{message}");
    let ws = with("s.toml", &manifest("off"));
    let answer = tool(&ws, "s", &json!({}))
        .env("GEMINI_TOOLS_SANDBOX", "read-only")
        .run();
    assert!(answer.failure().message.contains("made"));
    let ws = with("s.toml", &manifest("workspace-write"));
    tool(&ws, "s", &json!({})).unwatched().run().output();
    assert!(ws.dir().join("made").exists());
}

#[test]
fn output_is_shown_while_the_tool_runs() {
    let manifest = "description = \"d\"\nscript = 'echo first; sleep 1.5; echo last'\n";
    for (streaming, shown) in [(true, true), (false, false)] {
        let ws = with("live.toml", &format!("{manifest}streaming = {streaming}\n"));
        let answer = tool(&ws, "live", &json!({})).flags(&["--stream"]).run();
        let lines: Vec<Value> = answer
            .text()
            .lines()
            .map(|l| serde_json::from_str(l).expect("JSON"))
            .collect();
        assert_eq!(
            lines[0]["type"] == "output" && lines[0]["text"] == "first\n",
            shown,
            "{lines:?}"
        );
        assert_eq!(lines.last().expect("lines")["type"], "result");
    }
}

#[test]
fn a_person_is_shown_the_words_that_are_run() {
    let ws = with("show.toml", SHOW)
        .home(
            ".gemini/tools/read.toml",
            "description = \"d\"\nkind = \"read\"\ncommand = [\"true\"]\n",
        )
        .home(
            ".gemini/tools/s.toml",
            "description = \"d\"\nscript = \"git status; rm -r x\"\n",
        );
    let explain =
        |name: &str, args: &Value| tool(&ws, name, args).flags(&["--explain"]).run().json();
    let shown = explain("show", &json!({"text": "a b; $(c)"}));
    assert_eq!(
        shown["confirmation"],
        json!({"type": "exec", "title": "Confirm show", "command": "printf '[%s]' 'a b; $(c)' '--n=7'",
            "rootCommand": "printf", "rootCommands": ["printf"]})
    );
    assert_eq!(explain("read", &json!({}))["confirmation"], false);
    assert_eq!(
        explain("s", &json!({}))["confirmation"]["rootCommands"],
        json!(["git", "rm"])
    );
}

#[test]
fn kinds_say_what_a_tool_does() {
    let of = |keys: &str| {
        with(
            "k.toml",
            &format!("description = \"d\"\ncommand = [\"true\"]\n{keys}\n"),
        )
    };
    for (keys, kind) in [
        ("", "execute"),
        ("read_only = true", "read"),
        ("kind = \"fetch\"", "fetch"),
        ("kind = \"other\"\nread_only = true", "other"),
    ] {
        let list = of(keys)
            .get_tools(&["--kinds", "--only", "k"])
            .changing_at_home(KEPT)
            .run()
            .json();
        assert_eq!(list[0]["kind"], kind, "{keys}");
    }
}

#[test]
fn the_users_tool_counts_before_the_projects_and_no_tool_before_a_built_in_one() {
    let tool = |text: &str| format!("description = \"{text}\"\ncommand = [\"echo\", \"{text}\"]\n");
    let ws = with("both.toml", &tool("user"))
        .home(".gemini/tools/read_file.toml", tool("evil"))
        .home(".gemini/tools/ShellTool.toml", tool("evil"))
        .file(".gemini/tools/both.toml", tool("project"))
        .file(".gemini/tools/own.toml", tool("project"))
        .file("a.txt", "text\n");
    let trusted = |call: Call<'_>| {
        call.env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .changing_at_home(KEPT)
            .run()
    };
    assert_eq!(trusted(ws.tool("both")).output(), "user");
    assert_eq!(trusted(ws.tool("own")).output(), "project");
    let read = ws
        .tool("read_file")
        .arguments(&json!({"absolute_path": "a.txt"}));
    assert_eq!(trusted(read).output(), "text\n");
    let list = trusted(ws.get_tools(&[])).json();
    let count = |name: &str| names(&list).iter().filter(|n| *n == name).count();
    assert_eq!(
        (
            count("read_file"),
            count("both"),
            count("own"),
            count("ShellTool")
        ),
        (1, 1, 1, 0)
    );
    let checked = trusted(ws.get_tools(&["lint"]));
    assert_eq!(checked.status(), 1);
    checked.must_say(
        checked.text(),
        &[
            "read_file: It is left out, because a built-in tool has its name",
            "both: It is left out, because the user's",
        ],
    );
}

#[test]
fn settings_leave_custom_tools_out_as_well() {
    let ws = with("show.toml", SHOW).file(
        ".gemini/settings.json",
        r#"{"tools": {"exclude": ["show"]}}"#,
    );
    assert_eq!(declared(&ws), Vec::<String>::new());
    call(&ws, "show", &json!({"text": "a"})).error("policy_violation", 3);
}

#[test]
fn a_call_of_a_built_in_tool_touches_no_directory_of_tools() {
    let ws = with("show.toml", SHOW).file("a.txt", "x\n");
    // A catalogue would be kept if the tools had been looked at.
    assert_eq!(
        ws.call("read_file", &json!({"absolute_path": "a.txt"}))
            .output(),
        "x\n"
    );
    assert!(!ws.root().join("home/.gemini/tmp").exists());
}

#[test]
fn a_catalogue_follows_its_files() {
    let ws = with("show.toml", SHOW);
    assert_eq!(declared(&ws), ["show"]);
    let dir = ws.root().join("home/.gemini/tools");
    fs::write(dir.join("more.sh"), SCRIPT).expect("written");
    assert_eq!(declared(&ws), ["more", "show"]);
    fs::write(dir.join("show.toml"), SHOW.replace("Shows", "Prints")).expect("written");
    assert_eq!(
        declaration(&ws, "show")["description"],
        "Prints its arguments."
    );
    for file in kept(&ws) {
        fs::write(&file, "garbage").expect("written");
    }
    assert_eq!(declared(&ws), ["more", "show"]);
    fs::remove_file(dir.join("show.toml")).expect("removed");
    assert_eq!(declared(&ws), ["more"]);
    call(&ws, "show", &json!({"text": "a"})).error("tool_not_registered", 2);
}

fn kept(ws: &Workspace) -> Vec<std::path::PathBuf> {
    let tmp = ws.root().join("home/.gemini/tmp");
    let projects = fs::read_dir(tmp)
        .expect("kept")
        .map(|e| e.expect("an entry").path());
    let files = projects.flat_map(|p| fs::read_dir(p).expect("kept"));
    files.map(|e| e.expect("an entry").path()).collect()
}

#[test]
fn a_catalogue_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let ws = with("show.toml", SHOW);
    declared(&ws);
    let mode = |path: &Path| path.metadata().expect("kept").permissions().mode() & 0o777;
    for file in kept(&ws) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert!(!kept(&ws).is_empty());
}

#[test]
fn without_a_home_directory_or_a_place_for_catalogues_tools_work_all_the_same() {
    let ws = with("show.toml", SHOW).home(".gemini/tmp", "in the way");
    assert_eq!(declared(&ws), ["show"]);
    assert_eq!(
        call(&ws, "show", &json!({"text": "a"})).output(),
        "[a][--n=7]"
    );
    let project = Workspace::new().file(".gemini/tools/show.toml", SHOW);
    let answer = project.tool("show").arguments(&json!({"text": "a"}));
    let answer = answer
        .env("HOME", "")
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .run();
    assert_eq!(answer.output(), "[a][--n=7]");
}

#[test]
fn calls_of_a_batch_find_custom_tools() {
    let ws = with("show.toml", SHOW).home(".gemini/tools/tell.sh", SCRIPT);
    let input = "{\"id\":1,\"name\":\"show\",\"args\":{\"text\":\"a\"}}\n{\"id\":2,\"name\":\"tell\",\"args\":{\"text\":\"b\"}}\n{\"id\":3,\"name\":\"none\"}\n";
    let answer = ws
        .call_tool(&["--batch"])
        .input(input)
        .changing_at_home(KEPT)
        .run();
    answer.must_say(
        answer.text(),
        &["[a][--n=7]", "b unset tell", "tool_not_registered"],
    );
}

#[test]
fn a_tool_says_whose_time_limit_has_ended_it() {
    let manifest = "description = \"d\"\ntimeout = 60\nscript = 'sleep 60'\n";
    let ws = Workspace::new().home(".gemini/tools/slow.toml", manifest);
    let answer = ws.tool("slow").env("GEMINI_TOOLS_TIMEOUT", "0.5").run();
    let message = answer.error("timeout", 124);
    answer.must_say(
        &message,
        &[
            "slow was ended",
            "0.5 s (GEMINI_TOOLS_TIMEOUT)",
            "raise GEMINI_TOOLS_TIMEOUT",
        ],
    );
    assert!(!message.contains("60 s"), "{message}");
}
