//! `call_tool --check`: rules of files, what is looked at, and the report.

use super::sarif::{check_junit, check_sarif};
use crate::harness::{Answer, Workspace, executable, lines};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Rules of each kind, for the files of [`project`].
const RULES: &str = r#"
[[rule]]
id = "no-todo"
pattern = '\bTODO: (\w+)'
case_sensitive = true
message = "Open task {1}: {text}"
level = "warning"

[[rule]]
id = "no-unwrap"
pattern = '\.unwrap\(\)'
exclude_pattern = '^\s*//'
include = ["*.rs"]
exclude = ["tests"]
message = "No unwrap."
help = "Return the error."
url = "https://example.org/no-unwrap"

[[rule]]
id = "licence"
pattern = "SPDX-License-Identifier:"
fixed_strings = true
include = "src/**"
require = true

[[rule]]
id = "no-orig"
glob = "*.orig"

[[rule]]
id = "readme"
glob = "README.md"
require = true
message = "A README is missing."

[[rule]]
id = "names"
name = '^[a-z_.]+$'
include = "*.rs"
"#;

fn project() -> Workspace {
    Workspace::new()
        .file("checks.toml", RULES)
        .file(
            "src/a.rs",
            "// SPDX-License-Identifier: MIT\n// TODO: greet\nx.unwrap();\n// y.unwrap()\n\
             z.unwrap(); // check: allow(no-unwrap) it was filled above\n",
        )
        .file("src/Odd.rs", "fn f() {}\n")
        .file("src/empty.rs", "")
        .file("tests/t.rs", "x.unwrap();\n")
        .file("old.orig", "todo: small\n")
}

fn check(ws: &Workspace, flags: &[&str]) -> Answer {
    ws.call_tool(&["--check", "checks.toml"]).flags(flags).run()
}

#[test]
fn each_kind_of_rule_finds_what_breaks_it_and_nothing_else() {
    let ws = project();
    let found = check(&ws, &[]);
    assert_eq!(found.status(), 1);
    assert_eq!(
        found.text(),
        "checks.toml:31:6: error[readme]: A README is missing.\n\
         old.orig: error[no-orig]: There must be no such file.\n\
         src/Odd.rs: error[licence]: The file has no match.\n\
         src/Odd.rs: error[names]: The name Odd.rs does not fit.\n\
         src/a.rs:2:4: warning[no-todo]: Open task greet: // TODO: greet\n\
         src/a.rs:3:2: error[no-unwrap]: No unwrap.\n    x.unwrap();\n    help: Return the error.\n\
         5 errors, 1 warning in 5 files by 6 rules.\n"
    );
    let clean = Workspace::new()
        .file("checks.toml", RULES)
        .file("README.md", "x\n")
        .file("src/a.rs", "// SPDX-License-Identifier: MIT\n");
    let nothing = check(&clean, &[]);
    assert_eq!(nothing.status(), 0);
    assert_eq!(nothing.text(), "Nothing found in 2 files by 6 rules.\n");
}

#[test]
fn a_run_fails_from_the_level_on_that_it_is_given() {
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "[[rule]]\nid='w'\npattern='x'\nlevel='warning'\n",
        )
        .file(
            "strict.toml",
            "fail_level='note'\n[[rule]]\nid='n'\npattern='x'\nlevel='note'\n",
        )
        .file("a", "x\n");
    for (flags, status) in [
        (&[][..], 0),
        (&["--fail-level", "warning"], 1),
        (&["--fail-level", "note"], 1),
        (&["--fail-level", "error"], 0),
    ] {
        assert_eq!(check(&ws, flags).status(), status, "{flags:?}");
    }
    let strict = ws
        .call_tool(&["--check", "strict.toml", "checks.toml"])
        .run();
    assert_eq!(strict.status(), 1, "{}", strict.shown());
    assert!(
        strict.text().contains("a:1:1: note[n]"),
        "{}",
        strict.shown()
    );
}

