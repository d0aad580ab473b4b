//! The record of what `init` has written, which `--undo` needs: one for all projects and hosts,
//! because two of them can have changed the same file, or have files in a directory that was made
//! for one of them.

use super::change::{FileChange, InitError, read, real, write};
use super::set::{Edit, take_out};
use crate::hosts::Host;
use crate::syntax::Syntax;
use gemini_tools_core::text::hex;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    made: BTreeSet<PathBuf>,
}

/// The set-up that has written a file: that of a project, or the user's if there is no root, for a
/// host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) root: Option<PathBuf>,
    pub(super) host: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WrittenFile {
    owner: Owner,
    pub(super) path: PathBuf,
    /// The hash of the text that `init` has written. If someone has edited the file between two
    /// runs, it stays the hash of the earlier run, because nobody has looked at what the edit has
    /// added.
    sha256: String,
    /// The hash of the text that was there before.
    #[serde(default)]
    before: String,
    /// The changes, in their order. A file without any was written as a whole.
    edits: Vec<Edit>,
    pub(super) is_new: bool,
    pub(super) has_copy: bool,
}

impl WrittenFile {
    pub(super) fn is_as_written(&self, text: &str) -> bool {
        self.sha256 == hash(text)
    }

    /// Returns true if the text is still the one from before: the record is saved first, and what
    /// comes next may fail.
    pub(super) fn is_unwritten(&self, text: &str) -> bool {
        self.before == hash(text)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.edits.is_empty()
    }

    pub(super) fn copy(&self) -> Option<PathBuf> {
        self.has_copy.then(|| copy_of(&self.path))
    }

    /// Returns the text that the file had before `init` changed it, with what others have added
    /// since; `None` if the file did not exist.
    ///
    /// # Errors
    ///
    /// Returns why the change can't be undone.
    pub(super) fn undone(&self, now: &str, syntax: Syntax) -> Result<Option<String>, String> {
        if self.is_whole() && !self.is_as_written(now) {
            return Err("it was edited since".to_owned());
        }
        let mut text = now.to_owned();
        let edits = self.edits.iter().rev();
        for edit in edits.take_while(|_| !self.is_unwritten(now)) {
            let is_ours = |value: &Value| self.is_of(value, edit);
            text = take_out(syntax, &text, edit, is_ours).map_err(|e| {
                let keys: Vec<String> = self.edits.iter().map(|edit| edit.at.join(".")).collect();
                format!("{e}; change {} by hand", keys.join(" and "))
            })?;
        }
        let is_nothing = |c: char| c.is_whitespace() || "{}".contains(c);
        let is_gone = self.is_whole() || self.is_new && text.chars().all(is_nothing);
        Ok(Some(text).filter(|_| !is_gone))
    }

    /// Returns true if a value is still what an edit has added: an entry for `serve_tools`, or a
    /// value that is written in the same way, apart from blanks.
    fn is_of(&self, value: &Value, edit: &Edit) -> bool {
        let bare = |text: &str| text.replace(char::is_whitespace, "");
        let host = Host::find(&self.owner.host);
        host.is_some_and(|host| host.names_server(value))
            || bare(&edit.added).contains(&bare(&value.to_string()))
    }
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

    /// Loads the record for a set-up, which is given what it had under a former name of its project.
    pub(super) fn load_for(home: &Path, owner: &Owner, syntax: Syntax) -> Result<Self, InitError> {
        let mut record = Self::load(home)?;
        if let Some(root) = &owner.root
            && record.of(owner).next().is_none()
        {
            record.follow(owner, root, syntax);
        }
        Ok(record)
    }

    /// Gives a set-up what was recorded for a directory that is gone, if `root` has a file with the
    /// same changes in the same place: the project was renamed. Else nothing could undo its set-up,
    /// and its rules would allow calls for good.
    fn follow(&mut self, owner: &Owner, root: &Path, syntax: Syntax) {
        let moved = |file: &WrittenFile| {
            let old = file.owner.root.as_ref().filter(|old| !old.exists())?;
            let path = root.join(file.path.strip_prefix(old).ok()?);
            let now = read(&path, FileOwner::Users).ok()??;
            let is_it = file.owner.host == owner.host && file.undone(&now, syntax).is_ok();
            is_it.then(|| old.clone())
        };
        let Some(old) = self.files.iter().find_map(moved) else {
            return;
        };
        let follow = |path: &Path| match path.strip_prefix(&old) {
            Ok(rest) => root.join(rest),
            Err(_) => path.to_owned(),
        };
        for file in &mut self.files {
            if file.owner.host == owner.host && file.owner.root.as_ref() == Some(&old) {
                file.owner = owner.clone();
                file.path = follow(&file.path);
            }
        }
        self.made = self.made.iter().map(|path| follow(path)).collect();
    }

