//! Commands that run other commands: where in their words those stand.

use super::words::Word;
use super::{Input, Walk, base};

/// Variables whose value is a command that other programs run.
pub(super) const HOLDS_COMMAND: [&str; 19] = [
    "BROWSER",
    "EDITOR",
    "GH_PAGER",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "SSH_ASKPASS",
    "SYSTEMD_PAGER",
    "VISUAL",
];

/// Variables by which a name means another program, or a program does other things.
pub(super) const CHANGES_COMMANDS: [&str; 24] = [
    "BASH_ENV",
    "BASHOPTS",
    "CDPATH",
    "DYLD_INSERT_LIBRARIES",
    "ENV",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "IFS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PS4",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELLOPTS",
];

/// How a command that runs its arguments takes them.
struct Wrapper {
    name: &'static str,
    /// Options whose value is the next word.
    with_value: &'static [&'static str],
    /// Words before the command that are no options.
    operands: usize,
    /// Whether assignments may stand before the command.
    assignments: bool,
}

const fn wrapper(name: &'static str, with_value: &'static [&'static str]) -> Wrapper {
    Wrapper {
        name,
        with_value,
        operands: 0,
        assignments: false,
    }
}

const WRAPPERS: [Wrapper; 29] = [
    Wrapper {
        assignments: true,
        ..wrapper("env", &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"])
    },
    Wrapper {
        assignments: true,
        ..wrapper(
            "sudo",
            &[
                "-u",
                "-g",
                "-h",
                "-p",
                "-C",
                "-T",
                "-R",
                "-D",
                "-r",
                "-t",
                "-U",
                "--user",
                "--group",
                "--host",
                "--prompt",
                "--chdir",
                "--chroot",
                "--role",
                "--type",
                "--close-from",
                "--command-timeout",
                "--other-user",
            ],
        )
    },
    Wrapper {
        assignments: true,
        ..wrapper("doas", &["-u", "-C"])
    },
    wrapper("nohup", &[]),
    wrapper("setsid", &[]),
    wrapper("nice", &["-n", "--adjustment"]),
    wrapper(
        "ionice",
        &[
            "-c",
            "-n",
            "-p",
            "-P",
            "-u",
            "--class",
            "--classdata",
            "--pid",
        ],
    ),
    wrapper("time", &["-f", "-o", "--format", "--output"]),
    Wrapper {
        operands: 1,
        ..wrapper("timeout", &["-k", "-s", "--kill-after", "--signal"])
    },
    wrapper(
        "stdbuf",
        &["-i", "-o", "-e", "--input", "--output", "--error"],
    ),
    Wrapper {
        operands: 1,
        ..wrapper("chroot", &[])
    },
    Wrapper {
        operands: 1,
        ..wrapper("taskset", &["-p"])
    },
    Wrapper {
        operands: 1,
        ..wrapper("chrt", &["-p", "-T", "-P", "-D"])
    },
    wrapper(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-E",
            "-s",
            "-a",
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-chars",
            "--max-lines",
            "--max-procs",
            "--replace",
            "--process-slot-var",
        ],
    ),
    wrapper(
        "parallel",
        &["-j", "--jobs", "-I", "-n", "-N", "-L", "-a", "--arg-file"],
    ),
    wrapper("command", &[]),
    wrapper("builtin", &[]),
    wrapper("exec", &["-a"]),
    wrapper("busybox", &[]),
    wrapper("toybox", &[]),
    wrapper(
        "strace",
        &[
            "-o", "-e", "-p", "-s", "-u", "-E", "-P", "-a", "-b", "-I", "-O", "-S", "-U", "-X",
        ],
    ),
    wrapper(
        "ltrace",
        &[
            "-o", "-e", "-p", "-s", "-u", "-l", "-n", "-a", "-A", "-D", "-F", "-w", "-x",
        ],
    ),
    wrapper(
        "unshare",
        &[
            "-S", "-G", "-R", "-w", "--root", "--wd", "--setuid", "--setgid",
        ],
    ),
    wrapper(
        "nsenter",
        &["-t", "-S", "-G", "--target", "--setuid", "--setgid"],
    ),
    wrapper(
        "systemd-run",
        &[
            "-p",
            "-u",
            "-E",
            "-M",
            "-H",
            "--property",
            "--unit",
            "--setenv",
        ],
    ),
    wrapper("xvfb-run", &["-n", "-e", "-f", "-p", "-s", "-w"]),
    wrapper("catchsegv", &[]),
    wrapper("dbus-run-session", &["--config-file", "--dbus-daemon"]),
    wrapper("prlimit", &["-p", "--pid"]),
];

/// Options of many programs whose value is a command.
const RUN_BY_OPTION: [&str; 8] = [
    "--checkpoint-action",
    "--compress-program",
    "--open-files-in-pager",
    "--pager",
    "--rsh",
    "--to-command",
    "--upload-pack",
    "--use-compress-program",
];

const SHELLS: [&str; 9] = [
    "bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish",
];

/// Adds a command and what it runs. `words` begin with its name.
pub(super) fn resolve(walk: &mut Walk<'_>, words: &[Word], text: &str, input: &Input, at: usize) {
    resolve_command(walk, words, text, input, at, false, 0);
}

fn resolve_command(
    walk: &mut Walk<'_>,
    words: &[Word],
    text: &str,
    input: &Input,
    at: usize,
    is_direct: bool,
    depth: usize,
) {
    let Some(first) = words.first() else { return };
    let values: Vec<Option<String>> = words.iter().map(|w| w.value.clone()).collect();
    let Some(name) = first.value.as_deref() else {
        walk.unresolved(&first.text);
        walk.push(values, &first.text, at, is_direct);
        return;
    };
    if depth > super::MAX_DEPTH {
        walk.unresolved(text);
        return;
    }
    // The end of a group that the parser did not see the beginning of.
    if first.text == "}" {
        return;
    }
    // Words of the grammar that the parser takes for commands.
    if !first.is_quoted && matches!(name, "time" | "coproc" | "!") && words.len() > 1 {
        let rest = match name {
            "time" => words[1..].iter().position(|w| !w.text.starts_with('-')),
            _ => words[1..]
                .iter()
                .position(|w| w.text == "{")
                .map(|brace| brace + 1)
                .or(Some(0)),
        };
        if let Some(rest) = rest {
            resolve_command(
                walk,
                &words[1 + rest..],
                text,
                input,
                at,
                is_direct,
                depth + 1,
            );
        }
        return;
    }
    walk.push(values, text, at, is_direct);
    let rest = &words[1..];
    let holds_command = |w: &Word| RUN_BY_OPTION.iter().any(|o| w.text.starts_with(o));
    if rest.iter().any(holds_command) {
        walk.unresolved(text);
    }
    let mut wrapped = |walk: &mut Walk<'_>, rest: &[Word], is_direct: bool| {
        let text = joined(rest);
        resolve_command(walk, rest, &text, input, at, is_direct, depth + 1);
    };
    match base(name) {
        shell if SHELLS.contains(&shell) => run_shell(walk, rest, text, input, at),
        "eval" => run_text(walk, rest, at),
        "trap" => run_first(walk, rest, at, true),
        "source" | "." => walk.unresolved(text),
        "alias" if walk.source.contains("expand_aliases") => walk.unresolved(text),
        "watch" => {
            let rest = after_options(rest, &["-n", "--interval"], 0, false);
            run_text(walk, rest.words, at);
        }
        holder @ ("su" | "runuser" | "script" | "flock") => {
            run_flag(walk, holder, rest, at, &mut wrapped);
        }
        "find" | "fd" | "fdfind" => run_found(walk, rest, &mut wrapped),
        "git" => git(walk, rest, text, at, &mut wrapped),
        "ssh" if is_remote_or_proxied(rest) => walk.unresolved(text),
        "mapfile" | "readarray" | "compgen" | "complete" => {
            let flag = rest
                .iter()
                .position(|w| matches!(w.value.as_deref(), Some("-C" | "-F")));
            if let Some(flag) = flag {
                run_first(walk, &rest[flag + 1..], at, true);
            }
        }
        "enable" | "hash"
            if rest
                .iter()
                .any(|w| matches!(w.value.as_deref(), Some("-f" | "-p"))) =>
        {
            walk.unresolved(text);
        }
        "env" if rest.iter().any(is_split_string) => split_string(walk, rest, at),
        "command"
            if rest
                .first()
                .is_some_and(|w| matches!(w.text.as_str(), "-v" | "-V")) => {}
        name => {
            if let Some(wrapper) = WRAPPERS.iter().find(|w| w.name == name) {
                run_wrapped(walk, wrapper, rest, text, &mut wrapped);
            }
        }
    }
}

