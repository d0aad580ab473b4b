//! Random options of programs that read, against a rule that allows the programs: what writes a
//! file when bash runs it is not allowed without a question. Each run has a seed of its own, which
//! is printed; `GEMINI_TOOLS_SEED` repeats one.

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only its random numbers are used")]
mod lines;
#[expect(dead_code, reason = "only its seeds are used")]
mod trials;

use gemini_tools_core::tool::Kind;
use gemini_tools_policy::{Decision, Mode, Policy, PolicyCall, Tier};
use gemini_tools_settings::settings::Settings;
use lines::Random;
use serde_json::{Map, json};
use std::path::Path;
use std::process::{Command, Stdio};
use trials::seed;

const COMMANDS: [&str; 8] = [
    "git diff --no-index a b",
    "git log",
    "git show",
    "sort a",
    "find .",
    "uniq a",
    "tree",
    "xxd a",
];

const OPTIONS: [&str; 18] = [
    "--output=new",
    "--outpu=new",
    "--ou new",
    "--output new",
    "-o new",
    "-onew",
    "-ro new",
    "-fprint new",
    "-fprint0 new",
    "-fls new",
    "-fprintf new x",
    "new",
    "'new'",
    "-r",
    "-n 1",
    "-c",
    "--stat",
    "-l 4",
];

fn decide(policy: &Policy, line: &str) -> Decision {
    let mut args = Map::new();
    args.insert("command".to_owned(), json!(line));
    let call = PolicyCall {
        kind: Kind::Execute,
        is_built_in: true,
        ..PolicyCall::by_name("run_shell_command", &args)
    };
    policy.check(&call, Mode::Default, true).decision
}

fn policy(root: &Path, more: &str) -> Policy {
    let prefixes = "[\"git\", \"sort\", \"find\", \"uniq\", \"tree\", \"xxd\"]";
    let rule = format!(
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = {prefixes}\ndecision = \"allow\"\npriority = 500\n{more}"
    );
    let texts = [(Tier::User, "a.toml".into(), rule)];
    Policy::from_texts(&texts, &Settings::default(), root)
}

#[test]
fn no_option_of_an_allowed_program_writes_a_file_unasked() {
    let seed = seed("outputs");
    let mut random = Random(seed);
    let (mut written, mut allowed) = (0, 0);
    for _ in 0..250 {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["a", "b"] {
            std::fs::write(root.path().join(name), format!("{name}\n")).expect("written");
        }
        let mut line = COMMANDS[random.below(COMMANDS.len())].to_owned();
        for _ in 0..=random.below(2) {
            line = format!("{line} {}", OPTIONS[random.below(OPTIONS.len())]);
        }
        let decision = decide(&policy(root.path(), ""), &line);
        let permitted = decide(&policy(root.path(), "allowRedirection = true\n"), &line);
        assert_eq!(permitted, Decision::Allow, "{line}");
        let mut bash = Command::new("bash");
        bash.args(["-c", &line]).current_dir(root.path());
        bash.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        bash.status().expect("bash runs");
        let entries = std::fs::read_dir(root.path()).expect("listed").count();
        if entries > 2 {
            written += 1;
            assert_ne!(decision, Decision::Allow, "seed {seed}: {line}");
        }
        allowed += u32::from(decision == Decision::Allow);
    }
    assert!(
        written > 8 && allowed > 30,
        "{written} written, {allowed} allowed"
    );
}
