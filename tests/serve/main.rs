//! `serve_tools`: our tools for clients of the Model Context Protocol.

use gemini_tools_test_harness as harness;

mod serve;
mod serve_codex;
mod serve_hostile;
mod serve_hosts;
mod serve_mcp;
mod serve_real;
mod serve_versions;
