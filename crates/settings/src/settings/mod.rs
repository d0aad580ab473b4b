//! The part of Gemini CLI's settings that tools use.
//!
//! Four files are read, in Gemini CLI's order: the system's defaults, the user's
//! (`~/.gemini/settings.json`), the project's (`.gemini/settings.json` in its root), and the
//! system's. Comments are allowed, and so are the names that keys had before Gemini CLI 0.3.
//!
//! A project, or a model that edits the project's file, must not be able to give itself more
//! rights. Every key therefore has a rule (`keys`). Keys that would weaken a protection, or give
//! tools access to more paths or hosts, count only in the user's and the system's files; keys that
//! can run programs, send a credential elsewhere or choose the model count only if the project is
//! trusted; most other keys of an untrusted project can only make things stricter.
//! [`Settings::notes`] tells which values are ignored for such a reason. In an untrusted project's
//! file variables are not expanded either, so that a secret can't get into a value that is sent
//! somewhere.

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

pub use file::{expanded, jsonc, reference, strict_jsonc};
pub use in_force::EffectiveValue;
pub use lines::SettingsLines;
pub use mcp::{McpServer, McpSettings};
pub use sandbox::SandboxSettings;
pub use source::Scope;
pub use source::system_directory;
pub use undo::{UndoCommands, UndoSettings};

pub use gemini_tools_environment::variables::home;

use crate::trust::ProjectTrust;
use file::{SettingsFile, expand_all};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_environment::variables::{self, MAY_RESTRICT};
use gemini_tools_workspace::seen::UnseenChanges;
use reader::Reader;
use serde_json::Value;
use std::path::{Path, PathBuf};

const DEFAULT_LIMIT_CHARS: usize = 40_000;

/// The settings of tools.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the settings, which are set one by one"
)]
pub struct Settings {
    /// If given, only these tools exist (`tools.core`, before 0.3 `coreTools`). A trusted project's
    /// list replaces the user's, as in Gemini CLI.
    pub core: Option<Vec<String>>,
    /// These tools do not exist (`tools.exclude`, `excludeTools`). All files' lists are joined.
    pub exclude: Vec<String>,
    /// `tools.truncateToolOutputThreshold`: the limit of an answer in characters. An untrusted
    /// project can only lower it.
    pub truncate_threshold: Option<i64>,
    /// `context.includeDirectories` (`includeDirectories`) of all files but the project's.
    pub include_directories: Vec<PathBuf>,
    /// The number of seconds without output after which a command is killed
    /// (`tools.shell.inactivityTimeout`); zero for never. An untrusted project can only lower it.
    pub shell_idle_secs: Option<u64>,
    /// The names in `context.fileName` (`contextFileName`), which are the files that memories are
    /// read from; they are written to the first. A project's names replace the user's, as in Gemini
    /// CLI, but only those of Markdown files without a directory count. With another name, such as
    /// `settings.json`, a project could have memories written into other files of the user. Empty if
    /// no file sets them.
    pub context_file_names: Vec<String>,
    /// The settings of the sandbox in which commands run.
    pub sandbox: SandboxSettings,
    /// The limits of the undo journal (`tools.undo`), from all files except the project's.
    pub undo: UndoSettings,
    /// `tools.unseenChanges`, from all files except the project's: what happens to a write that
    /// would overwrite changes that its caller has not seen.
    pub unseen_changes: UnseenChanges,
    /// `tools.webFetch.allowedHosts` of the user's and the system's files: hosts that `web_fetch`
    /// may reach although they are not public.
    pub fetch_hosts: Vec<String>,
    /// `tools.disableLLMCorrection`: whether any file switches off corrections by a model.
    pub disable_llm_correction: bool,
    /// `tools.disableSyntax`: whether any file switches off the checks of syntax in source files.
    pub disable_syntax: bool,
    /// `tools.discoveryCommand` and `tools.callCommand` (before 0.3 `toolDiscoveryCommand` and
    /// `toolCallCommand`). The project's count only if it is trusted.
    pub commands: PerFile<Option<(String, Option<String>)>>,
    /// `tools.allowed` (`allowedTools`): calls that need no approval. The project's count only if
    /// it is trusted.
    pub allowed: PerFile<Vec<String>>,
    /// `model.name`, before 0.3 `model`. The project's counts only if it is trusted.
    pub model: Option<String>,
    /// `model.maxSessionTurns` (`maxSessionTurns`), if there is a limit. An untrusted project can
    /// only lower it.
    pub max_turns: Option<u32>,
    /// `tools.confirmationRequired`: calls that always need approval. All files' lists are joined.
    pub confirmation_required: Vec<String>,
    /// `policyPaths`: further files or directories of rules. The project's count only if it is
    /// trusted.
    pub policy_paths: Vec<PathBuf>,
    /// `adminPolicyPaths`, from all files except the project's.
    pub admin_policy_paths: Vec<PathBuf>,
    /// `security.disableYoloMode`: true if any file sets it.
    pub disable_yolo: bool,
    /// `security.disableAlwaysAllow`: true if any file sets it.
    pub disable_always_allow: bool,
    /// The settings of MCP servers. The project's servers count only if it is trusted.
    pub mcp: McpSettings,
    /// Whether the project is trusted. Determined when first needed.
    pub trust: ProjectTrust,
    /// Faults of what restricts: files that can't be read, restrictions of a wrong type, and faults
    /// of variables ([`variables::faults`]). What the user has forbidden is not known then, so no
    /// call may run.
    pub problems: Vec<Diagnostic>,
    /// Warnings: values that are ignored, or have the wrong type. The code [`UNTRUSTED`] marks
    /// values that would count if the project were trusted.
    pub notes: Vec<Diagnostic>,
    /// The files that were read, in order of increasing precedence.
    pub files: Vec<(Scope, PathBuf)>,
    origins: Vec<Origin>,
}

