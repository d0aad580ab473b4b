//! Programs that are given another one by an option or an operand of their own.

use super::super::words::{Word, is_single};
use super::{any_is, any_may_be, any_may_be_option, base, is_device, without_version};

/// Options by which a program is given another one, or code.
pub(super) struct Given {
    names: &'static [&'static str],
    /// Letters, wherever they are in a cluster.
    letters: &'static str,
    /// Letters that take a value: the rest of their word is that value.
    valued: &'static str,
    /// Long options, which may be shortened; with one dash what a word begins with.
    long: &'static [&'static str],
}

const fn given(
    names: &'static [&'static str],
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> Given {
    Given {
        names,
        letters,
        valued,
        long,
    }
}

pub(super) const GIVEN: [Given; 29] = [
    given(
        &["apt", "apt-get", "apt-cache", "apt-config", "aptitude"],
        "oc",
        "at",
        &["--option", "--config-file"],
    ),
    given(
        &["ctest"],
        "",
        "",
        &["--test-command", "--build-makeprogram"],
    ),
    given(
        &["dpkg"],
        "",
        "",
        &["--status-logger", "--pre-invoke", "--post-invoke"],
    ),
    given(&["dpkg-architecture"], "c", "", &["--command"]),
    given(
        &["fzf"],
        "",
        "",
        &["--preview", "--bind", "--execute", "--become", "--listen"],
    ),
    given(&["gdbserver"], "", "", &["--wrapper"]),
    given(
        &["go", "go.exe"],
        "",
        "",
        &[
            "-exec",
            "-toolexec",
            "-vettool",
            "--exec",
            "--toolexec",
            "--vettool",
        ],
    ),
    given(
        &["gpg", "gpg-agent", "gpgconf", "gpgsm", "gpgtar", "gpgv"],
        "",
        "",
        &[
            "--agent-program",
            "--daemon",
            "--dirmngr-program",
            "--exec-path",
            "--gpg",
            "--keyboxd-program",
            "--photo-viewer",
            "--pinentry-program",
            "--protect-tool-program",
            "--scdaemon-program",
            "--tpm2daemon-program",
        ],
    ),
    given(
        &["hg"],
        "ec",
        "mRrudlIXBbt",
        &["--config", "--ssh", "--command", "--tool", "--remotecmd"],
    ),
    given(
        &["jj"],
        "",
        "",
        &["--config", "--config-toml", "--config-file", "--tool"],
    ),
    given(&["json_pp"], "f", "", &["--f"]),
    given(
        &["less", "more", "pager"],
        "pk",
        "",
        &[
            "--pattern",
            "--lesskey-content",
            "--lesskey-file",
            "--lesskey-src",
            "--cmd",
        ],
    ),
    given(&["m4"], "D", "", &["--define"]),
    given(
        &["man"],
        "CPHT",
        "RLmMSsEr",
        &["--pager", "--html", "--config-file"],
    ),
    given(
        &["mysql", "mariadb"],
        "",
        "",
        &["--pager", "--plugin-dir", "--default-auth"],
    ),
    given(
        &["nc", "ncat", "netcat"],
        "ec",
        "iImOPpqsTVWwXx",
        &["--exec", "--sh-exec", "--lua-exec"],
    ),
    given(&["node-gyp"], "", "", &["--python"]),
    given(&["prove"], "e", "IPMaj", &["--exec"]),
    given(&["protoc"], "", "", &["--plugin"]),
    given(&["rg"], "", "", &["--pre", "--hostname-bin"]),
    given(
        &["rsync"],
        "e",
        "BMfT@",
        &["--rsh", "--rsync-path", "--early-exec"],
    ),
    given(
        &["rustdoc"],
        "",
        "",
        &["--test-builder", "--test-runtool", "--runtool"],
    ),
    given(&["scp"], "SD", "cFiJlPoX", &[]),
    given(&["sftp"], "SD", "BbcFiJloPRsX", &[]),
    given(&["split", "gsplit"], "", "", &["--filter"]),
    given(
        &["svn", "svnsync", "svnadmin"],
        "",
        "",
        &[
            "--config-option",
            "--diff-cmd",
            "--diff3-cmd",
            "--editor-cmd",
            "--merge-cmd",
        ],
    ),
    given(&["ts-node"], "ep", "", &["--eval", "--print"]),
    given(
        &["wget"],
        "e",
        "oaitOTwQPUlARDIXB",
        &["--use-askpass", "--execute"],
    ),
    given(&["zip"], "", "", &["--unzip-command"]),
];

