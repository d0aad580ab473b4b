//! `get_tools doctor`: whether the set-up works, and what to do where it does not.

use crate::get_tools::command::DoctorOptions;
use crate::get_tools::print::print;
use crate::get_tools::style::Style;
use crate::get_tools::table::at_width;
use anyhow::anyhow;
use gemini_tools::diagnostic::{Diagnostic, Severity};
use gemini_tools::doctor::{DoctorReport, State, check};
use gemini_tools::session::Project;
use gemini_tools::text::visible;

pub(crate) fn run(options: &DoctorOptions) -> anyhow::Result<u8> {
    let root = std::env::current_dir();
    let root = root.map_err(|e| anyhow!("The current directory is gone: {e}."))?;
    let report = check(&Project::open(&root), options.host.as_deref());
    let text = if options.json {
        serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
    } else {
        text(&report, Style::for_stdout())
    };
    print(text.as_bytes())?;
    Ok(u8::from(report.has_errors()))
}

fn text(report: &DoctorReport, style: Style) -> String {
    let mut text = String::new();
    for fact in &report.facts {
        let mark = match fact.state {
            State::Works => style.green("✓"),
            State::Known => style.dim("·"),
            State::Missing => style.yellow("–"),
        };
        if style.has_marks {
            text.push_str(&format!("{mark} "));
        }
        text.push_str(&format!("{:15} {}\n", fact.name, visible(&fact.text)));
    }
    for finding in &report.findings {
        text.push('\n');
        text.push_str(&described(finding, style));
    }
    let count = |severity: Severity| {
        let all = report.findings.iter();
        all.filter(|finding| finding.severity == severity).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let counts = format!("Errors: {errors}, warnings: {warnings}");
    let summary = match (errors, warnings) {
        (0, 0) => style.green("No problems found."),
        (0, _) => style.yellow(&counts),
        _ => style.red(&counts),
    };
    text.push_str(&format!("\n{summary}\n"));
    text
}

fn described(finding: &Diagnostic, style: Style) -> String {
    let name = finding.severity.name();
    let (mark, name) = match finding.severity {
        Severity::Error => (style.red("✗ "), style.red(name)),
        _ => (style.yellow("! "), style.yellow(name)),
    };
    let mark = if style.has_marks { &mark } else { "" };
    let head = format!("{mark}{name}{}", style.dim(&format!("[{}]", finding.code)));
    let place = finding.place.to_string();
    let mut text = at_width(&visible(&place), "    ", style);
    text = match text.split_once('\n') {
        Some((first, rest)) => format!("{head} {}\n{rest}", style.bold(first)),
        None => text,
    };
    let indented = |label: &str, words: &str, gap: &str| {
        at_width(&format!("    {label}{gap}{}", visible(words)), "", style)
    };
    text.push_str(&indented("", &finding.message, ""));
    if !finding.why.is_empty() {
        let why = indented("Why:", &finding.why, " ");
        text.push_str(&why.replacen("Why:", &style.dim("Why:"), 1));
    }
    let help = indented("Do:", &finding.help, "  ");
    text + &help.replacen("Do:", &style.bold("Do:"), 1)
}
