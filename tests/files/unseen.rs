//! Several conversations at work in one tree: no change is lost without a refusal or a word, and none works alone is
//! refused.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::harness::client::Server;
use crate::harness::random::{Random, seeds};
use crate::harness::steered::SteeredAgent;
use crate::harness::{Answer, Workspace, executable, lines, set_age, trials, write};

const FILES: [&str; 3] = ["a.txt", "b.txt", "c.txt"];

/// A way to make calls.
enum Door {
    /// A process for each call, in the session of this name.
    Calls(String),
    Batch(Box<Server>),
    Server(Box<Server>),
    Agent(Box<SteeredAgent>),
}

impl Door {
    fn name(&self) -> &'static str {
        match self {
            Self::Calls(_) => "single calls",
            Self::Batch(_) => "a batch",
            Self::Server(_) => "a server",
            Self::Agent(_) => "an agent",
        }
    }
}

/// A conversation, and what it has seen of each file.
struct Conversation<'w> {
    ws: &'w Workspace,
    door: Door,
    seen: HashMap<&'static str, String>,
    number: usize,
    /// The step with which the conversation began: the first call, of single calls the first that reads or writes.
    began: Option<usize>,
    /// The present step.
    serial: usize,
}

/// The conversation that has last written each file, and in which step.
type Writers = HashMap<&'static str, (usize, usize)>;

impl<'w> Conversation<'w> {
    fn new(ws: &'w Workspace, number: usize, random: &mut Random) -> Self {
        let door = match random.below(5) {
            0 => {
                let client = Server::start_program(ws, &executable("call_tool"), &["--batch"]);
                Door::Batch(Box::new(client))
            }
            1 => Door::Server(Box::new(Server::greeted(ws, &[], &json!({})))),
            2 => Door::Agent(Box::new(SteeredAgent::start(ws))),
            _ => Door::Calls(format!("conversation {number}")),
        };
        let seen = HashMap::new();
        Self {
            ws,
            door,
            seen,
            number,
            began: None,
            serial: 0,
        }
    }

    /// Makes a call; an error is its message.
    fn call(&mut self, tool: &str, args: &Value) -> Result<String, String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if !matches!(self.door, Door::Calls(_)) {
            self.began.get_or_insert(self.serial);
        }
        let response = match &mut self.door {
            Door::Calls(session) => {
                let call = self.ws.tool(tool).arguments(args).unwatched();
                call.env("GEMINI_TOOLS_SESSION", session).run().json()["functionResponse"]["response"].take()
            }
            Door::Batch(client) => {
                client.say(&json!({"name": tool, "args": args}).to_string());
                client.message()["functionResponse"]["response"].take()
            }
            Door::Agent(agent) => agent.call(tool, args),
            Door::Server(client) => {
                let result = client.call(tool, args);
                let said = text(&result["content"][0]["text"]).unwrap_or_default();
                return if result["isError"] == true {
                    Err(said)
                } else {
                    Ok(said)
                };
            }
        };
        match text(&response["error"]) {
            Some(error) => Err(error),
            None => Ok(text(&response["output"]).expect("an output")),
        }
    }
}

fn content(ws: &Workspace, name: &str) -> Option<String> {
    fs::read_to_string(ws.path(name)).ok()
}

/// What a step has done: a refusal because of what was not seen, or not.
#[derive(PartialEq)]
enum Step {
    Refused,
    Other,
}

const REFUSED: &str = "was changed by somebody else since you read it";

/// A call of a conversation about a file.
struct Turn<'t, 'w> {
    conversation: &'t mut Conversation<'w>,
    writers: &'t mut Writers,
    serial: usize,
    name: &'static str,
    before: Option<String>,
    seen: Option<String>,
    is_stale: bool,
}

