//! The search for a program that can be started.

use super::fault;
use gemini_tools_core::diagnostic::Diagnostic;
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
/// Returns a finding if it can't be started.
pub(super) fn find(word: &str, root: &Path) -> Result<PathBuf, Diagnostic> {
    if word.starts_with('~') {
        let what = format!("{word:?} begins with a ~.");
        let why = "No shell is there to replace it: a directory of that name is looked for.";
        let help = "Write the whole path; Gemini CLI replaces $HOME.";
        return Err(fault("tilde", what, why, help));
    }
    let not_started =
        |code, what: String, help: &str| Err(fault(code, what, NOT_STARTED, help.to_owned()));
    let path: PathBuf = if word.contains('/') {
        root.join(word).components().collect()
    } else if let Some(path) = find_program(OsStr::new(word)) {
        path
    } else {
        let what = format!("There is no program {word:?} on the PATH.");
        return not_started("program-missing", what, "Install it, or write its path.");
    };
    let shown = show_path(&path).into_owned();
    if !path.exists() {
        let help = "Correct the path; a relative one counts from the project's root.";
        let what = format!("There is no file {shown}.");
        return not_started("program-missing", what, help);
    }
    if path.is_dir() {
        let what = format!("{shown} is a directory.");
        return not_started("program-not-executable", what, "Name the program in it.");
    }
    if !gemini_tools_process::command::is_program(&path) {
        let what = format!("{shown} may not be executed.");
        return not_started("program-not-executable", what, &format!("chmod +x {shown}"));
    }
    check_first_line(&path, &shown)?;
    Ok(path)
}

/// Checks that the system can start a program by its beginning.
fn check_first_line(path: &Path, shown: &str) -> Result<(), Diagnostic> {
    let mut head = [0; 256];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut head));
    let head = &head[..read.unwrap_or(0)];
    let Some(line) = head.strip_prefix(b"#!") else {
        if head.is_empty() || head.starts_with(b"\x7fELF") || head.contains(&0) {
            return Ok(());
        }
        let what = format!("{shown} is a script, but its first line names no interpreter.");
        let why = "A shell would run it all the same; the host asks the system, which does not.";
        let help = "Begin it with a line such as #!/bin/sh or #!/usr/bin/env python3.";
        return Err(fault("no-interpreter", what, why, help));
    };
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let bad = |what: String, help: &'static str| {
        let why = "The system can't start the script, and says \"no such file\".";
        Err(fault("bad-interpreter", what, why, help))
    };
    if line.ends_with('\r') {
        let what = format!("The first line of {shown} ends with CR LF.");
        return bad(what, "Save the script with LF line endings.");
    }
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let help = "Install it, or correct the script's first line.";
    if !Path::new(program).is_file() {
        let what = format!("{shown} needs {program:?}, which does not exist.");
        return bad(what, help);
    }
    // Which program `env` starts by its options, it alone knows.
    let argument = words.next().filter(|word| !word.starts_with('-'));
    let Some(name) = argument.filter(|_| program.ends_with("/env")) else {
        return Ok(());
    };
    if cfg!(target_os = "linux") && words.next().is_some() {
        return bad(
            format!("{shown} gives env several words, which are one word there."),
            "Write #!/usr/bin/env -S before the words, or leave out all but the first.",
        );
    }
    if !name.contains('/') && find_program(OsStr::new(name)).is_none() {
        let what = format!("{shown} needs {name:?}, which is not on the PATH.");
        return bad(what, help);
    }
    Ok(())
}
