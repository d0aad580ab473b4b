//! Tests of [`TerminalPrompt`] on a pseudo-terminal, at which the test plays the person.

use super::TerminalPrompt;
use crate::approval::{ApprovalPrompt, ApprovalQuestion, ApprovalReply, Explanation};
use gemini_tools_core::tool::{Cancellation, ConfirmationDetails};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::tcgetattr;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

const WAIT_LIMIT: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

pub(super) struct Call {
    name: String,
    args: Map<String, Value>,
    cancel: Cancellation,
}

impl Call {
    pub(super) fn asked<'a>(&'a self, explanation: &'a Explanation) -> ApprovalQuestion<'a> {
        ApprovalQuestion {
            name: &self.name,
            args: &self.args,
            explanation,
            cancel: &self.cancel,
        }
    }
}

pub(super) fn call(name: &str, args: Value) -> Call {
    let args = match args {
        Value::Object(args) => args,
        _ => Map::new(),
    };
    Call {
        name: name.to_owned(),
        args,
        cancel: Cancellation::default(),
    }
}

pub(super) fn explained(confirmation: Option<ConfirmationDetails>) -> Explanation {
    Explanation {
        description: "What it does".to_owned(),
        confirmation,
        ..Explanation::default()
    }
}

pub(super) fn edit(name: &str, old: Option<&str>, new: &str, diff: &str) -> ConfirmationDetails {
    ConfirmationDetails::Edit {
        title: "Edit".to_owned(),
        file_name: name.to_owned(),
        file_path: format!("/project/{name}"),
        file_diff: diff.to_owned(),
        original_content: old.map(str::to_owned),
        new_content: new.to_owned(),
        files: Vec::new(),
    }
}

pub(super) fn exec(command: &str, programs: &[&str]) -> ConfirmationDetails {
    ConfirmationDetails::Exec {
        title: "Confirm".to_owned(),
        command: command.to_owned(),
        root_command: programs.first().copied().unwrap_or_default().to_owned(),
        root_commands: programs.iter().map(|p| (*p).to_owned()).collect(),
        unresolved: Vec::new(),
    }
}

pub(super) fn mcp() -> ConfirmationDetails {
    ConfirmationDetails::Mcp {
        title: "MCP".to_owned(),
        server_name: "docs".to_owned(),
        tool_name: "find".to_owned(),
        tool_display_name: "docs__find".to_owned(),
    }
}

struct Person {
    master: File,
    seen: String,
}

impl Person {
    fn sees(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
            let ready = poll(&mut fds, Some(&WAIT_LIMIT)).expect("poll");
            assert!(ready > 0, "{text:?} is not shown, but {:?}", self.seen);
            let mut buffer = [0; 4096];
            let count = self.master.read(&mut buffer).expect("output");
            self.seen
                .push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }

    fn types(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("keys");
    }
}

fn seat() -> (Person, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let tty = rustix::fs::open(name, flags, Mode::empty()).expect("its other side");
    let person = Person {
        master: master.into(),
        seen: String::new(),
    };
    (person, tty.into())
}

fn modes(tty: &File) -> String {
    format!("{:?}", tcgetattr(tty).expect("modes"))
}

/// Asks a question on a pseudo-terminal at whose other end `person` acts, and checks that the
/// terminal's modes are restored.
fn asked(
    call: &Call,
    explanation: &Explanation,
    prepared: impl FnOnce(TerminalPrompt) -> TerminalPrompt,
    person: impl FnOnce(&mut Person),
) -> Option<ApprovalReply> {
    let (mut other, tty) = seat();
    let kept = tty.try_clone().expect("another handle");
    let before = modes(&kept);
    let mut terminal = prepared(TerminalPrompt::on(tty));
    let reply = std::thread::scope(|scope| {
        let asking = scope.spawn(|| terminal.ask(&call.asked(explanation)));
        person(&mut other);
        asking.join().expect("an answer")
    });
    assert_eq!(modes(&kept), before);
    reply
}

fn answered(confirmation: Option<ConfirmationDetails>, keys: &[u8]) -> Option<ApprovalReply> {
    answered_of("t", confirmation, keys)
}