/// Commands whose `-c` has a script.
fn run_flag(
    walk: &mut Walk<'_>,
    holder: &str,
    rest: &[Word],
    at: usize,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let is_flag = |w: &Word| matches!(w.value.as_deref(), None | Some("-c" | "--command"));
    if let Some(flag) = rest.iter().position(is_flag) {
        return run_first(walk, &rest[flag + 1..], at, false);
    }
    if holder == "flock" {
        let values = ["-w", "-E", "--wait", "--timeout", "--conflict-exit-code"];
        return wrapped(walk, after_options(rest, &values, 1, false).words, true);
    }
    if let Some(word) = rest.iter().find(|w| w.text.starts_with("--command=")) {
        run_value(walk, word, "--command=", at);
    }
}

/// What `find` runs for the files that it finds.
fn run_found(
    walk: &mut Walk<'_>,
    rest: &[Word],
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let starts = [
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-x",
        "-X",
        "--exec",
        "--exec-batch",
    ];
    for (i, word) in rest.iter().enumerate() {
        if word.value.as_deref().is_some_and(|v| starts.contains(&v)) {
            let command = &rest[i + 1..];
            let ends = |w: &Word| matches!(w.value.as_deref(), Some(";" | "+"));
            let end = command.iter().position(ends).unwrap_or(command.len());
            wrapped(walk, &command[..end], true);
        }
    }
}

