//! The signals that end a server.

/// Waits for a signal that is to end the server; gives its number. Where no handlers can be
/// set, such a signal ends the process at once, and supervisors end what it has started.
#[cfg(unix)]
pub(super) async fn next() -> i32 {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    // A file that grows too large is an error of its write, not the end of the process.
    let ignored = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), ignored);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _ = sender.send(signal);
            }
        });
        if let Ok(signal) = receiver.await {
            return signal;
        }
    }
    std::future::pending().await
}

/// Waits for Ctrl-C or Ctrl-Break, and gives the number of `SIGINT`. Whatever else ends the
/// process does so at once, and its job objects end what it has started.
#[cfg(windows)]
pub(super) async fn next() -> i32 {
    use tokio::signal::windows::{ctrl_break, ctrl_c};
    if let (Ok(mut interrupt), Ok(mut stop)) = (ctrl_c(), ctrl_break()) {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = stop.recv() => {}
        }
        return signal_hook::consts::SIGINT;
    }
    std::future::pending().await
}