#[test]
fn a_rule_that_is_about_no_file_is_a_fault_unless_files_are_chosen() {
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "[[rule]]\nid='r'\npattern='x'\ninclude='sources/**'\n",
        )
        .file("a", "x\n");
    let whole = check(&ws, &[]);
    assert_eq!(whole.status(), 2);
    whole.must_say(
        &whole.errors(),
        &["Rule r: No file matches the include \"sources/**\""],
    );
    let listed = ws
        .call_tool(&["--check", "checks.toml", "--files-from", "-"])
        .input("a\n")
        .run();
    assert_eq!(listed.status(), 0);
    let empty = ws
        .call_tool(&["--check", "checks.toml", "--files-from", "-"])
        .input("")
        .run();
    assert_eq!(empty.status(), 2, "{}", empty.shown());
}

#[test]
fn a_baseline_only_becomes_shorter_and_follows_lines_that_move() {
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "baseline = 'known.txt'\n[[rule]]\nid='x'\npattern='bad'\n",
        )
        .file("b.txt", "bad 1\nbad 1\nbad 2\n")
        .file("a.txt", "bad 3\n");
    let none = check(&ws, &[]);
    assert_eq!(none.status(), 2);
    none.must_say(
        &none.errors(),
        &["known.txt can't be read", "--update-baseline writes it"],
    );
    let update = || {
        ws.call_tool(&["--check", "checks.toml", "--update-baseline"])
            .changing(&["known.txt"])
            .run()
    };
    assert_eq!(update().text(), "known.txt has 4 findings.\n");
    let text = std::fs::read_to_string(ws.path("known.txt")).expect("written");
    let kept: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        kept,
        [
            "x\ta.txt\tbad 3",
            "x\tb.txt\tbad 1",
            "x\tb.txt\tbad 1",
            "x\tb.txt\tbad 2"
        ]
    );
    assert_eq!(
        check(&ws, &[]).text(),
        "Nothing found in 2 files by 1 rule. 4 findings in the baseline.\n"
    );
    // Lines move, one is gone, and one is new.
    let ws = ws.file("b.txt", "\n\nbad 2\nbad 1\nbad 4\n");
    let later = check(&ws, &[]);
    assert_eq!(later.status(), 1);
    assert_eq!(
        later.text(),
        "b.txt:5:1: error[x]: Found: bad 4\n\
         1 finding of the baseline gone: --update-baseline takes that out.\n\
         1 error in 2 files by 1 rule. 3 findings in the baseline.\n"
    );
    let updated = ws
        .call_tool(&["--check", "checks.toml", "--update-baseline"])
        .changing(&["known.txt"])
        .run();
    assert_eq!(updated.status(), 1);
    assert_eq!(
        updated.text(),
        "known.txt has 3 findings. 1 finding new, which it does not get.\n"
    );
    let broken = ws.file("known.txt", "x a.txt bad 3\n");
    let refused = check(&broken, &[]);
    assert_eq!(refused.status(), 2);
    refused.must_say(&refused.errors(), &["Line 1 of the baseline", "tabs"]);
}

#[test]
fn as_many_matches_pass_as_max_allows() {
    let rules = "[[rule]]\nid='x'\npattern='bad'\nmax=2\n";
    for (count, status, says) in [
        (1, 0, "\"max\" can be 1"),
        (2, 0, "Nothing beyond \"max\" found"),
        (3, 1, "at most 2 are allowed"),
    ] {
        let ws = Workspace::new()
            .file("checks.toml", rules)
            .file("a", "bad\n".repeat(count));
        let answer = check(&ws, &[]);
        assert_eq!(answer.status(), status, "{}", answer.shown());
        answer.must_say(answer.text(), &[says]);
        let one = ws
            .call_tool(&["search_file_content", "bad", "include=a", "--max", "2"])
            .run();
        assert_eq!(one.status(), status, "{}", one.shown());
    }
}

