//! How a running call is ended: by a signal, by its caller or by its time limit.

use super::{ErrorKind, ToolError};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often waiting code checks for an interruption.
pub const TICK: Duration = Duration::from_millis(100);

/// How long an interrupted call may take to return its own answer, which says more than the error
/// that is returned instead. It may take `GRACE_WITH_OTHERS` if it must first end processes, which
/// are asked to exit before they are killed.
const GRACE: Duration = Duration::from_secs(1);

const GRACE_WITH_OTHERS: Duration = Duration::from_secs(16);

/// The reason why a call must end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The number of the signal that cancelled the call, or 0 if the caller cancelled it without
    /// one.
    Cancelled(i32),
    /// This time limit was reached.
    TimedOut(TimeLimit),
}

/// Tells a running call to end. Clones share the signal and the state of the call.
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    /// 0 if nothing has cancelled the call, otherwise the signal's number plus one. Signal handlers
    /// store it; a cancellation without a signal stores 1.
    signal: Arc<AtomicUsize>,
    limit: Option<TimeLimit>,
    caller: Option<Arc<OwnedFd>>,
    course: Arc<Mutex<Course>>,
}

/// The time limit of a call. Its text, for messages, is the number of seconds and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    at: Instant,
    length: Duration,
    setting: Option<&'static str>,
    /// True for a default limit, which nobody has asked for. A tool with its own limit ignores it.
    is_default: bool,
}

impl TimeLimit {
    /// Returns the moment when the time limit is reached.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// Returns the advice how to get more time, as the end of a sentence.
    pub fn advice(&self) -> String {
        match self.setting {
            Some(setting) => format!("raise {setting} (seconds)"),
            None => "have the caller allow it more time".to_owned(),
        }
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.length.as_secs_f64())?;
        match self.setting {
            Some(setting) => write!(f, " ({setting})"),
            None => Ok(()),
        }
    }
}

/// State shared by a running call and whoever waits for it: whether the caller has answered for the
/// call and no longer waits (`is_over`), and whether the call has done something that can't be
/// undone (`has_acted`).
#[derive(Debug, Default)]
struct Course {
    is_over: bool,
    has_acted: bool,
    others: usize,
    since: Option<Instant>,
    waited: Duration,
}

impl Cancellation {
    /// Creates a cancellation for a call with a time limit that counts from now.
    pub fn with_time_limit(limit: Duration) -> Self {
        Self::default().restarted(limit)
    }

    /// Returns a cancellation for a new call. It shares the signals of this one, and has a time
    /// limit that counts from now.
    #[must_use]
    pub fn restarted(&self, limit: Duration) -> Self {
        self.for_call(Some(limit), false)
    }

    /// Returns a cancellation for a new call. It shares the signals of this one, and has a default
    /// time limit, which nobody has asked for: a tool with a limit of its own ignores it.
    #[must_use]
    pub fn restarted_by_default(&self, limit: Duration) -> Self {
        self.for_call(Some(limit), true)
    }

    /// Sets the variable or option that messages name as the source of the limit.
    #[must_use]
    pub fn limited_by(mut self, setting: &'static str) -> Self {
        if let Some(limit) = &mut self.limit {
            limit.setting = Some(setting);
        }
        self
    }

    /// Returns a cancellation for a new call that shares the signals but has no time limit.
    #[must_use]
    pub fn without_time_limit(&self) -> Self {
        self.for_call(None, false)
    }

    fn for_call(&self, limit: Option<Duration>, is_default: bool) -> Self {
        // A limit that is too far away for the clock to represent is dropped.
        let limit = limit.and_then(|length| {
            Some(TimeLimit {
                at: Instant::now().checked_add(length)?,
                length,
                setting: None,
                is_default,
            })
        });
        Self {
            limit,
            course: Arc::default(),
            ..self.clone()
        }
    }

    /// Sets a descriptor that becomes readable when the calling process has exited (a `pidfd`), for
    /// tools that wait.
    #[must_use]
    pub fn with_caller(mut self, caller: OwnedFd) -> Self {
        self.caller = Some(Arc::new(caller));
        self
    }

