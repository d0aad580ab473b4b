//! The README: its shell examples are run in their order as one person would type them, and its lists are compared with
//! what the executables say.
//!
//! An example is a block fenced as `console`. A line that begins with `$ ` is a command, `> ` continues it, and what
//! follows is its output, both streams together. The examples share one project, which the README calls
//! `/home/you/demo`.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Workspace, executable};

/// How the README calls the directory of its examples.
const DIRECTORY: &str = "/home/you/demo";

/// Stands after the output of a command; nothing that we run prints it.
const SEPARATOR: char = '\u{1e}';

/// A fenced block.
struct Block {
    language: String,
    /// Where it begins, counted from 1.
    line: usize,
    text: String,
}

/// A command of an example and what the README says that it prints.
struct Step {
    command: String,
    expected: String,
}

#[test]
fn examples_print_what_the_readme_says() {
    let ws = Workspace::new();
    let examples = blocks_in("console");
    assert!(examples.len() > 3, "the README has examples");
    for block in examples {
        let needs = |program: &str| match program {
            "jq" => block.text.contains("jq "),
            // The last of the tools' examples counts them.
            _ => block.text.contains(program) || block.text.contains("get_tools lint"),
        };
        let mut programs = ["jq", "node", "python3"].into_iter();
        if programs.any(|program| needs(program) && !has(program, &block)) {
            continue;
        }
        let steps = steps_of(&block);
        let outputs = run(&ws, &steps);
        assert_eq!(outputs.len(), steps.len(), "README.md:{}", block.line);
        for (step, output) in steps.iter().zip(outputs) {
            let output = output.replace(ws.path("").trim_end_matches('/'), DIRECTORY);
            assert_eq!(
                without_trailing_space(&output),
                without_trailing_space(&step.expected),
                "README.md, the example at line {}: {}",
                block.line,
                step.command
            );
        }
    }
}

#[test]
fn first_command_searches_the_checkout() {
    let block = blocks_in("sh").into_iter().next().expect("a first block");
    let command = block.text.lines().next().expect("a first command");
    let arguments = command
        .strip_prefix("bin/call_tool ")
        .expect("the first command calls a tool by its launcher");
    let script = format!("cd \"$1\" && \"$2\" {arguments}");
    let call_tool = text(&executable("call_tool"));
    let answer = Workspace::new()
        .program(
            Path::new("sh"),
            &["-c", &script, "sh", env!("CARGO_MANIFEST_DIR"), &call_tool],
        )
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.text());
    answer.must_say(answer.text(), &["File: src/tool/", ": pub trait Tool: "]);
}

#[test]
fn table_has_every_tool_with_all_its_parameters() {
    let readme = readme();
    let declared = Workspace::new().get_tools(&[]).run().json();
    let tools = declared.as_array().expect("a list");
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let row = readme
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} has no row in the README's table"));
        let shown = row.split('|').nth(2).expect("a column of parameters");
        let schema = &tool["parametersJsonSchema"];
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let parameters = schema["properties"].as_object().expect("parameters");
        for parameter in parameters.keys() {
            let mark = if required.contains(&parameter.as_str()) {
                ""
            } else {
                "?"
            };
            let cell = format!("`{parameter}{mark}`");
            assert!(shown.contains(&cell), "{name}: {cell} is not in {shown}");
        }
        assert_eq!(shown.matches('`').count(), parameters.len() * 2, "{name}");
    }
}

#[test]
fn policy_rule_lists_every_tool() {
    let readme = readme();
    let declared = Workspace::new().get_tools(&[]).run().json();
    for tool in declared.as_array().expect("a list") {
        let line = format!(
            "  \"discovered_tool_{}\",",
            tool["name"].as_str().expect("a name")
        );
        assert!(readme.lines().any(|l| l == line), "{line}");
    }
}

