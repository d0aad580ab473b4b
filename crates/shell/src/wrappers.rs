//! Commands that run other commands.
//!
//! A dozen wrappers, `eval`, `find -exec` and shells like bash are followed to the commands that
//! they run. Other programs whose purpose is to run programs (`RUNNERS`) are unresolved, and so are
//! the options (`starters`) and `git` commands that may start one. All other arguments are not
//! interpreted.

use super::builtins::{self, is_setting};
use super::options::{Arguments, Wrapper};
use super::starters::{self, may_get_options};
use super::words::{Word, is_among};
use super::{Walk, base, variables};

/// The wrappers that are followed, each line with what a [`Wrapper`] has. The options are those of
/// all their versions together: a program refuses an option that it does not have, so that nothing
/// runs.
const WRAPPERS: &str = "\
    env | iu:C:S:v0a: | ignore-environment null unset= chdir= split-string= block-signal? \
        default-signal? ignore-signal? list-signal-handling debug argv0= | assignments
    sudo | Aa:BbC:c:D:Eeg:Hh:iKklNnPp:R:r:SsT:t:U:u:Vv | askpass auth-type= background bell \
        close-from= login-class= chdir= preserve-env? edit group= set-home host= login \
        remove-timestamp reset-timestamp list no-update non-interactive preserve-groups prompt= \
        chroot= role= stdin shell type= command-timeout= other-user= user= validate | assignments
    nohup | |
    setsid | Vhcfw | ctty fork wait
    nice | n: | adjustment=
    time | af:o:pqvVhl | append format= output= portability quiet verbose
    timeout | fk:ps:v | foreground kill-after= preserve-status signal= verbose | operand
    stdbuf | i:o:e: | input= output= error=
    xargs | 0a:d:E:e::I:i::J:L:l::n:oP:pR:rS:s:tx | null arg-file= delimiter= eof? replace? \
        max-lines? max-args= open-tty no-run-if-empty max-chars= verbose show-limits exit \
        max-procs= interactive process-slot-var=
    command | pvV |
    builtin | |
    exec | cla: |";

fn wrapper(name: &str) -> Option<Wrapper> {
    let mut lines = WRAPPERS.lines().map(|line| line.split('|').map(str::trim));
    let mut parts = lines.find(|line| line.clone().next() == Some(name))?;
    let mut part = || parts.next().unwrap_or_default();
    let (name, short, long, before) = (part(), part(), part(), part());
    Some(Wrapper {
        name,
        short,
        long,
        operands: usize::from(before == "operand"),
        takes_assignments: before == "assignments",
    })
}

/// Programs that run others but are not followed, and shells with commands of their own (`noglob`,
/// `and`, `repeat`). A command with one of them is unresolved, unless its only arguments are
/// `--help`, `--version` or `-V`.
const RUNNERS: &str = "\
    busybox bwrap caffeinate capsh catchsegv choom chronic chroot chrt dbus-run-session doas \
    dtach dumb-init eatmydata entr fakeroot faketime firejail flock gosu hyperfine i386 ifne \
    ionice ld.so linux32 linux64 ltrace memusage nsenter numactl parallel perf pkexec prlimit \
    proot proxychains4 rlwrap run-parts runcon runuser screen script setarch setpriv sg ssh \
    ssh-agent sshpass start-stop-daemon strace su su-exec systemd-inhibit systemd-run taskset \
    tini tmux torsocks toybox tsp uclampset uname26 unbuffer unshare valgrind watch x86_64 xonsh \
    xvfb-run \
    csh fish ksh lksh mksh oksh osh pdksh tcsh yash zsh";

const LIKE_BASH: &str = "bash rbash sh dash ash hush posh";

