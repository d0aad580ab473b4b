//! `save_memory` with others at the same file: fifty writers, killed ones, a program that knows no locks, a lock that
//! stays.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::save_memory::{FILE, HEADING, at_home, file_of, memories, message, save};
use crate::harness::{Answer, Running, Workspace};

/// As many as the project promises.
const WRITERS: usize = 50;

/// Starts that many writers at once.
fn start_all(ws: &Workspace, fact: impl Fn(usize) -> String) -> Vec<Running> {
    (0..WRITERS).map(|n| save(ws, &fact(n)).start()).collect()
}

/// What `.gemini` holds besides the journal.
fn names(ws: &Workspace) -> Vec<String> {
    let entries = fs::read_dir(at_home(ws, ".gemini")).expect("the directory");
    let name = |e: std::io::Result<fs::DirEntry>| e.expect("an entry").file_name();
    entries
        .map(|e| name(e).to_string_lossy().into_owned())
        .filter(|name| name != "tools_journal")
        .collect()
}

#[test]
fn fifty_writers_at_once_lose_nothing() {
    // Once the directory and the file are to be made by the first of them, once they are there.
    for begin in [
        None,
        Some("# Me\n\n## Gemini Added Memories\n- old\n\n## Other\nx\n"),
    ] {
        let mut ws = Workspace::new();
        if let Some(text) = begin {
            ws = ws.home(FILE, text);
        }
        for running in start_all(&ws, |n| format!("fact {n}")) {
            message(&running.finish());
        }
        let text = memories(&ws);
        for n in 0..WRITERS {
            assert_eq!(
                text.matches(&format!("- fact {n}\n")).count(),
                1,
                "{n}: {text}"
            );
        }
        let (head, tail) = match begin {
            Some(text) => text.split_once("\n## Other").expect("two sections"),
            None => (HEADING, ""),
        };
        assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
        let extra = usize::from(begin.is_some());
        assert_eq!(text.matches("\n- ").count(), WRITERS + extra, "{text}");
        assert_eq!(names(&ws), ["GEMINI.md"]);
    }
}

#[test]
fn fifty_writers_of_one_fact_add_it_once() {
    let ws = Workspace::new();
    let said: Vec<String> = start_all(&ws, |_| "the fact".to_owned())
        .into_iter()
        .map(|running| message(&running.finish()))
        .collect();
    assert_eq!(memories(&ws), file_of(&["the fact"]));
    assert_eq!(
        said.iter().filter(|m| !m.contains("already")).count(),
        1,
        "{said:?}"
    );
}

#[test]
fn killed_writers_leave_a_whole_file_with_all_that_was_acknowledged() {
    const BEGIN: &str = "# Me\n\n## Gemini Added Memories\n- old\n\n## Other\nx\n";
    let ws = Workspace::new().home(FILE, BEGIN);
    let (mut acknowledged, mut killed) = (Vec::new(), 0);
    // How long the writers of a round took that were left alone.
    let mut took = Duration::from_millis(50);
    for round in 0..6_u32 {
        let fact = |n: u32| format!("fact {round} of {n}");
        let took_before = took;
        let write = |n: u32| {
            let arguments = ["save_memory", &format!("fact={}", fact(n))];
            let mut command = ws.call_tool(&arguments).command();
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let began = Instant::now();
            let mut child = command.spawn().expect("a writer");
            if n.is_multiple_of(2) {
                // Every other one dies, each at a moment of its own.
                thread::sleep(took_before * n / WRITERS as u32);
                child.kill().expect("a child of ours");
            }
            let output = child.wait_with_output().expect("a writer");
            (n, output, began.elapsed())
        };
        let outcomes: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..WRITERS as u32)
                .map(|n| scope.spawn(move || write(n)))
                .collect();
            let joined = threads.into_iter().map(|t| t.join().expect("a writer"));
            joined.collect()
        });
        for (n, output, elapsed) in outcomes {
            killed += usize::from(output.status.code().is_none());
            if String::from_utf8_lossy(&output.stdout).contains("success\\\":true") {
                acknowledged.push(fact(n));
            } else {
                assert_eq!(
                    n % 2,
                    0,
                    "only those that are killed don't answer: {output:?}"
                );
            }
            if n % 2 == 1 {
                took = took.max(elapsed);
            }
        }
        // The last step of a killed write is made by a process of its own, which may be about to end.
        let deadline = Instant::now() + Duration::from_secs(10);
        while names(&ws) != ["GEMINI.md"] && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(names(&ws), ["GEMINI.md"], "no litter");
        let text = memories(&ws);
        let facts: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_prefix("- fact "))
            .collect();
        for fact in &acknowledged {
            assert_eq!(
                text.matches(&format!("- {fact}\n")).count(),
                1,
                "{fact}: {text}"
            );
        }
        let mut once = facts.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), facts.len(), "nothing twice: {text}");
        let items = facts.iter().fold(String::new(), |items, fact| {
            format!("{items}- fact {fact}\n")
        });
        assert_eq!(text, BEGIN.replace("- old\n", &format!("- old\n{items}")));
    }
    assert!(
        killed > 0 && acknowledged.len() >= WRITERS * 3,
        "{killed} killed, {} answered",
        acknowledged.len()
    );
}

#[test]
fn a_program_that_writes_the_file_all_the_time_does_not_make_saving_fail() {
    let ws = Workspace::new().home(FILE, "0\n");
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        // As an editor does it that knows no locks: a new file in the place of the old one.
        let editor = scope.spawn(|| {
            let (path, new) = (at_home(&ws, FILE), at_home(&ws, "new"));
            while !is_done.load(Ordering::Relaxed) {
                fs::copy(&path, &new).expect("copied");
                fs::rename(&new, &path).expect("renamed");
                thread::sleep(Duration::from_micros(200));
            }
        });
        let answers: Vec<Answer> = (0..20)
            .map(|n| save(&ws, &format!("fact {n}")).unwatched().run())
            .collect();
        is_done.store(true, Ordering::Relaxed);
        editor.join().expect("the editor");
        for answer in &answers {
            message(answer);
        }
    });
    let text = memories(&ws);
    // What was saved between the editor's reading and its writing is lost by the editor.
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("0"), "{text}");
    let expected =
        |line: &str| line.is_empty() || line == HEADING.trim() || line.starts_with("- fact ");
    assert!(lines.all(expected), "{text}");
}

#[test]
fn a_file_that_stays_locked_ends_with_the_time_limit() {
    let ws = Workspace::new().home(FILE, "x\n");
    let file = fs::File::open(at_home(&ws, FILE)).expect("the file");
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let call = save(&ws, "a")
        .env("GEMINI_TOOLS_TIMEOUT", "0.3")
        .changing(&[]);
    let error = call.run().error("timeout", 124);
    let said: Value = serde_json::from_str(&error).expect("JSON");
    assert_eq!(said["success"], false);
}
