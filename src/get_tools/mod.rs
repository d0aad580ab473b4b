//! `get_tools`: prints the declarations of all tools as a JSON array, or lists them. Its
//! subcommands: `config` shows the settings in force, and `trust` lets the user trust a project;
//! `show` explains a tool; `lint` checks custom tools, MCP servers and declarations; `init` and
//! `doctor` set up a host and check it; `serve` starts the MCP server; `completions` is for shells.

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
mod serve;
mod show;
mod style;
mod table;
mod trust;

pub use command::command;

use command::GetToolsOptions;

/// Runs the program and returns its exit status.
///
/// # Errors
///
/// Returns why the task could not be done.
pub fn run() -> anyhow::Result<u8> {
    // A host starts this program without arguments and waits for it. Then nothing needs to be
    // parsed.
    if std::env::args_os().len() <= 1 {
        return list::run(&GetToolsOptions::default());
    }
    options::run()
}
