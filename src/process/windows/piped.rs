//! A program that is talked to over its standard streams for as long as it lives, in a job
//! object: when it is dropped, or its caller is gone, everything that it started is ended.

use super::start::Start;
use super::warden::{Ending, Event, Watched};
use crate::sys::event::{PollFd, PollFlags, Timespec, poll};
use crate::sys::fd::OwnedFd;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

pub use super::start::find;

/// What is to be started.
#[derive(Debug)]
pub struct Program<'a> {
    /// A path, or a name that is looked up in the `PATH` of `environment`.
    pub name: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [String],
    /// All of its environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Where it runs; a relative path of the program counts from here.
    pub directory: &'a Path,
}

/// A program that runs, with our ends of its streams.
#[derive(Debug)]
pub struct Piped {
    watched: Watched,
    /// What is written here it reads.
    pub input: Option<OwnedFd>,
    /// What it prints; `None` once somebody has taken it.
    pub output: Option<OwnedFd>,
    /// What it says on standard error; `None` once somebody has taken it.
    pub errors: Option<OwnedFd>,
    is_gone: bool,
    ending: Option<Ending>,
}

impl Program<'_> {
    /// Starts it in a job object of its own.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such program, otherwise what the system says.
    pub fn start(&self) -> io::Result<Piped> {
        let path = find(self.name, self.environment, self.directory);
        let (reads, input) = io::pipe()?;
        let start = Start {
            program: &path.ok_or(io::ErrorKind::NotFound)?,
            arguments: self.arguments.iter().map(OsStr::new).collect(),
            environment: self.environment.clone(),
            directory: self.directory,
            input: Stdio::from(reads),
            apart: true,
        };
        let mut watched = start.start()?;
        let output = watched.output.try_clone()?;
        let errors = watched.errors.take();
        Ok(Piped {
            watched,
            input: Some(input.into()),
            output: Some(output),
            errors,
            is_gone: false,
            ending: None,
        })
    }
}

impl Piped {
    /// Looks whether all of it is gone by itself.
    pub fn is_gone(&mut self) -> bool {
        while !self.is_gone {
            match self.watched.next_event() {
                Some(Event::Ended { ending, all_gone }) => {
                    self.ending = Some(ending);
                    self.is_gone = all_gone;
                }
                Some(Event::AllGone { .. } | Event::Lost) => self.is_gone = true,
                None => break,
            }
        }
        self.is_gone
    }

    /// How the program itself has ended, where [`Piped::is_gone`] has seen it; others that it
    /// started may live on.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Ends everything. Does not wait.
    pub fn end(&self, grace: Duration) {
        self.watched.end_all(grace);
    }

    /// Waits until all of it is gone, at most so long. Whether it is.
    pub fn wait(&mut self, limit: Duration) -> bool {
        /// What else there is than the program is looked for so often.
        const TICK: Duration = Duration::from_millis(10);
        let until = Instant::now() + limit;
        while !self.is_gone() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let control = self.watched.control();
            let mut fds = [PollFd::new(&control, PollFlags::IN)];
            let pause = Timespec::try_from(left.min(TICK)).ok();
            let _ = poll(&mut fds, pause.as_ref());
        }
        true
    }
}
