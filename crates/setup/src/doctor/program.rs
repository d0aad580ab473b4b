//! The search for a program that can be started.

use super::{Explanation, explain};
use gemini_tools_core::text::show_path;
use gemini_tools_process::command::find_program;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

const NOT_STARTED: &str = "The host starts it without a shell, and can't.";

/// Finds the file that a command's first word stands for.
///
/// # Errors
///
/// Returns the code of a finding and its explanation if it can't be started.
pub(super) fn find(word: &str, root: &Path) -> Result<PathBuf, (&'static str, Explanation)> {
    if word.starts_with('~') {
        let explanation = explain(
            format!("{word:?} begins with a ~."),
            "No shell is there to replace it: a directory of that name is looked for.",
            "Write the whole path; Gemini CLI replaces $HOME.",
        );
        return Err(("tilde", explanation));
    }
    let fault = |code, what: String, help: &str| Err((code, explain(what, NOT_STARTED, help)));
    let path: PathBuf = if word.contains('/') {
        root.join(word).components().collect()
    } else if let Some(path) = find_program(OsStr::new(word)) {
        path
    } else {
        let what = format!("There is no program {word:?} on the PATH.");
        return fault("program-missing", what, "Install it, or write its path.");
    };
    let shown = show_path(&path).into_owned();
    if !path.exists() {
        let help = "Correct the path; a relative one counts from the project's root.";
        let what = format!("There is no file {shown}.");
        return fault("program-missing", what, help);
    }
    if path.is_dir() {
        let what = format!("{shown} is a directory.");
        return fault("program-not-executable", what, "Name the program in it.");
    }
    if !gemini_tools_process::command::is_program(&path) {
        let what = format!("{shown} may not be executed.");
        return fault("program-not-executable", what, &format!("chmod +x {shown}"));
    }
    check_first_line(&path, &shown)?;
    Ok(path)
}

/// Checks that the system can start a program by its beginning.
fn check_first_line(path: &Path, shown: &str) -> Result<(), (&'static str, Explanation)> {
    let mut head = [0; 256];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut head));
    let head = &head[..read.unwrap_or(0)];
    let Some(line) = head.strip_prefix(b"#!") else {
        if head.is_empty() || head.starts_with(b"\x7fELF") || head.contains(&0) {
            return Ok(());
        }
        let explanation = explain(
            format!("{shown} is a script, but its first line names no interpreter."),
            "A shell would run it all the same; the host asks the system, which does not.",
            "Begin it with a line such as #!/bin/sh or #!/usr/bin/env python3.",
        );
        return Err(("no-interpreter", explanation));
    };
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let fault = |what: String, help: &str| {
        let why = "The system can't start the script, and says \"no such file\".";
        Err(("bad-interpreter", explain(what, why, help)))
    };
    if line.ends_with('\r') {
        let what = format!("The first line of {shown} ends with CR LF.");
        return fault(what, "Save the script with LF line endings.");
    }
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let help = "Install it, or correct the script's first line.";
    if !Path::new(program).is_file() {
        let what = format!("{shown} needs {program:?}, which does not exist.");
        return fault(what, help);
    }
    // Which program `env` starts by its options, it alone knows.
    let argument = words.next().filter(|word| !word.starts_with('-'));
    let Some(name) = argument.filter(|_| program.ends_with("/env")) else {
        return Ok(());
    };
    if cfg!(target_os = "linux") && words.next().is_some() {
        return fault(
            format!("{shown} gives env several words, which are one word there."),
            "Write #!/usr/bin/env -S before the words, or leave out all but the first.",
        );
    }
    if !name.contains('/') && find_program(OsStr::new(name)).is_none() {
        let what = format!("{shown} needs {name:?}, which is not on the PATH.");
        return fault(what, help);
    }
    Ok(())
}