impl Given {
    /// Whether a program of this name or plain name gets one of these options.
    pub(super) fn is_in(&self, name: &str, plain: &str, rest: &[Word]) -> bool {
        if !self.names.contains(&name) && !self.names.contains(&plain) {
            return false;
        }
        any_may_be_option(rest, |value| self.names_option(value))
    }

    fn names_option(&self, value: &str) -> bool {
        let name = value.split('=').next().unwrap_or_default();
        let is_long = |long: &&str| {
            if long.starts_with("--") {
                name.len() > 2 && long.starts_with(name)
            } else {
                value.starts_with(*long)
            }
        };
        if value.starts_with('-') && self.long.iter().any(is_long) {
            return true;
        }
        let Some(cluster) = value.strip_prefix('-').filter(|c| !c.starts_with('-')) else {
            return false;
        };
        cluster
            .chars()
            .take_while(|c| !self.valued.contains(*c))
            .any(|c| self.letters.contains(c))
    }
}

/// Whether a word of which only the beginning is known is an option, or a file that holds some.
/// Of words that begin with what a variable holds nothing is promised.
pub(super) fn may_be_option(word: &Word) -> bool {
    word.if_empty.starts_with(['-', '+', '@', '<', '>', '|'])
}

/// Programs for C that a makefile may be given.
const TOOLCHAIN: [&str; 29] = [
    "ar", "as", "bison", "byacc", "c", "c++", "cc", "clang", "clang++", "cpp", "dmd", "flex",
    "g++", "gcc", "gcc-ar", "gfortran", "gmake", "icc", "ld", "lex", "lld", "llvm-ar", "make",
    "nasm", "nm", "ranlib", "strip", "tcc", "yacc",
];

fn is_toolchain(value: &str) -> bool {
    TOOLCHAIN.contains(&without_version(value))
}

/// Whether a program is a compiler of C or its kind, also one for another machine.
pub(super) fn is_compiler(plain: &str) -> bool {
    let last = plain.rsplit('-').next().unwrap_or_default();
    matches!(
        last,
        "c" | "c++" | "cc" | "clang" | "clang++" | "cpp" | "g++" | "gcc" | "gfortran" | "gccgo"
    )
}

/// Whether a compiler is given a program by its words.
pub(super) fn compiler(rest: &[Word]) -> bool {
    any_may_be_option(rest, is_compilers_program)
}

/// Whether a word gives a compiler a program, or a library that it loads.
fn is_compilers_program(text: &str) -> bool {
    let value = text.strip_prefix("-fuse-ld=");
    [
        "-wrapper",
        "-B",
        "--prefix",
        "-fplugin",
        "-fpass-plugin",
        "-specs",
        "--specs",
        "-load",
        "--ld-path",
        "-Wl,-plugin",
        "-Wl,--plugin",
    ]
    .iter()
    .any(|option| text.starts_with(option))
        || text.len() > 4 && "--prefix".starts_with(text.split('=').next().unwrap_or_default())
        || value.is_some_and(|linker| linker.contains('/'))
        || text.starts_with('@') && is_device(text)
}

/// Whether flags for compilers, as makefiles give them to a shell, name a program.
pub(in super::super) fn are_flags_with_program(flags: &str) -> bool {
    flags.contains([';', '&', '|', '<', '>', '(', ')', '$', '`', '\\', '\n'])
        || flags
            .split_whitespace()
            .any(|flag| is_compilers_program(flag) || flag.contains("linker="))
}

const TAR: Given = given(
    &[],
    "",
    "",
    &[
        "--info-script",
        "--new-volume-script",
        "--rmt-command",
        "--rsh-command",
    ],
);

