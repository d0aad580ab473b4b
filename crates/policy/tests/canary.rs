//! Lines in which bash may evaluate a word as code, or in which an option may start a program: if
//! the program `./evil` runs, the analysis has named it, or has called the line unresolved. bash
//! and the programs themselves are the judges. Each run has a seed of its own, which is printed;
//! `GEMINI_TOOLS_SEED` repeats one, and `GEMINI_TOOLS_TRIALS` multiplies the number of lines.

#![cfg(target_os = "linux")]

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only its random numbers are used")]
mod lines;
#[expect(dead_code, reason = "no policy is asked here")]
mod trials;

use gemini_tools_shell::analyse;
use lines::Random;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trials::{number, seed};

/// Creates the program `evil`. If it is run, it creates a file by which the test knows.
const PROGRAM: &str = r#"
    set -e; mkdir made; cd made
    printf '#!/bin/sh\n: > "%s/ran"\n' "$PLACE" > evil; chmod 755 evil
"#;

const FILES: &str = r"
    for d in 0 git-x git-merge-x gits; do mkdir $d; cp evil $d; done; cp evil 0/ls; cp evil 0/rg
    cp evil lighttpd; printf 'DEFINE pager ./evil\nDEFINE cat ./evil\n' > conf
    printf 'a\nb\n' > f; seq 20000 > big; tar cf t.tar f
    [ -e /usr/bin/git ] || exit 0
    git init -q --template= .; git add f; git config user.name x; git config user.email x@y
    git commit -qm a; git tag base; git commit -q --allow-empty -m b; echo c >> f
";

/// The time in seconds after which `timeout` ends a line.
const LIMIT: &str = "5";

struct Place {
    directory: TempDir,
}

impl Place {
    fn new(files: &str) -> Self {
        let directory = TempDir::new().expect("a directory");
        let place = Self { directory };
        let script = format!("{PROGRAM}{files}");
        let made = place.bash(place.directory.path(), &script).status();
        assert!(made.expect("bash").success());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn bash(&self, directory: &Path, line: &str) -> Command {
        let mut bash = Command::new("timeout");
        bash.args([LIMIT, "bash", "--norc", "--noprofile", "-c", "--", line])
            .current_dir(directory)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("PLACE", self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        bash
    }

    fn runs(&self, line: &str) -> bool {
        let (work, ran) = (self.path("work"), self.path("ran"));
        // A line may change git's settings of the user, which then count for all that follow.
        for left in [&work, &self.path("home")] {
            let _ = fs::remove_dir_all(left);
        }
        let _ = fs::remove_file(&ran);
        let copy = Command::new("cp")
            .arg("-a")
            .args([&self.path("made"), &work])
            .status();
        assert!(copy.expect("cp").success());
        let _ = self.bash(&work, line).status().expect("bash");
        ran.exists()
    }
}

/// Returns the line as it would run, if the analysis says that it does not start the program.
fn passed(line: &str) -> Option<String> {
    let analysis = analyse(line);
    // `lighttpd` is a copy of it, and no rule that allows a program matches `PATH=`.
    let is_it = |root: &str| ["evil", "lighttpd"].contains(&root) || root.ends_with('=');
    let is_named = analysis.commands.iter().any(|c| is_it(c.root()));
    let passes = analysis.unresolved.is_empty() && !is_named;
    passes.then(|| analysis.understood().unwrap_or(line).to_owned())
}

/// Tries lines, and makes sure that enough of them run the program and that enough pass.
fn judge(
    test: &str,
    files: &str,
    lines: u64,
    least: (u64, u64),
    mut line: impl FnMut(&mut Random) -> String,
) {
    let seed = seed(test);
    let mut random = Random(seed);
    let place = Place::new(files);
    let (mut runs, mut passes) = (0, 0);
    let trials = number("GEMINI_TOOLS_TRIALS").unwrap_or(1);
    for _ in 0..lines * trials {
        let line = line(&mut random);
        if let Some(text) = passed(&line) {
            passes += 1;
            assert!(!place.runs(&text), "seed {seed}: {line:?} ran as {text:?}");
        } else {
            runs += u64::from(place.runs(&line));
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "{test}: {runs} lines ran the program, {passes} passed"
    );
    assert!(
        runs >= least.0 * trials && passes >= least.1 * trials,
        "one kind of line hardly occurs: {runs}, {passes}"
    );
}

fn one_of<'t>(texts: &[&'t str], random: &mut Random) -> &'t str {
    texts[random.below(texts.len())]
}

