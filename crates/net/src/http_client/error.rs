//! Errors of the network.

use gemini_tools_core::tool::{Cancellation, Interruption};
use thiserror::Error;

/// Why a request has no answer, or only a part of one. The message contains no header and no body,
/// so no credential; addresses are shown without user, password, query and fragment.
#[derive(Debug, Clone, Error)]
pub enum NetError {
    /// The call was cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// The call's own time limit has passed.
    #[error("the call's time limit was reached")]
    OutOfTime,
    /// The policy forbids the address.
    #[error("{0}")]
    NotPublic(String),
    /// The host's name does not exist.
    #[error("the name {0} does not exist")]
    NoSuchName(String),
    /// The name servers could not resolve the name.
    #[error("the name {host} could not be resolved: {why}")]
    Names {
        /// The name that was looked up.
        host: String,
        /// The error of the name servers.
        why: String,
    },
    /// No connection could be opened.
    #[error("no connection to {host}: {why}")]
    Connect {
        /// Host and port.
        host: String,
        /// The reason, such as the operating system's error.
        why: String,
    },
    /// The TLS handshake failed, for example because of the certificate.
    #[error("no secure connection to {host}: {why}")]
    Tls {
        /// The host's name.
        host: String,
        /// The TLS library's error.
        why: String,
    },
    /// The peer did not answer in time, or its answer broke off or can't be understood.
    #[error("{0}")]
    BadAnswer(String),
    /// The request can't be sent at all or through this proxy, or the answer has an encoding that
    /// was not requested. A retry does not help.
    #[error("{0}")]
    Failed(String),
}

impl NetError {
    pub(crate) fn check(cancel: &Cancellation) -> Result<(), Self> {
        match cancel.interruption() {
            None => Ok(()),
            Some(Interruption::Cancelled(_)) => Err(NetError::Cancelled),
            Some(Interruption::TimedOut(_)) => Err(NetError::OutOfTime),
        }
    }

    /// Returns true if the same request may succeed later, because the network and not the request
    /// is at fault.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            NetError::Names { .. } | NetError::Connect { .. } | NetError::BadAnswer(_)
        )
    }
}
