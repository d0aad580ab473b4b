//! Observers that show a session: the model's text, the progress, and two JSON formats.
//!
//! Each writes to the writer it is given. [`TextOutput`], [`JsonOutput`] and [`StreamJsonOutput`]
//! are meant for standard output, [`ProgressOutput`] for standard error; a session has one of each.
//! If both are the same terminal, the one for standard output must receive an event first, so that
//! it can finish its line. [`StatusOutput`] wraps both, and shows below them what is being waited
//! for.

mod escape;
mod json;
mod live;
mod metrics;
mod progress;
mod stream_json;
mod text;

pub use escape::one_line;
pub use json::JsonOutput;
pub use live::StatusOutput;
pub(crate) use metrics::metrics;
pub use progress::ProgressOutput;
pub use stream_json::StreamJsonOutput;
pub use text::TextOutput;

use std::io::Write;

fn styled(is_styled: bool, code: &str, text: &str) -> String {
    if is_styled && !text.is_empty() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// A writer that gives up silently after the first error, usually because the reader has exited:
/// the session must go on. It also tracks whether the cursor is at the start of a line.
#[derive(Debug)]
struct Sink<W> {
    out: W,
    is_gone: bool,
    at_line_start: bool,
}

impl<W: Write> Sink<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            is_gone: false,
            at_line_start: true,
        }
    }

    fn write(&mut self, text: &str) {
        let Some(last) = text.as_bytes().last() else {
            return;
        };
        self.at_line_start = *last == b'\n';
        if !self.is_gone {
            let written = self.out.write_all(text.as_bytes());
            self.is_gone = written.and_then(|()| self.out.flush()).is_err();
        }
    }

    fn end_line(&mut self) {
        if !self.at_line_start {
            self.write("\n");
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
