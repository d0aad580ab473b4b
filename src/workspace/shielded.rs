//! The one step of a write that a kill must not cut in two.
//!
//! A nameless file can only take an old file's place in two calls: it is given a temporary
//! name, then renamed. A kill between them would leave the temporary name behind. So a child in a
//! session of its own makes both calls; a kill of the tool does not reach it. The child shares our
//! memory and we wait for it: a fork would copy the page tables of a server for two system calls.

#![expect(
    unsafe_code,
    reason = "a process that shares our memory has no safe form; it makes a few system calls only"
)]

use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use std::ffi::{CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// Room for the child's calls, in bytes.
const STACK: usize = 32 * 1024;

struct Step<'a> {
    source: CString,
    dir: BorrowedFd<'a>,
    temporary: CString,
    name: CString,
    /// An error as long as the child has not said otherwise: somebody may kill it.
    outcome: Result<(), Errno>,
}

impl Step<'_> {
    fn take(&self) -> Result<(), Errno> {
        let Self { source, dir, .. } = self;
        rustix::fs::linkat(CWD, source, dir, &self.temporary, AtFlags::SYMLINK_FOLLOW)?;
        rustix::fs::renameat(dir, &self.temporary, dir, &self.name).inspect_err(|_| {
            let _ = rustix::fs::unlinkat(dir, &self.temporary, AtFlags::empty());
        })
    }
}

/// Links `source` into `dir` as `temporary` and renames that to `name`, both or neither.
pub(super) fn link_and_rename(
    source: &str,
    dir: BorrowedFd<'_>,
    temporary: &str,
    name: &OsStr,
) -> Result<(), Errno> {
    // Everything that allocates happens before there is a child.
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Errno::INVAL);
    let mut step = Step {
        source: text(source.as_bytes())?,
        dir,
        temporary: text(temporary.as_bytes())?,
        name: text(name.as_bytes())?,
        outcome: Err(Errno::IO),
    };
    let mut stack = vec![0_u8; STACK];
    let top = stack.as_mut_ptr().wrapping_add(STACK & !15);
    let signals = block_signals();
    // SAFETY: the child runs on a stack of its own while this thread waits for its end, and
    // takes no signal, whose handler would run on that stack; it makes system calls only.
    let child = unsafe {
        libc::clone(
            in_child,
            top.cast::<c_void>(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut step).cast::<c_void>(),
        )
    };
    restore_signals(&signals);
    let child = Pid::from_raw(child)
        .filter(|_| child > 0)
        .ok_or(Errno::AGAIN)?;
    // Where our starter has children reaped unasked, there is nothing to wait for.
    let options = WaitOptions::empty();
    while matches!(
        rustix::process::waitpid(Some(child), options),
        Err(Errno::INTR)
    ) {}
    // SAFETY: the child, which has ended, was the only other one to write it.
    unsafe { ptr::read_volatile(&raw const step.outcome) }
}

extern "C" fn in_child(step: *mut c_void) -> c_int {
    // SAFETY: it is the pointer that `link_and_rename` gave, which waits.
    let step = unsafe { &mut *step.cast::<Step<'_>>() };
    let _ = rustix::process::setsid();
    step.outcome = step.take();
    // SAFETY: leaves at once, without running anything of the parent's at its exit.
    unsafe { libc::_exit(0) }
}

fn block_signals() -> libc::sigset_t {
    // SAFETY: the sets are initialised by the calls that are there for it.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: it is a set that the system gave.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::from_ref(before), ptr::null_mut()) };
}
