//! Random sequences of commands on files, links and directories are undone to the byte, or refused with nothing changed.

use crate::harness::random::Random;
use crate::harness::{Workspace, page, skipped, trials};
use rustix::fs::{XattrFlags, lgetxattr, setxattr};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

fn name(random: &mut Random) -> String {
    let file = random.of(&["a", "b", "c", "x", "y"]);
    match random.below(4) {
        0 => file.to_owned(),
        1 => dir(random),
        2 => format!("{}/{file}", dir(random)),
        _ => format!("{}/{}/{file}", dir(random), random.of(&["s", "d1", "x"])),
    }
}

fn dir(random: &mut Random) -> String {
    random.of(&["d1", "d2", "d3", "l", "d1/s"]).to_owned()
}

fn command(random: &mut Random) -> String {
    let (a, b) = (name(random), name(random));
    let (d, e) = (dir(random), dir(random));
    let targets = [
        "a", "d1", "../d2", "nowhere", "/nowhere", "$PWD/d2", ".", "x", "d2/x",
    ];
    // No link leads upward from the root, where the home directory is.
    let is_deep = b.contains('/') && random.below(4) == 0;
    let target = if is_deep { ".." } else { random.of(&targets) };
    let mode = random.of(&["600", "644", "755", "700", "444", "4755"]);
    match random.below(34) {
        0 => format!("mv {a} {b}"),
        1 => format!("mv {d} {e}"),
        2 => format!("mv {d} {e}; ln -s {e} {d}"),
        3 => format!("mv -T {a} {b}"),
        4 => format!("mv --exchange {a} {b}"),
        5 => format!("cp {a} {b}"),
        6 => format!("cp -a {d} {e}"),
        7 => format!("cp -r {a} {b}"),
        8 => format!("cp -al {d} {e}"),
        9 => format!("ln {a} {b}"),
        10 => format!("ln -f {a} {b}"),
        11 => format!("ln -s {target} {b}"),
        12 => format!("ln -sfn {target} {b}"),
        13 => format!("rm -f {a}"),
        14 => format!("rm -rf {d}"),
        15 => format!("rm -rf {d}; ln -s {e} {d}"),
        16 => format!("mkdir -p {b}"),
        17 => format!("rmdir {d}"),
        18 => format!("chmod {mode} {a}"),
        19 => format!("truncate -s {} {a}", random.below(9)),
        20 => format!("echo more >> {a}"),
        21 => format!("echo new > {a}"),
        22 => format!("exec 3>>{a}; mv {a} {b}; rm -f {a} {b}; echo held >&3; exec 3>&-"),
        23 => format!("{{ sleep .01; echo late; }} >> {a} & rm -f {a}; wait"),
        24 => format!("echo new > {a}; chmod 444 {a}"),
        25 => format!("chmod 755 {d}; echo new > {d}/n; echo new > {d}/x; chmod 555 {d}"),
        27 => format!("echo new > //proc/self/cwd/{a}; truncate -s 2 /dev/stdin < {b}"),
        // One of the files has an access list.
        31 => format!("cp -p {} {b}", random.of(&[&a, "d1/y"])),
        32 => format!("echo one of a > {a}; touch -r {b} {a}"),
        29 => format!("chmod {mode} {a}; chown 0:0 {a}"),
        30 => format!("echo new > {b}; mv {b} {a}; chmod {mode} {a}"),
        28 => format!("find {d} ! -type l -exec chmod {mode} {{}} +"),
        _ => format!("sed -i s/o/0/ {a}"),
    }
}

fn line(random: &mut Random) -> String {
    let count = 1 + random.below(6);
    let commands: Vec<String> = (0..count).map(|_| command(random)).collect();
    format!("exec 2>/dev/null; {}; true", commands.join("; "))
}
/// What a path is: its mode, its content or target, the first name of its file, whom it belongs to if it is set-user-ID
/// or set-group-ID, and its access list.
type Snapshot = BTreeMap<String, (u32, Vec<u8>, String, Option<(u32, u32)>, Vec<u8>)>;

const ACCESS_LIST: &str = "system.posix_acl_access";

fn snapshot(ws: &Workspace) -> Snapshot {
    let root = ws.dir();
    let (mut found, mut first) = (Snapshot::new(), BTreeMap::new());
    let mut waiting = vec![root.clone()];
    let mut paths = Vec::new();
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.symlink_metadata().expect("metadata").is_dir() {
                waiting.push(path.clone());
            }
            paths.push(path);
        }
    }
    paths.sort();
    for path in paths {
        let metadata = path.symlink_metadata().expect("metadata");
        let name = path
            .strip_prefix(&root)
            .expect("below")
            .display()
            .to_string();
        let content = if metadata.is_symlink() {
            fs::read_link(&path)
                .expect("a target")
                .into_os_string()
                .into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(&path).expect("a content")
        } else {
            Vec::new()
        };
        let file = first
            .entry(metadata.ino())
            .or_insert_with(|| name.clone())
            .clone();
        let file = if metadata.is_file() {
            file
        } else {
            String::new()
        };
        let is_granting = metadata.is_file() && metadata.mode() & 0o6000 != 0;
        let owner = is_granting.then(|| (metadata.uid(), metadata.gid()));
        let mut list = vec![0; 256];
        let length = lgetxattr(&path, ACCESS_LIST, &mut list[..]).unwrap_or(0);
        list.truncate(length);
        found.insert(name, (metadata.mode(), content, file, owner, list));
    }
    found
}

