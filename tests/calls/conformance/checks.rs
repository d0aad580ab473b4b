//! Compares an answer with an expectation. Every key of an expectation is one check; the modules below hold those of
//! one tool each.

mod content;
mod listing;
mod matches;
mod paths;
mod sections;
mod shell;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::fixture::{Case, FileChange};
use super::view::{Inline, View};

/// How the recorded answers end a line that was shortened.
const CUT: &str = "... [truncated]";

/// Stands for a line feed within a name, so that the name stays on one line of a listing.
const LINE_FEED: &str = "\u{240a}";

/// A failure prints this much of a text.
const EXCERPT_CHARS: usize = 300;

/// What the real tool did, as facts; a key that is absent is not checked.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Expectation {
    ok: Option<bool>,
    error_type: Option<Vec<String>>,
    files: Option<Vec<FileChange>>,
    contains: Vec<String>,
    not_contains: Vec<String>,
    max_seconds: Option<f64>,
    inline: Option<Vec<Inline>>,
    refused: bool,
    content: Option<String>,
    truncated: bool,
    line_range: Option<LineRange>,
    entries: Option<Vec<(String, bool)>>,
    ignored: Option<Ignored>,
    paths: Option<Vec<String>>,
    path_set: Option<Vec<String>>,
    count: usize,
    matches: Option<BTreeMap<String, Vec<(usize, String)>>>,
    min_matches: usize,
    sections: Option<Vec<Vec<String>>>,
    mentions: Vec<String>,
    replacements: usize,
    /// The exit code of a command; null where it was ended by a signal.
    #[serde(deserialize_with = "present")]
    exit_code: Option<Value>,
    /// By number; null where there was none.
    #[serde(deserialize_with = "present")]
    signal: Option<Value>,
    /// What a command printed, lines in any order.
    output: Option<String>,
    /// A command whose output it must be.
    output_from: Option<String>,
    /// Whether a process was left in the background.
    background: Option<bool>,
}

/// Tells null from a key that is absent.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The lines of a window, counted from 1, and of the whole file.
#[derive(Deserialize)]
struct LineRange {
    start: usize,
    end: usize,
    total: usize,
}

/// How many entries the ignore rules left out.
#[derive(Deserialize)]
struct Ignored {
    git: usize,
    gemini: usize,
}

/// What is known about a case's run besides the answer.
pub(super) struct Facts<'a> {
    pub(super) case: &'a Case,
    pub(super) changes: Vec<FileChange>,
    /// All names in the workspace.
    pub(super) universe: Vec<String>,
    pub(super) directories: BTreeSet<String>,
    /// Lines of files outside the workspace.
    pub(super) secrets: BTreeSet<String>,
    pub(super) seconds: f64,
}

/// The checks of one expectation.
#[derive(Default)]
pub(super) struct Report {
    pub(super) checks: usize,
    pub(super) failures: Vec<Failure>,
}

pub(super) struct Failure {
    pub(super) name: String,
    pub(super) want: String,
    pub(super) got: String,
}

impl Report {
    fn add(&mut self, name: &str, ok: bool, want: impl Debug, got: impl Debug) {
        self.checks += 1;
        if !ok {
            let (want, got) = (excerpt(&want), excerpt(&got));
            let name = name.to_owned();
            self.failures.push(Failure { name, want, got });
        }
    }
}

pub(super) fn check(want: &Expectation, view: &View, facts: &Facts) -> Report {
    let mut report = Report::default();
    let no_problems: [&str; 0] = [];
    report.add(
        "protocol",
        view.problems.is_empty(),
        no_problems,
        &view.problems,
    );
    let Some(ok) = view.ok else { return report };
    let said = if ok { &view.output } else { &view.error };
    if let Some(want_ok) = want.ok {
        let word = if want_ok { "success" } else { "failure" };
        report.add("success", want_ok == ok, word, said);
    }
    if let (Some(types), Some(got)) = (&want.error_type, &view.error_type) {
        report.add("error type", ok || types.contains(got), types, got);
    }
    if let Some(files) = &want.files {
        report.add(
            "files",
            same_changes(files, &facts.changes),
            files,
            &facts.changes,
        );
    }
    let shows = |text: &str| view.all.contains(text) || view.error.contains(text);
    let leaked: Vec<_> = facts.secrets.iter().filter(|s| shows(s)).collect();
    report.add(
        "nothing from outside",
        leaked.is_empty(),
        no_problems,
        &leaked,
    );
    for text in &want.contains {
        report.add("contains", view.all.contains(text), text, &view.all);
    }
    for text in &want.not_contains {
        report.add("does not contain", !shows(text), text, said);
    }
    if let Some(limit) = want.max_seconds.or(facts.case.max_seconds) {
        report.add("seconds", facts.seconds <= limit, limit, facts.seconds);
    }
    if ok && want.ok != Some(false) {
        check_success(want, view, facts, &mut report);
    }
    report
}

