//! A patch is all or nothing: kills and full disks at any moment, over random trees and random patches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::random::{Random, seeds};
use crate::harness::{
    Call, Workspace, executable, lines, running_as_root, set_mode, skipped, trials,
};

/// What is at a path: the kind, the mode and the content, or the target of a link.
type Tree = BTreeMap<String, String>;

fn tree(dir: &Path) -> Tree {
    let mut found = Tree::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(here) = waiting.pop() {
        for entry in fs::read_dir(&here).expect("a directory").flatten() {
            let path = entry.path();
            let stat = fs::symlink_metadata(&path).expect("it is there");
            let name = path.strip_prefix(dir).expect("below").display().to_string();
            let state = if stat.is_dir() {
                waiting.push(path);
                continue;
            } else if stat.is_symlink() {
                format!("-> {}", fs::read_link(&path).expect("a link").display())
            } else {
                let mode = stat.permissions().mode() & 0o777;
                format!("{mode:o} {}", fs::read_to_string(&path).expect("text"))
            };
            found.insert(name, state);
        }
    }
    found
}

/// A tree of files, and a patch of it.
struct Case {
    patch: String,
    files: Vec<(String, String, u32)>,
    links: Vec<(String, String)>,
    /// The files that the patch changes, in its order, with what is there afterwards.
    paths: Vec<String>,
}

impl Case {
    fn random(random: &mut Random, count: usize) -> Self {
        let mut case = Self {
            patch: "*** Begin Patch\n".to_owned(),
            files: Vec::new(),
            links: Vec::new(),
            paths: Vec::new(),
        };
        for n in 0..count {
            case.add_file(random, n);
        }
        case.patch.push_str("*** End Patch\n");
        case
    }

    fn add_file(&mut self, random: &mut Random, n: usize) {
        let dir = random.of(&["", "src/", "src/deep/er/", "docs/"]);
        let path = format!("{dir}file{n}.txt");
        let end = if random.one_in(4) { "\r\n" } else { "\n" };
        let text = lines(20 + random.below(200), |line| {
            format!("file {n}, line {line}{end}")
        });
        let mode = random.of(&[0o644, 0o600, 0o755]);
        let mut hunk = String::new();
        for at in [3, 12] {
            let (before, after) = (at - 1, at + 1);
            write!(
                hunk,
                "@@\n file {n}, line {before}\n-file {n}, line {at}\n+file {n}, changed {at}\n file {n}, line {after}\n"
            )
            .expect("a string takes text");
        }
        let sort = random.below(6);
        let section = match sort {
            0 => {
                let dir = random.of(&["", "new/", "new/below/it/"]);
                let path = format!("{dir}made{n}.txt");
                let content = lines(random.below(300), |line| format!("+made {line}\n"));
                self.paths.push(path.clone());
                self.patch
                    .push_str(&format!("*** Add File: {path}\n{content}"));
                return;
            }
            1 => format!("*** Delete File: {path}\n"),
            2 => format!("*** Update File: {path}\n*** Move to: moved/to{n}.txt\n{hunk}"),
            3 => {
                let link = format!("link{n}.txt");
                self.links.push((link.clone(), path.clone()));
                format!("*** Update File: {link}\n{hunk}")
            }
            _ => format!("*** Update File: {path}\n{hunk}"),
        };
        self.patch.push_str(&section);
        self.files.push((path.clone(), text, mode));
        self.paths.push(path);
    }

    fn write(&self, dir: &Path) {
        for (name, content, mode) in &self.files {
            crate::harness::write(&dir.join(name), content.as_bytes());
            set_mode(&dir.join(name), *mode);
        }
        for (name, target) in &self.links {
            std::os::unix::fs::symlink(target, dir.join(name)).expect("a link");
        }
    }
}

/// A workspace whose settings cut answers, which must not take away what they say of a patch.
fn workspace() -> Workspace {
    let settings = r#"{"tools": {"truncateToolOutputThreshold": 20}}"#;
    Workspace::new().home(".gemini/settings.json", settings)
}

/// The tree that a patch makes, where nothing disturbs it.
fn patched(case: &Case) -> Tree {
    let ws = workspace();
    case.write(&ws.dir());
    let arguments = json!({"patch": case.patch});
    let answer = ws
        .tool("apply_patch")
        .arguments(&arguments)
        .unwatched()
        .run();
    answer.output();
    tree(&ws.dir())
}

