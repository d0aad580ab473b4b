//! Gemini CLI's tools as a library, on which the commands `get_tools` and `call_tool` are built.
//!
//! The code is in the crates below `crates/`, each with one job; this crate has the names by which
//! programs use them. A crate only uses crates of lower layers; the table goes roughly from the
//! highest layer to the lowest.
//!
//! | Here | Crate | What it is |
//! |---|---|---|
//! | [`agent`] | `gemini-tools-agent` | an agent that works with the tools |
//! | [`serve`] | `gemini-tools-mcp-sdk` | the tools for MCP clients |
//! | [`init`], [`doctor`], [`hosts`] | `gemini-tools-setup` | setting up hosts, and checking them |
//! | [`approval`] | `gemini-tools-policy` | decides whether a call may run, and asks a person |
//! | [`session`] | `gemini-tools-session` | what calls need, opened once |
//! | [`custom`] | `gemini-tools-custom-tools` | tools that a project adds, a file for each |
//! | [`mcp`] | `gemini-tools-mcp` | tools of MCP servers |
//! | [`policy`] | `gemini-tools-policy` | which calls may run, by Gemini CLI's rules |
//! | [`builtin`] | `gemini-tools-builtin-tools` | the built-in tools, one file each |
//! | [`connect`] | `gemini-tools-mcp-sdk` | connections to servers, for `serve_tools --connect` |
//! | [`web`] | `gemini-tools-net` | what the built-in tools need the network for |
//! | [`network`] | `gemini-tools-process` | requests to `serve_tools --connect` for the network |
//! | [`genai`] | `gemini-tools-net` | the client of the Gemini API |
//! | [`answer`] | `gemini-tools-core` | turns a result into the JSON that a host reads |
//! | [`settings`] | `gemini-tools-settings` | Gemini CLI's settings that the tools obey |
//! | [`trust`] | `gemini-tools-settings` | whether a project's own tools and servers may run |
//! | [`declaration`] | `gemini-tools-core` | repairs tool declarations of other programs |
//! | [`dialect`] | `gemini-tools-custom-tools` | how other hosts and APIs write the same tools |
//! | [`checks`] | `gemini-tools-checks` | many rules about a project's files, in one walk |
//! | [`ci`] | `gemini-tools-checks` | findings, for CI services |
//! | [`process`] | `gemini-tools-process` | runs commands, and ends them with all their processes |
//! | [`workspace`] | `gemini-tools-workspace` | all access to the project's files |
//! | [`sandbox`] | `gemini-tools-process` | the kernel's limits on a command |
//! | [`commands`] | `gemini-tools-shell` | which commands a line of shell runs |
//! | [`syntax`] | `gemini-tools-syntax` | syntax errors that an edit makes, and outlines |
//! | [`tool`] | `gemini-tools-core` | what a tool is |
//! | [`registry`] | `gemini-tools-core` | every tool by name |
//! | [`parallel`] | `gemini-tools-core` | which calls of a message are made at the same time |
//! | [`message`] | `gemini-tools-core` | Gemini API messages, whose parts hold tool answers |
//! | [`diagnostic`] | `gemini-tools-core` | a finding, for people and for CI |
//! | [`position`] | `gemini-tools-core` | lines and columns of documents |
//! | [`json`] | `gemini-tools-core` | reads JSON documents of other programs within limits |
//!
//! The page on architecture in the book (`docs/architecture.md`) shows the layers.
//!
//! # Examples
//!
//! A session opens what calls need, including the user's settings and rules, and makes calls as
//! `call_tool` does:
//!
//! ```no_run
//! use gemini_tools::session::{CallOptions, PolicyOptions, Session};
//! use gemini_tools::tool::Context;
//! use serde_json::json;
//!
//! let dir = tempfile::tempdir()?;
//! let root = dir.path().canonicalize()?;
//! std::fs::write(root.join("notes.txt"), "Says hello.\n")?;
//!
//! let session = Session::open(&root, &[], &PolicyOptions::default())?.without_servers();
//! let args = json!({ "absolute_path": "notes.txt" });
//! let call = CallOptions::default();
//! let result = session.run("read_file", args, call, &mut Context::default()).outcome?;
//! assert_eq!(serde_json::to_value(&result.llm_content)?, "Says hello.\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The page on the library in the book (`docs/library.md`) has programs for the commonest uses.

// On docs.rs, which uses a nightly compiler, this shows which feature each item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "agent")]
pub use gemini_tools_agent as agent;
#[cfg(feature = "files")]
pub use gemini_tools_builtin_tools::{builtin, edit};
#[cfg(feature = "session")]
pub use gemini_tools_checks::{self as checks, ci};
#[cfg(feature = "session")]
pub use gemini_tools_core::declarations as declaration;
pub use gemini_tools_core::registry::ToolRegistry;
#[cfg(feature = "files")]
pub use gemini_tools_core::{answer, diagnostic, parallel, position};
pub use gemini_tools_core::{json, message, registry, tail_call, tool};
// Only the executables use these.
#[cfg(feature = "files")]
#[doc(hidden)]
pub use gemini_tools_core::{colours, text, version};
#[cfg(feature = "session")]
pub use gemini_tools_custom_tools as custom;
#[cfg(feature = "session")]
pub use gemini_tools_custom_tools::dialect;
#[cfg(feature = "session")]
#[doc(hidden)]
pub use gemini_tools_environment::variables;
#[cfg(feature = "session")]
pub use gemini_tools_mcp as mcp;
#[cfg(feature = "connect")]
pub use gemini_tools_mcp_sdk::connect;
#[cfg(feature = "serve")]
pub use gemini_tools_mcp_sdk::serve;
#[cfg(feature = "agent")]
pub use gemini_tools_net::gemini_api as genai;
#[cfg(feature = "agent")]
pub use gemini_tools_net::web;
#[cfg(feature = "session")]
pub use gemini_tools_policy::{self as policy, approval};
#[cfg(feature = "session")]
pub use gemini_tools_process::network::{self, Network};
#[cfg(feature = "session")]
#[doc(hidden)]
pub use gemini_tools_process::output;
#[cfg(feature = "session")]
pub use gemini_tools_process::{self as process, sandbox};
#[cfg(feature = "session")]
pub use gemini_tools_session as session;
#[cfg(feature = "session")]
pub use gemini_tools_settings::{settings, trust};
#[cfg(feature = "setup")]
pub use gemini_tools_setup::{doctor, hosts, init};
#[cfg(feature = "session")]
pub use gemini_tools_shell as commands;
#[cfg(feature = "syntax")]
pub use gemini_tools_syntax as syntax;
#[cfg(feature = "files")]
pub use gemini_tools_workspace::{self as workspace, journal};

#[cfg(all(doctest, feature = "schemars"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;