/// Adds a command and those that it runs in turn. `words` begin with the program's name; `depth`
/// counts the wrappers around it.
pub(super) fn resolve(walk: &mut Walk<'_>, words: &[Word], text: &str, depth: usize) {
    let Some(first) = words.first() else { return };
    let is_known = !first.is_expanded && !first.written.starts_with('~');
    let Some(name) = first.value.as_deref().filter(|_| is_known) else {
        walk.unresolved(&first.written);
        walk.push(words, &first.written);
        return;
    };
    if depth > super::MAX_SCRIPTS {
        return walk.unresolved(text);
    }
    walk.push(words, text);
    if walk.budget.exceeded().is_some() {
        return;
    }
    let (rest, program) = (&words[1..], program(name));
    builtins::resolve(walk, name, rest, text);
    if starters::starts_another(program, rest) {
        walk.unresolved(text);
    }
    match program {
        "eval" => run_text(walk, without_dashes(rest)),
        "trap" => run_script(walk, without_dashes(rest).first()),
        "source" | "." => run_file(walk, rest, text),
        "find" => run_by_find(walk, rest, text, depth),
        "git" if git_runs_others(rest) => walk.unresolved(text),
        "fd" | "fdfind" if rest.iter().any(may_start_programs) => walk.unresolved(text),
        shell if is_among(shell, LIKE_BASH) => run_by_shell(walk, rest, text),
        name if is_among(name, RUNNERS) && !asks_for_help(rest) => walk.unresolved(text),
        name => {
            if let Some(wrapper) = wrapper(name) {
                run_wrapped(walk, &wrapper, rest, text, depth);
            }
        }
    }
}

fn run(walk: &mut Walk<'_>, words: &[Word], depth: usize) {
    resolve(walk, words, &joined(words), depth + 1);
}

fn has_letter(word: &Word, letters: &[char]) -> bool {
    let cluster = word
        .option()
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'));
    cluster.is_some_and(|cluster| cluster.contains(letters) || word.may_go_on())
}

fn may_start_programs(word: &Word) -> bool {
    has_letter(word, &['x', 'X']) || word.is_input || word.value.is_none() && !word.is_single
}

fn asks_for_help(rest: &[Word]) -> bool {
    let is_help = |word: &Word| word.is_one_of(&["--help", "--version", "-V"]);
    !rest.is_empty() && rest.iter().all(is_help)
}

fn program(name: &str) -> &str {
    let name = base(name);
    match name {
        loader if loader.starts_with("ld-linux") || loader.starts_with("ld-musl-") => "ld.so",
        name => shell_named(name).unwrap_or(name),
    }
}

fn shell_named(name: &str) -> Option<&str> {
    let name = name.strip_suffix("-static").unwrap_or(name);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let restricted = name.strip_prefix('r').into_iter();
    let is_shell = |name: &&str| is_among(name, LIKE_BASH) || is_among(name, RUNNERS);
    std::iter::once(name).chain(restricted).find(is_shell)
}

/// Returns `words` with unknown values for those that hold `mark`, such as the `{}` of `find` and
/// `xargs`. A mark within a longer word counts only if it is part of the program's name, or if the
/// program runs scripts; other programs get it as data.
fn with_unknown(words: &[Word], mark: &str) -> Vec<Word> {
    let runs_scripts = words.first().is_some_and(|first| {
        first.value.as_deref().is_none_or(|name| {
            let name = program(name);
            wrapper(name).is_some()
                || [LIKE_BASH, RUNNERS, "eval fd fdfind find git"]
                    .iter()
                    .any(|list| is_among(name, list))
        })
    });
    let with_unknown = |(i, word): (usize, &Word)| {
        let is_unknown =
            |value: &String| value == mark || (i == 0 || runs_scripts) && value.contains(mark);
        match &word.value {
            Some(value) if is_unknown(value) => Word {
                value: None,
                pattern: None,
                ..word.clone()
            },
            _ => word.clone(),
        }
    };
    words.iter().enumerate().map(with_unknown).collect()
}

/// Returns true if an unknown argument of `find` may expand to `-exec` and a command. One that
/// expands to exactly one word is harmless before an option or at the end, because then no command
/// follows it.
fn may_hide_actions(rest: &[Word]) -> bool {
    rest.iter().enumerate().any(|(i, word)| {
        if word.value.is_none() {
            let next = rest.get(i + 1);
            let is_harmless =
                next.is_none_or(|next| next.value.is_some() && next.known.starts_with('-'));
            return !(word.is_single && is_harmless);
        }
        let begins_freely = word.written.starts_with(['*', '?', '[', '{']) && !word.is("{}");
        let is_free = begins_freely && !word.written.contains(['.', '/']);
        word.is_expanded && (is_free || word.written.starts_with('-'))
    })
}