/// The builtins of bash, without those that end other processes, wait for a signal or run a file.
const BUILTINS: &[&str] = &[
    ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen",
    "complete", "compopt", "continue", "dirs", "disown", "echo", "enable", "eval", "exec", "exit",
    "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "let", "logout", "popd",
    "printf", "pushd", "pwd", "return", "set", "shift", "shopt", "test", "times", "trap", "true",
    "type", "ulimit", "umask", "wait",
];

const ASSIGNING: &[&str] = &[
    "declare",
    "export",
    "local",
    "mapfile",
    "printf -v",
    "read",
    "readarray",
    "readonly",
    "typeset",
    "unset",
];

/// What bash may do with a word, other than to give it to a builtin.
const FORMS: &[&str] = &[
    "[[ -v ~ ]]",
    "[[ ~ -eq 1 ]]",
    "[[ ~ == 1 ]]",
    "((~))",
    "echo $((~))",
    "echo $(( $v ))",
    "echo ${v@P}",
    "echo ${!v}",
    "echo ${v:~}",
    "echo ${a[$v]}",
    "a[$v]=1",
    "a=(~)",
    "a+=(~)",
    "a+=~",
    "for a in ~; do :; done",
    "for OPTIND in ~; do :; done",
    "OPTIND=~",
    "case ~ in x) ;; esac",
    "echo ${v:=~}",
    "a=~ declare -a",
];

const NAMES: &[&str] = &[
    "a",
    "a",
    "a",
    "a",
    "x",
    "v",
    "MAPFILE",
    "DIRSTACK",
    "PIPESTATUS",
    "GROUPS",
    "HISTCMD",
    "RANDOM",
];

const CODE: &[&str] = &[
    "($(./evil))",
    "($(./evil))",
    "([$(./evil)]=1)",
    "a[$(./evil)]",
    "a[$(./evil)]",
    "[$(./evil)]=1",
    "a[$(./evil)]=1",
    "$(./evil)",
    "(x)",
    "x",
];

const BEFORE: &[&str] = &[
    "",
    "a=(x);",
    "read -ra a <<< 'x y';",
    "read -a a <<< x;",
    "declare -a a;",
    "declare -A a;",
    "declare -i a;",
    "declare -n a=x;",
    "mapfile < f;",
    "mapfile a < f;",
    ": ${a[0]:=x};",
    "readonly -a a;",
    "for i in 1 2; do",
];

/// Writes a word so that its value is the text.
fn spelled(text: &str, random: &mut Random) -> String {
    let escaped = || text.chars().flat_map(|c| ['\\', c]).collect();
    match random.below(6) {
        0 => escaped(),
        1 => format!("\"{}\"", text.replace('$', "\\$")),
        2 => "\"$v\"".to_owned(),
        3 => "$v".to_owned(),
        _ => format!("'{text}'"),
    }
}

fn word(random: &mut Random) -> String {
    let (name, code) = (one_of(NAMES, random), one_of(CODE, random));
    match random.below(8) {
        0 => name.to_owned(),
        1 | 2 => spelled(code, random),
        3 => spelled(&format!("{name}={code}"), random),
        4 => format!("\"{name}=$v\""),
        5 => format!("{name}+={}", spelled(code, random)),
        _ => format!("{name}={}", spelled(code, random)),
    }
}

