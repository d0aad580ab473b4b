//! Commands that run other commands.
//!
//! A dozen wrappers are followed. Other programs that are there to run programs (`RUNNERS`) make a
//! line unresolved. What a program of any other name does with its words is not looked into.

use super::builtins::OPTIONS;
use super::options::{Grammar, Parsed, parse};
use super::words::{Word, is_among};
use super::{Input, Walk, base};

/// Variables that change nothing but what programs print, or how fast, and those that bash sets for
/// scripts.
const HARMLESS_VARIABLES: &str = "\
    CARGO_INCREMENTAL CARGO_TERM_COLOR CI CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS \
    DEBIAN_FRONTEND DO_NOT_TRACK FORCE_COLOR GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME \
    GIT_COMMITTER_DATE GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME GIT_TERMINAL_PROMPT HOSTNAME LANG \
    LANGUAGE LINES LOGNAME NODE_ENV NODE_NO_WARNINGS NO_COLOR OMP_NUM_THREADS OPTARG OPTIND \
    PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUNBUFFERED PYTHONUTF8 RANDOM \
    REPLY RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS SECONDS SOURCE_DATE_EPOCH TERM TZ USER";

/// Variables by which bash itself reads or finds something else, but for those that begin with
/// `BASH`.
const READ_BY_BASH: &str = "\
    CDPATH ENV EXECIGNORE FCEDIT GLOBIGNORE HISTFILE HOME IFS INPUTRC OLDPWD POSIXLY_CORRECT \
    PROMPT_COMMAND PS0 PS1 PS2 PS4 PWD SHELLOPTS";

/// Returns true if bash reads or finds something else by a variable.
pub(super) fn is_read_by_bash(name: &str) -> bool {
    name.starts_with("BASH") || is_among(name, READ_BY_BASH)
}

