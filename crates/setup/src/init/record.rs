//! The record of what `init` has written, which `--undo` needs.

use super::change::{FileChange, InitError, read, real, write};
use gemini_tools_core::text::hex;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const VERSION: u32 = 4;

const BACKUP: &str = ".before-init";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub(super) files: Vec<WrittenFile>,
    pub(super) made: Vec<PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WrittenFile {
    pub(super) path: PathBuf,
    /// The hash of what was written. If others have edited the file between two runs, it stays that
    /// of the earlier run, to which the backup belongs.
    sha256: String,
    /// The path of a copy of the former content; `None` if the file is new, or if no copy may be
    /// kept.
    pub(super) backup: Option<PathBuf>,
    /// What to remove from the file if others have edited it since.
    pub(super) edit: Option<Edit>,
    pub(super) is_new: bool,
}

/// A value inserted into a file that other programs write to as well.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Edit {
    /// The keys that lead to the value, outermost first.
    pub(super) at: Vec<String>,
    /// Set if a copy of the former file is kept. None is kept of the list of trusted folders, which
    /// is about other projects, too.
    pub(super) keeps_copy: bool,
    /// The text that was added, and the one that it replaced.
    #[serde(default)]
    pub(super) added: String,
    #[serde(default)]
    pub(super) instead: String,
    /// How many keys above the last one were added with it.
    #[serde(default)]
    pub(super) made: usize,
}

impl WrittenFile {
    pub(super) fn is_as_written(&self, text: &str) -> bool {
        self.sha256 == hash(text.as_bytes())
    }
}

/// Returns the path of the record for the project in `root`, or for the user's settings if it is
/// `None`. Each host has a record of its own; `None` is Gemini CLI.
pub(super) fn path(home: &Path, root: Option<&Path>, host: Option<&str>) -> PathBuf {
    let name = root.map_or_else(|| "user".to_owned(), name);
    let host = host.map_or_else(String::new, |host| format!(".{host}"));
    home.join(".gemini/tools_init")
        .join(format!("{name}{host}.json"))
}

/// Returns a file name for a directory: its own name, and a hash of its path that tells it from
/// others of that name.
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
        let fail = |e: String| InitError::new(path, e);
        let record: Self = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
        if record.version != VERSION {
            return Err(fail("it is of another version of get_tools".to_owned()));
        }
        Ok(record)
    }

    pub(super) fn save(&mut self, path: &Path) -> Result<(), InitError> {
        self.version = VERSION;
        let text = serde_json::to_string_pretty(self).map_err(|e| InitError::new(path, e))?;
        write(&real(path)?, &(text + "\n"), 0o644).map_err(|e| InitError::new(path, e))
    }

    pub(super) fn file(&self, path: &Path) -> Option<&WrittenFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(super) fn wrote(&self, path: &Path, text: &str) -> bool {
        self.file(path).is_some_and(|file| file.is_as_written(text))
    }

    pub(super) fn add_made(&mut self, directories: &[PathBuf]) {
        for directory in directories {
            if !self.made.contains(directory) {
                self.made.push(directory.clone());
            }
        }
    }

    /// Records a change. Returns the path for a backup if one must be written. The backup of the
    /// first run is kept by later ones, unless the file was edited in between.
    pub(super) fn add(&mut self, change: &FileChange, missing: &[PathBuf]) -> Option<PathBuf> {
        self.add_made(missing);
        let path = &change.path;
        let Some(after) = &change.after else {
            self.files.retain(|file| file.path != *path);
            return None;
        };
        let mut file = WrittenFile {
            path: path.clone(),
            sha256: hash(after.as_bytes()),
            backup: None,
            edit: change.edit.clone(),
            is_new: change.before.is_none(),
        };
        let known = self.files.extract_if(.., |file| file.path == *path).next();
        let mut needed = None;
        match (&change.before, known) {
            (Some(before), Some(known)) if known.edit.is_some() || known.is_as_written(before) => {
                if !known.is_as_written(before) {
                    file.sha256 = known.sha256;
                }
                file.backup = known.backup;
                file.edit = known.edit;
                file.is_new = known.is_new;
            }
            (Some(_), _) if change.edit.as_ref().is_none_or(|edit| edit.keeps_copy) => {
                needed = Some(backup_path(path));
                file.backup.clone_from(&needed);
            }
            _ => {}
        }
        self.files.push(file);
        needed
    }
}

pub(super) fn backup_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BACKUP);
    PathBuf::from(name)
}

pub(super) fn remove(path: &Path) -> Result<(), InitError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(InitError::new(path, e)),
        _ => Ok(()),
    }
}
