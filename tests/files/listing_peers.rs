//! `glob` and `list_directory` against `git ls-files`, fd and `rg --files`, in trees and for patterns that a seed decides.
//! What differs is here, and in their pages of the book, and nothing else does.

use std::fs::File;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::peers::{Names, difference, names, on_disk, output, peer, peers, split, tree};
use crate::harness::random::{Random, seeds};
use crate::harness::{Workspace, trials};

/// Components of patterns.
const PIECES: [&str; 22] = [
    "*",
    "**",
    "?",
    "a",
    "b",
    "ab",
    "a*",
    "*b*",
    "*.c",
    "?.c",
    "[ab]",
    "[!a]*",
    "[a-c]*",
    "{a,b}",
    "{a,ab}*",
    "*.{c,rs}",
    "a?",
    "*[ .]*",
    "{*.c,b/*}",
    "-*",
    ".*",
    "[^a]",
];

fn pattern(random: &mut Random) -> String {
    let pieces: Vec<_> = (0..=random.below(3)).map(|_| random.of(&PIECES)).collect();
    pieces.join("/")
}

/// What `call_tool` prints with `-0`, below a directory.
fn ours(ws: &Workspace, args: &[&str]) -> Names {
    let args = [args, &["-0"]].concat();
    let run = output(ws, ws.call_tool(&args).command());
    assert!(run.status.success(), "{args:?}: {run:?}");
    split(&run.stdout)
}

fn glob(ws: &Workspace, pattern: &str, is_exact: bool) -> Names {
    let pattern = format!("pattern={pattern}");
    ours(
        ws,
        &["glob", &pattern, &format!("case_sensitive={is_exact}")],
    )
}

fn is_link(ws: &Workspace, name: &[u8]) -> bool {
    on_disk(ws, name).is_symlink()
}

/// Links to directories are no files for `glob`, and it does not name those that lead out of the workspace.
fn is_file(ws: &Workspace, name: &[u8]) -> bool {
    let root = File::open(ws.dir()).expect("the workspace");
    let (flags, beneath) = (OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::BENEATH);
    let opened = openat2(&root, name, flags, Mode::empty(), beneath);
    !on_disk(ws, name).is_dir() && opened.err() != Some(Errno::XDEV)
}

fn keep(names: Names, is_kept: impl Fn(&[u8]) -> bool) -> Names {
    names.into_iter().filter(|name| is_kept(name)).collect()
}

fn by_git(ws: &Workspace, pathspec: &str) -> Names {
    let args = [
        "ls-files",
        "-co",
        "--exclude-standard",
        "-z",
        "--",
        pathspec,
    ];
    keep(names(ws, "git", &args), |name| is_file(ws, name))
}

fn by_fd(ws: &Workspace, fd: &str, args: &[&str]) -> Names {
    let fixed = ["-H", "-0", "-E", "/.git", "-t", "f", "-t", "l"];
    keep(names(ws, fd, &[&fixed, args].concat()), |name| {
        is_file(ws, name)
    })
}

fn by_rg(ws: &Workspace, rg: &str, args: &[&str]) -> Names {
    let fixed = ["--files", "--hidden", "-0", "-g", "!/.git"];
    names(ws, rg, &[&fixed, args].concat())
}

#[test]
fn glob_finds_what_git_fd_and_ripgrep_list() {
    let Some((fd, rg)) = peers() else { return };
    for seed in seeds("listing_peers", 6 * trials()) {
        let mut random = Random::new(seed);
        let ws = tree(&mut random);
        let all = glob(&ws, "**", true);
        for (who, theirs) in [("git", by_git(&ws, ".")), ("fd", by_fd(&ws, fd, &[]))] {
            let found = difference(&ws, &all, &theirs);
            assert!(found.is_none(), "seed {seed}, {who}: {found:?}");
        }
        // ripgrep lists no links.
        let files = keep(all, |name| !is_link(&ws, name));
        let listed = by_rg(&ws, rg, &[]);
        let found = difference(&ws, &files, &listed);
        assert!(found.is_none(), "seed {seed}, rg: {found:?}");
        for _ in 0..6 {
            let pattern = pattern(&mut random);
            // As in Gemini CLI, a pattern that spells a file's name means that file: `*` where there is one called so.
            let is_name = on_disk(&ws, pattern.as_bytes()).is_file();
            if is_name && pattern.contains(['*', '?', '[', '{']) {
                continue;
            }
            compare_pattern(&ws, &pattern, random.one_in(2), (fd, rg), &listed, seed);
        }
    }
}

