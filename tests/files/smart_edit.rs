//! `smart_edit`: the place that is meant, or nothing. What share of real edits it finds is in `smart_edit_cases`.

use std::fs::{self, File};
use std::io::Write as _;

use rustix::fs::FlockOperation;
use serde_json::{Value, json};

use crate::harness::stand_in::StandIn;
use crate::harness::web_server::{WebServer, page};
use crate::harness::{Call, Workspace};

fn arguments(ws: &Workspace, old: &str, new: &str) -> Value {
    json!({
        "file_path": ws.path("a.txt"), "instruction": "Make it so.", "old_string": old, "new_string": new,
    })
}

/// Edits `a.txt`, which must become `after`, and gives the answer's text.
#[track_caller]
fn becomes(before: impl AsRef<[u8]>, old: &str, new: &str, after: impl AsRef<[u8]>) -> String {
    let ws = Workspace::new().file("a.txt", before);
    let call = ws.tool("smart_edit").arguments(&arguments(&ws, old, new));
    let output = call.changing(&["a.txt"]).run().output();
    let got = fs::read(ws.path("a.txt")).expect("the edited file");
    assert_eq!(got, after.as_ref(), "{:?}", String::from_utf8_lossy(&got));
    output
}

/// Tries to edit `a.txt`, which must stay as it is, and gives the message.
#[track_caller]
fn refuses(before: &str, old: &str, new: &str, kind: &str) -> String {
    let ws = Workspace::new().file("a.txt", before);
    let status = if kind == "invalid_tool_params" { 2 } else { 1 };
    ws.call("smart_edit", &arguments(&ws, old, new))
        .error(kind, status)
}

/// Edits that put text where it is already: the file, both texts, what is there twice then, and what
/// `smart_edit` says. `{}` is where each of some pieces of text is put.
const REPEATED: &[[&str; 5]] = &[
    [
        "alpha\nbeta_value()\ngamma_value()\n",
        "beta_value()",
        "beta_value(9)\ngamma_value()",
        "gamma_value()",
        "twice",
    ],
    [
        "alpha\nbeta_value()\ngamma_value()\n",
        "gamma_value()",
        "beta_value()\ngamma_value(9)",
        "beta_value()",
        "twice",
    ],
    [
        "a\nbeta_value()\ngamma_value()\n",
        "beta_value()\n",
        "b()\ngamma_value()\n",
        "gamma_value()",
        "twice",
    ],
    [
        "{\n  \"a\": 1,\n  \"b\": 2\n}\n",
        "\"a\": 1",
        "\"a\": 3,",
        ",",
        "twice",
    ],
    [
        "export function f(a) {\n}\n",
        "function f(a)",
        "export function f(a, b)",
        "export",
        "twice",
    ],
    [
        "x = 1; // keep\n",
        "x = 1",
        "x = 2; // keep",
        "; // keep",
        "twice",
    ],
    ["g(\"a\", b);\n", "\"a\", b", "\"a\", c);", ");", "twice"],
    [
        "x = \"one\";\n",
        "x = \"one",
        "x = \"two\";",
        "\";",
        "twice",
    ],
    ["- one\n", "one", "- two", "-", "twice"],
    ["a\nb\nnew\n", "b", "b\nnew", "new", "already"],
    ["a\nnew\nb\n", "b", "new\nb", "new", "already"],
    ["f(x, y);\n", "x", "x, y", ", y", "already"],
];

