//! The imported cases of `tests/conformance`: what Gemini CLI 0.8.2's own tools did, as checks that do not depend on
//! wording. A test per tool; `CONFORMANCE=<part of an id>` runs only the cases whose id has that in it.
//!
//! [`fixture`] builds a case's workspace, [`view`] reads the answer with real paths replaced by placeholders, and
//! [`checks`] compares it with an expectation, of which a case may have several.

mod checks;
mod fixture;
mod view;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::harness::answer::excerpt;
use crate::harness::tree::Tree;
use crate::harness::{Answer, Workspace, executable};
use checks::{Expectation, Facts, Failure};
use fixture::Case;
use view::View;

/// The tools whose declarations are compared with the real ones.
const DECLARED: [&str; 9] = [
    "read_file",
    "write_file",
    "replace",
    "list_directory",
    "glob",
    "search_file_content",
    "read_many_files",
    "run_shell_command",
    "save_memory",
];

macro_rules! case_files {
    ($($name:ident)*) => {
        /// The case files that have a test below.
        const RUN: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                run_cases(stringify!($name));
            }
        )*
    };
}

case_files! {
    command_line
    glob
    list_directory
    read_file
    read_many_files
    replace
    run_shell_command
    save_memory
    search_file_content
    write_file
}

#[test]
fn every_case_file_is_run() {
    for entry in fs::read_dir(data("cases")).expect("the cases") {
        let path = entry.expect("a case file").path();
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name");
        assert!(RUN.contains(&name), "{name}");
    }
}

