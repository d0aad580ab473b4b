//! A call of a tool, from a model's request to its answer.

use gemini_tools_core::message::Part;
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::{
    DiffStat, Display, ErrorKind, Interruption, Kind, ResultError, TailToolCallRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::time::{Duration, Instant};

const SUMMARY_CHARS: usize = 100;

/// A call that the model has requested.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The id that the model gave the call, or a generated one.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments.
    pub args: Map<String, Value>,
}

/// The state of a call.
#[derive(Debug, Clone, Default)]
pub enum CallState {
    /// The arguments are being validated.
    #[default]
    Validating,
    /// The call is approved and waits for its turn.
    Scheduled,
    /// The call is running.
    Executing,
    /// The call has ended, whether or not it has run.
    Done(CallOutcome),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallEnd {
    /// The tool has succeeded.
    Success,
    /// The tool has failed, or the call was not allowed.
    Error,
    /// The user has declined the call or cancelled it.
    Cancelled,
}

impl CallEnd {
    /// Returns the name that Gemini CLI and its forks use for this end in JSON.
    pub fn name(self) -> &'static str {
        match self {
            CallEnd::Success => "success",
            CallEnd::Error => "error",
            CallEnd::Cancelled => "cancelled",
        }
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// What the model receives: the function's response, and media beside it.
    pub parts: Vec<Part>,
    /// The text of `parts`, for people.
    pub text: String,
    /// A unified diff, if the call has changed a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How many lines the call has added and removed; `None` if the tool reported no numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_stat: Option<DiffStat>,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ResultError>,
    /// What people are shown (`returnDisplay`), unless it is a diff. It is not stored in the
    /// session file, because a resumed session does not show earlier calls again.
    #[serde(skip)]
    pub display: Display,
    /// The exit status or signal of a shell command that has failed, such as `exit 2`. It is not an
    /// error of the call: the tool has done its work, and the model reads the status in the result.
    #[serde(skip)]
    pub command_failure: Option<String>,
}

impl CallOutcome {
    /// Returns how the call ended.
    pub fn end(&self) -> CallEnd {
        match &self.error {
            None => CallEnd::Success,
            Some(error) if error.kind == Some(ErrorKind::Cancelled) => CallEnd::Cancelled,
            Some(_) => CallEnd::Error,
        }
    }

    /// Returns the outcome of a call that was cancelled or has run out of time.
    pub fn interrupted(request: &CallRequest, why: Interruption) -> Self {
        let (kind, message) = match why {
            Interruption::Cancelled(_) => (
                ErrorKind::Cancelled,
                "The call was cancelled before it was done.".to_owned(),
            ),
            Interruption::TimedOut(limit) => (
                ErrorKind::Timeout,
                format!("The call was ended, because the session's time is over, {limit}."),
            ),
        };
        Self::failure(request, kind, message)
    }

    /// Returns the outcome of a call that has failed.
    pub fn failure(request: &CallRequest, kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let response = serde_json::json!({ "error": message });
        let mut own = Self::answered(request, response, message.clone());
        let kind = Some(kind);
        own.error = Some(ResultError { message, kind });
        own
    }

    pub(super) fn answered(request: &CallRequest, response: Value, text: String) -> Self {
        let (id, name) = (Some(request.id.as_str()), &request.name);
        Self {
            parts: vec![Part::function_response(id, name, response)],
            text,
            ..Self::default()
        }
    }

    /// Returns the kind of the error; `None` without an error.
    pub fn kind(&self) -> Option<ErrorKind> {
        self.error.as_ref().and_then(|error| error.kind)
    }

    #[must_use]
    fn in_answer_to(mut self, request: &CallRequest) -> Self {
        let parts = self.parts.iter_mut();
        for response in parts.filter_map(|part| part.function_response.as_mut()) {
            response.id = Some(request.id.clone());
            response.name.clone_from(&request.name);
        }
        self
    }

