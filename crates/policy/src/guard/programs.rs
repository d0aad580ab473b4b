//! What programs do with the files that their words name.
//!
//! A list of the programs that write files would never be complete, nor would one of their options.
//! So a word counts as a file that is written, unless the program is known to only read such words,
//! or to run code of the project, which a question about a word would not hold back.

use super::written::parts_of_code;
use crate::safe::{self, is_among};
use gemini_tools_shell::{Command, reads_git_settings};
use gemini_tools_workspace::pattern::expand_braces;

/// Programs whose operands are files that they write. If one of their words is known only when the
/// line runs, it may be any file.
const WRITERS: &str = "cp dd install ln mkdir mktemp mv patch rsync tee touch truncate unzip";

/// Programs besides [`WRITERS`] that are known to write or remove files. A script in an argument
/// that mentions one of them is searched for names of guarded files.
const SOMETIMES: &str = "\
    aria2c bsdtar bunzip2 bzip2 chmod chown cpio csplit curl ed ex gunzip gzip ptx rimraf rm rmdir scp sed sftp shred \
    shuf sort split tar unlink unxz unzstd vi vim wget xxd xz zip zstd";

/// Programs that, whatever their options, write no file that one of their words names.
const READERS: &str = "\
    . : [ actionlint alias b2sum basename bat batcat cat cd cksum cmp column comm cut date df diff dir dirname du echo egrep exit expand \
    export expr false fd fdfind fgrep file fmt fold grep hadolint head hexdump id jq kill ls md5sum nl nm numfmt objdump od \
    paste pgrep popd pr printf ps pushd pwd read readelf readlink realpath return rev rg seq set sha1sum sha224sum \
    sha256sum sha384sum sha512sum shellcheck shift size sleep source stat strings sum tac tail test tr true type \
    uname unset vdir wait wc which whoami yamllint zcat zgrep";

/// Interpreters, build tools and the like. What they write depends on the code that they run, or is
/// named by an option such as `-o`.
const RUN_CODE: &str = "\
    ant ash awk bash bazel buck2 bun bundle cargo cmake composer ctest dash deno docker docker-compose dotnet elixir \
    eslint gawk gmake go gradle gradlew java jest julia just ksh lua make mawk meson mix mvn mvnw ninja node nodejs npm npx \
    nx perl php pip pipx pnpm podman poetry pre-commit prettier pytest python rake rscript ruby ruff sbt sh sort swift tox tree \
    ts-node tsx turbo uv uvx vitest yarn yq zsh";

const WRAPPERS: &str = "builtin command env exec nice nohup setsid stdbuf sudo time timeout xargs";

/// Git commands that write no file that an operand names, at least not in the directory of the
/// project. Those that compare write the file that their option `--output` names, and those in
/// `GIT_OUTPUTS` only what `-o` and `--output` name. But those in `GIT_CHECKS_OUT` change files of
/// the working tree.
const GIT_READERS: &str = "\
    add annotate blame branch cat-file check-attr check-ignore cherry cherry-pick commit config count-objects describe \
    diff diff-files diff-index diff-tree difftool fetch for-each-ref fsck gc grep hash-object help log ls-files ls-remote \
    ls-tree merge merge-base name-rev pull push range-diff rebase reflog remote reset rev-list rev-parse revert shortlog show \
    show-branch show-ref status switch tag update-index var verify-commit verify-tag version whatchanged";

const GIT_OUTPUTS: &str = "archive format-patch";

const GIT_CHECKS_OUT: &str = "cherry-pick merge pull rebase reset revert stash switch";

const FIND_WRITES: &str = "-delete -fls -fprint -fprint0 -fprintf";

pub(super) fn is_writer(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    [WRITERS, SOMETIMES].iter().any(|list| is_among(name, list))
}

/// Returns true if a command surely writes each file that one of its operands names.
pub(super) fn is_sure(command: &Command) -> bool {
    let in_place = |word: &Option<String>| {
        word.as_ref()
            .is_none_or(|word| word.starts_with('-') && word.contains('i'))
    };
    is_among(command.root(), WRITERS)
        || command.root() == "sed" && command.patterns.iter().skip(1).any(in_place)
}

