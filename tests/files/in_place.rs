//! A file that no other can take the place of is written in place, and taken back there.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::{Call, Workspace, executable, running_as_root, set_mode, skipped};

fn edit(ws: &Workspace, old: &str, new: &str) -> Value {
    json!({"file_path": ws.path("d/f.txt"), "old_string": old, "new_string": new})
}

fn text(ws: &Workspace) -> String {
    fs::read_to_string(ws.path("d/f.txt")).expect("text")
}

fn inode(ws: &Workspace) -> u64 {
    fs::metadata(ws.path("d/f.txt")).expect("a file").ino()
}

fn undo(ws: &Workspace) -> Answer {
    ws.call_tool(&["--undo"]).unwatched().run()
}

/// Returns a file of nobody's in a directory that only others may write to.
fn in_a_closed_directory(content: &str) -> Workspace {
    let ws = Workspace::new().file("d/f.txt", content).unprivileged();
    set_mode(Path::new(&ws.path("d")), 0o555);
    ws
}

#[test]
fn a_file_in_a_directory_without_write_permission_is_edited_and_taken_back() {
    // The second is too large for its digest to be kept.
    for rest in [String::new(), "Zeile\n".repeat(100_000)] {
        let before = format!("eins\n{rest}");
        let ws = in_a_closed_directory(&before);
        let inode_before = inode(&ws);
        let arguments = edit(&ws, "eins", "zwei und drei");
        let call = ws.tool("replace").arguments(&arguments);
        call.changing(&["d/f.txt"]).run().output();
        assert_eq!(text(&ws), format!("zwei und drei\n{rest}"));
        assert_eq!(inode(&ws), inode_before);
        assert_eq!(undo(&ws).status(), 0);
        assert!(text(&ws) == before);
        let shorter = json!({"file_path": ws.path("d/f.txt"), "content": "x\n"});
        let call = ws.tool("write_file").arguments(&shorter);
        call.changing(&["d/f.txt"]).run().output();
        assert_eq!(text(&ws), "x\n");
        set_mode(Path::new(&ws.path("d")), 0o755);
    }
}

#[test]
fn a_file_of_another_user_in_a_sticky_directory_is_edited_and_taken_back() {
    let ws = Workspace::new().file("d/f.txt", "eins\n").unprivileged();
    let set_owner = |name: &str| chown(ws.path(name), Some(0), Some(0));
    if set_owner("d").and_then(|()| set_owner("d/f.txt")).is_err() {
        return skipped("files of another user");
    }
    set_mode(Path::new(&ws.path("d")), 0o1777);
    set_mode(Path::new(&ws.path("d/f.txt")), 0o666);
    let inode_before = inode(&ws);
    let arguments = edit(&ws, "eins", "zwei");
    let call = ws.tool("replace").arguments(&arguments);
    call.changing(&["d/f.txt"]).run().output();
    assert_eq!((text(&ws).as_str(), inode(&ws)), ("zwei\n", inode_before));
    assert_eq!(undo(&ws).status(), 0);
    assert_eq!((text(&ws).as_str(), inode(&ws)), ("eins\n", inode_before));
}

#[test]
fn a_file_with_another_name_is_not_written_in_place() {
    let ws = in_a_closed_directory("eins\n");
    fs::hard_link(ws.path("d/f.txt"), ws.path("other")).expect("a link");
    let message = ws
        .call("replace", &edit(&ws, "eins", "zwei"))
        .error("file_write_failure", 1);
    assert!(message.contains("has other names"), "{message}");
    assert_eq!(
        fs::read_to_string(ws.path("other")).expect("text"),
        "eins\n"
    );
    set_mode(Path::new(&ws.path("d")), 0o755);
}

#[test]
fn a_new_file_names_the_directory_that_takes_none() {
    let ws = in_a_closed_directory("eins\n");
    for name in ["d/new.txt", "d/more/new.txt"] {
        let arguments = json!({"file_path": ws.path(name), "content": "x"});
        let answer = ws.call("write_file", &arguments);
        let message = answer.error("permission_denied", 1);
        answer.must_say(
            &message,
            &[&ws.path(name), &format!("the directory {}", ws.path("d"))],
        );
        assert!(
            !message.contains("d/more:") && !message.contains("d/more."),
            "{message}"
        );
    }
    set_mode(Path::new(&ws.path("d")), 0o755);
}

/// Returns a call below mounts of its own, or `None` where there can be none.
fn with_mounts<'a>(ws: &'a Workspace, mount: &str, args: &[&str]) -> Option<Call<'a>> {
    let can = || {
        let test = Command::new("unshare").args(["-m", "true"]).status();
        running_as_root() && test.is_ok_and(|status| status.success())
    };
    if !can() {
        skipped("mounts of one's own");
        return None;
    }
    let script = format!("{mount}; exec \"$@\"");
    let tool = executable("call_tool");
    let tool = tool.to_str().expect("UTF-8");
    let before = ["-m", "sh", "-ec", &script, "sh", tool];
    let all: Vec<&str> = before.iter().chain(args).copied().collect();
    Some(ws.program(Path::new("/usr/bin/unshare"), &all))
}

#[test]
fn a_mount_point_is_edited_and_taken_back() {
    let ws = Workspace::new()
        .file("d/f.txt", "")
        .file("source", "eins\n");
    let source = ws.path("source");
    let mount = format!("mount --bind {source} {}", ws.path("d/f.txt"));
    let arguments = edit(&ws, "eins", "zwei").to_string();
    let Some(call) = with_mounts(&ws, &mount, &["replace"]) else {
        return;
    };
    let answer = call.input(arguments).unwatched().run();
    answer.output();
    assert_eq!(fs::read_to_string(&source).expect("text"), "zwei\n");
    let call = with_mounts(&ws, &mount, &["--undo"]).expect("as before");
    let answer = call.unwatched().run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(fs::read_to_string(&source).expect("text"), "eins\n");
}

#[test]
fn a_full_disk_leaves_the_old_content_of_a_mount_point() {
    let ws = Workspace::new().file("d/f.txt", "");
    let old = "alt\n".repeat(10_000);
    let store = ws.outside_path("");
    // The content is seen through the mount, which ends with the call.
    let mount = format!(
        "mount -t tmpfs -o size=64k tmpfs {store}; cp source {store}f; \
         mount --bind {store}f {}; trap 'cp {store}f result' EXIT; \"$@\"; exit $?",
        ws.path("d/f.txt")
    );
    fs::write(ws.path("source"), &old).expect("written");
    let arguments = json!({"file_path": ws.path("d/f.txt"), "content": "neu\n".repeat(100_000)});
    let Some(call) = with_mounts(&ws, &mount, &["write_file"]) else {
        return;
    };
    let answer = call.input(arguments.to_string()).unwatched().run();
    answer.error("no_space_left", 1);
    assert!(fs::read_to_string(ws.path("result")).expect("a copy") == old);
}