#[test]
fn files_of_a_list_are_names_and_never_patterns() {
    let names = [
        "a,b.txt",
        "{c}.txt",
        "[d].txt",
        "e*f.txt",
        "g h\n.txt",
        "-n.txt",
        "ü.txt",
    ];
    let mut ws = Workspace::new()
        .file("checks.toml", "[[rule]]\nid='x'\npattern='bad'\n")
        .file("c.txt", "bad\n")
        .file("d.txt", "bad\n")
        .file("exf.txt", "bad\n")
        .file(".gitignore", "ignored\n")
        .file(".geminiignore", "closed\n")
        .file("ignored", "bad\n")
        .file("closed", "bad\n")
        .git();
    for name in names {
        ws = ws.file(name, "bad\n");
    }
    let list = names.map(|name| format!("{name}\0")).concat() + "ignored\0closed\0gone\0";
    for (first, id) in [
        ("--check=checks.toml", "x"),
        ("search_file_content", "search_file_content"),
    ] {
        let pattern: &[&str] = if id == "x" { &[] } else { &["pattern=bad"] };
        let call = ws.call_tool(&[first]).flags(pattern);
        let answer = call
            .flags(&["--files-from", "-", "--format", "sarif"])
            .input(list.clone())
            .run();
        assert_eq!(answer.status(), 1, "{}", answer.shown());
        let document = answer.json();
        check_sarif(&document);
        let run = &document["runs"][0];
        let found = run["results"].as_array().expect("results").iter();
        let places =
            found.map(|r| &r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]);
        let mut places: Vec<_> = places.filter_map(Value::as_str).collect();
        places.sort_unstable();
        assert_eq!(
            places,
            [
                "%5Bd%5D.txt",
                "%C3%BC.txt",
                "%7Bc%7D.txt",
                "-n.txt",
                "a%2Cb.txt",
                "e%2Af.txt",
                "g%20h%0A.txt",
                "ignored"
            ]
            .map(str::to_owned)
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
        );
        let notes = run["invocations"][0]["toolExecutionNotifications"].to_string();
        answer.must_say(
            &notes,
            &[
                "1 name of the list left out: gone is not there",
                "closed is excluded by .geminiignore",
            ],
        );
    }
    let outside = ws
        .call_tool(&["--check", "checks.toml", "--files-from", "-"])
        .input("../x\n")
        .run();
    assert_eq!(outside.status(), 2);
    outside.must_say(&outside.errors(), &["../x is not in the workspace"]);
}

#[test]
fn only_what_has_changed_is_looked_at_and_only_added_lines_count() {
    let ws = Workspace::new()
        .file("checks.toml", "[[rule]]\nid='x'\npattern='bad'\n")
        .file("old.txt", "bad 1\ngood\nbad 2\n")
        .file("same.txt", "bad\n")
        .file("gone.txt", "bad\n")
        .file("a \"b\"\t.txt", "bad\n")
        .git();
    let author = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
    let git = |args: &[&str]| ws.git_command(&[&author[..], args].concat());
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    git(&["branch", "-m", "main"]);
    git(&["checkout", "-qb", "topic"]);
    let run = |base: &[&str]| check(&ws, base);
    let none = run(&["--changed", "main"]);
    assert_eq!(
        (none.status(), none.text()),
        (0, "Nothing found in 0 files by 1 rule.\n")
    );
    std::fs::write(
        ws.path("old.txt"),
        "bad 1\nbad new\ngood\nbad 2\n+++ b/same.txt\n",
    )
    .expect("written");
    std::fs::write(ws.path("a \"b\"\t.txt"), "bad\nbad again\n").expect("written");
    std::fs::remove_file(ws.path("gone.txt")).expect("removed");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "second"]);
    std::fs::write(ws.path("new.txt"), "bad\n").expect("written");
    // What links lead to has not changed.
    for (target, link) in [("same.txt", "link.txt"), ("nowhere", "dangling.txt")] {
        std::os::unix::fs::symlink(target, ws.path(link)).expect("a link");
    }
    let found = |base: &[&str]| {
        let answer = run(base);
        let lines = answer.text().lines().filter(|line| line.contains("error["));
        lines
            .map(|line| line.split(": error").next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let odd = "a \"b\"\\x{09}.txt";
    assert_eq!(
        found(&["--changed", "main"]),
        [
            format!("{odd}:1:1"),
            format!("{odd}:2:1"),
            "new.txt:1:1".into(),
            "old.txt:1:1".into(),
            "old.txt:2:1".into(),
            "old.txt:4:1".into()
        ]
    );
    assert_eq!(
        found(&["--changed-lines", "main"]),
        [
            format!("{odd}:2:1"),
            "new.txt:1:1".into(),
            "old.txt:2:1".into()
        ]
    );
    let below = ws.call_tool(&["--check", "../checks.toml", "--changed", "main"]);
    std::fs::create_dir(ws.path("sub")).expect("made");
    let below = below.in_bash("cd sub && exec \"$@\"").run();
    assert_eq!(
        below.status(),
        0,
        "nothing has changed below: {}",
        below.shown()
    );
    let unknown = run(&["--changed", "no-such-branch", "--format", "junit"]);
    assert_eq!(unknown.status(), 2);
    check_junit(unknown.text());
    unknown.must_say(
        unknown.text(),
        &[
            "git can't tell what has changed",
            "no-such-branch",
            "fetch-depth: 0",
        ],
    );
    let option = run(&["--changed=--output=x"]);
    assert_eq!(option.status(), 2, "{}", option.shown());
}

#[test]
fn a_message_has_the_groups_of_the_whole_line_and_the_text_around_the_match() {
    let long = format!("bad one {};\n", "x".repeat(3000));
    let odd = [&[0xff; 3000][..], b"odd\n"].concat();
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "[[rule]]\nid='a'\npattern='bad (\\w+) .*;$'\nmessage='Found {1}.'\n\
             [[rule]]\nid='b'\npattern='odd'\nmessage='{text}'\ninclude='odd.txt'\n",
        )
        .file("long.txt", long)
        .file("odd.txt", odd);
    let found = check(&ws, &[]);
    found.must_say(found.text(), &["error[a]: Found one.", "odd\n"]);
}

