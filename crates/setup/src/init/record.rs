//! What was there before, so that it can be put back.

use super::change::{Change, InitError, read, real, write};
use super::json::{self, Set};
use gemini_tools_core::text::hex;
use gemini_tools_platform::ffi::OsStrExt;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const VERSION: u32 = 2;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub(super) files: Vec<ChangedFile>,
    /// Directories that were made, the highest first.
    pub(super) made: Vec<PathBuf>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            version: VERSION,
            files: Vec::new(),
            made: Vec::new(),
        }
    }
}

/// One file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ChangedFile {
    pub(super) path: PathBuf,
    /// `None` where there was none.
    pub(super) before: Option<String>,
    /// The hash of what was written last.
    after: String,
    /// What was put into a file of JSON, and what was there.
    #[serde(with = "old_values")]
    pub(super) keys: Vec<(Set, Option<Value>)>,
    /// What was put behind a text that is not kept; `before` is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) appended: Option<String>,
}

/// A value that was there is in a list, because null may have been one.
mod old_values {
    use super::Set;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(
        keys: &[(Set, Option<Value>)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pair = |(set, old): &(Set, Option<Value>)| (set.clone(), Vec::from_iter(old.clone()));
        keys.iter()
            .map(pair)
            .collect::<Vec<_>>()
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Set, Option<Value>)>, D::Error> {
        let keys = Vec::<(Set, Vec<Value>)>::deserialize(deserializer)?;
        Ok(keys
            .into_iter()
            .map(|(set, mut old)| (set, old.pop()))
            .collect())
    }
}

impl ChangedFile {
    /// Whether a text is what was written last.
    pub(super) fn is_as_written(&self, text: &str) -> bool {
        self.after == hash(text.as_bytes())
    }
}

/// Where the record of a project is, or, for `None`, that of the user's own settings.
pub(super) fn path(home: &Path, root: Option<&Path>) -> PathBuf {
    let name = root.map_or_else(|| "user".to_owned(), name);
    home.join(".gemini/tools_init").join(format!("{name}.json"))
}

/// A name for a directory: its own, and what tells it from others that are called so.
pub(super) fn name(root: &Path) -> String {
    let own = root.file_name().unwrap_or_default().to_string_lossy();
    let own: String = own
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    let hash = hash(root.as_os_str().as_bytes());
    format!("{own}-{}", &hash[..8])
}

fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Record {
    pub(super) fn load(path: &Path) -> Result<Self, InitError> {
        let Some(text) = read(path, FileOwner::Users)? else {
            return Ok(Self::default());
        };
        let record: Self = gemini_tools_core::json::read_unlimited(text.as_bytes())
            .map_err(|e| InitError::new(path, e))?;
        if record.version != VERSION {
            return Err(InitError::new(
                path,
                "it is of another version of get_tools",
            ));
        }
        Ok(record)
    }

    pub(super) fn save(&self, path: &Path) -> Result<(), InitError> {
        let text = serde_json::to_string_pretty(self).map_err(|e| InitError::new(path, e))?;
        write(&real(path)?, &(text + "\n"), 0o644).map_err(|e| InitError::new(path, e))
    }

    /// What is known of a file.
    pub(super) fn of(&self, path: &Path) -> Option<&ChangedFile> {
        self.files.iter().find(|kept| kept.path == path)
    }

    /// Whether a text is what an earlier run has written there.
    pub(super) fn wrote(&self, path: &Path, text: &str) -> bool {
        self.of(path).is_some_and(|kept| kept.is_as_written(text))
    }

    /// Whether a text is what an earlier run has written where there was no file.
    pub(super) fn made(&self, path: &Path, text: &str) -> bool {
        self.wrote(path, text) && self.of(path).is_some_and(|kept| kept.before.is_none())
    }

    /// The text that an earlier run has put at a key.
    pub(super) fn put(&self, path: &Path, at: &[&str]) -> Option<&str> {
        let keys = &self.of(path)?.keys;
        let (set, _) = keys.iter().find(|(set, _)| set.at == at)?;
        set.value.as_deref()
    }

    /// Takes directories down that were made.
    pub(super) fn add_made(&mut self, directories: &[PathBuf]) {
        let is_new = |directory: &&PathBuf| !self.made.contains(directory);
        let mut made: Vec<_> = directories.iter().filter(is_new).cloned().collect();
        made.append(&mut self.made);
        self.made = made;
    }

    /// Takes a change down, with the directories that are to be made for it. What was there before
    /// the first of several runs is what counts.
    pub(super) fn keep(&mut self, change: &Change, missing: &[PathBuf]) {
        let (Some(after), path) = (&change.after, &change.path) else {
            return;
        };
        let (mut before, keys) = (change.before.as_deref(), change.keys.clone());
        if change.appended.is_some() {
            before = before.map(|_| "");
        }
        for directory in missing {
            if !self.made.contains(directory) {
                self.made.push(directory.clone());
            }
        }
        let after = hash(after.as_bytes());
        let kept = self.files.iter_mut().find(|kept| kept.path == *path);
        match kept {
            Some(kept) => {
                let is_ours = before.is_some_and(|text| kept.is_as_written(text));
                if !is_ours {
                    // What an earlier run has put in was not there before.
                    let without = before.map(|text| json::take_back(text, &kept.keys));
                    kept.before = match without {
                        Some(Ok(Some(without))) => Some(without),
                        _ => before.map(str::to_owned),
                    };
                }
                for (set, old) in keys {
                    match kept.keys.iter_mut().find(|(known, _)| known.at == set.at) {
                        Some(known) => {
                            if !known.0.is_done(old.as_ref()) {
                                known.1 = old;
                            }
                            known.0 = set;
                        }
                        None => kept.keys.push((set, old)),
                    }
                }
                kept.after = after;
                kept.appended.clone_from(&change.appended);
            }
            None => self.files.push(ChangedFile {
                path: path.clone(),
                before: before.map(str::to_owned),
                after,
                keys,
                appended: change.appended.clone(),
            }),
        }
    }
}

pub(super) fn remove(path: &Path) -> Result<(), InitError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(InitError::new(path, e)),
        _ => Ok(()),
    }
}
