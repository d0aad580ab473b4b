//! Requests to `serve_tools --connect`, the process that reaches the network and MCP servers.
//!
//! `call_tool` and `get_tools` open no network socket. What needs one is done by an executable of
//! its own, which is started when it is first needed and exchanges messages over pipes: [`link`]
//! starts it and waits for its answers, and [`wire`] defines the messages. Built-in tools use the
//! trait [`Network`], so that a program that links the library can do the same without an
//! executable. The code of that executable is in `gemini-tools-mcp-sdk`. [`addresses`] finds
//! addresses in a prompt, and decides which of them may be reached.
//!
//! # Example
//!
//! A network for built-in tools that reaches nothing:
//!
//! ```
//! use gemini_tools_core::tool::{Context, ErrorKind, ToolError};
//! use gemini_tools_process::network::Network;
//! use gemini_tools_process::network::wire::{WebAnswer, WebTask};
//! use std::path::Path;
//!
//! #[derive(Debug)]
//! struct Offline;
//!
//! impl Network for Offline {
//!     fn run(
//!         &self,
//!         task: &WebTask,
//!         _home: Option<&Path>,
//!         _cx: &Context,
//!     ) -> Result<WebAnswer, ToolError> {
//!         match task {
//!             WebTask::HasModel => Ok(WebAnswer::HasModel(false)),
//!             _ => Err(ToolError::denied("There is no network.")),
//!         }
//!     }
//! }
//!
//! let asked = Offline.run(&WebTask::HasModel, None, &Context::default());
//! assert!(matches!(asked.expect("an answer"), WebAnswer::HasModel(false)));
//! ```

pub mod addresses;
pub mod link;
pub mod wire;

use gemini_tools_core::tool::{Context, ToolError};
use std::fmt::Debug;
use std::path::Path;
use wire::{WebAnswer, WebTask};

/// Returns the version of the messages: the package's version and a checksum of the source file
/// that defines them, but not the commit. Both sides must have the same.
#[must_use]
pub fn protocol() -> String {
    const fn checksum(text: &[u8]) -> u32 {
        let mut sum = 0x811c_9dc5_u32;
        let mut i = 0;
        while i < text.len() {
            sum = (sum ^ text[i] as u32).wrapping_mul(0x0100_0193);
            i += 1;
        }
        sum
    }
    const SUM: u32 = checksum(include_bytes!("wire.rs"));
    format!("{}-{SUM:08x}", env!("CARGO_PKG_VERSION"))
}

/// The network, as built-in tools use it.
pub trait Network: Debug + Send + Sync {
    /// Does the network part of a built-in tool, with the credentials in the home directory `home`.
    /// Each request to a model on the way is reported to `cx` as
    /// [`OutputUpdate::ModelCall`](gemini_tools_core::tool::OutputUpdate::ModelCall).
    ///
    /// # Errors
    ///
    /// Returns an error if the call was interrupted, or if the network can't be reached at all.
    fn run(
        &self,
        task: &WebTask,
        home: Option<&Path>,
        cx: &Context,
    ) -> Result<WebAnswer, ToolError>;
}