/// Returns true if no program starts others by a variable. Names in lower case are a script's own, but for
/// those of proxies and of the package managers of Node.js.
fn is_harmless(name: &str) -> bool {
    let is_own = |name: &str| {
        !name.contains(|c: char| c.is_ascii_uppercase())
            && !name.ends_with("_proxy")
            && !["npm_", "pnpm_", "yarn_"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    is_among(name, HARMLESS_VARIABLES) || name.starts_with("LC_") || is_own(name)
}

/// Adds the meaning of an assignment. A variable by which programs may start others is a command of its
/// own, `PATH=`, which no rule that allows a program allows.
pub(super) fn assign(walk: &mut Walk<'_>, name: &str, value: Option<&str>, text: &str) {
    if is_read_by_bash(name) {
        walk.unresolved(text);
    } else if !is_harmless(name) {
        let words = vec![Some(format!("{name}=")), value.map(str::to_owned)];
        let unknown = if value.is_none() { text } else { "" };
        walk.push(words, unknown.to_owned(), text, usize::MAX, true);
    }
}

/// Returns true if a program is known to run others, or to be a shell.
pub(super) fn is_known(name: &str) -> bool {
    let program = program(name);
    wrapper_named(program).is_some()
        || is_among(program, RUNNERS)
        || SHELLS.contains(&program)
        || matches!(program, "fd" | "fdfind" | "find" | "git")
}

/// A command that runs its arguments, with the grammar of its options.
struct Wrapper {
    name: &'static str,
    grammar: Grammar,
}

const fn wrapper(name: &'static str, short: &'static str, long: &'static str) -> Wrapper {
    let grammar = Grammar {
        short,
        long,
        operands: 0,
        assignments: false,
    };
    Wrapper { name, grammar }
}

impl Wrapper {
    const fn with_operand(mut self) -> Self {
        self.grammar.operands = 1;
        self
    }

    const fn with_assignments(mut self) -> Self {
        self.grammar.assignments = true;
        self
    }
}

/// The wrappers that are followed. Where versions differ, all of their options: what one does not know, it refuses.
const WRAPPERS: [Wrapper; 12] = [
    wrapper(
        "env",
        "-iu:C:S:v0a:",
        "ignore-environment null unset= chdir= split-string= block-signal=? default-signal=? \
         ignore-signal=? list-signal-handling debug argv0=",
    )
    .with_assignments(),
    wrapper(
        "sudo",
        "Aa:BbC:c:D:Eeg:Hh:iKklNnPp:R:r:SsT:t:U:u:Vv",
        "askpass auth-type= background bell close-from= login-class= chdir= preserve-env=? \
         edit group= set-home host= login remove-timestamp reset-timestamp list no-update \
         non-interactive preserve-groups prompt= chroot= role= stdin shell type= \
         command-timeout= other-user= user= validate",
    )
    .with_assignments(),
    wrapper("nohup", "", ""),
    wrapper("setsid", "Vhcfw", "ctty fork wait"),
    wrapper("nice", "#n:", "adjustment="),
    wrapper(
        "time",
        "af:o:pqvVhl",
        "append format= output= portability quiet verbose",
    ),
    wrapper(
        "timeout",
        "fk:ps:v",
        "foreground kill-after= preserve-status signal= verbose",
    )
    .with_operand(),
    wrapper("stdbuf", "i:o:e:", "input= output= error="),
    wrapper(
        "xargs",
        "0a:d:E:e::I:i::J:L:l::n:oP:pR:rS:s:tx",
        "null arg-file= delimiter= eof=? replace=? max-lines=? max-args= open-tty \
         no-run-if-empty max-chars= verbose show-limits exit max-procs= interactive \
         process-slot-var=",
    ),
    wrapper("command", "pvV", ""),
    wrapper("builtin", "", ""),
    wrapper("exec", "cla:", ""),
];

/// Programs that are there to run others, which are not followed. A line with one of them is never
/// known whole.
const RUNNERS: &str = "\
    bwrap busybox caffeinate capsh catchsegv choom chronic chroot chrt dbus-run-session \
    doas dumb-init eatmydata entr fakeroot faketime firejail flock i386 ifne ionice ld.so \
    linux32 linux64 ltrace memusage nsenter numactl parallel perf pkexec prlimit proot \
    proxychains4 runuser script setarch setpriv ssh strace su systemd-inhibit systemd-run taskset tini torsocks \
    toybox tsp uclampset uname26 unbuffer unshare valgrind watch x86_64 xvfb-run xonsh";

/// Options of many programs whose value is a command.
const RUN_BY_OPTION: &str = "\
    --cc-cmd --checkpoint-action --compress-program --diff-program --header-cmd \
    --open-files-in-pager --pager --post-invoke --pre-invoke --receive-pack --rsh --sendmail-cmd \
    --smtp-server --strip-program --to-cmd --to-command --upload-pack --use-compress-program";

const SHELLS: [&str; 19] = [
    "bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "hush", "lksh", "oksh",
    "osh", "pdksh", "posh", "yash", "csh", "tcsh", "ksh93",
];

/// The mark of words that a command gets from its input.
const INPUT: &str = "<input>";

/// Adds a command and what it runs. `words` begin with its name.
pub(super) fn resolve(walk: &mut Walk<'_>, words: &[Word], text: &str, input: &Input, at: usize) {
    let call = Call {
        text,
        input,
        at,
        is_direct: false,
        depth: 0,
    };
    resolve_command(walk, words, call);
}

/// The circumstances of a command.
#[derive(Clone, Copy)]
struct Call<'c> {
    text: &'c str,
    input: &'c Input,
    at: usize,
    /// True if a function of this name is passed over.
    is_direct: bool,
    /// The number of wrappers around it.
    depth: usize,
}

fn resolve_command(walk: &mut Walk<'_>, words: &[Word], call: Call<'_>) {
    let Call {
        text,
        at,
        is_direct,
        depth,
        ..
    } = call;
    let Some(first) = words.first() else { return };
    let values: Vec<Option<String>> = words.iter().map(|w| w.value.clone()).collect();
    let unknown = words.iter().filter(|w| w.value.is_none());
    let unknown: Vec<&str> = unknown.map(|w| w.written.as_str()).collect();
    let unknown = unknown.join(" ");
    let is_known = !first.is_expanded && !first.text.starts_with('~');
    let Some(name) = first.value.as_deref().filter(|_| is_known) else {
        walk.unresolved(&first.written);
        walk.push(values, unknown, &first.written, at, is_direct);
        return;
    };
    if depth > super::MAX_SCRIPTS {
        return walk.unresolved(text);
    }
    walk.push(values, unknown, text, at, is_direct);
    if walk.budget.exceeded().is_some() {
        return;
    }
    let rest = &words[1..];
    super::builtins::resolve(walk, name, rest, text);
    if rest.iter().any(|word| names_program(program(name), word)) {
        walk.unresolved(text);
    }
    match program(name) {
        shell if SHELLS.contains(&shell) => run_shell(walk, shell, rest, call),
        "eval" => run_text(walk, without_dashes(rest), at),
        "trap" => run_first(walk, rest, at, true),
        "source" | "." => run_script_or_input(walk, rest, call),
        "alias" if expands_aliases(walk) && rest.iter().any(|w| w.text.contains(['=', '$'])) => {
            walk.unresolved(text);
        }
        "find" => resolve_find(walk, rest, call),
        "git" if git_runs_others(rest) => walk.unresolved(text),
        "fd" | "fdfind" if rest.iter().any(starts_programs) => walk.unresolved(text),
        "unset" => walk.analysis.forgets_functions = true,
        name if is_among(name, RUNNERS) && !asks_for_help(rest) => walk.unresolved(text),
        name => {
            if let Some(wrapper) = wrapper_named(name) {
                run_wrapped(walk, wrapper, rest, call);
            }
        }
    }
}

/// Resolves the command that another one runs.
fn run(walk: &mut Walk<'_>, words: &[Word], call: Call<'_>) {
    let text = joined(words);
    let depth = call.depth + 1;
    resolve_command(
        walk,
        words,
        Call {
            text: &text,
            is_direct: true,
            depth,
            ..call
        },
    );
}

fn is_one_of(word: &Word, values: &[&str]) -> bool {
    word.value
        .as_deref()
        .is_some_and(|value| values.contains(&value))
}

/// Returns true if a word of `fd` may be an option by which it starts programs.
fn starts_programs(word: &Word) -> bool {
    let is_long = |name: &str| {
        name.len() > 2 && "--exec-batch".starts_with(name.split('=').next().unwrap_or_default())
    };
    let known = &word.if_empty;
    match known.strip_prefix('-') {
        Some(long) if long.starts_with('-') => is_long(known),
        Some(letters) => letters.contains(['x', 'X']) || word.value.is_none(),
        None => word.value.is_none() && !word.is_single,
    }
}

/// Returns true if a word is an option whose value is a command. Some programs take the beginnings of
/// names, too.
fn names_program(program: &str, word: &Word) -> bool {
    let known = word.if_empty.as_str();
    let name = known.split_once('=').map_or(known, |(name, _)| name);
    let shortened: &[&str] = match program {
        "diff3" | "sdiff" => &["--diff-program"],
        "git" => &[
            "--extcmd",
            "--open-files-in-pager",
            "--receive-pack",
            "--upload-pack",
        ],
        "install" => &["--strip-program"],
        "sort" => &["--compress-program"],
        "tar" => &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
        ],
        _ => &[],
    };
    is_among(name, RUN_BY_OPTION)
        || name.len() > 2 && shortened.iter().any(|option| option.starts_with(name))
}

