//! `run_shell_command`: exit code, signal, background processes and output, by the lines of the answer.

use std::process::Command;

use super::{Expectation, Report};

pub(super) fn check(want: &Expectation, answer: &str, report: &mut Report) {
    let line = |label: &str| {
        let mut lines = answer.lines().rev();
        lines.find_map(|l| l.strip_prefix(label)?.strip_prefix(": "))
    };
    let number = |text: Option<&str>| text.and_then(|t| t.parse::<i64>().ok());
    if let Some(code) = &want.exit_code {
        let got = line("Exit Code");
        let ok = number(got) == code.as_i64() && got.is_some();
        report.add("exit code", ok, code, got);
    }
    if let Some(signal) = &want.signal {
        let got = line("Signal");
        let ok = got.is_some() && got.and_then(signal_number) == signal.as_i64();
        report.add("signal", ok, signal, got);
    }
    if let Some(background) = want.background {
        let got = line("Background PIDs");
        let has = got.is_some_and(|ids| ids.contains(|c: char| c.is_ascii_digit()));
        report.add("background processes", has == background, background, got);
    }
    let expected = match &want.output_from {
        Some(command) => Some(printed(command)),
        None => want.output.clone(),
    };
    if let Some(expected) = expected {
        let (_, rest) = answer.split_once("\nOutput: ").unwrap_or_default();
        let (output, _) = rest.rsplit_once("\nError: ").unwrap_or_default();
        let output = if output == "(empty)" { "" } else { output };
        let (expected, got) = (sorted(&expected), sorted(output));
        report.add("output", expected == got, &expected, &got);
    }
}

/// What is in the lines, whatever their order and the blanks around.
fn sorted(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end).filter(|l| !l.is_empty());
    let mut lines: Vec<_> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

fn signal_number(name: &str) -> Option<i64> {
    Some(match name {
        "SIGHUP" => 1,
        "SIGINT" => 2,
        "SIGKILL" => 9,
        "SIGTERM" => 15,
        "(none)" => return None,
        other => panic!("{other} is a signal that no case is about"),
    })
}

fn printed(command: &str) -> String {
    let run = Command::new("bash").args(["-c", command]).output();
    let out = run.expect("bash runs").stdout;
    String::from_utf8(out).expect("text").trim().to_owned()
}
