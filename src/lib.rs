//! Gemini CLI's tools as a library, and the base of the commands `get_tools` and `call_tool`.
//!
//! The layout of the crate; dependencies point downwards only:
//!
//! - [`start`]: how the executables start.
//! - [`answer`]: from a result to the JSON that a host reads.
//! - [`serve`]: the tools for MCP clients.
//! - [`session`]: what calls need, opened once.
//! - [`approval`]: the gate that every call passes, and asking a person.
//! - [`agent`]: an agent that works with the tools.
//! - [`registry`]: every tool by name.
//! - [`builtin`]: the built-in tools, one file each.
//! - [`custom`]: tools that a project adds, a file for each.
//! - [`trust`]: whether what a project brings may run.
//! - [`mcp`]: tools of MCP servers.
//! - [`policy`]: which calls may run, by Gemini CLI's rules.
//! - [`settings`]: what tools obey of Gemini CLI's `settings.json`.
//! - [`workspace`]: all access to the project's files.
//! - [`tool`]: what a tool is.
//! - [`process`]: running commands, watched over and kept within bounds.
//! - [`declaration`]: declarations of others, repaired.
//! - [`dialect`]: how other hosts and APIs write the same tools.
//! - [`commands`]: which commands a line of shell runs.
//! - [`ci`]: what was found, for CI services.
//! - [`diagnostic`]: one thing that is wrong, for people and for CI.
//! - [`parallel`]: which calls of a message are made at the same time.
//! - [`own_program`]: whether settings name these executables.
//! - [`shown`]: names and paths as text.
//! - [`genai`]: the client of the Gemini API.
//! - [`message`]: messages of the Gemini API, which answers are parts of.
//! - `names`: names of tools that hosts and APIs take.
//! - `kept_answers`: answers that are too long, kept for later calls.
//! - [`json`]: JSON documents of others, within limits.
//! - `position`: where in a document something is.
//! - `edit_match`: finding a text that is slightly wrong.
//! - `web`: pages as text.
//! - [`net`]: the way to the network.

#[cfg(feature = "agent")]
pub use gemini_tools_agent as agent;
pub use gemini_tools_answers::answer;
#[cfg(feature = "session")]
pub use gemini_tools_approval::{approval, session};
pub use gemini_tools_builtin_tools::builtin;
pub use gemini_tools_config::{settings, trust};
pub use gemini_tools_core::registry::ToolRegistry;
pub use gemini_tools_core::{diagnostic, json, message, parallel, registry, shown, tool, version};
#[cfg(feature = "custom")]
pub use gemini_tools_custom_tools as custom;
#[cfg(any(feature = "custom", feature = "lint"))]
pub use gemini_tools_declarations as declaration;
#[cfg(any(feature = "lint", feature = "session"))]
pub use gemini_tools_formats as dialect;
#[cfg(feature = "web")]
pub use gemini_tools_gemini_api as genai;
#[cfg(feature = "web")]
pub use gemini_tools_guarded_http as net;
#[cfg(feature = "lint")]
pub use gemini_tools_lint::{self as lint, ci};
#[cfg(feature = "mcp")]
pub use gemini_tools_mcp as mcp;
#[cfg(feature = "serve_tools")]
pub use gemini_tools_mcp_server as serve;
#[cfg(feature = "mcp_client")]
pub use gemini_tools_network_helper as network_helper;
pub use gemini_tools_network_link::{self as network, Network};
#[doc(hidden)]
pub use gemini_tools_platform as sys;
#[cfg(feature = "mcp")]
pub use gemini_tools_policy as policy;
pub use gemini_tools_process as process;
pub use gemini_tools_sandbox as sandbox;
#[cfg(feature = "get_tools")]
pub use gemini_tools_setup::{doctor, init, own_program};
pub use gemini_tools_shell_analysis as commands;
#[cfg(any(
    feature = "call_tool",
    feature = "get_tools",
    feature = "mcp_client",
    feature = "run_agent",
    feature = "serve_tools"
))]
pub use gemini_tools_startup::{self as start, main, memory};
#[cfg(feature = "web")]
pub use gemini_tools_web_tools as web;
pub use gemini_tools_workspace as workspace;

/// What the executables' `--version` prints after their name: the package's version, then, where
/// the build knew them, the commit and its day in UTC, as `0.1.0 (abc1234, 2026-11-21)`.
pub const VERSION: &str = env!("GEMINI_TOOLS_VERSION");