/// Whether `ssh` runs a command there, or one here to get there.
fn is_remote_or_proxied(rest: &[Word]) -> bool {
    let with_value = [
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p",
        "-Q", "-R", "-S", "-W", "-w",
    ];
    !after_options(rest, &with_value, 1, false).words.is_empty()
        || rest
            .iter()
            .any(|w| w.text.to_lowercase().contains("proxycommand"))
}

fn run_wrapped(
    walk: &mut Walk<'_>,
    wrapper: &Wrapper,
    rest: &[Word],
    text: &str,
    run: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let after = after_options(
        rest,
        wrapper.with_value,
        wrapper.operands,
        wrapper.assignments,
    );
    for assignment in after.assignments {
        let name = assignment.text.split('=').next().unwrap_or_default();
        if HOLDS_COMMAND.contains(&name) || CHANGES_COMMANDS.contains(&name) {
            walk.unresolved(&assignment.text);
        }
    }
    if after.is_unsure {
        walk.unresolved(text);
    }
    let has_shell = |w: &Word| matches!(w.text.as_str(), "-s" | "-i" | "--shell" | "--login");
    match after.words {
        [] if matches!(wrapper.name, "sudo" | "doas") && rest.iter().any(has_shell) => {
            walk.unresolved(text);
        }
        // These run a shell of their own.
        [] if matches!(wrapper.name, "unshare" | "nsenter" | "chroot") => walk.unresolved(text),
        [] if wrapper.name == "parallel" => walk.unresolved(text),
        [first, ..] if first.text.starts_with(":::") => walk.unresolved(text),
        [] => {}
        words => run(walk, words, true),
    }
}

/// What stands behind a command's options.
struct After<'w> {
    words: &'w [Word],
    assignments: Vec<&'w Word>,
    /// Whether an option may have taken one of the words.
    is_unsure: bool,
}

