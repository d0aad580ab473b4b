//! The way from a running call to its caller.

use super::{Cancellation, SandboxMode, ToolError};
use crate::variables;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A piece of output of a running tool.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputUpdate {
    /// Text that follows all that was shown before.
    Text(String),
    /// A request to a model that the call has made, which its host counts and does not show.
    ModelCall(super::ModelCall),
}

/// The places that a result is to have, as [`super::ToolResult::locations`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultPlaces {
    /// None.
    #[default]
    Unwanted,
    /// The matches of a search.
    Matches,
    /// The matches, and all other items that a tool lists.
    Items,
}

/// The treatment of the calls that results ask for ([`crate::tail_call`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TailCalls {
    /// They are made.
    #[default]
    Make,
    /// They are made if nobody need be asked. The caller makes the call again from its beginning once a person has
    /// replied, and what came before a tail call would happen twice.
    MakeUnasked,
    /// They are returned as [`super::ToolResult::tail_tool_call_request`]: the caller judges and makes them.
    Return,
}

/// The way of a call to its caller: cancellation, live output, and what the answer should have.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a wish of the caller's of its own"
)]
pub struct Context {
    /// Tells the call to end.
    pub cancel: Cancellation,
    /// Set if [`super::ToolResult::return_display`] will be looked at; otherwise tools leave it
    /// empty where it costs time.
    pub wants_display: bool,
    /// The places that the result is to have.
    pub places: ResultPlaces,
    /// Set if the text is for a terminal with colours; see [`super::named`].
    pub wants_looks: bool,
    /// The most characters of an answer, for tools that choose themselves what to leave out.
    pub limit_chars: Option<usize>,
    /// Set if a model reads the answer, so that what a command prints is condensed.
    pub condenses: bool,
    /// The line of shell that was judged, in the place of the one that the arguments hold.
    pub line: Option<String>,
    /// The call's id, where the caller has given it one.
    pub call_id: Option<String>,
    /// The sandbox that the host keeps its own commands in: commands of this call get none that is weaker.
    pub least_sandbox: Option<SandboxMode>,
    /// Set if the caller remembers what it was shown: then a write that would lose what it has not seen is refused.
    pub remembers: bool,
    /// The treatment of tail calls.
    pub tail_calls: TailCalls,
    output: Option<Arc<dyn Fn(OutputUpdate) + Send + Sync>>,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            cancel: Cancellation::default(),
            wants_display: true,
            places: ResultPlaces::Unwanted,
            wants_looks: false,
            limit_chars: None,
            condenses: false,
            line: None,
            call_id: None,
            least_sandbox: None,
            remembers: false,
            tail_calls: TailCalls::Make,
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
    /// Makes a context without live output.
    pub fn new(cancel: Cancellation, wants_display: bool) -> Self {
        Self {
            cancel,
            wants_display,
            ..Self::default()
        }
    }

    pub(crate) fn with_line(&self, line: String) -> Self {
        Self {
            line: Some(line),
            ..self.clone()
        }
    }

    /// Sends live output to `sink`.
    #[must_use]
    pub fn with_live_output(mut self, sink: impl Fn(OutputUpdate) + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(sink));
        self
    }

    /// Returns true if the host listens to live output.
    pub fn wants_output(&self) -> bool {
        self.output.is_some()
    }

    /// Shows output of a call that still runs; does nothing if the host does not listen.
    pub fn update_output(&self, output: OutputUpdate) {
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
    let parse = |text: &str| Duration::try_from_secs_f64(text.parse().ok()?).ok();
    let hint = "Unset it, or give a number such as 300.";
    let mut strictest = None;
    for found in variables::values(variable) {
        let limit = found.parsed(parse, "not a number of seconds", hint)?;
        // Zero means unlimited.
        let length = |limit: &Duration| (limit.is_zero(), *limit);
        strictest = strictest.into_iter().chain([limit]).min_by_key(length);
    }
    Ok(strictest)
}

/// Returns the state of a variable ([`variables`]) that switches something `on` or `off`; `None` where it is not set, or
/// empty.
///
/// # Errors
///
/// Returns `invalid_tool_params` if it is neither.
pub fn switch_of(variable: &str) -> Result<Option<bool>, ToolError> {
    let parse = |text: &str| match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    };
    let hint = "Unset it, or set it to one of them.";
    let found = variables::values(variable).into_iter().next();
    let state = found.map(|found| found.parsed(parse, "neither \"on\" nor \"off\"", hint));
    state.transpose()
}
