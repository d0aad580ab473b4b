//! Makes git directories step by step, by edits and lines that rules allow: git never runs what a
//! file of such a directory names unless a question was asked. git itself says what it runs. Each
//! run has a seed of its own, which is printed; `GEMINI_TOOLS_SEED` repeats one, and
//! `GEMINI_TOOLS_TRIALS` multiplies the number of trials.

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only its random numbers are used")]
mod lines;
mod trials;

use gemini_tools_core::tool::Kind;
use gemini_tools_policy::{Decision, Mode, Policy, PolicyCall, Tier};
use gemini_tools_settings::settings::Settings;
use lines::Random;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trials::{number, seed, unasked};

const TRIALS: u64 = 100;

const ALLOW: &str = "[[rule]]\ntoolName = [\"run_shell_command\", \"write_file\"]\ndecision = \"allow\"\npriority = 900\nallowRedirection = true\n";

const FILES: [&str; 7] = [
    "ev/config",
    "ev/config",
    "ev/HEAD",
    "ev/commondir",
    "ev/hooks/post-checkout",
    "ev/objects/x",
    "ev/refs/x",
];

const LINES: &str = "\
    git init -q --bare ev|git init -q --ba ev|git init -q --{bare,quiet} ev|git --bare init -q ev|git -C ev init -q --bare|\
    cd ev && git init -q --bare|git --git-dir=ev init -q|git --git-dir ev init -q|git init -q --separate-git-dir=ev w|\
    git init -q --sep ev w|git init -q --template=ev w|git init -q --tem ev w|GIT_DIR=ev git init -q|\
    GIT_TEMPLATE_DIR=ev git init -q w|export GIT_DIR=ev; git init -q|git init -q w|git init -q ev|\
    mkdir -p ev/objects ev/refs|cp evil ev/config|mkdir -p ev; cp evil ev/config; git init -q --bare ev|\
    git init -q --bare ev; cp evil ev/config|until git init -q --bare ev; do :; done|mv ev w/x|echo . > ev/commondir|\
    cp evil ev/HEAD|git clone -q --bare src ev|git clone -q --mirror src ev; cp evil ev/config|\
    git clone -q --template=ev src w|git clone -q --separate-git-dir=ev src w";

/// Commands that a person may run afterwards, with which git would run what a planted setting
/// names.
const LOOKS: [&str; 4] = [
    "git --git-dir=ev --work-tree=. status",
    "git -C ev status",
    "git -C w status",
    "git -C w checkout -q -b x",
];

fn bash(root: &Path, line: &str) {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", line]).current_dir(root);
    bash.env("HOME", root).env("GIT_CONFIG_NOSYSTEM", "1");
    bash.env("RAN", root.join("ran")).stdin(Stdio::null());
    let _ = bash.output().expect("bash");
}

fn may_write(policy: &Policy, path: &str) -> bool {
    let args = json!({"file_path": path, "content": "x"});
    let args = args.as_object().expect("arguments");
    let call = PolicyCall {
        kind: Kind::Edit,
        is_built_in: true,
        ..PolicyCall::by_name("write_file", args)
    };
    policy.check(&call, Mode::AutoEdit, true).decision == Decision::Allow
}

#[test]
fn no_git_directory_is_made_that_runs_what_nobody_was_asked_about() {
    let trials = TRIALS * number("GEMINI_TOOLS_TRIALS").unwrap_or(1);
    let seed = seed("git directories");
    let mut random = Random(seed);
    let lines: Vec<&str> = LINES.split('|').collect();
    let mut made = 0;
    for _ in 0..trials {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        let texts = [(Tier::User, "allow.toml".into(), ALLOW.to_owned())];
        let policy = Policy::from_texts(&texts, &Settings::default(), root);
        let evil = "[core]\n\tfsmonitor = \"touch $RAN; false\"\n";
        fs::write(root.join("evil"), evil).expect("written");
        // A project may bring some of the files, but not all that git requires.
        bash(root, "git init -q src; mkdir w");
        if random.below(3) == 0 {
            bash(root, "mkdir ev; echo 'ref: refs/heads/main' > ev/HEAD");
        }
        let mut steps = Vec::new();
        for _ in 0..random.below(7) {
            if random.below(3) == 0 {
                let file = FILES[random.below(FILES.len())];
                if may_write(&policy, file) {
                    steps.push(file);
                    let path = root.join(file);
                    let _ = fs::create_dir_all(path.parent().expect("one"));
                    let _ = fs::copy(root.join("evil"), path);
                }
                continue;
            }
            let line = lines[random.below(lines.len())];
            if let Some(runs) = unasked(&policy, line) {
                steps.push(line);
                bash(root, &runs);
            }
        }
        made += usize::from(root.join("w/.git").exists());
        for look in LOOKS {
            bash(root, look);
        }
        assert!(!root.join("ran").exists(), "seed {seed}: {steps:?}");
    }
    assert!(made > 0, "no repository was made");
}
