//! The executable `call_tool`. What it does is in the library, where tests can call it.

use gemini_tools_executables::call_tool;
use gemini_tools_executables::start::{self, Peers};
use std::process::ExitCode;

// musl's own allocator maps memory for each size of block, which takes an eighth of the time of a
// small call.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    start::run("call_tool", Peers::One, call_tool::run)
}
