//! A write is all or nothing: kills, concurrent editors, a full disk.

use std::fmt::Write as _;
use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Workspace, executable, lines, running_as_root, skipped, trials};

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
fn kills() -> u32 {
    60 * trials()
}

/// The moment for one of the kills: they are spread over what a whole call takes, and a little more.
fn moment(whole: Duration, step: u32) -> Duration {
    whole * step * 3 / (kills() * 2)
}

#[test]
fn killed_edit_leaves_the_old_file_or_the_new_one_whole() {
    let line = "a line of an ordinary text, some sixty characters in length\n";
    let body = line.repeat(60_000);
    let file = |word: &str| format!("{body}{word}\n{body}");
    let (old, new) = (file("OLD"), file("NEW"));
    let edit = |ws: &Workspace, from: &str, to: &str| json!({"file_path": ws.path("a.txt"), "old_string": from, "new_string": to});
    let whole = {
        let ws = Workspace::new().file("a.txt", &old);
        let arguments = edit(&ws, "OLD", "NEW");
        let answer = ws.tool("replace").arguments(&arguments).unwatched().run();
        answer.output();
        answer.elapsed
    };
    // Each of two files is edited with half of the kills.
    let (killed, done) = (AtomicU32::new(0), AtomicU32::new(0));
    let kill_some = |first: u32| {
        let ws = Workspace::new().file("a.txt", &old);
        for step in (first..kills()).step_by(2) {
            let now = fs::read_to_string(ws.path("a.txt")).expect("the file");
            let (from, to) = if now == old {
                ("OLD", "NEW")
            } else {
                ("NEW", "OLD")
            };
            assert!(
                now == old || now == new,
                "neither old nor new after kill {step}: {} bytes",
                now.len()
            );
            let arguments = edit(&ws, from, to);
            let running = ws.tool("replace").arguments(&arguments).start();
            thread::sleep(moment(whole, step));
            running.kill();
            sweep(&ws.dir(), "a.txt", &[&old, &new]);
            let after = fs::read_to_string(ws.path("a.txt")).expect("the file");
            let count = if after == now { &killed } else { &done };
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| kill_some(0));
        kill_some(1);
    });
    let (killed, done) = (killed.into_inner(), done.into_inner());
    assert!(
        killed > 0 && done > 0,
        "{killed} kills came in time, {done} too late: choose other moments"
    );
}

/// Checks that a kill has left nothing but the file and at most one temporary name, of one of these
/// contents unless it was still being written, and removes that.
fn sweep(dir: &Path, name: &str, whole: &[&String]) {
    let litter: Vec<_> = names(dir).into_iter().filter(|n| n != name).collect();
    assert!(litter.len() <= 1, "{litter:?}");
    for name in litter {
        assert!(
            name.starts_with(".gemini-tools-") && name.contains(".tmp"),
            "{name}"
        );
        let text = fs::read_to_string(dir.join(&name)).expect("text");
        assert!(whole.iter().any(|whole| whole.starts_with(&text)), "{name}");
        fs::remove_file(dir.join(name)).expect("removed");
    }
}

#[test]
fn killed_creation_leaves_a_whole_file_or_none() {
    let content = "a line of an ordinary text, some sixty characters in length\n".repeat(20_000);
    for path in ["new.txt", "made/below/new.txt"] {
        let ws = Workspace::new();
        let input = json!({"file_path": ws.path(path), "content": content}).to_string();
        let call = || ws.tool("write_file").input(input.clone());
        let answer = call().unwatched().run();
        answer.output();
        for step in 0..kills() / 2 {
            let running = call().start();
            thread::sleep(moment(answer.elapsed, step * 2));
            running.kill();
            if let Ok(now) = fs::read_to_string(ws.path(path)) {
                assert!(now == content, "{} bytes of {}", now.len(), content.len());
            }
            clear(&ws.dir());
        }
    }
}

/// Removes all that is in a directory.
fn clear(dir: &Path) {
    fs::remove_dir_all(dir).expect("removal");
    fs::create_dir(dir).expect("a directory");
}

