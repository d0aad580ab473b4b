//! `get_tools doctor`: whether the set-up works, and what to do where it does not.

use crate::print::{print, warn};
use gemini_tools::diagnostic::Severity;
use gemini_tools::doctor::{DoctorReport, Try, check};
use gemini_tools::json;
use gemini_tools::settings::home;
use gemini_tools::text::visible;
use serde_json::Value;

/// What is asked for.
pub(crate) struct DoctorTask {
    pub(crate) json: bool,
    /// Calls to be made, each `NAME` or `NAME=JSON`.
    pub(crate) tries: Vec<String>,
}

/// Prints what is wrong. Exits with 1 where something can't work.
pub(crate) fn run(task: &DoctorTask) -> u8 {
    let mut tries = Vec::new();
    for text in &task.tries {
        match parse(text) {
            Ok(one) => tries.push(one),
            Err(reason) => {
                warn(&format!("get_tools: --try {}: {reason}", visible(text)));
                return 2;
            }
        }
    }
    let root = match std::env::current_dir() {
        Ok(root) => root,
        Err(e) => {
            warn(&format!("get_tools: the current directory is gone: {e}"));
            return 1;
        }
    };
    let report = check(home().as_deref(), &root, &tries);
    let text = if task.json {
        serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
    } else {
        text(&report)
    };
    match print(text.as_bytes()) {
        0 => u8::from(report.has_errors()),
        status => status,
    }
}

fn parse(text: &str) -> Result<Try, String> {
    let (name, args) = text.split_once('=').unwrap_or((text, "{}"));
    match json::read_unlimited(args.as_bytes()) {
        Ok(Value::Object(args)) => Ok(Try {
            name: name.to_owned(),
            args,
        }),
        Ok(_) => Err("the arguments must be a JSON object".to_owned()),
        Err(e) => Err(format!("the arguments are not valid JSON: {e}")),
    }
}

fn text(report: &DoctorReport) -> String {
    let mut text = String::new();
    for (name, what) in &report.facts {
        text.push_str(&format!("{name:15} {}\n", visible(what)));
    }
    for finding in &report.findings {
        text.push_str(&format!(
            "\n{}[{}] {}\n    {}\n    Why: {}\n    Do:  {}\n",
            finding.severity.name(),
            finding.code,
            visible(&finding.place.to_string()),
            visible(&finding.message),
            visible(&finding.why),
            visible(&finding.help),
        ));
    }
    let count = |is_error: bool| {
        let all = report.findings.iter();
        all.filter(|f| (f.severity == Severity::Error) == is_error)
            .count()
    };
    let summary = match (count(true), count(false)) {
        (0, 0) => "No problems found.".to_owned(),
        (errors, warnings) => format!("Errors: {errors}, warnings: {warnings}"),
    };
    text.push_str(&format!("\n{summary}\n"));
    text
}
