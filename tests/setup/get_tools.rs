//! `get_tools`: declarations as the Gemini API takes them, and who filters them.

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, executable, place_executable};

fn names(answer: &Answer) -> Vec<String> {
    let list = answer.json();
    let list = list.as_array().expect("an array");
    list.iter()
        .map(|d| d["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[track_caller]
fn silent_success(answer: Answer) -> Answer {
    if answer.status() != 0 || !answer.stderr.is_empty() {
        answer.fail("expected exit status 0 and nothing on standard error");
    }
    answer
}

fn all(ws: &Workspace) -> Answer {
    silent_success(ws.get_tools(&[]).run())
}

fn with_settings(user: &str, project: &str) -> Workspace {
    let mut ws = Workspace::new();
    if !user.is_empty() {
        ws = ws.home(".gemini/settings.json", user);
    }
    if !project.is_empty() {
        ws = ws.file(".gemini/settings.json", project);
    }
    ws
}

#[test]
fn every_declaration_has_the_three_keys() {
    let list = all(&Workspace::new()).json();
    let list = list.as_array().expect("an array");
    assert!(list.len() >= 7);
    for declaration in list {
        let keys: Vec<_> = declaration.as_object().expect("an object").keys().collect();
        assert_eq!(keys.len(), 3, "{keys:?}");
        for key in ["name", "description", "parametersJsonSchema"] {
            assert!(declaration.get(key).is_some(), "{key}: {declaration}");
        }
    }
}

/// Hosts start `get_tools` for each session, and `run_agent` calls another program's tools.
#[test]
fn only_those_that_call_tools_contain_them() {
    for (program, contains) in [
        ("call_tool", true),
        ("serve_tools", true),
        ("get_tools", false),
        ("run_agent", false),
    ] {
        let bytes = std::fs::read(executable(program)).expect("an executable");
        let answer = b"There are no background processes.";
        let found = bytes.windows(answer.len()).any(|part| part == answer);
        assert_eq!(found, contains, "{program}");
    }
}

#[test]
fn names_fit_the_api_and_the_prefix_of_the_host() {
    let name = regex::Regex::new("^[A-Za-z_][A-Za-z0-9_.-]{0,46}$").expect("a pattern");
    let names = names(&all(&Workspace::new()));
    let mut once = names.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), names.len(), "{names:?}");
    assert!(names.iter().all(|n| name.is_match(n)), "{names:?}");
}

/// Collects the schema nodes that have neither a type nor a combiner whose branches all have one.
fn untyped(schema: &Value, at: &str, found: &mut Vec<String>) {
    let branches = ["anyOf", "allOf", "oneOf"]
        .iter()
        .filter_map(|k| schema[*k].as_array());
    let branches: Vec<&Value> = branches.flatten().collect();
    if schema.get("type").is_none() && branches.is_empty() {
        found.push(format!("{at}: {schema}"));
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        untyped(property, &format!("{at}.{key}"), found);
    }
    for inner in schema.get("items").into_iter().chain(branches) {
        untyped(inner, &format!("{at}[]"), found);
    }
}

#[test]
fn every_schema_node_has_a_type_and_every_parameter_a_description() {
    let mut bad = Vec::new();
    for tool in all(&Workspace::new()).json().as_array().expect("an array") {
        let (name, schema) = (
            tool["name"].as_str().expect("a name"),
            &tool["parametersJsonSchema"],
        );
        untyped(schema, name, &mut bad);
        for (key, property) in schema["properties"].as_object().expect("properties") {
            if property["description"].as_str().is_none_or(str::is_empty) {
                bad.push(format!("{name}.{key} has no description"));
            }
        }
        for key in schema["required"].as_array().into_iter().flatten() {
            if schema["properties"]
                .get(key.as_str().unwrap_or_default())
                .is_none()
            {
                bad.push(format!("{name} requires {key}, which it does not have"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn aliases_are_never_printed() {
    let text = all(&Workspace::new()).text().to_owned();
    for alias in [
        "\"dir_path\"",
        "\"include_pattern\"",
        "\"start_line\"",
        "\"allow_multiple\"",
    ] {
        assert!(!text.contains(alias), "{alias}");
    }
    // A parameter of smart_edit, which replace just tolerates.
    assert_eq!(text.matches("\"instruction\":").count(), 1);
}

#[test]
fn answer_is_the_same_every_time_and_needs_no_input() {
    let ws = Workspace::new();
    assert_eq!(
        all(&ws).stdout,
        ws.get_tools(&[]).input_held_open().run().stdout
    );
}

#[test]
fn pretty_means_the_same() {
    let ws = Workspace::new();
    let pretty = silent_success(ws.get_tools(&["--pretty"]).run());
    assert_eq!(pretty.json(), all(&ws).json());
    assert!(pretty.text().lines().count() > 20);
    assert_eq!(all(&ws).text().lines().count(), 1);
}

#[test]
fn only_and_exclude_take_globs() {
    let ws = Workspace::new();
    let reading = names(&silent_success(ws.get_tools(&["--only", "read_*"]).run()));
    assert_eq!(
        reading,
        ["read_background_output", "read_file", "read_many_files"]
    );
    let two = names(&silent_success(
        ws.get_tools(&["--only", "glob", "--only", "replace"]).run(),
    ));
    assert_eq!(two, ["glob", "replace"]);
    let rest = names(&silent_success(
        ws.get_tools(&["--exclude", "read_*"]).run(),
    ));
    assert!(
        rest.contains(&"glob".to_owned()) && !rest.iter().any(|n| n.starts_with("read_")),
        "{rest:?}"
    );
    let both = names(&silent_success(
        ws.get_tools(&["--only", "read_*", "--exclude", "*many*"])
            .run(),
    ));
    assert_eq!(both, ["read_background_output", "read_file"]);
}

#[test]
fn order_is_sorted() {
    let names = names(&all(&Workspace::new()));
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names, sorted);
}

#[test]
fn settings_name_the_tools_to_keep_and_to_leave_out() {
    let only_glob = r#"{"tools": {"core": ["glob"]}}"#;
    let two = ["glob", "read_file"];
    for (settings, kept) in [
        (r#"{"tools": {"core": ["read_file", "glob"]}}"#, &two[..]),
        (r#"{"coreTools": ["read_file", "glob"]}"#, &two),
        (
            r#"{"tools": {"core": ["glob", "write_file"], "exclude": ["write_file"]}}"#,
            &two[..1],
        ),
        (
            r#"{"coreTools": ["glob", "write_file"], "excludeTools": ["write_file"]}"#,
            &two[..1],
        ),
        (
            "// for this project\n{\n  /* few */ \"coreTools\": [\n    \"glob\" // one\n  ]\n}\n",
            &two[..1],
        ),
    ] {
        for ws in [with_settings("", settings), with_settings(settings, "")] {
            assert_eq!(names(&all(&ws)), kept, "{settings}");
        }
    }
    // What the user excludes is excluded in every project.
    let ws = with_settings(r#"{"tools": {"exclude": ["glob"]}}"#, only_glob);
    assert_eq!(names(&all(&ws)), Vec::<String>::new());
}

/// It runs its own tools for `replace` and `search_file_content`, unless ours have the names of those too.
#[test]
fn qwen_code_gets_two_tools_by_its_own_names_too() {
    let ws = Workspace::new();
    let in_qwen = |args: &[&str]| {
        let call = ws.get_tools(args).env("QWEN_CODE_NO_RELAUNCH", "true");
        call.run().json().as_array().expect("a list").clone()
    };
    let declared = in_qwen(&[]);
    let tool = |name: &str| {
        let one = declared.iter().find(|one| one["name"] == name);
        one.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    for (name, alias) in [("replace", "edit"), ("search_file_content", "grep_search")] {
        let mut renamed = tool(name);
        renamed["name"] = alias.into();
        assert_eq!(tool(alias), renamed);
    }
    assert_eq!(declared.len(), names(&all(&ws)).len() + 2);
    assert!(
        in_qwen(&["--only", "glob"])
            .iter()
            .all(|one| one["name"] == "glob")
    );
    let of_person = ws
        .get_tools(&[])
        .env("QWEN_CODE_LEGACY_MCP_BLOCKING", "1")
        .run();
    assert_eq!(of_person.json(), all(&ws).json());
    let found = ws
        .file("a.txt", "one")
        .call("grep_search", &json!({"pattern": "one"}));
    assert!(found.output().starts_with("Found 1 match"));
}

#[test]
fn excluded_tool_cannot_be_called() {
    let ws = with_settings("", r#"{"tools": {"exclude": ["write_file"]}}"#);
    let answer = ws.call("write_file", &json!({"file_path": "a.txt", "content": "x"}));
    let failure = answer.failure();
    assert!([2, 3].contains(&failure.status), "{failure:?}");
}

#[test]
fn serve_becomes_the_server_with_its_arguments_and_its_input() {
    let ws = Workspace::new().file("a.txt", "from the server\n");
    let version = ws.get_tools(&["serve", "--version"]).run();
    assert!(version.text().starts_with("serve_tools "));
    let client = json!({"name": "test", "version": "1"});
    let asked = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params":
            {"name": "read_file", "arguments": {"absolute_path": "a.txt"}}}),
    ];
    let asked = asked.map(|message| format!("{message}\n")).concat();
    let served = ws.get_tools(&["serve"]).input(asked).run();
    assert_eq!(served.status(), 0, "{}", served.shown());
    assert!(
        served.text().contains("from the server"),
        "{}",
        served.shown()
    );
    // What can't be used is refused by the server, in its words.
    let refused = ws.get_tools(&["serve", "--no-such-option"]).run();
    assert_eq!(refused.status(), 2);
    assert!(
        refused.shown().contains("serve_tools: "),
        "{}",
        refused.shown()
    );
}

#[test]
fn serve_says_what_is_missing_beside_it() {
    let ws = Workspace::new();
    let alone = tempfile::tempdir().expect("a directory");
    let program = alone.path().join("get_tools");
    place_executable("get_tools", &program);
    let refused = ws.program(&program, &["serve"]).run();
    assert_eq!(refused.status(), 1);
    for word in ["serve_tools", "beside", "install it there"] {
        assert!(refused.shown().contains(word), "{}", refused.shown());
    }
    assert_eq!(refused.text(), "");
}

#[test]
fn odd_surroundings_are_told_as_what_they_are() {
    let ws = Workspace::new();
    let gone = "mkdir gone; cd gone; rmdir ../gone; exec \"$@\"";
    let answer = ws.call_tool(&["glob", "*", "-t"]).in_bash(gone).run();
    answer.must_say(&answer.errors(), &["The current directory can't be opened"]);
    let serve = ws
        .program(&executable("serve_tools"), &[])
        .in_bash(gone)
        .run();
    serve.must_say(&serve.errors(), &["The current directory is gone"]);
    let answer = ws.call_tool(&["--policy", "", "glob", "*", "-t"]).run();
    assert_eq!(answer.status(), 2);
    answer.must_say(&answer.errors(), &["--policy", "none was supplied"]);
    let answer = ws
        .call_tool(&["--history"])
        .env("HOME", "/etc/passwd")
        .run();
    answer.must_say(&answer.errors(), &["a file is in place of a directory"]);
    let doctor = ws.get_tools(&["doctor"]).run();
    assert!(!doctor.shown().contains("Read: ."), "{}", doctor.shown());
    let init = ws.get_tools(&["init", "--yes"]).unwatched();
    let init = init.in_bash("ulimit -f 0; exec \"$@\"").run();
    init.must_say(&init.errors(), &["File too large"]);
    let notes = std::fs::read_dir(ws.root().join("home/.gemini"));
    let names = notes
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    assert!(
        !names.any(|name| name.contains("tools_init")),
        "a temporary file"
    );
}
