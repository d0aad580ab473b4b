//! What commands change is kept, listed, and taken back to the byte.

mod table;

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::tree::{Change, Tree};
use crate::harness::{
    Call, Workspace, executable, processes_below, search_path, skipped, trials, wait_until,
};

const LONG_NAME: &str = "a_directory_in_a_chain_of_directories_whose_names_are_long_so_that_few_of_them_make_a_path_too_long";

fn command<'a>(ws: &'a Workspace, line: &str) -> Call<'a> {
    let call = ws.tool("run_shell_command").unwatched();
    let call = call.arguments(&json!({ "command": line }));
    call.env("GEMINI_TOOLS_UNDO_COMMANDS", "on")
}

fn run(ws: &Workspace, line: &str) -> String {
    command(ws, line).run().output()
}

fn undo(ws: &Workspace, args: &[&str]) -> Answer {
    let args: Vec<&str> = ["--undo"].iter().chain(args).copied().collect();
    ws.call_tool(&args).unwatched().run()
}

/// The entries as JSON, newest first.
fn history(ws: &Workspace) -> Vec<Value> {
    let answer = ws.call_tool(&["--history", "--json"]).unwatched().run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    let lines = answer.text().lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The differences to a tree, but for what no undo gives back.
fn differences(ws: &Workspace, before: &Tree) -> Vec<Change> {
    let mut changes = before.changes(&Tree::of(ws.root()));
    let is_exempt = |change: &Change| {
        change.is_at_or_below("home")
            || change.is_at_or_below("ws/.git/objects")
            || change.is_at_or_below("ws/node_modules")
    };
    changes.retain(|change| !is_exempt(change));
    changes
}

#[test]
fn commands_of_all_kinds_are_undone_to_the_byte() {
    let is_installed = |program: &str| {
        let mut dirs = std::env::split_paths(search_path());
        dirs.any(|dir| dir.join(program).exists())
    };
    let is_undone = |(program, line): &(&str, &str)| {
        if !is_installed(program) {
            let _ = writeln!(std::io::stderr(), "{program} is missing: {line}");
            return false;
        }
        let ws = table::project();
        let before = Tree::of(ws.root());
        let said = command(&ws, line).run();
        assert!(!said.text().contains("Undo:"), "{line}: {}", said.shown());
        assert!(!history(&ws).is_empty(), "{line}: {}", said.shown());
        let undone = undo(&ws, &[]);
        let left = differences(&ws, &before);
        assert!(left.is_empty(), "{line}: {left:#?}{}", undone.shown());
        assert_eq!(undone.status(), 0, "{line}: {}", undone.shown());
        true
    };
    let (first, second) = table::COMMANDS.split_at(table::COMMANDS.len() / 2);
    let count = |lines: &[_]| lines.iter().filter(|line| is_undone(line)).count();
    let count = std::thread::scope(|scope| {
        let other = scope.spawn(|| count(second));
        count(first) + other.join().expect("undone")
    });
    assert!(count >= 35, "only {count} of the programs are installed");
}

#[test]
fn an_undo_of_a_command_can_be_taken_back() {
    let ws = table::project();
    run(
        &ws,
        "rm -r src; chmod 600 a.txt; sed -i s/a/b/ data.json; mkdir new; ln -sf x link",
    );
    let after = Tree::of(ws.root());
    let undone = undo(&ws, &[]);
    let text = undone.text();
    let id = text.trim().rsplit(' ').next().expect("an id");
    let redone = undo(&ws, &[id]);
    assert_eq!(redone.status(), 0, "{}", redone.shown());
    let left = differences(&ws, &after);
    assert!(left.is_empty(), "{left:#?}{}", redone.shown());
}

#[test]
fn a_command_is_listed_with_the_files_that_it_has_changed() {
    let ws = table::project();
    run(
        &ws,
        "echo x > a.txt; rm data.json; touch made; cat main.c; : 3<> main.c; echo x > main.c; git checkout -q main.c",
    );
    let entries = history(&ws);
    let of = |entry: &Value| {
        let path = entry["path"].as_str().expect("a path").to_owned();
        (path, entry["change"].as_str().expect("a word").to_owned())
    };
    let mut listed: Vec<_> = entries.iter().map(of).collect();
    listed.retain(|(path, _)| !path.contains("/.git/"));
    let expected = [
        ("made", "created"),
        ("data.json", "removed"),
        ("a.txt", "changed"),
    ];
    let expected = expected.map(|(name, change)| (ws.path(name), change.to_owned()));
    assert_eq!(listed, expected);
    assert!(
        entries
            .iter()
            .all(|entry| entry["tool"] == "run_shell_command")
    );
    let first = entries.last().expect("an entry");
    assert!(
        first["line"]
            .as_str()
            .expect("a line")
            .starts_with("echo x")
    );
    assert!(entries.iter().all(|entry| entry["command"] == first["id"]));
    let shown = ws.call_tool(&["--history"]).run();
    assert!(
        shown.text().contains("(echo x > a.txt; rm"),
        "{}",
        shown.shown()
    );
}

#[test]
fn one_file_of_a_command_can_be_undone_alone() {
    let ws = Workspace::new().file("a.txt", "a").file("b.txt", "b");
    run(&ws, "echo x | tee a.txt > b.txt");
    let undone = undo(&ws, &["b.txt"]);
    assert_eq!(undone.status(), 0, "{}", undone.shown());
    let text = |name: &str| fs::read_to_string(ws.path(name)).expect("text");
    assert_eq!((&*text("a.txt"), &*text("b.txt")), ("x\n", "b"));
}

#[test]
fn edits_and_commands_are_undone_in_order_and_by_their_ids() {
    let ws = Workspace::new().file("a.txt", "one").file("b.txt", "b");
    let edit = |name: &str, old: &str, new: &str| {
        let arguments = json!({"file_path": ws.path(name), "old_string": old, "new_string": new});
        let call = ws.tool("replace").arguments(&arguments).unwatched();
        call.run().output();
    };
    edit("a.txt", "one", "two");
    run(&ws, "sed -i s/two/three/ a.txt");
    edit("a.txt", "three", "four");
    run(&ws, "echo five > a.txt");
    run(&ws, "echo x > b.txt");
    run(&ws, "echo new > c.txt");
    // The command before the last does not meet the others.
    let id = history(&ws)[1]["id"].as_str().expect("an id").to_owned();
    assert_eq!(undo(&ws, &[&id]).status(), 0);
    assert_eq!(fs::read_to_string(ws.path("b.txt")).expect("text"), "b");
    assert_eq!(undo(&ws, &[]).status(), 0);
    assert!(!ws.dir().join("c.txt").exists());
    for expected in ["four", "three", "two", "one"] {
        let undone = undo(&ws, &[]);
        assert_eq!(undone.status(), 0, "{}", undone.shown());
        assert_eq!(
            fs::read_to_string(ws.path("a.txt")).expect("text"),
            expected
        );
    }
}

#[test]
fn what_was_changed_since_is_left_and_named() {
    let ws = Workspace::new()
        .file("a.txt", "a")
        .file("b.txt", "b")
        .directory("old");
    run(&ws, "echo x > a.txt; echo x > b.txt; mkdir new; rmdir old");
    fs::write(ws.path("a.txt"), "mine").expect("written");
    fs::write(ws.path("new/mine"), "mine").expect("written");
    fs::write(ws.path("old"), "mine").expect("written");
    let undone = undo(&ws, &[]);
    assert_eq!(undone.status(), 1, "{}", undone.shown());
    let errors = undone.errors();
    undone.must_say(
        &errors,
        &[
            "a.txt was changed since",
            "new has files that",
            "old was created again",
        ],
    );
    for name in ["a.txt", "new/mine", "old"] {
        assert_eq!(fs::read_to_string(ws.path(name)).expect("text"), "mine");
    }
    assert_eq!(fs::read_to_string(ws.path("b.txt")).expect("text"), "x\n");
    assert_eq!(undo(&ws, &["b.txt"]).status(), 0);
    assert_eq!(fs::read_to_string(ws.path("b.txt")).expect("text"), "b");
}

#[test]
fn what_git_ignores_is_kept_only_if_that_is_asked_for() {
    let ws = Workspace::new()
        .git()
        .file(".gitignore", "target/\n")
        .file("target/old", "old");
    let line = "echo x > target/old; touch target/new; mkdir -p sub/target; touch kept";
    run(&ws, line);
    let paths = |ws: &Workspace| -> Vec<String> {
        let entries = history(ws);
        entries
            .iter()
            .map(|entry| entry["path"].to_string())
            .collect()
    };
    assert!(
        paths(&ws).iter().all(|path| !path.contains("target")),
        "{:?}",
        paths(&ws)
    );
    let all = command(&ws, "rm -r target").env("GEMINI_TOOLS_UNDO_COMMANDS", "all");
    all.run().output();
    assert_eq!(undo(&ws, &[]).status(), 0);
    assert_eq!(
        fs::read_to_string(ws.path("target/old")).expect("text"),
        "x\n"
    );
}

#[test]
fn a_background_process_is_watched_until_it_ends() {
    let ws = Workspace::new().file("a.txt", "a").file("b.txt", "b");
    run(
        &ws,
        "echo x > a.txt; (until [ -e go ]; do sleep 0.01; done; echo x > b.txt; rm go) >/dev/null 2>&1 &",
    );
    assert_eq!(history(&ws).len(), 1);
    fs::write(ws.path("go"), "").expect("written");
    wait_until("the changes", || history(&ws).len() >= 3);
    assert_eq!(undo(&ws, &[]).status(), 0);
    assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), "a");
    assert_eq!(fs::read_to_string(ws.path("b.txt")).expect("text"), "b");
}

