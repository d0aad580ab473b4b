//! Annotations of GitHub Actions, which are workflow commands on standard output.

use super::CheckReport;
use gemini_tools_core::diagnostic::Severity;
use gemini_tools_core::text::{harmless_lines, show_path};

/// Returns the report as workflow commands, one on each line: for each issue, for the failure of
/// the run itself, and for each remark. What would control a terminal is escaped.
pub fn github(report: &CheckReport) -> String {
    let mut text = String::new();
    for issue in &report.issues {
        let command = match issue.severity {
            Severity::Repair => "notice",
            other => other.name(),
        };
        let numbers = [("line", issue.place.line), ("col", issue.place.column)];
        let mut properties: Vec<String> = Vec::new();
        if let Some(file) = issue.place.file() {
            properties.push(format!("file={}", property(&show_path(file))));
            let known = numbers.into_iter().filter_map(|(k, n)| Some((k, n?)));
            properties.extend(known.map(|(key, number)| format!("{key}={number}")));
        }
        properties.push(format!("title={}", property(&issue.code)));
        let found = issue.place.text.iter().map(|text| format!("\n{text}"));
        text.push_str(&format!(
            "::{command} {}::{}\n",
            properties.join(","),
            data(&(issue.what() + &found.collect::<String>()))
        ));
    }
    if let Some(failure) = &report.failure {
        text.push_str(&format!("::error::{}\n", data(failure)));
    }
    for remark in &report.remarks {
        text.push_str(&format!("::notice::{}\n", data(remark)));
    }
    harmless_lines(&text)
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
