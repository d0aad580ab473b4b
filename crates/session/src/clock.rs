//! The clock of all calls. At the end of a call's time limit, at a signal, or when the caller is
//! gone, it answers in place of a call that does not answer itself, whatever that call is doing.
//!
//! A call and the clock may both have an answer. Only the one that [claims](Clock::claim) the call
//! first gives its answer, so that the caller gets exactly one. After that the process may end at
//! any time without harm. Processes that the call has started end too, because their supervisors
//! see that their caller is gone. A file has either its old or its new content, because a write is
//! one rename; before it, the call must have [asked][acting] whether the caller still waits for it.
//!
//! [acting]: gemini_tools_core::tool::Cancellation::acting

use gemini_tools_core::tool::{Cancellation, ErrorKind, GracePeriod, TICK, ToolError};
use gemini_tools_process::own;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fmt;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the process may go on after a signal when no call runs any more. Otherwise it would
/// never end if nobody reads the answer that it is writing.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

type LastWord = Box<dyn FnOnce(ToolError) + Send>;

/// Watches over calls, and answers for those that do not end after an interruption. Its thread runs
/// while there are calls; that of [`Clock::of_process`] runs always.
#[derive(Default)]
pub struct Clock {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    watched: Vec<WatchedCall>,
    ticks: bool,
}

struct WatchedCall {
    number: u64,
    cancel: Cancellation,
    grace: GracePeriod,
    last_word: LastWord,
}

impl Clock {
    /// Starts the clock of a process that only makes calls. `cancel` is cancelled when the caller
    /// is gone. `end` is called with a signal's number if no call runs any more and yet the process
    /// has not ended 5 s after that signal.
    pub fn of_process(cancel: &Cancellation, end: fn(i32) -> !) -> Arc<Self> {
        let clock = Arc::new(Self::default());
        clock.wind(&mut clock.calls(), cancel.clone(), Some(end));
        clock
    }

    fn wind(self: &Arc<Self>, calls: &mut Calls, cancel: Cancellation, end: Option<fn(i32) -> !>) {
        let clock = Arc::clone(self);
        let thread = std::thread::Builder::new().name("clock".to_owned());
        let thread = own::on_this_processor(|| thread.spawn(move || clock.run(&cancel, end)));
        // Without this thread, calls still check their time limits themselves.
        calls.ticks = thread.is_ok();
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches over a call until it is claimed, and returns its number. If the call is interrupted
    /// and does not end soon, the clock claims it and passes the error to `last_word`.
    pub fn begin(
        self: &Arc<Self>,
        cancel: &Cancellation,
        last_word: impl FnOnce(ToolError) + Send + 'static,
    ) -> u64 {
        let mut calls = self.calls();
        calls.next += 1;
        let number = calls.next;
        calls.watched.push(WatchedCall {
            number,
            cancel: cancel.clone(),
            grace: GracePeriod::default(),
            last_word: Box::new(last_word),
        });
        if !calls.ticks {
            self.wind(&mut calls, Cancellation::default(), None);
        }
        number
    }

    /// Watches over a call like [`Clock::begin`], until the guard is dropped.
    pub fn watch(
        self: &Arc<Self>,
        cancel: &Cancellation,
        last_word: impl FnOnce(ToolError) + Send + 'static,
    ) -> WatchGuard {
        let number = self.begin(cancel, last_word);
        WatchGuard(Arc::clone(self), number)
    }

    /// Makes a call on a thread of its own and waits for it. If the call is interrupted or its time
    /// limit passes, and it does not end soon, it is given up: this returns, and the thread goes
    /// on, but its result is dropped.
    ///
    /// # Errors
    ///
    /// Returns the call's own error; `cancelled` or `timeout` if it was given up.
    pub fn attend<T: Send + 'static>(
        self: &Arc<Self>,
        cancel: &Cancellation,
        call: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (sender, receiver) = channel();
        let last = sender.clone();
        let watched = self.watch(cancel, move |error| {
            let _ = last.send(Err(error));
        });
        let thread = std::thread::Builder::new().spawn(move || {
            let _watched = watched;
            // If the call was given up, nobody receives this, which does no harm.
            let _ = sender.send(call());
        });
        let failed = |why: String| ToolError::new(ErrorKind::UnhandledException, why);
        thread.map_err(|e| failed(format!("No thread could be started: {e}.")))?;
        let crashed = |_| Err(failed("The call has crashed (internal error).".to_owned()));
        receiver.recv().unwrap_or_else(crashed)
    }

    /// Claims the right to answer a call; `false` if it has been claimed already.
    pub fn claim(&self, number: u64) -> bool {
        let watched = &mut self.calls().watched;
        let at = watched.iter().position(|call| call.number == number);
        at.map(|at| watched.swap_remove(at)).is_some()
    }

    /// Returns true if nobody has claimed the call yet.
    pub fn is_watched(&self, number: u64) -> bool {
        let watched = &self.calls().watched;
        watched.iter().any(|call| call.number == number)
    }

    /// Returns true if no call is watched over.
    pub fn is_idle(&self) -> bool {
        self.calls().watched.is_empty()
    }

    /// Cancels all calls that are watched over.
    pub fn cancel_all(&self) {
        let calls = self.calls();
        calls.watched.iter().for_each(|call| call.cancel.cancel());
    }

    /// Runs `act` as a call that the clock never interrupts. Until `act` returns, the clock is not
    /// idle, and so does not end the process.
    pub fn busy<T>(self: &Arc<Self>, act: impl FnOnce() -> T) -> T {
        let _busy = self.watch(&Cancellation::default(), |_| {});
        act()
    }

    fn run(&self, cancel: &Cancellation, end: Option<fn(i32) -> !>) {
        let mut is_caller_there = true;
        let mut idle_since: Option<Instant> = None;
        loop {
            is_caller_there = wait(cancel, is_caller_there);
            let mut calls = self.calls();
            let is_over = |call: &mut WatchedCall| call.grace.is_over(&call.cancel);
            let given_up: Vec<_> = calls.watched.extract_if(.., is_over).collect();
            let is_idle = calls.watched.is_empty();
            calls.ticks = !is_idle || end.is_some();
            let ticks = calls.ticks;
            drop(calls);
            for call in given_up {
                let error = call.cancel.give_up();
                // Writing the answer may block, so it has a thread of its own.
                let _ = std::thread::Builder::new().spawn(move || (call.last_word)(error));
            }
            if !ticks {
                return;
            }
            match (end, cancel.signal()) {
                (Some(end), Some(signal)) if is_idle => {
                    if idle_since.get_or_insert_with(Instant::now).elapsed() >= SHUTDOWN_TIMEOUT {
                        end(signal);
                    }
                }
                _ => idle_since = None,
            }
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}

/// The guard of [`Clock::watch`]. Dropping it claims the call.
#[derive(Debug)]
pub struct WatchGuard(Arc<Clock>, u64);

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.0.claim(self.1);
    }
}

/// Waits for one [`TICK`]. If the caller exits meanwhile, cancels `cancel` at once.
/// `is_caller_there` is false if the caller has exited already. Returns true if the caller is still
/// there.
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