/// Returns the words of a command that may name a file that it writes. `next` is the command that
/// follows it in the analysis of the line; for a wrapper such as `env`, that is the command that it
/// runs. `moves` is true if the line changes its directory, so that `bin/rm` need not be a file of
/// the project.
pub(super) fn written<'c>(
    command: &'c Command,
    next: Option<&Command>,
    moves: bool,
) -> Vec<&'c Option<String>> {
    let root = command.root();
    // For these, the words are taken as they are written. The analysis has no pattern for the value
    // of an assignment, and the patterns of `find` are compared by `find` itself, not by bash.
    let is_literal = root.ends_with('=') || root == "find";
    let words = if is_literal {
        &command.words[..]
    } else {
        &command.patterns[..]
    };
    let is_action =
        |word: &Option<String>| word.as_ref().is_none_or(|word| is_among(word, FIND_WRITES));
    let reads = match root {
        "find" => !words.iter().any(is_action),
        root => is_among(root, READERS) || safe::only_reads(command),
    };
    if words.is_empty() || reads {
        return Vec::new();
    }
    if runs_code(command) && !edits_in_place(command) || !moves && is_of_project(command) {
        return outputs(command, true);
    }
    match root {
        "git" => return written_by_git(command),
        "gh" | "glab" => return without_texts(words),
        _ => {}
    }
    let runs = next.and_then(|next| next.words.first()?.as_ref());
    let is_run = |word: &Option<String>| runs.is_some() && word.as_ref() == runs;
    let end = words.iter().skip(1).rposition(is_run);
    let end = end.filter(|_| is_among(root, WRAPPERS));
    words[1..end.map_or(words.len(), |end| end + 1)]
        .iter()
        .collect()
}

/// Returns true if a command that else only reads writes a file that an option or a second operand
/// names, as a redirection would.
pub(crate) fn writes_by_option(command: &Command) -> bool {
    let words: Vec<&str> = command.options().collect();
    let root = command.root();
    let is_number = |at: usize| {
        let option = words[at - 1].strip_prefix('-').unwrap_or_default();
        let takes_value = match root {
            "xxd" => {
                option.starts_with(['c', 'g', 'l', 'o', 's']) && !option.contains(char::is_numeric)
            }
            _ => option.ends_with(['f', 's', 'w']),
        };
        takes_value && words[at].starts_with(|c: char| c.is_ascii_digit())
    };
    let is_operand =
        |at: &usize| (words[*at] == "-" || !words[*at].starts_with('-')) && !is_number(*at);
    let mut operands = (1..words.len()).filter(is_operand);
    match root {
        "find" => words
            .iter()
            .any(|word| *word != "-delete" && is_among(word, FIND_WRITES)),
        "iconv" | "shuf" | "sort" | "tree" => !outputs(command, true).is_empty(),
        "ptx" | "uniq" => safe::makes_words(command) || operands.count() > 1,
        // It takes no option behind its first operand.
        "xxd" => operands
            .next()
            .is_some_and(|at| safe::makes_words(command) || at + 1 < words.len()),
        "git" => match git_command(command).0 {
            Some("archive") => !outputs(command, true).is_empty(),
            Some(name) => {
                (name == "stash" || is_among(name, GIT_READERS))
                    && !outputs(command, false).is_empty()
            }
            None => false,
        },
        _ => false,
    }
}

