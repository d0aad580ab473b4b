//! Programs that are given code, and programs that are there to run others.
//!
//! Code in other languages is not looked into: a rule that denies a program counts for a
//! command that is given code, since the code may start that program. A rule that allows the
//! interpreter allows its code. The table of `docs/policy.md` names these programs. What a
//! program runs because a file of the project says so (`make`, `npm run`) is not among them.

mod awk;
mod given;
mod sed;

use super::base;
use super::words::Word;
use given::GIVEN;
pub(super) use given::are_flags_with_program;

/// An interpreter and what gives it code.
struct Interpreter {
    name: &'static str,
    /// Letters that give it code.
    letters: &'static str,
    /// Letters that take a value; `*` where that is not known.
    valued: &'static str,
    /// Long options and words that give it code.
    long: &'static [&'static str],
}

const fn interpreter(
    name: &'static str,
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> Interpreter {
    Interpreter {
        name,
        letters,
        valued,
        long,
    }
}

const INTERPRETERS: [Interpreter; 35] = [
    interpreter("R", "e", "*", &[]),
    interpreter("Rscript", "e", "*", &[]),
    interpreter("bun", "ep", "*", &["--eval", "--print"]),
    interpreter("clojure", "e", "*", &["--eval", "-Sdeps"]),
    interpreter("deno", "", "*", &["eval", "repl"]),
    interpreter("elixir", "e", "*", &["--eval", "--rpc-eval", "--erl"]),
    interpreter("erl", "", "*", &["-eval", "-s", "-run"]),
    interpreter("expect", "c", "*", &[]),
    interpreter("ghc", "e", "*", &["-pgm*"]),
    interpreter("gnuplot", "e", "*", &[]),
    interpreter("groovy", "e", "*", &[]),
    interpreter("guile", "ce", "*", &[]),
    interpreter("ipython", "c", "*", &[]),
    interpreter("java", "", "*", &["-XX:On*"]),
    interpreter("julia", "eEi", "*", &["--eval", "--print"]),
    interpreter("lua", "eil", "", &[]),
    interpreter("luajit", "eil", "*", &[]),
    interpreter("node", "epi", "rC", &["--eval", "--print", "--interactive"]),
    interpreter(
        "nodejs",
        "epi",
        "rC",
        &["--eval", "--print", "--interactive"],
    ),
    interpreter("ocaml", "e", "*", &[]),
    interpreter("octave", "", "*", &["--eval"]),
    interpreter("osascript", "e", "*", &[]),
    interpreter("perl", "deEFMm", "I", &[]),
    interpreter(
        "php",
        "arBRE",
        "cdfFStz",
        &["--run", "--process*", "--interactive"],
    ),
    interpreter("pypy", "ci", "WX", &[]),
    interpreter("python", "ci", "WX", &[]),
    interpreter("racket", "e", "*", &["--eval"]),
    interpreter("ruby", "e", "CEFIKTWrx", &[]),
    interpreter("sbcl", "", "*", &["--eval"]),
    interpreter("scala", "e", "*", &[]),
    interpreter("swift", "e", "*", &[]),
    interpreter("swipl", "gt", "*", &[]),
    interpreter("tclsh", "", "*", &[]),
    interpreter("tcc", "", "*", &["-run"]),
    interpreter("tsx", "ep", "*", &["--eval", "--print"]),
];

/// Programs whose arguments are lines or scripts that they run, or that read such.
const LINES: [&str; 38] = [
    "ansible",
    "at",
    "batch",
    "concurrently",
    "crontab",
    "dc",
    "debconf-apt-progress",
    "dpkg-buildpackage",
    "ed",
    "elvish",
    "emacs",
    "emacsclient",
    "ghci",
    "gpg-connect-agent",
    "hyperfine",
    "irb",
    "jshell",
    "konsole",
    "newgrp",
    "nix-shell",
    "nodemon",
    "nu",
    "pee",
    "pry",
    "pwsh",
    "red",
    "run-parts",
    "screen",
    "sg",
    "start-stop-daemon",
    "tmux",
    "vimtutor",
    "watchexec",
    "wish",
    "xinit",
    "xonsh",
    "xterm",
    "zellij",
];

/// Editors: each can run a line, by its words and by what it reads.
const EDITORS: [&str; 18] = [
    "editor",
    "evim",
    "ex",
    "gvim",
    "gvimdiff",
    "nvim",
    "rgview",
    "rgvim",
    "rview",
    "rvim",
    "sensible-editor",
    "vi",
    "view",
    "vim",
    "vim.basic",
    "vim.nox",
    "vim.tiny",
    "vimdiff",
];

/// Programs that run the words behind their options, and under which of their words.
const RUNNERS: [(&str, &[&str]); 65] = [
    ("R", &["CMD"]),
    ("asdf", &["exec"]),
    ("aws-vault", &["exec"]),
    ("bear", &[]),
    ("bun", &["x", "run"]),
    ("bundle", &["exec"]),
    ("bunx", &[]),
    ("ccache", &[]),
    ("cgexec", &[]),
    ("chpst", &[]),
    ("cmake", &["env", "time", "chdir"]),
    ("conda", &["run"]),
    ("cpulimit", &[]),
    ("cross-env", &[]),
    ("debconf", &[]),
    ("direnv", &["exec"]),
    ("distcc", &[]),
    ("doppler", &["run"]),
    ("dotenv", &[]),
    ("dtach", &[]),
    ("envdir", &[]),
    ("gdb", &[]),
    ("gdbserver", &[]),
    ("gosu", &[]),
    ("ip", &["exec"]),
    ("jj", &["exec"]),
    ("lckdo", &[]),
    ("lldb", &[]),
    ("logsave", &[]),
    ("mamba", &["run"]),
    ("mise", &["exec", "x"]),
    ("nix", &["develop", "shell", "run"]),
    ("npm", &["exec", "exe", "x"]),
    ("npx", &[]),
    ("nvm", &["exec", "run"]),
    ("op", &["run"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("prlimit", &[]),
    ("proxychains", &[]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("rlwrap", &[]),
    ("rr", &["record"]),
    ("run0", &[]),
    ("runcon", &[]),
    ("rustup", &["run"]),
    ("sccache", &[]),
    ("softlimit", &[]),
    ("sotruss", &[]),
    ("ssh-agent", &[]),
    ("su-exec", &[]),
    ("systemd-cat", &[]),
    ("systemd-socket-activate", &[]),
    ("torsocks", &[]),
    ("trickle", &[]),
    ("tsp", &[]),
    ("uv", &["run", "tool"]),
    ("uvx", &[]),
    ("xvfb-run", &[]),
    ("yarn", &["exec", "dlx", "run"]),
    ("yarnpkg", &["exec", "dlx", "run"]),
];

/// The runners for which a word that is neither one of their own nor a script of the project is a
/// command.
const RUN_THEIR_FIRST: [&str; 3] = ["pnpm", "yarn", "yarnpkg"];

/// Maximum words that are not values of options before the command of a runner.
const MAX_BEFORE: usize = 3;

/// Maximum words that may be the command; where there are more, nothing is said.
const MAX_CANDIDATES: usize = 32;

fn runner(name: &str) -> Option<&'static [&'static str]> {
    let is_named =
        |runner: &str| runner == name || runner == "proxychains" && runner == without_version(name);
    let mut runners = RUNNERS.iter();
    let found = runners.find(|(runner, _)| is_named(runner));
    found.map(|(_, words)| *words)
}

/// Where the commands may begin that a program runs; empty for one that runs none.
pub(super) fn carried(name: &str, rest: &[Word]) -> Vec<usize> {
    let mut found = candidates(name, rest);
    if are_too_many(&found, rest) {
        found.truncate(MAX_BEFORE);
    }
    found
}

/// Whether not all words can be followed that may be the command: the work would grow with each
/// runner that a runner may run.
fn are_too_many(found: &[usize], rest: &[Word]) -> bool {
    let is_runner = |word: &Word| {
        word.value
            .as_deref()
            .is_some_and(|value| runner(base(value)).is_some())
    };
    found.len() > MAX_CANDIDATES || found.len() > MAX_BEFORE && rest.iter().any(is_runner)
}

/// Whether a word that can't be known is where a runner looks for the one that makes it run a
/// command: `x=run; uv "$x" …`.
fn hides_command(name: &str, rest: &[Word]) -> bool {
    let Some(words) = runner(name) else {
        return false;
    };
    // For `cmake`, which is given directories too, these are behind an option.
    if name == "cmake" && !any_may_be(rest, |text| text == "-E") {
        return false;
    }
    let mut behind = rest.iter().filter(|word| !word.known.starts_with('-'));
    let mut first = behind.next();
    let is_object = |word: &&Word| matches!(word.value.as_deref(), Some("netns" | "vrf"));
    if name == "ip" && first.as_ref().is_some_and(is_object) {
        first = behind.next();
    }
    first.is_some_and(|word| {
        let may_be = |runs: &&str| runs.starts_with(&word.known);
        word.value.is_none() && (word.text.starts_with('{') || words.iter().any(may_be))
    })
}

/// Whether a runner may get no command. Some start a shell then, which reads lines.
fn may_start_shell(name: &str, rest: &[Word]) -> bool {
    let Some(words) = runner(name) else {
        return false;
    };
    let mut rest = rest.iter();
    let mut is_named = |word: &Word| word.value.as_deref().is_some_and(|v| words.contains(&v));
    if !words.is_empty() && !rest.by_ref().any(&mut is_named) {
        return false;
    }
    let mut may_be_value = false;
    !rest.any(|word| {
        let known = word.known.as_str();
        if known.starts_with('-') {
            let is_flag = matches!(known, "--" | "-y" | "--yes" | "-q" | "--quiet");
            may_be_value = !is_flag && !known.contains('=');
            return false;
        }
        !std::mem::take(&mut may_be_value)
    })
}

/// Which words may be the command that a program runs.
fn candidates(name: &str, rest: &[Word]) -> Vec<usize> {
    let Some(words) = runner(name) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if RUN_THEIR_FIRST.contains(&name) {
        let mut may_be_value = false;
        for (at, word) in rest.iter().enumerate() {
            if word.known.starts_with('-') {
                may_be_value = !word.known.contains('=');
                continue;
            }
            found.push(at);
            if !std::mem::take(&mut may_be_value) {
                break;
            }
        }
    }
    let mut values = rest
        .iter()
        .map(|word| word.value.as_deref().unwrap_or_default())
        .enumerate();
    if !words.is_empty() && !values.any(|(_, value)| words.contains(&value)) {
        return found;
    }
    let mut before = 0;
    // Whether the word may be the value of an option before it.
    let mut may_be_value = false;
    let mut is_marked = false;
    for (at, value) in values {
        if value.starts_with('-') {
            is_marked = matches!(value, "--" | "-c" | "--command");
            may_be_value = !value.contains('=') && value != "--";
            continue;
        }
        // Assignments are before a command.
        if !value.contains('=') && !found.contains(&at) && (before < MAX_BEFORE || is_marked) {
            found.push(at);
            before += usize::from(!may_be_value);
            if found.len() > MAX_CANDIDATES {
                break;
            }
        }
        may_be_value = false;
        is_marked = false;
    }
    found
}

/// Whether a program is given code or a line by its words, or reads it.
pub(super) fn runs_code(name: &str, rest: &[Word], reads_text: bool) -> bool {
    if EDITORS.contains(&name) || LINES.contains(&name) {
        let is_harmless = |word: &Word| {
            matches!(
                word.value.as_deref(),
                Some("--version" | "--help" | "-version" | "-help")
            )
        };
        if !rest.is_empty() && rest.iter().all(is_harmless) {
            return false;
        }
        return reads_text
            || EDITORS.contains(&name)
            || !rest.is_empty() && !matches!(name, "at" | "batch");
    }
    if are_too_many(&candidates(name, rest), rest)
        || hides_command(name, rest)
        || reads_text && may_start_shell(name, rest)
    {
        return true;
    }
    if let Some(known) = INTERPRETERS.iter().find(|i| i.name == plain_of(name)) {
        let is_node = matches!(known.name, "node" | "nodejs");
        return !(is_node && given::prints_json(rest)) && is_given_code(known, rest, reads_text);
    }
    let plain = without_version(name);
    if GIVEN.iter().any(|given| given.is_in(name, plain, rest)) {
        return true;
    }
    match plain {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => !awk::is_plain(rest),
        "sed" | "gsed" => !sed::is_plain(rest),
        "tar" | "gtar" | "bsdtar" => given::tar(rest),
        "gdb" | "lldb" => reads_text || !given::is_plain_debugger(rest),
        "make" | "gmake" => given::make(rest),
        "npm" | "npx" | "pnpm" | "pnpx" | "yarn" | "yarnpkg" => given::node_packages(plain, rest),
        "psql" | "mysql" | "mariadb" | "sqlite" => {
            reads_text || any_may_be(rest, |text| given::is_database_code(plain, text))
        }
        "nc" | "ncat" | "netcat" | "socat" => any_may_be(rest, |text| {
            let text = text.to_lowercase();
            ["exec", "system", "shell", "-e", "-c"]
                .iter()
                .any(|part| text.contains(part))
        }),
        "sshfs" => any_may_be(rest, names_command),
        // They start a shell, or have words that do.
        "ftp" => reads_text,
        "pkexec" => reads_text && !rest.iter().any(|word| !word.known.starts_with('-')),
        "bundle" | "hatch" | "pipenv" | "poetry" | "rails" => {
            reads_text && any_is(rest, |text| matches!(text, "shell" | "console" | "c"))
        }
        "scp" | "sftp" | "rsync" => reads_text && plain == "sftp" || any_is(rest, names_command),
        "apt" | "apt-get" | "aptitude" | "dpkg" => {
            any_is(rest, |text| text.to_lowercase().contains("-invoke"))
        }
        "less" | "more" | "pager" => {
            // What it reads is shown: commands come from the terminal.
            any_is(rest, |text| {
                text.starts_with('+') || text.starts_with('-') && text.contains('+')
            })
        }
        "zip" => any_is(rest, |text| {
            text.starts_with('-') && !text.starts_with("--") && text.contains("TT")
        }),
        "wget" => any_is(rest, is_device),
        _ if name == "m4" => reads_text || any_may_be(rest, |text| text.contains("syscmd")),
        "cmake" => any_may_be_option(rest, given::is_cmake_program),
        "go" => any_may_be_option(rest, |text| {
            text.contains("-extld") || text.contains("-extar")
        }),
        "rustc" | "rustdoc" | "cargo" => given::cargo(plain, rest),
        "pip" | "pipx" | "mypy" | "pylint" => given::is_given_by_module(plain, rest),
        "git" => given::git(rest),
        _ => given::is_compiler(plain) && given::compiler(rest),
    }
}

/// Whether a word sets an option of `ssh` that holds a command.
fn names_command(text: &str) -> bool {
    text.to_lowercase().contains("command") || is_device(text)
}

/// Whether a word is one of a kind, by its beginning where that is all that is known.
fn any_is(rest: &[Word], is_one: impl Fn(&str) -> bool) -> bool {
    rest.iter()
        .any(|word| is_one(word.value.as_deref().unwrap_or(&word.if_empty)))
}

/// Whether a word is one of a kind, or not known.
fn any_may_be(rest: &[Word], is_one: impl Fn(&str) -> bool) -> bool {
    rest.iter()
        .any(|word| word.value.as_deref().is_none_or(&is_one))
}

/// Whether a word is one of a kind, or may be an option that is not known.
fn any_may_be_option(rest: &[Word], is_one: impl Fn(&str) -> bool) -> bool {
    rest.iter().any(|word| match word.value.as_deref() {
        Some(value) => is_one(value),
        None => given::may_be_option(word),
    })
}

/// A program's name without a version and a system.
fn plain_of(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii_alphabetic());
    &name[..end.unwrap_or(name.len())]
}

/// A program's name without a version.
fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

/// Whether a file is what a program reads, rather than one of its own.
pub(super) fn is_input(file: &str) -> bool {
    let last = base(file);
    matches!(last, "-" | "stdin") || last.bytes().all(|b| b.is_ascii_digit()) || is_device(file)
}

fn is_device(file: &str) -> bool {
    file.contains("dev/") || file.contains("proc/")
}

/// Reads a regular expression up to its mark, which must be there on this line. Says how many
/// bytes that were. Within brackets a mark ends it in some programs only: nothing is known then.
fn read_expression(chars: &mut impl Iterator<Item = char>, mark: char) -> Option<usize> {
    if matches!(mark, '[' | ']') {
        return None;
    }
    let mut len = 0;
    let mut next = || {
        let c = chars.next().filter(|c| *c != '\n');
        len += c.map_or(0, char::len_utf8);
        c
    };
    loop {
        match next()? {
            c if c == mark => return Some(len),
            '\\' => {
                next()?;
            }
            '[' => {
                let mut c = next()?;
                if c == '^' {
                    c = next()?;
                }
                // One that is first is a character like others.
                if c == ']' {
                    c = next()?;
                }
                loop {
                    match c {
                        c if c == mark => return None,
                        ']' => break,
                        // Whether this quotes differs as well.
                        '\\' => {
                            c = next()?;
                            if c == ']' {
                                return None;
                            }
                            c = next()?;
                        }
                        '[' => {
                            c = next()?;
                            if matches!(c, ':' | '.' | '=') {
                                let kind = c;
                                let name = |c: &char| c.is_ascii_alphanumeric();
                                c = next()?;
                                while name(&c) {
                                    c = next()?;
                                }
                                if c != kind || next()? != ']' {
                                    return None;
                                }
                                c = next()?;
                            }
                        }
                        _ => c = next()?,
                    }
                }
            }
            _ => {}
        }
    }
}

/// Modules of Python that run code which they are given or read. Others are like files: what is
/// installed.
const RUN_CODE: [&str; 20] = [
    "IPython",
    "_pyrepl",
    "asyncio",
    "bdb",
    "bpython",
    "cProfile",
    "code",
    "fabric",
    "idlelib",
    "invoke",
    "pdb",
    "pickle",
    "profile",
    "ptpython",
    "pydoc",
    "runpy",
    "timeit",
    "trace",
    "webbrowser",
    "zipapp",
];

/// Whether a module of Python with its words is given code.
fn module_runs_code(module: Option<&str>, rest: &[Word]) -> bool {
    let runs_code = |module: &str| {
        RUN_CODE.iter().any(|known| {
            module
                .strip_prefix(known)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let Some(module) = module.filter(|module| !runs_code(module)) else {
        return true;
    };
    let runs_command = !candidates(module, rest).is_empty() || hides_command(module, rest);
    if runs_command || any_is(rest, is_device) {
        return true;
    }
    if module != "coverage" {
        return given::is_given_by_module(module, rest);
    }
    // It runs a module in its turn.
    let is_module = |word: &Word| matches!(word.value.as_deref(), Some("-m" | "--module"));
    rest.iter().position(is_module).is_some_and(|at| {
        let next = rest.get(at + 1).and_then(|word| word.value.as_deref());
        module_runs_code(next, rest.get(at + 2..).unwrap_or_default())
    })
}

/// Whether an interpreter gets code by an option, or on its standard input.
fn is_given_code(known: &Interpreter, rest: &[Word], reads_text: bool) -> bool {
    let is_python = matches!(known.name, "python" | "pypy");
    // Behind a word of theirs a dash is a file, and `inspect` reads commands.
    if reads_text && matches!(known.name, "bun" | "deno") {
        return true;
    }
    // Whether the next word may be the value of the option before it.
    let mut may_be_value = false;
    let mut has_file = false;
    for (i, word) in rest.iter().enumerate() {
        let Some(value) = word.value.as_deref() else {
            // It may be an option as well as a file.
            return true;
        };
        let name = value.split('=').next().unwrap_or_default();
        let is_long = |long: &&str| match long.strip_suffix('*') {
            Some(beginning) => value.starts_with(beginning),
            None => name == *long,
        };
        let is_read = value.starts_with('-') && is_device(value);
        if known.long.iter().any(is_long) || is_read || value.contains("data:") {
            return true;
        }
        match value.strip_prefix('-') {
            Some("") => return true,
            Some("-") => {
                let file = rest.get(i + 1).and_then(|word| word.value.as_deref());
                return file.is_none_or(is_input);
            }
            Some(cluster) if !cluster.starts_with('-') => {
                may_be_value = known.valued == "*";
                for (at, c) in cluster.char_indices() {
                    if known.letters.contains(c) {
                        return true;
                    }
                    if is_python && c == 'm' {
                        let attached = Some(&cluster[at + 1..]).filter(|rest| !rest.is_empty());
                        let next = rest.get(i + 1).and_then(|word| word.value.as_deref());
                        let behind = i + 1 + usize::from(attached.is_none());
                        return module_runs_code(
                            attached.or(next),
                            rest.get(behind..).unwrap_or_default(),
                        );
                    }
                    if known.valued.contains(c) {
                        may_be_value = at + 1 == cluster.len();
                        break;
                    }
                }
                let is_version = match cluster {
                    "V" | "h" | "version" | "help" => true,
                    "v" => matches!(known.name, "node" | "nodejs" | "perl" | "php" | "lua"),
                    _ => false,
                };
                if is_version && rest.len() == 1 {
                    return false;
                }
            }
            Some("-version" | "-help") => return false,
            Some("-check" | "-test") => has_file = true,
            Some(long) => may_be_value = !long.contains('='),
            None if may_be_value && value.bytes().all(|b| b.is_ascii_digit()) => {
                may_be_value = false;
            }
            None if is_input(value) || value == "inspect" => return true,
            None if may_be_value => {
                has_file |= !reads_text;
                may_be_value = false;
            }
            None => return false,
        }
    }
    !has_file
}
