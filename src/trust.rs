//! Whether a project is trusted: only then does what it brings run programs or allow calls.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// Whether what a project brings may run programs or move credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It may.
    Trusted(TrustedBy),
    /// It may not.
    Untrusted(Untrusted),
}

/// Who trusts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedBy {
    /// `GEMINI_CLI_TRUST_WORKSPACE`.
    Environment,
    /// `trustedFolders.json`.
    Folders,
    /// It is the user's home directory.
    Home,
}

/// Why it is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untrusted {
    /// Nobody has said anything.
    Unknown,
    /// `trustedFolders.json` says so.
    Distrusted,
}

impl Trust {
    /// For the project in `root`, the current directory.
    pub fn of(home: Option<&Path>, root: &Path) -> Self {
        let says = |v: String| matches!(v.as_str(), "true" | "1");
        if std::env::var("GEMINI_CLI_TRUST_WORKSPACE").is_ok_and(says) {
            return Self::Trusted(TrustedBy::Environment);
        }
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        if home == Some(&root) {
            return Self::Trusted(TrustedBy::Home);
        }
        let file = std::env::var_os("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
            .map(PathBuf::from)
            .or_else(|| Some(home?.join(".gemini/trustedFolders.json")));
        let folders: Value = file
            .and_then(|file| std::fs::read(file).ok())
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let nearest = folders
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(path, level)| {
                let level = level.as_str()?;
                let path = Path::new(path);
                let base = match level {
                    "TRUST_PARENT" => path.parent()?,
                    _ => path,
                };
                root.starts_with(base)
                    .then(|| (base.components().count(), level == "DO_NOT_TRUST"))
            })
            .max();
        match nearest {
            Some((_, false)) => Self::Trusted(TrustedBy::Folders),
            Some((_, true)) => Self::Untrusted(Untrusted::Distrusted),
            None => Self::Untrusted(Untrusted::Unknown),
        }
    }

    /// Whether it is.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted(_))
    }
}
