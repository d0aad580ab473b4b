//! The executable `serve_tools`. What it does is in the library, where tests can call it.

use gemini_tools_executables::serve_tools;
use gemini_tools_executables::start::{self, Peers};
use std::process::ExitCode;

fn main() -> ExitCode {
    start::run("serve_tools", Peers::Many, serve_tools::run)
}
