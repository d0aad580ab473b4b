//! The system calls that have no safe form: forking, starting a program in a session of its
//! own, signals as a descriptor.

#![expect(
    unsafe_code,
    reason = "what runs between fork and exec may only make system calls, which no safe interface promises"
)]

use super::sandbox::Sandbox;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// Room for the few calls of the child, in bytes; the parent's memory until it has become
/// another program.
const STACK: usize = 64 * 1024;

/// The largest number of a signal that hosts are known to ignore and children to inherit so.
const SIGNALS: c_int = 31;

/// A signal as it came through the descriptor.
pub(super) struct Received(pub(super) i32);

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Forks. `child` runs in the new process and gives its exit status; other threads of the
/// caller are not there any more, so it must not take locks that they may have held. (The allocator's
/// are safe: the C library sees to them.)
pub(super) fn fork(child: impl FnOnce() -> i32) -> Result<i32, Errno> {
    // SAFETY: the child runs `child` only, whose callers in this module's parent keep to
    // system calls and allocation.
    match unsafe { libc::fork() } {
        -1 => Err(last()),
        0 => exit(child()),
        pid => Ok(pid),
    }
}

/// Ends the process at once, without running anything of its parent's.
pub(super) fn exit(status: i32) -> ! {
    // SAFETY: has no preconditions.
    unsafe { libc::_exit(status) }
}

/// Closes all descriptors but the standard streams and `keep`.
pub(super) fn close_others(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut from = 3;
    for fd in keep.iter() {
        close_range(from, fd - 1);
        from = fd + 1;
    }
    close_range(from, c_int::MAX);
}

fn close_range(from: c_int, to: c_int) {
    if from > to {
        return;
    }
    // SAFETY: the caller owns nothing among these numbers that it will use again.
    let done = unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
    if done == 0 {
        return;
    }
    for fd in from..=to.min(4096) {
        // SAFETY: as above; a number that is not open is an error that nobody minds.
        unsafe { libc::close(fd) };
    }
}

/// Puts `fd` in the place of a standard stream.
pub(super) fn replace_stream(fd: BorrowedFd<'_>, stream: RawFd) {
    // SAFETY: both are plain numbers to the kernel.
    unsafe { libc::dup2(fd.as_raw_fd(), stream) };
}

/// Blocks all signals and gives a descriptor from which `signals` can be read. Their actions
/// are the default ones from now on: an ignored signal would never arrive.
pub(super) fn signals_as_descriptor(signals: &[c_int]) -> Result<OwnedFd, Errno> {
    // SAFETY: the sets are initialised by the calls that are there for it; the new descriptor
    // is ours.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
        let mut wanted: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut wanted);
        for signal in signals {
            libc::signal(*signal, libc::SIG_DFL);
            libc::sigaddset(&raw mut wanted, *signal);
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        let fd = libc::signalfd(-1, &raw const wanted, flags);
        if fd < 0 {
            return Err(last());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Does something during which this thread is not ended by writing to a pipe that nobody reads:
/// the write fails then, whatever the process does about `SIGPIPE`.
pub(crate) fn without_sigpipe<T>(write: impl FnOnce() -> T) -> T {
    // SAFETY: all of these only write to the sets that are theirs.
    let (pipe, before) = unsafe {
        let mut pipe: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut pipe);
        libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, &raw mut before);
        (pipe, before)
    };
    let result = write();
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: as above. One that came meanwhile waits for this thread alone, and is taken.
    unsafe {
        libc::sigtimedwait(&raw const pipe, ptr::null_mut(), &raw const at_once);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
    }
    result
}

/// The next signal, if one has come.
pub(super) fn next_signal(fd: &OwnedFd) -> Option<Received> {
    const SIZE: usize = size_of::<libc::signalfd_siginfo>();
    let mut buffer = [0_u8; SIZE];
    let n = rustix::io::read(fd, &mut buffer).ok()?;
    let number = buffer.first_chunk::<4>().filter(|_| n == SIZE)?;
    Some(Received(i32::from_ne_bytes(*number)))
}

/// A program that is ready to be started: everything that allocates has happened.
pub(super) struct Prepared<'a> {
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
    sandbox: Option<&'a Sandbox>,
    /// Where the child says who it is, before it becomes another program.
    pub(super) announce: RawFd,
    stack: Vec<u8>,
}

/// The descriptors that a program starts with.
pub(super) struct Descriptors<'a> {
    pub(super) directory: BorrowedFd<'a>,
    /// `None` for the caller's own.
    pub(super) input: Option<BorrowedFd<'a>>,
    pub(super) output: BorrowedFd<'a>,
    pub(super) errors: BorrowedFd<'a>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(
        program: &CStr,
        arguments: Vec<CString>,
        environment: Vec<CString>,
        descriptors: &Descriptors<'_>,
        sandbox: Option<&'a Sandbox>,
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
            sandbox,
            announce: -1,
            stack: vec![0; STACK],
        }
    }

    /// Starts the program in a session of its own. Gives back its process id once it runs.
    pub(super) fn start(&mut self) -> Result<i32, Errno> {
        let top = self.stack.len() & !15;
        let mut attempt = Attempt {
            program: self,
            error: 0,
        };
        let top = attempt.program.stack.as_ptr().wrapping_add(top);
        // SAFETY: the child runs on a stack of its own, in our memory, while we wait until it
        // has become the other program or has ended; it makes system calls only.
        let pid = unsafe {
            libc::clone(
                become_program,
                top.cast_mut().cast::<c_void>(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                (&raw mut attempt).cast::<c_void>(),
            )
        };
        if pid < 0 {
            return Err(last());
        }
        // SAFETY: the child has written it, if at all, before we went on.
        match unsafe { ptr::read_volatile(&raw const attempt.error) } {
            0 => Ok(pid),
            error => Err(Errno::from_raw_os_error(error)),
        }
    }
}

struct Attempt<'a, 'b> {
    program: &'a mut Prepared<'b>,
    error: c_int,
}

/// The child's part: becomes the program, or says why it can't.
extern "C" fn become_program(attempt: *mut c_void) -> c_int {
    // SAFETY: the pointer is the one that `start` gave, and `start` waits.
    let attempt = unsafe { &mut *attempt.cast::<Attempt<'_, '_>>() };
    let program = &attempt.program;
    // SAFETY: system calls with values that were prepared before.
    let error = unsafe {
        libc::setsid();
        let message = super::warden::chosen(libc::getpid());
        let bytes = message.as_ptr().cast::<c_void>();
        libc::send(program.announce, bytes, message.len(), libc::MSG_NOSIGNAL);
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
        } else if let Some(Err(errno)) = program.sandbox.map(Sandbox::apply) {
            errno.raw_os_error()
        } else {
            // Descriptors that the host has left open are nobody's business here, least of
            // all in the background.
            close_range(3, c_int::MAX);
            libc::execve(
                program.program.as_ptr(),
                program.argv.as_ptr(),
                program.envp.as_ptr(),
            );
            last().raw_os_error()
        }
    };
    attempt.error = error;
    exit(127)
}
