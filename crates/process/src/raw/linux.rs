//! The system calls of Linux: `clone`, `signalfd`, pidfds, and sockets that preserve message
//! boundaries.

use super::{MESSAGE_BYTES, PreparedProgram, become_program, exit, last};
use rustix::fd::{AsFd, FromRawFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags};
use seccompiler::sock_filter;
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::fs::File;
use std::io;
use std::ptr;

/// Size of the stack that the child uses until it executes the program, in bytes. It lies in the
/// parent's memory.
const STACK_BYTES: usize = 64 * 1024;

/// Size of a thread's stack, in bytes, as in the standard library. That of musl is 128 KiB.
const THREAD_STACK_BYTES: usize = 2 * 1024 * 1024;

pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
}

pub(crate) fn widen(pipe: impl AsFd, bytes: usize) {
    // If the pipe stays small, the writer and the reader only take turns more often.
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
}

pub(crate) fn file_in_memory() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("arguments", MemfdFlags::CLOEXEC)?.into())
}

pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

pub(crate) fn send(socket: impl AsFd, message: &[u8]) -> Result<(), Errno> {
    rustix::net::send(socket, message, SendFlags::NOSIGNAL).map(drop)
}

pub(crate) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> Result<usize, Errno> {
    let (length, _) = rustix::net::recv(socket, buffer, flags)?;
    Ok(length)
}

/// Sends one message with one system call.
///
/// # Safety
///
/// `socket` must be open.
pub(super) unsafe fn announce(socket: c_int, message: &[u8; MESSAGE_BYTES]) {
    let bytes = message.as_ptr().cast::<c_void>();
    // SAFETY: the message is only read, up to its length.
    unsafe { libc::send(socket, bytes, message.len(), libc::MSG_NOSIGNAL) };
}

pub(crate) fn watch_process(pid: Pid) -> Result<OwnedFd, Errno> {
    rustix::process::pidfd_open(pid, PidfdFlags::empty())
}

/// Blocks all signals, and returns a descriptor from which `signals` can be read. Their actions
/// become the default ones, because an ignored signal would never arrive.
pub(crate) fn signals_as_descriptor(signals: &[c_int]) -> Result<OwnedFd, Errno> {
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

/// Runs `task` in a new thread of a process that was forked. The standard library's threads take a
/// lock as they begin. If a thread of the caller was about to begin at the fork, that lock is never
/// released in the child, where a thread would wait for ever.
pub(crate) fn start_thread_after_fork(task: Box<dyn FnOnce() + Send>) -> Result<(), Errno> {
    extern "C" fn run(task: *mut c_void) -> *mut c_void {
        // SAFETY: `task` is the pointer that is made of a box below, and is taken once.
        let task = unsafe { Box::from_raw(task.cast::<Box<dyn FnOnce() + Send>>()) };
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
        ptr::null_mut()
    }
    let task = Box::into_raw(Box::new(task));
    // SAFETY: the attributes are used between their making and their end only. `run` gets what it
    // expects; if there is no thread, the box is taken back.
    unsafe {
        let mut attributes = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, THREAD_STACK_BYTES);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut thread = std::mem::zeroed();
        let error = libc::pthread_create(&raw mut thread, &raw const attributes, run, task.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        if error != 0 {
            drop(Box::from_raw(task));
            return Err(Errno::from_raw_os_error(error));
        }
    }
    Ok(())
}

/// Runs `write`, during which writing to a pipe without a reader does not end this thread: the
/// write fails with `EPIPE`, whatever action the process has for `SIGPIPE`.
pub fn without_sigpipe<T>(write: impl FnOnce() -> T) -> T {
    // SAFETY: these calls write only to the two sets.
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
    // SAFETY: these calls only read the two sets. The first takes a `SIGPIPE` of the write, which
    // is pending for this thread alone.
    unsafe {
        libc::sigtimedwait(&raw const pipe, ptr::null_mut(), &raw const at_once);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
    }
    result
}

pub(crate) fn next_signal(fd: &OwnedFd) -> Option<i32> {
    const SIZE: usize = size_of::<libc::signalfd_siginfo>();
    let mut buffer = [0_u8; SIZE];
    let n = rustix::io::read(fd, &mut buffer).ok()?;
    let number = buffer.first_chunk::<4>().filter(|_| n == SIZE)?;
    Some(i32::from_ne_bytes(*number))
}

/// Closes the descriptors from `from` to `to`, or, with `CLOSE_RANGE_CLOEXEC` in `flags`, only
/// marks them to be closed at `exec`. The caller must not use a closed descriptor again; a marked
/// one stays usable until `exec`. Makes a single system call, so a forked child may call it.
pub(crate) fn try_close_range(from: c_int, to: c_int, flags: c_uint) -> Result<(), Errno> {
    // SAFETY: it takes integers.
    match unsafe { libc::syscall(libc::SYS_close_range, from, to, flags) } {
        0 => Ok(()),
        _ => Err(last()),
    }
}

/// Installs a seccomp filter for the calling thread, for good. Returns the descriptor that `flags`
/// may ask for, else 0. Makes a single system call, so a forked child may call it.
pub(crate) fn install_filter(filter: &[sock_filter], flags: c_ulong) -> Result<c_int, Errno> {
    let program = libc::sock_fprog {
        len: libc::c_ushort::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    let set = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: `program` points to `len` instructions of the kernel's layout (both structs are
    // `repr(C)` with the same fields) which outlive the call; the kernel only reads them.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, &raw const program) };
    match c_int::try_from(answer) {
        Ok(answer) if answer >= 0 => Ok(answer),
        _ => Err(last()),
    }
}

pub(super) fn close_range(from: c_int, to: c_int) {
    if from > to || try_close_range(from, to, 0).is_ok() {
        return;
    }
    for fd in from..=to.min(4096) {
        // SAFETY: the caller will not use any of these descriptors again; a number that is not open
        // is an error that does not matter.
        unsafe { libc::close(fd) };
    }
}

pub(super) fn start(program: &mut PreparedProgram<'_>) -> Result<i32, Errno> {
    // The kernel provides only those pages of the stack that are used.
    let mut stack = Vec::<u8>::with_capacity(STACK_BYTES);
    let top = stack.as_mut_ptr().wrapping_add(STACK_BYTES & !15);
    let mut attempt = Attempt { program, error: 0 };
    // SAFETY: the child runs on a stack of its own, in the memory of this process, which waits
    // until the child has become the program or has ended; the child makes system calls only.
    let pid = unsafe {
        libc::clone(
            attempt_it,
            top.cast::<c_void>(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut attempt).cast::<c_void>(),
        )
    };
    if pid < 0 {
        return Err(last());
    }
    // SAFETY: the child has written the field, if at all, before this process went on.
    match unsafe { ptr::read_volatile(&raw const attempt.error) } {
        0 => Ok(pid),
        error => Err(Errno::from_raw_os_error(error)),
    }
}

struct Attempt<'a, 'b> {
    program: &'a mut PreparedProgram<'b>,
    error: c_int,
}

extern "C" fn attempt_it(attempt: *mut c_void) -> c_int {
    // SAFETY: the pointer is the one that `start` gave, and `start` waits.
    let attempt = unsafe { &mut *attempt.cast::<Attempt<'_, '_>>() };
    attempt.error = become_program(attempt.program, None);
    exit(127)
}