fn unversioned(command: &Command) -> &str {
    let root = command.root();
    root.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

pub(super) fn runs_code(command: &Command) -> bool {
    is_among(unversioned(command), RUN_CODE)
}

fn edits_in_place(command: &Command) -> bool {
    let mut words = command.patterns.iter().skip(1).map(Option::as_deref);
    match unversioned(command) {
        "perl" | "ruby" | "yq" => words.any(|word| {
            word.is_none_or(|word| {
                let is_short = word.starts_with('-') && !word.starts_with("--");
                is_short && word.contains('i') || word.starts_with("--in")
            })
        }),
        "awk" | "gawk" => words.any(|word| word.is_none_or(|word| word.contains("inplace"))),
        "cmake" => words.any(|word| word.is_none_or(|word| word == "-E")),
        _ => false,
    }
}

fn is_of_project(command: &Command) -> bool {
    let name = command
        .words
        .first()
        .and_then(Option::as_deref)
        .unwrap_or_default();
    let is_below = !name.starts_with('/') && !name.split('/').any(|part| part == "..");
    name.contains('/') && is_below && !is_writer(name)
}

/// Returns true if the arguments of a program, and what it reads, are mostly texts for people.
pub(super) fn takes_prose(command: &Command) -> bool {
    ["gh", "glab"].contains(&command.root())
}

/// Returns the words that name a directory in which a program is to run: the values of its options.
/// Programs that only read are left out, since they may run anywhere.
pub(super) fn directories(command: &Command) -> Vec<&Option<String>> {
    const OPTIONS: &str = "-C --chdir --cwd --directory";
    if is_among(command.root(), READERS) {
        return Vec::new();
    }
    let words = command.options().zip(&command.patterns);
    let attached = words
        .filter(|(option, word)| option.starts_with("-C") && (option.len() > 2 || word.is_none()));
    values(command, |option| is_among(option, OPTIONS))
        .chain(attached.map(|(_, word)| word))
        .collect()
}

/// Returns the arguments without the values of options such as a title. Those are texts for people,
/// which often mention files that the command does not write.
fn without_texts(words: &[Option<String>]) -> Vec<&Option<String>> {
    const TEXTS: &str = "--body --description --jq --message --notes --title -b -m -q -t";
    let is_text =
        |pair: &&[Option<String>]| is_among(pair[0].as_deref().unwrap_or_default(), TEXTS);
    let pairs = words.windows(2).filter(|pair| !is_text(pair));
    pairs.map(|pair| &pair[1]).collect()
}

fn outputs(command: &Command, short: bool) -> Vec<&Option<String>> {
    let is_option = move |option: &str| is_output(option, short);
    // A substitution may print such an option.
    let unknown = command.unknown().replace(['"', '\'', '\\'], "");
    let is_printed = parts_of_code(&unknown).any(is_option);
    let words = command.options().zip(&command.patterns);
    let attached = words.filter(move |(option, word)| {
        let is_cluster = option.starts_with('-') && !option.starts_with("--");
        short && is_cluster && option.contains('o') || is_printed && word.is_none()
    });
    values(command, is_option)
        .chain(attached.map(|(_, word)| word))
        .collect()
}

fn values<'c>(
    command: &'c Command,
    is_option: impl Fn(&str) -> bool + Copy + 'c,
) -> impl Iterator<Item = &'c Option<String>> {
    let words = command.options().zip(&command.patterns);
    let behind = command.options().zip(command.patterns.iter().skip(1));
    let behind = behind.filter(move |(option, _)| is_option(option));
    let own = words.filter(move |(option, word)| {
        let (name, has_value) = match option.split_once('=') {
            Some((name, _)) => (name, true),
            None => (*option, word.is_none()),
        };
        has_value && option.starts_with("--") && is_option(name)
    });
    behind.chain(own).map(|(_, word)| word)
}

fn is_output(option: &str, short: bool) -> bool {
    option.starts_with("--ou")
        || option.len() > 2 && "--output".starts_with(option)
        || short && option.starts_with('-') && !option.starts_with("--") && option.ends_with('o')
}