/// Returns true if a program only tells how it is used.
fn asks_for_help(rest: &[Word]) -> bool {
    let is_help =
        |word: &Word| matches!(word.value.as_deref(), Some("--help" | "--version" | "-V"));
    !rest.is_empty() && rest.iter().all(is_help)
}

fn wrapper_named(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|w| w.name == name)
}

/// Returns the name by which a program is known here.
fn program(name: &str) -> &str {
    let name = base(name);
    match name {
        // The GNU programs where the system has others.
        "genv" | "gnice" | "gnohup" | "gtimeout" | "gstdbuf" | "gchroot" | "gxargs" | "gfind"
        | "gtime" => &name[1..],
        loader if loader.starts_with("ld-linux") || loader.starts_with("ld-musl-") => "ld.so",
        name => shell_named(name).unwrap_or(name),
    }
}

/// Returns the shell of a name that may have a version, or say that it is restricted.
fn shell_named(name: &str) -> Option<&str> {
    let name = name.strip_suffix("-static").unwrap_or(name);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let of_all = |name: &&str| SHELLS.contains(name);
    Some(name)
        .filter(of_all)
        .or_else(|| name.strip_prefix('r').filter(of_all))
}

/// Returns true if names may stand for others by `alias`.
fn expands_aliases(walk: &Walk<'_>) -> bool {
    // Shells other than bash do so in scripts too.
    walk.position.is_other_shell
        || ["expand_aliases", "posix"]
            .iter()
            .any(|s| walk.source.contains(s))
}

