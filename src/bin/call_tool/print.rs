//! The only place that writes to the standard streams.

use gemini_tools::answer::write_stdout;
use gemini_tools::shown::json_for_terminal;
use std::io::{IsTerminal, Write};

/// Colours the lines of a diff, where a terminal shows them.
pub(crate) fn coloured(text: &str) -> String {
    if !shows_colours() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut is_header = true;
    for line in text.split_inclusive('\n') {
        let colour = match line.as_bytes() {
            [b'@', b'@', ..] => {
                is_header = false;
                "36"
            }
            [b'+' | b'-', ..] if is_header => "1",
            [b'+', ..] => "32",
            [b'-', ..] => "31",
            _ => {
                out.push_str(line);
                continue;
            }
        };
        out.push_str(&format!(
            "\x1b[{colour}m{}\x1b[0m\n",
            line.trim_end_matches('\n')
        ));
    }
    out
}

pub(crate) fn complain(message: &str) {
    // Where standard error is gone, nobody reads it.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// [`print`] of a line of JSON, which on a terminal shows nothing that deceives.
pub(crate) fn print_json(line: &[u8], status: u8) -> u8 {
    match std::str::from_utf8(line) {
        Ok(json) if std::io::stdout().is_terminal() => {
            print(json_for_terminal(json).as_bytes(), status)
        }
        _ => print(line, status),
    }
}

/// Writes everything at once; a reader that has gone away is none of our business.
pub(crate) fn print(text: &[u8], status: u8) -> u8 {
    match write_stdout(text) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&format!("call_tool: can't write to standard output: {e}"));
            1
        }
        _ => status,
    }
}

/// Whether a terminal shows what is printed, and the user wants colours.
pub(crate) fn shows_colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
