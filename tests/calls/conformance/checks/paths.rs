//! `glob`: the paths, their order and their number.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{
    Expectation, Facts, LINE_FEED, Report, check_ignored, flat, has_number, pattern, search_base,
};

static BULLET: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*[-*]\s+"));
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\$(WS|OUT|SIB|ROOT|CASE_HOME)/"));
static IGNORED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\(?\d+[^()\n\d]*ignored\)?"));

pub(super) fn check(
    paths: &[String],
    want: &Expectation,
    output: &str,
    facts: &Facts,
    report: &mut Report,
) {
    let known: BTreeSet<String> = facts
        .universe
        .iter()
        .map(|n| n.replace('\n', LINE_FEED))
        .collect();
    let base = search_base(facts.case);
    let (mut got, mut rest) = (Vec::new(), Vec::new());
    for raw in flat(output, &facts.universe).split('\n') {
        let line = BULLET.replace(raw, "").trim().to_owned();
        let below_base = format!("{base}{line}");
        if PLACEHOLDER.is_match(&line) {
            got.push(line.strip_suffix('/').unwrap_or(&line).to_owned());
        } else if line.starts_with('/') {
            got.push(line);
        } else if !base.is_empty() && known.contains(&below_base) {
            got.push(format!("$WS/{below_base}"));
        } else if known.contains(&line) {
            got.push(format!("$WS/{line}"));
        } else {
            rest.push(raw.to_owned());
        }
    }
    let mut expected: Vec<String> = paths.iter().map(|p| p.replace('\n', LINE_FEED)).collect();
    if want.paths.is_none() || !facts.case.order {
        got.sort();
        expected.sort();
    }
    report.add("paths", expected == got, &expected, &got);
    let rest = rest.join("\n");
    let args = ["pattern", "path"].map(|a| facts.case.args[a].as_str().unwrap_or("undefined"));
    let told = args
        .iter()
        .fold(rest.clone(), |text, arg| text.replace(arg, ""));
    let told = IGNORED.replace_all(&told, "");
    if want.count > 0 {
        report.add("count", has_number(&told, want.count), want.count, &told);
    }
    check_ignored(want, &rest, report);
}