fn answered_of(
    tool: &str,
    confirmation: Option<ConfirmationDetails>,
    keys: &[u8],
) -> Option<ApprovalReply> {
    asked(
        &call(tool, json!({"a": 1})),
        &explained(confirmation),
        |terminal| terminal,
        |person| {
            person.sees("[q]uit ");
            person.types(keys);
        },
    )
}

fn editor(dir: &Path, lines: &str) -> String {
    let path = dir.join("my editor");
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    // The editor is a line of several words, and the file follows as the last one.
    format!("sh '{}'", path.display())
}

#[test]
fn each_key_is_an_answer() {
    let run = || Some(exec("make", &["make"]));
    for (confirmation, keys, want) in [
        (run(), "y", ApprovalReply::Once),
        (run(), "a", ApprovalReply::Always),
        (run(), "t", ApprovalReply::AlwaysTool),
        (run(), "n", ApprovalReply::No),
        (run(), "q", ApprovalReply::Stop),
        (Some(mcp()), "s", ApprovalReply::AlwaysServer),
        (None, "a", ApprovalReply::Always),
        (run(), "\x03", ApprovalReply::Stop),
        (run(), "\x04", ApprovalReply::No),
    ] {
        let reply = answered_of("run_shell_command", confirmation, keys.as_bytes());
        assert_eq!(reply, Some(want), "{keys:?}");
    }
}

#[test]
fn keys_that_mean_nothing_are_ignored() {
    let run = Some(exec("make", &["make"]));
    for keys in ["YASs\r \u{e9}\x1a1n", "xvn"] {
        assert_eq!(
            answered(run.clone(), keys.as_bytes()),
            Some(ApprovalReply::No),
            "{keys:?}"
        );
    }
    // Without a known program, there is nothing that "always" could allow.
    let unknown = Some(exec("$x", &[]));
    let reply = answered_of("run_shell_command", unknown, b"an");
    assert_eq!(reply, Some(ApprovalReply::No));
}

#[test]
fn the_letters_of_an_escape_sequence_are_no_answer() {
    let reply = asked(
        &call("t", json!({})),
        &explained(None),
        |terminal| terminal,
        |person| {
            person.sees("[q]uit ");
            person.types(b"\x1b[15;2y");
            std::thread::sleep(Duration::from_millis(500));
            person.types(b"n");
        },
    );
    assert_eq!(reply, Some(ApprovalReply::No));
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let (mut person, tty) = seat();
    person.types(b"y\n");
    // The terminal has echoed the key, so it has arrived.
    person.sees("y");
    let asking = std::thread::spawn(|| {
        TerminalPrompt::on(tty).ask(&call("t", json!({})).asked(&explained(None)))
    });
    person.sees("[q]uit ");
    person.types(b"n");
    assert_eq!(asking.join().expect("an answer"), Some(ApprovalReply::No));
}

#[test]
fn a_long_diff_can_be_seen_whole() {
    let reply = asked(
        &call("write_file", json!({})),
        &explained(Some(edit("a", None, "", &"+line\n".repeat(100)))),
        |terminal| terminal,
        |person| {
            assert_eq!(person.sees("[q]uit ").matches("+line").count(), 50);
            person.types(b"v");
            assert_eq!(person.sees("[q]uit ").matches("+line").count(), 100);
            person.types(b"y");
        },
    );
    assert_eq!(reply, Some(ApprovalReply::Once));
}

#[test]
fn a_key_that_is_not_offered_answers_nothing() {
    let reply = asked(
        &call("t", json!({})),
        &explained(None),
        |terminal| terminal,
        |person| {
            assert!(!person.sees("[q]uit ").contains("[t]ool always"));
            person.types(b"ty");
        },
    );
    assert_eq!(reply, Some(ApprovalReply::Once));
}

#[test]
fn an_end_of_the_session_ends_the_question() {
    let cancel = Cancellation::default();
    let reply = asked(
        &call("t", json!({})),
        &explained(None),
        |terminal| TerminalPrompt {
            cancel: cancel.clone(),
            ..terminal
        },
        |person| {
            person.sees("[q]uit ");
            cancel.cancel();
        },
    );
    assert_eq!(reply, Some(ApprovalReply::Stop));
}

