//! Commands that are known to only look at the workspace, and commands that are known to do
//! harm: those that Gemini CLI 0.61 knows.

use gemini_tools_shell::Command;
use std::path::{Component, Path};

/// Programs that print, and read no files, whatever their arguments.
const PRINTERS: &str = "\
    echo expr false id pwd seq tr true uname which whoami";

/// Programs that read the files that they are given, and nothing else: their names, the letters of
/// options that do nothing but change how they print, which may have numbers behind them, and the
/// number of files that they take: some write to the last.
///
/// Not among the letters is what follows links out of the workspace (`grep -R`, `ls -L`), what
/// takes names of files from a file, and what goes on for ever (`tail -f`).
const READERS: [(&str, &str, usize); 15] = [
    ("base64", "diw", usize::MAX),
    ("cat", "AbeEnstTuv", usize::MAX),
    ("cut", "bcdfnsz", usize::MAX),
    ("grep", "aABbcCeEFGHhiIlLmnoPqrsTvwxyzZ", usize::MAX),
    ("head", "cnqvz", usize::MAX),
    ("ls", "1aAbBcCdfFgGhiIklmnNopqQrRsStTuUvwxXZ", usize::MAX),
    ("nl", "bdfhilnpsvw", usize::MAX),
    ("numfmt", "dz", usize::MAX),
    ("paste", "dsz", usize::MAX),
    ("rev", "", usize::MAX),
    ("stat", "cft", usize::MAX),
    ("tac", "brs", usize::MAX),
    ("tail", "cnqvz", usize::MAX),
    ("uniq", "cdDiuz", 1),
    ("wc", "clLmw", usize::MAX),
];

/// Long options of readers that do nothing but change what they print.
const READER_OPTIONS: &str = "\
    --after-context --all --almost-all --before-context --bytes --characters --chars --classify \
    --color --context --count --decode --delimiter --directory --exclude --exclude-dir --fields \
    --files-with-matches --files-without-match --fixed-strings --human-readable --ignore-case \
    --include --invert-match --line-number --line-regexp --lines --max-count --number \
    --number-nonblank --only-matching --quiet --recursive --reverse --show-all --size \
    --word-regexp --words";

/// The actions of `find` that do more than look.
const FIND_ACTS: &str = "\
    -delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir";

/// Tests and prints of `find`; others may follow links, write, or start programs.
const FIND_LOOKS: &str = "\
    -a -amin -and -atime -cmin -ctime -depth -empty -executable -false -iname -ipath -iregex -ls \
    -maxdepth -mindepth -mmin -mount -mtime -name -newer -not -o -or -path -perm -print -print0 \
    -prune -quit -regex -size -type -xdev";

/// Options of `git status`, `log`, `diff` and `show` that only change what is printed. Git takes
/// the beginnings of others for them, so that nothing but these is let pass.
const GIT_LOOKS: &str = "\
    --abbrev-commit --after --all --author --before --branch --branches --cached --color \
    --compact-summary --date --date-order --decorate --diff-filter --dirstat --first-parent \
    --follow --format --graph --grep --histogram --ignore-all-space --ignore-space-change \
    --ignored --left-right --long --max-count --merges --minimal --name-only --name-status \
    --no-color --no-merges --no-patch --numstat --oneline --patch --porcelain --pretty --raw \
    --reverse --short --shortstat --since --staged --stat --summary --until";

/// Letters of theirs.
const GIT_LETTERS: &str = "aAbCGiMnpqsSuUvwz";

/// Options of `git branch` that only list.
const BRANCH_LISTS: &str = "\
    --all --list --remotes --show-current --verbose -a -l -r -v -vv";

