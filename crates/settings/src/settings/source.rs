//! The files of the settings, in Gemini CLI's order.

use gemini_tools_workspace::file_owner::FileOwner;
use std::path::{Path, PathBuf};

/// A settings file. The variants are in the order of increasing precedence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// `system-defaults.json`, beside the system's settings.
    SystemDefaults,
    /// `~/.gemini/settings.json`.
    #[default]
    User,
    /// `.gemini/settings.json` in the project.
    Project,
    /// `/etc/gemini-cli/settings.json`, on macOS in [`system_directory`]. It takes precedence over
    /// all others.
    System,
}

impl Scope {
    /// All files, in the order in which they are read.
    pub const ALL: [Self; 4] = [
        Self::SystemDefaults,
        Self::User,
        Self::Project,
        Self::System,
    ];

    /// Returns the name of the file's kind, for messages and for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::SystemDefaults => "system-defaults",
            Self::User => "user",
            Self::Project => "project",
            Self::System => "system",
        }
    }

    /// Returns the path of the file. `None` for the user's file if there is no home directory, and
    /// for a system file if the environment variable that names it holds a relative path, which
    /// could lead to a file of the project.
    pub fn file(self, home: Option<&Path>, root: &Path) -> Option<PathBuf> {
        match self {
            Self::User => Some(home?.join(".gemini/settings.json")),
            Self::Project => Some(root.join(".gemini/settings.json")),
            Self::System => chosen("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
                .or_else(|| Some(system_directory().join("settings.json")))
                .filter(|path| path.is_absolute()),
            Self::SystemDefaults => chosen("GEMINI_CLI_SYSTEM_DEFAULTS_PATH")
                .or_else(|| {
                    let system = Self::System.file(home, root)?;
                    Some(system.parent()?.join("system-defaults.json"))
                })
                .filter(|path| path.is_absolute()),
        }
    }

    /// Returns whether the file is the user's or the project's, which decides whether links are
    /// followed.
    pub fn owner<'a>(self, home: Option<&'a Path>, root: &'a Path) -> FileOwner<'a> {
        match self {
            Self::Project => FileOwner::Projects { root, home },
            Self::SystemDefaults | Self::User | Self::System => FileOwner::Users,
        }
    }
}

/// Returns the directory of the administrator's files, as in Gemini CLI 0.61.
pub fn system_directory() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli"
    } else {
        "/etc/gemini-cli"
    })
}

fn chosen(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty())?;
    Some(PathBuf::from(path))
}
