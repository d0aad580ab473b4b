//! `get_tools doctor --host gemini`: an entry of `serve_tools` in Gemini CLI's settings.

use serde_json::{Value, json};

use super::host_faults::{doctor, findings, finds};
use super::hosts::installed;
use crate::harness::Workspace;

const GEMINI: &str = ".gemini/settings.json";

/// Returns settings with an entry of `serve_tools`.
fn with(mut entry: Value, more: Value) -> String {
    let mut settings = more;
    if entry["command"].is_null() {
        entry["command"] = "serve_tools".into();
    }
    settings["mcpServers"]["gemini-tools"] = entry;
    settings.to_string()
}

#[test]
fn broken_entries_of_gemini_cli_are_told_with_cause_and_remedy() {
    for (text, code, pieces) in [
        (
            with(json!({"command": "/gone/serve_tools"}), json!({})),
            "program-missing",
            &["/gone/serve_tools", "Correct the path"][..],
        ),
        (
            with(json!({"command": "get_tools"}), json!({})),
            "host-server-fails",
            &["initialize"],
        ),
        (
            with(json!({"args": ["--no-such-option"]}), json!({})),
            "host-server-fails",
            &["--no-such-option"],
        ),
    ] {
        let ws = Workspace::new().file(GEMINI, text);
        finds(&doctor(&ws, &["--host", "gemini"], &[]), code, pieces);
        finds(&doctor(&ws, &[], &[]), code, pieces);
    }
}

#[test]
fn what_gemini_cli_keeps_from_the_server_is_told() {
    let ws = Workspace::new().file(GEMINI, with(json!({}), json!({})));
    let sound = doctor(&ws, &["--host", "gemini"], &[]);
    assert_eq!(findings(&sound), Vec::<Value>::new());
    let facts = sound.json()["facts"].to_string();
    assert!(facts.contains("list_directory works"), "{facts}");
    let answer = installed(&ws, &["doctor", "--json", "--host", "gemini"]).run();
    finds(&answer, "gemini-untrusted", &["does not trust the folder"]);
}
