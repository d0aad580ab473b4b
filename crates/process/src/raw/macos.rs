//! The system calls of macOS: `fork` and `kqueue`.
//!
//! One thing is weaker than on Linux. A descriptor can be marked as private (close-on-exec) only
//! after it was made, and if another thread starts a program in between, that program inherits it.
//! Commands close all other descriptors before they begin.

use super::{MESSAGE_BYTES, PreparedProgram, become_program, exit, last};
use rustix::event::Timespec;
use rustix::event::kqueue::{
    Event, EventFilter, EventFlags, ProcessEvents, kevent_timespec, kqueue,
};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, Signal};
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Highest descriptor that is closed one by one; trying all possible numbers would take too long.
const MAX_DESCRIPTORS: c_int = 65_536;

const LENGTH: usize = 4;

pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reader, writer) = rustix::pipe::pipe()?;
    keep_private(&reader)?;
    keep_private(&writer)?;
    Ok((reader, writer))
}

fn keep_private(fd: impl AsFd) -> Result<(), Errno> {
    rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC)
}

pub(crate) fn widen(_pipe: impl AsFd, _bytes: usize) {}

pub(crate) fn file_in_memory() -> io::Result<File> {
    tempfile::tempfile()
}

/// Returns two connected sockets that no program inherits. macOS has no sockets that both preserve
/// message boundaries and show the other end's death, so each message is sent with its length.
pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::empty();
    let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    for socket in [&pair.0, &pair.1] {
        keep_private(socket)?;
        rustix::net::sockopt::set_socket_nosigpipe(socket, true)?;
    }
    Ok(pair)
}

