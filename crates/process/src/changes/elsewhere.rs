//! Types without values: systems other than Linux can't keep copies of what a command changes.

use gemini_tools_workspace::journal::{ChangeCounts, CommandChanges};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// A request to keep what a command changes. This type has no value on this system.
#[derive(Debug)]
pub enum ChangeWatch {}

#[derive(Debug)]
pub(crate) enum SupervisorWatch {}

#[derive(Clone, Copy)]
pub(crate) struct CommandWatch<'a>(&'a ChangeWatch);

impl ChangeWatch {
    /// Returns `None`, since this system has no such mechanism.
    pub fn new(_changes: CommandChanges, _may_forbid_sudo: bool) -> Option<Self> {
        None
    }
}

impl SupervisorWatch {
    pub(crate) fn new(watch: &ChangeWatch) -> Result<Option<(Self, OwnedFd)>, Errno> {
        match *watch {}
    }

    pub(crate) fn receive(&mut self) -> Result<OwnedFd, Errno> {
        match *self {}
    }

    pub(crate) fn begin(&self, _listener: OwnedFd) -> Result<(), Errno> {
        match *self {}
    }

    pub(crate) fn record(&self, _is_last: bool) -> ChangeCounts {
        match *self {}
    }

    pub(crate) fn lose(&self) -> ChangeCounts {
        match *self {}
    }
}

impl<'a> CommandWatch<'a> {
    pub(crate) fn new(watch: &'a ChangeWatch, _socket: &'a OwnedFd) -> Self {
        Self(watch)
    }

    pub(crate) fn install(self, _is_sandboxed: bool) {
        match *self.0 {}
    }
}
