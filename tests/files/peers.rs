//! Trees that a seed decides, and the programs that `glob`, `list_directory` and `search_file_content` are held against:
//! git, fd and ripgrep.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::random::Random;
use crate::harness::{Workspace, skipped, write};

/// Names below the root, as they are on disk.
pub(crate) type Names = BTreeSet<Vec<u8>>;

/// Names of files and directories: some match many patterns, others look like options or patterns. None has a line
/// feed, which the patterns of ripgrep and fd do not match.
pub(crate) const NAMES: [&[u8]; 24] = [
    b"a",
    b"b",
    b"ab",
    b"abc",
    b"a.c",
    b"b.c",
    b"A.C",
    b"x.rs",
    b".h",
    b"a b",
    b" a",
    b"a ",
    b"-n",
    b"--help",
    b"[id]",
    b"{a}",
    b"*",
    b"!n",
    b"#h",
    b"a\\b",
    b"a\tb.c",
    b"caf\xe9.c",
    "é.c".as_bytes(),
    "🎉".as_bytes(),
];

/// Lines of ignore files that git and the library of ripgrep and fd read alike.
const RULES: [&str; 33] = [
    "a",
    "/a",
    "a/",
    "*.c",
    "!a.c",
    "**/b",
    "a/**",
    "ab/*",
    "!ab/x.rs",
    "[ab]",
    "a?",
    "/*/b",
    "\\#h",
    "\\!n",
    "-n",
    "!n",
    "# a",
    "",
    "*",
    "!*/",
    "!a",
    "!/ab",
    "b/",
    "/b/*",
    "!/b/a",
    "a/**/b",
    "**/a/*.c",
    "\\[id\\]",
    "é.c",
    ".*",
    "!.gitignore",
    "a\\ b",
    "abc",
];

/// What links lead to: files and directories beside them, above them and outside, and nothing.
const TARGETS: [&str; 10] = [
    "a",
    "b/a",
    "../a",
    "..",
    ".",
    "nowhere",
    "/nowhere/at/all",
    "../../ab",
    "x.rs",
    "l",
];

/// A repository with nested ignore files, links of all kinds and directories without files.
pub(crate) fn tree(random: &mut Random) -> Workspace {
    let ws = Workspace::new();
    ws.git_command(&["init", "-q", "--template=", "."]);
    let mut directories = vec![ws.dir()];
    for _ in 0..5 + random.below(25) {
        let above = directories[random.below(directories.len())].clone();
        let path = above.join(OsStr::from_bytes(random.of(&NAMES)));
        // A name that is taken stays what it is.
        match random.below(8) {
            0..3 if directories.len() < 10 && fs::create_dir(&path).is_ok() => {
                directories.push(path);
            }
            3 => drop(symlink(random.of(&TARGETS), &path)),
            _ if path.symlink_metadata().is_err() => write(&path, b"x\n"),
            _ => {}
        }
    }
    for directory in directories {
        if directory == ws.dir() || random.one_in(3) {
            let rules: Vec<_> = (0..random.below(4)).map(|_| random.of(&RULES)).collect();
            write(&directory.join(".gitignore"), rules.join("\n").as_bytes());
        }
    }
    ws
}

/// Returns the name that a program of this kind has here; says that the test is skipped if there is none.
pub(crate) fn peer(names: &[&'static str]) -> Option<&'static str> {
    let is_there = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let found = names.iter().find(is_there).copied();
    if found.is_none() {
        skipped(names[0]);
    }
    found
}

/// Returns what git, fd and ripgrep are called, if all are there.
pub(crate) fn peers() -> Option<(&'static str, &'static str)> {
    Some((peer(&["fd", "fdfind"])?, peer(&["rg"])?))
}

/// Runs a program in the workspace, apart from the user's configuration.
pub(crate) fn output(ws: &Workspace, mut command: Command) -> Output {
    command.env_clear().current_dir(ws.dir());
    command.env("PATH", std::env::var_os("PATH").expect("a path"));
    command.env("HOME", ws.root().join("home"));
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    command.output().expect("it runs")
}

/// Returns the names that a program prints, each ended by NUL, in the form that all have here.
pub(crate) fn names(ws: &Workspace, program: &str, args: &[&str]) -> Names {
    let mut command = Command::new(program);
    command.args(args);
    let run = output(ws, command);
    // ripgrep ends with 1 where it finds nothing.
    assert!(
        run.stderr.is_empty() && run.status.code() < Some(2),
        "{program} {args:?}: {run:?}"
    );
    split(&run.stdout)
}

/// Splits a list of names that NUL ends.
pub(crate) fn split(list: &[u8]) -> Names {
    let names = list
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    let plain = names.map(without_dots);
    let plain = plain.map(|name| name.strip_suffix(b"/").unwrap_or(name));
    plain.map(<[u8]>::to_vec).collect()
}

fn without_dots(name: &[u8]) -> &[u8] {
    match name.strip_prefix(b"./") {
        Some(rest) => without_dots(rest),
        None => name,
    }
}

/// Shows names where they differ, and where links lead.
pub(crate) fn difference(ws: &Workspace, ours: &Names, theirs: &Names) -> Option<String> {
    let shown = |name: &Vec<u8>| {
        let target = fs::read_link(on_disk(ws, name)).ok();
        let target = target.map(|target| format!(" -> {}", target.display()));
        format!("{}{}", name.escape_ascii(), target.unwrap_or_default())
    };
    let only = |names: &Names, others: &Names| {
        let only = names.difference(others).map(shown);
        only.collect::<Vec<_>>().join(", ")
    };
    (ours != theirs).then(|| {
        let (more, fewer) = (only(ours, theirs), only(theirs, ours));
        format!("only ours: {more:?}; only theirs: {fewer:?}")
    })
}

pub(crate) fn on_disk(ws: &Workspace, name: &[u8]) -> PathBuf {
    ws.dir().join(Path::new(OsStr::from_bytes(name)))
}
