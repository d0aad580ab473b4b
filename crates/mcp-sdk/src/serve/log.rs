//! Sends the output of running calls as log messages to clients that ask for them.
#![expect(
    deprecated,
    reason = "clients of older versions have a log, and some show no progress"
)]

use crate::lock;
use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, SetLevelRequestParams};
use rmcp::service::{Peer, RequestContext};
use std::sync::Mutex;

#[derive(Default)]
pub(super) struct ClientLog(Mutex<Option<LoggingLevel>>);

impl ClientLog {
    pub(super) fn set_level(&self, request: &SetLevelRequestParams) {
        *lock(&self.0) = Some(request.level);
    }

    /// Returns true if the client wants log messages of the level `info`, which output has. Since
    /// protocol version 2026-07-28 each request names its level.
    pub(super) fn is_wanted(&self, context: &RequestContext<RoleServer>) -> bool {
        let level = context.meta.log_level().or(*lock(&self.0));
        matches!(level, Some(LoggingLevel::Debug | LoggingLevel::Info))
    }
}

pub(super) async fn send(peer: &Peer<RoleServer>, logger: &str, text: &str) {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, text.into());
    // An error means that the client has disconnected, so nobody needs the message.
    let _ = peer
        .notify_logging_message(message.with_logger(logger))
        .await;
}