#[test]
fn what_stands_beside_the_text_is_not_put_there_twice() {
    for [text, old, new, twice, said] in REPEATED {
        for end in ["\n", "\r\n"] {
            let text = text.replace('\n', end);
            let kind = ["edit_no_occurrence_found", "edit_no_change"];
            let kind = kind[usize::from(*said == "already")];
            let message = refuses(&text, old, new, kind);
            assert!(message.contains(said), "{message}");
            // `replace` does what it is told, as that of Gemini CLI, and says it.
            let ws = Workspace::new().file("a.txt", &text);
            let call = json!({"file_path": "a.txt", "old_string": old, "new_string": new});
            let call = ws.tool("replace").arguments(&call).changing(&["a.txt"]);
            let output = call.run().output();
            assert!(
                output.contains(&format!("`{twice}` is there twice")),
                "{output}"
            );
        }
    }
    refuses(
        "x = “hi”;\n",
        "x = \"hi\"",
        "x = \"ho\";",
        "edit_no_occurrence_found",
    );
}

#[test]
fn a_line_that_the_old_text_cuts_and_the_new_one_has_whole_is_not_there_twice() {
    let [first, last] = ["pub(crate) mod consts;", "    run(alpha, beta);"];
    let text = format!("{first}\nfor a in b\n{last}\n");
    let new = text.trim_end().replace("for a in b", "if (a) {\nit's");
    let whole = text.trim_end();
    let heads = (1..first.len()).map(|at| (&whole[at..], &*new));
    let rests = (1..last.len() - 4).map(|at| (&whole[..whole.len() - at], &*new));
    let alone = [(&first[3..9], "pub(crate) mod consts;\nmod b {}")];
    for (old, new) in heads.chain(rests).chain(alone) {
        let message = refuses(&text, old, new, "edit_no_occurrence_found");
        assert!(message.contains("twice"), "{old:?}: {message}");
    }
}

#[test]
fn a_repeated_insertion_changes_nothing_whatever_is_quoted() {
    let lines: Vec<String> = (1..7).map(|n| format!("line {n} of it\n")).collect();
    for at in 0..6 {
        for count in 1..=6 - at {
            let old = lines[at..at + count].concat();
            for inside in 0..=count {
                let (above, below) = lines[at..at + count].split_at(inside);
                let new = [&above.concat(), "new\n", &below.concat()].concat();
                let after = lines.concat().replacen(&old, &new, 1);
                becomes(lines.concat(), &old, &new, &after);
                let ws = Workspace::new().file("a.txt", &after);
                ws.tool("smart_edit")
                    .arguments(&arguments(&ws, &old, &new))
                    .run()
                    .status();
                assert_eq!(fs::read_to_string(ws.path("a.txt")).expect("text"), after);
            }
        }
    }
}

#[test]
fn lines_that_differ_in_their_ends_only_are_places_alike() {
    for (one, other) in [("\r\n", "\n"), ("\n", "\r\n")] {
        let text = format!("1{one}  x = 1{one}  end{one}2{other}  x = 1{other}  end{other}");
        let (old, new) = ("  x = 1\n  end", "  x = 2\n  end");
        let kind = "edit_expected_occurrence_mismatch";
        let message = refuses(&text, old, new, kind);
        assert!(message.contains("line 2, line 5"), "{message}");
        let ws = Workspace::new().file("a.txt", &text);
        let mut call = json!({"file_path": "a.txt", "old_string": old, "new_string": new});
        ws.call("replace", &call).error(kind, 1);
        call["expected_replacements"] = json!(2);
        ws.tool("replace")
            .arguments(&call)
            .changing(&["a.txt"])
            .run()
            .output();
        let got = fs::read_to_string(ws.path("a.txt")).expect("text");
        assert_eq!(got, text.replace("= 1", "= 2"));
        let crlf = old.replace('\n', "\r\n");
        becomes(&text, &crlf, "y", text.replacen(&crlf, "y", 1));
    }
}

