//! `smart_edit` on edits of real projects, with the ways in which models miss: `tests/edits`, whose README says what
//! the cases are. `evals/edits` runs the same cases with Gemini CLI's own tools.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::harness::Workspace;

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits/cases.jsonl");
    let text = fs::read_to_string(path).expect("the cases");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Correct,
    Refused,
    Wrong,
}

fn run(case: &Value) -> Outcome {
    let text = |key: &str| case[key].as_str().expect(key);
    let name = text("file_path");
    let ws = Workspace::new().file(name, text("before"));
    let arguments = json!({
        "file_path": name, "instruction": text("instruction"),
        "old_string": text("old_string"), "new_string": text("new_string"),
    });
    // Only what is in the file afterwards counts.
    let _ = ws
        .tool("smart_edit")
        .arguments(&arguments)
        .changing(&[name])
        .run();
    let after = fs::read_to_string(ws.path(name)).expect("the file");
    let is_right = case["after"]
        .as_array()
        .expect("results")
        .iter()
        .any(|a| *a == *after);
    match (is_right, after == text("before")) {
        (true, _) => Outcome::Correct,
        (false, true) => Outcome::Refused,
        (false, false) => Outcome::Wrong,
    }
}

/// The cases that could be applied and are refused, by id: `tests/edits/refused.txt`.
fn known_refusals() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits/refused.txt");
    let text = fs::read_to_string(path).expect("the ids");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn of_edits_that_models_got_slightly_wrong_none_is_applied_wrongly_and_only_known_ones_are_refused()
{
    let cases = cases();
    assert!(cases.len() >= 300, "the data set has {} cases", cases.len());
    let next = AtomicUsize::new(0);
    let outcomes: Vec<(&Value, Outcome)> = thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((case, run(case)));
            }
            done
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().expect("no panic"))
            .collect()
    });
    let with = |wanted: Outcome| -> BTreeSet<String> {
        let all = outcomes.iter().filter(|(_, outcome)| *outcome == wanted);
        all.map(|(case, _)| case["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(with(Outcome::Wrong), BTreeSet::new(), "applied wrongly");
    // A trap that was not changed is right, and counts as such.
    assert_eq!(with(Outcome::Refused), known_refusals(), "refused");
}
