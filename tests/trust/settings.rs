//! Settings: four files, their order, what they say together, and `get_tools config`, which shows it.

use serde_json::{Value, json};

use super::faults::KEYS;
use crate::harness::random::{Random, seeds};
use crate::harness::{Answer, Call, Workspace, executable, set_mode, trials};

const USER: &str = ".gemini/settings.json";
const PROJECT: &str = ".gemini/settings.json";
const SYSTEM: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

fn config(call: Call<'_>) -> Value {
    let answer = call.flags(&["config", "--json"]).run();
    if answer.status() != 0 || !answer.stderr.is_empty() {
        answer.fail("expected exit status 0 and nothing on standard error");
    }
    answer.json()
}

/// The value in force and the names of those who set it.
fn in_force(config: &Value, key: &str) -> Option<(Value, Vec<String>)> {
    let all = config["settings"].as_array().expect("a list");
    let one = all.iter().find(|one| one["key"] == key)?;
    let from = one["from"].as_array().expect("a list").iter();
    let scopes = from.map(|f| f["scope"].as_str().expect("a name").to_owned());
    Some((one["value"].clone(), scopes.collect()))
}

fn left_out(config: &Value) -> Vec<String> {
    let all = config["leftOut"].as_array().expect("a list").iter();
    all.map(|one| format!("{}: {}", one["key"].as_str().expect("a key"), one["why"]))
        .collect()
}