fn after_options<'w>(
    rest: &'w [Word],
    with_value: &[&str],
    operands: usize,
    assignments: bool,
) -> After<'w> {
    let mut after = After {
        words: rest,
        assignments: Vec::new(),
        is_unsure: false,
    };
    let mut operands = operands;
    let mut has_options = true;
    while let Some(word) = after.words.first() {
        let value = word.value.as_deref();
        let is_assignment = || {
            word.text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let mut skip = 1;
        match value {
            Some("--") if has_options => has_options = false,
            Some(option) if has_options && option.starts_with('-') => {
                if with_value.contains(&option) {
                    skip = 2;
                } else if option.starts_with("--") && !option.contains('=') && option.len() > 2 {
                    // Not known: it may take the next word.
                    after.is_unsure |= !KNOWN_FLAGS.contains(&option);
                }
            }
            _ if assignments && is_assignment() => {
                after.assignments.push(word);
            }
            _ if operands > 0 => operands -= 1,
            _ => break,
        }
        after.words = after.words.get(skip..).unwrap_or_default();
    }
    after
}

/// Long options that take no value.
const KNOWN_FLAGS: [&str; 24] = [
    "--append",
    "--background",
    "--exit",
    "--foreground",
    "--fork",
    "--ignore-environment",
    "--interactive",
    "--login",
    "--map-root-user",
    "--no-run-if-empty",
    "--non-interactive",
    "--null",
    "--open-tty",
    "--portability",
    "--preserve-env",
    "--preserve-status",
    "--quiet",
    "--reset-timestamp",
    "--set-home",
    "--shell",
    "--stdin",
    "--user",
    "--verbose",
    "--wait",
];

fn joined(words: &[Word]) -> String {
    let texts: Vec<_> = words.iter().map(|w| w.text.as_str()).collect();
    texts.join(" ")
}

/// The words as one script, as `eval` joins them.
fn run_text(walk: &mut Walk<'_>, words: &[Word], at: usize) {
    let values: Option<Vec<&str>> = words.iter().map(|w| w.value.as_deref()).collect();
    match values {
        Some(values) => walk.inner(&values.join(" "), at),
        None => walk.unresolved(&joined(words)),
    }
}

/// The first word as a script, for this shell or for another.
fn run_first(walk: &mut Walk<'_>, words: &[Word], at: usize, is_ours: bool) {
    let first = words.iter().find(|w| w.value.as_deref() != Some("--"));
    match first.map(|w| (w, w.value.as_deref())) {
        None | Some((_, Some("" | "-" | "-l" | "-p"))) => {}
        Some((_, Some(script))) if is_ours => walk.inner(script, at),
        Some((_, Some(script))) => walk.elsewhere(script, at),
        Some((word, None)) => walk.unresolved(&word.text),
    }
}

/// A word's value without what stands before it, as a script.
fn run_value(walk: &mut Walk<'_>, word: &Word, before: &str, at: usize) {
    match word.value.as_deref().and_then(|v| v.strip_prefix(before)) {
        Some(script) => walk.inner(script, at),
        None => walk.unresolved(&word.text),
    }
}

fn run_shell(walk: &mut Walk<'_>, rest: &[Word], text: &str, input: &Input, at: usize) {
    let mut words = rest;
    let mut takes_line = false;
    let mut reads_input = false;
    while let Some(word) = words.first() {
        let Some(value) = word.value.as_deref() else {
            break;
        };
        words = &words[1..];
        match value {
            "-" | "--" => break,
            // These have a value of their own.
            "-o" | "+o" | "-O" | "+O" => words = words.get(1..).unwrap_or_default(),
            "--rcfile" | "--init-file" => {
                walk.unresolved(text);
                words = words.get(1..).unwrap_or_default();
            }
            long if long.starts_with("--") => {}
            flags if flags.starts_with(['-', '+']) => {
                takes_line |= flags.starts_with('-') && flags.contains('c');
                reads_input |= flags.contains('s');
                if flags.ends_with('o') || flags.ends_with('O') {
                    words = words.get(1..).unwrap_or_default();
                }
            }
            _ => {
                words = &rest[rest.len() - words.len() - 1..];
                break;
            }
        }
    }
    if takes_line {
        return match words.first() {
            None => {}
            Some(_) => run_first(walk, words, at, false),
        };
    }
    if let Some(word) = words.first().filter(|_| !reads_input) {
        // A script by a name that can't be known, or one that is made on the way.
        if word.value.is_none() {
            walk.unresolved(text);
        }
        return;
    }
    match &input.text {
        Some(script) => walk.elsewhere(script, at),
        None if input.is_other => walk.unresolved(text),
        None => {}
    }
}