/// Returns true if a program runs a text that is among its words, so that what is put into the text
/// becomes a part of a script.
fn runs_scripts(first: &Word) -> bool {
    let runs = |name: &str| is_known(name) || name == "eval";
    first.value.as_deref().is_none_or(runs)
}

/// Returns the words of a command of `find` with the names of files, which are not known, for `{}`.
fn with_files(words: &[Word]) -> Vec<Word> {
    let runs_scripts = words.first().is_some_and(runs_scripts);
    let with_file = |(i, word): (usize, &Word)| {
        let is_known =
            |value: &String| value != "{}" && !((i == 0 || runs_scripts) && value.contains("{}"));
        Word {
            value: word.value.clone().filter(is_known),
            ..word.clone()
        }
    };
    words.iter().enumerate().map(with_file).collect()
}

/// Returns true if a word that is not known may be `-exec` with a command behind it. One word in quotes
/// does no harm before an option or at the end: what follows it is not a command then.
fn may_hide_actions(rest: &[Word]) -> bool {
    rest.iter().enumerate().any(|(i, word)| {
        let next = rest.get(i + 1).and_then(|word| word.value.as_deref());
        if word.value.is_none() {
            let is_last = i + 1 == rest.len();
            return !(word.is_single
                && (is_last || next.is_some_and(|next| next.starts_with('-'))));
        }
        let begins_freely = word.text.starts_with(['*', '?', '[', '{']) && word.text != "{}";
        let is_free = begins_freely && !word.text.contains(['.', '/']);
        word.is_expanded && (is_free || word.text.starts_with('-'))
    })
}

/// Adds what `find` runs for the files that it finds.
fn resolve_find(walk: &mut Walk<'_>, rest: &[Word], call: Call<'_>) {
    if may_hide_actions(rest) {
        walk.unresolved(call.text);
    }
    let is = |i: usize, value: &str| rest.get(i).is_some_and(|w| is_one_of(w, &[value]));
    let starts =
        (0..rest.len()).filter(|i| is_one_of(&rest[*i], &["-exec", "-execdir", "-ok", "-okdir"]));
    for start in starts {
        // A plus elsewhere is an argument like others.
        let ends = |end: &usize| is(*end, ";") || (is(*end, "+") && is(end - 1, "{}"));
        let end = (start + 1..rest.len()).find(ends).unwrap_or(rest.len());
        if walk.budget.take(end - start, 0).is_none() {
            return;
        }
        run(walk, &with_files(&rest[start + 1..end]), call);
    }
}

/// Returns a command with the words that `xargs` takes from its input.
fn with_input(parsed: &Parsed<'_>) -> Vec<Word> {
    let mut words = parsed.rest.to_vec();
    let marks = ["I", "i", "J", "replace"];
    if parsed.has(&marks) {
        let mark = parsed.values(&marks).last();
        let mark = mark.and_then(|w| w.value.as_deref()).unwrap_or("{}");
        let is_started = words.first().is_some_and(runs_scripts);
        for (i, word) in words.iter_mut().enumerate() {
            // In a name, and in a script, which would be another one with it.
            let is_input = |v: &String| v == mark || v.contains(mark) && (i == 0 || is_started);
            word.value = word.value.take().filter(|value| !is_input(value));
        }
    } else if !words.is_empty() {
        words.push(Word::unknown(INPUT.to_owned(), INPUT.to_owned()));
    }
    words
}

