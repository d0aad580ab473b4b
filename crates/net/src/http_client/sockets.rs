//! Sockets that are waited for together with the end of the call.

pub(super) use rustix::event::PollFlags;

use super::names::interrupted;
use gemini_tools_core::tool::Cancellation;
use rustix::event::{PollFd, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The time between two looks whether the call has ended, besides the caller's end and signals,
/// which wake at once.
const TICK: Duration = Duration::from_millis(100);

/// Connects to an address, in at most `limit`. Ends early if the call ends.
///
/// # Errors
///
/// Returns `TimedOut`, the error of a call that has ended, or the operating system's error.
pub(super) fn connect_one(
    socket: SocketAddr,
    limit: Duration,
    cancel: &Cancellation,
) -> io::Result<TcpStream> {
    let family = match socket {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let fd = stream_socket(family)?;
    match rustix::net::connect(&fd, &socket) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            let until = Instant::now() + limit;
            if !wait(&fd, PollFlags::OUT, Some(until), cancel)? {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("{} did not answer", socket.ip()),
                ));
            }
            rustix::net::sockopt::socket_error(&fd)??;
        }
        Err(e) => return Err(e.into()),
    }
    let stream = TcpStream::from(fd);
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Opens a socket that does not block and that no program inherits.
#[cfg(target_os = "linux")]
fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    use rustix::net::SocketFlags;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(family, SocketType::STREAM, flags, None)
}

/// Opens a socket that does not block, that no program inherits, and that raises no signal when the
/// other end is closed.
#[cfg(not(target_os = "linux"))]
fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

/// Waits for a socket. Returns false when the time is up. Ends early if the call ends.
///
/// # Errors
///
/// Returns the error of a call that has ended, or the operating system's error.
pub(super) fn wait(
    socket: &impl AsFd,
    flags: PollFlags,
    until: Option<Instant>,
    cancel: &Cancellation,
) -> io::Result<bool> {
    loop {
        interrupted(cancel).map_err(|e| io::Error::other(ureq::Error::Other(Box::new(e))))?;
        let left = until.map_or(TICK, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(false);
        }
        let tick = Timespec::try_from(left.min(TICK)).ok();
        let mut fds = vec![PollFd::from_borrowed_fd(socket.as_fd(), flags)];
        if let Some(caller) = cancel.caller() {
            fds.push(PollFd::from_borrowed_fd(caller, PollFlags::IN));
        }
        match poll(&mut fds, tick.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) if !fds[0].revents().is_empty() => return Ok(true),
            // The caller is gone, and does not wait for the answer.
            Ok(_) => cancel.cancel(),
            Err(e) => return Err(e.into()),
        }
    }
}
