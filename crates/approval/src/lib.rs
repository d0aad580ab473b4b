//! The gate that every call passes, and what calls need.
//!
//! # What it owns
//!
//! - [`approval`]: the one [`Gate`](approval::Gate) that decides whether a call runs: the policy,
//!   and the user where one must be asked; what they are asked, and what is kept of their answers;
//! - [`session`]: the [`Session`](session::Session), which opens settings, workspace, tools and
//!   rules once for a project, and makes calls with them.
//!
//! Rules are read and held against calls by `gemini-tools-policy`. The terminal is asked here; how
//! the client of a server is asked is up to `gemini-tools-mcp-sdk`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_approval::approval::Gate;
//! use gemini_tools_core::tool::ApprovalMode;
//! use gemini_tools_policy::{Decision, Policy, PolicyCall};
//! use serde_json::Map;
//!
//! let gate = Gate::new(Policy::default(), Some(ApprovalMode::Default));
//! let args = Map::new();
//! let call = PolicyCall::of_tool("deploy", &[], &args);
//! assert_eq!(gate.verdict(&call, true).decision, Decision::AskUser);
//! // Where no user can be asked, the call does not run.
//! assert_eq!(gate.verdict(&call, false).decision, Decision::Deny);
//! ```

pub mod approval;
pub mod session;
