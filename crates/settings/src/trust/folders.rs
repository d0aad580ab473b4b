//! Gemini CLI's `trustedFolders.json`: read here; `get_tools init` adds to it.

use super::{Distrust, Trust, TrustedBy};
use crate::settings::jsonc;
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The rules of the file, in its order.
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
/// Returns a message about a path in `GEMINI_CLI_TRUSTED_FOLDERS_PATH` that is not absolute.
pub fn path(home: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let chosen = std::env::var_os("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    if let Some(path) = chosen.as_ref().filter(|path| !path.is_absolute()) {
        // It would lie somewhere in the project.
        return Err(format!(
            "GEMINI_CLI_TRUSTED_FOLDERS_PATH is {}, which is not absolute",
            path.display()
        ));
    }
    Ok(chosen.or_else(|| Some(home?.join(".gemini/trustedFolders.json"))))
}

impl Folders {
    /// Reads the file. As in Gemini CLI a file with anything wrong in it says nothing at all:
    /// what can't be understood may have been a refusal.
    pub(super) fn load(home: Option<&Path>) -> Result<Self, String> {
        path(home)?.map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    /// Reads a list of folders; an empty one where there is no such file.
    ///
    /// # Errors
    ///
    /// Returns why it can't be read.
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

    /// Returns true if the list trusts a directory.
    pub(super) fn trust(&self, root: &Path) -> bool {
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        self.trust_of(&root).is_some_and(|trust| trust.is_trusted())
    }

    /// Returns the rule for `root`, which is without links. Of several the one with the longest path
    /// counts, as it is written, and with it for `TRUST_PARENT`: so does Gemini CLI 0.61.
    pub(super) fn trust_of(&self, root: &Path) -> Option<Trust> {
        let covers = |(rule, level): &&(PathBuf, Level)| {
            let top = match level {
                Level::Parent => rule.parent().unwrap_or(rule),
                Level::Folder | Level::Not => rule,
            };
            // A relative rule would mean another directory in each one.
            rule.is_absolute()
                && (root.starts_with(top)
                    || std::fs::canonicalize(top).is_ok_and(|real| root.starts_with(real)))
        };
        // Components, because a slash at the end is none of a path's length there.
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
