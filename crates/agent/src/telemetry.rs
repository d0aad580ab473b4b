//! What happens in a session as lines of JSON in a file, where the user wants that.
//!
//! Names of events and fields are those of Gemini CLI's telemetry. What the user's prompts and
//! files say is written only where that is asked for, too.

use super::call::{CallState, ToolCall, ToolCallDecision};
use super::clock::{Clock, iso, millis};
use super::event::{Event, Observer};
use gemini_tools_core::tool::{ErrorKind, ModelCall};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The variable that names the file.
pub const FILE_VARIABLE: &str = "GEMINI_TELEMETRY_OUTFILE";

/// The variable that allows prompts and arguments in it.
pub const PROMPTS_VARIABLE: &str = "GEMINI_TELEMETRY_LOG_PROMPTS";

/// The variable that turns it off again.
const ENABLED_VARIABLE: &str = "GEMINI_TELEMETRY_ENABLED";

/// Maximum characters of an error's first line that are written where arguments are not: an
/// error may hold what a command has printed.
const ERROR_CHARS: usize = 200;

/// Which telemetry the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// The file.
    pub path: PathBuf,
    /// Whether it may hold prompts and arguments.
    pub has_prompts: bool,
}

impl TelemetryConfig {
    /// What the environment says; nothing where no telemetry is wanted.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let is = |name: &str, values: [&str; 2]| {
            variable(name).is_some_and(|value| values.iter().any(|v| value == *v))
        };
        let path = variable(FILE_VARIABLE).filter(|path| !path.is_empty())?;
        let is_off = is(ENABLED_VARIABLE, ["false", "0"]);
        (!is_off).then(|| Self {
            path: path.into(),
            has_prompts: is(PROMPTS_VARIABLE, ["true", "1"]),
        })
    }
}

/// Writes events to a file. Where that fails, `warn` is told once.
pub struct Telemetry<F> {
    config: TelemetryConfig,
    file: Option<File>,
    warn: F,
    has_warned: bool,
    session: String,
    model: String,
    prompt: String,
    now: Clock,
}

impl<F> fmt::Debug for Telemetry<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "event.name")]
    name: &'static str,
    #[serde(rename = "event.timestamp")]
    timestamp: String,
    #[serde(rename = "session.id")]
    session: &'a str,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Fields<'a> {
    UserPrompt {
        prompt_length: usize,
        prompt_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<&'a str>,
    },
    ApiRequest {
        model: &'a str,
        prompt_id: &'a str,
    },
    ApiResponse {
        model: &'a str,
        status_code: u16,
        duration_ms: u64,
        input_token_count: u64,
        output_token_count: u64,
        cached_content_token_count: u64,
        thoughts_token_count: u64,
        tool_token_count: u64,
        total_token_count: u64,
        prompt_id: &'a str,
    },
    ApiError {
        model: &'a str,
        error: &'a str,
        error_type: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        status_code: Option<u16>,
        duration_ms: u64,
        prompt_id: &'a str,
    },
    ToolCall(Box<CallFields<'a>>),
}

#[derive(Serialize)]
struct CallFields<'a> {
    function_name: &'a str,
    /// JSON in a string, as Gemini CLI has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    function_args: Option<String>,
    duration_ms: u64,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<ToolCallDecision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<ErrorKind>,
    prompt_id: &'a str,
    tool_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_server_name: Option<&'a str>,
    content_length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
}

impl Fields<'_> {
    fn name(&self) -> &'static str {
        match self {
            Fields::UserPrompt { .. } => "gemini_cli.user_prompt",
            Fields::ApiRequest { .. } => "gemini_cli.api_request",
            Fields::ApiResponse { .. } => "gemini_cli.api_response",
            Fields::ApiError { .. } => "gemini_cli.api_error",
            Fields::ToolCall(_) => "gemini_cli.tool_call",
        }
    }
}

/// A length as JavaScript counts it.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Opens the file for appending. A pipe without a reader, and a device that is not ready, are
/// errors, and are not waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?;
    Ok(File::from(file))
}

impl<F: FnMut(&str)> Telemetry<F> {
    /// Opens the file, which is made for its owner only where there is none.
    pub fn new(config: TelemetryConfig, warn: F) -> Self {
        let mut own = Self {
            file: None,
            warn,
            has_warned: false,
            session: String::new(),
            model: String::new(),
            prompt: String::new(),
            now: SystemTime::now,
            config,
        };
        match open(&own.config.path) {
            Ok(file) => own.file = Some(file),
            Err(e) => own.trouble(&e),
        }
        own
    }