#[test]
fn what_a_background_process_writes_through_an_open_file_is_undone_too() {
    let ws = Workspace::new().file("a.txt", "a").file("b.txt", "b");
    run(
        &ws,
        "exec 3>> a.txt 4>> b.txt; echo 1 >&3; (until [ -e go ]; do sleep 0.01; done; echo 2 >&3; echo 3 >&4; rm go) >/dev/null 2>&1 &",
    );
    assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), "a1\n");
    fs::write(ws.path("go"), "").expect("written");
    wait_until("the changes", || history(&ws).len() >= 4);
    let undone = undo(&ws, &[]);
    assert_eq!(undone.status(), 0, "{}", undone.shown());
    assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), "a");
    assert_eq!(fs::read_to_string(ws.path("b.txt")).expect("text"), "b");
}

#[test]
fn a_command_whose_supervisor_is_killed_ends_and_the_journal_can_be_read() {
    let line = "while :; do echo x > a.txt; cp a.txt b.txt; rm b.txt; mv a.txt c.txt; done";
    for trial in 0..10 * trials() {
        let ws = Workspace::new().file("a.txt", "a");
        let running = command(&ws, line).start();
        wait_until("the command", || ws.dir().join("c.txt").exists());
        thread::sleep(Duration::from_millis(u64::from(trial % 7)));
        let below = processes_below(running.id());
        let supervisor = below.first().expect("a supervisor").0;
        let supervisor = Pid::from_raw(i32::try_from(supervisor).expect("an id"));
        let _ = kill_process(supervisor.expect("a process"), Signal::KILL);
        let said = running.finish().error("shell_execute_error", 1);
        assert!(said.contains("1 of 1 changes can't be undone"), "{said}");
        history(&ws);
        let refused = undo(&ws, &[]);
        assert_eq!(refused.status(), 1, "{}", refused.shown());
        run(&ws, "echo y > a.txt");
        assert_eq!(undo(&ws, &[]).status(), 0);
    }
}

