//! The part of Gemini CLI's settings that tools obey.
//!
//! Four files in Gemini CLI's order: the system's defaults, the user's
//! (`~/.gemini/settings.json`), the project's (`.gemini/settings.json` in the current
//! directory), and the system's. Comments are allowed, and so are the keys of both generations.
//!
//! A project, or a model that edits the project's file, must not give itself more. Every key has a
//! rule (`keys`): what would widen the reach of tools counts in the user's and the system's files
//! only, what can run programs, move a credential or choose the model only where the project is
//! trusted, and of all else what is stricter. What is left out for that is noted. In the file of a project that is not trusted no variable is put in either, so that
//! a secret can't get into a value that goes somewhere.

mod file;
mod in_force;
mod keys;
mod lines;
mod mcp;
mod reader;
mod sandbox;
mod source;
#[cfg(test)]
mod tests;
mod undo;

pub use file::{expanded, jsonc, reference, strict_jsonc, variables_in};
pub use in_force::EffectiveValue;
pub use lines::SettingsLines;
pub use mcp::{McpServer, McpSettings};
pub use sandbox::SandboxSettings;
pub use source::Scope;
pub use source::system_directory;
pub use undo::{UndoCommands, UndoSettings};

pub use gemini_tools_core::variables::home;

use crate::trust::ProjectTrust;
use file::{SettingsFile, expand_all};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_workspace::seen::UnseenChanges;
use reader::Reader;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The answer's limit where the settings say nothing, in characters.
const DEFAULT_LIMIT_CHARS: usize = 40_000;

/// The settings of tools.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Only these tools, where given (`tools.core`, before 0.3 `coreTools`). The list of a project
    /// that is trusted takes the place of the user's, as in Gemini CLI.
    pub core: Option<Vec<String>>,
    /// Not these (`tools.exclude`, `excludeTools`); both files' lists count.
    pub exclude: Vec<String>,
    /// `tools.truncateToolOutputThreshold`; in a project that is not trusted the stricter one.
    pub truncate_threshold: Option<i64>,
    /// `context.includeDirectories` (`includeDirectories`) of all files but the project's.
    pub include_directories: Vec<PathBuf>,
    /// After how many seconds without output a command is ended
    /// (`tools.shell.inactivityTimeout`); zero is never. In a project that is not trusted the
    /// stricter one.
    pub shell_idle_secs: Option<u64>,
    /// The first name in `context.fileName` (`contextFileName`), as it is in the user's
    /// file. A project's takes its place, as in Gemini CLI, where it names a markdown file of
    /// no directory; by any other name, `settings.json` for example, a project would have
    /// memories written over the user's files.
    pub context_file_name: Option<String>,
    /// Names of memory files, for reading; of a project's those only that the same rule lets it
    /// name. Empty where neither file says anything.
    pub context_file_names: Vec<String>,
    /// Sandbox of commands.
    pub sandbox: SandboxSettings,
    /// Limits of the journal (`tools.undo`), from all files but the project's.
    pub undo: UndoSettings,
    /// `tools.unseenChanges`: what happens to a write that would lose what its caller has not seen; from all files but
    /// the project's.
    pub unseen_changes: UnseenChanges,
    /// `tools.webFetch.allowedHosts` of the user's file: hosts that `web_fetch` may reach although
    /// they are not public.
    pub fetch_hosts: Vec<String>,
    /// `tools.disableLLMCorrection`, where either file switches corrections by a model off.
    pub disable_llm_correction: bool,
    /// `tools.discoveryCommand` and `tools.callCommand` (before 0.3 `toolDiscoveryCommand` and
    /// `toolCallCommand`); the project's where it is trusted.
    pub commands: PerFile<Option<(String, Option<String>)>>,
    /// `tools.allowed` (`allowedTools`): calls that need no approval; the project's where it
    /// is trusted.
    pub allowed: PerFile<Vec<String>>,
    /// `model.name`, before 0.3 `model`; the project's where it is trusted.
    pub model: Option<String>,
    /// `model.maxSessionTurns` (`maxSessionTurns`), where it is a limit; in a project that is not
    /// trusted the stricter one.
    pub max_turns: Option<u32>,
    /// `tools.confirmationRequired`: calls that always need approval; all lists count.
    pub confirmation_required: Vec<String>,
    /// `policyPaths`: more files or directories of rules; the project's where it is trusted.
    pub policy_paths: Vec<PathBuf>,
    /// `adminPolicyPaths` of all files but the project's.
    pub admin_policy_paths: Vec<PathBuf>,
    /// `security.disableYoloMode`, where any file says so.
    pub disable_yolo: bool,
    /// `security.disableAlwaysAllow`, where any file says so.
    pub disable_always_allow: bool,
    /// MCP servers: the project's where it is trusted.
    pub mcp: McpSettings,
    /// Trust in the project's files. Found out at the first look.
    pub trust: ProjectTrust,
    /// Files, and restrictions in them, that could not be understood, with the reason.
    pub problems: Vec<Diagnostic>,
    /// Values that are left out, or are of the wrong type; [`UNTRUSTED`] is the code of those that
    /// count once the project is trusted.
    pub notes: Vec<Diagnostic>,
    /// The files that were read, in the order in which they count.
    pub files: Vec<(Scope, PathBuf)>,
    /// The keys in force, each with its file and the value there.
    origins: Vec<Origin>,
}

