//! The record of what `init` has written, which `--undo` needs: one for all projects and hosts,
//! because two of them can have changed the same file, or have files in a directory that was made
//! for one of them.

use super::change::{FileChange, InitError, read, real, write};
use super::set::{Edit, take_out};
use crate::syntax::Syntax;
use gemini_tools_core::text::hex;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const BACKUP: &str = ".before-init";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) files: Vec<WrittenFile>,
    /// The directories that were made for the files.
    made: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WrittenFile {
    /// The set-up that has written it, as [`owner`] names it.
    owner: String,
    pub(super) path: PathBuf,
    /// The hash of what was written. If others have edited the file between two runs, it stays that
    /// of the earlier run: what they have put there was never looked at.
    sha256: String,
    /// The changes, in their order. A file without any was written as a whole.
    edits: Vec<Edit>,
    pub(super) is_new: bool,
    /// Set if there is a copy of the former file.
    pub(super) has_copy: bool,
}

impl WrittenFile {
    pub(super) fn is_as_written(&self, text: &str) -> bool {
        self.sha256 == hash(text)
    }

    /// Returns true if the whole file is ours.
    pub(super) fn is_whole(&self) -> bool {
        self.edits.is_empty()
    }

    pub(super) fn copy(&self) -> Option<PathBuf> {
        self.has_copy.then(|| copy_of(&self.path))
    }

    /// Returns what the file was before, or would be with what others have put there since; `None`
    /// if it was not there.
    ///
    /// # Errors
    ///
    /// Returns why it can't be undone.
    pub(super) fn undone(&self, now: &str, syntax: Syntax) -> Result<Option<String>, String> {
        if self.is_whole() && !self.is_as_written(now) {
            return Err("it was edited since".to_owned());
        }
        let mut text = now.to_owned();
        for edit in self.edits.iter().rev() {
            text = take_out(syntax, &text, edit)?;
        }
        let is_nothing = |c: char| c.is_whitespace() || "{}".contains(c);
        let is_gone = self.is_whole() || self.is_new && text.chars().all(is_nothing);
        Ok(Some(text).filter(|_| !is_gone))
    }
}

/// Returns the name of a set-up: of the project in `root`, or of the user if it is `None`, and a
/// host.
pub(super) fn owner(root: Option<&Path>, host: &str) -> String {
    let place = root.map_or_else(|| "user".to_owned(), name);
    format!("{place}.{host}")
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

fn hash(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn copy_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BACKUP);
    PathBuf::from(name)
}

fn record_path(home: &Path) -> PathBuf {
    home.join(".gemini/tools_init.json")
}

impl Record {
    pub(super) fn load(home: &Path) -> Result<Self, InitError> {
        let path = record_path(home);
        let Some(text) = read(&path, FileOwner::Users)? else {
            return Ok(Self::default());
        };
        serde_json::from_str(&text).map_err(|e| InitError::new(&path, e))
    }

    pub(super) fn save(&self, home: &Path) -> Result<(), InitError> {
        let path = real(&record_path(home))?;
        let text = serde_json::to_string_pretty(self).map_err(|e| InitError::new(&path, e))?;
        write(&path, &(text + "\n"), (&path, 0o644)).map_err(|e| InitError::new(&path, e))
    }

    /// Returns the files that a set-up has written.
    pub(super) fn of(&self, owner: &str) -> impl Iterator<Item = &WrittenFile> {
        self.files.iter().filter(move |file| file.owner == owner)
    }

    /// Returns the record of a file that another set-up than `owner` has written.
    pub(super) fn others(&self, owner: &str, path: &Path) -> Option<&WrittenFile> {
        let mut files = self.files.iter();
        files.find(|file| file.owner != owner && file.path == path)
    }

    /// Adds a file that another set-up has written to those of `owner`.
    pub(super) fn share(&mut self, owner: &str, path: &Path) {
        let file = self.others(owner, path).cloned();
        self.files.extend(file.map(|file| WrittenFile {
            owner: owner.to_owned(),
            ..file
        }));
    }

    /// Adds a change that is about to be made.
    pub(super) fn add(&mut self, home: &Path, owner: &str, change: &FileChange) {
        for path in [&change.path, &record_path(home)] {
            let above = path.ancestors().skip(1);
            let missing = above.take_while(|directory| !directory.exists());
            self.made.extend(missing.map(Path::to_owned));
        }
        let is_same = |file: &mut WrittenFile| file.owner == owner && file.path == change.path;
        let known = self.files.extract_if(.., is_same).next();
        let Some(after) = &change.after else {
            return;
        };
        let has_copy = change.needs_copy || known.as_ref().is_some_and(|file| file.has_copy);
        let known = known.filter(|_| change.before.is_some());
        let mut file = known.unwrap_or_else(|| WrittenFile {
            owner: owner.to_owned(),
            path: change.path.clone(),
            sha256: change.before.as_deref().map(hash).unwrap_or_default(),
            edits: Vec::new(),
            is_new: change.before.is_none(),
            has_copy,
        });
        file.has_copy = has_copy;
        let before = change.before.as_deref();
        if before.is_none_or(|before| file.is_as_written(before)) {
            file.sha256 = hash(after);
        }
        for edit in &change.edits {
            // What others have put in place of an earlier addition is theirs, and an earlier
            // addition that is whole again can be taken out as such.
            file.edits
                .retain(|old| old.at != edit.at || old.added.contains(&edit.instead));
            let is_whole = |old: &Edit| {
                let is_there = !old.added.is_empty() && after.contains(&old.added);
                is_there && edit.at.starts_with(&old.at)
            };
            if !file.edits.iter().any(is_whole) {
                file.edits.push(edit.clone());
            }
        }
        self.files.push(file);
    }

    /// Removes what an undo no longer needs: the files of a set-up from the record, except for
    /// those that are left, their copies, and the directories that were made and are empty now.
    pub(super) fn forget(
        mut self,
        home: &Path,
        owner: &str,
        left: &[PathBuf],
    ) -> Result<(), InitError> {
        let is_done = |file: &mut WrittenFile| file.owner == owner && !left.contains(&file.path);
        let done: Vec<WrittenFile> = self.files.extract_if(.., is_done).collect();
        for copy in done.iter().filter_map(WrittenFile::copy) {
            remove(&copy)?;
        }
        if self.files.is_empty() {
            remove(&record_path(home))?;
        }
        for directory in self.made.iter().rev() {
            // This fails if the directory is not empty, which is intended.
            let _ = fs::remove_dir(directory);
        }
        if self.files.is_empty() {
            return Ok(());
        }
        self.made.retain(|directory| directory.exists());
        self.save(home)
    }
}

fn remove(path: &Path) -> Result<(), InitError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(InitError::new(path, e)),
        _ => Ok(()),
    }
}
