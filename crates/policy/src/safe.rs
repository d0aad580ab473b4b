//! Lists of commands that are known to be harmless and of commands that are known to be dangerous,
//! as in Gemini CLI 0.61.
//!
//! Harmless commands need no approval, so each word must be known to be harmless: `programs` lists
//! the program, the grammar there accepts every argument, and `lookup` finds that nobody has put
//! another program in its place.

mod grammar;
mod lookup;
mod programs;

use gemini_tools_shell::Command;
use std::path::{Component, Path, PathBuf};

pub(super) fn only_reads(command: &Command) -> bool {
    if makes_words(command) {
        return false;
    }
    let args: Option<Vec<&str>> = command.words.iter().skip(1).map(Option::as_deref).collect();
    args.is_some_and(|args| accepts(programs::PROGRAMS, command.root(), &args, &|_| false))
}

/// Returns true if bash may turn a word into several: `uniq *` writes the second file.
pub(super) fn makes_words(command: &Command) -> bool {
    unquoted(command).any(|(_, c)| MAKES_WORDS.contains(c))
}

fn accepts(table: &'static str, name: &str, args: &[&str], leaves: &dyn Fn(&str) -> bool) -> bool {
    programs::grammar(table, name).is_some_and(|grammar| grammar.accepts(args, leaves))
}

/// Begin a pattern or a list in braces, which bash may turn into several words or none.
const MAKES_WORDS: &str = "*?[{";

/// Returns the characters of the words that are not quoted, each with the one before it in its
/// word.
fn unquoted(command: &Command) -> impl Iterator<Item = (Option<char>, char)> {
    command.patterns.iter().flatten().flat_map(|word| {
        let (mut chars, mut before) = (word.chars(), None);
        std::iter::from_fn(move || {
            loop {
                let last = before;
                let c = chars.next()?;
                let quoted = if c == '\\' { chars.next() } else { None };
                before = quoted.or(Some(c));
                if quoted.is_none() {
                    return Some((last, c));
                }
            }
        })
    })
}

const FIND_ACTS: &str = "\
    -delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir";

/// Returns true if a command, which must be all of its line, only reads the workspace. It runs in
/// `root`; tools can write there and to the directories `more`. `is_trusted` tells whether git may
/// run in the project.
pub(super) fn is_known_safe(
    command: &Command,
    root: &Path,
    more: &[PathBuf],
    is_trusted: impl FnOnce() -> bool,
) -> bool {
    let Some(Some(name)) = command.words.first() else {
        return false;
    };
    // The line must begin with the plain name: neither with an assignment nor with a quote.
    if !command.text.trim_start().starts_with(name) {
        return false;
    }
    let args: Option<Vec<&str>> = command.words[1..].iter().map(Option::as_deref).collect();
    // What a pattern expands to depends on the files that exist: an argument may disappear or
    // become an option.
    let args = args.filter(|_| !is_expanded(command));
    let leaves = |path: &str| leaves(path, root);
    let prints_anything = programs::PRINT_ANYTHING.contains(&name.as_str());
    let only_looks = match (name.as_str(), args.as_deref()) {
        (_, None) => prints_anything && !command.text.contains(['*', '?', '[', '~']),
        ("find", Some(args)) => programs::grammar(programs::FIND, "find")
            .is_some_and(|find| find.accepts_expression(args, &leaves)),
        ("git", Some(args)) => is_safe_git(args, &leaves) && is_trusted(),
        (name, Some(args)) => prints_anything || accepts(programs::PROGRAMS, name, args, &leaves),
    };
    let is_builtin = prints_anything || programs::BUILTINS.contains(&name.as_str());
    let roots = std::iter::once(root).chain(more.iter().map(PathBuf::as_path));
    only_looks && lookup::is_the_users((!is_builtin).then_some(name.as_str()), roots)
}

/// Returns true if bash changes a word of the command: by a variable, a pattern, a list in braces,
/// or `~`, which stands for a directory at the beginning of a word and behind `=` and `:`.
fn is_expanded(command: &Command) -> bool {
    let begins_home = |before: Option<char>| before.is_none_or(|c| "=:".contains(c));
    command.patterns.contains(&None)
        || unquoted(command)
            .any(|(before, c)| MAKES_WORDS.contains(c) || c == '~' && begins_home(before))
}

pub(super) fn is_among(name: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

fn is_safe_git(args: &[&str], leaves: &dyn Fn(&str) -> bool) -> bool {
    let is_paged = |arg: &&&str| matches!(**arg, "--no-pager" | "-P");
    let args = &args[args.iter().take_while(is_paged).count()..];
    args.split_first()
        .is_some_and(|(command, args)| accepts(programs::GIT, command, args, leaves))
}

/// Returns true if a path leads out of the workspace, as the kernel resolves it: in `link/..` the
/// link is followed first.
fn leaves(path: &str, root: &Path) -> bool {
    let Ok(own) = std::fs::canonicalize(root) else {
        return true;
    };
    let path = Path::new(path);
    let full = own.join(path);
    let there = match std::fs::canonicalize(&full) {
        Ok(there) => Some(there),
        // It can't be known where `..` leads after a name that does not exist.
        Err(_) if path.components().any(|part| part == Component::ParentDir) => None,
        Err(_) => full
            .ancestors()
            .skip(1)
            .find_map(|p| std::fs::canonicalize(p).ok()),
    };
    !there.is_some_and(|there| there.starts_with(&own))
}

/// Returns true if a command deletes without asking or makes symbolic links, or if it is a `find`
/// or `rg` that may write files or start programs.
pub(super) fn is_dangerous(command: &Command) -> bool {
    let args: Vec<&str> = command.options().skip(1).collect();
    let has_long = |name: &str| {
        args.iter()
            .any(|arg| arg.len() > 2 && name.starts_with(arg))
    };
    let has_short = |letter: char| {
        args.iter()
            .any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
    };
    match command.root() {
        "rm" => has_short('f') || has_long("--force"),
        "ln" => has_short('s') || has_long("--symbolic"),
        "find" => args.iter().any(|arg| is_among(arg, FIND_ACTS)),
        "rg" => args.iter().any(|arg| {
            let name = arg.split_once('=').map_or(*arg, |(name, _)| name);
            ["--pre", "--hostname-bin", "--search-zip", "-z"].contains(&name)
        }),
        _ => false,
    }
}
