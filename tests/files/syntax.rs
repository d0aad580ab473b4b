//! What a parser says of source files: new syntax errors after a change, and outlines.

use std::fs;

use serde_json::json;

use crate::harness::Workspace;

const SOURCE: &str = "fn main() {\n    run();\n}\n\nfn run() {}\n";

/// Text of 2,100 lines that ends with a function.
fn long() -> String {
    "// Nothing.\n".repeat(2_090)
        + "\n/// Runs.\npub fn run_all() {\n    run();\n}\n\nstruct Last;\n"
}

#[test]
fn an_edit_that_breaks_a_file_names_the_line_and_is_made() {
    let ws = Workspace::new().file("a.rs", SOURCE);
    let edit = json!({"file_path": "a.rs", "old_string": "run();", "new_string": "run(;"});
    for tool in ["replace", "smart_edit"] {
        let mut edit = edit.clone();
        edit["instruction"] = json!("Break it.");
        fs::write(ws.path("a.rs"), SOURCE).expect("written");
        let answer = ws.tool(tool).arguments(&edit).changing(&["a.rs"]).run();
        answer.must_say(
            &answer.output(),
            &["broken the syntax of the file: line 2 `run(;`."],
        );
    }
    fs::write(ws.path("a.rs"), SOURCE).expect("written");
    let write = json!({"file_path": "a.rs", "content": SOURCE.replace("main()", "main(")});
    let call = ws.tool("write_file").arguments(&write);
    let answer = call.changing(&["a.rs"]).run();
    answer.must_say(&answer.output(), &["line 1 `fn main( {`"]);
}

#[test]
fn an_error_that_was_there_before_is_not_named() {
    let broken = SOURCE.replace("fn run() {}", "fn run( {}");
    let ws = Workspace::new().file("a.rs", &broken).file("b.rs", SOURCE);
    let edit = |name: &str, old: &str, new: &str| {
        let edit = json!({"file_path": name, "old_string": old, "new_string": new});
        let call = ws.tool("replace").arguments(&edit).changing(&[name]);
        call.run().output()
    };
    assert!(!edit("a.rs", "main", "first").contains("broken the syntax"));
    assert!(edit("a.rs", "run();", "run(;").contains("line 2"));
    assert!(!edit("b.rs", "main", "first").contains("broken the syntax"));
}

#[test]
fn a_new_file_and_a_language_that_is_not_known_are_not_judged() {
    let ws = Workspace::new().file("a.txt", SOURCE);
    let edit = json!({"file_path": "a.txt", "old_string": "run();", "new_string": "run(;"});
    let answer = ws
        .tool("replace")
        .arguments(&edit)
        .changing(&["a.txt"])
        .run();
    assert!(!answer.output().contains("broken the syntax"));
    let write = json!({"file_path": "new.rs", "content": "fn main( {"});
    let answer = ws
        .tool("write_file")
        .arguments(&write)
        .changing(&["new.rs"])
        .run();
    assert!(!answer.output().contains("broken the syntax"));
}

#[test]
fn a_setting_switches_the_parser_off() {
    let ws = Workspace::new()
        .file("a.rs", SOURCE)
        .file("long.rs", long())
        .home(
            ".gemini/settings.json",
            r#"{"tools": {"disableSyntax": true}}"#,
        );
    let edit = json!({"file_path": "a.rs", "old_string": "run();", "new_string": "run(;"});
    let answer = ws
        .tool("replace")
        .arguments(&edit)
        .changing(&["a.rs"])
        .run();
    assert!(!answer.output().contains("broken the syntax"));
    let read = ws.call("read_file", &json!({"absolute_path": "long.rs"}));
    assert!(!read.output().contains("run_all"));
    let outline = json!({"absolute_path": "a.rs", "outline": true});
    let message = ws
        .call("read_file", &outline)
        .error("invalid_tool_params", 2);
    assert!(message.contains("There is no outline of a.rs"), "{message}");
}

#[test]
fn a_text_that_is_cut_ends_with_the_outline_of_the_rest() {
    let ws = Workspace::new().file("a.rs", long());
    let read = ws
        .call("read_file", &json!({"absolute_path": "a.rs"}))
        .output();
    let end = "read a part.]\n2093-2095 function run_all\n2097 struct Last\n";
    assert!(read.ends_with(end), "{}", &read[read.len() - 300..]);
    // Whoever says how much to read wants no more.
    let part = json!({"absolute_path": "a.rs", "limit": 10});
    assert!(!ws.call("read_file", &part).output().contains("run_all"));
}

