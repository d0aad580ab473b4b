//! `apply_patch` against `git apply`: the differences that git and diff make of trees that a seed decides give the same
//! bytes, modes and names, or are refused for a reason that the page has.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::peers::output;
use crate::harness::random::{Random, seeds};
use crate::harness::tree::{Node, Tree};
use crate::harness::{Workspace, trials, write};

/// Names of files, none of which is a directory of another.
const NAMES: [&str; 26] = [
    "x", "c d", "e\"q", "q\" f", "ü", "f\\g", "t\tb", "nl\nname", "-n", "--- x", "+++ b", "@@",
    "space ", " lead", "a/a", "b/b", "b/x", "a/x b/x", "new/x", "i/w", "d 1/x", "d1/d2/z ",
    "dev/null", "*.txt", "\u{1}c", "a\rb",
];

/// Lines, many of which look like those of a patch.
const LINES: [&str; 22] = [
    "one",
    "two",
    "three",
    "",
    " ",
    "\tx",
    "--- a",
    "+++ b",
    "-- ",
    "@@ -1 +1 @@",
    "-",
    "+",
    "\\ No newline at end of file",
    "*** End Patch",
    "diff --git a/x b/x",
    "é",
    "x\ry",
    "}",
    "}",
    "\u{feff}",
    "trail  ",
    "rename from a",
];

/// What the page says is refused: of links, of a file that two sections name, and where a hunk has no lines around it.
const REFUSALS: [&str; 4] = [
    "only regular files can be patched",
    "two sections about",
    "exists already",
    "its place is not known",
];

#[derive(Clone, PartialEq)]
enum Entry {
    File { content: Vec<u8>, mode: u32 },
    Link(&'static str),
}

type Entries = BTreeMap<&'static str, Entry>;

fn entry(random: &mut Random) -> Entry {
    if random.one_in(12) {
        return Entry::Link(random.of(&["x", "nowhere", "c d"]));
    }
    let ends = random.of(&[&["\n"][..], &["\n"], &["\r\n"], &["\n", "\r\n"]]);
    let mut text = String::new();
    if random.one_in(4) {
        text.push('\u{feff}');
    }
    for _ in 0..random.of(&[0, 1, 1, 2, 3, 5, 8, 20]) {
        text.push_str(random.of(&LINES));
        text.push_str(random.of(ends));
    }
    let length = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(if random.one_in(4) { length } else { text.len() });
    let mode = if random.one_in(5) { 0o755 } else { 0o644 };
    Entry::File {
        content: text.into_bytes(),
        mode,
    }
}

/// Changes lines, their ends, the last one's end and the byte-order mark.
fn edited(random: &mut Random, content: &[u8]) -> Vec<u8> {
    let text = str::from_utf8(content).expect("UTF-8");
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len());
        match random.below(7) {
            0 => lines.insert(at, random.of(&LINES).to_owned()),
            1 => random.of(&LINES).clone_into(&mut lines[at]),
            2 if lines.len() > 1 => drop(lines.remove(at)),
            3 if lines[at].ends_with('\r') => drop(lines[at].pop()),
            3 => lines[at].push('\r'),
            4 if lines[0].starts_with('\u{feff}') => drop(lines[0].remove(0)),
            4 => lines[0].insert(0, '\u{feff}'),
            5 if lines.last().is_some_and(String::is_empty) => drop(lines.pop()),
            5 => lines.push(String::new()),
            _ => lines
                .iter_mut()
                .for_each(|line| *line = line.trim_end_matches('\r').to_owned()),
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n").into_bytes()
}

fn changed(random: &mut Random, entries: &Entries) -> Entries {
    let mut changed = entries.clone();
    for _ in 0..=random.below(3) {
        let names: Vec<_> = changed.keys().copied().collect();
        let other = random.of(&NAMES);
        if names.is_empty() || random.one_in(5) {
            let entry = entry(random);
            changed.entry(other).or_insert(entry);
            continue;
        }
        let name = random.of(&names);
        let Some(entry) = changed.remove(name) else {
            continue;
        };
        let (content, mode) = match entry {
            Entry::Link(_) => {
                changed.insert(name, Entry::Link(random.of(&["x", "elsewhere"])));
                continue;
            }
            Entry::File { content, mode } => (content, mode),
        };
        let (name, content, mode) = match random.below(7) {
            0 => continue,
            1 => (name, content, mode ^ 0o111),
            2 if !changed.contains_key(other) => (other, content, mode),
            3 if !changed.contains_key(other) => (other, edited(random, &content), mode),
            _ => (name, edited(random, &content), mode),
        };
        changed.insert(name, Entry::File { content, mode });
    }
    changed
}

fn place(dir: &Path, entries: &Entries) {
    for name in fs::read_dir(dir).into_iter().flatten() {
        let path = name.expect("an entry").path();
        if path.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        let is_directory = path.symlink_metadata().expect("there").is_dir();
        let remove = if is_directory {
            fs::remove_dir_all
        } else {
            fs::remove_file
        };
        remove(&path).expect("removed");
    }
    fs::create_dir_all(dir).expect("a directory");
    for (name, entry) in entries {
        let path = dir.join(name);
        match entry {
            Entry::File { content, mode } => {
                write(&path, content);
                fs::set_permissions(&path, Permissions::from_mode(*mode)).expect("its mode");
            }
            Entry::Link(target) => {
                fs::create_dir_all(path.parent().expect("a directory")).expect("made");
                symlink(target, &path).expect("a link");
            }
        }
    }
}

/// The files and links below a directory. git knows no others.
fn files(dir: &Path) -> BTreeMap<String, Node> {
    let mut nodes = Tree::of(dir).nodes;
    nodes
        .retain(|path, node| !matches!(node, Node::Directory { .. }) && !path.starts_with(".git/"));
    nodes
}

fn git(ws: &Workspace, dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(args);
    let run = output(ws, command);
    run.status.success().then_some(run.stdout)
}

/// The options of git for a difference, and those with which it applies it.
fn options(random: &mut Random) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut making = vec![
        "-c",
        random.of(&["core.quotePath=true", "core.quotePath=false"]),
    ];
    let mut applying = vec!["apply"];
    let is_mnemonic = random.one_in(4);
    if is_mnemonic {
        making.extend(["-c", "diff.mnemonicPrefix=true"]);
    }
    making.extend([
        "diff",
        "--cached",
        random.of(&["-M", "-M30%", "--no-renames", "-B"]),
    ]);
    making.push(random.of(&["-U0", "-U1", "-U3", "-U3", "-U9"]));
    if making.contains(&"-U0") {
        applying.push("--unidiff-zero");
    }
    match random.below(4) {
        0 if !is_mnemonic => {
            making.push("--no-prefix");
            applying.push("-p0");
        }
        1 => making.extend(["--src-prefix=old/", "--dst-prefix=new/"]),
        2 => making.extend(["--src-prefix=a/", "--dst-prefix=longer/"]),
        _ => {}
    }
    making.push("HEAD");
    (making, applying)
}