#[test]
fn documents_are_valid_with_none_one_and_many_findings() {
    for count in [0, 1, 10_000] {
        let text = lines(count, |n| format!("bad <{n}> & \"q\"\n"));
        let ws = Workspace::new()
            .file("checks.toml", "[[rule]]\nid='x'\npattern='bad'\nhelp='Mend it.'\nurl='https://example.org'\n[[rule]]\nid='y'\nname='.'\n")
            .file("a ü.txt", text);
        let status = i32::from(count > 0);
        let sarif = check(&ws, &["--format", "sarif"]);
        assert_eq!(sarif.status(), status);
        let document = sarif.json();
        check_sarif(&document);
        let run = &document["runs"][0];
        let results = run["results"].as_array().expect("results");
        assert_eq!(results.len(), count);
        assert_eq!(
            run["tool"]["driver"]["rules"]
                .as_array()
                .expect("rules")
                .len(),
            2
        );
        let print =
            |result: &Value| result["partialFingerprints"]["primaryLocationLineHash"].to_string();
        let mut prints: Vec<String> = results.iter().map(print).collect();
        prints.sort();
        prints.dedup();
        assert_eq!(prints.len(), count, "no two lines have one fingerprint");
        let junit = check(&ws, &["--format", "junit"]);
        check_junit(junit.text());
        junit.must_say(
            junit.text(),
            &[
                &format!("failures=\"{count}\""),
                "<testsuite name=\"y\" tests=\"1\"",
            ],
        );
        let github = check(&ws, &["--format", "github"]);
        assert_eq!(github.text().lines().count(), count);
    }
}

#[test]
fn a_rule_of_the_user_against_searches_forbids_checks() {
    let ws = project().home(
        ".gemini/policies/p.toml",
        "[[rule]]\ntoolName = \"search_file_content\"\ndecision = \"deny\"\npriority = 900\n",
    );
    let refused = check(&ws, &[]);
    assert_eq!(refused.status(), 3, "{}", refused.shown());
    let search = ws
        .call_tool(&["search_file_content", "x", "--max", "3"])
        .run();
    assert_eq!(search.status(), 3, "{}", search.shown());
}

#[test]
fn a_file_that_can_not_be_searched_is_no_clean_one() {
    let long = "a".repeat(3 * 1024 * 1024);
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "[[rule]]\nid='x'\npattern='bad'\n[[rule]]\nid='y'\npattern='x'\nrequire=true\n",
        )
        .file("long.txt", format!("ok\n{long}"))
        .file("data.bin", "\0good");
    let answer = check(&ws, &[]);
    assert_eq!(answer.status(), 2, "{}", answer.shown());
    answer.must_say(
        answer.text(),
        &[
            "long.txt: line 2 is too long",
            "1 file without text left out",
        ],
    );
    let utf16: Vec<u8> = "\u{feff}fine\nbad\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let ws = Workspace::new()
        .file("checks.toml", "[[rule]]\nid='x'\npattern='bad'\n")
        .file("w.txt", utf16);
    assert!(check(&ws, &[]).text().starts_with("w.txt:2:1: error[x]"));
}

