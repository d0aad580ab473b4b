//! Where a session is shown and recorded.

use crate::complain;
use crate::options::{Options, OutputFormat};
use gemini_tools::agent::event::{Event, Observer, SessionError};
use gemini_tools::agent::output::{Json, Notes, Progress, StreamJson, Terminal, Text};
use gemini_tools::agent::report::Report;
use gemini_tools::agent::stats::Stats;
use gemini_tools::agent::telemetry::{Telemetry, Wish};
use std::io::{IsTerminal, stderr, stdout};

/// The width of a terminal that does not say its own.
const COLUMNS: usize = 80;

/// Whoever shows or records the session. What shows it stands first: it ends its line before
/// anybody else writes to the same terminal.
pub(crate) fn observers(options: &Options) -> Vec<Box<dyn Observer>> {
    let mut observers: Vec<Box<dyn Observer>> = vec![answer(options)];
    let is_watched = stderr().is_terminal() && options.format == OutputFormat::Text;
    observers.push(if is_watched {
        Box::new(Progress::new(stderr(), columns(), is_styled()))
    } else {
        Box::new(Notes::new(stderr()))
    });
    if let Some(wish) = Wish::read(|name| std::env::var_os(name)) {
        observers.push(Box::new(Telemetry::new(wish, complain)));
    }
    if let Some(path) = &options.report {
        observers.push(Box::new(Report::new(path.clone(), complain)));
    }
    observers
}

/// What goes to standard output.
fn answer(options: &Options) -> Box<dyn Observer> {
    match options.format {
        OutputFormat::Json => Box::new(Json::new(stdout())),
        OutputFormat::StreamJson => Box::new(StreamJson::new(stdout())),
        OutputFormat::Text if stdout().is_terminal() => {
            Box::new(Terminal::new(stdout(), is_styled()))
        }
        OutputFormat::Text => Box::new(Text::new(stdout())),
    }
}

/// Whether a terminal gets colours.
fn is_styled() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !is_set("NO_COLOR") && !is_dumb
}

fn columns() -> usize {
    gemini_tools::sys::termios::tcgetwinsize(stderr())
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|columns| *columns > 0)
        .unwrap_or(COLUMNS)
}

/// Tells why there was no session, in the form that was asked for.
pub(crate) fn failed_early(options: &Options, error: &SessionError) {
    let ended = Event::Ended {
        error: Some(error),
        stats: &Stats::default(),
    };
    answer(options).take(&ended);
    complain(&error.message);
}
