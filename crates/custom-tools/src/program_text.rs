//! Detects commands in which an argument of a call would be run as a program, or as part of a
//! program's text.
//!
//! This module knows which programs take code among their arguments, and where.
//! `gemini-tools-shell` knows which commands start others (`timeout 5 wc`).

use super::words::Word;
use gemini_tools_shell::{Command, analyse};

/// Stands for an argument that the model chooses, in the command line that is analysed. The index
/// of the argument's element in the command's array follows.
const MARK: &str = "GEMINI_TOOLS_ARGUMENT_";

/// Programs that can run code from their arguments in too many ways for the options to be listed.
const RUN_ANYTHING: [&str; 24] = [
    "at", "batch", "ed", "emacs", "ex", "expect", "gdb", "gmake", "lldb", "make", "mariadb",
    "mysql", "nvim", "parallel", "psql", "runuser", "script", "sqlite", "ssh", "su", "vi", "view",
    "vim", "watch",
];

/// Programs whose first operand is a script file, unless an option gives the script's text.
const INTERPRETERS: [&str; 22] = [
    "ash",
    "bash",
    "bun",
    "dash",
    "deno",
    "fish",
    "ksh",
    "lua",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "pypy",
    "python",
    "Rscript",
    "ruby",
    "sh",
    "tclsh",
    "zsh",
];

/// Programs whose first operand is the text of a program, unless an option gives the text.
const TEXT_PROGRAMS: [&str; 6] = ["awk", "gawk", "gsed", "mawk", "nawk", "sed"];

/// The words of a command, each with the index of the element of the command's array that contains
/// it. A command has two such lists: with its optional words and without them.
pub(super) type Shape<'a> = Vec<(usize, &'a Word)>;

/// Returns the index of the first element in which the model can choose text that a program would
/// run as code, as in `sh -c "{x}"`; `None` if there is none. If the analysis can't tell which
/// commands a text of the model would start, returns the first element with such a text. `is_free`
/// returns true for a parameter whose text the model can choose.
pub(super) fn run_argument(shape: &Shape<'_>, is_free: impl Fn(&str) -> bool) -> Option<usize> {
    let mark = |i: usize| format!("{MARK}{i}_");
    let line = |value: &dyn Fn(usize) -> String| {
        let words = shape.iter();
        let words = words.map(|(i, word)| word.in_shell(&is_free, &value(*i)));
        words.collect::<Vec<_>>().join(" ")
    };
    let marked = line(&mark);
    let first = marked_element(&marked)?;
    let marked = analyse(&marked);
    let run = marked.commands.iter().find_map(run_word);
    if run.is_some() {
        return run;
    }
    // The analysis can't look into a script that the command gives to an interpreter, and reports
    // it as unresolved, whatever the model chooses. That alone is no reason to refuse the command.
    let is_script = |command: &Command| INTERPRETERS.contains(&program(command.root()));
    let is_expected = || marked.commands.iter().any(is_script) && !marked.unresolved.is_empty();
    let unknown = analyse(&line(&|_| "\"$x\"".to_owned()));
    (!unknown.unresolved.is_empty() && !is_expected()).then_some(first)
}

fn marked_element(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once(MARK)?;
    rest.split('_').next()?.parse().ok()
}

fn run_word(command: &Command) -> Option<usize> {
    let words = command.words.iter();
    let words: Vec<&str> = words.map(|word| word.as_deref().unwrap_or("$")).collect();
    run_among(&words)
}

fn run_among(words: &[&str]) -> Option<usize> {
    let (first, rest) = words.split_first()?;
    if let Some(element) = marked_element(first) {
        return Some(element);
    }
    let name = program(first.rsplit('/').next().unwrap_or(first));
    if name == "busybox" {
        run_among(rest)
    } else if RUN_ANYTHING.contains(&name) {
        rest.iter().find_map(|word| marked_element(word))
    } else if INTERPRETERS.contains(&name) || TEXT_PROGRAMS.contains(&name) {
        in_program(name, rest)
    } else {
        None
    }
}

fn program(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_versioned = !bare.is_empty();
    if is_versioned { bare } else { name }
}

/// Returns the index of the first element by which the model could choose what the interpreter
/// `name` runs: the code, the script file or an option. `words` are the interpreter's arguments.
/// Those behind the code or the script file are arguments of the script, and harmless.
fn in_program(name: &str, words: &[&str]) -> Option<usize> {
    let takes_text = TEXT_PROGRAMS.contains(&name);
    let mut words = words.iter().copied().peekable();
    let mut has_code = false;
    while let Some(word) = words.next() {
        let is_option = word.starts_with('-') && word != "-";
        let is_code_flag = is_code_flag(name, word);
        if !is_option && !is_code_flag {
            let is_subcommand = matches!(name, "bun" | "deno") && matches!(word, "run" | "test");
            match marked_element(word) {
                Some(element) if !has_code => return Some(element),
                None if is_subcommand => continue,
                _ => return None,
            }
        }
        if let Some(element) = marked_element(word) {
            return Some(element);
        }
        let value = words.next_if(|next| {
            let has_value = is_code_flag || takes_value(name, word);
            has_value && (takes_text || !next.starts_with('-'))
        });
        let Some(value) = value else {
            if word == "--" && has_code {
                return None;
            }
            continue;
        };
        if takes_text && matches!(word, "-v" | "-F" | "--assign" | "--field-separator") {
            continue;
        }
        if let Some(element) = marked_element(value) {
            return Some(element);
        }
        if word == "-m" {
            return None;
        }
        has_code |= is_code_flag;
    }
    None
}

/// Returns true if `word` is an option or subcommand of the program `name` after which code, or a
/// file with code, follows.
fn is_code_flag(name: &str, word: &str) -> bool {
    if TEXT_PROGRAMS.contains(&name) {
        let is_long = matches!(word, "--expression" | "--file" | "--source");
        let is_short = word.starts_with('-') && !word.starts_with("--");
        return is_long || is_short && word.ends_with(['e', 'f']);
    }
    let is_long = matches!(
        word,
        "--eval" | "--print" | "--command" | "-Command" | "-EncodedCommand" | "-File" | "eval"
    );
    let letters = word.strip_prefix('-').unwrap_or_default();
    let is_short = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_alphabetic());
    is_long || is_short && letters.ends_with(['c', 'e', 'E', 'p', 'r'])
}

fn takes_value(name: &str, word: &str) -> bool {
    if TEXT_PROGRAMS.contains(&name) {
        return matches!(
            word,
            "-v" | "-F" | "-i" | "-l" | "--assign" | "--field-separator" | "--include" | "--load"
        ) && !name.ends_with("sed");
    }
    matches!(
        word,
        "-W" | "-X"
            | "-I"
            | "-C"
            | "-m"
            | "-o"
            | "-O"
            | "-d"
            | "--rcfile"
            | "--init-file"
            | "--require"
            | "--import"
            | "--loader"
    )
}
