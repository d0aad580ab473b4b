//! The corpus of tests/policy: what is decided of each call. `evals/policy` asks the real Gemini CLI the same.

use std::fs;
use std::path::PathBuf;

use gemini_tools::builtin;
use gemini_tools::policy::{Mode, Policy, PolicyCall, Tier};
use gemini_tools::settings::Settings;
use gemini_tools::tool::{Kind, ServerTool};
use serde_json::{Map, Value};

use crate::harness::Workspace;

fn corpus() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/policy/cases.jsonl");
    let text = fs::read_to_string(path).expect("the corpus");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect()
}

fn policy(ws: &Workspace, case: &Value) -> Policy {
    let home = ws.root().join("users");
    fs::create_dir_all(home.join(".gemini")).expect("made");
    let settings = case
        .get("settings")
        .map_or("{}".to_owned(), Value::to_string);
    fs::write(home.join(".gemini/settings.json"), settings).expect("written");
    let settings = Settings::load(Some(&home), ws.root());
    let mut texts = Vec::new();
    for (name, tier) in [
        ("admin", Tier::Admin),
        ("user", Tier::User),
        ("workspace", Tier::Workspace),
        ("extension", Tier::Extension),
    ] {
        let own = case["policies"][name].as_array();
        for (at, text) in own.into_iter().flatten().enumerate() {
            let file = PathBuf::from(format!("{name}/{}.toml", at + 1));
            texts.push((tier, file, text.as_str().expect("a text").to_owned()));
        }
    }
    Policy::from_texts(&texts, &settings, ws.root())
}

fn decide(ws: &Workspace, case: &Value) -> String {
    let call = &case["call"];
    let text = |key: &str| call[key].as_str().unwrap_or_default();
    let empty = Map::new();
    let args = call["args"].as_object().unwrap_or(&empty);
    let given = text("name");
    let bare = given.strip_prefix("discovered_tool_").unwrap_or(given);
    let known = builtin::find(bare);
    let server = call["server"].as_str().map(|name| ServerTool {
        name,
        tool: text("tool"),
    });
    let own = server.map(|s| format!("{}__{}", s.name, s.tool));
    let call_ = PolicyCall {
        name: own.as_deref().unwrap_or(known.map_or(bare, |k| k.name)),
        aliases: known.map_or(&[], |k| k.info.aliases),
        server,
        args,
        renamed: known.map_or(&[], |k| k.usage.renamed),
        annotations: call["annotations"].as_object(),
        kind: known.map_or(Kind::Other, |k| k.info.kind),
        is_built_in: server.is_none() && known.is_some(),
        has_namesake: false,
    };
    let mode = match case["mode"].as_str() {
        None => Mode::Default,
        Some("auto_edit") => Mode::AutoEdit,
        Some("yolo") => Mode::Yolo,
        Some("plan") => Mode::Plan,
        other => panic!("no mode: {other:?}"),
    };
    let interactive = case["interactive"] != false;
    let policy = policy(ws, case);
    if call["listed"] == true {
        let shows = policy.shows(&call_, mode, interactive);
        return if shows { "listed" } else { "hidden" }.to_owned();
    }
    let verdict = policy.check(&call_, mode, interactive);
    verdict.decision.name().to_owned()
}

#[test]
fn each_call_is_decided_as_the_corpus_says() {
    let ws = Workspace::new();
    let cases = corpus();
    assert!(cases.len() >= 250, "{}", cases.len());
    let mut bad = Vec::new();
    for case in &cases {
        let decision = decide(&ws, case);
        if case["expect"] != decision.as_str() {
            bad.push(format!(
                "{}: {decision}, not {}",
                case["id"], case["expect"]
            ));
        }
    }
    assert!(
        bad.is_empty(),
        "{} of {}:\n{}",
        bad.len(),
        cases.len(),
        bad.join("\n")
    );
}

/// Returns the section of the documentation that lists the differences of decisions.
fn policy_differences() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/compatibility.md");
    let page = fs::read_to_string(path).expect("the page");
    let (_, section) = page.split_once("\n## Policy\n").expect("the section");
    section.to_owned()
}

#[test]
fn each_difference_from_gemini_cli_stands_in_the_table() {
    let page = policy_differences();
    let mut reasons: Vec<String> = Vec::new();
    for case in corpus() {
        let has = |key: &str| case.get(key).is_some();
        assert_eq!(has("theirs") != has("as"), has("why"), "{case}");
        if let Some(why) = case["why"].as_str() {
            assert_ne!(case["theirs"], case["expect"], "{case}");
            assert!(
                page.contains(&format!("| `{why}` |")),
                "{why} is not in the table"
            );
            reasons.push(why.to_owned());
        }
    }
    for row in page
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split_once('`'))
    {
        assert!(
            reasons.iter().any(|r| r == row.0),
            "no case shows {}",
            row.0
        );
    }
}

#[test]
fn nothing_is_laxer_than_in_gemini_cli_but_what_its_page_allows() {
    let page = policy_differences();
    let order = ["allow", "listed", "ask_user", "deny", "hidden", "throws"];
    let strictness = |decision: &Value| {
        let own = |name: &&str| *decision == **name;
        order.iter().position(own).expect("a decision")
    };
    for case in corpus() {
        let Some(theirs) = case.get("theirs") else {
            continue;
        };
        let row = format!("| `{}` |", case["why"].as_str().expect("a reason"));
        let row = page.lines().find(|line| line.starts_with(&row));
        let row = row.expect("in the table");
        let has_cause = ["*hole*", "*page*", "*crash*"]
            .iter()
            .any(|c| row.contains(c));
        assert!(has_cause, "why theirs is wrong: {row}");
        let is_laxer = *theirs != "throws" && strictness(&case["expect"]) < strictness(theirs);
        assert!(
            !is_laxer || row.contains('¹') && row.contains("*page*"),
            "{case}"
        );
    }
}

#[test]
fn readme_tells_how_many_decisions_are_compared() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = fs::read_to_string(path).expect("the README");
    let readme: Vec<&str> = readme.split_whitespace().collect();
    let count = format!("{} decisions are compared", corpus().len());
    assert!(readme.join(" ").contains(&count), "{count}");
}
