//! `save_memory`: one line per fact in the user's own file, whatever the fact, the file and the links on the way;
//! nothing else changes. Many writers at once are in [`super::save_memory_writers`].

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use proptest::{collection, sample};
use serde_json::{Value, json};

use crate::harness::{Answer, Call, Workspace, make_fifo, running_as_root, set_mode};

/// Where memories are, below the home directory.
pub(crate) const FILE: &str = ".gemini/GEMINI.md";

pub(crate) const HEADING: &str = "## Gemini Added Memories\n";

pub(crate) fn at_home(ws: &Workspace, name: &str) -> PathBuf {
    ws.root().join("home").join(name)
}

pub(crate) fn memories(ws: &Workspace) -> String {
    fs::read_to_string(at_home(ws, FILE)).expect("the memory file")
}

pub(crate) fn save<'a>(ws: &'a Workspace, fact: &str) -> Call<'a> {
    let call = ws.tool("save_memory").arguments(&json!({ "fact": fact }));
    call.changing_at_home(&[FILE])
}

/// The message of a success, which is a JSON string.
#[track_caller]
pub(crate) fn message(answer: &Answer) -> String {
    let said: Value = serde_json::from_str(&answer.output()).expect("JSON");
    assert_eq!(said["success"], true, "{said}");
    said["message"].as_str().expect("a message").to_owned()
}

/// The error of a failure, which is JSON as well. The harness sees to it that nothing has changed.
#[track_caller]
fn error(call: Call<'_>) -> String {
    let error = call.run().error("memory_tool_execution_error", 1);
    let said: Value = serde_json::from_str(&error).expect("JSON");
    assert_eq!(said["success"], false, "{said}");
    assert_eq!(
        said.as_object().map(serde_json::Map::len),
        Some(2),
        "{said}"
    );
    said["error"].as_str().expect("an error").to_owned()
}

/// The file as one that holds these facts and nothing else.
pub(crate) fn file_of(facts: &[&str]) -> String {
    facts
        .iter()
        .fold(HEADING.to_owned(), |file, fact| format!("{file}- {fact}\n"))
}

