//! `search_file_content`: expressions, filters, encodings, forms of the answer.

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, lines};

fn tree() -> Workspace {
    Workspace::new()
        .file(
            "src/a.ts",
            "import fs;\nfunction loadUser(id) {\n  return id;\n}\n",
        )
        .file("src/b.js", "const LOADUSER = 1;\nlog(LOADUSER);\n")
        .file("doc/read.md", "How to loaduser quickly.\n")
        .file("empty.txt", "")
}

fn search(ws: &Workspace, arguments: &Value) -> Answer {
    ws.call("search_file_content", arguments)
}

/// `file:line` of every match, in the order of the answer.
fn matches(answer: &Answer) -> Vec<String> {
    let mut file = String::new();
    let mut found = Vec::new();
    for line in answer.output().lines() {
        if let Some(name) = line.strip_prefix("File: ") {
            name.clone_into(&mut file);
        } else if let Some((number, _)) = line.strip_prefix('L').and_then(|l| l.split_once(": "))
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            found.push(format!("{file}:{number}"));
        }
    }
    found
}

fn sorted(answer: &Answer) -> Vec<String> {
    let mut found = matches(answer);
    found.sort();
    found
}

/// A project of so many files with so many matches each, in ten directories.
fn large(files: usize, matches: usize, directories: usize) -> Workspace {
    (0..files).fold(Workspace::new(), |ws, n| {
        let line = |i: usize| format!("pub fn function_{i}_of_file_{n}() {{}}\n");
        ws.file(
            format!("d{}/file{n:03}.rs", n % directories),
            lines(matches, line),
        )
    })
}

#[test]
fn a_search_that_is_too_long_names_every_file_with_its_count() {
    let ws = large(90, 40, 10);
    let output = search(&ws, &json!({"pattern": "fn "})).output();
    let head = "Found 3600 matches for pattern \"fn \" in the workspace directory:\n---\nd0/\n file000.rs (40)\n";
    assert!(output.starts_with(head), "{output}");
    assert!(output.chars().count() < 6_000, "{}", output.len());
    for n in 0..90 {
        let first = format!("\n file{n:03}.rs (40)\nL1: pub fn function_0_of_file_{n}() {{}}\n");
        assert!(output.contains(&first), "{first} is not in {output}");
    }
    for n in 0..10 {
        assert!(
            output.contains(&format!("\nd{n}/\n file00{n}.rs")),
            "{output}"
        );
    }
    let hint = "\n(The number of matches of each file, and the first. For more give 'path' or 'total_max_matches'.)";
    assert!(output.ends_with(hint), "{output}");
    let own = json!({"pattern": "fn ", "total_max_matches": 4000});
    let output = search(&ws, &own).output();
    assert!(
        output.starts_with(head),
        "over the limit in spite of it: {output}"
    );
    let (_, rest) = output
        .split_once("The whole answer is in ")
        .expect("a file");
    let kept = rest.split(';').next().expect("a path");
    let whole = std::fs::read_to_string(kept).expect("the file");
    assert_eq!(whole.matches("\nL").count(), 3600);
    // What is read by a program or a person is whole.
    let lines = ws
        .call_tool(&["search_file_content", "fn ", "--output", "lines"])
        .run();
    assert_eq!(lines.text().lines().count(), 3600);
    let short = search(&ws, &json!({"pattern": "function_7_of"}));
    assert_eq!(matches(&short).len(), 90, "what fits is shown as ever");
}

#[test]
fn the_numbers_of_a_search_that_ends_at_its_limit_are_true_and_the_same_each_time() {
    let hits = |count| lines(count, |_| "hit\n".to_owned());
    let ws = Workspace::new();
    let ws = ws.file("a", hits(5_000)).file("b", hits(70_000));
    let output = search(&ws.file("c", "hit\n"), &json!({"pattern": "hit"})).output();
    assert!(output.contains("\n a (5000)\n"), "{output}");
    assert!(output.contains("\n b (more than 20000)\n"), "{output}");
    let end = "\n(The search ended at its limit: what is sorted behind b is not counted.)";
    assert!(output.contains(end), "{output}");
    let ws = (0..60).fold(Workspace::new(), |ws, d| {
        let ws = ws.file(format!("d{d:02}/bin"), "hit\0");
        (0..10).fold(ws, |ws, n| ws.file(format!("d{d:02}/{n}"), hits(100)))
    });
    let found = search(&ws, &json!({"pattern": "hit"})).output();
    assert!(
        found.contains("\nd18/: 1000 matches in 10 files\n"),
        "{found}"
    );
    assert!(found.contains("(20 binary files with"), "{found}");
    for _ in 0..4 {
        assert_eq!(search(&ws, &json!({"pattern": "hit"})).output(), found);
    }
}

