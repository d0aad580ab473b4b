//! A session's file, from which it can be resumed after it was interrupted in any way.
//!
//! The file has one JSON value per line. The calls of a turn are written before any of them runs,
//! and each result when its call has ended. A process that resumes the session therefore knows
//! which calls may have taken effect without leaving a result, and does not repeat them.

use super::call::{CallOutcome, CallRequest};
use gemini_tools_core::message::Content;
use gemini_tools_core::text::visible;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const VERSION: u32 = 1;

/// How often, and with what pause, locking a file is retried. After a crash the lock is briefly
/// held by the dying process, or by a child that was forked but has not yet called exec.
const LOCK_TRIES: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// A line of a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The first line of the file.
    Session {
        /// The version of the file's format.
        version: u32,
        /// The session's id.
        id: String,
        /// The model that is asked.
        model: String,
    },
    /// A message of the history.
    Content {
        /// A prompt, an answer of the model, or the results of calls.
        content: Content,
        /// For a message of the model, the number of tokens of the prompt it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_tokens: Option<u64>,
    },
    /// The calls of the preceding message, which are about to run.
    Calls {
        /// The calls, with the ids that their results refer to.
        requests: Vec<CallRequest>,
    },
    /// A call has ended.
    Done {
        /// The place of the call among the calls of its message, because the model may give several
        /// the same id.
        place: usize,
        /// The outcome of the call.
        outcome: CallOutcome,
    },
    /// The history was replaced, by compression.
    History {
        /// The new history.
        contents: Vec<Content>,
        /// The number of tokens of a prompt with this history.
        #[serde(default)]
        prompt_tokens: u64,
    },
}

/// The file to which a session is written.
#[derive(Debug)]
pub struct SessionRecord {
    file: File,
    path: PathBuf,
    /// The length of all complete lines, in bytes. The file is truncated to it if a line was
    /// written only in part.
    whole: u64,
    is_broken: bool,
    failure: Option<io::Error>,
    /// Set if the session should go on when the file can't be written. The file is then deleted,
    /// because a process that resumed from it would repeat what is missing.
    pub best_effort: bool,
}

/// A session as read from its file.
#[derive(Debug, Default)]
pub struct StoredSession {
    /// The session's id.
    pub id: String,
    /// The messages so far.
    pub contents: Vec<Content>,
    /// Calls of the last message that are not answered yet.
    pub open: Vec<OpenCall>,
    /// The number of tokens of the last prompt; 0 if unknown.
    pub prompt_tokens: u64,
}

/// A call whose result is not in the history.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCall {
    /// The request.
    pub request: CallRequest,
    /// The outcome, if the call had ended.
    pub outcome: Option<CallOutcome>,
}

impl SessionRecord {
    /// Opens the file, which must be empty or not exist, and writes the first line. A new file can
    /// be read by its owner only.
    ///
    /// # Errors
    ///
    /// Returns a message if the file can't be written, or contains something already.
    pub fn create(path: &Path, id: &str, model: &str) -> Result<Self, String> {
        let file = open(path, OFlags::CREATE | OFlags::WRONLY).map_err(|e| fail(path, &e))?;
        if file.metadata().is_ok_and(|meta| meta.len() > 0) {
            let reason = "it holds a session already; go on with it by --resume, or name another";
            return Err(fail(path, &reason));
        }
        let mut own = Self::new(file, path, 0);
        own.begin(id, model)?;
        Ok(own)
    }

    /// Reads a file, and opens it for further lines. If it is empty, because the session was killed
    /// before it began, a session with this id is started.
    ///
    /// # Errors
    ///
    /// Returns a message if the file can't be read or is not a session. An incomplete last line
    /// after complete ones is not an error; it is removed.
    pub fn resume(path: &Path, id: &str, model: &str) -> Result<(Self, StoredSession), String> {
        let file = open(path, OFlags::RDWR).map_err(|e| fail(path, &e))?;
        let unusable =
            |reason: String| format!("{} is not a session file: {reason}.", path.display());
        let mut session = StoredSession::default();
        let mut whole = 0_u64;
        let mut lines = BufReader::new(&file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let n = lines.read_until(b'\n', &mut line);
            let n = n.map_err(|e| fail(path, &e))?;
            match (line.last(), number) {
                (Some(b'\n'), _) => {}
                (None, 1) => {
                    let mut own = Self::new(file, path, 0);
                    own.begin(id, model)?;
                    return Ok((own, StoredSession::new(id)));
                }
                (Some(_), 1) => return Err(unusable("it has no whole line".to_owned())),
                _ => break,
            }
            let parsed = gemini_tools_core::json::read_unlimited(&line);
            let parsed = parsed.map_err(|e| unusable(e.in_line(number).to_string()))?;
            if number == 1 && !matches!(parsed, Line::Session { .. }) {
                return Err(unusable(
                    "its first line is not that of a session".to_owned(),
                ));
            }
            session.take(parsed).map_err(unusable)?;
            whole += n as u64;
        }
        session.drop_unrecorded_calls();
        file.set_len(whole).map_err(|e| fail(path, &e))?;
        Ok((Self::new(file, path, whole), session))
    }

