//! What only one crate does: a rule that holds there holds in every program.

use crate::comments::files;
use std::fs;

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
fn only_the_session_opens_a_project() {
    let mut opened = Vec::new();
    for path in files(&["src", "crates"], "rs") {
        // Tests choose settings and rules themselves.
        if path
            .iter()
            .any(|part| part == "tests" || part == "tests.rs")
        {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source");
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let opens = |line: &str| OPENING.iter().any(|call| line.contains(call));
        let count = code.filter(|line| opens(line)).count();
        opened.extend((count > 0).then_some(path));
    }
    let [session] = opened.as_slice() else {
        panic!("{opened:?}");
    };
    assert!(session.ends_with("crates/session/src/project.rs"));
}