/// Has us apply a patch to the tree `before`, and `git apply` one that says the same. Returns whether we did.
#[track_caller]
fn hold(
    ws: &Workspace,
    [before, after]: [&Entries; 2],
    [patch, same]: [&str; 2],
    applying: &[&str],
    what: &str,
) -> bool {
    let theirs = ws.root().join("out/theirs");
    place(&theirs, before);
    place(&ws.dir(), before);
    let file = ws.outside_path("patch");
    write(Path::new(&file), same.as_bytes());
    // One that git itself can't apply, as of an empty file under a new name, is none to be held to.
    if git(ws, &theirs, &[applying, &[&file]].concat()).is_none() {
        return false;
    }
    let was = files(&ws.dir());
    let answer = ws
        .tool("apply_patch")
        .arguments(&json!({"patch": patch}))
        .unwatched()
        .run();
    let is_applied = answer.status() == 0;
    let shown = answer.shown();
    let has_reason = REFUSALS.iter().any(|reason| shown.contains(reason));
    assert!(is_applied || has_reason, "{what}: {shown}\n{patch}");
    let wanted = if is_applied { files(&theirs) } else { was };
    let found = files(&ws.dir());
    if found != wanted && is_applied {
        // Without context, git may take a line for one that differs only by its missing line feed. Then the tree
        // that the patch was made from says what is right.
        place(&theirs, after);
        assert_eq!(found, files(&theirs), "{what}: {shown}\n{patch}");
    } else {
        assert_eq!(found, wanted, "{what}: {shown}\n{patch}");
    }
    is_applied
}

/// A patch that was cut off, with the same with its last line whole, or one of which a head was lost or written in
/// another way.
enum Torn {
    CutOff(String, String),
    Headless(String),
}