#[test]
fn only_more_than_a_hundred_matches_in_several_files_are_too_many_for_a_model() {
    let ws = large(2, 60, 1);
    let shown = |arguments: Value| matches(&search(&ws, &arguments)).len();
    assert_eq!(shown(json!({"pattern": r"function_[1-4]?\d_"})), 100);
    assert_eq!(
        shown(json!({"pattern": "fn ", "path": "d0/file001.rs"})),
        60
    );
    let many = json!({"pattern": "fn "});
    assert_eq!(shown(many.clone()), 20, "both files have a share");
    for (own, found) in [("total_max_matches", 110), ("max_matches_per_file", 120)] {
        assert_eq!(shown(json!({"pattern": "fn ", own: 110})), found, "{own}");
    }
    let call = ws.tool("search_file_content").arguments(&many);
    let all = call.env("GEMINI_TOOLS_CONDENSE", "off").run();
    assert_eq!(matches(&all).len(), 120);
    let one = Workspace::new().file("a.txt", lines(150, |n| format!("needle {n}\n")));
    assert_eq!(
        matches(&search(&one, &json!({"pattern": "needle"}))).len(),
        150
    );
}

#[test]
fn a_line_among_too_many_is_shown_around_its_match() {
    let line = format!("  {} needle {}\n", "é".repeat(100), "y".repeat(100));
    let ws = Workspace::new()
        .file("a.txt", line.repeat(60))
        .file("b.txt", "  needle\n".repeat(60));
    let output = search(&ws, &json!({"pattern": "needle"})).output();
    let head = "---\n./\n a.txt (60)\nL1: …é";
    assert!(output.contains(head), "{output}");
    assert!(output.contains("é needle y"), "{output}");
    assert!(output.contains("y…\nL2: …"), "{output}");
    assert!(
        output.contains(" b.txt (60)\nL1: needle\nL2: needle\n"),
        "{output}"
    );
}

#[test]
fn a_search_in_very_many_files_counts_by_directory() {
    let output = search(&large(400, 5, 10), &json!({"pattern": "fn "})).output();
    for n in 0..10 {
        let counts = format!("\nd{n}/: 200 matches in 40 files\n");
        assert!(output.contains(&counts), "{counts} is not in {output}");
    }
    assert!(output.chars().count() < 2_000, "{output}");
    let output = search(&large(400, 5, 400), &json!({"pattern": "fn "})).output();
    assert!(
        output.contains("\n(200 more): 1000 matches in 200 files\n"),
        "{output}"
    );
    assert_eq!(output.matches(" in 1 file\n").count(), 200);
}

#[test]
fn a_filter_that_fits_no_file_says_where_there_are_some() {
    let ws = Workspace::new()
        .git()
        .file(".gitignore", "build/\n")
        .file("src/deep/a.ts", "x\n")
        .file("build/b.ts", "x\n")
        .file("Docs/c.md", "x\n");
    for (include, says) in [
        (
            "deep/*.ts",
            "No file fits the filter; there is 1 file in subdirectories, as '**/deep/*.ts'.",
        ),
        ("build/*.ts", "there is 1 ignored file."),
        ("docs/*.md", "there is 1 file in another case."),
        ("*.zig", "(No file fits the filter.)"),
    ] {
        let answer = search(&ws, &json!({"pattern": "x", "include": include}));
        answer.must_say(&answer.output(), &["No matches found", says]);
    }
}

#[test]
fn a_search_of_no_file_says_so() {
    let ws = Workspace::new()
        .git()
        .file(".gitignore", "*\n")
        .file("a.txt", "x\n");
    let answer = search(&ws, &json!({"pattern": "x"}));
    let said = "(No file was searched; there are 2 ignored files.)";
    answer.must_say(&answer.output(), &["No matches found", said]);
    let ws = Workspace::new().directory("empty");
    let answer = search(&ws, &json!({"pattern": "x", "path": "empty"}));
    answer.must_say(
        &answer.output(),
        &["(No file was searched; there is none.)"],
    );
}

