//! `JUnit` XML, as CI services read it: a suite with a case for each thing that was looked at.

use super::{Issue, Level, Report};

/// The document.
pub fn junit(report: &Report) -> String {
    let issues = &report.issues;
    let failures = issues.iter().filter(|i| i.level == Level::Error).count();
    let mut cases: Vec<String> = issues.iter().map(|i| case_of(report, i)).collect();
    cases.extend(report.passed.iter().map(|name| {
        let (suite, name) = (escaped(&report.suite), escaped(name));
        format!("    <testcase classname=\"{suite}\" name=\"{name}\"/>\n")
    }));
    if let Some(failure) = &report.failure {
        let suite = escaped(&report.suite);
        cases.push(format!(
            "    <testcase classname=\"{suite}\" name=\"{suite}\">\n      \
             <error message=\"{}\"/>\n    </testcase>\n",
            escaped(failure)
        ));
    } else if cases.is_empty() {
        let suite = escaped(&report.suite);
        cases.push(format!(
            "    <testcase classname=\"{suite}\" name=\"nothing found\"/>\n"
        ));
    }
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{}\"",
        cases.len(),
        usize::from(report.failure.is_some())
    );
    let remarks = match report.remarks.as_slice() {
        [] => String::new(),
        all => format!(
            "    <system-out>{}</system-out>\n",
            escaped(&all.join("\n"))
        ),
    };
    let suite = escaped(&report.suite);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{suite}\" {counts}>\n  \
         <testsuite name=\"{suite}\" {counts}>\n{}{remarks}  </testsuite>\n</testsuites>\n",
        cases.concat()
    )
}

fn case_of(report: &Report, issue: &Issue) -> String {
    let numbers = [issue.line, issue.column].into_iter().flatten();
    let place = issue.file.iter().cloned();
    let place: Vec<String> = place.chain(numbers.map(|n| n.to_string())).collect();
    let place = place.join(":");
    let name = match place.as_str() {
        "" => issue.rule.clone(),
        place => format!("{}: {place}", issue.rule),
    };
    let file = issue.file.as_ref().map_or(String::new(), |file| {
        let line = issue.line.map(|n| format!(" line=\"{n}\""));
        format!(" file=\"{}\"{}", escaped(file), line.unwrap_or_default())
    });
    let message = escaped(&issue.message);
    let inner = if issue.level == Level::Error {
        let rule = escaped(&issue.rule);
        format!(
            "<failure type=\"{rule}\" message=\"{message}\">{}</failure>",
            escaped(&place)
        )
    } else {
        format!("<system-out>{message}</system-out>")
    };
    format!(
        "    <testcase classname=\"{}\" name=\"{}\"{file}>\n      {inner}\n    </testcase>\n",
        escaped(&report.suite),
        escaped(&name)
    )
}

/// A text for XML. What XML has no way to say becomes U+FFFD.
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
