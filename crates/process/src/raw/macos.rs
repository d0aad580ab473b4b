//! macOS: `fork`, `kqueue`, descriptors that are kept from other programs afterwards.
//!
//! What is weaker here: between making a descriptor and keeping it from other programs, another
//! thread may start one, which then inherits it. What commands are started with is closed
//! before they begin in any case.

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

/// The most descriptors that are looked at one by one. A process that has more has asked for it.
const MAX_DESCRIPTORS: c_int = 65_536;

/// The bytes of a message's length, which comes before it.
const LENGTH: usize = 4;

/// Returns a pipe that no program inherits: its reading and its writing end.
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

/// Returns a file without a name that no program inherits, in the directory for temporary ones.
pub(crate) fn file_in_memory() -> io::Result<File> {
    tempfile::tempfile()
}

/// Returns two connected sockets that no program inherits, for [`send`] and [`receive`]. There are none
/// here that keep messages apart and show the other end's death, so each message goes with
/// its length.
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

/// Reads one message. Returns its length, which is 0 if the other end is closed. Only
/// its beginning may be missing: the rest was sent together with it.
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

/// Sends one message by a single system call.
///
/// # Safety
///
/// `socket` is open.
pub(super) unsafe fn announce(socket: c_int, message: &[u8; MESSAGE_BYTES]) {
    let mut frame = [0; LENGTH + MESSAGE_BYTES];
    frame[..LENGTH].copy_from_slice(&(MESSAGE_BYTES as u32).to_ne_bytes());
    frame[LENGTH..].copy_from_slice(message);
    // SAFETY: the frame is only read, up to its length.
    unsafe { libc::send(socket, frame.as_ptr().cast::<c_void>(), frame.len(), 0) };
}

/// Returns a queue that becomes readable when the process has ended.
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
    // SAFETY: no descriptor is among what is watched, so none can be closed meanwhile.
    unsafe { kevent_timespec(&queue, &changes, &mut [] as &mut [Event], None) }?;
    Ok(queue)
}

/// Returns a queue from which `signals` can be read, and blocks all signals: it takes note of them
/// before they would be delivered. Their actions are the default ones from now on: the end of a
/// child that is ignored would not arrive.
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
    // SAFETY: no descriptor is among what is watched.
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

/// The number of calls of [`without_sigpipe`] now, and the action that was there before
/// the first.
static WRITERS: Mutex<(usize, libc::sighandler_t)> = Mutex::new((0, libc::SIG_DFL));

/// Does something during which this process is not ended by writing to a pipe without a reader:
/// the write fails then. The signal goes to the process here, not to the thread that writes, so
/// that all of the process ignores it meanwhile.
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
                // SAFETY: this is what was there before.
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
        // SAFETY: the caller owns nothing among these numbers that it will use again; a number
        // that is not open is an error that does not matter.
        unsafe { libc::close(fd) };
    }
}

/// Starts the program and waits until it is there: then the pipe on which its error would come
/// is closed.
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
    drop(writer);
    let mut error = [0; size_of::<c_int>()];
    match rustix::io::retry_on_intr(|| rustix::io::read(&reader, &mut error[..])) {
        Ok(n) if n == error.len() => Err(Errno::from_raw_os_error(c_int::from_ne_bytes(error))),
        _ => Ok(pid),
    }
}
