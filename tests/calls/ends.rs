//! The promise that every call ends: each tool gets the worst input that is known for it, with a limit of one second,
//! and answers. Signals, the end of the caller, calls beside the one that hangs, and cancelled calls of `serve_tools`.

use std::fmt::Write;
use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::client::Server;
#[cfg(target_os = "linux")]
use crate::harness::skipped;
use crate::harness::web_server::ALLOW;
use crate::harness::web_server::{WebServer, page};
use crate::harness::{
    Answer, Workspace, executable, has_signal, lines, marked_processes, trials, wait_until,
};

/// Long enough for anything here.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// Cases that are tried at the same time.
const AT_ONCE: usize = 2;

/// One line of JavaScript as minifiers make it.
fn minified() -> String {
    "var ab=1;".repeat(50_000) + "foo"
}

/// A look at every place of a line from every place of it.
const LOOKS_EVERYWHERE: &str = "(?=.*foo)(?=.*bar)";

/// A tool and what it can't cope with in a second, or hardly.
struct Worst {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    /// Besides `timeout`; empty where it may succeed.
    errors: &'static [&'static str],
    workspace: fn() -> Workspace,
}

fn worst() -> Vec<Worst> {
    let none: &[&str] = &[];
    let case = |name, tool, arguments, errors, workspace| Worst {
        name,
        tool,
        arguments,
        errors,
        workspace,
    };
    let large = || Workspace::new().file("a.txt", "a\n".repeat(2_000_000));
    let project = || Workspace::new().file("min.js", minified());
    vec![
        case(
            "look-around on one long line",
            "search_file_content",
            json!({"pattern": LOOKS_EVERYWHERE}),
            none,
            project,
        ),
        case(
            "a reference back",
            "search_file_content",
            json!({"pattern": r"(a+)+\1b"}),
            &["grep_execution_error"],
            || Workspace::new().file("a.txt", "a".repeat(100_000)),
        ),
        case(
            "an expression that is huge when it is compiled",
            "search_file_content",
            json!({"pattern": ".{50000}"}),
            &["invalid_tool_params"],
            project,
        ),
        case(
            "one that is huge in each of its parts",
            "search_file_content",
            json!({"pattern": r"(\w{200}){200}|(?=x)(\w{300}){300}"}),
            &["invalid_tool_params"],
            project,
        ),
        case(
            "one that is small and slow",
            "search_file_content",
            json!({"pattern": "([^x]{0,40}){0,40}y"}),
            none,
            project,
        ),
        case(
            "a pattern of many stars",
            "glob",
            json!({"pattern": format!("**/{}b", "*a".repeat(60))}),
            none,
            || Workspace::new().file("a".repeat(250), ""),
        ),
        case(
            "alternatives of alternatives",
            "glob",
            json!({"pattern": "{a,b}{c,d}".repeat(12)}),
            &["invalid_tool_params"],
            Workspace::new,
        ),
        case(
            "groups in groups",
            "glob",
            json!({"pattern": "@(".repeat(10_000) + "a" + &")".repeat(10_000)}),
            &["invalid_tool_params"],
            Workspace::new,
        ),
        case(
            "braces and brackets without an end",
            "glob",
            json!({"pattern": "{a,[b".repeat(12_000)}),
            &["invalid_tool_params"],
            Workspace::new,
        ),
        case(
            "patterns to leave out",
            "list_directory",
            json!({"path": ".", "ignore": vec![format!("{}b", "*a".repeat(60)); 200]}),
            none,
            || Workspace::new().file("a".repeat(250), ""),
        ),
        case(
            "one line without end",
            "read_file",
            json!({"absolute_path": "a.txt", "offset": 1_000_000}),
            &["invalid_tool_params"],
            || {
                Workspace::new()
                    .sparse("b.bin", 1 << 34)
                    .file("a.txt", "é".repeat(10_000_000))
            },
        ),
        case(
            "many rules about many files",
            "read_many_files",
            json!({"paths": ["**/*"]}),
            none,
            || {
                let rules = lines(60_000, |n| format!("x*{n}*y*z\n"));
                let ws = Workspace::new().git().file(".gitignore", rules);
                (0..300).fold(ws, |ws, n| ws.file(format!("d{}/xayaz{n}z", n % 7), "a"))
            },
        ),
        case(
            "content that is all placeholders",
            "write_file",
            json!({"file_path": "new.txt", "content": "// ... rest of the code ...\n".repeat(100_000)}),
            &["invalid_tool_params"],
            Workspace::new,
        ),
        case(
            "an older encoding without line feeds",
            "replace",
            json!({"file_path": "a.txt", "old_string": "a", "new_string": "b", "allow_multiple": true}),
            &["edit_no_occurrence_found"],
            // Each second byte of the letters is an `a`, and none of them a character.
            || Workspace::new().file("a.txt", b"\x83\x61\x82\xa0".repeat(3_000_000)),
        ),
        case(
            "millions of line feeds",
            "replace",
            json!({"file_path": "a.txt", "old_string": "\n", "new_string": "\n\n", "allow_multiple": true}),
            &["edit_preparation_failure"],
            large,
        ),
        case(
            "as many places as one call replaces",
            "replace",
            json!({"file_path": "a.txt", "old_string": "\n", "new_string": "\n\n", "allow_multiple": true}),
            none,
            || Workspace::new().file("a.txt", "a\n".repeat(200_000)),
        ),
        case(
            "millions of bytes that are no text",
            "replace",
            json!({"file_path": "a.txt", "old_string": "\u{fffd}", "new_string": "x", "allow_multiple": true}),
            &["edit_preparation_failure"],
            // The rest of each line says that the encoding is UTF-8.
            || Workspace::new().file("a.txt", b"\xe6\x97\xa5\xc3\xa9 \xff\n".repeat(1_000_000)),
        ),
        case(
            "millions of pairs of lines",
            "replace",
            json!({"file_path": "a.txt", "old_string": "a\na\n", "new_string": "b\nb\n", "allow_multiple": true}),
            &["edit_preparation_failure"],
            large,
        ),
        case(
            "nothing near in a file where all is alike",
            "replace",
            json!({"file_path": "a.txt", "old_string": "abcdefghij".repeat(90), "new_string": "b"}),
            &["edit_no_occurrence_found"],
            || {
                Workspace::new().file(
                    "a.txt",
                    format!("{}\n", "jihgfedcba".repeat(90)).repeat(4_000),
                )
            },
        ),
        case(
            "a place that is looked for everywhere",
            "smart_edit",
            json!({"file_path": "a.txt", "instruction": "b", "new_string": "b",
                "old_string": lines(400, |n| format!("  if a{} {{\n", n % 7))}),
            &[
                "edit_no_occurrence_found",
                "edit_preparation_failure",
                "edit_expected_occurrence_mismatch",
            ],
            || Workspace::new().file("a.txt", lines(60_000, |n| format!("if a{} {{\n", n % 9))),
        ),
        case(
            "a memory of a hundred thousand facts",
            "save_memory",
            json!({"fact": "the heron stands"}),
            &["memory_tool_execution_error", "file_too_large"],
            || {
                let facts = lines(100_000, |n| format!("- heron {n} stands\n"));
                Workspace::new().home(
                    ".gemini/GEMINI.md",
                    format!("## Gemini Added Memories\n{facts}"),
                )
            },
        ),
        case(
            "a huge pattern for a line of output",
            "read_background_output",
            json!({"pid": 1, "pattern": ".{50000}", "wait": 60}),
            &["invalid_tool_params"],
            Workspace::new,
        ),
        case(
            "a command that does not want to end",
            "run_shell_command",
            json!({"command": "trap '' TERM INT HUP; while :; do sleep 60; done"}),
            none,
            Workspace::new,
        ),
        case(
            "a command that prints without end",
            "run_shell_command",
            json!({"command": "yes | tr '\\n' '\\377'"}),
            none,
            Workspace::new,
        ),
    ]
}

