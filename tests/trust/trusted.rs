//! `get_tools trust`: what it shows, what it writes down, and when that counts no longer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, executable, set_mode};

const SETTINGS: &str = ".gemini/settings.json";
const TOOL: &str = ".gemini/tools/deploy.sh";

fn project() -> Workspace {
    let ws = Workspace::new()
        .file(
            SETTINGS,
            r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server"]}}, "tools": {"allowed": ["glob"]}}"#,
        )
        .file(TOOL, "#!/bin/sh\n# /// tool\n# description = \"Deploys\"\n# ///\necho yes\n")
        .file("scripts/one", "the same")
        .file("scripts/two", "the same")
        .link(".gemini/tools/linked", "../../scripts/one");
    set_mode(&ws.dir().join(TOOL), 0o755);
    ws
}

fn trust(ws: &Workspace, args: &[&str]) -> Answer {
    ws.get_tools(&["trust"])
        .flags(args)
        .changing_at_home(&[".gemini"])
        .run()
}

fn status(ws: &Workspace) -> (i32, String) {
    let answer = ws.get_tools(&["trust", "--status"]).run();
    (answer.status(), answer.text().trim_end().to_owned())
}

#[track_caller]
fn recorded(ws: &Workspace) {
    let answer = trust(ws, &["--yes"]);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(status(ws).0, 0);
}

fn records(ws: &Workspace) -> Vec<PathBuf> {
    let dir = ws.root().join("home/.gemini/trusted_tools");
    let entries = fs::read_dir(dir).expect("the records").flatten();
    entries.map(|e| e.path()).collect()
}

