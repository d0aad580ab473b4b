//! Commands under Codex's sandbox. The stand-in for Codex is a script of that name, which starts `serve_tools` and sends
//! it what Codex 0.171 sends.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{Workspace, executable, skipped};

/// Returns true if a command can write, called by Codex with these options, whose turn has this mode; `None` if this
/// system has no sandbox.
fn writes(options: &[&str], mode: &str) -> Option<bool> {
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "run_shell_command",
        "arguments": {"command": "echo x > written"},
        "_meta": {"callId": "c", "x-codex-turn-metadata": {"sandbox": "seccomp", "sandbox_mode": mode}},
    }});
    let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "codex-mcp-client", "version": "0.171.0"},
    }});
    let started = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ws = Workspace::new()
        .home("requests", format!("{greeting}\n{started}\n{call}\n"))
        .home("codex", "\"$SERVE_TOOLS\" < \"$HOME/requests\"\nexit $?\n");
    let home = ws.root().join("home");
    let output = Command::new("/bin/sh")
        .arg(home.join("codex"))
        .args(options)
        .current_dir(ws.dir())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", &home)
        .env("SERVE_TOOLS", executable("serve_tools"))
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("The sandbox needs ") {
        skipped("Landlock of Linux 6.2 or later");
        return None;
    }
    assert!(text.contains("\"id\":2"), "{output:?}");
    Some(fs::exists(ws.dir().join("written")).expect("a directory"))
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there is no sandbox")]
fn a_sandbox_that_the_user_has_chosen_for_codex_holds_for_our_commands() {
    for options in [
        &["exec", "-s", "read-only", "go"][..],
        &["exec", "--sandbox=read-only", "go"],
        &["-c", "sandbox_mode=\"read-only\"", "exec", "go"],
    ] {
        let Some(writes) = writes(options, "read-only") else {
            return;
        };
        assert!(!writes, "{options:?}");
    }
    let full = ["exec", "-s", "danger-full-access", "go"];
    assert_eq!(writes(&full, "danger-full-access"), Some(true));
    let workspace = ["exec", "-s", "workspace-write", "go"];
    assert_eq!(writes(&workspace, "workspace-write"), Some(true));
    // By default it is read-only as well, and approved commands still write.
    assert_eq!(writes(&["exec", "go"], "read-only"), Some(true));
}
