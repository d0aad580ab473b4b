//! Random rules, and what may only restrict beside them: an untrusted project's settings, rules
//! with a mistake, and rules of an extension. None of it makes any call less strict. Each run has a
//! seed of its own, which is printed; `GEMINI_TOOLS_SEED` repeats one.

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only its random numbers are used")]
mod lines;
#[expect(dead_code, reason = "only its seeds are used")]
mod trials;

use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::tool::{Kind, ServerTool};
use gemini_tools_policy::{Mode, Policy, PolicyCall, Tier};
use gemini_tools_settings::settings::Settings;
use lines::Random;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;
use trials::seed;

const LISTED: &[&str] = &[
    "write_file",
    "replace",
    "apply_patch",
    "read_file",
    "run_shell_command",
    "run_shell_command(ls)",
    "ShellTool(git push)",
    "write_file(x)",
    "s__find",
];

const NAMES: &[&str] = &[
    "toolName = \"write_file\"",
    "toolName = [\"replace\", \"run_shell_command\"]",
    "toolName = \"*\"",
    "toolName = \"mcp_s_find\"",
    "mcpName = \"s\"",
    "toolName = \"run_shell_command\"",
    "toolName = \"run_shell_command\"\ncommandPrefix = \"git push\"",
    "commandPrefix = [\"ls\", \"echo\"]",
    "commandRegex = \"git (push|pull)\"",
    "toolName = \"write_file\"\nargsPattern = '\"file_path\":\"a'",
    "toolName = \"run_shell_command\"\nargsPattern = 'push'",
];

const MORE: &[&str] = &[
    "",
    "",
    "",
    "modes = [\"plan\", \"yolo\"]",
    "modes = [\"default\", \"autoEdit\"]",
    "interactive = true",
    "toolAnnotations = { readOnlyHint = true }",
    "allowRedirection = true",
];

const MISTAKES: &[&str] = &[
    "priorty = 3",
    "modes = \"plan\"",
    "modes = [\"plam\"]",
    "interactive = \"yes\"",
    "argspattern = 'x'",
    "argsPattern = '(x'",
    "commandPrefix = \"ls\"\nargsPattern = 'x'",
    "toolNames = \"read_file\"",
    "subagent = 1",
];

fn one<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len())]
}

fn rule(random: &mut Random, decisions: &[&str], mistakes: &[&str]) -> String {
    let (mut name, decision) = (one(random, NAMES), one(random, decisions));
    let more = one(random, MORE);
    let wrong = one(random, mistakes);
    let key = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let is_twice = |line: &str| !line.is_empty() && name.contains(&key(line));
    if wrong.lines().any(is_twice) {
        name = NAMES[0];
    }
    let more = if key(more) == key(wrong) { "" } else { more };
    let priority = random.below(1000);
    format!(
        "[[rule]]\n{name}\ndecision = \"{decision}\"\npriority = {priority}\n{more}\n{wrong}\n\n"
    )
}

fn rules(random: &mut Random, decisions: &[&str]) -> String {
    let count = random.below(4);
    (0..count).map(|_| rule(random, decisions, &[""])).collect()
}

/// Returns settings that restrict: those that a project may have, too.
fn settings(random: &mut Random) -> Value {
    let mut settings = json!({ "tools": {} });
    for (key, of) in [("confirmationRequired", 2), ("exclude", 4), ("core", 4)] {
        if random.below(of) == 0 {
            let list: Vec<&str> = (0..=random.below(3)).map(|_| one(random, LISTED)).collect();
            settings["tools"][key] = json!(list);
        }
    }
    settings["security"] = json!({"disableYoloMode": random.below(4) == 0});
    settings
}

const LINES: &[&str] = &[
    "ls",
    "make",
    "git push",
    "r''m x; git 'push'",
    "ls; git pull",
    "$x push",
    "cat <<E\ngit push\nE",
    "until ls; do ls; done",
    "rm -rf x",
    "echo a > b",
];

