//! Gemini CLI's built-in tools.
//!
//! # What it owns
//!
//! - [`builtin`]: the tools, one file each, and the list of them; their declarations are made from
//!   the types that parse their arguments;
//! - [`edit`]: finding a text in a file although it differs a little from the one that was asked
//!   for, for `smart_edit`;
//! - [`patch`]: changes of several files in one text, for `apply_patch`.
//!
//! Without features there are the tools for files and memories; `shell` adds those for commands,
//! and `web` those that reach the network.
//!
//! The network is reached by another executable, which `gemini-tools-process` asks for pages,
//! searches and answers of a model. Files are reached through `gemini-tools-workspace`, and
//! commands are run by `gemini-tools-process`. Whether a call may run is decided above, by
//! `gemini-tools-policy`.
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

/// The skill that tells models how to use the tools, in the form of agentskills.io.
pub const SKILL: &str = include_str!("SKILL.md");
