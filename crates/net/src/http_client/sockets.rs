//! Sockets that are waited for together with the end of the call.

pub(super) use gemini_tools_platform::sockets::PollFlags;

use super::names::interrupted;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_platform::sockets::{self, Watch};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Interval at which a wait checks for the end of the call, besides the caller's end and signals,
/// which wake it at once.
const TICK: Duration = Duration::from_millis(100);

/// Connects to an address. Ends early where the call ends.
pub(super) fn connect_one(
    socket: SocketAddr,
    limit: Duration,
    cancel: &Cancellation,
) -> io::Result<TcpStream> {
    watched(cancel, |watch| sockets::connect(socket, limit, watch))
}

/// Waits for a socket; false where the time was up. Ends early where the call ends.
pub(super) fn wait(
    stream: &TcpStream,
    flags: PollFlags,
    until: Option<Instant>,
    cancel: &Cancellation,
) -> io::Result<bool> {
    watched(cancel, |watch| sockets::wait(stream, flags, until, watch))
}

fn watched<T>(
    cancel: &Cancellation,
    wait: impl FnOnce(&Watch<'_>) -> io::Result<T>,
) -> io::Result<T> {
    wait(&Watch {
        caller: cancel.caller(),
        tick: TICK,
        check: &|is_caller_gone| {
            if is_caller_gone {
                // It does not wait for the answer.
                cancel.cancel();
            }
            interrupted(cancel).map_err(|e| io::Error::other(ureq::Error::Other(Box::new(e))))
        },
    })
}
