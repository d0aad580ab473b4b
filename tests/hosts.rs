//! Who calls the tools, and who may: hosts that are set up, MCP clients and servers, the agent, trust and rules.

use gemini_tools_test_harness as harness;

mod agent;
mod mcp;
mod serve;
mod setup;
mod trust;
