//! What commands of daily work print (`tests/logs`), as a model gets it: six tenths at most, with every error.
//!
//! The rules were made with the forty logs of `tuned`. Of the twenty of `held-out`, that of make has changed one since; those
//! of docker, go, gradle, rsync, terraform, ansible and the server are written in the form of real ones.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use regex::Regex;
use serde_json::json;

use crate::harness::{Workspace, checkout};

/// The limit of an answer, in characters.
const LIMIT: usize = 40_000;

/// A log, what `run_shell_command` answers if a command prints it, and what with `raw`.
struct Log {
    name: String,
    text: String,
    answer: String,
    raw: String,
}

fn logs(kind: &str) -> Vec<Log> {
    let directory = checkout().join("tests/logs").join(kind);
    let entries = fs::read_dir(directory).expect("a directory");
    let log = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let mut text = String::new();
        let file = fs::File::open(&path).expect("a log");
        GzDecoder::new(file)
            .read_to_string(&mut text)
            .expect("text");
        let ws = Workspace::new().file("log", &text);
        let answer = |raw: bool| {
            let arguments = json!({"command": "cat log", "raw": raw});
            ws.tool("run_shell_command")
                .arguments(&arguments)
                .run()
                .output()
        };
        Log {
            name: path.display().to_string(),
            answer: answer(false),
            raw: answer(true),
            text,
        }
    };
    entries.map(log).collect()
}

/// Returns the share of the characters that is left of all logs.
fn share(logs: &[Log]) -> f64 {
    let sum = |chars: fn(&Log) -> usize| logs.iter().map(chars).sum::<usize>() as f64;
    sum(|log| log.answer.chars().count()) / sum(|log| log.raw.chars().count())
}

/// A line that a person would call an error, a warning or a failed test.
fn alarms() -> Regex {
    let words = "error|errors|fail|failed|failure|failures|fatal|panicked|warning|warn|exception";
    let before = r"(?:^|[\s\[(:])";
    Regex::new(&format!(
        r"(?i){before}(?:{words}|npm err!)(?:[\s\])\[:!]|$)|[✕✗]"
    ))
    .expect("a pattern")
}

/// What matters in each log, marked: the first error, failing names with their places, totals, the last line.
#[test]
fn every_marked_fact_of_a_log_is_in_its_answer() {
    let facts = fs::read_to_string(checkout().join("tests/logs/facts.json")).expect("the facts");
    let facts: BTreeMap<String, Vec<String>> = serde_json::from_str(&facts).expect("JSON");
    assert_eq!(facts.len(), 60);
    for kind in ["tuned", "held-out"] {
        for log in logs(kind) {
            let name = log.name.split("/logs/").nth(1).unwrap_or_default();
            let name = name.trim_end_matches(".gz");
            for fact in &facts[name] {
                assert!(log.answer.contains(fact), "{name}: {fact}");
            }
        }
    }
}

#[test]
fn logs_cost_at_most_six_tenths_and_no_error_is_lost() {
    let alarms = alarms();
    let none = Regex::new(r"(?i)\b(?:0|no) (?:errors|failed|failures|warnings)|(?:=|: )0\b")
        .expect("a pattern");
    for (kind, count) in [("tuned", 40), ("held-out", 20)] {
        let logs = logs(kind);
        assert_eq!(logs.len(), count);
        let share = share(&logs);
        assert!(share <= 0.6, "{kind}: {share}");
        let mut found = 0;
        for log in logs.iter().filter(|log| log.text.len() < LIMIT) {
            for line in log
                .text
                .lines()
                .filter(|line| alarms.is_match(line) && !none.is_match(line))
            {
                found += 1;
                let line = line.trim();
                assert!(
                    log.answer.contains(line),
                    "{line:?} is not in what is left of {}",
                    log.name
                );
            }
        }
        assert!(found >= 100, "{kind}: {found}");
    }
}
