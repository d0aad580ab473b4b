//! `read_file`: the text, the note about a window, and nothing besides.

use super::{CUT, Expectation, LineRange, Report, has_number, length, says_cut};

/// A note may be this long.
const NOTE_UNITS: usize = 400;

/// The note about a part of a file may be this long.
const WINDOW_NOTE_UNITS: usize = 1200;

/// What may be at the end of a shortened line.
const CUT_MARK_BYTES: usize = 100;

pub(super) fn check(content: &str, want: &Expectation, output: &str, report: &mut Report) {
    if want.truncated {
        check_window(content, want, output, report);
        return;
    }
    let at = output.find(content);
    let rest = match at {
        Some(at) => format!("{}\n{}", &output[..at], &output[at + content.len()..]),
        None => output.to_owned(),
    };
    let found = output == content || (at.is_some() && length(&rest) < NOTE_UNITS);
    report.add("content", found, content, output);
    let called_cut = output != content && at.is_some() && rest.to_lowercase().contains("truncat");
    report.add("not cut", !called_cut, "no note of a cut", rest);
}

fn check_window(content: &str, want: &Expectation, output: &str, report: &mut Report) {
    let lines: Vec<&str> = content.split('\n').collect();
    let found = find_lines(&lines, output);
    report.add("content", found.is_ok(), content, (&found, output));
    let rest = match found {
        Ok((first, _)) if content.is_empty() => format!("{}\n{output}", &output[..first]),
        Ok((first, end)) => format!("{}\n{}", &output[..first], &output[end.min(output.len())..]),
        Err(_) => output.to_owned(),
    };
    let short = found.is_err() || length(&rest) < WINDOW_NOTE_UNITS;
    report.add(
        "nothing beyond the window",
        short,
        "the lines and a note",
        &rest,
    );
    report.add("says it is cut", says_cut(&rest), "a note", &rest);
    let Some(LineRange { start, end, total }) = want.line_range else {
        return;
    };
    // A final newline is counted as one more (empty) line by the real tool; the count without it is as good.
    if end >= start {
        report.add("first line number", has_number(&rest, start), start, &rest);
        let last = has_number(&rest, end) || (end == total && has_number(&rest, end - 1));
        report.add("last line number", last, end, &rest);
    }
    let said = [total, total - 1].iter().any(|n| has_number(&rest, *n));
    report.add("total lines", said, total, &rest);
}

/// Finds the lines one after the other and returns where they begin and end, or the line that is missing.
fn find_lines<'a>(lines: &[&'a str], output: &str) -> Result<(usize, usize), &'a str> {
    let mut first = None;
    let mut position = 0;
    for (i, line) in lines.iter().enumerate() {
        if let Some(head) = line.strip_suffix(CUT) {
            let at = position + output[position..].find(head).ok_or(*line)?;
            let end = output[at..].find('\n').map_or(output.len(), |n| at + n);
            if end - at - head.len() > CUT_MARK_BYTES {
                return Err(line);
            }
            first.get_or_insert(at);
            position = (end + 1).min(output.len());
            continue;
        }
        let text = if i < lines.len() - 1 {
            format!("{line}\n")
        } else {
            (*line).to_owned()
        };
        // Only the first line may be looked for; the rest must follow at once.
        let at = match first {
            Some(_) => position,
            None => output.find(&anchor(&lines[i..])).ok_or(*line)?,
        };
        if !output[at..].starts_with(&text) {
            return Err(line);
        }
        first.get_or_insert(at);
        position = at + text.len();
    }
    Ok((first.unwrap_or(0), position))
}

/// A few lines, up to the first shortened one, by which the window is found in an answer.
fn anchor(lines: &[&str]) -> String {
    let mut some = Vec::new();
    for line in lines.iter().take(5) {
        some.push(line.strip_suffix(CUT).unwrap_or(line));
        if line.ends_with(CUT) {
            break;
        }
    }
    some.join("\n")
}
