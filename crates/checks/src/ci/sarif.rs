//! SARIF 2.1.0 (OASIS), the format of code scanning services.
//!
//! The results are serialized one by one. A tree of all their values would take twenty times as
//! much memory. Keys are sorted, as in all output of these tools.

use super::{CheckReport, ReportedRule, level};
use gemini_tools_core::diagnostic::Diagnostic;

use serde::ser::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Returns the report as a SARIF document, ready to be serialized.
pub fn sarif(report: &CheckReport) -> impl Serialize {
    let mut rules: Vec<&str> = report.rules.iter().map(|rule| &*rule.id).collect();
    let described = rules.len();
    for issue in &report.issues {
        if !rules.contains(&&*issue.code) {
            rules.push(&issue.code);
        }
    }
    let note = |level: &str, text: &String| json!({"level": level, "message": {"text": text}});
    let failure = report.failure.iter().map(|text| note("error", text));
    let remarks = report.remarks.iter().map(|text| note("warning", text));
    let notes: Value = failure.chain(remarks).collect();
    let invocation = json!({
        "executionSuccessful": report.failure.is_none(),
        "toolExecutionNotifications": notes,
    });
    let descriptors = report.rules.iter().map(descriptor);
    let others = rules[described..].iter().map(|id| json!({ "id": id }));
    let descriptors: Value = descriptors.chain(others).collect();
    let version = env!("CARGO_PKG_VERSION");
    let driver = json!({"name": report.suite, "rules": descriptors, "version": version});
    let indices = rules.into_iter().zip(0..);
    Document {
        schema: SCHEMA,
        runs: [Run {
            column_kind: "unicodeCodePoints",
            invocations: [invocation],
            results: Results(report, indices.collect()),
            tool: json!({ "driver": driver }),
        }],
        version: "2.1.0",
    }
}

#[derive(serde::Serialize)]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    runs: [Run<'a>; 1],
    version: &'a str,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    column_kind: &'a str,
    invocations: [Value; 1],
    results: Results<'a>,
    tool: Value,
}

/// The issues of a report, with the index that each rule has in the document's list of rules.
struct Results<'a>(&'a CheckReport, HashMap<&'a str, usize>);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(report, rules) = self;
        let rule = |issue: &Diagnostic| rules.get(&*issue.code).copied().unwrap_or_default();
        let results = report.issues.iter().enumerate().map(|(i, issue)| {
            let mut result = result(issue, rule(issue));
            let known = report.fingerprints.get(i);
            if let Some(print) = known.filter(|print| !print.is_empty()) {
                // GitHub's code scanning recognises an alert by the value under this name.
                result["partialFingerprints"] = json!({ "primaryLocationLineHash": print });
            }
            result
        });
        serializer.collect_seq(results)
    }
}

fn descriptor(rule: &ReportedRule) -> Value {
    let mut descriptor = json!({
        "defaultConfiguration": { "level": level(rule.level) },
        "id": rule.id,
        "shortDescription": { "text": rule.description },
    });
    if !rule.help.is_empty() {
        descriptor["help"] = json!({ "text": rule.help });
    }
    if !rule.url.is_empty() {
        descriptor["helpUri"] = json!(rule.url);
    }
    descriptor
}

fn result(issue: &Diagnostic, rule_index: usize) -> Value {
    let mut result = json!({
        "level": level(issue.severity),
        "message": { "text": issue.what() },
        "ruleId": issue.code,
        "ruleIndex": rule_index,
    });
    let Some(file) = issue.place.file() else {
        return result;
    };
    let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
    if let Some(line) = issue.place.line {
        let columns = [
            ("startColumn", issue.place.column),
            ("endColumn", issue.place.end_column),
        ];
        place["region"] = json!({ "startLine": line });
        for (key, column) in columns.into_iter().filter_map(|(k, n)| Some((k, n?))) {
            place["region"][key] = column.get().into();
        }
        if let Some(text) = &issue.place.text {
            place["contextRegion"] = json!({ "startLine": line, "snippet": { "text": text } });
        }
    }
    result["locations"] = json!([{ "physicalLocation": place }]);
    result
}

/// Returns a relative reference, or a URL of an absolute path, with each byte that is not a letter,
/// a digit or one of `/-._~` as `%XX`.
fn uri(path: &Path) -> String {
    let path = path.as_os_str().as_bytes();
    let mut out = if path.starts_with(b"/") {
        "file://".to_owned()
    } else {
        String::new()
    };
    let mut rest = path;
    while let Some(behind) = rest.strip_prefix(b"./") {
        rest = behind;
    }
    for byte in rest.iter().copied() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b if b.is_ascii_alphanumeric() => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::uri;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    #[test]
    fn paths_become_references() {
        for (path, wanted) in [
            (&b"src/a b.rs"[..], "src/a%20b.rs"),
            (b"./a:b%", "a%3Ab%25"),
            (b"/tmp/\xc3\xbc", "file:///tmp/%C3%BC"),
            (b"b\xff.txt", "b%FF.txt"),
        ] {
            assert_eq!(uri(Path::new(OsStr::from_bytes(path))), wanted);
        }
    }
}
