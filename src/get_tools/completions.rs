//! `get_tools completions`: completion scripts for shells.
//!
//! `scripts/generate` writes the scripts from the command lines, and a test fails if they are out
//! of date. The executables therefore need not contain a generator.

use crate::get_tools::print::{fail, print};

struct Completions {
    command: &'static str,
    bash: &'static str,
    zsh: &'static str,
    fish: &'static str,
}

macro_rules! completions {
    ($($command:literal),*) => {
        [$(Completions {
            command: $command,
            bash: include_str!(concat!("../../completions/", $command, ".bash")),
            zsh: include_str!(concat!("../../completions/_", $command)),
            fish: include_str!(concat!("../../completions/", $command, ".fish")),
        }),*]
    };
}

static ALL: &[Completions] = &completions!("get_tools", "call_tool", "run_agent", "serve_tools");

pub(crate) fn run(shell: &str, command: Option<&str>) -> u8 {
    let wanted = |one: &&Completions| command.is_none_or(|name| name == one.command);
    let text: String = ALL
        .iter()
        .filter(wanted)
        .map(|one| match shell {
            "bash" => one.bash,
            "zsh" => one.zsh,
            _ => one.fish,
        })
        .collect();
    if text.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|one| one.command).collect();
        let reason = format!(
            "Unknown command {:?}; it must be one of {}.",
            command.unwrap_or_default(),
            names.join(", ")
        );
        return fail(2, &reason);
    }
    print(text.as_bytes())
}
