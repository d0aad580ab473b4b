//! What is done in one place only: a rule that holds there holds in every program.

use crate::old_names::files;
use std::fs;
use std::path::PathBuf;

/// What opens the settings and the rules of a project. `load_unexpanded`, by which two settings are compared, is for
/// showing them only.
const OPENING: [&str; 5] = [
    "Settings::load(",
    "Settings::load_trusting(",
    "Policy::load(",
    "Gate::new(",
    "Workspace::open_among(",
];

#[test]
fn one_place_opens_a_project() {
    assert_eq!(holders(&OPENING), ["crates/session/src/project.rs"]);
}

#[test]
fn one_place_prepares_a_call_for_its_reader() {
    let preparing = [".condenses = ", "answer.limit("];
    assert_eq!(holders(&preparing), ["crates/session/src/run.rs"]);
}

#[test]
fn one_clock_gives_up_calls() {
    let watching = ["GracePeriod::default()", "cancel.give_up()"];
    assert_eq!(holders(&watching), ["crates/session/src/clock.rs"]);
}

/// A tool is the same thing on every machine: what the machine has comes to `core` as an argument.
#[test]
fn core_touches_no_file_process_or_network() {
    let touching = [
        "std::fs",
        "std::process",
        "std::net",
        "\"/proc",
        "rustix::fs",
        "rustix::process",
    ];
    let touching = holders(&touching).into_iter();
    let in_core: Vec<String> = touching
        .filter(|path| path.starts_with("crates/core/"))
        .collect();
    assert_eq!(in_core, [""; 0]);
}

/// Returns the sources that have code with one of these texts. Tests choose settings and rules themselves.
fn holders(texts: &[&str]) -> Vec<String> {
    let checkout = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut holders = Vec::new();
    for path in files(&["src", "crates"], "rs") {
        let is_test = path
            .iter()
            .any(|part| part == "tests" || part == "tests.rs");
        let text = fs::read_to_string(&path).expect("a source");
        let (code, _) = text.split_once("mod tests {").unwrap_or((&text, ""));
        let mut lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        if !is_test && lines.any(|line| texts.iter().any(|text| line.contains(text))) {
            let path = path.strip_prefix(&checkout).expect("in the checkout");
            holders.push(path.display().to_string());
        }
    }
    holders
}
