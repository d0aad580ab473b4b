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

pub mod agent;
pub mod answer;
pub mod approval;
pub mod builtin;
pub mod ci;
pub mod commands;
pub mod custom;
pub mod declaration;
pub mod diagnostic;
pub mod dialect;
pub mod doctor;
mod edit_match;
pub mod genai;
pub mod init;
pub mod json;
mod kept_answers;
pub mod mcp;
pub mod message;
mod names;
pub mod net;
pub mod own_program;
pub mod parallel;
pub mod policy;
mod position;
pub mod process;
pub mod registry;
pub mod serve;
pub mod session;
pub mod settings;
pub mod shown;
pub mod start;
#[doc(hidden)]
pub mod sys;
pub mod tool;
pub mod trust;
mod web;
pub mod workspace;

pub use registry::ToolRegistry;

/// What the executables' `--version` prints after their name: the package's version, then, where
/// the build knew them, the commit and its day in UTC, as `0.1.0 (abc1234, 2026-11-21)`.
pub const VERSION: &str = env!("GEMINI_TOOLS_VERSION");
