//! `get_tools init`: what it changes, what it leaves alone, and the way back.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::tree::Tree;
use crate::harness::{Answer, Workspace, copy_program, executable, place_executable, set_mode};

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

/// What an undo says that leaves something.
#[track_caller]
fn left(ws: &Workspace) -> String {
    let answer = init(ws, &["--undo", "--yes"]);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    answer.text().to_owned()
}

/// [`done`], in a project that was trusted before.
#[track_caller]
fn done_trusted(ws: &Workspace, args: &[&str]) -> String {
    let call = ws.get_tools(&["init"]).flags(args).unwatched();
    let answer = call.env("GEMINI_CLI_TRUST_WORKSPACE", "true").run();
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

/// The path of an executable as it is in settings: of a checkout the launcher.
fn command(name: &str) -> String {
    let own = executable(name);
    let mut launchers = own.ancestors().map(|dir| dir.join("bin").join(name));
    let launcher = launchers.find(|file| file.is_file());
    launcher
        .unwrap_or_else(|| own.clone())
        .display()
        .to_string()
}

/// `get_tools` as discovery's line has it, which is split into words.
fn discovery() -> String {
    let path = command("get_tools");
    shlex::try_quote(&path).expect("a path").into_owned()
}

#[test]
fn a_new_project_gets_commands_a_rule_and_trust_and_all_of_it_works() {
    let ws = Workspace::new();
    let text = done(&ws, &["--yes", "--trust"]);
    for said in [
        "settings.json (new)",
        "+    \"discoveryCommand\"",
        "trustedFolders.json (new)",
        "get_tools doctor",
        "init --undo takes it back",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(
        settings(&ws),
        json!({"tools": {"discoveryCommand": discovery(), "callCommand": command("call_tool")}})
    );
    assert_eq!(ws.get_tools(&["trust", "--status"]).run().status(), 0);
}

#[test]
fn the_usual_case_is_short_and_ends_with_what_to_do_next() {
    let ws = Workspace::new();
    let own = executable("get_tools");
    let directory = own.parent().expect("a directory").display();
    let call = ws.get_tools(&["init", "--yes"]).unwatched();
    let answer = call
        .env("PATH", &format!("{directory}:/usr/bin:/bin"))
        .run();
    let said = answer.text();
    assert!(said.lines().count() <= 25, "{said}");
    for next in [
        "Next: get_tools init --trust",
        "then: get_tools doctor",
        "Use discovered_tool_read_file",
    ] {
        assert!(said.contains(next), "{next}: {said}");
    }
    let said = done(&Workspace::new(), &["--yes", "--trust"]);
    assert!(said.contains("Next: get_tools doctor"), "{said}");
}

#[test]
fn a_rule_for_all_projects_names_the_users_tools_and_no_projects() {
    let tool = "description = \"d\"\nread_only = true\ncommand = [\"true\"]\n";
    let ws = Workspace::new()
        .file(".gemini/tools/theirs.toml", tool)
        .home(".gemini/tools/mine.toml", tool);
    let said = done_trusted(&ws, &["--yes", "--allow", "all"]);
    assert!(said.contains("discovered_tool_mine"), "{said}");
    assert!(!said.contains("discovered_tool_theirs"), "{said}");
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
    let names_in = |rule: &toml::Value| -> Vec<String> {
        let list = rule["toolName"].as_array().expect("a list");
        list.iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect()
    };
    let names = |rules: &toml::Value| names_in(&rules["rule"][0]);
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
    let all = rules(&["--yes", "--allow", "all"]).expect("rules");
    assert!(names(&all).contains(&"discovered_tool_web_fetch".to_owned()));
    // A rule without modes counts in Plan mode too.
    assert!(all["rule"][0].get("modes").is_none());
    let changing = &all["rule"][1];
    let modes = changing["modes"].as_array().expect("a list").iter();
    let modes: Vec<&str> = modes.filter_map(|mode| mode.as_str()).collect();
    assert_eq!(modes, ["default", "autoEdit", "yolo"]);
    for changes in ["write_file", "run_shell_command", "save_memory"] {
        let name = format!("discovered_tool_{changes}");
        assert!(!names(&all).contains(&name) && names_in(changing).contains(&name));
    }
    assert_eq!(rules(&["--yes", "--allow", "none"]), None);
}

#[test]
fn a_second_time_changes_nothing() {
    for args in [&["--yes", "--trust"][..], &["--yes", "--user"]] {
        let ws = Workspace::new();
        done(&ws, args);
        let before = Tree::of(ws.root());
        assert_eq!(done(&ws, args), "All is in place already.\n");
        unchanged(&before, &ws);
    }
}

#[test]
fn undo_leaves_everything_as_it_was() {
    let mine =
        "{\r\n  // mine\r\n  \"theme\": \"x\",\r\n  \"tools\": { \"core\": [\"a\"] } // last\r\n}";
    for args in [
        &["--yes", "--trust"][..],
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
        let first = ["--allow", "all", "--trust"];
        let args = args.iter().filter(|arg| !first.contains(arg));
        let undo: Vec<&str> = ["--undo"].into_iter().chain(args.copied()).collect();
        done(&ws, &undo);
        unchanged(&before, &ws);
        assert_eq!(done(&ws, &undo), "There is nothing to undo here.\n");
    }
}

#[test]
fn a_file_that_two_projects_share_goes_with_the_last_of_them() {
    for order in [["ws", "ws-sibling"], ["ws-sibling", "ws"]] {
        let ws = Workspace::new().sibling("a", "");
        let before = Tree::of(ws.root());
        let run = |directory: &str, args: &[&str]| {
            let call = ws.get_tools(&["init", "--yes"]).flags(args).unwatched();
            let answer = call
                .in_bash(&format!("cd ../{directory} && exec \"$@\""))
                .run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
        };
        run("ws", &["--trust"]);
        run("ws-sibling", &["--trust"]);
        run(order[0], &["--undo"]);
        let folders = read(ws.root().join("home/.gemini/trustedFolders.json"));
        assert_eq!(folders.matches("TRUST_FOLDER").count(), 1, "{folders}");
        run(order[1], &["--undo"]);
        unchanged(&before, &ws);
    }
}

#[test]
fn undo_takes_its_commands_out_of_edited_settings_and_leaves_edited_rules() {
    let before = "{\"tools\": {\"callCommand\": \"mine\"}}\n";
    let ws = Workspace::new().file(SETTINGS, before);
    done(&ws, &["--yes"]);
    let path = ws.dir().join(SETTINGS);
    let backup = ws.dir().join(".gemini/settings.json.before-init");
    assert_eq!(read(&backup), before);
    let edited = |text: &str| text.replacen('{', "{\n  // new\n  \"theme\": \"y\",\n  ", 1);
    fs::write(&path, edited(&read(&path))).expect("written");
    let rules = fs::read_dir(ws.root().join(RULES))
        .expect("rules")
        .flatten();
    let rules = rules.map(|entry| entry.path()).next().expect("a file");
    let written = read(&rules);
    fs::write(&rules, written.replace("= 100", "= 200")).expect("written");
    let text = left(&ws);
    for words in [
        ".toml stays: it was edited since.\n",
        "settings.json.before-init stays: not all of its lines are still in ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(read(&path), edited(before));
    assert_eq!(read(&backup), before);
    assert!(read(&rules).contains("priority = 200"));
    // As init left it, it goes.
    fs::write(&rules, written).expect("written");
    done(&ws, &["--undo", "--yes"]);
    assert!(!rules.exists());
    // With its lines back, nothing of the copy would be lost.
    fs::write(&path, before).expect("written");
    done(&ws, &["--undo", "--yes"]);
    assert!(!backup.exists());
}

#[test]
fn undo_names_the_key_and_the_copy_where_what_it_put_there_is_no_longer_so() {
    let ws = Workspace::new().file(SETTINGS, "{\"tools\": {\"callCommand\": \"mine\"}}\n");
    done(&ws, &["--yes"]);
    let path = ws.dir().join(SETTINGS);
    let edited = "{\"tools\": {\"callCommand\": \"another\"}}\n";
    fs::write(&path, edited).expect("written");
    let text = left(&ws);
    for words in [
        "settings.json stays: tools.callCommand is not as init wrote it; change ",
        "tools.callCommand by hand.",
        "What was there before is in ",
        "settings.json.before-init.\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(read(&path), edited);
}

#[test]
fn undo_keeps_the_copy_of_settings_that_were_deleted_since() {
    let before = "{\"theme\": \"mine\"}\n";
    let ws = Workspace::new().file(SETTINGS, before);
    done(&ws, &["--yes"]);
    fs::remove_file(ws.dir().join(SETTINGS)).expect("removed");
    let text = done(&ws, &["--undo", "--yes"]);
    assert!(
        text.contains("settings.json was deleted since. What was there before is in "),
        "{text}"
    );
    let backup = ws.dir().join(".gemini/settings.json.before-init");
    assert_eq!(read(backup), before);
}

#[test]
fn undo_goes_on_past_a_file_that_it_can_not_read() {
    let ws = Workspace::new();
    done(&ws, &["--yes", "--trust"]);
    let folders = ws.root().join("home/.gemini/trustedFolders.json");
    fs::write(&folders, "{ broken").expect("written");
    let text = left(&ws);
    assert!(
        text.contains("trustedFolders.json stays: line 1, ") && text.contains(" by hand."),
        "{text}"
    );
    assert!(!ws.dir().join(SETTINGS).exists());
    assert_eq!(read(folders), "{ broken");
}

#[test]
fn a_run_that_failed_spoils_neither_the_next_nor_the_way_back() {
    for (host, file, text) in [
        (
            "gemini",
            SETTINGS,
            "{\"toolCallCommand\": \"foreign\", \"a\": 1}",
        ),
        (
            "gemini",
            SETTINGS,
            "{\"tools\": {\"callCommand\": \"foreign\"}}\n",
        ),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": null}\n"),
        (
            "claude",
            ".mcp.json",
            "{\"mcpServers\": {\"gemini-tools\": {\"url\": \"x\"}}}",
        ),
    ] {
        // With the copy in place, as if it was ended just after that, and without.
        for is_copied in [false, true] {
            let ws = Workspace::new().file(file, text).unprivileged();
            let before = Tree::of(ws.root());
            let path = ws.dir().join(file);
            let args = ["--yes", "--project", "--host", host];
            let directory = path.parent().expect("a directory");
            set_mode(directory, 0o555);
            assert_eq!(init(&ws, &args).status(), 1, "{file}");
            set_mode(directory, 0o755);
            assert_eq!(read(&path), text);
            let copy = ws.dir().join(format!("{file}.before-init"));
            if is_copied {
                fs::write(&copy, text).expect("written");
            }
            if !is_copied {
                done(&ws, &[&args[..], &["--undo"]].concat());
                unchanged(&before, &ws);
                set_mode(directory, 0o555);
                assert_eq!(init(&ws, &args).status(), 1, "{file}");
                set_mode(directory, 0o755);
            }
            done(&ws, &args);
            assert_eq!(read(&copy), text);
            assert_ne!(read(&path), text);
            done(&ws, &[&args[..], &["--undo"]].concat());
            unchanged(&before, &ws);
        }
    }
}

#[test]
fn a_file_where_the_copy_is_to_be_is_not_overwritten() {
    let copy = ".gemini/settings.json.before-init";
    let ws = Workspace::new().file(SETTINGS, "{}\n").file(copy, "mine");
    let before = Tree::of(ws.root());
    let answer = ws.get_tools(&["init", "--yes"]).unwatched().run();
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    answer.must_say(
        &answer.errors(),
        &[
            copy,
            "init keeps its copy of the settings under this name; move this file away",
        ],
    );
    unchanged(&before, &ws);
}

#[test]
fn a_project_that_brings_something_is_not_trusted_by_the_way() {
    let ws = Workspace::new().file(
        ".gemini/tools/evil.toml",
        "description = \"d\"\nscript = 'touch ran'\n",
    );
    let text = done(&ws, &["--yes", "--trust"]);
    assert!(text.contains("This project is not trusted"), "{text}");
    assert!(!ws.root().join("home/.gemini/trustedFolders.json").exists());
    assert_eq!(ws.get_tools(&["trust", "--status"]).run().status(), 1);
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

const QUESTION: &str = "Make these changes? [y/N]";

/// Has a person answer the question of `init`; gives what is shown.
#[track_caller]
fn answered(ws: &Workspace, args: &[&str], answer: &str, code: i32) -> String {
    let call = ws.get_tools(&["init"]).flags(args).unwatched();
    let mut person = call.env("TERM", "xterm").at_a_terminal();
    let shown = person.sees(QUESTION);
    person.types(answer.as_bytes());
    shown + &person.sees_it_end(code)
}

const RULES: &str = "home/.gemini/policies";

#[test]
fn a_person_sees_all_changes_and_agrees_to_them_or_to_none() {
    for answer in ["\n", "n\n", "what\n", "\u{4}"] {
        let ws = Workspace::new();
        let before = Tree::of(ws.root());
        let said = answered(&ws, &[], answer, 1);
        assert!(said.contains("Nothing was done"), "{answer:?}: {said}");
        unchanged(&before, &ws);
    }
    let ws = Workspace::new();
    let before = Tree::of(ws.root());
    let said = answered(&ws, &[], "y\n", 0);
    for shown in ["discoveryCommand", "[[rule]]", "get_tools init --trust"] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
    assert!(ws.dir().join(SETTINGS).exists() && ws.root().join(RULES).exists());
    let trusted = ws.root().join("home/.gemini/trustedFolders.json");
    assert!(!trusted.exists());
    let said = answered(&ws, &["--trust"], "y\n", 0);
    assert!(said.contains("TRUST_FOLDER") && trusted.exists(), "{said}");
    // What is taken back is asked about too.
    answered(&ws, &["--undo"], "n\n", 1);
    assert!(ws.dir().join(SETTINGS).exists() && ws.root().join(RULES).exists());
    answered(&ws, &["--undo"], "yes\n", 0);
    unchanged(&before, &ws);
}

#[test]
fn diffs_have_colours_for_people() {
    let shown = |variable: (&str, &str)| {
        let ws = Workspace::new();
        let call = ws.get_tools(&["init"]).unwatched().env("TERM", "xterm");
        let mut person = call.env(variable.0, variable.1).at_a_terminal();
        let shown = person.sees(QUESTION);
        person.types(b"n\n");
        person.sees_it_end(1);
        shown
    };
    let coloured = shown(("NONE", ""));
    assert!(coloured.contains("\u{1b}[32m+{\u{1b}[0m"), "{coloured:?}");
    let plain = shown(("NO_COLOR", "1"));
    assert!(
        plain.contains("\n+{") && !plain.contains('\u{1b}'),
        "{plain:?}"
    );
    let call = Workspace::new();
    let call = call.get_tools(&["init", "--yes"]).unwatched();
    let forced = call.env("CLICOLOR_FORCE", "1").run();
    forced.must_say(forced.text(), &["\u{1b}[32m+{"]);
    let piped = done(&Workspace::new(), &["--yes"]);
    assert!(!piped.contains('\u{1b}'), "{piped:?}");
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
fn a_project_that_holds_the_users_files_is_told_so() {
    let ws = Workspace::new().file(SETTINGS, "{}\n");
    let users = ws.root().join("home/.gemini");
    fs::create_dir_all(ws.root().join("home")).expect("a home");
    std::os::unix::fs::symlink(ws.dir().join(".gemini"), users).expect("a link");
    let answer = ws.get_tools(&["init", "--yes"]).run();
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    let stderr = answer.errors();
    answer.must_say(
        &stderr,
        &["not a file of this project alone", "get_tools init --user"],
    );
}

#[track_caller]
fn refused(ws: &Workspace, args: &[&str], link: &str, real: &str) {
    let call = ws.get_tools(&["init"]).flags(args);
    let answer = call.env("GEMINI_CLI_TRUST_WORKSPACE", "true").run();
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    let stderr = answer.errors();
    let real = format!("it is {}", ws.root().join(real).display());
    answer.must_say(&stderr, &[link, &real, "is not a file of this project"]);
}

#[test]
fn a_link_out_of_the_project_is_refused_and_nothing_is_written_there() {
    let ws = Workspace::new()
        .home(".gemini/settings.json", "{}")
        .link(".gemini", "../home/.gemini");
    refused(
        &ws,
        &["--yes"],
        ".gemini/settings.json",
        "home/.gemini/settings.json",
    );
    let ws = Workspace::new()
        .home(".gemini/settings.json", "{}")
        .link(SETTINGS, "../../home/.gemini/settings.json");
    refused(&ws, &["--yes"], SETTINGS, "home/.gemini/settings.json");
    let ws = Workspace::new()
        .outside("settings.json", "{}")
        .link(SETTINGS, "../../out/settings.json");
    refused(&ws, &["--yes"], SETTINGS, "out/settings.json");
    let ws = Workspace::new().link(".gemini", "nowhere");
    let answer = ws.get_tools(&["init", "--yes"]).run();
    let stderr = answer.errors();
    answer.must_say(&stderr, &[".gemini", "it is a link that leads nowhere"]);
}

#[test]
fn the_way_back_does_not_lead_through_a_link_that_came_later() {
    let ws = Workspace::new();
    done(&ws, &["--yes"]);
    let gemini = ws.dir().join(".gemini");
    fs::rename(&gemini, ws.root().join("out")).expect("moved");
    std::os::unix::fs::symlink("../out", &gemini).expect("a link");
    refused(&ws, &["--undo", "--yes"], SETTINGS, "out/settings.json");
}

#[test]
fn a_link_within_the_project_is_followed_and_where_it_leads_is_shown() {
    let ws = Workspace::new()
        .directory("config")
        .link(".gemini", "config");
    let text = done(&ws, &["--yes"]);
    let real = ws.dir().join("config/settings.json");
    let shown = format!("settings.json (new), which is {}", real.display());
    assert!(text.contains(&shown), "{text}");
    assert!(read(real).contains("discoveryCommand"));
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
    let note = "which others who share the project don't have";
    assert!(!answer.text().contains(note), "{}", answer.shown());
    // Where one of the two leads elsewhere, both have their paths, and that is said.
    let ws = Workspace::new().file("bin/call_tool", FOREIGN);
    crate::harness::set_mode(&ws.dir().join("bin/call_tool"), 0o755);
    let path = format!("{}:{path}", ws.path("bin"));
    let call = ws.get_tools(&["init", "--yes"]).env("PATH", &path);
    let answer = call.unwatched().run();
    answer.must_say(answer.text(), &[note, "get_tools init --user"]);
    let tools = &settings(&ws)["tools"];
    assert_eq!(tools["discoveryCommand"], discovery());
    assert_eq!(tools["callCommand"], command("call_tool"));
}

/// Copies of the two executables, in a directory below the workspace's root.
fn installed(ws: &Workspace, name: &str) -> PathBuf {
    let directory = ws.root().join(name);
    fs::create_dir_all(&directory).expect("a directory");
    for program in ["get_tools", "call_tool"] {
        copy_program(&executable(program), &directory.join(program));
    }
    directory
}

/// `init` by the executable in a directory.
fn init_from(ws: &Workspace, directory: &Path, args: &[&str]) -> Answer {
    let call = ws.program(&directory.join("get_tools"), &["init"]);
    call.flags(args).unwatched().run()
}

const FOREIGN: &str = "#!/bin/sh\necho '[]'\n";

/// A project with another program's pair that is called as ours is.
fn with_foreign_pair(settings: &str) -> Workspace {
    let ws = Workspace::new()
        .file("bin/get_tools", FOREIGN)
        .file("bin/call_tool", FOREIGN)
        .file(SETTINGS, settings);
    for name in ["bin/get_tools", "bin/call_tool"] {
        crate::harness::set_mode(&ws.dir().join(name), 0o755);
    }
    ws
}

#[test]
fn what_gemini_cli_obeys_in_a_trusted_directory_keeps_it_untrusted() {
    for name in [
        ".env",
        ".gemini/.env",
        ".gemini/commands/a.toml",
        ".gemini/agents/a.md",
        ".gemini/skills/a/SKILL.md",
        ".gemini/extensions/a/gemini-extension.json",
        ".gemini/hooks/a.sh",
        ".gemini/sandbox.Dockerfile",
        ".gemini/sandbox-macos-custom.sb",
        ".gemini/system.md",
        ".gemini/of-a-later-version",
        ".gemini/settings.json",
        ".agents/skills/a/SKILL.md",
    ] {
        let text = if name.ends_with("json") {
            "{}"
        } else {
            "A=b\n"
        };
        let ws = Workspace::new().file(name, text);
        let said = done(&ws, &["--yes", "--trust"]);
        assert!(
            said.contains("This project is not trusted"),
            "{name}: {said}"
        );
        let brought: Vec<&str> = name.split('/').take(2).collect();
        assert!(
            said.contains(&format!("what it brings: {}", brought.join("/"))),
            "{name}: {said}"
        );
        assert!(
            said.contains("GEMINI_CLI_TRUST_WORKSPACE=true. Then: get_tools doctor\nThen try:"),
            "{said}"
        );
        assert!(
            !ws.root().join("home/.gemini/trustedFolders.json").exists(),
            "{name}"
        );
    }
}

#[test]
fn an_env_file_above_the_project_keeps_it_untrusted_but_the_users_own_does_not() {
    let below = |ws: &Workspace, name: &str| {
        let directory = ws.root().join(name);
        fs::create_dir_all(&directory).expect("a directory");
        let script = format!("cd '{}' && exec \"$@\"", directory.display());
        let call = ws.get_tools(&["init", "--yes", "--trust"]).in_bash(&script);
        let answer = call.unwatched().run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        answer.text().to_owned()
    };
    for name in [".env", ".gemini/.env"] {
        let ws = Workspace::new().file(name, "A=b\n").directory(".git");
        let said = below(&ws, "ws/deep/project");
        let named = format!("what it brings: {}.", ws.path(name));
        assert!(said.contains(&named), "{said}");
        let ws = Workspace::new().home(name, "A=b\n");
        let said = below(&ws, "home/project");
        assert!(said.contains("From now on Gemini CLI"), "{said}");
    }
}

#[test]
fn texts_for_the_model_and_what_init_wrote_do_not_keep_a_project_untrusted() {
    let ws = Workspace::new()
        .file("GEMINI.md", "Be kind.\n")
        .file(".gemini/GEMINI.md", "Be kind.\n");
    let said = done(&ws, &["--yes"]);
    assert!(said.contains("Next: get_tools init --trust"), "{said}");
    let folders = ws.root().join("home/.gemini/trustedFolders.json");
    assert!(
        !folders.exists(),
        "nothing is trusted unless that is asked for"
    );
    let said = done(&ws, &["--yes", "--trust"]);
    assert!(said.contains("From now on Gemini CLI"), "{said}");
    assert!(!said.contains("does not trust this directory"), "{said}");
    assert!(folders.exists());
}

#[test]
fn commands_of_others_are_not_harmless_because_init_edited_the_file() {
    let ws = Workspace::new().file(
        SETTINGS,
        "{\"mcpServers\": {\"a\": {\"command\": \"evil\"}}}\n",
    );
    done(&ws, &["--yes"]);
    let said = done(&ws, &["--yes", "--allow", "all", "--trust"]);
    assert!(
        said.contains("what it brings: .gemini/settings.json"),
        "{said}"
    );
    assert!(!ws.root().join("home/.gemini/trustedFolders.json").exists());
}

#[test]
fn a_foreign_pair_with_our_names_is_named_with_the_way_to_keep_it() {
    for (discovery, call) in [
        ("bin/get_tools", "bin/call_tool"),
        ("./bin/get_tools --all", "./bin/call_tool"),
        ("/elsewhere/get_tools", "/elsewhere/call_tool"),
    ] {
        let old = json!({"tools": {"discoveryCommand": discovery, "callCommand": call}});
        let ws = with_foreign_pair(&old.to_string());
        let said = done(&ws, &["--yes"]);
        for piece in [
            format!("tools.discoveryCommand was \"{discovery}\"."),
            format!("tools.callCommand was \"{call}\"."),
            "as discovery_command and call_command".to_owned(),
        ] {
            assert!(said.contains(&piece), "{piece}: {said}");
        }
        assert_eq!(
            settings(&ws)["tools"]["discoveryCommand"],
            self::discovery()
        );
    }
    // By their names on the PATH.
    let ws = with_foreign_pair(
        "{\"tools\": {\"discoveryCommand\": \"get_tools\", \"callCommand\": \"call_tool\"}}",
    );
    let path = format!("{}:/usr/bin:/bin", ws.path("bin"));
    let call = ws.get_tools(&["init", "--yes"]).env("PATH", &path);
    let answer = call.unwatched().run();
    answer.must_say(
        answer.text(),
        &["tools.discoveryCommand was \"get_tools\"."],
    );
}

#[test]
fn options_of_our_own_discovery_command_stay() {
    let own = discovery();
    for (before, after) in [
        (
            "get_tools --exclude 'run_shell_command'",
            format!("{own} --exclude 'run_shell_command'"),
        ),
        (
            &*format!("{own} --only  read_file"),
            format!("{own} --only  read_file"),
        ),
    ] {
        let old = json!({"tools": {"discoveryCommand": before, "callCommand": "call_tool"}});
        let ws = Workspace::new().file(SETTINGS, old.to_string());
        let call = ws
            .get_tools(&["init", "--yes"])
            .env("PATH", "/usr/bin:/bin");
        assert_eq!(call.unwatched().run().status(), 0);
        assert_eq!(
            settings(&ws)["tools"],
            json!({"discoveryCommand": after, "callCommand": command("call_tool")})
        );
    }
}

#[test]
fn allowing_none_takes_the_rules_away() {
    let ws = Workspace::new();
    let before = Tree::of(ws.root());
    done(&ws, &["--yes", "--allow", "all"]);
    let policies = ws.root().join("home/.gemini/policies");
    let rules = fs::read_dir(&policies)
        .expect("rules")
        .flatten()
        .next()
        .expect("a file")
        .path();
    let said = done(&ws, &["--yes", "--allow", "none"]);
    assert!(said.contains("(removed)") && !rules.exists(), "{said}");
    assert_eq!(
        done(&ws, &["--yes", "--allow", "none"]),
        "All is in place already.\n"
    );
    done(&ws, &["--yes", "--allow", "all"]);
    fs::write(&rules, read(&rules).replace("100", "101")).expect("written");
    let said = done(&ws, &["--yes", "--allow", "none"]);
    assert!(
        said.contains("All is in place") || said.contains("was edited since"),
        "{said}"
    );
    assert!(rules.exists());
    fs::remove_file(&rules).expect("removed");
    done(&ws, &["--undo", "--yes"]);
    unchanged(&before, &ws);
}

#[test]
fn keys_of_old_go_and_what_they_said_is_told() {
    let old = "{\n  \"toolDiscoveryCommand\": \"./old list\",\n  \"toolCallCommand\": \"./old-call\",\n  \"theme\": \"x\"\n}\n";
    let ws = Workspace::new().file(SETTINGS, old);
    let before = Tree::of(ws.root());
    let said = done(&ws, &["--yes"]);
    for gone in ["\"./old list\"", "\"./old-call\""] {
        assert!(said.contains(gone), "{gone}: {said}");
    }
    assert_eq!(
        settings(&ws),
        json!({"theme": "x", "tools": {"discoveryCommand": discovery(), "callCommand": command("call_tool")}})
    );
    done(&ws, &["--undo", "--yes"]);
    unchanged(&before, &ws);
}

#[test]
fn settings_that_gemini_cli_refuses_are_named_with_the_line() {
    for (text, said) in [
        ("\u{feff}{}\n", "byte order mark"),
        ("{\n  \"theme\": \"x\", // last\n}\n", "line 2"),
        ("{\n  'theme': \"x\"\n}\n", "line 2"),
        ("{\n\n  theme: \"x\"\n}\n", "line 3"),
    ] {
        let ws = Workspace::new().file(SETTINGS, text);
        let answer = ws.get_tools(&["init", "--yes"]).run();
        assert_eq!(answer.status(), 1, "{text}");
        let stderr = answer.errors();
        answer.must_say(
            &stderr,
            &["settings.json: ", "Gemini CLI can't read it", said],
        );
    }
}

#[test]
fn what_gemini_cli_does_not_trust_is_said_at_the_end() {
    let ws = Workspace::new();
    let said = done(&ws, &["--yes", "--user"]);
    assert!(said.contains("does not trust this directory yet"), "{said}");
    assert!(said.contains("GEMINI_CLI_TRUST_WORKSPACE=true"), "{said}");
    // Our own record is nothing to Gemini CLI.
    let ws = Workspace::new().file(
        ".gemini/tools/own.toml",
        "description = \"d\"\ncommand = [\"true\"]\n",
    );
    assert_eq!(
        ws.get_tools(&["trust", "--yes"]).unwatched().run().status(),
        0
    );
    let said = done(&ws, &["--yes"]);
    assert!(said.contains("does not trust this directory yet"), "{said}");
    let ws = Workspace::new().home(
        ".gemini/settings.json",
        "{\"security\": {\"folderTrust\": {\"enabled\": false}}}",
    );
    let said = done(&ws, &["--yes", "--user"]);
    assert!(!said.contains("does not trust this directory"), "{said}");
}

#[test]
fn undo_takes_the_commands_of_an_earlier_place_back_too() {
    let ws = Workspace::new();
    let (first, second) = (installed(&ws, "out/first"), installed(&ws, "out/second"));
    assert_eq!(init_from(&ws, &first, &["--yes"]).status(), 0);
    let answer = init_from(&ws, &second, &["--yes"]);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    let now = settings(&ws);
    assert_eq!(
        now["tools"]["callCommand"],
        second.join("call_tool").display().to_string()
    );
    assert_eq!(init_from(&ws, &second, &["--yes", "--undo"]).status(), 0);
    assert!(!ws.dir().join(SETTINGS).exists());
}

#[test]
fn the_chosen_file_of_trusted_folders_is_the_one_that_is_changed() {
    let ws = Workspace::new();
    let chosen = ws.outside_path("folders.json");
    let init = |args: &[&str]| {
        let call = ws.get_tools(&["init", "--yes"]).flags(args);
        let call = call.env("GEMINI_CLI_TRUSTED_FOLDERS_PATH", &chosen);
        let answer = call.unwatched().run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
    };
    init(&["--trust"]);
    assert!(read(&chosen).contains("TRUST_FOLDER"));
    assert!(!ws.root().join("home/.gemini/trustedFolders.json").exists());
    init(&["--undo"]);
    assert!(!Path::new(&chosen).exists());
}

#[test]
fn a_link_to_settings_that_are_not_there_is_refused() {
    let ws = Workspace::new().link(SETTINGS, "../dotfiles/settings.json");
    let answer = ws.get_tools(&["init", "--yes"]).run();
    assert_eq!(answer.status(), 1);
    let stderr = answer.errors();
    answer.must_say(&stderr, &["settings.json: it is a link that leads nowhere"]);
}

#[test]
fn one_command_of_a_pair_alone_is_said_to_go() {
    let own = discovery();
    for (tools, gone) in [
        (
            json!({"discoveryCommand": own, "callCommand": "./mine"}),
            "tools.callCommand was \"./mine\"",
        ),
        (
            json!({"discoveryCommand": "./mine --all"}),
            "tools.discoveryCommand was \"./mine --all\"",
        ),
    ] {
        let old = json!({ "tools": tools }).to_string();
        let ws = Workspace::new().file(SETTINGS, &old);
        let said = done(&ws, &["--yes"]);
        assert!(said.contains(gone), "{said}");
        done(&ws, &["--undo", "--yes"]);
        assert_eq!(read(ws.dir().join(SETTINGS)), old);
    }
    let both = json!({"tools": {"discoveryCommand": own, "callCommand": command("call_tool")}});
    let ws = Workspace::new().file(SETTINGS, both.to_string());
    let said = done(&ws, &["--yes"]);
    assert!(!said.contains("To keep the tools"), "{said}");
}

#[test]
fn a_directory_that_holds_the_home_is_not_trusted_by_the_way() {
    let ws = Workspace::new();
    let mut call = ws.get_tools(&["init", "--yes"]).command();
    let output = call.current_dir(ws.root()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("Your home directory lies in this one"),
        "{said}"
    );
    assert!(!ws.root().join("home/.gemini/trustedFolders.json").exists());
}

#[test]
fn launchers_of_a_checkout_that_builds_elsewhere_are_ours() {
    let ws = Workspace::new();
    let bin = ws.root().join("checkout/bin");
    fs::create_dir_all(&bin).expect("a directory");
    for name in ["launch.sh", "get_tools", "call_tool"] {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("bin").join(name);
        copy_program(&own, &bin.join(name));
    }
    let named = json!({"tools": {"discoveryCommand": bin.join("get_tools"), "callCommand": bin.join("call_tool")}});
    let ws = ws.file(SETTINGS, named.to_string());
    let target = executable("get_tools")
        .parent()
        .expect("a directory")
        .display()
        .to_string();
    let call = ws
        .get_tools(&["init", "--yes"])
        .env("CARGO_TARGET_DIR", &target);
    let answer = call.unwatched().run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(settings(&ws), named);
}

#[test]
fn a_checkout_is_named_by_its_launchers_for_whatever_target_it_was_built() {
    for place in ["target/release", "target/x86_64-unknown-linux-musl/release"] {
        let ws = Workspace::new();
        let checkout = ws.root().join("checkout");
        let (bin, built) = (checkout.join("bin"), checkout.join(place));
        for directory in [&bin, &built] {
            fs::create_dir_all(directory).expect("a directory");
        }
        for name in ["launch.sh", "get_tools", "call_tool"] {
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("bin").join(name);
            copy_program(&own, &bin.join(name));
        }
        let program = built.join("get_tools");
        place_executable("get_tools", &program);
        let answer = ws.program(&program, &["init", "--yes"]).unwatched().run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        let named = &settings(&ws)["tools"]["discoveryCommand"];
        assert_eq!(named, &json!(bin.join("get_tools")), "{place}");
    }
}
