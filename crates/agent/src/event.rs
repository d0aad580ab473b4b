//! Events of a session, for the observers that show or record it.

use super::call::ToolCall;
use super::stats::Stats;
use super::thought::Thought;
use super::turn::Turn;
use gemini_tools_core::tool::{Interruption, ModelCall};
use gemini_tools_net::gemini_api::ApiError;
use std::fmt;
use std::time::Duration;

/// Something that has happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionEvent<'a> {
    /// The session begins.
    Started {
        /// The session's id.
        session: &'a str,
        /// The model that is asked.
        model: &'a str,
    },
    /// The prompt of the user.
    Prompt {
        /// The id under which the telemetry has it.
        id: &'a str,
        /// As it was given, without the files that it names.
        text: &'a str,
    },
    /// A model is about to be asked.
    Request {
        /// The prompt that it is for.
        prompt_id: &'a str,
        /// The request's number in the session, from 1.
        turn: u32,
    },
    /// A piece of the model's answer.
    Text(&'a str),
    /// A thought of the model.
    Thought(&'a Thought),
    /// An attempt to have a request answered has failed.
    AttemptFailed {
        /// The reason.
        error: &'a ApiError,
        /// Time until the request is sent again, if it is sent after a wait.
        wait: Option<Duration>,
    },
    /// A request to a model was made, in a turn or beside it, and by the agent or by a tool.
    ModelCall(&'a ModelCall),
    /// The text of this turn is discarded: the model is asked again.
    Retry(&'a str),
    /// The model's turn is over.
    Response {
        /// The turn.
        turn: &'a Turn,
        /// The time that it took.
        duration: Duration,
    },
    /// A call has moved on.
    Call(&'a ToolCall),
    /// New output of a call that runs.
    Live {
        /// The call's id.
        id: &'a str,
        /// The new text.
        text: &'a str,
    },
    /// The history was shortened.
    Compressed {
        /// Tokens before.
        from: u64,
        /// Tokens now.
        to: u64,
    },
    /// Something that the user should know, but that ends nothing.
    Warning(&'a str),
    /// The session is over.
    Ended {
        /// The reason, where it is not a success.
        error: Option<&'a SessionError>,
        /// The statistics.
        stats: &'a Stats,
    },
}

/// The reason why a session ended before the model was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError {
    /// The problem, and what to do.
    pub message: String,
    /// The sort of end.
    pub kind: SessionErrorKind,
}

/// The sorts of ends, which the exit status tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionErrorKind {
    /// Something failed: the API, the commands, the disk.
    Failed,
    /// The prompt, an option or a setting can't be used.
    BadInput,
    /// The turns are used up.
    TurnLimit,
    /// The time is used up.
    TimeLimit,
    /// The model says or does the same again and again.
    Loop,
    /// The user or the caller has ended it.
    Cancelled,
    /// The run differs from the model script that is played.
    ScriptDiffers,
}

impl SessionError {
    /// Makes an error of this sort.
    pub fn new(kind: SessionErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, kind }
    }

    /// Makes an error about something that failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(SessionErrorKind::Failed, message)
    }
}

impl From<Interruption> for SessionError {
    fn from(why: Interruption) -> Self {
        match why {
            Interruption::Cancelled(_) => {
                Self::new(SessionErrorKind::Cancelled, "The session was cancelled.")
            }
            Interruption::TimedOut(limit) => Self::new(
                SessionErrorKind::TimeLimit,
                format!("The session's time is over, {limit}."),
            ),
        }
    }
}

impl SessionErrorKind {
    /// Returns the exit status and the name, as Gemini CLI has them where it has such an end.
    fn status_and_name(self) -> (u8, &'static str) {
        match self {
            SessionErrorKind::Failed => (1, "Error"),
            SessionErrorKind::Loop => (1, "LoopDetectedError"),
            SessionErrorKind::ScriptDiffers => (4, "ScriptDiffersError"),
            SessionErrorKind::BadInput => (42, "FatalInputError"),
            SessionErrorKind::TurnLimit => (53, "FatalTurnLimitedError"),
            SessionErrorKind::TimeLimit => (124, "TimeLimitError"),
            SessionErrorKind::Cancelled => (130, "FatalCancellationError"),
        }
    }

    /// Returns the exit status.
    pub fn exit_status(self) -> u8 {
        self.status_and_name().0
    }

    /// Returns the name of the error in JSON output.
    pub fn name(self) -> &'static str {
        self.status_and_name().1
    }
}

/// Shows or records what happens. Calls of one session come one at a time.
pub trait Observer: fmt::Debug + Send {
    /// Takes an event in. What can't be shown is lost: nothing here may stop a session.
    fn take(&mut self, event: &SessionEvent<'_>);
}