pub(crate) fn send(socket: impl AsFd, message: &[u8]) -> Result<(), Errno> {
    let length = u32::try_from(message.len()).map_err(|_| Errno::MSGSIZE)?;
    let frame = [&length.to_ne_bytes(), message].concat();
    let mut rest = &frame[..];
    while !rest.is_empty() {
        match rustix::net::send(&socket, rest, SendFlags::empty()) {
            Ok(n) => rest = &rest[n..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Reads one message and returns its length, which is 0 if the other end is closed. It may have to
/// wait for the rest of a message that has begun, which was sent together with its beginning.
pub(crate) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> Result<usize, Errno> {
    let mut length = [0; LENGTH];
    let (begun, _) = rustix::net::recv(&socket, &mut length[..], flags)?;
    if begun == 0 {
        return Ok(0);
    }
    receive_all(&socket, &mut length[begun..])?;
    let length = usize::try_from(u32::from_ne_bytes(length)).unwrap_or(usize::MAX);
    let message = buffer.get_mut(..length).ok_or(Errno::MSGSIZE)?;
    receive_all(&socket, message)?;
    Ok(length)
}

fn receive_all(socket: impl AsFd, mut buffer: &mut [u8]) -> Result<(), Errno> {
    while !buffer.is_empty() {
        match rustix::net::recv(&socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Err(Errno::PIPE),
            Ok((n, _)) => buffer = &mut buffer[n..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Sends one message with one system call.
///
/// # Safety
///
/// `socket` must be open.
pub(super) unsafe fn announce(socket: c_int, message: &[u8; MESSAGE_BYTES]) {
    let mut frame = [0; LENGTH + MESSAGE_BYTES];
    frame[..LENGTH].copy_from_slice(&(MESSAGE_BYTES as u32).to_ne_bytes());
    frame[LENGTH..].copy_from_slice(message);
    // SAFETY: the frame is only read, up to its length.
    unsafe { libc::send(socket, frame.as_ptr().cast::<c_void>(), frame.len(), 0) };
}

pub(crate) fn watch_process(pid: Pid) -> Result<OwnedFd, Errno> {
    let events = ProcessEvents::EXIT;
    queue(vec![EventFilter::Proc { pid, flags: events }])
}

fn queue(filters: Vec<EventFilter>) -> Result<OwnedFd, Errno> {
    let queue = kqueue()?;
    keep_private(&queue)?;
    let changes: Vec<Event> = filters
        .into_iter()
        .map(|filter| Event::new(filter, EventFlags::ADD, ptr::null_mut()))
        .collect();
    // SAFETY: no descriptor is watched, so none can be closed meanwhile.
    unsafe { kevent_timespec(&queue, &changes, &mut [] as &mut [Event], None) }?;
    Ok(queue)
}

/// Blocks all signals, and returns a queue that sees `signals` before they would be delivered.
/// Their actions become the default ones, because the end of a child would not arrive if SIGCHLD
/// were ignored.
pub(crate) fn signals_as_descriptor(signals: &[c_int]) -> Result<OwnedFd, Errno> {
    // SAFETY: the set is initialised by the call that is there for it.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
        for signal in signals {
            libc::signal(*signal, libc::SIG_DFL);
        }
    }
    let filters: Vec<_> = signals
        .iter()
        .filter_map(|signal| Signal::from_named_raw(*signal))
        .map(|signal| EventFilter::Signal { signal, times: 0 })
        .collect();
    queue(filters)
}

pub(crate) fn next_signal(fd: &OwnedFd) -> Option<i32> {
    let at_once = Timespec::default();
    let mut events: Vec<Event> = Vec::with_capacity(1);
    // SAFETY: no descriptor is watched.
    let count = unsafe {
        kevent_timespec(
            fd,
            &[],
            rustix::buffer::spare_capacity(&mut events),
            Some(&at_once),
        )
    };
    count.ok()?;
    match events.first()?.filter() {
        EventFilter::Signal { signal, .. } => Some(signal.as_raw()),
        _ => None,
    }
}

/// How many calls of [`without_sigpipe`] are running, and the action for `SIGPIPE` that the first
/// of them replaced.
static WRITERS: Mutex<(usize, libc::sighandler_t)> = Mutex::new((0, libc::SIG_DFL));

/// Runs `write`, during which writing to a pipe without a reader does not end this process: the
/// write fails. On macOS the signal goes to the process and not to the thread that writes, so the
/// whole process ignores it meanwhile.
pub fn without_sigpipe<T>(write: impl FnOnce() -> T) -> T {
    struct SigpipeGuard;
    impl SigpipeGuard {
        fn new() -> Self {
            let mut writers = WRITERS.lock().unwrap_or_else(PoisonError::into_inner);
            if writers.0 == 0 {
                // SAFETY: ignoring a signal installs no handler that could do anything.
                writers.1 = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
            }
            writers.0 += 1;
            Self
        }
    }
    impl Drop for SigpipeGuard {
        fn drop(&mut self) {
            let mut writers = WRITERS.lock().unwrap_or_else(PoisonError::into_inner);
            writers.0 -= 1;
            if writers.0 == 0 {
                // SAFETY: this restores the former action.
                unsafe { libc::signal(libc::SIGPIPE, writers.1) };
            }
        }
    }
    let _ignoring = SigpipeGuard::new();
    write()
}

pub(super) fn close_range(from: c_int, to: c_int) {
    // SAFETY: has no preconditions.
    let limit = unsafe { libc::getdtablesize() }.clamp(256, MAX_DESCRIPTORS);
    for fd in from..=to.min(limit) {
        // SAFETY: the caller will not use any of these descriptors again; a number that is not open
        // is an error that does not matter.
        unsafe { libc::close(fd) };
    }
}

pub(super) fn start(program: &mut PreparedProgram<'_>) -> Result<i32, Errno> {
    let (reader, writer) = pipe()?;
    let keep = writer.as_raw_fd();
    // SAFETY: the child makes system calls only, on descriptors that are open.
    let pid = unsafe {
        match libc::fork() {
            -1 => return Err(last()),
            0 => {
                let error = become_program(program, Some(keep)).to_ne_bytes();
                libc::write(keep, error.as_ptr().cast::<c_void>(), error.len());
                exit(127)
            }
            pid => pid,
        }
    };
    // Executing the program closes the child's copy of `writer`. So the read below ends when the
    // program runs, or with the error that kept it from running.
    drop(writer);
    let mut error = [0; size_of::<c_int>()];
    match rustix::io::retry_on_intr(|| rustix::io::read(&reader, &mut error[..])) {
        Ok(n) if n == error.len() => Err(Errno::from_raw_os_error(c_int::from_ne_bytes(error))),
        _ => Ok(pid),
    }
}
