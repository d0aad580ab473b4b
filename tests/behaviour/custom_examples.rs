//! The tools in `examples/tools`, each called as its user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::custom::skipped;
use crate::harness::web_server::{WebServer, page, status};
use crate::harness::{Answer, Workspace, set_mode};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools")
}

/// A workspace whose user has all examples.
fn workspace() -> Workspace {
    let mut ws = Workspace::new();
    for entry in fs::read_dir(examples()).expect("the examples") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let to = format!(".gemini/tools/{name}");
        ws = ws.home(&to, fs::read(&path).expect("readable"));
        let extension = path.extension().unwrap_or_default();
        if extension != "toml" && extension != "md" {
            set_mode(&ws.root().join("home").join(&to), 0o755);
        }
    }
    ws
}

/// Whether a program runs here; says so where it does not.
fn has(program: &str) -> bool {
    let runs = Command::new(program).arg("--version").output();
    let is_there = runs.is_ok_and(|run| run.status.success());
    if !is_there {
        skipped(&format!("there is no {program}"));
    }
    is_there
}

#[track_caller]
fn call(ws: &Workspace, tool: &str, arguments: &Value) -> Answer {
    let call = ws.tool(tool).arguments(arguments);
    // Where tests are run, caches may be written.
    call.unwatched().run()
}

#[track_caller]
fn output(ws: &Workspace, tool: &str, arguments: &Value) -> Value {
    let text = call(ws, tool, arguments).output();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn every_example_is_listed_and_described_in_their_readme() {
    let ws = workspace();
    let json = ws.get_tools(&[]).unwatched().run().json();
    let names: Vec<&str> = json
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    let readme = fs::read_to_string(examples().join("README.md")).expect("a README");
    for entry in fs::read_dir(examples()).expect("the examples") {
        let path = entry.expect("an entry").path();
        let file = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if file == "README.md" || path.is_dir() {
            continue;
        }
        let stem = path.file_stem().expect("a stem").to_string_lossy();
        assert!(names.contains(&&*stem), "{file} is not listed");
        assert!(
            readme.contains(&format!("[{file}]({file})")),
            "{file} is not in the README"
        );
    }
}

#[test]
fn run_tests_says_which_failed_and_why() {
    if !has("python3") {
        return;
    }
    let ws = workspace()
        .file("test_sums.py", "import unittest\n\nclass Sums(unittest.TestCase):\n    def test_good(self):\n        self.assertEqual(1 + 1, 2)\n\n    def test_bad(self):\n        self.assertEqual(1 + 1, 3)\n");
    let summary = output(&ws, "run_tests", &json!({}));
    assert_eq!(summary["passed"], false);
    assert_eq!(summary["failed"], 1, "{summary}");
    let failure = &summary["failures"][0];
    assert!(
        failure["test"]
            .as_str()
            .is_some_and(|name| name.contains("test_bad")),
        "{summary}"
    );
    assert!(failure["why"].to_string().contains("2 != 3"), "{summary}");
    let summary = output(&ws, "run_tests", &json!({"filter": "good"}));
    assert_eq!(
        (&summary["passed"], &summary["failed"]),
        (&json!(true), &json!(0)),
        "{summary}"
    );
    let answer = call(&ws, "run_tests", &json!({"command": ["no-such-runner"]}));
    answer.must_say(
        &answer.error("execution_failed", 1),
        &["no-such-runner can't be started"],
    );
}

#[test]
fn sqlite_query_reads_and_never_writes() {
    if !has("python3") {
        return;
    }
    let ws = workspace();
    let made = Command::new("python3")
        .args(["-c", "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\ndb.executescript(\"create table t (id integer, name text); insert into t values (1, 'a|b'), (2, null), (3, 'c')\")"])
        .arg(ws.dir().join("a?b.db"))
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let query = |arguments: Value| {
        let mut all = json!({"database": "a?b.db"});
        for (key, value) in arguments.as_object().expect("an object") {
            all[key] = value.clone();
        }
        call(&ws, "sqlite_query", &all)
    };
    assert_eq!(
        query(json!({"sql": "select * from t where id < ? order by id", "values": [3]})).output(),
        "id | name\n--- | ---\n1 | a\\|b\n2 | NULL\n(2 rows)"
    );
    let few = query(json!({"sql": "select id from t order by id", "limit": 1})).output();
    assert!(few.ends_with("(1 rows, there are more)"), "{few}");
    assert!(query(json!({})).output().contains("CREATE TABLE t"));
    for sql in [
        "insert into t values (4, 'd')",
        "drop table t",
        "attach database 'new.db' as n",
        "vacuum into 'copy.db'",
        "selec",
    ] {
        let answer = query(json!({ "sql": sql }));
        answer.must_say(&answer.error("execution_failed", 1), &["SQLite: "]);
    }
    let answer = call(&ws, "sqlite_query", &json!({"database": "none.db"}));
    answer.error("file_not_found", 1);
    let files: Vec<_> = fs::read_dir(ws.dir()).expect("there").collect();
    assert_eq!(files.len(), 1, "nothing was made: {files:?}");
}

#[test]
fn git_history_answers_by_file_message_and_code() {
    if !has("git") {
        return;
    }
    let ws = workspace()
        .file("a.txt", "one\n")
        .file("b.txt", "b\n")
        .git();
    ws.git_command(&["add", "."]);
    ws.git_command(&["commit", "-qm", "Begin"]);
    fs::write(ws.dir().join("a.txt"), "one\nneedle\n").expect("written");
    ws.git_command(&["commit", "-qam", "Fix the -thing-; and $(more)"]);
    let subjects = |arguments: Value| -> Vec<String> {
        let text = call(&ws, "git_history", &arguments).output();
        let lines = text.lines().filter(|line| line.contains(" o: "));
        lines
            .filter_map(|line| Some(line.split_once(" o: ")?.1.to_owned()))
            .collect()
    };
    let fix = "Fix the -thing-; and $(more)";
    assert_eq!(subjects(json!({})), [fix, "Begin"]);
    assert_eq!(subjects(json!({"limit": 1})), [fix]);
    assert_eq!(subjects(json!({"paths": ["b.txt"]})), ["Begin"]);
    assert_eq!(subjects(json!({"message": "-THING-; and"})), [fix]);
    assert_eq!(subjects(json!({"code": "needle"})), [fix]);
    assert_eq!(subjects(json!({"author": "nobody"})), [""; 0]);
    let text = call(
        &ws,
        "git_history",
        &json!({"with_files": true, "paths": ["a.txt", "b.txt"]}),
    )
    .output();
    assert!(text.contains("a.txt | 1 +"), "{text}");
    let explained = ws
        .call_tool(&["git_history", "limit:=3", "--explain"])
        .unwatched()
        .run()
        .json();
    assert_eq!(explained["confirmation"], false);
}

#[test]
fn format_check_names_what_is_not_formatted() {
    if !has("python3") || !has("rustfmt") {
        return;
    }
    let ws = workspace()
        .file("good.rs", "fn main() {}\n")
        .file("a bad.rs", "fn  main( ) { }\n")
        .file("x.unknown", "x");
    let check = |files: Value| {
        let arguments = json!({ "files": files });
        let call = ws.tool("format_check").arguments(&arguments);
        // rustup's own directories are in the home directory of whoever runs the tests.
        let mut call = call.unwatched();
        for (name, below) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            let home = std::env::var("HOME").unwrap_or_default();
            let path = std::env::var(name).unwrap_or(format!("{home}/{below}"));
            call = call.env(name, &path);
        }
        call.run()
    };
    assert_eq!(
        check(json!(["good.rs"])).output(),
        "1 checked, 0 not formatted, 0 skipped"
    );
    let output = check(json!(["a bad.rs", "good.rs", "x.unknown"])).output();
    for says in [
        "a bad.rs is not formatted",
        "+fn main() {}",
        "2 checked, 1 not formatted, 1 skipped",
        "x.unknown: no formatter",
    ] {
        assert!(output.contains(says), "{says}: {output}");
    }
    assert_eq!(
        fs::read_to_string(ws.dir().join("a bad.rs")).expect("there"),
        "fn  main( ) { }\n"
    );
    let answer = check(json!(["none.rs"]));
    answer.must_say(
        &answer.error("execution_failed", 1),
        &["there is no such file"],
    );
    check(json!(["--emit=files"])).error("invalid_tool_params", 2);
}