/// Faults of a rule file, each with the place and some words of what is said about it.
const FAULTS: [(&str, &str, &str); 21] = [
    ("[[rule]\n", "1:8", "The file can't be read: "),
    ("x = 1\n", "1:1", "\"x\" is no key here"),
    ("rules = []\n", "1:1", "Did you mean \"rule\"?"),
    ("", "1:1", "The file has no rule"),
    (
        "rule = [1]\n",
        "1:9",
        "invalid type: integer `1`, expected a table",
    ),
    ("[[rule]]\npattern='x'\n", "1:1", "missing field `id`"),
    (
        "[[rule]]\nid='a b'\npattern='x'\n",
        "2:4",
        "\"a b\" can't be an id",
    ),
    (
        "[[rule]]\nid='a'\npattern='x'\n[[rule]]\nid='a'\npattern='y'\n",
        "5:4",
        "Another rule has the id \"a\"",
    ),
    (
        "[[rule]]\nid='a'\npatern='x'\n",
        "3:1",
        "Did you mean \"pattern\"?",
    ),
    (
        "[[rule]]\nid='a'\n",
        "1:1",
        "A rule has one of these: \"pattern\" for lines",
    ),
    (
        "[[rule]]\nid='a'\npattern='x('\n",
        "3:9",
        "is not a valid regular expression",
    ),
    (
        "[[rule]]\nid='a'\npattern=''\n",
        "3:9",
        "\"pattern\" must not be empty",
    ),
    (
        "[[rule]]\nid='a'\npattern='x'\ninclude=[1]\n",
        "4:9",
        "a pattern or a list of patterns was expected",
    ),
    (
        "[[rule]]\nid='a'\npattern='x'\nexclude=['t', '!src']\n",
        "4:9",
        "\"src\" can't be taken in again by \"!\"",
    ),
    (
        "[[rule]]\nid='a'\npattern='x'\nlevel='fatal'\n",
        "4:7",
        "unknown variant `fatal`",
    ),
    (
        "[[rule]]\nid='a'\npattern='x(y)'\nmessage='{2}'\n",
        "4:9",
        "The message has {2}, but the pattern has no such group",
    ),
    (
        "[[rule]]\nid='a'\npattern='x(y)'\nrequire=true\nmessage='{1}'\n",
        "5:9",
        "The message has {1}, but only a rule against a \"pattern\" finds groups",
    ),
    (
        "[[rule]]\nid='a'\nglob='x'\nrequire=true\nmax=1\n",
        "5:5",
        "\"max\" says nothing for this kind of rule",
    ),
    (
        "[[rule]]\nid='a'\npattern='x'\nurl='example.org'\n",
        "4:5",
        "\"url\" must begin with https://",
    ),
    (
        "[[rule]]\nid='a'\npattern='x'\nrequire='yes'\n",
        "4:9",
        "expected a boolean",
    ),
    (
        "[[rule]]\nid='a'\nglob='x'\ncase_sensitive=true\n",
        "4:16",
        "\"case_sensitive\" says nothing for this kind of rule",
    ),
];