fn written_by_git(command: &Command) -> Vec<&Option<String>> {
    let words = &command.patterns[..];
    let (name, _) = git_command(command);
    let has = |long: &str, short: char| {
        words.iter().any(|word| {
            word.as_ref()
                .is_none_or(|word| match word.strip_prefix("--") {
                    Some(rest) => !rest.is_empty() && long.starts_with(rest),
                    None => word.starts_with('-') && word.contains(short),
                })
        })
    };
    // These change the index only.
    let unstages = match name {
        Some("restore") => {
            words
                .iter()
                .flatten()
                .any(|word| word == "--staged" || word == "-S")
                && !has("worktree", 'W')
        }
        Some("rm") => words.iter().flatten().any(|word| word == "--cached"),
        _ => false,
    };
    let prints = name.is_some_and(|name| is_among(name, GIT_OUTPUTS));
    if unstages || prints || name.is_none_or(|name| is_among(name, GIT_READERS)) {
        let mut written = outputs(command, prints);
        if name.is_some_and(|name| is_among(name, GIT_CHECKS_OUT)) {
            written.extend(work_tree(command));
        }
        return written;
    }
    // As a commit, `HEAD` is in many lines. It may be a file behind `-o` or `--`, and for `mv`.
    let end = words.iter().position(|word| word.as_deref() == Some("--"));
    let is_commit = |at: usize| {
        let before = words[at - 1].as_deref().unwrap_or_default();
        let is_file = is_output(before, true) || end.is_some_and(|end| end < at);
        let is_head = words[at].as_deref().is_some_and(|word| {
            let name = word.split(':').next().unwrap_or_default();
            let last = name.rsplit('/').next().unwrap_or_default();
            last.eq_ignore_ascii_case("HEAD")
        });
        is_head && !is_file && name != Some("mv")
    };
    let written = (1..words.len()).filter(|at| !is_commit(*at));
    written.map(|at| &words[at]).collect()
}

fn work_tree(command: &Command) -> Vec<&Option<String>> {
    let mut found: Vec<_> = values(command, |option| option == "--work-tree").collect();
    if !found.is_empty() {
        found.extend(values(command, |option| option == "-C"));
    }
    found
}

fn git_command(command: &Command) -> (Option<&str>, &[Option<String>]) {
    let mut words = command.words.get(1..).unwrap_or_default();
    while let [word, rest @ ..] = words {
        words = rest;
        match word.as_deref() {
            Some("-C" | "-c" | "--attr-source" | "--git-dir" | "--namespace" | "--work-tree") => {
                words = rest.get(1..).unwrap_or_default();
            }
            Some(option) if option.starts_with('-') => {}
            name => return (name, words),
        }
    }
    (None, words)
}

pub(super) fn configures_git(command: &Command) -> bool {
    match (command.root(), git_command(command)) {
        ("git", (Some("config"), words)) => !reads_git_settings(words),
        ("git-config", _) => !reads_git_settings(&command.words[1..]),
        _ => false,
    }
}

/// Returns true if a line may make git's data of a repository in a directory of another name than
/// `.git`, or fill it from a template. git keeps a `config` and hooks that are there already, and
/// takes those of a template, and then runs what they name.
pub(super) fn makes_git_directory(commands: &[Command]) -> bool {
    const OPTIONS: [&str; 5] = [
        "--bare",
        "--git-dir",
        "--mirror",
        "--separate-git-dir",
        "--template",
    ];
    const VARIABLES: &str = "GIT_COMMON_DIR= GIT_DIR= GIT_TEMPLATE_DIR=";
    let makes = |command: &&Command| match command.root() {
        "git" => git_command(command)
            .0
            .is_some_and(|name| is_among(name, "clone init init-db")),
        name => is_among(name, "git-clone git-init git-init-db"),
    };
    let is_option = |word: &str| {
        let name = word.split('=').next().unwrap_or_default();
        name.len() > 3 && OPTIONS.iter().any(|option| option.starts_with(name))
    };
    let has_option = |command: &Command| {
        command.patterns.iter().flatten().any(|word| {
            let words = expand_braces(word);
            words.map_or(true, |words| {
                words.iter().any(|word| is_option(&word.replace('\\', "")))
            })
        })
    };
    let moves = commands
        .iter()
        .any(|command| is_among(command.root(), VARIABLES));
    commands
        .iter()
        .filter(makes)
        .any(|command| moves || has_option(command))
}
