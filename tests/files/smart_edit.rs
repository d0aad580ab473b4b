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

#[test]
fn a_literal_text_is_replaced_as_by_replace() {
    let output = becomes("one\ntwo\nthree\n", "two", "2", "one\n2\nthree\n");
    assert!(
        output.starts_with("Successfully modified file: ") && !output.contains("literally"),
        "{output}"
    );
}

#[test]
fn new_lines_whose_depth_is_not_known_are_refused() {
    let text = "for a in b:\n    for c in a:\n        go(c)\n    done(a)\n";
    let flat = "for a in b:\nfor c in a:\ngo(c)\ndone(a)";
    let more = flat.replace("go(c)", "go(c)\nlog(c)");
    let message = refuses(text, flat, &more, "edit_no_occurrence_found");
    assert!(
        message.contains("indentation of its new lines"),
        "{message}"
    );
    // Literally there, but behind the line's indentation.
    let message = refuses(text, "go(c)", "go(c)\nlog(c)", "edit_no_occurrence_found");
    assert!(
        message.contains("line 3") && message.contains("indentation of its new lines"),
        "{message}"
    );
    let after = text.replace("go(c)", "go(c)\n        log(c)");
    becomes(
        text,
        "        go(c)",
        "        go(c)\n        log(c)",
        &after,
    );
}

#[test]
fn new_lines_at_the_files_depth_are_not_moved_with_a_flat_old_text() {
    for (text, edits) in [
        (
            "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
            [("return 1", "return 10"), ("def g(", "def h(")],
        ),
        (
            "k:\n  a:\n    - b: 1\n      c: 2\n    - d: 3\n",
            [("- b: 1", "- b: 5"), ("- d: 3", "- e: 3")],
        ),
    ] {
        let (above, whole) = text.split_once('\n').expect("lines");
        let depth = &whole[..whole.len() - whole.trim_start().len()];
        let flat = |text: &str| {
            let lines = text.lines();
            let lines = lines.map(|line| line.strip_prefix(depth).unwrap_or(line));
            lines.collect::<Vec<_>>().join("\n")
        };
        for (from, to) in edits {
            let after = whole.replacen(from, to, 1);
            // Only the first line lost its indentation, as the first one of a quotation often does.
            let new = after.trim();
            refuses(text, &flat(whole), new, "edit_no_occurrence_found");
            let after_all = format!("{above}\n{after}");
            becomes(text, &flat(whole), &flat(&after), after_all);
        }
    }
}

#[test]
fn a_last_line_in_both_texts_stays_where_the_new_one_has_it_twice() {
    let before = "o = {\n    f: (v) => {\n        return s(v);\n    },\n    props: 1,\n};\n";
    let old = "        return s(v);\n      },";
    let more = "        return p(v);\n    },\n    p: () => {\n        return q();\n";
    let after = before.replace("        return s(v);\n", more);
    becomes(before, old, &format!("{more}      }},"), after);
}

#[test]
fn blanks_behind_the_last_line_of_the_old_text_begin_another_one() {
    let text = "f(a)\n  g(\"b\")\n\nnext\n";
    for blanks in ["  ", "    ", "\t"] {
        let old = format!("f(a)\n  g(“b”)\n{blanks}");
        let after = text.replace("f(a)", "h(a)");
        becomes(text, &old, "h(a)\n  g(“b”)\n", &after);
    }
}