fn torn(random: &mut Random, patch: &str) -> Torn {
    if random.one_in(3) {
        let ends: Vec<usize> = patch.char_indices().map(|(at, _)| at).skip(1).collect();
        let end = random.of(&ends);
        let (mut whole, mut rest) = patch.split_at(end);
        // The marker of a line feed that is not there belongs to the line before it.
        while !whole.ends_with('\n') || rest.starts_with('\\') {
            let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
            (whole, rest) = patch.split_at(whole.len() + line);
        }
        return Torn::CutOff(patch[..end].to_owned(), whole.to_owned());
    }
    let mut lines: Vec<String> = patch.split_inclusive('\n').map(str::to_owned).collect();
    let is_head = |at: &usize| lines[*at].starts_with("@@ -");
    let heads: Vec<usize> = (0..lines.len()).filter(is_head).collect();
    if heads.is_empty() {
        lines.insert(0, "\u{feff}".to_owned());
        return Torn::Headless(lines.concat());
    }
    let at = random.of(&heads);
    match random.below(8) {
        0 => lines[at] = lines[at].replacen("@@ ", "@@", 1),
        1 => lines[at] = lines[at].replace("@@", "@@@"),
        2 => "@@\n".clone_into(&mut lines[at]),
        3 => lines[at].insert_str(0, "**"),
        4 => lines.insert(at, "\n".to_owned()),
        5 if lines[at - 1].starts_with("+++ ") => drop(lines.remove(at - 2)),
        6 if lines[at - 1].starts_with("+++ ") => drop(lines.remove(at - 1)),
        7 => lines.push("+1 from me\n".to_owned()),
        _ => lines.insert(0, "\u{feff}".to_owned()),
    }
    Torn::Headless(lines.concat())
}

/// Has us apply what is left of a patch: the whole of it, or nothing.
#[track_caller]
fn hold_torn(
    ws: &Workspace,
    [before, after]: [&Entries; 2],
    torn: &Torn,
    applying: &[&str],
    what: &str,
) {
    let theirs = ws.root().join("out/theirs");
    place(&ws.dir(), before);
    let was = files(&ws.dir());
    let patch = match torn {
        Torn::CutOff(patch, _) | Torn::Headless(patch) => patch,
    };
    let call = ws.tool("apply_patch").arguments(&json!({"patch": patch}));
    let answer = call.unwatched().run();
    let found = files(&ws.dir());
    if answer.status() != 0 {
        assert_eq!(found, was, "{what}: {}\n{patch}", answer.shown());
        return;
    }
    place(&theirs, after);
    if files(&theirs) == found {
        return;
    }
    // A cut between two sections or hunks leaves a patch that is whole, as git sees it. A cut in the end of the last
    // line does so to us: git takes a part of the marker of a line feed that is not there for nothing, and does not
    // find a line that lacks its carriage return.
    let Torn::CutOff(_, whole) = torn else {
        panic!("{what}: {}\n{patch}", answer.shown());
    };
    let file = ws.outside_path("patch");
    let is_as_git_makes_it = |patch: &str| {
        place(&theirs, before);
        write(Path::new(&file), patch.as_bytes());
        let applied = git(ws, &theirs, &[applying, &[&file]].concat());
        applied.is_some() && found == files(&theirs)
    };
    let ended = format!("{}\n", patch.strip_suffix('\n').unwrap_or(patch));
    let is_right = is_as_git_makes_it(&ended) || is_as_git_makes_it(whole);
    assert!(is_right, "{what}: {found:?}\n{patch}");
}

fn before(random: &mut Random) -> Entries {
    (0..=random.below(5))
        .map(|_| (random.of(&NAMES), entry(random)))
        .collect()
}

#[test]
fn what_git_makes_is_applied_as_git_applies_it() {
    let trials = 25 * trials();
    let mut applied = 0;
    for seed in seeds("patch_peers", trials) {
        let mut random = Random::new(seed);
        let ws = Workspace::new();
        let repository = ws.root().join("out/repository");
        let before = before(&mut random);
        let run = |args: &[&str]| {
            git(&ws, &repository, args).unwrap_or_else(|| panic!("seed {seed}: git {args:?}"))
        };
        place(&repository, &before);
        run(&["init", "-q", "--template=", "."]);
        run(&["add", "-A", "-f"]);
        run(&[
            "-c",
            "user.name=o",
            "-c",
            "user.email=o",
            "commit",
            "-qm",
            "x",
        ]);
        let after = changed(&mut random, &before);
        place(&repository, &after);
        run(&["add", "-A", "-f"]);
        let (making, applying) = options(&mut random);
        let patch = String::from_utf8(run(&making)).expect("UTF-8");
        let what = format!("seed {seed}: {making:?}");
        let states = [&before, &after];
        if !patch.is_empty() && hold(&ws, states, [&patch, &patch], &applying, &what) {
            applied += 1;
            for _ in 0..4 {
                let torn = torn(&mut random, &patch);
                hold_torn(&ws, states, &torn, &applying, &what);
            }
        }
    }
    assert!(applied * 3 > trials, "{applied} of {trials}");
}

