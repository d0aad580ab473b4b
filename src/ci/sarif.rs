//! SARIF 2.1.0 (OASIS), the format of code scanning services.

use super::{Issue, Level, Report};
use serde_json::{Value, json};

/// The schema that the document says it follows.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The document.
pub fn sarif(report: &Report) -> Value {
    let mut rules: Vec<&str> = Vec::new();
    let mut results = Vec::new();
    for issue in &report.issues {
        let known = rules.iter().position(|rule| *rule == issue.rule);
        let index = known.unwrap_or_else(|| {
            rules.push(&issue.rule);
            rules.len() - 1
        });
        results.push(result(issue, index));
    }
    let rules: Vec<Value> = rules.iter().map(|id| json!({ "id": id })).collect();
    let note = |level: &str, text: &str| json!({"level": level, "message": {"text": text}});
    let failure = report.failure.iter().map(|text| note("error", text));
    let remarks = report.remarks.iter().map(|text| note("warning", text));
    let notifications: Vec<Value> = failure.chain(remarks).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": report.suite,
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.failure.is_none(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    })
}

fn result(issue: &Issue, rule_index: usize) -> Value {
    let level = match issue.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let mut result = json!({
        "ruleId": issue.rule,
        "ruleIndex": rule_index,
        "level": level,
        "message": {"text": issue.message},
    });
    if let Some(file) = &issue.file {
        let mut place = json!({"artifactLocation": {"uri": uri(file)}});
        if let Some(line) = issue.line {
            place["region"] = json!({ "startLine": line });
            if let Some(column) = issue.column {
                place["region"]["startColumn"] = column.into();
            }
        }
        result["locations"] = json!([{ "physicalLocation": place }]);
    }
    result
}

/// A path as a URI, or as a reference relative to the current directory.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') {
        "file://".to_owned()
    } else {
        String::new()
    };
    for byte in path.trim_start_matches("./").bytes() {
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

    #[test]
    fn paths_become_references() {
        for (path, wanted) in [
            ("src/a b.rs", "src/a%20b.rs"),
            ("./a:b%", "a%3Ab%25"),
            ("/tmp/ü", "file:///tmp/%C3%BC"),
        ] {
            assert_eq!(uri(path), wanted);
        }
    }
}
