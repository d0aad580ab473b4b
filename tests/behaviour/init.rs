//! `get_tools init`: what it changes, what it leaves alone, and the way back.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::tree::Tree;
use crate::harness::{Answer, Workspace, executable};

const SETTINGS: &str = ".gemini/settings.json";

fn init(ws: &Workspace, args: &[&str]) -> Answer {
    ws.get_tools(&["init"]).flags(args).unwatched().run()
}

#[track_caller]
fn done(ws: &Workspace, args: &[&str]) -> String {
    let answer = init(ws, args);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    answer.text().to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).expect("a file")
}

fn settings(ws: &Workspace) -> Value {
    serde_json::from_str(&read(ws.dir().join(SETTINGS))).expect("JSON")
}

#[track_caller]
fn unchanged(before: &Tree, ws: &Workspace) {
    let changes = before.changes(&Tree::of(ws.root()));
    assert!(changes.is_empty(), "{changes:?}");
}

/// The path of an executable as it stands in settings: of a checkout the launcher.
fn command(name: &str) -> String {
    let own = executable(name);
    let launcher = own
        .ancestors()
        .nth(3)
        .expect("target/debug/NAME")
        .join("bin")
        .join(name);
    if launcher.is_file() { launcher } else { own }
        .display()
        .to_string()
}