#[test]
fn an_exclamation_mark_leaves_out_a_directory_with_all_below_it() {
    let ws = tree().file("lib/src/deep/c.ts", "loaduser");
    let all = [
        "doc/read.md:1",
        "lib/src/deep/c.ts:1",
        "src/a.ts:2",
        "src/b.js:1",
        "src/b.js:2",
    ];
    let doc = &all[..1];
    let cases: [(&str, &[&str]); 11] = [
        ("!src", doc),
        ("!src/", doc),
        ("!**/src", doc),
        ("!/src", &all[..2]),
        ("!lib/src", &[all[0], all[2], all[3], all[4]]),
        ("!lib/src/", &[all[0], all[2], all[3], all[4]]),
        ("!src/deep", &all),
        ("!{src,doc}", &[]),
        ("*.ts,!lib", &[all[2]]),
        ("*.ts,*.md", &[all[0], all[1], all[2]]),
        ("!src/**", &all[..2]),
    ];
    for (include, files) in cases {
        let arguments = json!({"pattern": "loaduser", "include": include});
        assert_eq!(sorted(&search(&ws, &arguments)), files, "{include}");
    }
}

#[test]
fn an_expression_excludes_the_lines_that_it_matches() {
    let ws = tree();
    let with = |more: Value| {
        let mut arguments = json!({"pattern": "loaduser"});
        let more = more.as_object().expect("an object").clone();
        arguments.as_object_mut().expect("an object").extend(more);
        search(&ws, &arguments)
    };
    for (more, files) in [
        (
            json!({"exclude_pattern": "const|quickly"}),
            vec!["src/a.ts:2", "src/b.js:2"],
        ),
        (
            json!({"exclude_pattern": "^LOG"}),
            vec!["doc/read.md:1", "src/a.ts:2", "src/b.js:1"],
        ),
        (
            json!({"exclude_pattern": "^LOG", "case_sensitive": true, "pattern": "LOADUSER"}),
            vec!["src/b.js:1", "src/b.js:2"],
        ),
        (
            json!({"exclude_pattern": ";$"}),
            vec!["doc/read.md:1", "src/a.ts:2"],
        ),
        (
            json!({"exclude_pattern": "(?<!function )loaduser"}),
            vec!["src/a.ts:2"],
        ),
        (json!({"exclude_pattern": "loaduser"}), vec![]),
        (
            json!({"exclude_pattern": "src"}),
            vec!["doc/read.md:1", "src/a.ts:2", "src/b.js:1", "src/b.js:2"],
        ),
        (
            json!({"exclude_pattern": "const", "max_matches_per_file": 1}),
            vec!["doc/read.md:1", "src/a.ts:2", "src/b.js:2"],
        ),
    ] {
        assert_eq!(sorted(&with(more.clone())), files, "{more}");
    }
    let names = with(json!({"exclude_pattern": "log|const", "names_only": true})).output();
    assert!(
        names.contains("src/a.ts") && !names.contains("src/b.js"),
        "{names}"
    );
    let around = with(json!({"exclude_pattern": "const|return", "context": 2})).output();
    assert!(
        around.contains("log(LOADUSER)") && around.contains("import fs"),
        "{around}"
    );
    assert!(
        !around.contains("const") && !around.contains("return"),
        "{around}"
    );
    let answer = with(json!({"exclude_pattern": "("}));
    let message = answer.error("invalid_tool_params", 2);
    answer.must_say(&message, &["exclude_pattern", "("]);
    let call = ws.tool("search_file_content").flags(&["--fail-on-match"]);
    let arguments = json!({"pattern": "loaduser", "exclude_pattern": "loaduser"});
    assert_eq!(call.arguments(&arguments).run().status(), 0);
}

#[test]
fn a_line_of_context_that_cannot_be_judged_is_not_shown() {
    let ws = Workspace::new().file("a.txt", format!("one\n{}\n", "a".repeat(100_000)));
    let arguments = json!({"pattern": "one", "context": 1, "exclude_pattern": r"(a+)+\1b"});
    let answer = search(&ws, &arguments);
    assert_eq!(matches(&answer), ["a.txt:1"]);
    assert!(!answer.output().contains("L2"), "{}", answer.shown());
    let reason = "a.txt: the pattern takes too long on 1 line)";
    answer.must_say(&answer.output(), &[reason]);
}

#[test]
fn a_lone_carriage_return_ends_no_line() {
    let ws = Workspace::new().file("a.txt", "foo\rbar\rbaz\nbar\r\nfoo\rbar\r\n");
    for (pattern, found) in [
        ("^bar$", vec!["a.txt:2"]),
        ("bar$", vec!["a.txt:2", "a.txt:3"]),
        ("foo$", vec![]),
        ("^foo", vec!["a.txt:1", "a.txt:3"]),
        ("foo.bar.b[^x]+$", vec!["a.txt:1"]),
        (r"o[^x]bar$", vec!["a.txt:3"]),
    ] {
        assert_eq!(
            matches(&search(&ws, &json!({"pattern": pattern}))),
            found,
            "{pattern}"
        );
    }
}

