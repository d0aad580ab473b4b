//! Sockets that are waited for together with the end of the caller: a socket and a process, for
//! which there is no one call.

use super::event;
use crate::sockets::Watch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long one look waits, while the end of the caller is looked for in between.
const LOOK: Duration = Duration::from_millis(20);

fn check(watch: &Watch<'_>) -> io::Result<()> {
    let is_gone = |caller| {
        let mut fds = [event::PollFd::from_borrowed_fd(
            caller,
            event::PollFlags::IN,
        )];
        event::poll(&mut fds, Some(&event::Timespec::default())).is_ok_and(|n| n > 0)
    };
    (watch.check)(watch.caller.is_some_and(is_gone))
}

/// Connects to an address, in at most `limit`. The socket does not block.
///
/// # Errors
///
/// `TimedOut`, what ends the watch, or what the system says.
pub fn connect(socket: SocketAddr, limit: Duration, watch: &Watch<'_>) -> io::Result<TcpStream> {
    let (sender, receiver) = channel();
    // Windows has no way to wait for a connection that the standard library offers.
    std::thread::spawn(move || {
        // The caller may no longer wait.
        let _ = sender.send(TcpStream::connect_timeout(&socket, limit));
    });
    loop {
        check(watch)?;
        if let Ok(connected) = receiver.recv_timeout(watch.tick) {
            let stream = connected?;
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            return Ok(stream);
        }
    }
}

/// Waits for a socket; false where the time was up.
///
/// # Errors
///
/// What ends the watch, or what the system says.
pub fn wait(
    socket: &TcpStream,
    flags: PollFlags,
    until: Option<Instant>,
    watch: &Watch<'_>,
) -> io::Result<bool> {
    loop {
        check(watch)?;
        let left = until.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        let tick = Timespec::try_from(left.unwrap_or(LOOK).min(LOOK)).ok();
        let mut fds = [PollFd::new(socket, flags)];
        if poll(&mut fds, tick.as_ref())? > 0 {
            return Ok(true);
        }
    }
}