    /// Returns the descriptor set by [`Cancellation::with_caller`]; `None` if there is none.
    pub fn caller(&self) -> Option<BorrowedFd<'_>> {
        self.caller.as_ref().map(|fd| fd.as_fd())
    }

    /// Returns the time limit that somebody has asked for; `None` for no limit or a default one.
    pub fn chosen_limit(&self) -> Option<TimeLimit> {
        self.limit.filter(|limit| !limit.is_default)
    }

    /// Returns the call's time limit, default or chosen; `None` if it has none.
    pub fn limit(&self) -> Option<TimeLimit> {
        self.limit
    }

    /// Returns when the call's time limit, default or chosen, is reached; `None` if it has none.
    pub fn deadline(&self) -> Option<Instant> {
        self.limit.map(|limit| limit.at)
    }

    /// Returns the number of the signal that cancelled the call, 0 if it was cancelled without one,
    /// and `None` if it was not cancelled. An expired time limit does not count.
    pub fn signal(&self) -> Option<i32> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            n => Some(i32::try_from(n - 1).unwrap_or_default()),
        }
    }

    /// Asks the call to end. [`Cancellation::signal`] then returns 0, unless a signal came first.
    pub fn cancel(&self) {
        // The number of an earlier signal is kept, because it says more than 0.
        let _ = self
            .signal
            .compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns the cell into which a signal handler stores the signal's number plus one.
    pub fn signal_cell(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.signal)
    }

    /// Returns why the call must end, or `None` if it may go on.
    pub fn interruption(&self) -> Option<Interruption> {
        match self.signal() {
            Some(signal) => Some(Interruption::Cancelled(signal)),
            None => self.passed_limit().map(Interruption::TimedOut),
        }
    }

    fn passed_limit(&self) -> Option<TimeLimit> {
        let now = Instant::now();
        let limit = self.limit.filter(|limit| now >= limit.at)?;
        if !limit.is_default {
            return Some(limit);
        }
        // A default limit does not count time spent waiting for something with its own limit.
        let course = self.course();
        let end = limit.at.checked_add(course.waited)?;
        (course.since.is_none() && now >= end).then_some(limit)
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a wait for something with its own time limit or none: a command, a server, a user's
    /// answer. Until the guard is dropped, a default time limit is paused, the waiting code polls
    /// [`Cancellation::interruption`] itself, and an interrupted call gets the time that ending
    /// processes takes.
    #[must_use]
    pub fn wait_for_others(&self) -> WaitGuard<'_> {
        let mut course = self.course();
        course.others += 1;
        course.since.get_or_insert_with(Instant::now);
        drop(course);
        WaitGuard(self)
    }

    /// Begins an action that can't be undone. While the guard lives, [`Cancellation::give_up`]
    /// waits. Drop it soon, and before calling any other method.
    ///
    /// # Errors
    ///
    /// Returns `cancelled` or `timeout` if the action must not be done any more.
    pub fn acting(&self) -> Result<ActGuard<'_>, ToolError> {
        // `check` takes the lock of `course` too, so it must come before.
        self.check()?;
        let mut course = self.course();
        if course.is_over {
            return Err(ToolError::new(
                ErrorKind::Cancelled,
                "The call has been answered for already.",
            ));
        }
        course.has_acted = true;
        Ok(ActGuard(course))
    }

    /// Abandons an interrupted call that does not answer, and returns the error that is its answer.
    /// From now on [`Cancellation::acting`] refuses the call every action that can't be undone.
    pub fn give_up(&self) -> ToolError {
        let mut course = self.course();
        course.is_over = true;
        let has_acted = course.has_acted;
        drop(course);
        let given_up = || ToolError::new(ErrorKind::Cancelled, "The call was given up.");
        let error = self.check().err().unwrap_or_else(given_up);
        if has_acted {
            return error.with_hint("It had begun to change something: look before you repeat it.");
        }
        error
    }

    /// Returns the [interruption](Cancellation::interruption) as an error, for `?` in loops.
    ///
    /// # Errors
    ///
    /// Returns `cancelled` or `timeout`.
    pub fn check(&self) -> Result<(), ToolError> {
        match self.interruption() {
            None => Ok(()),
            Some(Interruption::Cancelled(_)) => Err(ToolError::new(
                ErrorKind::Cancelled,
                "The call was cancelled before it was done.",
            )),
            Some(Interruption::TimedOut(limit)) => Err(ToolError::new(
                ErrorKind::Timeout,
                format!("The call took longer than its time limit, {limit}, and was ended."),
            )
            .with_hint(format!("Narrow it down, or {}.", limit.advice()))),
        }
    }
}