fn line_of_builtins(random: &mut Random) -> String {
    const LETTERS: &[u8] = b"aAaAaAinprxgtuvlcCdDeEfFhkmMnNoOpPqrRsStTwWxX";
    let code = one_of(CODE, random);
    let value = match random.below(3) {
        0 => format!("read v <<< '{code}'; "),
        1 => format!("echo '{code}' > g; read -r v < g; "),
        _ => format!("v='{code}'; "),
    };
    let main = if random.below(4) == 0 {
        one_of(FORMS, random).replace('~', &word(random))
    } else {
        let names = if random.below(3) == 0 {
            BUILTINS
        } else {
            ASSIGNING
        };
        let mut main = one_of(names, random).to_owned();
        for _ in 0..random.below(3) {
            main.push_str(" -");
            for _ in 0..=random.below(2) {
                main.push(char::from(LETTERS[random.below(LETTERS.len())]));
            }
        }
        for _ in 0..=random.below(2) {
            main = format!("{main} {}", word(random));
        }
        main
    };
    let before = one_of(BEFORE, random);
    let end = if before.ends_with("do") {
        format!("; {} done", one_of(&BEFORE[1..6], random))
    } else {
        String::new()
    };
    format!("{value}{before} {main}{end}")
}

#[test]
fn no_builtin_evaluates_a_word_that_is_taken_for_data() {
    judge("builtins", "echo > f", 500, (8, 30), line_of_builtins);
}

/// Programs with lines in which their options have an effect, and with those options that are known
/// to start a program. `~` stands for the options, `^` for letters of the old form that `tar` has
/// without a dash.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("tar", "tar ~ -cf x f", "-I --use-compress-program"),
    ("tar", "tar -xf t.tar ~", "-I --to-command"),
    ("tar", "tar --checkpoint=1 ~ -cf x f", "--checkpoint-action"),
    (
        "tar",
        "tar -L 1 -M ~ -cf x big",
        "-F --info-script --new-volume-script",
    ),
    ("tar", "tar -cf h:x ~ f", "--rsh-command"),
    ("tar", "tar c^f ./evil ./evil f", "-v"),
    ("split", "split ~ f", "--filter"),
    ("sort", "sort -S 50b ~ big", "--compress-program"),
    ("install", "install -s ~ f g", "--strip-program"),
    ("sdiff", "sdiff ~ f big", "--diff-program"),
    ("rsync", "rsync ~ f h:x", "-e --rsh"),
    ("rg", "rg ~ a f", "--pre --hostname-bin"),
    ("zip", "zip -T ~ x f", "-TT --unzip-command"),
    ("man", "man ~ ls", "-P -H --pager --html"),
    ("scp", "scp ~ f h:x", "-S -D -o"),
    ("sftp", "sftp ~ h:x", "-S -D -o"),
    (
        "wget",
        "wget ~ http://127.0.0.1:9/",
        "-e --execute --use-askpass",
    ),
    ("find", "find f ~ ';'", "-exec -ok -execdir"),
    ("scriptlive", "scriptlive ~ a f", "-c --command"),
    ("git ls-remote", "git ls-remote ~ .", "--exec --upload-pack"),
    ("git clone", "git clone ~ . c", "-u --upload-pack"),
    ("git grep", "git grep ~ a", "-O --open-files-in-pager"),
    ("git fetch", "git fetch ~ . x", "--upload-pack"),
    ("git push", "git push ~ . x", "--receive-pack --exec"),
    ("git difftool", "git difftool -y ~", "-x --extcmd -t --tool"),
    ("git mergetool", "git mergetool ~", "-t --tool"),
    (
        "git cherry-pick",
        "git commit -qam c; git tag c; git checkout -q base; git cherry-pick ~ c",
        "--strategy",
    ),
    ("git instaweb", "git instaweb ~", "-d --httpd"),
    ("git", "git ~ x/evil", "-p -P"),
    (
        "git bisect",
        "git bisect start HEAD base; git bisect view ~ gits/evil",
        "--stat",
    ),
    (
        "git config",
        "git config ~ core.fsmonitor ./evil; git status",
        "--add --global",
    ),
    ("xargs", "echo x | xargs ~ ls", "--process-slot-var"),
    (
        "env",
        "printf 'connect git-upload-pack\n' | env ~ git x ./evil",
        "-a --argv0",
    ),
    (
        "env",
        "printf 'connect git-upload-pack\n' | exec ~ git x ./evil",
        "-a",
    ),
    ("git rebase", "git stash -q; git rebase ~ base", "-x --exec"),
    ("git", "git ~ diff", "-c --config-env --exec-path"),
];

