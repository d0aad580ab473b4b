//! What a running call gets from its caller, and how it reports to it.

use super::{Cancellation, InputSource, SandboxMode};
#[cfg(feature = "hosts")]
use crate::client_host::AnswerLimit;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A piece of output of a running tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OutputUpdate {
    /// Text that follows all that was shown before.
    Text(String),
    /// A request to a model that the call has made. The host counts it and does not show it.
    ModelCall(super::ModelCall),
}

/// The places in files that a result should list as [`super::ToolResult::locations`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultPlaces {
    /// No places.
    #[default]
    Unwanted,
    /// The matches of a search, with columns in characters.
    Matches,
    /// The matches, with columns in bytes, and all other items that a tool lists.
    Items,
}

/// What a call gets from its caller: cancellation, live output, and what its answer should hold.
#[derive(Clone)]
pub struct Context {
    /// Tells the call to end.
    pub cancel: Cancellation,
    /// Set if the caller reads [`super::ToolResult::return_display`]; otherwise tools leave it
    /// empty where it costs time.
    pub wants_display: bool,
    /// What built-in tools need to know of the reader of the answer. A tool that a program adds can
    /// ignore it.
    pub view: CallView,
    /// Asks the client during the call; `None` if the client can't be asked.
    pub input: Option<Arc<dyn InputSource>>,
    output: Option<Arc<dyn Fn(OutputUpdate) + Send + Sync>>,
}

/// What built-in tools are told of the reader and the host of a call. By default the reader is a
/// program, for which nothing is left out.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another thing")]
#[non_exhaustive]
pub struct CallView {
    /// The places that the result should list.
    pub places: ResultPlaces,
    /// Set if the text is for a terminal with colours. The result then says which parts of the text
    /// have which colour (see [`super::named`]).
    pub wants_looks: bool,
    /// The maximum number of characters of an answer, for tools that choose themselves what to
    /// leave out; `None` for no limit.
    pub limit_chars: Option<usize>,
    /// The longest answer that the host passes on to its model; `None` if no limit is known. Tools
    /// that read files end before it, because what is cut from their answers would count as seen.
    #[cfg(feature = "hosts")]
    pub host_limit: Option<AnswerLimit>,
    /// Set if a model reads the answer: a command's output is condensed, and long searches and
    /// lists are shortened.
    pub condenses: bool,
    /// The id that the caller has given the call, if any. The journal of changes records it.
    pub call_id: Option<String>,
    /// The sandbox in which the host runs its own commands, if known: commands of this call must
    /// not run in a weaker one.
    pub least_sandbox: Option<SandboxMode>,
    /// Set if the caller remembers what it was shown. A write that would lose content that the
    /// caller has not seen is then refused.
    pub remembers: bool,
    /// Set if such a write is made all the same, and only its answer says so.
    pub tells_unseen: bool,
}

impl Default for Context {
    fn default() -> Self {
        Self::new(Cancellation::default(), true)
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
            view: CallView::default(),
            input: None,
            output: None,
        }
    }

    /// Sends each [`OutputUpdate`] to `sink`.
    #[must_use]
    pub fn with_live_output(mut self, sink: impl Fn(OutputUpdate) + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(sink));
        self
    }

    /// Returns true if the host listens to live output.
    pub fn wants_output(&self) -> bool {
        self.output.is_some()
    }

    /// Reports output of a call that still runs; does nothing if the host does not listen. A panic
    /// of the listener is no fault of the tool, which goes on.
    pub fn update_output(&self, output: OutputUpdate) {
        if let Some(sink) = &self.output {
            let _ = catch_unwind(AssertUnwindSafe(|| sink(output)));
        }
    }
}
