//! What tools have changed is kept, listed, and taken back only where it is as they left it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::client::Server;
use crate::harness::{Call, Workspace, lines, make_fifo, running_as_root, set_age, set_mode};

fn journal(ws: &Workspace) -> PathBuf {
    ws.root().join("home/.gemini/tools_journal")
}

fn edit(ws: &Workspace, name: &str, old: &str, new: &str) {
    let arguments = json!({"file_path": ws.path(name), "old_string": old, "new_string": new});
    ws.tool("replace")
        .arguments(&arguments)
        .unwatched()
        .run()
        .output();
}

fn create(ws: &Workspace, name: &str, content: &str) {
    let arguments = json!({"file_path": ws.path(name), "content": content});
    ws.tool("write_file")
        .arguments(&arguments)
        .unwatched()
        .run()
        .output();
}

fn undo(ws: &Workspace, args: &[&str]) -> Answer {
    let args: Vec<&str> = ["--undo"].iter().chain(args).copied().collect();
    ws.call_tool(&args).unwatched().run()
}

/// The entries as JSON, newest first.
fn history(ws: &Workspace, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["--history"]
        .iter()
        .chain(args)
        .chain(&["--json"])
        .copied()
        .collect();
    let answer = ws.call_tool(&args).run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    let lines = answer.text().lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn text(ws: &Workspace, name: &str) -> String {
    fs::read_to_string(ws.path(name)).expect("text")
}

/// The contents of all files below a directory.
fn contents_of(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory").flatten();
    let contents = entries.map(|entry| entry.path()).map(|path| {
        if path.is_dir() {
            contents_of(&path)
        } else {
            vec![fs::read_to_string(&path).expect("text")]
        }
    });
    contents.flatten().collect()
}

fn id(entry: &Value) -> &str {
    entry["id"].as_str().expect("an id")
}

#[test]
fn every_change_is_listed_newest_first_with_what_was_there_and_what_is() {
    let ws = Workspace::new()
        .file("a.txt", "one\ntwo\n")
        .mode("a.txt", 0o640);
    edit(&ws, "a.txt", "two", "three");
    let arguments = json!({"file_path": ws.path("a.txt"), "instruction": "x", "old_string": "one", "new_string": "1"});
    ws.tool("smart_edit")
        .arguments(&arguments)
        .flags(&["--id", "call-7"])
        .unwatched()
        .run()
        .output();
    create(&ws, "b/c.txt", "new");
    ws.tool("save_memory")
        .arguments(&json!({"fact": "Likes tea."}))
        .unwatched()
        .run()
        .output();
    let entries = history(&ws, &[]);
    let shown: Vec<[&str; 2]> = entries
        .iter()
        .map(|entry| ["tool", "change"].map(|key| entry[key].as_str().expect("text")))
        .collect();
    assert_eq!(
        shown,
        [
            ["save_memory", "created"],
            ["write_file", "created"],
            ["smart_edit", "changed"],
            ["replace", "changed"]
        ]
    );
    let smart = &entries[2];
    assert_eq!(smart["call"], "call-7");
    assert_eq!(smart["path"], ws.path("a.txt"));
    assert_eq!(smart["before"], json!({"bytes": 10, "mode": "0640"}));
    assert_eq!(smart["after"], json!({"bytes": 8, "mode": "0640"}));
    assert_eq!(smart["notKept"], Value::Null);
    assert_eq!(entries[1]["before"], Value::Null);
    assert!(!smart["by"].as_str().expect("text").is_empty(), "{smart}");
    assert_eq!(smart["by"], entries[3]["by"]);
    // A person gets the same as lines, and may narrow them down.
    let answer = ws.call_tool(&["--history", "a.txt"]).run();
    let lines: Vec<&str> = answer.text().lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with(id(smart)) && lines[0].ends_with("smart_edit   changed  a.txt"),
        "{lines:?}"
    );
    assert_eq!(history(&ws, &["b"]).len(), 1);
    assert_eq!(history(&ws, &["--since", "0s"]).len(), 0);
    assert_eq!(history(&ws, &["--since", "1h"]).len(), 4);
}

#[test]
fn changes_of_batches_and_of_a_server_are_kept_like_others() {
    let ws = Workspace::new().file("a.txt", "one");
    let call = json!({"id": "b-1", "name": "replace",
        "args": {"file_path": "a.txt", "old_string": "one", "new_string": "two"}});
    ws.call_tool(&["--batch"])
        .input(format!("{call}\n"))
        .unwatched()
        .run()
        .text();
    let mut server = Server::greeted(&ws, &[], &json!({}));
    server.call(
        "replace",
        &json!({"file_path": "a.txt", "old_string": "two", "new_string": "three"}),
    );
    server.hang_up();
    server.status();
    let entries = history(&ws, &[]);
    assert_eq!(entries.len(), 2, "{entries:?}");
    assert_eq!(entries[1]["call"], "b-1");
    let answer = undo(&ws, &[id(&entries[0]), id(&entries[1])]);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(text(&ws, "a.txt"), "one");
}

#[test]
fn a_name_commands_no_terminal_where_content_is_no_text_either() {
    let name = "a\u{1b}[31m\nb";
    let ws = Workspace::new().file(name, b"\xff\0".as_slice());
    let written = ws
        .tool("write_file")
        .arguments(&json!({"file_path": name, "content": "text\n"}))
        .unwatched()
        .run();
    assert_eq!(written.status(), 0, "{}", written.shown());
    let explained = undo(&ws, &["--explain"]);
    explained.must_say(explained.text(), &["--- a\\u{1b}[31m\\nb\n+++ "]);
    assert!(
        !explained.text().contains('\u{1b}'),
        "{}",
        explained.shown()
    );
}