impl Turn<'_, '_> {
    fn read(&mut self) {
        // The limit is over all lines, and another each time: an agent whose model repeats a call is stopped.
        let args = json!({"absolute_path": self.name, "limit": 1000 + self.serial});
        if let (Ok(_), Some(text)) = (self.conversation.call("read_file", &args), &self.before) {
            self.conversation.seen.insert(self.name, text.clone());
            self.conversation.began.get_or_insert(self.serial);
        }
    }

    fn command(&mut self) {
        let command = format!("echo command {} >> {}", self.serial, self.name);
        let args = json!({"command": command});
        let answer = self.conversation.call("run_shell_command", &args);
        answer.expect("it runs");
        if self.seen.is_some() && self.seen == self.before {
            let now = content(self.conversation.ws, self.name).expect("it is there");
            self.conversation.seen.insert(self.name, now);
        }
        self.has_written();
    }

    /// While a command of the conversation runs, somebody else writes: a person, or a session of a
    /// name. That is not seen.
    fn meanwhile(&mut self, by_session: bool) {
        let (ws, name, serial) = (self.conversation.ws, self.name, self.serial);
        let (begun, go) = (format!("begun {serial}"), format!("go {serial}"));
        let known = self.before.clone().unwrap_or_default();
        let text = format!("meanwhile {serial}\n{known}");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ws.dir().join(&begun).exists() {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                if by_session {
                    let args = json!({"file_path": name, "content": text});
                    let call = ws.tool("write_file").arguments(&args).unwatched();
                    // A session of its own each time, which so knows nothing that it could undo.
                    let session = format!("another {serial}");
                    call.env("GEMINI_TOOLS_SESSION", &session).run().output();
                } else {
                    fs::write(ws.path(name), &text).expect("written");
                }
                fs::write(ws.path(&go), "").expect("written");
            });
            let command = format!("touch '{begun}'; until [ -e '{go}' ]; do sleep 0.01; done");
            let args = json!({"command": command});
            let answer = self.conversation.call("run_shell_command", &args);
            answer.expect("it runs");
        });
        self.writers.insert(name, (usize::MAX, serial));
    }

    fn has_written(&mut self) {
        let by = (self.conversation.number, self.serial);
        self.writers.insert(self.name, by);
    }

    fn write(&mut self) -> Result<String, String> {
        let known = self.seen.clone().unwrap_or_default();
        let new = format!("{known}written {}\n", self.serial);
        let args = json!({"file_path": self.name, "content": new});
        let said = self.conversation.call("write_file", &args)?;
        let began = self.conversation.began.unwrap_or(self.serial);
        let last = self.writers.get(self.name);
        let number = self.conversation.number;
        let by_others = last.is_some_and(|(by, at)| *by != number && *at > began);
        let is_unread = self.seen.is_none() && self.before.is_some() && by_others;
        let has_word = said.contains("had not read it") || said.contains("has undone that");
        let is_lost = (self.is_stale || is_unread) && !has_word;
        let door = self.conversation.door.name();
        assert!(
            !is_lost,
            "{} was lost by {door} {number}, which began with step {began}: {said}",
            self.name
        );
        self.conversation.seen.insert(self.name, new);
        self.conversation.began.get_or_insert(self.serial);
        self.has_written();
        Ok(said)
    }

    fn edit(&mut self, random: &mut Random) -> Result<String, String> {
        let known = self.seen.clone().unwrap_or_default();
        let lines: Vec<&str> = known.lines().collect();
        if lines.is_empty() {
            return Ok(String::new());
        }
        let (name, line) = (self.name, random.of(&lines));
        let new = format!("edited {}", self.serial);
        let said = if random.one_in(2) {
            let [old, new] = [line, &new].map(|line| format!("{line}\n"));
            let args = json!({"file_path": name, "old_string": old, "new_string": new});
            self.conversation.call("replace", &args)?
        } else {
            let section = format!("*** Update File: {name}\n-{line}\n+{new}");
            let patch = format!("*** Begin Patch\n{section}\n*** End Patch");
            self.conversation
                .call("apply_patch", &json!({"patch": patch}))?
        };
        let edited = |text: &str| text.replacen(&format!("{line}\n"), &format!("{new}\n"), 1);
        let expected = self.before.as_deref().map(edited);
        assert_eq!(content(self.conversation.ws, name), expected, "{said}");
        let has_word = said.contains("changed since you read it");
        assert!(!self.is_stale || has_word, "no word: {said}");
        let now = content(self.conversation.ws, name).filter(|_| said.contains("has undone that"));
        let known = now.unwrap_or_else(|| edited(&known));
        self.conversation.seen.insert(name, known);
        self.has_written();
        Ok(said)
    }
}