#[test]
fn the_answer_names_the_reading_and_shows_what_changed() {
    let before = "fn f() {\n\tif x {\n\t\ty();\n\t}\n}\n";
    let after = "fn f() {\n\tif x {\n\t\tz();\n\t}\n}\n";
    let output = becomes(
        before,
        "    if x {\n        y();\n    }",
        "    if x {\n        z();\n    }",
        after,
    );
    for piece in [
        "at line 2",
        "not there literally",
        "indentation, blanks",
        "-\t\ty();",
        "+\t\tz();",
    ] {
        assert!(output.contains(piece), "{piece}: {output}");
    }
    let before = "fn total() {\n\tif wanted(x) {\n\t\tprint(x);\n\t}\n}\n";
    let ws = Workspace::new().file("a.txt", before);
    let call = ws.tool("smart_edit").arguments(&arguments(
        &ws,
        "fn totl() {\n\tif wanted(x) {\n\t\tprint(x);",
        "fn totl() {\n\tif wanted(x) {\n\t\tprint(y);",
    ));
    let result = call
        .flags(&["--output", "result"])
        .changing(&["a.txt"])
        .run()
        .json();
    assert_eq!(result["data"]["found_by"], "mistyped", "{result}");
}

#[test]
fn bytes_that_are_only_quoted_stay_as_they_are() {
    // A byte that is not UTF-8, blanks at a line end, CR LF and a missing last line end.
    let before = b"\xef\xbb\xbfa \xff\r\nsay \xe2\x80\x9chi\xe2\x80\x9d  \r\nend".to_vec();
    let after = b"\xef\xbb\xbfa \xff\r\nsay \xe2\x80\x9chi\xe2\x80\x9d  \r\nEND".to_vec();
    becomes(&before, "say \"hi\"\nend", "say \"hi\"\nEND", after);
}

#[test]
fn other_encodings_are_kept() {
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    becomes(
        utf16("  ä(x)\r\n  b\r\n"),
        "ä(x)\nb",
        "ä(y)\nb",
        utf16("  ä(y)\r\n  b\r\n"),
    );
    // Latin-1.
    let before = b"\td\xe9j\xe0 vu\n\tune phrase en fran\xe7ais, assez longue\n";
    let after = b"\td\xe9j\xe0 lu\n\tune phrase en fran\xe7ais, assez longue\n";
    let longer = "une phrase en français, assez longue";
    let [old, new] = ["vu", "lu"].map(|word| format!("  déjà {word}\n  {longer}"));
    let output = becomes(before, &old, &new, after);
    assert!(output.contains("The file stays in"), "{output}");
}

#[test]
fn what_is_too_large_to_be_compared_is_said_to_be() {
    let old = "another line\n".repeat(6_000);
    let message = refuses("a line\n", &old, "x", "edit_no_occurrence_found");
    assert!(message.contains("too large to be compared"), "{message}");
}

#[test]
fn an_empty_old_string_makes_a_new_file_and_only_that() {
    let ws = Workspace::new();
    let call = ws
        .tool("smart_edit")
        .arguments(&arguments(&ws, "", "new\n"));
    call.changing(&["a.txt"]).run().output();
    assert_eq!(fs::read(ws.path("a.txt")).expect("made"), b"new\n");
    refuses("x", "", "y", "attempt_to_create_existing_file");
    refuses("x\n", "x", "x", "edit_no_change");
}

#[test]
fn the_instruction_is_needed_and_the_path_is_checked() {
    let ws = Workspace::new().file("a.txt", "x\n");
    let without = json!({"file_path": ws.path("a.txt"), "old_string": "x", "new_string": "y"});
    let message = ws
        .call("smart_edit", &without)
        .error("invalid_tool_params", 2);
    assert!(message.contains("instruction"), "{message}");
    let outside = json!({
        "file_path": ws.outside_path("b.txt"), "instruction": "i", "old_string": "x", "new_string": "y",
    });
    ws.call("smart_edit", &outside)
        .error("path_not_in_workspace", 1);
}

#[test]
fn explain_shows_the_diff_of_a_text_that_is_not_there_literally() {
    let ws = Workspace::new().file("a.txt", "  one  \n  two\n");
    let call = ws
        .tool("smart_edit")
        .arguments(&arguments(&ws, "one\ntwo", "one\nthree"));
    let explained = call.flags(&["--explain"]).run().json();
    let diff = explained["confirmation"]["fileDiff"]
        .as_str()
        .expect("a diff");
    assert!(
        diff.contains("-  two") && diff.contains("+  three"),
        "{explained}"
    );
}

