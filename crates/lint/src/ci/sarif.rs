//! SARIF 2.1.0 (OASIS), the format of code scanning services.
//!
//! The document is written from what was found, without a tree of values in between, which would
//! take twenty times as much. Keys are in the order of their names, as in all that is printed.

use super::CheckReport;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::show_path;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::num::NonZeroU32;

/// The schema that the document says it follows.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The document, to be written.
pub fn sarif(report: &CheckReport) -> impl Serialize {
    let mut rules: Vec<Rule<'_>> = Vec::new();
    for issue in &report.issues {
        if !rules.iter().any(|rule| rule.id == issue.code) {
            rules.push(Rule { id: &issue.code });
        }
    }
    let failure = report.failure.iter().map(|text| note("error", text));
    let remarks = report.remarks.iter().map(|text| note("warning", text));
    Document {
        schema: SCHEMA,
        runs: [Run {
            column_kind: "unicodeCodePoints",
            invocations: [Invocation {
                execution_successful: report.failure.is_none(),
                tool_execution_notifications: failure.chain(remarks).collect(),
            }],
            results: Results(&report.issues, rules.clone()),
            tool: Tool {
                driver: Driver {
                    name: &report.suite,
                    rules,
                    version: env!("CARGO_PKG_VERSION"),
                },
            },
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
    invocations: [Invocation<'a>; 1],
    results: Results<'a>,
    tool: Tool<'a>,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'a> {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification<'a>>,
}

#[derive(serde::Serialize)]
struct Notification<'a> {
    level: &'a str,
    message: Message<'a>,
}

#[derive(serde::Serialize)]
struct Message<'a> {
    text: Cow<'a, str>,
}

#[derive(serde::Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(serde::Serialize)]
struct Driver<'a> {
    name: &'a str,
    rules: Vec<Rule<'a>>,
    version: &'a str,
}

fn note<'a>(level: &'a str, text: &'a str) -> Notification<'a> {
    Notification {
        level,
        message: Message { text: text.into() },
    }
}

#[derive(Clone, serde::Serialize)]
struct Rule<'a> {
    id: &'a str,
}

/// What was found, by the rules of the document.
struct Results<'a>(&'a [Diagnostic], Vec<Rule<'a>>);

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(issues, rules) = self;
        let mut list = serializer.serialize_seq(Some(issues.len()))?;
        for issue in *issues {
            let rule_index = rules.iter().position(|rule| rule.id == issue.code);
            list.serialize_element(&Found::new(issue, rule_index.unwrap_or_default()))?;
        }
        list.end()
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'a> {
    level: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    locations: Option<[Location; 1]>,
    message: Message<'a>,
    rule_id: &'a str,
    rule_index: usize,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(serde::Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<NonZeroU32>,
    start_line: NonZeroU32,
}

impl<'a> Found<'a> {
    fn new(issue: &'a Diagnostic, rule_index: usize) -> Self {
        let region = issue.place.line.map(|start_line| Region {
            end_column: issue.place.end_column,
            start_column: issue.place.column,
            start_line,
        });
        let place = issue.place.file().map(|file| Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri: uri(&show_path(file)),
                },
                region,
            },
        });
        Self {
            level: match issue.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Repair => "note",
            },
            locations: place.map(|place| [place]),
            message: Message {
                text: issue.what().into(),
            },
            rule_id: &issue.code,
            rule_index,
        }
    }
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