fn run_wrapped(walk: &mut Walk<'_>, wrapper: &Wrapper, rest: &[Word], call: Call<'_>) {
    let parsed = parse(rest, &wrapper.grammar);
    // What `env -S` splits has escapes of its own.
    let is_split = wrapper.name == "env" && parsed.has(&["S", "split-string"]);
    if parsed.is_unsure || is_split {
        walk.unresolved(call.text);
    }
    for assignment in &parsed.assignments {
        let name = assignment.known.split('=').next().unwrap_or_default();
        let value = assignment
            .value
            .as_deref()
            .and_then(|value| value.split_once('='));
        assign(walk, name, value.map(|(_, value)| value), &assignment.text);
    }
    match (wrapper.name, parsed.rest) {
        ("xargs", _) => run(walk, &with_input(&parsed), call),
        // These only say where a command is.
        ("command", _) if parsed.has(&["v", "V"]) => {}
        ("sudo", []) if parsed.has(&["s", "i", "shell", "login"]) => walk.unresolved(call.text),
        (_, []) => {}
        (_, words) => run(walk, words, call),
    }
}

fn joined(words: &[Word]) -> String {
    let texts = words.iter().map(|w| w.written.as_str());
    texts
        .filter(|text| *text != INPUT)
        .collect::<Vec<_>>()
        .join(" ")
}

fn without_dashes(words: &[Word]) -> &[Word] {
    match words {
        [dashes, rest @ ..] if dashes.value.as_deref() == Some("--") => rest,
        words => words,
    }
}

/// Adds the words as one script, as `eval` joins them.
fn run_text(walk: &mut Walk<'_>, words: &[Word], at: usize) {
    let values: Option<Vec<&str>> = words.iter().map(|w| w.value.as_deref()).collect();
    match values.map(|values| values.join(" ")) {
        Some(script) => walk.inner(&script, at),
        None => walk.unresolved(&joined(words)),
    }
}

/// Adds the first word as a script, for this shell or for another.
fn run_first(walk: &mut Walk<'_>, words: &[Word], at: usize, is_ours: bool) {
    let first = words.iter().find(|w| w.value.as_deref() != Some("--"));
    match first.map(|w| (w, w.value.as_deref())) {
        None | Some((_, Some("" | "-" | "-l" | "-p"))) => {}
        Some((_, Some(script))) if is_ours => walk.inner(script, at),
        Some((_, Some(script))) => walk.in_subshell(script, at),
        Some((word, None)) => walk.unresolved(&word.written),
    }
}

/// Adds what a shell runs.
fn run_shell(walk: &mut Walk<'_>, shell: &str, rest: &[Word], call: Call<'_>) {
    // Other shells have words of their own that run others (`noglob`, `and`, `repeat`).
    if !is_among(shell, "bash rbash sh dash ash hush posh") {
        let is_file = |word: &Word| !word.known.is_empty() && !word.known.starts_with(['-', '+']);
        match rest {
            [file, ..] if is_file(file) => run_script_or_input(walk, rest, call),
            rest if asks_for_help(rest) => {}
            _ => walk.unresolved(call.text),
        }
        return;
    }
    let mut words = rest;
    let (mut takes_line, mut reads_input) = (false, false);
    while let [word, rest @ ..] = words {
        // A list in braces may hold the script too.
        if word.text.starts_with('{') && word.is_expanded {
            walk.unresolved(call.text);
        }
        let Some(value) = word.value.as_deref() else {
            break;
        };
        let Some(flags) = value.strip_prefix('-') else {
            if value.starts_with('+') {
                walk.unresolved(call.text);
            }
            break;
        };
        words = rest;
        if matches!(flags, "" | "-") {
            break;
        }
        if is_among(flags, "-help -login -noprofile -norc -posix -version") {
            continue;
        }
        let setting = flags.strip_suffix('o');
        if setting.is_some() {
            let name = words.first().and_then(|word| word.value.as_deref());
            if !name.is_some_and(|name| is_among(name, OPTIONS)) {
                walk.unresolved(call.text);
            }
            words = words.get(1..).unwrap_or_default();
        }
        let letters = setting.unwrap_or(flags);
        if !letters.bytes().all(|b| b"ceilsuvx".contains(&b)) {
            walk.unresolved(call.text);
        }
        takes_line |= letters.contains('c');
        reads_input |= letters.contains('s');
    }
    match (takes_line, reads_input) {
        (true, _) => run_first(walk, words, call.at, false),
        (_, true) => run_script_or_input(walk, &[], call),
        _ => run_script_or_input(walk, words, call),
    }
}

