//! Which files are programs, and how some are started.

use super::ffi::OsStringExt;
use super::fs::Stat;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

/// Whether a file may be executed: its ending says so.
pub fn is_program(file: &Path) -> bool {
    has_program_ending(file) && file.is_file()
}

/// Whether a file of this name may be executed.
pub fn may_be_executed(_stat: &Stat, name: &[u8]) -> bool {
    has_program_ending(Path::new(&OsString::from_vec(name.to_vec())))
}

/// Whether a name's ending is that of a program.
fn has_program_ending(file: &Path) -> bool {
    const ENDINGS: [&str; 4] = ["exe", "com", "bat", "cmd"];
    let ending = file.extension().unwrap_or_default();
    ENDINGS
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// Looks a program up as a shell would.
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    find(name, &std::env::vars_os().collect(), Path::new("."))
}

/// The file that a program's name stands for, as the system's shells find it: with the endings of
/// `PATHEXT` where the name has none, but never in the current directory.
pub fn find(
    name: &OsStr,
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Option<PathBuf> {
    let variable = |wanted: &str| {
        let mut all = environment.iter();
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value)
    };
    let usual = OsString::from(".COM;.EXE;.BAT;.CMD");
    let endings = variable("PATHEXT")
        .unwrap_or(&usual)
        .to_string_lossy()
        .into_owned();
    let with_ending = |path: PathBuf| {
        if path.extension().is_some() && path.is_file() {
            return Some(path);
        }
        endings
            .split(';')
            .filter(|e| !e.is_empty())
            .find_map(|ending| {
                let mut longer = path.clone().into_os_string();
                longer.push(ending);
                Some(PathBuf::from(longer)).filter(|file| file.is_file())
            })
    };
    if Path::new(name).components().count() > 1 {
        return with_ending(directory.join(name));
    }
    std::env::split_paths(variable("PATH")?)
        .filter(|dir| dir.is_absolute())
        .find_map(|dir| with_ending(dir.join(name)))
}

/// What is executed where a program's name is this: the file that [`find`] finds.
pub fn to_execute(
    name: &OsStr,
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Option<PathBuf> {
    find(name, environment, directory)
}

/// The shell that runs a user's line, and what comes before the line, as Gemini CLI 0.61.0 takes
/// it: what `ComSpec` names where that is a PowerShell, else the newer one where it is installed,
/// else the one of the system.
pub fn shell() -> Option<(PathBuf, &'static [&'static str])> {
    const QUIET: &[&str] = &["-NoProfile", "-NonInteractive", "-Command"];
    if let Some(named) = std::env::var_os("ComSpec") {
        let lower = named.to_string_lossy().to_lowercase();
        if lower.ends_with("powershell.exe") || lower.ends_with("pwsh.exe") {
            return Some((named.into(), QUIET));
        }
    }
    if let Some(newer) = find_program(OsStr::new("pwsh.exe")) {
        return Some((newer, &["-NoProfile", "-Command"]));
    }
    let usual = find_program(OsStr::new("powershell.exe"))?;
    Some((usual, QUIET))
}

/// Whether the shell takes code, settings or functions from a variable before it reads its line:
/// PowerShell takes them from its profile, which is left out.
pub fn changes_shell(_name: &OsStr) -> bool {
    false
}

/// The editor with the file, by the system's shell.
pub fn editor(editor: &OsStr, file: &Path) -> Command {
    // The outer quotes go, all others stay as they are.
    let mut line = OsString::from("/d /s /c \"");
    line.push(editor);
    line.push(" \"");
    line.push(file);
    line.push("\"\"");
    let mut command = Command::new("cmd");
    command.raw_arg(line);
    command
}

/// Has a program get no console of its own, and no Ctrl-C of ours.
pub fn without_console(command: &mut Command) {
    command.creation_flags(CREATE_NO_WINDOW);
}
