//! What a running call may ask of its caller.

use super::{ErrorKind, ToolError};
use crate::variables;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often those who wait for a call look whether it has been interrupted.
pub const TICK: Duration = Duration::from_millis(100);

/// How long an interrupted call may take to say so itself. What it says tells more than what can
/// be said for it.
const GRACE: Duration = Duration::from_secs(1);

/// The same while it ends processes, which are asked first and take leave.
const GRACE_WITH_OTHERS: Duration = Duration::from_secs(16);

/// Why a call must end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// A signal, by number, or a request of the caller (`0`).
    Cancelled(i32),
    /// The time limit was reached.
    TimedOut,
}

/// Tells a running call to end. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    /// Zero, or one more than the signal's number. Shared with signal handlers.
    state: Arc<AtomicUsize>,
    deadline: Option<Instant>,
    /// Whether this deadline was not asked for.
    is_default: bool,
    /// Becomes readable when the caller is gone.
    caller: Option<Arc<OwnedFd>>,
    /// The course of this one call.
    course: Arc<Mutex<Course>>,
}

/// What those who wait for a call know of it.
#[derive(Debug, Default)]
struct Course {
    /// The caller no longer waits: the call has been answered for.
    is_over: bool,
    /// Something was done that can't be taken back.
    has_acted: bool,
    /// How many things are waited for that have a time limit of their own.
    others: usize,
    /// Since when there are such.
    since: Option<Instant>,
    /// How long there were such before.
    waited: Duration,
    /// What is done when the first begins.
    alarm: Option<Alarm>,
}

struct Alarm(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alarm")
    }
}