/// Returns true if a kill has something to wait for: a moment in the course of a patch.
fn has_come(moment: usize, case: &Case, ws: &Workspace, before: &[Option<fs::Metadata>]) -> bool {
    use std::os::unix::fs::MetadataExt;
    let intents = ws.root().join("home/.gemini/tools_journal/intents");
    let is_begun = || fs::read_dir(&intents).is_ok_and(|names| names.count() > 3);
    match moment {
        0 => is_begun(),
        moment => {
            let at = (moment - 1) % case.paths.len();
            let now = fs::metadata(ws.path(&case.paths[at])).ok();
            let inode = |stat: &Option<fs::Metadata>| stat.as_ref().map(MetadataExt::ino);
            inode(&now) != inode(&before[at])
        }
    }
}

#[test]
fn a_kill_during_a_patch_leaves_all_old_files_or_all_new_ones() {
    let (mut interrupted, mut old, mut new) = (0, 0, 0);
    for seed in seeds("kills of patches", 50 * trials()) {
        let mut random = Random::new(seed);
        let count = 2 + random.below(39);
        let case = Case::random(&mut random, count);
        let wanted = patched(&case);
        let ws = workspace();
        case.write(&ws.dir());
        let session = |call: Call<'_>| call.env("GEMINI_TOOLS_SESSION", "one").unwatched().run();
        let args = json!({"paths": ["**"], "useDefaultExcludes": false});
        session(ws.tool("read_many_files").arguments(&args)).output();
        let before = tree(&ws.dir());
        let stats: Vec<_> = case
            .paths
            .iter()
            .map(|path| fs::metadata(ws.path(path)).ok())
            .collect();
        let moment = random.below(case.paths.len() + 1);
        let pause = Duration::from_micros(random.below(300) as u64);
        let call = ws
            .tool("apply_patch")
            .arguments(&json!({"patch": case.patch}))
            .env("GEMINI_TOOLS_SESSION", "one");
        let running = call.start();
        let deadline = Instant::now() + Duration::from_secs(5);
        while !has_come(moment, &case, &ws, &stats) && Instant::now() < deadline {}
        if moment == 0 || random.one_in(2) {
            thread::sleep(pause);
        }
        running.kill();
        only_reading_completes_nothing(&ws, seed);
        // A pipe gets only what the tool says, and the note is told beside it.
        let is_piped = random.one_in(2);
        let form: &[&str] = if is_piped {
            &["--output", "lines"]
        } else {
            &[]
        };
        let next = session(
            ws.tool("list_directory")
                .flags(form)
                .arguments(&json!({"path": "."})),
        );
        let said = if is_piped {
            next.shown()
        } else {
            next.output()
        };
        assert!(
            !is_piped || !next.text().contains("interrupted"),
            "{}",
            next.text()
        );
        let now = tree(&ws.dir());
        assert!(
            now == before || now == wanted,
            "seed {seed}: neither old nor new; {said}\n{now:#?}"
        );
        if said.contains("interrupted") {
            assert!(
                said.contains("has been completed") && now == wanted,
                "seed {seed}: {said}"
            );
            interrupted += 1;
        }
        *(if now == before { &mut old } else { &mut new }) += 1;
        nothing_is_left(&ws, seed);
        let is_kept = |path: &&String| {
            let changed = before.get(*path).zip(now.get(*path));
            changed.is_some_and(|(before, now)| before != now && !now.starts_with("-> "))
        };
        if let Some(path) = case
            .paths
            .iter()
            .find(is_kept)
            .filter(|_| said.contains("interrupted") && random.one_in(2))
        {
            // Its own change, also if another call has completed it, is no reason to refuse.
            let write = json!({"file_path": path, "content": "new\n"});
            session(ws.tool("write_file").arguments(&write)).output();
        } else if now == wanted {
            let undone = ws.call_tool(&["--undo"]).unwatched().run();
            assert_eq!(undone.status(), 0, "seed {seed}: {}", undone.shown());
            assert_eq!(tree(&ws.dir()), before, "seed {seed}");
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "{interrupted} patches completed by the next call, {old} not begun, {new} done"
    );
    assert!(
        interrupted > 0,
        "no kill came in the midst of a patch: choose other moments"
    );
}

/// Checks that the history and an explanation name an interrupted patch, and complete nothing.
fn only_reading_completes_nothing(ws: &Workspace, seed: u64) {
    let (before, pending) = (tree(&ws.dir()), intents(ws));
    for args in [
        &["--history"][..],
        &["--undo", "--explain"],
        &["--prune-history"],
    ] {
        let answer = ws.call_tool(args).unwatched().run();
        assert_eq!(tree(&ws.dir()), before, "seed {seed}: {}", answer.shown());
        assert_eq!(intents(ws), pending, "seed {seed}: {}", answer.shown());
        let is_moved = before.keys().any(|name| name.contains(".gemini-change-")) && pending > 0;
        let is_said = answer.errors().contains("is pending") || args[0] == "--prune-history";
        assert!(
            !is_moved || is_said || !is_prepared(ws),
            "seed {seed}: {}",
            answer.shown()
        );
    }
}

/// Whether an interrupted patch had prepared all of its files.
fn is_prepared(ws: &Workspace) -> bool {
    let intents = ws.root().join("home/.gemini/tools_journal/intents");
    let files = fs::read_dir(intents).into_iter().flatten().flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("text"));
    texts
        .into_iter()
        .any(|text| text.contains("\"is_prepared\":true") && text.ends_with('\n'))
}