/// Returns true if a command, which is all of its line, only looks at what is in the workspace.
pub(super) fn is_known_safe(
    command: &Command,
    root: &Path,
    is_trusted: impl FnOnce() -> bool,
) -> bool {
    let Some(Some(name)) = command.words.first() else {
        return false;
    };
    // Not behind assignments, and not in quotes.
    if !command.text.trim_start().starts_with(name.as_str()) {
        return false;
    }
    if is_among(name, PRINTERS) {
        return true;
    }
    // Patterns mean what the disk says: nothing that is here.
    if command.text.contains(['*', '?', '[', '{', '$', '`']) {
        return false;
    }
    let args: Option<Vec<&str>> = command.words[1..].iter().map(Option::as_deref).collect();
    let Some(args) = args else {
        return false;
    };
    let args = args.as_slice();
    match name.as_str() {
        "cd" => !args.is_empty() && args.iter().all(|arg| !leaves(arg, root)),
        "find" => args.iter().all(|arg| {
            let looks = !arg.starts_with('-') || is_among(arg, FIND_LOOKS) || is_number(&arg[1..]);
            looks && !leaves(arg, root)
        }),
        "sed" => is_safe_sed(args, root),
        "git" => is_safe_git(args, root) && is_trusted(),
        name => READERS.iter().any(|(known, letters, files)| {
            *known == name && only_reads(args, letters, *files, root)
        }),
    }
}

/// Returns true if a name is in a list of names with blanks between them.
fn is_among(name: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

/// Returns true if the arguments are options that are known to do no harm, and at most `most` files
/// of the workspace.
fn only_reads(args: &[&str], known: &str, most: usize, root: &Path) -> bool {
    let mut files = 0;
    args.iter().all(|arg| {
        if arg.starts_with("--") {
            let name = arg.split_once('=').map_or(*arg, |(name, _)| name);
            return is_among(name, READER_OPTIONS);
        }
        // A dash alone is a file.
        if let Some(letters) = arg.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            return is_cluster(letters, known);
        }
        files += 1;
        files <= most && !leaves(arg, root)
    })
}

/// Returns true if these are known letters, with nothing but a number behind them.
fn is_cluster(letters: &str, known: &str) -> bool {
    let behind = letters.trim_start_matches(|c| known.contains(c));
    behind.is_empty() || is_number(behind)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns true for `sed -n 3,7p file`.
fn is_safe_sed(args: &[&str], root: &Path) -> bool {
    let is_range = |text: &str| {
        text.strip_suffix('p').is_some_and(|lines| {
            let numbers: Vec<&str> = lines.split(',').collect();
            numbers.len() <= 2 && numbers.iter().all(|n| is_number(n))
        })
    };
    match args {
        ["-n", range] => is_range(range),
        ["-n", range, file] => is_range(range) && !leaves(file, root),
        _ => false,
    }
}

/// Returns true for `git status`, `log`, `diff`, `show`, and for `branch` where it only lists.
fn is_safe_git(args: &[&str], root: &Path) -> bool {
    let Some((command, rest)) = args.split_first() else {
        return false;
    };
    let looks = |arg: &&str| {
        let name = arg.split_once('=').map_or(*arg, |(name, _)| name);
        match arg.strip_prefix('-') {
            Some(_) if arg.starts_with("--") => *arg == "--" || is_among(name, GIT_LOOKS),
            Some(letters) => is_cluster(letters, GIT_LETTERS),
            None => !leaves(arg, root),
        }
    };
    let lists = |arg: &str| is_among(arg, BRANCH_LISTS) || arg.starts_with("--format=");
    match *command {
        "status" | "log" | "diff" | "show" => rest.iter().all(looks),
        "branch" => rest.iter().all(|arg| lists(arg)),
        _ => false,
    }
}

/// Returns true if a path leads out of the workspace, as the kernel resolves it: a link before `..` counts.
fn leaves(path: &str, root: &Path) -> bool {
    let Ok(own) = std::fs::canonicalize(root) else {
        return true;
    };
    let is_home = path.starts_with('~');
    let path = Path::new(path);
    let full = own.join(path);
    let there = match std::fs::canonicalize(&full) {
        Ok(there) => Some(there),
        // What is not there can't be left again.
        Err(_) if path.components().any(|part| part == Component::ParentDir) => None,
        Err(_) => full
            .ancestors()
            .skip(1)
            .find_map(|p| std::fs::canonicalize(p).ok()),
    };
    is_home || !there.is_some_and(|there| there.starts_with(&own))
}

/// Returns true if a command deletes without asking, makes symbolic links, or lets `find` or `rg` run
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
        "find" => args.iter().any(|arg| is_among(arg, FIND_ACTS)),
        "rg" => args.iter().any(|arg| {
            let name = arg.split_once('=').map_or(*arg, |(name, _)| name);
            ["--pre", "--hostname-bin", "--search-zip", "-z"].contains(&name)
        }),
        _ => false,
    }
}
