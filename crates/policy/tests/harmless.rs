//! Runs commands that are judged harmless with bash, and checks that they change nothing, start
//! nothing and read nothing outside. Each run has a seed of its own, which is printed;
//! `GEMINI_TOOLS_SEED` repeats one, and `GEMINI_TOOLS_TRIALS` multiplies the number of lines.

#![cfg(target_os = "linux")]

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only its random numbers are used")]
mod lines;
mod trials;

use gemini_tools_policy::Policy;
use gemini_tools_settings::settings::Settings;
use lines::Random;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trials::{number, seed, unasked};

/// Number of random lines for each program, times `GEMINI_TOOLS_TRIALS`.
const LINES: usize = 80;

/// The time in seconds after which `timeout` ends a program.
const LIMIT: &str = "5";

const PROGRAMS: &str = "\
    base64 cat cd cut echo expr false find grep head id ls nl numfmt paste pwd rev sed seq stat tac \
    tail tr true uname uniq wc which whoami sort date env hostname tee xargs git:branch git:diff \
    git:log git:show git:status git:config git:grep git:archive";

/// Words that have once got something past the list, or that many programs take.
const WORDS: &str = "\
    f|d/g|3p|l/secret|l|../out/secret|out|evil.sed|./evil|-|--|.|..|d|x|a|HEAD|1|5|+5|-5|10k|/dev/null|/etc/hostname|\
    -e1e ./evil|-ewmade|-fevil.sed|-e|-f|-i|-n|-o|-s|-E|-z|-w|-c|-d|-r|-R|-L|-H|-a|-l|-A|-u|-p|-P|-D|-T|-I|-nf|\
    1e ./evil|w made|3w made|s/a/b/w made|s/a/b/e|1,2p|$p|/a/p|/a/,/b/p|2q|$!d|p;w made|r l/secret|\
    --expression=1e ./evil|--file=evil.sed|--in-place|--output=made|-o made|--compress-program=./evil|\
    --files0-from=f|--exclude-from=l/secret|--file=l/secret|-fl/secret|--dereference|--follow|--retry|-F|\
    -exec|-execdir|-ok|;|+|{}|-delete|-fprint|-fprintf|-fls|made|-name|*|-newer|-type|(|)|!|,|-maxdepth|-print|-follow|\
    --ext-diff|--textconv|--show-signature|--format=%G?|--format=%h|--no-index|-O|-S|--stat|--oneline|--cached|\
    core.pager=./evil|--set|--color=always|--help|--version|--lines=3|--lines|--bytes|--delimiter=,|--include=*";

/// Words with an apostrophe, and words that bash changes. An analysis that pairs the quotes of a
/// line in another way than bash takes a word of the second kind, between two of the first, for
/// quoted text.
const APOSTROPHES: &str = "'|it's1|it's*|it's?|f|p|*|~/secret|~|'~/secret|../out/*|{f,made}";

/// A workspace with files that are named like options, and a directory outside.
struct Place {
    directory: TempDir,
}

type Seen = BTreeMap<PathBuf, (u32, u64, Vec<u8>)>;

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        let place = Self { directory };
        for (name, text) in [
            ("work/f", "a\nb\nc\n./evil\n"),
            ("work/3p", "a\n"),
            ("work/d/g", "1,2\n"),
            ("work/-n", "x\n"),
            ("work/-e1e .", "x\n"),
            ("work/evil.sed", "1e ./evil\nw made\n"),
            ("work/evil", "#!/bin/sh\n: > ../out/ran\n"),
            ("work/it's1", "a\na\n"),
            ("work/it's2", "x\n"),
            ("out/secret", "SECRET\n"),
            ("secret", "SECRET\n"),
        ] {
            let file = place.directory.path().join(name);
            fs::create_dir_all(file.parent().expect("its directory")).expect("a directory");
            fs::write(&file, text).expect("a file");
        }
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.work().join("evil"), executable).expect("its mode");
        for (link, target) in [("l", "../out"), ("-s", "../out/secret")] {
            symlink(target, place.work().join(link)).expect("a link");
        }
        // A partial clone that lacks a content, which `evil` is to fetch.
        let commit = r#"
            git init -q --template= && git add f d
            as='-c user.name=x -c user.email=x@y'
            git $as commit -qm 'first' && echo d >> f && git $as commit -qam second
            lacking=$(git rev-parse HEAD~:f)
            rm -f ".git/objects/${lacking::2}/${lacking:2}"
            git config core.repositoryFormatVersion 1
            git config extensions.partialClone origin
            git config remote.origin.promisor true
            git config remote.origin.url ../out
            git config remote.origin.uploadpack ./evil
            touch -d @1 d/g
        "#;
        let _ = place.bash(commit).output();
        place
    }

    fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    fn bash(&self, line: &str) -> Command {
        let mut bash = Command::new("timeout");
        bash.args([LIMIT, "bash", "--norc", "--noprofile", "-c", "--", line])
            .current_dir(self.work())
            .env("HOME", self.directory.path())
            .stdin(Stdio::null());
        bash
    }

    /// Returns the mode, modification time and content of everything in the directory, except what
    /// `git diff` refreshes: the index, and by it the time of `.git`.
    fn seen(&self) -> Seen {
        let mut seen = Seen::new();
        let mut left = vec![self.directory.path().to_owned()];
        while let Some(path) = left.pop() {
            let stat = fs::symlink_metadata(&path).expect("an entry");
            if stat.is_dir() {
                let entries = fs::read_dir(&path).expect("a directory").flatten();
                left.extend(entries.map(|entry| entry.path()));
            }
            if path.ends_with(".git/index") || path.ends_with(".git") {
                continue;
            }
            let content = if stat.is_file() {
                fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            let time =
                stat.mtime().unsigned_abs() * 1_000_000_000 + stat.mtime_nsec().unsigned_abs();
            seen.insert(path, (stat.mode(), time, content));
        }
        seen
    }
}