impl Turn<'_, '_> {
    /// Moves the file to a name that is free. What was known of it is known of it there.
    fn rename(&mut self, random: &mut Random) -> Result<String, String> {
        let (ws, name, to) = (self.conversation.ws, self.name, random.of(&FILES));
        let Some(before) = self.before.clone().filter(|_| content(ws, to).is_none()) else {
            return Ok(String::new());
        };
        // An agent whose model repeats a call is stopped.
        let head = format!("*** Begin Patch\n*** Environment ID: {}", self.serial);
        let section = format!("*** Update File: {name}\n*** Move to: {to}");
        let patch = format!("{head}\n{section}\n*** End Patch");
        let args = json!({"patch": patch});
        let said = self.conversation.call("apply_patch", &args)?;
        assert_eq!(content(ws, to).as_ref(), Some(&before), "{said}");
        let known = self.conversation.seen.remove(name);
        self.conversation.seen.insert(to, known.unwrap_or(before));
        self.conversation.began.get_or_insert(self.serial);
        self.name = to;
        self.has_written();
        Ok(said)
    }
}

/// Lets a conversation make a random step, and checks that it loses nothing unseen.
fn step(
    conversation: &mut Conversation<'_>,
    random: &mut Random,
    serial: usize,
    writers: &mut Writers,
    is_alone: bool,
) -> Step {
    let ws = conversation.ws;
    conversation.serial = serial;
    let name = random.of(&FILES);
    let before = content(ws, name);
    let seen = conversation.seen.get(name).cloned();
    let is_stale = seen.is_some() && before.is_some() && seen != before;
    let mut turn = Turn {
        conversation,
        writers,
        serial,
        name,
        before,
        seen,
        is_stale,
    };
    let outcome = match random.below(9) {
        0 | 1 => {
            turn.read();
            return Step::Other;
        }
        2 => {
            turn.command();
            return Step::Other;
        }
        3 if is_alone || random.one_in(2) => {
            turn.meanwhile(!is_alone && random.one_in(2));
            return Step::Other;
        }
        3..6 => turn.write(),
        6 => turn.rename(random),
        _ => turn.edit(random),
    };
    let Err(said) = outcome else {
        return Step::Other;
    };
    if !said.contains(REFUSED) {
        return Step::Other;
    }
    assert!(is_stale, "{name} was as it was seen: {said}");
    let before = turn.before.expect("it was refused for that");
    assert_eq!(content(ws, name).as_ref(), Some(&before), "{said}");
    // The refusal has shown what is there.
    turn.conversation.seen.insert(name, before);
    Step::Refused
}

/// A command in the background of a conversation that does nothing else.
struct Background<'w>(&'w Workspace, u64);

impl<'w> Background<'w> {
    fn start(ws: &'w Workspace) -> Self {
        let args = json!({"command": "sleep 300", "is_background": true});
        let said = Self::call(ws, "run_shell_command", &args);
        let pid = said.split("Background PIDs: ").nth(1).and_then(|pids| {
            let pid = pids.split(|c: char| !c.is_ascii_digit()).next();
            pid?.parse().ok()
        });
        Self(ws, pid.expect("a process in the background"))
    }

