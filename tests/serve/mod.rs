//! `serve_tools`: our tools for clients of the Model Context Protocol.

mod serve_codex;
mod serve_extensions;
mod serve_hostile;
mod serve_hosts;
mod serve_mcp;
mod serve_real;
mod serve_versions;
mod served;
