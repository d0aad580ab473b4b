use super::{END_LINES, Pieces, alarm::is_alarm};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use std::collections::HashMap;

fn shape(line: &str) -> Option<u64> {
    super::shape(line, &mut Pieces::default())
}

fn condensed(text: &str) -> (String, u64) {
    super::condensed(text, 1)
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (1..=count).map(|n| line(n) + "\n").collect()
}

#[test]
fn a_run_of_lines_of_one_shape_becomes_its_ends_and_a_count() {
    let log = numbered(100, |n| {
        format!("   Compiling crate-{n} v1.{n}.0 (/src/{n})")
    });
    let all = format!("start\n{log}done\n");
    let lines: Vec<&str> = log.lines().collect();
    let expected = [
        &["start", lines[0], "… 91 lines like this (3-93)"][..],
        &lines[92..],
        &["done", ""],
    ];
    assert_eq!(condensed(&all), (expected.concat().join("\n"), 91));
}

#[test]
fn a_block_that_comes_again_becomes_a_count() {
    let block = numbered(9, |n| {
        format!("    at f{n} (/srv/app/lib/module{n}.js:{n}:7)")
    });
    let all = format!("one\n{block}two\n{block}{}", "end\n".repeat(END_LINES));
    let expected = format!(
        "one\n{block}two\n… 9 lines again, as from line 2\n{}",
        "end\n".repeat(END_LINES)
    );
    assert_eq!(condensed(&all), (expected, 9));
    let recursion = "  File \"app.py\", line 3, in walk\n    return walk(node)\n".repeat(500);
    let (text, left_out) = condensed(&recursion);
    assert!(
        text.contains("\n… 990 lines again, as from line 1\n"),
        "{text}"
    );
    assert_eq!(left_out, 990);
}

#[test]
fn errors_stay_with_the_lines_around_them() {
    let before = numbered(50, |n| {
        format!("[{n}/99] Building C object src/file{n}.c.o")
    });
    let error = "src/file50.c:3:5: error: unknown type name 'x'\n    3 | x y;\n      | ^\n";
    let after = before.replace("src/", "lib/");
    let all = format!("{before}{error}{after}");
    let (text, _) = condensed(&all);
    let around = format!(
        "[49/99] Building C object src/file49.c.o\n[50/99] Building C object src/file50.c.o\n{error}\
         [1/99] Building C object lib/file1.c.o\n… 40 lines like this "
    );
    assert!(text.contains(&around), "{text}");
}

#[test]
fn what_is_indented_below_an_error_stays() {
    let frames = numbered(15, |n| {
        format!("  File \"/srv/app/part{n}.py\", line {n}, in step{n}\n    return step{n}(request)")
    });
    let all = format!("Traceback (most recent call last):\n{frames}ValueError: bad\n");
    assert_eq!(condensed(&all).0, all);
}

#[test]
fn what_is_data_is_not_a_run() {
    for line in [
        |n: usize| format!("src/module{n}/file{n}.rs"),
        |n: usize| format!("-rw-r--r-- 1 root root {n} Nov 26 02:05 file{n}.rs"),
        |n: usize| format!("{n},row {n},{}", n * 7),
        |n: usize| format!(" M src/file{n}.rs"),
        |n: usize| format!("use crate::module{n}::Type{n};"),
        |n: usize| format!("  \"key{n}\": \"value {n}\""),
        |n: usize| format!("src/file{n}.rs:{n}: let x = {n}"),
        |n: usize| format!("+{n} another"),
        |n: usize| format!("  - name: VARIABLE_{n}"),
        |n: usize| format!("{n} root sleep {n}-01:02:03"),
        |n: usize| format!("#define SIZE_{n} 0x{n:x}"),
        |n: usize| format!("# define SIZE_{n} {n}"),
        |n: usize| format!("    mov eax, {n}"),
        |n: usize| format!("import module{n}"),
        |n: usize| format!("from .a{n} import b{n} as b{n}"),
        |n: usize| format!("    assert f({n}, 'a') == 2"),
        |n: usize| format!("COPY file{n} /srv/{n}"),
        |n: usize| format!("export NAME_{n}={n}"),
        |n: usize| format!("gem 'name{n}', '{n}.0'"),
        |n: usize| format!("def part{n}(a: int) -> str: ..."),
        |n: usize| format!("\tmodified:   src/file{n}.rs"),
        |n: usize| format!("add 'src/file{n}.rs'"),
        |n: usize| format!("    name: file{n}"),
        |n: usize| format!("root {n} 0.0 0.1 1234 567 ? S 12:01 0:00 worker -n {n}"),
        |n: usize| format!("0.{n}s call     tests/test_{n}.py::test_a"),
        |n: usize| format!("test case_{n} ... bench: {n} ns/iter (+/- {n})"),
    ] {
        let all = numbered(200, line);
        assert_eq!(condensed(&all).0, all);
    }
}