#[test]
fn http_health_says_who_is_well() {
    if !has("node") {
        return;
    }
    let ws = workspace();
    let well = WebServer::always(page("text/plain", "all is well"));
    let ill = WebServer::always(status(503, "text/plain", "no"));
    let gone = {
        let server = WebServer::always(Vec::new());
        server.url("/")
    };
    let arguments = json!({"urls": [well.url("/"), ill.url("/"), "http://127.0.0.1:1/", gone], "expect_text": "is well"});
    let answer = output(&ws, "http_health", &arguments);
    assert_eq!(answer["healthy"], false);
    let results = &answer["results"];
    assert_eq!(
        (&results[0]["healthy"], &results[0]["status"]),
        (&json!(true), &json!(200)),
        "{answer}"
    );
    assert_eq!(results[1]["why"], "status 503 instead of 200");
    assert_eq!(results[2]["healthy"], false);
    assert_eq!(
        output(&ws, "http_health", &json!({"urls": [well.url("/")]}))["healthy"],
        true
    );
    call(&ws, "http_health", &json!({"urls": ["file:///etc/passwd"]}))
        .error("invalid_tool_params", 2);
}

#[test]
fn open_tasks_are_listed() {
    if !has("git") {
        return;
    }
    let ws = workspace()
        .file("src/a.rs", "// TODO: one\n// todos\n")
        .file("b.rs", "// FIXME two\n")
        .git();
    ws.git_command(&["add", "."]);
    let tasks = |arguments: Value| call(&ws, "open_tasks", &arguments).output();
    assert_eq!(
        tasks(json!({})),
        "b.rs:1:// FIXME two\nsrc/a.rs:1:// TODO: one"
    );
    assert_eq!(tasks(json!({"beneath": "src"})), "src/a.rs:1:// TODO: one");
    assert_eq!(tasks(json!({"words": "-none;$(id)"})), "none");
    assert_eq!(tasks(json!({"limit": 1})), "b.rs:1:// FIXME two");
}
