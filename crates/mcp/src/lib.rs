//! Tools of MCP servers.
//!
//! The connections are held by an executable of their own, `mcp_client` ([`client`]), which
//! alone has the official SDK in it: `call_tool` and `get_tools` start as fast as without. They
//! resolve settings and trust, keep what servers have declared (`cache`), and talk with it
//! over pipes (`link`, `wire`).

mod audit;
mod cache;
pub mod client;
mod content;
mod declare;
mod link;
mod names;
mod resources;
mod servers;
mod session;
mod tool;
mod wire;

pub use audit::{Asks, Audit};
pub use session::says_something_else;
pub use session::{Mcp, McpDeclaration};
