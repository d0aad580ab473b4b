//! `--propagate-status`: the process ends as the command of the call has ended.

use crate::harness::{Answer, Workspace};

fn run(ws: &Workspace, words: &[&str]) -> Answer {
    ws.call_tool(words).flags(&["--propagate-status"]).run()
}

#[test]
fn the_status_of_a_command_is_that_of_the_call() {
    let ws = Workspace::new().file("plain", "not a program\n");
    for (command, status) in [
        ("true", 0),
        ("exit 3", 3),
        ("exit 125", 125),
        ("no_such_command", 127),
        ("./plain", 126),
        ("kill -9 $$", 137),
        ("sh -c 'kill -TERM $$'; exit $?", 143),
    ] {
        let answer = run(&ws, &["run_shell_command", command]);
        assert_eq!(answer.status(), status, "{command}: {}", answer.shown());
        // The answer is the same as without the flag.
        answer.must_say(answer.text(), &["Exit Code: "]);
        assert_eq!(
            ws.call_tool(&["run_shell_command", command]).run().status(),
            0
        );
    }
}

#[test]
fn a_failure_of_ours_is_125_and_a_time_limit_124() {
    let ws = Workspace::new();
    let limited = ["run_shell_command", "sleep 60", "timeout:=0.2"];
    run(&ws, &limited).error("timeout", 124);
    for words in [
        &["run_shell_command", "command:=1"][..],
        &["run_shell_command", "true", "drectory=src"],
        &["run_shell_command", "true", "directory=none"],
        &["no_such_tool", "x"],
        &["read_file", "a"],
    ] {
        let answer = run(&ws, words);
        assert_eq!(answer.status(), 125, "{words:?}: {}", answer.shown());
    }
    let refused = ws.file(
        "rules.toml",
        "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 100\n",
    );
    let refused = run(
        &refused,
        &["run_shell_command", "true", "--policy", "rules.toml"],
    );
    refused.error("policy_violation", 125);
}

#[test]
fn a_command_line_that_can_not_be_used_is_125() {
    let ws = Workspace::new();
    for words in [
        &["run_shell_command", "true", "--no-such-option"][..],
        &["run_shell_command", "true", "--explain"],
        &["--batch"],
    ] {
        assert_eq!(run(&ws, words).status(), 125, "{words:?}");
    }
}

#[test]
fn an_answer_that_can_not_be_written_is_125() {
    let ws = Workspace::new();
    let call = ws.call_tool(&["run_shell_command", "true", "--propagate-status"]);
    let full = call.in_bash("exec \"$@\" >/dev/full").run();
    assert_eq!(full.status(), 125, "{}", full.shown());
}

#[test]
fn a_tool_that_runs_no_command_ends_with_0_or_125() {
    let ws = Workspace::new();
    assert_eq!(run(&ws, &["list_directory", "."]).status(), 0);
    assert_eq!(run(&ws, &["list_directory", "gone"]).status(), 125);
}

#[test]
fn a_program_that_is_a_tool_passes_its_status_on() {
    let manifest =
        |line: &str| format!("description = \"Ends.\"\ncommand = [\"bash\", \"-c\", \"{line}\"]\n");
    let ws = Workspace::new()
        .home(".gemini/tools/three.toml", manifest("exit 3"))
        .home(".gemini/tools/killed.toml", manifest("kill -9 $$"))
        .home(".gemini/tools/fine.toml", manifest("true"));
    for (tool, status) in [("three", 3), ("killed", 137), ("fine", 0)] {
        assert_eq!(run(&ws, &[tool]).status(), status, "{tool}");
    }
}