#[test]
fn what_a_command_changes_through_a_mount_of_its_own_is_not_taken_for_undone() {
    let ws = Workspace::new().file("d/a", "a").file("b", "b");
    let said = run(
        &ws,
        "rm b; unshare -rm bash -c 'mount --bind d /mnt && echo x >> /mnt/a'",
    );
    if fs::read_to_string(ws.path("d/a")).expect("text") == "a" {
        return skipped("a user namespace with mounts");
    }
    assert!(said.contains("1 of 2 changes can't be undone"), "{said}");
    assert_eq!(undo(&ws, &[]).status(), 1);
    // What the mounts do not concern is kept as ever.
    let line = "unshare -rm bash -c 'mount -t tmpfs tmpfs /mnt && echo x > /mnt/a; echo x > c'";
    assert!(!run(&ws, line).contains("can't be undone"));
    assert_eq!(undo(&ws, &[]).status(), 0);
    assert!(!ws.dir().join("c").exists());
}

#[test]
fn what_is_over_the_limits_is_named_in_the_answer_and_by_the_undo() {
    let settings = r#"{"tools": {"undo": {"maxMegabytes": 1, "commands": "on"}}}"#;
    let ws = Workspace::new()
        .file("large", vec![b'x'; 2_000_000])
        .file("small", "small")
        .home(".gemini/settings.json", settings);
    let call = ws.tool("run_shell_command").unwatched();
    let call = call.arguments(&json!({"command": "echo x > large; echo x > small"}));
    let said = call.run().output();
    assert!(
        said.contains("Undo: 1 of 2 changes can't be undone"),
        "{said}"
    );
    let undone = undo(&ws, &[]);
    assert_eq!(undone.status(), 1, "{}", undone.shown());
    let errors = undone.errors();
    undone.must_say(&errors, &["large was not kept"]);
    assert_eq!(fs::read_to_string(ws.path("small")).expect("text"), "x\n");
    assert_eq!(undo(&ws, &["small"]).status(), 0);
    assert_eq!(fs::read_to_string(ws.path("small")).expect("text"), "small");
}

