//! Files that git starts: hooks, filters, drivers and helpers that its configuration names.
//!
//! The configuration of each repository that a file lies in counts, and the user's for all of them, without what they
//! include. A program without a slash is looked for in `PATH` and is no file of a project.

use super::started::{end, words};
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::git_config::{ConfigEntry, entries, users_files};
use std::path::{Path, PathBuf};

/// A larger file is not a configuration, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Names of what is started or included, in small letters and in any section; of `alias`, each is.
const NAMES: &str = "\
    askpass clean cmd command defaultkeycommand difffilter driver editor external fsmonitor helper packobjectshook \
    pager path process program smudge sshcommand textconv";

/// Returns true if git may start the file at a path. `real` is without links.
pub(super) fn runs(real: &Path, home: Option<&Path>) -> bool {
    let users = users_files(&|name| std::env::var_os(name));
    real.ancestors().skip(1).any(|top| {
        let files = repository(top);
        let is_repository = !files.is_empty();
        let users = users.iter().filter(|_| is_repository);
        files.iter().chain(users).any(|file| {
            let mut entries = read(file)
                .map(|text| entries(&text))
                .unwrap_or_default()
                .into_iter();
            entries.any(|entry| names(&entry, top, home, real))
        })
    })
}

/// Returns true if a value of the repository in `top` names a file, or the directory of hooks that it is in.
fn names(entry: &ConfigEntry, top: &Path, home: Option<&Path>, real: &Path) -> bool {
    let (section, name) = entry.key.rsplit_once('.').unwrap_or_default();
    if name == "hookspath" {
        return !entry.value.is_empty()
            && real.starts_with(super::opened(&top.join(entry.path(home))));
    }
    let is_started = section == "alias" || NAMES.split(' ').any(|one| one == name);
    is_started
        && words(&entry.value)
            .filter(|word| word.contains('/'))
            .map(end)
            .any(|end| !end.as_os_str().is_empty() && real.ends_with(end))
}

/// Returns the configuration files of the repository whose topmost directory this is; none if it is none. In a worktree
/// or a submodule `.git` is a file that names the directory (gitrepository-layout).
fn repository(top: &Path) -> Vec<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.is_dir() {
        return vec![dot_git.join("config"), dot_git.join("config.worktree")];
    }
    let line = read(&dot_git).filter(|text| text.starts_with("gitdir: "));
    let own = line.map(|text| top.join(text["gitdir: ".len()..].trim_end()));
    let common = |own: &Path| Some(own.join(read(&own.join("commondir"))?.trim_end()));
    own.map_or_else(Vec::new, |own| {
        let common = common(&own).unwrap_or_else(|| own.clone());
        vec![common.join("config"), own.join("config.worktree")]
    })
}

/// Reads a small file of anyone's: what it says can only make more files guarded.
fn read(path: &Path) -> Option<String> {
    let bytes = FileOwner::Users.beginning(path, MAX_BYTES).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
