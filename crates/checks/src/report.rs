//! The findings of a run, for people and as a report for CI.

use crate::ci::{CheckReport, ReportedRule, fingerprints, level};
use crate::rules::{Demand, Rule};
use crate::run::{Finding, Outcome};
use gemini_tools_core::colours::Look;
use gemini_tools_core::diagnostic::{Diagnostic, Origin, Severity};
use gemini_tools_core::text::{counted, line_name, unread_sentence, visible};
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::lines::read_range;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const MAX_PRINTED_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the report of a run. Paths below the workspace's first root are relative to it.
pub fn report(suite: &str, rules: &[Rule], outcome: &Outcome) -> CheckReport {
    let described = rules.iter().map(|rule| ReportedRule {
        id: rule.id.clone(),
        description: description(rule),
        help: rule.help.clone(),
        url: rule.url.clone(),
        level: rule.level,
    });
    CheckReport {
        suite: suite.to_owned(),
        rules: described.collect(),
        issues: outcome
            .findings
            .iter()
            .map(|finding| issue(rules, finding))
            .collect(),
        remarks: remarks(outcome),
        // Services show a run with remarks as a good one.
        failure: (outcome.unreadable > 0)
            .then(|| unread_sentence(outcome.unreadable, &outcome.unreadable_places)),
        ..CheckReport::default()
    }
}

fn remarks(outcome: &Outcome) -> Vec<String> {
    let mut remarks = outcome.remarks.clone();
    if outcome.is_cut {
        remarks.push("There are more findings than are listed.".to_owned());
    }
    if let Some(gone) = &outcome.gone {
        let what = counted(gone.count(), "finding");
        remarks.push(format!(
            "{what} of the baseline gone: --update-baseline takes that out."
        ));
    }
    remarks
}

fn description(rule: &Rule) -> String {
    match &rule.demand {
        _ if !rule.message.is_empty() && !rule.tells_text() => rule.message.clone(),
        Demand::NoMatch(_) => "No line has this pattern.".to_owned(),
        Demand::Match(_) => "Each file has this pattern.".to_owned(),
        Demand::NoFile => "There is no such file.".to_owned(),
        Demand::File => "There is such a file.".to_owned(),
        Demand::Name(_) => "Names of files fit this pattern.".to_owned(),
    }
}

fn issue(rules: &[Rule], finding: &Finding) -> Diagnostic {
    let rule = &rules[finding.rule];
    let message = visible(&finding.message).into_owned();
    let mut issue = Diagnostic::error(rule.id.clone(), "", "", message);
    issue.severity = rule.level;
    issue.help = rule.help.clone().into();
    if finding.file.is_empty() {
        // GitHub refuses all results of an upload if one of them has no place.
        issue.place.clone_from(&rule.place);
        return issue;
    }
    let place = &mut issue.place;
    let file = Path::new(OsStr::from_bytes(&finding.file));
    place.origin = Some(Origin::File(file.to_owned()));
    let number = |n: u64| u32::try_from(n).ok().and_then(NonZeroU32::new);
    place.line = finding.line.and_then(number);
    [place.column, place.end_column] = match finding.columns {
        Some(columns) => columns.map(number),
        None => [None; 2],
    };
    let is_told = rule.tells_text() || finding.text.is_empty();
    place.text = (!is_told).then(|| finding.text.clone());
    issue
}

/// Adds the fingerprints by which code scanning recognises issues. They are computed from the
/// files' content, so this must be called before [`CheckReport::use_repository_paths`] changes the
/// paths by which the files are opened.
pub fn add_fingerprints(report: &mut CheckReport, workspace: &Workspace) {
    let mut last: (Option<&Path>, HashMap<u64, String>) = Default::default();
    let mut prints = Vec::with_capacity(report.issues.len());
    for issue in &report.issues {
        let file = issue.place.file();
        if file.is_some() && file != last.0 {
            last = (
                file,
                file.and_then(|f| prints_of(f, workspace))
                    .unwrap_or_default(),
            );
        }
        let line = issue.place.line.map_or(1, |line| line.get().into());
        let print = file.and_then(|_| last.1.get(&line));
        prints.push(print.cloned().unwrap_or_default());
    }
    report.fingerprints = prints;
}