#[test]
fn where_files_cannot_be_nameless_a_kill_leaves_at_most_a_temporary_file() {
    let script = include_str!("durability/no_nameless_files.py");
    let text = |word: &str| format!("{}{word}\n", "a line of a text\n".repeat(60_000));
    let (old, new) = (text("OLD"), text("NEW"));
    let ws = Workspace::new().file("a.txt", &old);
    let call_tool = executable("call_tool");
    let arguments = |from: &str, to: &str| json!({"file_path": ws.path("a.txt"), "old_string": from, "new_string": to});
    let call = |from, to| {
        ws.program(Path::new("python3"), &["-c", script])
            .flags(&[call_tool.as_os_str(), "replace".as_ref()])
            .input(arguments(from, to).to_string())
            .unwatched()
    };
    let answer = call("OLD", "NEW").run();
    let whole = answer.elapsed;
    if answer.status() == 99 {
        return skipped("seccomp, or a processor that the script knows");
    }
    answer.output();
    assert_eq!(names(&ws.dir()), ["a.txt"]);
    let (mut killed, mut done) = (0, 0);
    for step in 0..kills() {
        let now = fs::read_to_string(ws.path("a.txt")).expect("the file");
        assert!(now == old || now == new, "neither after {step} kills");
        let (from, to) = if now == old {
            ("OLD", "NEW")
        } else {
            ("NEW", "OLD")
        };
        let running = call(from, to).start();
        thread::sleep(moment(whole, step));
        running.kill();
        sweep(&ws.dir(), "a.txt", &[&old, &new]);
        let after = fs::read_to_string(ws.path("a.txt")).expect("the file");
        if after == now { killed += 1 } else { done += 1 }
    }
    assert!(killed > 0 && done > 0, "{killed} in time, {done} too late");
}

#[test]
fn a_temporary_file_of_another_container_is_left_alone() {
    let script = include_str!("durability/no_nameless_files.py");
    // No process has this number here.
    let other = ".gemini-tools-999999999-00000000.tmp";
    let ws = Workspace::new().file(other, "half").file("a.txt", "one\n");
    let call_tool = executable("call_tool");
    let input = json!({"file_path": "a.txt", "content": "two\n"}).to_string();
    let answer = ws
        .program(Path::new("python3"), &["-c", script])
        .flags(&[call_tool.as_os_str(), "write_file".as_ref()])
        .input(input)
        .changing(&["a.txt"])
        .run();
    if answer.status() == 99 {
        return skipped("seccomp, or a processor that the script knows");
    }
    answer.output();
    assert_eq!(names(&ws.dir()), [other, "a.txt"]);
}

#[test]
fn a_file_that_an_editor_puts_in_place_is_never_lost() {
    let ws = Workspace::new().file("a.txt", "ONE\n");
    let path = ws.dir().join("a.txt");
    let editor = |line: &str| {
        let text = fs::read_to_string(&path).expect("text");
        let temporary = path.with_extension("editor");
        fs::write(&temporary, text + line).expect("written");
        fs::rename(&temporary, &path).expect("renamed");
    };
    let stop = AtomicBool::new(false);
    // Where the machine is so busy that no edit is made between two lines, they come more slowly.
    let is_slow = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut lines = 0;
            while !stop.load(Ordering::Relaxed) {
                editor(&format!("line {lines}\n"));
                lines += 1;
                // Back to back now and then, else with room for an edit.
                let pauses = if is_slow.load(Ordering::Relaxed) {
                    500
                } else {
                    1
                };
                thread::sleep(Duration::from_micros(u64::from(lines % 16) * 700 * pauses));
            }
            lines
        });
        let edits = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let tries = 50 * trials();
            let mut applied = 0;
            for n in 0..tries {
                is_slow.store(n >= tries / 2 && applied == 0, Ordering::Relaxed);
                let (from, to) = if n % 2 == 0 {
                    ("ONE", "TWO")
                } else {
                    ("TWO", "ONE")
                };
                let arguments = json!({"file_path": path, "old_string": from, "new_string": to});
                let answer = ws.tool("replace").arguments(&arguments).unwatched().run();
                applied += u32::from(answer.status() == 0);
            }
            applied
        }));
        stop.store(true, Ordering::Relaxed);
        let lines: u32 = writer.join().expect("the editor");
        let applied = edits.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let text = fs::read_to_string(&path).expect("text");
        let lost: Vec<_> = (0..lines)
            .filter(|n| !text.contains(&format!("line {n}\n")))
            .collect();
        assert!(lost.is_empty(), "lost {lost:?} of {lines}");
        assert!(applied > 0, "no edit came through");
    });
    assert_eq!(names(&ws.dir()), ["a.txt"]);
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
    // The file takes more than half of its small file system; no other process sees that mount.
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
        // No other user may mount a file system of a kind that loses anything.
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
