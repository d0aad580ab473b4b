//! Variables that restrict, under a host that hands on few. The stand-in for Gemini CLI is a script of that name, which
//! starts `call_tool` as 0.61 does with `GITHUB_SHA`: with few variables.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::harness::{Workspace, executable, set_mode};

const DENY: &str = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 10\n";

/// A host, and what it starts.
struct Host<'a> {
    name: &'a str,
    /// The host's variables besides `PATH` and `HOME`.
    has: &'a [(&'a str, &'a str)],
    /// What it starts, with `$CALL` for `call_tool`.
    starts: &'a str,
}

/// Returns the exit status of `write_file` under a host.
fn status_of_writing(host: &Host<'_>) -> Option<i32> {
    let ws = Workspace::new()
        .file("deny.toml", DENY)
        .file("empty.toml", "")
        .home(host.name, format!("{}\nexit $?\n", host.starts))
        .home(
            "wrapper",
            "#!/bin/sh\nADDED=1\nexport ADDED\n\"$1\" write_file\nexit $?\n",
        );
    let home = ws.root().join("home");
    let wrapper = home.join("wrapper");
    set_mode(&wrapper, 0o755);
    let mut child = Command::new("/bin/sh")
        .arg(home.join(host.name))
        .current_dir(ws.dir())
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin")])
        .env("HOME", &home)
        .envs(
            host.has
                .iter()
                .map(|(name, value)| (name, value.replace("WS", &ws.path("")))),
        )
        .env("CALL", executable("call_tool"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a shell");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(br#"{"file_path": "a.txt", "content": "x"}"#)
        .expect("read");
    drop(stdin);
    let status = child.wait().expect("an end").code();
    assert_eq!(ws.dir().join("a.txt").exists(), status == Some(0));
    status
}

#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "only Linux shows a process's variables"
)]
fn what_the_host_keeps_back_in_a_workflow_restricts_all_the_same() {
    const SHA: (&str, &str) = ("GITHUB_SHA", "0123abc");
    const POLICY: (&str, &str) = ("GEMINI_TOOLS_POLICY", "WS/deny.toml");
    let few = r#"env -i PATH="$PATH" HOME="$HOME" GEMINI_CLI_X=1 "$CALL" write_file"#;
    let by_wrapper = r#"env -i PATH="$PATH" HOME="$HOME" "$HOME/wrapper" "$CALL""#;
    let status = |name: &str, has: &[(&str, &str)], starts: &str| {
        status_of_writing(&Host { name, has, starts })
    };
    for (starts, has) in [(few, SHA), (by_wrapper, SHA), (few, ("SURFACE", "Github"))] {
        assert_eq!(
            status("gemini", &[has, POLICY], starts),
            Some(3),
            "{starts}"
        );
        assert_eq!(status("gemini.js", &[has, POLICY], starts), Some(3));
        assert_eq!(status("gemini", &[has], starts), Some(0));
    }
    // In no workflow, or under another program, whoever takes the variable away means it.
    assert_eq!(status("gemini", &[POLICY], few), Some(0));
    assert_eq!(status("other", &[SHA, POLICY], few), Some(0));
    // And so does who hands on the rest.
    let rest = r#"unset GEMINI_TOOLS_POLICY; "$CALL" write_file"#;
    assert_eq!(status("gemini", &[SHA, POLICY], rest), Some(0));
    // What is set counts, whatever the host has.
    let set = r#"env -i PATH="$PATH" HOME="$HOME" GEMINI_TOOLS_POLICY="$PWD/empty.toml" "$CALL" write_file"#;
    assert_eq!(status("gemini", &[SHA, POLICY], set), Some(0));
}