/// Whether `tar` gets a program, other than one that compresses.
pub(super) fn tar(rest: &[Word]) -> bool {
    const COMPRESS: [&str; 12] = [
        "bzip2", "gzip", "lbzip2", "lz4", "lzip", "lzma", "lzop", "pbzip2", "pigz", "pixz", "xz",
        "zstd",
    ];
    let is_known = |given: &str| {
        let mut words = given.split(' ');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-');
        words.next().is_some_and(|word| COMPRESS.contains(&word)) && given.chars().all(is_plain)
    };
    rest.iter().enumerate().any(|(i, word)| {
        let Some(value) = word.value.as_deref() else {
            return may_be_option(word);
        };
        if TAR.names_option(value) {
            return true;
        }
        let letters = match value.strip_prefix('-') {
            Some(letters) if !letters.starts_with('-') => letters,
            // The oldest way, in which all values follow.
            None if i == 0 => return value.contains(['I', 'F']),
            _ => return false,
        };
        let letters = letters
            .split(['f', 'C', 'T', 'X'])
            .next()
            .unwrap_or_default();
        match letters.split_once(['I', 'F']) {
            None => false,
            Some((before, _)) if letters[before.len()..].starts_with('F') => true,
            Some((before, _)) => {
                let attached = &value[before.len() + 2..];
                let given = if attached.is_empty() {
                    rest.get(i + 1).and_then(|word| word.value.as_deref())
                } else {
                    Some(attached)
                };
                !given.is_some_and(is_known)
            }
        }
    })
}

/// Variables of makefiles that hold programs.
const PROGRAMS_OF_MAKE: [&str; 26] = [
    "AR",
    "AS",
    "CC",
    "CO",
    "CPP",
    "CTANGLE",
    "CWEAVE",
    "CXX",
    "F77",
    "FC",
    "GET",
    "GNUMAKEFLAGS",
    "LD",
    "LEX",
    "LINT",
    "M2C",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAKEINFO",
    "OBJC",
    "PC",
    "RANLIB",
    "RM",
    "WEAVE",
    "YACC",
];

const MAKE: Given = given(&[], "E", "CfIojlWO", &["--eval"]);

/// Whether `make` is given a line or a program.
pub(super) fn make(rest: &[Word]) -> bool {
    rest.iter().any(|word| {
        let Some(text) = word.value.as_deref() else {
            return !word.text.starts_with("-j");
        };
        if text.contains("/dev/")
            || text.contains("SHELL")
            || text.contains("--ev")
            || text.contains([
                ';', '&', '|', '<', '>', '(', ')', '$', '`', '\'', '"', '\\', '\n',
            ])
        {
            return true;
        }
        if text.starts_with('-') {
            return text.ends_with('-') || MAKE.names_option(text);
        }
        let Some((name, value)) = text.split_once('=') else {
            return false;
        };
        let name = name.trim_end_matches([':', '+', '?']);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        // `!=` runs a line, and names with a full stop are commands of rules.
        !name.chars().all(is_plain)
            || PROGRAMS_OF_MAKE.contains(&name) && !is_toolchain(value)
            || value.split_whitespace().any(is_compilers_program)
    })
}

/// Whether a debugger is only told to run the program and to show where it is.
pub(super) fn is_plain_debugger(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(value) = word.value.as_deref() else {
            if may_be_option(word) {
                return false;
            }
            continue;
        };
        let (option, attached) = match value.split_once('=') {
            Some((option, attached)) if value.starts_with('-') => (option, Some(attached)),
            _ => (value, None),
        };
        let mut given = || attached.or_else(|| words.next().and_then(|w| w.value.as_deref()));
        let is_known = match option {
            "--args" | "-args" => return true,
            "-ex" | "--ex" | "-o" | "--one-line" | "-eval-command" | "--eval-command" => {
                given().is_some_and(is_plain_command)
            }
            "-p" | "--pid" | "-pid" | "-c" | "--core" | "-core" => given().is_some(),
            "-q" | "-quiet" | "--quiet" | "-silent" | "--silent" | "-batch" | "--batch" | "-nx"
            | "--nx" | "-nh" | "--nh" | "-v" | "--version" | "-h" | "--help" => true,
            _ => !option.starts_with('-'),
        };
        if !is_known {
            return false;
        }
    }
    true
}

