//! The sandbox of the programs that a tool starts.

use super::ToolEnv;
use gemini_tools_core::tool::{Context, ErrorKind, SandboxMode, ToolError};
use gemini_tools_process::sandbox::{Sandbox, SandboxPolicy};
use std::path::Path;

/// Returns the strictest of the sandboxes that the settings or the environment, the call's host, and the tool itself
/// (`own`) want; `None` if none wants one.
///
/// # Errors
///
/// Returns `policy_violation` if it can't be known which sandbox is wanted, and the error of a sandbox that the system
/// does not support.
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
    let chosen = gemini_tools_core::variables::values("GEMINI_TOOLS_SANDBOX");
    let is_contained = std::env::var_os("SANDBOX").is_some_and(|v| !v.is_empty());
    if let ([], [problem, ..]) = (&*chosen, &*settings.problems) {
        return Err(ToolError::new(
            ErrorKind::PolicyViolation,
            format!(
                "Whether commands must be kept in a sandbox can't be known: {}. The command was not run.",
                problem.text()
            ),
        )
        .with_hint("Fix that file, or set GEMINI_TOOLS_SANDBOX."));
    }
    let mode = settings.sandbox.mode(&chosen, is_contained)?;
    let mode = mode.max(own.max(cx.least_sandbox).unwrap_or_default());
    if mode == SandboxMode::Off {
        return Ok(None);
    }
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
