//! `run_shell_command`: the answer, the environment of a command, its output, and its limits.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::client::Server;
use crate::harness::{Answer, Call, Workspace, executable, marked_processes, wait_until};

fn call<'a>(ws: &'a Workspace, command: &str) -> Call<'a> {
    with(ws, &json!({ "command": command }))
}

fn with<'a>(ws: &'a Workspace, arguments: &Value) -> Call<'a> {
    ws.tool("run_shell_command")
        .arguments(arguments)
        .unwatched()
}

#[track_caller]
fn output(ws: &Workspace, command: &str) -> String {
    printed(&call(ws, command).run().output())
}

/// What stands between the lines of the answer that are about it.
#[track_caller]
fn printed(answer: &str) -> String {
    let (_, rest) = answer.split_once("\nOutput: ").expect("an output line");
    let (text, _) = rest.rsplit_once("\nError: ").expect("an error line");
    text.to_owned()
}

fn line<'a>(answer: &'a str, label: &str) -> &'a str {
    let found = answer
        .lines()
        .rev()
        .find_map(|l| l.strip_prefix(label)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("no line {label} in {answer}"))
}

#[test]
fn answer_has_the_eight_lines_in_their_order() {
    let ws = Workspace::new();
    let text = call(&ws, "echo out; echo err >&2; exit 3").run().output();
    let group = line(&text, "Process Group PGID").to_owned();
    assert!(group.parse::<u32>().is_ok(), "{text}");
    assert_eq!(
        text,
        format!(
            "Command: echo out; echo err >&2; exit 3\nDirectory: (root)\nOutput: out\nerr\nError: (none)\nExit Code: 3\n\
             Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: {group}"
        )
    );
    let empty = call(&ws, "true").run().output();
    assert!(empty.contains("\nOutput: (empty)\n"), "{empty}");
}

#[test]
fn labels_that_say_nothing_are_left_out_for_hosts_and_the_history() {
    let ws = Workspace::new();
    let short = |command: &str, form: &str| {
        let answer = call(&ws, command).flags(&["--output", form]).run();
        if form == "host" {
            return answer.text().trim_end().to_owned();
        }
        let response = &answer.json()["parts"][0]["functionResponse"]["response"];
        let text = response.get("output").unwrap_or(&response["error"]);
        text.as_str().expect("a text").to_owned()
    };
    for form in ["host", "content"] {
        for (command, expected) in [
            ("echo out", "Output: out"),
            ("true", "Output: (empty)"),
            ("echo out; exit 3", "Output: out\nExit Code: 3"),
            ("kill -9 $$", "Output: (empty)\nSignal: SIGKILL"),
        ] {
            assert_eq!(short(command, form), expected, "{form}: {command}");
        }
        let background = short("sleep 30 & echo started", form);
        assert!(background.starts_with("Output: started\n"), "{background}");
        let pid = line(&background, "Background PIDs");
        line(&background, "Process Group PGID");
        assert_eq!(call(&ws, &format!("kill {pid}")).run().status(), 0);
        let late = call(&ws, "echo before; sleep 30")
            .env("GEMINI_TOOLS_SHELL_TIMEOUT", "0.3")
            .flags(&["--output", form])
            .run();
        let late = late.text().replace("\\n", "\n");
        assert!(
            late.contains("Output: before\nError: The command was ended after 0.3 s")
                && !late.contains("(none)"),
            "{late}"
        );
    }
}

#[test]
fn both_streams_come_in_the_order_in_which_they_were_printed() {
    let ws = Workspace::new();
    let text = output(
        &ws,
        "for i in $(seq 50); do echo out $i; echo err $i >&2; done",
    );
    let expected: Vec<_> = (1..=50)
        .flat_map(|i| [format!("out {i}"), format!("err {i}")])
        .collect();
    assert_eq!(text, expected.join("\n"));
}

#[test]
fn surroundings_are_those_of_a_program_without_a_person() {
    let ws = Workspace::new();
    let call = call(
        &ws,
        "echo $GEMINI_CLI $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $DEBIAN_FRONTEND $GIT_EDITOR $TERM $OWN; read x || echo no input; \
         [ -t 0 ] || [ -t 1 ] || echo no terminal; ps -o pid=,sid=,pgid= -p $$ | { read a b c; [ $a = $b ] && [ $b = $c ] && echo leader; }; \
         (exec 3</dev/tty) 2>/dev/null || echo no tty; ls /proc/self/fd | tr '\\n' ' '",
    );
    let text = printed(&call.env("OWN", "mine").run().output());
    assert_eq!(
        text,
        "1 cat cat 0 noninteractive true dumb mine\nno input\nno terminal\nleader\nno tty\n0 1 2 3"
    );
    let kept = printed(
        &self::call(&ws, "echo $TERM")
            .env("TERM", "xterm")
            .run()
            .output(),
    );
    assert_eq!(kept, "xterm");
}

