//! The search for a program that can be started.

use super::{Explanation, explain};
use gemini_tools_core::text::show_path;
use gemini_tools_process::command::find_program;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

const NOT_STARTED: &str = "Gemini CLI starts it without a shell, and can't.";

/// The file that a command's first word stands for, or why it can't be started.
pub(super) fn find(word: &str, root: &Path) -> Result<PathBuf, (&'static str, Explanation)> {
    if word.starts_with('~') {
        return Err((
            "tilde",
            explain(
                format!("{word:?} begins with a ~."),
                "No shell is there to replace it: a directory of that name is looked for.",
                "Write the whole path, or $HOME, which Gemini CLI replaces.",
            ),
        ));
    }
    let path = if word.contains('/') {
        root.join(word).components().collect()
    } else {
        let Some(path) = find_program(OsStr::new(word)) else {
            return Err((
                "program-missing",
                explain(
                    format!("There is no program {word:?} on the PATH."),
                    NOT_STARTED,
                    "Install it, or write its path.",
                ),
            ));
        };
        path
    };
    let shown = show_path(&path).into_owned();
    if !path.exists() {
        let help = "Correct the path; a relative one counts from the project's root.";
        return Err((
            "program-missing",
            explain(format!("There is no file {shown}."), NOT_STARTED, help),
        ));
    }
    if path.is_dir() {
        let help = "Name the program in it.";
        return Err((
            "program-not-executable",
            explain(format!("{shown} is a directory."), NOT_STARTED, help),
        ));
    }
    if !gemini_tools_process::command::is_program(&path) {
        return Err((
            "program-not-executable",
            explain(
                format!("{shown} may not be executed."),
                NOT_STARTED,
                format!("chmod +x {shown}"),
            ),
        ));
    }
    let mut head = [0; 256];
    let read = std::fs::File::open(&path).and_then(|mut file| file.read(&mut head));
    let head = &head[..read.unwrap_or(0)];
    if let Some(line) = head.strip_prefix(b"#!") {
        return interpreter(line, &shown).map_or(Ok(path), Err);
    }
    if !head.is_empty() && !head.starts_with(b"\x7fELF") && !head.contains(&0) {
        return Err((
            "no-interpreter",
            explain(
                format!("{shown} is a script, but its first line names no interpreter."),
                "A shell would run it all the same; Gemini CLI asks the system, which does not.",
                "Begin it with a line such as #!/bin/sh or #!/usr/bin/env python3.",
            ),
        ));
    }
    Ok(path)
}

/// A fault of the first line of a script.
fn interpreter(line: &[u8], shown: &str) -> Option<(&'static str, Explanation)> {
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line).into_owned();
    let finding = |what: String, help: &str| {
        let why = "The system can't start the script, and says \"no such file\".";
        Some(("bad-interpreter", explain(what, why, help)))
    };
    if text.ends_with('\r') {
        return finding(
            format!("The first line of {shown} ends with CR LF."),
            "Save the script with LF line endings.",
        );
    }
    let program = text.split_whitespace().next().unwrap_or_default();
    if !Path::new(program).is_file() {
        return finding(
            format!("{shown} needs {program:?}, which does not exist."),
            "Install it, or correct the script's first line.",
        );
    }
    let argument = text.trim_start()[program.len()..].trim();
    if !program.ends_with("/env") || argument.is_empty() {
        return None;
    }
    if cfg!(target_os = "linux")
        && !argument.starts_with('-')
        && argument.contains(char::is_whitespace)
    {
        return finding(
            format!(
                "{shown} names the program {argument:?}: everything after env is one word there."
            ),
            "Write #!/usr/bin/env -S before the words, or leave out all but the first.",
        );
    }
    let name = started_by_env(argument)?;
    let is_there = if name.contains('/') {
        Path::new(&name).is_file()
    } else {
        find_program(OsStr::new(&name)).is_some()
    };
    if is_there {
        return None;
    }
    finding(
        format!("{shown} needs {name:?}, which is not on the PATH."),
        "Install it, or correct the script's first line.",
    )
}

/// The program that `env` starts with this argument of a script's first line; `None` where only
/// `env` itself knows.
fn started_by_env(argument: &str) -> Option<String> {
    if !argument.starts_with('-') {
        return argument.split_whitespace().next().map(str::to_owned);
    }
    let line = match argument.strip_prefix("--split-string") {
        Some(line) => line.trim_start_matches('='),
        // Short options may be before it in one word.
        None => argument
            .split_whitespace()
            .next()?
            .find('S')
            .map(|at| &argument[at + 1..])?,
    };
    let mut words = shlex::split(line)?.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-u" | "--unset" | "-C" | "--chdir" => drop(words.next()),
            // What is found is another one there, or what a variable holds.
            word if word.starts_with("PATH=") || word.contains("${") => return None,
            word if word.starts_with('-') || word.contains('=') => {}
            _ => return Some(word),
        }
    }
    None
}