#[test]
fn undo_shows_the_diff_and_goes_back_step_by_step() {
    let ws = Workspace::new()
        .file("a.txt", "one\ntwo\n")
        .mode("a.txt", 0o755);
    edit(&ws, "a.txt", "one", "ONE");
    edit(&ws, "a.txt", "two", "TWO");
    let explained = undo(&ws, &["--explain"]);
    explained.must_say(
        explained.text(),
        &["-TWO", "+two", "Would undo 1 change of a.txt"],
    );
    assert_eq!(text(&ws, "a.txt"), "ONE\nTWO\n");
    let first = undo(&ws, &[]);
    first.must_say(
        first.text(),
        &["--- a.txt", "-TWO", "+two", "Undid 1 change of a.txt"],
    );
    assert_eq!(text(&ws, "a.txt"), "ONE\ntwo\n");
    // The last change that still stands.
    undo(&ws, &["a.txt"]).text();
    assert_eq!(text(&ws, "a.txt"), "one\ntwo\n");
    let metadata = fs::metadata(ws.path("a.txt")).expect("a file");
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o755);
    let none = undo(&ws, &[]);
    assert_eq!(none.status(), 1);
    none.must_say(
        &none.errors(),
        &["There is nothing to undo in this project."],
    );
}

#[test]
fn an_undo_that_can_not_be_reported_is_no_success() {
    let ws = Workspace::new().file("a", "old\n");
    edit(&ws, "a", "old", "new");
    let call = ws.call_tool(&["--undo"]).unwatched();
    let full = call.in_bash("exec \"$@\" >/dev/full").run();
    assert_eq!(full.status(), 1, "{}", full.shown());
    assert_eq!(text(&ws, "a"), "old\n");
}

#[test]
fn an_undo_is_an_entry_and_is_undone_by_its_id() {
    let ws = Workspace::new().file("a.txt", "a").file("b.txt", "b");
    edit(&ws, "a.txt", "a", "A");
    edit(&ws, "b.txt", "b", "B");
    create(&ws, "made/here/c.txt", "C");
    let answer = undo(&ws, &["--since", "1h"]);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert!(
        !Path::new(&ws.path("made")).exists(),
        "the directories that were made are gone, too"
    );
    assert_eq!(
        (text(&ws, "a.txt"), text(&ws, "b.txt")),
        ("a".to_owned(), "b".to_owned())
    );
    let last = answer.text().lines().last().expect("a line");
    let id = last
        .strip_prefix("To take this back: call_tool --undo ")
        .expect("how");
    for entry in history(&ws, &[])
        .iter()
        .filter(|entry| entry["tool"] != "undo")
    {
        assert!(entry["undoneBy"].is_string(), "{entry}");
    }
    let again = undo(&ws, &[id]);
    assert_eq!(again.status(), 0, "{}", again.shown());
    assert_eq!(
        (text(&ws, "a.txt"), text(&ws, "b.txt")),
        ("A".to_owned(), "B".to_owned())
    );
    assert_eq!(text(&ws, "made/here/c.txt"), "C");
    // Now they stand again, and are undone once more.
    let once_more = undo(&ws, &[]);
    assert_eq!(once_more.status(), 0, "{}", once_more.shown());
    assert!(!Path::new(&ws.path("made")).exists());
}

#[test]
fn a_file_that_was_changed_since_is_refused_and_named_and_others_are_not() {
    let ws = Workspace::new()
        .file("a.txt", "one\n")
        .file("b.txt", "one\n")
        .file("c.txt", "one\n");
    for name in ["a.txt", "b.txt", "c.txt"] {
        edit(&ws, name, "one", "two");
    }
    fs::write(ws.path("a.txt"), "tw0\n").expect("written");
    fs::remove_file(ws.path("b.txt")).expect("removed");
    let entries = history(&ws, &[]);
    let answer = undo(&ws, &["--since", "1h"]);
    assert_eq!(answer.status(), 1);
    let lines = [
        format!(
            "a.txt was changed since; not undone: {} (replace)",
            id(&entries[2])
        ),
        format!(
            "b.txt was removed since; not undone: {} (replace)",
            id(&entries[1])
        ),
    ];
    answer.must_say(
        &answer.errors(),
        &[&lines[0], &lines[1], "-tw0\n+one\n", "Edit a.txt by it"],
    );
    // The old content is where the answer says.
    let said = answer.errors();
    let (_, old) = said.split_once("which is in ").expect("a place");
    let (old, _) = old.split_once(". Edit").expect("its end");
    assert_eq!(fs::read_to_string(old).expect("text"), "one\n");
    assert_eq!(
        (text(&ws, "a.txt"), text(&ws, "c.txt")),
        ("tw0\n".to_owned(), "one\n".to_owned())
    );
    assert!(!Path::new(&ws.path("b.txt")).exists());
    // What was undone once isn't again.
    let again = undo(&ws, &[id(&entries[0])]);
    assert_eq!(again.status(), 0);
    again.must_say(again.text(), &["c.txt: 1 change already undone"]);
}

#[test]
fn a_mode_that_others_have_changed_since_is_not_given_back_and_not_called_undone() {
    for (mode, status) in [(0o755, 0), (0o644, 0), (0o700, 1)] {
        let ws = Workspace::new().file("a.txt", "one\n").mode("a.txt", 0o644);
        let patch = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n";
        let call = ws.tool("apply_patch").arguments(&json!({"patch": patch}));
        call.unwatched().run().output();
        set_mode(&ws.dir().join("a.txt"), mode);
        let answer = undo(&ws, &[]);
        assert_eq!(answer.status(), status, "{mode:o}: {}", answer.shown());
        let left = if status == 0 { 0o644 } else { mode };
        let stat = fs::metadata(ws.path("a.txt")).expect("a file");
        assert_eq!(stat.mode() & 0o777, left, "{mode:o}");
    }
}

