//! `smart_edit` on edits of real projects, with the ways in which models miss: `tests/edits`, whose README says what
//! the cases are. `evals/edits --peers` runs the same cases with Gemini CLI's own tools.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Workspace;

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits");
    let text = fs::read_to_string(path.join(file)).expect("the cases");
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

fn text(case: &Value, key: &str) -> String {
    case[key].as_str().expect(key).to_owned()
}

/// Makes the edits of all cases in one batch, each in a directory of its own, and returns the answers.
fn edited(cases: &[Value]) -> (Workspace, Vec<Value>) {
    let (mut ws, mut calls) = (Workspace::new(), String::new());
    for (n, case) in cases.iter().enumerate() {
        ws = ws.file(path(n, case), text(case, "before"));
        let arguments = json!({
            "file_path": path(n, case), "instruction": case["instruction"].as_str().unwrap_or("x"),
            "old_string": text(case, "old_string"), "new_string": text(case, "new_string"),
        });
        calls += &json!({"name": "smart_edit", "args": arguments}).to_string();
        calls.push('\n');
    }
    let answers = ws.call_tool(&["--batch"]).input(calls).unwatched().run();
    let answers = answers.text().lines().map(serde_json::from_str);
    let answers: Vec<Value> = answers.map(|line| line.expect("JSON")).collect();
    assert_eq!(answers.len(), cases.len());
    (ws, answers)
}

fn path(n: usize, case: &Value) -> String {
    format!("{n}/{}", case["file_path"].as_str().unwrap_or("a.txt"))
}

fn after(ws: &Workspace, n: usize, case: &Value) -> String {
    fs::read_to_string(ws.path(&path(n, case))).expect("the file")
}

/// What came of the edits of all cases.
fn outcomes(cases: &[Value]) -> Vec<Outcome> {
    let (ws, _) = edited(cases);
    // Only what is in the files afterwards counts.
    let outcome = |(n, case): (usize, &Value)| {
        let after = after(&ws, n, case);
        let results = case["after"].as_array().expect("results");
        let is_right = results.iter().any(|result| *result == *after);
        match (is_right, after == text(case, "before")) {
            (true, _) => Outcome::Correct,
            (false, true) => Outcome::Refused,
            (false, false) => Outcome::Wrong,
        }
    };
    cases.iter().enumerate().map(outcome).collect()
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
    let cases = cases("cases.jsonl");
    assert!(cases.len() >= 300, "the data set has {} cases", cases.len());
    let outcomes = outcomes(&cases);
    let with = |wanted: Outcome| -> BTreeSet<String> {
        let all = std::iter::zip(&cases, &outcomes);
        all.filter(|(_, outcome)| **outcome == wanted)
            .map(|(case, _)| case["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(with(Outcome::Wrong), BTreeSet::new(), "applied wrongly");
    // A trap that was not changed is right, and counts as such.
    assert_eq!(with(Outcome::Refused), known_refusals(), "refused");
}

#[test]
fn each_small_edit_is_read_as_it_is_meant_or_refused_with_the_reason() {
    let cases = cases("small.jsonl");
    let (ws, answers) = edited(&cases);
    for (n, (case, answer)) in std::iter::zip(&cases, &answers).enumerate() {
        let wanted = case.get("after").unwrap_or(&case["before"]);
        let response = &answer["functionResponse"]["response"];
        assert_eq!(after(&ws, n, case), *wanted, "{case}: {response}");
        assert_eq!(response["errorType"], case["error"], "{case}: {response}");
        for piece in case["says"].as_array().into_iter().flatten() {
            let piece = piece.as_str().expect("a text");
            let error = response["error"].as_str().expect("an error");
            assert!(error.contains(piece), "{case}: {error}");
        }
    }
}

#[test]
fn of_the_sample_of_generated_edits_none_is_applied_wrongly_and_most_clear_ones_are_applied() {
    let cases = cases("sample.jsonl");
    assert!(cases.len() >= 200, "the sample has {} cases", cases.len());
    let outcomes = outcomes(&cases);
    let results = || std::iter::zip(&cases, &outcomes);
    let wrong: Vec<_> = results()
        .filter(|(_, outcome)| **outcome == Outcome::Wrong)
        .map(|(case, _)| (&case["id"], &case["kind"]))
        .collect();
    assert!(wrong.is_empty(), "applied wrongly: {wrong:?}");
    let clear: Vec<_> = results()
        .filter(|(case, _)| case["expect"] == "apply")
        .collect();
    let refused: Vec<_> = clear
        .iter()
        .filter(|(_, outcome)| **outcome == Outcome::Refused)
        .map(|(case, _)| (&case["id"], &case["kind"]))
        .collect();
    assert!(
        refused.len() * 20 <= clear.len(),
        "more than one of twenty clear edits is refused: {refused:?}"
    );
}