#[derive(Debug, Clone)]
struct Origin {
    key: &'static str,
    scope: Scope,
    value: Value,
}

const CORRECT: &str = "Correct it; get_tools config shows what is in effect.";

/// The code of a warning about a value that would count if the project were trusted.
pub const UNTRUSTED: &str = "untrusted";

/// The values of a setting in the user's and the system's files and in the project's file. They are
/// kept apart where it matters which of these files has set the value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerFile<T> {
    /// The value of the user's and the system's files. The one of the highest precedence counts.
    pub users: T,
    /// The project's value.
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
    /// Returns true if a file of this kind has set the key's value in force, or a part of it.
    pub fn is_set_by(&self, key: &str, scope: Scope) -> bool {
        self.origins
            .iter()
            .any(|origin| origin.key == key && origin.scope == scope)
    }

    /// Reads all files; `home` is the user's home directory, `root` the project's.
    pub fn load(home: Option<&Path>, root: &Path) -> Self {
        Self::load_trusting(home, root, ProjectTrust::new(home, root))
    }

    /// Reads all files. The caller decides whether the project is trusted.
    pub fn load_trusting(home: Option<&Path>, root: &Path, trust: ProjectTrust) -> Self {
        Self::read(home, root, trust, true)
    }

    /// Reads all files without expanding variables, for display: the variables' values may be
    /// secrets.
    pub fn load_unexpanded(home: Option<&Path>, root: &Path, trust: ProjectTrust) -> Self {
        Self::read(home, root, trust, false)
    }

    fn read(home: Option<&Path>, root: &Path, trust: ProjectTrust, expands: bool) -> Self {
        let mut settings = Self {
            trust,
            problems: variables::faults(),
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
                    let problem = problem.in_file(&path).advise(MAY_RESTRICT, CORRECT);
                    settings.problems.push(problem);
                }
                Ok(None) => {}
                // In the home directory the project's file is the user's, which was read already.
                Ok(Some(parsed)) if scope == Scope::Project && users == Some(parsed.id) => {}
                Ok(Some(parsed)) => {
                    if scope == Scope::User {
                        users = Some(parsed.id);
                    }
                    settings.add(scope, path, parsed, home, expands);
                }
            }
        }
        let mut lines = SettingsLines::new(home, root);
        for problem in &mut settings.problems {
            lines.place(problem);
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
        self.files.push((scope, path));
    }

    /// Returns true if the project's file sets the dotted key `key`, but the value is ignored
    /// because the project is not trusted.
    pub fn needs_trust(&self, key: &str) -> bool {
        self.notes
            .iter()
            .any(|note| note.code == UNTRUSTED && note.place.key == key)
    }

    /// Returns the limit of an answer in characters; `None` if the settings switch it off.
    pub fn limit_chars(&self) -> Option<usize> {
        match self.truncate_threshold {
            None => Some(DEFAULT_LIMIT_CHARS),
            Some(n) if n <= 0 => None,
            Some(n) => usize::try_from(n).ok(),
        }
    }
}
