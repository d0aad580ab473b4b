//! A run whose model is played.

use super::{Entry, Recording, Source, compare};
use super::{Places, RecordedCall};
use crate::call::ToolCall;
use crate::event::{SessionError, SessionErrorKind};
use gemini_tools_core::secrets::Secrets;
use gemini_tools_net::gemini_api::{ApiError, ApiMethod, GeminiClient, RecordedAnswer};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is played in a run. Copies are at the same place of it.
#[derive(Debug, Clone)]
pub struct Replay(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The file, in words.
    name: String,
    source: Source,
    is_whole: bool,
    left: VecDeque<Entry>,
    /// How many answers were played.
    played: usize,
    /// The calls of the last answer.
    calls: Vec<RecordedCall>,
    /// How many calls were made before these.
    made: usize,
    /// The number of expectations of a script that were met.
    met: usize,
    places: Places,
    secrets: Secrets,
    /// Whether the answers of tools are compared with the recorded ones.
    checks: bool,
}

impl Replay {
    /// Plays a recording at these places. With `checks`, what tools answer must be what was
    /// recorded; what a script expects counts in any case.
    pub fn new(recording: Recording, places: Places, checks: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            name: format!("{} {}", recording.source.name(), recording.name),
            source: recording.source,
            is_whole: recording.is_whole,
            left: recording.entries.into(),
            played: 0,
            calls: Vec::new(),
            made: 0,
            met: 0,
            places,
            secrets: Secrets::of_environment(),
            checks,
        })))
    }

    /// A client that gets the answers. As long as a script says that the model is busy, it is
    /// waited; what was recorded has been waited for.
    pub fn client(&self) -> GeminiClient {
        let waits = self.state().source == Source::Script;
        let own = self.clone();
        GeminiClient::played(Box::new(move |method| own.state().next(method)), waits)
    }

    /// A request begins, whose last message answers these functions.
    ///
    /// # Errors
    ///
    /// Where the recording has another request there.
    pub fn begin(&self, told: &[String]) -> Result<(), SessionError> {
        let mut state = self.state();
        if state.source == Source::Script {
            return Ok(());
        }
        // What is left of the request before was for tries that were not needed this time.
        while state.left.front().is_some_and(|entry| entry.told.is_none()) {
            state.left.pop_front();
        }
        let recorded = state.left.front().and_then(|entry| entry.told.as_ref());
        match recorded {
            Some(recorded) if state.played > 0 && recorded != told => {
                let list = |names: &[String]| match names {
                    [] => "no tool".to_owned(),
                    names => names.join(", "),
                };
                Err(differs(format!(
                    "The run does not fit the {}: the model is told what {} answered, where it was \
                     told in the recorded run what {} answered. Record the run again.",
                    state.name,
                    list(told),
                    list(recorded)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Compares what tools have answered.
    ///
    /// # Errors
    ///
    /// What differs, call by call.
    pub fn check(&self, calls: &[ToolCall]) -> Result<(), SessionError> {
        let mut state = self.state();
        let first = state.made + 1;
        state.made += calls.len();
        let mut differences = Vec::new();
        let mut met = 0;
        let is_named = state.source != Source::Session;
        for (number, (call, recorded)) in calls.iter().zip(&state.calls).enumerate() {
            let shown = format!("call {}, {}", first + number, compare::shown(&call.request));
            let different = state
                .checks
                .then(|| {
                    compare::difference(recorded, is_named, call, &state.places, &state.secrets)
                })
                .flatten();
            if let Some(how) = different {
                differences.push(format!("{shown}:\n{how}"));
            }
            let expected = recorded.expect.as_ref();
            match expected.map(|expected| expected.flaw(call)) {
                Some(Some(how)) => differences.push(format!("{shown}: {how}")),
                Some(None) => met += 1,
                None => {}
            }
        }
        state.met += met;
        if differences.is_empty() {
            return Ok(());
        }
        Err(differs(format!(
            "The run differs from the {} in {}",
            state.name,
            differences.join("\n\nand in ")
        )))
    }

    /// The model is done.
    ///
    /// # Errors
    ///
    /// Where more should have been played: a script is used up in a run that fits it, and so is a
    /// recording that is compared.
    pub fn finish(&self) -> Result<(), SessionError> {
        let state = self.state();
        let (left, played) = (state.left.len(), state.played);
        if left == 0 || !state.checks && state.source != Source::Script {
            return Ok(());
        }
        let (answers, were) = match left {
            1 => ("1 answer".to_owned(), "was"),
            left => (format!("{left} answers"), "were"),
        };
        Err(differs(format!(
            "The {} has {answers} more of the model that {were} not asked for: the run was over \
             with answer {played}, which has no call.",
            state.name
        )))
    }

    /// Returns the number of expectations of a script that the run has met.
    pub fn expectations_met(&self) -> usize {
        self.state().met
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next answer.
    fn next(&mut self, method: ApiMethod) -> Result<RecordedAnswer, ApiError> {
        // A token that had ended was renewed in the recorded run, and here is none.
        let is_renewed = |entry: &Entry| entry.answer.status == Some(401);
        while self.left.len() > 1 && self.left.front().is_some_and(is_renewed) {
            if let Some(first) = self.left.pop_front()
                && let Some(next) = self.left.front_mut()
            {
                next.told = next.told.take().or(first.told);
            }
        }
        let Some(entry) = self.left.pop_front() else {
            return Err(ApiError::not_recorded(self.used_up()));
        };
        if entry.answer.method != method {
            return Err(ApiError::not_recorded(format!(
                "The run does not fit the {}: {} is asked for, where it has an answer to {}. \
                 Record the run again.",
                self.name,
                method.name(),
                entry.answer.method.name()
            )));
        }
        self.played += 1;
        self.calls = entry.calls;
        Ok(entry.answer)
    }

    fn used_up(&self) -> String {
        let played = match self.played {
            1 => "1 answer".to_owned(),
            played => format!("{played} answers"),
        };
        let why = match self.source {
            Source::Script => "Add a turn; the last one has no calls.",
            _ if self.is_whole => "Record the run again.",
            _ => "The recorded run was broken off there; record it again.",
        };
        format!(
            "The {} has {played} of the model, and the run asks for one more. {why}",
            self.name
        )
    }
}

fn differs(message: String) -> SessionError {
    SessionError {
        message,
        kind: SessionErrorKind::ReplayDiffers,
    }
}

#[cfg(test)]
mod tests {
    use super::Replay;
    use crate::event::SessionErrorKind;
    use crate::replay::{Entry, Places, Recording, Source};
    use gemini_tools_net::gemini_api::{ApiErrorKind, ApiMethod, RecordedAnswer};

    fn entry(method: ApiMethod, status: u16, told: Option<&[&str]>) -> Entry {
        Entry {
            answer: RecordedAnswer::new(method, status),
            told: told.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            calls: Vec::new(),
        }
    }

    fn replay(entries: Vec<Entry>, source: Source) -> Replay {
        let recording = Recording {
            source,
            entries,
            ..Recording::default()
        };
        Replay::new(recording, Places::default(), false)
    }

    const STREAM: ApiMethod = ApiMethod::StreamGenerateContent;

    #[test]
    fn a_token_that_had_ended_is_not_asked_for_again() {
        let entries = vec![entry(STREAM, 401, Some(&[])), entry(STREAM, 200, None)];
        let replay = replay(entries, Source::Recording);
        replay.begin(&[]).expect("the first");
        let next = replay.state().next(STREAM).expect("the second");
        assert_eq!(next.status, Some(200));
        // A refusal at the end is one.
        let last = self::replay(vec![entry(STREAM, 401, Some(&[]))], Source::Recording);
        assert_eq!(last.state().next(STREAM).expect("it").status, Some(401));
    }

    #[test]
    fn what_was_not_needed_is_left_out_and_what_does_not_fit_is_told() {
        let entries = vec![
            entry(STREAM, 503, Some(&[])),
            entry(STREAM, 503, None),
            entry(STREAM, 200, Some(&["glob"])),
        ];
        let replay = replay(entries, Source::Recording);
        replay.begin(&[]).expect("the first");
        replay.state().next(STREAM).expect("an answer");
        let error = replay
            .begin(&["read_file".to_owned()])
            .expect_err("another tool");
        assert_eq!(error.kind, SessionErrorKind::ReplayDiffers);
        assert!(error.message.contains("read_file") && error.message.contains("glob"));
        replay.begin(&["glob".to_owned()]).expect("the third");
        let error = replay
            .state()
            .next(ApiMethod::CountTokens)
            .expect_err("another method");
        assert_eq!(error.kind, ApiErrorKind::NotRecorded);
        assert!(
            error.message.contains("countTokens is asked for"),
            "{error}"
        );
        let error = replay.state().next(STREAM).expect_err("nothing is left");
        assert!(error.message.contains("broken off there"), "{error}");
    }

    #[test]
    fn the_answers_of_a_script_come_one_after_the_other() {
        let entries = vec![entry(STREAM, 503, None), entry(STREAM, 200, None)];
        let replay = replay(entries, Source::Script);
        replay.begin(&["any".to_owned()]).expect("a request");
        let left = replay.finish().expect_err("two are left");
        assert!(left.message.contains("2 answers more"), "{}", left.message);
        for status in [503, 200] {
            let next = replay.state().next(STREAM).expect("an answer");
            assert_eq!(next.status, Some(status));
        }
        replay.finish().expect("all were played");
    }
}