    fn call(ws: &Workspace, tool: &str, args: &Value) -> String {
        let call = ws.tool(tool).arguments(args).unwatched();
        call.env("GEMINI_TOOLS_SESSION", "a server").run().output()
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        Self::call(self.0, "stop_background_process", &json!({"pid": self.1}));
    }
}

/// A tree in which some files are so large that their lines are not remembered.
fn tree(random: &mut Random) -> Workspace {
    let ws = Workspace::new();
    for name in &FILES[..2] {
        let mut text = lines(8, |line| format!("{name}, line {line}\n"));
        if random.one_in(4) {
            text.push_str(&"long ".repeat(60_000));
            text.push('\n');
        }
        crate::harness::write(&ws.dir().join(name), text.as_bytes());
    }
    ws
}

#[test]
fn conversations_lose_nothing_of_each_other_unseen() {
    let mut refusals = 0;
    for seed in seeds("interleavings", 20 * trials()) {
        let mut random = Random::new(seed);
        let ws = tree(&mut random);
        let count = 2 + random.below(7);
        let mut all: Vec<_> = (0..count)
            .map(|n| Conversation::new(&ws, n, &mut random))
            .collect();
        let mut writers = Writers::new();
        // What runs in the background of another conversation excuses nobody.
        let server = random.one_in(2).then(|| Background::start(&ws));
        for serial in 0..30 {
            if random.one_in(6) {
                // A person's editor, which writes a new file.
                let name = random.of(&FILES);
                let mut text = content(&ws, name).unwrap_or_default();
                text.insert_str(0, &format!("a person's line {serial}\n"));
                fs::write(ws.path("editor"), text).expect("written");
                fs::rename(ws.path("editor"), ws.path(name)).expect("renamed");
                writers.insert(name, (usize::MAX, serial));
                continue;
            }
            let at = random.below(all.len());
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                step(&mut all[at], &mut random, serial, &mut writers, false)
            }));
            match result {
                Ok(step) => refusals += u32::from(step == Step::Refused),
                Err(panic) => {
                    let _ = writeln!(std::io::stderr(), "seed {seed}, step {serial}");
                    std::panic::resume_unwind(panic);
                }
            }
        }
        drop(server);
    }
    assert!(
        refusals > 0,
        "nothing was refused: the conversations do not meet"
    );
}

#[test]
fn a_conversation_that_works_alone_is_never_refused() {
    for seed in seeds("conversations alone", 20 * trials()) {
        let mut random = Random::new(seed);
        let ws = tree(&mut random);
        let mut alone = Conversation::new(&ws, 0, &mut random);
        let mut writers = Writers::new();
        for serial in 0..30 {
            let step = step(&mut alone, &mut random, serial, &mut writers, true);
            assert!(step == Step::Other, "seed {seed}, step {serial}");
        }
    }
}

fn call_in(ws: &Workspace, session: &str, tool: &str, args: &Value) -> Answer {
    let call = ws.tool(tool).arguments(args).unwatched();
    call.env("GEMINI_TOOLS_SESSION", session).run()
}

#[test]
fn only_the_lines_that_were_shown_again_count_as_seen() {
    const LINES: usize = 60;
    for seed in seeds("lines shown again", 20 * trials()) {
        let mut random = Random::new(seed);
        let mut lines: Vec<String> = (0..LINES).map(|n| format!("line {n}")).collect();
        let ws = Workspace::new().file("a.txt", lines.join("\n") + "\n");
        let call = |tool: &str, args: &Value| call_in(&ws, "anna", tool, args);
        call("read_file", &json!({"absolute_path": "a.txt"})).output();
        let changed: Vec<usize> = (0..=random.below(3)).map(|_| random.below(LINES)).collect();
        for line in &changed {
            lines[*line] = format!("somebody's {line}");
        }
        fs::write(ws.path("a.txt"), lines.join("\n") + "\n").expect("written");
        let mut shown = [false; LINES];
        for _ in 0..random.below(4) {
            let from = random.below(LINES);
            let count = 1 + random.below(LINES);
            shown[from..(from + count).min(LINES)].fill(true);
            let args = json!({"absolute_path": "a.txt", "offset": from, "limit": count});
            call("read_file", &args).output();
        }
        let is_known = changed.iter().all(|line| shown[*line]);
        let args = json!({"file_path": "a.txt", "content": "all new\n"});
        let answer = call("write_file", &args);
        let said = answer.shown();
        assert_eq!(
            said.contains(REFUSED),
            !is_known,
            "seed {seed}: {changed:?}, {said}"
        );
    }
}

