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
            "commands-swapped",
            &["The command is get_tools"],
        ),
        (
            with(json!({"args": ["--root", "/usr"]}), json!({})),
            "host-root",
            &["--root /usr", "Take --root out"],
        ),
        (
            with(json!({"args": ["--no-such-option"]}), json!({})),
            "host-server-fails",
            &["--no-such-option"],
        ),
        (
            with(json!({"excludeTools": ["glob"]}), json!({})),
            "host-tools-left-out",
            &["excludeTools"],
        ),
        (
            with(json!({"includeTools": ["glob"]}), json!({})),
            "host-tools-left-out",
            &["includeTools"],
        ),
        (
            with(json!({"timeout": 1}), json!({})),
            "host-timeout",
            &["timeout is 1", "Take it out"],
        ),
        (
            with(json!({}), json!({"mcp": {"excluded": ["gemini-tools"]}})),
            "host-server-off",
            &["mcp.excluded"],
        ),
        (
            with(json!({}), json!({"mcp": {"allowed": ["other"]}})),
            "host-server-off",
            &["mcp.allowed"],
        ),
        (
            with(
                json!({}),
                json!({"tools": {"discoveryCommand": "get_tools", "callCommand": "call_tool"}}),
            ),
            "host-twice",
            &["get_tools", "Take one of the two out"],
        ),
        #[cfg(not(target_os = "macos"))]
        (
            with(json!({}), json!({"tools": {"sandbox": "docker"}})),
            "host-sandbox",
            &[
                "tools.sandbox is \\\"docker\\\"",
                "Put serve_tools into the image",
            ],
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
    for fact in ["list_directory works", "plan mode: ", "sandbox: "] {
        assert!(facts.contains(fact), "{fact}: {facts}");
    }
    let answer = doctor(&ws, &["--host", "gemini"], &[("GEMINI_API_KEY", "k")]);
    finds(
        &answer,
        "not-handed-on",
        &["GEMINI_API_KEY", r#"\"$GEMINI_API_KEY\""#],
    );
    let key = json!({"env": {"GEMINI_API_KEY": "$GEMINI_API_KEY"}});
    let named = Workspace::new().file(GEMINI, with(key, json!({})));
    let answer = doctor(&named, &["--host", "gemini"], &[("GEMINI_API_KEY", "k")]);
    assert_eq!(findings(&answer), Vec::<Value>::new());
    let answer = installed(&ws, &["doctor", "--json", "--host", "gemini"]).run();
    finds(&answer, "gemini-untrusted", &["does not trust the folder"]);
    let ws = ws.home(
        ".gemini/mcp-server-enablement.json",
        r#"{"gemini-tools": {"enabled": false}}"#,
    );
    finds(
        &doctor(&ws, &["--host", "gemini"], &[]),
        "host-server-off",
        &["gemini mcp disable"],
    );
}
