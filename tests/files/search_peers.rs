//! `search_file_content` against ripgrep, in trees, texts and for expressions that a seed decides: the same lines, texts and
//! columns. What differs is here and in its page of the book, and nothing else does.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use encoding_rs::Encoding;
use serde_json::{Value, json};

use super::peers::{names, on_disk, output, peer, tree};
use crate::harness::random::{Random, seeds};
use crate::harness::{Workspace, skipped, trials};

/// A longer line is cut, in characters.
const LINE_CHARS: usize = 2_000;

/// A matching line: its text, and the column of its first match where that is not empty, from 1 and in characters.
type Lines = BTreeMap<(String, u64), (String, Option<u64>)>;

const WORDS: [&str; 20] = [
    "foo", "bar", "Foo", "foobar", "a", "x", "xx", " ", " ", "\t", "1", "(", "a.b(", "_", "é", "É",
    "naïve", "🎉", "ß", "\u{212a}",
];

/// How the lines of a file end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    LineFeed,
    Windows,
    Mixed,
    /// By line feeds, and there are carriage returns in them.
    Odd,
}

fn text(random: &mut Random, ends: Ends) -> String {
    let mut text = String::new();
    let count = random.below(12);
    for n in 0..count {
        for _ in 0..random.below(7) {
            text.push_str(random.of(&WORDS));
            if ends == Ends::Odd && random.one_in(4) {
                text.push_str("\rx");
            }
        }
        if random.one_in(12) {
            // No part of it is in it twice.
            let letter = random.of(&["y", "é", "y "]);
            let filler = crate::harness::lines(800, |n| format!("{}{letter}", n + 100));
            text.push_str(&filler);
            text.push_str(random.of(&WORDS));
            text.push_str(&filler.to_uppercase());
        }
        if n + 1 < count || random.one_in(2) {
            let is_windows = ends == Ends::Windows || ends == Ends::Mixed && random.one_in(2);
            text.push_str(if is_windows { "\r\n" } else { "\n" });
        }
    }
    text
}

fn pattern(random: &mut Random) -> String {
    const PARTS: [&str; 35] = [
        "foo",
        "bar",
        "a",
        "x",
        "^",
        "$",
        ".",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\d",
        r"\b",
        "[a-f]",
        "[^o]",
        "[^a-z]",
        "é",
        "É",
        "ß",
        "k",
        r"\p{L}",
        r"\p{Lu}",
        "[[:space:]]",
        r"\x{e9}",
        "🎉",
        r"\(",
        "ï",
        "(foo|bar)",
        "(?:a|é)",
        "(?i:FOO)",
        "(?-u:\\w)",
        r"\t",
        "_",
        ".*",
        r"[\w.]",
    ];
    let mut pattern = String::new();
    for _ in 0..=random.below(3) {
        let part = random.of(&PARTS);
        let times = random.of(&["", "", "", "", "+", "*", "?", "{2}", "{1,3}", "+?"]);
        let is_place = ["^", "$", r"\b"].contains(&part);
        pattern.push_str(part);
        pattern.push_str(if is_place { "" } else { times });
    }
    pattern
}

fn by_us(ws: &Workspace, pattern: &str, more: &Value) -> Lines {
    let mut arguments = json!({"pattern": pattern});
    let all = arguments.as_object_mut().expect("an object");
    all.extend(more.as_object().expect("an object").clone());
    let call = ws
        .tool("search_file_content")
        .flags(&["--output", "result"]);
    let result = call.arguments(&arguments).unwatched().run().json();
    let places = result["data"]["locations"].as_array().cloned();
    let places = places.unwrap_or_else(|| panic!("{pattern}: {result}"));
    let line = |place: &Value| {
        let name = place["file"].as_str().expect("a name").to_owned();
        let text = place["text"].as_str().expect("a text").to_owned();
        (
            (name, place["line"].as_u64().expect("a number")),
            (text, place["column"].as_u64()),
        )
    };
    places.iter().map(line).collect()
}

