//! Watching over a command and everything that it starts, by a job object.

use super::fd::{AsFd, BorrowedFd, OwnedFd};
use super::io::Errno;
use super::job::Job;
use crate::supervisor::Event;
use std::cell::Cell;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
use windows_sys::Win32::System::Threading::{GetExitCodeProcess, WaitForSingleObject};

/// A command that runs, as its caller sees it. Dropping it ends everything.
#[derive(Debug)]
pub struct Supervised {
    job: Job,
    process: OwnedFd,
    /// All that the command and its children print.
    pub output: OwnedFd,
    /// What they print to standard error, where that is kept apart.
    pub errors: Option<OwnedFd>,
    /// The process that watches over the command: this one.
    pub supervisor: i32,
    /// The process of the command.
    pub leader: i32,
    has_ended: Cell<bool>,
    is_over: Cell<bool>,
}

impl Supervised {
    pub(super) fn new(
        job: Job,
        process: OwnedFd,
        pid: u32,
        output: OwnedFd,
        errors: Option<OwnedFd>,
    ) -> Self {
        Self {
            job,
            process,
            output,
            errors,
            supervisor: std::process::id() as i32,
            leader: pid as i32,
            has_ended: Cell::new(false),
            is_over: Cell::new(false),
        }
    }

    /// The handle to wait for before [`Supervised::next_event`].
    pub fn control(&self) -> BorrowedFd<'_> {
        if self.has_ended.get() {
            // It does not become ready: what else ends is looked for.
            return self.job.handle().as_fd();
        }
        self.process.as_fd()
    }

    /// What there is to say, if anything.
    pub fn next_event(&self) -> Option<Event> {
        if self.is_over.get() {
            return None;
        }
        if !self.has_ended.get() {
            let status = self.exit_status()?;
            let all_gone = self.job.living() == 0;
            self.has_ended.set(true);
            return Some(Event::Ended { status, all_gone });
        }
        if self.job.living() > 0 {
            return None;
        }
        self.is_over.set(true);
        Some(Event::AllGone { left: 0 })
    }

    fn exit_status(&self) -> Option<ExitStatus> {
        let process = self.process.as_raw_handle();
        let mut code = 0;
        // SAFETY: the handle is open.
        unsafe {
            if WaitForSingleObject(process, 0) != WAIT_OBJECT_0 {
                return None;
            }
            GetExitCodeProcess(process, &raw mut code);
        }
        Some(ExitStatus::from_raw(code))
    }

    /// Nothing is said while it is asked to stay.
    pub fn ended_meanwhile(&self) -> Option<ExitStatus> {
        None
    }

    /// No process can keep the system from its work.
    pub fn is_being_stopped(&self) -> bool {
        false
    }

    /// Ends everything; [`Event::AllGone`] follows.
    pub fn end_all(&self, _grace: Duration) {
        self.job.end();
    }

    /// Nothing stays without its caller.
    ///
    /// # Errors
    ///
    /// `NOTSUP`.
    pub fn detach(&self, _record: &Path, _log: &Path) -> Result<(), Errno> {
        Err(Errno::NOTSUP)
    }

    /// Nothing stays without its caller.
    ///
    /// # Errors
    ///
    /// `NOTSUP`.
    pub fn detach_unrecorded(&self) -> Result<(), Errno> {
        Err(Errno::NOTSUP)
    }
}
