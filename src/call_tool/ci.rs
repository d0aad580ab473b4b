//! `call_tool --fail-on-match` and `--format`: the exit status and the report of a search, for CI.

use crate::call_tool::options::{CallToolOptions, CiFormat};
use gemini_tools::answer::{Answer, places, to_line};
use gemini_tools::ci::{CheckReport, github, junit, sarif};
use gemini_tools::diagnostic::{Diagnostic, Origin, Severity};
use gemini_tools::output::terminal_json;
use gemini_tools::session::Session;
use gemini_tools::tool::{FoundPlace, ToolError, ToolResult};
use serde_json::Value;
use std::ffi::OsStr;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Refuses `--format`, `--fail-on-match` and `--null`, which are for searches, with a tool that may
/// change something. Otherwise the tool would run before its result shows that it is no search.
pub(crate) fn check_tool(options: &CallToolOptions, session: &Session) -> Result<(), ToolError> {
    let flag = match options.report {
        Some(_) => "--format",
        None if options.fail_on_match => "--fail-on-match",
        None if options.null => "--null",
        None => return Ok(()),
    };
    if session.only_reads(&options.name) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "{flag} is for searches, but {:?} may change something.",
        options.name
    ))
    .with_hint("Use it with search_file_content."))
}

/// Refuses the result of a tool that is no search: `--fail-on-match` needs the number of matches,
/// `--null` and `--format` need the places that were found. With `--fail-on-match`, also refuses a
/// search whose `include` matches no file.
pub(crate) fn check(
    options: &CallToolOptions,
    result: ToolResult,
) -> Result<ToolResult, ToolError> {
    let wants = |flag: &str, key: &str| -> Result<(), ToolError> {
        let data = result.data.as_ref();
        let has = if key == "locations" {
            places(&result).is_some()
        } else {
            data.is_some_and(|data| data.contains_key(key))
        };
        if has || result.error.is_some() {
            return Ok(());
        }
        Err(ToolError::invalid(format!(
            "{flag} is for searches, but {:?} gives no {key}.",
            options.name
        ))
        .with_hint("Use it with search_file_content."))
    };
    if options.fail_on_match {
        wants("--fail-on-match", "matches")?;
        let data = result.data.as_ref();
        let read = data.filter(|data| !data.contains_key("unreadable"));
        if let Some(include) = read.and_then(|data| data.get("unmatchedInclude")) {
            return Err(ToolError::invalid(format!(
                "No file matches the include {include}, so nothing was searched."
            ))
            .with_hint("Check its spelling: patterns count from the directory that is searched."));
        }
    }
    if options.null {
        wants("--null", "locations")?;
    }
    if options.report.is_some() {
        wants("--format", "locations")?;
    }
    Ok(result)
}

pub(crate) const FOUND: u8 = 1;

/// Exit status of a check that could not be made, which must not look like one that has found
/// something.
pub(crate) const UNCHECKED: u8 = 2;

/// Returns the exit status. `status` is the one that the answer has without `--fail-on-match`.
pub(crate) fn status(options: &CallToolOptions, answer: &Answer<'_>, status: u8) -> u8 {
    if !options.fail_on_match {
        return status;
    }
    let data = match answer.data() {
        Some(data) if status == 0 => data,
        _ if status == FOUND => return UNCHECKED,
        _ => return status,
    };
    let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or_default();
    if number("matches") > 0 || data.contains_key("binaryFiles") {
        FOUND
    } else if number("unreadable") > 0 {
        // The files that could not be read may have matches.
        UNCHECKED
    } else {
        0
    }
}

const TEXT: &str = "{text}";

fn message(own: Option<&str>, text: Option<&str>) -> String {
    const NO_TEXT: &str = "The file has a match.";
    match (own, text) {
        (Some(own), _) => own.replace(TEXT, text.unwrap_or(NO_TEXT)),
        (None, Some(text)) => format!("Found: {text}"),
        (None, None) => NO_TEXT.to_owned(),
    }
}

/// Returns the report about an answer for CI. Its paths are relative to the repository; those that
/// the answer has are relative to `root`.
pub(crate) fn report(
    format: CiFormat,
    check: &CallToolOptions,
    answer: &Answer<'_>,
    root: &Path,
) -> Vec<u8> {
    let mut report = CheckReport {
        suite: answer.name.to_owned(),
        failure: answer.failure().map(|(message, _)| message),
        fails: if check.fail_on_match {
            Severity::Repair
        } else {
            Severity::Error
        },
        ..CheckReport::default()
    };
    if let (Some(data), Ok(result)) = (answer.data(), &answer.outcome) {
        let rule = check.rule_id.as_deref().unwrap_or(answer.name);
        let issue = |file: Option<&Path>, text: Option<&str>| {
            let message = message(check.message.as_deref(), text);
            let mut issue = Diagnostic::error(rule.to_owned(), "", "", message);
            issue.severity = check.level.unwrap_or(Severity::Error);
            issue.place.origin = file.map(|file| Origin::File(file.to_owned()));
            let is_told = check
                .message
                .as_deref()
                .is_none_or(|own| own.contains(TEXT));
            issue.place.text = text.filter(|_| !is_told).map(str::to_owned);
            issue
        };
        let found = |place: &FoundPlace| {
            let file = Path::new(OsStr::from_bytes(&place.file));
            let mut found = issue(
                Some(file).filter(|f| *f != ""),
                place.text.as_deref().map(str::trim),
            );
            let number = |n: Option<u64>| u32::try_from(n?).ok().and_then(NonZeroU32::new);
            [found.place.line, found.place.column, found.place.end_column] =
                [place.line, place.column, place.end_column].map(number);
            found
        };
        let places = places(result).unwrap_or_default();
        report.issues.extend(places.iter().map(found));
        let binary = data.get("binaryFiles").and_then(Value::as_array);
        let names = binary.into_iter().flatten().filter_map(Value::as_str);
        let binary = names.map(|name| issue(Some(Path::new(name)), None));
        report.issues.extend(binary);
        report.failure = answer.unread();
        report.remarks.extend(answer.remark());
    }
    report.use_repository_paths(root);
    document(format, &report)
}

pub(crate) fn document(format: CiFormat, report: &CheckReport) -> Vec<u8> {
    match format {
        CiFormat::Sarif => terminal_json(&to_line(&sarif(report))).into_owned(),
        CiFormat::Junit => junit(report).into_bytes(),
        CiFormat::Github => github(report).into_bytes(),
    }
}