impl Cancellation {
    /// One that also fires when `limit` has passed.
    pub fn with_time_limit(limit: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(limit),
            ..Self::default()
        }
    }

    /// The same signals, with a time limit that counts from now.
    #[must_use]
    pub fn restarted(&self, limit: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(limit),
            is_default: false,
            course: Arc::default(),
            ..self.clone()
        }
    }

    /// The same as [`Cancellation::restarted`] with a limit that was not asked for: tools
    /// that have one of their own go by that.
    #[must_use]
    pub fn restarted_by_default(&self, limit: Duration) -> Self {
        Self {
            is_default: true,
            ..self.restarted(limit)
        }
    }

    /// The same signals, without a time limit.
    #[must_use]
    pub fn without_time_limit(&self) -> Self {
        Self {
            deadline: None,
            is_default: false,
            course: Arc::default(),
            ..self.clone()
        }
    }

    /// Names a descriptor that becomes readable when the caller is gone (a `pidfd`), for tools
    /// that wait.
    #[must_use]
    pub fn with_caller(mut self, caller: OwnedFd) -> Self {
        self.caller = Some(Arc::new(caller));
        self
    }

    /// The descriptor of [`Cancellation::with_caller`].
    pub fn caller(&self) -> Option<BorrowedFd<'_>> {
        self.caller.as_ref().map(|fd| fd.as_fd())
    }

    /// The deadline, where it was asked for.
    pub fn chosen_deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.is_default)
    }

    /// The deadline, asked for or not.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The signal (or `0`) by which the call was cancelled, whatever the time.
    pub fn signal(&self) -> Option<i32> {
        match self.state.load(Ordering::Relaxed) {
            0 => None,
            n => Some(i32::try_from(n - 1).unwrap_or_default()),
        }
    }

    /// Asks the call to end.
    pub fn cancel(&self) {
        // A signal's number says more.
        let _ = self
            .state
            .compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The cell into which a signal handler stores the signal's number plus one.
    pub fn signal_cell(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.state)
    }

    /// Whether the call must end, and why.
    pub fn interruption(&self) -> Option<Interruption> {
        match self.signal() {
            Some(signal) => Some(Interruption::Cancelled(signal)),
            None => self.is_out_of_time().then_some(Interruption::TimedOut),
        }
    }

    fn is_out_of_time(&self) -> bool {
        let now = Instant::now();
        let Some(deadline) = self.deadline.filter(|at| now >= *at) else {
            return false;
        };
        if !self.is_default {
            return true;
        }
        // Waiting for what has a limit of its own does not count.
        let course = self.course();
        course.since.is_none()
            && deadline
                .checked_add(course.waited)
                .is_some_and(|at| now >= at)
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that something is waited for which has a time limit of its own, or none: a command, a
    /// server, an answer of the user. Until the guard is dropped, the waiting code looks for
    /// interruptions itself, a time limit that was not asked for does not count, and an end
    /// may take as long as processes take to end.
    #[must_use]
    pub fn wait_for_others(&self) -> Waiting<'_> {
        let waiting = self.wait_in_rounds();
        waiting.sound(Duration::ZERO);
        waiting
    }

    /// The same for who looks at everything again and again, and calls [`Waiting::round`] then.
    #[must_use]
    pub fn wait_in_rounds(&self) -> Waiting<'_> {
        let mut course = self.course();
        course.others += 1;
        course.since.get_or_insert_with(Instant::now);
        drop(course);
        Waiting(self)
    }

    /// Does something when the call first [waits](Cancellation::wait_for_others), or has waited
    /// [in rounds](Cancellation::wait_in_rounds) for a moment.
    pub fn when_waiting(&self, alarm: impl FnOnce() + Send + 'static) {
        self.course().alarm = Some(Alarm(Box::new(alarm)));
    }

    /// Asked for just before something that can't be taken back; as long as the guard lives, the
    /// call is not given up. It must be dropped soon, and before this is asked anything else.
    ///
    /// # Errors
    ///
    /// `cancelled` or `timeout`: then it must not be done.
    pub fn acting(&self) -> Result<Acting<'_>, ToolError> {
        // Looked at first: it takes the same lock.
        self.check()?;
        let mut course = self.course();
        if course.is_over {
            return Err(ToolError::new(
                ErrorKind::Cancelled,
                "The call has been answered for already.",
            ));
        }
        course.has_acted = true;
        Ok(Acting(course))
    }

    /// Makes a call on a thread of its own, and waits no longer for it than it may take. Where it
    /// is given up, its thread is left behind.
    ///
    /// # Errors
    ///
    /// What the call gives; `cancelled` or `timeout` where it had to say so and did not.
    pub fn attend<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new().spawn(move || {
            // The caller may no longer be there to take it.
            let _ = sender.send(call());
        });
        let failed = |why: String| ToolError::new(ErrorKind::UnhandledException, why);
        thread.map_err(|e| failed(format!("No thread could be started: {e}.")))?;
        let mut grace = GracePeriod::default();
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failed("The call has crashed (internal error).".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if grace.is_over(self) => {
                    return Err(self.give_up());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Gives up on a call that has been interrupted and says nothing: gives what to answer. From
    /// now on it does nothing that can't be taken back.
    pub fn give_up(&self) -> ToolError {
        let mut course = self.course();
        course.is_over = true;
        let has_acted = course.has_acted;
        drop(course);
        let error = match self.check() {
            Err(error) => error,
            Ok(()) => ToolError::new(ErrorKind::Cancelled, "The call was given up."),
        };
        if has_acted {
            return error.with_hint("It had begun to change something: look before you repeat it.");
        }
        error
    }

    /// [`Cancellation::interruption`] as an error, for `?` in loops.
    ///
    /// # Errors
    ///
    /// `cancelled` or `timeout`.
    pub fn check(&self) -> Result<(), ToolError> {
        match self.interruption() {
            None => Ok(()),
            Some(Interruption::Cancelled(_)) => Err(ToolError::new(
                ErrorKind::Cancelled,
                "The call was cancelled before it was done.",
            )),
            Some(Interruption::TimedOut) => Err(ToolError::new(
                ErrorKind::Timeout,
                "The call took longer than its time limit and was ended.",
            )
            .with_hint("Narrow it down, or raise GEMINI_TOOLS_TIMEOUT (seconds).")),
        }
    }
}

/// See [`Cancellation::acting`].
#[derive(Debug)]
pub struct Acting<'a>(#[expect(dead_code, reason = "held")] MutexGuard<'a, Course>);

/// See [`Cancellation::wait_for_others`].
#[derive(Debug)]
pub struct Waiting<'a>(&'a Cancellation);

impl Waiting<'_> {
    /// Says that the wait goes on.
    pub fn round(&self) {
        self.sound(TICK);
    }

    fn sound(&self, after: Duration) {
        let mut course = self.0.course();
        let is_due = course.since.is_some_and(|since| since.elapsed() >= after);
        let alarm = course.alarm.take_if(|_| is_due);
        drop(course);
        if let Some(Alarm(alarm)) = alarm {
            alarm();
        }
    }
}

impl Drop for Waiting<'_> {
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

/// How much longer an interrupted call is waited for.
#[derive(Debug, Default)]
pub struct GracePeriod {
    /// Since when the call has been interrupted and waits for nothing else.
    alone: Option<Instant>,
    /// Since when it has been interrupted.
    interrupted: Option<Instant>,
}