#[test]
fn a_pattern_of_two_lines_is_told_that_lines_are_searched_one_by_one() {
    for arguments in [
        json!({"pattern": "foo\nbar", "fixed_strings": true}),
        json!({"pattern": "foo\nbar"}),
        json!({"pattern": "foo\\nbar"}),
        json!({"pattern": "foo\\nbar$"}),
    ] {
        let answer = search(&tree(), &arguments);
        let message = answer.error("invalid_tool_params", 2);
        answer.must_say(&message, &["line by line", "context"]);
    }
}

#[test]
fn fixed_strings_are_no_expression() {
    let ws = Workspace::new().file("a.txt", "a.b\naxb\n(x\n");
    let found = matches(&search(
        &ws,
        &json!({"pattern": "a.b", "fixed_strings": true}),
    ));
    assert_eq!(found, ["a.txt:1"]);
    let found = matches(&search(
        &ws,
        &json!({"pattern": "(x", "fixed_strings": true}),
    ));
    assert_eq!(found, ["a.txt:3"]);
}

#[test]
fn a_wrong_expression_with_the_look_of_plain_text_can_be_taken_literally() {
    for (pattern, is_plain) in [
        ("main(", true),
        ("if (a[0] == b {", true),
        ("*.rs", true),
        (r"fn \w+(", false),
        ("(a|b", false),
        ("x{5000}{5000}", false),
    ] {
        let answer = search(&tree(), &json!({"pattern": pattern}));
        let message = answer.error("invalid_tool_params", 2);
        assert_eq!(message.contains("fixed_strings"), is_plain, "{message}");
    }
}

#[test]
fn context_lines_are_shown_around() {
    let ws = tree();
    let answer = search(&ws, &json!({"pattern": "return", "context": 1}));
    answer.must_say(&answer.output(), &["function loadUser", "return id", "}"]);
    let answer = search(&ws, &json!({"pattern": "return", "before": 1}));
    assert!(answer.output().contains("function loadUser"));
    let answer = search(&ws, &json!({"pattern": "function", "after": 1}));
    answer.must_say(&answer.output(), &["return id"]);
    assert!(!answer.output().contains("import fs"));
}

#[test]
fn matches_can_be_limited() {
    let text = lines(50, |n| format!("needle {n}\n"));
    let ws = Workspace::new().file("a.txt", &text).file("b.txt", &text);
    let per_file = search(
        &ws,
        &json!({"pattern": "needle", "max_matches_per_file": 3}),
    );
    assert_eq!(matches(&per_file).len(), 6);
    let total = search(&ws, &json!({"pattern": "needle", "total_max_matches": 7}));
    assert_eq!(matches(&total).len(), 7);
    let output = total.output();
    assert!(
        output.starts_with("Found 7 matches")
            && output.contains(" (results limited to 7 matches):\n"),
        "{output}"
    );
}

#[test]
fn look_around_and_back_references_work() {
    let ws = Workspace::new().file("a.txt", "foobar\nfoobaz\nabab\nabac\n");
    for (pattern, lines) in [
        ("foo(?=bar)", vec!["a.txt:1"]),
        ("foo(?!bar)", vec!["a.txt:2"]),
        ("(?<=foo)baz", vec!["a.txt:2"]),
        (r"(ab)\1", vec!["a.txt:3"]),
        (r"(?<two>ab)\k<two>", vec!["a.txt:3"]),
        (r"(?P<two>ab)(?P=two)", vec!["a.txt:3"]),
    ] {
        assert_eq!(
            matches(&search(&ws, &json!({"pattern": pattern}))),
            lines,
            "{pattern}"
        );
    }
}

#[test]
fn edges_of_the_text_are_those_of_a_line() {
    let ws = Workspace::new()
        .file("a.txt", "to be\nor not.\n\nto\n")
        .file("crlf.txt", "to be\r\nor not.\r\n")
        .file("last", "or not.");
    for (pattern, lines) in [
        (r"\Ato\b", vec!["a.txt:1", "a.txt:4", "crlf.txt:1"]),
        (r"\W\z", vec!["a.txt:2", "crlf.txt:2", "last:1"]),
        (r"\W\z(?!x)", vec!["a.txt:2", "crlf.txt:2", "last:1"]),
        (r"\A\z", vec!["a.txt:3"]),
        (
            r"\A(?=\w)",
            vec![
                "a.txt:1",
                "a.txt:2",
                "a.txt:4",
                "crlf.txt:1",
                "crlf.txt:2",
                "last:1",
            ],
        ),
        (r"(?<=\.)\Z", vec!["a.txt:2", "crlf.txt:2", "last:1"]),
    ] {
        let answer = search(&ws, &json!({ "pattern": pattern }));
        assert_eq!(matches(&answer), lines, "{pattern}");
    }
}