#[test]
fn shows_what_can_run_and_counts_from_then_on() {
    let ws = project();
    assert_eq!(status(&ws), (1, "not trusted yet".to_owned()));
    let answer = trust(&ws, &["--yes"]);
    answer.must_say(
        answer.text(),
        &[
            TOOL,
            "description = \"Deploys\"",
            ".gemini/tools/linked",
            "      echo yes\n",
            "{\"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"server\"]}}",
            "\"allowed\": [\"glob\"]",
            "Trusted",
        ],
    );
    assert_eq!(status(&ws).0, 0);
    let again = trust(&ws, &["--yes"]);
    assert_eq!(again.status(), 0);
    let config = ws.get_tools(&["config"]).run();
    config.must_say(
        config.text(),
        &["mcpServers.files", "get_tools trust has recorded it"],
    );
    for file in records(&ws) {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).expect("a record").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn asks_and_takes_nothing_but_yes_for_an_answer() {
    let ws = project();
    let answer = trust(&ws, &[]);
    assert_eq!(answer.status(), 2, "{}", answer.shown());
    answer.must_say(&answer.errors(), &["--yes"]);
    assert!(!ws.root().join("home/.gemini").exists());
    let on_terminal = |said: &str, status: i32| {
        let call = ws.get_tools(&["trust"]).env("PAGER", "cat");
        let mut person = call.changing_at_home(&[".gemini"]).at_a_terminal();
        let shown = person.sees("[y/N] ");
        assert!(shown.contains("echo yes"), "{shown}");
        person.types(said.as_bytes());
        person.sees_it_end(status);
    };
    on_terminal("n\n", 1);
    on_terminal("\n", 1);
    assert_eq!(status(&ws).0, 1);
    on_terminal("y\n", 0);
    assert_eq!(status(&ws).0, 0);
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let ws = project();
    let pager = "cat; read -r line </dev/tty";
    let mut person = ws.get_tools(&["trust"]).env("PAGER", pager).at_a_terminal();
    person.sees("Deploys");
    // Of the two lines the pager takes the first, so that the second is there before the question.
    person.types(b"y\ny\n");
    person.sees("[y/N] ");
    person.types(b"n\n");
    person.sees_it_end(1);
    assert_eq!(status(&ws).0, 1);
}

#[test]
fn every_line_of_what_can_run_is_shown_by_the_users_pager() {
    let long = "x".repeat(5000);
    let ws = Workspace::new()
        .file(
            ".gemini/tools/a.sh",
            format!(
                "#!/bin/sh\n# /// tool\n# description = \"d\"\n# ///\n{}\ttouch {long}/pwn\n",
                "# nothing\n".repeat(500)
            ),
        )
        .file(".gemini/tools/lib/h", "evil() { rm -rf ~; }\n")
        .file(".gemini/tools/bin", b"\x7fELF\0".as_slice())
        .file(
            ".gemini/policies/p.toml",
            "[[rule]]\ntoolName = [\n  \"replace\",\n]\n",
        );
    let call = ws
        .get_tools(&["trust"])
        .env("PAGER", "tee seen >&2; echo paged");
    let mut person = call.unwatched().at_a_terminal();
    person.sees("paged");
    person.sees("[y/N] ");
    person.types(b"n\n");
    person.sees_it_end(1);
    let seen = fs::read_to_string(ws.dir().join("seen")).expect("what the pager got");
    for line in [
        &format!("      \ttouch {long}/pwn\n"),
        "      evil() { rm -rf ~; }\n",
        "      (a binary file of 5 bytes, which can't be shown)\n",
        "        \"replace\",\n",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    assert_eq!(seen.matches("# nothing").count(), 500);
}

#[test]
fn a_pager_of_the_project_is_not_started() {
    let ws = project().file("mine", "#!/bin/sh\ntouch pwned\n");
    set_mode(&ws.dir().join("mine"), 0o755);
    let path = format!(".::{}:/usr/bin:/bin", ws.dir().display());
    let call = ws.get_tools(&["trust"]).env("PATH", &path);
    let mut person = call.env("PAGER", "mine").at_a_terminal();
    person.sees("Deploys");
    person.sees("[y/N] ");
    person.types(b"n\n");
    person.sees_it_end(1);
    assert!(!ws.dir().join("pwned").exists());
}

#[test]
fn any_change_ends_it_with_a_message_that_names_the_file() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 8] = [
        (TOOL, |ws| {
            let text = fs::read_to_string(ws.join(TOOL)).expect("a tool");
            fs::write(ws.join(TOOL), text.replace("yes", "yep")).expect("written");
        }),
        (SETTINGS, |ws| {
            let text = fs::read_to_string(ws.join(SETTINGS)).expect("settings");
            fs::write(ws.join(SETTINGS), format!("{text} ")).expect("written");
        }),
        (".gemini/tools/new.toml", |ws| {
            fs::write(ws.join(".gemini/tools/new.toml"), "").expect("written");
        }),
        (TOOL, |ws| set_mode(&ws.join(TOOL), 0o711)),
        (".gemini/tools/linked", |ws| {
            let link = ws.join(".gemini/tools/linked");
            fs::remove_file(&link).expect("removed");
            std::os::unix::fs::symlink("../../scripts/two", link).expect("a link");
        }),
        (".gemini/tools/linked", |ws| {
            fs::write(ws.join("scripts/one"), "another").expect("written");
        }),
        (TOOL, |ws| fs::remove_file(ws.join(TOOL)).expect("removed")),
        (".gemini/policies", |ws| {
            fs::create_dir(ws.join(".gemini/policies")).expect("made");
        }),
    ];
    for (i, (name, change)) in changes.iter().enumerate() {
        let ws = project();
        recorded(&ws);
        change(&ws.dir());
        let (code, said) = status(&ws);
        assert_eq!(code, 1, "change {i}: {said}");
        assert!(
            said.contains("changed since get_tools trust") && said.contains(name),
            "{i}: {said}"
        );
        let config = ws.get_tools(&["config"]).run();
        assert!(
            !config.text().contains("mcpServers.files ="),
            "{}",
            config.text()
        );
        recorded(&ws);
    }
}

#[test]
fn the_same_content_again_counts_again_and_dates_alone_change_nothing() {
    let ws = project();
    recorded(&ws);
    let path = ws.dir().join(TOOL);
    let text = fs::read(&path).expect("a tool");
    fs::write(&path, b"other").expect("written");
    assert_eq!(status(&ws).0, 1);
    fs::write(&path, text).expect("written");
    assert_eq!(status(&ws).0, 0);
    crate::harness::set_age(&path, 100);
    assert_eq!(status(&ws).0, 0);
}

#[test]
fn a_batch_runs_nothing_that_has_changed_in_the_meantime() {
    let ws = project();
    recorded(&ws);
    let call = |id: &str, name: &str, args: Value| json!({"id": id, "name": name, "args": args});
    let calls = [
        call("1", "deploy", json!({})),
        call(
            "2",
            "write_file",
            json!({"file_path": "scripts/one", "content": "other"}),
        ),
        call("3", "deploy", json!({})),
    ];
    let lines: Vec<String> = calls.iter().map(Value::to_string).collect();
    let answer = ws
        .call_tool(&["--batch"])
        .input(lines.join("\n"))
        .unwatched()
        .run();
    let text = answer.text();
    let answers: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let response = |at: usize| &answers[at]["functionResponse"]["response"];
    assert_eq!(response(0)["output"], "yes", "{text}");
    assert_eq!(response(2)["errorType"], "policy_violation", "{text}");
}