impl GracePeriod {
    /// Whether it is at its end, which has to be asked all the time.
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

/// A piece of output of a running tool.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveOutput {
    /// Text that follows all that was shown before.
    Text(String),
    /// All lines of a terminal, in the place of those shown before.
    Ansi(Vec<Vec<super::AnsiToken>>),
    /// The state of a sub-agent as it is now.
    Subagent(super::SubagentProgress),
    /// A request to a model that the call has made, which its host counts and does not show.
    ModelCall(super::ModelCall),
}

/// Which places a result is to have, as [`super::ToolResult::locations`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Places {
    /// None.
    #[default]
    Unwanted,
    /// The matches of a search.
    Matches,
    /// The same, and what else a tool lists.
    Items,
}

/// What a call may ask of its caller: whether to go on, where live output goes, how much
/// may be answered.
#[derive(Clone)]
pub struct Context {
    /// Tells the call to end.
    pub cancel: Cancellation,
    /// Whether [`super::ToolResult::return_display`] will be looked at; tools leave it
    /// empty otherwise where it costs time.
    pub wants_display: bool,
    /// Which places the result is to have.
    pub places: Places,
    /// Whether the text is for a terminal with colours; see [`super::named`].
    pub wants_looks: bool,
    /// The most characters of an answer, for tools that choose themselves what to leave out.
    pub limit_chars: Option<usize>,
    /// The line of shell that was judged, in the place of the one that the arguments hold.
    pub line: Option<String>,
    /// The call's id, where the caller has given it one.
    pub call_id: Option<String>,
    output: Option<Arc<dyn Fn(LiveOutput) + Send + Sync>>,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            cancel: Cancellation::default(),
            wants_display: true,
            places: Places::Unwanted,
            wants_looks: false,
            limit_chars: None,
            line: None,
            call_id: None,
            output: None,
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("cancel", &self.cancel)
            .field("wants_display", &self.wants_display)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// A context without live output.
    pub fn new(cancel: Cancellation, wants_display: bool) -> Self {
        Self {
            cancel,
            wants_display,
            places: Places::Unwanted,
            wants_looks: false,
            limit_chars: None,
            line: None,
            call_id: None,
            output: None,
        }
    }

    /// The same call, with the line of shell that was judged.
    pub(crate) fn with_line(&self, line: String) -> Self {
        Self {
            line: Some(line),
            ..self.clone()
        }
    }

    /// Sends live output to `sink`.
    #[must_use]
    pub fn with_live_output(mut self, sink: impl Fn(LiveOutput) + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(sink));
        self
    }

    /// Whether the host listens to live output.
    pub fn wants_output(&self) -> bool {
        self.output.is_some()
    }

    /// Shows output of a call that still runs; does nothing where the host does not listen.
    pub fn update_output(&self, output: LiveOutput) {
        if let Some(sink) = &self.output {
            sink(output);
        }
    }
}

/// Returns the number of seconds in a variable ([`variables`]), the smaller one where both of its names are set; `None`
/// where it is not set, or empty.
///
/// # Errors
///
/// Returns `invalid_tool_params` if it is not a number of seconds.
pub fn seconds_of(variable: &str) -> Result<Option<Duration>, ToolError> {
    let mut strictest = None;
    for found in variables::values(variable) {
        let text = found.text();
        let secs = text.trim().parse::<f64>().ok();
        let secs = secs.and_then(|secs| Duration::try_from_secs_f64(secs).ok());
        let limit = secs.ok_or_else(|| {
            ToolError::invalid(format!(
                "{} is {text:?}, which is not a number of seconds.",
                found.name
            ))
            .with_hint("Unset it, or give a number such as 300.")
        })?;
        // Zero means unlimited.
        let length = |limit: &Duration| (limit.is_zero(), *limit);
        strictest = strictest.into_iter().chain([limit]).min_by_key(length);
    }
    Ok(strictest)
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
        assert_eq!(chosen.interruption(), Some(Interruption::TimedOut));
    }

    #[test]
    fn nothing_is_done_after_the_answer() {
        let cancel = Cancellation::default();
        drop(cancel.acting().expect("in time"));
        cancel.cancel();
        let error = cancel.give_up();
        assert_eq!(error.kind, ErrorKind::Cancelled);
        assert!(error.hint.is_some(), "it has acted: {error}");
        assert!(cancel.acting().is_err());
        // The signals are those of all calls, how far one has come is its own.
        let other = Cancellation::default();
        let one = other.restarted(Duration::from_secs(60));
        let _ = one.give_up();
        assert!(one.acting().is_err());
        assert!(other.acting().is_ok());
    }
}