/// What edit matching does not find.
const BEFORE: &str = "fn total(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n";
const OLD: &str = "fn sum_up(list: Vec<u32>) -> u32 {";

/// An edit that only a model can correct, with a credential.
fn correctable<'a>(ws: &'a Workspace, api: &StandIn) -> Call<'a> {
    let call =
        ws.tool("smart_edit")
            .arguments(&arguments(ws, OLD, "fn sum_up(list: &[u32]) -> u64 {"));
    call.env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url())
}

/// A model that answers with this.
fn correcting(answer: &Value) -> Value {
    let text = match answer {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    json!({"answers": [{"match": {"kind": "side"}, "text": text, "times": "always"}]})
}

#[test]
fn a_model_corrects_what_no_reading_finds_and_the_answer_says_so() {
    let good = json!({
        // A blank at a line's end is looked past here, too.
        "search": "fn total(xs: &[u32]) -> u32 { \n", "replace": "fn total(xs: &[u32]) -> u64 {\n",
        "no_changes_required": false, "explanation": "The function is called total.",
    });
    let Some(api) = StandIn::playing(&correcting(&good)) else {
        return;
    };
    let ws = Workspace::new().file("a.txt", BEFORE);
    let call = correctable(&ws, &api).flags(&["--output", "result"]);
    let result = call.changing(&["a.txt"]).run().json();
    let got = fs::read_to_string(ws.path("a.txt")).expect("the edited file");
    assert_eq!(got, BEFORE.replace("-> u32", "-> u64"));
    let said = result["llmContent"].as_str().expect("text");
    for piece in [
        "A model has corrected",
        "called total",
        "+fn total(xs: &[u32]) -> u64",
    ] {
        assert!(said.contains(piece), "{piece}: {said}");
    }
    assert_eq!(result["data"]["found_by"], "model", "{result}");
    // It was asked once, with the instruction, the texts, the error and the file, for JSON.
    let requests = api.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let body = &requests[0]["body"];
    let asked = body["contents"][0]["parts"][0]["text"]
        .as_str()
        .expect("a question");
    for piece in ["Make it so.", OLD, "was not found", "xs.iter().sum()"] {
        assert!(asked.contains(piece), "{piece}: {asked}");
    }
    assert_eq!(
        body["generationConfig"]["responseMimeType"],
        "application/json"
    );
}

#[test]
fn another_writer_does_not_wait_for_the_model_and_its_change_stays() {
    let ws = Workspace::new().file("a.txt", BEFORE);
    let path = ws.path("a.txt");
    let api = WebServer::new(move |_, line| {
        let file = File::options().append(true).open(&path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        (&file).write_all(b"// More.\n")?;
        let search = "fn total(xs: &[u32]) -> u32 {";
        let text = json!({
            "search": search, "replace": search.replace("-> u32", "-> u64"),
            "no_changes_required": false, "explanation": "",
        });
        let parts = json!([{"text": text.to_string()}]);
        let body = json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]});
        line.send(page("application/json", body.to_string()))
    });
    let call = ws.tool("smart_edit").arguments(&arguments(&ws, OLD, "x"));
    let call = call
        .env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url("/").trim_end_matches('/'));
    call.changing(&["a.txt"]).run().output();
    let got = fs::read_to_string(ws.path("a.txt")).expect("the edited file");
    assert_eq!(got, BEFORE.replace("-> u32", "-> u64") + "// More.\n");
}

