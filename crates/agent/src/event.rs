//! Events of a session, for the observers that show or record it.

use super::call::ToolCall;
use super::clock::span;
use super::stats::Stats;
use super::thought::Thought;
use super::turn::Turn;
use gemini_tools_core::tool::{Interruption, ModelCall};
use gemini_tools_net::gemini_api::ApiError;
use std::fmt;
use std::time::Duration;

/// Something that has happened in a session.
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
        /// The id of the prompt, which telemetry writes beside each request that serves it.
        id: &'a str,
        /// The prompt as typed, without the contents of files it mentions.
        text: &'a str,
    },
    /// The model is about to be asked for a turn.
    Request {
        /// The id of the prompt that the request serves.
        prompt_id: &'a str,
        /// The number of the turn since the session was started or resumed, from 1.
        turn: u32,
    },
    /// A piece of the model's answer.
    Text(&'a str),
    /// A thought of the model.
    Thought(&'a Thought),
    /// A request has failed. It may be sent again.
    AttemptFailed {
        /// The reason.
        error: &'a ApiError,
        /// How long the client waits before it sends the request again; `None` if it gives up.
        wait: Option<Duration>,
    },
    /// A request to a model was made: for a turn or for another purpose (such as a summary), by the
    /// agent or by a tool.
    ModelCall(&'a ModelCall),
    /// The text of this turn is discarded and the model is asked again. The reason is a clause,
    /// such as `its answer is empty`.
    Retry(&'a str),
    /// The model's turn is over.
    Response {
        /// The model's answer.
        turn: &'a Turn,
        /// How long the model took to answer.
        duration: Duration,
    },
    /// The state of a call has changed.
    Call(&'a ToolCall),
    /// The history was shortened.
    Compressed {
        /// Prompt tokens before compression.
        from: u64,
        /// Prompt tokens after compression, as an estimate.
        to: u64,
    },
    /// Something the user should know, but that does not end the session.
    Warning(&'a str),
    /// The session is over.
    Ended {
        /// The reason for the end; `None` if the model was done.
        error: Option<&'a SessionError>,
        /// The statistics.
        stats: &'a Stats,
    },
}

impl SessionEvent<'_> {
    /// Returns what the user is told of an event that changes nothing by itself, in a sentence.
    pub fn note(&self) -> Option<String> {
        Some(match self {
            Self::Warning(text) => (*text).to_owned(),
            Self::Retry(reason) => format!("The model is asked again, because {reason}."),
            Self::Compressed { from, to } => {
                format!("The history was shortened from {from} to about {to} tokens.")
            }
            Self::AttemptFailed {
                error,
                wait: Some(wait),
            } => format!("{} It is asked again in {}.", error.message, span(*wait)),
            _ => return None,
        })
    }
}

/// Why a session ended before the model was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError {
    /// The problem, and what to do.
    pub message: String,
    /// The kind of end, which decides the exit status.
    pub kind: SessionErrorKind,
}

/// The kinds of ends that the exit status distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionErrorKind {
    /// The API, a command or the disk has failed.
    Failed,
    /// The prompt, an option or a setting can't be used.
    BadInput,
    /// The session has made as many turns as it may.
    TurnLimit,
    /// The session's time limit has passed.
    TimeLimit,
    /// The model has repeated itself.
    Loop,
    /// The user or the caller has cancelled the session, with a signal or without one (0).
    Cancelled(i32),
    /// The run differs from the model script that is played.
    ScriptDiffers,
}

impl SessionError {
    /// Creates an error of a kind.
    pub fn new(kind: SessionErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, kind }
    }

    /// Creates an error of the kind [`SessionErrorKind::Failed`].
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(SessionErrorKind::Failed, message)
    }
}

impl From<Interruption> for SessionError {
    fn from(why: Interruption) -> Self {
        match why {
            Interruption::Cancelled(signal) => Self::new(
                SessionErrorKind::Cancelled(signal),
                "The session was cancelled.",
            ),
            Interruption::TimedOut(limit) => Self::new(
                SessionErrorKind::TimeLimit,
                format!("The session's time is over, {limit}."),
            ),
        }
    }
}

impl SessionErrorKind {
    /// Returns the exit status and the name in JSON output. Both are Gemini CLI's for the ends that
    /// it has too, so that scripts written for it keep working.
    fn status_and_name(self) -> (u8, &'static str) {
        match self {
            SessionErrorKind::Failed => (1, "Error"),
            SessionErrorKind::Loop => (1, "LoopDetectedError"),
            SessionErrorKind::ScriptDiffers => (4, "ScriptDiffersError"),
            SessionErrorKind::BadInput => (42, "FatalInputError"),
            SessionErrorKind::TurnLimit => (53, "FatalTurnLimitedError"),
            SessionErrorKind::TimeLimit => (124, "TimeLimitError"),
            SessionErrorKind::Cancelled(signal) => {
                let status = u8::try_from(128 + signal).ok().filter(|_| signal > 0);
                (status.unwrap_or(130), "FatalCancellationError")
            }
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

/// Receives the events of a session, to show or record them. Events are delivered one at a time.
pub trait Observer: fmt::Debug + Send {
    /// Handles an event. Errors must be dealt with here: a full disk or a closed terminal must not
    /// stop the session.
    fn take(&mut self, event: &SessionEvent<'_>);
}