/// Adds a shell's script: what it reads, unless that is a file.
fn run_script_or_input(walk: &mut Walk<'_>, words: &[Word], call: Call<'_>) {
    let is_input = |file: &str| {
        let is_device = ["/dev", "/proc"].iter().any(|part| file.contains(part));
        is_device || matches!(base(file), "stdin" | "-") || file.contains("fd/")
    };
    match words.first().map(|word| (word, word.value.as_deref())) {
        None | Some((_, Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))) => {}
        Some((word, Some(file))) if !is_input(file) && !word.is_expanded => return,
        // A script by a name that can't be known, or one that is made on the way.
        Some(_) => return walk.unresolved(call.text),
    }
    match &call.input.text {
        // One line is read whole before any of it runs. Of more, a command could read a part, and
        // another input could take the place of this one.
        Some(script)
            if !call.input.is_other
                && !script.contains(['\n', '<'])
                && !script.contains("exec") =>
        {
            walk.in_subshell(script, call.at);
        }
        _ => walk.unresolved(call.text),
    }
}

/// Settings of git's that name no program and no address; with a full stop all of a section.
const PLAIN_SETTINGS: &str = "\
    advice. color. commit.gpgsign=false core.abbrev core.autocrlf core.filemode core.pager=cat \
    core.quotepath diff.renames fetch.prune i18n. init.defaultbranch log.showsignature=false \
    protocol.version safe.directory user.";

/// Returns true if `git` may run other programs than its own.
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
                let is_plain = |setting: &str| {
                    let setting = setting.to_lowercase();
                    PLAIN_SETTINGS.split(' ').any(|plain| {
                        let rest = setting.strip_prefix(plain);
                        rest.is_some_and(|rest| {
                            plain.ends_with('.') || rest.is_empty() || rest.starts_with('=')
                        })
                    })
                };
                if !setting.is_some_and(is_plain) {
                    return true;
                }
            }
            Some("-C" | "--git-dir" | "--work-tree" | "--namespace" | "--attr-source") => {
                words.next();
            }
            Some(value)
                if value.starts_with("--exec-path=") || value.starts_with("--config-env") =>
            {
                return true;
            }
            Some(value) if value.starts_with('-') => {}
            Some(command) => break command,
        }
    };
    // The letters and the names of options by which the command runs others.
    let (letters, names): (&[char], &[&str]) = match command {
        "filter-branch" | "merge-index" | "remote-ext" => return true,
        "bisect" | "submodule" => {
            let runs = |word: &Word| word.value.is_none() || is_one_of(word, &["run", "foreach"]);
            return words.clone().take(1).any(runs)
                || words.any(|word| is_one_of(word, &["run", "foreach"]));
        }
        "rebase" => (&['x'], &["--exec"]),
        "clone" => (&['c', 'u'], &["--config", "--template", "--upload-pack"]),
        "difftool" => (&['x'], &["--extcmd"]),
        "grep" => (&['O'], &["--open-files-in-pager"]),
        _ => (&[], &["--exec"]),
    };
    words.any(|word| {
        let option = word.if_empty.as_str();
        let name = option.split('=').next().unwrap_or_default();
        match option.strip_prefix('-') {
            Some(long) if long.starts_with('-') => {
                name.len() > 2 && names.iter().any(|known| known.starts_with(name))
            }
            Some(cluster) => {
                cluster.contains(letters) || word.value.is_none() && !letters.is_empty()
            }
            None => false,
        }
    })
}
