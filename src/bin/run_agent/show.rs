//! Where a session is shown.

use crate::options::{Options, OutputFormat};
use crate::{complain, failed};
use gemini_tools::agent::event::{Event, Observer, SessionError};
use gemini_tools::answer::write_stdout;

/// Streams the model's text.
struct Plain;

impl Observer for Plain {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) => {
                let _ = write_stdout(text.as_bytes());
            }
            Event::Warning(text) => complain(text),
            Event::Ended { error: None, .. } => {
                let _ = write_stdout(b"\n");
            }
            Event::Ended {
                error: Some(error), ..
            } => complain(&error.message),
            _ => {}
        }
    }
}

/// Whoever shows or records the session.
pub(crate) fn observers(options: &Options) -> Result<Vec<Box<dyn Observer>>, SessionError> {
    if options.format != OutputFormat::Text {
        return Err(failed("not yet"));
    }
    Ok(vec![Box::new(Plain)])
}

/// Tells why there was no session.
pub(crate) fn failed_early(_: &Options, error: &SessionError) {
    complain(&error.message);
}
