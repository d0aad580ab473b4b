//! Errors of the network.

use gemini_tools_core::tool::{Cancellation, Interruption};
use thiserror::Error;

/// The reason why a request has no answer, or only part of one. No text of it holds a header or a
/// body, so no credential either; addresses are shown without user, password, query and fragment.
#[derive(Debug, Clone, Error)]
pub enum NetError {
    /// The call was cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// The call's own time limit has passed.
    #[error("the call's time limit was reached")]
    OutOfTime,
    /// The address may not be reached.
    #[error("{0}")]
    NotPublic(String),
    /// There is no such name.
    #[error("the name {0} does not exist")]
    NoSuchName(String),
    /// The name could not be resolved.
    #[error("the name {host} could not be resolved: {why}")]
    Names {
        /// The name.
        host: String,
        /// Answer of the name servers.
        why: String,
    },
    /// No connection came about.
    #[error("no connection to {host}: {why}")]
    Connect {
        /// Name and port.
        host: String,
        /// Error of the operating system.
        why: String,
    },
    /// The peer could not prove who it is, or no cipher is common.
    #[error("no secure connection to {host}: {why}")]
    Tls {
        /// Host.
        host: String,
        /// Error of the TLS library.
        why: String,
    },
    /// The peer did not answer in time, or its answer broke off or can't be understood.
    #[error("{0}")]
    BadAnswer(String),
    /// The request can't be sent, or not by this proxy, or its answer is in a coding that was not
    /// asked for: asking again does not help.
    #[error("{0}")]
    Failed(String),
}

impl NetError {
    /// Checks that a call goes on.
    ///
    /// # Errors
    ///
    /// Returns [`Cancellation::interruption`] as an error of the network.
    pub(crate) fn check(cancel: &Cancellation) -> Result<(), Self> {
        match cancel.interruption() {
            None => Ok(()),
            Some(Interruption::Cancelled(_)) => Err(NetError::Cancelled),
            Some(Interruption::TimedOut(_)) => Err(NetError::OutOfTime),
        }
    }

    /// Returns true if the same request may succeed a little later: the fault lies on the way, not
    /// in the request.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            NetError::Names { .. } | NetError::Connect { .. } | NetError::BadAnswer(_)
        )
    }
}