#[test]
fn a_change_that_keeps_size_and_date_is_seen() {
    let ws = project();
    recorded(&ws);
    let path = ws.dir().join(TOOL);
    let modified = fs::metadata(&path)
        .expect("a tool")
        .modified()
        .expect("a date");
    let text = fs::read_to_string(&path).expect("a tool");
    fs::write(&path, text.replace("yes", "no!")).expect("written");
    let file = fs::File::open(&path).expect("a tool");
    file.set_modified(modified).expect("its date");
    assert_eq!(status(&ws).0, 1);
}

#[test]
fn trust_can_be_listed_and_taken_back() {
    let ws = project();
    recorded(&ws);
    let list = ws.get_tools(&["trust", "--list"]).run();
    list.must_say(
        list.text(),
        &[&format!("{}\n", ws.dir().display()), "unchanged; 3 files"],
    );
    let removed = trust(&ws, &["--remove"]);
    assert_eq!(removed.status(), 0, "{}", removed.shown());
    assert_eq!(status(&ws).0, 1);
    assert_eq!(
        trust(&ws, &["--remove"]).status(),
        1,
        "there is none any more"
    );
    recorded(&ws);
    assert_eq!(trust(&ws, &["--remove", &ws.path("")]).status(), 0);
    assert!(records(&ws).is_empty());
    assert_eq!(ws.get_tools(&["trust", "--list"]).run().text(), "");
}

#[test]
fn many_who_record_at_once_lose_nothing() {
    let mut ws = Workspace::new();
    for i in 0..8 {
        ws = ws.file(format!("p{i}/.gemini/tools/t"), "x");
    }
    let each = "for i in 0 1 2 3 4 5 6 7 0 1 2 3; do (cd p$i && \"$@\" >/dev/null) & done; wait";
    let call = ws
        .get_tools(&["trust", "--yes"])
        .changing_at_home(&[".gemini"]);
    let answer = call.in_bash(each).run();
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
    let list = ws.get_tools(&["trust", "--list"]).run();
    assert_eq!(
        list.text().matches("unchanged; 1 file\n").count(),
        8,
        "{}",
        list.text()
    );
    assert_eq!(records(&ws).len(), 8, "nothing else is left there");
}

#[test]
fn gemini_clis_list_of_folders_counts_and_its_refusal_beats_a_record() {
    let ws = project();
    recorded(&ws);
    let folders = |level: &str| {
        let path = ws.root().join("home/.gemini/trustedFolders.json");
        fs::write(path, format!("{{{:?}: {level:?}}}", ws.path(""))).expect("written");
    };
    folders("DO_NOT_TRUST");
    let (code, said) = status(&ws);
    assert!(code == 1 && said.contains("trustedFolders.json"), "{said}");
    let answer = trust(&ws, &["--yes"]);
    assert_eq!(answer.status(), 1, "a record can't change that");
    let helps = "Change the entry";
    answer.must_say(&answer.errors(), &[helps, "trustedFolders.json"]);
    assert_eq!(trust(&ws, &["--remove"]).status(), 0);
    folders("TRUST_FOLDER");
    assert_eq!(status(&ws).0, 0);
    folders("TRUST_EVERYBODY");
    let (code, said) = status(&ws);
    assert!(code == 1 && said.contains("TRUST_EVERYBODY"), "{said}");
    let elsewhere = ws.root().join("home/elsewhere.json");
    fs::write(
        &elsewhere,
        format!("{{{:?}: \"TRUST_PARENT\"}}", ws.path("x")),
    )
    .expect("written");
    let call = ws.get_tools(&["trust", "--status"]);
    let elsewhere = elsewhere.to_str().expect("text");
    assert_eq!(
        call.env("GEMINI_CLI_TRUSTED_FOLDERS_PATH", elsewhere)
            .run()
            .status(),
        0
    );
}

