//! The system calls that have no safe form: forking, starting a program in a session of its own,
//! signals as a descriptor. The parts that differ between Linux and macOS are in a file for each.

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

#[cfg(target_os = "linux")]
pub(crate) use linux::{install_filter, start_thread_after_fork, try_close_range};
pub use system::without_sigpipe;
pub(crate) use system::{
    file_in_memory, next_signal, pipe, receive, send, signals_as_descriptor, socket_pair,
    watch_process, widen,
};

use crate::changes::CommandWatch;
use crate::sandbox::Sandbox;
use crate::supervisor::{MESSAGE_BYTES, Start, chosen};
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::process::Signal;
use std::ffi::{CString, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// Highest number of the signals whose action is reset. A host may ignore signals, and children
/// inherit that.
const SIGNALS: c_int = 31;

pub(crate) fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Forks. `child` runs in the new process and returns its exit status. The caller's other threads
/// don't exist there, so `child` must not take a lock that they may have held, nor start a thread
/// of the standard library, which takes one. Allocating is safe: the C library protects its
/// allocator, and `dlmalloc`, the allocator of the musl builds, is prepared below.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> Result<i32, Errno> {
    // SAFETY: it registers handlers, once, and allocates nothing from `dlmalloc`.
    #[cfg(target_env = "musl")]
    unsafe {
        dlmalloc::enable_alloc_after_fork();
    }
    // SAFETY: the child runs `child` only, whose callers keep to system calls and allocation.
    match unsafe { libc::fork() } {
        -1 => Err(last()),
        0 => exit(child()),
        pid => Ok(pid),
    }
}

pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: without a new action the call only writes the present one into `action`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

pub(crate) fn reset_signal(signal: Signal) {
    // SAFETY: the default action needs no handler.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
}

pub(crate) fn exit(status: i32) -> ! {
    // SAFETY: has no preconditions.
    unsafe { libc::_exit(status) }
}

/// Closes all descriptors but the standard streams and `keep`, which must be sorted.
pub(crate) fn close_others(keep: &[RawFd]) {
    let mut from = 3;
    for fd in keep {
        system::close_range(from, fd - 1);
        from = fd + 1;
    }
    system::close_range(from, c_int::MAX);
}

/// A program that is ready to be started. Everything that allocates memory has been done, because
/// the child may make system calls only. On the socket `announce_to` the child reports its process
/// id before it becomes the program.
pub(crate) struct PreparedProgram<'a> {
    program: CString,
    _strings: Vec<CString>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    directory: RawFd,
    input: RawFd,
    output: RawFd,
    errors: RawFd,
    sandbox: Option<&'a Sandbox>,
    watched: Option<CommandWatch<'a>>,
    announce_to: RawFd,
}

impl<'a> PreparedProgram<'a> {
    pub(crate) fn new(
        start: &Start<'a>,
        output: &OwnedFd,
        errors: &OwnedFd,
        announce_to: &OwnedFd,
        watched: Option<CommandWatch<'a>>,
    ) -> io::Result<Self> {
        let list = |strings: &[CString]| -> Vec<*const c_char> {
            let pointers = strings.iter().map(|s| s.as_ptr());
            pointers.chain([ptr::null()]).collect()
        };
        let words = std::iter::once(&start.name).chain(start.arguments);
        let words = words.map(|word| CString::new(word.as_bytes()));
        let mut strings: Vec<CString> = words.collect::<Result<_, _>>()?;
        let environment = start.environment.iter().filter_map(|(name, value)| {
            let both = [name.as_bytes(), b"=", value.as_bytes()].concat();
            CString::new(both).ok()
        });
        let environment: Vec<CString> = environment.collect();
        let (argv, envp) = (list(&strings), list(&environment));
        strings.extend(environment);
        Ok(Self {
            program: CString::new(start.program.as_os_str().as_bytes())?,
            _strings: strings,
            argv,
            envp,
            directory: start.directory.as_raw_fd(),
            input: start.input.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            output: output.as_raw_fd(),
            errors: errors.as_raw_fd(),
            sandbox: start.sandbox,
            watched,
            announce_to: announce_to.as_raw_fd(),
        })
    }

    pub(crate) fn start(&mut self) -> Result<i32, Errno> {
        system::start(self)
    }
}

/// Executes the program in the calling process, the forked child. Returns the error number if that
/// fails. Makes system calls only. Of the descriptors from 3 on, `keep` alone survives until
/// `exec`.
fn become_program(program: &PreparedProgram<'_>, keep: Option<RawFd>) -> c_int {
    // SAFETY: system calls with values that were prepared before.
    unsafe {
        libc::setsid();
        system::announce(program.announce_to, &chosen(libc::getpid()));
        for signal in 1..=SIGNALS {
            // This fails for SIGKILL and SIGSTOP, whose action is always the default one.
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
            return last().raw_os_error();
        }
        if let Some(watched) = program.watched {
            watched.install(program.sandbox.is_some());
        }
        if let Some(Err(errno)) = program.sandbox.map(Sandbox::apply) {
            errno.raw_os_error()
        } else {
            // The program must not get descriptors that the host has left open.
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
