//! Starts each kind of program with its environment and its standard streams.

use super::command::{ProgramCommand, ShellCommand, variables};
use super::piped::Program;
use crate::program;
use crate::raw;
use crate::supervisor::{Start, SupervisedProgram};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;

impl ShellCommand<'_> {
    /// Starts the command, with an empty standard input, and standard error in the output's pipe.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if there is no bash, or the operating system's error.
    pub fn start(&self) -> io::Result<SupervisedProgram> {
        let shell = program::find_program(OsStr::new("bash")).ok_or(io::ErrorKind::NotFound)?;
        // After `--`, bash takes the line as a command even if it begins with a dash.
        let words = ["--norc", "--noprofile", "-c", "--", self.line];
        let mut environment = variables(self.path);
        environment.retain(|name, _| !program::changes_shell(name));
        SupervisedProgram::start(&Start {
            name: shell.file_name().unwrap_or_default(),
            program: &shell,
            arguments: &words.map(OsStr::new),
            environment: &environment,
            directory: self.directory,
            input: None,
            apart: false,
            sandbox: self.sandbox,
            changes: self.changes,
        })
    }
}

impl ProgramCommand<'_> {
    /// Starts the program, with a pipe of its own for standard error.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if there is no such program, or the operating system's error.
    pub fn start(&self) -> io::Result<SupervisedProgram> {
        let mut environment = variables(self.path);
        let program = program::to_execute(self.program, &environment, self.path);
        let hidden = self.not_inherited.as_bytes();
        environment.retain(|name, _| !name.as_bytes().starts_with(hidden));
        for (name, value) in self.environment {
            environment.insert(name.clone(), value.clone());
        }
        let input = match self.input {
            [] => None,
            bytes => Some(file_with(bytes)?.into()),
        };
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        SupervisedProgram::start(&Start {
            name: self.program,
            program: &program.ok_or(io::ErrorKind::NotFound)?,
            arguments: &arguments.collect::<Vec<_>>(),
            environment: &environment,
            directory: self.directory,
            input,
            apart: true,
            sandbox: self.sandbox,
            changes: self.changes,
        })
    }
}

pub(super) fn start_piped(program: &Program<'_>) -> io::Result<(SupervisedProgram, OwnedFd)> {
    let path = program::to_execute(program.name, program.environment, program.directory);
    let path = path.ok_or(Errno::NOENT)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(program.directory, flags, Mode::empty())?;
    let (reads, input) = io::pipe()?;
    let arguments = program.arguments.iter().map(OsStr::new);
    let started = SupervisedProgram::start(&Start {
        name: program.name,
        program: &path,
        arguments: &arguments.collect::<Vec<_>>(),
        environment: program.environment,
        directory: directory.as_fd(),
        input: Some(reads.into()),
        apart: true,
        sandbox: None,
        changes: None,
    })?;
    Ok((started, input.into()))
}

/// Returns an anonymous file that holds `bytes`, for a program to read as its standard input.
/// Unlike a pipe it needs no thread to feed it, and blocks nobody if the program never reads it.
pub(crate) fn file_with(bytes: &[u8]) -> io::Result<File> {
    let mut file = raw::file_in_memory()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