#[test]
fn a_long_line_costs_no_other_line_its_match() {
    // Lines that an engine which backtracks gives up on, and one that is only long.
    let hard = format!("{}caab\n", "a".repeat(100_000));
    let long = format!("{}needle->free\n", "word ".repeat(200_000));
    let ws = Workspace::new()
        .file("hard.txt", format!("aab\n{hard}aac\n{hard}"))
        .file("long.js", &long)
        .file("z.txt", "aab\n");
    let answer = search(
        &ws,
        &json!({"pattern": r"(a+)+\1b(?!$)|^a(?=ab)", "include": "*.txt"}),
    );
    assert_eq!(matches(&answer), ["hard.txt:1", "z.txt:1"]);
    let reason = "(1 file could not be read: hard.txt: the pattern takes too long on 2 lines)";
    answer.must_say(&answer.output(), &[reason]);
    for pattern in ["(?<=->)free", r"(e)\1", r"\b(?!word)\w+", r"(?<!\w)ne"] {
        let answer = search(&ws, &json!({ "pattern": pattern, "include": "long.js" }));
        assert_eq!(matches(&answer), ["long.js:1"], "{pattern}");
        assert!(!answer.output().contains("could not be read"), "{pattern}");
    }
}

#[test]
fn patterns_that_are_too_large_are_refused_in_words() {
    let nested = "(".repeat(5000) + &")".repeat(5000);
    for pattern in ["(a{1000}){1000}{10}", &nested] {
        let answer = search(&tree(), &json!({ "pattern": pattern }));
        let message = answer.error("invalid_tool_params", 2);
        answer.must_say(&message, &["\"pattern\"", "regular expression"]);
    }
}

#[test]
fn binary_files_of_every_size_are_counted() {
    for size in [100, 3 << 20] {
        let blob = format!("needle\0{}", "x\n".repeat(size / 2));
        let ws = Workspace::new().file("blob", blob);
        let answer = search(&ws, &json!({"pattern": "needle"}));
        answer.must_say(&answer.output(), &["1 binary file with matches not shown"]);
    }
}

#[test]
fn a_line_that_is_too_long_is_named_and_all_before_it_is_searched() {
    let long = format!("needle\n{}needle\nneedle\n", "x".repeat(2 << 20));
    let ws = Workspace::new()
        .file("b.txt", &long)
        .file("a.txt", format!("\n{long}"))
        .file("short.txt", "needlex\n");
    for pattern in ["needle", "needle(?=x|$)"] {
        let answer = search(&ws, &json!({"pattern": pattern}));
        assert_eq!(matches(&answer), ["a.txt:2", "b.txt:1", "short.txt:1"]);
        let reason = "(2 files could not be read: a.txt: line 3 is longer than 2 MiB; \
                      b.txt: line 2 is longer than 2 MiB)";
        answer.must_say(&answer.output(), &[reason]);
    }
    let single = search(&ws, &json!({"pattern": "needle", "path": "b.txt"}));
    single.must_say(
        &single.output(),
        &["L1: needle", "line 2 is longer than 2 MiB"],
    );
    let context = format!("{}\n", "x".repeat(999)).repeat(5_000) + "needle\n";
    let ws = Workspace::new().file("c.txt", context);
    let answer = search(&ws, &json!({"pattern": "needle", "before": 4_000}));
    let reason = "with the context before it is longer than 2 MiB";
    answer.must_say(&answer.output(), &["c.txt: line ", reason]);
}

#[test]
fn look_around_ends_with_the_time_of_the_call() {
    let ws = Workspace::new().file("a.txt", format!("{}b\n", "a".repeat(1_000)).repeat(2_000));
    let call = ws
        .tool("search_file_content")
        .env("GEMINI_TOOLS_TIMEOUT", "1");
    let arguments = json!({"pattern": "(a+)+b(?<!b)"});
    call.arguments(&arguments).run().error("timeout", 124);
}