fn calls() -> Vec<(&'static str, Value)> {
    let lines = LINES.iter();
    let lines = lines.map(|line| ("run_shell_command", json!({ "command": line })));
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n";
    let others = [
        ("write_file", json!({"file_path": "a.txt", "content": "x"})),
        ("replace", json!({"file_path": "b.txt", "old_string": "x"})),
        ("apply_patch", json!({ "patch": patch })),
        ("read_file", json!({"file_path": "a.txt"})),
        ("s__find", json!({"q": "x"})),
    ];
    lines.chain(others).collect()
}

/// Returns how strict a policy is: for a call, and for whether its tool is hidden.
fn strictness(policy: &Policy, name: &str, args: &Value, mode: Mode, asks: bool) -> [u8; 2] {
    let args = args.as_object().cloned().unwrap_or_else(Map::new);
    let hints = json!({"readOnlyHint": true});
    let known = builtin::find_exactly(name);
    let of_server = known.is_none();
    let server = of_server.then_some(ServerTool {
        name: "s",
        tool: "find",
    });
    let call = PolicyCall {
        kind: known.map_or(Kind::Other, |known| known.info.kind),
        is_built_in: !of_server,
        annotations: hints.as_object().filter(|_| of_server),
        server,
        ..PolicyCall::by_name(name, &args)
    };
    let verdict = policy.check(&call, mode, asks);
    let is_hidden = !policy.shows(&call, mode, asks);
    [
        verdict.decision as u8 * 2 + u8::from(!verdict.is_default && verdict.decision as u8 == 1),
        u8::from(is_hidden),
    ]
}

#[test]
fn what_may_only_restrict_makes_no_call_less_strict() {
    let seed = seed("restrictions");
    let mut random = Random(seed);
    let dir = tempfile::tempdir().expect("a directory");
    let (home, root) = (dir.path().join("home"), dir.path().join("root"));
    for at in [&home, &root] {
        fs::create_dir_all(at.join(".gemini")).expect("made");
    }
    let calls = calls();
    let all = ["allow", "ask_user", "deny"];
    let mut changed = 0;
    for _ in 0..40 {
        let users = settings(&mut random).to_string();
        fs::write(home.join(".gemini/settings.json"), &users).expect("written");
        let text = |tier, text| (tier, PathBuf::from("a.toml"), text);
        let mut texts = vec![
            text(Tier::Admin, rules(&mut random, &all)),
            text(Tier::User, rules(&mut random, &all)),
            text(Tier::Workspace, rules(&mut random, &all)),
            text(Tier::Extension, rules(&mut random, &all)),
        ];
        let mut project = json!({});
        let mut before = None;
        // In each round the project's settings, the rules of an extension or a faulty rule are
        // added. None of these may make a verdict less strict.
        for _ in 0..4 {
            let file = root.join(".gemini/settings.json");
            fs::write(file, project.to_string()).expect("written");
            let read = Settings::load(Some(&home), &root);
            let policy = Policy::from_texts(&texts, &read, &root);
            let now = |(name, args): &(&str, Value)| {
                [Mode::Plan, Mode::Default, Mode::AutoEdit, Mode::Yolo].map(|mode| {
                    [true, false].map(|asks| strictness(&policy, name, args, mode, asks))
                })
            };
            let after: Vec<_> = calls.iter().map(now).collect();
            for (at, call) in calls.iter().enumerate() {
                let was = before.get_or_insert_with(|| after.clone())[at];
                let pairs = was.as_flattened().as_flattened().iter();
                let mut pairs = pairs.zip(after[at].as_flattened().as_flattened());
                changed += usize::from(was != after[at]);
                assert!(
                    pairs.all(|(was, now)| was <= now),
                    "seed {seed}: {call:?}: {was:?}, then {:?}\n{users}\n{project}\n{texts:#?}",
                    after[at]
                );
            }
            before = Some(after);
            match random.below(3) {
                0 if project == json!({}) => project = settings(&mut random),
                1 => texts.push(text(Tier::Extension, rules(&mut random, &all))),
                _ => {
                    let tier = [Tier::Admin, Tier::User, Tier::Workspace][random.below(3)];
                    texts.push(text(tier, rule(&mut random, &all, MISTAKES)));
                }
            }
        }
    }
    assert!(changed > 60, "hardly any call changed: {changed}");
}