#[test]
fn what_is_shown_while_an_own_command_runs_is_changed_by_that_command() {
    let ws = Workspace::new().file("a.txt", "one\n");
    let call = |tool: &str, args: &Value| call_in(&ws, "one", tool, args);
    let wait = "until [ -e go ]; do sleep 0.01; done; echo two > a.txt";
    std::thread::scope(|scope| {
        let command = scope.spawn(|| {
            let command = format!("touch begun; {wait}");
            call("run_shell_command", &json!({"command": command})).output()
        });
        while !ws.dir().join("begun").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        call("read_file", &json!({"absolute_path": "a.txt"})).output();
        fs::write(ws.path("go"), "").expect("written");
        command.join().expect("ended");
    });
    let args = json!({"file_path": "a.txt", "content": "three\n"});
    call("write_file", &args).output();
}

#[test]
fn the_users_setting_makes_a_refusal_a_word_or_nothing() {
    for (setting, expected) in [
        ("warn", "this write has undone that"),
        ("off", "Successfully overwrote"),
    ] {
        let settings = json!({"tools": {"unseenChanges": setting}}).to_string();
        let ws = Workspace::new()
            .home(".gemini/settings.json", settings)
            .file("a.txt", "one\n");
        let call = |tool: &str, args: &Value| call_in(&ws, "one", tool, args).output();
        call("read_file", &json!({"absolute_path": "a.txt"}));
        fs::write(ws.path("a.txt"), "two\n").expect("written");
        let args = json!({"file_path": "a.txt", "content": "three\n"});
        let said = call("write_file", &args);
        assert!(said.contains(expected), "{setting}: {said}");
        assert_eq!(said.contains("undone"), setting == "warn", "{said}");
    }
}

#[test]
fn a_server_that_reads_its_settings_again_is_the_same_conversation() {
    let ws = Workspace::new()
        .home(".gemini/settings.json", "{}")
        .file("a.txt", "one\n");
    let mut server = Server::greeted(&ws, &[], &json!({}));
    server.call("read_file", &json!({"absolute_path": "a.txt"}));
    fs::write(ws.path("a.txt"), "somebody's\n").expect("written");
    let settings = ws.root().join("home/.gemini/settings.json");
    write(&settings, b"{\"tools\": {}}");
    let said = server.call(
        "write_file",
        &json!({"file_path": "a.txt", "content": "two\n"}),
    );
    assert!(said["isError"] == true, "{said}");
}

#[test]
fn a_script_may_change_a_file_between_its_calls_by_any_program() {
    const SCRIPT: &str = r#"
        "$@" read_file absolute_path=a.txt
        sed -i s/one/two/ a.txt
        "$@" replace file_path=a.txt old_string=two new_string=three
        echo four > a.txt
        "$@" write_file file_path=a.txt content=five
        exit $?
    "#;
    for shell in ["bash", "sh"] {
        let ws = Workspace::new()
            .file("a.txt", "one\n")
            .file("script", SCRIPT);
        let run = |session: &[(&str, &str)]| {
            let line = format!("exec {shell} script \"$@\"");
            let call = ws.call_tool(&[]).in_bash(&line).unwatched();
            let call = session
                .iter()
                .fold(call, |call, (name, value)| call.env(name, value));
            call.run()
        };
        let said = run(&[]);
        assert_eq!(said.text().matches("has undone that").count(), 2);
        assert_eq!(said.status(), 0);
        fs::write(ws.path("a.txt"), "one\n").expect("written");
        // With a session's name, whatever its calls did not do was done by somebody else.
        let said = run(&[("GEMINI_TOOLS_SESSION", "one")]);
        assert_eq!(said.text().matches("by somebody else").count(), 2);
        assert_eq!(said.status(), 1);
    }
}

