//! The clock of all calls: at the end of their time, at a signal, and when the caller is gone, it
//! answers for calls that do not answer themselves, whatever they are doing.
//!
//! A call and the watchdog may both have an answer. The one that [claims](Watchdog::claim) the
//! call gives it; so there is one, and it is whole. The process may end in the middle of anything
//! else: what a call has started ends with it (supervisors see that their caller is gone), and a file
//! is either the old one or the new one, because a write is one rename, before which the call must still be [waited for][acting].
//!
//! [acting]: gemini_tools::tool::Cancellation::acting

use gemini_tools::start::signal_status;
use gemini_tools::tool::{Cancellation, GracePeriod, TICK, ToolError};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which the process goes on after an interruption when no call runs any more: a reader
/// who takes no answer can't hold it up.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers for a call that does not.
type LastWord = Box<dyn FnOnce(ToolError) + Send>;

/// Watches over calls.
#[derive(Default)]
pub(crate) struct Watchdog {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    watched: Vec<WatchedCall>,
    /// Something goes on that has an end by itself.
    busy: usize,
}

/// A call that has not been answered.
struct WatchedCall {
    number: u64,
    cancel: Cancellation,
    grace: GracePeriod,
    last_word: LastWord,
}

impl Watchdog {
    /// Starts to watch. `cancel` is told when the caller is gone.
    pub(crate) fn start(self: Arc<Self>, cancel: &Cancellation) {
        let cancel = cancel.clone();
        // Without it calls still look at the clock themselves.
        let _ = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || self.watch(&cancel));
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches over a call from now on, until it is claimed.
    pub(crate) fn begin(
        &self,
        cancel: Cancellation,
        last_word: impl FnOnce(ToolError) + Send + 'static,
    ) -> u64 {
        let mut calls = self.calls();
        calls.next += 1;
        let number = calls.next;
        calls.watched.push(WatchedCall {
            number,
            cancel,
            grace: GracePeriod::default(),
            last_word: Box::new(last_word),
        });
        number
    }

    /// Takes a call over to answer it; `false` where that has been done already.
    pub(crate) fn claim(&self, number: u64) -> bool {
        let watched = &mut self.calls().watched;
        let at = watched.iter().position(|call| call.number == number);
        at.map(|at| watched.swap_remove(at)).is_some()
    }

    /// Returns true if a call is not answered yet.
    pub(crate) fn is_watched(&self, number: u64) -> bool {
        let watched = &self.calls().watched;
        watched.iter().any(|call| call.number == number)
    }

    /// Does something that sees to its own end.
    pub(crate) fn busy<T>(&self, act: impl FnOnce() -> T) -> T {
        self.calls().busy += 1;
        let result = act();
        self.calls().busy -= 1;
        result
    }

    fn watch(&self, cancel: &Cancellation) {
        let mut is_caller_there = true;
        let mut idle_since: Option<Instant> = None;
        loop {
            is_caller_there = wait(cancel, is_caller_there);
            let mut calls = self.calls();
            let is_over = |call: &mut WatchedCall| call.grace.is_over(&call.cancel);
            let given_up: Vec<_> = calls.watched.extract_if(.., is_over).collect();
            let is_idle = calls.watched.is_empty() && calls.busy == 0;
            drop(calls);
            for call in given_up {
                let error = call.cancel.give_up();
                // The reader may keep it waiting.
                let _ = std::thread::Builder::new().spawn(move || (call.last_word)(error));
            }
            match (cancel.signal(), is_idle) {
                (Some(signal), true) => {
                    if idle_since.get_or_insert_with(Instant::now).elapsed() >= SHUTDOWN_TIMEOUT {
                        gemini_tools::process::exit(signal_status(signal));
                    }
                }
                _ => idle_since = None,
            }
        }
    }
}

/// Waits a moment. Returns true if the caller was there, and still is.
fn wait(cancel: &Cancellation, is_caller_there: bool) -> bool {
    let Some(caller) = cancel.caller().filter(|_| is_caller_there) else {
        std::thread::sleep(TICK);
        return false;
    };
    let tick = Timespec::try_from(TICK).ok();
    let mut fds = [PollFd::new(&caller, PollFlags::IN)];
    if let Ok(1..) = rustix::event::poll(&mut fds, tick.as_ref()) {
        cancel.cancel();
        return false;
    }
    true
}

/// Waits until the process has ended, because another thread gives the last answer.
pub(crate) fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}
