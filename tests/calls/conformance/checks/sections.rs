//! `read_many_files`: which files are shown, in which order, and what of each.

use std::sync::LazyLock;

use regex::Regex;

use super::{CUT, Facts, LINE_FEED, Report, flat, length, pattern, says_cut};

/// What may stand between a file's text and the next heading.
const SEPARATOR_UNITS: usize = 500;

static BEFORE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[-=#*>\s]+"));
static AFTER: LazyLock<Regex> = LazyLock::new(|| pattern(r"[-=#*<\s:]+$"));
static LABEL: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?:File|Path):\s*"));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^[`"'](.*)[`"']$"#));

/// Where a file begins in the answer: its path and the byte after its heading, and the byte where the heading begins.
struct Heading {
    path: String,
    from: usize,
    to: usize,
}

pub(super) fn check(sections: &[Vec<String>], all: &str, facts: &Facts, report: &mut Report) {
    let text = flat(all, &facts.universe);
    let headings = headings(&text, facts);
    // A file that is only named as "not shown" may also be left out.
    let (refused, shown): (Vec<&Vec<String>>, _) =
        sections.iter().partition(|s| flag(s) == "refused");
    let is_refused = |h: &&Heading| refused.iter().any(|s| s[0] == h.path);
    let got: Vec<&str> = headings
        .iter()
        .filter(|h| !is_refused(h))
        .map(|h| h.path.as_str())
        .collect();
    let want: Vec<&str> = shown.iter().map(|s| s[0].as_str()).collect();
    report.add("files and order", want == got, &want, &got);
    if !refused.is_empty() {
        report.add(
            "binary files not shown",
            !text.contains('\0'),
            "no binary text",
            &text,
        );
    }
    for section in shown {
        let (path, content) = (&section[0], &section[1]);
        let Some(i) = headings.iter().position(|h| h.path == *path) else {
            continue;
        };
        let end = headings.get(i + 1).map_or(text.len(), |next| next.from);
        let body = &text[headings[i].to.min(end)..end];
        let cut = flag(section) == "truncated";
        let ok = if cut && content.split('\n').any(|l| l.ends_with(CUT)) {
            let pieces: Vec<String> = content.split(CUT).map(regex::escape).collect();
            pattern(&pieces.join(r"[^\n]{0,100}")).is_match(body)
        } else {
            body.contains(content) && length(body) - length(content) < SEPARATOR_UNITS
        };
        report.add(&format!("content of {path}"), ok, content, body);
        if cut {
            let said = says_cut(&body.replace(content, "")) || says_cut(&text[..headings[0].from]);
            report.add(&format!("{path} said to be cut"), said, "a note", body);
        }
    }
}

fn flag(section: &[String]) -> &str {
    section.get(2).map_or("", String::as_str)
}

fn headings(text: &str, facts: &Facts) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut position = 0;
    for line in text.split('\n') {
        let bare = BEFORE.replace(line, "");
        let bare = AFTER.replace(&bare, "");
        let bare = LABEL.replace(&bare, "");
        let bare = QUOTED.replace(&bare, "$1").replace(LINE_FEED, "\n");
        let name = bare.strip_prefix("$WS/").unwrap_or(&bare).to_owned();
        let is_file = facts.universe.contains(&name) && !facts.directories.contains(&name);
        if is_file && (line != bare || line.contains('/')) {
            headings.push(Heading {
                path: format!("$WS/{name}"),
                from: position,
                to: position + line.len() + 1,
            });
        }
        position += line.len() + 1;
    }
    headings
}