fn options_of(program: &str) -> Vec<String> {
    let mut words = program.split(' ');
    let name = words.next().unwrap_or_default();
    let mut help = Command::new(name);
    match words.next() {
        Some(command) => help.args([command, "-h"]),
        None => help.arg("--help"),
    };
    let Ok(output) = help.stdin(Stdio::null()).output() else {
        return Vec::new();
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let words = text.split(|c: char| c.is_whitespace() || ",=<>()|[]".contains(c));
    let options = words.filter(|word| word.len() > 1 && word.starts_with('-'));
    // `rsync --daemon` would go on behind the test.
    let options = options.filter(|word| !matches!(*word, "--" | "--daemon") && word.is_ascii());
    options.map(str::to_owned).collect()
}

/// Writes an option in one of the ways in which programs read them, with the program as its value.
fn written(option: &str, options: &[String], random: &mut Random) -> String {
    const VALUES: &[&str] = &[
        "./evil",
        "./evil",
        "exec=./evil",
        "../../evil",
        "x/evil",
        "./lighttpd",
        "git-remote-ext",
        "PATH",
        "ProxyCommand=./evil",
        "use_askpass=./evil",
        "diff.external=./evil",
    ];
    let value = one_of(VALUES, random);
    if let Some(name) = option.strip_prefix("--") {
        let end = (4 + random.below(name.len())).min(name.len());
        let name = if random.below(2) == 0 {
            name
        } else {
            &name[..end]
        };
        return format!("--{name}{}{value}", one_of(&["=", "=", " "], random));
    }
    let before = options
        .iter()
        .filter(|option| option.len() == 2 && random.below(60) == 0);
    let before: String = before.map(|option| &option[1..]).collect();
    format!(
        "-{before}{}{}{value}",
        &option[1..],
        one_of(&["", " "], random)
    )
}

/// Stand before an option and are empty when bash runs the line; `~` is the option.
const EMPTY: &[&str] = &[
    "{,}~",
    "{$x,\"\"}~",
    "$x~",
    "\"$x\"~",
    "\"$@\"~",
    "$(true)''~",
    "${x:-~}",
    "\"${x-~}\"",
    "${x/#/~}",
];

/// Returns an option that is known to start a program, or any other that the program has.
fn option(known: &str, options: &[String], random: &mut Random) -> String {
    let known: Vec<&str> = known.split(' ').collect();
    let option = match random.below(2) {
        0 if !options.is_empty() => &options[random.below(options.len())],
        _ => one_of(&known, random),
    };
    let written = written(option, options, random);
    if random.below(4) > 0 {
        return written;
    }
    let (first, value) = written.split_once(' ').unwrap_or((&written, ""));
    format!("{} {value}", one_of(EMPTY, random).replace('~', first))
}

/// Gives the options of the first command to it by `xargs`, in one of the ways that there are.
fn by_xargs(line: &str, options: &str, random: &mut Random) -> String {
    let (first, end) = line.split_once(';').unwrap_or((line, ""));
    if first.contains('|') || !first.contains(options) {
        return line.to_owned();
    }
    let words = options.replace(' ', "\\n");
    let given = match random.below(4) {
        0 => first.replace(options, "{}"),
        1 => first.replace(options, " -- "),
        _ => first.replace(options, ""),
    };
    let how = if given.contains("{}") { "-I{} " } else { "" };
    format!("printf -- '{words}\\n' | xargs {how}{given}; {end}")
}

#[test]
fn no_option_starts_a_program_that_is_not_named() {
    let is_there = |name: &str| Path::new("/usr/bin").join(name).exists();
    let programs: Vec<_> = PROGRAMS
        .iter()
        .filter(|(program, ..)| is_there(program.split(' ').next().unwrap_or_default()))
        .map(|(program, form, known)| (options_of(program), *form, *known))
        .collect();
    judge("options", FILES, 250, (8, 30), |random| {
        let (options, form, known) = &programs[random.below(programs.len())];
        let mut written = option(known, options, random);
        if random.below(3) == 0 {
            written = format!("{written} {}", option(known, options, random));
        }
        let letters = 1 + random.below(3);
        let letters: String = (0..letters)
            .map(|_| char::from(b"IFvVOI"[random.below(6)]))
            .collect();
        let line = form.replace('~', &written).replace('^', &letters);
        if random.below(4) == 0 {
            by_xargs(&line, &written, random)
        } else {
            line
        }
    });
}
