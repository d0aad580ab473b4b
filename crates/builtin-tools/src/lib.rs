//! Gemini CLI's built-in tools.
//!
//! # What it owns
//!
//! - [`builtin`]: the tools, one file each, and the list of them; the declarations of their
//!   arguments are generated from the types that parse them;
//! - [`edit`]: finds the text to replace although it is quoted inexactly, for `smart_edit` and for
//!   the hunks of `apply_patch`;
//! - [`patch`]: parses patches of several files and applies their hunks, for `apply_patch`.
//!
//! Without the feature `full`, there are only the tools for files and memories; `full` adds those
//! that run commands or reach the network.
//!
//! Another executable, `serve_tools --connect`, reaches the network; `gemini-tools-process` asks it
//! for pages, searches and answers of a model. Files are reached through `gemini-tools-workspace`,
//! and commands are run by `gemini-tools-process`. Whether a call may run is decided by its caller,
//! with `gemini-tools-policy`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
//! use gemini_tools_core::registry::ToolRegistry;
//! use gemini_tools_core::tool::Context;
//! use gemini_tools_workspace::Workspace;
//! use serde_json::json;
//! use std::sync::Arc;
//!
//! let dir = tempfile::tempdir()?;
//! let root = dir.path().canonicalize()?;
//! std::fs::write(root.join("notes.txt"), "Says hello.\n")?;
//!
//! let mut registry = ToolRegistry::default();
//! let workspace = Workspace::open_at(&root, &[], None)?;
//! let tool_env = ToolEnv::new(Arc::new(workspace));
//! builtin::register(&mut registry, &tool_env)?;
//!
//! let args = json!({ "absolute_path": "notes.txt" });
//! let result = registry.execute("read_file", args, &Context::default())?;
//! assert_eq!(serde_json::to_value(&result.llm_content)?, "Says hello.\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod builtin;
pub mod edit;
pub mod patch;

/// The skill (`SKILL.md`, as specified by agentskills.io) that tells models how to use the tools.
pub const SKILL: &str = include_str!("SKILL.md");
