//! Scripts as CI runs them, `bash -euo pipefail`, and the files of `examples/checks`.

use crate::harness::{Answer, Workspace, checkout, executable};
use std::env;
use std::path::Path;

/// Runs a script with the executables in its path.
fn script(ws: &Workspace, text: &str) -> Answer {
    let call_tool = executable("call_tool");
    let bin = call_tool.parent().expect("a directory").to_string_lossy();
    let path = format!("{bin}:{}", env::var("PATH").unwrap_or_default());
    ws.program(Path::new("bash"), &["-euo", "pipefail", "-c", text])
        .env("PATH", &path)
        .unwatched()
        .run()
}

/// A script must end so, and its output have these pieces.
#[track_caller]
fn ends(ws: &Workspace, text: &str, status: i32, pieces: &[&str]) {
    let answer = script(ws, text);
    assert_eq!(answer.status(), status, "{}", answer.shown());
    answer.must_say(&answer.shown(), pieces);
}

fn project() -> Workspace {
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "baseline = 'known.txt'\n[[rule]]\nid='no-todo'\npattern='\\bTODO\\b'\nmessage='Open: {text}'\n\
             [[rule]]\nid='no-tab'\npattern='\\t'\nlevel='warning'\n",
        )
        .file("known.txt", "no-todo\tsrc/a.rs\t// TODO old\n")
        .file("src/a.rs", "// TODO old\n")
        .file("src/b, {c}.rs", "fn f() {}\n")
        .file("packages/web/i.js", "// TODO web\n")
        .file("packages/api/i.js", "// fine\n")
        .git();
    let commit = |args: &[&str]| {
        let author = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
        ws.git_command(&[&author[..], args].concat());
    };
    commit(&["add", "-A"]);
    commit(&["commit", "-qm", "first"]);
    commit(&["branch", "-m", "main"]);
    commit(&["checkout", "-qb", "topic"]);
    ws
}

#[test]
fn a_lint_gate_passes_fails_and_stays_silent_in_a_closed_pipe() {
    let ws = project();
    let gate = "call_tool --check checks.toml --changed main";
    ends(&ws, &format!("{gate}; echo passed"), 0, &["passed"]);
    let gate = "call_tool --check checks.toml";
    ends(
        &ws,
        gate,
        1,
        &["web/i.js:1:4: error[no-todo]: Open: // TODO web"],
    );
    ends(&ws, &format!("{gate} | cat"), 1, &["1 error"]);
    ends(
        &ws,
        "call_tool --check none.toml || echo $?",
        0,
        &["none.toml", "stdout: 2\n"],
    );
    ends(
        &ws,
        "seq 100000 > src/long.rs; (call_tool search_file_content 9 --max 1 || :) | head -1",
        0,
        &["src/long.rs:9:1"],
    );
}

#[test]
fn answers_of_a_search_go_through_jq() {
    let ws = project();
    let search = "call_tool search_file_content TODO include='*.rs' --output result";
    ends(
        &ws,
        &format!("{search} | jq -e '.data.matches == 1'"),
        0,
        &["true"],
    );
}

#[test]
fn a_check_needs_no_home_and_writes_nothing() {
    let ws = project();
    for home in ["unset HOME", "export HOME=/nowhere", "export HOME=/proc"] {
        ends(
            &ws,
            &format!("{home}; call_tool --check checks.toml"),
            1,
            &["web/i.js:1:4"],
        );
    }
}

#[test]
fn this_repository_is_clean_by_its_own_rules() {
    let ws = Workspace::new();
    let root = checkout().to_string_lossy().into_owned();
    let rules = format!("{root}/examples/checks/checks.toml");
    let answer = ws
        .call_tool(&["--check", &rules, "--root", &root])
        .unwatched()
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
}

#[test]
fn the_examples_do_what_they_say() {
    let examples = checkout().join("examples/checks");
    let ws = project();
    let hook = examples.join("pre-commit");
    let hook = hook.to_string_lossy();
    let commit = format!(
        "mkdir -p .git/hooks; cp {hook} .git/hooks/pre-commit; git add -A; git -c user.name=a -c user.email=b commit -qm x"
    );
    ends(
        &ws,
        &format!("echo ok > 'c d.rs'; {commit}; echo made"),
        0,
        &["made"],
    );
    ends(
        &ws,
        &format!("echo TODO > 'c d.rs'; {commit}"),
        1,
        &["c d.rs:1:1: error[no-todo]"],
    );
    // What the workflow and the job run, with the variables that they have there.
    for (file, variables) in [
        (
            "workflow.yml",
            "GITHUB_BASE_REF=main; git update-ref refs/remotes/origin/main main",
        ),
        ("gitlab-ci.yml", "CI_MERGE_REQUEST_DIFF_BASE_SHA=main"),
    ] {
        let text = std::fs::read_to_string(examples.join(file)).expect("an example");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let starts = lines
            .iter()
            .position(|line| line.contains("call_tool --check"));
        let starts = starts.expect("a call");
        let call = format!("{} {}", lines[starts], lines[starts + 1]);
        let call = call
            .trim_start_matches("- ")
            .trim_start_matches(".gemini-tools/bin/");
        let answer = script(
            &ws,
            &format!(
                "{variables}; echo '// TODO' > new.rs; {call} || s=$?; cat checks.xml 2> /dev/null || :; exit $s"
            ),
        );
        assert_eq!(answer.status(), 1, "{file}: {}", answer.shown());
        answer.must_say(answer.text(), &["new.rs"]);
    }
}