    /// Appends a note to the result that the model receives.
    pub fn add_note(&mut self, note: &str) {
        let response = self
            .parts
            .iter_mut()
            .find_map(|part| part.function_response.as_mut())
            .map(|response| &mut response.response);
        let Some(Value::Object(response)) = response else {
            return;
        };
        let key = ["output", "error"]
            .into_iter()
            .find(|key| response.get(*key).is_some_and(Value::is_string));
        match key.and_then(|key| response.get_mut(key)) {
            Some(Value::String(text)) => text.push_str(&format!("\n\n[{note}]")),
            _ => {
                response.insert("note".to_owned(), note.into());
            }
        }
    }
}

/// Who has decided about a call, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallDecision {
    /// A person has approved the call.
    Accept,
    /// A person or the policy has refused the call.
    Reject,
    /// A person has approved the call after changing its arguments.
    Modify,
    /// The policy has approved the call.
    AutoAccept,
}

/// Why the policy has refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallRefusal {
    /// The call needs approval, and no user could be asked.
    NoUser,
    /// A rule of the policy denies the call.
    Rule,
}

/// A call of a session.
#[derive(Debug, Clone, Default)]
pub struct ToolCall {
    /// The request. If a person has changed the arguments, these are the changed ones.
    pub request: CallRequest,
    /// The position of the answered call among the calls in the model's message.
    pub(super) place: usize,
    /// The kind of the tool; `None` if no tool has the request's name.
    pub kind: Option<Kind>,
    /// The MCP server that the tool comes from, by its name in the settings.
    pub server: Option<String>,
    /// The names of the required arguments, in the order in which the tool declares them.
    pub argument_order: Vec<String>,
    /// True for a call of a built-in tool that changes files, which `call_tool --undo` can undo.
    pub changes_files: bool,
    /// The tool's description of what this call does, if it has been asked for.
    pub description: Option<String>,
    /// The decision, once there is one.
    pub decision: Option<ToolCallDecision>,
    /// Why the policy has refused the call, if it has.
    pub refusal: Option<CallRefusal>,
    /// How many of the changed lines are the model's and how many the user's, if the user has
    /// edited the proposal.
    pub shares: Option<DiffStat>,
    /// The model's own arguments; `None` unless a person has changed them.
    pub proposed: Option<Map<String, Value>>,
    /// How long the call ran.
    pub duration: Duration,
    /// The further call that this call asks for in its result. It runs next, and its result becomes
    /// the answer to the model.
    pub(super) tail_call: Option<TailToolCallRequest>,
    /// If the result of another call has asked for this call, the model's call that this one's
    /// result answers; otherwise `None`.
    pub takes_place_of: Option<CallRequest>,
    /// The current state.
    pub state: CallState,
    pub(super) started: Option<Instant>,
}