/// Checks that neither an intent nor a kept file without a line in the log is left.
fn nothing_is_left(ws: &Workspace, seed: u64) {
    let journal = ws.root().join("home/.gemini/tools_journal");
    for entry in fs::read_dir(journal).into_iter().flatten().flatten() {
        let names: Vec<String> = fs::read_dir(entry.path())
            .into_iter()
            .flatten()
            .flatten()
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.') && name != "log")
            .collect();
        let log = fs::read_to_string(entry.path().join("log")).unwrap_or_default();
        for name in names {
            assert!(
                log.contains(&name),
                "seed {seed}: {} has {name}",
                entry.path().display()
            );
        }
    }
}

/// The option with which `unshare` lets this user mount a small file system.
fn namespace() -> &'static str {
    if running_as_root() {
        "--mount"
    } else {
        "--map-root-user"
    }
}

#[test]
fn a_full_disk_during_a_patch_leaves_all_old_files_or_all_new_ones() {
    let user = namespace();
    let call_tool = executable("call_tool");
    for seed in seeds("full disks during patches", 10 * trials()) {
        let mut random = Random::new(seed);
        let count = 2 + random.below(39);
        let case = Case::random(&mut random, count);
        let wanted = patched(&case);
        let ws = Workspace::new().directory("small");
        let source = ws.root().join("source");
        case.write(&source);
        let before = tree(&source);
        fs::write(
            ws.root().join("patch.json"),
            json!({"patch": case.patch}).to_string(),
        )
        .expect("arguments");
        let blocks: usize = case
            .files
            .iter()
            .map(|(_, text, _)| text.len().div_ceil(4096) + 3)
            .sum();
        let room = 8 + random.below(blocks + 40);
        let is_home_small = random.one_in(2);
        // The file system has room for the old files and some more, which the patch may use up.
        let script = format!(
            r#"
            mount -t tmpfs -o size=16m tmpfs small || exit 99
            cp -a ../source small/tree && mkdir -p small/home
            {home}
            taken=$(df -k --output=used small | tail -n 1)
            mount -o remount,size=$((taken + {room} * 4))k small || exit 99
            (cd small/tree && "$1" apply_patch < ../../../patch.json > ../../../answer)
            mount -o remount,size=32m small || exit 99
            (cd small/tree && echo '{{"path": "."}}' | "$1" list_directory > ../../../next) || exit 1
            cp -a small/tree ../after
            find "$HOME/.gemini/tools_journal/intents" -type f ! -name '.*' 2> /dev/null
            "#,
            home = if is_home_small {
                "export HOME=$PWD/small/home"
            } else {
                ""
            },
        );
        let path = call_tool.to_str().expect("a UTF-8 path");
        let args = ["--mount", user, "bash", "-c", &script, "bash", path];
        let run = ws.program(Path::new("unshare"), &args).unwatched().run();
        if run.status() == 99 || run.errors().contains("unshare failed") {
            return skipped("the right to mount a file system");
        }
        assert_eq!(run.status(), 0, "seed {seed}: {}", run.shown());
        let answer = fs::read_to_string(ws.root().join("answer")).expect("an answer");
        let now = tree(&ws.root().join("after"));
        let is_done = answer.contains("Successfully applied");
        let expected = if is_done { &wanted } else { &before };
        let names = expected.keys().chain(now.keys());
        let other: Vec<_> = names
            .filter(|name| now.get(*name) != expected.get(*name))
            .map(|name| (name, now.get(name), expected.get(name)))
            .collect();
        assert!(
            other.is_empty(),
            "seed {seed}: {answer}\n{}\n{other:#?}",
            run.shown()
        );
        assert_eq!(run.text(), "", "seed {seed}: an intent is left");
    }
}

