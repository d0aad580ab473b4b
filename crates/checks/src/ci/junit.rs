//! Writes `JUnit` XML, as CI services read it. There is one suite for each rule that the report
//! lists, and one more for issues without a listed rule, passed checks, a failure and remarks. Each
//! issue and each passed check is a test case, whose `classname` is the issue's file, or the
//! suite's name if there is no file. Only what the schema of Jenkins' xUnit plugin allows is
//! written, so the line number is part of the case's name.

use super::CheckReport;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::{is_deceptive, show_path};

/// Returns the report as a `JUnit` XML document.
pub fn junit(report: &CheckReport) -> String {
    let by_rule = report.rules.iter().map(|rule| {
        let issues = report.issues.iter();
        Suite {
            name: &rule.id,
            issues: issues.filter(|issue| issue.code == rule.id).collect(),
            fails: report.fails,
            ..Suite::default()
        }
    });
    let is_described = |code: &str| report.rules.iter().any(|rule| rule.id == code);
    let others = report.issues.iter();
    let rest = Suite {
        name: &report.suite,
        issues: others.filter(|issue| !is_described(&issue.code)).collect(),
        passed: &report.passed,
        failure: report.failure.as_deref(),
        remarks: &report.remarks,
        fails: report.fails,
    };
    let mut suites: Vec<Suite<'_>> = by_rule.collect();
    if suites.is_empty() || rest.says_something() {
        suites.push(rest);
    }
    // All suites are appended to this one string, because the text of a million issues has many
    // megabytes.
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
        escaped(&report.suite),
        attributes(&suites)
    );
    for suite in &suites {
        suite.push(&mut out);
    }
    out.push_str("</testsuites>\n");
    out
}

#[derive(Default)]
struct Suite<'a> {
    name: &'a str,
    issues: Vec<&'a Diagnostic>,
    passed: &'a [String],
    failure: Option<&'a str>,
    remarks: &'a [String],
    fails: Severity,
}

fn attributes(suites: &[Suite<'_>]) -> String {
    let failures = |suite: &Suite<'_>| {
        let issues = suite.issues.iter();
        issues.filter(|issue| issue.severity <= suite.fails).count()
    };
    let errors = |suite: &Suite<'_>| usize::from(suite.failure.is_some());
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        suites
            .iter()
            .map(|suite| suite.cases().max(1))
            .sum::<usize>(),
        suites.iter().map(failures).sum::<usize>(),
        suites.iter().map(errors).sum::<usize>()
    )
}

impl Suite<'_> {
    fn cases(&self) -> usize {
        self.issues.len() + self.passed.len() + usize::from(self.failure.is_some())
    }

    fn says_something(&self) -> bool {
        self.cases() > 0 || !self.remarks.is_empty()
    }

    fn push(&self, out: &mut String) {
        let name = escaped(self.name);
        let passed = |case: &str| format!("    <testcase classname=\"{name}\" name=\"{case}\"/>\n");
        let counts = attributes(std::slice::from_ref(self));
        out.push_str(&format!("  <testsuite name=\"{name}\" {counts}>\n"));
        for issue in &self.issues {
            out.push_str(&case_of(&name, issue, self.fails));
        }
        for case in self.passed {
            out.push_str(&passed(&escaped(case)));
        }
        if let Some(failure) = self.failure {
            out.push_str(&format!(
                "    <testcase classname=\"{name}\" name=\"{name}\">\n      \
                 <error message=\"{}\"/>\n    </testcase>\n",
                escaped(failure)
            ));
        }
        if self.cases() == 0 {
            out.push_str(&passed("nothing found"));
        }
        if !self.remarks.is_empty() {
            out.push_str(&format!(
                "    <system-out>{}</system-out>\n",
                escaped(&self.remarks.join("\n"))
            ));
        }
        out.push_str("  </testsuite>\n");
    }
}

fn case_of(suite: &str, issue: &Diagnostic, fails: Severity) -> String {
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
    let inner = if issue.severity <= fails {
        format!("<failure type=\"{rule}\" message=\"{message}\">{place}{found}</failure>")
    } else {
        format!("<system-out>{message}{found}</system-out>")
    };
    format!(
        "    <testcase classname=\"{class}\" name=\"{name}\">\n      {inner}\n    </testcase>\n"
    )
}

/// Escapes a text for XML, and what would deceive on a terminal. A character that XML can't have
/// becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Written literally in an attribute, these would be read as spaces.
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if is_deceptive(c) => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
