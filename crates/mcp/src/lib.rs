//! Tools of MCP servers.
//!
//! Another executable, `serve_tools --connect` (`gemini-tools-mcp-sdk`), opens the connections and
//! alone links the official SDK, so that `call_tool` and `get_tools` start fast. This crate finds
//! the servers in the settings, caches what they declare (`cache`), and talks to that executable
//! over pipes ([`gemini_tools_process::network`]).
//!
//! The policy decides whether a call may run. Serving the built-in tools over MCP is in
//! `gemini-tools-mcp-sdk`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_settings::settings::Settings;
//! use gemini_tools_settings::trust::{ProjectTrust, Trust, TrustedBy};
//! use gemini_tools_mcp::Mcp;
//!
//! let dir = tempfile::tempdir()?;
//! let root = dir.path().canonicalize()?;
//! std::fs::create_dir(root.join(".gemini"))?;
//! let load = || {
//!     let trust = ProjectTrust::known(Trust::Trusted(TrustedBy::Caller));
//!     Settings::load_trusting(None, &root, trust)
//! };
//! assert!(Mcp::open(&load(), None, &root, &[]).is_none());
//!
//! let text = r#"{"mcpServers": {"pets": {"command": "pets-server"}}}"#;
//! std::fs::write(root.join(".gemini/settings.json"), text)?;
//! // Nothing is started before a tool is asked for.
//! let servers = Mcp::open(&load(), None, &root, &[]).expect("a server");
//! assert!(servers.take_notes().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod audit;
mod cache;
mod catalogue;
mod content;
mod declare;
pub mod many;
mod names;
mod resources;
mod servers;
mod session;
mod tool;

pub use audit::{ServerFindings, ServersToAsk, lint_servers};
pub use catalogue::Catalogue;
pub use session::says_something_else;
pub use session::{Mcp, McpDeclaration};