/// A call that must answer in its time, or rightly.
#[track_caller]
fn must_end(name: &str, answer: &Answer, errors: &[&str]) {
    if answer.status() == 0 {
        answer.output();
        return;
    }
    let failure = answer.failure();
    let is_expected = failure.error_type == "timeout" || errors.contains(&&*failure.error_type);
    assert!(is_expected, "{name}: {}", answer.shown());
}

#[test]
fn each_tool_answers_to_its_worst_input_in_time() {
    let cases = Mutex::new(worst().into_iter());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || cases.lock().expect("no case panics with it").next();
                while let Some(case) = next() {
                    let ws = (case.workspace)();
                    let call = ws.tool(case.tool).arguments(&case.arguments);
                    let call = call.env("GEMINI_TOOLS_TIMEOUT", "1").unwatched();
                    must_end(case.name, &call.within_cpu_seconds(3).run(), case.errors);
                }
            });
        }
    });
}

#[test]
fn a_page_that_is_nothing_but_tags_is_read_in_time() {
    let shallow = format!("{}{}", "<div>".repeat(700), "<script>".repeat(180_000));
    for body in [
        shallow,
        "<div>".repeat(300_000),
        "<".repeat(2_000_000),
        "<b><i><a href=x>".repeat(100_000),
        "<table><tr><td>".repeat(100_000),
    ] {
        let server = WebServer::always(page("text/html", &body));
        let ws = Workspace::new();
        let arguments = json!({"prompt": server.url("/")});
        let call = ws.tool("web_fetch").arguments(&arguments);
        let call = call
            .env(ALLOW, &server.host())
            .env("GEMINI_TOOLS_TIMEOUT", "1");
        let answer = call.unwatched().within_cpu_seconds(3).run();
        must_end(&body[..20], &answer, &["web_fetch_fallback_failed"]);
    }
}

