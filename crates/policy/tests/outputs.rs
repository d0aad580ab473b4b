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

const COMMANDS: [&str; 16] = [
    "git diff --no-index a b",
    "git log",
    "git show",
    "sort a",
    "find .",
    "uniq a",
    "tree",
    "xxd a",
    "uniq -",
    "uniq \"$PWD/a\"",
    "uniq {a,new}",
    "xxd -",
    "xxd \"$PWD/a\"",
    "shuf -n 1 a",
    "iconv a",
    "echo a new | xargs uniq",
];

const OPTIONS: [&str; 27] = [
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
    "7",
    "\"--output=$PWD/new\"",
    "{,}--output=new",
    "$x--output new",
    "\"${x:---output=new}\"",
    "-o\"$PWD/new\"",
    "\"$x\"-o new",
    "\"$@\"-onew",
    "$(echo --output=new)",
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
    let prefixes = "[\"git\", \"sort\", \"find\", \"uniq\", \"tree\", \"xxd\", \"shuf\", \"iconv\", \"echo\", \"xargs\", \"ptx\"]";
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
        // What may be an action of `find` needs approval anyway.
        if line.starts_with("find") && line.contains(['$', '{']) {
            continue;
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

#[test]
fn what_names_no_output_is_not_asked_about() {
    let root = tempfile::tempdir().expect("a directory");
    let policy = policy(root.path(), "");
    for line in [
        "git archive HEAD",
        "git stash show -p",
        "git log \"$x\" -- a",
        "sort \"$f\"",
        "uniq -cf 7 a",
        "uniq \"$f\"",
        "uniq - ",
        "xxd -l 16 a",
        "xxd \"$f\"",
        "echo a | xargs -n1 xxd",
    ] {
        assert_eq!(decide(&policy, line), Decision::Allow, "{line}");
    }
    for line in [
        "git stash show --output=new",
        "git archive -o new HEAD",
        "git archive \"-o$PWD/new\" HEAD",
        "ptx -G a new",
        "uniq *",
        "uniq 1 new",
        "xxd 1 new",
    ] {
        assert_ne!(decide(&policy, line), Decision::Allow, "{line}");
    }
}

#[test]
fn what_deletes_or_links_is_asked_about_behind_any_word() {
    let root = tempfile::tempdir().expect("a directory");
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 500\n";
    let texts = [(Tier::User, "a.toml".into(), rule.to_owned())];
    let policy = Policy::from_texts(&texts, &Settings::default(), root.path());
    for line in [
        "rm ~ -rf",
        "rm ~ --forc",
        "ln ~ -s",
        "ln --sym ~",
        "find ~ -delete",
        "rm ~ {,}-f",
    ] {
        for word in [
            "a",
            "\"$PWD/a\"",
            "$x",
            "\"$@\" a",
            "{a,b}",
            "$(echo a)",
            "a $x''",
        ] {
            for line in [line.to_owned(), format!("cd . && env {line}")] {
                let line = line.replace('~', word);
                assert_ne!(decide(&policy, &line), Decision::Allow, "{line}");
            }
        }
    }
    for line in ["rm \"$PWD/a\"", "find \"$PWD\" -name f"] {
        assert_eq!(decide(&policy, line), Decision::Allow, "{line}");
    }
}
