//! Which commands a line of shell runs: the corpus of `tests/commands`, and bash itself as the judge.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use gemini_tools::commands::analyse;
use proptest::prelude::{ProptestConfig, proptest};
use serde_json::{Value, json};

use crate::harness::{Workspace, set_mode, write};

struct Case {
    script: String,
    roots: Vec<String>,
    unresolved: Vec<String>,
    not_plain: Option<String>,
}

fn corpus() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/corpus.txt");
    let text = fs::read_to_string(path).expect("the corpus");
    let blocks = text.split("\n\n");
    let cases = blocks.filter(|block| {
        let mut lines = block.lines();
        lines.any(|line| line.starts_with("=>") || line.starts_with("! "))
    });
    cases.map(case).collect()
}

fn case(block: &str) -> Case {
    let mut script = Vec::new();
    let (mut roots, mut unresolved, mut not_plain) = (Vec::new(), Vec::new(), None);
    let parse = |text: &str| serde_json::from_str::<String>(text).expect("a JSON string");
    for line in block.lines() {
        if let Some(text) = line.strip_prefix("json ") {
            script.push(parse(text));
        } else if let Some(text) = line.strip_prefix('|') {
            script.push(text.strip_prefix(' ').unwrap_or(text).to_owned());
        } else if let Some(text) = line.strip_prefix("=>") {
            let names = text.split(", ").map(str::trim).filter(|n| !n.is_empty());
            roots.extend(names.map(str::to_owned));
        } else if let Some(text) = line.strip_prefix("? ") {
            unresolved.push(parse(text));
        } else if let Some(text) = line.strip_prefix("! ") {
            not_plain = Some(text.to_owned());
        } else {
            panic!("no line of a case: {line}");
        }
    }
    Case {
        script: script.join("\n"),
        roots,
        unresolved,
        not_plain,
    }
}

