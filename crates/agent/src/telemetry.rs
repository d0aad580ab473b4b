//! Telemetry: a session's events as lines of JSON in a file, if the user asks for it.
//!
//! The names of events and fields are Gemini CLI's. Prompts, arguments, output and error
//! messages are only included if the user has asked for that as well.

use super::call::ToolCall;
use super::clock::{Clock, iso, millis};
use super::event::{Observer, SessionEvent};
use super::record::open_private;
use gemini_tools_core::tool::ModelCall;
use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The environment variable that names the file for telemetry.
pub const FILE_VARIABLE: &str = "GEMINI_TELEMETRY_OUTFILE";

/// The environment variable that allows prompts, arguments and error messages in that file.
pub const PROMPTS_VARIABLE: &str = "GEMINI_TELEMETRY_LOG_PROMPTS";

const ENABLED_VARIABLE: &str = "GEMINI_TELEMETRY_ENABLED";

/// Writes events to a file. The first failure is reported to `warn`.
#[derive(Debug)]
pub struct Telemetry {
    path: PathBuf,
    has_prompts: bool,
    file: Option<File>,
    warn: fn(&str),
    has_warned: bool,
    session: String,
    prompt: String,
    now: Clock,
}

fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

impl Telemetry {
    /// Opens the file that an environment variable names; returns `None` if telemetry is off. A new
    /// file is readable by its owner only.
    pub fn open(variable: impl Fn(&str) -> Option<OsString>, warn: fn(&str)) -> Option<Self> {
        let is = |name: &str, values: [&str; 2]| {
            variable(name).is_some_and(|value| values.iter().any(|v| value == *v))
        };
        let path = variable(FILE_VARIABLE).filter(|path| !path.is_empty())?;
        if is(ENABLED_VARIABLE, ["false", "0"]) {
            return None;
        }
        let mut own = Self {
            path: path.into(),
            has_prompts: is(PROMPTS_VARIABLE, ["true", "1"]),
            file: None,
            warn,
            has_warned: false,
            session: String::new(),
            prompt: String::new(),
            now: SystemTime::now,
        };
        match open_private(&own.path, OFlags::WRONLY | OFlags::CREATE) {
            Ok(file) => own.file = Some(file),
            Err(e) => own.trouble(&e),
        }
        Some(own)
    }

    fn trouble(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.has_warned, true) {
            let path = self.path.display();
            (self.warn)(&format!(
                "The telemetry of this session is not complete: {path} can't be written: {error}."
            ));
        }
    }

    fn write(&mut self, time: SystemTime, name: &str, mut fields: Value) {
        let Some(file) = &self.file else {
            return;
        };
        fields["event.name"] = format!("gemini_cli.{name}").into();
        fields["event.timestamp"] = iso(time).into();
        fields["session.id"] = self.session.as_str().into();
        if let Some(fields) = fields.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        let line = format!("{fields}\n");
        // The line is written in a single write, so that several sessions can append to one file
        // without mixing their lines.
        match retry_on_intr(|| rustix::io::write(file, line.as_bytes())) {
            Ok(n) if n == line.len() => {}
            // The line was written in part. Further lines would continue it.
            Ok(_) => {
                self.file = None;
                self.trouble(&Errno::NOSPC.into());
            }
            // The pipe is full. Its reader may catch up, so later lines are still tried.
            Err(Errno::AGAIN) => self.trouble(&Errno::AGAIN.into()),
            Err(e) => {
                self.file = None;
                self.trouble(&e.into());
            }
        }
    }

    /// Returns an error's message if the user has permitted it: it may quote arguments, a command's
    /// output or a request.
    fn permitted<'a>(&self, message: &'a str) -> Option<&'a str> {
        Some(message).filter(|_| self.has_prompts)
    }

    fn model_call(&mut self, call: &ModelCall) {
        let (now, prompt_id) = ((self.now)(), self.prompt.clone());
        let sent = now - Duration::from_millis(call.duration_ms);
        let request = json!({ "model": call.model, "prompt_id": prompt_id });
        self.write(sent, "api_request", request);
        let (tokens, error) = (&call.tokens, call.error.as_ref());
        let if_answered = |count: u64| error.is_none().then_some(count);
        let fields = json!({
            "model": call.model,
            "duration_ms": call.duration_ms,
            "prompt_id": prompt_id,
            "status_code": error.map_or(Some(200), |error| error.status),
            "error": error.and_then(|error| self.permitted(&error.message)),
            "error_type": error.map(|error| &error.kind),
            "input_token_count": if_answered(tokens.prompt),
            "output_token_count": if_answered(tokens.candidates),
            "cached_content_token_count": if_answered(tokens.cached),
            "thoughts_token_count": if_answered(tokens.thoughts),
            "tool_token_count": if_answered(tokens.tool),
            "total_token_count": if_answered(tokens.total),
        });
        let name = error.map_or("api_response", |_| "api_error");
        self.write(now, name, fields);
    }

    fn call(&mut self, call: &ToolCall) {
        let request = &call.request;
        let Some(outcome) = call.outcome() else {
            return;
        };
        let has_prompts = self.has_prompts;
        let error = outcome.error.as_ref();
        let message = error.and_then(|error| self.permitted(&error.message));
        // The arguments are a string that contains JSON, as in Gemini CLI's telemetry.
        let args = has_prompts.then(|| Value::from(request.args.clone()).to_string());
        let fields = json!({
            "function_name": request.name,
            "function_args": args,
            "duration_ms": millis(call.duration),
            "success": outcome.error.is_none(),
            "decision": call.decision,
            "error": message,
            "error_type": error.and_then(|error| error.kind),
            "prompt_id": self.prompt,
            "tool_type": if call.server.is_some() { "mcp" } else { "native" },
            "mcp_server_name": call.server,
            "content_length": length(&outcome.text),
            "metadata": outcome.diff_stat,
        });
        self.write((self.now)(), "tool_call", fields);
    }
}

impl Observer for Telemetry {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Started { session, .. } => (*session).clone_into(&mut self.session),
            SessionEvent::Prompt { id, text } => {
                (*id).clone_into(&mut self.prompt);
                let prompt = self.has_prompts.then_some(*text);
                let fields = json!({
                    "prompt_length": length(text), "prompt_id": id, "prompt": prompt,
                });
                self.write((self.now)(), "user_prompt", fields);
            }
            SessionEvent::Request { prompt_id, .. } => (*prompt_id).clone_into(&mut self.prompt),
            SessionEvent::ModelCall(call) => self.model_call(call),
            SessionEvent::Call(call) => self.call(call),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