#[test]
fn an_outline_alone_has_kinds_names_and_lines() {
    let python =
        "import os\n\n\nclass A:\n    def f(self):\n        return 1\n\n\ndef g():\n    pass\n";
    let ws = Workspace::new()
        .file("a.py", python)
        .file("a.txt", "text\n");
    let call = ws.call(
        "read_file",
        &json!({"absolute_path": "a.py", "outline": true}),
    );
    let all = "4-6 class A\n  5-6 function f\n9-10 function g\n";
    assert_eq!(call.output(), all);
    let text = json!({"absolute_path": "a.txt", "outline": true});
    ws.call("read_file", &text).error("invalid_tool_params", 2);
}

#[test]
fn definitions_come_before_the_lines_that_use_them() {
    let ws = Workspace::new()
        .file("a.rs", SOURCE)
        .file("b.py", "def run():\n    pass\n\nrun()\n");
    let search = |pattern: &str| {
        let search = json!({"pattern": pattern, "definitions": true});
        ws.call("search_file_content", &search).output()
    };
    let found = search("run");
    let head = "Found 2 definitions for pattern \"run\":\n---\nFile: a.rs\nL5-5: function run\n---\nFile: b.py\nL1-2: function run\n---\n";
    assert!(found.starts_with(head), "{found}");
    assert!(found.contains("(4 matching lines in all"), "{found}");
    let least = json!({"pattern": "run", "definitions": true, "total_max_matches": 1});
    let least = ws.tool("search_file_content").arguments(&least);
    let least = least.flags(&["--output", "result"]).run().json();
    let said = least["llmContent"].as_str().expect("text");
    assert!(said.contains("(Not all files were looked at."), "{said}");
    assert_eq!(least["data"]["limited"], true);
    assert!(!found.contains("Not all files"), "{found}");
    // The pattern is for the name.
    for pattern in ["^run$", "^(run)$|^nope$", "^ru"] {
        let rest = head.split_once(':').expect("a pattern").1;
        let found = search(pattern);
        assert!(found.contains(rest), "{found}");
    }
    // Without one, the search is an ordinary one.
    assert!(search("pass").contains("L2:     pass"));
    assert!(search("^pass").contains("No matches found"));
}

#[test]
fn an_outline_has_all_or_is_refused_whatever_time_it_takes() {
    let function = |i| format!("function f{i}(a, b) {{\n  return g(a, [b, {{c: {i}}}]);\n}}\n");
    let mut refused = String::new();
    for count in [30, 400, 1_000, 2_000, 4_000, 8_000, 30_000] {
        let text: String = (0..count).map(function).collect();
        let twin = format!("function f{}_twin() {{}}\n", count - 1);
        let ws = Workspace::new().file("a.js", text).file("b.js", twin);
        let outline = json!({"absolute_path": "a.js", "outline": true});
        let said = ws.tool("read_file").arguments(&outline).run();
        let said = said.text();
        let more = said
            .split_once('(')
            .and_then(|(_, end)| end.split_once(" more within"));
        let more = more.map_or(0, |(more, _)| more.parse().expect("a number"));
        let listed = said.matches(" function f").count() + more;
        assert!(
            listed == count || said.contains("is not parsed"),
            "{count}: {said}"
        );
        let search = json!({"pattern": format!("f{}(_|\\b)", count - 1), "definitions": true});
        let found = ws.call("search_file_content", &search).output();
        let is_part = found.contains("Found 1 definition");
        let says_so = found.contains("(Not all files were looked at.");
        assert!(!is_part || says_so, "{found}");
        refused = said.to_owned();
    }
    assert!(refused.contains("no larger than 1 MiB"), "{refused}");
}