/// Returns true if the two names of a file show that the directories before them are none of the project.
fn shows_prefixes(patch: &str) -> bool {
    let lines: Vec<&str> = patch.lines().collect();
    lines.windows(2).any(|pair| {
        let name = |line: &str, mark| Some(line.strip_prefix(mark)?.split('\t').next()?.to_owned());
        let old = name(pair[0], "--- one/");
        old.is_some() && old == name(pair[1], "+++ two/")
    })
}

/// Writes a difference of `diff -ruN` as another program does: quilt, which gives a file that is not there no name, or
/// svn, whose names have no prefix.
fn rewritten(patch: &str, is_svn: bool) -> String {
    let head = |line: &str| {
        let (name, time) = line.split_once('\t')?;
        let (mark, quote, name) =
            [("--- ", "one/"), ("+++ ", "two/")]
                .into_iter()
                .find_map(|(mark, dir)| {
                    let quoted = name.strip_prefix(mark)?;
                    let plain = quoted.trim_start_matches('"');
                    let quote = if plain == quoted { "" } else { "\"" };
                    Some((mark, quote, plain.strip_prefix(dir)?))
                })?;
        let is_there = !time.starts_with("1970-01-01") && !time.starts_with("1969-12-31");
        Some(match (is_svn, is_there, mark) {
            (true, false, _) => format!("{mark}{quote}{name}\t(nonexistent)\n"),
            (true, true, "--- ") => format!("{mark}{quote}{name}\t(revision 3)\n"),
            (true, true, _) => format!("{mark}{quote}{name}\t(working copy)\n"),
            (false, false, _) => format!("{mark}/dev/null\n"),
            (false, true, _) => line.to_owned(),
        })
    };
    let lines = patch.split_inclusive('\n');
    lines
        .filter(|line| !line.starts_with("diff -ruN "))
        .map(|line| head(line).unwrap_or_else(|| line.to_owned()))
        .collect()
}

#[test]
fn what_diff_quilt_svn_and_git_without_an_index_make_is_applied_as_git_applies_it() {
    let trials = 40 * trials();
    let mut applied = 0;
    for seed in seeds("patch_peers", trials) {
        let mut random = Random::new(seed);
        let ws = Workspace::new();
        let is_plain = |(_, entry): &(&str, Entry)| matches!(entry, Entry::File { .. });
        let before: Entries = before(&mut random).into_iter().filter(is_plain).collect();
        let after: Entries = changed(&mut random, &before)
            .into_iter()
            .filter(is_plain)
            .collect();
        place(&ws.root().join("out/one"), &before);
        place(&ws.root().join("out/two"), &after);
        let mut command = Command::new("env");
        let zone = random.of(&["UTC", "EST5", "IST-5:30"]);
        let out = ws.root().join("out");
        command.arg("-C").arg(out).arg(format!("TZ={zone}"));
        command.args(["diff", "-ruN", "one", "two"]);
        let plain = String::from_utf8(output(&ws, command).stdout).expect("UTF-8");
        let form = random.of(&["diff", "quilt", "svn", "git"]);
        let patch = match form {
            "diff" => plain.clone(),
            "git" => {
                let mut command = Command::new("git");
                command.arg("-C").arg(ws.root().join("out"));
                command.args(["diff", "--no-index", "--no-prefix", "-M", "one", "two"]);
                String::from_utf8(output(&ws, command).stdout).expect("UTF-8")
            }
            form => rewritten(&plain, form == "svn"),
        };
        if plain.is_empty() || matches!(form, "quilt" | "git") && !shows_prefixes(&patch) {
            continue;
        }
        let what = format!("seed {seed}: {form}");
        let states = [&before, &after];
        applied += u32::from(hold(&ws, states, [&patch, &plain], &["apply"], &what));
    }
    assert!(applied * 3 > trials, "{applied} of {trials}");
}