#[test]
fn each_fault_of_a_rule_file_is_named_with_line_and_column() {
    let ws = Workspace::new().file("a", "x\n");
    for (text, place, says) in FAULTS {
        std::fs::write(ws.path("checks.toml"), text).expect("written");
        let answer = check(&ws, &[]);
        assert_eq!(answer.status(), 2, "{text}: {}", answer.shown());
        let errors = answer.errors();
        assert!(
            errors.contains(&format!("checks.toml:{place}: ")) && errors.contains(says),
            "{text}: {errors}"
        );
        let github = check(&ws, &["--format", "github"]);
        let (line, column) = place.split_once(':').expect("two numbers");
        let annotation =
            format!("::error file=checks.toml,line={line},col={column},title=rule-file::");
        assert!(
            github.text().contains(&annotation),
            "{text}: {}",
            github.text()
        );
    }
    let latin = [b"[[rule]]\nid = '".as_slice(), &[0xfc], b"'\n"].concat();
    std::fs::write(ws.path("checks.toml"), latin).expect("written");
    let answer = check(&ws, &[]);
    answer.must_say(&answer.errors(), &["checks.toml:2:7", "not text in UTF-8"]);
    let missing = ws.call_tool(&["--check", "none.toml"]).run();
    assert_eq!(missing.status(), 2);
    missing.must_say(&missing.errors(), &["none.toml", "can't be read"]);
}

#[test]
fn each_result_for_code_scanning_has_a_place() {
    let ws = project();
    let found = check(&ws, &["--format", "sarif"]).json();
    let results = found["runs"][0]["results"].as_array().expect("results");
    let place = |result: &Value| {
        let file = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        file.as_str().expect("a place").to_owned()
    };
    assert!(results.iter().all(|result| !place(result).is_empty()));
    let missing = results.iter().find(|result| result["ruleId"] == "readme");
    assert_eq!(missing.map(place).as_deref(), Some("checks.toml"));
}

#[test]
fn options_of_a_check_are_refused_where_nothing_is_checked() {
    let ws = project();
    for flags in [
        &["--baseline", "no.txt"][..],
        &["--update-baseline"],
        &["--fail-level", "note"],
        &["--all"],
    ] {
        let call = ws.call_tool(&["search_file_content", "pattern=x"]);
        assert_eq!(call.flags(flags).run().status(), 2, "{flags:?}");
    }
}

#[test]
fn a_line_of_a_file_is_no_command_for_the_runner() {
    let ws = Workspace::new()
        .file(
            "c.toml",
            "[[rule]]\nid='t'\npattern='TODO'\nmessage='Open'\n",
        )
        .file(
            "a",
            "  ::stop-commands::x TODO\n##[error]TODO\nx ##[add-mask]TODO\n::TODO\n",
        )
        .file("::stop-commands::b", "TODO\n")
        .file("##[group]", "TODO\n");
    let said = ws.call_tool(&["--check", "c.toml"]).run();
    said.must_say(said.text(), &["6 errors in 3 files"]);
    let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
    assert!(!said.text().lines().any(is_command), "{}", said.text());
}

#[test]
fn a_report_that_can_not_be_written_is_no_passed_check() {
    let ws = Workspace::new()
        .file("a", "x\n")
        .file("checks.toml", "[[rule]]\nid = 'r'\npattern = 'y'\n");
    for flags in [
        &[][..],
        &["--format", "sarif"],
        &["--update-baseline", "--baseline", "b"],
    ] {
        let call = || {
            let call = ws.call_tool(&["--check", "checks.toml"]);
            call.flags(flags).unwatched()
        };
        assert_eq!(call().run().status(), 0, "{flags:?}");
        let full = call().in_bash("exec \"$@\" >/dev/full").run();
        assert_eq!(full.status(), 2, "{flags:?}: {}", full.shown());
    }
}

#[test]
fn an_option_that_writes_a_file_replaces_nothing_that_is_not_a_regular_file() {
    let rules = "[[rule]]\nid = 'r'\npattern = 'y'\n";
    let ws = Workspace::new()
        .file("checks.toml", rules)
        .file("turns.yaml", "turns:\n- {\"text\": \"Done.\"}\n")
        .fifo("pipe")
        .directory("directory")
        .link("to_pipe", "pipe")
        .link("to_nothing", "nothing/below");
    let mut places = vec!["pipe", "to_pipe", "directory", "to_nothing"];
    let device = ["device", "c", "1", "3"];
    let made = Command::new("mknod")
        .args(device)
        .current_dir(ws.dir())
        .status();
    places.extend(
        made.is_ok_and(|status| status.success())
            .then_some("device"),
    );
    let kinds = || {
        places.clone().into_iter().map(|name| {
            fs::symlink_metadata(ws.path(name))
                .map(|meta| meta.file_type())
                .ok()
        })
    };
    let before: Vec<_> = kinds().collect();
    for line in [
        "call_tool --check checks.toml --update-baseline --baseline",
        "run_agent --prompt x --model-script turns.yaml --report",
        "run_agent --prompt x --model-script turns.yaml --record",
        "run_agent --prompt x --model-script turns.yaml --session",
    ] {
        for place in &places {
            let mut words = line.split(' ');
            let program = executable(words.next().expect("a program"));
            let args: Vec<&str> = words.chain([*place]).collect();
            let answer = ws.program(&program, &args).unwatched();
            // What reads the pipe finds it empty.
            let answer = answer
                .in_bash("sh -c ': > pipe' & timeout 20 \"$@\"; x=$?; kill $!; exit $x")
                .run();
            assert!(
                [1, 2, 42].contains(&answer.status()),
                "{line} {place}: {}",
                answer.shown()
            );
            assert!(
                kinds().eq(before.iter().copied()),
                "{line} {place}: {}",
                answer.shown()
            );
        }
    }
}