#[test]
fn a_change_that_does_not_stand_is_passed_over_for_the_one_before_it() {
    // Written anew with the same content, which must not hide the changes before it, nor stand in
    // their way once they are undone.
    let ws = Workspace::new().file("a.txt", "one\n").file("b.txt", "x\n");
    edit(&ws, "b.txt", "x", "y");
    create(&ws, "a.txt", "two\n");
    create(&ws, "a.txt", "two\n");
    for [a, b] in [["one\n", "y\n"], ["one\n", "x\n"]] {
        let answer = undo(&ws, &[]);
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        assert_eq!([text(&ws, "a.txt"), text(&ws, "b.txt")], [a, b]);
    }
    let answer = undo(&ws, &[]);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    answer.must_say(&answer.errors(), &["nothing to undo"]);

    // Put back by hand.
    let ws = Workspace::new().file("a.txt", "one\n").file("b.txt", "x\n");
    edit(&ws, "b.txt", "x", "y");
    create(&ws, "a.txt", "two\n");
    create(&ws, "a.txt", "three\n");
    fs::write(ws.path("a.txt"), "two\n").expect("written");
    let explained = undo(&ws, &["--explain"]);
    explained.must_say(explained.text(), &["-two\n+one\n", "Would undo 1 change"]);
    for [a, b] in [["one\n", "y\n"], ["one\n", "x\n"]] {
        let answer = undo(&ws, &[]);
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        assert_eq!([text(&ws, "a.txt"), text(&ws, "b.txt")], [a, b]);
    }
    assert_eq!(undo(&ws, &[]).status(), 1);
    // The undo of the older change can be taken back, and made again.
    let entries = history(&ws, &[]);
    let of_a = entries
        .iter()
        .find(|e| e["tool"] == "undo" && e["path"] == *ws.path("a.txt"));
    let of_a = id(of_a.expect("the undo")).to_owned();
    assert_eq!(undo(&ws, &[&of_a]).status(), 0);
    assert_eq!(text(&ws, "a.txt"), "two\n");
    assert_eq!(undo(&ws, &[]).status(), 0);
    assert_eq!(text(&ws, "a.txt"), "one\n");
}

#[test]
fn an_empty_name_is_refused_and_undoes_nothing() {
    let ws = Workspace::new()
        .file("a.txt", "one\n")
        .file("b.txt", "one\n");
    edit(&ws, "a.txt", "one", "two");
    edit(&ws, "b.txt", "one", "two");
    for args in [
        &["--undo", ""][..],
        &["--undo", "", "a.txt"],
        &["--history", ""],
    ] {
        let answer = ws.call_tool(args).run();
        assert_eq!(answer.status(), 2, "{}", answer.shown());
        answer.must_say(&answer.errors(), &["must not be empty"]);
    }
    assert_eq!([text(&ws, "a.txt"), text(&ws, "b.txt")], ["two\n", "two\n"]);
}

#[test]
fn a_file_that_was_only_touched_or_written_anew_with_the_same_content_is_undone() {
    let ws = Workspace::new()
        .file("a.txt", "one\n")
        .file("new.txt", "")
        .file("big.txt", "x".repeat(300_000));
    fs::remove_file(ws.path("new.txt")).expect("removed");
    edit(&ws, "a.txt", "one", "two");
    create(&ws, "new.txt", "new\n");
    let big = json!({"file_path": ws.path("big.txt"), "content": "y".repeat(300_000)});
    ws.tool("write_file")
        .arguments(&big)
        .unwatched()
        .run()
        .output();
    fs::write(ws.path("a.txt"), "two\n").expect("written");
    for name in ["new.txt", "big.txt"] {
        set_age(Path::new(&ws.path(name)), 1000);
    }
    let answer = undo(&ws, &["--since", "1h", "--json"]);
    assert_eq!(answer.status(), 1);
    assert_eq!(text(&ws, "a.txt"), "one\n");
    assert!(!Path::new(&ws.path("new.txt")).exists());
    // The content of a large file is not known, so that its time has to do.
    assert_eq!(text(&ws, "big.txt"), "y".repeat(300_000));
    let refused: Value =
        serde_json::from_str(answer.text().lines().next().expect("a line")).expect("JSON");
    assert_eq!(refused["path"], ws.path("big.txt"));
    assert_eq!(refused["refused"][0]["reason"], "was changed since");
}

#[test]
fn large_files_go_back_over_several_changes_and_forth() {
    let content = |word: &str| format!("{word}{}", "a line of text\n".repeat(30_000));
    let ws = Workspace::new().file("big.txt", content("one"));
    edit(&ws, "big.txt", "one", "two");
    edit(&ws, "big.txt", "two", "three");
    undo(&ws, &[]).text();
    assert!(text(&ws, "big.txt") == content("two"));
    undo(&ws, &[]).text();
    assert!(text(&ws, "big.txt") == content("one"));
    let entries = history(&ws, &[]);
    let back = undo(&ws, &[id(&entries[0]), id(&entries[1])]);
    assert_eq!(back.status(), 0, "{}", back.shown());
    assert!(text(&ws, "big.txt") == content("three"));
    let all = undo(&ws, &["--since", "1h"]);
    assert_eq!(all.status(), 0, "{}", all.shown());
    assert!(text(&ws, "big.txt") == content("one"));
}