#[test]
fn a_number_that_was_always_the_same_is_shown_where_it_differs() {
    for line in [
        |n: usize, is: bool| format!("[{n}/200] GET /api/item/{n} {}", if is { 500 } else { 200 }),
        |n, is| {
            format!(
                "12:00:{:02} request {n} status={} {n}ms",
                n % 60,
                if is { 503 } else { 200 }
            )
        },
        |n, is| {
            format!(
                "[{n}/200] lost {} rows of table{n}",
                if is { 41 } else { 0 }
            )
        },
        |n, is| format!("12:00:01 job {n} ended rc={}", if is { -1 } else { 1 }),
        |n, is| format!("12:00:01 GET /{n} {}/upstream", if is { 500 } else { 200 }),
        |n, is| format!("12:00:01 GET /{n} ({}:ok)", if is { 500 } else { 200 }),
        |n, is| format!("12:00:01 load {} of {n}", if is { 0.5 } else { 0.0 }),
        |n, is| format!("12:00:01 job {n} ended rc:{}", if is { 7 } else { 1 }),
        |n, is| format!("12:00:01 job {n} is {}up", if is { "!" } else { "?" }),
        |n, is| format!("12:00:01 job {n} is up{}", if is { "!" } else { "" }),
        |n, is| format!("12:00:01 job {n} -{} upstream", if is { "|" } else { ">" }),
        |n, is| format!("12:00:01 got {n} in {}ms", if is { 9000 } else { 3 }),
        |n, is| format!("12:00:01 got {n} in 3 {}", if is { "s" } else { "ms" }),
        |n, is| format!("12:00:01 x{n} got {}12 at {n}", if is { "n" } else { "m" }),
        |n, is| {
            format!(
                "12:00:{:02},1-{}-Got file {n}",
                n % 60,
                if is { "OFF" } else { "ON" }
            )
        },
        |n, is| format!("--- PASS: Test{n} ({}s)", if is { "9.01" } else { "0.00" }),
    ] {
        let log = |is: fn(usize) -> bool| numbered(200, |n| line(n, is(n)));
        let (text, left_out) = condensed(&log(|n| n == 50 || n == 90));
        assert!(
            text.contains(&line(50, true)) && text.contains(&line(90, true)),
            "{text}"
        );
        assert!(left_out > 170, "{text}");
        // A number that changes for good or goes up in steps is not shown each time.
        assert!(condensed(&log(|n| n > 50)).1 > 170);
    }
    let steps = numbered(1000, |n| {
        format!("[{}/99] Building file{n}.o of the library", n / 10)
    });
    assert!(condensed(&steps).1 > 960);
}