#[test]
fn a_name_of_a_million_letters_is_no_tool() {
    let ws = Workspace::new();
    let name = "read_fil".repeat(250_000);
    let line = json!({"id": "1", "name": name, "args": {}}).to_string();
    let call = ws.call_tool(&["--batch"]).input(line).within_cpu_seconds(3);
    let answer = call.run();
    let error = &answer.json()["functionResponse"]["response"];
    assert_eq!(error["errorType"], "tool_not_registered");
}

#[test]
fn a_signal_ends_a_call_that_looks_at_nothing() {
    let ws = Workspace::new().file("min.js", minified());
    for (signal, status) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let call = ws.tool("search_file_content");
        let call = call.arguments(&json!({"pattern": LOOKS_EVERYWHERE}));
        let running = call.start();
        // Before that, it would end without an answer.
        wait_until("its handlers", || {
            has_signal(running.id(), "SigCgt:", signal)
        });
        thread::sleep(Duration::from_millis(300));
        let pid = Pid::from_raw(i32::try_from(running.id()).expect("an id")).expect("a process");
        kill_process(pid, signal).expect("a child of ours");
        running.finish().error("cancelled", status);
    }
}

/// No thread can be started in any of these: the user has more than one process already.
#[cfg(target_os = "linux")]
#[test]
fn what_wants_threads_does_without_them_where_there_are_none() {
    let mut ws = Workspace::new();
    for n in 0..400 {
        ws = ws.file(format!("{}/{n}.txt", n % 40), "x");
    }
    let ws = ws.unprivileged();
    let alone = "ulimit -u 1; exec \"$@\"";
    for (tool, arguments) in [
        ("search_file_content", json!({"pattern": "x"})),
        ("glob", json!({"pattern": "**/*.txt"})),
        ("read_many_files", json!({"paths": ["**/*.txt"]})),
    ] {
        let call = ws.tool(tool).arguments(&arguments).in_bash(alone);
        assert!(call.run().output().len() > 100, "{tool}");
    }
    let call = r#"{"name": "glob", "args": {"pattern": "none"}}"#;
    let two = ws
        .call_tool(&["--batch"])
        .input(format!("{call}\n{call}\n"));
    let answer = two.in_bash(alone).run();
    assert_eq!(
        answer.text().matches("No files").count(),
        2,
        "{}",
        answer.shown()
    );
    let server = ws
        .program(&executable("serve_tools"), &[])
        .in_bash(alone)
        .run();
    assert_eq!(server.status(), 1);
    server.must_say(&server.errors(), &["nothing can be served"]);
}

#[test]
fn a_signal_ends_what_prints_to_a_reader_that_does_not_read() {
    let ws = Workspace::new()
        .file("a.txt", lines(20_000, |n| format!("{n}\n")))
        .file("rules.toml", "[[rule]]\nid='any'\npattern='.'\n")
        .fifo("pipe");
    let mut both = fs::File::options();
    let both = both.read(true).write(true);
    let pipe = both.open(ws.path("pipe")).expect("a pipe");
    let call = ws.call_tool(&["--check", "rules.toml"]);
    let running = call.in_bash("exec \"$@\" >pipe").start();
    // It then writes, and can't write all.
    wait_until("some of it", || {
        rustix::io::ioctl_fionread(&pipe).expect("a number") > 0
    });
    let pid = Pid::from_raw(i32::try_from(running.id()).expect("an id")).expect("a process");
    kill_process(pid, Signal::TERM).expect("a child of ours");
    assert_eq!(running.finish().status(), 143);
}

