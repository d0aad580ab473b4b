//! `get_tools --format`: the declarations as other APIs and people want them.

use serde_json::{Value, json};

use crate::harness::mcp::Servers;
use crate::harness::{Answer, Workspace};

#[track_caller]
fn success(answer: Answer) -> Answer {
    if answer.status() != 0 || !answer.stderr.is_empty() {
        answer.fail("expected exit status 0 and nothing on standard error");
    }
    answer
}

fn format(ws: &Workspace, args: &[&str]) -> Answer {
    success(ws.get_tools(&["--format"]).flags(args).run())
}

fn list(answer: &Answer) -> Vec<Value> {
    answer.json().as_array().expect("an array").clone()
}

fn keys(value: &Value) -> Vec<&str> {
    let map = value.as_object().expect("an object");
    map.keys().map(String::as_str).collect()
}

#[test]
fn gemini_is_the_default_to_the_byte() {
    let ws = Workspace::new();
    for more in [&[][..], &["--kinds"], &["--wrap", "--pretty"]] {
        let plain = success(ws.get_tools(more).run());
        assert_eq!(
            format(&ws, &[&["gemini"], more].concat()).stdout,
            plain.stdout
        );
    }
}

#[test]
fn every_api_gets_its_own_shape_of_the_same_declarations() {
    let ws = Workspace::new();
    let ours = list(&success(ws.get_tools(&[]).run()));
    let openai = list(&format(&ws, &["openai"]));
    let responses = list(&format(&ws, &["openai-responses"]));
    let anthropic = list(&format(&ws, &["anthropic"]));
    for (i, own) in ours.iter().enumerate() {
        let (name, schema) = (&own["name"], &own["parametersJsonSchema"]);
        let function = &openai[i]["function"];
        assert_eq!(keys(&openai[i]), ["function", "type"]);
        assert_eq!(openai[i]["type"], "function");
        assert_eq!(keys(function), ["description", "name", "parameters"]);
        assert_eq!((&function["name"], &function["parameters"]), (name, schema));
        assert_eq!(function["description"], own["description"]);
        let flat = &responses[i];
        assert_eq!(
            keys(flat),
            ["description", "name", "parameters", "strict", "type"]
        );
        assert_eq!((&flat["name"], &flat["strict"]), (name, &json!(false)));
        assert_eq!(keys(&anthropic[i]), ["description", "input_schema", "name"]);
        assert_eq!(
            (&anthropic[i]["name"], &anthropic[i]["input_schema"]),
            (name, schema)
        );
    }
    let count = ours.len();
    for other in [openai, responses, anthropic] {
        assert_eq!(other.len(), count);
    }
}

#[test]
fn the_order_of_parameters_stays_for_the_model() {
    let ws = Workspace::new();
    let schema = |answer: &Answer, key: &str| {
        let text = answer.text();
        let from = text.find(&format!("\"{key}\":")).expect("a schema") + key.len() + 3;
        text[from..].split(']').next().expect("a part").to_owned()
    };
    let own = schema(&format(&ws, &["gemini"]), "parametersJsonSchema");
    assert_eq!(schema(&format(&ws, &["openai"]), "parameters"), own);
    assert_eq!(schema(&format(&ws, &["anthropic"]), "input_schema"), own);
}

#[test]
fn wrap_gives_what_a_request_has_and_filters_count_in_every_format() {
    let ws = Workspace::new();
    for dialect in ["openai", "openai-responses", "anthropic"] {
        let whole = format(&ws, &[dialect, "--only", "read_*", "--exclude", "*_many_*"]);
        let wrapped = format(&ws, &[dialect, "--only", "read_file,read_b*", "--wrap"]).json();
        assert_eq!(keys(&wrapped), ["tools"]);
        assert_eq!(wrapped["tools"], whole.json(), "{dialect}");
        let pretty = format(&ws, &[dialect, "--pretty", "--only", "glob"]);
        assert!(pretty.text().lines().count() > 10, "{dialect}");
        assert_eq!(
            pretty.json(),
            format(&ws, &[dialect, "--only", "glob"]).json()
        );
    }
    let names = format(&ws, &["names", "--only", "read_*"]);
    assert_eq!(
        names.text(),
        "read_background_output\nread_file\nread_many_files\n"
    );
    let kinds = format(&ws, &["names", "--kinds", "--only", "glob,replace"]);
    assert_eq!(kinds.text(), "glob\tsearch\nreplace\tedit\n");
    let none = ws.get_tools(&["--format", "names", "--only", "none"]).run();
    assert_eq!((none.status(), none.text()), (0, ""));
}

