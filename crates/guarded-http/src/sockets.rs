//! Sockets that are waited for together with the end of the call.

#[cfg(unix)]
pub(super) use rustix::event::PollFlags;
#[cfg(windows)]
pub(super) use windows::PollFlags;

use super::names::interrupted;
use gemini_tools_core::tool::Cancellation;
#[cfg(unix)]
use rustix::event::{PollFd, Timespec, poll};
#[cfg(unix)]
use rustix::fd::AsFd;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How often it is looked whether the call has ended, besides the caller's end and signals,
/// which wake at once.
const TICK: Duration = Duration::from_millis(100);

/// Connects to an address.
#[cfg(unix)]
pub(super) fn connect_one(
    socket: SocketAddr,
    limit: Duration,
    cancel: &Cancellation,
) -> std::io::Result<TcpStream> {
    use rustix::net::AddressFamily;
    let family = match socket {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let fd = stream_socket(family)?;
    match rustix::net::connect(&fd, &socket) {
        Ok(()) => {}
        Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::INTR) => {
            let until = Instant::now() + limit;
            if !wait(&fd, PollFlags::OUT, Some(until), cancel)? {
                return Err(std::io::Error::new(
                    std::io::ErrorKind::TimedOut,
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
fn stream_socket(family: rustix::net::AddressFamily) -> rustix::io::Result<rustix::fd::OwnedFd> {
    use rustix::net::{SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(family, SocketType::STREAM, flags, None)
}

/// A socket that does not block, that no program inherits, and that raises no signal when the
/// other end is closed.
#[cfg(target_os = "macos")]
fn stream_socket(family: rustix::net::AddressFamily) -> rustix::io::Result<rustix::fd::OwnedFd> {
    let socket = rustix::net::socket(family, rustix::net::SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

/// Waits for a socket; false where the time was up. Ends early where the call ends.
#[cfg(unix)]
pub(super) fn wait(
    fd: &impl AsFd,
    flags: PollFlags,
    until: Option<Instant>,
    cancel: &Cancellation,
) -> std::io::Result<bool> {
    let caller = cancel.caller();
    loop {
        interrupted(cancel).map_err(|e| std::io::Error::other(ureq::Error::Other(Box::new(e))))?;
        let left = until.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        let tick = Timespec::try_from(left.unwrap_or(TICK).min(TICK)).ok();
        let mut fds = vec![PollFd::from_borrowed_fd(fd.as_fd(), flags)];
        if let Some(caller) = caller {
            fds.push(PollFd::from_borrowed_fd(caller, PollFlags::IN));
        }
        match poll(&mut fds, tick.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) if !fds[0].revents().is_empty() => return Ok(true),
            // The caller is gone and does not wait for the answer.
            Ok(_) => cancel.cancel(),
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(windows)]
pub(super) use windows::{connect_one, wait};

/// Windows: what is waited for is a socket or a process, for which there is no one call.
#[cfg(windows)]
mod windows {
    use super::{Cancellation, Duration, Instant, SocketAddr, TICK, TcpStream, interrupted};
    use gemini_tools_platform::event;
    use rustix::event::{PollFd, Timespec, poll};

    pub(crate) use rustix::event::PollFlags;

    /// How long one look waits, while the end of the caller is looked for in between.
    const LOOK: Duration = Duration::from_millis(20);

    fn check(cancel: &Cancellation) -> std::io::Result<()> {
        if let Some(caller) = cancel.caller() {
            let mut fds = [event::PollFd::from_borrowed_fd(
                caller,
                event::PollFlags::IN,
            )];
            if event::poll(&mut fds, Some(&event::Timespec::default())).is_ok_and(|n| n > 0) {
                cancel.cancel();
            }
        }
        let ended = |e| std::io::Error::other(ureq::Error::Other(Box::new(e)));
        interrupted(cancel).map_err(ended)
    }

    /// Connects to an address. The call's end is seen between two attempts.
    pub(crate) fn connect_one(
        socket: SocketAddr,
        limit: Duration,
        cancel: &Cancellation,
    ) -> std::io::Result<TcpStream> {
        let (sender, receiver) = std::sync::mpsc::channel();
        // Windows has no way to wait for a connection that the standard library offers.
        std::thread::spawn(move || {
            // The caller may no longer wait.
            let _ = sender.send(TcpStream::connect_timeout(&socket, limit));
        });
        loop {
            check(cancel)?;
            if let Ok(connected) = receiver.recv_timeout(TICK) {
                let stream = connected?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
        }
    }

    /// Waits for a socket; false where the time was up. Ends early where the call ends.
    pub(crate) fn wait(
        stream: &TcpStream,
        flags: PollFlags,
        until: Option<Instant>,
        cancel: &Cancellation,
    ) -> std::io::Result<bool> {
        loop {
            check(cancel)?;
            let left = until.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            let tick = Timespec::try_from(left.unwrap_or(LOOK).min(LOOK)).ok();
            let mut fds = [PollFd::new(stream, flags)];
            if poll(&mut fds, tick.as_ref())? > 0 {
                return Ok(true);
            }
        }
    }
}
