//! Tells which files are programs, finds them in `PATH`, and starts pagers and editors.

use crate::start::file_with;
use rustix::fs::{Access, Stat, access};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns true if this process may execute a file.
pub fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// Returns true if the mode of a file lets any user execute it.
#[doc(hidden)]
pub fn may_be_executed(stat: &Stat) -> bool {
    stat.st_mode & 0o111 != 0
}

/// Finds the program `name` in the absolute directories of `PATH`.
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    in_path(name, std::env::var_os("PATH").as_deref())
}

/// Finds the file of a program, as a shell would with these variables in this directory, but not in
/// relative directories of `PATH`.
pub fn find(
    name: &OsStr,
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(directory.join(name)).filter(|file| is_program(file));
    }
    in_path(
        name,
        environment.get(OsStr::new("PATH")).map(|path| &**path),
    )
}

/// Returns the file to execute for a program's name. A path is returned unchanged, so that errors
/// are the system's and a script sees the path as written. [`find`] looks other names up.
pub fn to_execute(
    name: &OsStr,
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name));
    }
    find(name, environment, directory)
}

/// Returns true for a variable from which bash takes code, settings or functions before it reads
/// its line. A policy that judges only the line does not see these.
pub fn changes_shell(name: &OsStr) -> bool {
    const READ: [&str; 6] = [
        "BASHOPTS",
        "BASH_ENV",
        "ENV",
        "POSIXLY_CORRECT",
        "PS4",
        "SHELLOPTS",
    ];
    let name = name.to_string_lossy();
    name.starts_with("BASH_FUNC_") || READ.contains(&name.as_ref())
}

fn in_path(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path.unwrap_or(OsStr::new(USUAL_PATH)))
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| is_program(file))
}

/// Shows a text in the user's pager: `PAGER`, or `less` as git starts it, which exits at once if
/// the text fits on the screen. Returns false, with nothing shown, if there is no working pager.
///
/// The pager is not looked up in directories of `PATH` below `project`: the text helps a person
/// decide whether the project may run programs.
///
/// # Errors
///
/// Returns the operating system's error if the text can't be handed over or no shell can be
/// started.
pub fn page(text: &[u8], project: &Path) -> io::Result<bool> {
    let words = std::env::var_os("PAGER").unwrap_or_else(|| "less".into());
    // On a terminal that can't move the cursor, `less` prints a warning and waits for a key before
    // it shows the text.
    let is_plain = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    if words.is_empty() || words == "cat" || (is_plain && words == "less") {
        return Ok(false);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
    let is_outside = |dir: &PathBuf| {
        dir.is_absolute() && std::fs::canonicalize(dir).is_ok_and(|dir| !dir.starts_with(project))
    };
    let outside = std::env::split_paths(&path).filter(is_outside);
    // The pager reads the text from a file: a pipe would break if the pager is left early.
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(words).stdin(file_with(text)?);
    command.env(
        "PATH",
        std::env::join_paths(outside).map_err(io::Error::other)?,
    );
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    // With these exit codes the shell says that it could not start the program.
    Ok(!matches!(command.status()?.code(), Some(126 | 127)))
}

/// Returns the command that opens `file` in `editor`, a line for the system's shell.
pub fn editor(editor: &OsStr, file: &Path) -> Command {
    // Without a handler Ctrl-C would end the shell and leave the editor behind. The editor itself
    // gets the default action.
    let mut line = OsString::from("trap : INT; ");
    line.push(editor);
    line.push(" \"$1\"");
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).arg("sh").arg(file);
    command
}