#[test]
fn a_path_names_the_last_change_of_a_file_or_below_a_directory() {
    let ws = Workspace::new()
        .file("a.txt", "one")
        .file("dir/b.txt", "one")
        .file("dir/c.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    edit(&ws, "dir/b.txt", "one", "two");
    edit(&ws, "a.txt", "two", "three");
    edit(&ws, "dir/c.txt", "one", "two");
    let texts = || ["a.txt", "dir/b.txt", "dir/c.txt"].map(|name| text(&ws, name));
    undo(&ws, &["a.txt"]).text();
    assert_eq!(texts(), ["two", "two", "two"]);
    undo(&ws, &["dir"]).text();
    assert_eq!(texts(), ["two", "two", "one"]);
    undo(&ws, &["dir"]).text();
    assert_eq!(texts(), ["two", "one", "one"]);
    undo(&ws, &["a.txt", "--since", "1h"]).text();
    assert_eq!(texts(), ["one", "one", "one"]);
}

#[test]
fn an_old_file_with_other_names_is_copied_so_that_they_do_not_change_it() {
    let ws = Workspace::new().file("a.txt", "one");
    fs::hard_link(ws.path("a.txt"), ws.path("b.txt")).expect("a link");
    edit(&ws, "a.txt", "one", "two");
    assert_eq!(
        fs::metadata(ws.path("b.txt")).expect("a file").nlink(),
        1,
        "the journal has no name of it"
    );
    fs::write(ws.path("b.txt"), "changed").expect("written");
    undo(&ws, &[]).text();
    assert_eq!(text(&ws, "a.txt"), "one");
    assert_eq!(text(&ws, "b.txt"), "changed");
}

#[test]
fn an_old_file_that_was_written_to_afterwards_is_not_put_back() {
    let ws = Workspace::new().file("a.txt", "one");
    let mut open = fs::OpenOptions::new()
        .append(true)
        .open(ws.path("a.txt"))
        .expect("open");
    edit(&ws, "a.txt", "one", "two");
    open.write_all(b" more").expect("written");
    let answer = undo(&ws, &[]);
    assert_eq!(answer.status(), 1);
    answer.must_say(
        &answer.errors(),
        &["a.txt was written to by another program after it had been replaced"],
    );
    assert_eq!(text(&ws, "a.txt"), "two");
}

#[test]
fn what_the_user_does_not_want_kept_is_not() {
    let settings =
        json!({"tools": {"undo": {"exclude": ["*.pem", "/private/", "keys/*.txt"]}}}).to_string();
    let ws = Workspace::new()
        .home(".gemini/settings.json", settings)
        .file(".geminiignore", "closed\n");
    for name in [
        "a.pem",
        "b/c.pem",
        "private/x/y",
        "keys/k.txt",
        "closed",
        "kept.txt",
        "b/private",
    ] {
        create(&ws, name, &format!("secret of {name}"));
        create(&ws, name, "other");
    }
    let entries = history(&ws, &[]);
    let kept: Vec<String> = entries
        .iter()
        .filter(|entry| entry["notKept"].is_null())
        .map(|entry| entry["path"].as_str().expect("text").to_owned())
        .collect();
    assert_eq!(entries.len(), 14, "each change is listed");
    let secrets = contents_of(&journal(&ws));
    let secrets: Vec<String> = secrets
        .into_iter()
        .filter(|text| text.starts_with("secret"))
        .collect();
    assert_eq!(secrets.len(), 2, "{secrets:?}");
    assert_eq!(
        kept,
        [
            ws.path("b/private"),
            ws.path("b/private"),
            ws.path("kept.txt"),
            ws.path("kept.txt")
        ]
    );
    let off = json!({"tools": {"undo": {"enabled": false}}}).to_string();
    let ws = Workspace::new()
        .home(".gemini/settings.json", off)
        .file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    assert!(!journal(&ws).exists());
    let answer = ws.call_tool(&["--history"]).run();
    assert_eq!((answer.status(), answer.text()), (0, ""));
}

#[test]
fn a_project_has_no_say_in_what_is_kept() {
    let settings = json!({"tools": {"undo": {"enabled": false, "exclude": ["*"], "maxAgeDays": 0, "maxMegabytes": 0}}});
    let ws = Workspace::new()
        .file(".gemini/settings.json", settings.to_string())
        .file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    assert_eq!(history(&ws, &[]).len(), 1);
    assert_eq!(ws.call_tool(&["--prune-history"]).run().status(), 0);
    undo(&ws, &[]).text();
    assert_eq!(text(&ws, "a.txt"), "one");
}

#[test]
fn the_journal_is_the_users_alone_and_is_not_used_where_it_is_not() {
    let ws = Workspace::new().file("a.txt", "one").mode("a.txt", 0o666);
    edit(&ws, "a.txt", "one", "two");
    let mut waiting = vec![journal(&ws)];
    let mut files = 0;
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).expect("an entry");
        assert_eq!(
            metadata.permissions().mode() & 0o077,
            0,
            "{}",
            path.display()
        );
        if metadata.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .expect("a directory")
                    .map(|entry| entry.expect("entry").path()),
            );
        } else {
            files += 1;
        }
    }
    assert_eq!(files, 5, "the log, the old file, and what hides them");
    // Others may have put something there.
    set_mode(&journal(&ws), 0o755);
    edit(&ws, "a.txt", "two", "three");
    let answer = ws.call_tool(&["--history"]).run();
    assert_eq!(answer.status(), 1);
    answer.must_say(&answer.errors(), &["can't be read", "mode 700"]);
    set_mode(&journal(&ws), 0o700);
    assert_eq!(history(&ws, &[]).len(), 1);
    // Nor does a link lead anywhere.
    let elsewhere = ws.root().join("out/journal");
    fs::rename(journal(&ws), &elsewhere).expect("moved");
    symlink(&elsewhere, journal(&ws)).expect("a link");
    edit(&ws, "a.txt", "three", "four");
    assert_eq!(fs::read_dir(&elsewhere).expect("it").count(), 4);
    assert_eq!(ws.call_tool(&["--history"]).run().status(), 1);
}