fn has_git() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join("git").exists())
}

fn policy(root: &Path) -> Policy {
    Policy::from_texts(&[], &Settings::default(), root)
}

fn options_of(program: &str) -> Vec<String> {
    let (name, command) = program.split_once(':').unwrap_or((program, ""));
    let mut help = Command::new(name);
    let help = match command {
        "" => help.arg("--help"),
        command => help.args([command, "-h"]),
    };
    let Ok(output) = help.stdin(Stdio::null()).output() else {
        return Vec::new();
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let words = text.split(|c: char| c.is_whitespace() || ",[]()|".contains(c));
    let options = words.filter(|word| word.len() > 1 && word.starts_with('-'));
    options.map(str::to_owned).collect()
}

fn written(word: &str, random: &mut Random) -> String {
    match random.below(8) {
        0 | 1 => word.replace('\'', "\\'"),
        2 => format!("\"{}\"", word.replace('$', "\\$")),
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[test]
fn what_is_harmless_changes_nothing_starts_nothing_and_reads_nothing_outside() {
    let trials = usize::try_from(number("GEMINI_TOOLS_TRIALS").unwrap_or(1)).expect("a number");
    let seed = seed("harmless");
    let place = Place::new();
    let policy = policy(&place.work());
    let before = place.seen();
    let kinds = [WORDS, WORDS, APOSTROPHES].map(|words| words.split('|').collect::<Vec<_>>());
    let mut random = Random(seed);
    let mut ran = 0;
    for program in PROGRAMS.split_whitespace() {
        let options = options_of(program);
        for _ in 0..LINES * trials {
            let mut line = program.replace(':', " ");
            let words = &kinds[random.below(kinds.len())];
            for _ in 0..random.below(6) {
                let word = if random.below(2) == 0 && !options.is_empty() {
                    let option = &options[random.below(options.len())];
                    match (random.below(4), option.split_once('=')) {
                        (0, _) => format!("{option}{}", words[random.below(words.len())]),
                        (1, Some((name, _))) => {
                            format!("{name}={}", words[random.below(words.len())])
                        }
                        (2, Some((name, _))) => name.to_owned(),
                        _ => option.clone(),
                    }
                } else {
                    words[random.below(words.len())].to_owned()
                };
                line.push(' ');
                line.push_str(&written(&word, &mut random));
            }
            let Some(runs) = unasked(&policy, &line) else {
                continue;
            };
            ran += 1;
            let output = place.bash(&runs).output().expect("bash");
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(!printed.contains("SECRET"), "seed {seed}: {line}");
            assert!(place.seen() == before, "seed {seed}: {line}");
            assert_ne!(
                output.status.code(),
                Some(124),
                "seed {seed}: {line} does not end"
            );
        }
    }
    let _ = writeln!(std::io::stderr(), "harmless: {ran} lines ran");
    assert!(ran > 500 * trials, "hardly any line is harmless: {ran}");
}

#[test]
fn lines_of_every_day_run_without_a_question() {
    let place = Place::new();
    let policy = policy(&place.work());
    for line in [
        "sed -n 3p f",
        "sed -n 1,20p f",
        "sed -n '1,20p;21q' f",
        "sed -n '/a/,/b/p' f",
        "sed -n -e 3p -e '$p' f",
        "sed -n '$p' -- f",
        "cat -n f d/g",
        "cat -- -n",
        r"cat it\'s1 '*' '~' \~ a~",
        "head -20 f",
        "head -n -3 f",
        "tail -n +5 f",
        "tail -c 100 f",
        "ls -la d",
        "ls d -la",
        "ls --color=never -1",
        "grep -rn 'a.*[bc]' --include='*.rs' .",
        "grep -n -A3 -B 3 -- -x f",
        "grep -e -x f",
        "grep --max-count=3 a f -i",
        "wc -l f",
        "cut -d , -f 1,2 f",
        "cut -d: -f1 f",
        "find . -name '*.rs' -not -path './target/*' -type f",
        "find d f -maxdepth 2 -size +10k -mtime -7 -perm -u+x",
        "find . \\( -name a -o -name b \\) -print",
        "uniq -c f",
        "stat -c '%s %n' f",
        "seq 1 2 10",
        "expr 6 / 2",
        "tr a-z A-Z",
        "echo -n --- 'a*' -e",
        "echo $HOME \"${X:-none}\"",
        "cd d",
        "pwd -P",
        "git --no-pager log --oneline -5",
        "git log -n 3 --format='%h %s' -- f",
        "git diff HEAD~1 -- f",
        "git show 'HEAD@{0}:f'",
        "git status --porcelain",
        "git branch -vv",
        "git branch --sort=-committerdate --sort=v:refname",
    ] {
        // A program that is not installed could be any program once it is, so the user is asked.
        let is_there = !line.starts_with("git ") || has_git();
        assert_eq!(unasked(&policy, line).is_some(), is_there, "{line}");
    }
}

#[test]
fn whatever_the_grammar_does_not_have_is_asked_about() {
    let place = Place::new();
    let policy = policy(&place.work());
    for line in [
        "sed -n 3p '-e1e touch x'",
        "sed -n 3p -ewx",
        "sed -n 3p -fevil.sed",
        "sed -n 3p --expression='1e ./evil'",
        "sed -n 3p --file=evil.sed",
        "sed -n 3p --exp='1e ./evil'",
        "sed -n 3p f -i",
        "sed -ni 3p f",
        "sed -n -e 3p -e 'w x' f",
        "sed -n '3w x' f",
        "sed s/a/b/ f",
        "sed -n 3p l/secret",
        "sed -n 3p -- /etc/passwd",
        "cat *",
        "cat d/*",
        "cat -s*",
        "cat f -s",
        "cat ~/x",
        "cat {f,-s}",
        "cat $X",
        "cat \"$X\"",
        "LANG=C cat f",
        "PATH=. cat f",
        "\"cat\" f",
        "/bin/cat f",
        "./cat f",
        "echo *",
        "echo ~",
        "echo $(< f)",
        "echo $X/*",
        "cat \"'$X\" *",
        r"cat \' ~/secret",
        r"cat 'it'\''s1' ~/secret",
        r"uniq it\'s*",
        r"sed p f \' *",
        "echo $(cat f)",
        "uniq f made",
        "uniq -- f made",
        "base64 f -o made",
        "base64 -i f",
        "tail -f f",
        "tail --follow f",
        "tail -5f f",
        "tail +5f f",
        "wc --files0-from=f",
        "grep -f l/secret f",
        "grep -rR a .",
        "grep -R a",
        "grep a l/secret",
        "grep -e a l/secret",
        "grep a f -A /etc",
        "ls -L",
        "ls l/",
        "find . -delete",
        "find . -exec ./evil ';'",
        "find . -name a -fprint made",
        "find -L . -name a",
        "find l/ -name a",
        "find . -newer l/secret",
        "find . -name",
        "find . -name -delete",
        "find . -files0-from f",
        "git -c core.pager=./evil log",
        "git -C d log",
        "git log --output=made",
        "git log --format=%G?",
        "git log --show-signature",
        "git diff --ext-diff",
        "git diff --textconv",
        "git diff --no-index f /etc/passwd",
        "git diff f /etc/passwd",
        "git diff -Of",
        "git branch made",
        "git branch -D x",
        "git branch --format='%(signature)'",
        "git branch --sort=signature",
        "git branch --sort=-version:signature:grade",
        "git branch --sort=describe",
        "git status --column",
        "git stat",
        "git grep -O./evil a",
        "id -x",
        "uname -S x",
        "whoami x",
        "seq -f",
        "cd ..",
        "date -s now",
        "hostname x",
        "env",
        "sort -o made f",
        "rg --pre ./evil a",
        "tree -o made",
        "file -C",
        "less f",
        "tee made",
        "xargs ./evil",
    ] {
        assert_eq!(unasked(&policy, line), None, "{line}");
    }
}
