//! Ignore rules against git itself: what `glob` finds in random trees under random ignore files is what
//! `git ls-files` names.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::harness::{Workspace, trials};

/// Components of patterns that have something to say about [`NAMES`].
const PIECES: [&[u8]; 66] = [
    b"a",
    b"b",
    b"ab",
    b"*",
    b"**",
    b"?",
    b"[ab]",
    b"[!a]",
    b"a*",
    b"*.c",
    b"x.c",
    b"*b",
    b"a?",
    b".c",
    b"[a-c]*",
    b"\\a",
    b".",
    b"***",
    b"*\\",
    b"a\\",
    b"[",
    b"[a",
    b"a[b",
    b"[!]",
    b"[]a]",
    b"[!]a]",
    b"[]",
    b"[b-a]",
    b"[^a]",
    b"[^a]*",
    b"[^-a]",
    b"[a-]",
    b"[--0]",
    b"[a-c-e]",
    b"[a-\\c]",
    b"[\\a-c]",
    b"[\\]]*",
    b"[a-e[\\]]",
    b"[a\\",
    b"[a-",
    b"??",
    b"\xc3\xa9",
    b"[\xc3\xa9]",
    b"[\xc3\xa9]?",
    b"\xff*",
    b"[\x80-\xff]*",
    b"*\xa9",
    b"[[:alpha:]]",
    b"[[:digit:]ab]",
    b"[[:cntrl:]]*",
    b"[[:graph:]]",
    b"[[:print:]]",
    b"[[:print:]]*",
    b"[[:space:]]*",
    b"[![:alnum:]]*",
    b"[[:punct:]]*",
    b"[[:none:]]",
    b"[[:]ab]",
    b"[[:digit]ab]",
    b"[[:a-c]",
    b"[[:alpha:]-c]",
    b"a\\ b",
    b"a b",
    b"\\!n",
    b"\\#c",
    b"\\\\*",
];

/// What may stand between two components, a slash above all. Git does not yet read `a**/b` right
/// in all versions, so nothing puts a component before `**`.
const BETWEEN: [&[u8]; 8] = [b"/", b"/", b"/", b"/", b"\\/", b"[a/b]", b"[/]", b"//"];

const AFTER: [&[u8]; 12] = [
    b"", b"", b"", b"", b"", b"", b" ", b"  ", b"\\ ", b"\t", b"\r", b" \\ ",
];

const NAMES: [&[u8]; 26] = [
    b"a",
    b"b",
    b"ab",
    b"c",
    b"x.c",
    b"ab.c",
    b"abc",
    b"d",
    b"\xc3\xa9",
    b"a\xc3\xa9",
    b"\xff\xfe",
    b"a b",
    b"a ",
    b"a\t",
    b"]",
    b"a]",
    b"[a",
    b"a[b",
    b"[",
    b"-",
    b"1",
    b"!n",
    b"#c",
    b"a\\",
    b"\x01",
    b"x\r",
];

fn pattern() -> impl Strategy<Value = Vec<u8>> {
    let piece = (
        prop::sample::select(&PIECES[..]),
        prop::sample::select(&BETWEEN[..]),
    );
    let path = vec(piece, 1..4).prop_map(|pieces| {
        let mut path = Vec::new();
        for (piece, between) in pieces {
            if !path.is_empty() {
                path.extend_from_slice(if piece.starts_with(b"**") {
                    b"/"
                } else {
                    between
                });
            }
            path.extend_from_slice(piece);
        }
        path
    });
    let after = prop::sample::select(&AFTER[..]);
    (path, 0..8_u8, after).prop_map(|(path, form, after)| {
        let sign = |bit: u8, sign: &'static [u8]| if form & bit == 0 { &b""[..] } else { sign };
        [sign(1, b"!"), sign(2, b"/"), &path, sign(4, b"/"), after].concat()
    })
}

fn rules() -> impl Strategy<Value = Vec<u8>> {
    let text = (vec(pattern(), 1..6), 0..8_u8);
    text.prop_map(|(lines, form)| {
        let text = lines.join(if form == 0 { &b"\r\n"[..] } else { b"\n" });
        let mark = if form == 1 { &b"\xef\xbb\xbf"[..] } else { b"" };
        let end = if form & 4 == 4 { &b"\n"[..] } else { b"" };
        [mark, &text, end].concat()
    })
}

fn names() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let path = vec(prop::sample::select(&NAMES[..]), 1..5).prop_map(|p| p.join(&b"/"[..]));
    vec(path, 4..16)
}

/// How a line of an answer shows a name.
fn shown(name: &[u8]) -> String {
    gemini_tools::text::line_name(name).into_owned()
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, content).expect("written");
}

/// Runs a program where the user's own configuration of git counts.
fn run(ws: &Workspace, mut command: Command) -> Vec<u8> {
    command.current_dir(ws.dir()).env_clear();
    command.env("PATH", env::var_os("PATH").expect("a path"));
    command.env("HOME", ws.root().join("home"));
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

/// The files that git would add.
fn by_git(ws: &Workspace) -> BTreeSet<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-co", "--exclude-standard", "-z"]);
    let output = run(ws, git);
    let files = output.split(|b| *b == 0).filter(|name| !name.is_empty());
    files.map(shown).collect()
}

