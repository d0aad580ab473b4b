//! The files of a project that Gemini CLI would obey once it trusts the directory.
//!
//! Gemini CLI takes much more from a trusted directory than
//! [`gemini_tools_settings::trust::WATCHED`]: `.env`, which can send the user's key to another
//! server, commands, agents, skills, extensions, hooks, its sandbox and its system prompt. New
//! versions add to that, so that everything counts but what is known to be only text.

use super::change::{InitError, read};
use super::record::{self, Record, backup_path};
use gemini_tools_core::text::show_path;
use gemini_tools_workspace::file_owner::FileOwner;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The maximum number of entries that are named.
const MAX_NAMED: usize = 5;
const MAX_DEPTH: usize = 8;

/// Names what the project in `root`, an absolute path, brings besides what [`super::plan`] has
/// written there itself: paths as they are shown, the first few of them.
///
/// # Errors
///
/// Returns why the record can't be read.
pub fn active_content(home: &Path, root: &Path) -> Result<Vec<String>, InitError> {
    let mut walk = Walk {
        home,
        root,
        record: Record::load(&record::path(home, Some(root)))?,
        found: Vec::new(),
    };
    for name in [".gemini", ".agents"] {
        walk.look(&root.join(name), 0);
    }
    // Gemini CLI searches upwards from the current directory. From the user's home on, and in
    // what is above it, the files are not the project's.
    let real_home = std::fs::canonicalize(home);
    let is_home = |dir: &&Path| *dir == home || real_home.as_ref().is_ok_and(|real| dir == real);
    for dir in root.ancestors().take_while(|dir| !is_home(dir)) {
        if dir != root {
            walk.find(&dir.join(".gemini/.env"));
        }
        walk.find(&dir.join(".env"));
    }
    walk.found.truncate(MAX_NAMED);
    Ok(walk.found)
}

struct Walk<'a> {
    home: &'a Path,
    root: &'a Path,
    record: Record,
    found: Vec<String>,
}

impl Walk<'_> {
    fn name(&mut self, path: &Path) {
        let path = path.strip_prefix(self.root).unwrap_or(path);
        self.found.push(show_path(path).into_owned());
    }

    fn find(&mut self, path: &Path) {
        let is_absent = fs::symlink_metadata(path)
            .is_err_and(|e| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory));
        if !is_absent {
            self.name(path);
        }
    }

    fn look(&mut self, path: &Path, depth: usize) {
        if self.found.len() >= MAX_NAMED {
            return;
        }
        match fs::symlink_metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => {
                let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
                let Ok(mut entries) = entries else {
                    return self.name(path);
                };
                entries.sort_by_key(fs::DirEntry::file_name);
                for entry in entries {
                    self.look(&entry.path(), depth + 1);
                }
            }
            Ok(metadata) if metadata.is_file() && self.is_harmless(path) => {}
            _ => self.name(path),
        }
    }

    /// Returns true for a text for the model, for what `init` has written with nothing of others in it, and for its backup.
    fn is_harmless(&self, path: &Path) -> bool {
        let gemini = self.root.join(".gemini");
        if path == gemini.join("GEMINI.md") {
            return true;
        }
        let settings = gemini.join("settings.json");
        let written = self.record.file(&settings);
        if path == backup_path(&settings) {
            return written.is_some_and(|file| file.backup.as_deref() == Some(path));
        }
        let whose = FileOwner::by_location(path, Some(self.home), self.root);
        let text = || read(path, whose).ok().flatten();
        let is_made = |text: &String| {
            written.is_some_and(|file| file.backup.is_none() && file.is_as_written(text))
        };
        path == settings && text().is_some_and(|text| is_made(&text))
    }
}
