//! A file that is replaced has exactly the access that it had, or is not replaced.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use rustix::io::Errno;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Workspace, running_as_root, set_mode, skipped};

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// An access list as the kernel keeps it: who owns, one user more, the group, the mask, and all others.
fn list(owner: u16, user: (u32, u16), group: u16, mask: u16, other: u16) -> Vec<u8> {
    let nobody = u32::MAX;
    let entries = [
        (1, owner, nobody),
        (2, user.1, user.0),
        (4, group, nobody),
        (16, mask, nobody),
        (32, other, nobody),
    ];
    let entry = |(tag, may, id): (u16, u16, u32)| {
        [tag.to_le_bytes(), may.to_le_bytes()]
            .concat()
            .into_iter()
            .chain(id.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let entries = entries.map(entry).concat();
    [2_u32.to_le_bytes().as_slice(), &entries].concat()
}

/// Says whether the attribute was set; where the file system has none of that kind, the test is skipped.
fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    match setxattr(path, name, value, XattrFlags::empty()) {
        Ok(()) => true,
        Err(Errno::NOTSUP | Errno::PERM) => {
            skipped(&format!("a file system with {name}"));
            false
        }
        Err(errno) => panic!("{name} of {}: {errno}", path.display()),
    }
}

/// Owner, group, mode and all attributes.
fn access(path: &Path) -> (u32, u32, u32, BTreeMap<String, Vec<u8>>) {
    let mut names = vec![0; 64 * 1024];
    let length = listxattr(path, &mut names[..]).expect("a list");
    let names = String::from_utf8(names[..length].to_vec()).expect("UTF-8");
    let attributes = names.split_terminator('\0').map(|name| {
        let mut value = vec![0; 64 * 1024];
        let length = getxattr(path, name, &mut value[..]).expect("a value");
        (name.to_owned(), value[..length].to_vec())
    });
    let meta = fs::metadata(path).expect("a file");
    (meta.uid(), meta.gid(), meta.mode(), attributes.collect())
}

fn patch(section: &str) -> (&'static str, Value) {
    let patch = format!("*** Begin Patch\n{section}\n*** End Patch");
    ("apply_patch", json!({"patch": patch}))
}

/// Each way to replace a file that holds `one`.
fn edits(path: &str) -> [(&'static str, Value); 4] {
    let texts =
        json!({"file_path": path, "old_string": "one", "new_string": "two", "instruction": "two"});
    [
        ("replace", texts.clone()),
        ("smart_edit", texts),
        ("write_file", json!({"file_path": path, "content": "two\n"})),
        patch(&format!("*** Update File: {path}\n-one\n+two")),
    ]
}

#[test]
fn a_directorys_default_list_gives_nobody_access_to_a_file_that_is_replaced() {
    for mode in [0o640, 0o660, 0o600] {
        let ws = Workspace::new().file("a.txt", "one\n");
        if !set(&ws.dir(), DEFAULT, &list(7, (1234, 7), 7, 7, 5)) {
            return;
        }
        let path = ws.dir().join("a.txt");
        set_mode(&path, mode);
        let before = access(&path);
        for (tool, arguments) in edits("a.txt") {
            fs::write(&path, "one\n").expect("written");
            let call = ws.tool(tool).arguments(&arguments);
            call.changing(&["a.txt"]).run().output();
            assert_eq!(fs::read_to_string(&path).expect("text"), "two\n");
            assert_eq!(access(&path), before, "{tool} {mode:o}");
        }
    }
}

#[test]
fn a_list_of_its_own_stays_whatever_the_directorys_is() {
    let ws = Workspace::new().file("a.txt", "one\n");
    let path = ws.dir().join("a.txt");
    let own = list(6, (1234, 4), 0, 6, 0);
    if !set(&path, ACCESS, &own) || !set(&ws.dir(), DEFAULT, &list(7, (1234, 7), 7, 7, 5)) {
        return;
    }
    let before = access(&path);
    for (tool, arguments) in edits("a.txt") {
        fs::write(&path, "one\n").expect("written");
        let call = ws.tool(tool).arguments(&arguments);
        call.changing(&["a.txt"]).run().output();
        assert_eq!(access(&path), before, "{tool}");
    }
}

#[test]
fn more_attributes_than_any_guess_stay_and_the_access_list_with_them() {
    let Ok(memory) = TempDir::new_in("/dev/shm") else {
        return skipped("a file system in /dev/shm");
    };
    let path = memory.path().join("a.txt");
    fs::write(&path, "one\n").expect("written");
    for n in 0..200 {
        let name = format!("user.{n:03}-{}", "a long name ".repeat(5));
        if !set(&path, &name, format!("value {n}").as_bytes()) {
            return;
        }
    }
    if !set(&path, "user.large", &vec![b'x'; 60_000])
        || !set(&path, ACCESS, &list(6, (1234, 4), 0, 6, 0))
    {
        return;
    }
    let before = access(&path);
    assert!(before.3.len() > 200);
    let ws = Workspace::new();
    for (tool, arguments) in edits(path.to_str().expect("UTF-8")) {
        fs::write(&path, "one\n").expect("written");
        let call = ws.tool(tool).arguments(&arguments).unwatched();
        let root = memory.path().to_str().expect("UTF-8");
        call.env("GEMINI_TOOLS_ROOTS", root).run().output();
        assert_eq!(access(&path), before, "{tool}");
    }
}

#[test]
fn an_attribute_that_cannot_be_kept_refuses_the_write() {
    if !running_as_root() {
        return;
    }
    let ws = Workspace::new().file("a.txt", "one\n").unprivileged();
    let path = ws.dir().join("a.txt");
    // An ordinary user may read it, but give it to no file.
    if !set(&path, "security.label", b"secret") {
        return;
    }
    for (tool, arguments) in edits("a.txt") {
        let answer = ws.call(tool, &arguments);
        let message = answer.error("file_write_failure", 1);
        answer.must_say(&message, &["a.txt", "security.label"]);
    }
    removexattr(&path, "security.label").expect("removed");
    let (_, arguments) = &edits("a.txt")[0];
    let call = ws.tool("replace").arguments(arguments);
    call.changing(&["a.txt"]).run().output();
}

#[test]
fn what_an_undo_of_a_patch_creates_again_has_the_access_that_it_had() {
    for section in [
        "*** Delete File: a.txt",
        "*** Update File: a.txt\n*** Move to: b.txt",
    ] {
        for has_link in [false, true] {
            let ws = Workspace::new().file("a.txt", "one\n");
            let path = ws.dir().join("a.txt");
            if running_as_root() {
                chown(&path, Some(1234), Some(4321)).expect("given away");
            }
            set_mode(&path, 0o640);
            if !set(&path, "user.note", b"kept") {
                return;
            }
            // The journal has a copy of such a file.
            if has_link {
                fs::hard_link(&path, ws.outside_path("link")).expect("a hard link");
            }
            let before = access(&path);
            let (tool, arguments) = patch(section);
            ws.tool(tool)
                .arguments(&arguments)
                .unwatched()
                .run()
                .output();
            assert!(!path.exists());
            let undone = ws.call_tool(&["--undo"]).unwatched().run();
            assert_eq!(undone.status(), 0, "{}", undone.shown());
            assert_eq!(access(&path), before, "{section}, {has_link}");
        }
    }
}

#[test]
fn another_users_file_does_not_become_ones_own() {
    if !running_as_root() {
        return;
    }
    let ws = Workspace::new().file("a.txt", "one\n").unprivileged();
    let path = ws.dir().join("a.txt");
    for owner in [(Some(0), Some(65534)), (Some(65534), Some(0))] {
        chown(&path, owner.0, owner.1).expect("given away");
        set_mode(&path, 0o666);
        for (tool, arguments) in edits("a.txt") {
            let answer = ws.call(tool, &arguments);
            let message = answer.error("permission_denied", 1);
            answer.must_say(&message, &["a.txt", "belongs to user"]);
        }
    }
}

#[test]
fn an_answer_says_of_hard_links_that_they_keep_the_old_content() {
    for links in [1, 2] {
        let ws = Workspace::new().file("a.txt", "one\n");
        for (n, (tool, arguments)) in edits("a.txt").into_iter().enumerate() {
            fs::write(ws.path("a.txt"), "one\n").expect("written");
            for link in 0..links {
                let link = ws.path(&format!("link-{n}-{link}"));
                fs::hard_link(ws.path("a.txt"), link).expect("a hard link");
            }
            let call = ws.tool(tool).arguments(&arguments);
            let answer = call.changing(&["a.txt"]).run();
            let said = match links {
                1 => "It had one more name (a hard link), which keeps the old content.",
                _ => "It had 2 more names (hard links), which keep the old content.",
            };
            answer.must_say(&answer.output(), &[said]);
            let link = ws.path(&format!("link-{n}-0"));
            assert_eq!(fs::read_to_string(link).expect("text"), "one\n");
        }
    }
    let ws = Workspace::new().home(".gemini/GEMINI.md", "# mine\n");
    let memory = ws.root().join("home/.gemini/GEMINI.md");
    fs::hard_link(&memory, ws.root().join("home/kept.md")).expect("a hard link");
    let call = ws.tool("save_memory").arguments(&json!({"fact": "x"}));
    let answer = call.changing_at_home(&[".gemini"]).run();
    answer.must_say(&answer.output(), &["one more name (a hard link)"]);
}

#[test]
fn settings_that_init_changes_keep_their_access_and_so_does_their_copy() {
    let ws = Workspace::new().home(".cursor/mcp.json", "{\"mcpServers\": null}\n");
    let path = ws.root().join("home/.cursor/mcp.json");
    let copy = ws.root().join("home/.cursor/mcp.json.before-init");
    // Without the list, the mode that it leaves, 0660, opens the file to its group.
    if !set(&path, ACCESS, &list(6, (1000, 6), 0, 6, 0)) || !set(&path, "user.a", b"1") {
        return;
    }
    if running_as_root() {
        chown(&path, Some(65534), Some(65534)).expect("given away");
    }
    let before = access(&path);
    for args in [&[][..], &["--undo"]] {
        let call = ws.get_tools(&["init", "--host", "cursor", "--user", "--yes"]);
        let answer = call.flags(args).unwatched().run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        assert_eq!(access(&path), before, "{args:?}");
        assert_eq!(copy.exists(), args.is_empty());
        if args.is_empty() {
            assert_eq!(access(&copy), before);
        }
    }
}
