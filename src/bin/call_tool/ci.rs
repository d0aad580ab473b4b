//! `call_tool --fail-on-match`, `--sarif` and `--junit`: what a search has found, for CI.

use crate::options::{CallToolOptions, CiFormat};
use gemini_tools::answer::{Answer, to_line};
use gemini_tools::ci::{CheckReport, junit, sarif};
use gemini_tools::diagnostic::{Diagnostic, Origin};
use gemini_tools::session::Session;
use gemini_tools::tool::{ToolError, ToolResult};
use serde_json::Value;
use std::num::NonZeroU32;

/// Refuses a tool that would change something before it turns out that it finds nothing.
pub(crate) fn check_tool(options: &CallToolOptions, session: &Session) -> Result<(), ToolError> {
    let flag = match options.report {
        Some(CiFormat::Sarif) => "--sarif",
        Some(CiFormat::Junit) => "--junit",
        None if options.fail_on_match => "--fail-on-match",
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

/// A tool's result that has nothing to do with matches is refused.
pub(crate) fn check(
    options: &CallToolOptions,
    result: ToolResult,
) -> Result<ToolResult, ToolError> {
    let has_data = |key: &str| {
        let data = result.data.as_ref();
        data.is_some_and(|data| data.contains_key(key))
    };
    let wants = |flag: &str, key: &str| -> Result<(), ToolError> {
        let has = has_data(key) || (key == "locations" && result.locations.is_some());
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
        if let Some(include) = data.and_then(|data| data.get("unmatchedInclude")) {
            return Err(ToolError::invalid(format!(
                "No file matches the include {include}, so nothing was searched."
            ))
            .with_hint("Check its spelling: patterns count from the directory that is searched."));
        }
    }
    match options.report {
        Some(CiFormat::Sarif) => wants("--sarif", "locations")?,
        Some(CiFormat::Junit) => wants("--junit", "locations")?,
        None => {}
    }
    Ok(result)
}

/// Where a search is a check, 1 says that it has found something, as it does of grep's.
const FOUND: u8 = 1;

/// What a check that could not be made ends with, which must not look like one that has found
/// something.
const UNCHECKED: u8 = 2;

/// The exit status, which was `status` until now.
pub(crate) fn status(options: &CallToolOptions, answer: &Answer<'_>, status: u8) -> u8 {
    if !options.fail_on_match {
        return status;
    }
    let data = match &answer.outcome {
        Ok(ToolResult {
            data: Some(data),
            error: None,
            ..
        }) if status == 0 => data,
        _ if status == FOUND => return UNCHECKED,
        _ => return status,
    };
    let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or_default();
    if number("matches") > 0 || data.contains_key("binaryFiles") {
        FOUND
    } else if number("unreadable") > 0 {
        // What is in there is not known.
        UNCHECKED
    } else {
        0
    }
}

/// The document for CI.
pub(crate) fn report(format: CiFormat, answer: &Answer<'_>) -> Vec<u8> {
    let mut report = CheckReport {
        suite: answer.name.to_owned(),
        failure: answer.failure().map(|(message, _)| message),
        ..CheckReport::default()
    };
    if let Ok(ToolResult {
        data: Some(data),
        locations,
        error: None,
        ..
    }) = &answer.outcome
    {
        let issue = |file: Option<&str>, message: String| {
            let mut issue = Diagnostic::error(answer.name.to_owned(), "", "", message);
            issue.place.origin = file.map(|file| Origin::File(file.into()));
            issue
        };
        let found = |file: Option<&str>, numbers: [Option<u64>; 2], text: Option<&str>| {
            let message = match text {
                Some(text) => format!("Found: {text}"),
                None => "The file has a match.".to_owned(),
            };
            let mut found = issue(file, message);
            let number = |n: Option<u64>| u32::try_from(n?).ok().and_then(NonZeroU32::new);
            [found.place.line, found.place.column] = numbers.map(number);
            found
        };
        let ours = locations.iter().flatten();
        let ours = ours.map(|place| {
            let numbers = [place.line, place.column];
            found(Some(&place.file), numbers, place.text.as_deref())
        });
        report.issues.extend(ours);
        // Those of a tool that a project adds.
        let told = data.get("locations").and_then(Value::as_array);
        let told = told.into_iter().flatten().map(|place| {
            let numbers = [place["line"].as_u64(), place["column"].as_u64()];
            found(place["file"].as_str(), numbers, place["text"].as_str())
        });
        report.issues.extend(told);
        let binary = data.get("binaryFiles").and_then(Value::as_array);
        let names = binary.into_iter().flatten().filter_map(Value::as_str);
        let binary = names.map(|name| {
            let message = "The file, which is not text, has a match.";
            issue(Some(name), message.to_owned())
        });
        report.issues.extend(binary);
        if let Some(unread) = data.get("unreadable") {
            report.remarks.push(format!(
                "Files and directories that could not be read: {unread}."
            ));
        }
        if data.get("limited") == Some(&Value::Bool(true)) {
            report.remarks.push(format!(
                "Only the first {} matches are told; narrow the search to see others.",
                data.get("matches").unwrap_or(&Value::Null)
            ));
        }
    }
    match format {
        CiFormat::Sarif => to_line(&sarif(&report)),
        CiFormat::Junit => junit(&report).into_bytes(),
    }
}
