//! Commands that are known to only look at the workspace, and commands that are known to do
//! harm, as far as Gemini CLI 0.61 knows them.

use crate::commands::{Analysis, Command};
use std::path::{Component, Path, PathBuf};

/// Programs that print, and read no files.
const PRINTERS: [&str; 11] = [
    "echo", "expr", "false", "id", "pwd", "seq", "tr", "true", "uname", "which", "whoami",
];

/// Programs that read the files that they are given.
const READERS: [&str; 14] = [
    "cat", "cut", "grep", "head", "ls", "nl", "numfmt", "paste", "rev", "stat", "tac", "tail",
    "uniq", "wc",
];

/// What makes `find` do more than look.
const FIND_ACTS: [&str; 9] = [
    "-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir",
];

/// Options by which `git` writes files or starts programs.
const GIT_ACTS: [&str; 6] = [
    "--exec",
    "--ext-diff",
    "--output",
    "--paginate",
    "--textconv",
    "--no-index",
];

/// Options of `git branch` that only list.
const BRANCH_LISTS: [&str; 10] = [
    "--all",
    "--list",
    "--remotes",
    "--show-current",
    "--verbose",
    "-a",
    "-l",
    "-r",
    "-v",
    "-vv",
];

/// Whether the line is one command that only looks at what is in the workspace.
pub(super) fn is_known_safe(
    line: &str,
    analysis: &Analysis,
    root: &Path,
    is_trusted: impl FnOnce() -> bool,
) -> bool {
    let mut commands = analysis.programs();
    let (Some(command), None) = (commands.next(), commands.next()) else {
        return false;
    };
    if !is_spelt_out(line, command)
        || analysis.redirects
        || analysis.is_broken
        || !analysis.unresolved.is_empty()
    {
        return false;
    }
    let Some(Some(name)) = command.words.first() else {
        return false;
    };
    // Not behind assignments, and not in quotes.
    if !command.text.trim_start().starts_with(name.as_str()) {
        return false;
    }
    if PRINTERS.contains(&name.as_str()) {
        return true;
    }
    // Patterns mean what the disk says: nothing that stands here.
    if command.text.contains(['*', '?', '[', '{', '$', '`']) {
        return false;
    }
    let args: Option<Vec<&str>> = command.words[1..].iter().map(Option::as_deref).collect();
    let Some(args) = args else {
        return false;
    };
    let args = args.as_slice();
    match name.as_str() {
        name if READERS.contains(&name) => args.iter().all(|arg| is_fine(arg, root)),
        "cd" => !args.is_empty() && args.iter().all(|arg| !leaves(arg, root)),
        "base64" => args.iter().all(|arg| {
            !arg.starts_with("-o") && !arg.starts_with("--output") && is_fine(arg, root)
        }),
        "find" => args
            .iter()
            .all(|arg| !FIND_ACTS.contains(arg) && is_fine(arg, root)),
        "sed" => is_safe_sed(args, root),
        "git" => is_safe_git(args) && is_trusted(),
        _ => false,
    }
}

/// Whether the line is one command, and its words, as they are known, are all that stands there:
/// nothing that a shell may read otherwise.
fn is_spelt_out(line: &str, command: &Command) -> bool {
    let line = line.trim();
    if command.text.trim() != line || line.contains(|c: char| c == '\\' || c.is_control()) {
        return false;
    }
    let letters = |text: &str| text.replace([' ', '\'', '"'], "");
    let words: Option<String> = command.words.iter().cloned().collect();
    if let Some(words) = words {
        return letters(&words) == letters(line);
    }
    let pieces: Vec<&str> = line.split(' ').filter(|piece| !piece.is_empty()).collect();
    let mut pairs = pieces.iter().zip(&command.words);
    pieces.len() == command.words.len()
        && pairs.all(|(piece, word)| match word {
            Some(word) => letters(word) == letters(piece),
            None => piece.contains('$'),
        })
}

/// An argument that is an option without a path in it, or a path within the workspace.
fn is_fine(arg: &str, root: &Path) -> bool {
    match arg.strip_prefix('-') {
        Some(option) => match option.split_once('=') {
            Some((_, value)) => !leaves(value, root),
            // `-f/etc/passwd` names a file without a space.
            None => !option.contains('/'),
        },
        None => !leaves(arg, root),
    }
}

/// `sed -n 3,7p file`.
fn is_safe_sed(args: &[&str], root: &Path) -> bool {
    let is_range = |text: &str| {
        text.strip_suffix('p').is_some_and(|lines| {
            let numbers: Vec<&str> = lines.split(',').collect();
            let is_number = |n: &&str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
            numbers.len() <= 2 && numbers.iter().all(is_number)
        })
    };
    match args {
        ["-n", range] => is_range(range),
        ["-n", range, file] => is_range(range) && !leaves(file, root),
        _ => false,
    }
}

/// `git status`, `log`, `diff`, `show`, and `branch` where it only lists.
fn is_safe_git(args: &[&str]) -> bool {
    let Some((command, rest)) = args.split_first() else {
        return false;
    };
    let acts = |arg: &str| GIT_ACTS.contains(&arg.split_once('=').map_or(arg, |(name, _)| name));
    let lists = |arg: &str| BRANCH_LISTS.contains(&arg) || arg.starts_with("--format=");
    match *command {
        "status" | "log" | "diff" | "show" => !rest.iter().any(|arg| acts(arg)),
        "branch" => rest.iter().all(|arg| lists(arg)),
        _ => false,
    }
}

/// Whether a path leads out of the workspace, by its text or by a link in it.
fn leaves(path: &str, root: &Path) -> bool {
    if path.starts_with('~') {
        return true;
    }
    let mut place = PathBuf::from(root);
    for part in Path::new(path).components() {
        match part {
            Component::RootDir | Component::Prefix(_) => place = PathBuf::from("/"),
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir => {}
            Component::Normal(name) => place.push(name),
        }
    }
    if !place.starts_with(root) {
        return true;
    }
    // The nearest ancestor that is there says where the path really leads.
    let there = place
        .ancestors()
        .find_map(|p| std::fs::canonicalize(p).ok());
    let own = std::fs::canonicalize(root);
    match (there, own) {
        (Some(there), Ok(own)) => !there.starts_with(own),
        _ => true,
    }
}

/// Whether a command deletes without asking, makes symbolic links, or lets `find` or `rg` run
/// and delete things.
pub(super) fn is_dangerous(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().map_while(Option::as_deref).collect();
    let Some((_, args)) = words.split_first() else {
        return false;
    };
    let has_short = |letter: char| {
        args.iter()
            .any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
    };
    match command.root() {
        "rm" => has_short('f') || args.contains(&"--force"),
        "ln" => has_short('s') || args.contains(&"--symbolic"),
        "find" => args.iter().any(|arg| FIND_ACTS.contains(arg)),
        "rg" => args.iter().any(|arg| {
            let name = arg.split_once('=').map_or(*arg, |(name, _)| name);
            ["--pre", "--hostname-bin", "--search-zip", "-z"].contains(&name)
        }),
        _ => false,
    }
}