fn by_rg(ws: &Workspace, rg: &str, options: &[&str], pattern: &str) -> Lines {
    let mut command = Command::new(rg);
    command
        .args(["--json", "--hidden", "-g", "!/.git"])
        .args(options)
        .args(["-e", pattern]);
    let run = output(ws, command);
    // Where it has searched no file, it says so.
    let says = str::from_utf8(&run.stderr).expect("UTF-8");
    assert!(
        says.is_empty() || says.starts_with("No files were searched"),
        "{options:?} {pattern}: {run:?}"
    );
    let lines = run
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice::<Value>(line).expect("JSON"));
    let line = |line: Value| {
        let data = &line["data"];
        let text = data["lines"]["text"].as_str()?;
        let column = data["submatches"][0]["start"].as_u64().map(|at| {
            let before = &text[..usize::try_from(at).expect("a place")];
            before.chars().count() as u64 + 1
        });
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let name = data["path"]["text"].as_str()?.to_owned();
        Some((
            (name, data["line_number"].as_u64()?),
            (text.to_owned(), column),
        ))
    };
    lines
        .filter(|line| line["type"] == "match")
        .filter_map(line)
        .collect()
}

/// Asserts that lines are the same, where those that are long may be cut, but not before their match.
#[track_caller]
fn assert_same(ours: &Lines, theirs: &Lines, what: &str) {
    let places = |lines: &Lines| lines.keys().cloned().collect::<Vec<_>>();
    assert_eq!(places(ours), places(theirs), "{what}");
    for (place, (text, column)) in theirs {
        let (shown, at) = &ours[place];
        // ripgrep does not say where it has found nothing.
        assert!(
            column.is_none() || at == column,
            "{what}: {place:?}: {at:?}, not {column:?}"
        );
        if text.chars().count() <= LINE_CHARS {
            assert_eq!(shown, text, "{what}: {place:?}");
            continue;
        }
        let middle = shown.strip_suffix("... [truncated]").unwrap_or(shown);
        let middle = middle.strip_prefix("... ").unwrap_or(middle);
        let from = text
            .find(middle)
            .unwrap_or_else(|| panic!("{what}: {place:?}: {shown}"));
        let first = text[..from].chars().count() as u64 + 1;
        let shown_columns = first..=first + LINE_CHARS as u64;
        let is_shown = column.is_none_or(|column| shown_columns.contains(&column));
        assert!(is_shown, "{what}: {place:?}: {shown}");
    }
}

/// Only lines of the files that are asked for, by names that JSON can have.
fn of_files(lines: Lines, is_asked: impl Fn(&str) -> bool) -> Lines {
    let kept = lines.into_iter().filter(|((name, _), _)| is_asked(name));
    kept.collect()
}

#[test]
fn the_lines_that_ripgrep_finds_are_found() {
    let Some(rg) = peer(&["rg"]) else { return };
    for seed in seeds("search_peers", 6 * trials()) {
        let mut random = Random::new(seed);
        let ws = tree(&mut random);
        let mut ends = BTreeMap::new();
        for name in names(
            &ws,
            rg,
            &[
                "--files",
                "--hidden",
                "-0",
                "-g",
                "!/.git",
                "-g",
                "!.gitignore",
            ],
        ) {
            let of_file = random.of(&[Ends::LineFeed, Ends::Windows, Ends::Mixed, Ends::Odd]);
            let mark = if random.one_in(6) { "\u{feff}" } else { "" };
            let content = format!("{mark}{}", text(&mut random, of_file));
            fs::write(on_disk(&ws, &name), content).expect("written");
            if let Ok(name) = String::from_utf8(name) {
                ends.insert(name, of_file);
            }
        }
        for _ in 0..8 {
            let pattern = pattern(&mut random);
            // ripgrep finds no empty line by an end before a beginning.
            if pattern.contains("$^") {
                continue;
            }
            let is_exact = random.one_in(2);
            let ours = by_us(&ws, &pattern, &json!({"case_sensitive": is_exact}));
            let case = if is_exact { "-s" } else { "-i" };
            let what = format!("seed {seed}: {pattern} {case}");
            // Here both ends are one, as for ripgrep if it is asked; a return in a line is no end then.
            let is_usual = |name: &str| ends.get(name).is_some_and(|ends| *ends != Ends::Odd);
            let theirs = by_rg(&ws, rg, &["--crlf", case], &pattern);
            assert_same(
                &of_files(ours.clone(), is_usual),
                &of_files(theirs, is_usual),
                &what,
            );
            let is_odd = |name: &str| ends.get(name) == Some(&Ends::Odd);
            let theirs = by_rg(&ws, rg, &[case], &pattern);
            assert_same(&of_files(ours, is_odd), &of_files(theirs, is_odd), &what);
        }
    }
}