#[test]
fn undo_writes_nowhere_that_tools_may_not() {
    let ws = Workspace::new()
        .file("a.txt", "one")
        .outside("b.txt", "two")
        .directory("d");
    edit(&ws, "a.txt", "one", "two");
    let mut log = fs::read_dir(journal(&ws))
        .expect("the journal")
        .flatten()
        .map(|hour| hour.path().join("log"));
    let log = log.find(|log| log.exists()).expect("a log");
    let line = fs::read_to_string(&log).expect("text");
    fs::write(
        &log,
        line.replace(&ws.path("a.txt"), &ws.outside_path("b.txt")),
    )
    .expect("written");
    let answer = undo(&ws, &[&ws.outside_path("b.txt")]);
    assert_eq!(answer.status(), 2, "{}", answer.shown());
    // As the memory file it must be that.
    let memory = line
        .replace(&ws.path("a.txt"), &ws.outside_path("b.txt"))
        .replace("\"before\"", "\"memory\":true,\"before\"");
    fs::write(&log, memory).expect("written");
    let answer = undo(&ws, &[]);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    answer.must_say(&answer.errors(), &["is not in the workspace"]);
    // A link in the way leads nowhere.
    symlink(ws.root().join("out"), ws.path("way")).expect("a link");
    fs::write(&log, line.replace("a.txt", "way/b.txt")).expect("written");
    let answer = undo(&ws, &[]);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    assert_eq!(
        fs::read_to_string(ws.outside_path("b.txt")).expect("text"),
        "two"
    );
}

#[test]
fn a_line_that_was_cut_hides_no_other() {
    let ws = Workspace::new().file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    let hour = fs::read_dir(journal(&ws))
        .expect("the journal")
        .flatten()
        .find(|entry| entry.path().is_dir());
    let log = hour.expect("an hour").path().join("log");
    let mut open = fs::OpenOptions::new()
        .append(true)
        .open(log)
        .expect("the log");
    open.write_all(b"\n{\"id\":\"cut").expect("written");
    edit(&ws, "a.txt", "two", "three");
    assert_eq!(history(&ws, &[]).len(), 2);
    undo(&ws, &["--since", "1h"]).text();
    assert_eq!(text(&ws, "a.txt"), "one");
}

#[test]
fn all_calls_of_one_process_are_one_session() {
    let ws = Workspace::new();
    for name in ["a.txt", "b.txt"] {
        let words = ["write_file", &format!("file_path={name}"), "content=x"];
        assert_eq!(ws.call_tool(&words).unwatched().run().status(), 0);
    }
    let entries = history(&ws, &[]);
    assert!(!entries[0]["session"].as_str().expect("text").is_empty());
    assert_eq!(entries[0]["session"], entries[1]["session"]);
}

#[test]
fn sessions_are_told_apart_by_the_environment() {
    let ws = Workspace::new().file("a.txt", "0");
    for (session, old, new) in [("s-1", "0", "1"), ("s-2", "1", "2"), ("s-1", "2", "3")] {
        let call = |tool: &str, arguments: &Value| {
            let call = ws.tool(tool).arguments(arguments).unwatched();
            call.env("GEMINI_TOOLS_SESSION", session).run().output()
        };
        call("read_file", &json!({"absolute_path": "a.txt"}));
        call(
            "replace",
            &json!({"file_path": "a.txt", "old_string": old, "new_string": new}),
        );
    }
    assert_eq!(history(&ws, &["--session", "s-1"]).len(), 2);
    let answer = undo(&ws, &["--session", "s-1"]);
    // The first change was changed by the other session.
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    assert_eq!(text(&ws, "a.txt"), "2");
    let answer = undo(&ws, &["--session", "s-2"]);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    let answer = undo(&ws, &["--session", "s-1"]);
    assert_eq!(text(&ws, "a.txt"), "0", "{}", answer.shown());
}

#[test]
fn the_memory_file_and_files_behind_links_are_undone() {
    let ws = Workspace::new()
        .file("real/a.txt", "one")
        .link("link", "real")
        .home(".gemini/GEMINI.md", "# Mine\n");
    edit(&ws, "link/a.txt", "one", "two");
    assert_eq!(
        history(&ws, &["real/a.txt"])[0]["path"],
        ws.path("real/a.txt")
    );
    ws.tool("save_memory")
        .arguments(&json!({"fact": "Likes tea."}))
        .unwatched()
        .run()
        .output();
    undo(&ws, &["--since", "1h"]).text();
    assert_eq!(text(&ws, "real/a.txt"), "one");
    let memory = ws.root().join("home/.gemini/GEMINI.md");
    assert_eq!(fs::read_to_string(memory).expect("text"), "# Mine\n");
}

#[test]
fn git_sees_an_undo_as_any_other_edit() {
    let ws = Workspace::new().file("a.txt", "one\n").git();
    for args in [["add", "a.txt"], ["commit", "-qmone"]] {
        ws.git_command(&args);
    }
    edit(&ws, "a.txt", "one", "two");
    ws.git_command(&["add", "a.txt"]);
    create(&ws, "b.txt", "new");
    ws.git_command(&["add", "b.txt"]);
    let before = crate::harness::tree::Tree::of(&ws.dir().join(".git"));
    let answer = undo(&ws, &["--since", "1h"]);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    let changes = before.changes(&crate::harness::tree::Tree::of(&ws.dir().join(".git")));
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(text(&ws, "a.txt"), "one\n");
}

#[test]
fn a_project_at_home_shows_nothing_of_the_journal() {
    let ws = Workspace::new().file("a.txt", "needle");
    let home = ws.path("");
    let at_home = |tool: &str, arguments: &Value| {
        ws.tool(tool)
            .arguments(arguments)
            .env("HOME", &home)
            .unwatched()
            .run()
            .output()
    };
    at_home(
        "replace",
        &json!({"file_path": "a.txt", "old_string": "needle", "new_string": "other"}),
    );
    assert!(ws.dir().join(".gemini/tools_journal").is_dir());
    let found = at_home("search_file_content", &json!({"pattern": "needle"}));
    assert!(found.starts_with("No matches found"), "{found}");
    let log = ws.dir().join(".gemini/tools_journal/.gitignore");
    let answer = ws
        .tool("read_file")
        .arguments(&json!({"absolute_path": log}))
        .env("HOME", &home)
        .unwatched()
        .run();
    answer.error("permission_denied", 1);
    let found = at_home("glob", &json!({"pattern": ".gemini/**/*"}));
    assert!(!found.contains("log"), "{found}");
}

