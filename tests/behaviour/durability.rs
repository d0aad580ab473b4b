//! A write is all or nothing: kills, concurrent editors, a full disk.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Workspace, executable, lines, running_as_root};

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the workspace");
    let name = |e: std::io::Result<fs::DirEntry>| e.expect("an entry").file_name();
    let mut names: Vec<_> = entries
        .map(|e| name(e).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn twenty_edits_at_once_are_all_applied_or_say_that_they_were_not() {
    let content = lines(20, |n| format!("line {n:02} old\n"));
    let ws = Workspace::new().file("a.txt", &content);
    for round in 0..5 {
        fs::write(ws.path("a.txt"), &content).expect("the file");
        let edit = |n: usize| {
            json!({
                "file_path": ws.path("a.txt"),
                "old_string": format!("line {n:02} old"),
                "new_string": format!("line {n:02} new"),
            })
        };
        let running: Vec<_> = (0..20)
            .map(|n| ws.tool("replace").arguments(&edit(n)).start())
            .collect();
        let answers: Vec<_> = running
            .into_iter()
            .map(crate::harness::Running::finish)
            .collect();
        let now = fs::read_to_string(ws.path("a.txt")).expect("the file");
        let mut expected = String::new();
        for (n, answer) in answers.iter().enumerate() {
            let applied = answer.status() == 0;
            if !applied {
                answer.failure();
            }
            let word = if applied { "new" } else { "old" };
            writeln!(expected, "line {n:02} {word}").expect("a string takes text");
        }
        assert_eq!(now, expected, "round {round}");
        assert!(now.contains("new"));
        assert_eq!(names(&ws.dir()), ["a.txt"], "round {round}");
    }
}

/// Kills of one test, each at a moment of its own.
const KILLS: u32 = 100;

#[test]
fn killed_edit_leaves_the_old_file_or_the_new_one_and_no_litter() {
    let line = "a line of an ordinary text, some sixty characters in length\n";
    let body = line.repeat(60_000);
    let file = |word: &str| format!("{body}{word}\n{body}");
    let (old, new) = (file("OLD"), file("NEW"));
    let ws = Workspace::new().file("a.txt", &old);
    // The moments are spread over what a whole edit takes here, and a little more.
    let whole = {
        let arguments =
            json!({"file_path": ws.path("a.txt"), "old_string": "OLD", "new_string": "NEW"});
        let answer = ws.tool("replace").arguments(&arguments).unwatched().run();
        answer.output();
        answer.elapsed
    };
    let (mut killed, mut done) = (0, 0);
    for step in 0..KILLS {
        let now = fs::read_to_string(ws.path("a.txt")).expect("the file");
        let (from, to) = if now == old {
            ("OLD", "NEW")
        } else {
            ("NEW", "OLD")
        };
        assert!(
            now == old || now == new,
            "neither old nor new after {step} kills: {} bytes",
            now.len()
        );
        assert_eq!(names(&ws.dir()), ["a.txt"], "litter after {step} kills");
        let arguments =
            json!({"file_path": ws.path("a.txt"), "old_string": from, "new_string": to});
        let running = ws.tool("replace").arguments(&arguments).start();
        thread::sleep(whole * step * 3 / (KILLS * 2));
        running.kill();
        let after = fs::read_to_string(ws.path("a.txt")).expect("the file");
        if after == now { killed += 1 } else { done += 1 }
    }
    assert_eq!(names(&ws.dir()), ["a.txt"]);
    assert!(
        killed > 0 && done > 0,
        "{killed} kills came in time, {done} too late: choose other moments"
    );
}

#[test]
fn killed_creation_leaves_a_whole_file_or_none() {
    let content = "a line of an ordinary text, some sixty characters in length\n".repeat(20_000);
    let ws = Workspace::new();
    let input = json!({"file_path": ws.path("new.txt"), "content": content}).to_string();
    let call = || ws.tool("write_file").input(input.clone());
    let answer = call().unwatched().run();
    answer.output();
    fs::remove_file(ws.path("new.txt")).expect("removal");
    for step in 0..KILLS {
        let running = call().start();
        thread::sleep(answer.elapsed * step * 3 / (KILLS * 2));
        running.kill();
        match names(&ws.dir()).as_slice() {
            [] => {}
            [name] if name == "new.txt" => {
                let now = fs::read_to_string(ws.path("new.txt")).expect("the file");
                assert!(now == content, "{} bytes of {}", now.len(), content.len());
                fs::remove_file(ws.path("new.txt")).expect("removal");
            }
            litter => panic!("after {step} kills: {litter:?}"),
        }
    }
}

#[test]
fn file_size_limit_is_an_error_and_the_old_file_stays() {
    let ws = Workspace::new().file("a.txt", "old text\n".repeat(10_000));
    let edit = json!({"file_path": ws.path("a.txt"), "old_string": "old", "new_string": "new", "allow_multiple": true});
    let write = json!({"file_path": ws.path("new.txt"), "content": "x".repeat(100_000)});
    for (tool, arguments) in [("replace", edit), ("write_file", write)] {
        // The harness fails when the tree is not as before: the old file whole, and no litter.
        let call = ws.tool(tool).arguments(&arguments);
        let answer = call.in_bash("ulimit -f 4; exec \"$@\"").run();
        let failure = answer.failure();
        let expected =
            ["no_space_left", "file_write_failure"].contains(&failure.error_type.as_str());
        assert!(expected && failure.status == 1, "{failure:?}");
    }
}

#[test]
fn full_disk_is_an_error_and_the_old_file_stays() {
    let ws = Workspace::new().directory("small");
    let edit = json!({"file_path": ws.path("small/a.txt"), "old_string": "old", "new_string": "new", "allow_multiple": true});
    fs::write(ws.root().join("edit.json"), edit.to_string()).expect("the arguments");
    // The file takes more than half of its small file system; nobody else sees that mount.
    let script = r#"
        mount -t tmpfs -o size=256k tmpfs small || exit 99
        yes 'old text' | head -c 200000 > small/a.txt
        cp small/a.txt ../before
        "$1" replace < ../edit.json > ../answer
        echo "status $?"
        ls -A small
        cmp small/a.txt ../before && echo whole
    "#;
    let user = if running_as_root() {
        "--mount"
    } else {
        "--map-root-user"
    };
    let call_tool = executable("call_tool");
    let call_tool = call_tool.to_str().expect("a UTF-8 path");
    let args = ["--mount", user, "bash", "-c", script, "bash", call_tool];
    let run = ws.program(Path::new("unshare"), &args).unwatched().run();
    if run.status() == 99 || run.errors().contains("unshare failed") {
        // No right to mount anything here: the file size limit above has to do.
        return;
    }
    assert_eq!(run.text(), "status 1\na.txt\nwhole\n");
    let answer = fs::read_to_string(ws.root().join("answer")).expect("the answer");
    assert!(answer.contains("\"no_space_left\""), "{answer}");
}

#[test]
fn a_loss_of_power_leaves_the_old_file_or_the_new_one() {
    let ws = Workspace::new().directory("small");
    if !running_as_root() {
        // Nobody else may mount a file system of a kind that loses anything.
        return;
    }
    let script = include_str!("durability/power.py");
    let (call_tool, serve_tools) = (executable("call_tool"), executable("serve_tools"));
    let run = ws
        .program(Path::new("unshare"), &["--mount", "python3", "-c", script])
        .flags(&[call_tool, serve_tools])
        .unwatched()
        .run();
    if run.status() == 99 || run.errors().contains("unshare failed") {
        return;
    }
    assert_eq!(run.text(), format!("lost\n{}", "whole\n".repeat(7)));
}

#[test]
fn interrupted_editor_does_not_lock_the_next_one_out() {
    let body = "some text\n".repeat(500_000);
    let ws = Workspace::new().file("a.txt", format!("{body}OLD\n"));
    let arguments =
        json!({"file_path": ws.path("a.txt"), "old_string": "OLD", "new_string": "NEW"});
    let running = ws.tool("replace").arguments(&arguments).start();
    thread::sleep(Duration::from_millis(2));
    let stop = Command::new("bash")
        .args(["-c", &format!("kill -9 {}", running.id())])
        .status();
    stop.expect("bash");
    drop(running.finish());
    let next = json!({"file_path": ws.path("a.txt"), "content": "short\n"});
    // A lock that outlived its holder would end this call by its limit.
    let call = ws.tool("write_file").arguments(&next);
    call.changing(&["a.txt"]).run().output();
}

#[test]
fn a_write_is_told_right_by_a_host_that_ignores_its_children() {
    let ws = Workspace::new().file("a.txt", "one\n");
    let answer = ws
        .tool("replace")
        .arguments(&json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }))
        .in_bash(r#"exec perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$@""#)
        .changing(&["a.txt"])
        .run();
    answer.output();
    assert_eq!(
        fs::read_to_string(ws.dir().join("a.txt")).expect("there"),
        "two\n"
    );
}