fn prints_of(file: &Path, workspace: &Workspace) -> Option<HashMap<u64, String>> {
    let open = workspace.open_file(&workspace.place_of(file)?).ok()?;
    if open.size() > MAX_PRINTED_BYTES {
        return None;
    }
    let bytes = read_range(&open.file, 0, open.size()).ok()?;
    // Code scanning reads every file as UTF-8, whatever its encoding.
    Some(fingerprints(&String::from_utf8_lossy(&bytes)))
}

/// Returns the findings as lines for people, each beginning with its file and line, and a summary
/// at the end.
pub fn text(report: &CheckReport, rules: &[Rule], outcome: &Outcome, has_colours: bool) -> String {
    let mut out = String::new();
    let mut told: Vec<&str> = Vec::new();
    let mut numbers = [0_u64; 3];
    for (rule, count) in rules.iter().zip(&outcome.counts) {
        // Those that `max` allows are not reported.
        numbers[rule.level as usize] += count * u64::from(*count > rule.max);
    }
    for issue in &report.issues {
        let from = out.len();
        push_issue(&mut out, issue, has_colours);
        // The help of a rule is only shown with its first finding.
        if !issue.help.is_empty() && !told.contains(&&*issue.code) {
            told.push(&issue.code);
            out.push_str(&format!("    help: {}\n", visible(&issue.help)));
        }
        disarm(&mut out, from);
    }
    for remark in report.remarks.iter().chain(&report.failure) {
        let from = out.len();
        out.push_str(&format!("{}\n", visible(remark)));
        disarm(&mut out, from);
    }
    let kinds = [Severity::Error, Severity::Warning, Severity::Repair];
    let kinds = kinds.map(level).into_iter().zip(numbers);
    let kinds = kinds
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| counted(n, kind));
    let found = match kinds.collect::<Vec<_>>() {
        none if none.is_empty() && outcome.counts.iter().any(|count| *count > 0) => {
            "Nothing beyond \"max\" found".to_owned()
        }
        none if none.is_empty() => "Nothing found".to_owned(),
        kinds => kinds.join(", "),
    };
    let known = match outcome.known {
        0 => String::new(),
        known => format!(" {} in the baseline.", counted(known, "finding")),
    };
    let (files, rules) = (
        counted(outcome.files, "file"),
        counted(rules.len() as u64, "rule"),
    );
    out + &format!("{found} in {files} by {rules}.{known}\n")
}

/// Changes lines at the end of a text that GitHub's runner would take for commands: those that begin
/// with `::`, and `##[` wherever it stands. Names and lines of files, which anybody may propose,
/// must not give it any, because a command can hide all that follows.
fn disarm(text: &mut String, from: usize) {
    let is_command = |line: &str| line.trim_start().starts_with("::");
    let new = &text[from..];
    if !new.lines().any(is_command) && !new.contains("##[") {
        return;
    }
    for line in text.split_off(from).split_inclusive('\n') {
        let bar = if is_command(line) { "| " } else { "" };
        text.push_str(bar);
        text.push_str(&line.replace("##[", "##\\u{5b}"));
    }
}

fn push_issue(out: &mut String, issue: &Diagnostic, has_colours: bool) {
    let mut push = |look: Option<Look>, text: &str| match look.filter(|_| has_colours) {
        Some(look) => look.push(out, text),
        None => out.push_str(text),
    };
    if let Some(file) = issue.place.file() {
        push(Some(Look::Path), &line_name(file.as_os_str().as_bytes()));
        for number in [issue.place.line, issue.place.column].into_iter().flatten() {
            push(None, ":");
            push(Some(Look::LineNumber), &number.to_string());
        }
        push(None, ": ");
    }
    let look = match issue.severity {
        Severity::Error => Look::Match,
        Severity::Warning => Look::Path,
        Severity::Repair => Look::Hunk,
    };
    push(
        Some(look),
        &format!("{}[{}]", level(issue.severity), issue.code),
    );
    push(None, &format!(": {}\n", issue.message));
    if let Some(text) = &issue.place.text {
        push(None, &format!("    {}\n", visible(text)));
    }
}
