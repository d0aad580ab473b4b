//! What came back from a call, and the assertions that every answer must satisfy.

use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use std::{io, str};

use serde::Deserialize;
use serde_json::Value;

/// How much of a stream a failure prints.
const EXCERPT_BYTES: usize = 4000;

/// The end of a call.
#[must_use = "an answer that no test looks at tests nothing"]
pub struct Answer {
    pub(super) status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub elapsed: Duration,
    /// Whether the child has read all that it was fed.
    pub(super) input_taken: io::Result<()>,
    pub(super) command: String,
    pub(super) input: Vec<u8>,
    pub(super) tool: Option<String>,
}

/// The document on standard output. Fields that the contract does not name are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    #[serde(rename = "functionResponse")]
    pub function_response: FunctionResponse,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionResponse {
    pub id: Option<String>,
    pub name: String,
    pub response: Response,
    #[serde(default)]
    pub parts: Vec<MediaPart>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Response {
    Output {
        output: String,
    },
    Failure {
        error: String,
        #[serde(rename = "errorType")]
        error_type: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaPart {
    #[serde(rename = "inlineData")]
    pub inline_data: InlineData,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlineData {
    #[serde(rename = "mimeType")]
    pub mime_type: String,
    pub data: String,
}

/// What a tool says when it fails.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    pub error_type: String,
    pub status: i32,
}

impl Answer {
    /// The exit status, or the negated number of the signal that ended the call.
    pub fn status(&self) -> i32 {
        let signal = || self.status.signal().map(|s| -s);
        self.status.code().or_else(signal).expect("an ended call")
    }

    /// Standard output as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        match str::from_utf8(&self.stdout) {
            Ok(text) => text,
            Err(e) => self.fail(&format!("standard output is not UTF-8: {e}")),
        }
    }

    /// Standard output as the one JSON document and newline that it must be.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.text();
        if !text.ends_with('\n') || text.trim_end_matches('\n').len() + 1 != text.len() {
            self.fail("standard output does not end in exactly one newline");
        }
        match serde_json::from_str(text) {
            Ok(value) => value,
            Err(e) => self.fail(&format!("standard output is not one JSON document: {e}")),
        }
    }

    /// The default form of an answer, which names the tool that was called.
    #[track_caller]
    pub fn function_response(&self) -> FunctionResponse {
        let document: Document = match serde_json::from_value(self.json()) {
            Ok(document) => document,
            Err(e) => self.fail(&format!("not the shape of a function response: {e}")),
        };
        if !self.stderr.is_empty() {
            self.fail("standard error is not empty: the host takes that for a failure");
        }
        let response = document.function_response;
        if self
            .tool
            .as_ref()
            .is_some_and(|tool| *tool != response.name)
        {
            self.fail("the answer names another tool");
        }
        response
    }

    /// The text of a success.
    #[track_caller]
    pub fn output(&self) -> String {
        match self.function_response().response {
            Response::Output { output } if self.status() == 0 => output,
            Response::Output { .. } => self.fail("an output, but the exit status is not 0"),
            Response::Failure { .. } => self.fail("expected a success"),
        }
    }

    /// What the tool says about its failure.
    #[track_caller]
    pub fn failure(&self) -> Failure {
        let status = self.status();
        match self.function_response().response {
            Response::Failure { .. } if status <= 0 => {
                self.fail("an error, but no exit status that says so")
            }
            Response::Failure { error, .. } if error.trim().is_empty() => {
                self.fail("an error without a message")
            }
            Response::Failure { error, error_type } => Failure {
                message: error,
                error_type,
                status,
            },
            Response::Output { .. } => self.fail("expected a failure"),
        }
    }

    /// The message of a failure that must have this type and end with this status.
    #[track_caller]
    pub fn error(&self, error_type: &str, status: i32) -> String {
        let failure = self.failure();
        if (failure.error_type.as_str(), failure.status) != (error_type, status) {
            self.fail(&format!("expected {error_type} with exit status {status}"));
        }
        failure.message
    }

    /// Panics with everything that is known about the call.
    #[track_caller]
    pub fn fail(&self, why: &str) -> ! {
        panic!("{why}\n{}", self.shown());
    }

    /// Whether a panic was caught and answered as an error.
    pub(super) fn says_of_a_panic(&self) -> bool {
        memchr::memmem::find(&self.stdout, b"unhandled_exception").is_some()
    }

    /// What is on standard error.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Everything that is known about the call.
    pub fn shown(&self) -> String {
        format!(
            "command: {}\nstdin: {}\nstatus: {}\nstdout: {}\nstderr: {}",
            self.command,
            excerpt(&self.input),
            self.status,
            excerpt(&self.stdout),
            excerpt(&self.stderr),
        )
    }

    /// Asserts that a text has all these pieces in it.
    #[track_caller]
    pub fn must_say(&self, text: &str, pieces: &[&str]) {
        // A terminal's lines are wrapped between words.
        let unwrapped = text.replace("\r\n", " ");
        for piece in pieces {
            if !text.contains(piece) && !unwrapped.contains(piece) {
                self.fail(&format!("{piece:?} is missing in {text:?}"));
            }
        }
    }
}

/// The beginning of a stream, with the length of what is left out.
pub fn excerpt(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(empty)".to_owned();
    }
    let shown = &bytes[..bytes.len().min(EXCERPT_BYTES)];
    let mut text = String::from_utf8_lossy(shown).into_owned();
    if shown.len() < bytes.len() {
        write!(text, "… ({} bytes in all)", bytes.len()).expect("a string takes text");
    }
    text
}