#[test]
fn lines_with_another_status_are_not_said_to_be_alike() {
    for line in [
        |n: usize, is: usize| format!("12:00:01 GET /item/{n} {} in {n}ms", 200 + is),
        |n, is| format!("Processing job {n} finished with exit code {is}"),
        |n, is| format!("[{n}/400] stored order {n} ({is} retries, {n}.5 kB)"),
    ] {
        let is = |n: usize| usize::from(matches!(n, 50..=52 | 61 | 90 | 91 | 130 | 200 | 290..310));
        let log = numbered(400, |n| line(n, is(n)));
        let (text, left_out) = condensed(&log);
        assert!(left_out > 300, "{text}");
        for n in [50, 51, 52, 61, 90, 91, 130, 200, 290] {
            assert!(text.contains(&(line(n, 1) + "\n")), "{text}");
        }
        // The lines that a marker "lines like this" replaces must all have the status of the line
        // above it.
        let mut above = 0;
        for shown in text.lines() {
            if let Some((count, _)) = shown.split_once(" lines like this (") {
                let count: usize = count["… ".len()..].parse().expect("a count");
                assert!(
                    (above..=above + count).all(|n| is(n) == is(above)),
                    "{shown}: {text}"
                );
                above += count;
            } else if let Some((count, _)) = shown.split_once(" lines like these ") {
                above += count["… ".len()..].parse::<usize>().expect("a count");
            } else {
                above += 1;
            }
        }
    }
}

#[test]
fn short_runs_and_long_lines_stay() {
    let short = numbered(END_LINES + 6, |n| format!("line {n}"));
    assert_eq!(condensed(&short).0, short);
    let long = format!("a\n{}b\n", format!("{}\n", "👍".repeat(40_000)).repeat(12));
    assert_eq!(condensed(&long).0, long);
}

#[test]
fn an_alarm_is_a_word_of_its_own() {
    for line in [
        "error: aborting due to 2 previous errors",
        "error[E0308]: mismatched types",
        "src/a.c:3:5: warning: unused variable",
        "test parse::tests::empty ... FAILED",
        "tests/test_a.py::test_b FAILED [ 50%]",
        "--- FAIL: TestParse (0.00s)",
        "not ok 3 - parses",
        "  ✕ renders the page (12 ms)",
        "java.lang.NullPointerException: Cannot read",
        "requests.exceptions.ConnectionError: refused",
        "thread 'main' panicked at src/main.rs:2:5:",
        "bash: line 1: frobnicate: command not found",
        "cat: x: No such file or directory",
        "E       assert 1 == 2",
        "npm ERR! code ELIFECYCLE",
        "Tests: 2 failed, 10 passed",
        "Failures: 10",
        "Segmentation fault (core dumped)",
        "::error file=a.js,line=1::bad",
        "curl: (28) Operation timed out",
        "can't open the file",
        "2026-11-29 10:00:01,123-ERROR-Order 50 stored",
        "10:00:01|ERROR|Order 50 stored",
        "[2026-11-29 10:00:01,123: ERROR/MainProcess] Task raised",
        "[2026-11-29 10:00:01] production.ERROR: Order 50",
        "E1129 10:00:50.123456       1 server.go:12] Order 50 stored",
        "W20261129 10:00:50.123456 1 server.cc:12] Order 50 stored",
        "[E] Order 50 stored",
        "11-29 10:00:50.123  1234  5678 E Orders: Order 50 stored",
    ] {
        assert!(is_alarm(line), "{line}");
    }
    for line in [
        "   Compiling thiserror v1.0.69",
        "   Compiling proc-macro-error v1.0.4",
        "test errors::tests::parse_error ... ok",
        "test result: ok. 12 passed; 0 failed; 0 ignored",
        "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
        "src/error.rs",
        "Unpacking libgpg-error0:amd64 (1.47-3) ...",
        "\tat java.io.IOException.<init>(IOException.java:12)",
        "0 errors, no warnings",
        "Found 0 errors in 12 files",
        "   Compiling error-handling.md",
        "ERROR_CODE is set, see ERROR.md and Level::ERROR_MIN",
        "I1129 10:00:50.123456       1 server.go:12] Order 50 stored",
        "E1129 is the part's number",
        "Option E is the default",
    ] {
        assert!(!is_alarm(line), "{line}");
    }
}