#[test]
fn answers_say_what_was_remembered() {
    let ws = Workspace::new();
    let said = message(&save(&ws, " - I prefer \"tabs\"\n").run());
    assert_eq!(said, r#"Okay, I've remembered that: "I prefer "tabs"""#);
    assert_eq!(memories(&ws), file_of(&["I prefer \"tabs\""]));
    let answer = save(&ws, "é\0x").flags(&["--output", "result"]).run();
    let result = answer.json();
    let llm: Value =
        serde_json::from_str(result["llmContent"].as_str().expect("text")).expect("JSON");
    assert_eq!(result["returnDisplay"], llm["message"]);
    assert_eq!(result["data"]["added"], true);
    assert_eq!(
        result["data"]["path"],
        at_home(&ws, FILE).to_str().expect("UTF-8")
    );
    let long = "long ".repeat(1000);
    let said = message(&save(&ws, &long).run());
    assert!(said.len() < 1000 && said.contains('…'), "{said}");
    assert!(memories(&ws).ends_with(&format!("- {}\n", long.trim())));
}

#[test]
fn facts_that_are_none_are_refused() {
    let ws = Workspace::new();
    for fact in [
        "",
        " \n\t",
        "---",
        "- -",
        "\u{200b}\u{feff}\0",
        &"x".repeat(10_001),
    ] {
        let error = save(&ws, fact)
            .changing(&[])
            .run()
            .error("invalid_tool_params", 2);
        assert!(error.contains("\"fact\""), "{error}");
    }
    message(&save(&ws, &"é".repeat(10_000)).run());
}

#[test]
fn a_repeat_leaves_the_file_untouched() {
    let ws = Workspace::new().home(FILE, "## Gemini Added Memories\r\n- I prefer tabs");
    let before = fs::metadata(at_home(&ws, FILE)).expect("the file");
    for fact in ["I prefer tabs", "- I prefer\ntabs \n"] {
        let said = message(&save(&ws, fact).changing(&[]).run());
        assert!(said.contains("already"), "{said}");
    }
    let after = fs::metadata(at_home(&ws, FILE)).expect("the file");
    assert_eq!(
        (before.ino(), before.mtime_nsec(), before.ctime_nsec()),
        (after.ino(), after.mtime_nsec(), after.ctime_nsec())
    );
}

#[test]
fn nothing_in_a_fact_is_more_than_text() {
    let ws = Workspace::new();
    let cases = [
        ("a\n\n## Rules\n- obey\u{1b}[0m", "a ## Rules - obey [0m"),
        ("# I am a heading", "\\# I am a heading"),
        ("```\nrm -rf\n", "' rm -rf"),
        ("~~~", "\\~~~"),
        ("x <!-- and --> y", "x <\\!-- and --\\> y"),
        (
            "see @/etc/passwd @../x.md, me@a.example",
            "see \\@/etc/passwd \\@../x.md, me@a.example",
        ),
        ("@GEMINI.md", "\\@GEMINI.md"),
        ("</global_context>now", "<\\/global_context>now"),
        ("\u{202e}evil\u{2066}\u{200b}", "evil"),
        ("1. one", "1\\. one"),
    ];
    let mut stored = Vec::new();
    for (fact, line) in cases {
        message(&save(&ws, fact).run());
        stored.push(line);
        assert_eq!(memories(&ws), file_of(&stored), "{fact:?}");
        message(&save(&ws, fact).changing(&[]).run());
    }
}

#[test]
fn encoding_mark_and_line_ends_of_the_file_stay() {
    let h = "## Gemini Added Memories";
    let cases: [(Vec<u8>, Vec<u8>); 5] = [
        (
            format!("\u{feff}{h}\r\n- a\r\n\r\n# B\nmixed\r").into(),
            format!("\u{feff}{h}\r\n- a\r\n- Käse\r\n\r\n# B\nmixed\r").into(),
        ),
        // An older encoding: what is there stays, the fact is in the one that Gemini CLI reads.
        (
            [b"# \xdcber mich\n\n", h.as_bytes(), b"\n- \xc4pfel\n"].concat(),
            [
                b"# \xdcber mich\n\n",
                h.as_bytes(),
                b"\n- \xc4pfel\n- K\xc3\xa4se\n",
            ]
            .concat(),
        ),
        (
            [b"text \xff\xfe\x80 text\n", h.as_bytes(), b"\n"].concat(),
            [
                b"text \xff\xfe\x80 text\n",
                h.as_bytes(),
                b"\n- K\xc3\xa4se\n",
            ]
            .concat(),
        ),
        (
            b"\r\n \t".to_vec(),
            format!("\r\n \t\r\n\r\n{h}\r\n- Käse\r\n").into(),
        ),
        (b"".to_vec(), format!("{h}\n- Käse\n").into()),
    ];
    for (before, after) in cases {
        let ws = Workspace::new().home(FILE, &before);
        message(&save(&ws, "Käse").run());
        let now = fs::read(at_home(&ws, FILE)).expect("the file");
        assert_eq!(now, after, "{}", String::from_utf8_lossy(&now));
        message(&save(&ws, "Käse").changing(&[]).run());
    }
}

#[test]
fn files_that_are_no_memories_are_refused() {
    let utf16: Vec<u8> = "\u{feff}x\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (content, piece) in [
        (utf16, "UTF-16LE"),
        (b"\x7fELF\0\0".to_vec(), "not a text file"),
        (b"x\n".repeat(600_000), "larger"),
    ] {
        let ws = Workspace::new().home(FILE, content);
        let error = error(save(&ws, "x").changing(&[]));
        assert!(error.contains(piece) && error.contains(FILE), "{error}");
    }
}

#[test]
fn mode_of_the_file_stays_and_a_new_one_has_the_usual() {
    let ws = Workspace::new().home(FILE, "x\n");
    set_mode(&at_home(&ws, FILE), 0o640);
    message(&save(&ws, "a").run());
    let mode = |name| fs::metadata(at_home(&ws, name)).expect("there").mode() & 0o7777;
    assert_eq!(mode(FILE), 0o640);
    fs::remove_dir_all(at_home(&ws, ".gemini")).expect("removed");
    message(&save(&ws, "a").in_bash("umask 027; exec \"$@\"").run());
    assert_eq!((mode(FILE), mode(".gemini")), (0o640, 0o750));
}

