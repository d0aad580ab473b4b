//! Waits for the signals that end a server, with tokio.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for a signal that ends a server, and returns its number. If no handler can be installed,
/// the signal ends the process at once, and supervisors end what it has started.
pub async fn end_signal() -> i32 {
    // With a handler, a file that becomes too large makes the write fail. Without one, the signal
    // would end the process.
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
