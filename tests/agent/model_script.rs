//! Turns of a model that are written by hand, and what they find out about tools.

use std::fs;

use serde_json::json;

use crate::harness::agent::{ended, said};
use crate::harness::{Call, Workspace, executable};

fn scripted<'a>(ws: &'a Workspace, args: &[&str]) -> Call<'a> {
    let args = [&["--model-script", "turns.yaml"], args].concat();
    ws.program(&executable("run_agent"), &args).unwatched()
}

fn with(script: &str) -> Workspace {
    Workspace::new()
        .file("turns.yaml", script)
        .file("a.txt", "one\n")
}

#[test]
fn a_script_calls_tools_and_checks_their_answers() {
    let ws = with(
        "prompt: Look\n\
         turns:\n\
         - thought: Where is it?\n\
         \x20 text: I look.\n\
         \x20 calls:\n\
         \x20 - name: read_file\n\
         \x20   args: {absolute_path: '{{workspace}}/a.txt'}\n\
         \x20   expect: {state: success, contains: one, lacks: [two, three]}\n\
         \x20 - name: read_file\n\
         \x20   args: {absolute_path: missing.txt}\n\
         \x20   expect: {state: error, error_type: file_not_found}\n\
         - text: Done.\n",
    );
    let answer = scripted(&ws, &[]).run();
    assert_eq!(said(&answer), "I look.\nDone.\n");
    answer.must_say(&answer.errors(), &["run_agent: 2 expectations met"]);
    // A prompt that is given takes the place of the script's.
    let answer = scripted(&ws, &["-o", "stream-json", "Something else"]).run();
    assert!(
        said(&answer).contains("Something else"),
        "{}",
        answer.shown()
    );
    fs::write(ws.path("a.txt"), "two\n").expect("written");
    let answer = scripted(&ws, &[]).run();
    let why = [
        "The run differs from the model script turns.yaml in call 1, read_file",
        "the answer does not contain \"one\". The answer (success):\ntwo",
    ];
    ended(&answer, 4, &why);
    fs::write(ws.path("a.txt"), "one two\n").expect("written");
    ended(
        &scripted(&ws, &[]).run(),
        4,
        &["the answer contains \"two\""],
    );
    fs::write(ws.path("a.txt"), "one\n").expect("written");
    fs::write(ws.path("missing.txt"), "there\n").expect("written");
    ended(
        &scripted(&ws, &[]).run(),
        4,
        &["call 2, read_file", "expected is error, and it is success"],
    );
    fs::remove_file(ws.path("missing.txt")).expect("removed");
    fs::create_dir(ws.path("missing.txt")).expect("made");
    ended(
        &scripted(&ws, &[]).run(),
        4,
        &["expected is the error type file_not_found, and it is "],
    );
}

/// Turns of a script, the status with which the run ends, how its output begins, and what its errors say.
const FAULTS: &[(&str, i32, &str, &str)] = &[
    (
        "- {status: 429, retry_after: 0.05}\n- text: Done.",
        0,
        "Done.\n",
        "",
    ),
    (
        "- {status: 503, message: Down, repeat: 5}",
        1,
        "",
        "503: Down (5 attempts)",
    ),
    (
        "- {status: 429, retry_after: 61}",
        1,
        "",
        "The model script says so. Try again in 61 s",
    ),
    ("- fault: cut\n- text: Done.", 0, "Done.\n", ""),
    ("- {fault: cut, text: Half}", 1, "Half", "was cut off"),
    ("- {fault: cut, text: ''}\n- text: Done.", 0, "Done.\n", ""),
    (
        "- {finish: MAX_TOKENS, repeat: 3}",
        1,
        "",
        "no usable answer (MAX_TOKENS)",
    ),
    ("- fault: malformed\n- text: Done.", 0, "Done.\n", ""),
    (
        "- {fault: malformed, text: Half}",
        1,
        "Half",
        "can't be understood",
    ),
    ("- fault: unreachable\n- text: Done.", 0, "Done.\n", ""),
    (
        "- {fault: unreachable, repeat: 5}",
        1,
        "",
        "was not reached: by the model script",
    ),
    ("- {text: '', repeat: 2}\n- text: Done.", 0, "Done.\n", ""),
    ("- {finish: SAFETY}", 1, "", "SAFETY"),
    ("- {text: Half, finish: MAX_TOKENS}", 0, "Half\n", "cut off"),
    ("- {text: Half, finish: NOT_YET}", 0, "Half\n", "NOT_YET"),
    (
        "- {finish: MALFORMED_FUNCTION_CALL}\n- text: Done.",
        0,
        "Done.\n",
        "",
    ),
    (
        "- {calls: [{name: glob, args: {pattern: '*'}}], repeat: 5}",
        1,
        "",
        "repeats the same call (glob",
    ),
];

#[test]
fn faults_of_a_script_are_met_as_those_of_the_api() {
    for (turns, status, out, err) in FAULTS {
        let ws = with(&format!("turns:\n{turns}\n"));
        let answer = scripted(&ws, &["Go"]).run();
        assert_eq!(answer.status(), *status, "{turns}: {}", answer.shown());
        assert!(
            answer.text().starts_with(*out),
            "{turns}: {}",
            answer.shown()
        );
        assert_eq!(
            answer.errors().is_empty(),
            err.is_empty(),
            "{turns}: {}",
            answer.shown()
        );
        assert!(
            answer.errors().contains(*err),
            "{turns}: {}",
            answer.shown()
        );
    }
}