#[test]
fn huge_sparse_file_does_not_hold_a_search_up() {
    let ws = Workspace::new()
        .sparse("zeros", 5 << 30)
        .file("a.txt", "needle\n");
    let arguments = json!({"pattern": "needle"});
    let call = ws.tool("search_file_content").arguments(&arguments);
    let answer = call.within_cpu_seconds(20).run();
    assert_eq!(matches(&answer), ["a.txt:1"]);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let line = format!("{}needle{}\n", "x".repeat(100_000), "y".repeat(100_000));
    let ws = Workspace::new().file("a.txt", line);
    let answer = search(&ws, &json!({"pattern": "needle"}));
    let output = answer.output();
    assert!(output.len() < 6000, "{} bytes", output.len());
    answer.must_say(&output, &["xneedley", "L1: "]);
}

#[test]
fn encodings_are_searched_as_they_are_read() {
    let utf16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}eins\nGröße\n"
            .encode_utf16()
            .flat_map(bytes)
            .collect()
    };
    let legacy = b"na\xefve caf\xe9 fa\xe7ade \xdcbung\nGr\xf6\xdfe\n";
    let ws = Workspace::new()
        .file("le.txt", utf16(u16::to_le_bytes))
        .file("be.txt", utf16(u16::to_be_bytes))
        .file("bom.txt", "\u{feff}eins\nGröße\n")
        .file("latin.txt", legacy)
        .file(
            "said.xml",
            b"<?xml version='1.0' encoding='windows-1250'?>\n<a>Gr\xf6\xdfe \xf5</a>\n",
        );
    let answer = search(&ws, &json!({"pattern": "Größe"}));
    assert_eq!(
        sorted(&answer),
        [
            "be.txt:2",
            "bom.txt:2",
            "latin.txt:2",
            "le.txt:2",
            "said.xml:2"
        ]
    );
    // Decoded letters count for ASCII patterns as well: with é, café is one word.
    let word = search(&ws, &json!({"pattern": r"\bcaf\w\b"}));
    assert_eq!(sorted(&word), ["latin.txt:1"]);
    let part = search(&ws, &json!({"pattern": r"\bcaf\b"}));
    assert!(sorted(&part).is_empty());
    let marked = search(&ws, &json!({"pattern": r"\beins\b"}));
    assert_eq!(sorted(&marked), ["be.txt:1", "bom.txt:1", "le.txt:1"]);
    let said = search(&ws, &json!({"pattern": "Größe ő"}));
    assert_eq!(sorted(&said), ["said.xml:2"]);
    let first = search(&ws, &json!({"pattern": "^eins$"}));
    assert_eq!(sorted(&first), ["be.txt:1", "bom.txt:1", "le.txt:1"]);
}

#[test]
fn a_pattern_with_detours_is_the_path_that_it_leads_to() {
    let ws = Workspace::new()
        .file("app/i/p.tsx", "x\n")
        .file("app/o.tsx", "x\n");
    let kept = json!({"pattern": "x", "include": "!app/i/p.tsx"});
    assert_eq!(sorted(&search(&ws, &kept)), ["app/o.tsx:1"]);
    for path in [
        "app//i/p.tsx",
        "./app/./i/p.tsx",
        "app/y/../i/p.tsx",
        "app/{i,j}//*.tsx",
    ] {
        let found = search(&ws, &json!({"pattern": "x", "include": path}));
        assert_eq!(sorted(&found), ["app/i/p.tsx:1"], "{path}");
        let left = search(&ws, &json!({"pattern": "x", "include": format!("!{path}")}));
        assert_eq!(sorted(&left), ["app/o.tsx:1"], "{path}");
        let read = json!({"paths": ["app"], "exclude": [path]});
        let read = ws.call("read_many_files", &read);
        assert!(
            !read.output().contains("app/i/p.tsx"),
            "{path}: {}",
            read.shown()
        );
    }
}

#[test]
fn a_pattern_about_carriage_returns_sees_them() {
    let ws = Workspace::new().file("a.txt", "foo $5\r\nbar\n");
    for (pattern, lines) in [
        (r"\r$", &["a.txt:1"][..]),
        (r"foo.*\r$", &["a.txt:1"]),
        (r"\x0d$", &["a.txt:1"]),
        (r"\$5\r", &["a.txt:1"]),
        (r"5(?=\r)", &["a.txt:1"]),
        (r"(?<!\r)$", &["a.txt:2"]),
        (r"[^\r]$", &["a.txt:2"]),
        (r"5\r?$|bar$", &["a.txt:1", "a.txt:2"]),
        (r"[^\r\n]+$", &["a.txt:1", "a.txt:2"]),
        (r"(5|r)[^\n\r]*$", &["a.txt:1", "a.txt:2"]),
    ] {
        let found = search(&ws, &json!({"pattern": pattern}));
        assert_eq!(matches(&found), lines, "{pattern}");
    }
    let literal = json!({"pattern": "$5\r", "fixed_strings": true});
    assert_eq!(matches(&search(&ws, &literal)), ["a.txt:1"]);
}