#[test]
fn a_file_system_that_becomes_read_only_during_a_patch_or_its_undo_leaves_the_change_pending() {
    let names = || (0..250).map(|n| format!("f{n}"));
    let mut patch = "*** Begin Patch\n".to_owned();
    for name in names() {
        writeln!(patch, "*** Update File: {name}\n-old\n+new").expect("a string takes text");
    }
    patch.push_str("*** End Patch\n");
    // Whether the call can be stopped in the middle is a matter of luck.
    let mut caught = [0; 2];
    for trial in 0..40 {
        let is_undo = trial % 2 == 1;
        if caught[usize::from(is_undo)] > 0 {
            continue;
        }
        let ws = Workspace::new().directory("small");
        let arguments = json!({"patch": patch}).to_string();
        fs::write(ws.root().join("patch.json"), arguments).expect("arguments");
        let calls = ["apply_patch < ../../../patch.json", "--undo"];
        let (first, second) = if is_undo {
            (calls[0], calls[1])
        } else {
            ("--version", calls[0])
        };
        // The call is stopped as soon as it has changed a file.
        let script = format!(
            r#"
            mount -t tmpfs -o size=32m tmpfs small && mkdir small/tree || exit 99
            for n in {{0..249}}; do echo old > small/tree/f$n; done
            (cd small/tree && "$1" {first} > ../../../first) || exit 1
            exec 8< small/tree/f0 9< small/tree/f249
            (cd small/tree && exec "$1" {second} > ../../../said 2>&1) & pid=$!
            while [ small/tree/f0 -ef /proc/self/fd/8 ] && [ small/tree/f249 -ef /proc/self/fd/9 ]; do :; done
            kill -STOP $pid && mount -o remount,ro small || {{ kill -KILL $pid; exit 98; }}
            kill -CONT $pid; wait $pid
            list() {{ (cd small/tree && echo '{{"path": "."}}' | "$1" list_directory > ../../../$2); }}
            list "$1" pending; mount -o remount,rw small; list "$1" next
            cat small/tree/f* | sort | uniq -c; ls -A small/tree | wc -l
            find "$HOME/.gemini/tools_journal/intents" -type f ! -name '.*'
            "#
        );
        let call_tool = executable("call_tool");
        let call_tool = call_tool.to_str().expect("a UTF-8 path");
        let args = [
            "--mount",
            namespace(),
            "bash",
            "-c",
            &script,
            "bash",
            call_tool,
        ];
        let run = ws.program(Path::new("unshare"), &args).unwatched().run();
        if run.status() == 99 || run.errors().contains("unshare failed") {
            return skipped("the right to mount a file system");
        }
        // It had ended, or was stopped while it had a file open for writing, which keeps the system from being made
        // read-only.
        if run.status() == 98 {
            continue;
        }
        let read = |name: &str| fs::read_to_string(ws.root().join(name)).expect("an answer");
        let said = read("said");
        if said.contains("Successfully applied") || said.contains("Undid") {
            continue;
        }
        caught[usize::from(is_undo)] += 1;
        assert!(
            said.contains("can't be put back: Read-only"),
            "{}{said}",
            run.shown()
        );
        assert!(
            read("pending").contains("is pending"),
            "{}",
            read("pending")
        );
        let next = read("next");
        assert!(next.contains("has been completed"), "{next}");
        let expected = if is_undo { "old" } else { "new" };
        let left: Vec<&str> = run.text().split_whitespace().collect();
        assert_eq!(left, ["250", expected, "250"], "{next}");
    }
}

