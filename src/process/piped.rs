//! A program that is talked to over its standard streams for as long as it lives, under a
//! warden: when it is dropped, or its caller is gone, everything that it started is ended.

use super::raw::{self, Descriptors, Prepared};
use super::warden::{Ending, Event, Watched};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Access, Mode, OFlags};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    /// Starts it in a session of its own.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such program, otherwise what the system says.
    pub fn start(&self) -> io::Result<Piped> {
        let path = self.find().ok_or(io::ErrorKind::NotFound)?;
        let program = CString::new(path.as_os_str().as_bytes())?;
        let mut arguments = vec![CString::new(self.name.as_bytes())?];
        for argument in self.arguments {
            arguments.push(CString::new(argument.as_str())?);
        }
        let environment = self
            .environment
            .iter()
            .filter_map(|(name, value)| {
                CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
            })
            .collect();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(self.directory, flags, Mode::empty())?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let (reads, input) = raw::pipe()?;
        let mut watched = Watched::start(
            true,
            |output, errors| {
                let descriptors = Descriptors {
                    directory: directory.as_fd(),
                    input: Some(reads.as_fd()),
                    output,
                    errors,
                };
                Prepared::new(&program, arguments, environment, &descriptors, None)
            },
            null.as_fd(),
        )?;
        let output = watched.output.try_clone()?;
        let errors = watched.errors.take();
        Ok(Piped {
            watched,
            input: Some(input),
            output: Some(output),
            errors,
            is_gone: false,
            ending: None,
        })
    }

    fn find(&self) -> Option<PathBuf> {
        find(self.name, self.environment, self.directory)
    }
}

/// The file that a program's name stands for, as a shell would find it.
pub fn find(
    name: &OsStr,
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Option<PathBuf> {
    let is_program =
        |file: &PathBuf| file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok();
    if name.as_bytes().contains(&b'/') {
        return Some(directory.join(name)).filter(is_program);
    }
    let usual = OsString::from("/usr/local/bin:/usr/bin:/bin");
    let path = environment.get(OsStr::new("PATH")).unwrap_or(&usual);
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(is_program)
}

impl Piped {
    /// Looks whether all of it is gone by itself.
    pub fn is_gone(&mut self) -> bool {
        while let Some(event) = self.watched.next_event() {
            match event {
                Event::Ended { ending, all_gone } => {
                    self.ending = Some(ending);
                    self.is_gone |= all_gone;
                }
                Event::AllGone { .. } | Event::Lost => self.is_gone = true,
            }
            if self.is_gone {
                break;
            }
        }
        self.is_gone
    }

    /// How the program itself has ended, where [`Piped::is_gone`] has seen it; others that it
    /// started may live on.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Asks everything to end, and sees to it after `grace`. Does not wait.
    pub fn end(&self, grace: Duration) {
        self.watched.end_all(grace);
    }

    /// Waits until all of it is gone, at most so long. Whether it is.
    pub fn wait(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while !self.is_gone() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let control = self.watched.control();
            let mut fds = [PollFd::new(&control, PollFlags::IN)];
            let pause = Timespec::try_from(left).unwrap_or_default();
            // An interruption only makes it look earlier.
            let _ = rustix::event::poll(&mut fds, Some(&pause));
        }
        true
    }
}