#[test]
fn a_refusal_beats_a_consent_wherever_it_stands() {
    let ws = project();
    let with = |value: &str| {
        let call = ws.get_tools(&["trust", "--status"]);
        let answer = call.env("GEMINI_CLI_TRUST_WORKSPACE", value).run();
        (answer.status(), answer.text().to_owned())
    };
    let folders = |text: &str| {
        let path = ws.root().join("home/.gemini/trustedFolders.json");
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    };
    let rule = |level: &str| format!("{{{:?}: {level:?}}}", ws.path(""));
    for (list, value, trusts, by) in [
        (rule("DO_NOT_TRUST"), "true", false, "trustedFolders.json"),
        (
            rule("TRUST_FOLDER"),
            "false",
            false,
            "GEMINI_CLI_TRUST_WORKSPACE",
        ),
        (
            rule("TRUST_FOLDER"),
            "true",
            true,
            "GEMINI_CLI_TRUST_WORKSPACE",
        ),
        (rule("TRUST_FOLDER"), "", true, "trustedFolders.json"),
        ("{".to_owned(), "true", false, "trustedFolders.json"),
        ("{}".to_owned(), "true", true, "GEMINI_CLI_TRUST_WORKSPACE"),
        ("{}".to_owned(), "", false, "not trusted yet"),
    ] {
        folders(&list);
        let (status, said) = with(value);
        assert_eq!(status == 0, trusts, "{list} {value}: {said}");
        assert!(said.contains(by), "{list} {value}: {said}");
    }
}

#[test]
fn the_environment_counts_before_a_record() {
    let ws = project();
    let with = |name: &str, value: &str| {
        let call = ws.get_tools(&["trust", "--status"]).env(name, value);
        call.run().status()
    };
    assert_eq!(with("GEMINI_CLI_TRUST_WORKSPACE", "true"), 0);
    assert_eq!(with("GEMINI_CLI_TRUST_WORKSPACE", "yes"), 1);
    recorded(&ws);
    assert_eq!(with("GEMINI_CLI_TRUST_WORKSPACE", "false"), 1);
    assert_eq!(with("GEMINI_RESTRICTED_MODE", "true"), 1);
    let call = ws.get_tools(&["trust", "--yes"]);
    let answer = call.env("GEMINI_RESTRICTED_MODE", "true").run();
    assert_eq!(answer.status(), 1);
    answer.must_say(&answer.errors(), &["Unset GEMINI_RESTRICTED_MODE"]);
}

#[test]
fn a_command_of_a_model_cannot_give_trust() {
    let ws = project();
    let call = ws.get_tools(&["trust", "--yes"]).env("GEMINI_CLI", "1");
    let answer = call.run();
    assert_eq!(answer.status(), 2, "{}", answer.shown());
    for variable in ["GEMINI_CLI", "QWEN_CODE"] {
        let call = ws.get_tools(&["trust", "--yes"]).unwatched();
        let shown = call.env(variable, "1").at_a_terminal().sees_it_end(2);
        assert!(shown.contains("a person can"), "{shown}");
    }
    let command = format!("'{}' trust --yes", executable("get_tools").display());
    let answer = ws.call(
        "run_shell_command",
        &serde_json::json!({"command": command}),
    );
    answer.must_say(&answer.output(), &["a person can"]);
    assert_eq!(status(&ws).0, 1);
}

#[test]
fn a_project_that_brings_nothing_has_nothing_to_trust() {
    let ws = Workspace::new().directory(".gemini/tools");
    let answer = trust(&ws, &["--yes"]);
    answer.must_say(answer.text(), &["nothing that needs trust"]);
    assert!(!ws.root().join("home/.gemini").exists());
}

#[test]
fn what_deceives_the_eye_is_shown_for_what_it_is() {
    let ws = Workspace::new().file(
        ".gemini/tools/a\u{202e}b.toml",
        "description = \"safe\u{200b}\u{e0041}\u{1b}[2J\"\n",
    );
    for args in [&["trust", "--yes"][..], &["config"]] {
        let answer = ws.get_tools(args).changing_at_home(&[".gemini"]).run();
        let text = answer.text();
        assert!(text.contains("a\\u{202e}b.toml"), "{text}");
        assert!(
            !text.contains(['\u{202e}', '\u{200b}', '\u{e0041}', '\u{1b}']),
            "{text}"
        );
    }
}

#[test]
fn a_record_that_others_can_write_or_nobody_can_read_trusts_nothing() {
    let ws = project();
    recorded(&ws);
    let [record] = &*records(&ws) else {
        panic!("one record");
    };
    set_mode(record, 0o666);
    let (code, said) = status(&ws);
    assert!(code == 1 && said.contains("others can write"), "{said}");
    fs::write(record, "garbage").expect("written");
    set_mode(record, 0o600);
    assert_eq!(status(&ws).0, 1);
    recorded(&ws);
}