#[test]
fn a_shape_is_the_words_without_what_differs() {
    for (one, other) in [
        (
            "   Compiling serde v1.0.219",
            "   Compiling proc-macro2 v1.0.95",
        ),
        (
            "#12 3.456 Get:7 http://x/y main [12 kB]",
            "#12 13.4 Get:12 http://x/z main [1,234 B]",
        ),
        (
            "tests/a.py::test_one PASSED [  1%]",
            "tests/b.py::test_two PASSED [100%]",
        ),
        ("test a::b ... ok", "test some_other::name ... ok"),
        (
            "Receiving objects:  12% (1/9), 1.2 KiB",
            "Receiving objects: 100% (9/9), 22.31 MiB",
        ),
        (
            "[INFO] Downloading from central: https://x/a.pom",
            "[INFO] Downloading from central: https://y/b.pom",
        ),
    ] {
        assert!(shape(one).is_some(), "{one}");
        assert_eq!(shape(one), shape(other), "{one} / {other}");
    }
    for (one, other) in [
        (
            "12:00:01 INFO starting the server",
            "12:00:02 INFO stopping the server",
        ),
        ("12:00:01 server started", "12:00:02 server stopped"),
        ("checking for a.h... yes", "checking for b.h... no"),
        ("[1/9] Linking a", "[2/9] Building b"),
        ("a/x: Creating...", "b/x: Destroying..."),
        ("12:00:01 job 7 ok", "12:00:02 job 8 bad"),
        (
            "12:00:01 status=ok took 3ms",
            "12:00:02 status=down took 4ms",
        ),
        ("gcc -c -O2 -g a.c", "gcc -c -O0 -g b.c"),
    ] {
        assert!(
            shape(one).is_some() && shape(other).is_some(),
            "{one} / {other}"
        );
        assert_ne!(shape(one), shape(other), "{one}");
    }
    assert_eq!(shape("  ------ ...\n"), shape("------ ..."));
    assert_ne!(shape("------"), shape("======"));
}

/// Whether one of a line's tokens differs from what it was in all lines of the same shape before,
/// four at least. A time of day always differs.
#[derive(Default)]
struct Constants(HashMap<(u64, usize), Tokens>);

/// How many lines there were, and the tokens that they had in common.
type Tokens = (usize, Vec<Option<String>>);

impl Constants {
    fn are_broken_by(&mut self, line: &str) -> bool {
        let Some(shape) = shape(line) else {
            return false;
        };
        let tokens: Vec<&str> = line.split_ascii_whitespace().collect();
        let own = || {
            tokens
                .iter()
                .map(|token| Some((*token).to_owned()))
                .collect()
        };
        let known = self.0.entry((shape, tokens.len()));
        let (lines, usual) = known.or_insert_with(|| (0, own()));
        let mut is_broken = false;
        for (usual, token) in usual.iter_mut().zip(tokens) {
            if usual.as_deref().is_some_and(|usual| usual != token) {
                *usual = None;
                is_broken |= *lines >= 4 && token.matches(':').count() < 2;
            }
        }
        *lines += 1;
        is_broken
    }
}

fn check_markers(answer: &str, lines: &[String]) {
    let mut number = 0;
    let mut above = Vec::new();
    let mut constants = Constants::default();
    let broken: Vec<bool> = lines
        .iter()
        .map(|line| constants.are_broken_by(line))
        .collect();
    for line in answer.lines() {
        let Some(marker) = line.strip_prefix("… ") else {
            assert_eq!(
                Some(line),
                lines.get(number).map(String::as_str),
                "{answer}"
            );
            above.push(shape(line));
            number += 1;
            continue;
        };
        let words: Vec<&str> = marker.split([' ', ',', '(', '-', ')']).collect();
        let count: usize = words[0].parse().expect("a count");
        let left_out = &lines[number..number + count];
        if words[2] == "again" {
            let from: usize = words.last().expect("a word").parse().expect("a number");
            assert_eq!(left_out, &lines[from - 1..from - 1 + count], "{answer}");
        } else {
            let shown = &above[above.len() - words[4].parse().unwrap_or(1)..];
            assert!(
                marker.ends_with(&format!("({}-{})", number + 1, number + count)),
                "{marker}"
            );
            for (line, is_broken) in left_out.iter().zip(&broken[number..]) {
                let own = shape(line);
                assert!(!is_broken, "{line}: {answer}");
                assert!(own.is_some() && shown.contains(&own), "{line}: {answer}");
            }
        }
        above.clear();
        number += count;
    }
    assert_eq!(number, lines.len(), "{answer}");
}