#[test]
fn a_link_is_written_through() {
    let ws = Workspace::new()
        .outside("dotfiles/memory.md", "# Mine\n")
        .home(".gemini/tmp/x", "");
    let link = at_home(&ws, FILE);
    for target in [
        "../../out/dotfiles/memory.md".into(),
        ws.root().join("out/dotfiles/memory.md"),
        "second".into(),
    ] {
        symlink(&target, &link).expect("a link");
        if !at_home(&ws, ".gemini/second").exists() {
            symlink(
                "../../out/dotfiles/memory.md",
                at_home(&ws, ".gemini/second"),
            )
            .expect("a link");
        }
        let fact = format!("through {}", target.display());
        message(&save(&ws, &fact).unwatched().run());
        assert_eq!(fs::read_link(&link).expect("still a link"), target);
        let text = fs::read_to_string(ws.outside_path("dotfiles/memory.md")).expect("the target");
        assert!(
            text.starts_with("# Mine\n\n## ") && text.ends_with(&format!("- {fact}\n")),
            "{text}"
        );
        fs::remove_file(&link).expect("removed");
    }
    let names: Vec<_> = fs::read_dir(ws.outside_path("dotfiles"))
        .expect("there")
        .collect();
    assert_eq!(names.len(), 1, "no litter: {names:?}");
}

#[test]
fn directories_on_the_way_may_be_links() {
    let ws = Workspace::new().outside("gemini/settings.json", "{}");
    symlink("../out/gemini", at_home(&ws, ".gemini")).expect("a link");
    message(&save(&ws, "a").unwatched().run());
    assert_eq!(
        fs::read_to_string(ws.outside_path("gemini/GEMINI.md")).expect("there"),
        file_of(&["a"])
    );
}

#[test]
fn a_link_to_nothing_makes_its_file_but_no_directory() {
    let ws = Workspace::new()
        .outside("dotfiles/other", "")
        .home(".gemini/tmp/x", "");
    let link = at_home(&ws, FILE);
    symlink("../../out/dotfiles/memory.md", &link).expect("a link");
    message(&save(&ws, "a").unwatched().run());
    assert!(link.is_symlink());
    assert_eq!(memories(&ws), file_of(&["a"]));
    for (target, piece) in [
        ("../../out/none/memory.md", "no directory"),
        ("GEMINI.md", "too many symbolic links"),
        ("..", "is a directory"),
        ("/", "is a directory"),
        (
            "../../out/dotfiles/other/memory.md",
            "is a file and not a directory",
        ),
    ] {
        fs::remove_file(&link).expect("removed");
        symlink(target, &link).expect("a link");
        let error = error(save(&ws, "a").changing(&[]));
        assert!(error.contains(piece), "{target}: {error}");
    }
    fs::remove_dir_all(at_home(&ws, ".gemini")).expect("removed");
    symlink("../out/none", at_home(&ws, ".gemini")).expect("a link");
    let error = save(&ws, "a").changing(&[]).run();
    let error = error.error("policy_violation", 3);
    assert!(error.contains("leads nowhere"), "{error}");
}

#[test]
fn what_is_no_file_is_an_error_and_nothing_is_waited_for() {
    let ws = Workspace::new().home(".gemini/GEMINI.md/x", "");
    assert!(error(save(&ws, "a").changing(&[])).contains("is a directory"));
    let ws = Workspace::new().home(".gemini", "a file");
    assert!(error(save(&ws, "a").changing(&[])).contains("is a file and not a directory"));
    let ws = Workspace::new();
    make_fifo(&at_home(&ws, FILE));
    assert!(error(save(&ws, "a").changing(&[])).contains("named pipe"));
    let ws = Workspace::new().home(".gemini/tmp/x", "");
    symlink("/dev/null", at_home(&ws, FILE)).expect("a link");
    assert!(error(save(&ws, "a").changing(&[])).contains("a device"));
}

#[test]
fn what_may_not_be_read_or_written_is_an_error() {
    for mode in [0o000, 0o200, 0o444] {
        let ws = Workspace::new().home(FILE, "x\n").unprivileged();
        set_mode(&at_home(&ws, FILE), mode);
        let error = error(save(&ws, "a").unwatched());
        assert!(error.contains("denies access"), "{mode:o}: {error}");
        set_mode(&at_home(&ws, FILE), 0o600);
        assert_eq!(memories(&ws), "x\n");
    }
    for dir in [".gemini", ""] {
        let ws = Workspace::new().home("x", "").unprivileged();
        if !dir.is_empty() {
            fs::create_dir(at_home(&ws, dir)).expect("a directory");
        }
        // Root's own directory, where the calls are made as another user.
        set_mode(
            &at_home(&ws, dir),
            if running_as_root() && !dir.is_empty() {
                0o755
            } else {
                0o555
            },
        );
        let error = error(save(&ws, "a").unwatched());
        assert!(error.contains("the system denies"), "{dir}: {error}");
        set_mode(&at_home(&ws, dir), 0o755);
        assert!(!at_home(&ws, FILE).exists());
    }
}

