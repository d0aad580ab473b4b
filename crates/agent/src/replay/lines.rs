//! The form of a recording, and who writes one.
//!
//! A recording is JSON lines. The first says what it is; then come, in the order of the run, what
//! of a request tells it from others, each answer of the API to it, and what each tool has
//! answered. Each line is added in one write when what it says has happened, so that a run that is
//! killed leaves whole lines.

use super::compare;
use super::places::{Places, each_text, each_text_of};
use super::{Entry, RecordedCall, RecordedOutcome, RecordedPrompt, Recording, RecordingError};
use super::{Source, content};
use crate::call::ToolCall;
use crate::record;
use gemini_tools_core::message::Content;
use gemini_tools_core::secrets::Secrets;
use gemini_tools_net::gemini_api::RecordedAnswer;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The version of the form.
const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// The first one.
    Recording {
        version: u32,
        model: String,
        prompt: String,
    },
    /// The model is asked: after `earlier` messages, with these new ones.
    Request {
        earlier: usize,
        new: Vec<Said>,
        tools: usize,
    },
    /// What the API has answered, or a failure.
    Response(RecordedAnswer),
    /// What a tool has answered.
    Answer {
        name: String,
        args: Map<String, Value>,
        state: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_type: Option<String>,
        parts: Vec<Value>,
    },
    /// The run is over; by an error of this name, where it failed.
    End {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// A message of a request, without what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Said {
    role: String,
    /// The sort of each part, with the name of a function.
    parts: Vec<String>,
}

impl Said {
    fn new(said: &Content) -> Self {
        let sort = |value: &Value| {
            let of = |key: &str| value[key]["name"].as_str().unwrap_or_default().to_owned();
            match value.as_object().and_then(|part| part.keys().next()) {
                Some(_) if value["functionCall"].is_object() => {
                    format!("functionCall {}", of("functionCall"))
                }
                Some(_) if value["functionResponse"].is_object() => {
                    format!("functionResponse {}", of("functionResponse"))
                }
                Some(key) => key.clone(),
                None => String::new(),
            }
        };
        let parts = said.parts.iter();
        Self {
            role: said.role.clone(),
            parts: parts
                .map(|part| sort(&serde_json::to_value(part).unwrap_or_default()))
                .collect(),
        }
    }
}

/// Which functions a message answers.
pub(crate) fn told(last: Option<&Content>) -> Vec<String> {
    let parts = last.map(|last| last.parts.as_slice()).unwrap_or_default();
    let responses = parts
        .iter()
        .filter_map(|part| part.function_response.as_ref());
    responses.map(|response| response.name.clone()).collect()
}

/// Writes a recording while a run goes on. Copies write to the same file.
#[derive(Debug, Clone)]
pub struct Recorder(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    places: Places,
    secrets: Secrets,
    /// Nothing more is written behind a gap.
    is_broken: bool,
    failure: Option<io::Error>,
}

