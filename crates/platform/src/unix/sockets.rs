//! Sockets that are waited for together with the end of the caller, by one call.

use crate::sockets::Watch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::AddressFamily;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Connects to an address, in at most `limit`. The socket does not block.
///
/// # Errors
///
/// `TimedOut`, what ends the watch, or what the system says.
pub fn connect(socket: SocketAddr, limit: Duration, watch: &Watch<'_>) -> io::Result<TcpStream> {
    let family = match socket {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let fd = stream_socket(family)?;
    match rustix::net::connect(&fd, &socket) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            let until = Instant::now() + limit;
            if !wait(&fd, PollFlags::OUT, Some(until), watch)? {
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

/// A socket that does not block and that no program inherits.
#[cfg(target_os = "linux")]
fn stream_socket(family: AddressFamily) -> Result<rustix::fd::OwnedFd, Errno> {
    use rustix::net::{SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(family, SocketType::STREAM, flags, None)
}

/// A socket that does not block, that no program inherits, and that raises no signal when the
/// other end is closed.
#[cfg(target_os = "macos")]
fn stream_socket(family: AddressFamily) -> Result<rustix::fd::OwnedFd, Errno> {
    let socket = rustix::net::socket(family, rustix::net::SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

/// Waits for a socket; false where the time was up.
///
/// # Errors
///
/// What ends the watch, or what the system says.
pub fn wait(
    socket: &impl AsFd,
    flags: PollFlags,
    until: Option<Instant>,
    watch: &Watch<'_>,
) -> io::Result<bool> {
    let mut is_caller_gone = false;
    loop {
        (watch.check)(is_caller_gone)?;
        let left = until.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        let tick = Timespec::try_from(left.unwrap_or(watch.tick).min(watch.tick)).ok();
        let mut fds = vec![PollFd::from_borrowed_fd(socket.as_fd(), flags)];
        if let Some(caller) = watch.caller {
            fds.push(PollFd::from_borrowed_fd(caller, PollFlags::IN));
        }
        match poll(&mut fds, tick.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) if !fds[0].revents().is_empty() => return Ok(true),
            Ok(_) => is_caller_gone = true,
            Err(e) => return Err(e.into()),
        }
    }
}