fn is_split_string(word: &Word) -> bool {
    let text = word.value.as_deref().unwrap_or(&word.text);
    text.starts_with("--split-string")
        || (text.starts_with('-') && !text.starts_with("--") && text.contains('S'))
}

/// `env -S`: the value is split into words and goes on with the rest.
fn split_string(walk: &mut Walk<'_>, rest: &[Word], at: usize) {
    let Some(i) = rest.iter().position(is_split_string) else {
        return;
    };
    let text = rest[i].value.clone();
    let inner = text.as_deref().and_then(|text| {
        if let Some(long) = text.strip_prefix("--split-string") {
            return long
                .strip_prefix('=')
                .map(str::to_owned)
                .or(Some(String::new()));
        }
        text.split_once('S').map(|(_, inner)| inner.to_owned())
    });
    let Some(mut script) = inner else {
        return walk.unresolved(&rest[i].text);
    };
    for word in &rest[i + 1..] {
        match &word.value {
            Some(value) => {
                script.push(' ');
                script.push_str(value);
            }
            None => return walk.unresolved(&joined(rest)),
        }
    }
    walk.elsewhere(&format!("env {script}"), at);
}

fn git(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    at: usize,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let mut i = 0;
    while let Some(word) = rest.get(i) {
        let value = word.value.as_deref().unwrap_or_default();
        match value {
            "-c" | "--config-env" => {
                match rest.get(i + 1).and_then(|w| w.value.as_deref()) {
                    Some(setting) => git_setting(walk, setting, text, at),
                    None => walk.unresolved(text),
                }
                i += 1;
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => i += 1,
            _ if value.starts_with("--exec-path=") || value.starts_with("--config-env=") => {
                walk.unresolved(text);
            }
            _ if value.starts_with('-') => {}
            _ => break,
        }
        i += 1;
    }
    let rest = rest.get(i..).unwrap_or_default();
    let word = |i: usize| {
        rest.get(i)
            .and_then(|w| w.value.as_deref())
            .unwrap_or_default()
    };
    match (word(0), word(1)) {
        ("submodule", "foreach") => {
            let rest = after_options(&rest[2..], &[], 0, false);
            run_text(walk, rest.words, at);
        }
        ("bisect", "run") => wrapped(walk, &rest[2..], true),
        ("rebase", _) => {
            for (i, word) in rest.iter().enumerate() {
                match word.value.as_deref() {
                    Some("-x" | "--exec") => run_first(walk, &rest[i + 1..], at, false),
                    Some(value) if value.starts_with("--exec=") => {
                        run_value(walk, word, "--exec=", at);
                    }
                    _ => {}
                }
            }
        }
        ("filter-branch", _) => walk.unresolved(text),
        ("grep", _)
            if rest
                .iter()
                .any(|w| w.text.starts_with("-O") || w.text.starts_with("--open")) =>
        {
            walk.unresolved(text);
        }
        _ => {}
    }
}

/// A setting of git's on the command line: some are commands.
fn git_setting(walk: &mut Walk<'_>, setting: &str, text: &str, at: usize) {
    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
    let key = key.to_lowercase();
    if key.starts_with("alias.") {
        if let Some(command) = value.strip_prefix('!') {
            walk.elsewhere(command, at);
        }
        return;
    }
    let is_command = [
        "pager", "editor", "command", "helper", "askpass", "external", "textconv",
    ]
    .iter()
    .any(|part| key.contains(part))
        || [
            "hookspath",
            "fsmonitor",
            "program",
            "driver",
            "clean",
            "smudge",
            "process",
            "cmd",
        ]
        .iter()
        .any(|end| key.ends_with(end))
        || key.starts_with("include");
    if !is_command {
        return;
    }
    let is_script = !matches!(
        key.rsplit('.').next(),
        Some("hookspath" | "path" | "helper")
    );
    if is_script && !value.is_empty() && !value.contains('%') {
        walk.elsewhere(value.trim_start_matches('!'), at);
    } else {
        walk.unresolved(text);
    }
}
