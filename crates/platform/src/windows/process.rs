//! Processes.

use super::fd::{FromRaw, OwnedFd};
use super::io::Errno;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Foundation::WAIT_TIMEOUT;
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, WaitForSingleObject,
};

/// A process that is waited for, and asked when it was started.
pub fn open(pid: u32, access: u32) -> Result<OwnedFd, Errno> {
    let access = access | PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION;
    // SAFETY: takes numbers.
    unsafe { OwnedFd::from_raw(OpenProcess(access, 0, pid)) }
}

/// Whether a process that is held open has not ended.
pub fn is_running(process: &OwnedFd) -> bool {
    // SAFETY: the handle is open.
    unsafe { WaitForSingleObject(process.as_raw_handle(), 0) == WAIT_TIMEOUT }
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
    pub fn ends(self) -> bool {
        self.0
    }
}

/// A process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pid(u32);

impl Pid {
    /// The id of that number, where it is one.
    pub fn from_raw(raw: i32) -> Option<Self> {
        u32::try_from(raw).ok().filter(|pid| *pid != 0).map(Self)
    }
}

/// Whether a process of this id is there.
///
/// # Errors
///
/// `SRCH` where there is none.
pub fn test_kill_process(pid: Pid) -> Result<(), Errno> {
    match open(pid.0, 0) {
        // Windows calls it an invalid parameter where no process has the number.
        Err(Errno::INVAL) => Err(Errno::SRCH),
        // The process of another user.
        Err(e) => Err(e),
        Ok(process) => is_running(&process).then_some(()).ok_or(Errno::SRCH),
    }
}
