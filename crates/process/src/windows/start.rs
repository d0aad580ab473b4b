//! Starting programs: suspended, so that they are in the job before they can start others.

use super::job::{self, Job};
use super::supervisor::Supervised;
use crate::command::{ProgramCommand, ShellCommand, variables};
use crate::piped::Program;
use gemini_tools_platform::fd::OwnedFd;
use gemini_tools_platform::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_TEMPORARY, FILE_FLAG_DELETE_ON_CLOSE,
};
use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

/// What a program is started with.
struct Start<'a> {
    program: &'a Path,
    arguments: Vec<&'a OsStr>,
    environment: BTreeMap<OsString, OsString>,
    directory: &'a Path,
    input: Stdio,
    /// Whether standard error is kept apart.
    apart: bool,
}

impl Start<'_> {
    fn start(self) -> io::Result<Supervised> {
        let (output, writer) = io::pipe()?;
        let (errors, error_writer) = if self.apart {
            let (errors, writer) = io::pipe()?;
            (Some(OwnedFd::from(errors)), writer)
        } else {
            (None, writer.try_clone()?)
        };
        let job = Job::new()?;
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .env_clear()
            .envs(self.environment)
            .current_dir(self.directory)
            .stdin(self.input)
            .stdout(writer)
            .stderr(error_writer)
            .creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW);
        let mut child = command.spawn()?;
        // Our ends for writing are closed with it, or the output would never end.
        drop(command);
        let begun = job
            .take(child.as_raw_handle())
            .and_then(|()| job::resume(child.id()));
        if let Err(errno) = begun {
            // It has not run yet, and must not run outside of the job.
            let _ = child.kill();
            return Err(errno.into());
        }
        let pid = child.id();
        Ok(Supervised::new(
            job,
            child.into(),
            pid,
            output.into(),
            errors,
        ))
    }
}

impl ShellCommand<'_> {
    /// Starts the command in a job object, with the shell that Gemini CLI 0.61.0 takes on
    /// Windows: PowerShell.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is none, otherwise what the system says.
    pub fn start(&self) -> io::Result<Supervised> {
        let (shell, words) = shell().ok_or(io::ErrorKind::NotFound)?;
        let mut arguments: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        arguments.push(OsStr::new(self.line));
        let start = Start {
            program: &shell,
            arguments,
            environment: variables(self.path, &[]),
            directory: self.path,
            input: Stdio::null(),
            apart: false,
        };
        start.start()
    }
}

/// The shell, and what comes before the command: what `ComSpec` names where that is a
/// PowerShell, else the newer one where it is installed, else the one of the system.
fn shell() -> Option<(PathBuf, &'static [&'static str])> {
    const QUIET: &[&str] = &["-NoProfile", "-NonInteractive", "-Command"];
    if let Some(named) = std::env::var_os("ComSpec") {
        let lower = named.to_string_lossy().to_lowercase();
        if lower.ends_with("powershell.exe") || lower.ends_with("pwsh.exe") {
            return Some((named.into(), QUIET));
        }
    }
    if let Some(newer) = crate::command::find_program(OsStr::new("pwsh.exe")) {
        return Some((newer, &["-NoProfile", "-Command"]));
    }
    let usual = crate::command::find_program(OsStr::new("powershell.exe"))?;
    Some((usual, QUIET))
}

impl ProgramCommand<'_> {
    /// Starts the program in a job object, its standard error apart from its output.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such program, otherwise what the system says.
    pub fn start(&self) -> io::Result<Supervised> {
        let environment = variables(self.path, self.environment);
        let program = gemini_tools_platform::program::find(self.program, &environment, self.path);
        let start = Start {
            program: &program.ok_or(io::ErrorKind::NotFound)?,
            arguments: self.arguments.iter().map(OsString::as_os_str).collect(),
            environment,
            directory: self.path,
            input: file_with(self.input)?,
            apart: true,
        };
        start.start()
    }
}

/// A file that holds `bytes` and is gone when the last has closed it: it need not be fed to a
/// program, and one that does not read it is not waited for.
fn file_with(bytes: &[u8]) -> io::Result<Stdio> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("gemini-tools-{}-{number}.json", std::process::id());
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
    options.attributes(FILE_ATTRIBUTE_TEMPORARY);
    let mut file = options.open(std::env::temp_dir().join(name))?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Starts a program in a job object of its own. Gives what is written to for it to read, too.
pub(crate) fn start_piped(program: &Program<'_>) -> io::Result<(Supervised, OwnedFd)> {
    let path = program.find().ok_or(Errno::NOENT)?;
    let (reads, input) = io::pipe()?;
    let start = Start {
        program: &path,
        arguments: program.arguments.iter().map(OsStr::new).collect(),
        environment: program.environment.clone(),
        directory: program.directory,
        input: Stdio::from(reads),
        apart: true,
    };
    Ok((start.start()?, input.into()))
}