fn run_by_find(walk: &mut Walk<'_>, rest: &[Word], text: &str, depth: usize) {
    if may_hide_actions(rest) {
        walk.unresolved(text);
    }
    let is = |i: usize, value: &str| rest.get(i).is_some_and(|w| w.is(value));
    let is_action = |i: &usize| rest[*i].is_one_of(&["-exec", "-execdir", "-ok", "-okdir"]);
    for start in (0..rest.len()).filter(is_action) {
        // `+` ends the command only directly behind `{}`. Elsewhere it is an argument.
        let ends = |end: &usize| is(*end, ";") || (is(*end, "+") && is(end - 1, "{}"));
        let end = (start + 1..rest.len()).find(ends).unwrap_or(rest.len());
        if walk.budget.take(end - start, 0).is_none() {
            return;
        }
        run(walk, &with_unknown(&rest[start + 1..end], "{}"), depth);
    }
}

/// Returns the command of `xargs` with unknown words for its input, or `None` if their place can't
/// be known.
fn with_input(arguments: &Arguments<'_>) -> Option<Vec<Word>> {
    let is_mark = |(name, _): &&(String, _)| ["I", "i", "J", "replace"].contains(&name.as_str());
    if let Some((name, mark)) = arguments.options.iter().rfind(is_mark) {
        let by_default = || matches!(name.as_str(), "i" | "replace").then(|| "{}".to_owned());
        let mark = mark.clone().or_else(by_default)?;
        let mut words = with_unknown(arguments.command, &mark);
        for word in words.iter_mut().skip(1) {
            // The input may be an option, or the rest of one.
            let known = word.known.split_once(&mark).map(|(known, _)| known);
            if let Some(known) = known.filter(|known| known.is_empty() || known.starts_with('-')) {
                word.is_input = known.is_empty();
                (word.value, word.pattern, word.known) = (None, None, known.to_owned());
            }
        }
        return Some(words);
    }
    let mut words = arguments.command.to_vec();
    if !words.is_empty() {
        let is_one = |(name, value): &(String, Option<String>)| {
            matches!(name.as_str(), "n" | "max-args") && value.as_deref() == Some("1")
        };
        let count = if arguments.options.iter().any(is_one) {
            1
        } else {
            2
        };
        let input = Word {
            is_input: true,
            ..Word::default()
        };
        words.resize(words.len() + count, input);
    }
    Some(words)
}

fn run_wrapped(walk: &mut Walk<'_>, wrapper: &Wrapper, rest: &[Word], text: &str, depth: usize) {
    let arguments = Arguments::parse(rest, wrapper);
    // `env -S` splits its value by rules of its own, with escapes that are not understood here.
    let is_split =
        |arguments: &Arguments<'_>| wrapper.name == "env" && arguments.has(&["S", "split-string"]);
    let Some(arguments) = arguments.filter(|arguments| !is_split(arguments)) else {
        return walk.unresolved(text);
    };
    // A program may do another one's work under its name: git does under that of any of its parts.
    if matches!(wrapper.name, "env" | "exec") && arguments.has(&["a", "argv0"]) {
        walk.unresolved(text);
    }
    let mut options = arguments.options.iter();
    if let Some((_, variable)) = options.rfind(|(name, _)| name == "process-slot-var") {
        match variable {
            Some(variable) => variables::assign(walk, variable, None, text),
            None => walk.unresolved(text),
        }
    }
    for word in &arguments.assignments {
        let (name, value) = word.known.split_once('=').unwrap_or_default();
        let value = word.value.as_ref().map(|_| value);
        variables::assign(walk, name, value, &word.written);
    }
    match (wrapper.name, arguments.command) {
        ("xargs", _) => match with_input(&arguments) {
            Some(words) => run(walk, &words, depth),
            None => walk.unresolved(text),
        },
        // `command -v` and `command -V` only describe the command, and do not run it.
        ("command", _) if arguments.has(&["v", "V"]) => {}
        // With options only, as in `sudo -s`, `sudo` may start a shell with unknown input.
        ("sudo", []) if !rest.is_empty() => walk.unresolved(text),
        (_, words) => run(walk, words, depth),
    }
}

fn joined(words: &[Word]) -> String {
    let texts = words.iter().map(|w| w.written.as_str());
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join(" ")
}

fn without_dashes(words: &[Word]) -> &[Word] {
    match words {
        [dashes, rest @ ..] if dashes.is("--") => rest,
        words => words,
    }
}

fn run_text(walk: &mut Walk<'_>, words: &[Word]) {
    let values: Option<Vec<&str>> = words.iter().map(|w| w.value.as_deref()).collect();
    match values.map(|values| values.join(" ")) {
        Some(script) => walk.nested(&script),
        None => walk.unresolved(&joined(words)),
    }
}

