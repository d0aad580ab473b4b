//! The setting `tools.commandSandbox`: what commands may do.

use super::PerFile;
use gemini_tools_core::tool::{SandboxMode, ToolError};
use gemini_tools_environment::variables::Variable;
use serde_json::Value;
use std::path::PathBuf;

/// The settings of the sandbox in which commands run.
///
/// `tools.commandSandbox` may be set by the user and the project. The stricter mode counts, so that
/// a project, or a model that edits its file, can't give itself more rights. The other keys, which
/// widen the sandbox, count in the user's and the system's files only.
///
/// `tools.sandbox` is Gemini CLI's own setting: the container in which Gemini CLI runs. If it asks
/// for a container and this process is not in one, commands run in [`SandboxMode::WorkspaceWrite`]
/// or are refused. The modes of `tools.commandSandbox` can't be values of `tools.sandbox`, because
/// Gemini CLI 0.61 would end with status 44.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    pub(super) modes: PerFile<Option<SandboxMode>>,
    pub(super) containers: PerFile<Option<Value>>,
    /// `tools.sandboxAllowedPaths`: what may be written in addition to the roots and the temporary
    /// directory. Relative paths are resolved against the first root.
    pub allowed_paths: Vec<PathBuf>,
    /// `tools.sandboxNetworkAccess`: whether commands may use the network.
    pub network: bool,
}

impl SandboxSettings {
    /// Returns the sandbox mode that an agent should set for commands: `otherwise`, the agent's
    /// default, or `None` if it should set no mode, so that the settings decide. They decide if the
    /// user has chosen a mode, if the project has and is trusted (`trusts_project`), or if the
    /// project's mode is stricter than the default.
    pub fn default_for_agents(&self, otherwise: &str, trusts_project: bool) -> Option<String> {
        let (modes, containers) = (&self.modes, &self.containers);
        let is_users = modes.users.is_some() || containers.users.is_some();
        let is_projects = modes.projects.is_some() || containers.projects.is_some();
        if is_users || trusts_project && is_projects {
            return None;
        }
        let own = SandboxMode::from_name(otherwise);
        match modes.projects {
            // The project's mode is stricter than the default, and applies if the agent sets no
            // mode.
            Some(mode) if Some(mode) > own => None,
            _ => Some(otherwise.to_owned()),
        }
    }

    /// Returns the mode in force. `chosen` are the values of `GEMINI_TOOLS_SANDBOX`, by which a
    /// caller overrides the settings; if this variable and `GEMINI_CLI_TOOLS_SANDBOX`, its second
    /// name, are both set, the stricter value counts. `is_contained` is true if Gemini CLI runs in
    /// a container of its own (it sets `SANDBOX` there).
    ///
    /// # Errors
    ///
    /// Returns `policy_violation` if a value is not understood. The command must not run then.
    pub fn mode(&self, chosen: &[Variable], is_contained: bool) -> Result<SandboxMode, ToolError> {
        let mut strictest = SandboxMode::Off;
        for Variable { name, value, .. } in chosen {
            let mode = value
                .to_str()
                .and_then(|mode| SandboxMode::from_name(mode.trim()));
            let mode =
                mode.ok_or_else(|| not_understood(&format!("{name} is \"{}\"", value.display())))?;
            strictest = strictest.max(mode);
        }
        if !chosen.is_empty() {
            return Ok(strictest);
        }
        for mode in self.modes.values() {
            strictest = strictest.max(*mode);
        }
        for value in self.containers.values() {
            strictest = strictest.max(mode_of_host(value, is_contained)?);
        }
        Ok(strictest)
    }
}

fn not_understood(what: &str) -> ToolError {
    let hint = format!(
        "Set {} to one of {}.",
        super::keys::SANDBOX.name,
        SandboxMode::NAMES.join(", ")
    );
    ToolError::denied(format!("{what}. The command was not run.")).with_hint(hint)
}

fn mode_of_host(value: &Value, is_contained: bool) -> Result<SandboxMode, ToolError> {
    match value {
        Value::Bool(false) | Value::Null => Ok(SandboxMode::Off),
        // This process runs in Gemini CLI's container already.
        Value::Bool(true) | Value::String(_) if is_contained => Ok(SandboxMode::Off),
        Value::Bool(true) => Ok(SandboxMode::WorkspaceWrite),
        Value::String(name) => Err(not_understood(&format!(
            "tools.sandbox is {name:?}, a sandbox of Gemini CLI's own that this process does not \
             run in"
        ))),
        Value::Object(map) => {
            if map.get("enabled") == Some(&Value::Bool(false)) {
                return Ok(SandboxMode::Off);
            }
            mode_of_host(
                map.get("command").unwrap_or(&Value::Bool(true)),
                is_contained,
            )
        }
        other => Err(not_understood(&format!("tools.sandbox is {other}"))),
    }
}