fn check_success(want: &Expectation, view: &View, facts: &Facts, report: &mut Report) {
    let output = &view.output;
    if let Some(inline) = &want.inline {
        report.add("inline data", *inline == view.inline, inline, &view.inline);
    }
    if want.refused {
        static NOT_SHOWN: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?i)binary|cannot|can't|not (be )?(displayed|shown|text)|unsupported|too large|larger",
            )
        });
        let short = !output.contains('\0') && length(output) < 600;
        report.add(
            "not shown",
            short && NOT_SHOWN.is_match(output),
            "a short note",
            output,
        );
    }
    if let Some(content) = &want.content {
        content::check(content, want, output, report);
    }
    if let Some(entries) = &want.entries {
        listing::check(entries, want, output, facts, report);
    }
    if let Some(paths) = want.paths.as_ref().or(want.path_set.as_ref()) {
        paths::check(paths, want, output, facts, report);
    }
    if want.matches.is_some() || want.min_matches > 0 {
        matches::check(want, output, facts, report);
    }
    if let Some(sections) = &want.sections {
        sections::check(sections, &view.all, facts, report);
    }
    if facts.case.tool == "run_shell_command" {
        shell::check(want, output, report);
    }
    for name in &want.mentions {
        report.add("names the file", output.contains(name), name, output);
    }
    if want.replacements > 1 {
        let text = output.replace("$WS", "");
        report.add(
            "replacements",
            has_number(&text, want.replacements),
            want.replacements,
            output,
        );
    }
    if want.truncated && facts.case.tool != "read_file" {
        report.add(
            "says it is cut",
            says_cut(output),
            "a note that the result is cut",
            output,
        );
    }
}

fn same_changes(want: &[FileChange], got: &[FileChange]) -> bool {
    let same = |want: &FileChange, got: &FileChange| {
        let kind = match &want.change {
            Some(_) => want.change == got.change,
            None => got.change.as_deref() != Some("deleted"),
        };
        kind && want.path == got.path
            && want.sha256 == got.sha256
            && want.target == got.target
            && (want.mode.is_none() || want.mode == got.mode)
    };
    want.len() == got.len() && want.iter().zip(got).all(|(want, got)| same(want, got))
}

/// The counts must be said on a line about what is ignored: one number each, or the sum of both. `.git` itself is one of
/// the real tool's git-ignored entries; not counting it is as good.
fn check_ignored(want: &Expectation, text: &str, report: &mut Report) {
    let Some(Ignored { git, gemini }) = want.ignored else {
        return;
    };
    if git + gemini == 0 {
        return;
    }
    let lines = text
        .lines()
        .filter(|l| l.to_lowercase().contains("ignored"));
    let said = lines.collect::<Vec<_>>().join("\n");
    let told = |git: usize| {
        let sum = has_number(&said, git + gemini);
        (git == 0 || sum || has_number(&said, git))
            && (gemini == 0 || sum || has_number(&said, gemini))
    };
    let ok = told(git) || (git > 0 && told(git - 1));
    report.add(
        "ignored counts",
        ok,
        format!("{git} by git, {gemini} by gemini"),
        said,
    );
}

/// The directory that a search is made in, as a prefix of names relative to the workspace.
fn search_base(case: &Case) -> String {
    let path = case.args["path"].as_str().unwrap_or_default();
    let relative = match path.strip_prefix("$WS") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => path,
    };
    let components = relative.split('/').filter(|c| !c.is_empty() && *c != ".");
    components.flat_map(|c| [c, "/"]).collect()
}

/// Whether a text says this number: not as a part of a longer one, nor as a fraction's part.
fn has_number(text: &str, number: usize) -> bool {
    let number = number.to_string();
    text.match_indices(&number).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + number.len()..].chars();
        let next = after.next();
        let fraction = next == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit());
        let part = |c: char| c.is_ascii_digit();
        !before.is_some_and(|c| part(c) || c == '.') && !next.is_some_and(part) && !fraction
    })
}

fn says_cut(text: &str) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        pattern("(?i)truncat|shortened|partial|limited|omitted|cut off|showing|more lines")
    });
    WORDS.is_match(text)
}

/// The length that the imported bounds are meant in.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Makes each name with a line feed one line long.
fn flat(text: &str, names: &[String]) -> String {
    let with_line_feed = names.iter().filter(|n| n.contains('\n'));
    with_line_feed.fold(text.to_owned(), |text, name| {
        text.replace(name, &name.replace('\n', LINE_FEED))
    })
}

fn pattern(regex: &str) -> Regex {
    Regex::new(regex).expect("a valid pattern")
}

fn excerpt(value: &impl Debug) -> String {
    let mut text = format!("{value:?}");
    if let Some((cut, _)) = text.char_indices().nth(EXCERPT_CHARS) {
        text.truncate(cut);
        text.push('…');
    }
    text
}
