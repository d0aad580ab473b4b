//! Tools of MCP servers: their host's side.

use gemini_tools_test_harness as harness;

mod mcp;
mod mcp_agent;
mod mcp_policy;
mod mcp_reached;
mod mcp_real;
