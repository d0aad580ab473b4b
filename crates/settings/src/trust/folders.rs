//! Gemini CLI's `trustedFolders.json`, which `get_tools init` adds to.

use super::{Distrust, Trust, TrustedBy};
use crate::settings::jsonc;
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct Folders(Vec<(PathBuf, Level)>);

#[derive(Debug, Clone, Copy)]
enum Level {
    Folder,
    Parent,
    Not,
}

/// Returns the path of the file; `None` if there is no home directory.
///
/// # Errors
///
/// Returns a message if `GEMINI_CLI_TRUSTED_FOLDERS_PATH` holds a relative path.
pub fn path(home: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let chosen = std::env::var_os("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    if let Some(path) = chosen.as_ref().filter(|path| !path.is_absolute()) {
        // A relative path would name a file in the project.
        return Err(format!(
            "GEMINI_CLI_TRUSTED_FOLDERS_PATH is {}, which is not absolute",
            path.display()
        ));
    }
    Ok(chosen.or_else(|| Some(home?.join(".gemini/trustedFolders.json"))))
}

impl Folders {
    /// Reads the file of trusted folders. As in Gemini CLI, any error in it invalidates the whole
    /// file, because the malformed part may have been a refusal.
    pub(super) fn load(home: Option<&Path>) -> Result<Self, String> {
        path(home)?.map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let wrong = |what: &str| format!("{}: {what}", path.display());
        let text = match FileOwner::Users.read(path) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::default()),
            Err(e) => return Err(wrong(&e.to_string())),
        };
        let value = jsonc(&text).map_err(|e| wrong(&e))?;
        let Value::Object(map) = value else {
            return Err(wrong("an object is expected"));
        };
        let mut rules = Vec::new();
        for (rule, level) in map {
            let level = match level.as_str() {
                Some("TRUST_FOLDER") => Level::Folder,
                Some("TRUST_PARENT") => Level::Parent,
                Some("DO_NOT_TRUST") => Level::Not,
                _ => {
                    return Err(wrong(&format!(
                        "{level} of {rule:?} is not one of TRUST_FOLDER, TRUST_PARENT, DO_NOT_TRUST"
                    )));
                }
            };
            rules.push((PathBuf::from(rule), level));
        }
        Ok(Self(rules))
    }

    pub(super) fn trust(&self, root: &Path) -> bool {
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        self.trust_of(&root).is_some_and(|trust| trust.is_trusted())
    }

    /// Returns what the rules say about `root`, which must be canonical. The rule with the longest
    /// path wins. As in Gemini CLI 0.61, the length of the path as written counts, even for
    /// `TRUST_PARENT`, which is about the parent of that path.
    pub(super) fn trust_of(&self, root: &Path) -> Option<Trust> {
        let covers = |(rule, level): &&(PathBuf, Level)| {
            let top = match level {
                Level::Parent => rule.parent().unwrap_or(rule),
                Level::Folder | Level::Not => rule,
            };
            // What a relative rule means would depend on the current directory.
            rule.is_absolute()
                && (root.starts_with(top)
                    || std::fs::canonicalize(top).is_ok_and(|real| root.starts_with(real)))
        };
        // Compare components, since Gemini CLI ignores a trailing slash.
        let length = |rule: &Path| rule.components().as_path().as_os_str().len();
        let (rule, level) = self
            .0
            .iter()
            .filter(covers)
            .max_by_key(|(rule, level)| (length(rule), matches!(level, Level::Not)))?;
        Some(match level {
            Level::Not => Trust::Untrusted(Distrust::Folder(rule.clone())),
            Level::Folder | Level::Parent => Trust::Trusted(TrustedBy::Folder(rule.clone())),
        })
    }
}
