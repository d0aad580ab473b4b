//! Signals that end a session: the first signal lets it end in order, a second one ends it at once.

use gemini_tools_core::tool::Cancellation;
use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::unregister;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Handlers of SIGINT, SIGTERM and SIGHUP.
#[derive(Debug)]
pub struct Signals {
    cancel: Cancellation,
    interrupt: Mutex<Vec<SigId>>,
}

impl Signals {
    /// Installs the handlers. The first signal cancels `cancel`, and a second SIGINT or a second
    /// SIGTERM ends the process.
    ///
    /// A second SIGHUP does not end the process, since it is no sign of impatience: when a terminal
    /// is closed, the kernel sends one and the shell another. Under `nohup` SIGHUP stays ignored.
    pub fn ending(cancel: Cancellation) -> Self {
        if let Some(hangup) = crate::own::hangup() {
            let _ = flag::register_usize(hangup, cancel.signal_cell(), hangup as usize + 1);
        }
        register(&cancel, SIGTERM);
        let interrupt = Mutex::new(register(&cancel, SIGINT));
        Self { cancel, interrupt }
    }

    /// Returns the cancellation that the signals trigger.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancel
    }

    /// Runs `meanwhile` with SIGINT ignored in this process. At Ctrl-C the terminal sends SIGINT to
    /// all processes in the foreground, but the person means the program that `meanwhile` runs: in
    /// vi, Ctrl-C ends a mode.
    pub fn leave_interrupt<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let mut interrupt = self
            .interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for id in interrupt.drain(..) {
            // Then the signal is ignored: signal-hook does not restore its default action.
            unregister(id);
        }
        let value = meanwhile();
        *interrupt = register(&self.cancel, SIGINT);
        value
    }
}

fn register(cancel: &Cancellation, signal: i32) -> Vec<SigId> {
    // If registering fails, the signal ends the process at once, which is acceptable too.
    let cell = cancel.signal_cell();
    let is_second = Arc::new(AtomicBool::new(cell.load(Ordering::Relaxed) != 0));
    [
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second)),
        flag::register(signal, is_second),
        flag::register_usize(signal, cell, signal as usize + 1),
    ]
    .into_iter()
    .flatten()
    .collect()
}
