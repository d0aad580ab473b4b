//! Random arguments against rules that allow by `argsPattern`: a rule allows no call whose own
//! argument is not what the pattern says, whatever else the arguments hold. Each run has a seed of
//! its own, which is printed; `GEMINI_TOOLS_SEED` repeats one.

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only its random numbers are used")]
mod lines;
#[expect(dead_code, reason = "only its seeds are used")]
mod trials;

use gemini_tools_core::tool::Kind;
use gemini_tools_policy::{Decision, Mode, Policy, PolicyCall, Tier};
use gemini_tools_settings::settings::Settings;
use lines::Random;
use serde_json::{Map, Value, json};
use trials::seed;

/// A tool, the argument that the pattern is about, and how that must begin.
const RULES: [(&str, &str, &str); 3] = [
    ("run_shell_command", "command", "echo safe"),
    ("write_file", "file_path", "src/"),
    ("theirs", "path", "src/"),
];

/// Returns a text that is a name or a value, or looks like a pair of both.
fn text(random: &mut Random, key: &str, start: &str) -> String {
    let parts = [
        key, start, "\"", "\\", ":", ",", "{", "}", "\0", "x", "../", "touch y",
    ];
    let whole = [
        format!("{start}x"),
        format!("\"{key}\":\"{start}"),
        format!("x\"{key}"),
        key.to_owned(),
    ];
    match random.below(3) {
        0 => whole[random.below(whole.len())].clone(),
        _ => (0..random.below(6))
            .map(|_| parts[random.below(parts.len())])
            .collect(),
    }
}

fn value(random: &mut Random, key: &str, start: &str, depth: usize) -> Value {
    match random.below(if depth > 2 { 2 } else { 5 }) {
        2 => (0..random.below(3))
            .map(|_| value(random, key, start, depth + 1))
            .collect(),
        3 => Value::Object(members(random, key, start, depth + 1)),
        _ => text(random, key, start).into(),
    }
}

fn members(random: &mut Random, key: &str, start: &str, depth: usize) -> Map<String, Value> {
    let names = ["content", "description", "a", "file_path", "directory"];
    let mut members = Map::new();
    for _ in 0..random.below(4) {
        let name = match random.below(3) {
            0 => text(random, key, start),
            _ => names[random.below(names.len())].to_owned(),
        };
        members.insert(name, value(random, key, start, depth));
    }
    members
}

#[test]
fn no_other_argument_passes_for_the_one_that_a_rule_allows() {
    let seed = seed("patterns");
    let mut random = Random(seed);
    let root = tempfile::tempdir().expect("a directory");
    let mut allowed = 0;
    for (tool, key, start) in RULES {
        let pattern = format!("\"{key}\":\"{start}");
        let rule = format!(
            "[[rule]]\ntoolName = \"{tool}\"\nargsPattern = '{pattern}'\ndecision = \"allow\"\npriority = 500\nallowRedirection = true\n"
        );
        let texts = [(Tier::User, "a.toml".into(), rule)];
        let policy = Policy::from_texts(&texts, &Settings::default(), root.path());
        for _ in 0..4_000 {
            let mut args = members(&mut random, key, start, 0);
            let own = match random.below(3) {
                0 => format!("{start}x"),
                _ => "touch y".to_owned(),
            };
            args.insert(key.to_owned(), json!(own));
            let call = PolicyCall {
                kind: Kind::Execute,
                is_built_in: tool != "theirs",
                ..PolicyCall::by_name(tool, &args)
            };
            let decision = policy.check(&call, Mode::Default, true).decision;
            let is_meant = own.starts_with(start);
            assert!(
                decision != Decision::Allow || is_meant,
                "seed {seed}: {tool} {args:?}"
            );
            allowed += usize::from(decision == Decision::Allow);
        }
    }
    assert!(allowed > 500, "hardly any call is allowed: {allowed}");
}

#[test]
fn a_path_is_matched_as_it_is_written_and_as_the_tools_take_it() {
    let root = tempfile::tempdir().expect("a directory");
    let root = root.path().canonicalize().expect("its name");
    std::fs::create_dir_all(root.join("src")).expect("made");
    std::fs::create_dir_all(root.join("own")).expect("made");
    std::fs::write(root.join("own/x.lock"), "").expect("written");
    std::os::unix::fs::symlink("../own/x.lock", root.join("src/link")).expect("a link");
    let decide = |pattern: &str, decision: &str, path: &str| {
        let rule = format!(
            "[[rule]]\ntoolName = \"write_file\"\nargsPattern = '{pattern}'\ndecision = \"{decision}\"\npriority = 500\n"
        );
        let texts = [(Tier::User, "a.toml".into(), rule)];
        let policy = Policy::from_texts(&texts, &Settings::default(), &root);
        let args = json!({"file_path": path, "content": ""});
        let args = args.as_object().expect("arguments");
        let call = PolicyCall {
            kind: Kind::Edit,
            is_built_in: true,
            ..PolicyCall::by_name("write_file", args)
        };
        policy.check(&call, Mode::Default, true).decision
    };
    let at = |path: &str| format!("{}/{path}", root.display());
    let lock = r#""file_path":"[^"]*\.lock""#;
    for path in [
        "own/x.lock",
        "'own/x.lock'",
        "\"own/x.lock\"",
        "own/x.lock ",
        "own/x.lock\n",
        "src/../own/x.lock",
        "src/link",
        &at("own/x.lock"),
        &format!("file://{}", at("own/x%2Elock")),
    ] {
        assert_eq!(decide(lock, "deny", path), Decision::Deny, "{path:?}");
        let below = r#""file_path":"own/"#;
        assert_eq!(decide(below, "deny", path), Decision::Deny, "{path:?}");
        let whole = format!(r#""file_path":"{}"#, at("own/"));
        assert_eq!(decide(&whole, "deny", path), Decision::Deny, "{path:?}");
    }
    assert_eq!(decide(lock, "deny", "own/x.txt"), Decision::AskUser);
    let others = r#""file_path":"(?!src/)"#;
    assert_eq!(decide(others, "deny", "src/new"), Decision::AskUser);
    assert_eq!(decide(others, "deny", "src/link"), Decision::Deny);
    let below = r#""file_path":"src/"#;
    for (path, allowed) in [
        ("src/new", true),
        ("src/a/../b", true),
        ("src/../x", false),
        ("src/link", false),
        ("'src/new'", false),
    ] {
        let is_allowed = decide(below, "allow", path) == Decision::Allow;
        assert_eq!(is_allowed, allowed, "{path}");
    }
    let whole = format!(r#""file_path":"{}"#, at("src/"));
    assert_eq!(decide(&whole, "allow", &at("src/new")), Decision::Allow);
    assert_eq!(decide(&whole, "allow", &at("src/../x")), Decision::AskUser);
}