/// A value of a file that is in force.
#[derive(Debug, Clone)]
struct Origin {
    /// The key's name, with dots.
    key: &'static str,
    scope: Scope,
    value: Value,
}

/// The code of a note on what counts once the project is trusted.
pub const UNTRUSTED: &str = "untrusted";

/// The content of each file, for cases in which a project's word must not be taken for the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerFile<T> {
    /// The user's, or the system's where that says something.
    pub users: T,
    /// The project's.
    pub projects: T,
}

impl<T> PerFile<Option<T>> {
    fn values(&self) -> impl Iterator<Item = &T> {
        self.users.iter().chain(&self.projects)
    }
}

impl<T> PerFile<T> {
    fn of_scope(&mut self, scope: Scope) -> &mut T {
        match scope {
            Scope::Project => &mut self.projects,
            _ => &mut self.users,
        }
    }
}

impl Settings {
    /// Returns true if a file of this kind sets this key, and its value is in force.
    pub fn is_set_by(&self, key: &str, scope: Scope) -> bool {
        self.origins
            .iter()
            .any(|origin| origin.key == key && origin.scope == scope)
    }

    /// Reads all files; `home` is the user's home directory, `root` the project's.
    pub fn load(home: Option<&Path>, root: &Path) -> Self {
        Self::load_trusting(home, root, ProjectTrust::new(home, root))
    }

    /// Loads all files, where a caller knows whether the project is trusted.
    pub fn load_trusting(home: Option<&Path>, root: &Path, trust: ProjectTrust) -> Self {
        Self::read(home, root, trust, true)
    }

    /// Loads all files, with variables as they are written, for showing: their
    /// values may be secret.
    pub fn load_unexpanded(home: Option<&Path>, root: &Path, trust: ProjectTrust) -> Self {
        Self::read(home, root, trust, false)
    }

    fn read(home: Option<&Path>, root: &Path, trust: ProjectTrust, expands: bool) -> Self {
        let mut settings = Self {
            trust,
            ..Self::default()
        };
        let mut users = None;
        for scope in Scope::ALL {
            let Some(path) = scope.file(home, root) else {
                continue;
            };
            match file::parse(&path, scope, scope.owner(home, root)) {
                Err(reason) => {
                    let problem = Diagnostic::error("settings-unreadable", "", "", reason);
                    settings.problems.push(problem.in_file(&path));
                }
                Ok(None) => {}
                // In the home directory both are one.
                Ok(Some(parsed)) if scope == Scope::Project && users == Some(parsed.id) => {}
                Ok(Some(parsed)) => {
                    if scope == Scope::User {
                        users = Some(parsed.id);
                    }
                    settings.add(scope, path, parsed, home, expands);
                }
            }
        }
        settings
    }

    fn add(
        &mut self,
        scope: Scope,
        path: PathBuf,
        mut parsed: SettingsFile,
        home: Option<&Path>,
        expands: bool,
    ) {
        let has_variables = parsed.has_variables && expands;
        if has_variables && (scope != Scope::Project || self.trust.is_trusted()) {
            expand_all(&mut parsed.value, &|name| std::env::var(name).ok());
        }
        let mut reader = Reader {
            scope,
            path: &path,
            file: &parsed.value,
            into: self,
        };
        reader.read_all(home);
        if !expands {
            reader.note_what_never_counts();
        }
        self.files.push((scope, path));
    }

    /// Returns true if a value of the project's file with this key, with dots, does not count
    /// because the project is not trusted.
    pub fn needs_trust(&self, key: &str) -> bool {
        self.notes
            .iter()
            .any(|note| note.code == UNTRUSTED && note.place.key == key)
    }

    /// Returns the most characters of an answer; `None` where the settings switch the limit off.
    pub fn limit_chars(&self) -> Option<usize> {
        match self.truncate_threshold {
            None => Some(DEFAULT_LIMIT_CHARS),
            Some(n) if n <= 0 => None,
            Some(n) => usize::try_from(n).ok(),
        }
    }
}