#[test]
fn rules_of_the_directories_above_hold() {
    let ws = Workspace::new()
        .git()
        .file(".gitignore", "*.log\n")
        .file("a/b/x.log", "needle\n")
        .file("a/b/y.txt", "needle\n");
    let answer = search(&ws, &json!({"pattern": "needle", "path": "a/b"}));
    assert_eq!(matches(&answer).len(), 1);
}

#[test]
fn a_search_without_a_match_names_the_nearest_names_of_the_searched_files() {
    let sandbox = tree()
        .file("near/a.rs", "fn retry_limit() { retryLimits(); }")
        .file("near/b.py", "retryLimiter = 1");
    let note = |arguments| search(&sandbox, &arguments);
    let answer = note(json!({"pattern": r"fn\s+retryLimit2\(", "path": "near"}));
    let names = "(Names like it in these files: `retryLimits`, `retry_limit`, `retryLimiter`.)";
    answer.must_say(&answer.output(), &[names]);
    let names = "(Names like it in these files: `retryLimiter`.)";
    for arguments in [
        json!({"pattern": "retryLimits", "include": "*.py", "path": "near"}),
        json!({"pattern": "retryLimits", "path": "near/b.py"}),
        json!({"pattern": "retryLimits(", "fixed_strings": true, "path": "near/b.py"}),
    ] {
        let answer = note(arguments);
        answer.must_say(&answer.output(), &[names]);
    }
    // Nothing where there was a match, or none like it.
    for pattern in ["retryLimit", "somethingElse", r"\d{9}"] {
        let answer = note(json!({"pattern": pattern, "path": "near"}));
        let output = answer.output();
        assert!(!output.contains("Names like"), "{output}");
    }
}

#[test]
fn a_match_never_reaches_over_the_end_of_its_line() {
    let ws = Workspace::new()
        .file("s.txt", "xaab\n \n \ny\n")
        .file("f.txt", "foo\nbar baz\nclass\n{\n");
    let numbers = |pattern: &str, path: &str| -> Vec<String> {
        let arguments = json!({ "pattern": pattern, "path": path });
        let output = ws.call("search_file_content", &arguments).output();
        let line = |l: &str| {
            l.strip_prefix('L')
                .map(|l| l.split(':').next().unwrap_or("").to_owned())
        };
        output.lines().filter_map(line).collect()
    };
    assert_eq!(numbers(r".*\s", "s.txt"), ["2", "3"]);
    assert!(numbers(r"foo[^)]+baz", "f.txt").is_empty());
    assert!(numbers(r"class\s*\{", "f.txt").is_empty());
}

#[test]
fn a_line_longer_than_any_buffer_has_one_end() {
    let text = format!("{}\r\nb\r\n\r\n", "x".repeat(1_200_000));
    let ws = Workspace::new().file("a.txt", text);
    let answer = search(&ws, &json!({ "pattern": "^$" }));
    assert_eq!(matches(&answer), ["a.txt:3"]);
}

#[test]
fn a_limit_beyond_all_numbers_is_no_limit() {
    let ws = Workspace::new().file("a.txt", "foo\nfoo\n");
    let arguments = json!({ "pattern": "foo", "total_max_matches": 1e300 });
    let output = ws.call("search_file_content", &arguments).output();
    assert!(
        output.contains("Found 2 matches") && output.contains("L2: foo"),
        "{output}"
    );
}

#[test]
fn node_modules_is_left_out_counted_and_searched_when_named() {
    let ws = Workspace::new()
        .git()
        .file("a.js", "needle\n")
        .file("node_modules/p/b.js", "needle\n");
    let answer = search(&ws, &json!({"pattern": "needle"}));
    assert_eq!(matches(&answer), ["a.js:1"]);
    answer.must_say(&answer.output(), &["(1 node_modules directory left out;"]);
    for include in ["*.js,!node_modules", "src/**"] {
        let output = search(&ws, &json!({"pattern": "needle", "include": include})).output();
        assert!(!output.contains("left out"), "{output}");
    }
    let both = ["a.js:1", "node_modules/p/b.js:1"];
    for ws in [
        ws,
        Workspace::new()
            .git()
            .file(".gitignore", "node_modules\n")
            .file("a.js", "needle\n")
            .file("node_modules/p/b.js", "needle\n"),
    ] {
        let named = json!({"pattern": "needle", "include": "node_modules/**"});
        let by_path = json!({"pattern": "needle", "path": "node_modules/p"});
        assert_eq!(matches(&search(&ws, &named)), [both[1]]);
        assert_eq!(matches(&search(&ws, &by_path)), [both[1]]);
        let all = search(&ws, &json!({"pattern": "needle", "no_ignore": true}));
        assert_eq!(sorted(&all), both);
        assert!(!all.output().contains("left out"));
    }
}

