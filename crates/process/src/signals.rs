//! Signals that end a session: the first one lets it end in order, the second one ends it at once.

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
    /// Makes the first signal cancel the session, and the next one of the same kind end the
    /// process.
    ///
    /// A second SIGHUP is not a sign of impatience: when a terminal is closed, the kernel sends one
    /// and the shell another. Under `nohup` SIGHUP stays ignored.
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

    /// Runs `meanwhile` while Ctrl-C does nothing to this process. The terminal sends SIGINT to all
    /// processes in the foreground, but it is meant for the program that a person is using: in vi
    /// it ends a mode.
    pub fn leave_interrupt<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let mut interrupt = self
            .interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for id in interrupt.drain(..) {
            // Afterwards the signal is ignored: its default action does not come back.
            unregister(id);
        }
        let value = meanwhile();
        *interrupt = register(&self.cancel, SIGINT);
        value
    }
}

fn register(cancel: &Cancellation, signal: i32) -> Vec<SigId> {
    // If registering fails, the signal ends the process, which is acceptable, too.
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