impl Recorder {
    /// Begins a recording, for its owner's eyes only where the file is new. One that is there is
    /// replaced. `prompt` is what the user says.
    ///
    /// # Errors
    ///
    /// What the system says; a file that holds something else is not overwritten.
    pub fn create(
        path: &Path,
        places: Places,
        model: &str,
        prompt: &str,
    ) -> Result<Self, RecordingError> {
        let fail = |reason: io::Error| RecordingError::File {
            what: "recording",
            path: path.to_owned(),
            reason,
        };
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
        let mut file = record::open(path, flags).map_err(|e| fail(e.into_reason()))?;
        let mut start = Vec::new();
        (&file).take(64).read_to_end(&mut start).map_err(fail)?;
        let is_recording = String::from_utf8_lossy(&start).starts_with(r#"{"type":"recording""#);
        if !start.is_empty() && !is_recording {
            return Err(fail(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it holds something else than a recording; name another",
            )));
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(fail)?;
        let own = Self(Arc::new(Mutex::new(Open {
            file,
            path: path.to_owned(),
            places,
            secrets: Secrets::of_environment(),
            is_broken: false,
            failure: None,
        })));
        own.open().write(&Line::Recording {
            version: VERSION,
            model: model.to_owned(),
            prompt: prompt.to_owned(),
        });
        own.check()?;
        Ok(own)
    }

    /// The model is asked: after `earlier` messages, with these new ones and so many tools.
    pub fn request(&self, earlier: usize, new: &[Content], tools: usize) {
        self.open().write(&Line::Request {
            earlier,
            new: new.iter().map(Said::new).collect(),
            tools,
        });
    }

    /// The API has answered.
    pub fn response(&self, answer: RecordedAnswer) {
        self.open().write(&Line::Response(answer));
    }

    /// A tool has answered; `hide` takes a credential out of a text.
    pub fn call(&self, call: &ToolCall, hide: &dyn Fn(&str) -> String) {
        let Some(outcome) = compare::outcome(call) else {
            return;
        };
        let (mut args, mut parts) = (call.request.args.clone(), outcome.parts);
        each_text_of(&mut args, hide);
        for part in &mut parts {
            each_text(part, hide);
        }
        self.open().write(&Line::Answer {
            name: call.request.name.clone(),
            args,
            state: outcome.state,
            error_type: outcome.error_type,
            parts,
        });
    }

    /// The run is over; by an error of this name, where it failed.
    pub fn end(&self, error: Option<&str>) {
        let error = error.map(str::to_owned);
        self.open().write(&Line::End { error });
    }

    /// Whether all lines were written.
    ///
    /// # Errors
    ///
    /// What the system said about the first that was not.
    pub fn check(&self) -> Result<(), RecordingError> {
        let mut open = self.open();
        match open.failure.take() {
            None => Ok(()),
            Some(reason) => Err(RecordingError::File {
                what: "recording",
                path: open.path.clone(),
                reason,
            }),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn write(&mut self, line: &Line) {
        if self.is_broken {
            return;
        }
        let written = serde_json::to_value(line)
            .map_err(io::Error::from)
            .and_then(|line| {
                let mut bytes = self.safe(line).to_string().into_bytes();
                bytes.push(b'\n');
                self.file.write_all(&bytes)
            });
        if let Err(e) = written {
            self.is_broken = true;
            self.failure = Some(e);
        }
    }

    /// A line without secrets, and with names for the places of this machine. Its type comes
    /// first, for readers.
    fn safe(&self, mut line: Value) -> Ordered {
        each_text(&mut line, &|text| {
            self.secrets.hidden(&self.places.named(text))
        });
        Ordered(line)
    }
}

/// A line whose type is its first field.
struct Ordered(Value);

impl std::fmt::Display for Ordered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = self.0.as_object();
        write!(f, r#"{{"type":{}"#, self.0["type"])?;
        for (key, value) in fields
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "type")
        {
            write!(f, ",{}:{value}", Value::from(key.as_str()))?;
        }
        f.write_str("}")
    }
}

/// Reads a recording. A last line that was cut off is left out.
pub(super) fn read(path: &Path, text: &str) -> Result<Recording, RecordingError> {
    let mut own = Recording {
        source: Source::Recording,
        ..Recording::default()
    };
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let mut told: Option<Vec<String>> = None;
    for (number, line) in whole.lines().enumerate() {
        let number = number + 1;
        let wrong = |reason: String| content(path, Some(number), reason);
        let line: Line = gemini_tools_core::json::read(line.as_bytes())
            .map_err(|e| wrong(format!("It is not a line of a recording: {e}.")))?;
        match line {
            Line::Recording { version, .. } if version != VERSION => {
                return Err(wrong(format!(
                    "The recording's form has version {version}, and this run_agent reads {VERSION}. \
                     Record the run again."
                )));
            }
            Line::Recording { .. } if number > 1 => {
                return Err(wrong(
                    "A second recording begins here. A file holds one; take the other out."
                        .to_owned(),
                ));
            }
            Line::Recording { model, prompt, .. } => {
                own.model = Some(model);
                own.prompts = vec![RecordedPrompt {
                    text: prompt,
                    parts: None,
                }];
            }
            Line::Request { new, .. } => {
                let answered = new.last().into_iter().flat_map(|said| &said.parts);
                let names = answered.filter_map(|part| part.strip_prefix("functionResponse "));
                told = Some(names.map(str::to_owned).collect());
            }
            Line::Response(answer) => own.entries.push(Entry {
                answer,
                told: told.take(),
                calls: Vec::new(),
            }),
            Line::Answer {
                name,
                args,
                state,
                error_type,
                parts,
            } => {
                let Some(entry) = own.entries.last_mut() else {
                    return Err(wrong(format!(
                        "A tool ({name}) answers before the model has asked. Record the run again."
                    )));
                };
                entry.calls.push(RecordedCall {
                    name,
                    args,
                    outcome: Some(RecordedOutcome {
                        state,
                        error_type,
                        parts,
                    }),
                    expect: None,
                });
            }
            Line::End { .. } => own.is_whole = true,
        }
    }
    if own.prompts.is_empty() {
        return Err(content(path, None, "The recording has no whole line."));
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::{Line, Recorder, read};
    use crate::replay::{Places, Recording};
    use gemini_tools_core::message::Content;
    use gemini_tools_net::gemini_api::{ApiMethod, RecordedAnswer};
    use serde_json::json;
    use std::path::Path;

    fn answer() -> RecordedAnswer {
        let mut own = RecordedAnswer::new(ApiMethod::StreamGenerateContent, 200);
        own.chunks = vec![json!({"candidates": [], "say": "in /home/ada/demo"})];
        own
    }

    #[test]
    fn a_recording_that_is_cut_off_anywhere_is_read_up_to_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("r.jsonl");
        let places = Places::new(Path::new("/home/ada/demo"), None, None);
        let recorder =
            Recorder::create(&path, places.clone(), "m", "Look at /home/ada/demo").expect("new");
        recorder.request(0, &[Content::user("x")], 3);
        recorder.response(answer());
        recorder.response(RecordedAnswer {
            retry_after: Some("1".to_owned()),
            body: Some(json!("busy")),
            ..RecordedAnswer::new(ApiMethod::StreamGenerateContent, 429)
        });
        recorder.end(None);
        recorder.check().expect("written");
        drop(recorder);
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(!text.contains("/home/ada"), "{text}");
        assert!(
            text.lines().all(|line| line.starts_with(r#"{"type":""#)),
            "{text}"
        );
        let whole = Recording::read(&path).expect("a recording").at(&places);
        assert!(whole.is_whole);
        assert_eq!(whole.prompts[0].text, "Look at /home/ada/demo");
        assert_eq!(whole.entries[0].answer, answer());
        assert_eq!(whole.entries[0].told, Some(Vec::new()));
        assert_eq!(
            (whole.entries.len(), whole.entries[1].told.clone()),
            (2, None)
        );
        for end in 0..text.len() {
            let lines = text[..end].matches('\n').count();
            match read(&path, &text[..end]) {
                Ok(own) => assert_eq!(own.entries.len(), lines.saturating_sub(2).min(2), "{end}"),
                Err(e) => assert!(lines == 0 && e.to_string().contains("no whole line"), "{e}"),
            }
        }
        // A recording is replaced, and nothing else is.
        Recorder::create(&path, places.clone(), "m", "again").expect("a recording is there");
        assert_eq!(Recording::read(&path).expect("one").entries.len(), 0);
        std::fs::write(&path, "precious").expect("written");
        let e = Recorder::create(&path, places, "m", "x").expect_err("something else");
        assert!(e.to_string().contains("something else"), "{e}");
        assert_eq!(std::fs::read(&path).expect("a file"), b"precious");
    }

    #[test]
    fn wrong_lines_are_named() {
        let path = Path::new("r.jsonl");
        let first = json!({"type": "recording", "version": 1, "model": "m", "prompt": "p"});
        for (text, said) in [
            (
                format!("{first}\n{first}\n"),
                "r.jsonl, line 2: A second recording",
            ),
            (
                format!("{first}\n{{\"type\":\"respone\"}}\n"),
                "line 2: It is not a line",
            ),
            (format!("{first}\nx\n"), "line 2: It is not a line"),
            (first.to_string().replace(":1}", ":9}") + "\n", "version 9"),
            (String::new(), "no whole line"),
        ] {
            let e = read(path, &text).expect_err("wrong");
            assert!(e.to_string().contains(said), "{e}");
        }
        let line = r#"{"type":"answer","name":"t","args":{},"state":"success","parts":[]}"#;
        assert!(serde_json::from_str::<Line>(line).is_ok());
        let e = read(path, &format!("{first}\n{line}\n")).expect_err("too early");
        assert!(e.to_string().contains("before the model has asked"), "{e}");
    }
}