#[test]
fn a_line_whose_twin_at_another_depth_has_the_mark_is_not_taken_for_that() {
    for (here, there) in [("", ";"), ("", ":"), ("", ","), ("", ".")] {
        let text = format!(
            "f {{\n    if (a) {{\n        push(errors){here}\n    }}\n  push(errors){there}\n}}\n"
        );
        let old = format!("        push(errors){there}");
        refuses(&text, &old, "        push(it)", "edit_no_occurrence_found");
        let (deep, old) = (
            format!("        push(errors){there}"),
            format!("  push(errors){there}"),
        );
        let text = format!("f {{\n{deep}\n  push(errors){here}\n}}\n");
        refuses(
            &text,
            &old,
            "  push(it)",
            "edit_expected_occurrence_mismatch",
        );
    }
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
    for (text, old, new, after) in [
        ("x\ny\n", "x", "x\n", "x\n\ny\n"),
        (
            "a {\n}\n",
            "a {\n}",
            "a {\n}\n\na {\n}",
            "a {\n}\n\na {\n}\n",
        ),
        ("f(x)\n", "x", "(x)", "f((x))\n"),
        (
            "    g()\n    return None\n",
            "    g()",
            "    if g():\n        return None",
            "    if g():\n        return None\n    return None\n",
        ),
        (
            "say hello.\n",
            "hello",
            "hello. Good bye",
            "say hello. Good bye.\n",
        ),
    ] {
        becomes(text, old, new, after);
    }
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
fn an_edit_is_not_called_done_while_the_file_has_its_line_with_other_letters() {
    let text = "name = \"a\"\nversion = \"0.2.1\"\n\nname = \"b\"\nversion = \"0.2.2\"\n";
    let (old, new) = ("versoin = \"0.2.1\"", "version = \"0.2.2\"");
    let message = refuses(text, old, new, "edit_no_occurrence_found");
    assert!(
        message.contains("0.2.1") && !message.contains("already"),
        "{message}"
    );
    let done = text.replace("0.2.1", "0.2.2");
    refuses(&done, &old.replace("oi", "io"), new, "edit_no_change");
    refuses(&done, old, new, "edit_no_change");
}

#[test]
fn ascii_in_new_lines_stays_whatever_a_quoted_comment_has() {
    for (comment, quoted, new) in [
        ("# Don’t", "# Don't", "x = 'a'"),
        ("# pages 3–5", "# pages 3-5", "x = 9 - 1"),
        ("# 手順１", "# 手順1", "x = 1"),
        ("# （注）", "# (注)", "f(2)"),
        ("# wait…", "# wait...", "Tuple[int, ...]"),
        ("# m²", "# m2", "m2 = 1"),
    ] {
        becomes(
            format!("{comment}\nx = 0\n"),
            &format!("{quoted}\nx = 0\n"),
            &format!("{quoted}\n{new}\n"),
            format!("{comment}\n{new}\n"),
        );
    }
    // What is quoted in the changed line itself stays as the file has it.
    let (old, new) = ("say \"hi\"\nend", "say \"bye\"\nend");
    becomes("say “hi”\nend\n", old, new, "say “bye”\nend\n");
}

#[test]
fn a_line_that_the_new_text_has_as_the_file_does_is_not_unescaped() {
    for (file, escaped) in [
        (r"sep = '\\'", r"sep = '\\\\'"),
        (r#"r = "a\\b""#, r#"r = "a\\\\b""#),
        (r#"p("x\n")"#, r#"p("x\\n")"#),
        ("a &amp; b", "a &amp;amp; b"),
    ] {
        let text = format!("{file}\nx = 1\n");
        let (old, new) = (format!("{escaped}\nx = 1\n"), format!("{file}\nx = 2\n"));
        refuses(&text, &old, &new, "edit_no_occurrence_found");
        let new = format!("{escaped}\nx = 2\n");
        becomes(&text, &old, &new, format!("{file}\nx = 2\n"));
    }
}

#[test]
fn a_line_in_both_texts_stays_though_its_quotes_are_escaped() {
    for line in [r#"  "a.c","#, r#"  """Doc.""""#, r#"x = "b""#] {
        let escaped = line.replace('"', "\\\"");
        for (new, after) in [
            (format!("{escaped}\ng()"), format!("{line}\ng()\n")),
            (format!("g()\n{escaped}"), format!("g()\n{line}\n")),
        ] {
            becomes(format!("{line}\n"), &escaped, &new, after);
        }
    }
}

#[test]
fn an_escape_of_another_notation_than_the_decoded_ones_is_not_written() {
    let text = "if a == \"x\":\n    run(b)\n";
    let old = "if a == &quot;x&quot;:\n    run(b)\n";
    for entity in ["&#x27;", "&#38;", "&nbsp;"] {
        let new = old.replace("(b)", &format!("(b, {entity})"));
        refuses(text, old, &new, "edit_no_occurrence_found");
    }
    let old = r"city = 1\nname = 2\n";
    let new = r#"city = 1\nname = "Zo\u00eb"\n"#;
    refuses("city = 1\nname = 2\n", old, new, "edit_no_occurrence_found");
}

#[test]
fn a_line_number_takes_no_blank_of_the_indentation_with_it() {
    let text = "import os\nimport sys\n";
    for mark in [":", "|", ": ", " | ", "\t"] {
        let old = format!("1{mark}import os\n2{mark}import sys\n");
        let new = format!("{old}3{mark}def g():\n4{mark}    return 1\n");
        becomes(text, &old, &new, format!("{text}def g():\n    return 1\n"));
    }
}

#[test]
fn a_name_that_is_mistyped_in_a_line_that_stays_is_not_written_into_a_new_one() {
    let text = "def pay(customer_id):\n    check(customer_id)\n    log(1)\n    return 1\n";
    let old = text.replacen("customer", "custumer", 1);
    let new = |name: &str| {
        let line = format!("    charge({name})\n    return");
        [
            old.replace("    return", &line),
            text.replace("    return", &line),
        ]
    };
    let [wrong, _] = new("custumer_id");
    refuses(text, &old, &wrong, "edit_no_occurrence_found");
    let [right, after] = new("customer_id");
    becomes(text, &old, &right, after);
}

#[test]
fn places_that_overlap_are_several() {
    let text = "<li>a</li>\n<li>a</li>\n<li>a</li>\n";
    let old = "<li>a</li>\n<li>a</li>\n";
    let message = refuses(text, old, "b\n", "edit_expected_occurrence_mismatch");
    assert!(message.contains("line 1, line 2"), "{message}");
}

#[test]
fn a_word_is_not_cut_where_whole_lines_may_be_meant() {
    let text = "discount = 1\ncount    = 1\n";
    let kind = "edit_expected_occurrence_mismatch";
    let message = refuses(text, "count = 1\n", "count = 2\n", kind);
    assert!(
        message.contains("line 1") && message.contains("line 2"),
        "{message}"
    );
    refuses("x = 10\nx  = 1\n", "x = 1", "x = 2", kind);
    becomes("discount = 1\n", "count = 1", "count = 2", "discount = 2\n");
}

#[test]
fn what_makes_no_difference_is_not_said_to_be_there() {
    let kind = "edit_no_occurrence_found";
    refuses("a “x” b", "a \"x\" b", "a \"x\" b\n", kind);
}

#[test]
fn a_line_that_stands_for_code_left_out_is_not_written() {
    let new = "one\n// ... existing code ...";
    let message = refuses("one\ntwo\n", "one", new, "invalid_tool_params");
    assert!(message.contains("// ... existing code ..."), "{message}");
    let before = "one\ntwo\n// ... existing code ...\n";
    becomes(before, "one", new, before.replacen("one", new, 1));
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
fn blanks_at_the_end_of_a_file_without_a_last_line_end_are_as_on_other_lines() {
    let before = "one\nlast  ";
    for (old, new, after) in [
        ("last  \n", "new\n", "one\nnew"),
        ("last  \n", "last  \nnew\n", "one\nlast  \nnew"),
        ("one\nlast\n", "1\nlast\n", "1\nlast  "),
        ("last\n", "", "one\n"),
    ] {
        becomes(before, old, new, after);
        let crlf = |text: &str| text.replace('\n', "\r\n");
        becomes(crlf(before), old, new, crlf(after));
    }
    // Whether a new line has such blanks too is not known.
    let message = refuses(before, "last\n", "new\n", "edit_no_occurrence_found");
    assert!(message.contains("blanks at the ends of lines"), "{message}");
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
fn several_places_are_refused_with_their_lines() {
    let message = refuses(
        "x = 1\n\nx = 1\n",
        "x = 1",
        "x = 2",
        "edit_expected_occurrence_mismatch",
    );
    assert!(
        message.contains("2 times") && message.contains("line 1, line 3"),
        "{message}"
    );
    let twins = "if a:\n    f(1)\n    g()\nif b:\n    f(1)\n    g()\n";
    let message = refuses(
        twins,
        "f(1)\ng()",
        "f(2)\ng()",
        "edit_expected_occurrence_mismatch",
    );
    for piece in [
        "2 places",
        "line 2, line 5",
        "indentation",
        "Nothing was changed",
    ] {
        assert!(message.contains(piece), "{piece}: {message}");
    }
}

#[test]
fn of_several_places_the_line_number_in_front_chooses() {
    let text = "if a:\n    f(1)\n\n".repeat(4);
    for mark in [":", "|", "\t"] {
        for place in 0..4 {
            let line = place * 3 + 1;
            let old = format!("{line}{mark}if a:\n{}{mark}    f(1)", line + 1);
            let new = old.replace("f(1)", "f(2)");
            let mut after: Vec<&str> = text.split_inclusive('\n').collect();
            after[line] = "    f(2)\n";
            becomes(&text, &old, &new, after.concat());
        }
    }
    // A number at which the text is not says nothing.
    refuses(
        &text,
        "2: if a:\n3:     f(1)",
        "2: if a:\n3:     f(2)",
        "edit_expected_occurrence_mismatch",
    );
}

#[test]
fn what_an_edit_changes_must_be_there_as_it_says() {
    // The context is right, but the line that is to change was changed by another program.
    let before = "[package]\nname = \"x\"\nversion = \"2.0.0\"\nedition = \"2024\"\n";
    let message = refuses(
        before,
        "name = \"x\"\nversion = \"1.0.0\"\nedition = \"2024\"",
        "name = \"x\"\nversion = \"1.1.0\"\nedition = \"2024\"",
        "edit_no_occurrence_found",
    );
    assert!(message.contains("Near: lines 2-4"), "{message}");
}

#[test]
fn dots_in_place_of_lines_never_get_into_the_file() {
    let before = "fn a() {\n    one();\n    two();\n    three();\n    four();\n}\n";
    let after = before.replace("four", "five");
    let old = "fn a() {\n    // ...\n    four();\n}";
    becomes(before, old, "fn a() {\n    // ...\n    five();\n}", after);
    let new = "fn a() {\n    one();\n    // ...\n    five();\n}";
    let whole = "fn a(){\n    one();\n    two();\n    three();\n    four();\n}";
    let bare = new.replace("// ", "");
    refuses(before, whole, &bare, "edit_no_occurrence_found");
    // In a comment they are not written either where old_string is there to the byte.
    for old in [whole, before] {
        let message = refuses(before, old, new, "invalid_tool_params");
        assert!(message.contains("\"// ...\""), "{message}");
    }
    // Elsewhere in the file, they stand for something else.
    let other = format!("{before}// ...\n");
    refuses(&other, before, new, "invalid_tool_params");
    becomes(before, before, &bare, &bare);
}

#[test]
fn what_is_too_large_to_be_compared_is_said_to_be() {
    let old = "another line\n".repeat(6_000);
    let message = refuses("a line\n", &old, "x", "edit_no_occurrence_found");
    assert!(message.contains("too large to be compared"), "{message}");
}

#[test]
fn an_indentation_that_one_text_lacks_is_not_doubled() {
    let before = "class A:\n    def f(self):\n        return 1\n";
    let old = "def f(self):\n        return 1";
    becomes(
        before,
        old,
        "    def g(self):\n        return 1",
        "class A:\n    def g(self):\n        return 1\n",
    );
    // A single line may well be meant to stand further in.
    becomes("if x:\n    y\n", "y", "    y", "if x:\n        y\n");
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