    pub(super) fn save(&self, home: &Path) -> Result<(), InitError> {
        let path = real(&record_path(home))?;
        let text = serde_json::to_string_pretty(self).map_err(|e| InitError::new(&path, e))?;
        write(&path, &(text + "\n"), (&path, 0o644)).map_err(|e| InitError::new(&path, e))
    }

    pub(super) fn of<'a>(&'a self, owner: &Owner) -> impl Iterator<Item = &'a WrittenFile> {
        self.files.iter().filter(move |file| file.owner == *owner)
    }

    pub(super) fn others(&self, owner: &Owner, path: &Path) -> Option<&WrittenFile> {
        let mut files = self.files.iter();
        files.find(|file| file.owner != *owner && file.path == path)
    }

    pub(super) fn share(&mut self, owner: &Owner, path: &Path) {
        let file = self.others(owner, path).cloned();
        self.files.extend(file.map(|file| WrittenFile {
            owner: owner.clone(),
            ..file
        }));
    }

    pub(super) fn add(&mut self, home: &Path, owner: &Owner, change: &FileChange) {
        for path in [&change.path, &record_path(home)] {
            let above = path.ancestors().skip(1);
            let missing = above.take_while(|directory| !directory.exists());
            self.made.extend(missing.map(Path::to_owned));
        }
        let is_same = |file: &mut WrittenFile| file.owner == *owner && file.path == change.path;
        let known = self.files.extract_if(.., is_same).next();
        let Some(after) = &change.after else {
            return;
        };
        let has_copy = change.needs_copy || known.as_ref().is_some_and(|file| file.has_copy);
        let before = change.before.as_deref();
        let is_kept = |file: &WrittenFile| before.is_some_and(|before| !file.is_unwritten(before));
        let known = known.filter(is_kept);
        let mut file = known.unwrap_or_else(|| WrittenFile {
            owner: owner.clone(),
            path: change.path.clone(),
            sha256: before.map(hash).unwrap_or_default(),
            before: before.map(hash).unwrap_or_default(),
            edits: Vec::new(),
            is_new: change.before.is_none(),
            has_copy,
        });
        file.has_copy = has_copy;
        if before.is_none_or(|before| file.is_as_written(before)) {
            file.sha256 = hash(after);
        }
        for edit in &change.edits {
            // If others have replaced what an earlier edit has added at these keys, that is theirs,
            // and the earlier edit is forgotten. If what an earlier edit has added is in the file
            // as a whole, it can be taken out as such, and this edit need not be recorded.
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
        owner: &Owner,
        left: &[PathBuf],
    ) -> Result<(), InitError> {
        let is_done = |file: &mut WrittenFile| file.owner == *owner && !left.contains(&file.path);
        let done: Vec<WrittenFile> = self.files.extract_if(.., is_done).collect();
        // If one set-up has created a file and others still have something in it, the file is
        // removed with the last of these.
        for file in done.iter().filter(|file| file.is_new) {
            let mut others = self.files.iter_mut();
            if let Some(other) = others.find(|other| other.path == file.path) {
                other.is_new = true;
            }
        }
        for copy in done.iter().filter_map(WrittenFile::copy) {
            remove(&copy)?;
        }
        if self.files.is_empty() {
            remove(&record_path(home))?;
        }
        // A directory that is not empty stays. One that is not there stays in the record: it may be
        // that of a project which was renamed, and is not yet followed.
        let directories = std::mem::take(&mut self.made).into_iter().rev();
        self.made = directories
            .filter(|directory| fs::remove_dir(directory).is_err())
            .collect();
        if self.files.is_empty() {
            return Ok(());
        }
        self.save(home)
    }
}

pub(super) fn remove(path: &Path) -> Result<(), InitError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(InitError::new(path, e)),
        _ => Ok(()),
    }
}
