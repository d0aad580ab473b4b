//! Pages of documentation: their fenced blocks, and their shell examples, run in their order as one person would type
//! them.
//!
//! An example is a block fenced as `console`. A line that begins with `$ ` is a command, `> ` continues it, and what
//! follows is its output: what a terminal shows, without colours, or of an example with `run_agent`, which would ask
//! there, what a pipe gets. The examples of a page share one project, which the page calls
//! `/home/you/demo`, and the home directory `/home/you`; each page begins with empty ones.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Workspace, checkout, executable, search_path, skipped};

/// How pages call the directory of their examples.
const DIRECTORY: &str = "/home/you/demo";

/// How pages call the home directory.
const HOME: &str = "/home/you";

/// The width of the terminal: that of our pages.
const COLUMNS: &str = "120";

/// A mark after the output of a command; nothing that we run prints it.
const SEPARATOR: char = '\u{1e}';

/// A page, as a file of the checkout.
pub struct Page {
    /// Counted from the checkout.
    name: String,
    text: String,
}

/// A fenced block.
pub struct Block {
    language: String,
    /// Where it begins, counted from 1.
    pub line: usize,
    pub text: String,
}

/// A command of an example and what the page says that it prints.
struct Step {
    command: String,
    expected: String,
}

/// A file or directory of the checkout.
pub fn in_checkout(name: &str) -> PathBuf {
    checkout().join(name)
}

impl Page {
    #[track_caller]
    pub fn read(name: &str) -> Self {
        let text = fs::read_to_string(in_checkout(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        Self {
            name: name.to_owned(),
            text,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The blocks fenced as this language.
    pub fn blocks(&self, language: &str) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        for (index, line) in self.text.lines().enumerate() {
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
        assert!(!open, "{}: a block is not closed", self.name);
        blocks.retain(|block| block.language == language);
        blocks
    }

    /// The lines with their numbers, counted from 1, that are in no block.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut in_block = false;
        self.text.lines().enumerate().filter_map(move |(i, line)| {
            let is_fence = line.starts_with("```");
            in_block ^= is_fence;
            (!in_block && !is_fence).then_some((i + 1, line))
        })
    }

    /// Runs the examples and compares what they print. Gives back how many there are.
    pub fn run_examples(&self) -> usize {
        let ws = Workspace::new();
        let examples = self.blocks("console");
        for block in &examples {
            let needs = |program: &str| match program {
                "git" | "jq" => block.text.contains(&format!("{program} ")),
                // The last of the README's tools counts those before it.
                _ => block.text.contains(program) || block.text.contains("get_tools lint"),
            };
            let mut programs = ["git", "jq", "node", "python3"].into_iter();
            if programs.any(|program| needs(program) && !self.has(program, block)) {
                // Those that follow go on from what it has made.
                break;
            }
            self.run_example(&ws, block);
        }
        examples.len()
    }

    fn run_example(&self, ws: &Workspace, block: &Block) {
        let home = ws.root().join("home");
        let home = home.to_str().expect("a path in UTF-8");
        let steps = steps_of(block);
        let outputs = run(ws, &steps, !block.text.contains("run_agent"));
        assert_eq!(outputs.len(), steps.len(), "{}:{}", self.name, block.line);
        for (step, output) in steps.iter().zip(outputs) {
            let output = output
                .replace(ws.path("").trim_end_matches('/'), DIRECTORY)
                .replace(home, HOME);
            assert_eq!(
                unwrapped(&without_trailing_space(&output)),
                unwrapped(&without_trailing_space(&step.expected)),
                "{}, the example at line {}: {}",
                self.name,
                block.line,
                step.command
            );
        }
    }

    /// Whether a program can be run. Where it can't, says so past the test runner, which shows nothing of a test that
    /// passes; CI must have it.
    fn has(&self, program: &str, block: &Block) -> bool {
        let found = is_installed(program);
        if !found {
            skipped(&format!(
                "{program}, for the examples at {}:{},",
                self.name, block.line
            ));
        }
        found
    }
}

/// Whether a program is on the `PATH`.
pub fn is_installed(program: &str) -> bool {
    env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .any(|dir| dir.join(program).is_file())
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
        let more = if line == ">" {
            Some("")
        } else {
            line.strip_prefix("> ")
        };
        match more {
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

/// Runs the commands in one shell, on a terminal as a reader would or without one, so that `$?` and the directory go on from one to the next, and gives back the output
/// of each.
fn run(ws: &Workspace, steps: &[Step], is_at_a_terminal: bool) -> Vec<String> {
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
    path.extend(env::split_paths(search_path()));
    let path = env::join_paths(path).expect("paths without colons");
    let call = ws
        .program(Path::new("sh"), &["-c", &script])
        .env("PATH", &path.to_string_lossy())
        .env("COLUMNS", COLUMNS)
        .unwatched();
    let shown = if is_at_a_terminal {
        let shown = call.at_a_terminal().sees_it_end(0);
        without_colours(&shown.replace("\r\n", "\n"))
    } else {
        let answer = call.run();
        assert_eq!(answer.status(), 0, "{}", answer.text());
        answer.text().to_owned()
    };
    let mut outputs: Vec<String> = shown.split(SEPARATOR).map(str::to_owned).collect();
    let rest = outputs.pop();
    assert_eq!(rest.as_deref(), Some(""), "the script came to its end");
    outputs
}

/// A text without the sequences of a terminal that choose colours.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(&piece[end.map_or(0, |end| end + 1)..]);
    }
    plain
}

/// Returns text with a message to a person on one line: a page has it whole, and the terminal in which examples run
/// wraps it between words.
fn unwrapped(text: &str) -> String {
    let is_message =
        |line: &str| line.starts_with("call_tool: ") || line.starts_with("get_tools: ");
    match text.lines().find(|line| is_message(line)) {
        None => text.to_owned(),
        Some(line) => {
            let at = text.find(line).unwrap_or_default();
            let words: Vec<&str> = text[at..].split_whitespace().collect();
            format!("{}{}", &text[..at], words.join(" "))
        }
    }
}

fn without_trailing_space(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}