#[test]
fn ignored_signals_of_the_host_are_not_inherited() {
    let ws = Workspace::new();
    let command = "echo $((0x$(grep SigIgn /proc/self/status | cut -f 2) & 0x7fffffff))";
    let call = call(&ws, command).in_bash("trap '' PIPE INT HUP CHLD; \"$@\"");
    // The C library keeps the signals above for itself.
    assert_eq!(printed(&call.run().output()), "0");
}

#[test]
fn a_directory_of_another_root_is_given_by_its_path() {
    let ws = Workspace::new().outside("other/a", "");
    let root = ws.outside_path("other");
    let run = |directory: &str| {
        let call = with(&ws, &json!({"command": "pwd; ls", "directory": directory}));
        call.env("GEMINI_TOOLS_ROOTS", &root).run()
    };
    assert_eq!(printed(&run(&root).output()), format!("{root}\na"));
    run("other").error("file_not_found", 1);
}

#[test]
fn a_group_that_is_left_is_ended_as_the_declaration_says() {
    let ws = Workspace::new();
    let declarations = ws.get_tools(&[]).run().json();
    let tools = declarations.as_array().expect("a list");
    let shell = tools.iter().find(|t| t["name"] == "run_shell_command");
    let description = shell
        .and_then(|t| t["description"].as_str())
        .expect("a text");
    let text = call(&ws, "sleep 300 & echo $!").run().output();
    let plain = call(&ws, "true").run().output();
    let labels: Vec<&str> = plain
        .lines()
        .filter_map(|l| Some(l.split_once(": ")?.0))
        .collect();
    assert_eq!(labels.len(), 8, "{plain}");
    for label in labels {
        assert!(description.contains(label), "{label}: {description}");
    }
    assert!(description.contains("kill -- -PGID"), "{description}");
    let pgid = text
        .lines()
        .find_map(|l| l.strip_prefix("Process Group PGID: "));
    let pgid = pgid.expect("a group");
    let ended = call(
        &ws,
        &format!("kill -- -{pgid}; sleep 0.3; kill -0 -- -{pgid}"),
    )
    .run();
    assert!(
        ended.output().contains("No such process"),
        "{}",
        ended.shown()
    );
}

#[test]
fn directory_is_kept_beneath_the_roots() {
    let ws = Workspace::new()
        .file("sub/a", "")
        .file("file", "")
        .link("out", "../out")
        .link("in", "sub");
    let run =
        |directory: &str| with(&ws, &json!({"command": "pwd; ls", "directory": directory})).run();
    for inside in ["sub", "./sub/", &ws.path("sub"), "in", "sub/../sub"] {
        let text = run(inside).output();
        assert!(text.contains(&format!("\nDirectory: {inside}\n")), "{text}");
        assert!(printed(&text).ends_with("\na"), "{text}");
    }
    for outside in [
        "../out",
        "..",
        "/",
        "out",
        "out/../../out",
        &ws.outside_path(""),
    ] {
        run(outside).error("path_not_in_workspace", 1);
    }
    run("none").error("file_not_found", 1);
    run("file").error("path_is_not_a_directory", 1);
    assert!(printed(&run("").output()).contains("file"));
}