#[test]
fn all_faults_of_all_rule_files_are_named_at_once_and_by_lint() {
    let mut text = String::new();
    for n in 0..5 {
        let _ = writeln!(text, "[[rule]]\nid = 'r{n}'\npattern = '('");
    }
    let ws = Workspace::new()
        .file("checks.toml", &text)
        .file("more.toml", "[[rule]]\nid = 'r0'\n");
    let answer = ws.call_tool(&["--check", "checks.toml", "more.toml"]).run();
    assert_eq!(
        answer.errors().matches("error[rule-file]").count(),
        6,
        "{}",
        answer.shown()
    );
    let lint = ws
        .get_tools(&["lint", "checks.toml", "more.toml", "--format", "sarif"])
        .run();
    assert_eq!(lint.status(), 1);
    let document = lint.json();
    check_sarif(&document);
    assert_eq!(
        document["runs"][0]["results"]
            .as_array()
            .expect("results")
            .len(),
        6
    );
    let large = format!(
        "[[rule]]\nid = 'r'\nno-file = true\n#{}",
        "x".repeat(4 << 20)
    );
    let large = Workspace::new().file("checks.toml", large);
    for answer in [
        check(&large, &[]),
        large.get_tools(&["lint", "checks.toml"]).run(),
    ] {
        assert_ne!(answer.status(), 0, "{}", answer.shown());
        assert!(answer.shown().contains("larger than 4194304 bytes"));
    }
    let good = Workspace::new().file("checks.toml", RULES);
    let lint = good.get_tools(&["lint", "checks.toml"]).run();
    assert_eq!(
        (lint.status(), lint.text()),
        (
            0,
            "0 tools and 6 rules in 1 file: 0 errors, 0 warnings, 0 repairs\n"
        )
    );
    let twice = Workspace::new()
        .file("a.toml", "[[rule]]\nid='r'\npattern='x'\n")
        .file("b.toml", "[[rule]]\nid='r'\npattern='y'\n");
    let answer = twice.call_tool(&["--check", "a.toml", "b.toml"]).run();
    assert_eq!(answer.status(), 2);
    answer.must_say(
        &answer.errors(),
        &["Two of the rule files have a rule \"r\""],
    );
}

#[test]
fn a_search_that_is_a_check_takes_what_says_something_for_it() {
    let ws = project();
    let run = |args: &[&str]| ws.call_tool(&["search_file_content"]).flags(args).run();
    let without = run(&["SPDX", "include=src/**,!empty.rs", "--files-without-match"]);
    assert_eq!(without.status(), 1);
    without.must_say(
        without.text(),
        &["src/Odd.rs: error[search_file_content]: The file has no match."],
    );
    let named = run(&[
        "TODO",
        "path=src",
        "--max",
        "0",
        "--rule-id",
        "t",
        "--message",
        "Do {text}",
        "--level",
        "warning",
        "--format",
        "github",
    ]);
    assert_eq!(named.status(), 1);
    assert_eq!(
        named.text(),
        "::warning file=src/a.rs,line=2,col=4,title=t::Do // TODO: greet\n"
    );
    for (args, says) in [
        (
            &["x", "context=2", "--max", "1"][..],
            "\"context\" says nothing",
        ),
        (&["(", "--max", "1"], "not a valid regular expression"),
        (
            &["x", "include=none/**", "--max", "1"],
            "No file matches the include",
        ),
        (
            &["x", "--max", "1", "--output", "lines"],
            "cannot be used with",
        ),
        (
            &["x", "--changed", "main", "--files-from", "-"],
            "cannot be used with",
        ),
    ] {
        let refused = run(args);
        assert_eq!(refused.status(), 2, "{args:?}: {}", refused.shown());
        assert!(
            refused.shown().contains(says),
            "{args:?}: {}",
            refused.shown()
        );
    }
    let other = ws.call_tool(&["glob", "*.rs", "--max", "1"]).run();
    assert_eq!(other.status(), 2, "{}", other.shown());
}