#[test]
fn corpus_yields_exactly_the_commands_that_run() {
    let cases = corpus();
    assert!(cases.len() >= 150, "{}", cases.len());
    let mut bad = Vec::new();
    for case in cases {
        let analysis = analyse(&case.script);
        let not_plain = analysis.not_plain.as_ref().map(ToString::to_string);
        let (roots, unresolved) = match not_plain {
            Some(_) => (Vec::new(), Vec::new()),
            None => (analysis.root_commands(), analysis.unresolved),
        };
        if (&roots, &unresolved, &not_plain) != (&case.roots, &case.unresolved, &case.not_plain) {
            let script = &case.script;
            bad.push(format!(
                "{script:?}\n{roots:?}\n{unresolved:?}\n{not_plain:?}"
            ));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n\n"));
}

/// Programs that the corpus names, as stubs that note that they were started.
const STUBS: [&str; 37] = [
    "a", "b", "c", "d", "e", "f", "g", "rm", "ls", "cat", "touch", "env", "sudo", "doas", "curl",
    "grep", "git", "diff", "find", "fd", "xargs", "nohup", "nice", "timeout", "flock", "script",
    "su", "strace", "watch", "busybox", "chroot", "stdbuf", "setsid", "which", "make", "ssh",
    "awk",
];

/// A directory of stubs and their log, of this case alone: what it leaves in the background may start later.
fn stubs(ws: &Workspace, number: usize) -> (PathBuf, PathBuf) {
    let bin = ws.root().join(format!("bin{number}"));
    let log = bin.with_extension("log");
    let stub = format!("#!/bin/bash\necho \"${{0##*/}}\" >> '{}'\n", log.display());
    write(&bin.join("stub"), stub.as_bytes());
    set_mode(&bin.join("stub"), 0o755);
    for name in STUBS {
        symlink("stub", bin.join(name)).expect("a stub");
    }
    fs::write(&log, "").expect("a log");
    (bin, log)
}

#[test]
fn every_program_that_bash_starts_is_among_them() {
    let ws = Workspace::new();
    let mut compared = 0;
    for (number, case) in corpus().into_iter().enumerate() {
        // What leaves the directory of stubs, or waits, is not run.
        let is_harmless = ![
            "/bin/", "/tmp", "/dev/tcp", "exec -a", "./", "select", "until", "while :", "PATH",
        ]
        .iter()
        .any(|part| case.script.contains(part))
            && !case.script.starts_with("while a");
        if !is_harmless {
            continue;
        }
        let (bin, log) = stubs(&ws, number);
        let mut bash = Command::new("/bin/bash");
        bash.args(["-c", "--", &case.script]).current_dir(ws.dir());
        bash.env_clear().env("PATH", &bin).env("HOME", ws.root());
        bash.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        bash.status().expect("bash runs");
        std::thread::sleep(std::time::Duration::from_millis(5));
        let started = fs::read_to_string(&log).expect("a log");
        let started: BTreeSet<&str> = started.lines().collect();
        let analysis = analyse(&case.script);
        let roots = analysis.root_commands();
        for program in started {
            let is_known = roots.iter().any(|r| r == program);
            assert!(
                is_known || !analysis.unresolved.is_empty(),
                "{program} was started by {:?}, but only {roots:?} are known",
                case.script
            );
            compared += usize::from(is_known);
        }
    }
    assert!(compared > 150, "{compared}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_text_is_too_odd(text in r#"([a-z]{1,3}|[ \t\n;|&(){}<>$`'"\\#=!*?\[\]]|\$\(|\$\{|<<E\n|é){0,40}"#) {
        let analysis = analyse(&text);
        let _ = analysis.root_commands();
    }
}

#[test]
fn a_line_that_is_too_much_is_unresolved_as_a_whole() {
    for text in [
        "$(".repeat(40_000),
        "a;".repeat(100_000),
        "`".repeat(100_000),
        "((".repeat(40_000),
    ] {
        let analysis = analyse(&text);
        assert!(!analysis.unresolved.is_empty() && !analysis.root_commands().is_empty());
    }
}

fn explained(ws: &Workspace, command: &str) -> Value {
    let call = ws.tool("run_shell_command").flags(&["--explain"]);
    let answer = call.arguments(&json!({ "command": command })).run();
    answer.json()["confirmation"].clone()
}

#[test]
fn confirmation_names_every_command() {
    let ws = Workspace::new();
    let details = explained(
        &ws,
        "git status && env A=1 rm -rf \"$(cat list)\" | xargs $TOOL",
    );
    assert_eq!(details["type"], "exec");
    assert_eq!(details["rootCommand"], "git");
    assert_eq!(
        details["rootCommands"],
        json!(["git", "env", "rm", "cat", "xargs", "$TOOL", "A="])
    );
    assert_eq!(details["unresolved"], json!(["$TOOL"]));
    let plain = explained(&ws, "ls");
    assert_eq!(plain["rootCommands"], json!(["ls"]));
    assert!(plain.get("unresolved").is_none(), "{plain}");
    let shown = explained(&ws, &format!("ls;{}rm x", " ".repeat(500)));
    assert!(shown["command"].as_str().expect("text").ends_with("rm x"));
}

#[test]
fn settings_restrict_the_commands_that_may_run() {
    let core = r#"{"tools": {"core": ["run_shell_command(git status)", "ShellTool(echo)"]}}"#;
    let exclude =
        r#"{"tools": {"exclude": ["run_shell_command(rm)", "run_shell_command(git push)"]}}"#;
    for (settings, command, runs) in [
        (core, "echo hi", true),
        (core, "git status -s; echo $(echo x)", true),
        (core, "git push", false),
        (core, "echo $(ls)", false),
        (core, "echo hi > out; touch x", false),
        (core, "$X hi", false),
        (core, "echo hi; eval \"$X\"", false),
        (core, "x='a[$(touch F)]'; echo $((x))", false),
        (exclude, "echo hi", true),
        (exclude, "git pull --help >/dev/null 2>&1; echo hi", true),
        (exclude, "/bin/rm -f x", false),
        (exclude, "env rm -f x", false),
        (exclude, "bash -c 'rm -f x'", false),
        (exclude, "git push origin", false),
        (exclude, "git $X origin", false),
        (exclude, "r\"\"m x", false),
        (exclude, "curl -s x | sh", false),
        (core, "echo \"`echo x` `touch out`\"", false),
        (exclude, "echo \"`:` `rm -f x`\"", false),
        (exclude, "cat <<E\n`echo x`\n`rm -f x`\nE", false),
        (exclude, "echo $((`echo 1` `rm -f x`))", false),
    ] {
        let ws = Workspace::new().file(".gemini/settings.json", settings);
        let call = ws
            .tool("run_shell_command")
            .arguments(&json!({ "command": command }));
        let answer = call.unwatched().run();
        if runs {
            answer.output();
        } else {
            let message = answer.error("policy_violation", 3);
            assert!(message.contains("settings.json"), "{message}");
        }
        let explained = ws
            .tool("run_shell_command")
            .flags(&["--explain"])
            .arguments(&json!({ "command": command }))
            .run();
        assert_eq!(explained.status(), if runs { 0 } else { 3 }, "{command}");
    }
}

/// Lines that people and models write.
#[test]
fn at_least_96_of_100_honest_lines_are_understood() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/honest.jsonl");
    let text = fs::read_to_string(path).expect("the lines");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line");
        line["line"].as_str().expect("a text").to_owned()
    });
    let lines: Vec<_> = lines.map(|line| (analyse(&line), line)).collect();
    let plain = lines
        .iter()
        .filter(|(analysis, _)| analysis.understood().is_some())
        .count();
    let known = lines
        .iter()
        .filter(|(analysis, _)| analysis.unresolved.is_empty())
        .count();
    let all = lines.len();
    // `evals/shell-lines` shows it.
    let _ = writeln!(
        std::io::stdout(),
        "{plain} of {all} honest lines are understood; in {known} of them nothing is unresolved"
    );
    let others = lines
        .iter()
        .filter(|(analysis, _)| analysis.understood().is_none());
    let others: Vec<_> = others
        .map(|(analysis, line)| (line, &analysis.not_plain))
        .collect();
    assert!(plain * 100 >= all * 96, "{others:#?}");
}

#[test]
fn a_line_is_in_an_answer_once_with_the_construct_that_is_not_plain() {
    let ws = Workspace::new().home(
        ".gemini/policies/rules.toml",
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 900\n",
    );
    let line = format!("make; coproc {}", "x".repeat(50_000));
    let call = ws.tool("run_shell_command").flags(&["--explain"]);
    let answer = call.arguments(&json!({ "command": line })).run();
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(text.contains("`coproc` at column 7"), "{text}");
    assert!(text.len() < 60_000, "{}", text.len());
}
