//! `call_tool --check` in projects that a seed decides: against the search that finds the same, and against a model of
//! what counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::harness::random::{Random, seeds};
use crate::harness::{Answer, Workspace, trials, write};

/// File, line, column and end of each finding in a document. A file that is not text has only its name.
fn places(answer: &Answer) -> BTreeSet<(String, [u64; 3])> {
    let document = answer.json();
    let results = document["runs"][0]["results"].as_array().cloned();
    let place = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        let file = place["artifactLocation"]["uri"].as_str().expect("a file");
        let region = |key: &str| place["region"][key].as_u64().unwrap_or_default();
        let numbers = ["startLine", "startColumn", "endColumn"].map(region);
        (file.to_owned(), numbers)
    };
    results.expect("results").iter().map(place).collect()
}

#[test]
fn a_check_and_the_same_search_find_the_same() {
    const FILES: [&str; 8] = [
        "a.txt",
        "src/b.txt",
        "src/gen/c.txt",
        "node_modules/m/d.txt",
        "src/node_modules/e.js",
        "log/f.log",
        ".gitignore",
        "g.bin",
    ];
    const PIECES: [&str; 13] = [
        "KEY", "key", "foo", "bar", " ", "é", "x", "\r", "\n", "\r\n", "\n", "\0", "1",
    ];
    const PATTERNS: [&str; 12] = [
        "KEY",
        "(?=bar)",
        r"(\w+)$",
        "^",
        "$",
        "x*",
        r"foo(\w)?",
        "(?<=foo)bar",
        r"\bk",
        "[^a-z]$",
        "é.",
        r"\r",
    ];
    const INCLUDES: [&str; 12] = [
        "node_modules/**,.gitignore",
        "node_modules/**",
        "**/node_modules/**",
        "src/**,!src/gen/**",
        "src/**,!gen/",
        "!src/**",
        "*.txt",
        "!(a).txt",
        "*.{txt,log}",
        "!*.txt",
        "src/",
        "g.bin",
    ];
    for seed in seeds("checks_random", 4 * trials()) {
        let mut random = Random::new(seed);
        let mut ws = Workspace::new();
        for name in FILES {
            let mut text = String::new();
            for _ in 0..random.below(20) {
                let piece = random.of(&PIECES);
                text.push_str(if piece == "\0" && random.one_in(2) {
                    ""
                } else {
                    piece
                });
            }
            if name == ".gitignore" && random.one_in(2) {
                text = "node_modules\n*.log\n".to_owned();
            }
            ws = ws.file(name, text);
        }
        let ws = ws.git();
        let rules = ws.root().join("rules.toml").to_string_lossy().into_owned();
        for _ in 0..6 {
            let pattern = random.of(&PATTERNS);
            let include = (!random.one_in(4)).then(|| random.of(&INCLUDES));
            let mut call = vec![
                format!("pattern={pattern}"),
                "case_sensitive=true".to_owned(),
            ];
            let mut rule = format!("[[rule]]\nid='r'\npattern='{pattern}'\ncase_sensitive=true\n");
            if let Some(include) = include {
                call.push(format!("include={include}"));
                let _ = writeln!(rule, "include='{include}'");
            }
            write(ws.root().join("rules.toml").as_path(), rule.as_bytes());
            let call: Vec<&str> = call.iter().map(String::as_str).collect();
            let search = |flags: &[&str]| {
                let search = ws.call_tool(&["search_file_content"]).flags(&call);
                search.flags(flags).flags(&["--format", "sarif"]).run()
            };
            let found = search(&["--fail-on-match"]);
            let rules = ["--check", &rules, "--format", "sarif"];
            for check in [search(&["--max", "0"]), ws.call_tool(&rules).run()] {
                let what = format!("seed {seed}: {pattern} in {include:?}: {}", check.shown());
                assert_eq!(check.status(), found.status(), "{what}");
                assert_eq!(places(&check), places(&found), "{what}");
            }
        }
    }
}

