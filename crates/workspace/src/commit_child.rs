//! The steps of a write that a kill must not cut in two.
//!
//! A nameless file can only take an old file's place in several calls: it is given a temporary
//! name, then the two change places, then the old one is removed. A kill between them would leave
//! the temporary name behind. So a child in a session of its own makes these calls; a kill of the
//! tool does not reach it. The child shares our memory and we wait for it: a fork would copy the
//! page tables of a server for a few system calls.
//!
//! Where there are no nameless files, a [`Sweeper`] removes the temporary name after a kill.

#![expect(
    unsafe_code,
    reason = "a process that shares our memory has no safe form; it makes a few system calls only"
)]

use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::AtFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitOptions};
use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::ptr;
use std::time::Duration;

/// Room for the child's calls, in bytes.
const STACK_BYTES: usize = 64 * 1024;

/// Room for each directory that they make.
const STACK_BYTES_PER_DIRECTORY: usize = 4 * 1024;

/// Takes steps that a kill of the tool does not interrupt; `directories` is how many they make.
/// They make system calls only, and leave no descriptor open. Where there can't be another
/// process, this one takes them.
pub(super) fn take(directories: usize, mut steps: &mut dyn FnMut()) {
    let size = (STACK_BYTES + directories * STACK_BYTES_PER_DIRECTORY).next_multiple_of(16);
    // Its pages are touched by use only.
    let mut stack = Vec::<u8>::with_capacity(size);
    let top = stack.as_mut_ptr().wrapping_add(size);
    let top = top.wrapping_sub(top.addr() % 16);
    let signals = block_signals();
    // SAFETY: the child runs on a stack of its own while this thread waits for its end, and
    // takes no signal, whose handler would run on that stack; it makes system calls only.
    let child = unsafe {
        libc::clone(
            in_child,
            top.cast::<c_void>(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut steps).cast::<c_void>(),
        )
    };
    let child = process(child);
    if child.is_none() {
        // At the limit of processes, for example.
        steps();
    }
    restore_signals(&signals);
    if let Some(child) = child {
        reap(child);
    }
}

/// The process that was made, if one was.
fn process(made: c_int) -> Option<Pid> {
    (made > 0).then(|| Pid::from_raw(made)).flatten()
}

/// Waits for the end of a child. Where our starter has children reaped unasked, there is nothing
/// to wait for.
fn reap(child: Pid) {
    let options = WaitOptions::empty();
    while matches!(
        rustix::process::waitpid(Some(child), options),
        Err(Errno::INTR)
    ) {}
}

extern "C" fn in_child(steps: *mut c_void) -> c_int {
    // SAFETY: it is the pointer that `take` gave, which waits.
    let steps = unsafe { &mut *steps.cast::<&mut dyn FnMut()>() };
    let _ = rustix::process::setsid();
    steps();
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

/// Removes a temporary name, if it is still there, when it is dropped and when the tool is
/// killed: a child waits for the end of both.
#[derive(Debug)]
pub(super) struct Sweeper {
    /// The child reads from the other end.
    writer: Option<OwnedFd>,
    child: Pid,
}

impl Sweeper {
    /// `None` where there can't be another process.
    pub(super) fn of(dir: BorrowedFd<'_>, temporary: &str) -> Option<Self> {
        let temporary = CString::new(temporary).ok()?;
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).ok()?;
        let signals = block_signals();
        // SAFETY: the child makes system calls only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let _ = rustix::process::setsid();
            drop(writer);
            let mut byte = [0_u8];
            while matches!(rustix::io::read(&reader, &mut byte), Err(Errno::INTR)) {}
            let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
            // SAFETY: leaves at once, without running anything of the parent's at its exit.
            unsafe { libc::_exit(0) }
        }
        restore_signals(&signals);
        Some(Self {
            writer: Some(writer),
            child: process(child)?,
        })
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        drop(self.writer.take());
        reap(self.child);
    }
}

/// Keeps other programs from beginning to write to a file in place while it lives: they wait
/// until then. It is had only while no process has the file open for writing.
#[derive(Debug)]
pub(super) struct Lease<'a>(&'a File);

impl<'a> Lease<'a> {
    /// Who is writing is waited for so long.
    const MAX_WAIT: Duration = Duration::from_millis(100);

    /// `None` where the file system or the file's owner don't allow it, or another program keeps
    /// the file open for writing.
    pub(super) fn of(file: &'a File) -> Option<Self> {
        // SAFETY: takes plain numbers. Who wants to write makes the kernel send a signal, and this
        // one does nothing where nothing handles it; the usual one would end the process.
        unsafe { libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) };
        let mut waited = Duration::ZERO;
        loop {
            // SAFETY: takes plain numbers.
            let set = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) };
            if set == 0 {
                return Some(Self(file));
            }
            let is_busy = std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
            if !is_busy || waited >= Self::MAX_WAIT || !super::flush::may_wait(file) {
                return None;
            }
            let pause = Duration::from_millis(2);
            std::thread::sleep(pause);
            waited += pause;
        }
    }

    /// Whether another program waits to write to the file.
    pub(super) fn is_challenged(&self) -> bool {
        // SAFETY: takes plain numbers.
        let held = unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE) };
        held != libc::F_RDLCK
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // SAFETY: takes plain numbers.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
    }
}

/// As in `asm-generic/fcntl.h`; the libc crate lacks it.
const F_SETSIG: c_int = 10;