/// Returns the size of all files of all hours.
fn kept_bytes(ws: &Workspace) -> u64 {
    let hours = fs::read_dir(journal(ws)).expect("the journal").flatten();
    hours
        .filter(|hour| hour.path().is_dir())
        .flat_map(|hour| fs::read_dir(hour.path()).expect("an hour").flatten())
        .map(|entry| entry.metadata().expect("a file").len())
        .sum()
}

#[test]
fn a_change_removes_what_is_too_old_or_too_much_by_itself() {
    let settings = json!({"tools": {"undo": {"maxMegabytes": 1}}}).to_string();
    let ws = Workspace::new().home(".gemini/settings.json", settings);
    let old = journal(&ws).join("400000");
    fs::create_dir_all(&old).expect("made");
    for dir in [&journal(&ws), &old] {
        set_mode(dir, 0o700);
    }
    fs::write(old.join("abc"), "x").expect("written");
    create(&ws, "a.txt", "first");
    assert!(!old.exists(), "the first change of an hour looks");
    for n in 0..9 {
        create(&ws, "a.txt", &format!("{n}{}", "x".repeat(200_000)));
        assert!(kept_bytes(&ws) < 1024 * 1024, "{n}");
    }
}

#[test]
fn what_is_too_old_or_too_much_goes_and_the_rest_stays() {
    let settings = json!({"tools": {"undo": {"maxMegabytes": 1, "maxAgeDays": 2}}}).to_string();
    let ws = Workspace::new().home(".gemini/settings.json", settings);
    let content = |n: u32| format!("{n}{}", "x".repeat(200_000));
    for n in 0..9 {
        create(&ws, "a.txt", &content(n));
    }
    create(&ws, "b.txt", "small");
    let old = journal(&ws).join("400000");
    fs::create_dir(&old).expect("made");
    set_mode(&old, 0o700);
    for name in ["log", "abc"] {
        fs::write(old.join(name), "x").expect("written");
    }
    assert_eq!(ws.call_tool(&["--prune-history"]).run().status(), 0);
    assert!(!old.exists());
    let kept = kept_bytes(&ws);
    assert!((600_000..1024 * 1024).contains(&kept), "{kept} bytes");
    // The newest are there, the oldest are not.
    let entries = history(&ws, &["a.txt"]);
    let changed: Vec<&str> = entries
        .iter()
        .filter(|entry| entry["change"] == "changed")
        .map(id)
        .collect();
    let answer = undo(&ws, &changed);
    assert_eq!(answer.status(), 1);
    assert!(
        answer
            .errors()
            .contains("a.txt was not kept: it is not in the journal any more"),
        "{}",
        answer.errors()
    );
    let now = text(&ws, "a.txt");
    let n: u32 = now[..1].parse().expect("a number");
    assert!((2..7).contains(&n), "{n}");
    // That the file was made needs no content.
    let answer = undo(&ws, &["a.txt", "--since", "1h"]);
    assert_eq!(answer.status(), 0, "{}", answer.errors());
    assert!(!Path::new(&ws.path("a.txt")).exists());
}

#[test]
fn a_file_too_large_for_the_journal_is_listed_and_says_so() {
    let settings = json!({"tools": {"undo": {"maxMegabytes": 1}}}).to_string();
    let content = format!("one{}", "x".repeat(2 * 1024 * 1024));
    let ws = Workspace::new()
        .home(".gemini/settings.json", settings)
        .file("a.txt", content);
    edit(&ws, "a.txt", "one", "two");
    let reason = "it is larger than all that is kept";
    assert_eq!(history(&ws, &[])[0]["notKept"], reason);
    let answer = undo(&ws, &[]);
    assert_eq!(answer.status(), 1);
    answer.must_say(&answer.errors(), &["a.txt was not kept", reason]);
}

#[test]
fn a_journal_that_cannot_be_written_stops_no_edit() {
    // A file is where it would be.
    let ws = Workspace::new()
        .file("a.txt", "one")
        .home(".gemini/tools_journal", "");
    let arguments =
        json!({"file_path": ws.path("a.txt"), "old_string": "one", "new_string": "two"});
    let said = ws
        .tool("replace")
        .arguments(&arguments)
        .unwatched()
        .run()
        .output();
    assert_eq!(text(&ws, "a.txt"), "two");
    assert!(
        said.contains("--undo can't take this change back: "),
        "{said}"
    );
    assert!(said.contains("tools_journal"), "{said}");
}

#[test]
fn without_a_home_directory_each_change_says_that_it_is_not_kept() {
    let ws = Workspace::new().file("a.txt", "one");
    let write = |content: &str| {
        let arguments = json!({"file_path": ws.path("a.txt"), "content": content});
        let call = ws.tool("write_file").arguments(&arguments).unwatched();
        call.env("HOME", "").run().output()
    };
    for content in ["two", "three"] {
        let said = write(content);
        let reason = "--undo can't take this change back: there is no home directory";
        assert!(said.contains(reason), "{said}");
        assert!(!said.contains("gives it back"), "{said}");
    }
    assert_eq!(text(&ws, "a.txt"), "three");
}