/// The paths that differ, as they were and as they are.
fn differences(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = |path: &&String| before.get(*path) != after.get(*path);
    let show = |path: &String| format!("{path}: {:?}, {:?}", before.get(path), after.get(path));
    paths.into_iter().filter(differs).map(show).collect()
}

fn build(ws: &Workspace) {
    let dir = ws.dir();
    for name in ["d1/s", "d2", "d3", "ro"] {
        fs::create_dir_all(dir.join(name)).expect("made");
    }
    for name in ["a", "b", "d1/x", "d1/y", "d1/s/x", "d2/x", "d3/c", "ro/f"] {
        fs::write(dir.join(name), format!("one of {name}\n")).expect("written");
        // As in an archive, all files have one mtime, and some have one size.
        let file = fs::File::open(dir.join(name)).expect("open");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
    }
    fs::hard_link(dir.join("a"), dir.join("d2/a")).expect("a link");
    fs::hard_link(dir.join("d1/x"), dir.join("d1/s/y")).expect("a link");
    // If the tests run as root, this file belongs to somebody else. Both `chown` and `setxattr` may not be possible.
    let _ = std::os::unix::fs::chown(dir.join("b"), Some(7100), Some(7100));
    let entries = [
        (1_u16, 6_u16, u32::MAX),
        (2, 6, 1234),
        (4, 0, u32::MAX),
        (16, 6, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        list.extend(id.to_le_bytes());
    }
    let _ = setxattr(dir.join("d1/y"), ACCESS_LIST, &list, XattrFlags::empty());
    for (name, mode) in [("ro/f", 0o444), ("ro", 0o555), ("b", 0o4755)] {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(dir.join(name), mode).expect("a mode");
    }
    std::os::unix::fs::symlink("d1", dir.join("l")).expect("a link");
    std::os::unix::fs::symlink("../..", dir.join("d1/s/up")).expect("a link");
    std::os::unix::fs::symlink("../a", dir.join("d2/b")).expect("a link");
}

fn run(ws: &Workspace, line: &str) {
    let call = ws.tool("run_shell_command").unwatched();
    let call = call.arguments(&json!({ "command": line }));
    call.env("GEMINI_TOOLS_UNDO_COMMANDS", "on").run().output();
}

/// Undoes by these words, and checks that the tree is as before, or still as after the command. Returns the undo's id
/// unless it was refused.
fn undo(
    ws: &Workspace,
    args: &[&str],
    before: &Snapshot,
    after: &Snapshot,
    of: &str,
) -> Option<String> {
    let args: Vec<&str> = ["--undo"].iter().chain(args).copied().collect();
    let answer = ws.call_tool(&args).unwatched().run();
    let now = snapshot(ws);
    if answer.status() == 0 {
        let left = differences(before, &now);
        assert!(left.is_empty(), "{of}\n{left:#?}\n{}", answer.shown());
        let id = answer.text().trim().rsplit(' ').next().map(str::to_owned);
        return id;
    }
    let left = differences(after, &now);
    assert!(left.is_empty(), "{of}\n{left:#?}\n{}", answer.shown());
    let errors = answer.errors();
    let _ = writeln!(std::io::stderr(), "refused: {of}\n{errors}");
    assert!(errors.contains("not undone"), "{of}: {errors}");
    None
}

#[test]
fn random_commands_are_undone_to_the_byte_or_refused_with_nothing_changed() {
    let seed = env::var("GEMINI_TOOLS_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let first: u64 = seed.unwrap_or(1);
    let count = 200 * u64::from(trials());
    let try_some = |seeds: std::ops::Range<u64>| {
        let mut refused = 0;
        for seed in seeds {
            let mut random = Random::new(seed);
            let mut ws = Workspace::new();
            build(&ws);
            if seed % 2 == 1 {
                ws = ws.unprivileged();
            }
            let before = snapshot(&ws);
            let lines: Vec<String> = (0..=random.below(4) / 3)
                .map(|_| line(&mut random))
                .collect();
            let of = format!("GEMINI_TOOLS_SEED={seed}: {lines:?}");
            let mut states = vec![before];
            for line in &lines {
                run(&ws, line);
                states.push(snapshot(&ws));
            }
            let redoes = random.below(3) == 0;
            while let Some(after) = states.pop() {
                let Some(before) = states.last() else { break };
                if *before == after {
                    // There may be nothing to take back.
                    break;
                }
                let Some(id) = undo(&ws, &[], before, &after, &of) else {
                    refused += 1;
                    break;
                };
                if redoes && states.len() == 1 {
                    refused += u32::from(undo(&ws, &[&id], &after, before, &of).is_none());
                }
            }
        }
        refused
    };
    let middle = first + count / 2;
    let refused: u32 = std::thread::scope(|scope| {
        let other = scope.spawn(|| try_some(middle..first + count));
        try_some(first..middle) + other.join().expect("tried")
    });
    let _ = writeln!(
        std::io::stderr(),
        "seeds {first}..{}: {refused} refused",
        first + count
    );
    assert!(
        u64::from(refused) <= count / 20,
        "{refused} of {count} refused"
    );
}

#[test]
fn moves_and_links_of_all_kinds_are_undone_to_the_byte() {
    for line in [
        "rm -rf d1; ln -s d2 d1; echo via > d1/x",
        "chmod 600 b; ln -f b a",
        "chmod 400 a; rm a",
        "mv -T d2 d4; mv -T d3 d2; mv -T d4 d3",
        "exec 3>>a; rm a; echo more >&3",
        "exec 3>>a; mv b a; echo more >&3",
        "exec 3>a; mv a n; rm n; echo more >&3",
        "{ sleep .3; echo late; } >> a & sleep .1; rm a; wait",
        "exec 3>>a; chmod 600 a; rm a; echo more >&3",
        "exec 3>>d1/x; ln d1/x n; rm d1/x n; echo more >&3; rm b",
        "echo new > b; chmod 444 b; rm d3/c",
        "echo new > a; chmod 444 a; rm d3/c",
        "chmod u+w ro/f; echo new > ro/f; chmod 444 ro/f",
        "chmod 755 ro; echo new > ro/n; chmod u+w ro/f; echo new > ro/f; chmod 444 ro/f; chmod 555 ro",
        "chmod 755 ro; ln ro/f ro/g; chmod 644 ro/f; echo new > ro/g; chmod 444 ro/f; rm ro/f; chmod 555 ro",
        "chmod 755 ro; rm ro/f; chmod 555 ro",
        "echo new > b; sed -i s/o/0/ d1/x; chmod -R a-w d1 b",
        "echo new > //proc/self/cwd/b",
        "echo new > /proc/../proc/thread-self/cwd/n",
        "ln -s /proc/self/cwd/d1 p; echo new > p/x; echo new > p/n",
        "exec 3<b; cd /proc; echo new > self/fd/3",
        "exec 7<d3; echo new > /dev/./fd/7/c; echo new > /dev/fd/7/n",
        "truncate -s 2 /dev/stdin < b",
        "exec 2<b; echo new > /dev/stderr",
    ] {
        let ws = Workspace::new();
        build(&ws);
        let ws = ws.unprivileged();
        let before = snapshot(&ws);
        run(&ws, line);
        let after = snapshot(&ws);
        assert_ne!(before, after, "{line}");
        let id = undo(&ws, &[], &before, &after, line);
        let id = id.unwrap_or_else(|| panic!("{line} was refused"));
        let redone = undo(&ws, &[&id], &after, &before, line);
        assert!(redone.is_some(), "{line} was not done again");
    }
}

#[test]
fn sockets_that_a_command_has_made_are_removed() {
    if !page::is_installed("python3") {
        return skipped("python3");
    }
    let bind = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'";
    for line in [bind, &format!("mkdir run; cd run; echo 1 > pid; {bind}")] {
        let ws = Workspace::new().file("a", "a").unprivileged();
        let before = snapshot(&ws);
        run(&ws, line);
        let after = snapshot(&ws);
        assert_ne!(before, after);
        assert!(undo(&ws, &[], &before, &after, line).is_some(), "{line}");
    }
}

#[test]
fn what_can_not_be_read_any_more_is_the_reason_of_a_refusal() {
    for (line, path) in [
        ("mkdir d; mkdir -m 000 d/x", "d/x"),
        ("echo x > o/f; chmod 000 o", "o/f"),
    ] {
        let ws = Workspace::new().file("o/f", "old\n").unprivileged();
        run(&ws, line);
        let undone = ws.call_tool(&["--undo"]).unwatched().run();
        assert_eq!(undone.status(), 1, "{}", undone.shown());
        let errors = undone.errors();
        let reason = format!("{path} can't be read: Permission denied");
        undone.must_say(&errors, &[&reason, "Nothing was changed"]);
        if let Some(kept) = errors
            .split_whitespace()
            .find(|word| word.contains("/home/.gemini/tools_journal/"))
        {
            let kept = kept.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
            assert_eq!(fs::read_to_string(kept).expect("text"), "old\n");
        } else {
            assert_ne!(path, "o/f", "{errors}");
        }
    }
}

#[test]
fn a_name_that_no_command_touched_keeps_its_mode() {
    let ws = Workspace::new()
        .file("a", "a")
        .file("secret", "s")
        .mode("secret", 0o600);
    let before = snapshot(&ws);
    for line in [
        "ln -f secret a",
        "rm a; ln secret a",
        "cp -al secret a2; mv a2 a",
        "ln -f a secret",
    ] {
        run(&ws, line);
        let after = snapshot(&ws);
        assert!(undo(&ws, &[], &before, &after, line).is_some(), "{line}");
    }
}

#[test]
fn changes_that_keep_size_and_mtime_are_undone_to_the_byte() {
    for size in [9, 300_000] {
        for line in [
            "cp -p b a",
            "cp -a b a; cp -p a d",
            "rsync -t -I --inplace b a",
            "tr o n < a > t; cat t > a; touch -r b a",
            "mv a c; cp -p b c",
            "ln a c; cp -p b c",
            "cp -p b a; chmod 600 a; mv a c",
            "tar cf t b --transform s/b/a/; tar xf t --overwrite",
        ] {
            let program = line.split(' ').next().expect("a word");
            if !page::is_installed(program) {
                skipped(program);
                continue;
            }
            let ws = Workspace::new();
            for name in ["a", "b"] {
                fs::write(ws.path(name), name.repeat(size)).expect("written");
                let file = fs::File::open(ws.path(name)).expect("open");
                file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
            }
            let ws = ws.unprivileged();
            let before = snapshot(&ws);
            run(&ws, line);
            let between = snapshot(&ws);
            assert_ne!(before, between, "{line}");
            run(&ws, "cp -p b a; touch -d @0 a; echo l > k");
            let after = snapshot(&ws);
            for (before, after) in [(&between, &after), (&before, &between)] {
                let undone = undo(&ws, &[], before, after, line);
                assert!(undone.is_some(), "{line}, {size} bytes");
            }
        }
    }
}

#[test]
fn what_was_moved_into_what_is_kept_is_moved_back_or_stays() {
    let outside = "was moved here from";
    for (line, refused) in [
        ("mv .env env.bak", None),
        ("mv .env t; echo new >> t; mv t u", None),
        ("mv x.o a", None),
        ("mv build dist; echo new > dist/c; rm dist/d/y", None),
        ("mv b b.tmp; echo 1 > b.tmp; mv b.tmp c", None),
        ("cp a x.tmp; mv x.tmp a", None),
        (
            "echo t > ../t; mv ../t t; mkdir ../dir; mv ../dir dir",
            None,
        ),
        ("mv ../away/report .", Some(outside)),
        ("mv ../away/report a", Some(outside)),
        ("mv ../away/report r; mkdir e; mv r e/r", Some(outside)),
        ("mv ../away d; mv d/report r; rm -r d", Some(outside)),
        ("mv ../away .", Some(outside)),
        (
            "mv ../away/report r; mv r ../away/report; echo new > b",
            None,
        ),
    ] {
        let ws = Workspace::new()
            .git()
            .file(".gitignore", ".env\n*.o\n*.tmp\nbuild/\n");
        build(&ws);
        let ws = ws
            .file(".env", "SECRET")
            .file("x.o", "object")
            .file("build/d/y", "y")
            .file("build/c", "c");
        fs::create_dir(ws.dir().join("../away")).expect("made");
        fs::write(ws.dir().join("../away/report"), "mine").expect("written");
        let ws = ws.unprivileged();
        std::thread::sleep(Duration::from_millis(20));
        let before = snapshot(&ws);
        run(&ws, line);
        let after = snapshot(&ws);
        assert_ne!(before, after, "{line}");
        let undone = undo(&ws, &[], &before, &after, line);
        assert_eq!(undone.is_some(), refused.is_none(), "{line}");
        if let Some(reason) = refused {
            let answer = ws.call_tool(&["--undo"]).unwatched().run();
            answer.must_say(&answer.errors(), &[reason, "Nothing was changed"]);
        }
    }
}

#[test]
fn commands_and_file_tools_in_turn_are_undone_to_the_byte() {
    for seed in crate::harness::random::seeds("commands and file tools", 20 * trials()) {
        let mut random = Random::new(seed);
        let ws = Workspace::new();
        build(&ws);
        let ws = ws.unprivileged();
        let (mut states, mut steps) = (vec![snapshot(&ws)], Vec::new());
        let names = ["a", "b", "d1/x", "d1/y", "d2/a", "d1/s/y"];
        for _ in 0..2 + random.below(5) {
            let name = random.of(&names);
            let line = match random.below(4) {
                0 | 1 => None,
                2 => Some(format!("cp {} {name}", random.of(&names))),
                _ => Some(format!("echo new{} > {name}", random.below(9))),
            };
            if let Some(line) = &line {
                run(&ws, line);
            } else {
                let text = format!("tool{}\n", random.below(99));
                let arguments = json!({ "file_path": ws.path(name), "content": text });
                let call = ws.tool("write_file").arguments(&arguments);
                call.unwatched().run().output();
            }
            let now = snapshot(&ws);
            if states.last() != Some(&now) {
                states.push(now);
                steps.push(line.unwrap_or_else(|| format!("write_file {name}")));
            }
        }
        states.pop();
        while let Some(before) = states.pop() {
            let undone = ws.call_tool(&["--undo"]).unwatched().run();
            let of = format!("seed {seed}: {steps:?}, {}", undone.shown());
            assert_eq!(undone.status(), 0, "{of}");
            let left = differences(&before, &snapshot(&ws));
            assert!(left.is_empty(), "{of}: {left:?}");
        }
    }
}

/// A command on files with few contents, so that many are equal, with links between them.
fn command_on_equals(random: &mut Random) -> String {
    let names = ["a", "b", "c", "d/a", "d/c"];
    let (a, b, text) = (random.of(&names), random.of(&names), random.of(&["x", "y"]));
    match random.below(9) {
        0 | 1 => format!("ln -f {a} {b}"),
        2 => format!("ln {a} {b}"),
        // A copy of equal text that takes a file's place is no change.
        3 => format!("cmp -s {a} {b} || {{ cp {a} t; mv t {b}; }}"),
        4 => format!("echo {text} > {a}"),
        5 | 6 => format!("echo z >> {a}"),
        7 => format!("chmod {} e", random.of(&["600", "755"])),
        _ => format!("rm -f {a}"),
    }
}

#[test]
fn several_commands_at_once_are_undone_and_redone_as_one_by_one() {
    let mut refused = 0;
    for seed in crate::harness::random::seeds("several commands", 20 * trials()) {
        let mut random = Random::new(seed);
        let ws = Workspace::new().directory("d");
        for (name, text) in [
            ("a", "x\n"),
            ("b", "x\n"),
            ("c", "x\n"),
            ("d/c", "y\n"),
            ("e", "e\n"),
        ] {
            fs::write(ws.path(name), text).expect("written");
        }
        let (mut states, mut lines) = (vec![snapshot(&ws)], Vec::new());
        let must = |args: &[&str], expected: &Snapshot, lines: &[String]| {
            let args: Vec<&str> = ["--undo"].iter().chain(args).copied().collect();
            let answer = ws.call_tool(&args).unwatched().run();
            // After a long course the undo may not be sure which file a path was.
            if answer.status() == 1 && answer.errors().contains("not undone") {
                return None;
            }
            let left = differences(expected, &snapshot(&ws));
            let of = format!("seed {seed}: {lines:?}, {args:?}, {left:#?}");
            assert!(
                left.is_empty() && answer.status() == 0,
                "{of}: {}",
                answer.shown()
            );
            Some(answer.text().trim().rsplit(' ').next()?.to_owned())
        };
        while states.len() < 2 || random.below(6) > 0 {
            let line = command_on_equals(&mut random);
            run(&ws, &format!("exec 2>/dev/null; {line}; true"));
            let now = snapshot(&ws);
            lines.push(line);
            if states.last() != Some(&now) {
                if random.one_in(3)
                    && let Some(id) = must(&[], states.last().expect("a state"), &lines)
                {
                    must(&[&id], &now, &lines);
                }
                states.push(now);
            }
            // Somebody saves the same text once more, under the same mode.
            fs::copy(ws.path("e"), ws.path("saved")).expect("copied");
            fs::rename(ws.path("saved"), ws.path("e")).expect("renamed");
        }
        let last = states.last().expect("a state");
        let history = ws.call_tool(&["--history", "--json"]).unwatched().run();
        let entries = history.text().lines();
        let entries = entries.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let ids: Vec<String> = entries
            .filter(|entry| random.below(2) == 0 || entry["tool"] != "undo")
            .filter_map(|entry| Some(entry["id"].as_str()?.to_owned()))
            .collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let all = [&ids[..], &["--since", "1h"]];
        let all = all[random.below(2)];
        let Some(id) = must(all, &states[0], &lines) else {
            refused += 1;
            continue;
        };
        must(all, &states[0], &lines);
        if must(&[&id], last, &lines).is_some() {
            must(&[], &states[states.len() - 2], &lines);
        }
    }
    assert!(refused <= 4 * trials(), "{refused} were refused");
}

#[test]
fn what_was_undone_before_can_be_redone_and_undone_again() {
    for by_time in [true, false] {
        let ws = Workspace::new()
            .file("f", "f\n")
            .file("g", "g\n")
            .file("k", "k\n");
        let states =
            || ["f", "g", "k"].map(|name| fs::read_to_string(ws.path(name)).expect("text"));
        let undo = |args: &[&str]| {
            let args: Vec<&str> = ["--undo"].iter().chain(args).copied().collect();
            let answer = ws.call_tool(&args).unwatched().run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
            let id = answer.text().trim().rsplit(' ').next().map(str::to_owned);
            id.unwrap_or_default()
        };
        let newest = || {
            let listed = ws.call_tool(&["--history"]).unwatched().run();
            listed.text().split(' ').next().expect("an id").to_owned()
        };
        let before = states();
        run(&ws, "echo x >> f; echo y >> g");
        let (after, command) = (states(), newest());
        let undone = undo(&[]);
        run(&ws, "echo new > k");
        let ids = [&*command, &newest()];
        undo(if by_time { &["--since", "1h"] } else { &ids });
        assert_eq!(states(), before);
        undo(&[&undone]);
        assert_eq!(states(), after);
        undo(&[]);
        assert_eq!(states(), before);
    }
}

#[test]
fn a_repository_goes_with_the_command_that_made_it() {
    let commit = "git add .; git -c user.name=a -c user.email=b commit -qm 1";
    for line in [
        "git init -q; echo y > b",
        "git init -q d/new",
        "mkdir app; echo x > app/main; cd app; git init -q",
        &format!("git init -q; {commit}"),
        &format!("git init -q d; cd d; {commit}; git clone -q . ../e"),
    ] {
        let ws = Workspace::new()
            .file("a", "a\n")
            .file("b", "b\n")
            .file("d/f", "f\n");
        let before = snapshot(&ws);
        run(&ws, line);
        let after = snapshot(&ws);
        let id =
            undo(&ws, &[], &before, &after, line).unwrap_or_else(|| panic!("{line} was refused"));
        assert!(undo(&ws, &[&id], &after, &before, line).is_some(), "{line}");
    }
}

#[test]
fn what_an_undo_gave_back_counts_as_seen() {
    for (other, line) in [
        ("anna", "mv f g"),
        ("anna", "rm f"),
        ("ben", "rm f"),
        ("ben", "mv f g"),
    ] {
        let ws = Workspace::new().file("f", "one\ntwo\n");
        let old = SystemTime::now() - Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(ws.path("f"));
        file.and_then(|file| file.set_modified(old))
            .expect("a time");
        let call = |session: &str, tool: &str, arguments: Value| {
            let call = ws.tool(tool).arguments(&arguments).unwatched();
            let call = call.env("GEMINI_TOOLS_UNDO_COMMANDS", "on");
            call.env("GEMINI_TOOLS_SESSION", session).run().output()
        };
        let path = ws.path("f");
        call("anna", "read_file", json!({ "file_path": path }));
        let edit = json!({ "file_path": path, "old_string": "two", "new_string": "TWO" });
        call("anna", "replace", edit);
        call(other, "run_shell_command", json!({ "command": line }));
        let undo = ws.call_tool(&["--undo", "--since", "1h"]).unwatched();
        let undone = undo.env("GEMINI_TOOLS_SESSION", "anna").run();
        assert_eq!(undone.status(), 0, "{line}: {}", undone.shown());
        let answer = call(
            "anna",
            "write_file",
            json!({ "file_path": path, "content": "x" }),
        );
        assert!(!answer.contains("since"), "{other}, {line}: {answer}");
    }
}

#[test]
fn a_change_that_was_made_again_by_hand_can_be_undone_again() {
    let ws = Workspace::new().file("a", "a\n");
    let (before, line) = (snapshot(&ws), "echo x > a");
    run(&ws, line);
    let after = snapshot(&ws);
    let id = undo(&ws, &[], &before, &after, line).expect("an id");
    fs::write(ws.path("a"), "x\n").expect("written");
    undo(&ws, &[&id], &after, &after, line);
    undo(&ws, &[], &before, &before, line);
}

#[test]
fn the_history_of_an_id_lists_what_it_stands_for() {
    let ws = Workspace::new().file("a", "a\n").file("b", "b\n");
    run(&ws, "echo x > a; echo x > b");
    let undone = ws.call_tool(&["--undo"]).unwatched().run();
    let id = undone
        .text()
        .trim()
        .rsplit(' ')
        .next()
        .expect("an id")
        .to_owned();
    for (name, count, status) in [(&*id, 2, 0), ("a", 2, 0), ("none", 0, 2)] {
        let listed = ws.call_tool(&["--history", name]).unwatched().run();
        let found = (listed.text().lines().count(), listed.status());
        assert_eq!(found, (count, status), "{}", listed.shown());
    }
}

#[test]
fn modes_of_pipes_and_by_access_lists_come_back() {
    let list =
        "02000000010006000000000002000600d2040000040006000000000010000600000000002000060000000000";
    let python = format!("import os; os.setxattr('b', '{ACCESS_LIST}', bytes.fromhex('{list}'))");
    for line in [
        "chmod 666 p",
        "chmod 666 p; chmod 600 b; rm d3/c",
        &format!("python3 -c \"{python}\""),
    ] {
        let ws = Workspace::new();
        build(&ws);
        fs::set_permissions(ws.path("b"), fs::Permissions::from_mode(0o600)).expect("a mode");
        let made = ws
            .program("mkfifo".as_ref(), &["-m", "600", "p"])
            .unwatched();
        assert_eq!(made.run().status(), 0);
        let ws = ws.unprivileged();
        let modes =
            |snapshot: &Snapshot| -> Vec<u32> { snapshot.values().map(|path| path.0).collect() };
        let before = modes(&snapshot(&ws));
        run(&ws, line);
        let undone = ws.call_tool(&["--undo"]).unwatched().run();
        assert_eq!(undone.status(), 0, "{line}: {}", undone.shown());
        assert_eq!(modes(&snapshot(&ws)), before, "{line}");
    }
}

#[test]
fn a_root_that_was_moved_meanwhile_is_not_undone_in_part() {
    let line = "cd ..; mv ws w; sed -i s/o/0/ w/a; mv w ws; echo new > ws/b";
    let ws = Workspace::new();
    build(&ws);
    let before = snapshot(&ws);
    run(&ws, line);
    let after = snapshot(&ws);
    assert_ne!(before, after, "{line}");
    assert!(undo(&ws, &[], &before, &after, line).is_none(), "{line}");
}

/// Undoes by these words, and returns the system calls of some kinds, with the paths of open files.
fn undo_traced(ws: &Workspace, kinds: &str, args: &[&str]) -> String {
    let call_tool = crate::harness::executable("call_tool");
    let call_tool = call_tool.to_str().expect("text");
    let trace = [
        "-f", "-y", "-o", "../calls", "-e", kinds, call_tool, "--undo",
    ];
    let args = [&trace, args].concat();
    let undone = ws.program("strace".as_ref(), &args).unwatched().run();
    assert_eq!(undone.status(), 0, "{}", undone.shown());
    fs::read_to_string(ws.dir().join("../calls")).expect("text")
}

#[test]
fn many_files_come_back_with_one_flush_of_their_file_system() {
    if !page::is_installed("strace") {
        return skipped("strace");
    }
    let mut ws = Workspace::new();
    for number in 0..100 {
        ws = ws.file(format!("d/{number}"), "content\n");
    }
    let before = snapshot(&ws);
    run(&ws, "rm -r d");
    let calls = undo_traced(&ws, "trace=fdatasync,fsync,syncfs", &[]);
    assert_eq!(snapshot(&ws), before);
    assert!(calls.contains("syncfs"), "{calls}");
    assert!(calls.lines().count() < 30, "{calls}");
}

#[test]
fn an_undo_of_several_commands_reads_each_line_of_the_journal_once() {
    if !page::is_installed("strace") {
        return skipped("strace");
    }
    let ws = Workspace::new();
    for number in 0..8 {
        run(&ws, &format!("echo {number} >> a"));
    }
    let calls = undo_traced(&ws, "trace=read,write", &["--since", "1h"]);
    let count = |call: &str| {
        let calls = calls.lines().filter(|line| line.contains(call));
        let calls = calls.filter(|line| line.contains("/log>"));
        calls
            .filter_map(|line| line.rsplit(" = ").next()?.parse::<usize>().ok())
            .sum::<usize>()
    };
    let (read, written) = (count("read("), count("write("));
    assert!(
        written > 0 && read < 3 * written,
        "{read} of {written}: {calls}"
    );
}

#[test]
fn another_users_set_id_bits_and_access_list_come_back_with_the_owner_or_not_at_all() {
    if !crate::harness::running_as_root() {
        return;
    }
    for (line, is_undone) in [
        ("echo new > t; mv t b", true),
        ("rm b; echo new > b", true),
        ("mv b t; echo new > b; rm t", true),
        ("mv b d1/s/b; echo new > d1/s/b; ln d1/s/b b", true),
        ("chmod 755 b; mv b t", true),
        ("sed -i s/o/0/ d1/y b", true),
        ("sed s/o/0/ d1/y > t; chmod 660 t; mv t d1/y", true),
        ("chmod 755 b; chown 0:0 b", false),
        ("echo new > b; chown 0:0 b; chmod 4755 b", true),
        ("mv b t; chown 0:0 t; rm a", false),
        ("ln b t; chown 0:0 t; rm b", false),
    ] {
        let ws = Workspace::new();
        build(&ws);
        let before = snapshot(&ws);
        run(&ws, line);
        let after = snapshot(&ws);
        assert_ne!(before, after, "{line}");
        let undone = undo(&ws, &[], &before, &after, line);
        assert_eq!(undone.is_some(), is_undone, "{line}");
    }
}

#[test]
fn directories_made_for_a_write_go_with_it_whatever_commands_did_between() {
    for line in ["rm -r d1", "mv d1 d2", "mv d1/new d3"] {
        for steps in [&[&["--since", "1h"][..]][..], &[&[], &[]]] {
            let ws = Workspace::new();
            let before = snapshot(&ws);
            let arguments = json!({ "file_path": ws.path("d1/new/deep/f"), "content": "x" });
            ws.tool("write_file")
                .arguments(&arguments)
                .unwatched()
                .run()
                .output();
            run(&ws, line);
            for args in steps {
                let args: Vec<&str> = ["--undo"].iter().chain(*args).copied().collect();
                let undone = ws.call_tool(&args).unwatched().run();
                assert_eq!(undone.status(), 0, "{line}: {}", undone.shown());
            }
            assert_eq!(snapshot(&ws), before, "{line} {steps:?}");
        }
    }
}

#[test]
fn an_undo_that_would_lose_a_content_is_refused_whole() {
    let settings = r#"{"tools": {"undo": {"exclude": ["*.key"]}}}"#;
    let ws = Workspace::new()
        .file("a", "a")
        .file("d/s.key", "s")
        .home(".gemini/settings.json", settings);
    run(&ws, "echo x > a; rm -r d; ln -s . d; echo new > new.key");
    let after = snapshot(&ws);
    let undone = ws.call_tool(&["--undo"]).unwatched().run();
    assert_eq!(undone.status(), 1, "{}", undone.shown());
    assert_eq!(snapshot(&ws), after);
    let errors = undone.errors();
    undone.must_say(
        &errors,
        &[
            "d/s.key was not kept: tools.undo.exclude names it",
            "Nothing was changed",
        ],
    );
    assert_eq!(ws.call_tool(&["--undo", "a"]).unwatched().run().status(), 0);
    assert_eq!(fs::read_to_string(ws.path("a")).expect("text"), "a");
}

#[test]
fn a_kill_during_an_undo_of_commands_leaves_the_tree_as_it_was_or_as_the_undo_makes_it() {
    let (mut interrupted, mut old, mut new, mut edits) = (0, 0, 0, 0);
    // On a quick machine few kills come in the midst of an undo, so there are more trials until one has.
    for seed in crate::harness::random::seeds("kills of undos of commands", 400 * trials()) {
        if old + new >= 30 * trials() && interrupted > 0 && edits > 0 {
            break;
        }
        let mut random = Random::new(seed);
        let ws = Workspace::new();
        build(&ws);
        let before = snapshot(&ws);
        let line = line(&mut random);
        run(&ws, &line);
        let after = snapshot(&ws);
        let explained = ws.call_tool(&["--undo", "--explain"]).unwatched().run();
        if before == after || explained.status() != 0 {
            continue;
        }
        let intents = ws.root().join("home/.gemini/tools_journal/intents");
        let is_begun = || fs::read_dir(&intents).is_ok_and(|names| names.count() > 3);
        let running = ws.call_tool(&["--undo"]).start();
        let deadline = Instant::now() + Duration::from_millis(500);
        while !is_begun() && Instant::now() < deadline {}
        std::thread::sleep(Duration::from_micros(random.below(1_500) as u64));
        running.kill();
        let edited = (random.below(2) == 0)
            .then(|| edit(&ws, &mut random))
            .flatten();
        let list = ws.tool("list_directory").arguments(&json!({"path": "."}));
        let said = list.unwatched().run().output();
        let now = snapshot(&ws);
        let of = format!("seed {seed}, {line}, {edited:?}: {said}");
        if let Some((name, text)) = edited {
            edits += u32::from(said.contains("interrupted"));
            // The undo of a `mv` takes the file back to its former name, with what was written.
            let is_kept = contents_below(ws.root()).contains(&text);
            assert!(is_kept, "what was written to {name} is lost: {of}");
            let nodes = before.values().chain(after.values());
            let files = nodes.filter(|(mode, ..)| mode & 0o170_000 == 0o100_000);
            let contents = files.map(|(_, content, ..)| content);
            let all = contents_below(ws.root());
            for content in contents {
                let holds =
                    |found: &Vec<u8>| found.windows(content.len()).any(|part| part == content);
                assert!(
                    content.is_empty() || all.iter().any(holds),
                    "{} is lost: {of}",
                    String::from_utf8_lossy(content)
                );
            }
            continue;
        }
        if now != after {
            let left = differences(&before, &now);
            assert!(left.is_empty(), "{of}\n{left:#?}");
        }
        interrupted += u32::from(said.contains("interrupted"));
        *(if now == before { &mut new } else { &mut old }) += 1;
        let again = ws.call_tool(&["--undo"]).unwatched().run();
        if again.errors().contains("can't be given back without harm") {
            // A set-user-ID file of which nobody has seen how it got another owner.
            assert!(snapshot(&ws) == now, "{of}\n{}", again.shown());
            continue;
        }
        let is_done = again.errors().contains("nothing to undo");
        assert_eq!(is_done, now == before, "{of}\n{}", again.shown());
        let left = differences(&before, &snapshot(&ws));
        assert!(left.is_empty(), "{of}\n{left:#?}\n{}", again.shown());
    }
    let _ = writeln!(
        std::io::stderr(),
        "{interrupted} undos completed by the next call and {edits} after an edit, {old} not begun, {new} done"
    );
    assert!(interrupted > 0, "no kill came in the midst of an undo");
}

/// Appends to a file, as a person does who has not noticed the kill. Returns its name and what it has then.
fn edit(ws: &Workspace, random: &mut Random) -> Option<(String, Vec<u8>)> {
    let names = snapshot(ws).into_iter().filter(|(name, (mode, ..))| {
        let is_file = mode & 0o170_000 == 0o100_000;
        is_file && !name.contains(".gemini-change-")
    });
    let names: Vec<String> = names.map(|(name, _)| name).collect();
    let at = random.below(names.len().max(1));
    let path = ws.path(names.get(at)?);
    let mut file = fs::OpenOptions::new().append(true).open(&path).ok()?;
    file.write_all(b"PERSON\n").expect("written");
    Some((names[at].clone(), fs::read(path).expect("a content")))
}

/// What all files below a directory hold.
fn contents_below(dir: &Path) -> Vec<Vec<u8>> {
    let (mut found, mut waiting) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = path.symlink_metadata().expect("metadata");
            if metadata.is_dir() {
                waiting.push(path);
            } else if metadata.is_file() {
                found.push(fs::read(&path).expect("a content"));
            }
        }
    }
    found
}

