//! Commands of custom tools: arguments stay arguments, whatever they hold.

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::custom::{call, tool, with};

/// A tool that prints each of its arguments in a line of its own.
fn showing(command: &str, params: &str) -> Workspace {
    with(
        "c.toml",
        &format!("description = \"d\"\ncommand = [\"printf\", \"%s\\\\n\", {command}]\n{params}"),
    )
}

const TEXT: &str = "params.x = { type = \"string\", description = \"d\" }\n";

fn lines(ws: &Workspace, arguments: &Value) -> Vec<String> {
    let output = call(ws, "c", arguments).output();
    output.split('\n').map(str::to_owned).collect()
}

#[test]
fn what_a_shell_would_act_on_stays_text() {
    let ws = showing(r#""a{x}b""#, TEXT);
    for evil in [
        "two words",
        "'",
        "\"",
        "; touch x",
        "$(touch x)",
        "`touch x`",
        "| cat",
        "> x",
        "*",
        "~",
        "${HOME}",
        "\\",
        "é 世",
        "a\nb",
        "&& touch x",
        "{x}",
        "{{",
        "%s",
    ] {
        assert_eq!(
            lines(&ws, &json!({ "x": evil })).join("\n"),
            format!("a{evil}b"),
            "{evil:?}"
        );
    }
    let nul = call(&ws, "c", &json!({"x": "a\0b"}));
    nul.must_say(
        &nul.error("invalid_tool_params", 2),
        &["\"x\" holds a NUL character"],
    );
}

#[test]
fn a_text_that_begins_with_a_dash_never_becomes_an_option() {
    for command in [r#""{x}""#, r#""--flag", "{x}""#, r#"["--flag", "{x}"]"#] {
        let answer = call(&showing(command, TEXT), "c", &json!({"x": "--evil"}));
        let message = answer.error("invalid_tool_params", 2);
        answer.must_say(&message, &["\"x\" must not begin with \"-\"", "--option={"]);
    }
    for (command, expected) in [
        (r#""--", "{x}""#, vec!["--", "--evil"]),
        (r#""--flag={x}""#, vec!["--flag=--evil"]),
        (r#""./{x}""#, vec!["./--evil"]),
    ] {
        assert_eq!(
            lines(&showing(command, TEXT), &json!({"x": "--evil"})),
            expected
        );
    }
    // Whatever stands before it may come to nothing, and what looks like the end of the options may not be there.
    let more = "params.x = { type = \"string\", description = \"d\" }\nparams.y = { type = \"string\", description = \"d\" }\n";
    for (command, y) in [
        (r#""{y}{x}""#, Some("")),
        (r#""{y}{y}{x}""#, Some("")),
        (r#""{?y}{x}""#, Some("")),
        (r#""--{y}", "{x}""#, Some("")),
        (r#""--{y}", "{x}""#, Some("a")),
        (r#""{?y}--", "{x}""#, None),
        (r#"["{y}", "--"], "{x}""#, None),
    ] {
        let args = match y {
            Some(y) => json!({"x": "--evil", "y": y}),
            None => json!({"x": "--evil"}),
        };
        call(&showing(command, more), "c", &args).error("invalid_tool_params", 2);
    }
    let args = json!({"x": "--evil", "y": "1"});
    assert_eq!(
        lines(&showing(r#""{?y}--", "{x}""#, more), &args),
        ["--", "--evil"]
    );
    let list = "params.x = { type = \"array\", items = \"string\", description = \"d\" }\n";
    call(&showing(r#""{x}""#, list), "c", &json!({"x": ["a", "-b"]}))
        .error("invalid_tool_params", 2);
    let number = "params.x = { type = \"integer\", description = \"d\" }\n";
    assert_eq!(
        lines(&showing(r#""{x}""#, number), &json!({"x": -5})),
        ["-5"]
    );
}

#[test]
fn a_list_becomes_an_argument_for_each_of_its_elements() {
    let list = "params.x = { type = \"array\", items = \"string\", description = \"d\" }\n";
    let ws = showing(r#""{x}", "--each={x}", "end""#, list);
    let expected = ["a b", "c", "--each=a b", "--each=c", "end"];
    assert_eq!(lines(&ws, &json!({"x": ["a b", "c"]})), expected);
    assert_eq!(lines(&ws, &json!({"x": []})), ["end"]);
}

#[test]
fn what_is_missing_is_left_out_with_its_flag() {
    let ws = showing(
        r#""-v", "--limit", "{x}", "--limit={x}", ["--group", "{x}", "more"], "end""#,
        TEXT,
    );
    assert_eq!(lines(&ws, &json!({})), ["-v", "end"]);
    let all = [
        "-v",
        "--limit",
        "1",
        "--limit=1",
        "--group",
        "1",
        "more",
        "end",
    ];
    assert_eq!(lines(&ws, &json!({"x": "1"})), all);
    let ws = showing(r#""--", "{x}", "end""#, TEXT);
    assert_eq!(lines(&ws, &json!({})), ["--", "end"], "that is not a flag");
}

#[test]
fn a_flag_without_a_value_can_depend_on_a_boolean() {
    let flag = "params.all = { type = \"boolean\", description = \"d\" }\n";
    let ws = showing(r#"["--all", "{?all}"], "{all}", "end""#, flag);
    assert_eq!(lines(&ws, &json!({"all": true})), ["--all", "true", "end"]);
    assert_eq!(lines(&ws, &json!({"all": false})), ["false", "end"]);
    assert_eq!(lines(&ws, &json!({})), ["end"]);
}

#[test]
fn braces_directories_and_other_values_have_their_places() {
    let object = "params.o = { type = \"object\", description = \"d\" }\n";
    let ws = showing(r#""{{x}}", "{@dir}/f", "{@root}", "{o}""#, object);
    let (tools, root) = (ws.root().join("home/.gemini/tools/f"), ws.dir());
    let expected = [
        "{x}",
        tools.to_str().expect("text"),
        root.to_str().expect("text"),
        r#"{"a":[1]}"#,
    ];
    assert_eq!(lines(&ws, &json!({"o": {"a": [1]}})), expected);
}

#[test]
fn arguments_are_checked_before_anything_is_started() {
    let params = "params.n = { type = \"integer\", minimum = 1, maximum = 9, required = true, description = \"d\" }\n\
        params.e = { enum = [\"a\", \"b\"], type = \"string\", description = \"d\" }\n\
        params.p = { type = \"string\", pattern = '^\\w+$', max_length = 3, description = \"d\" }\n\
        params.l = { type = \"array\", items = \"string\", max_items = 1, description = \"d\" }\n";
    let ws = with(
        "c.toml",
        &format!("description = \"d\"\nscript = 'touch ran'\n{params}"),
    );
    for (arguments, expected) in [
        (json!({}), "\"n\" is missing"),
        (json!({"n": 0}), "at least 1"),
        (json!({"n": 10}), "at most 9"),
        (json!({"n": "one"}), "must be an integer"),
        (json!({"n": 1, "e": "c"}), "one of \"a\", \"b\""),
        (json!({"n": 1, "p": "a b"}), "must match ^\\w+$"),
        (json!({"n": 1, "p": "abcd"}), "at most 3 characters"),
        (json!({"n": 1, "l": ["a", "b"]}), "at most 1 element"),
    ] {
        let answer = call(&ws, "c", &arguments);
        answer.must_say(&answer.error("invalid_tool_params", 2), &[expected]);
    }
    let strict = tool(&ws, "c", &json!({"n": 1, "odd": 1}))
        .flags(&["--strict"])
        .run();
    strict.error("invalid_tool_params", 2);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let missing = with(
        "m.toml",
        "description = \"d\"\ncommand = [\"no-such-program\"]\n",
    );
    let answer = call(&missing, "m", &json!({}));
    answer.must_say(
        &answer.error("execution_failed", 1),
        &["no program \"no-such-program\" on PATH"],
    );
    let script = with(
        "m.sh",
        "#!/no/such/interpreter\n# /// tool\n# description = \"d\"\n# ///\n",
    );
    let answer = call(&script, "m", &json!({}));
    answer.must_say(
        &answer.error("execution_failed", 1),
        &["there is no /no/such/interpreter"],
    );
}