#[test]
fn no_model_is_asked_where_it_is_not_needed_or_not_wanted() {
    let good = json!({
        "search": "xs.iter()", "replace": "ys.iter()", "no_changes_required": false, "explanation": "",
    });
    let Some(api) = StandIn::playing(&correcting(&good)) else {
        return;
    };
    let not_asked = |ws: &Workspace| {
        let answer = correctable(ws, &api).run();
        answer.error("edit_no_occurrence_found", 1);
        assert_eq!(api.requests(), [] as [Value; 0]);
    };
    let off = r#"{"tools": {"disableLLMCorrection": true}}"#;
    not_asked(
        &Workspace::new()
            .file("a.txt", BEFORE)
            .file(".gemini/settings.json", off),
    );
    not_asked(
        &Workspace::new()
            .file("a.txt", BEFORE)
            .home(".gemini/settings.json", off),
    );
    // What .geminiignore names stays here.
    not_asked(
        &Workspace::new()
            .file("a.txt", BEFORE)
            .file(".geminiignore", "a.txt\n"),
    );
    let ws = Workspace::new().file("a.txt", BEFORE);
    let explained = correctable(&ws, &api).flags(&["--explain"]).run().json();
    let prompt = explained["confirmation"]["prompt"]
        .as_str()
        .expect("a question");
    assert!(
        prompt.contains("A model will be asked"),
        "to look is not to ask: {prompt}"
    );
    assert_eq!(api.requests(), [] as [Value; 0]);
    let found = ws
        .tool("smart_edit")
        .arguments(&arguments(&ws, "xs.iter()", "ys.iter()"));
    found
        .env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url())
        .changing(&["a.txt"])
        .run()
        .output();
    assert_eq!(api.requests(), [] as [Value; 0]);
}

#[test]
fn what_a_model_gives_must_fit_or_nothing_changes() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let answer = |search: &str, replace: &str, none: bool| {
        json!({
            "search": search, "replace": replace, "no_changes_required": none, "explanation": "Because.",
        })
    };
    for (given, kind, piece) in [
        (
            answer("nowhere to be found", "x", false),
            "edit_no_occurrence_found",
            "not found exactly once",
        ),
        (
            answer("u32", "u64", false),
            "edit_no_occurrence_found",
            "not found exactly once",
        ),
        (
            answer("", "x", false),
            "edit_no_occurrence_found",
            "was not found",
        ),
        (
            answer("xs", "xs", false),
            "edit_no_occurrence_found",
            "was not found",
        ),
        (answer("", "", true), "edit_no_change", "Because."),
        (
            json!("I would rather not."),
            "edit_no_occurrence_found",
            "without success",
        ),
        (
            json!({"search": 7}),
            "edit_no_occurrence_found",
            "without success",
        ),
    ] {
        api.play(&correcting(&given));
        let ws = Workspace::new().file("a.txt", BEFORE);
        let answer = correctable(&ws, &api).run();
        answer.must_say(&answer.error(kind, 1), &[piece]);
    }
    // The API's own troubles are not a reason to say less.
    api.play(&json!({"answers": [{"status": 403, "match": {}, "times": "always"}]}));
    let ws = Workspace::new().file("a.txt", BEFORE);
    let answer = correctable(&ws, &api).run();
    let message = answer.error("edit_no_occurrence_found", 1);
    answer.must_say(&message, &["was not found", "without success", "403"]);
}

#[test]
fn a_line_end_that_only_the_new_text_lacks_joins_no_lines() {
    for end in ["\n", "\r\n"] {
        let lines: Vec<String> = (1..6).map(|n| format!("NAME_{n}=value{end}")).collect();
        let text = lines.concat();
        for (from, until) in (0..4).flat_map(|from| (from + 1..5).map(move |until| (from, until))) {
            let old = lines[from..until].concat();
            let new = old.replacen("value", "other", 1);
            let after = text.replacen(&old, &new, 1);
            becomes(&text, &old, new.trim_end(), &after);
            // An empty line below is not taken for the line end.
            let blank =
                |text: &str| text.replacen(&lines[until], &[end, &lines[until]].concat(), 1);
            becomes(blank(&text), &old, new.trim_end(), blank(&after));
            // `replace` does what it is told, and says it.
            let ws = Workspace::new().file("a.txt", &text);
            let call =
                json!({"file_path": "a.txt", "old_string": old, "new_string": new.trim_end()});
            let call = ws.tool("replace").arguments(&call).changing(&["a.txt"]);
            let output = call.run().output();
            assert!(output.contains("are one line"), "{output}");
            // What is plainly a wish to join lines is one.
            becomes(
                &text,
                &old,
                old.trim_end(),
                text.replacen(&old, old.trim_end(), 1),
            );
            let blank = format!("{} ", new.trim_end());
            becomes(&text, &old, &blank, text.replacen(&old, &blank, 1));
        }
    }
}