#[test]
fn undos_at_once_go_one_after_the_other() {
    let mut together = 0;
    for seed in crate::harness::random::seeds("undos at once", 20 * trials()) {
        let mut random = Random::new(seed);
        let ws = Workspace::new();
        build(&ws);
        let mut states = vec![snapshot(&ws)];
        let mut lines = Vec::new();
        while states.len() < 3 {
            let line = line(&mut random);
            run(&ws, &line);
            let now = snapshot(&ws);
            if states.last() != Some(&now) {
                states.push(now);
                lines.push(line);
            }
        }
        let undos: Vec<_> = (0..2).map(|_| ws.call_tool(&["--undo"]).start()).collect();
        let answers: Vec<_> = undos
            .into_iter()
            .map(crate::harness::Running::finish)
            .collect();
        let done = answers.iter().filter(|answer| answer.status() == 0).count();
        together += usize::from(done == 2);
        let shown: Vec<String> = answers.iter().map(crate::harness::Answer::shown).collect();
        let left = differences(&states[2 - done], &snapshot(&ws));
        assert!(
            left.is_empty(),
            "seed {seed}, {lines:?}: {left:#?}\n{}",
            shown.join("\n")
        );
    }
    assert!(together > 0, "no two undos were made");
}

#[test]
fn a_command_that_changes_nothing_does_not_hide_the_change_before_it() {
    let ws = Workspace::new().file("a", "x\n").file("r", "real\n");
    let before = snapshot(&ws);
    run(&ws, "echo REAL > r");
    let after = snapshot(&ws);
    run(&ws, "sed -i s/q/r/ a");
    assert!(undo(&ws, &[], &before, &after, "sed").is_some());
}

#[test]
fn a_hard_link_is_given_back_even_if_its_content_came_back_by_itself() {
    let ws = Workspace::new();
    build(&ws);
    let before = snapshot(&ws);
    let line = "cp a copy; rm a; mv copy a";
    run(&ws, line);
    let after = snapshot(&ws);
    assert_ne!(before, after);
    assert!(undo(&ws, &[], &before, &after, line).is_some());
}

#[test]
fn what_a_command_wrote_is_passed_over_once_it_was_put_back_by_hand() {
    let ws = Workspace::new().file("a", "one\n").file("b", "one\n");
    run(&ws, "echo two > b");
    run(&ws, "echo two > a");
    fs::write(ws.path("a"), "one\n").expect("written");
    let answer = ws.call_tool(&["--undo"]).unwatched().run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(fs::read_to_string(ws.path("b")).expect("text"), "one\n");
}
