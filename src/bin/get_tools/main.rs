//! `get_tools`: prints the declarations of all tools as a JSON array, or lists them; `get_tools config` and
//! `get_tools trust`: what the settings say, and whether the project may say it; `get_tools
//! lint`: what is wrong with custom tools, those of MCP servers, or declarations; `get_tools
//! init` and `get_tools doctor`: setting up; `get_tools completions`: for shells.

mod command;
mod complete;
mod completions;
mod config;
mod confirm;
mod doctor;
mod format;
mod init;
mod licenses;
mod lint;
mod list;
mod options;
mod print;
mod show;
mod style;
mod table;
mod trust;

use command::GetToolsOptions;
use std::process::ExitCode;

// The allocator of musl maps memory for each size of block, which takes a fifth of the time of a list.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    gemini_tools::start::run(run)
}

fn run() -> u8 {
    // The host starts this without arguments and waits: then nothing is parsed.
    if std::env::args_os().len() <= 1 {
        return list::run(&GetToolsOptions::default());
    }
    options::run()
}
