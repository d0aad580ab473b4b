//! The sandbox of a program that a tool starts, and the watch that records its changes for undo.

use super::ToolEnv;
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::{Context, SandboxMode, ToolError};
use gemini_tools_process::changes::ChangeWatch;
use gemini_tools_process::sandbox::{Sandbox, SandboxPolicy};
use gemini_tools_process::supervisor::SupervisedProgram;
use gemini_tools_settings::settings::UndoCommands;
use gemini_tools_workspace::journal::CommandChanges;
use rustix::io::Errno;
use std::path::Path;

/// Programs that gain privileges, as setuid programs do. Some kernels allow file changes to be
/// watched only under `no_new_privs`, where these programs fail. So on such kernels, commands that
/// run one of these programs are not watched, and their changes can't be undone.
const GAINING: [&str; 4] = ["sudo", "su", "doas", "pkexec"];

const MAX_LINE_CHARS: usize = 200;

/// Returns the watch that records the file changes of the command `line` for undo; `None` if it is
/// not wanted or not possible. `programs` returns the names of the programs that the command runs.
pub fn changes(
    tool_env: &ToolEnv,
    tool: &str,
    line: &str,
    programs: impl FnOnce() -> Vec<String>,
) -> Option<ChangeWatch> {
    let chosen = gemini_tools_environment::variables::values("GEMINI_TOOLS_UNDO_COMMANDS");
    let wanted = match chosen.first() {
        None => tool_env.settings.undo.commands,
        Some(found) => UndoCommands::from_name(found.text().trim()),
    };
    let takes_ignored = match wanted {
        None | Some(UndoCommands::Off) => return None,
        Some(wanted) => wanted == UndoCommands::All,
    };
    let name = |program: &String| Path::new(program).file_name().map(ToOwned::to_owned);
    let gains = |program: &String| name(program).is_some_and(|n| GAINING.iter().any(|g| n == *g));
    let line = excerpt(line.trim(), MAX_LINE_CHARS);
    let changes = CommandChanges::new(&tool_env.workspace, tool, &line, takes_ignored)?;
    ChangeWatch::new(changes, !programs().iter().any(gains))
}

/// Returns a clause that says why changes of a command can't be undone; `None` if all of them can
/// be.
pub fn undo_note(supervised: &SupervisedProgram) -> Option<String> {
    let why = match supervised.changes() {
        Ok(counts) if counts.lost == 0 => return None,
        Ok(counts) => {
            return Some(format!(
                "{} of {} changes can't be undone; call_tool --history says why",
                counts.lost, counts.changed
            ));
        }
        Err(Errno::ACCESS) => "sudo and its like would not work".to_owned(),
        Err(Errno::INVAL | Errno::NOSYS) => "the kernel can't do it".to_owned(),
        Err(Errno::BUSY) => "another program watches it already".to_owned(),
        Err(errno) => errno.to_string(),
    };
    Some(format!("what the command changes can't be undone: {why}"))
}

/// Returns the strictest of the sandboxes that three sides demand: the settings (or
/// `GEMINI_TOOLS_SANDBOX`, which overrides them), the call's host, and the tool itself (`own`).
/// Returns `None` if none of them demands one.
///
/// # Errors
///
/// Returns `policy_violation` if the demanded sandbox can't be determined or is not supported.
pub fn sandbox(
    tool_env: &ToolEnv,
    cx: &Context,
    own: Option<SandboxMode>,
) -> Result<Option<Sandbox>, ToolError> {
    let ToolEnv {
        workspace,
        settings,
        ..
    } = tool_env;
    let chosen = gemini_tools_environment::variables::values("GEMINI_TOOLS_SANDBOX");
    let is_contained = std::env::var_os("SANDBOX").is_some_and(|v| !v.is_empty());
    // With such faults no call runs, but `get_tools` starts programs that list tools.
    if let [problem, ..] = &*settings.problems {
        return Err(ToolError::denied(format!(
                "Whether programs must be kept in a sandbox can't be known: {}. The program was not run.",
                problem.text()
            ),
        )
        .with_hint(problem.help.clone()));
    }
    let mode = settings.sandbox.mode(&chosen, is_contained)?;
    let mode = mode.max(own.max(cx.view.least_sandbox).unwrap_or_default());
    let allowed = settings.sandbox.allowed_paths.iter();
    let writable = workspace
        .written_roots()
        .map(Path::to_owned)
        .chain([std::env::temp_dir()])
        .chain(allowed.map(|path| workspace.root().join(path)))
        .collect();
    Sandbox::prepare(&SandboxPolicy {
        mode,
        writable,
        network: settings.sandbox.network,
    })
}
