//! Directories of git, and programs that git starts: hooks, filters, drivers and helpers in its
//! configuration.
//!
//! A file is compared with all values in the configuration of each repository around it, and in the
//! user's own configuration, whatever the key: more keys name a program than a list would have.
//! Included configuration files are not read.

use super::started::{end, words};
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::git_config::{ConfigEntry, entries, users_files};
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 1024 * 1024;

/// The last parts, in lower case, of those git settings whose value may look like the path of a
/// program but is never started: what git only reads, other directories, and names in repositories.
const DATA: &str = "\
    allowedsignersfile attributesfile description directory email excludesfile fetch file format ignorerevsfile \
    insteadof merge name push pushinsteadof pushurl signingkey template url worktree";

/// Names in git's data of a repository. Beside a `HEAD` they make a directory such data, or are
/// there already when it becomes that.
const NAMES: &str = "\
    commondir config config.worktree gitdir hooks info modules objects packed-refs refs worktrees";

/// Returns true if a path is a directory with git's data of a repository, or a file in one. The
/// name of such a directory need not be `.git`: see `--bare` and `--separate-git-dir` of git init.
pub(super) fn holds(path: &Path) -> bool {
    let mut is_gits = false;
    for top in path.ancestors() {
        let has = |name: &str| top.join(name).symlink_metadata().is_ok();
        if has("HEAD") && (is_gits || has("objects") && has("refs") || has("commondir")) {
            return true;
        }
        let name = top.file_name().unwrap_or_default().to_string_lossy();
        is_gits = NAMES.split(' ').any(|one| one.eq_ignore_ascii_case(&name));
        if has(".git") {
            // This is a working tree. It may be inside of a bare repository, so the directories
            // above it don't count.
            return false;
        }
    }
    false
}

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
    // These name a directory, with the hooks of this repository or of new ones.
    if matches!(name, "hookspath" | "templatedir") {
        return !entry.value.is_empty()
            && real.starts_with(super::opened(&top.join(entry.path(home))));
    }
    // Any name may be that of an alias, or of a command with a pager of its own.
    if !matches!(section, "alias" | "pager") && DATA.split(' ').any(|one| one == name) {
        return false;
    }
    // A word without a slash that comes first is looked up in `PATH`, so it names no file of the
    // project. One that comes later may be a file in the top directory, such as the script in `sh
    // clean.sh`, unless the value is an alias of a command of git.
    let is_command = section != "alias" || entry.value.starts_with('!');
    words(&entry.value).enumerate().any(|(at, word)| {
        if word.contains('/') {
            let end = end(word);
            !end.as_os_str().is_empty() && real.ends_with(end)
        } else {
            at > 0 && is_command && real == top.join(word)
        }
    })
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
