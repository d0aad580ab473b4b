//! `list_directory`: the names, which of them are directories, and their order.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{Expectation, Facts, LINE_FEED, Report, check_ignored, flat, pattern};

static DIRECTORY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)^\s*(?:[-*]\s+)?\[?(?:DIR|d)\]\s+"));
static BULLET: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^\s*(?:[-*]|\[FILE\])\s+"));
static SIZE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i) \([\d,.]+ ?(?:bytes|B|KB|MB)\)$"));

pub(super) fn check(
    entries: &[(String, bool)],
    want: &Expectation,
    output: &str,
    facts: &Facts,
    report: &mut Report,
) {
    let base = base(facts);
    let child = |name: &String| {
        let child = name.strip_prefix(&base)?;
        (!child.contains('/')).then(|| child.to_owned())
    };
    let names: Vec<String> = facts.universe.iter().filter_map(child).collect();
    let known: BTreeSet<String> = names.iter().map(|n| n.replace('\n', LINE_FEED)).collect();
    let text = flat(output, &names);
    let mut got: Vec<_> = text
        .split('\n')
        .filter_map(|line| entry(line, &base, &known))
        .collect();
    let flat_entry = |(name, is_dir): &(String, bool)| (name.replace('\n', LINE_FEED), *is_dir);
    let mut expected: Vec<_> = entries.iter().map(flat_entry).collect();
    if !facts.case.order {
        got.sort();
        expected.sort();
    }
    report.add("entries", expected == got, &expected, &got);
    check_ignored(want, &text, report);
}

/// The directory that was listed, as a prefix of names relative to the workspace.
fn base(facts: &Facts) -> String {
    let path = facts.case.args["path"].as_str().unwrap_or_default();
    let path = path.strip_prefix("$WS").unwrap_or(path);
    let components = path.split('/').filter(|c| !c.is_empty() && *c != ".");
    components.flat_map(|c| [c, "/"]).collect()
}

/// The entry that a line of a listing stands for, and whether the line calls it a directory.
fn entry(line: &str, base: &str, known: &BTreeSet<String>) -> Option<(String, bool)> {
    let tag = DIRECTORY.find(line);
    let line = tag.map_or(line, |t| &line[t.end()..]);
    let readings = [
        line.into(),
        line.trim().into(),
        BULLET.replace(line, ""),
        SIZE.replace(line, ""),
    ];
    let absolute = format!("$WS/{base}");
    readings.iter().find_map(|reading| {
        let slashless = reading.strip_suffix('/');
        let name = slashless.unwrap_or(reading);
        let name = name.strip_prefix(&absolute).unwrap_or(name);
        let name = name.strip_prefix(base).unwrap_or(name);
        let is_dir = tag.is_some() || slashless.is_some();
        known.contains(name).then(|| (name.to_owned(), is_dir))
    })
}