#[test]
fn characters_of_several_bytes_are_matched_whole() {
    // Second bytes of characters, among them R, \ and A; a comma before an ASCII word.
    let text = "これは日本語の文章です。文字コードを判定するために書きました。\nソース、foo と表示\nRest\n";
    let (shift_jis, ..) = encoding_rs::SHIFT_JIS.encode(text);
    let chinese = "这是一个用中文写的句子，用来判断编码。\n编码丂foo文丵\nRest\n";
    let (gbk, ..) = encoding_rs::GBK.encode(chinese);
    let long = [shift_jis.repeat(16_000), b"end\n".to_vec()].concat();
    let ws = Workspace::new()
        .file("s.txt", &shift_jis)
        .file("g.txt", &gbk)
        .file("long.txt", &long);
    let lines_of = |path: &str, pattern: &str| {
        let call = json!({"pattern": pattern, "path": path, "case_sensitive": true});
        let found = matches(&search(&ws, &call));
        let number = |at: &String| at.split(':').next_back().map(str::to_owned);
        found
            .iter()
            .filter_map(number)
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (path, pattern, expected) in [
        ("s.txt", "R", "3"),
        ("s.txt", "[A-Z]", "3"),
        ("s.txt", r"\\", ""),
        ("s.txt", r"\bfoo\b", "2"),
        ("s.txt", "foo", "2"),
        ("s.txt", r"\b", "1 2 3"),
        ("s.txt", r"^\b{start}", "1 2 3"),
        ("g.txt", "[@-Z]", "3"),
        ("g.txt", "foo", "2"),
    ] {
        assert_eq!(lines_of(path, pattern), expected, "{path} {pattern}");
    }
    let count = |pattern: &str| {
        let call = json!({"pattern": pattern, "path": "long.txt", "case_sensitive": true});
        search(&ws, &call).output()
    };
    assert!(
        count("R").starts_with("Found 16000 matches"),
        "{}",
        count("R")
    );
    assert!(count(r"\\").starts_with("No matches"), "{}", count(r"\\"));
}

#[test]
fn the_end_of_a_line_is_no_character_of_it() {
    let ws = Workspace::new().file("crlf.txt", "a;\r\n\r\nb; c\r\nd\te\r\n");
    for (pattern, expected) in [
        (";.", &["crlf.txt:3"][..]),
        (r"\W", &["crlf.txt:1", "crlf.txt:3", "crlf.txt:4"]),
        ("^[^a]", &["crlf.txt:3", "crlf.txt:4"]),
        (r"\s", &["crlf.txt:3", "crlf.txt:4"]),
        (r";\r", &["crlf.txt:1"]),
        ("^.$", &[]),
        ("^$", &["crlf.txt:2"]),
    ] {
        let answer = search(&ws, &json!({"pattern": pattern}));
        assert_eq!(matches(&answer), expected, "{pattern}");
    }
}

#[test]
fn a_line_keeps_its_indentation_and_what_is_copied_from_it_fits_an_edit() {
    let text = "def f():\n    if x:  \n\treturn 1\r\n";
    let ws = Workspace::new().file("a.py", text);
    let answer = search(&ws, &json!({"pattern": "if x|return", "before": 1}));
    let output = answer.output();
    answer.must_say(
        &output,
        &["\nL1- def f():\nL2:     if x:  \nL3: \treturn 1\n---"],
    );
    let copied = output.split("L2: ").nth(1).expect("the second line");
    let copied = copied.lines().next().expect("its text");
    let edit = json!({"file_path": "a.py", "old_string": format!("{copied}\n"), "new_string": ""});
    let call = ws.tool("replace").arguments(&edit).changing(&["a.py"]);
    call.run().output();
    let left = std::fs::read_to_string(ws.path("a.py")).expect("the file");
    assert_eq!(left, "def f():\n\treturn 1\r\n");
}