#[test]
fn a_new_project_gets_commands_a_tool_a_rule_and_trust_and_all_of_it_works() {
    let ws = Workspace::new();
    let text = done(&ws, &["--yes"]);
    for said in [
        "settings.json (new)",
        "+    \"discoveryCommand\"",
        "recent_commits.toml (new)",
        "trustedFolders.json (new)",
        "init --undo takes it back",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(
        settings(&ws),
        json!({"tools": {"discoveryCommand": command("get_tools"), "callCommand": command("call_tool")}})
    );
    let names: Vec<String> = ws
        .get_tools(&[])
        .run()
        .json()
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    assert!(names.contains(&"recent_commits".to_owned()), "{names:?}");
    let lint = ws.get_tools(&["lint"]).run();
    assert_eq!(
        lint.text(),
        "1 tool in 1 file: 0 errors, 0 warnings, 0 repairs\n"
    );
}

#[test]
fn rules_name_reading_tools_unless_more_is_asked_for() {
    let rules = |args: &[&str]| {
        let ws = Workspace::new();
        done(&ws, args);
        let dir = ws.root().join("home/.gemini/policies");
        let mut entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let text = entries.next().map(|entry| read(entry.path()));
        text.map(|text| toml::from_str::<toml::Value>(&text).expect("TOML"))
    };
    let names = |rules: &toml::Value| -> Vec<String> {
        let list = rules["rule"][0]["toolName"].as_array().expect("a list");
        list.iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect()
    };
    let reading = rules(&["--yes"]).expect("rules");
    assert_eq!(reading["rule"][0]["decision"].as_str(), Some("allow"));
    let reading = names(&reading);
    assert!(reading.contains(&"discovered_tool_read_file".to_owned()));
    for other in [
        "write_file",
        "run_shell_command",
        "web_fetch",
        "google_web_search",
        "save_memory",
    ] {
        assert!(
            !reading.contains(&format!("discovered_tool_{other}")),
            "{other}"
        );
    }
    let all = names(&rules(&["--yes", "--allow", "all"]).expect("rules"));
    assert!(
        all.contains(&"discovered_tool_run_shell_command".to_owned()) && all.len() > reading.len()
    );
    assert_eq!(rules(&["--yes", "--allow", "none"]), None);
}

#[test]
fn a_second_time_changes_nothing() {
    for args in [&["--yes"][..], &["--yes", "--user"]] {
        let ws = Workspace::new();
        done(&ws, args);
        let before = Tree::of(ws.root());
        assert_eq!(done(&ws, args), "All is in place already.\n");
        unchanged(&before, &ws);
    }
}

#[test]
fn undo_leaves_everything_as_it_was() {
    let mine = "{\r\n  // mine\r\n  \"theme\": \"x\",\r\n  \"tools\": { \"core\": [\"a\"], }, // last\r\n}";
    for args in [
        &["--yes"][..],
        &["--yes", "--user"],
        &["--yes", "--allow", "all"],
    ] {
        let ws = Workspace::new()
            .file(SETTINGS, mine)
            .home(".gemini/settings.json", mine)
            .home(
                ".gemini/trustedFolders.json",
                "{\n  \"/elsewhere\": \"TRUST_FOLDER\"\n}\n",
            );
        let before = Tree::of(ws.root());
        done(&ws, args);
        let own = if args.contains(&"--user") {
            ws.root().join("home")
        } else {
            ws.dir()
        };
        let text = read(own.join(SETTINGS));
        assert!(
            text.contains("// mine\r\n") && text.contains("// last"),
            "{text}"
        );
        done(
            &ws,
            &["--yes"][..]
                .iter()
                .chain(args.iter().filter(|a| **a == "--user"))
                .copied()
                .collect::<Vec<_>>(),
        );
        let undo: Vec<&str> = ["--undo"].into_iter().chain(args.iter().copied()).collect();
        done(&ws, &undo);
        unchanged(&before, &ws);
        assert_eq!(done(&ws, &undo), "There is nothing to undo here.\n");
    }
}

#[test]
fn undo_keeps_what_was_edited_since() {
    let ws = Workspace::new().file(SETTINGS, "{\"tools\": {\"callCommand\": \"mine\"}}\n");
    done(&ws, &["--yes"]);
    let path = ws.dir().join(SETTINGS);
    fs::write(
        &path,
        read(&path).replacen('{', "{\n  // new\n  \"theme\": \"y\",", 1),
    )
    .expect("written");
    let tool = ws.dir().join(".gemini/tools/recent_commits.toml");
    fs::write(&tool, read(&tool).replace("default = 10", "default = 20")).expect("written");
    let text = done(&ws, &["--undo", "--yes"]);
    assert!(
        text.contains("recent_commits.toml stays: it was edited since."),
        "{text}"
    );
    let text = read(&path);
    assert!(
        text.contains("// new") && text.contains("\"theme\": \"y\""),
        "{text}"
    );
    assert!(
        text.contains("\"callCommand\": \"mine\"") && !text.contains("discoveryCommand"),
        "{text}"
    );
    assert!(read(tool).contains("default = 20"));
}

#[test]
fn somebody_elses_pair_goes_on_as_a_tool_of_ours() {
    let program = "import json, sys\nif len(sys.argv) < 2:\n    print(json.dumps([{'name': 'greet', 'description': 'Greets.', 'parameters': {'type': 'object', 'properties': {}}}]))\nelse:\n    sys.stdin.read()\n    print('hello')\n";
    let ws = Workspace::new()
        .file("my tools.py", program)
        .file("call tools", "#!/bin/sh\nexec python3 'my tools.py' \"$1\"\n")
        .file(SETTINGS, "{\"tools\": {\"discoveryCommand\": \"python3 'my tools.py'\", \"callCommand\": \"./call tools\"}}\n");
    crate::harness::set_mode(&ws.dir().join("call tools"), 0o755);
    let trusted = |args: &[&str]| {
        let call = ws.get_tools(args).env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        call.unwatched().run()
    };
    let answer = trusted(&["init", "--yes"]);
    answer.must_say(answer.text(), &["earlier_pair.toml"]);
    let listed = trusted(&["--only", "greet"]).json();
    assert_eq!(listed[0]["name"], "greet");
    let call = ws
        .tool("greet")
        .arguments(&json!({}))
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    assert_eq!(call.unwatched().run().output(), "hello\n");
}

#[test]
fn a_project_that_brings_something_is_not_trusted_by_the_way() {
    let ws = Workspace::new().file(
        ".gemini/tools/evil.toml",
        "description = \"d\"\nscript = 'touch ran'\n",
    );
    let text = done(&ws, &["--yes"]);
    assert!(text.contains("This project is not trusted"), "{text}");
    assert!(!ws.root().join("home/.gemini/trustedFolders.json").exists());
    assert_eq!(ws.get_tools(&["trust", "--status"]).run().status(), 1);
    assert!(
        !ws.dir().join(".gemini/tools/recent_commits.toml").exists(),
        "it has tools"
    );
}

#[test]
fn a_project_that_was_looked_at_stays_trusted() {
    let ws = Workspace::new().file(
        ".gemini/tools/own.toml",
        "description = \"d\"\ncommand = [\"true\"]\n",
    );
    let trust = ws.get_tools(&["trust", "--yes"]).unwatched().run();
    assert_eq!(trust.status(), 0, "{}", trust.shown());
    done(&ws, &["--yes"]);
    assert_eq!(ws.get_tools(&["trust", "--status"]).run().status(), 0);
    assert!(!ws.root().join("home/.gemini/trustedFolders.json").exists());
    done(&ws, &["--undo", "--yes"]);
    assert_eq!(ws.get_tools(&["trust", "--status"]).run().status(), 0);
}

#[test]
fn without_being_asked_nothing_is_changed() {
    let ws = Workspace::new();
    let answer = ws.get_tools(&["init"]).run();
    assert_eq!(answer.status(), 2);
    let said = answer.errors();
    answer.must_say(&said, &["no terminal to ask on", "--yes"]);
    answer.must_say(answer.text(), &["settings.json (new)"]);
    let model = ws
        .get_tools(&["init", "--yes"])
        .env("GEMINI_CLI", "1")
        .run();
    assert_eq!(model.status(), 2, "a model can't agree");
}

#[test]
fn a_person_is_asked_and_can_say_no() {
    for (answer, code) in [(b"n\n", 1), (b"y\n", 0)] {
        let ws = Workspace::new();
        let mut person = ws.get_tools(&["init"]).unwatched().at_a_terminal();
        person.sees("Make these changes? [y/N]");
        person.types(answer);
        person.sees_it_end(code);
        assert_eq!(ws.dir().join(SETTINGS).exists(), code == 0);
    }
}

#[test]
fn settings_that_cannot_be_edited_are_named_and_left_alone() {
    for (text, said) in [
        ("[]", "settings.json: it must hold an object"),
        ("{\"tools\": [1]}", "settings.json: tools must be an object"),
        ("{\"a\": ", "settings.json: "),
    ] {
        let ws = Workspace::new().file(SETTINGS, text);
        let answer = ws.get_tools(&["init", "--yes"]).run();
        assert_eq!(answer.status(), 1, "{text}");
        let stderr = answer.errors();
        answer.must_say(&stderr, &[said]);
    }
}

#[test]
fn a_link_to_settings_is_written_through() {
    let ws = Workspace::new()
        .file("dotfiles/settings.json", "{}\n")
        .link(SETTINGS, "../dotfiles/settings.json");
    done(&ws, &["--yes"]);
    assert!(
        fs::symlink_metadata(ws.dir().join(SETTINGS))
            .expect("there")
            .is_symlink()
    );
    assert!(read(ws.dir().join("dotfiles/settings.json")).contains("discoveryCommand"));
}

#[test]
fn executables_on_the_path_stand_there_by_their_names() {
    let ws = Workspace::new();
    let directory = executable("get_tools")
        .parent()
        .expect("a directory")
        .to_owned();
    let path = format!("{}:/usr/bin:/bin", directory.display());
    let answer = ws
        .get_tools(&["init", "--yes"])
        .env("PATH", &path)
        .unwatched()
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(
        settings(&ws)["tools"],
        json!({"discoveryCommand": "get_tools", "callCommand": "call_tool"})
    );
}
