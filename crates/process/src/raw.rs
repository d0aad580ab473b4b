//! The system calls that have no safe form: forking, starting a program in a session of its
//! own, signals as a descriptor. What differs between Linux and macOS is in a file for each.

#![expect(
    unsafe_code,
    reason = "what runs between fork and exec may only make system calls, which no safe interface promises"
)]

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

pub use system::without_sigpipe;
pub(crate) use system::{
    file_in_memory, is_ignored, next_signal, pipe, receive, send, signals_as_descriptor,
    socket_pair, watch_process, widen,
};

use crate::supervisor::Confine;
use rustix::fd::{AsRawFd, BorrowedFd, RawFd};
use rustix::io::Errno;
use rustix::process::Signal;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::ptr;

/// The largest number of a signal that hosts are known to ignore and children to inherit so.
const SIGNALS: c_int = 31;

/// A signal as it came through the descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalNumber(pub i32);

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Forks. `child` runs in the new process and gives its exit status; other threads of the
/// caller are not there any more, so it must not take locks that they may have held. (The allocator's
/// are safe: the C library sees to them.)
pub(crate) fn fork(child: impl FnOnce() -> i32) -> Result<i32, Errno> {
    // SAFETY: the child runs `child` only, whose callers keep to system calls and allocation.
    match unsafe { libc::fork() } {
        -1 => Err(last()),
        0 => exit(child()),
        pid => Ok(pid),
    }
}

/// Gives a signal its default action.
pub(crate) fn reset_signal(signal: Signal) {
    // SAFETY: the default action needs no handler.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
}

/// Ends the process at once, without running anything of its parent's.
pub(crate) fn exit(status: i32) -> ! {
    // SAFETY: has no preconditions.
    unsafe { libc::_exit(status) }
}

/// Closes all descriptors but the standard streams and `keep`, which is sorted.
pub(crate) fn close_others(keep: &[RawFd]) {
    let mut from = 3;
    for fd in keep {
        system::close_range(from, fd - 1);
        from = fd + 1;
    }
    system::close_range(from, c_int::MAX);
}

/// Puts `fd` in the place of a standard stream.
pub(crate) fn replace_stream(fd: BorrowedFd<'_>, stream: RawFd) {
    // SAFETY: both are plain numbers to the kernel.
    unsafe { libc::dup2(fd.as_raw_fd(), stream) };
}

/// A program that is ready to be started: everything that allocates has happened.
pub(crate) struct PreparedProgram<'a> {
    program: CString,
    /// Keeps alive what the pointers point to.
    _strings: Vec<CString>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    directory: RawFd,
    /// `-1` for the caller's own.
    input: RawFd,
    output: RawFd,
    errors: RawFd,
    confine: Option<&'a Confine<'a>>,
    announcement: Option<Announcement>,
}

/// A message by which a child names itself, before it becomes another program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announcement {
    /// An open socket of [`socket_pair`].
    pub(crate) socket: RawFd,
    /// The message, by the process id.
    pub(crate) message: fn(i32) -> [u8; ANNOUNCEMENT_BYTES],
}

/// The length of the message of an [`Announcement`].
pub(crate) const ANNOUNCEMENT_BYTES: usize = 9;

impl fmt::Debug for PreparedProgram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and environment may hold secrets.
        f.debug_struct("PreparedProgram")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// The descriptors that a program starts with.
#[derive(Debug)]
pub(crate) struct Descriptors<'a> {
    /// The directory.
    pub(crate) directory: BorrowedFd<'a>,
    /// Standard input; `None` for the caller's own.
    pub(crate) input: Option<BorrowedFd<'a>>,
    /// Standard output.
    pub(crate) output: BorrowedFd<'a>,
    /// Standard error.
    pub(crate) errors: BorrowedFd<'a>,
}

impl<'a> PreparedProgram<'a> {
    /// Makes it ready; `confine` is done in the child last of all.
    pub(crate) fn new(
        program: &CStr,
        arguments: Vec<CString>,
        environment: Vec<CString>,
        descriptors: &Descriptors<'_>,
        confine: Option<&'a Confine<'a>>,
    ) -> Self {
        let list = |strings: &[CString]| -> Vec<*const c_char> {
            let pointers = strings.iter().map(|s| s.as_ptr());
            pointers.chain([ptr::null()]).collect()
        };
        let (argv, envp) = (list(&arguments), list(&environment));
        let mut strings = arguments;
        strings.extend(environment);
        Self {
            program: program.to_owned(),
            _strings: strings,
            argv,
            envp,
            directory: descriptors.directory.as_raw_fd(),
            input: descriptors.input.map_or(-1, |fd| fd.as_raw_fd()),
            output: descriptors.output.as_raw_fd(),
            errors: descriptors.errors.as_raw_fd(),
            confine,
            announcement: None,
        }
    }

    /// Has the child say who it is before it becomes the program.
    pub(crate) fn announce(&mut self, announcement: Announcement) {
        self.announcement = Some(announcement);
    }

    /// Starts the program in a session of its own. Gives back its process id once it runs.
    pub(crate) fn start(&mut self) -> Result<i32, Errno> {
        system::start(self)
    }
}

/// Becomes the program, in the child, or returns the error that kept it from that. Makes system
/// calls only. Of the descriptors from 3 on, `keep` alone stays open until the program is there.
fn become_program(program: &PreparedProgram<'_>, keep: Option<RawFd>) -> c_int {
    // SAFETY: system calls with values that were prepared before.
    unsafe {
        libc::setsid();
        if let Some(Announcement { socket, message }) = program.announcement {
            system::announce(socket, &message(libc::getpid()));
        }
        for signal in 1..=SIGNALS {
            // Some can't be changed, which is as it should be.
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        if (program.input >= 0 && libc::dup2(program.input, 0) < 0)
            || libc::dup2(program.output, 1) < 0
            || libc::dup2(program.errors, 2) < 0
            || libc::fchdir(program.directory) < 0
        {
            last().raw_os_error()
        } else if let Some(Err(errno)) = program.confine.map(|confine| confine()) {
            errno.raw_os_error()
        } else {
            // Descriptors that the host has left open are not for the program, least of all in
            // the background.
            close_others(keep.as_slice());
            libc::execve(
                program.program.as_ptr(),
                program.argv.as_ptr(),
                program.envp.as_ptr(),
            );
            last().raw_os_error()
        }
    }
}
