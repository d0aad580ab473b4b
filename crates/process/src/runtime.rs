//! Waits for the signals that end a server, with tokio.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGINT, SIGTERM or SIGHUP, and returns its number. If no handler can be installed, it
/// never returns: the signal then ends the process at once, and supervisors end what the process
/// has started.
pub async fn end_signal() -> i32 {
    // With a handler for SIGXFSZ, a write beyond the file size limit just fails.
    let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    let (interrupt, terminate, hangup) = (
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    );
    let handlers = (signal(interrupt), signal(terminate), signal(hangup));
    let (Ok(mut interrupted), Ok(mut terminated), Ok(mut hung_up)) = handlers else {
        return std::future::pending().await;
    };
    let which = tokio::select! {
        _ = interrupted.recv() => interrupt,
        _ = terminated.recv() => terminate,
        _ = hung_up.recv() => hangup,
    };
    which.as_raw_value()
}