fn run_script(walk: &mut Walk<'_>, word: Option<&Word>) {
    match word.map(|word| word.value.as_deref().ok_or(word)) {
        None | Some(Ok("" | "-" | "-l" | "-p")) => {}
        Some(Ok(script)) => walk.nested(script),
        Some(Err(word)) => walk.unresolved(&word.written),
    }
}

fn run_by_shell(walk: &mut Walk<'_>, rest: &[Word], text: &str) {
    let mut words = rest;
    let mut takes_script = false;
    while let [word, behind @ ..] = words {
        let Some(flags) = word
            .value
            .as_deref()
            .and_then(|value| value.strip_prefix('-'))
        else {
            break;
        };
        words = behind;
        if matches!(flags, "" | "-") {
            break;
        }
        if is_among(flags, "-help -login -noprofile -norc -posix -version") {
            continue;
        }
        let name = flags.ends_with('o').then(|| behind.first()).flatten();
        if name.is_some() {
            words = &behind[1..];
        }
        takes_script |= flags.contains('c');
        if !is_setting(&flags.replace(['c', 'i', 'l', 'n'], ""), name) {
            return walk.unresolved(text);
        }
    }
    if words
        .first()
        .is_some_and(|word| word.is_expanded || word.known.starts_with('+'))
    {
        walk.unresolved(text);
    } else if takes_script {
        run_script(walk, words.first());
    } else if !asks_for_help(rest) {
        run_file(walk, words, text);
    }
}

/// Marks `source FILE` as unresolved if the file is standard input, a device or an unknown name. A
/// file on the disk counts as a program.
fn run_file(walk: &mut Walk<'_>, words: &[Word], text: &str) {
    let is_file = |word: &Word| {
        let file = word.value.as_deref().unwrap_or("-");
        let is_input = ["/dev", "/proc", "fd/"]
            .iter()
            .any(|part| file.contains(part));
        !is_input && !word.is_expanded && !matches!(base(file), "stdin" | "-")
    };
    if !words.first().is_some_and(is_file) {
        walk.unresolved(text);
    }
}

const PLAIN_SETTINGS: &str = "\
    advice. color. commit.gpgsign=false core.abbrev core.autocrlf core.filemode core.pager=cat \
    core.quotepath diff.renames fetch.prune i18n. init.defaultbranch log.showsignature=false \
    protocol.version safe.directory user.";

/// Options of `git` itself, before its command, that neither set a configuration value nor name the
/// directory of git's programs. Options that are not listed may do that, such as `--config-env` or
/// one that a later version adds. `--exec-path` is listed because without a value it only prints
/// that directory.
const PLAIN_OPTIONS: &str = "\
    -P -h -p -v --attr-source --bare --exec-path --git-dir --glob-pathspecs --help --html-path \
    --icase-pathspecs --info-path --literal-pathspecs --man-path --namespace --no-advice \
    --no-lazy-fetch --no-optional-locks --no-pager --no-replace-objects --noglob-pathspecs \
    --paginate --version --work-tree";

fn is_plain_setting(setting: &str) -> bool {
    let setting = setting.to_lowercase();
    let mut plain = PLAIN_SETTINGS
        .split(' ')
        .filter_map(|plain| Some((plain, setting.strip_prefix(plain)?)));
    plain.any(|(plain, rest)| plain.ends_with('.') || rest.is_empty() || rest.starts_with('='))
}

/// Returns true if this `git` command may start a program that is not part of git.
fn git_runs_others(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    let command = loop {
        let Some(word) = words.next() else {
            return false;
        };
        match word.value.as_deref() {
            None => return true,
            Some("-c") => {
                let setting = words.next().and_then(|word| word.value.as_deref());
                if !setting.is_some_and(is_plain_setting) {
                    return true;
                }
            }
            Some("-C" | "--git-dir" | "--work-tree" | "--namespace" | "--attr-source") => {
                words.next();
            }
            Some(option) if option.starts_with('-') => {
                let name = option.split('=').next().unwrap_or_default();
                if !is_among(name, PLAIN_OPTIONS) || option.starts_with("--exec-path=") {
                    return true;
                }
            }
            Some(command) => break command,
        }
    };
    let rest = words.as_slice();
    if !is_among(command, PLAIN_COMMANDS) {
        let Some((_, subcommands)) = WITH_SUBCOMMANDS.iter().find(|(name, _)| *name == command)
        else {
            return true;
        };
        let subcommand = rest.iter().find(|word| !word.known.starts_with('-'));
        let is_plain = |word: &Word| {
            let name = word.value.as_deref();
            name.is_some_and(|name| is_among(name, subcommands))
        };
        return !subcommand.is_none_or(is_plain);
    }
    let letters: &[char] = match command {
        "config" => return !is_plain_config(rest),
        // `-s x/y` may run `./git-merge-x/y`.
        "merge" | "pull" => &['s'],
        "rebase" => &['s', 'x'],
        "clone" => &['c', 'u'],
        "grep" => &['O'],
        _ => &[],
    };
    let is_open = is_among(command, WITH_STARTING_OPTIONS) && may_get_options(rest);
    let has_letters = |word| !letters.is_empty() && has_letter(word, letters);
    is_open || rest.iter().any(has_letters)
}

