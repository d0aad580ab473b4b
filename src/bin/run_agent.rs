//! The executable `run_agent`. What it does is in the library, where tests can call it.

use gemini_tools_executables::run_agent;
use gemini_tools_executables::start::{self, Peers};
use std::process::ExitCode;

fn main() -> ExitCode {
    start::run("run_agent", Peers::One, run_agent::run)
}
