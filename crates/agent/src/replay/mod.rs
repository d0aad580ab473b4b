//! Runs whose model is played: from a recording, from the file of a session, or from a script.
//!
//! A [`Recorder`] writes down what the model has answered in a run, and what the tools have. A
//! [`Replay`] gives the same answers to the client in the API's place, so that a run needs neither
//! network nor credential; **the tools run as in any run**, and pass the same gate. What they
//! answer can be compared with what was recorded, once what differs from run to run is made
//! stable, and with what a script expects.
//!
//! The answers go in where bytes of the API would (`gemini-tools-net`), so a refusal, a
//! stream that is cut and text that is not JSON take the way that they take in earnest.
//!
//! [`lines`] is the form of a recording, [`places`] makes it one for every machine, `secrets` of `gemini-tools-core` keeps
//! credentials out of it, [`script`] and [`session_file`] read the two other sources, and [`compare`]
//! says what has changed.

pub mod compare;
pub mod lines;
pub mod places;
pub mod player;
pub mod script;
pub mod session_file;
mod stable;

pub use lines::Recorder;
pub(crate) use lines::told;
pub use places::Places;
pub use player::Replay;

use gemini_tools_core::message::Part;
use gemini_tools_net::gemini_api::RecordedAnswer;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Maximum bytes of a file that is played.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// What is played of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// The file, as it is shown.
    pub name: String,
    /// What the file is.
    pub source: Source,
    /// The model that has answered.
    pub model: Option<String>,
    /// What the user has said.
    pub prompts: Vec<RecordedPrompt>,
    /// The answers, in their order.
    pub entries: Vec<Entry>,
    /// Whether the recorded run came to an end, of whatever sort.
    pub is_whole: bool,
}

/// What a file is that is played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    /// What [`Recorder`] has written.
    #[default]
    Recording,
    /// The file of a session ([`crate::record`]).
    Session,
    /// Turns that were written by hand.
    Script,
}

impl Source {
    /// What the file is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Source::Recording => "recording",
            Source::Session => "session",
            Source::Script => "model script",
        }
    }
}

/// What the user has said once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedPrompt {
    /// As it was given.
    pub text: String,
    /// With the content of the files that it names, where that was recorded.
    pub parts: Option<Vec<Part>>,
}

/// One answer of the model, a failed one too, and the calls in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The answer.
    pub answer: RecordedAnswer,
    /// Where it is the first one to a request: which functions were answered by the message before
    /// it.
    pub told: Option<Vec<String>>,
    /// The calls in it, in their order.
    pub calls: Vec<RecordedCall>,
}

/// A call, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// The tool.
    pub name: String,
    /// The arguments of the call.
    pub args: Map<String, Value>,
    /// What the tool has answered, where that is known.
    pub outcome: Option<RecordedOutcome>,
    /// What a script expects.
    pub expect: Option<script::Expectation>,
}

/// What a tool has answered.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedOutcome {
    /// `success`, `error` or `cancelled`.
    pub state: String,
    /// The sort of failure, where that is known.
    pub error_type: Option<String>,
    /// What the model was sent.
    pub parts: Vec<Value>,
}

/// Why a file can't be played, or not be written.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file can't be opened, read or written.
    #[error("The {what} {}: {reason}.", path.display())]
    File {
        /// What it is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// The file is another than it should be.
    #[error("{}{}: {reason}", path.display(), line_of(*line))]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where one is known.
        line: Option<usize>,
        /// What is wrong, and what to do. With its own full stop.
        reason: String,
    },
}

fn line_of(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}"))
        .unwrap_or_default()
}

fn content(path: &Path, line: Option<usize>, reason: impl Into<String>) -> RecordingError {
    RecordingError::Content {
        path: path.to_owned(),
        line,
        reason: reason.into(),
    }
}

impl Recording {
    /// Reads a recording, or the file of a session.
    ///
    /// # Errors
    ///
    /// Where it can't be read, or is neither.
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        let text = read_text(path, "recording")?;
        let first = text.lines().next().unwrap_or_default();
        let first: Value = serde_json::from_str(first).unwrap_or_default();
        let mut own = match first["type"].as_str() {
            Some("recording") => lines::read(path, &text)?,
            Some("session") => session_file::read(path, &text)?,
            _ => {
                return Err(content(
                    path,
                    None,
                    "It is not a recording (run_agent --record) and not a session \
                     (run_agent --session). Turns that are written by hand are for --model-script.",
                ));
            }
        };
        own.name = path.display().to_string();
        Ok(own)
    }

    /// The same, with the places of this machine.
    #[must_use]
    pub fn at(mut self, places: &Places) -> Self {
        for prompt in &mut self.prompts {
            prompt.text = places.found(&prompt.text);
        }
        for entry in &mut self.entries {
            let answer = &mut entry.answer;
            for value in answer.chunks.iter_mut().chain(&mut answer.body) {
                places::each_text(value, &|text| places.found(text));
            }
            for call in &mut entry.calls {
                places::each_text_of(&mut call.args, &|text| places.found(text));
                if let Some(expect) = &mut call.expect {
                    expect.at(places);
                }
            }
        }
        self
    }
}

fn read_text(path: &Path, what: &'static str) -> Result<String, RecordingError> {
    let fail = |reason| RecordingError::File {
        what,
        path: path.to_owned(),
        reason,
    };
    let meta = std::fs::metadata(path).map_err(fail)?;
    if !meta.is_file() {
        let reason = std::io::Error::other("it is not a regular file");
        return Err(fail(reason));
    }
    if meta.len() > MAX_FILE_BYTES {
        let reason = format!("it has more than {MAX_FILE_BYTES} bytes");
        return Err(fail(std::io::Error::other(reason)));
    }
    let bytes = std::fs::read(path).map_err(fail)?;
    String::from_utf8(bytes).map_err(|_| content(path, None, "It is not UTF-8 text."))
}