    fn new(file: File, path: &Path, whole: u64) -> Self {
        Self {
            file,
            path: path.to_owned(),
            whole,
            is_broken: false,
            failure: None,
            best_effort: false,
        }
    }

    fn begin(&mut self, id: &str, model: &str) -> Result<(), String> {
        self.write(&Line::Session {
            version: VERSION,
            id: id.to_owned(),
            model: model.to_owned(),
        });
        self.check()
    }

    /// Appends a line, in a single write. A failure is reported by [`SessionRecord::check`], and
    /// nothing is written after it: a line after a gap would mislead the process that resumes the
    /// session.
    pub fn write(&mut self, line: &Line) {
        if self.is_broken {
            return;
        }
        let written = serde_json::to_vec(line)
            .map_err(io::Error::from)
            .and_then(|mut bytes| {
                bytes.push(b'\n');
                self.file.write_all(&bytes)?;
                Ok(bytes.len() as u64)
            });
        match written {
            Ok(n) => self.whole += n,
            Err(e) => {
                self.is_broken = true;
                self.failure = Some(e);
                // If this fails too, the partial line is cut off when the session is resumed.
                let _ = self.file.set_len(self.whole);
                if self.best_effort {
                    let _ = std::fs::remove_file(&self.path);
                }
            }
        }
    }

    /// Reports a line that could not be written. Each failure is reported once.
    ///
    /// # Errors
    ///
    /// Returns a message about the failure, unless [`SessionRecord::best_effort`] is set.
    pub fn check(&mut self) -> Result<(), String> {
        match self.failure.take() {
            Some(reason) if !self.best_effort => Err(fail(&self.path, &reason)),
            _ => Ok(()),
        }
    }
}

/// Opens a file for appending. A new one can be read by its owner only. It never blocks: a FIFO
/// without a reader is an error instead.
pub(crate) fn open_private(path: &Path, flags: OFlags) -> io::Result<File> {
    let always = OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags | always, Mode::from_raw_mode(0o600))?;
    Ok(File::from(file))
}

pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let file = open_private(path, flags)?;
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err(io::Error::other("it is not a regular file"));
    }
    // Two processes that resume the same file would repeat the same calls. The lock is released
    // when the process ends, however it does. A file system without locks is not a reason to fail.
    let is_taken =
        || flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    for _ in 0..LOCK_TRIES {
        if !is_taken() {
            return Ok(file);
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Err(io::Error::other(
        "another run_agent is at work on it; wait for its end, or end it",
    ))
}

/// Returns the command that goes on with the session in this file; with `None`, that of the newest
/// session.
pub fn command_to_go_on(path: Option<&Path>) -> String {
    let Some(path) = path else {
        return "run_agent --continue".to_owned();
    };
    let path = path.to_string_lossy();
    let path = visible(&path);
    // Only a NUL, which no visible text has, can't be quoted.
    let path = shlex::try_quote(&path).unwrap_or_default();
    format!("run_agent --resume {path}")
}

fn fail(path: &Path, reason: &dyn std::fmt::Display) -> String {
    format!("The session file {}: {reason}.", path.display())
}

impl StoredSession {
    /// Creates an empty session.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    fn take(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Session { version, .. } if version != VERSION => {
                return Err(format!("its form has version {version}, not {VERSION}"));
            }
            Line::Session { id, .. } => self.id = id,
            Line::Content {
                content,
                prompt_tokens,
            } => {
                self.prompt_tokens = prompt_tokens.unwrap_or(self.prompt_tokens);
                self.drop_unrecorded_calls();
                if content.role == "user" {
                    self.open.clear();
                }
                self.contents.push(content);
            }
            Line::Calls { requests } => {
                let requests = requests.into_iter();
                let open = requests.map(|request| OpenCall {
                    request,
                    outcome: None,
                });
                self.open = open.collect();
            }
            Line::Done { place, outcome } => {
                if let Some(call) = self.open.get_mut(place) {
                    call.outcome = Some(outcome);
                }
            }
            Line::History {
                contents,
                prompt_tokens,
            } => {
                self.contents = contents;
                self.prompt_tokens = prompt_tokens;
            }
        }
        Ok(())
    }

    /// Removes the model's last message if it contains calls but no record of them follows. The
    /// process stopped before any of them could run, so the model is asked again.
    fn drop_unrecorded_calls(&mut self) {
        let has_calls = |content: &Content| content.parts.iter().any(|p| p.function_call.is_some());
        let is_unrecorded = |last: &mut Content| last.role == "model" && has_calls(last);
        if self.open.is_empty() {
            self.contents.pop_if(is_unrecorded);
        }
    }
}

#[cfg(test)]
mod tests;
