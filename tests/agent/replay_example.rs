//! The project of `examples/replay`, as CI runs it: its own script with the built executables.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Answer, Workspace, executable, search_path};

const FILES: [&str; 6] = ["call", "list", "run.yaml", "test", "todo.txt", "turns.yaml"];

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/replay")
}

fn project() -> Workspace {
    let mut ws = Workspace::new();
    for name in FILES {
        let bytes = fs::read(example().join(name)).expect("a file of the example");
        ws = ws.file(name, bytes);
    }
    ["call", "list", "test"]
        .into_iter()
        .fold(ws, |ws, name| ws.mode(name, 0o755))
}

/// Runs the script; it may change these files.
fn test(ws: &Workspace, args: &[&str], changing: &[&str]) -> Answer {
    let own = executable("run_agent");
    let mut path = vec![own.parent().expect("its directory").to_owned()];
    path.extend(env::split_paths(search_path()));
    let path = env::join_paths(path).expect("paths without colons");
    ws.program(&PathBuf::from(ws.path("test")), args)
        .env("PATH", &path.to_string_lossy())
        .env("TMPDIR", &ws.outside_path(""))
        .changing(changing)
        .run()
}

fn change(ws: &Workspace, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(ws.path(name)).expect("a file");
    assert!(text.contains(from), "{text}");
    fs::write(ws.path(name), text.replace(from, to)).expect("written");
}

const SAID: &str = "I look into the list.\nIt is off the list.\n";

#[test]
fn the_example_passes_and_its_recording_is_what_the_pair_answers() {
    let ws = project();
    let answer = test(&ws, &[], &[]);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(answer.text(), SAID.repeat(2));
    assert_eq!(answer.errors(), "run_agent: 3 expectations met\n".repeat(2));
    // Made again, it is the same.
    let recorded = fs::read(ws.path("run.yaml")).expect("the recording");
    assert_eq!(test(&ws, &["--update"], &["run.yaml"]).status(), 0);
    assert_eq!(fs::read(ws.path("run.yaml")).expect("one"), recorded);
}

#[test]
fn a_change_of_the_pair_is_found_by_what_is_expected_or_by_the_recording() {
    let ws = project();
    change(&ws, "call", "Done: ", "Struck: ");
    let answer = test(&ws, &[], &[]);
    answer.must_say(
        &answer.errors(),
        &[
            "call 2, todo_done",
            "does not contain \"Done: fix the typo\"",
        ],
    );
    assert_eq!(answer.status(), 4);
    // What no expectation is about.
    let ws = project();
    change(&ws, "call", "the last one is", "the last is");
    let answer = test(&ws, &[], &[]);
    answer.must_say(
        &answer.errors(),
        &[
            "call 3, todo_done {\"number\":9}:",
            "+Stderr: There is no item 9; the last is 1.",
        ],
    );
    assert_eq!(answer.status(), 4);
    assert_eq!(test(&ws, &["--update"], &["run.yaml"]).status(), 0);
    assert_eq!(test(&ws, &[], &[]).status(), 0);
}

#[test]
fn the_workflow_pins_its_actions_and_runs_the_script() {
    let workflow = fs::read_to_string(example().join("workflow.yml")).expect("the workflow");
    let pinned = regex::Regex::new(r"^[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+$").expect("a pattern");
    let actions: Vec<&str> = workflow
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("- uses: "))
        .collect();
    assert!(
        !actions.is_empty() && actions.iter().all(|action| pinned.is_match(action)),
        "{actions:?}"
    );
    assert!(
        workflow.contains("- run: ./test\n") && workflow.contains("contents: read"),
        "{workflow}"
    );
    assert!(!workflow.contains("secrets."), "{workflow}");
}
