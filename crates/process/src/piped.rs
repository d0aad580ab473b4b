//! A program that keeps running and exchanges messages over its standard streams, such as an MCP
//! server. A supervisor ends it with all its children when it is dropped or when its caller dies.

use super::ending::ProcessEnd;
use super::start;
use crate::read_buffer::is_readable;
use crate::supervisor::{SupervisedProgram, SupervisorEvent};
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A program to be started.
#[derive(Debug)]
pub struct Program<'a> {
    /// A path, or a name that is looked up in the `PATH` of `environment`.
    pub name: &'a OsStr,
    /// The program's arguments.
    pub arguments: &'a [String],
    /// All variables of the program's environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// The working directory, from which a relative path of the program starts.
    pub directory: &'a Path,
}

/// A running program, with this process's ends of its streams.
#[derive(Debug)]
pub struct PipedProgram {
    watched: SupervisedProgram,
    /// This end of its standard input; `None` once it has been taken.
    pub input: Option<OwnedFd>,
    /// This end of its output; `None` once it has been taken.
    pub output: Option<OwnedFd>,
    /// This end of its standard error; `None` once it has been taken.
    pub errors: Option<OwnedFd>,
    is_gone: bool,
    ending: Option<ProcessEnd>,
}

impl Program<'_> {
    /// Starts the program in a session of its own.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if there is no such program, or the operating system's error.
    pub fn start(&self) -> io::Result<PipedProgram> {
        let (mut watched, input) = start::start_piped(self)?;
        let output = watched.output.try_clone()?;
        let errors = watched.errors.take();
        Ok(PipedProgram {
            watched,
            input: Some(input),
            output: Some(output),
            errors,
            is_gone: false,
            ending: None,
        })
    }

    /// Returns the file to execute; `None` if there is none. A name is looked up as a shell would,
    /// but never in the current directory.
    pub fn find(&self) -> Option<PathBuf> {
        crate::program::find(self.name, self.environment, self.directory)
    }
}

impl PipedProgram {
    /// Returns true if the program and its children, or its supervisor, have ended. Does not wait.
    pub fn is_gone(&mut self) -> bool {
        while !self.is_gone {
            match self.watched.next_event() {
                Some(SupervisorEvent::Ended { status, all_gone }) => {
                    self.ending = Some(status.into());
                    self.is_gone = all_gone;
                }
                Some(SupervisorEvent::AllGone { .. } | SupervisorEvent::Lost) => {
                    self.is_gone = true;
                }
                None => break,
            }
        }
        self.is_gone
    }

    /// Returns how the program itself ended, if [`PipedProgram::is_gone`] has noticed that. Its
    /// children may still run.
    pub fn ending(&self) -> Option<ProcessEnd> {
        self.ending
    }

    /// Ends the program and its children: with SIGTERM, and with SIGKILL after `grace`. Does not
    /// wait.
    pub fn end(&self, grace: Duration) {
        self.watched.end_all(grace);
    }

    /// Waits at most `limit` until the program and all its children have ended. Returns true if so.
    pub fn wait(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while !self.is_gone() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            // A signal only makes this loop check earlier.
            is_readable(self.watched.control(), left);
        }
        true
    }
}