#[test]
fn a_home_directory_that_does_not_exist_is_never_made() {
    for variable in ["HOME", "GEMINI_CLI_HOME"] {
        let ws = Workspace::new().file("a.txt", lines(20_000, |n| format!("line {n}\n")));
        let home = ws.root().join("nobody/at home");
        let run = |call: Call, status| {
            let home = home.to_str().expect("UTF-8");
            let answer = call.env(variable, home).unwatched().run();
            assert_eq!(answer.status(), status, "{}", answer.shown());
            answer.shown()
        };
        for (args, status) in [
            (&["read_file", "a.txt", "limit=1"][..], 0),
            (&["search_file_content", "line"], 0),
            (&["run_shell_command", "seq 20000"], 0),
            (&["run_shell_command", "sleep 0.1 & true"], 0),
            (&["run_shell_command", "sleep 9", "is_background=true"], 1),
            (&["--history"], 0),
            (&["--undo"], 1),
        ] {
            run(ws.call_tool(args), status);
        }
        run(ws.get_tools(&["--mcp"]), 0);
        run(ws.get_tools(&["init", "--yes", "--trust"]), 1);
        run(ws.get_tools(&["init", "--yes", "--user"]), 1);
        let said = run(
            ws.call_tool(&["write_file", "file_path=b.txt", "content=x"]),
            0,
        );
        assert!(
            said.contains("--undo can't take this change back: "),
            "{said}"
        );
        assert!(said.contains("a directory above it is missing"), "{said}");
        assert!(!ws.root().join("nobody").exists());
    }
}

#[test]
fn after_a_change_that_was_not_kept_an_older_one_is_not_taken_for_the_latest() {
    let ws = Workspace::new().file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    set_mode(&journal(&ws), 0o750);
    edit(&ws, "a.txt", "two", "three");
    set_mode(&journal(&ws), 0o700);
    let answer = undo(&ws, &[]);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    answer.must_say(&answer.errors(), &["a.txt was changed since; not undone"]);
    assert_eq!(text(&ws, "a.txt"), "three");
}

#[test]
fn an_excluded_change_is_not_passed_over_for_an_older_one_of_another_file() {
    let settings = json!({"tools": {"undo": {"exclude": ["*.pem"]}}}).to_string();
    let ws = Workspace::new()
        .home(".gemini/settings.json", settings)
        .file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    create(&ws, "key.pem", "secret");
    let older = history(&ws, &["a.txt"]);
    let answer = undo(&ws, &[]);
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    let next = format!(
        "The change before it, replace of a.txt, is undone by: call_tool --undo {}",
        id(&older[0])
    );
    answer.must_say(
        &answer.errors(),
        &["key.pem was not kept: tools.undo.exclude names it", &next],
    );
    assert_eq!(text(&ws, "key.pem"), "secret");
    assert_eq!(text(&ws, "a.txt"), "two");
    undo(&ws, &[id(&older[0])]).text();
    assert_eq!(text(&ws, "a.txt"), "one");
}

