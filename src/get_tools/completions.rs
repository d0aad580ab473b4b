//! `get_tools completions`: completion scripts for shells.
//!
//! `scripts/generate` writes the scripts from the command lines, and a test fails if they are out
//! of date. The executables therefore need not contain a generator.

use crate::get_tools::print::print;
use crate::start::Failure;
use anyhow::bail;

macro_rules! completions {
    ($($command:literal),*) => {
        [$(($command, [
            include_str!(concat!("../../completions/", $command, ".bash")),
            include_str!(concat!("../../completions/_", $command)),
            include_str!(concat!("../../completions/", $command, ".fish")),
        ])),*]
    };
}

/// Each command with its completions for bash, zsh and fish.
static ALL: [(&str, [&str; 3]); 4] =
    completions!("get_tools", "call_tool", "run_agent", "serve_tools");

pub(crate) fn run(shell: &str, command: Option<&str>) -> anyhow::Result<u8> {
    let wanted = ALL
        .iter()
        .filter(|(own, _)| command.is_none_or(|name| name == *own));
    let text: String = wanted
        .map(|(_, [bash, zsh, fish])| match shell {
            "bash" => *bash,
            "zsh" => zsh,
            _ => fish,
        })
        .collect();
    if text.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|(own, _)| *own).collect();
        let reason = format!(
            "Unknown command {:?}; it must be one of {}.",
            command.unwrap_or_default(),
            names.join(", ")
        );
        bail!(Failure(2, reason));
    }
    print(text.as_bytes())
}
