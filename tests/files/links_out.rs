//! What a project brings is opened beneath the project: a link that leads out of it is not followed, whatever it is for,
//! and one that stays in it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::harness::{Answer, Call, Workspace, executable};

const SETTINGS: &str = ".gemini/settings.json";

const TOOL: &str = "description = \"x-canary\"\ncommand = [\"echo\", \"ran\"]\n";

const RULE: &str = "[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 100\ndeny_message = \"x-canary\"\n";

/// What the projects below link to, in a directory beside them.
fn project() -> Workspace {
    let exclude = json!({"tools": {"exclude": ["glob"]}, "x-canary": 1});
    Workspace::new()
        .file("a.txt", "text\n")
        .outside("settings.json", exclude.to_string())
        .outside("tools/canary.toml", TOOL)
        .outside("policies/p.toml", RULE)
        .outside("GEMINI.md", "x-canary\n")
}

fn trusted(call: Call<'_>) -> Call<'_> {
    call.env("GEMINI_CLI_TRUST_WORKSPACE", "true")
}

#[track_caller]
fn shows_nothing(answer: &Answer) {
    if answer.shown().contains("x-canary") {
        answer.fail("what lies outside is shown");
    }
}

fn names(ws: &Workspace) -> String {
    let answer = trusted(ws.get_tools(&["--format", "names"])).run();
    shows_nothing(&answer);
    answer.text().to_owned()
}

fn lists_glob(ws: &Workspace) -> Answer {
    trusted(ws.tool("glob").arguments(&json!({"pattern": "*"}))).run()
}

/// Commands that look at all that a project brings; none shows anything of what lies outside.
#[track_caller]
fn nothing_is_shown(ws: &Workspace) {
    for args in [
        &["config"][..],
        &["config", "--json"],
        &["lint"],
        &["doctor"],
        &["trust"],
        &["trust", "--status"],
        &["init"],
        &[],
    ] {
        shows_nothing(&ws.get_tools(args).run());
        shows_nothing(&trusted(ws.get_tools(args)).run());
    }
}

#[test]
fn settings_behind_a_link_out_say_nothing_and_keep_commands_from_running() {
    for (link, target) in [(SETTINGS, "../../out/settings.json"), (".gemini", "../out")] {
        let ws = project().link(link, target);
        nothing_is_shown(&ws);
        let config = ws.get_tools(&["config", "--json"]).run().json();
        assert_eq!(config["settings"], json!([]), "{config}");
        let problems = config["problems"].to_string();
        for part in [".gemini/settings.json\"", "a link leads out of the project"] {
            assert!(problems.contains(part), "{problems}");
        }
        let failure = ws.call("run_shell_command", &json!({"command": "echo ran"}));
        failure.error("policy_violation", 3);
    }
}

#[test]
fn tools_behind_a_link_out_are_none_and_that_is_said() {
    for (link, target, said) in [
        (
            ".gemini/tools/canary.toml",
            "../../../out/tools/canary.toml",
            "canary.toml: canary: This is a broken link, a link out of the project",
        ),
        (
            ".gemini/tools",
            "../../out/tools",
            ".gemini/tools: a link leads out of the project",
        ),
    ] {
        let ws = project().link(link, target);
        assert!(!names(&ws).contains("canary"));
        let call = trusted(ws.tool("canary").arguments(&json!({})));
        call.run().error("tool_not_registered", 2);
        let lint = trusted(ws.get_tools(&["lint"])).run();
        lint.must_say(lint.text(), &[said]);
        nothing_is_shown(&ws);
    }
}

#[test]
fn a_tool_that_became_a_link_out_runs_no_more() {
    let ws = project().file(".gemini/tools/canary.toml", TOOL);
    let call = || trusted(ws.tool("canary").arguments(&json!({})));
    let run = |call: Call<'_>| call.changing_at_home(&[".gemini"]).run();
    assert_eq!(run(call()).status(), 0);
    let tool = ws.dir().join(".gemini/tools/canary.toml");
    fs::remove_file(&tool).expect("removed");
    symlink("../../../out/tools/canary.toml", &tool).expect("a link");
    run(call()).error("tool_not_registered", 2);
}

#[test]
fn rules_behind_a_link_out_stop_every_call_of_a_trusted_project() {
    for (link, target) in [
        (".gemini/policies/p.toml", "../../../out/policies/p.toml"),
        (".gemini/policies", "../../out/policies"),
    ] {
        let ws = project().link(link, target);
        let answer = lists_glob(&ws);
        shows_nothing(&answer);
        let failure = answer.failure();
        assert_eq!(failure.error_type, "policy_violation", "{failure:?}");
        assert!(
            failure.message.contains("a link leads out of the project"),
            "{failure:?}"
        );
        // A stranger's rules never count, and stop no call.
        ws.call("glob", &json!({"pattern": "*"})).output();
        nothing_is_shown(&ws);
    }
}

#[test]
fn rules_that_can_not_be_read_stop_every_call_of_a_trusted_project() {
    for closed in [".gemini/policies", ".gemini/policies/p.toml"] {
        let ws = project()
            .file(".gemini/policies/p.toml", RULE)
            .mode(closed, 0)
            .unprivileged();
        let failure = lists_glob(&ws).failure();
        assert_eq!(
            failure.error_type, "policy_violation",
            "{closed}: {failure:?}"
        );
        assert!(failure.message.contains("policies"), "{failure:?}");
    }
}

#[test]
fn memory_and_system_prompt_behind_a_link_out_are_not_read() {
    let ws = project()
        .link("GEMINI.md", "../out/GEMINI.md")
        .link(".gemini/system.md", "../../out/GEMINI.md");
    let agent = |prompt: &str| {
        ws.program(&executable("run_agent"), &["-p", "Go."])
            .env("GEMINI_API_KEY", "k")
            .env("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
            .env("GEMINI_SYSTEM_MD", prompt)
            .changing_at_home(&[".gemini"])
            .run()
    };
    let memory = agent("");
    memory.must_say(&memory.errors(), &["GEMINI.md was not read"]);
    shows_nothing(&memory);
    let system = agent("1");
    assert_eq!(system.status(), 42, "{}", system.shown());
    shows_nothing(&system);
}

#[test]
fn trust_shows_that_a_link_leads_out_and_ends_when_it_no_longer_does() {
    let ws = project()
        .file(".gemini/tools/own.toml", TOOL.replace("x-canary", "own"))
        .link("way", "../out/tools")
        .link(".gemini/tools/canary.toml", "../../way/canary.toml");
    let trust = ws.get_tools(&["trust", "--yes"]);
    let answer = trust.changing_at_home(&[".gemini"]).run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    answer.must_say(
        answer.text(),
        &[".gemini/tools/canary.toml\n      (not read: a link leads out of the project)"],
    );
    shows_nothing(&answer);
    let status = || ws.get_tools(&["trust", "--status"]).run().status();
    assert_eq!(status(), 0);
    // The same link now leads to a file that was never looked at.
    let way = ws.dir().join("way");
    fs::remove_file(&way).expect("removed");
    fs::create_dir(&way).expect("made");
    fs::write(way.join("canary.toml"), TOOL).expect("written");
    assert_eq!(status(), 1);
}

#[test]
fn links_within_the_project_are_followed() {
    let ws = Workspace::new()
        .file("a.txt", "text\n")
        .file(
            "kept/settings.json",
            r#"{"tools": {"exclude": ["replace"]}}"#,
        )
        .file("kept/tools/canary.toml", TOOL)
        .file("kept/policies/p.toml", RULE);
    for to in [Path::new("..").join("kept"), ws.dir().join("kept")] {
        let gemini = ws.dir().join(".gemini");
        let _ = fs::remove_dir_all(&gemini);
        fs::create_dir(&gemini).expect("made");
        for name in ["settings.json", "tools", "policies"] {
            symlink(to.join(name), gemini.join(name)).expect("a link");
        }
        let list = trusted(ws.get_tools(&["--format", "names"]));
        let list = list.changing_at_home(&[".gemini"]).run();
        let names = list.text();
        assert!(
            names.contains("canary") && !names.contains("replace"),
            "{names}"
        );
        let failure = lists_glob(&ws).failure();
        assert!(failure.message.contains("x-canary"), "{failure:?}");
    }
}

#[test]
fn the_users_own_files_may_be_links_also_where_the_home_is_the_project() {
    let ws = project()
        .home(
            "dotfiles/settings.json",
            r#"{"tools": {"exclude": ["replace"]}}"#,
        )
        .home(".gemini/x", "")
        .outside("policies/p.toml", RULE);
    let gemini = ws.root().join("home/.gemini");
    symlink("../dotfiles/settings.json", gemini.join("settings.json")).expect("a link");
    symlink(ws.root().join("out/tools"), gemini.join("tools")).expect("a link");
    symlink(ws.root().join("out/policies"), gemini.join("policies")).expect("a link");
    symlink("home", ws.root().join("other_name")).expect("a link");
    let other_name = ws.root().join("other_name").display().to_string();
    for (from, home) in [
        ("$PWD", None),
        ("$HOME", None),
        // The current directory has no links in its name, and the home directory has.
        ("$HOME", Some(other_name.as_str())),
    ] {
        let script = format!("cd \"{from}\" && exec \"$@\"");
        let run = |args: &[&str]| {
            let mut call = ws.get_tools(args).unwatched();
            if let Some(home) = home {
                call = call.env("HOME", home);
            }
            call.in_bash(&script).run()
        };
        let list = run(&["--format", "names"]);
        let names = list.text();
        assert!(
            names.contains("canary") && !names.contains("replace"),
            "{from}: {names}"
        );
        let config = run(&["config", "--json"]).json();
        let policy = &config["policy"];
        assert_eq!(
            [&config["problems"], &policy["problems"]],
            [&json!([]); 2],
            "{config}"
        );
        assert!(policy["files"].to_string().contains("p.toml"), "{config}");
    }
}