/// Makes `deep/`, a chain of directories whose paths become longer than any system call takes, with
/// a file in the last one.
fn make_deep(ws: &Workspace) {
    let mode = Mode::from_raw_mode(0o755);
    let mut dir = OwnedFd::from(fs::File::open(ws.path(".")).expect("opened"));
    for name in std::iter::once("deep").chain(std::iter::repeat_n(LONG_NAME, 45)) {
        rustix::fs::mkdirat(&dir, name, mode).expect("made");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        dir = openat(&dir, name, flags, Mode::empty()).expect("opened");
    }
    let flags = OFlags::WRONLY | OFlags::CREATE;
    drop(openat(&dir, "leaf", flags, mode).expect("made"));
}

#[test]
fn where_a_path_is_too_long_to_be_known_no_part_passes_for_the_whole() {
    let ws = Workspace::new().file("a.txt", "a");
    for line in ["echo x > a.txt; rm -rf deep", "mv deep moved"] {
        make_deep(&ws);
        let said = run(&ws, line);
        assert!(said.contains("changes can't be undone"), "{line}: {said}");
        let undone = undo(&ws, &[]);
        assert_eq!(undone.status(), 1, "{line}: {}", undone.shown());
        let errors = undone.errors();
        undone.must_say(&errors, &["was not kept: ", "paths that are unknown"]);
        assert!(!undone.text().contains("Undid"), "{}", undone.shown());
    }
    assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), "x\n");
    assert_eq!(undo(&ws, &["a.txt"]).status(), 0);
    assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), "a");
}

#[test]
fn a_file_that_was_only_touched_or_written_anew_with_the_same_content_is_undone() {
    let ws = Workspace::new().file("a.txt", "a");
    run(&ws, "echo x > a.txt; echo x > new");
    run(&ws, "echo x > new");
    let now = std::time::SystemTime::now() - Duration::from_secs(60);
    let file = fs::File::options().write(true).open(ws.path("a.txt"));
    file.and_then(|file| file.set_modified(now)).expect("set");
    let undone = undo(&ws, &[]);
    assert_eq!(undone.status(), 0, "{}", undone.shown());
    assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), "a");
    assert!(!fs::exists(ws.path("new")).expect("a look"));
}

#[test]
fn a_file_whose_removal_fails_does_not_share_its_content_with_the_journal() {
    let ws = Workspace::new().file("a.txt", "a");
    let links = || fs::metadata(ws.path("a.txt")).expect("a file").nlink();
    run(&ws, "rmdir a.txt; mkfifo a.txt; chmod 600 a.txt");
    assert_eq!(links(), 1);
    assert_eq!(undo(&ws, &[]).status(), 0);
    assert_eq!(links(), 1);
}

