//! Judges the result of a call command by Gemini CLI's rules: the call has succeeded if the program
//! exits with 0 and writes nothing to standard error.

use super::output::read_part;
use gemini_tools_core::json;
use gemini_tools_core::message::{FunctionResponse, Part};
use gemini_tools_core::tool::ResultError;
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::signal_name;
use serde_json::Value;

/// What a program's output means.
#[derive(Debug)]
pub enum ParsedOutput {
    /// A `functionResponse`, whether of success or failure.
    Answer(Box<FunctionResponse>),
    /// The output itself is the result.
    Text(String),
    /// A failure, in the form that Gemini CLI gives the model.
    Failure(String),
}

/// Interprets the output of a program that has ended.
pub fn parse(stdout: &[u8], stderr: &[u8], ending: Option<ProcessEnd>) -> ParsedOutput {
    let stdout = String::from_utf8_lossy(stdout);
    let is_silent = stderr.is_empty();
    let is_success = is_silent && ending == Some(ProcessEnd::Code(0));
    let tells_an_error = |answer: &FunctionResponse| answer.response.get("error").is_some();
    match unwrap(&stdout) {
        Some(answer) if is_success || is_silent && tells_an_error(&answer) => {
            ParsedOutput::Answer(Box::new(answer))
        }
        _ if is_success => ParsedOutput::Text(stdout.into_owned()),
        _ => ParsedOutput::Failure(five_lines(&stdout, stderr, "", ending)),
    }
}

/// Returns a response's text for the model, and the error if it is a failure.
pub fn message_of(answer: &FunctionResponse) -> (String, Option<ResultError>) {
    let response = &answer.response;
    let text_at = |key: &str| response.get(key).and_then(Value::as_str).map(str::to_owned);
    let Some(error) = response.get("error") else {
        return (
            text_at("output").unwrap_or_else(|| response.to_string()),
            None,
        );
    };
    let message = text_at("error").unwrap_or_else(|| error.to_string());
    let kind = response
        .get("errorType")
        .and_then(|kind| serde_json::from_value(kind.clone()).ok());
    (message.clone(), Some(ResultError { message, kind }))
}

/// Reads a `functionResponse`. Returns `None` if the API would refuse it as a message, and with it
/// every further request of the session: the response must be an object, and its parts media or
/// text.
fn unwrap(stdout: &str) -> Option<FunctionResponse> {
    let mut value: Value = json::read(stdout.as_bytes()).ok()?;
    let answer = value.get_mut("functionResponse")?;
    let parts = answer.as_object_mut()?.remove("parts");
    let mut answer: FunctionResponse = serde_json::from_value(answer.take()).ok()?;
    let parts: Vec<Value> =
        parts.map_or(Some(Vec::new()), |own| serde_json::from_value(own).ok())?;
    let parts = parts.into_iter().map(|part| read_part(part, "parts").ok());
    answer.parts = parts.collect::<Option<_>>()?;
    answer.parts.retain(|part| *part != Part::text(""));
    answer.response.is_object().then_some(answer)
}

/// Formats the failure of a program that could not be started.
pub fn not_started(error: &str) -> String {
    five_lines("", b"", error, None)
}

/// Formats a failure in five lines, exactly as Gemini CLI does, since models know that form.
fn five_lines(stdout: &str, stderr: &[u8], error: &str, ending: Option<ProcessEnd>) -> String {
    let or = |text: &str, otherwise: &str| match text {
        "" => otherwise.to_owned(),
        text => text.to_owned(),
    };
    let none = || "(none)".to_owned();
    let (code, signal) = match ending {
        Some(ProcessEnd::Code(code)) => (code.to_string(), none()),
        Some(ProcessEnd::Signal(signal)) => (none(), signal_name(signal)),
        None => (none(), none()),
    };
    format!(
        "Stdout: {}\nStderr: {}\nError: {}\nExit Code: {code}\nSignal: {signal}",
        or(stdout, "(empty)"),
        or(&String::from_utf8_lossy(stderr), "(empty)"),
        or(error, "(none)"),
    )
}