#[test]
fn a_numbered_last_line_that_is_empty_is_a_line() {
    let (text, old) = ("a = 1\nb = 2\n\nc = 3\n", "1: a = 1\n2: b = 2\n3: ");
    for (new, after) in [
        (
            "1: a = 1\n2: b = 2\n3: \n4: X",
            "a = 1\nb = 2\n\nX\nc = 3\n",
        ),
        ("1: a = 1\n2: b = 2", "a = 1\nb = 2\nc = 3\n"),
        ("1: a = 1\n2: b = 3\n3: ", "a = 1\nb = 3\n\nc = 3\n"),
    ] {
        for mark in [": ", ":", " | ", "\t"] {
            let [old, new] = [old, new].map(|text| text.replace(": ", mark));
            becomes(text, &old, &new, after);
        }
    }
}

#[test]
fn an_indentation_that_only_the_old_text_lacks_is_not_doubled() {
    for before in ["  ", "    ", "\t"] {
        let text = format!("def f():\n{before}if x:\n{before}  y()\n{before}z()\n");
        let old = format!("if x:\n{before}  y()");
        for y in ["y()", "  y() "] {
            let new = format!("{before}if x:\n{before}{y}");
            let after = text.replace("  y()", y);
            becomes(&text, &old, &new, after);
        }
        let new = format!("{before}if y:\n{before}  y()");
        let ws = Workspace::new().file("a.py", &text);
        let call = json!({"file_path": "a.py", "old_string": old, "new_string": new});
        let call = ws.tool("replace").arguments(&call).changing(&["a.py"]);
        let output = call.run().output();
        assert!(
            output.contains("indentation of the first line is there twice"),
            "{output}"
        );
    }
}

#[test]
fn new_words_are_composed_as_the_file_composes_the_old_ones() {
    for (file, old, more) in [
        ("caf\u{e9}", "cafe\u{301}", ["an\u{303}o", "a\u{f1}o"]),
        (
            "\u{d55c}\u{ae00}",
            "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}",
            ["\u{1102}\u{1161}", "\u{b098}"],
        ),
        (
            "\u{30d8}\u{30c3}\u{30c0}\u{30fc}",
            "\u{30d8}\u{30c3}\u{30bf}\u{3099}\u{30fc}",
            ["\u{30ab}\u{3099}", "\u{30ac}"],
        ),
    ] {
        let text = format!("{file} = 1\nx\n");
        let old = format!("{old} = 1");
        let new = format!("{old}\n{} = 2", more[0]);
        becomes(
            &text,
            &old,
            &new,
            format!("{file} = 1\n{} = 2\nx\n", more[1]),
        );
    }
}

#[test]
fn dots_that_would_leave_their_block_hide_no_place() {
    let deep = "setup() {\n    cd build\n    cmake ..\n    make\n}\n";
    let here = "cd build\n\ncmake ..\nmake\n";
    let old = "cd build\n...\nmake";
    let new = "cd build\n...\nmake -j2";
    for text in [[deep, here].concat(), [here, deep].concat()] {
        refuses(&text, old, new, "edit_expected_occurrence_mismatch");
    }
    becomes(deep, old, new, deep.replace("make\n", "make -j2\n"));
    refuses(here, old, new, "edit_no_occurrence_found");
}
