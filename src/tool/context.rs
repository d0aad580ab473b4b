//! What a running call may ask of its caller.

use super::{ErrorKind, ToolError};
use crate::sys::fd::{AsFd, BorrowedFd, OwnedFd};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Why a call must end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// A signal, by number, or the caller's wish (`0`).
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
    /// Whether nobody has asked for this deadline.
    is_default: bool,
    /// Becomes readable when the caller is gone.
    caller: Option<Arc<OwnedFd>>,
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
            ..self.clone()
        }
    }

    /// The same as [`Cancellation::restarted`] with a limit that nobody has asked for: tools
    /// that have one of their own go by that.
    #[must_use]
    pub fn restarted_by_default(&self, limit: Duration) -> Self {
        Self {
            is_default: true,
            ..self.restarted(limit)
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

    /// The deadline, where somebody has asked for it.
    pub fn chosen_deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.is_default)
    }

    /// The deadline, whoever has set it.
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
        self.state.store(1, Ordering::Relaxed);
    }

    /// The cell into which a signal handler stores the signal's number plus one.
    pub fn signal_cell(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.state)
    }

    /// Whether the call must end, and why.
    pub fn interruption(&self) -> Option<Interruption> {
        let is_past = || self.deadline.is_some_and(|at| Instant::now() >= at);
        match self.signal() {
            Some(signal) => Some(Interruption::Cancelled(signal)),
            None => is_past().then_some(Interruption::TimedOut),
        }
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

/// What a running tool shows before it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveOutput {
    /// Text so far.
    Text(String),
    /// A terminal's lines so far.
    Ansi(Vec<Vec<super::AnsiToken>>),
    /// A sub-agent's state.
    Subagent(super::SubagentProgress),
}

/// What a call may ask of its caller: whether to go on, where live output goes, how much
/// may be answered.
#[derive(Clone)]
pub struct Context {
    /// Tells the call to end.
    pub cancel: Cancellation,
    /// Whether anybody will look at [`super::ToolResult::return_display`]; tools leave it
    /// empty otherwise where it costs time.
    pub wants_display: bool,
    /// Whether a search is to give the place of each match in [`super::ToolResult::data`].
    pub wants_locations: bool,
    /// The most characters of an answer, for tools that choose themselves what to leave out.
    pub limit_chars: Option<usize>,
    /// The line of shell that was judged, in the place of the one that the arguments hold.
    pub(crate) line: Option<String>,
    output: Option<Arc<dyn Fn(LiveOutput) + Send + Sync>>,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            cancel: Cancellation::default(),
            wants_display: true,
            wants_locations: false,
            limit_chars: None,
            line: None,
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
            wants_locations: false,
            limit_chars: None,
            line: None,
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

    /// Whether anybody listens to live output.
    pub fn wants_output(&self) -> bool {
        self.output.is_some()
    }

    /// Shows output of a call that still runs; does nothing where nobody listens.
    pub fn update_output(&self, output: LiveOutput) {
        if let Some(sink) = &self.output {
            sink(output);
        }
    }
}

/// A number of seconds in an environment variable; `None` where it is not set, or empty.
///
/// # Errors
///
/// `invalid_tool_params` where it is no number of seconds.
pub(crate) fn seconds_of(variable: &str) -> Result<Option<Duration>, ToolError> {
    let Some(text) = std::env::var_os(variable).filter(|v| !v.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    text.trim()
        .parse::<f64>()
        .ok()
        .and_then(|secs| Duration::try_from_secs_f64(secs).ok())
        .map(Some)
        .ok_or_else(|| {
            ToolError::invalid(format!(
                "{variable} is {text:?}, which is no number of seconds."
            ))
            .with_hint("Unset it, or give a number such as 300.")
        })
}
