//! Programs that are given code, and programs that are there to run others.
//!
//! Code in other languages is not looked into: a rule that denies a program counts for a
//! command that is given code, since the code may start that program. A rule that allows the
//! interpreter allows its code. The table of `docs/policy.md` names these programs. What a
//! program runs because a file of the project says so (`make`, `npm run`) is not among them.

use super::base;
use super::words::Word;

/// Interpreters, by the letters and the long options that give them code.
const INTERPRETERS: [(&str, &str, &[&str]); 26] = [
    ("R", "e", &[]),
    ("Rscript", "e", &[]),
    ("bun", "ep", &["--eval", "--print"]),
    ("clojure", "e", &["--eval"]),
    ("deno", "", &["eval"]),
    ("elixir", "e", &["--eval"]),
    (
        "emacs",
        "",
        &["--eval", "--execute", "--funcall", "-f", "-l", "-eval"],
    ),
    ("erl", "", &["-eval", "-s", "-run"]),
    ("expect", "c", &[]),
    ("ghc", "e", &[]),
    ("groovy", "e", &[]),
    ("guile", "ce", &[]),
    ("julia", "eE", &["--eval", "--print"]),
    ("lua", "el", &[]),
    ("luajit", "el", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("nodejs", "ep", &["--eval", "--print"]),
    ("octave", "", &["--eval"]),
    ("osascript", "e", &[]),
    ("perl", "eEMm", &[]),
    ("php", "rBRE", &["--run"]),
    ("pypy", "c", &[]),
    ("python", "c", &[]),
    ("ruby", "e", &[]),
    ("scala", "e", &[]),
    ("tclsh", "", &[]),
];

/// Programs whose arguments are lines or scripts that they run.
const LINES: [&str; 22] = [
    "ansible",
    "at",
    "batch",
    "concurrently",
    "crontab",
    "ed",
    "ex",
    "hyperfine",
    "konsole",
    "newgrp",
    "run-parts",
    "nix-shell",
    "nodemon",
    "screen",
    "sg",
    "start-stop-daemon",
    "tmux",
    "watchexec",
    "wish",
    "xterm",
    "xinit",
    "zellij",
];

/// Programs that run the words behind their options, and under which of their words.
const RUNNERS: [(&str, &[&str]); 46] = [
    ("asdf", &["exec"]),
    ("aws-vault", &["exec"]),
    ("bun", &["x", "run"]),
    ("bundle", &["exec"]),
    ("bunx", &[]),
    ("catchsegv", &[]),
    ("cgexec", &[]),
    ("chpst", &[]),
    ("conda", &["run"]),
    ("cpulimit", &[]),
    ("cross-env", &[]),
    ("dbus-run-session", &[]),
    ("debconf", &[]),
    ("direnv", &["exec"]),
    ("doppler", &["run"]),
    ("dotenv", &[]),
    ("envdir", &[]),
    ("ip", &["exec"]),
    ("logsave", &[]),
    ("mamba", &["run"]),
    ("mise", &["exec", "x"]),
    ("nix", &["develop", "shell", "run"]),
    ("npm", &["exec", "x"]),
    ("npx", &[]),
    ("numactl", &[]),
    ("nvm", &["exec", "run"]),
    ("op", &["run"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("prlimit", &[]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("rlwrap", &[]),
    ("run0", &[]),
    ("rustup", &["run"]),
    ("softlimit", &[]),
    ("sotruss", &[]),
    ("ssh-agent", &[]),
    ("trickle", &[]),
    ("uv", &["run", "tool"]),
    ("uvx", &[]),
    ("xvfb-run", &[]),
    ("yarn", &["exec", "dlx", "run"]),
];

/// What may be the command among the words of a runner: so many of its words come first.
const MOST_BEFORE: usize = 3;

/// Where the commands may begin that a program runs; empty for one that runs none.
pub(super) fn carried(name: &str, rest: &[Word]) -> Vec<usize> {
    let Some((_, words)) = RUNNERS.iter().find(|(runner, _)| *runner == name) else {
        return Vec::new();
    };
    let is_word = |word: &Word| {
        word.value
            .as_deref()
            .is_some_and(|value| words.contains(&value))
    };
    let start = if words.is_empty() {
        0
    } else {
        match rest.iter().position(is_word) {
            Some(at) => at + 1,
            None => return Vec::new(),
        }
    };
    let behind = rest.iter().enumerate().skip(start);
    let is_option = |word: &Word| {
        word.value
            .as_deref()
            .is_some_and(|value| value.starts_with('-'))
    };
    behind
        .filter(|(_, word)| !is_option(word))
        .map(|(at, _)| at)
        .take(MOST_BEFORE)
        .collect()
}

/// Whether a program is given code or a line by its words, or reads it.
pub(super) fn runs_code(name: &str, rest: &[Word], reads_text: bool) -> bool {
    if LINES.contains(&name) {
        return reads_text || !rest.is_empty() && !matches!(name, "at" | "batch");
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if let Some((_, letters, options)) = INTERPRETERS
        .iter()
        .find(|(known, _, _)| *known == plain_of(name))
    {
        return is_given_code(letters, options, rest, reads_text);
    }
    match plain {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => rest.iter().any(|word| {
            let text = word.value.as_deref();
            text.is_none_or(|text| {
                is_input(text)
                    || ["system", "|", "getline", ">", "@", "-e", "-i"]
                        .iter()
                        .any(|part| text.contains(part))
            })
        }),
        "sed" | "gsed" => !is_plain_sed(rest),
        "gdb" | "lldb" => any_may_be(rest, |text| {
            [
                "shell", "!", "python", "pipe", "|", "source", "make", "script", "system",
            ]
            .iter()
            .any(|part| text.contains(part))
        }),
        "make" | "gmake" => rest.iter().any(|word| match word.value.as_deref() {
            Some(text) => {
                text.starts_with('-') && text.ends_with('-')
                    || text.contains("/dev/")
                    || ["$(", "${", "`", "--eval", "SHELL"]
                        .iter()
                        .any(|part| text.contains(part))
            }
            None => !word.text.starts_with("-j"),
        }),
        _ => is_given_program(plain, rest),
    }
}

/// Whether a word is one of a kind, or not known.
fn any_may_be(rest: &[Word], is_one: fn(&str) -> bool) -> bool {
    rest.iter()
        .any(|word| word.value.as_deref().is_none_or(is_one))
}

/// Whether a program is given another one by an option or an operand of its own.
fn is_given_program(plain: &str, rest: &[Word]) -> bool {
    let has = |is_one: fn(&str) -> bool| any_may_be(rest, is_one);
    match plain {
        "man" => has(|text| {
            text.starts_with("-P") || text.starts_with("-H") || text.starts_with("--html")
        }),
        "nc" | "ncat" | "netcat" | "socat" => has(|text| {
            let text = text.to_lowercase();
            ["exec", "system", "shell", "-e", "-c"]
                .iter()
                .any(|part| text.contains(part))
        }),
        "psql" | "mysql" | "mariadb" | "sqlite" => has(|text| {
            let text = text.to_lowercase();
            text.starts_with('.')
                || [
                    "\\!",
                    "program",
                    "system",
                    ".shell",
                    "load_extension",
                    "edit(",
                ]
                .iter()
                .any(|part| text.contains(part))
        }),
        "scp" | "sftp" | "rsync" | "sshfs" => has(|text| {
            let lower = text.to_lowercase();
            text.starts_with("-S")
                || lower.contains("command")
                || text.starts_with("--rsync-path")
                || text.starts_with('-') && !text.starts_with("--") && text.contains('e')
        }),
        "split" => has(|text| text.starts_with("--f")),
        "c" | "c++" | "cc" | "clang" | "clang++" | "cpp" | "g++" | "gcc" => has(|text| {
            text == "-wrapper"
                || text.starts_with("-B")
                || text.starts_with("-fplugin")
                || text.starts_with("-specs")
        }),
        "apt" | "apt-get" | "dpkg" => has(|text| {
            text.starts_with("-o")
                || text.starts_with("--opt")
                || text.starts_with("-c")
                || text.contains("-invoke")
        }),
        "dpkg-architecture" => has(|text| text.starts_with("-c") || text.starts_with("--command")),
        "gpg-agent" => has(|text| text.starts_with("--d")),
        "tar" | "gtar" | "bsdtar" => gives_tar_a_program(rest),
        "vi" | "vim" | "nvim" | "view" | "less" => has(|text| {
            text.starts_with('+')
                || text.starts_with("-c")
                || text.starts_with("--cmd")
                || text.starts_with("-S")
        }),
        "wget" => has(|text| {
            text.starts_with("--use-askpass")
                || text.starts_with("-e")
                || text.starts_with("--exec")
        }),
        "zip" => has(|text| text.starts_with("-TT") || text.starts_with("--unzip-command")),
        "git" => rest.iter().any(|word| {
            let text = word.value.as_deref().unwrap_or_default();
            matches!(text, "difftool" | "mergetool" | "web--browse")
                || text.starts_with("-u")
                    && rest
                        .iter()
                        .any(|word| word.value.as_deref() == Some("clone"))
                || [
                    "ext::",
                    "--exec",
                    "--extcmd",
                    "--sendmail-cmd",
                    "--smtp-server",
                ]
                .iter()
                .any(|part| text.starts_with(part))
        }),
        _ => false,
    }
}

/// A program's name without a version and a system.
fn plain_of(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii_alphabetic());
    &name[..end.unwrap_or(name.len())]
}

/// Whether a file is what a program reads, rather than one of its own.
pub(super) fn is_input(file: &str) -> bool {
    let last = base(file);
    matches!(last, "-" | "stdin")
        || last.bytes().all(|b| b.is_ascii_digit())
        || file.contains("dev/")
        || file.contains("proc/")
}

/// Modules of Python that run code which they are given or read.
const RUN_CODE: [&str; 6] = ["asyncio", "cProfile", "code", "pdb", "profile", "timeit"];

/// Whether an interpreter gets code by an option, or on its standard input.
fn is_given_code(letters: &str, options: &[&str], rest: &[Word], reads_text: bool) -> bool {
    let mut has_file = false;
    for (i, word) in rest.iter().enumerate() {
        let Some(value) = word.value.as_deref() else {
            // It may be an option as well as a file.
            return true;
        };
        let name = value.split('=').next().unwrap_or_default();
        if options.contains(&name) {
            return true;
        }
        match value.strip_prefix('-') {
            Some("" | "-") => break,
            Some(cluster) if !cluster.starts_with('-') => {
                // `-m module` runs what is installed.
                if cluster.contains(|c: char| letters.contains(c)) {
                    return true;
                }
                if cluster.starts_with('m') {
                    let module = rest.get(i + 1).and_then(|word| word.value.as_deref());
                    return cluster != "m"
                        || module.is_none_or(|module| RUN_CODE.contains(&module));
                }
                if matches!(cluster, "V" | "h") {
                    has_file = true;
                    break;
                }
            }
            Some("-version" | "-help" | "-check" | "-test") => has_file = true,
            Some(_) => {}
            None => {
                // Where an option stands before it, it may be that one's value.
                let is_value = i > 0 && reads_text;
                has_file = !is_input(value) && !is_value;
                break;
            }
        }
    }
    !has_file
}

/// Whether `sed` gets options that are known, and scripts that only substitute, delete and print.
fn is_plain_sed(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    let mut has_script = false;
    while let Some(word) = words.next() {
        let Some(value) = word.value.as_deref() else {
            // A file, once the script is there.
            let is_file = word.text.starts_with("\"${") || !word.text.starts_with(['$', '"', '-']);
            if has_script && is_file {
                continue;
            }
            return false;
        };
        if value == "-e" {
            has_script = true;
            let script = words.next().and_then(|word| word.value.as_deref());
            if !script.is_some_and(is_plain_script) {
                return false;
            }
        } else if let Some(letters) = value.strip_prefix('-') {
            let flags = letters.split_once('i').map_or(letters, |(flags, _)| flags);
            if !flags
                .bytes()
                .all(|b| matches!(b, b'n' | b'E' | b'r' | b's' | b'u' | b'z'))
            {
                return false;
            }
        } else if !has_script {
            has_script = true;
            if !is_plain_script(value) {
                return false;
            }
        }
    }
    true
}

fn is_plain_script(script: &str) -> bool {
    script.split([';', '\n']).all(|part| {
        let mut rest = part.trim();
        for _ in 0..2 {
            rest = behind_address(rest);
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        let command = rest.trim_start_matches([' ', '!']);
        let mut chars = command.chars();
        match chars.next() {
            None => true,
            Some('s') => {
                let Some(mark) = chars
                    .next()
                    .filter(|c| c.is_ascii_punctuation() && *c != '\\')
                else {
                    return false;
                };
                let flags = command.rsplit(mark).next().unwrap_or_default();
                let escaped = command.matches(&format!("\\{mark}")).count();
                command.matches(mark).count() == 3 + escaped
                    && flags
                        .chars()
                        .all(|c| matches!(c, 'g' | 'p' | 'i' | 'I' | '0'..='9'))
            }
            Some(c) => "dpqDPNGHhgxnl=".contains(c) && chars.as_str().trim().is_empty(),
        }
    })
}

/// What follows a number, `$` or `/…/`.
fn behind_address(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix('$') {
        return rest;
    }
    let Some(pattern) = text.strip_prefix('/') else {
        return text.trim_start_matches(|c: char| c.is_ascii_digit());
    };
    let mut is_escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            '/' if !is_escaped => return &pattern[at + 1..],
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text
}

/// Whether `tar` gets a program, other than one that compresses.
fn gives_tar_a_program(rest: &[Word]) -> bool {
    const COMPRESS: [&str; 11] = [
        "bzip2", "gzip", "lbzip2", "lz4", "lzip", "lzop", "pbzip2", "pigz", "pixz", "xz", "zstd",
    ];
    let mut words = rest.iter().enumerate();
    words.any(|(i, word)| {
        let value = word.value.as_deref().unwrap_or("-F");
        let letters = match value.strip_prefix('-') {
            Some(letters) if !letters.starts_with('-') => letters,
            None if i == 0 => value,
            _ => {
                return ["--info-script", "--new-volume-script", "--rmt-command"]
                    .iter()
                    .any(|option| value.starts_with(option));
            }
        };
        let letters = letters
            .split(['f', 'C', 'T', 'X'])
            .next()
            .unwrap_or_default();
        match letters.find(['I', 'F']) {
            None => false,
            Some(at) if letters.as_bytes()[at] == b'F' => true,
            Some(at) => {
                let attached = &value[value.len() - letters.len() + at..];
                let attached = attached.strip_prefix('I').unwrap_or_default();
                let given = if attached.is_empty() {
                    rest.get(i + 1).and_then(|word| word.value.as_deref())
                } else {
                    Some(attached)
                };
                let program = given.and_then(|given| given.split_whitespace().next());
                !program.is_some_and(|program| COMPRESS.contains(&base(program)))
            }
        }
    })
}
