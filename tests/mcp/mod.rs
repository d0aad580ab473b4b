//! Tools of MCP servers: their host's side.

mod mcp_agent;
mod mcp_many;
mod mcp_odd;
mod mcp_policy;
mod mcp_reached;
mod mcp_real;
mod mcp_restarts;
mod mcp_values;
mod servers;