/// Valid texts that the grammars do not know, with what they are put in the place of.
const VALID: [(&str, &str, &[&str]); 9] = [
    (
        "css",
        "a { color: red; }\n",
        &[
            "a { background: url(../img/x.png) no-repeat; }\n",
            "@media (width >= 600px) { a { color: red } }\n",
            "@media (400px <= width <= 700px) { a { color: red } }\n",
            "@container card (min-width: 400px) { a { color: red; } }\n",
            "@-moz-document url-prefix() { a { color: red } }\n",
            "a { color: red; *zoom: 1; }\n",
            "a {\n  *zoom: 1;\n  border: 4px solid \\9;\n}\n",
            "a {\n  filter: progid:DXImageTransform.M.g(enabled = false);\n  filter: progid:D.g( a='#3a', b='#1e' );\n}\n",
        ],
    ),
    (
        "tsx",
        "const A = <p>You and me</p>;\n",
        &[
            "const A = <p>You & me</p>;\n",
            "const A = <a href=\"/x?a=1&b=2\">y</a>;\n",
            "const A = <script\n  src='/x?serve=A&placement=B'\n  id=\"c\"\n/>;\n",
        ],
    ),
    (
        "js",
        "const A = <p>You and me</p>;\n",
        &[
            "const A = <p>You & me</p>;\n",
            "const A = <a href=\"/x?a=1&b=2\">y</a>;\n",
            "/* @flow */\nconst A: ?string = <p>You</p>;\n",
        ],
    ),
    (
        "html",
        "<p>You and me</p>\n",
        &[
            "<p>You & me</p>\n",
            "<p>{{ a && b }}</p>\n",
            "<p>{% if a < b %}x{% endif %}</p>\n",
        ],
    ),
    (
        "json",
        "{\"a\": 1}\n",
        &["{\"a\": 1e+22}\n", "{\"a\": [1.5E+3]}\n"],
    ),
    (
        "ts",
        "let x = 1;\n",
        &[
            "let x: import('z').W[] = [];\n",
            "let x: import('z').W<T>;\n",
            "export type * from 'a';\n",
            "class C<in out T> {}\n",
            "class C { static accessor z = 1; }\n",
        ],
    ),
    (
        "cs",
        "class A : B {\n void F() {\n  G(1);\n }\n}\n",
        &[
            "class A : B {\n void F() {\n  G(1\n#if X\n   , 2\n#endif\n  );\n }\n}\n",
            "class A : B {\n#if A\n void F() {\n#else\n void F(int y) {\n#endif\n  G(1);\n }\n}\n",
            "class A\n#if X\n : B, C\n#else\n : B\n#endif\n{\n void F() {\n  G(1);\n }\n}\n",
            "class A<T> where T : allows ref struct { }\n",
        ],
    ),
    ("sh", "a=1\n", &["f <<A && g <<B\nx\nA\ny\nB\n"]),
    ("py", "x = 1\n", &["x = 1\n\x0cdef f():\n    return 1\n"]),
];

#[test]
fn what_is_valid_and_in_common_use_is_no_error_whatever_its_grammar_knows() {
    let mut ws = Workspace::new();
    let mut calls = String::new();
    let mut names = Vec::new();
    for (end, old, texts) in VALID {
        for (i, text) in texts.iter().enumerate() {
            for (line, lines) in ["\n", "\r\n"].into_iter().enumerate() {
                let name = format!("{i}{line}.{end}");
                ws = ws.file(&name, old.replace('\n', lines));
                let args = json!({"file_path": name, "content": text.replace('\n', lines)});
                calls += &(json!({"name": "write_file", "args": args}).to_string() + "\n");
                names.push(name);
            }
        }
    }
    let changed: Vec<&str> = names.iter().map(String::as_str).collect();
    let call = ws.call_tool(&["--batch"]).input(calls).changing(&changed);
    let said = call.run();
    let said = said.text();
    let wrong = said
        .lines()
        .filter(|line| line.contains("broken the syntax"));
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    assert_eq!(said.lines().count(), names.len());
}

#[test]
fn a_patch_names_the_lines_that_it_breaks_in_each_file() {
    let ws = Workspace::new().file("a.rs", SOURCE).file("b.rs", SOURCE);
    let broken = |name: &str| {
        format!(
            "--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n fn main() {{\n-    run();\n+    run(;\n }}\n"
        )
    };
    let patch = json!({"patch": broken("a.rs") + &broken("b.rs")});
    let call = ws.tool("apply_patch").arguments(&patch);
    let said = call.changing(&["a.rs", "b.rs"]).run().output();
    assert_eq!(
        said.matches("broken the syntax of the file: line 2 `run(;`.")
            .count(),
        2,
        "{said}"
    );
}

#[test]
fn the_calls_of_a_batch_share_one_parser() {
    let ws = Workspace::new().file("a.rs", SOURCE);
    let call = |old: &str, new: &str| {
        let arguments = json!({"file_path": "a.rs", "old_string": old, "new_string": new});
        json!({"name": "replace", "args": arguments}).to_string() + "\n"
    };
    let calls = call("run();", "run(;") + &call("run(;", "run();") + &call("main()", "main(");
    let answer = ws
        .call_tool(&["--batch"])
        .input(calls)
        .changing(&["a.rs"])
        .run();
    let named: Vec<bool> = answer
        .text()
        .lines()
        .map(|line| line.contains("broken the syntax"))
        .collect();
    assert_eq!(named, [true, false, true]);
}