#[test]
fn look_around_and_back_references_find_what_pcre2_finds() {
    const PATTERNS: [&str; 18] = [
        r"foo(?=bar)",
        r"foo(?!bar)",
        r"(?<=foo)bar",
        r"(?<!foo)bar",
        r"(\w)\1",
        r"\b(\w+)\s+\1\b",
        r"^(?=.*foo)(?=.*bar)",
        r"^(?!.*foo).*a",
        r"(?<=\()\w*",
        r"(?<![a-z])x+",
        r"(é|a).*\1",
        r"(?<=é)\W",
        r"(.)\1{2}",
        r"x(?=$|x)",
        r"^(?!\s*$).+(?<!a)$",
        r"(?<one>\w)\k<one>",
        r"(?P<one>\w)(?P=one)",
        r"(?<one>é|a).*\k<one>",
    ];
    let Some(rg) = peer(&["rg"]) else { return };
    let known = Command::new(rg)
        .arg("--pcre2-version")
        .output()
        .expect("it runs");
    if !known.status.success() {
        return skipped("ripgrep with PCRE2");
    }
    for seed in seeds("search_peers", 6 * trials()) {
        let mut random = Random::new(seed);
        let mut ws = Workspace::new();
        for n in 0..8 {
            ws = ws.file(format!("{n}.txt"), text(&mut random, Ends::LineFeed));
        }
        for _ in 0..8 {
            let pattern = random.of(&PATTERNS);
            let ours = by_us(&ws, pattern, &json!({}));
            assert_same(
                &ours,
                &by_rg(&ws, rg, &["-P", "-i"], pattern),
                &format!("seed {seed}: {pattern}"),
            );
        }
    }
}

#[test]
fn files_in_older_encodings_are_searched_as_ripgrep_does_it_by_their_name() {
    const CASES: [(&str, &str, &[&str]); 7] = [
        (
            "utf-16le",
            "Größe über alles, naïve café\n",
            &["größe", r"\bcaf\w\b", "^G", "e$"],
        ),
        (
            "utf-16be",
            "Größe über alles, naïve café\n",
            &["größe", r"\bcaf\w\b", "^G", "e$"],
        ),
        (
            "windows-1252",
            "Die Größe der Übung, naïve façade im Café am Fluß\n",
            &["größe", "caf.", r"flu\w$", "[ïç]"],
        ),
        (
            "windows-1251",
            "Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства\n",
            &["ШИРОКАЯ", r"^\w+\s", "хозяйств.$"],
        ),
        (
            "shift_jis",
            "これは日本語の文章です。ソース、foo と表示\n",
            &["foo", "[A-Z]", r"\bfoo\b", "表示$", "ソ"],
        ),
        (
            "gbk",
            "这是一个用中文写的句子，用来判断编码。编码丂foo文丵\n",
            &["foo", "[@-Z]", "编码", "丵$"],
        ),
        (
            "euc-kr",
            "이 문장은 한국어로 쓰여 있으며 인코딩을 알아내는 데 쓰입니다 foo\n",
            &["foo$", "한국어", r"^이\s"],
        ),
    ];
    let Some(rg) = peer(&["rg"]) else { return };
    for seed in seeds("search_peers", trials()) {
        let mut random = Random::new(seed);
        for (label, sentence, patterns) in CASES {
            let mut content = sentence.repeat(3);
            for _ in 0..random.below(5) {
                content.push_str(random.of(&["foo\n", "\n", "R foo\r\n", "x\n", "end"]));
            }
            let encoded = if let Some(order) = label.strip_prefix("utf-16") {
                let units = "\u{feff}".encode_utf16().chain(content.encode_utf16());
                let bytes = units.flat_map(|unit| {
                    if order == "le" {
                        unit.to_le_bytes()
                    } else {
                        unit.to_be_bytes()
                    }
                });
                bytes.collect()
            } else {
                let encoding = Encoding::for_label(label.as_bytes()).expect("known");
                encoding.encode(&content).0.into_owned()
            };
            let ws = Workspace::new().file("a.txt", encoded);
            for pattern in patterns {
                let theirs = by_rg(&ws, rg, &["-i", "--crlf", "-E", label], pattern);
                let what = format!("seed {seed}: {pattern} in {label}");
                assert_same(&by_us(&ws, pattern, &json!({})), &theirs, &what);
            }
        }
    }
}