#[test]
fn arguments_that_can_not_be_used_are_named() {
    let ws = Workspace::new();
    for (arguments, part) in [
        (json!({}), "\"command\" is missing"),
        (json!({"command": " \n"}), "must not be empty"),
        (json!({"command": "a\u{0}b"}), "NUL"),
        (json!({"command": ["ls"]}), "must be a string"),
        (json!({"command": "ls", "timeout": 0}), "\"timeout\""),
        (json!({"command": "ls", "timeout": -1}), "\"timeout\""),
        (
            json!({"command": "ls", "timeout": 3601}),
            "at most 3600 seconds, but it is 3601",
        ),
        (
            json!({"command": "ls", "is_background": "yes"}),
            "\"is_background\"",
        ),
    ] {
        let message = with(&ws, &arguments).run().error("invalid_tool_params", 2);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn lines_are_run_as_they_are() {
    let ws = Workspace::new();
    for (command, expected) in [
        ("echo a # comment", "a"),
        ("cat <<EOF\nb\nEOF", "b"),
        ("echo c;", "c"),
        ("-x || echo d", "bash: line 1: -x: command not found\nd"),
        ("echo \"$0 $#\"", "bash 0"),
        ("echo 'e\\n' \"$(echo f)\"", "e\\n f"),
    ] {
        assert_eq!(output(&ws, command), expected, "{command}");
    }
    let long = format!("echo {} | wc -c", "x".repeat(100_000));
    assert_eq!(output(&ws, &long), "100001");
    let too_long = format!("echo {}", "x".repeat(3_000_000));
    let message = call(&ws, &too_long).run().error("shell_execute_error", 1);
    assert!(
        message.contains("longer than the system allows"),
        "{message}"
    );
}

#[test]
fn no_bash_is_an_error_that_says_so() {
    let ws = Workspace::new();
    let answer = call(&ws, "echo x").env("PATH", "/nonexistent").run();
    assert!(answer.error("shell_execute_error", 1).contains("no bash"));
}

#[test]
fn without_a_home_commands_run_but_can_not_stay() {
    let ws = Workspace::new();
    let without = |arguments: Value| with(&ws, &arguments).env("HOME", "").run();
    let text = without(json!({"command": "seq 100000"})).output();
    assert!(
        text.contains("[Truncated: ") && text.contains("left out here.]"),
        "{text}"
    );
    let message = without(json!({"command": "sleep 9", "is_background": true}));
    assert!(message.error("shell_execute_error", 1).contains("HOME"));
}

#[test]
fn what_can_not_be_found_again_does_not_stay() {
    // A file where the directory of jobs would be.
    let ws = Workspace::new().home(".gemini/tmp", "");
    let marker = format!("{}-lost", std::process::id());
    let call = |arguments: Value| with(&ws, &arguments).env("GEMINI_TREE", &marker).run();
    let asked = call(json!({"command": "sleep 60", "is_background": true}));
    assert!(
        asked
            .error("shell_execute_error", 1)
            .contains("can't be kept")
    );
    wait_until("its end", || {
        marked_processes("GEMINI_TREE", &marker).is_empty()
    });
    let left = call(json!({"command": "sleep 2 & echo on"})).output();
    assert!(
        left.contains("Error: The background output can't be kept")
            && left.contains("Background PIDs: "),
        "{left}"
    );
}

/// Where that may be asked for, the command goes on without a break from its first moment, so
/// that it is quicker than its supervisor.
const AT_ONCE: &str = r#"
    first="chrt --fifo 1 taskset --cpu-list 0"
    $first true 2>/dev/null || first=
    exec $first "$@"
"#;

/// Waits until there is no process of this id, nor what is left of one.
#[track_caller]
fn must_end(pid: &str) {
    assert!(!pid.is_empty());
    wait_until("its end", || {
        !fs::exists(format!("/proc/{pid}")).expect("an answer")
    });
}

#[test]
fn a_command_that_stops_its_supervisor_ends_in_time_with_all_that_it_started() {
    let ws = Workspace::new();
    let in_time = |command: &str| with(&ws, &json!({"command": command, "timeout": 2}));
    let text = in_time("kill -STOP $PPID; echo done").in_bash(AT_ONCE);
    let text = text.run().output();
    assert_eq!(
        (printed(&text).as_str(), line(&text, "Exit Code")),
        ("done", "0")
    );
    for command in [
        "sleep 6171 & kill -STOP $PPID; echo $!; sleep 6172",
        // Again and again.
        "sleep 6171 & echo $!; while :; do kill -STOP $PPID; done",
    ] {
        let message = in_time(command).run().error("timeout", 124);
        assert!(!message.contains("could not be ended"), "{message}");
        must_end(printed(&message).trim());
    }
}

#[test]
fn a_command_in_the_background_that_stops_its_supervisor_keeps_nobody_waiting() {
    let ws = Workspace::new();
    let command = "sleep 6173 & kill -STOP $PPID; sleep 6174";
    let text = with(&ws, &json!({"command": command, "is_background": true}))
        .run()
        .output();
    let job = line(&text, "Process Group PGID");
    let supervisor = {
        let status = fs::read_to_string(format!("/proc/{job}/status")).expect("it runs");
        let parent = status.lines().find_map(|l| l.strip_prefix("PPid:"));
        parent.expect("a parent").trim().parse().expect("an id")
    };
    kill_process(Pid::from_raw(supervisor).expect("an id"), Signal::STOP).expect("it runs");
    let job: i64 = job.parse().expect("an id");
    let stop = ws
        .tool("stop_background_process")
        .arguments(&json!({ "pid": job }));
    stop.unwatched().run().output();
    must_end(&job.to_string());
}

#[test]
fn how_a_command_ended_is_known_when_it_ends_on_the_way_to_the_background() {
    let ws = Workspace::new();
    for millis in (130..170).step_by(4) {
        let command = format!("sleep 0.3 & sleep 0.{millis}; exit 3");
        let arguments = json!({"command": command, "is_background": true});
        let text = with(&ws, &arguments).run().output();
        if line(&text, "Exit Code") == "3" {
            continue;
        }
        let first: i64 = line(&text, "Process Group PGID").parse().expect("an id");
        let read = ws.tool("read_background_output");
        let read = read.arguments(&json!({"pid": first, "wait": 20}));
        let later = read.unwatched().run().output();
        assert!(later.contains("exited with code 3."), "{text}\n{later}");
    }
}

#[test]
fn a_command_that_kills_its_supervisor_is_ended() {
    let ws = Workspace::new();
    let call = call(&ws, "echo before; sleep 61 & kill -9 $PPID; sleep 60");
    let message = call.in_bash(AT_ONCE).run();
    let message = message.error("shell_execute_error", 1);
    assert!(
        message.contains("watched over the command was killed"),
        "{message}"
    );
    assert_eq!(printed(&message), "before");
}

#[test]
fn closing_the_output_is_not_the_end() {
    let ws = Workspace::new();
    let text = call(&ws, "echo before; exec >&- 2>&-; sleep 0.3; exit 5")
        .run()
        .output();
    assert_eq!(
        (printed(&text).as_str(), line(&text, "Exit Code")),
        ("before", "5")
    );
}

#[test]
fn characters_are_whole_wherever_the_pipe_cuts_them() {
    let ws = Workspace::new();
    for offset in 0..4 {
        let command = format!(
            "printf '%{offset}s' '' | tr ' ' x; for i in $(seq 3000); do printf '👍日é'; done"
        );
        let text = printed(&call(&ws, &command).run().output());
        assert_eq!(
            text,
            format!("{}{}", "x".repeat(offset), "👍日é".repeat(3000))
        );
    }
}

#[test]
fn a_megabyte_is_cut_and_kept_whole_in_a_file() {
    let ws = Workspace::new();
    let text = call(
        &ws,
        "for i in $(seq 20000); do echo \"$i 👍👍👍👍👍👍👍👍\"; done",
    )
    .run()
    .output();
    let shown = printed(&text);
    assert!(shown.starts_with("1 👍") && shown.ends_with("20000 👍👍👍👍👍👍👍👍"));
    assert!(!shown.contains('\u{fffd}') && shown.chars().count() < 40_500);
    let file = shown
        .split(" is in ")
        .nth(1)
        .and_then(|r| r.split(';').next())
        .expect("a file");
    let whole = fs::read_to_string(file).expect("the whole output");
    let expected: String = (1..=20000).fold(String::new(), |all, i| {
        all + &format!("{i} {}\n", "👍".repeat(8))
    });
    assert!(whole == expected, "the file holds every byte");
    let read = ws
        .call(
            "read_file",
            &json!({"absolute_path": file, "offset": 10000, "limit": 1}),
        )
        .output();
    assert!(read.contains("10001 👍"), "{read}");
}

#[test]
fn the_limit_of_the_settings_holds_and_a_pipe_gets_more() {
    let ws = Workspace::new().file(
        ".gemini/settings.json",
        r#"{"tools": {"truncateToolOutputThreshold": 500}}"#,
    );
    let text = printed(&call(&ws, "seq 1000").run().output());
    assert!(
        text.chars().count() < 900 && text.ends_with("\n1000"),
        "{text}"
    );
    let piped = call(&ws, "seq 1000").flags(&["--output", "text"]).run();
    assert!(piped.text().contains("\n500\n501\n"));
}

#[test]
fn what_a_terminal_would_show_is_what_the_model_sees() {
    let ws = Workspace::new();
    for (command, expected) in [
        (
            r"printf '\033[1;31mred\033[0m\033]0;title\007 plain\n'",
            "red plain",
        ),
        (
            r"for i in 10 50 100; do printf '\r%3d%%' $i; done; echo",
            "100%",
        ),
        (r"printf 'a\r\nb\r\n'", "a\nb"),
        (r"printf 'caf\351\n'", "café\n[Decoded from windows-1252.]"),
        (r"printf 'caf\303\251 \377\n'", "café \\x{ff}"),
        (r"printf 'a b\0c\0'", "a b\u{2400}c\u{2400}"),
    ] {
        assert_eq!(output(&ws, command), expected, "{command}");
    }
    let result = call(&ws, r"printf '\033[31mred\033[0m'")
        .flags(&["--output", "result"])
        .run()
        .json();
    assert_eq!(result["returnDisplay"], "\u{1b}[31mred\u{1b}[0m");
    assert!(
        result["llmContent"]
            .as_str()
            .expect("text")
            .contains("Output: red\n")
    );
}

#[test]
fn binary_output_is_named_and_kept() {
    let ws = Workspace::new();
    let text = output(&ws, r"printf '\211PNG\r\n\032\n\0\0\0\rIHDR'");
    assert!(text.contains("image/png, 16 bytes, is not shown"), "{text}");
    let file = text
        .split(" is in ")
        .nth(1)
        .and_then(|r| r.split(';').next())
        .expect("a file");
    assert_eq!(
        fs::read(file).expect("kept"),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    );
}

#[test]
fn out_of_time_the_answer_holds_what_came_until_then() {
    let ws = Workspace::new();
    let command = "echo before; trap 'echo asked' TERM; sleep 60 & wait; sleep 60";
    let own = "ended after 0.5 s, its time limit. Set a larger timeout";
    let of_call = "its time limit, 0.5 s (GEMINI_TOOLS_TIMEOUT). A larger timeout can't help: \
                   raise GEMINI_TOOLS_TIMEOUT (seconds)";
    for (arguments, variable, why) in [
        (json!({"command": command, "timeout": 0.5}), None, own),
        (
            json!({"command": command}),
            Some("GEMINI_TOOLS_SHELL_TIMEOUT"),
            own,
        ),
        (
            json!({"command": command, "timeout": 60}),
            Some("GEMINI_TOOLS_TIMEOUT"),
            of_call,
        ),
        (
            json!({"command": command}),
            Some("GEMINI_TOOLS_TIMEOUT"),
            of_call,
        ),
    ] {
        let marker = format!("{}-{variable:?}", std::process::id());
        let mut call = with(&ws, &arguments).env("GEMINI_TREE", &marker);
        if let Some(variable) = variable {
            call = call.env(variable, "0.5");
        }
        let message = call.run().error("timeout", 124);
        assert!(printed(&message).starts_with("before\nasked"), "{message}");
        assert!(message.contains(why), "{message}");
        assert_eq!(marked_processes("GEMINI_TREE", &marker), []);
    }
}

#[test]
fn every_executable_names_the_limit_of_all_tools_that_ended_a_command() {
    let script = "turns:\n- calls:\n  - name: run_shell_command\n    args: {command: sleep 300}\n\
                  - text: Done.\n";
    let ws = Workspace::new().file("turns.yaml", script);
    let arguments = json!({"command": "sleep 300"});
    let variable = ("GEMINI_TOOLS_TIMEOUT", "0.5");
    let run = |call: Call<'_>| {
        let answer = call.env(variable.0, variable.1).unwatched().run();
        String::from_utf8_lossy(&answer.stdout).into_owned()
    };
    let single = run(with(&ws, &arguments));
    let line = json!({"name": "run_shell_command", "args": arguments}).to_string();
    let batch = run(ws.call_tool(&["--batch"]).input(line));
    let args = [
        "--model-script",
        "turns.yaml",
        "-y",
        "-o",
        "stream-json",
        "go",
    ];
    let agent = run(ws.program(&executable("run_agent"), &args));
    let mut server = Server::start_with(&ws, &[], &[variable]);
    server.greet("2025-11-25", &json!({}));
    let by_mcp = server.call("run_shell_command", &arguments).to_string();
    for said in [single, batch, agent, by_mcp] {
        let why = "its time limit, 0.5 s (GEMINI_TOOLS_TIMEOUT). A larger timeout can't help: \
                   raise GEMINI_TOOLS_TIMEOUT (seconds)";
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn the_default_limit_of_all_tools_does_not_cut_a_chosen_one() {
    // The limit of all tools is only the default here, so the argument alone counts.
    let ws = Workspace::new();
    let text = with(
        &ws,
        &json!({"command": "sleep 0.2; echo done", "timeout": 3600}),
    )
    .run()
    .output();
    assert_eq!(printed(&text), "done");
}

#[test]
fn silence_ends_a_command_where_an_idle_limit_is_set() {
    let ws = Workspace::new();
    let quiet = json!({"command": "for i in 1 2 3 4 5; do echo $i; sleep 0.2; done; sleep 60"});
    let message = with(&ws, &quiet)
        .env("GEMINI_TOOLS_SHELL_IDLE_TIMEOUT", "0.8")
        .run()
        .error("timeout", 124);
    assert!(
        message.contains("idle limit") && printed(&message).ends_with('5'),
        "{message}"
    );
    let ws = ws.home(
        ".gemini/settings.json",
        r#"{"tools": {"shell": {"inactivityTimeout": 1}}}"#,
    );
    let message = call(&ws, "sleep 60").run().error("timeout", 124);
    assert!(message.contains("idle limit"), "{message}");
}

#[test]
fn explaining_runs_nothing() {
    let ws = Workspace::new().directory("sub");
    let arguments =
        json!({"command": "touch ran", "description": "make a file", "directory": "sub"});
    let answer: Answer = with(&ws, &arguments).flags(&["--explain"]).run();
    let explained = answer.json();
    assert_eq!(
        explained["description"],
        "`touch ran` [in sub] (make a file)"
    );
    assert_eq!(explained["locations"][0]["path"], ws.path("sub"));
    assert_eq!(explained["confirmation"]["command"], "touch ran");
    assert!(!ws.dir().join("sub/ran").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_of_an_ordinary_user_reaches_neither_the_answer_nor_the_memory_of_the_call() {
    // The watching process, then the call itself.
    let command = "read -r _ _ _ call _ < /proc/$PPID/stat; for id in $PPID $call; do
        for name in fd/0 fd/1 fd/2 mem environ; do
            (exec 3<> /proc/$id/$name) 2> /dev/null && echo \"$name of $id is open\"
        done
    done; echo tried";
    let ws = Workspace::new().unprivileged();
    let output = ws
        .call("run_shell_command", &json!({"command": command}))
        .output();
    assert!(output.contains("\nOutput: tried\n"), "{output}");
    // What it does to its own files is as it was.
    let edit = json!({"file_path": ws.path("a.txt"), "content": "text\n"});
    let answer = ws
        .tool("write_file")
        .arguments(&edit)
        .changing(&["a.txt"])
        .run();
    assert!(
        answer.output().starts_with("Successfully"),
        "{}",
        answer.shown()
    );
}

#[test]
fn output_in_an_older_encoding_is_decoded_and_said_to_be() {
    let ws = Workspace::new();
    // By the names of iconv and of the standard.
    for (name, text) in [
        ("GBK", "编译错误：找不到头文件。"),
        ("Shift_JIS", "コンパイルエラー：ファイルが見つかりません。"),
        ("IBM866", "Ошибка: не удалось найти файл на диске"),
    ] {
        let (bytes, _, _) = encoding_rs::Encoding::for_label(name.as_bytes())
            .expect("a known one")
            .encode(text);
        let octal = bytes
            .iter()
            .fold(String::new(), |all, b| all + &format!("\\{b:03o}"));
        // Cut within a character, and ASCII before it and between.
        let command = format!(
            "echo one; printf '{}'; sleep 0.2; printf '{}\\n'; echo two",
            &octal[..4],
            &octal[4..]
        );
        let expected = format!("one\n{text}\ntwo\n[Decoded from {name}.]");
        assert_eq!(output(&ws, &command), expected, "{name}");
    }
    let diff = r"printf -- '-gr\366\337er f\374r Fran\347ois\n+gr\303\266\303\237er \346\227\245\346\234\254\n'";
    assert_eq!(
        output(&ws, diff),
        "-größer für François\n+größer 日本\n[Decoded from windows-1252.]"
    );
}
