//! Lists the files of a project that Gemini CLI would obey once it trusts the directory.
//!
//! From a trusted directory Gemini CLI takes much more than
//! [`gemini_tools_settings::trust::WATCHED`]: `.env`, which can send the user's key to another
//! server, commands, agents, skills, extensions, hooks, its sandbox and its system prompt. New
//! versions add to that. Everything is therefore listed unless it is known to be mere text.

use super::change::{InitError, read};
use super::record::Record;
use gemini_tools_core::text::show_path;
use gemini_tools_workspace::file_owner::FileOwner;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const MAX_NAMED: usize = 5;

/// Lists the paths that Gemini CLI would obey if it trusted the project in `root`, an absolute
/// path: those in `.gemini` and `.agents`, and `.env` files, also in directories above. Mere text
/// for the model is left out, and so is what [`super::plan`] has written itself. The paths are for
/// display; only the first few are returned.
///
/// # Errors
///
/// Returns an error if the record of earlier runs can't be read.
pub fn active_content(home: &Path, root: &Path) -> Result<Vec<String>, InitError> {
    let record = Record::load(home)?;
    let mut found = Vec::new();
    for name in [".gemini", ".agents"] {
        let directory = root.join(name);
        match fs::read_dir(&directory) {
            Ok(entries) => {
                let paths = entries.map(|entry| entry.map_or(directory.clone(), |e| e.path()));
                found.extend(paths.filter(|path| !is_harmless(path, home, root, &record)));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(_) => found.push(directory),
        }
    }
    found.sort();
    // Gemini CLI searches for `.env` from the current directory upwards. The home directory and its
    // parents don't belong to the project.
    let real_home = fs::canonicalize(home);
    let is_home = |dir: &&Path| *dir == home || real_home.as_ref().is_ok_and(|real| dir == real);
    for dir in root.ancestors().take_while(|dir| !is_home(dir)) {
        let own = (dir != root).then(|| dir.join(".gemini/.env"));
        let files = own.into_iter().chain([dir.join(".env")]);
        found.extend(files.filter(|file| !is_absent(file)));
    }
    found.truncate(MAX_NAMED);
    let shown = |path: &PathBuf| {
        let path = path.strip_prefix(root).unwrap_or(path);
        show_path(path).into_owned()
    };
    Ok(found.iter().map(shown).collect())
}

fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_err_and(|e| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Returns true if a path can't make Gemini CLI do anything: `GEMINI.md`, which is text for the
/// model, a file that `init` has written and nobody has edited, and its backup.
fn is_harmless(path: &Path, home: &Path, root: &Path, record: &Record) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return false;
    };
    let mut written_files = record.files.iter();
    if metadata.is_dir() && written_files.any(|file| file.path.starts_with(path)) {
        let is_ours = |entry: &Path| is_harmless(entry, home, root, record);
        return fs::read_dir(path).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| is_ours(&entry.path())))
        });
    }
    if !metadata.is_file() {
        return false;
    }
    let owner = FileOwner::by_location(path, Some(home), root);
    let text = || read(path, owner).ok().flatten();
    let is_made = record.files.iter().any(|file| {
        let is_whole = file.path == path && file.is_new;
        file.copy().is_some_and(|copy| copy == path)
            || is_whole && text().is_some_and(|text| file.is_as_written(&text))
    });
    is_made || path == root.join(".gemini/GEMINI.md")
}