#[test]
fn where_the_terminal_is_gone_nobody_is_asked() {
    let (mut person, tty) = seat();
    let asking = std::thread::spawn(|| {
        TerminalPrompt::on(tty).ask(&call("t", json!({})).asked(&explained(None)))
    });
    person.sees("[q]uit ");
    drop(person);
    assert_eq!(asking.join().expect("an answer"), None);
}

#[test]
fn an_editor_changes_the_call() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    let words = editor(
        dir.path(),
        &format!(
            "ls -ld \"$1\" \"${{1%/*}}\" >'{0}'; echo \"$1\" >>'{0}'\n\
             [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty raw -echo && echo more >>\"$1\"",
            log.display()
        ),
    );
    let reply = asked(
        &call(
            "write_file",
            json!({"file_path": "a.py", "content": "new\n"}),
        ),
        &explained(Some(edit("a.py", None, "new\n", "+new\n"))),
        |terminal| TerminalPrompt {
            editor: words.into(),
            ..terminal
        },
        |person| {
            person.sees("[q]uit ");
            person.types(b"e");
        },
    );
    let Some(ApprovalReply::Change(changed)) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(changed.args["content"], "new\nmore\n");
    assert_eq!((changed.added, changed.removed), (1, 0));
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(
        log.contains("-rw-------") && log.contains("drwx------"),
        "{log}"
    );
    let file = Path::new(log.lines().last().unwrap_or_default());
    assert!(file.to_string_lossy().ends_with("a.py"), "{log}");
    assert!(!file.exists() && !file.parent().is_some_and(Path::exists));
}

#[test]
fn an_editor_that_fails_or_changes_nothing_leaves_the_call() {
    let dir = tempfile::tempdir().expect("a directory");
    for (lines, said) in [
        (
            "echo more >>\"$1\"; exit 3",
            "(exit status: 3); nothing was changed",
        ),
        ("true", "Nothing was changed."),
        ("touch \"$1\"~", "Nothing was changed."),
    ] {
        let words = editor(dir.path(), lines);
        let reply = asked(
            &call("write_file", json!({"content": "new\n"})),
            &explained(Some(edit("a.py", None, "new\n", "+new\n"))),
            |terminal| TerminalPrompt {
                editor: words.into(),
                ..terminal
            },
            |person| {
                person.sees("[q]uit ");
                person.types(b"e");
                person.sees(said);
                person.sees("[q]uit ");
                person.types(b"y");
            },
        );
        assert_eq!(reply, Some(ApprovalReply::Once), "{lines}");
    }
}

#[test]
fn json_that_is_broken_can_be_mended_or_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let words = editor(
        dir.path(),
        "if grep -q broken \"$1\"; then echo '{\"a\": 2}' >\"$1\"\n\
         else printf '{\\n broken\\n}' >\"$1\"; fi",
    );
    let ask = |end: &[u8]| {
        asked(
            &call("other", json!({"a": 1})),
            &explained(None),
            |terminal| TerminalPrompt {
                editor: words.clone().into(),
                ..terminal
            },
            |person| {
                person.sees("[q]uit ");
                person.types(b"e");
                person.sees("line 2, column");
                person.sees("[g]ive up ");
                person.types(end);
                if end == b"g" {
                    person.sees("[q]uit ");
                    person.types(b"n");
                }
            },
        )
    };
    let Some(ApprovalReply::Change(changed)) = ask(b"e") else {
        panic!("no change");
    };
    assert_eq!(Value::Object(changed.args), json!({"a": 2}));
    assert_eq!(ask(b"g"), Some(ApprovalReply::No));
    assert_eq!(ask(b"\x03"), Some(ApprovalReply::Stop));
}

#[test]
fn modes_are_put_back_after_a_panic() {
    let (mut person, tty) = seat();
    let before = modes(&tty);
    let prompt = TerminalPrompt::on(tty.try_clone().expect("another handle"));
    let ended = std::thread::scope(|threads| {
        let asked = threads.spawn(|| {
            prompt.key("a key ", |_| {
                assert_eq!(modes(&tty), before, "they are other ones here");
                Some(())
            })
        });
        person.sees("a key ");
        person.types(b"x");
        asked.join()
    });
    assert!(ended.is_err());
    assert_eq!(modes(&tty), before);
}