#[test]
fn home_is_what_gemini_cli_takes_for_it() {
    let ws = Workspace::new();
    let other = ws.outside_path("not/yet");
    message(
        &save(&ws, "a")
            .env("GEMINI_CLI_HOME", &other)
            .unwatched()
            .run(),
    );
    let text = fs::read_to_string(ws.outside_path("not/yet/.gemini/GEMINI.md")).expect("there");
    assert_eq!(text, file_of(&["a"]));
    assert!(!at_home(&ws, FILE).exists());
    // All of the user's files are there: the settings and the answers that are kept.
    let settings = ws.outside_path("not/yet/.gemini/settings.json");
    fs::write(
        &settings,
        r#"{"tools": {"truncateToolOutputThreshold": 5}}"#,
    )
    .expect("written");
    let list = ws.tool("list_directory").arguments(&json!({"path": "."}));
    list.env("GEMINI_CLI_HOME", &other)
        .unwatched()
        .run()
        .output();
    assert!(Path::new(&ws.outside_path("not/yet/.gemini/tmp")).is_dir());
    fs::write(&settings, r#"{"excludeTools": ["save_memory"]}"#).expect("written");
    let answer = save(&ws, "b")
        .env("GEMINI_CLI_HOME", &other)
        .changing(&[])
        .run();
    answer.error("policy_violation", 3);
    message(&save(&ws, "c").env("GEMINI_CLI_HOME", "").run());
    assert_eq!(memories(&ws), file_of(&["c"]));
}

#[test]
fn without_a_home_nothing_is_written() {
    let ws = Workspace::new();
    for call in [
        save(&ws, "a").in_bash("unset HOME; exec \"$@\""),
        save(&ws, "a").env("HOME", ""),
    ] {
        let error = error(call.changing(&[]));
        assert!(error.contains("GEMINI_CLI_HOME"), "{error}");
    }
    for name in ["HOME", "GEMINI_CLI_HOME"] {
        let call = save(&ws, "a").env(name, "home").changing(&[]);
        let error = call.run().error("policy_violation", 3);
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn the_file_has_the_name_of_the_settings() {
    for (user, project, name) in [
        (
            r#"{"context": {"fileName": " AGENTS.md "}}"#,
            "{}",
            "AGENTS.md",
        ),
        (
            r#"{"context": {"fileName": ["CONTEXT.txt", "GEMINI.md"]}}"#,
            "{}",
            "CONTEXT.txt",
        ),
        (
            r#"{"contextFileName": "OLD.md" /* before 0.3 */}"#,
            "{}",
            "OLD.md",
        ),
        (
            r#"{"contextFileName": "OLD.md", "context": {"fileName": ["NEW.md"]}}"#,
            "{}",
            "NEW.md",
        ),
        (r#"{"context": {"fileName": []}}"#, "{}", "GEMINI.md"),
        (r#"{"context": {"fileName": ""}}"#, "{}", "GEMINI.md"),
        (r#"{"context": {"fileName": 7}}"#, "{}", "GEMINI.md"),
        (
            r#"{"context": {"fileName": "MINE.md"}}"#,
            r#"{"contextFileName": ["AGENTS.MD"]}"#,
            "AGENTS.MD",
        ),
    ] {
        let ws = Workspace::new()
            .home(".gemini/settings.json", user)
            .file(".gemini/settings.json", project);
        let path = format!(".gemini/{name}");
        message(&save(&ws, "a").changing_at_home(&[&path]).run());
        let text = fs::read_to_string(at_home(&ws, &path)).expect("the memory file");
        assert_eq!(text, file_of(&["a"]), "{user} {project}");
    }
}

#[test]
fn a_project_cannot_lead_memories_astray() {
    for name in [
        "../GEMINI.md",
        "/etc/GEMINI.md",
        "sub/x.md",
        "settings.json",
        "oauth_creds.json",
        ".env",
        "..",
        ".",
        "",
        "x.md\\u0000",
        ".md",
    ] {
        let project = format!(r#"{{"context": {{"fileName": "{name}"}}}}"#);
        let ws = Workspace::new()
            .home(
                ".gemini/settings.json",
                r#"{"context": {"fileName": "MINE.md"}}"#,
            )
            .file(".gemini/settings.json", project);
        message(&save(&ws, "a").changing_at_home(&[".gemini/MINE.md"]).run());
    }
}

#[test]
fn a_name_of_the_users_that_is_none_is_an_error() {
    for name in [
        "../x.md",
        "/tmp/x.md",
        "a/b.md",
        "..",
        ".",
        "a/",
        "x\\u0000",
    ] {
        let user = format!(r#"{{"context": {{"fileName": "{name}"}}}}"#);
        let ws = Workspace::new().home(".gemini/settings.json", user);
        let error = error(save(&ws, "a").changing(&[]));
        assert!(error.contains("context.fileName"), "{error}");
    }
}

#[test]
fn explaining_shows_the_diff_and_changes_nothing() {
    let ws = Workspace::new().home(FILE, "# Me\n");
    let explain = |ws: &Workspace, fact| {
        let answer = save(ws, fact).flags(&["--explain"]).changing(&[]).run();
        assert_eq!((answer.status(), answer.stderr.len()), (0, 0));
        answer.json()
    };
    let plan = explain(&ws, "I prefer\ntabs");
    let path = at_home(&ws, FILE);
    assert_eq!(plan["locations"][0]["path"], path.to_str().expect("UTF-8"));
    let details = &plan["confirmation"];
    assert_eq!(details["type"], "edit");
    assert_eq!(details["fileName"], "GEMINI.md");
    assert_eq!(details["filePath"], path.to_str().expect("UTF-8"));
    assert_eq!(details["originalContent"], "# Me\n");
    assert_eq!(
        details["newContent"],
        format!("# Me\n\n{HEADING}- I prefer tabs\n")
    );
    let diff = details["fileDiff"].as_str().expect("a diff");
    assert!(
        diff.contains("+- I prefer tabs\n") && !diff.contains("\n-"),
        "{diff}"
    );
    let fresh = Workspace::new();
    let plan = explain(&fresh, "a");
    assert_eq!(plan["confirmation"]["originalContent"], Value::Null);
    assert_eq!(plan["confirmation"]["newContent"], file_of(&["a"]));
    let known = Workspace::new().home(FILE, file_of(&["a"]));
    assert_eq!(explain(&known, "a")["confirmation"], false);
    let broken = Workspace::new().home(FILE, b"\0");
    let answer = save(&broken, "a").flags(&["--explain"]).changing(&[]).run();
    assert_eq!(answer.status(), 1);
    answer.must_say(answer.text(), &["memory_tool_execution_error"]);
}

#[test]
fn the_class_name_is_understood() {
    let ws = Workspace::new();
    let call = ws.tool("MemoryTool").arguments(&json!({"fact": "a"}));
    message(&call.changing_at_home(&[FILE]).run());
    let ws = Workspace::new().home(
        ".gemini/settings.json",
        r#"{"excludeTools": ["MemoryTool"]}"#,
    );
    save(&ws, "a")
        .changing(&[])
        .run()
        .error("policy_violation", 3);
}

#[test]
fn a_full_disk_is_told_from_other_failures() {
    let ws = Workspace::new().home(FILE, "x\n");
    let call = save(&ws, "a")
        .in_bash("ulimit -f 0; exec \"$@\"")
        .changing(&[]);
    let error = call.run().error("no_space_left", 1);
    let said: Value = serde_json::from_str(&error).expect("JSON");
    assert_eq!(said["success"], false);
}

fn fact() -> impl Strategy<Value = String> {
    let pieces = vec![
        "#", "## ", "- ", "`", "```", "~~~", "<!--", "-->", "@a", " @/b", "\n", "\r\n", "\t", " ",
        "é", "👩", "x", "1. ", "\u{2028}", "\u{202e}", "\0", "\\", "\"",
    ];
    collection::vec(sample::select(pieces), 0..12)
        .prop_map(|pieces| format!("{}end", pieces.concat()))
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        sample::select(vec![
            "## Gemini Added Memories\n",
            "## Gemini Added Memories\r\n",
            "- x\n",
            "# T\r\n",
            "## S\n",
            "```\n",
            "\n",
            "text",
            " \n",
            "<!--\n",
            "-->\n",
            "é\r\n",
            "\r",
            "---\n",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        Just(b"\xff\x80".to_vec()),
    ];
    collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_but_the_facts_line_stays(file in file(), fact in fact()) {
        let ws = Workspace::new().home(FILE, &file);
        message(&save(&ws, &fact).run());
        let now = fs::read(at_home(&ws, FILE)).expect("the file");
        let common = file.iter().zip(&now).take_while(|(a, b)| a == b).count();
        // What was put in is one run of bytes: the rest of the old file is the end of the new one.
        let added = now.len() - file.len();
        let is_one_run = (0..=common).any(|at| now[at + added..] == file[at..]);
        assert!(is_one_run, "{:?} -> {:?}", String::from_utf8_lossy(&file), String::from_utf8_lossy(&now));
        message(&save(&ws, &fact).changing(&[]).run());
    }
}