/// Whether a command of a debugger starts nothing but the program.
fn is_plain_command(command: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '.' | ':');
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    command.chars().all(is_plain)
        && match first {
            "bt" | "backtrace" | "where" | "info" | "i" | "frame" | "f" | "list" | "l" | "up"
            | "down" | "break" | "b" | "finish" | "next" | "n" | "step" | "s" => true,
            "run" | "r" | "start" | "continue" | "c" | "quit" | "q" | "kill" | "detach" => {
                rest.is_empty()
            }
            "set" => matches!(rest[..], ["pagination" | "confirm", "on" | "off"]),
            "thread" => matches!(
                rest[..],
                ["backtrace"]
                    | ["backtrace", "all"]
                    | ["apply", "all", "bt" | "backtrace"]
                    | ["apply", "all", "bt" | "backtrace", "full"]
            ),
            _ => false,
        }
}

/// Commands of `sqlite3` that start nothing.
const PLAIN_DOTS: [&str; 17] = [
    ".databases",
    ".dbinfo",
    ".dump",
    ".exit",
    ".fullschema",
    ".headers",
    ".help",
    ".indexes",
    ".mode",
    ".nullvalue",
    ".quit",
    ".schema",
    ".separator",
    ".show",
    ".tables",
    ".timer",
    ".width",
];

/// Whether a word gives a program for databases another one.
pub(super) fn is_database_code(plain: &str, text: &str) -> bool {
    let lower = text.to_lowercase();
    let has_word = |wanted: &str| {
        let is_part = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        lower.split(is_part).any(|word| word == wanted)
    };
    let is_pipe = text.trim_start().starts_with('|') || text.starts_with('-') && text.contains('|');
    let has_dots = text.lines().any(|line| {
        let line = line.trim();
        let name = line.split_whitespace().next().unwrap_or_default();
        let is_file = ["./", "../", ".."]
            .iter()
            .any(|path| name.starts_with(path));
        name.starts_with('.') && !(is_file || PLAIN_DOTS.contains(&name) && !line.contains('|'))
    });
    is_pipe
        || is_device(text)
        || has_dots
        || ["program", "system", "shell", "load_extension", "source"]
            .iter()
            .any(|word| has_word(word))
        || match plain {
            "sqlite" => has_word("edit"),
            // Commands of their own.
            _ => text.contains('\\') || has_word("pager") || has_word("edit"),
        }
}

/// Whether a word tells `cmake` of a program that is not known.
pub(super) fn is_cmake_program(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else {
        return false;
    };
    // `-DNAME:TYPE=value`
    let name = name.split(':').next().unwrap_or_default();
    let holds_program = [
        "COMPILER",
        "LAUNCHER",
        "PROGRAM",
        "LINKER",
        "EMULATOR",
        "COMMAND",
        "EXECUTABLE",
        "_AR",
        "_LD",
        "_CLANG_TIDY",
        "_CPPCHECK",
        "_CPPLINT",
        "_RULE_",
    ];
    let is_program = holds_program.iter().any(|part| name.contains(part));
    is_program && !is_toolchain(base(value)) && !matches!(value, "ccache" | "sccache")
}

/// Whether the compiler of Rust, or what starts it, is given another program.
pub(super) fn cargo(plain: &str, rest: &[Word]) -> bool {
    let is_watch = rest
        .iter()
        .any(|word| word.value.as_deref() == Some("watch"));
    any_may_be_option(rest, |text| {
        let names_linker = text.contains("linker=")
            || text.contains("link-arg")
                && ["wrapper", "-B", "specs", "plugin", "=/"]
                    .iter()
                    .any(|part| text.contains(part));
        names_linker
            || plain == "cargo"
                && (text.starts_with("--config")
                    || is_watch
                        && (text.starts_with("-s") || text.starts_with("--s") || text == "--"))
    })
}