#[test]
fn a_column_of_lines_counts_bytes_as_git_does_and_one_of_a_report_characters() {
    let ws = Workspace::new()
        .file("a", "éé TODO\n\t日本 x TODO TODO\n🦀TODO\nTODO\n")
        .git();
    ws.git_command(&["add", "."]);
    let git = ws
        .program(Path::new("git"), &["grep", "-n", "--column", "TODO"])
        .run();
    let search = ["search_file_content", "pattern=TODO"];
    let lines = ws.call_tool(&search).flags(&["--output", "lines"]).run();
    assert_eq!(lines.text(), git.text());
    let sarif = ws.call_tool(&search).flags(&["--format", "sarif"]).run();
    let results = sarif.json()["runs"][0]["results"].clone();
    let column = |result: &Value| {
        result["locations"][0]["physicalLocation"]["region"]["startColumn"].as_u64()
    };
    let binary = ws
        .program(Path::new("bash"), &["-c", "printf 'TODO\\0' >b.bin"])
        .unwatched();
    assert_eq!(binary.run().status(), 0);
    let lines = ws.call_tool(&search).flags(&["--output", "lines"]).run();
    assert_eq!(lines.text(), git.text());
    lines.must_say(
        &lines.errors(),
        &["1 binary file with matches not shown: b.bin."],
    );
    let columns: Vec<_> = results
        .as_array()
        .expect("results")
        .iter()
        .map(column)
        .collect();
    assert_eq!(columns, [4, 7, 2, 1].map(Some));
}

#[test]
fn what_makes_a_check_fail_is_a_failure_in_junit() {
    let rule = |level: &str, fails: &str| {
        format!("fail_level = '{fails}'\n[[rule]]\nid = 'r'\npattern = 'TODO'\nlevel = '{level}'\n")
    };
    for level in ["error", "warning", "note"] {
        for fails in ["error", "warning", "note"] {
            let ws = Workspace::new()
                .file("a", "TODO\n")
                .file("c.toml", rule(level, fails));
            let said = ws
                .call_tool(&["--check", "c.toml", "--format", "junit"])
                .run();
            check_junit(said.text());
            let failures = format!("failures=\"{}\"", said.status());
            said.must_say(said.text(), &[&failures]);
            let search = [
                "search_file_content",
                "TODO",
                "include=a",
                "--max",
                "0",
                "--format",
                "junit",
            ];
            let search = ws.call_tool(&search).flags(&["--level", level]).run();
            assert_eq!(search.status(), 1, "{}", search.shown());
            search.must_say(search.text(), &["failures=\"1\""]);
        }
    }
}

#[test]
fn a_pattern_that_names_a_directory_is_told() {
    let ws = Workspace::new()
        .file("src/a", "TODO\n")
        .file("top.md", "ok\n")
        .file(
            "c.toml",
            "[[rule]]\nid = 'r'\npattern = 'TODO'\ninclude = ['src/', '*.md', 'src/*', '!src/a', 'sorce/**/x.*', '**/a/*']\n",
        );
    let said = ws.call_tool(&["--check", "c.toml"]).run();
    let told = "Rule r: \"src\" is a directory: src/** are its files.\n";
    let gone = "Rule r: there is no directory \"sorce\".\n";
    said.must_say(said.text(), &[told, gone, "Nothing found"]);
    assert_eq!(said.text().lines().count(), 3, "{}", said.text());
}