#[test]
fn what_the_caller_wants_to_write_anyway_is_written_the_second_time() {
    let ws = Workspace::new()
        .file("a.txt", "one\n")
        .file("b.txt", "one\n");
    let call = |tool: &str, args: &Value| call_in(&ws, "one", tool, args);
    for name in ["a.txt", "b.txt"] {
        call("read_file", &json!({"absolute_path": name})).output();
        fs::write(ws.path(name), "two\n").expect("written");
    }
    let write = json!({"file_path": "a.txt", "content": "three\n"});
    let refused = call("write_file", &write).error("file_write_failure", 1);
    assert!(
        refused.contains("+two") && refused.contains("1 line that you saw gone"),
        "{refused}"
    );
    call("write_file", &write).output();
    // The same content loses nothing, and an explanation does nothing.
    call(
        "write_file",
        &json!({"file_path": "b.txt", "content": "two\n"}),
    )
    .output();
    let delete = json!({"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"});
    fs::write(ws.path("a.txt"), "four\n").expect("written");
    let explained = ws
        .tool("apply_patch")
        .flags(&["--explain"])
        .arguments(&delete);
    assert_eq!(
        explained.env("GEMINI_TOOLS_SESSION", "one").run().status(),
        0
    );
    let refused = call("apply_patch", &delete).error("file_write_failure", 1);
    assert!(refused.contains("+four"), "{refused}");
    call("apply_patch", &delete).output();
}

#[test]
fn what_an_own_undo_gives_back_counts_as_seen() {
    let ws = Workspace::new().file("a.txt", "one\ntwo\n");
    let one =
        |call: crate::harness::Call| call.env("GEMINI_TOOLS_SESSION", "one").unwatched().run();
    let call = |tool: &str, args: &Value| one(ws.tool(tool).arguments(args));
    let edit = json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"});
    let write = json!({"file_path": "a.txt", "content": "three\n"});
    call("read_file", &json!({"absolute_path": "a.txt"})).output();
    call("replace", &edit).output();
    assert_eq!(one(ws.call_tool(&["--undo"])).status(), 0);
    call("write_file", &write).output();
    // What somebody else has written meanwhile does not.
    call(
        "replace",
        &json!({"file_path": "a.txt", "old_string": "three", "new_string": "3"}),
    )
    .output();
    fs::write(ws.path("a.txt"), "3\nfour\n").expect("written");
    let _ = one(ws.call_tool(&["--undo"]));
    let refused = call("write_file", &write).error("file_write_failure", 1);
    assert!(refused.contains(REFUSED), "{refused}");
}

#[test]
fn what_a_call_has_not_shown_does_not_count_as_seen() {
    let large = [&b"\0"[..], &vec![1; 21 * 1024 * 1024]].concat();
    let long = "long ".repeat(2000);
    let cases: [(&str, Value, &[u8]); 7] = [
        (
            "read_file",
            json!({"absolute_path": "a.rs", "offset": 100}),
            b"fn two() {}\n",
        ),
        (
            "read_file",
            json!({"absolute_path": "a.rs", "outline": true}),
            b"fn two() {}\n",
        ),
        ("read_file", json!({"absolute_path": "a.rs"}), b"\0\x01\x02"),
        ("read_file", json!({"absolute_path": "a.rs"}), &large),
        ("read_many_files", json!({"paths": ["a.rs"]}), b"\0\x01\x02"),
        (
            "read_file",
            json!({"absolute_path": "a.rs"}),
            long.as_bytes(),
        ),
        (
            "read_many_files",
            json!({"paths": ["a.rs"]}),
            long.as_bytes(),
        ),
    ];
    for (tool, args, content) in cases {
        let ws = Workspace::new().file("a.rs", "fn one() {}\n");
        let call = |tool: &str, args: &Value| call_in(&ws, "one", tool, args);
        call("read_file", &json!({"absolute_path": "a.rs"})).output();
        fs::write(ws.path("a.rs"), content).expect("written");
        // Whether it can show the file or not.
        let _ = call(tool, &args);
        let write = json!({"file_path": "a.rs", "content": "fn three() {}\n"});
        let refused = call("write_file", &write).error("file_write_failure", 1);
        assert!(refused.contains(REFUSED), "{tool} {args}: {refused}");
    }
}

