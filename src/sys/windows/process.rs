//! Processes.

use super::fd::{FromRaw, OwnedFd};
use super::io::Errno;
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
};

/// A process that is waited for, and asked when it was started.
pub(crate) fn open(pid: u32, access: u32) -> Result<OwnedFd, Errno> {
    let access = access | PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION;
    // SAFETY: takes numbers.
    OwnedFd::from_raw(unsafe { OpenProcess(access, 0, pid) })
}

/// A signal, where Windows has anything like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(bool);

impl Signal {
    /// Asks a process to end: it is ended, because Windows has no way to ask every process.
    pub const TERM: Self = Self(true);
    /// Ends a process.
    pub const KILL: Self = Self(true);
    /// Lets a process go on, which Windows has no need of.
    pub const CONT: Self = Self(false);

    /// Whether a process that gets it ends.
    pub(crate) fn ends(self) -> bool {
        self.0
    }
}