/// Whether a tool of Python is given a program or code.
pub(super) fn is_given_by_module(module: &str, rest: &[Word]) -> bool {
    let long: &[&str] = match module {
        "pip" | "pip3" => &["--editor", "--python"],
        "pipx" => &["--python"],
        "mypy" => &["--python-executable"],
        "pylint" => &["--init-hook"],
        "jupyter" => &["--browser", "--editor"],
        "poetry" | "tox" | "nox" => &[],
        _ => return false,
    };
    let is_edit = |word: &Word| word.value.as_deref() == Some("edit");
    rest.iter().any(|word| {
        let text = word.value.as_deref().unwrap_or_default();
        let name = text.split('=').next().unwrap_or_default();
        // Shortened it must be longer than what begins other options as well.
        name.len() > 4
            && name != "--python-version"
            && long.iter().any(|long| long.starts_with(name))
            || word.value.is_none() && may_be_option(word)
    }) || module == "pip" && rest.iter().any(is_edit)
}

/// Whether `node` prints a value of a JSON file and does nothing else, which is how scripts ask for
/// a package's version: `-p "require('./package.json').version"`.
pub(super) fn prints_json(rest: &[Word]) -> bool {
    let values: Vec<_> = rest.iter().map(|word| word.value.as_deref()).collect();
    matches!(values[..], [Some("-p" | "-pe" | "--print"), Some(code)] if is_value_of_json(code))
}

fn is_value_of_json(code: &str) -> bool {
    let required = code.strip_prefix("require(").and_then(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (path, behind) = rest[1..].split_once(quote)?;
        Some((path, behind.strip_prefix(')')?))
    });
    let Some((path, keys)) = required else {
        return false;
    };
    // A bare name is looked for among the packages.
    let is_path = path.starts_with(['.', '/']) && path.strip_suffix(".json").is_some();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-@".contains(c);
    let is_key =
        |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut keys = keys.split('.');
    is_path && path.chars().all(is_plain) && keys.next() == Some("") && keys.all(is_key)
}

/// Options of the package managers of Node.js that name programs, without dashes.
const OF_PACKAGES: [&str; 11] = [
    "browser",
    "call",
    "editor",
    "git",
    "node-gyp",
    "node-options",
    "python",
    "script-shell",
    "shell",
    "shell-mode",
    "viewer",
];

/// Whether a package manager of Node.js is given a line or a program.
pub(super) fn node_packages(plain: &str, rest: &[Word]) -> bool {
    let has = |wanted: &[&str]| {
        rest.iter()
            .any(|word| word.value.as_deref().is_some_and(|v| wanted.contains(&v)))
    };
    let is_runner = matches!(plain, "npx" | "pnpx");
    let starts = |word: &Word| {
        word.value
            .as_deref()
            .is_some_and(|value| value.len() > 3 && "explore".starts_with(value))
    };
    if !is_runner
        && (rest.first().is_some_and(starts)
            || has(&["explore"])
            || has(&["edit"])
            || plain != "npm"
                && has(&["exec"])
                && any_may_be(rest, |text| text.contains([';', '&', '|', '$', '`', '\n'])))
    {
        return true;
    }
    let mut may_be_value = false;
    for word in rest {
        let value = match word.value.as_deref() {
            Some(value) => value,
            // Which option it is is known.
            None if word.known.contains('=') && is_single(word) => &word.known,
            None if may_be_option(word) => return true,
            None => continue,
        };
        if value == "--" {
            return false;
        }
        let Some(option) = value.strip_prefix('-') else {
            // What follows the command is its own.
            if is_runner && !std::mem::take(&mut may_be_value) {
                return false;
            }
            continue;
        };
        let is_long = option.starts_with('-');
        let name = option.trim_start_matches('-');
        let name = name.split('=').next().unwrap_or_default();
        let is_cluster = !is_long && option.contains('c') && option.len() < 4;
        let is_named = name.len() > 1 && OF_PACKAGES.iter().any(|long| long.starts_with(name));
        if is_cluster || is_named {
            return true;
        }
        let is_flag = matches!(
            value,
            "-y" | "--yes"
                | "--no"
                | "-q"
                | "--quiet"
                | "--no-install"
                | "--ignore-existing"
                | "-g"
        );
        may_be_value = !is_flag && !value.contains('=');
    }
    false
}

/// Whether a command of git's is there to start a program, or an address names one.
pub(super) fn git(rest: &[Word]) -> bool {
    any_is(rest, |text| {
        matches!(text, "difftool" | "mergetool" | "web--browse") || text.starts_with("ext::")
    })
}