/// A finding: the number of its rule, its file and its text.
type Key = (usize, &'static str, String);

const LEVELS: [&str; 3] = ["error", "warning", "note"];

/// Lines of two files, each with its number. The indents make lines of the same text different for git.
type Lines = BTreeMap<&'static str, Vec<(usize, Key)>>;

/// Drops some lines and puts new ones between the others.
fn change(random: &mut Random, files: &mut Lines, made: &mut usize) {
    for (name, lines) in files {
        let mut changed = Vec::new();
        for at in 0..=lines.len() {
            while random.one_in(3) {
                *made += 1;
                let rule = random.below(3);
                let key = (rule, *name, format!("bad{rule} {}", random.below(2)));
                changed.push((*made, key));
            }
            changed.extend(lines.get(at).filter(|_| !random.one_in(4)).cloned());
        }
        *lines = changed;
    }
}

fn save(ws: &Workspace, files: &Lines) {
    for (name, lines) in files {
        let line = |(number, key): &(usize, Key)| format!("{}{}\n", " ".repeat(*number), key.2);
        let text: String = lines.iter().map(line).collect();
        fs::write(ws.path(name), text).expect("written");
    }
}

fn counted(lines: &Lines, is_counted: impl Fn(usize) -> bool) -> BTreeMap<Key, usize> {
    let mut counts = BTreeMap::new();
    for (_, key) in lines.values().flatten().filter(|(n, _)| is_counted(*n)) {
        *counts.entry(key.clone()).or_default() += 1;
    }
    counts
}

/// Writes a file with all three rules, and a file with each of them.
fn save_rules(ws: &Workspace, max: [usize; 3], levels: [usize; 3]) {
    let mut all = String::new();
    for rule in 0..3 {
        let (max, level) = (max[rule], LEVELS[levels[rule]]);
        let one =
            format!("[[rule]]\nid='r{rule}'\npattern='bad{rule}'\nmax={max}\nlevel='{level}'\n");
        write(&ws.root().join(format!("{rule}.toml")), one.as_bytes());
        all.push_str(&one);
    }
    write(&ws.root().join("rules.toml"), all.as_bytes());
}

/// Returns what a baseline knows, and its text. Any lines may be known, and be more than there are. Some have comments.
fn known(random: &mut Random) -> (BTreeMap<Key, usize>, String) {
    let (mut known, mut text) = (BTreeMap::new(), "# Known.\n".to_owned());
    for n in 0..random.below(12) {
        let rule = random.below(3);
        let file = random.of(&["a.txt", "b.txt"]);
        let key = (rule, file, format!("bad{rule} {}", random.below(2)));
        if random.one_in(3) {
            let _ = writeln!(text, "#{n} ticket\n");
        }
        let _ = writeln!(text, "r{rule}\t{file}\t{}", key.2);
        *known.entry(key).or_default() += 1;
    }
    (known, text)
}

#[test]
fn what_counts_is_what_the_baseline_the_lines_and_max_leave() {
    for seed in seeds("checks_random", 6 * trials()) {
        let mut random = Random::new(seed);
        let ws = Workspace::new().git();
        let mut files = Lines::from([("a.txt", Vec::new()), ("b.txt", Vec::new())]);
        let mut made = 0;
        let max = [0; 3].map(|_| random.of(&[0, 0, 1, 3]));
        let levels = [0; 3].map(|_| random.below(3));
        save_rules(&ws, max, levels);
        change(&mut random, &mut files, &mut made);
        save(&ws, &files);
        let (known, baseline) = known(&mut random);
        let known_file = ws.root().join("known.txt");
        write(&known_file, baseline.as_bytes());
        ws.git_command(&["add", "."]);
        let author = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
        ws.git_command(&[&author[..], &["commit", "-qm", "first"]].concat());
        let old = made;
        change(&mut random, &mut files, &mut made);
        save(&ws, &files);
        let outside = |name: &str| ws.root().join(name).to_string_lossy().into_owned();
        let baseline_file = outside("known.txt");
        let run = |rules: &str, flags: &[&str]| {
            let call = ws.call_tool(&["--check", &outside(rules), "--baseline", &baseline_file]);
            call.flags(flags).unwatched().run()
        };
        let (all, new) = (counted(&files, |_| true), counted(&files, |n| n > old));
        let none = 0;
        for (fails, level) in LEVELS.into_iter().enumerate() {
            let level = ["--fail-level", level];
            for selection in [
                &[][..],
                &["--changed", "HEAD"],
                &["--changed-lines", "HEAD"],
            ] {
                let mut counts = [0; 3];
                for (key, count) in &all {
                    let known = known.get(key).unwrap_or(&none);
                    let left = count.saturating_sub(*known);
                    let is_lines = selection.first() == Some(&"--changed-lines");
                    let most = if is_lines {
                        new.get(key).unwrap_or(&none)
                    } else {
                        count
                    };
                    // A file that has not changed is not looked at.
                    let has_changed = selection.is_empty() || !ws_is_same(&ws, key.1);
                    counts[key.0] += if has_changed { left.min(*most) } else { 0 };
                }
                let broken = |rule: &usize| counts[*rule] > max[*rule];
                let status = (0..3).filter(broken).any(|rule| levels[rule] <= fails);
                let listed: usize = (0..3).filter(broken).map(|rule| counts[rule]).sum();
                let answer = run("rules.toml", &[&level[..], selection].concat());
                let what = format!("seed {seed}: {selection:?}: {}", answer.shown());
                assert_eq!(answer.status(), i32::from(status), "{what}");
                let found = answer
                    .text()
                    .lines()
                    .filter(|line| line.contains(": Found: "));
                assert_eq!(found.count(), listed, "{what}");
                assert!(
                    selection.is_empty() || !answer.text().contains("can be"),
                    "{what}"
                );
            }
        }
        // An update by one rule takes out what is gone of this rule and leaves all other lines.
        let rule = random.below(3);
        let updated = run(&format!("{rule}.toml"), &["--update-baseline"]);
        let of_rule = |line: &&str| line.starts_with(&format!("r{rule}\t"));
        let text = fs::read_to_string(&known_file).expect("a baseline");
        let rest = |text: &str| {
            text.lines()
                .filter(|l| !of_rule(l))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            rest(&text),
            rest(&baseline),
            "seed {seed}: {}",
            updated.shown()
        );
        let mut kept: Vec<&str> = text.lines().filter(of_rule).collect();
        kept.sort_unstable();
        let still = known.iter().filter(|(key, _)| key.0 == rule);
        let still = still.flat_map(|(key, known)| {
            let count = (*known).min(*all.get(key).unwrap_or(&none));
            vec![format!("r{rule}\t{}\t{}", key.1, key.2); count]
        });
        let mut still: Vec<String> = still.collect();
        still.sort_unstable();
        assert_eq!(kept, still, "seed {seed}: {}", updated.shown());
    }
}

/// Returns true if git sees no change of a file.
fn ws_is_same(ws: &Workspace, name: &str) -> bool {
    let mut diff = std::process::Command::new("git");
    let diff = diff
        .current_dir(ws.dir())
        .args(["diff", "--quiet", "HEAD", "--", name]);
    diff.status().expect("git runs").success()
}

#[test]
fn a_name_is_matched_as_a_whole() {
    for seed in seeds("checks_random", 3 * trials()) {
        let mut random = Random::new(seed);
        let mut ws = Workspace::new();
        let (mut names, mut wrong) = (BTreeSet::new(), 0);
        for _ in 0..12 {
            let mut name = String::new();
            for _ in 0..=random.below(3) {
                name.push_str(random.of(&["a", "b.", "\n", "\r", " ", "a", "b"]));
            }
            if names.insert(name.clone()) {
                let fits = name.bytes().all(|b| b"ab.".contains(&b));
                wrong += usize::from(!fits);
                ws = ws.file(&name, "");
            }
        }
        for pattern in ["^[ab.]+$", "^[ab.](?=[ab.]*$)", "\\A[ab.]*\\z"] {
            let rule = format!("[[rule]]\nid='n'\nname='{pattern}'\n");
            write(ws.root().join("rules.toml").as_path(), rule.as_bytes());
            let rules = ws.root().join("rules.toml").to_string_lossy().into_owned();
            let answer = ws.call_tool(&["--check", &rules]).run();
            let found = answer.text().matches("does not fit").count();
            assert_eq!(found, wrong, "seed {seed}: {pattern}: {}", answer.shown());
        }
    }
}

#[test]
fn a_flood_of_one_rule_hides_no_finding_of_another() {
    let flood = "warn\n".repeat(80_000);
    for (max, noisy) in [
        (0, "80000 warnings"),
        (100_000, "Rule w: 80000 findings, so that"),
    ] {
        let rules = format!(
            "[[rule]]\nid='s'\npattern='AKIA'\n[[rule]]\nid='w'\npattern='warn'\nlevel='warning'\nmax={max}\n"
        );
        let ws = Workspace::new()
            .file("c.toml", rules)
            .file("a.txt", &flood)
            .file("z.txt", "AKIA\n");
        for format in [
            &[][..],
            &["--format", "sarif"],
            &["--format", "junit"],
            &["--format", "github"],
        ] {
            let answer = ws.call_tool(&["--check", "c.toml"]).flags(format).run();
            assert_eq!(answer.status(), 1);
            assert!(answer.text().contains("Found: AKIA"), "{format:?}");
            assert!(!format.is_empty() || answer.text().contains(noisy));
        }
    }
}
