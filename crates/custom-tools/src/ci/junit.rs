//! `JUnit` XML, as CI services read it: a suite for each file, with a case for each thing that was
//! looked at. It has no more than the schema of Jenkins' xUnit plugin allows, so the line is a part
//! of a case's name.

use super::CheckReport;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::show_path;
use std::collections::HashMap;
use std::path::Path;

/// A suite: what was found in a file, or what is about the run.
#[derive(Default)]
struct Suite<'a> {
    file: Option<&'a Path>,
    issues: Vec<&'a Diagnostic>,
    /// Cases that are not issues, as XML.
    cases: Vec<String>,
    errors: usize,
    remarks: String,
}

impl Suite<'_> {
    fn tests(&self) -> usize {
        self.issues.len() + self.cases.len()
    }

    fn failures(&self) -> usize {
        let is_failure = |issue: &&&Diagnostic| issue.severity == Severity::Error;
        self.issues.iter().filter(is_failure).count()
    }
}

/// Writes the document.
pub fn junit(report: &CheckReport) -> String {
    let mut suites: Vec<Suite<'_>> = Vec::new();
    let mut of_file: HashMap<Option<&Path>, usize> = HashMap::new();
    for issue in &report.issues {
        let file = issue.place.file();
        let at = *of_file.entry(file).or_insert_with(|| {
            suites.push(Suite {
                file,
                ..Suite::default()
            });
            suites.len() - 1
        });
        suites[at].issues.push(issue);
    }
    suites.extend(of_the_run(report, suites.is_empty()));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
        escaped(&report.suite),
        counts(
            suites.iter().map(Suite::tests).sum(),
            suites.iter().map(Suite::failures).sum(),
            suites.iter().map(|suite| suite.errors).sum()
        ),
    );
    for suite in &suites {
        push_suite(&mut out, report, suite);
    }
    out.push_str("</testsuites>\n");
    out
}

/// Returns the suite of cases besides issues; `None` if there are none.
fn of_the_run(report: &CheckReport, is_alone: bool) -> Option<Suite<'_>> {
    let name = escaped(&report.suite);
    let passed = |case: &str| format!("    <testcase classname=\"{name}\" name=\"{case}\"/>\n");
    let mut suite = Suite::default();
    let names = report.passed.iter();
    suite.cases.extend(names.map(|name| passed(&escaped(name))));
    if let Some(failure) = &report.failure {
        suite.errors = 1;
        suite.cases.push(format!(
            "    <testcase classname=\"{name}\" name=\"{name}\">\n      \
             <error message=\"{}\"/>\n    </testcase>\n",
            escaped(failure)
        ));
    } else if is_alone && suite.cases.is_empty() {
        suite.cases.push(passed("nothing found"));
    }
    if !report.remarks.is_empty() {
        suite.remarks = format!(
            "    <system-out>{}</system-out>\n",
            escaped(&report.remarks.join("\n"))
        );
    }
    (!suite.cases.is_empty() || !suite.remarks.is_empty()).then_some(suite)
}

fn counts(tests: usize, failures: usize, errors: usize) -> String {
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

fn push_suite(out: &mut String, report: &CheckReport, suite: &Suite<'_>) {
    let (name, file) = match suite.file {
        Some(file) => {
            let file = show_path(file);
            let attribute = format!(" file=\"{}\"", escaped(&file));
            (file, attribute)
        }
        None => (report.suite.as_str().into(), String::new()),
    };
    out.push_str(&format!(
        "  <testsuite name=\"{}\"{file} {}>\n",
        escaped(&name),
        counts(suite.tests(), suite.failures(), suite.errors),
    ));
    for issue in &suite.issues {
        out.push_str(&case_of(report, issue));
    }
    suite.cases.iter().for_each(|case| out.push_str(case));
    out.push_str(&suite.remarks);
    out.push_str("  </testsuite>\n");
}

fn case_of(report: &CheckReport, issue: &Diagnostic) -> String {
    let numbers = [issue.place.line, issue.place.column].into_iter().flatten();
    let place = issue.place.file().map(|file| show_path(file).into_owned());
    let place: Vec<String> = place
        .into_iter()
        .chain(numbers.map(|n| n.to_string()))
        .collect();
    let place = place.join(":");
    let name = match place.as_str() {
        "" => issue.code.to_string(),
        place => format!("{}: {place}", issue.code),
    };
    let message = escaped(&issue.what());
    let inner = if issue.severity == Severity::Error {
        let rule = escaped(&issue.code);
        format!(
            "<failure type=\"{rule}\" message=\"{message}\">{}</failure>",
            escaped(&place)
        )
    } else {
        format!("<system-out>{message}</system-out>")
    };
    format!(
        "    <testcase classname=\"{}\" name=\"{}\">\n      {inner}\n    </testcase>\n",
        escaped(&report.suite),
        escaped(&name)
    )
}

/// Escapes a text for XML. A character that XML can't have becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // As they are, attributes would turn them into spaces.
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
