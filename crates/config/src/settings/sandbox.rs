//! `tools.sandbox`: what commands may do.

use gemini_tools_core::tool::{ErrorKind, ToolError};
use gemini_tools_sandbox::Mode;
use serde_json::Value;
use std::path::PathBuf;

/// What commands may do, as the settings have it.
///
/// `tools.sandbox` may be in both files; of two modes the stricter one counts, so that a
/// project, or a model that edits its file, can't give itself more. What else widens the
/// sandbox counts in the user's file only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    pub(super) users: Option<Value>,
    pub(super) projects: Option<Value>,
    /// `tools.sandboxAllowedPaths`: what may be written besides the roots and the temporary
    /// directory; relative paths count from the first root.
    pub allowed_paths: Vec<PathBuf>,
    /// `tools.sandboxNetworkAccess`.
    pub network: bool,
}

impl SandboxSettings {
    /// The mode that an agent sets which `otherwise` would take another than the files' own:
    /// `None` where the user's file has one, or, with `trusts_project`, the project's. Else a
    /// project's can only make it stricter.
    pub fn default_for_agents(&self, otherwise: &str, trusts_project: bool) -> Option<String> {
        if self.users.is_some() || trusts_project && self.projects.is_some() {
            return None;
        }
        let projects = self
            .projects
            .as_ref()
            .and_then(|value| mode_of(value, false).ok());
        let own = Mode::from_name(otherwise);
        match projects {
            // The files are left to say it.
            Some(mode) if Some(mode) > own => None,
            _ => Some(otherwise.to_owned()),
        }
    }

    /// The mode that counts. `chosen` is the value of `GEMINI_TOOLS_SANDBOX`, by which a
    /// caller overrides the files; `is_contained` is whether Gemini CLI already runs in a
    /// container of its own (it sets `SANDBOX` there).
    ///
    /// # Errors
    ///
    /// `policy_violation` for a value that is not understood: the command must not run then.
    pub fn mode(&self, chosen: Option<&str>, is_contained: bool) -> Result<Mode, ToolError> {
        if let Some(name) = chosen.filter(|name| !name.is_empty()) {
            return Mode::from_name(name)
                .ok_or_else(|| not_understood(&format!("GEMINI_TOOLS_SANDBOX is {name:?}"), ""));
        }
        let mode = |value: &Option<Value>| match value {
            None => Ok(Mode::Off),
            Some(value) => mode_of(value, is_contained),
        };
        Ok(mode(&self.users)?.max(mode(&self.projects)?))
    }
}

fn not_understood(what: &str, why: &str) -> ToolError {
    ToolError::new(
        ErrorKind::PolicyViolation,
        format!("{what}{why}. The command was not run."),
    )
    .with_hint(format!("Use one of {}.", Mode::NAMES.join(", ")))
}

/// `tools.sandbox` is ours by its names, and Gemini CLI's own by all others.
fn mode_of(value: &Value, is_contained: bool) -> Result<Mode, ToolError> {
    match value {
        Value::Bool(false) | Value::Null => Ok(Mode::Off),
        // Gemini CLI's own container is around us already.
        Value::Bool(true) if is_contained => Ok(Mode::Off),
        Value::Bool(true) => Ok(Mode::WorkspaceWrite),
        Value::String(name) => match Mode::from_name(name) {
            Some(mode) => Ok(mode),
            None if is_contained => Ok(Mode::Off),
            None => Err(not_understood(
                &format!("tools.sandbox is {name:?}"),
                ", a sandbox of Gemini CLI's own that this process does not run in",
            )),
        },
        Value::Object(map) => {
            if map.get("enabled") == Some(&Value::Bool(false)) {
                return Ok(Mode::Off);
            }
            mode_of(
                map.get("command").unwrap_or(&Value::Bool(true)),
                is_contained,
            )
        }
        other => Err(not_understood(&format!("tools.sandbox is {other}"), "")),
    }
}

impl SandboxSettings {
    /// What the files say, the stricter one first where both say something.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.users.iter().chain(&self.projects)
    }
}