#[test]
fn no_command_is_named_to_take_an_undo_back_that_can_not_be() {
    let ws = Workspace::new();
    run(&ws, "mkfifo pipe; echo x > new");
    let undone = undo(&ws, &[]);
    assert_eq!(undone.status(), 0, "{}", undone.shown());
    assert!(
        !undone.text().contains("To take this back"),
        "{}",
        undone.shown()
    );
    undone.must_say(
        &undone.errors(),
        &["can't be taken back: 1 of its 2 changes"],
    );
}

#[test]
fn what_own_tools_change_is_undone_and_named_where_it_can_not_be() {
    let settings = r#"{"tools": {"undo": {"maxMegabytes": 1, "commands": "on"}}}"#;
    let tidy = "description = \"Tidies up.\"\ncommand = [\"sh\", \"-c\", \"echo tidied; echo x > small; rm -r d\"]\n";
    let spoil = tidy.replace("rm -r d", "echo x > large");
    let ws = Workspace::new()
        .file("large", vec![b'x'; 2_000_000])
        .file("small", "small")
        .file("d/a.txt", "a")
        .home(".gemini/settings.json", settings)
        .home(".gemini/tools/tidy.toml", tidy)
        .home(".gemini/tools/spoil.toml", spoil)
        .file(
            "tools.json",
            r#"[{"name": "by_a_pair", "description": "Spoils."}]"#,
        )
        .file(
            "spoil.sh",
            "cat > /dev/null; echo tidied; echo x > small; echo x > large",
        )
        .home(
            ".gemini/tools/pair.toml",
            "discovery_command = \"cat tools.json\"\ncall_command = \"sh spoil.sh\"\n",
        );
    let before = Tree::of(ws.root());
    let call = |name: &str| ws.tool(name).unwatched().run().output();
    assert_eq!(call("tidy"), "tidied");
    assert!(!ws.dir().join("d").exists());
    let undone = undo(&ws, &[]);
    assert_eq!(undone.status(), 0, "{}", undone.shown());
    let left = differences(&ws, &before);
    assert!(left.is_empty(), "{left:#?}");
    for name in ["spoil", "by_a_pair"] {
        fs::write(ws.path("large"), vec![b'x'; 2_000_000]).expect("written");
        fs::write(ws.path("small"), "small").expect("written");
        assert_eq!(
            call(name),
            "tidied\nUndo: 1 of 2 changes can't be undone; call_tool --history says why",
            "{name}"
        );
    }
}

#[test]
fn programs_that_gain_rights_work_in_commands_that_name_them() {
    let ws = Workspace::new().file("a.txt", "a").unprivileged();
    let line = "grep NoNewPrivs /proc/self/status; echo x > a.txt";
    let said = run(&ws, line);
    assert!(said.contains("NoNewPrivs:\t1"), "{said}");
    assert_eq!(undo(&ws, &[]).status(), 0);
    let said = run(&ws, &format!("{line}; sudo -n true"));
    assert!(said.contains("NoNewPrivs:\t0"), "{said}");
    assert!(
        said.contains("Undo: what the command changes can't be undone: sudo"),
        "{said}"
    );
    let off = command(&ws, line).env("GEMINI_TOOLS_UNDO_COMMANDS", "off");
    let said = off.run().output();
    assert!(
        said.contains("NoNewPrivs:\t0") && !said.contains("Undo:"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), "x\n");
}

#[test]
fn commands_in_the_sandbox_and_calls_within_commands_are_undone() {
    let ws = Workspace::new().file("a.txt", "a").file("b.txt", "b");
    let confined =
        command(&ws, "echo x > a.txt; rm b.txt").env("GEMINI_TOOLS_SANDBOX", "workspace-write");
    let said = confined.run().output();
    assert!(!said.contains("Undo:"), "{said}");
    assert_eq!(undo(&ws, &[]).status(), 0);
    let call_tool = executable("call_tool");
    let said = run(
        &ws,
        &format!("{} run_shell_command 'rm a.txt b.txt'", call_tool.display()),
    );
    assert!(
        said.contains("another program watches it already"),
        "{said}"
    );
    assert_eq!(undo(&ws, &[]).status(), 0);
    for name in ["a", "b"] {
        assert_eq!(
            fs::read_to_string(ws.path(&format!("{name}.txt"))).expect("text"),
            name
        );
    }
}
