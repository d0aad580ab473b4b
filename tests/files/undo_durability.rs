//! The journal after kills, with many writers, and on another file system.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Workspace, skipped, trials};

fn contents(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir_now) = waiting.pop() {
        for entry in fs::read_dir(&dir_now).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").display().to_string();
                found.insert(name, fs::read_to_string(&path).expect("text"));
            }
        }
    }
    found
}

/// The text of a version: large enough for a kill to find its write.
fn version(n: u32) -> String {
    format!(
        "{n}\n{}",
        "a line of an ordinary text, some sixty characters in length\n".repeat(20_000)
    )
}

fn number(text: &str) -> u32 {
    let (number, _) = text.split_once('\n').expect("a line");
    number.parse().expect("a number")
}

#[test]
fn kills_during_edits_and_undos_leave_whole_files_and_a_journal_that_gives_back_the_beginning() {
    // Room for all that is kept.
    let settings = json!({"tools": {"undo": {"maxMegabytes": 4000}}}).to_string();
    let ws = Workspace::new()
        .home(".gemini/settings.json", settings)
        .file("a.txt", version(0))
        .file("b.txt", version(0));
    let beginning = contents(&ws.dir());
    let edit = |name: &str| {
        let now = fs::read_to_string(ws.path(name)).expect("text");
        let n = number(&now);
        json!({"file_path": ws.path(name), "old_string": format!("{n}\na line"), "new_string": format!("{}\na line", n + 1), "allow_multiple": false})
    };
    let whole = {
        let answer = ws
            .tool("replace")
            .arguments(&edit("a.txt"))
            .unwatched()
            .run();
        answer.output();
        answer.elapsed
    };
    let history = || {
        let answer = ws.call_tool(&["--history", "--json"]).unwatched().run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        let text = answer.text();
        let lines = text.lines();
        lines
            .inspect(|line| drop(serde_json::from_str::<Value>(line).expect("JSON")))
            .count()
    };
    let kills = 50 * trials();
    let (mut killed, mut done) = (0, 0);
    // A kill between the change and its line in the journal.
    let mut is_one_unrecorded = false;
    let mut recorded = history();
    for step in 0..kills {
        let before = contents(&ws.dir());
        let running = match step % 5 {
            0 | 1 => ws.tool("replace").arguments(&edit("a.txt")).start(),
            2 => ws.tool("replace").arguments(&edit("b.txt")).start(),
            3 => {
                let arguments =
                    json!({"file_path": format!("new/{step}/c.txt"), "content": version(step)});
                ws.tool("write_file").arguments(&arguments).start()
            }
            _ => ws.call_tool(&["--undo"]).start(),
        };
        // Spread over what a call takes, and a little more.
        thread::sleep(whole * (step % 50) * 3 / 100);
        running.kill();
        sweep(&ws.dir());
        let after = contents(&ws.dir());
        let recorded_before = std::mem::replace(&mut recorded, history());
        if after == before {
            killed += 1;
        } else {
            done += 1;
            is_one_unrecorded |= recorded == recorded_before;
        }
        for (name, text) in &after {
            assert!(
                *text == version(number(text)),
                "{name} after {step} kills: {} bytes",
                text.len()
            );
        }
    }
    assert!(
        killed > 0 && done > 0,
        "{killed} kills came in time, {done} too late"
    );
    let answer = ws.call_tool(&["--undo", "--since", "1w"]).unwatched().run();
    // A change that is not in the journal is not given back.
    if is_one_unrecorded {
        return;
    }
    assert_eq!(answer.status(), 0, "{}", answer.errors());
    assert!(
        contents(&ws.dir()) == beginning,
        "{:?}",
        contents(&ws.dir()).keys()
    );
    assert!(!Path::new(&ws.path("new")).exists());
}

/// Removes the temporary names and the empty directories that a kill may leave.
fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sweep(&path);
            // Fails for one that is not empty.
            let _ = fs::remove_dir(&path);
        } else if path.extension().is_some_and(|ending| ending == "tmp") {
            fs::remove_file(&path).expect("removed");
        }
    }
}

#[test]
fn changes_of_twenty_writers_at_once_are_all_taken_back() {
    let text = crate::harness::lines(20, |n| format!("line {n:02} old\n"));
    let ws = Workspace::new().file("a.txt", &text);
    for _ in 0..3 {
        let start = |n: usize| {
            let arguments = json!({"file_path": ws.path("a.txt"),
                "old_string": format!("line {n:02} old"), "new_string": format!("line {n:02} new")});
            ws.tool("replace").arguments(&arguments).start()
        };
        let running: Vec<_> = (0..20).map(start).collect();
        let answers = running.into_iter().map(crate::harness::Running::finish);
        let applied = answers.filter(|answer| answer.status() == 0).count();
        let answer = ws.call_tool(&["--undo", "--since", "1h"]).unwatched().run();
        assert_eq!(answer.status(), 0, "{applied} changes: {}", answer.errors());
        assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), text);
    }
}

/// Runs a script with a file system of its own, mounted at `$M`; `None` where the test may not do that.
fn with_mount(ws: &Workspace, script: &str) -> Option<String> {
    let script = format!("set -e; mount -t tmpfs tmpfs \"$M\"; {script}");
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "--user", "sh", "-c", &script])
        .current_dir(ws.dir())
        .env("HOME", ws.root().join("home"))
        .env("M", ws.root().join("out"))
        .env("W", ws.dir())
        .env("PATH", path_with_call_tool())
        .output()
        .ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("unshare:") || errors.contains("mount:") {
        return None;
    }
    assert!(
        output.status.success(),
        "{errors}\n{}",
        String::from_utf8_lossy(&output.stdout)
    );
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

fn path_with_call_tool() -> String {
    let directory = crate::harness::executable("call_tool");
    let directory = directory
        .parent()
        .expect("a directory")
        .display()
        .to_string();
    format!("{directory}:{}", std::env::var("PATH").expect("a path"))
}

#[test]
fn a_file_of_another_file_system_is_copied_into_the_journal() {
    let ws = Workspace::new();
    let script = r#"
        cd "$M"; echo one > a.txt
        call_tool replace file_path=a.txt old_string=one new_string=two
        grep -c copied "$HOME"/.gemini/tools_journal/*/log
        call_tool --undo; cat a.txt; ls -A"#;
    let Some(said) = with_mount(&ws, script) else {
        return skipped("a user namespace with mounts");
    };
    assert!(said.ends_with("one\na.txt\n"), "{said}");
}