/// Names, required arguments and argument types must be the real tool's; wording and further optional arguments are free.
#[test]
fn declarations_have_the_real_arguments() {
    let real: Value = parse("surface-0.8.2.json");
    let ours = Workspace::new().get_tools(&[]).run().json();
    let ours = ours.as_array().expect("an array of declarations");
    let mut bad = Vec::new();
    for name in DECLARED {
        let variants = real["tools"].as_array().expect("the real tools").iter();
        let want = variants
            .filter(|t| {
                !["SmartEditTool", "RipGrepTool"]
                    .map(Value::from)
                    .contains(&t["class"])
            })
            .find(|t| t["name"] == name)
            .expect("a real tool");
        match ours.iter().find(|tool| tool["name"] == name) {
            None => bad.push(format!("{name}: not declared")),
            Some(got) => compare_declarations(name, &want["parameters"], got, &mut bad),
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

fn compare_declarations(name: &str, want: &Value, got: &Value, bad: &mut Vec<String>) {
    if got["description"].as_str().is_none_or(str::is_empty) {
        bad.push(format!("{name}: no description"));
    }
    let got = &got["parametersJsonSchema"];
    let required = |schema: &Value| {
        let mut names: Vec<String> =
            serde_json::from_value(schema["required"].clone()).unwrap_or_default();
        names.sort();
        names
    };
    if required(want) != required(got) {
        bad.push(format!(
            "{name}: required {:?}, really {:?}",
            required(got),
            required(want)
        ));
    }
    let kind = |schema: &Value| {
        let kind = schema["type"].as_str().unwrap_or_default().to_lowercase();
        kind.replace("integer", "number")
    };
    for (key, want) in want["properties"].as_object().expect("properties") {
        let got = &got["properties"][key];
        let items_differ = want
            .get("items")
            .is_some_and(|w| kind(w) != kind(&got["items"]));
        if kind(want) != kind(got) || items_differ {
            bad.push(format!("{name}.{key}: {got}, really {want}"));
        }
    }
}

/// A case that none of its expectations is met by.
struct Failed {
    failures: Vec<Failure>,
    checks: usize,
    stdout: String,
    stderr: String,
}

fn run_cases(file: &str) {
    let expectations: BTreeMap<String, Vec<Alternative>> = parse_only(file);
    let filter = env::var("CONFORMANCE").unwrap_or_default();
    let (mut passed, mut failed, mut report) = (0, 0, String::new());
    for case in load(file).iter().filter(|c| c.id.contains(&filter)) {
        let alternatives = &expectations[&case.id];
        match run_case(case, alternatives) {
            Ok(()) => passed += 1,
            Err(why) => {
                failed += 1;
                describe(case, &why, &mut report);
            }
        }
    }
    say(&format!(
        "conformance: {file}: {passed} cases passed, {failed} failed"
    ));
    assert!(failed == 0, "{failed} cases of {file} failed\n{report}");
}

fn run_case(case: &Case, alternatives: &[Alternative]) -> Result<(), Failed> {
    let workspace = fixture::build(case);
    let before = Tree::of(workspace.root());
    let (universe, directories) = fixture::universe(&workspace);
    let input = match &case.stdin {
        Some(text) => text.clone(),
        None => fixture::expand(&case.args, &workspace).to_string(),
    };
    let call = workspace.program(&executable("call_tool"), &[&case.tool]);
    let answer = call.input(input).unwatched().run();
    end_background(&workspace, &answer);
    let facts = Facts {
        case,
        changes: fixture::changes(&before, &Tree::of(workspace.root())),
        universe,
        directories,
        secrets: fixture::secrets(case),
        seconds: answer.elapsed.as_secs_f64(),
    };
    let view = View::of(case, &answer, &workspace);
    let best = alternatives
        .iter()
        .map(|a| checks::check(&a.exp, &view, &facts))
        .min_by_key(|report| report.failures.len())
        .expect("an expectation");
    if best.failures.is_empty() && answer.stderr.is_empty() {
        return Ok(());
    }
    Err(Failed {
        failures: best.failures,
        checks: best.checks,
        stdout: excerpt(&answer.stdout),
        stderr: excerpt(&answer.stderr),
    })
}

/// Ends what a case has left in the background.
fn end_background(workspace: &Workspace, answer: &Answer) {
    let stdout = String::from_utf8_lossy(&answer.stdout);
    let Some((_, rest)) = stdout.split_once("Background PIDs: ") else {
        return;
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    if let Ok(pid) = digits.parse::<i32>() {
        let call = workspace.tool("stop_background_process");
        let stopped = call.arguments(&json!({ "pid": pid })).unwatched().run();
        stopped.output();
    }
}

fn describe(case: &Case, why: &Failed, report: &mut String) {
    let Case {
        id, title, tool, ..
    } = case;
    let input = case.stdin.clone().unwrap_or_else(|| case.args.to_string());
    let mut line = |text: String| writeln!(report, "{text}").expect("a string takes text");
    line(format!("\nFAIL {id}: {title}"));
    line(format!("  call   {tool} {}", excerpt(input.as_bytes())));
    for Failure { name, want, got } in &why.failures {
        line(format!("  {name}: want {want}, got {got}"));
    }
    if let Some(reason) = case.allow.as_ref().and_then(|a| a["reason"].as_str()) {
        line(format!("  note   {reason}"));
    }
    line(format!(
        "  checks {} made, {} failed",
        why.checks,
        why.failures.len()
    ));
    line(format!("  ours   {}", why.stdout));
    line(format!("  stderr {}", why.stderr));
}

/// One set of checks that makes a case pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Alternative {
    #[expect(
        dead_code,
        reason = "says in the data where the expectation comes from"
    )]
    name: String,
    exp: Expectation,
}

fn load(file: &str) -> Vec<Case> {
    parse(&format!("cases/{file}.json"))
}

/// The expectations of one case file.
fn parse_only(file: &str) -> BTreeMap<String, Vec<Alternative>> {
    let mut all: BTreeMap<String, Value> = parse("expectations.json");
    let of_case = |case: Case| {
        let value = all
            .remove(&case.id)
            .unwrap_or_else(|| panic!("{} has no expectation", case.id));
        match serde_json::from_value(value) {
            Ok(alternatives) => (case.id, alternatives),
            Err(e) => panic!("expectation of {}: {e}", case.id),
        }
    };
    load(file).into_iter().map(of_case).collect()
}

fn parse<T: for<'de> Deserialize<'de>>(name: &str) -> T {
    let text = fs::read_to_string(data(name)).expect("a file of tests/conformance");
    match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(e) => panic!("{name}: {e}"),
    }
}

fn data(name: &str) -> PathBuf {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance");
    PathBuf::from(dir).join(name)
}

/// A line for the user who runs the tests with `--nocapture`.
#[expect(
    clippy::print_stdout,
    reason = "how many cases passed is part of a test's report"
)]
fn say(line: &str) {
    println!("{line}");
}
