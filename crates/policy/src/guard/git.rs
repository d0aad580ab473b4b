//! Programs that git starts: hooks, filters, drivers and helpers in its configuration.
//!
//! A file is compared with the programs that the configuration of each repository around it names,
//! and with those in the user's own configuration. Included configuration files are not read. A
//! name without a slash is skipped: git looks it up in `PATH`, where no file of the project is.

use super::started::{end, words};
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::git_config::{ConfigEntry, entries, users_files};
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 1024 * 1024;

/// The last parts, in lower case, of the keys whose value names a program or an included file.
/// Every key of the section `alias` counts as well.
const NAMES: &str = "\
    askpass clean cmd command defaultkeycommand difffilter driver editor external fsmonitor helper packobjectshook \
    pager path process program smudge sshcommand textconv";

/// Returns true if git may start the file at `real`, a path without links.
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

/// Returns the configuration files of the repository at `top`, or none if it is not one. In a
/// worktree or submodule `.git` is a file that names the real directory (see gitrepository-layout).
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

fn read(path: &Path) -> Option<String> {
    // The file is read like one of the user's own, so that links may lead out of the project. That
    // is safe, because its content can only make more files guarded.
    let bytes = FileOwner::Users.beginning(path, MAX_BYTES).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
