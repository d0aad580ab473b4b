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

/// The picture of a call in the book: each line has a file and a function of it, which calls that of the next line.
#[test]
fn each_function_of_the_picture_of_a_call_calls_the_next() {
    let checkout = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(checkout.join("docs/architecture.md")).expect("the page");
    let (_, after) = page
        .split_once("these eight functions")
        .expect("the picture");
    let (_, after) = after.split_once("```text\n").expect("its beginning");
    let (picture, _) = after.split_once("```").expect("its end");
    let steps: Vec<Vec<&str>> = picture
        .lines()
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    assert_eq!(steps.len(), 8);
    for pair in steps.windows(2) {
        let [[file, name], [_, next]] = [&pair[0][..], &pair[1][..]] else {
            panic!("{pair:?}");
        };
        let text = fs::read_to_string(checkout.join(file)).expect(file);
        // A method's body ends with a brace as deep as its first line.
        let start = text
            .find(&format!("fn {name}("))
            .or_else(|| text.find(&format!("fn {name}<")));
        let line = text[..start.expect(name)]
            .rfind('\n')
            .expect("a line before")
            + 1;
        let indent: String = text[line..].chars().take_while(|c| *c == ' ').collect();
        let (body, _) = text[line..]
            .split_once(&format!("\n{indent}}}"))
            .expect("its end");
        let calls = [
            format!("{next}("),
            format!(", {next})"),
            format!("({next})"),
        ];
        // The start runs the function that it is given.
        let is_given = file == &"src/start.rs" && body.contains("AssertUnwindSafe(main)");
        let is_called = is_given || calls.iter().any(|call| body.contains(call));
        assert!(is_called, "{file}: {name} does not call {next}");
    }
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
