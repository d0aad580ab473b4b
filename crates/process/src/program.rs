//! Files that are programs, and the way to start them.

use rustix::fs::{Access, Stat, access};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directories of programs if there is no `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns true if a file may be executed.
pub fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// Returns true if any user may execute a file, by its mode.
pub fn may_be_executed(stat: &Stat) -> bool {
    stat.st_mode & 0o111 != 0
}

/// Looks a program up as a shell would.
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    in_path(name, std::env::var_os("PATH").as_deref())
}

/// Returns the file that a program's name stands for, as a shell would find it with these variables in
/// this directory.
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

/// Returns the file that is executed for a program's name: a path as it is, so that the error is the
/// system's and a script sees its path as written; another as [`find`] finds it.
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

/// Returns true if the shell takes code, settings or functions from a variable before it reads its line:
/// none of that was judged.
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

/// Returns the editor with the file, by the system's shell.
pub fn editor(editor: &OsStr, file: &Path) -> Command {
    // A shell that Ctrl-C ends would leave the editor behind; the editor itself gets the
    // default action.
    let mut line = OsString::from("trap : INT; ");
    line.push(editor);
    line.push(" \"$1\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).arg("sh").arg(file);
    command
}