#[test]
fn a_call_ends_with_its_caller() {
    let ws = Workspace::new().file("min.js", minified());
    let mark = ws.root().display().to_string();
    let arguments = json!({"pattern": LOOKS_EVERYWHERE}).to_string();
    for call in [
        ws.call_tool(&[
            "search_file_content",
            &format!("pattern={LOOKS_EVERYWHERE}"),
        ]),
        ws.call_tool(&["--batch"]).input(format!(
            "{{\"name\":\"search_file_content\",\"args\":{arguments}}}\n"
        )),
    ] {
        let call = call.env("GEMINI_TREE", &mark).unwatched();
        // What is on standard output then belongs to no one.
        let call = call.in_bash("\"$@\" <&0 >/dev/null 2>&1 & sleep 0.5; kill -9 $$");
        assert_eq!(call.run().status(), -9);
        wait_until_gone(&mark);
    }
}

fn wait_until_gone(mark: &str) {
    let until = Instant::now() + WAIT_LIMIT;
    loop {
        let left = marked_processes("GEMINI_TREE", mark);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "left: {left:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn input_that_does_not_come_is_not_waited_for_without_end() {
    let ws = Workspace::new();
    for tool in ["read_file", "no_such_tool"] {
        let call = ws.tool(tool).env("GEMINI_TOOLS_TIMEOUT", "0.5");
        call.input_held_open().run().error("timeout", 124);
    }
}

#[test]
fn a_batch_goes_on_beside_a_call_that_hangs() {
    let ws = Workspace::new()
        .file("min.js", minified())
        .file("a.txt", "one");
    let call = |id: usize, name: &str, args: &Value| json!({"id": id.to_string(), "name": name, "args": args});
    let slow = json!({"pattern": LOOKS_EVERYWHERE});
    let requests = [
        call(0, "search_file_content", &slow),
        call(1, "search_file_content", &slow),
        call(2, "search_file_content", &slow),
        call(
            3,
            "write_file",
            &json!({"file_path": "new.txt", "content": "new"}),
        ),
        call(4, "read_file", &json!({"absolute_path": "new.txt"})),
    ];
    let mut input = String::new();
    for request in &requests {
        writeln!(input, "{request}").expect("a string");
    }
    let run = ws.call_tool(&["--batch"]).input(input);
    let answer = run
        .env("GEMINI_TOOLS_TIMEOUT", "1")
        .changing(&["new.txt"])
        .run();
    let mut answers: Vec<Value> = answer
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    answers.sort_by_key(|answer| answer["functionResponse"]["id"].as_str().map(str::to_owned));
    assert_eq!(answers.len(), requests.len(), "{}", answer.shown());
    for slow in &answers[..3] {
        assert_eq!(slow["functionResponse"]["response"]["errorType"], "timeout");
    }
    assert_eq!(answers[4]["functionResponse"]["response"]["output"], "new");
}

/// A program whose first thread ends while another one goes on.
#[cfg(target_os = "linux")]
const WITHOUT_ITS_FIRST_THREAD: &str = "
import ctypes, os, platform, threading, time
if os.fork():
    os._exit(0)
os.setsid()
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall({'x86_64': 60}.get(platform.machine(), 93), 0)
";

#[test]
#[cfg(target_os = "linux")]
fn a_process_ends_though_its_first_thread_is_gone() {
    let ws = Workspace::new().file("zombie.py", WITHOUT_ITS_FIRST_THREAD);
    let run = |command: &str, mark: &str, arguments: &Value| {
        let mut arguments = arguments.clone();
        arguments["command"] = format!("python3 zombie.py || exit 9; {command}").into();
        let call = ws.tool("run_shell_command").arguments(&arguments);
        call.env("GEMINI_TREE", mark).unwatched()
    };
    if std::process::Command::new("python3")
        .arg("-V")
        .output()
        .is_err()
    {
        return skipped("python3");
    }
    let mark = |name: &str| format!("{}-{name}", ws.root().display());
    let (late, killed, left) = (mark("late"), mark("killed"), mark("left"));
    run("sleep 60", &late, &json!({"timeout": 1}))
        .run()
        .error("timeout", 124);
    let running = run("sleep 60", &killed, &json!({})).start();
    wait_until("the command", || {
        let lines = marked_processes("GEMINI_TREE", &killed);
        lines.iter().any(|(_, line)| line.starts_with("sleep 60"))
    });
    let pid = Pid::from_raw(i32::try_from(running.id()).expect("an id")).expect("a process");
    kill_process(pid, Signal::TERM).expect("a child of ours");
    running.finish().error("cancelled", 143);
    let text = run("sleep 60", &left, &json!({"is_background": true}))
        .run()
        .output();
    let (_, rest) = text.split_once("Background PIDs: ").expect("processes");
    let first = rest.split([',', '\n']).next().expect("a number");
    let pid: u64 = first.parse().expect("a process id");
    thread::sleep(Duration::from_millis(1500));
    let call = ws
        .tool("stop_background_process")
        .arguments(&json!({"pid": pid}));
    call.unwatched().run().output();
    for mark in [late, killed, left] {
        // Its environment can't be read any more, only its threads'.
        let living = living_threads(&mark);
        assert!(living.is_empty(), "{mark}: {living:?}");
    }
}

/// The threads that run with this variable.
#[cfg(target_os = "linux")]
fn living_threads(mark: &str) -> Vec<String> {
    let wanted = format!("GEMINI_TREE={mark}");
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        let tasks = fs::read_dir(process.path().join("task"));
        for task in tasks.into_iter().flatten().flatten() {
            let environment = fs::read(task.path().join("environ")).unwrap_or_default();
            if environment
                .split(|b| *b == 0)
                .any(|v| v == wanted.as_bytes())
            {
                found.push(task.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn cancelled_calls_leave_nothing_behind_whenever_that_happens() {
    let ws = Workspace::new()
        .file("min.js", minified())
        .file("brief/min.js", &minified()[..20_000])
        .file("a.txt", "one\n".repeat(1000))
        .file("b.txt", "0");
    let mut server = Server::greeted(&ws, &["--approval-mode", "yolo"], &json!({}));
    for round in 0..150 * trials() {
        let (tool, arguments) = match round % 6 {
            // A search of the larger file would outlive the next calls.
            0 => (
                "search_file_content",
                json!({"pattern": LOOKS_EVERYWHERE, "path": "brief"}),
            ),
            1 => (
                "run_shell_command",
                json!({"command": "sleep 4711 & sleep 4712; wait"}),
            ),
            2 => (
                "write_file",
                json!({"file_path": "b.txt", "content": round.to_string()}),
            ),
            3 => ("search_file_content", json!({"pattern": "o"})),
            4 => ("glob", json!({"pattern": "**/*"})),
            _ => ("read_file", json!({"absolute_path": "a.txt"})),
        };
        let call = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        // At every moment of a call, and after it.
        thread::sleep(Duration::from_micros((u64::from(round) * 7919) % 20_000));
        server.notify("notifications/cancelled", &json!({"requestId": call}));
        let ping = server.ask("ping", &json!({}));
        assert_eq!(ping["result"], json!({}), "round {round}");
        // An answer that was on its way is a whole one.
        for message in server.aside.drain(..) {
            assert_eq!(message["id"], call, "round {round}: {message}");
            assert!(message["result"].is_object(), "round {round}: {message}");
        }
        if round % 30 == 29 {
            // A call that can still write writes all or nothing.
            let content = fs::read_to_string(ws.dir().join("b.txt")).expect("a file");
            assert!(
                content.parse::<u32>().is_ok_and(|n| n <= round),
                "{content}"
            );
        }
    }
    server.wait_until_gone("sleep 47");
    server.aside.clear();
    let read = server.call("read_file", &json!({"absolute_path": "min.js"}));
    assert_ne!(read["isError"], true, "{read}");
    // The client does not wait for a call that was cancelled.
    server.request(
        "tools/call",
        &json!({"name": "search_file_content",
        "arguments": {"pattern": LOOKS_EVERYWHERE}}),
    );
    server.hang_up();
    assert_eq!(server.status(), Some(0));
}