/// The guard of [`Cancellation::acting`]. While it lives, [`Cancellation::give_up`] waits.
#[derive(Debug)]
pub struct ActGuard<'a>(#[expect(dead_code, reason = "held")] MutexGuard<'a, Course>);

/// The guard of [`Cancellation::wait_for_others`]. While it lives, a default time limit is paused.
#[derive(Debug)]
pub struct WaitGuard<'a>(&'a Cancellation);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut course = self.0.course();
        course.others -= 1;
        if course.others == 0
            && let Some(since) = course.since.take()
        {
            course.waited += since.elapsed();
        }
    }
}

/// Measures how long an interrupted call is still waited for.
#[derive(Debug, Default)]
pub struct GracePeriod {
    alone: Option<Instant>,
    interrupted: Option<Instant>,
}

impl GracePeriod {
    /// Returns true when the interrupted call need not be waited for any longer. Must be called
    /// repeatedly, since the time counts from the first call after the interruption.
    pub fn is_over(&mut self, cancel: &Cancellation) -> bool {
        if cancel.interruption().is_none() {
            *self = Self::default();
            return false;
        }
        let interrupted = self.interrupted.get_or_insert_with(Instant::now);
        if cancel.course().others > 0 {
            self.alone = None;
            return interrupted.elapsed() >= GRACE_WITH_OTHERS;
        }
        self.alone.get_or_insert_with(Instant::now).elapsed() >= GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::{Cancellation, ErrorKind, Interruption};
    use std::time::Duration;

    const PAST: Duration = Duration::ZERO;

    #[test]
    fn a_limit_that_nobody_asked_for_waits_for_others() {
        let cancel = Cancellation::default().restarted_by_default(PAST);
        let waiting = cancel.wait_for_others();
        assert_eq!(cancel.interruption(), None);
        drop(waiting);
        while cancel.interruption().is_none() {
            std::thread::yield_now();
        }
        let chosen = Cancellation::with_time_limit(PAST);
        let _waiting = chosen.wait_for_others();
        let Some(Interruption::TimedOut(limit)) = chosen.interruption() else {
            panic!("it goes on");
        };
        assert_eq!(limit.to_string(), "0 s");
    }

    #[test]
    fn nothing_is_done_after_the_answer() {
        let cancel = Cancellation::default();
        drop(cancel.acting().expect("in time"));
        cancel.cancel();
        let error = cancel.give_up(); // check: allow(one-clock) the test is about it
        assert_eq!(error.kind, ErrorKind::Cancelled);
        assert!(error.hint.is_some(), "it has acted: {error}");
        assert!(cancel.acting().is_err());
        // Calls share their signals, but each has its own record of whether it was given up.
        let other = Cancellation::default();
        let one = other.restarted(Duration::from_secs(60));
        let _ = one.give_up();
        assert!(one.acting().is_err());
        assert!(other.acting().is_ok());
    }

    #[test]
    fn an_error_names_the_limit_that_counted_and_who_sets_it() {
        let limit = Duration::from_millis(1);
        let own = Cancellation::with_time_limit(limit);
        let named = own.restarted(limit).limited_by("GEMINI_TOOLS_TIMEOUT");
        while named.interruption().is_none() || own.interruption().is_none() {
            std::thread::yield_now();
        }
        let said = |cancel: &Cancellation| cancel.check().expect_err("over").to_string();
        let (own, named) = (said(&own), said(&named));
        assert!(own.contains("its time limit, 0.001 s, and"), "{own}");
        assert!(!own.contains("GEMINI_TOOLS_TIMEOUT"), "{own}");
        assert!(named.contains("0.001 s (GEMINI_TOOLS_TIMEOUT)"), "{named}");
        assert!(named.contains("raise GEMINI_TOOLS_TIMEOUT"), "{named}");
    }
}