impl ToolCall {
    /// Returns the outcome if the call has ended.
    pub fn outcome(&self) -> Option<&CallOutcome> {
        match &self.state {
            CallState::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Returns the result as the answer to the model's call, under the id and name that the model
    /// used. Returns `None` until the call has ended and the further call that its result may ask
    /// for has run.
    pub(super) fn answer(&self) -> Option<CallOutcome> {
        let outcome = self.outcome().filter(|_| self.tail_call.is_none())?;
        let answered = self.takes_place_of.as_ref().unwrap_or(&self.request);
        Some(outcome.clone().in_answer_to(answered))
    }

    /// Returns the required arguments in the order in which the tool declares them, then the
    /// others, shortest first. In a summary, a short path says more than the content of a file.
    pub fn ordered_args(&self) -> Vec<(&String, &Value)> {
        let order = &self.argument_order;
        let place = |name: &String| order.iter().position(|declared| declared == name);
        let mut args: Vec<_> = self.request.args.iter().collect();
        args.sort_by_cached_key(|(name, value)| {
            (place(name).unwrap_or(order.len()), value.to_string().len())
        });
        args
    }

    /// Returns the description of the call, or the beginning of its arguments if there is none.
    pub fn summary(&self) -> String {
        if let Some(description) = &self.description
            && !description.trim().is_empty()
        {
            return description.clone();
        }
        let args = self.ordered_args().into_iter();
        let args = args.map(|(name, value)| match value {
            Value::String(text) => format!("{name}: {text}"),
            value => format!("{name}: {value}"),
        });
        let text = args.collect::<Vec<_>>().join(", ");
        excerpt(&text, SUMMARY_CHARS).into_owned()
    }

    /// Sets the state, and measures how long the call runs.
    pub fn move_to(&mut self, next: CallState) {
        match (&next, self.started) {
            (CallState::Executing, _) => self.started = Some(Instant::now()),
            (_, Some(started)) => self.duration = started.elapsed(),
            _ => {}
        }
        self.state = next;
    }
}

/// Returns a note that tells the model how a person changed a call's arguments, or `None` if
/// nothing changed. Without it the model would believe that its own arguments were used.
pub(super) fn changes(proposed: &Map<String, Value>, args: &Map<String, Value>) -> Option<String> {
    // When a person changes an edit, its arguments become the old and the new text of the whole
    // file. The model does not need the old one again.
    const KNOWN: &str = "old_string";
    const MAX_KNOWN_CHARS: usize = 200;

    let mut changed = Map::new();
    for (key, value) in args.iter().filter(|(key, v)| proposed.get(*key) != Some(v)) {
        let known = value.as_str().filter(|_| key == KNOWN);
        let count = known.map_or(0, |text| text.chars().count());
        let value = if count > MAX_KNOWN_CHARS {
            Value::from(format!("({count} characters of the file)"))
        } else {
            value.clone()
        };
        changed.insert(key.clone(), value);
    }
    let gone: Vec<&str> = proposed
        .keys()
        .filter(|key| !args.contains_key(*key))
        .map(String::as_str)
        .collect();
    if changed.is_empty() && gone.is_empty() {
        return None;
    }
    let mut note = "The user has changed the arguments of this call".to_owned();
    if !changed.is_empty() {
        note.push_str(&format!(" to {}", Value::Object(changed)));
    }
    if !gone.is_empty() {
        note.push_str(&format!(", and left out {}", gone.join(", ")));
    }
    Some(note + ".")
}

impl fmt::Display for CallRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, Value::Object(self.args.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::{CallOutcome, CallRequest, changes};
    use gemini_tools_core::tool::ErrorKind;
    use serde_json::{Map, Value, json};

    fn arguments(value: &Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_change_is_told_by_what_is_different() {
        let changes =
            |before: Value, after: Value| changes(&arguments(&before), &arguments(&after));
        assert_eq!(changes(json!({"a": 1}), json!({"a": 1})), None);
        assert_eq!(
            changes(json!({"a": 1, "b": 2, "c": 3}), json!({"a": 1, "b": 5})).as_deref(),
            Some(r#"The user has changed the arguments of this call to {"b":5}, and left out c."#)
        );
        let whole = json!({"old_string": "x\n".repeat(200), "new_string": "y"});
        let note = changes(json!({"old_string": "x", "new_string": "z"}), whole).expect("a note");
        assert!(
            note.contains("400 characters") && note.contains(r#""new_string":"y""#),
            "{note}"
        );
    }

    #[test]
    fn a_note_is_added_to_whatever_the_model_is_told() {
        let request = CallRequest {
            id: "1".to_owned(),
            name: "t".to_owned(),
            args: Map::new(),
        };
        for (response, want) in [
            (json!({"output": "o"}), json!({"output": "o\n\n[n]"})),
            (json!({"error": "e"}), json!({"error": "e\n\n[n]"})),
            (json!({"x": 1}), json!({"x": 1, "note": "n"})),
        ] {
            let mut outcome = CallOutcome::failure(&request, ErrorKind::Cancelled, "");
            let told = outcome.parts[0].function_response.as_mut().expect("one");
            told.response = response;
            outcome.add_note("n");
            let told = outcome.parts[0].function_response.as_ref().expect("one");
            assert_eq!(told.response, want);
        }
    }
}
