//! Tools of MCP servers.
//!
//! The connections are held by an executable of their own, `mcp_client`
//! (`gemini-tools-network-helper`), which alone has the official SDK in it: `call_tool` and
//! `get_tools` start as fast as without. They resolve settings and trust, keep what servers have
//! declared (`cache`), and talk with it over pipes ([`gemini_tools_network_link`]).

mod audit;
mod cache;
mod content;
mod declare;
mod names;
mod resources;
mod servers;
mod session;
mod tool;

pub use audit::{Asks, Audit};
pub use session::says_something_else;
pub use session::{Mcp, McpDeclaration};