fn by_glob(ws: &Workspace) -> BTreeSet<String> {
    let args = ["glob", "pattern=**/*", "--output", "text"];
    let output = String::from_utf8(run(ws, ws.call_tool(&args).command())).expect("UTF-8");
    output.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn what_is_found_is_what_git_would_add() {
    let mut runner = TestRunner::new(Config {
        cases: 60 * trials(),
        failure_persistence: None,
        ..Config::default()
    });
    let texts = (rules(), rules(), rules(), rules());
    let case = (names(), texts, 0..4_u8, 0..6_u8);
    runner
        .run(
            &case,
            |(names, (top, nested, exclude, users), form, users_form)| {
                let ws = Workspace::new().git();
                let mut placed: Vec<&[u8]> = Vec::new();
                for name in &names {
                    // A name can't be a file and a directory at once.
                    let is_below = |a: &[u8], b: &[u8]| {
                        a.strip_prefix(b).is_some_and(|rest| rest.starts_with(b"/"))
                    };
                    let clashes = placed
                        .iter()
                        .any(|p| *p == name || is_below(p, name) || is_below(name, p));
                    if !clashes {
                        write(&ws.dir().join(OsStr::from_bytes(name)), b"x");
                        placed.push(name);
                    }
                }
                write(&ws.dir().join(".gitignore"), &top);
                if form & 1 == 1 && !placed.contains(&&b"a"[..]) {
                    write(&ws.dir().join("a/.gitignore"), &nested);
                }
                if form & 2 == 2 {
                    write(&ws.dir().join(".git/info/exclude"), &exclude);
                }
                let home = ws.root().join("home");
                match users_form {
                    0 => {}
                    1 => write(&home.join(".config/git/ignore"), &users),
                    2 => {
                        write(
                            &home.join(".config/git/config"),
                            b"[core]\n\tpager = less\n\texcludesFile = \"~/of\" ; all\n",
                        );
                        write(&home.join("of"), &users);
                    }
                    _ => {
                        write(&home.join(".config/git/ignore"), b"*\n");
                        write(&home.join(".gitconfig"), b"[core] excludesfile = ~/of\n");
                        write(&home.join("of"), &users);
                    }
                }
                prop_assert_eq!(
                    by_glob(&ws),
                    by_git(&ws),
                    "{:?} | {:?} | {:?} | {:?}",
                    shown(&top),
                    shown(&nested),
                    shown(&exclude),
                    shown(&users)
                );
                Ok(())
            },
        )
        .expect("git and glob agree");
}

#[test]
fn a_link_to_the_excludes_is_followed_within_the_repository_only() {
    let ws = Workspace::new()
        .git()
        .file("a", "")
        .file("b", "")
        .file("ign", "a\n")
        .file("kept/info/x", "")
        .sibling("secret", "b\n");
    let exclude = ws.dir().join(".git/info/exclude");
    let exclude_by = |target: &str| {
        let _ = fs::remove_file(&exclude);
        fs::create_dir_all(ws.dir().join(".git/info")).expect("a directory");
        std::os::unix::fs::symlink(target, &exclude).expect("a link");
        by_glob(&ws)
    };
    assert!(!exclude_by("../../ign").contains("a"), "as git");
    assert!(exclude_by("../../../ws-sibling/secret").contains("b"));
    assert!(exclude_by("/dev/zero").contains("b"));
    let info = ws.dir().join(".git/info");
    fs::remove_dir_all(&info).expect("removed");
    fs::write(ws.root().join("ws-sibling/exclude"), "b\n").expect("written");
    std::os::unix::fs::symlink("../../ws-sibling", &info).expect("a link");
    assert!(by_glob(&ws).contains("b"));
    // What others put there can name any directory as git's own.
    fs::remove_dir_all(ws.dir().join(".git")).expect("removed");
    let secret = ws.root().join("ws-sibling/secret");
    std::os::unix::fs::symlink(secret, ws.dir().join("kept/info/exclude")).expect("a link");
    fs::write(ws.dir().join(".git"), "gitdir: kept\n").expect("written");
    assert!(by_glob(&ws).contains("b"));
    fs::create_dir(ws.dir().join("kept/objects")).expect("a directory");
    fs::write(ws.dir().join("kept/HEAD"), "ref: refs/heads/main\n").expect("written");
    assert!(by_glob(&ws).contains("b"));
    fs::remove_file(ws.dir().join("kept/info/exclude")).expect("removed");
    fs::write(ws.dir().join("kept/info/exclude"), "a\n").expect("written");
    assert!(!by_glob(&ws).contains("a"), "a repository's own");
}

#[test]
fn the_users_own_ignore_file_counts_in_each_repository_and_nowhere_else() {
    let ws = Workspace::new()
        .file("notes~", "")
        .file("below/notes~", "")
        .file("below/kept", "")
        .home(".config/git/ignore", "*~\nkept\n");
    assert!(by_glob(&ws).contains("below/notes~"), "no repository");
    fs::create_dir(ws.dir().join("below/.git")).expect("a directory");
    let found = by_glob(&ws);
    assert!(found.contains("notes~"), "{found:?}");
    assert!(!found.contains("below/notes~"), "{found:?}");
    fs::create_dir_all(ws.dir().join("below/.git/info")).expect("a directory");
    fs::write(ws.dir().join("below/.git/info/exclude"), "!kept\n").expect("written");
    assert!(
        by_glob(&ws).contains("below/kept"),
        "the repository's own decides first"
    );
    let start = ["glob", "pattern=*", "path=below", "--output", "text"];
    let output = run(&ws, ws.call_tool(&start).command());
    let output = String::from_utf8(output).expect("UTF-8");
    assert!(
        output.contains("below/kept") && !output.contains("notes~"),
        "{output}"
    );
}