    fn trouble(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.has_warned, true) {
            let path = self.config.path.display();
            (self.warn)(&format!(
                "The telemetry of this session is not complete: {path} can't be written: {error}."
            ));
        }
    }

    fn write(&mut self, fields: Fields<'_>) {
        self.write_at((self.now)(), fields);
    }

    fn write_at(&mut self, time: SystemTime, fields: Fields<'_>) {
        let Some(mut file) = self.file.as_ref() else {
            return;
        };
        let line = Line {
            name: fields.name(),
            timestamp: iso(time),
            session: &self.session,
            fields,
        };
        let Ok(mut line) = serde_json::to_vec(&line) else {
            return;
        };
        line.push(b'\n');
        // At once, so that lines of several sessions in one file stay whole.
        let written = loop {
            match file.write(&line) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match written {
            Ok(n) if n == line.len() => {}
            // What follows would be in the rest of a line.
            Ok(_) => {
                self.file = None;
                self.trouble(&Errno::NOSPC.into());
            }
            // A pipe is full, but may be read on.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.trouble(&e),
            Err(e) => {
                self.file = None;
                self.trouble(&e);
            }
        }
    }

    fn model_call(&mut self, call: &ModelCall) {
        let prompt = self.prompt.clone();
        let (model, prompt_id) = (&*call.model, &*prompt);
        let sent = (self.now)() - Duration::from_millis(call.duration_ms);
        self.write_at(sent, Fields::ApiRequest { model, prompt_id });
        let tokens = &call.tokens;
        self.write(match &call.error {
            None => Fields::ApiResponse {
                model,
                status_code: 200,
                duration_ms: call.duration_ms,
                input_token_count: tokens.prompt,
                output_token_count: tokens.candidates,
                cached_content_token_count: tokens.cached,
                thoughts_token_count: tokens.thoughts,
                tool_token_count: tokens.tool,
                total_token_count: tokens.total,
                prompt_id,
            },
            Some(error) => Fields::ApiError {
                model,
                error: &error.message,
                error_type: &error.kind,
                status_code: error.status,
                duration_ms: call.duration_ms,
                prompt_id,
            },
        });
    }

    fn call(&mut self, call: &ToolCall) {
        let request = &call.request;
        let Some(outcome) = call.outcome() else {
            return;
        };
        let error_type = outcome.error.as_ref().and_then(|error| error.kind);
        let has_prompts = self.config.has_prompts;
        let shown = |message: &str| {
            if has_prompts {
                return message.to_owned();
            }
            let line = message.lines().next().unwrap_or_default();
            line.chars().take(ERROR_CHARS).collect()
        };
        let prompt = self.prompt.clone();
        self.write(Fields::ToolCall(Box::new(CallFields {
            function_name: &request.name,
            function_args: has_prompts
                .then(|| serde_json::to_string(&request.args).unwrap_or_default()),
            duration_ms: millis(call.duration),
            success: matches!(call.state(), CallState::Success(_)),
            decision: call.decision,
            error: outcome.error.as_ref().map(|error| shown(&error.message)),
            error_type,
            prompt_id: &prompt,
            tool_type: if call.server.is_some() {
                "mcp"
            } else {
                "native"
            },
            mcp_server_name: call.server.as_deref(),
            content_length: length(&outcome.text),
            metadata: outcome.diff_stat.as_ref().and_then(Value::as_object),
        })));
    }
}

