//! Records a run as a script, turn by turn.
//!
//! A turn is written as one line, in a single write, after its calls have ended. A run that is
//! killed therefore leaves only complete turns.

use super::places::ScriptPlaces;
use super::{Call, Expectation, Fault, Turn, fail};
use crate::call::ToolCall;
use crate::event::SessionEvent;
use crate::{record, turn};
use gemini_tools_net::gemini_api::{ApiError, ApiErrorKind};
use rustix::fs::OFlags;
use serde::Serialize;
use serde_json::Map;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const HEADER: &str = "# Recorded by run_agent --record, for run_agent --model-script.";

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

const BAD_REQUEST: u16 = 400;
const UNAUTHORIZED: u16 = 401;

/// A script that is being written.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    path: PathBuf,
    places: ScriptPlaces,
    current: Turn,
    pending: Vec<Turn>,
    /// Set when a write has failed. Nothing is written after it, because a script with a turn
    /// missing would play a different conversation.
    is_broken: bool,
}

impl Recorder {
    /// Creates the file with the model and the prompt. A new file is readable by its owner only. An
    /// existing recording is overwritten. `hide` removes the credential from a text.
    ///
    /// # Errors
    ///
    /// Returns a message if the file can't be written, or contains something else than a recording.
    pub fn create(
        path: &Path,
        places: ScriptPlaces,
        model: &str,
        prompt: &str,
        hide: &dyn Fn(&str) -> String,
    ) -> Result<Self, String> {
        let fail = |reason: io::Error| fail(path, &reason);
        let mut file = record::open(path, OFlags::CREATE | OFlags::RDWR).map_err(fail)?;
        let mut start = Vec::new();
        let length = HEADER.len() as u64;
        (&file).take(length).read_to_end(&mut start).map_err(fail)?;
        if !start.is_empty() && start != HEADER.as_bytes() {
            let reason = "it holds something else than a recorded script; name another";
            return Err(fail(io::Error::other(reason)));
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(fail)?;
        let mut own = Self {
            file,
            path: path.to_owned(),
            places,
            current: Turn::default(),
            pending: Vec::new(),
            is_broken: false,
        };
        let (model, prompt) = (line(model), line(&own.safe(prompt, hide)));
        own.write(&format!(
            "{HEADER}\nmodel: {model}\nprompt: {prompt}\nturns:\n"
        ))?;
        Ok(own)
    }

    /// Records the model's turns, and requests that failed. Other events are ignored.
    pub fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Text(text) => self.current.text.get_or_insert_default().push_str(text),
            SessionEvent::Thought(thought) => {
                let text = self.current.thought.get_or_insert_default();
                text.push_str(&thought.to_string());
            }
            SessionEvent::AttemptFailed { error, wait } => self.failed(error, *wait),
            SessionEvent::Response { turn, .. } => self.answered(turn),
            _ => {}
        }
    }

    fn failed(&mut self, error: &ApiError, wait: Option<Duration>) {
        let mut turn = std::mem::take(&mut self.current);
        if matches!(
            error.kind,
            ApiErrorKind::Cancelled | ApiErrorKind::OutOfTime
        ) {
            return;
        }
        match error.status.filter(|_| error.kind != ApiErrorKind::Broken) {
            Some(status) if turn == Turn::default() => {
                // A script can play only the statuses of refusals. For any other status 400 is
                // recorded, because the session ends with it in the same way.
                let is_refusal = (300..=599).contains(&status);
                turn.status = Some(if is_refusal { status } else { 400 });
                // Only the API's own message is recorded. The client puts a prefix that ends with
                // `: ` before it, and does so again when the script is played.
                let words = error.message.split_once(": ").map(|(_, words)| words);
                turn.message = Some(words.unwrap_or_default().to_owned());
                // `retry_after` is only recorded if it was so long that the run gave up, which a
                // replay should repeat. Shorter waits would just make it slow.
                let asked = error.retry_after.filter(|_| wait.is_none());
                // The status alone does not say that the quota is that of a day.
                let is_daily = error.kind == ApiErrorKind::QuotaExhausted;
                let asked = if is_daily {
                    asked.max(Some(A_DAY))
                } else {
                    asked
                };
                turn.retry_after = asked.map(|asked| asked.as_secs_f64());
            }
            // The stream may have broken after a call and without a text. If it were played as a
            // stream that breaks before anything has come, the client would ask again. So a call
            // that is never run is recorded in place of what came.
            _ if error.kind == ApiErrorKind::Broken => {
                if turn.text.is_none() {
                    let name = "cut_off".to_owned();
                    let (args, expect) = (Map::new(), None);
                    turn.calls.push(Call { name, args, expect });
                }
                turn.fault = Some(Fault::Cut);
            }
            _ if error.kind == ApiErrorKind::BadResponse => turn.fault = Some(Fault::Malformed),
            _ if turn.thought.is_some() => turn.fault = Some(Fault::Cut),
            _ => turn.fault = Some(Fault::Unreachable),
        }
        self.push(turn);
    }

    fn answered(&mut self, answer: &turn::Turn) {
        let mut turn = std::mem::take(&mut self.current);
        let calls = answer.calls.iter().map(|request| Call {
            name: request.name.clone(),
            args: request.args.clone(),
            expect: None,
        });
        turn.calls = calls.collect();
        turn.finish = answer.finish.clone().filter(|finish| finish != "STOP");
        self.push(turn);
    }

    fn push(&mut self, turn: Turn) {
        // If the attempt before was refused for its access token (401) or its length (400), the
        // token was renewed since, or the history shortened. A replay needs neither, so that attempt
        // is dropped.
        self.pending
            .pop_if(|before| matches!(before.status, Some(BAD_REQUEST | UNAUTHORIZED)));
        self.pending.push(turn);
    }

    /// Writes the pending turns, with the results of the last one's calls.
    ///
    /// # Errors
    ///
    /// Returns a message the first time that a line can't be written.
    pub fn write_turns(
        &mut self,
        answered: &[ToolCall],
        hide: &dyn Fn(&str) -> String,
    ) -> Result<(), String> {
        let mut turns = std::mem::take(&mut self.pending);
        if let Some(last) = turns.last_mut() {
            for (call, answered) in last.calls.iter_mut().zip(answered) {
                call.expect = Expectation::of_answer(answered, &self.places, hide);
            }
        }
        for mut turn in turns {
            if turn == Turn::default() {
                turn.text = Some(String::new());
            }
            turn.change_texts(&|text| self.safe(text, hide));
            self.write(&format!("- {}\n", line(&turn)))?;
        }
        Ok(())
    }

    fn safe(&self, text: &str, hide: &dyn Fn(&str) -> String) -> String {
        self.places.named(&hide(text))
    }

    fn write(&mut self, text: &str) -> Result<(), String> {
        if self.is_broken {
            return Ok(());
        }
        self.file.write_all(text.as_bytes()).map_err(|reason| {
            self.is_broken = true;
            fail(&self.path, &reason)
        })
    }
}

/// Formats a value as one line that is both JSON and YAML. YAML forbids some characters that JSON
/// allows unescaped, so those are escaped.
fn line(value: &(impl Serialize + ?Sized)) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    let mut own = String::with_capacity(json.len());
    for c in json.chars() {
        let is_plain = !c.is_control()
            && !matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            );
        if is_plain {
            own.push(c);
        } else {
            own.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    own
}