#[test]
fn the_folder_of_an_hour_is_used_only_where_it_is_the_users_alone_and_no_link() {
    let ws = Workspace::new().file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    let hours = || {
        let entries = fs::read_dir(journal(&ws)).expect("it");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    for hour in hours() {
        set_mode(&hour, 0o777);
    }
    let answer = ws.call_tool(&["--history"]).run();
    assert_eq!(answer.status(), 1);
    // It is not the journal's own directory that is in the way.
    let named = |hour: &PathBuf| {
        let hour = hour.display();
        let advice = format!("{hour} has mode 777 and must have mode 700; run: chmod 700 {hour}.");
        answer.errors().contains(&advice)
    };
    assert!(hours().iter().any(named), "{}", answer.shown());
    for hour in hours() {
        set_mode(&hour, 0o700);
        let elsewhere = ws.root().join("out/hour");
        fs::rename(&hour, &elsewhere).expect("moved");
        symlink(&elsewhere, &hour).expect("a link");
    }
    assert_eq!(ws.call_tool(&["--history"]).run().status(), 1);
}

#[test]
fn an_undo_and_the_history_are_text_anyway_so_that_t_changes_nothing() {
    let ws = Workspace::new().file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    let plain = ws.call_tool(&["--history"]).run();
    let said = ws.call_tool(&["--history", "-t"]).run();
    let ids = |answer: &Answer| answer.text().split("  ").next().map(str::to_owned);
    assert!(
        said.status() == 0 && ids(&said) == ids(&plain),
        "{}",
        said.shown()
    );
    let answer = ws.call_tool(&["--undo", "-t"]).unwatched().run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(text(&ws, "a.txt"), "one");
}

#[test]
fn command_lines_that_make_no_sense_are_refused() {
    let ws = Workspace::new().file("a.txt", "one");
    edit(&ws, "a.txt", "one", "two");
    for (args, words) in [
        (
            &["--undo", "nosuchid00"][..],
            "There is no change with the id or path \"nosuchid00\" in this project.",
        ),
        (&["--undo", "--since", "10"], "is not a span of time"),
        (&["--undo", "--since", "ten m"], "is not a span of time"),
        (&["--history", "--undo"], "cannot be used with"),
        (&["--history", "--batch"], "cannot be used with"),
        (&["--undo", "--prune-history"], "cannot be used with"),
        (&["--undo", "--all"], "cannot be used with"),
        (
            &["--undo", "--explain", "a.txt"],
            "Put a path or an id right behind it.",
        ),
        (&["--since", "10m", "read_file"], "--history"),
        (&["--since", "10m"], "--history"),
    ] {
        let answer = ws.call_tool(args).run();
        assert_eq!(answer.status(), 2, "{args:?}: {}", answer.shown());
        let said = format!("{}{}", answer.text(), answer.errors()).replace("\\\"", "\"");
        assert!(said.contains(words), "{args:?}: {said}");
    }
    assert_eq!(text(&ws, "a.txt"), "two");
}

#[test]
fn an_undo_of_everything_ends_with_the_beginning_or_says_that_it_does_not() {
    let mut undone = 0;
    for seed in crate::harness::random::seeds("rings of contents", 25 * crate::harness::trials()) {
        let mut random = crate::harness::random::Random::new(seed);
        let ws = Workspace::new().file("f", "A\n");
        let now = || fs::read_to_string(ws.path("f")).ok();
        let mut beginning = None;
        let mut course = Vec::new();
        for _ in 0..2 + random.below(4) {
            let content = random.of(&["A\n", "B\n", "C\n"]);
            let found = now();
            let what = match (random.below(5), &found) {
                (0, Some(_)) => {
                    fs::remove_file(ws.path("f")).expect("removed");
                    "person removes".to_owned()
                }
                (0 | 1, _) => {
                    fs::write(ws.path("f"), content).expect("written");
                    format!("person {content:?}")
                }
                (2, Some(_)) => {
                    beginning = beginning.or_else(|| Some(found.clone()));
                    let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch\n";
                    ws.tool("apply_patch")
                        .arguments(&json!({"patch": patch}))
                        .unwatched()
                        .run()
                        .output();
                    "patch removes".to_owned()
                }
                (3, _) if beginning.is_some() => {
                    let answer = undo(&ws, &[]);
                    format!("undo {}", answer.status())
                }
                _ => {
                    beginning = beginning.or_else(|| Some(found.clone()));
                    create(&ws, "f", content);
                    format!("tool {content:?}")
                }
            };
            course.push(what);
        }
        let Some(beginning) = beginning else { continue };
        let answer = undo(&ws, &["--since", "1h"]);
        if answer.status() == 0 {
            undone += 1;
            assert_eq!(
                now(),
                beginning,
                "seed {seed}: {course:?}\n{}",
                answer.shown()
            );
        }
    }
    assert!(undone > 0, "nothing was undone");
}

#[test]
fn names_are_taken_as_they_are_printed_and_as_their_bytes() {
    use std::os::unix::ffi::OsStrExt;
    for (bytes, printed) in [(&b"nu\xff"[..], r"nu\x{ff}"), (b"n\nl", r"n\x{0a}l")] {
        let name = std::ffi::OsStr::from_bytes(bytes);
        let ws = Workspace::new().file(Path::new(name), "old");
        let arguments = json!({"file_path": printed, "content": "new"});
        let shown = |args: &[&std::ffi::OsStr]| {
            let answer = ws.call_tool(&[]).flags(args).unwatched().run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
            answer.text().to_owned()
        };
        for given in [std::ffi::OsStr::new(printed), name] {
            ws.tool("write_file")
                .arguments(&arguments)
                .unwatched()
                .run()
                .output();
            let listed = shown(&["--history".as_ref(), given]);
            assert!(
                listed.lines().all(|line| line.contains(printed)),
                "{listed}"
            );
            shown(&["--undo".as_ref(), given]);
            assert_eq!(
                fs::read_to_string(ws.dir().join(name)).expect("text"),
                "old"
            );
        }
    }
}

/// Moves what was changed so far into another hour.
fn shift(ws: &Workspace, hours: i64) -> PathBuf {
    let entries = fs::read_dir(journal(ws)).expect("the journal").flatten();
    let hour = |path: &PathBuf| path.file_name()?.to_str()?.parse::<i64>().ok();
    let of_now = entries
        .map(|entry| entry.path())
        .find(|path| hour(path).is_some());
    let of_now = of_now.expect("an hour");
    let number = hour(&of_now).expect("a number") + hours;
    fs::rename(&of_now, of_now.with_file_name(number.to_string())).expect("moved");
    of_now
}

#[test]
fn a_log_that_cannot_be_read_is_named_and_not_passed_over() {
    type Break = (&'static str, fn(&Path));
    let breaks: [Break; 4] = [
        ("log is no regular file; remove it", make_fifo),
        ("log is ", |log| fs::create_dir(log).expect("made")),
        ("log is a link, or no directory; remove it", |log| {
            symlink("/dev/null", log).expect("made");
        }),
        ("log can't be used: Permission denied", |log| {
            fs::write(log, "").expect("written");
            set_mode(log, 0);
        }),
    ];
    for (why, broken) in &breaks[..if running_as_root() { 3 } else { 4 }] {
        let ws = Workspace::new();
        create(&ws, "old", "1");
        let log = shift(&ws, -1).join("log");
        create(&ws, "new", "1");
        fs::remove_file(&log).expect("removed");
        broken(&log);
        for args in [&["--history"][..], &["--undo"], &["--undo", "new"]] {
            let answer = ws.call_tool(args).unwatched().run();
            assert_eq!(answer.status(), 1, "{args:?} {}", answer.shown());
            answer.must_say(&answer.errors(), &["The journal can't be read", why]);
        }
        let arguments = json!({"file_path": ws.path("new"), "content": "2"});
        let call = ws.tool("write_file").arguments(&arguments).unwatched();
        let said = call.env("GEMINI_TOOLS_TIMEOUT", "20").run().output();
        assert!(
            said.contains("--undo can't take this change back: "),
            "{said}"
        );
        assert_eq!(text(&ws, "new") + &text(&ws, "old"), "21");
    }
}

#[test]
fn a_change_made_while_the_clock_was_ahead_is_undone_once() {
    let ws = Workspace::new();
    create(&ws, "old", "1");
    shift(&ws, 100);
    create(&ws, "new", "1");
    for status in [0, 0, 1] {
        let answer = undo(&ws, &[]);
        assert_eq!(answer.status(), status, "{}", answer.shown());
    }
    let is_gone = |entry: &Value| entry["tool"] == "undo" || entry["undoneBy"] != Value::Null;
    assert!(history(&ws, &[]).iter().all(is_gone));
}
