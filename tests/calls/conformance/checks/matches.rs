//! `search_file_content`: matching lines by file, read from any of the usual forms of a search result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{Expectation, Facts, Report, has_number, length, pattern, search_base};

/// A match longer than this may be cut, after [`KEPT_CHARS`] at the earliest.
const LONG_UNITS: usize = 400;
const KEPT_CHARS: usize = 200;

static HEADING: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?:#+\s*)?(?:File:\s*)?(.+)$"));
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^L?\d+[:|]"));
static MATCH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)^\s*(?:L|Line )?(\d+)\s*[:|] ?(.*)$"));
static CONTEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*L?(\d+)\s*- ?"));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^[`"'](.*)[`"']:?$"#));

type Found = BTreeMap<String, Vec<(usize, String)>>;

pub(super) fn check(want: &Expectation, output: &str, facts: &Facts, report: &mut Report) {
    let (found, rest) = parse(output, facts);
    let total: usize = found.values().map(Vec::len).sum();
    report.add(
        "enough matches",
        total >= want.min_matches,
        want.min_matches,
        total,
    );
    if let Some(matches) = &want.matches {
        let files: Vec<_> = matches.keys().collect();
        let got: Vec<_> = found.keys().collect();
        report.add("files with matches", files == got, &files, &got);
        for (file, want) in matches {
            if let Some(got) = found.get(file) {
                let same =
                    want.len() == got.len() && want.iter().zip(got).all(|(w, g)| same_line(w, g));
                report.add(&format!("matches in {file}"), same, want, got);
            }
        }
    }
    let args =
        ["pattern", "path", "include"].map(|a| facts.case.args[a].as_str().unwrap_or_default());
    let without = |text: String, arg: &&str| {
        if arg.is_empty() {
            text
        } else {
            text.replace(arg, "")
        }
    };
    let told = args.iter().fold(rest, without);
    if want.count > 0 {
        report.add("count", has_number(&told, want.count), want.count, told);
    }
}

fn same_line(want: &(usize, String), got: &(usize, String)) -> bool {
    let beginning = || want.1.chars().take(KEPT_CHARS).collect::<String>();
    let cut = || length(&want.1) > LONG_UNITS && got.1.starts_with(&beginning());
    want.0 == got.0 && (want.1.trim() == got.1 || cut())
}

/// The matches of an answer, and the lines that are not part of one.
fn parse(text: &str, facts: &Facts) -> (Found, String) {
    let base = search_base(facts.case);
    let names: BTreeSet<&str> = facts.universe.iter().map(String::as_str).collect();
    let (mut found, mut rest) = (Found::new(), Vec::new());
    let mut file = None;
    for raw in text.split('\n') {
        let line = raw.strip_suffix('\r').unwrap_or(raw);
        let heading = HEADING
            .captures(line)
            .map(|c| c.get(1).map_or("", |m| m.as_str()));
        let announced = heading
            .and_then(|h| resolve(h, &base, &names).or_else(|| resolve(h.trim(), &base, &names)));
        if let Some(name) = announced.filter(|_| !NUMBERED.is_match(line)) {
            file = Some(name);
            continue;
        }
        if let (Some(file), Some(m)) = (&file, MATCH.captures(line)) {
            let matched = (m[1].parse().unwrap_or(0), m[2].trim().to_owned());
            found.entry(file.clone()).or_default().push(matched);
        } else if file.is_some() && CONTEXT.is_match(line) {
            // A line of context.
        } else if let Some((name, number, text)) =
            names.iter().find_map(|name| one_line(line, name, &base))
        {
            found
                .entry(name.to_owned())
                .or_default()
                .push((number, text));
        } else {
            rest.push(line);
        }
    }
    (found, rest.join("\n"))
}

/// The name that a heading stands for.
fn resolve(heading: &str, base: &str, names: &BTreeSet<&str>) -> Option<String> {
    let quoted = QUOTED
        .captures(heading)
        .map_or(heading.to_owned(), |c| c[1].to_owned());
    let readings = [
        heading,
        heading.strip_suffix(':').unwrap_or(heading),
        &quoted,
    ];
    readings.iter().find_map(|reading| {
        let absolute = reading.strip_prefix("$WS/").map(str::to_owned);
        let dotted = reading.strip_prefix("./").map(|r| format!("{base}{r}"));
        let candidates = [
            absolute,
            Some(format!("{base}{reading}")),
            Some((*reading).to_owned()),
            dotted,
        ];
        candidates
            .into_iter()
            .flatten()
            .find(|c| names.contains(c.as_str()))
    })
}

/// A match in the form `name:number:text`.
fn one_line<'a>(line: &str, name: &'a str, base: &str) -> Option<(&'a str, usize, String)> {
    let absolute = format!("$WS/{name}");
    let below = name.strip_prefix(base).unwrap_or(name);
    [name, &absolute, below].iter().find_map(|prefix| {
        let rest = line.strip_prefix(prefix)?.strip_prefix(':')?;
        let (number, text) = rest.split_once(':')?;
        Some((name, number.parse().ok()?, text.trim().to_owned()))
    })
}
