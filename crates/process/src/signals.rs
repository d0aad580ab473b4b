//! The signals that end a session: the first one in order, the second at once.

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
    /// The handlers of SIGINT.
    interrupt: Mutex<Vec<SigId>>,
}

impl Signals {
    /// Lets the first signal cancel the session, and the next of its sort end the process.
    ///
    /// Several that say that the terminal is gone are not impatience: the kernel sends one, and
    /// the shell another. Under `nohup` there are none.
    pub fn ending(cancel: Cancellation) -> Self {
        if let Some(hangup) = crate::own::hangup() {
            let _ = flag::register_usize(hangup, cancel.signal_cell(), hangup as usize + 1);
        }
        register(&cancel, SIGTERM);
        let interrupt = Mutex::new(register(&cancel, SIGINT));
        Self { cancel, interrupt }
    }

    /// Returns the cancellation that they signal.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancel
    }

    /// Does something while Ctrl-C means nothing to this process: the system sends the signal to
    /// all who share the terminal, but it is for the program that a person is using there. vi
    /// leaves a mode by it.
    pub fn leave_interrupt<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let mut interrupt = self
            .interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for id in interrupt.drain(..) {
            // The signal is then ignored; its default action does not come back.
            unregister(id);
        }
        let value = meanwhile();
        *interrupt = register(&self.cancel, SIGINT);
        value
    }
}

/// Registers the handlers of a signal. Without one the signal ends the process, which is right as well.
fn register(cancel: &Cancellation, signal: i32) -> Vec<SigId> {
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