#[test]
fn settings_are_json() {
    let snippets = blocks_in("json");
    assert_eq!(snippets.len(), 3, "one for each spelling, one for hosts");
    for block in snippets {
        let parsed: Result<Value, _> = serde_json::from_str(&block.text);
        assert!(parsed.is_ok(), "README.md:{}: {parsed:?}", block.line);
    }
}

/// That one is compiled and run, as a test of the documentation.
#[test]
fn library_example_is_that_of_the_registry() {
    let registry = fs::read_to_string(in_checkout("src/registry.rs")).expect("the registry");
    let mut documented = registry
        .lines()
        .filter_map(|line| line.strip_prefix("///"))
        .map(str::trim);
    for block in blocks_in("rust") {
        for line in block.text.lines().map(str::trim) {
            assert!(
                line.is_empty() || documented.any(|d| d == line),
                "README.md:{}: not in the registry's documentation: {line}",
                block.line
            );
        }
    }
}

#[test]
fn links_lead_to_files_of_the_checkout() {
    let readme = readme();
    let targets: Vec<&str> = readme
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.starts_with('#'))
        .collect();
    assert!(!targets.is_empty());
    for target in targets {
        assert!(in_checkout(target).exists(), "{target}");
    }
}

fn in_checkout(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn readme() -> String {
    fs::read_to_string(in_checkout("README.md")).expect("the README")
}

fn blocks_in(language: &str) -> Vec<Block> {
    let readme = readme();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, line) in readme.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(language) => {
                open = true;
                blocks.push(Block {
                    language: language.to_owned(),
                    line: index + 1,
                    text: String::new(),
                });
            }
            None if open => {
                let block = blocks.last_mut().expect("the open block");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks.retain(|block| block.language == language);
    blocks
}

fn steps_of(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut in_command = false;
    for line in block.text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                expected: String::new(),
            });
            in_command = true;
            continue;
        }
        let step = steps.last_mut().expect("a block begins with a command");
        match line.strip_prefix("> ") {
            Some(more) if in_command => {
                step.command.push('\n');
                step.command.push_str(more);
            }
            _ => {
                in_command = false;
                step.expected.push_str(line);
                step.expected.push('\n');
            }
        }
    }
    steps
}

/// Runs the commands in one shell, so that `$?` and the directory go on from one to the next, and gives back the output
/// of each.
fn run(ws: &Workspace, steps: &[Step]) -> Vec<String> {
    let mut script = "exec 2>&1\n".to_owned();
    for step in steps {
        // The status is that of the command again when the next one asks for it.
        writeln!(
            script,
            "{}\nstatus=$?; printf '\\036'; (exit $status)",
            step.command
        )
        .expect("a string takes text");
    }
    // Ends well whatever the last command's status was.
    script.push_str(":\n");
    let beside = executable("call_tool");
    let mut path = vec![beside.parent().expect("its directory").to_owned()];
    path.extend(env::split_paths(
        &env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()),
    ));
    let path = env::join_paths(path).expect("paths without colons");
    let answer = ws
        .program(Path::new("sh"), &["-c", &script])
        .env("PATH", &path.to_string_lossy())
        .unwatched()
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.text());
    let mut outputs: Vec<String> = answer.text().split(SEPARATOR).map(str::to_owned).collect();
    let rest = outputs.pop();
    assert_eq!(rest.as_deref(), Some(""), "the script came to its end");
    outputs
}

/// Whether a program can be run. Where it can't, says so past the test runner, which shows nothing of a test that passes;
/// CI must have it.
fn has(program: &str, block: &Block) -> bool {
    let found = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .any(|dir| dir.join(program).is_file());
    if !found {
        assert!(
            env::var("CI").as_deref() != Ok("true"),
            "{program} is not installed"
        );
        writeln!(
            std::io::stderr(),
            "not tested, because {program} is not installed: the examples at README.md:{}",
            block.line
        )
        .expect("standard error");
    }
    found
}

fn without_trailing_space(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}
