//! Another process swaps directories and files for links that lead out, as fast as it can, while every tool is called:
//! nothing outside is read or written.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::harness::tree::Tree;
use crate::harness::{Workspace, trials};

const SECRET: &str = "SECRET-OUTSIDE-LINE";

/// Swaps that must have happened while calls were made.
fn least_swaps() -> usize {
    60_000 * trials() as usize
}

/// Odd, so that calls find each of the two states between bursts.
const SWAPS_IN_A_BURST: usize = 25;

/// Calls of each kind.
fn least_rounds() -> usize {
    40 * trials() as usize
}

/// Swaps the two names of each pair again and again until told to stop; none of them is ever missing. One thread does it
/// as fast as several: the system changes a directory for one at a time. Between two bursts the calls get on.
fn swap(pairs: &[(PathBuf, PathBuf)], stop: &AtomicBool, swaps: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        for (one, other) in pairs.iter().cycle().take(SWAPS_IN_A_BURST) {
            renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("two names to swap");
            swaps.fetch_add(1, Ordering::Relaxed);
        }
        thread::sleep(Duration::from_micros(100));
    }
}

fn calls(ws: &Workspace, round: usize) -> Vec<(&'static str, Value)> {
    let at = |name: &str| ws.path(name);
    vec![
        ("read_file", json!({"absolute_path": at("d/deep/f.txt")})),
        ("read_file", json!({"absolute_path": at("x.txt")})),
        (
            "write_file",
            json!({"file_path": at(&format!("d/deep/new-{round}.txt")), "content": "by us"}),
        ),
        (
            "write_file",
            json!({"file_path": at(&format!("d/made-{round}/new.txt")), "content": "by us"}),
        ),
        (
            "write_file",
            json!({"file_path": at("x.txt"), "content": "by us"}),
        ),
        (
            "replace",
            json!({"file_path": at("d/deep/e.txt"), "old_string": "o", "new_string": "oo", "allow_multiple": true}),
        ),
        (
            "replace",
            json!({"file_path": at("d/deep/e.txt"), "old_string": "oo", "new_string": "o", "allow_multiple": true}),
        ),
        (
            "replace",
            json!({"file_path": at(&format!("d/deep/n-{round}.txt")), "old_string": "", "new_string": "x"}),
        ),
        ("list_directory", json!({"path": at("d")})),
        ("list_directory", json!({"path": at("d/deep")})),
        ("glob", json!({"pattern": "**/*"})),
        ("glob", json!({"pattern": "*", "path": at("d/deep")})),
        ("search_file_content", json!({"pattern": "LINE|inside"})),
        (
            "search_file_content",
            json!({"pattern": "LINE|inside", "path": at("d/deep"), "no_ignore": true}),
        ),
        (
            "read_many_files",
            json!({"paths": ["**/*.txt", "d/deep/f.txt", "x.txt"]}),
        ),
    ]
}

#[test]
fn swapping_directories_for_links_gains_nothing() {
    let ws = Workspace::new()
        .outside("deep/f.txt", SECRET)
        .outside("deep/e.txt", "an o outside, never edited")
        .outside("deep/outside-only.txt", SECRET)
        .outside("secret.txt", SECRET)
        .file("d/deep/f.txt", "inside\n")
        .file("d/deep/e.txt", "an o inside\n")
        .file("x.txt", "inside\n")
        .link("swapped-dir", "../out")
        .link("swapped-file", "../out/secret.txt");
    let outside = Tree::of(&ws.root().join("out"));
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let dir = ws.dir();
        let (stop, swaps) = (&stop, &swaps);
        let pairs = [("d", "swapped-dir"), ("x.txt", "swapped-file")];
        let pairs = pairs.map(|(one, other)| (dir.join(one), dir.join(other)));
        scope.spawn(move || swap(&pairs, stop, swaps));
        // A failed assertion must not leave the scope waiting for the swapping threads.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut round = 0;
            while round < least_rounds() || swaps.load(Ordering::Relaxed) < least_swaps() {
                for (tool, arguments) in calls(&ws, round) {
                    let answer = ws.tool(tool).arguments(&arguments).unwatched().run();
                    answer.function_response();
                    let said = answer.text();
                    if said.contains(SECRET) || said.contains("outside-only") {
                        answer.fail("text or names from outside");
                    }
                }
                round += 1;
            }
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    let changes = outside.changes(&Tree::of(&ws.root().join("out")));
    assert!(changes.is_empty(), "{changes:#?}");
}
