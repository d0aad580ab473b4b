//! The executable `get_tools`. What it does is in the library, where tests can call it.

use gemini_tools_executables::get_tools;
use gemini_tools_executables::start::{self, Peers};
use std::process::ExitCode;

// musl's own allocator maps memory for each size of block, which would take a fifth of the time of
// a listing.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    start::run("get_tools", Peers::One, get_tools::run)
}
