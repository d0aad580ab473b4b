//! `get_tools`: prints the declarations of all tools as a JSON array; `get_tools config` and
//! `get_tools trust`: what the settings say, and whether the project may say it; `get_tools
//! lint`: what is wrong with custom tools.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

mod agree;
mod config;
mod init;
mod lint;
mod list;
mod options;
mod print;
mod trust;

use options::Task;

gemini_tools::main!(run);

fn run() -> u8 {
    // The host starts this without arguments and waits: then nothing is parsed.
    if std::env::args_os().len() <= 1 {
        return list::run(&list::Options::default());
    }
    match options::parse() {
        Ok(Task::List(options)) => list::run(&options),
        Ok(Task::Lint { json }) => lint::run(json),
        Ok(Task::Config { json }) => config::run(json),
        Ok(Task::Init(task)) => init::run(&task),
        Ok(Task::Trust(task)) => trust::run(&task),
        Err(code) => code,
    }
}
