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
    /// The proxy did not do its part.
    #[error("the proxy {proxy}: {why}")]
    Proxy {
        /// Host and port.
        proxy: String,
        /// Answer of the proxy.
        why: String,
    },
    /// The peer was silent for too long.
    #[error("{host} {what} for {secs} s")]
    Silent {
        /// Host.
        host: String,
        /// Step that did not end in time.
        what: &'static str,
        /// The limit.
        secs: u64,
    },
    /// The peer could not prove who it is, or no cipher is common.
    #[error("no secure connection to {host}: {why}")]
    Tls {
        /// Host.
        host: String,
        /// Error of the TLS library.
        why: String,
    },
    /// The answer ended before its end.
    #[error("the answer of {host} was cut off: {why}")]
    Cut {
        /// Host.
        host: String,
        /// Place of the fault.
        why: String,
    },
    /// The answer is not HTTP, or its content can't be decompressed.
    #[error("the answer of {host} can't be understood: {why}")]
    Protocol {
        /// Host.
        host: String,
        /// Reason.
        why: String,
    },
    /// The content is encoded in a way that is not understood.
    #[error("the answer of {host} has the content encoding {coding}")]
    Coding {
        /// Host.
        host: String,
        /// The coding's name and what would be understood.
        coding: String,
    },
    /// The request can't be sent at all.
    #[error("{0}")]
    BadRequest(String),
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
            Some(Interruption::TimedOut) => Err(NetError::OutOfTime),
        }
    }

    /// Returns true if the same request may succeed a little later: the fault lies on the way, not
    /// in the request.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            NetError::Names { .. }
                | NetError::Connect { .. }
                | NetError::Silent { .. }
                | NetError::Cut { .. }
                | NetError::Protocol { .. }
        )
    }
}
