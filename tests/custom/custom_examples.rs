//! The tools in `examples/tools`, each run as a user would who has copied it.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::custom::call;
use crate::harness::{Workspace, set_mode, skipped};

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
        let content = fs::read(&path).expect("an example");
        ws = ws.home(&format!(".gemini/tools/{name}"), content);
    }
    ws
}

/// Whether a program can be run; a test without it is skipped.
fn has(program: &str) -> bool {
    let found = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .any(|dir| dir.join(program).is_file());
    if !found {
        skipped(program);
    }
    found
}

#[test]
fn every_example_is_declared_without_a_fault_and_listed() {
    if !has("python3") {
        return;
    }
    let ws = workspace();
    let lint = ws
        .get_tools(&["lint"])
        .changing_at_home(&[".gemini/tmp"])
        .run();
    assert_eq!(lint.status(), 0, "{}", lint.shown());
    lint.must_say(lint.text(), &["8 tools in 7 files: 0 errors, 0 warnings"]);
    let listed = fs::read_to_string(examples().join("README.md")).expect("the list");
    for entry in fs::read_dir(examples()).expect("the examples") {
        let name = entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned();
        assert!(
            name == "README.md" || listed.contains(&format!("]({name})")),
            "{name} is not listed"
        );
    }
}

#[test]
fn run_tests_tells_what_failed() {
    if !has("python3") {
        return;
    }
    let test = "import unittest\nclass T(unittest.TestCase):\n    def test_good(self): pass\n    def test_bad(self): self.assertEqual(1, 2, 'they differ')\n";
    let ws = workspace().file("test_it.py", test);
    let run = |filter: Option<&str>| {
        let mut arguments = json!({"runner": "unittest"});
        if let Some(filter) = filter {
            arguments["filter"] = filter.into();
        }
        let tool = ws.tool("run_tests").arguments(&arguments).unwatched();
        tool.env("PYTHONDONTWRITEBYTECODE", "1").run().output()
    };
    let told = run(None);
    assert!(
        told.contains("1 test(s) failed (unittest)")
            && told.contains("FAILED test_bad")
            && told.contains("they differ"),
        "{told}"
    );
    assert!(!told.contains("test_good"), "{told}");
    assert!(run(Some("good")).starts_with("All tests pass (unittest)."));
}

#[test]
fn run_tests_does_not_call_it_a_pass_where_no_test_ran() {
    if !has("python3") {
        return;
    }
    let test = "import unittest\nclass T(unittest.TestCase):\n    def test_good(self): pass\n";
    let refused = |ws: &Workspace, arguments: &Value| {
        let tool = ws.tool("run_tests").arguments(arguments).unwatched();
        let answer = tool.env("PYTHONDONTWRITEBYTECODE", "1").run();
        answer.error("execution_failed", 1)
    };
    let said = refused(&workspace(), &json!({"runner": "unittest"}));
    assert!(
        said.starts_with("No test ran (unittest): it finds none"),
        "{said}"
    );
    let ws = workspace().file("test_it.py", test);
    let filtered = json!({"runner": "unittest", "filter": "nothing"});
    let said = refused(&ws, &filtered);
    assert!(
        said.starts_with("No test ran (unittest): none has 'nothing'"),
        "{said}"
    );
    let runner = |text: &str, status: &str| {
        let cargo = format!("#!/bin/sh\nprintf '%b' '{text}'\nexit {status}\n");
        let ws = workspace()
            .file("bin/cargo", cargo.as_str())
            .file("bin/go", cargo.as_str());
        set_mode(&ws.dir().join("bin/cargo"), 0o755);
        set_mode(&ws.dir().join("bin/go"), 0o755);
        ws
    };
    for (name, text, ran) in [
        (
            "cargo",
            "test result: ok. 0 passed; 0 failed; 0 ignored\\n",
            false,
        ),
        (
            "cargo",
            "test result: ok. 0 passed; 0 failed;\\ntest result: ok. 2 passed; 0 failed;\\n",
            true,
        ),
        (
            "go",
            "?   \\tx\\t[no test files]\\nok  \\ty\\t0.1s [no tests to run]\\n",
            false,
        ),
        (
            "go",
            "?   \\tx\\t[no test files]\\nok  \\ty\\t0.1s\\n",
            true,
        ),
    ] {
        let ws = runner(text, "0");
        let path = format!("{}:/usr/bin:/bin", ws.dir().join("bin").display());
        let tool = ws.tool("run_tests").arguments(&json!({"runner": name}));
        let answer = tool.env("PATH", &path).unwatched().run();
        let status = i32::from(!ran);
        assert_eq!(answer.status(), status, "{name}: {}", answer.shown());
    }
}

