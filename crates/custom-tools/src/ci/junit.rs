//! `JUnit` XML, as CI services read it: one suite, with a case for each thing that was checked,
//! whose class is the file. Only what the schema of Jenkins' xUnit plugin allows is used. It has no
//! attribute for a line, so the line is part of the case's name.

use super::CheckReport;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::show_path;

/// Formats the document.
pub fn junit(report: &CheckReport) -> String {
    let name = escaped(&report.suite);
    let passed = |case: &str| format!("    <testcase classname=\"{name}\" name=\"{case}\"/>\n");
    let found = report.issues.len() + report.passed.len() + usize::from(report.failure.is_some());
    let is_failure = |issue: &&Diagnostic| issue.severity == Severity::Error;
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        found.max(1),
        report.issues.iter().filter(is_failure).count(),
        u8::from(report.failure.is_some())
    );
    // Appended to one string, since a million matches are many megabytes.
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {counts}>\n  \
         <testsuite name=\"{name}\" {counts}>\n"
    );
    for issue in &report.issues {
        out.push_str(&case_of(&name, issue));
    }
    for case in &report.passed {
        out.push_str(&passed(&escaped(case)));
    }
    if let Some(failure) = &report.failure {
        out.push_str(&format!(
            "    <testcase classname=\"{name}\" name=\"{name}\">\n      \
             <error message=\"{}\"/>\n    </testcase>\n",
            escaped(failure)
        ));
    }
    if found == 0 {
        out.push_str(&passed("nothing found"));
    }
    if !report.remarks.is_empty() {
        out.push_str(&format!(
            "    <system-out>{}</system-out>\n",
            escaped(&report.remarks.join("\n"))
        ));
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn case_of(suite: &str, issue: &Diagnostic) -> String {
    let file = issue.place.file().map(|file| show_path(file).into_owned());
    let class = file.as_deref().map_or(suite.to_owned(), escaped);
    let numbers = [issue.place.line, issue.place.column].into_iter().flatten();
    let place = file.into_iter().chain(numbers.map(|n| n.to_string()));
    let place = escaped(&place.collect::<Vec<_>>().join(":"));
    let rule = escaped(&issue.code);
    let name = match place.as_str() {
        "" => rule.clone(),
        place => format!("{rule}: {place}"),
    };
    let message = escaped(&issue.what());
    let found = issue
        .place
        .text
        .iter()
        .map(|text| escaped(&format!("\n{text}")));
    let found: String = found.collect();
    let inner = if issue.severity == Severity::Error {
        format!("<failure type=\"{rule}\" message=\"{message}\">{place}{found}</failure>")
    } else {
        format!("<system-out>{message}{found}</system-out>")
    };
    format!(
        "    <testcase classname=\"{class}\" name=\"{name}\">\n      {inner}\n    </testcase>\n"
    )
}

/// Escapes a text for XML. Characters that XML does not allow become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Unescaped, an XML parser would turn these into spaces in attributes.
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
