//! A project's settings, and the rules and the workspace that follow from them.
//!
//! Every program opens a project here. Which settings count, whether the project is trusted and
//! which rules apply is decided once, so that no two programs can decide it differently.

use gemini_tools_core::tool::ToolError;
use gemini_tools_policy::approval::Gate;
use gemini_tools_policy::{Policy, PolicyOptions};
use gemini_tools_settings::settings::{Settings, home};
use gemini_tools_settings::trust::ProjectTrust;
use gemini_tools_workspace::seen::SeenFiles;
use gemini_tools_workspace::{Workspace, real_root};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A project whose settings have been read. Rules and files are opened from it where a program
/// needs them: `get_tools` is started for every session of a host, and does not open the files.
#[derive(Debug, Clone)]
pub struct Project {
    /// The user's home directory. A session is only opened with that of the process.
    pub home: Option<PathBuf>,
    /// The project's directory.
    pub root: PathBuf,
    /// The settings in force.
    pub settings: Arc<Settings>,
    /// What the conversation has seen of files. A clone of it joins another project's sessions to
    /// the same conversation.
    pub seen: Arc<SeenFiles>,
}

impl Project {
    /// Reads the settings of the project in `root`, an absolute path without links.
    pub fn open(root: &Path) -> Self {
        Self::open_trusting(root, ProjectTrust::new)
    }

    /// Reads the settings of a project. `trust` decides, from the home directory and the root,
    /// whether the project is trusted.
    pub fn open_trusting(root: &Path, trust: fn(Option<&Path>, &Path) -> ProjectTrust) -> Self {
        let home = home();
        let trust = trust(home.as_deref(), root);
        let settings = Settings::load_trusting(home.as_deref(), root, trust);
        Self {
            home,
            root: root.to_owned(),
            settings: Arc::new(settings),
            seen: Arc::default(),
        }
    }

    /// Reads the settings of the project at `written`, an absolute path with links or without.
    /// `more` are the other roots.
    ///
    /// # Errors
    ///
    /// Returns `policy_violation` if sandboxed commands could have pointed a link of the path
    /// elsewhere, or the operating system's error.
    pub fn open_at(written: &Path, more: &[PathBuf]) -> Result<Self, ToolError> {
        let project = Self::open(&real_root(written, more)?);
        real_root(written, &project.settings.sandbox.allowed_paths)?;
        Ok(project)
    }

    /// Reads the rules that decide which calls may run.
    pub fn policy(&self, rules: &PolicyOptions) -> Policy {
        Policy::load(&self.settings, self.home.as_deref(), &self.root, rules)
    }

    /// Opens the project's directory, and the further directories `roots`.
    ///
    /// # Errors
    ///
    /// Returns `execution_failed` if the project's directory can't be opened.
    pub fn workspace(&self, roots: &[PathBuf]) -> Result<Workspace, ToolError> {
        let writable = &self.settings.sandbox.allowed_paths;
        let workspace = Workspace::open_among(&self.root, roots, writable, self.home.as_deref())?;
        Ok(workspace.with_seen(Arc::clone(&self.seen)))
    }

    /// Makes the gate that decides about calls which work in `workspace`.
    pub fn gate(&self, workspace: &Workspace, rules: &PolicyOptions) -> Gate {
        let mut policy = self.policy(rules);
        policy.add_roots(workspace.written_roots());
        Gate::new(policy, rules.approval)
    }
}