fn constant() -> impl Strategy<Value = &'static str> {
    let pairs = [
        ("200", "500"),
        ("1", "-1"),
        ("0.0", "0.5"),
        ("3ms", "9s"),
        ("(200:ok)", "(500:ok)"),
        ("200/upstream", "500/upstream"),
        ("I1129", "J1129"),
        ("m12", "m12!"),
        ("rc=1", "rc=-1"),
        ("rc:1", "rc:7"),
        ("<3,4>", "<3,5>"),
        ("µ5", "µ6"),
        ("[up]", "[up]]"),
        ("->", "-|"),
    ];
    (proptest::sample::select(pairs.to_vec()), 0..20_u32)
        .prop_map(|((usual, other), is)| if is == 0 { other } else { usual })
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..99_u32, constant()).prop_map(|(n, is)| format!("12:00:{n:02} job {n} ended {is}")),
        8 => (0..99_u32, constant()).prop_map(|(n, is)| format!("12:00:01 {is} of file{n} {n}ms")),
        8 => (0..99_u32, constant(), constant())
            .prop_map(|(n, a, b)| format!("[{n}/99] {a} {b} file{n} ({n} ms)")),
        8 => (0..99_u32).prop_map(|n| format!("Downloading package-{n} {n}.1 kB from http://host/{n}")),
        4 => (0..99_u32).prop_map(|n| format!("test module::case_{n} ... ok")),
        2 => (0..9_u32).prop_map(|n| format!("    at frame{n} (/srv/app/lib/{n}.js:1:2)")),
        1 => (0..99_u32).prop_map(|n| format!("error: case {n} of the run")),
        1 => (0..99_u32).prop_map(|n| format!("test module::case_{n} ... FAILED")),
        4 => (0..99_u32, "yes|no").prop_map(|(n, is)| format!("checking for header_{n}.h... {is}")),
        4 => (0..9_u32, "ok|ignored").prop_map(|(n, is)| format!("test group::case_{n} ... {is}")),
        4 => (0..99_u32, 200..203_u32).prop_map(|(n, s)| format!("12:00:{n:02} GET /item/{n} status={s} {n}ms")),
        4 => (0..9_u32, "PASSED|XPASS").prop_map(|(n, is)| format!("test_x[{n}] {is} [ {n}%]")),
        1 => "[a-z /.:=0-9👍]{0,40}",
        1 => Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_error_and_both_ends_stay_and_each_line_is_counted(
        blocks in proptest::collection::vec(
            (proptest::collection::vec(line(), 1..6), 1..12_usize),
            0..24,
        ),
    ) {
        // All blocks come twice, to get markers for blocks that equal an earlier one only in the
        // lines that are shown.
        let blocks = blocks.iter().chain(&blocks);
        let lines: Vec<String> = blocks
            .flat_map(|(lines, count)| std::iter::repeat_n(lines, *count).flatten().cloned())
            .collect();
        let text = lines.iter().fold(String::new(), |all, line| all + line + "\n");
        let (answer, left_out) = condensed(&text);
        check_markers(&answer, &lines);
        let shown: Vec<&str> = answer.lines().filter(|line| !line.starts_with("… ")).collect();
        assert_eq!(shown.len() as u64 + left_out, lines.len() as u64);
        // The lines that are shown must be in the order of the output.
        let mut rest = lines.iter();
        assert!(shown.iter().all(|line| rest.any(|other| other == line)));
        assert_eq!(shown.first().copied(), lines.first().map(String::as_str));
        let end = lines.len().saturating_sub(END_LINES);
        assert!(shown.ends_with(&lines[end..].iter().map(String::as_str).collect::<Vec<_>>()));
        for line in lines.iter().filter(|line| line.starts_with("error:") || line.ends_with("FAILED")) {
            assert!(shown.contains(&line.as_str()), "{line} is not in {answer}");
        }
    }
}