#[test]
fn query_sqlite_reads_and_never_writes() {
    if !has("python3") {
        return;
    }
    let ws = workspace();
    let make = "import sqlite3; d = sqlite3.connect('shop.db'); d.execute('create table t (a, b)'); d.executemany('insert into t values (?, ?)', [(1, 'x'), (2, \"o'y\")]); d.commit()";
    let created = ws
        .program(Path::new("python3"), &["-c", make])
        .unwatched()
        .run();
    assert_eq!(created.status(), 0, "{}", created.shown());
    let query = |query: &str, values: &Value| {
        call(
            &ws,
            "query_sqlite",
            &json!({"database": "shop.db", "query": query, "values": values}),
        )
    };
    let rows: Value =
        serde_json::from_str(&query("select a from t where b = ?", &json!(["o'y"])).output())
            .expect("JSON");
    assert_eq!(rows, json!({"columns": ["a"], "rows": [[2]]}));
    for evil in [
        "delete from t",
        "attach 'x.db' as x",
        "pragma journal_mode = wal",
        "select load_extension('x')",
        "select 1; select 2",
    ] {
        let message = query(evil, &json!([])).error("execution_failed", 1);
        assert!(message.contains("The query failed"), "{evil}: {message}");
    }
    let outside = call(
        &ws,
        "query_sqlite",
        &json!({"database": "../out/x.db", "query": "select 1"}),
    );
    outside.must_say(
        &outside.error("execution_failed", 1),
        &["outside of the project"],
    );
}

#[test]
fn git_history_answers_by_path_author_and_text() {
    let ws = workspace()
        .file("a.txt", "one\n")
        .file("b c.txt", "two\n")
        .git();
    ws.git_command(&["add", "a.txt"]);
    ws.git_command(&["commit", "-qm", "First"]);
    ws.git_command(&["add", "b c.txt"]);
    ws.git_command(&["commit", "-qm", "Second: the other"]);
    let ask = |arguments: &Value| call(&ws, "git_history", arguments).output();
    let all = ask(&json!({}));
    assert!(
        all.contains("First") && all.contains("Second: the other") && all.contains("A\tb c.txt"),
        "{all}"
    );
    let one = ask(&json!({"paths": ["b c.txt"], "author": "o@", "limit": 5}));
    assert!(one.contains("Second") && !one.contains("First"), "{one}");
    let text = ask(&json!({"text": "one"}));
    assert!(text.contains("First") && !text.contains("Second"), "{text}");
    let odd = ask(&json!({"author": "--output=evil"}));
    assert_eq!(odd, "");
}

#[test]
fn check_format_lists_what_is_not_formatted() {
    if !has("rustfmt") {
        return;
    }
    let ws = workspace()
        .file("good.rs", "fn main() {}\n")
        .file("bad.rs", "fn main(){ }\n")
        .file("-x.rs", "fn main() {}\n");
    let home = env::var("HOME").unwrap_or_default();
    // rustup looks for its toolchains there.
    let place =
        |name: &str, usual: &str| env::var(name).unwrap_or_else(|_| format!("{home}/{usual}"));
    let (rustup_home, cargo_home) = (
        place("RUSTUP_HOME", ".rustup"),
        place("CARGO_HOME", ".cargo"),
    );
    let check = |paths: &Value| {
        let tool = ws
            .tool("check_format")
            .arguments(&json!({ "paths": paths }))
            .unwatched();
        tool.env("RUSTUP_HOME", &rustup_home)
            .env("CARGO_HOME", &cargo_home)
            .run()
    };
    assert_eq!(
        check(&json!(["good.rs", "bad.rs"])).output(),
        "Not formatted: bad.rs (rustfmt)"
    );
    assert_eq!(
        check(&json!(["good.rs", "-x.rs"])).output(),
        "No file is badly formatted."
    );
    check(&json!(["../x.rs"])).error("execution_failed", 1);
}

#[test]
fn http_health_asks_every_address() {
    if !has("node") {
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("its address");
    let answers = std::thread::spawn(move || {
        for status in ["200 OK", "503 Busy"] {
            let (mut stream, _) = server.accept().expect("a request");
            let mut buffer = [0; 4096];
            let _ = std::io::Read::read(&mut stream, &mut buffer);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello");
            stream.write_all(answer.as_bytes()).expect("an answer");
        }
    });
    let ws = workspace();
    let ask = |expect: &str| {
        call(
            &ws,
            "http_health",
            &json!({"urls": [format!("http://{address}/")], "expect": expect}),
        )
        .output()
    };
    assert_eq!(
        ask("hell"),
        format!("healthy http://{address}/ (status 200)")
    );
    assert_eq!(
        ask("hello"),
        format!("UNHEALTHY http://{address}/ (status 503)")
    );
    answers.join().expect("answered");
    assert!(ask("x").starts_with("UNHEALTHY"));
    call(&ws, "http_health", &json!({"urls": ["file:///etc/passwd"]}))
        .error("invalid_tool_params", 2);
}

#[test]
fn largest_files_lists_them_by_size() {
    let ws = workspace()
        .file("big file.txt", "x".repeat(500))
        .file("sub/small.txt", "x");
    let output = call(&ws, "largest_files", &json!({"count": 1})).output();
    assert_eq!(output, "500 big file.txt");
    let output = call(&ws, "largest_files", &json!({"directory": "sub"})).output();
    assert_eq!(output, "1 sub/small.txt");
    call(&ws, "largest_files", &json!({"directory": "../out"})).error("execution_failed", 1);
}

#[test]
fn the_tools_of_the_pair_are_called_by_their_own_names() {
    if !has("python3") {
        return;
    }
    let ws = workspace();
    let run = |name: &str, arguments: &Value| {
        ws.tool(name)
            .arguments(arguments)
            .unwatched()
            .run()
            .output()
    };
    assert_eq!(run("find_notes", &json!({})), "There are no notes.\n");
    assert_eq!(
        run("add_note", &json!({"text": "a 'b'", "tags": ["t"]})),
        "Noted.\n"
    );
    assert_eq!(run("find_notes", &json!({"tag": "t"})), "a 'b'\n");
}