#[test]
fn a_kill_during_an_undo_of_a_patch_leaves_all_old_files_or_all_new_ones() {
    let (mut interrupted, mut old, mut new) = (0, 0, 0);
    for seed in seeds("kills of undos of patches", 20 * trials()) {
        let mut random = Random::new(seed);
        let count = 2 + random.below(39);
        let case = Case::random(&mut random, count);
        let ws = workspace();
        case.write(&ws.dir());
        let before = tree(&ws.dir());
        let arguments = json!({"patch": case.patch});
        let patch = ws.tool("apply_patch").arguments(&arguments).unwatched();
        patch.run().output();
        let patched = tree(&ws.dir());
        let stats: Vec<_> = case
            .paths
            .iter()
            .map(|path| fs::metadata(ws.path(path)).ok())
            .collect();
        let moment = random.below(case.paths.len() + 1);
        let pause = Duration::from_micros(random.below(3_000) as u64);
        let running = ws.call_tool(&["--undo"]).start();
        let deadline = Instant::now() + Duration::from_secs(5);
        while !has_come(moment, &case, &ws, &stats) && Instant::now() < deadline {}
        if moment == 0 || random.one_in(2) {
            thread::sleep(pause);
        }
        running.kill();
        let list = ws.tool("list_directory").arguments(&json!({"path": "."}));
        let said = list.unwatched().run().output();
        let now = tree(&ws.dir());
        assert!(
            now == before || now == patched,
            "seed {seed}: neither old nor new; {said}\n{now:#?}"
        );
        interrupted += usize::from(said.contains("interrupted"));
        *(if now == before { &mut new } else { &mut old }) += 1;
        let answer = ws.call_tool(&["--undo"]).unwatched().run();
        let is_undone = now == before;
        assert_eq!(
            is_undone,
            answer.errors().contains("nothing to undo"),
            "seed {seed}: {}",
            answer.shown()
        );
        assert_eq!(tree(&ws.dir()), before, "seed {seed}: {}", answer.shown());
        assert_eq!(intents(&ws), 0, "seed {seed}");
    }
    let _ = writeln!(
        std::io::stderr(),
        "{interrupted} undos completed by the next call, {old} not begun, {new} done"
    );
    assert!(
        interrupted > 0,
        "no kill came in the midst of an undo: choose other moments"
    );
}

fn intents(ws: &Workspace) -> usize {
    let intents = ws.root().join("home/.gemini/tools_journal/intents");
    let names = fs::read_dir(intents).into_iter().flatten().flatten();
    let is_intent = |name: &fs::DirEntry| !name.file_name().to_string_lossy().starts_with('.');
    names.filter(is_intent).count()
}

#[test]
fn a_full_disk_during_an_undo_of_a_patch_leaves_all_old_files_or_all_new_ones() {
    let user = namespace();
    let call_tool = executable("call_tool");
    for seed in seeds("full disks during undos", 10 * trials()) {
        let mut random = Random::new(seed);
        let count = 2 + random.below(39);
        let case = Case::random(&mut random, count);
        let ws = Workspace::new().directory("small");
        let source = ws.root().join("source");
        case.write(&source);
        let before = tree(&source);
        let arguments = json!({"patch": case.patch}).to_string();
        fs::write(ws.root().join("patch.json"), arguments).expect("arguments");
        let room = random.below(3 * case.files.len() + 20);
        let home = if random.one_in(2) {
            "export HOME=$PWD/small/home"
        } else {
            ""
        };
        let script = format!(
            r#"
            mount -t tmpfs -o size=32m tmpfs small || exit 99
            cp -a ../source small/tree && mkdir -p small/home
            {home}
            (cd small/tree && "$1" apply_patch < ../../../patch.json > ../../../answer) || exit 1
            cp -a small/tree ../patched
            taken=$(df -k --output=used small | tail -n 1)
            mount -o remount,size=$((taken + {room} * 4))k small || exit 99
            (cd small/tree && "$1" --undo > ../../../first 2>&1); echo $?
            mount -o remount,size=64m small || exit 99
            (cd small/tree && echo '{{"path": "."}}' | "$1" list_directory > ../../../next) || exit 1
            cp -a small/tree ../after
            (cd small/tree && "$1" --undo > ../../../second 2>&1)
            cp -a small/tree ../last
            find "$HOME/.gemini/tools_journal/intents" -type f ! -name '.*' 2> /dev/null
            "#
        );
        let path = call_tool.to_str().expect("a UTF-8 path");
        let args = ["--mount", user, "bash", "-c", &script, "bash", path];
        let run = ws.program(Path::new("unshare"), &args).unwatched().run();
        if run.status() == 99 || run.errors().contains("unshare failed") {
            return skipped("the right to mount a file system");
        }
        assert_eq!(run.status(), 0, "seed {seed}: {}", run.shown());
        let of = |name: &str| tree(&ws.root().join(name));
        let said = fs::read_to_string(ws.root().join("first")).expect("an answer");
        let is_undone = run.text() == "0\n";
        let expected = if is_undone { &before } else { &of("patched") };
        assert_eq!(of("after"), *expected, "seed {seed}: {said}");
        assert!(
            is_undone || run.text() == "1\n",
            "seed {seed}: an intent is left"
        );
        let said = fs::read_to_string(ws.root().join("second")).expect("an answer");
        assert_eq!(of("last"), before, "seed {seed}: {said}");
    }
}