#[test]
fn a_script_that_does_not_fit_the_run_is_status_4() {
    let call = "- calls: [{name: glob, args: {pattern: '*'}}]\n";
    let ws = with(&format!("turns:\n{call}"));
    ended(
        &scripted(&ws, &["Go"]).run(),
        4,
        &[
            "The model script turns.yaml has 1 answer of the model, and the run asks for one more. Add a turn",
        ],
    );
    let ws = with(&format!("turns:\n- text: Done.\n{call}- text: More.\n"));
    ended(
        &scripted(&ws, &["Go"]).run(),
        4,
        &[
            "has 2 answers more of the model that were not asked for: the run was over with answer 1",
        ],
    );
}

#[test]
fn a_wrong_script_is_refused_with_its_line() {
    for (script, said) in [
        (
            "turns:\n- text: a\n- txet: b\n",
            "turns.yaml, line 3: A model script has no key \"txet\" here. Did you mean text?",
        ),
        ("turns: []\n", "turns.yaml: The script has no turns."),
    ] {
        ended(&scripted(&with(script), &["Go"]).run(), 42, &[said]);
    }
    let ws = with("turns:\n- text: Done.\n");
    ended(
        &scripted(&ws, &[]).run(),
        42,
        &["There is no prompt.", "prompt: in the script"],
    );
    let ws = Workspace::new();
    ended(
        &scripted(&ws, &["Go"]).run(),
        42,
        &["The model script turns.yaml: No such file"],
    );
    let ws = Workspace::new().file("turns.yaml", [0xff, 0xfe, 0xfd]);
    ended(&scripted(&ws, &["Go"]).run(), 42, &["not UTF-8"]);
}

#[test]
fn any_pair_is_tested_and_its_whole_answers_are_kept_by_a_recording() {
    let list = r#"#!/bin/sh
echo '[{"name": "greet", "description": "Greets.", "parametersJsonSchema": {"type": "object",
  "properties": {"name": {"type": "string"}}, "required": ["name"]}}]'
"#;
    let call = "#!/bin/sh\nread -r args\necho \"Hello, $args in $PWD!\"\n";
    let script = json!({"prompt": "Greet Ada", "turns": [
        {"calls": [
            {"name": "greet", "args": {"name": "Ada"}, "expect": {"contains": "Hello"}},
            {"name": "greet", "args": {}, "expect": {"error_type": "invalid_tool_params"}},
        ]},
        {"text": "Greeted."},
    ]});
    let ws = with(&script.to_string())
        .file("list", list)
        .mode("list", 0o755)
        .file("call", call)
        .mode("call", 0o755);
    let pair = [
        "--discovery-command",
        "./list",
        "--call-command",
        "./call",
        "-y",
    ];
    let answer = scripted(&ws, &pair).run();
    answer.must_say(&answer.errors(), &["2 expectations met"]);
    let answer = scripted(&ws, &[&pair[..], &["--record", "golden.yaml"]].concat()).run();
    assert_eq!(said(&answer), "Greeted.\n");
    let play = [&["--model-script", "golden.yaml"][..], &pair].concat();
    let run = || {
        ws.program(&executable("run_agent"), &play)
            .unwatched()
            .run()
    };
    assert_eq!(said(&run()), "Greeted.\n");
    fs::write(ws.path("call"), call.replace("Hello", "Good day")).expect("written");
    ended(
        &run(),
        4,
        &[
            "in call 1, greet {\"name\":\"Ada\"}:",
            "-Hello, {\"name\":\"Ada\"} in {{workspace}}!",
            "+Good day",
        ],
    );
}

#[test]
fn json_commands_no_terminal() {
    let said = "\u{9b}31m\u{202e}abc\u{200b}\u{e0041} ümlaut";
    let written = r"\x9b31m\u202eabc\u200b\U000e0041 \u00fcmlaut";
    let ws = with(&format!("prompt: Go\nturns:\n- text: \"{written}\"\n"));
    for format in ["json", "stream-json"] {
        let shown = scripted(&ws, &["-o", format])
            .at_a_terminal()
            .sees_it_end(0);
        assert!(shown.is_ascii(), "{shown:?}");
        let lines = shown.replace("\r\n", "\n");
        let read = serde_json::Deserializer::from_str(&lines).into_iter::<serde_json::Value>();
        let read: Vec<_> = read.collect::<Result<_, _>>().expect("JSON");
        assert!(json!(read).to_string().contains(said), "{shown}");
        // A program reads it as it is.
        let piped = scripted(&ws, &["-o", format]).run();
        assert!(piped.text().contains(said), "{}", piped.shown());
    }
}

#[test]
fn a_script_comes_from_standard_input_and_pipes() {
    let text = "prompt: Go\nturns: [{text: Played.}]\n";
    let ws = with(text).fifo("pipe");
    let play = |args: &[&str]| ws.program(&executable("run_agent"), args).unwatched();
    let stdin = play(&["--model-script", "-"]).input(text).run();
    assert_eq!(said(&stdin), "Played.\n");
    // Standard input is the script then, and no part of the prompt.
    let stdin = play(&["--model-script", "-", "-o", "stream-json", "Other"])
        .input(text)
        .run();
    assert!(!said(&stdin).contains("turns:"), "{}", stdin.shown());
    for script in [
        "exec \"$@\" --model-script <(cat turns.yaml)",
        "cat turns.yaml > pipe & exec \"$@\" --model-script pipe",
        "cat turns.yaml | \"$@\" --model-script /dev/stdin",
        "exec \"$@\" --model-script /dev/fd/7 7< turns.yaml",
    ] {
        assert_eq!(
            said(&play(&[]).in_bash(script).run()),
            "Played.\n",
            "{script}"
        );
    }
    let wrong = play(&["--model-script", "-"]).input("turns: 1\n").run();
    ended(&wrong, 42, &["standard input, line 1"]);
    let waiting = play(&["--model-script", "pipe", "--time-limit", "0.3", "x"]).run();
    ended(&waiting, 124, &["0.3 s (--time-limit)"]);
}