fn names(answer: &Answer) -> Vec<String> {
    let list = answer.json();
    let list = list.as_array().expect("an array").iter();
    list.map(|d| d["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn the_systems_settings_come_last_and_its_defaults_first() {
    let ws = Workspace::new()
        .outside(
            "etc/settings.json",
            r#"{"tools": {"core": ["glob", "read_file"]}}"#,
        )
        .outside(
            "etc/system-defaults.json",
            r#"{"tools": {"core": ["write_file"], "truncateToolOutputThreshold": 5}}"#,
        )
        .home(USER, r#"{"tools": {"core": ["replace"]}}"#)
        .file(PROJECT, r#"{"tools": {"exclude": ["glob"]}}"#);
    let system = ws.outside_path("etc/settings.json");
    let tools = ws.get_tools(&[]).env(SYSTEM, &system).run();
    assert_eq!(names(&tools), ["read_file"]);
    let config = config(ws.get_tools(&[]).env(SYSTEM, &system));
    let (value, from) = in_force(&config, "tools.core").expect("set");
    assert_eq!(
        (value, from),
        (json!(["glob", "read_file"]), vec!["system".to_owned()])
    );
    let (value, from) = in_force(&config, "tools.truncateToolOutputThreshold").expect("set");
    assert_eq!(
        (value, from),
        (json!(5), vec!["system-defaults".to_owned()])
    );
    let defaults = ws.outside_path("etc/system-defaults.json");
    let tools = ws
        .get_tools(&["--only", "write_file,glob"])
        .env("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", &defaults)
        .run();
    assert!(
        names(&tools).is_empty(),
        "the user's list replaces that of the defaults"
    );
}

#[test]
fn a_systems_file_that_others_can_write_says_nothing() {
    let ws = Workspace::new().outside("etc/settings.json", r#"{"tools": {"core": []}}"#);
    let system = ws.outside_path("etc/settings.json");
    set_mode(system.as_ref(), 0o666);
    let answer = ws.get_tools(&[]).env(SYSTEM, &system).run();
    assert!(!names(&answer).is_empty());
    let config = config(ws.get_tools(&[]).env(SYSTEM, &system));
    let problems = config["problems"].to_string();
    assert!(problems.contains("others can write"), "{problems}");
}

#[test]
fn a_systems_file_somewhere_in_the_project_says_nothing() {
    let ws = Workspace::new().file("s.json", r#"{"tools": {"core": []}}"#);
    let answer = ws.get_tools(&[]).env(SYSTEM, "s.json").run();
    assert!(!names(&answer).is_empty());
}

#[test]
fn config_names_file_and_line_of_both_generations_of_keys() {
    let ws = Workspace::new()
        .home(
            USER,
            "{\n// mine\n\"excludeTools\": [\"glob\"],\n\"allowMCPServers\": [\"a\", \"b\"]}",
        )
        .file(
            PROJECT,
            "{\"tools\":\n{\"exclude\": [\"replace\"]},\n\"mcp\": {\"allowed\": [\"B\"]}}",
        );
    let config = config(ws.get_tools(&[]));
    let exclude = config["settings"].as_array().expect("a list").iter();
    let exclude = exclude.clone().find(|one| one["key"] == "tools.exclude");
    let exclude = exclude.expect("in force");
    assert_eq!(exclude["value"], json!(["glob", "replace"]));
    let lines: Vec<_> = exclude["from"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|f| &f["line"])
        .collect();
    assert_eq!(lines, [&json!(3), &json!(2)]);
    assert_eq!(exclude["from"][1]["file"], ws.path(PROJECT));
    let (allowed, from) = in_force(&config, "mcp.allowed").expect("set");
    assert_eq!(
        (allowed, from.len()),
        (json!(["b"]), 2),
        "what all lists name"
    );
    let text = ws.get_tools(&["config"]).run();
    text.must_say(
        text.text(),
        &[
            "tools.exclude = [\"glob\",\"replace\"]",
            &format!("user: {}:3", ws.root().join("home").join(USER).display()),
            &format!("project: {}:2", ws.path(PROJECT)),
            "not trusted yet",
        ],
    );
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_file_and_key() {
    let ws = Workspace::new()
        .home(USER, r#"{"tools": {"truncateToolOutputThreshold": "many", "exclude": ["glob", 4],
            "shell": {"inactivityTimeout": -1}, "disableLLMCorrection": 1, "webFetch": []},
            "context": {"includeDirectories": "x", "fileName": {}}, "model": 3,
            "mcpServers": {"a": 1, "b": {"command": ["x"]}, "c": {}, "d": {"url": "http://x", "timeout": "1"}},
            "mcp": {"pin": "yes", "serverCommand": 1}}"#);
    let config = config(ws.get_tools(&[]));
    let notes = left_out(&config).join("\n");
    for key in [
        "tools.truncateToolOutputThreshold: ",
        "tools.shell.inactivityTimeout: ",
        "context.includeDirectories: ",
        "context.fileName: ",
        "mcp.serverCommand: ",
        "mcpServers.a: ",
        "mcpServers.b.command: ",
        "mcpServers.c: ",
        "mcpServers.d.timeout: ",
    ] {
        assert!(notes.contains(key), "{key} is not in\n{notes}");
    }
    let problems = config["problems"].to_string();
    assert!(
        problems.contains(r#""key":"tools.exclude[1]","line":1,"message":"a string is expected"#),
        "{problems}"
    );
    for part in [
        "home/.gemini/settings.json",
        "tools.disableLLMCorrection",
        "mcp.pin",
    ] {
        assert!(problems.contains(part), "{problems}");
    }
    assert!(in_force(&config, "mcpServers.d").is_some());
    let answer = ws.get_tools(&[]).run();
    assert!(answer.stderr.is_empty() && !names(&answer).contains(&"glob".to_owned()));
}

#[test]
fn a_restriction_that_is_one_name_and_no_list_still_restricts() {
    let ws = Workspace::new()
        .home(USER, r#"{"tools": {"exclude": "glob"}}"#)
        .file(PROJECT, r#"{"coreTools": "read_file"}"#);
    assert_eq!(names(&ws.get_tools(&[]).run()), ["read_file"]);
}

#[test]
fn variables_are_put_into_the_users_file_and_never_shown_by_config() {
    let ws = Workspace::new().home(
        USER,
        r#"{"tools": {"exclude": ["$DROPPED", "${ALSO:-read_file}", "$UNSET"]},
            "mcpServers": {"s": {"url": "https://h/?key=$SECRET",
                "headers": {"authorization": "Bearer ${SECRET}", "x": "literal"}}}}"#,
    );
    let call = |args: &[&str]| {
        ws.get_tools(args)
            .env("DROPPED", "glob")
            .env("SECRET", "s3cret")
    };
    let shown = names(&call(&[]).run());
    assert!(!shown.contains(&"glob".to_owned()) && !shown.contains(&"read_file".to_owned()));
    for args in [&["config"][..], &["config", "--json"]] {
        let answer = call(args).run();
        let text = answer.text();
        assert!(
            !text.contains("s3cret") && !text.contains("literal"),
            "{text}"
        );
        assert!(text.contains("$SECRET"), "{text}");
    }
}

#[test]
fn the_home_directory_as_project_is_read_once_and_is_the_users() {
    let ws = Workspace::new().home(
        USER,
        r#"{"context": {"includeDirectories": ["/x"]}, "mcpServers": {"s": {"command": "c"}}}"#,
    );
    let home = ws.root().join("home");
    let call = ws
        .program(&executable("get_tools"), &[])
        .in_bash("cd \"$HOME\" && exec \"$@\"");
    let config = config(call);
    assert_eq!(config["trust"]["trusted"], true, "{config}");
    assert_eq!(left_out(&config), [""; 0]);
    let (_, from) = in_force(&config, "mcpServers.s").expect("the user's");
    assert_eq!(from, ["user"], "{}", home.display());
}

#[test]
fn a_settings_file_that_is_anything_else_costs_nothing_and_is_told() {
    for make in [
        "mkfifo .gemini/settings.json",
        "mkdir .gemini/settings.json",
        "echo '[1' > .gemini/settings.json",
    ] {
        let ws = Workspace::new().directory(".gemini");
        let script = format!("{make} && exec \"$@\"");
        let call = ws
            .get_tools(&["config", "--json"])
            .unwatched()
            .in_bash(&script);
        let config = call.run().json();
        let problems = config["problems"].to_string();
        assert!(
            problems.contains(".gemini/settings.json\""),
            "{make}: {config}"
        );
    }
}

#[test]
fn config_and_trust_take_no_options_of_the_list_and_the_list_keeps_its_own() {
    let ws = Workspace::new();
    for args in [
        &["config", "--wrap"][..],
        &["--wrap", "config"],
        &["configure"],
        &["trust", "--yes", "--list"],
    ] {
        let answer = ws.get_tools(args).run();
        assert_eq!(answer.status(), 2, "{args:?}: {}", answer.shown());
        assert!(!answer.stderr.is_empty());
    }
    for args in [&["config", "--help"][..], &["trust", "--help"], &["--help"]] {
        let answer = ws.get_tools(args).run();
        assert_eq!(answer.status(), 0);
        answer.must_say(answer.text(), &["Usage"]);
    }
}

fn nested(all: &mut Value, key: &str, value: Value) {
    let mut place = all;
    for part in key.split('.') {
        place = &mut place[part];
    }
    *place = value;
}

fn misspelt(settings: &Value) -> Vec<String> {
    let ws = Workspace::new().home(".gemini/settings.json", settings.to_string());
    let config = config(ws.get_tools(&[]));
    let is_meant = |one: &&Value| {
        one["why"]
            .as_str()
            .is_some_and(|why| why.ends_with("meant?"))
    };
    let left_out = config["leftOut"].as_array().expect("a list").iter();
    let keys = left_out
        .filter(is_meant)
        .map(|one| one["key"].as_str().expect("a key").to_owned());
    keys.collect()
}

#[test]
fn a_slip_in_the_name_of_a_restriction_is_named_and_no_right_name_is() {
    let theirs = include_str!("gemini-cli-keys.txt").lines();
    let theirs: Vec<&str> = theirs.filter(|key| !key.starts_with('#')).collect();
    let mut all = json!({});
    for key in theirs
        .iter()
        .chain(&["mcpServers.a.oauth", "mcpServers.a.trust"])
    {
        nested(&mut all, key, Value::Null);
    }
    assert_eq!(misspelt(&all), [""; 0]);
    for seed in seeds("slips", 80 * trials()) {
        let random = &mut Random::new(seed);
        let (key, is_list) = random.of(&KEYS);
        let mut slip = key.to_owned();
        let at = random.below(key.len());
        let letter = &key[at..=at];
        match random.below(6) {
            0 => drop(slip.remove(at)),
            1 => slip.insert(at, 'x'),
            2 => slip.replace_range(at..=at, "y"),
            3 => slip.replace_range(at..=at, &letter.to_uppercase()),
            4 => slip = slip.rsplit('.').next().unwrap_or_default().to_owned(),
            _ => slip = slip.to_uppercase(),
        }
        if KEYS.iter().any(|(known, _)| *known == slip) || theirs.contains(&&*slip) {
            continue;
        }
        let mut settings = json!({});
        let value = if is_list { json!(["x"]) } else { json!(true) };
        nested(&mut settings, &slip, value);
        assert!(
            misspelt(&settings).contains(&slip),
            "seed {seed}: {settings}"
        );
    }
    let server = json!({"mcpServers": {"a": {"command": "x", "includeTool": ["y"]}}});
    assert_eq!(misspelt(&server), ["mcpServers.a.includeTool"]);
}

#[test]
fn a_variable_is_something_else_than_the_defaults() {
    let ws = Workspace::new();
    let nothing = "nothing but the defaults";
    let shown = ws.get_tools(&["config"]).run();
    shown.must_say(shown.text(), &[nothing]);
    let shown = ws
        .get_tools(&["config"])
        .env("GEMINI_TOOLS_MODEL", "m")
        .run();
    assert!(!shown.text().contains(nothing), "{}", shown.shown());
}
