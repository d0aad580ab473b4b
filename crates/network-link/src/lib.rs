//! The way to `mcp_client`, the executable that reaches the network and MCP servers.
//!
//! `call_tool` and `get_tools` open no socket. What needs one is done by an executable of its own, which
//! is started when it is first needed and talked with over pipes: [`link`] starts it and waits for its
//! answers, [`wire`] is what both say. [`Network`] is what built-in tools see of it, so that a
//! program that uses the library can do the same without an executable.

pub mod link;
pub mod wire;

use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use link::Link;
use std::fmt::Debug;
use std::path::Path;
use wire::{FailureKind, WebAnswer, WebTask};

/// What does for built-in tools what they need the network for.
pub trait Network: Debug + Send + Sync {
    /// Does it, for a user with that home directory.
    ///
    /// # Errors
    ///
    /// Where there is no answer: the call was interrupted, or what does it is not there.
    fn run(
        &self,
        task: &WebTask,
        home: Option<&Path>,
        cancel: &Cancellation,
    ) -> Result<WebAnswer, ToolError>;
}

/// The executable beside ours.
#[derive(Debug, Default)]
pub struct Helper {
    link: Link,
}

impl Network for Helper {
    fn run(
        &self,
        task: &WebTask,
        home: Option<&Path>,
        cancel: &Cancellation,
    ) -> Result<WebAnswer, ToolError> {
        self.link.run(task, home, cancel).map_err(|failure| {
            if let (FailureKind::Cancelled, Err(interrupted)) = (failure.why, cancel.check()) {
                return interrupted;
            }
            let mut message = failure.message;
            if let Some(first) = message.get(..1).map(str::to_ascii_uppercase) {
                message.replace_range(..1, &first);
            }
            ToolError::new(ErrorKind::ExecutionFailed, format!("{message}."))
        })
    }
}