#[test]
fn what_a_host_would_cut_from_an_answer_is_not_shown_and_not_seen() {
    const HOSTS: [&str; 4] = [
        "codex-mcp-client",
        "opencode",
        "gemini-cli-mcp-client",
        "claude-code",
    ];
    let mut refusals = 0;
    for seed in seeds("cut answers", 12 * trials()) {
        let mut random = Random::new(seed);
        let host = random.of(&HOSTS);
        let count = 100 + random.below(3000);
        let fill = random
            .of(&["é", "\"", "fn x() {} "])
            .repeat(random.below(60));
        let mut text: Vec<String> = (0..count)
            .map(|n| format!("fn line{n}() {{}} {fill}"))
            .collect();
        let ws = Workspace::new().file("a.rs", text.join("\n") + "\n");
        let mut server = Server::start(&ws, &[]);
        let client = json!({"name": host, "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        server.ask("initialize", &hello);
        let mut call = |tool: &str, args: &Value| {
            let result = server.call(tool, args);
            result["content"][0]["text"]
                .as_str()
                .expect("a text")
                .to_owned()
        };
        let one = random.one_in(2);
        let reading = if one { "read_file" } else { "read_many_files" };
        let args = if one {
            json!({"absolute_path": "a.rs"})
        } else {
            json!({"paths": ["a.rs"]})
        };
        call(
            "read_file",
            &json!({"absolute_path": "a.rs", "limit": 100_000}),
        );
        for offset in (0..count).step_by(50) {
            call(
                "read_file",
                &json!({"absolute_path": "a.rs", "offset": offset, "limit": 50}),
            );
        }
        text[random.below(count)] = "somebody's line".to_owned();
        fs::write(ws.path("a.rs"), text.join("\n") + "\n").expect("written");
        let shown = call(reading, &args);
        let is_shown = shown.contains("somebody's line");
        let said = call(
            "write_file",
            &json!({"file_path": "a.rs", "content": "new\n"}),
        );
        assert!(
            !shown.contains("are left out here"),
            "seed {seed}, {host}: {shown}"
        );
        // Of a file over 256 KiB that is shown in part, the whole counts as not seen.
        let is_large = text.join("\n").len() > 250 * 1024;
        let is_refused = said.contains(REFUSED);
        let of = format!("seed {seed}, {host}: {said}");
        assert!(is_refused || is_shown, "{of}");
        assert!(!is_refused || !is_shown || is_large, "{of}");
        refusals += u32::from(!is_shown);
    }
    assert!(refusals > 0, "nothing was cut");
}

#[test]
fn a_path_that_leads_elsewhere_is_refused_once_unless_an_own_command_has_turned_it() {
    let turns = [
        ("ln -s one to; mv to d", "ln -sfn two d"),
        ("mkdir d; echo 1 > d/f", "mv d was; ln -s two d"),
        ("ln -s one d", "rm d; mkdir d; echo 2 > d/f"),
        ("mkdir d; ln -s ../one/f d/f", "ln -sf ../two/f d/f"),
        ("mkdir d; ln -s ../one/f d/f", "rm d/f; echo 2 > d/f"),
    ];
    for (before, turn) in turns {
        for (is_own, first) in [
            (false, "read_file"),
            (false, "write_file"),
            (true, "read_file"),
        ] {
            let ws = Workspace::new().file("one/f", "1\n").file("two/f", "2\n");
            let shell = |script: &str| {
                let mut command = std::process::Command::new("sh");
                let status = command.args(["-c", script]).current_dir(ws.dir()).status();
                assert!(status.expect("it runs").success(), "{script}");
            };
            let call = |tool: &str, args: &Value| call_in(&ws, "anna", tool, args);
            let write = json!({"file_path": "d/f", "content": "new\n"});
            shell(before);
            if first == "write_file" {
                call(first, &write).output();
            } else {
                call(first, &json!({"absolute_path": "d/f"})).output();
            }
            if is_own {
                call("run_shell_command", &json!({"command": turn})).output();
                let said = call("write_file", &write).output();
                assert!(said.contains("the path led to"), "{turn}: {said}");
                continue;
            }
            shell(turn);
            let said = call("write_file", &write).error("file_write_failure", 1);
            assert!(said.contains("leads to another file"), "{turn}: {said}");
            assert_eq!(content(&ws, "d/f").expect("there"), "2\n", "{turn}");
            call("write_file", &write).output();
        }
    }
}

#[test]
fn calls_at_the_same_time_are_no_reason_to_refuse() {
    let ws = Workspace::new();
    let mut server = Server::greeted(&ws, &[], &json!({}));
    for n in 0..60 * trials() {
        fs::write(ws.path("a.txt"), lines(2000, |n| format!("{n}\n"))).expect("written");
        server.call("read_file", &json!({"absolute_path": "a.txt"}));
        let edit = json!({"file_path": "a.txt", "old_string": "\n77\n", "new_string": "\nseven\n"});
        let calls = [
            ("replace", edit),
            ("read_file", json!({"absolute_path": "a.txt"})),
            ("read_many_files", json!({"paths": ["a.txt"]})),
        ];
        let ids = calls.map(|(tool, args)| {
            server.request("tools/call", &json!({"name": tool, "arguments": args}))
        });
        for id in ids {
            server.answer(id);
        }
        let write = json!({"file_path": "a.txt", "content": format!("{n}\n")});
        let said = server.call("write_file", &write).to_string();
        assert!(!said.contains(REFUSED), "{n}: {said}");
    }
}

#[test]
fn conversations_are_removed_when_they_are_old_or_too_many() {
    let ws = Workspace::new().file("a.txt", "one\n");
    let all = ws.root().join("home/.gemini/tools_seen");
    let add = |first: u64, count: u64| {
        for number in first..first + count {
            let path = all.join(number.to_string());
            write(&path.join("began"), b"");
            set_age(&path, number * 3600);
        }
    };
    let read = || {
        let call = ws
            .tool("read_file")
            .arguments(&json!({"absolute_path": "a.txt"}));
        call.unwatched().run().output();
    };
    let numbers = || {
        let names = fs::read_dir(&all)
            .expect("it")
            .flatten()
            .map(|entry| entry.file_name());
        let numbers = names.filter_map(|name| name.to_str()?.parse::<u64>().ok());
        numbers
            .filter(|number| *number < 10_000)
            .collect::<BTreeSet<_>>()
    };
    // The hours of a week.
    add(160, 16);
    read();
    assert_eq!(numbers(), (160..168).collect());
    // Looked at once a minute.
    add(168, 8);
    read();
    assert_eq!(numbers().len(), 16);
    fs::remove_file(all.join(".pruned")).expect("there");
    add(1, 160);
    for number in 0..1000 {
        fs::create_dir(all.join(format!("new{number}"))).expect("made");
    }
    read();
    assert_eq!(numbers().len(), 0);
    // The present one came after.
    assert_eq!(fs::read_dir(&all).expect("it").count(), 1000 + 2);
}
