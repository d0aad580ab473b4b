//! The promise that nothing which a call started is left when the call is ended: 100 random trees of processes that
//! fork twice, leave their session, ignore signals or are stopped, ended by the time limit, by SIGTERM and by `kill -9`.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::harness::{Workspace, marked_processes, trials, wait_until};

/// Trees that are grown.
fn trees() -> usize {
    60 * trials() as usize
}

/// How many are grown at once: they sleep most of the time.
const AT_ONCE: usize = 24;

/// How long the last processes may take to go.
const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A script whose functions `n0`, `n1`, … are the processes of the tree, and that ends in `n0`.
fn tree(seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let mut script = String::new();
    let count = 2 + numbers.below(6);
    for node in 0..count {
        let _ = write!(script, "n{node}() {{ ");
        if numbers.below(2) == 0 {
            script.push_str("trap '' TERM INT HUP; ");
        }
        // Every node but the first has one parent among those before it.
        for child in node + 1..count {
            let mut parent = Numbers(seed ^ (child << 17));
            if parent.below(child) != node {
                continue;
            }
            let start = match numbers.below(5) {
                0 => format!("n{child} & "),
                1 => format!("( n{child} & ) & "),
                2 => format!("( ( n{child} & ) & ); "),
                3 => format!("setsid bash -c \"$(declare -f); n{child}\" & "),
                _ => format!(
                    "( setsid bash -c \"$(declare -f); n{child}\" >/dev/null 2>&1 </dev/null & ) ; "
                ),
            };
            script.push_str(&start);
        }
        script.push_str(match numbers.below(4) {
            0 => "while :; do sleep 300; done",
            1 if node > 0 => "kill -STOP $BASHPID; sleep 300",
            2 => "exec sleep 300",
            _ => "sleep 300; sleep 300",
        });
        script.push_str("; }\n");
    }
    script.push_str("n0\n");
    script
}

#[derive(Debug, Clone, Copy)]
enum By {
    TimeLimit,
    Term,
    Kill,
}

/// Waits until so many processes run.
fn wait_for(count: usize, marker: &str) {
    wait_until("the tree", || {
        marked_processes("GEMINI_TREE", marker).len() >= count
    });
}

/// Waits until the shell runs, beside `call_tool` and its supervisor, and a moment more.
fn let_it_grow(marker: &str) {
    wait_for(3, marker);
    thread::sleep(Duration::from_millis(300));
}

fn grow_and_end(ws: &Workspace, seed: usize) {
    let by = [By::TimeLimit, By::Term, By::Kill][seed % 3];
    let script = tree(seed as u64);
    let marker = format!("{}-{seed}", std::process::id());
    let timeout = if matches!(by, By::TimeLimit) {
        0.5
    } else {
        60.0
    };
    let call = ws
        .tool("run_shell_command")
        .arguments(&json!({"command": script, "timeout": timeout}))
        .env("GEMINI_TREE", &marker)
        .unwatched();
    let running = call.start();
    let pid = Pid::from_raw(i32::try_from(running.id()).expect("an id")).expect("a process");
    match by {
        By::TimeLimit => {
            running.finish().error("timeout", 124);
        }
        By::Term => {
            let_it_grow(&marker);
            kill_process(pid, Signal::TERM).expect("a child of ours");
            running.finish().error("cancelled", 143);
        }
        By::Kill => {
            let_it_grow(&marker);
            running.kill();
        }
    }
    let until = Instant::now() + WAIT_LIMIT;
    loop {
        let left = marked_processes("GEMINI_TREE", &marker);
        if left.is_empty() {
            return;
        }
        assert!(
            Instant::now() < until,
            "{by:?} has left {left:?} of\n{script}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn of_random_trees_nothing_is_left() {
    let ws = Workspace::new();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= trees() {
                        return;
                    }
                    grow_and_end(&ws, seed);
                }
            });
        }
    });
}

/// The test above would say nothing about trees that never grew.
#[test]
fn trees_have_processes_outside_of_the_session() {
    let ws = Workspace::new();
    let marker = format!("{}-grown", std::process::id());
    let call = ws
        .tool("run_shell_command")
        .arguments(&json!({"command": tree(7), "timeout": 60}))
        .env("GEMINI_TREE", &marker)
        .unwatched();
    let running = call.start();
    // call_tool, its supervisor, the shell, and at least three more.
    wait_for(6, &marker);
    running.kill();
    wait_until("the end of the tree", || {
        marked_processes("GEMINI_TREE", &marker).is_empty()
    });
}