impl<F: FnMut(&str) + Send> Observer for Telemetry<F> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { session, model } => {
                (*session).clone_into(&mut self.session);
                (*model).clone_into(&mut self.model);
            }
            Event::Prompt { id, text } => {
                (*id).clone_into(&mut self.prompt);
                let prompt = self.config.has_prompts.then_some(*text);
                self.write(Fields::UserPrompt {
                    prompt_length: length(text),
                    prompt_id: id,
                    prompt,
                });
            }
            Event::Request { prompt_id, .. } => (*prompt_id).clone_into(&mut self.prompt),
            Event::ModelCall(call) => self.model_call(call),
            Event::Call(call) => self.call(call),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Telemetry, TelemetryConfig};
    use crate::call::CallOutcome;
    use crate::event::{Event, Observer};
    use crate::output::testing::{
        PROMPT, STARTED, begun, done, edit, failed, model_call, refused_call, still, turn,
    };
    use crate::thought::Thought;
    use rustix::fs::{Mode, OFlags};
    use serde_json::{Value, json};
    use std::collections::HashMap;
    use std::ffi::OsString;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn record(path: &Path, has_prompts: bool, events: &[Event<'_>]) -> Vec<String> {
        let mut warnings = Vec::new();
        let config = TelemetryConfig {
            path: path.to_owned(),
            has_prompts,
        };
        let mut telemetry =
            Telemetry::new(config, |warning: &str| warnings.push(warning.to_owned()));
        telemetry.now = still;
        for event in events {
            telemetry.take(event);
        }
        drop(telemetry);
        warnings
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).expect("a file");
        assert!(text.ends_with('\n'));
        let line = |line: &str| serde_json::from_str(line).expect("a line of JSON");
        text.lines().map(line).collect()
    }

    /// The two requests of these tests took a second.
    fn a_second_before(mut line: Value) -> Value {
        line["event.timestamp"] = "2026-01-31T08:09:09.123Z".into();
        line
    }

    fn with_common(name: &str, mut fields: Value) -> Value {
        fields["event.name"] = format!("gemini_cli.{name}").into();
        fields["event.timestamp"] = "2026-01-31T08:09:10.123Z".into();
        fields["session.id"] = "s-1".into();
        fields
    }

    #[test]
    fn events_have_the_fields_of_gemini_cli() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("t.jsonl");
        let (answered, refused) = (model_call(), refused_call());
        let calls = [
            done("replace", json!({"file_path": "ä"}), edit()),
            failed("read_file", json!({}), "gone\nwith more"),
        ];
        let events = [
            STARTED,
            PROMPT,
            turn(1),
            Event::Text("hidden"),
            Event::ModelCall(&answered),
            Event::Call(&begun("replace", json!({}))),
            Event::Call(&calls[0]),
            Event::Call(&calls[1]),
            turn(2),
            Event::ModelCall(&refused),
        ];
        assert!(record(&path, true, &events).is_empty());
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let request = json!({ "model": "gemini-x", "prompt_id": "p-1" });
        let expected = [
            with_common(
                "user_prompt",
                json!({ "prompt_length": 8, "prompt_id": "p-1", "prompt": "Häng an!" }),
            ),
            a_second_before(with_common("api_request", request.clone())),
            with_common(
                "api_response",
                json!({
                    "model": "gemini-x", "status_code": 200, "duration_ms": 1000,
                    "input_token_count": 100, "output_token_count": 20,
                    "cached_content_token_count": 60, "thoughts_token_count": 10,
                    "tool_token_count": 0, "total_token_count": 130, "prompt_id": "p-1",
                }),
            ),
            with_common(
                "tool_call",
                json!({
                    "function_name": "replace", "function_args": "{\"file_path\":\"ä\"}",
                    "duration_ms": 12, "success": true, "decision": "auto_accept",
                    "prompt_id": "p-1", "tool_type": "native", "content_length": 7,
                    "metadata": {
                        "ai_added_lines": 2, "ai_removed_lines": 1,
                        "user_added_lines": 0, "user_removed_lines": 0,
                    },
                }),
            ),
            with_common(
                "tool_call",
                json!({
                    "function_name": "read_file", "function_args": "{}", "duration_ms": 12,
                    "success": false, "error": "gone\nwith more",
                    "error_type": "file_not_found", "prompt_id": "p-1",
                    "tool_type": "native", "content_length": 14,
                }),
            ),
            a_second_before(with_common("api_request", request)),
            with_common(
                "api_error",
                json!({
                    "model": "gemini-x", "error": "The Gemini API answered 500.",
                    "error_type": "Server", "status_code": 500, "duration_ms": 1000,
                    "prompt_id": "p-1",
                }),
            ),
        ];
        let written = lines(&path);
        for (written, expected) in written.iter().zip(&expected) {
            assert_eq!(written, expected);
        }
        assert_eq!(written.len(), expected.len());
        // A second session comes after it.
        record(&path, true, &events[..2]);
        assert_eq!(lines(&path).len(), expected.len() + 1);
    }

    #[test]
    fn without_leave_nothing_of_prompts_and_files_is_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("t.jsonl");
        let output = CallOutcome {
            diff: Some("+secret".to_owned()),
            text: "secret".to_owned(),
            ..CallOutcome::default()
        };
        let calls = [
            done("write_file", json!({"content": "secret"}), output),
            failed("x", json!({"content": "secret"}), "It has failed:\nsecret"),
        ];
        let events = [
            STARTED,
            Event::Prompt {
                id: "p-1",
                text: "secret",
            },
            Event::Text("secret"),
            Event::ThoughtPiece("secret"),
            Event::Thought(&Thought::parse("**secret** secret")),
            Event::Call(&calls[0]),
            Event::Live {
                id: "x",
                text: "secret",
            },
            Event::Call(&calls[1]),
        ];
        record(&path, false, &events);
        let written = lines(&path);
        assert_eq!(written.len(), 3);
        assert_eq!(written[2]["error"], "It has failed:");
        for line in written {
            assert!(!line.to_string().contains("secret"), "{line}");
            assert!(line.get("function_args").is_none(), "{line}");
        }
    }

    #[test]
    fn a_call_of_an_mcp_server_is_told_apart() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("t.jsonl");
        // Whatever the name looks like, and whether a person was asked or not.
        let of = |name: &str, server: Option<&str>| {
            let mut call = done(name, json!({}), CallOutcome::default());
            call.server = server.map(str::to_owned);
            call
        };
        let calls = [
            of("my_server__t", Some("my server")),
            of("mine__t", None),
            of("read_file", None),
        ];
        let events: Vec<_> = calls.iter().map(Event::Call).collect();
        record(&path, false, &events);
        let native = json!(["native", null]);
        let told: Vec<_> = lines(&path)
            .iter()
            .map(|line| json!([line["tool_type"], line["mcp_server_name"]]))
            .collect();
        assert_eq!(told, [json!(["mcp", "my server"]), native.clone(), native]);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_one_warning() {
        let directory = tempfile::tempdir().expect("a directory");
        let fifo = directory.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo").success());
        let cases = [directory.path(), Path::new("/dev/full"), fifo.as_path()];
        for path in cases {
            let warnings = record(path, true, &[STARTED, PROMPT, turn(1)]);
            assert_eq!(warnings.len(), 1, "{}", path.display());
            assert!(warnings[0].contains(&path.display().to_string()));
        }
    }

    #[test]
    fn a_pipe_that_is_read_gets_the_lines_and_is_never_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let fifo = directory.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo").success());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let reader = rustix::fs::open(&fifo, flags, Mode::empty()).expect("opened");
        let text = "x".repeat(1000);
        let prompts: Vec<Event<'_>> = (0..200)
            .map(|_| Event::Prompt {
                id: "p",
                text: &text,
            })
            .collect();
        let warnings = record(&fifo, true, &prompts);
        assert_eq!(warnings.len(), 1);
        let mut read = String::new();
        std::fs::File::from(reader)
            .read_to_string(&mut read)
            .expect("read");
        let is_whole = |line: &str| serde_json::from_str::<Value>(line).is_ok();
        assert!(read.lines().count() > 10 && read.lines().all(is_whole));
    }

    #[test]
    fn it_is_off_unless_asked_for() {
        let config = |variables: &[(&str, &str)]| {
            let variables: HashMap<&str, &str> = variables.iter().copied().collect();
            TelemetryConfig::read(|name| variables.get(name).map(OsString::from))
        };
        let file = ("GEMINI_TELEMETRY_OUTFILE", "/t");
        let is_on = |has_prompts| {
            Some(TelemetryConfig {
                path: "/t".into(),
                has_prompts,
            })
        };
        assert_eq!(config(&[]), None);
        assert_eq!(config(&[("GEMINI_TELEMETRY_OUTFILE", "")]), None);
        assert_eq!(config(&[file, ("GEMINI_TELEMETRY_ENABLED", "false")]), None);
        assert_eq!(
            config(&[file, ("GEMINI_TELEMETRY_ENABLED", "1")]),
            is_on(false)
        );
        for (value, has_prompts) in [("true", true), ("1", true), ("yes", false), ("0", false)] {
            let prompts = ("GEMINI_TELEMETRY_LOG_PROMPTS", value);
            assert_eq!(config(&[file, prompts]), is_on(has_prompts), "{value}");
        }
    }
}
