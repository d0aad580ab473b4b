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

use options::Task;
use std::process::ExitCode;

// The allocator of musl maps memory for each size of block, which takes a sixth of the time of a small call.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    gemini_tools::start::run(run)
}

fn run() -> u8 {
    // The host starts this without arguments and waits: then nothing is parsed.
    if std::env::args_os().len() <= 1 {
        return list::run(&list::ListOptions {
            format: format::Format::for_stdout(),
            ..list::ListOptions::default()
        });
    }
    match options::parse() {
        Ok(Task::List(options)) => list::run(&options),
        Ok(Task::Show(name)) => show::run(&name),
        Ok(Task::Complete { tool, describes }) => complete::run(tool.as_deref(), describes),
        Ok(Task::Lint(task)) => lint::run(&task),
        Ok(Task::Licenses) => licenses::run(),
        Ok(Task::Config { json, policy }) => config::run(json, &policy),
        Ok(Task::Doctor(task)) => doctor::run(&task),
        Ok(Task::Init(task)) => init::run(&task),
        Ok(Task::Trust(task)) => trust::run(&task),
        Ok(Task::Completions { shell, command }) => completions::run(&shell, command.as_deref()),
        Err(code) => code,
    }
}
