//! Checks which file a program's name stands for. A command counts as harmless only if no other
//! program can have been put in its place: no directory that is searched before it may be
//! world-writable, or one in which tools write.

use gemini_tools_process::command::is_program;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Variables that name directories from which programs load code. Those in `CODE` name libraries to
/// load, by path or by name.
const CODE_IN: [&str; 4] = [
    "DYLD_LIBRARY_PATH",
    "GCONV_PATH",
    "LD_LIBRARY_PATH",
    "LOCPATH",
];

const CODE: [&str; 3] = ["DYLD_INSERT_LIBRARIES", "LD_AUDIT", "LD_PRELOAD"];

const MAX_LINKS: usize = 40;

/// Returns true if bash and the named program, and the code that they load, are in directories that
/// are neither world-writable nor below `roots`, in which tools write. `name` is `None` for a
/// builtin of bash.
pub(super) fn is_the_users<'r>(name: Option<&str>, roots: impl Iterator<Item = &'r Path>) -> bool {
    let roots: Vec<PathBuf> = roots
        .filter_map(|root| fs::canonicalize(root).ok())
        .collect();
    let Some(path) = std::env::var_os("PATH") else {
        return false;
    };
    let is_users = |entry: &[u8]| {
        let entry = Path::new(OsStr::from_bytes(entry));
        // `x` stands for any name in the directory `entry`.
        entry.is_absolute() && is_fixed(&entry.join("x"), &roots)
    };
    let is_users_file = |entry: &[u8]| !entry.contains(&b'/') || is_users(entry);
    let are_all = |names: &[&str], is_users: &dyn Fn(&[u8]) -> bool| {
        names.iter().filter_map(std::env::var_os).all(|list| {
            let list = list.as_bytes();
            list.is_empty() || list.split(|b| matches!(b, b':' | b' ')).all(is_users)
        })
    };
    are_all(&CODE_IN, &is_users)
        && are_all(&CODE, &is_users_file)
        && is_found_first("bash", &path, &roots)
        && name.is_none_or(|name| is_found_first(name, &path, &roots))
}

/// Returns true if `PATH` has the program, and [`is_fixed`] holds for the program's name in each
/// directory of `PATH` up to the first that has it. For git it must hold in all directories of
/// `PATH`, because git starts other programs.
fn is_found_first(name: &str, path: &OsStr, roots: &[PathBuf]) -> bool {
    let mut is_found = false;
    for directory in std::env::split_paths(path) {
        let file = directory.join(name);
        if !directory.is_absolute() || !is_fixed(&file, roots) {
            return false;
        }
        is_found |= is_program(&file);
        if is_found && name != "git" {
            return true;
        }
    }
    is_found
}

/// Returns true if no directory on the way to the file, or on the way of its links, is below
/// `roots` or world-writable, so that neither a tool nor just any user can replace it. A file that
/// does not exist must not be creatable either.
fn is_fixed(file: &Path, roots: &[PathBuf]) -> bool {
    let parts = |path: &Path| {
        let parts = path.components().filter(|part| *part != Component::RootDir);
        let parts: Vec<OsString> = parts.map(|part| part.as_os_str().to_owned()).collect();
        parts.into_iter().rev()
    };
    let (mut at, mut left) = (PathBuf::from("/"), Vec::new());
    left.extend(parts(file));
    let mut links = 0;
    while let Some(part) = left.pop() {
        if roots.iter().any(|root| at.starts_with(root)) {
            return false;
        }
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        let entry = fs::symlink_metadata(&next).ok();
        if !fs::symlink_metadata(&at).is_ok_and(|at| keeps(&at, entry.as_ref())) {
            return false;
        }
        let Some(entry) = entry else { return true };
        if !entry.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        let Ok(target) = fs::read_link(&next) else {
            return false;
        };
        if links > MAX_LINKS {
            return false;
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        left.extend(parts(&target));
    }
    !roots.iter().any(|root| at.starts_with(root))
}

/// Returns true if the directory is not world-writable, or if it is sticky and the entry is the
/// user's or root's: in a sticky directory only the owner of an entry can replace it. The
/// directory's owner and group are not looked at.
fn keeps(directory: &fs::Metadata, entry: Option<&fs::Metadata>) -> bool {
    const STICKY: u32 = 0o1000;
    const BY_OTHERS: u32 = 0o002;
    let user = rustix::process::geteuid().as_raw();
    directory.mode() & BY_OTHERS == 0
        || directory.mode() & STICKY != 0
            && entry.is_some_and(|entry| [0, user].contains(&entry.uid()))
}
