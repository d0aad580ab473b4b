//! Job objects. Nothing in one outlives its last handle, which is the call's.

use super::fd::{FromRaw, OwnedFd};
use super::io::Errno;
use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, RawHandle};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{OpenThread, ResumeThread, THREAD_SUSPEND_RESUME};

/// A job object that ends what is in it when it is closed.
#[derive(Debug)]
pub(super) struct Job(OwnedFd);

impl Job {
    pub(super) fn new() -> Result<Self, Errno> {
        // SAFETY: both pointers may be null: the usual security, and no name.
        let job =
            unsafe { OwnedFd::from_raw(CreateJobObjectW(std::ptr::null(), std::ptr::null())) }?;
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the structure is that of the class, and is only read.
        let done = unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast::<c_void>(),
                size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
            )
        };
        if done == 0 {
            return Err(Errno::last());
        }
        Ok(Self(job))
    }

    pub(super) fn handle(&self) -> &OwnedFd {
        &self.0
    }

    /// Takes a process in, and with it all that it will start.
    pub(super) fn take(&self, process: RawHandle) -> Result<(), Errno> {
        // SAFETY: both handles are open.
        match unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process) } {
            0 => Err(Errno::last()),
            _ => Ok(()),
        }
    }

    /// How many processes of it live.
    pub(super) fn living(&self) -> usize {
        let mut info = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the structure is that of the class.
        let done = unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut info).cast::<c_void>(),
                size_of::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>() as u32,
                std::ptr::null_mut(),
            )
        };
        if done == 0 {
            return 0;
        }
        info.ActiveProcesses as usize
    }

    /// Ends all that is in it.
    pub(super) fn end(&self) {
        // SAFETY: the handle is open. Where it fails, closing the handle does the same.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

/// Lets a process run that was started suspended: the only thread that it has.
pub(super) fn resume(pid: u32) -> Result<(), Errno> {
    // SAFETY: takes numbers.
    let threads = unsafe { OwnedFd::from_raw(CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0)) }?;
    let mut entry = THREADENTRY32 {
        dwSize: size_of::<THREADENTRY32>() as u32,
        ..THREADENTRY32::default()
    };
    // SAFETY: the structure says its size.
    let mut more = unsafe { Thread32First(threads.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == pid {
            // SAFETY: takes numbers.
            let thread = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) };
            // SAFETY: the handle was just opened.
            let thread = unsafe { OwnedFd::from_raw(thread) }?;
            // SAFETY: the handle is open.
            return match unsafe { ResumeThread(thread.as_raw_handle()) } {
                u32::MAX => Err(Errno::last()),
                _ => Ok(()),
            };
        }
        // SAFETY: as above.
        more = unsafe { Thread32Next(threads.as_raw_handle(), &raw mut entry) };
    }
    Err(Errno::CHILD)
}