/// The commands of git that start no program but those of its configuration, hooks and attributes,
/// and with one of the options in `starters`. Any other command may be an alias, or a file: `git
/// x/y` runs `./git-x/y`.
const PLAIN_COMMANDS: &str = "\
    add am annotate apply archive blame branch bundle cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone commit \
    commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree \
    fast-export fetch for-each-ref format-patch fsck gc grep hash-object help init \
    interpret-trailers lfs log ls-files ls-remote ls-tree maintenance merge merge-base merge-file \
    merge-tree mktag mktree mv name-rev notes pack-refs patch-id prune pull push range-diff \
    read-tree rebase reflog remote repack replace request-pull rerere reset restore rev-list \
    rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash status \
    stripspace switch symbolic-ref tag unpack-objects update-index update-ref var verify-commit \
    verify-pack verify-tag version whatchanged worktree write-tree";

/// Git commands of which only some subcommands may start a program, each with the subcommands that
/// start none.
const WITH_SUBCOMMANDS: [(&str, &str); 2] = [
    (
        "bisect",
        "bad good help log new next old reset skip start terms",
    ),
    (
        "submodule",
        "absorbgitdirs add deinit init set-branch set-url status summary sync update",
    ),
];

const WITH_STARTING_OPTIONS: &str = "\
    archive cherry-pick clone fetch grep init lfs ls-remote merge pull push rebase revert";

fn is_plain_config(rest: &[Word]) -> bool {
    const SCOPES: [&str; 4] = ["--global", "--local", "--system", "--worktree"];
    let words: Vec<Option<String>> = rest.iter().map(|word| word.value.clone()).collect();
    let values: Option<Vec<&str>> = words.iter().map(Option::as_deref).collect();
    let Some(values) = values else {
        return false;
    };
    if reads_git_settings(&words) {
        return true;
    }
    let scopes = values.iter().take_while(|word| SCOPES.contains(word));
    match &values[scopes.count()..] {
        [
            "set" | "unset" | "--add" | "--replace-all" | "--unset" | "--unset-all",
            rest @ ..,
        ]
        | rest => match rest {
            [key] => is_plain_setting(key),
            [key, value, ..] => is_plain_setting(&format!("{key}={value}")),
            [] => true,
        },
    }
}

/// Returns true if these arguments of `git config` surely only read. An option that is not listed
/// may write, also one that is abbreviated.
pub fn reads_git_settings(words: &[Option<String>]) -> bool {
    const READ: &str = "\
        --get --get-all --get-color --get-colorbool --get-regexp --get-urlmatch --list -l";
    const FLAGS: &str = "\
        --bool --bool-or-int --expiry-date --fixed-value --global --includes --int --local --name-only --no-includes \
        --null --path --show-origin --show-scope --system --worktree -z";
    const WITH_VALUE: &str = "--blob --default --file --type -f -t";
    let first = words.first().and_then(Option::as_deref);
    if matches!(first, Some("get" | "list")) {
        return true;
    }
    let edits = words.iter().flatten().any(|word| word == "edit");
    let (mut operands, mut reads) = (0, false);
    let mut words = words.iter().map(Option::as_deref);
    while let Some(word) = words.next() {
        let option = word.filter(|word| word.starts_with('-'));
        let Some(option) = option else {
            operands += if word.is_some() { 1 } else { 2 };
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if is_among(name, READ) {
            reads = true;
        } else if is_among(name, WITH_VALUE) {
            // A value that is known only when the line runs may be several words.
            if value.is_none() && words.next().flatten().is_none() {
                return false;
            }
        } else if !is_among(name, FLAGS) {
            return false;
        }
    }
    reads || operands < 2 && !edits
}