#[test]
fn a_list_fits_the_terminal_at_every_width() {
    let ws = Workspace::new().home(
        ".gemini/tools/wide.toml",
        "description = \"世界 \u{1f30d} and a word that is aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa long.\"\n\
         command = [\"true\"]\n",
    );
    let list = |columns: &str| {
        let call = ws.get_tools(&["--format", "list"]);
        let call = call.env("COLUMNS", columns);
        success(call.changing_at_home(&[".gemini/tmp"]).run())
            .text()
            .to_owned()
    };
    let wide = |c: char| {
        if (c as u32) >= 0x1100 && c != '…' {
            2
        } else {
            1
        }
    };
    for width in [10_usize, 24, 40, 60, 80, 120, 200] {
        for line in list(&width.to_string()).lines() {
            let taken: usize = line.chars().map(wide).sum();
            assert!(taken <= width, "{width}: {line:?}");
        }
    }
    let text = list("160");
    let head = text.lines().next().expect("a heading");
    for column in ["TOOL", "KIND", "WHAT IT DOES"] {
        assert!(head.contains(column), "{head}");
    }
    // Without a width and without a terminal it is the usual one.
    assert_eq!(list("no number"), list("80"));
}

#[test]
fn markdown_has_a_section_and_a_row_for_each_parameter() {
    let ws = Workspace::new();
    let text = format(&ws, &["markdown"]).text().to_owned();
    for tool in list(&success(ws.get_tools(&[]).run())) {
        let name = tool["name"].as_str().expect("a name");
        let section = text
            .split("## ")
            .find(|s| s.starts_with(&format!("`{name}`\n")));
        let section = section.unwrap_or_else(|| panic!("no section for {name}"));
        let parameters = tool["parametersJsonSchema"]["properties"].as_object();
        for key in parameters.expect("parameters").keys() {
            assert!(section.contains(&format!("| `{key}` | ")), "{name}.{key}");
        }
    }
}

#[test]
fn flags_without_meaning_are_refused_and_say_so() {
    let ws = Workspace::new();
    for (args, said) in [
        (
            ["openai", "--kinds"],
            "--kinds does nothing with --format openai",
        ),
        (["anthropic", "--kinds"], "--kinds"),
        (
            ["names", "--pretty"],
            "--pretty does nothing with --format names",
        ),
        (["list", "--wrap"], "--wrap"),
        (["yaml", "--pretty"], "openai-responses"),
    ] {
        let answer = ws.get_tools(&["--format"]).flags(&args).run();
        assert_eq!((answer.status(), answer.stdout.len()), (2, 0), "{args:?}");
        answer.must_say(&answer.errors(), &[said]);
    }
}

#[test]
fn what_an_api_does_not_take_is_mapped_and_understood_on_the_way_back() {
    let s = Servers::new(&[("my.db", "dotted", json!({}))]);
    let of = |dialect: &str| {
        let answer = s.list(&["--mcp", "--format", dialect, "--only", "my.db__*"]);
        list(&answer).first().expect("the tool").clone()
    };
    assert_eq!(of("gemini")["name"], "my.db__rows.list");
    let openai = of("openai");
    let name = openai["function"]["name"].as_str().expect("a name");
    assert!(
        name.starts_with("my_db__rows_list_") && !name.contains('.'),
        "{name}"
    );
    let anthropic = of("anthropic");
    let parameters = &anthropic["input_schema"]["properties"];
    let top = keys(parameters)[0];
    assert!(top.starts_with("_top_"), "{top}");
    // The mapped name alone.
    assert_eq!(
        s.call(name, &json!({"$top": 3})).output(),
        "{\"$top\": 3}",
        "{name}"
    );
    // And a whole call, from either API.
    let call = json!({"type": "tool_use", "id": "t", "name": anthropic["name"],
        "input": {top: 4}});
    let answer =
        s.ws.call_tool(&["--from", "anthropic"])
            .input(call.to_string());
    let answer = s.marked(answer).run();
    assert_eq!(answer.json()["content"][0]["text"], "{\"$top\": 4}");
    let other = format!("{}0", &name[..name.len() - 1]);
    if other != name {
        let failed = s.call(&other, &json!({}));
        let _ = failed.error("tool_not_registered", 2);
    }
    s.all_gone();
}