/// Compares what a pattern matches, of what ripgrep lists: there a pattern brings back what is ignored.
fn compare_pattern(
    ws: &Workspace,
    pattern: &str,
    is_exact: bool,
    (fd, rg): (&str, &str),
    listed: &Names,
    seed: u64,
) {
    // A character is one here, and as many as its bytes there.
    let is_alike = |name: &[u8]| name.is_ascii() || !pattern.contains(['?', '[']);
    let ours = keep(glob(ws, pattern, is_exact), is_alike);
    let check = |who: &str, ours: &Names, theirs: Names| {
        let found = difference(ws, ours, &keep(theirs, is_alike));
        assert!(
            found.is_none(),
            "seed {seed}, {who} {pattern} (case counts: {is_exact}): {found:?}"
        );
    };
    let path = ws.path(pattern);
    check(
        "fd",
        &ours,
        by_fd(
            ws,
            fd,
            &[if is_exact { "-s" } else { "-i" }, "-g", "-p", "--", &path],
        ),
    );
    let rooted = format!("/{pattern}");
    let option = if is_exact { "-g" } else { "--iglob" };
    let files = keep(ours.clone(), |name| !is_link(ws, name));
    let theirs = keep(by_rg(ws, rg, &[option, &rooted]), |name| {
        listed.contains(name)
    });
    check("rg", &files, theirs);
    // To git a plain path stands for all below it, also the one that a pattern spells.
    let is_path = on_disk(ws, pattern.as_bytes()).exists();
    // It opens the directory that a pattern begins with, and may warn if there is none.
    let is_wild = |part: &&str| part.contains(['*', '?', '[']);
    let start: Vec<&str> = pattern
        .split('/')
        .take_while(|part| !is_wild(part))
        .collect();
    let opens_a_directory = on_disk(ws, start.join("/").as_bytes()).is_dir();
    let is_pattern = !pattern.contains('{') && pattern.contains(['*', '?', '[']);
    if is_pattern && !is_path && opens_a_directory {
        let magic = if is_exact { "glob" } else { "glob,icase" };
        check("git", &ours, by_git(ws, &format!(":({magic}){pattern}")));
    }
}

#[test]
fn list_directory_shows_what_fd_shows_of_each_directory() {
    let Some(fd) = peer(&["fd", "fdfind"]) else {
        return;
    };
    for seed in seeds("listing_peers", 4 * trials()) {
        let mut random = Random::new(seed);
        let ws = tree(&mut random);
        let directories = names(&ws, fd, &["-H", "-0", "-E", "/.git", "-t", "d"]);
        let directories = directories
            .iter()
            .filter_map(|name| str::from_utf8(name).ok());
        for directory in directories.chain(["."]) {
            let entries = ours(
                &ws,
                &["list_directory", &format!("path={}", ws.path(directory))],
            );
            // Of a relative path fd 8 takes the rules above it for those of another directory.
            let below = ws.path(directory);
            let args = ["-H", "-0", "-E", "/.git", "-d", "1", ".", &below];
            let start = format!("{}/", ws.dir().display());
            let relative = |name: Vec<u8>| match name.strip_prefix(start.as_bytes()) {
                Some(rest) => rest.strip_prefix(b"./").unwrap_or(rest).to_vec(),
                None => name,
            };
            let theirs: Names = names(&ws, fd, &args).into_iter().map(relative).collect();
            let found = difference(&ws, &entries, &theirs);
            assert!(found.is_none(), "seed {seed}, {directory:?}: {found:?}");
        }
    }
}
