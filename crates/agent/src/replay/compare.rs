//! What a tool has answered, beside what it had answered in the recording.

use super::places::Places;
use super::stable;
use super::{RecordedCall, RecordedOutcome};
use crate::call::{CallRequest, ToolCall};
use gemini_tools_core::secrets::Secrets;
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines, group_diff_ops};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Maximum lines of a difference that are shown.
const MAX_LINES: usize = 200;

/// Maximum characters of a line, and of the arguments of a call, that are shown.
const MAX_CHARS: usize = 400;

/// Unchanged lines around each change.
const AROUND_LINES: usize = 3;

/// How long is looked for the smallest difference.
const DIFF_TIME: Duration = Duration::from_secs(2);

/// What became of a call, as it is recorded; nothing for one that is not over.
pub fn outcome(call: &ToolCall) -> Option<RecordedOutcome> {
    let outcome = call.outcome()?;
    let kind = outcome.error.as_ref().and_then(|error| error.kind);
    let kind = kind.and_then(|kind| serde_json::to_value(kind).ok());
    Some(RecordedOutcome {
        state: call.state().name().to_owned(),
        error_type: kind.and_then(|kind| kind.as_str().map(str::to_owned)),
        parts: outcome.parts.iter().map(|part| json!(part)).collect(),
    })
}

/// What differs between a recorded call and the one that was made in its place; nothing where they
/// are the same but for what differs from run to run. `is_named` says that the recorded one has
/// names for its places.
pub fn difference(
    recorded: &RecordedCall,
    is_named: bool,
    call: &ToolCall,
    places: &Places,
    secrets: &Secrets,
) -> Option<String> {
    let old = recorded.outcome.as_ref()?;
    let new = outcome(call)?;
    let both = |marks| {
        let old = lines(old, (!is_named).then_some(places), secrets, marks);
        (old, lines(&new, Some(places), secrets, marks))
    };
    let (marked_old, marked_new) = both(true);
    if marked_old == marked_new {
        return None;
    }
    // Whether a text ends with a newline is shown where nothing else differs.
    let (old, new) = both(false);
    Some(if old == new {
        unified(&marked_old, &marked_new)
    } else {
        unified(&old, &new)
    })
}

/// A call in a message.
pub fn shown(request: &CallRequest) -> String {
    short(&request.to_string())
}

fn short(text: &str) -> String {
    let start: String = text.chars().take(MAX_CHARS).collect();
    if start.len() < text.len() {
        format!("{start}…")
    } else {
        start
    }
}

/// An outcome as lines: what became of the call, and what the model was told. With `marks` the end
/// of a text says whether it is a newline.
fn lines(
    outcome: &RecordedOutcome,
    places: Option<&Places>,
    secrets: &Secrets,
    marks: bool,
) -> Vec<String> {
    let mut own = vec![match &outcome.error_type {
        Some(kind) => format!("{} ({kind})", outcome.state),
        None => outcome.state.clone(),
    }];
    for part in &outcome.parts {
        let mut part = part.clone();
        let response = &mut part["functionResponse"];
        if let Some(fields) = response.as_object_mut() {
            // The id of a call differs where the model gives none.
            fields.remove("id");
        }
        stable::document(&mut part, places, secrets);
        match part.get_mut("functionResponse").map(Value::take) {
            Some(response) if response.is_object() => {
                fields(&response["response"], marks, &mut own);
                let media = response["parts"].as_array();
                own.extend(media.into_iter().flatten().map(medium));
            }
            _ => own.push(medium(&part)),
        }
    }
    own
}

/// The fields of an answer, their texts line by line.
fn fields(response: &Value, marks: bool, own: &mut Vec<String>) {
    let Some(fields) = response.as_object() else {
        own.push(response.to_string());
        return;
    };
    for (key, value) in fields {
        match value {
            Value::String(text) => {
                own.push(format!("{key}:"));
                own.extend(text.lines().map(|line| format!("  {line}")));
                if marks && text.ends_with('\n') {
                    own.push("  (a newline at the end)".to_owned());
                }
            }
            value => own.push(format!("{key}: {value}")),
        }
    }
}

/// A part that is not an answer: media by their type and size.
fn medium(part: &Value) -> String {
    let Some(data) = part["inlineData"]["data"].as_str() else {
        return part.to_string();
    };
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let kind = part["inlineData"]["mimeType"].as_str().unwrap_or_default();
    let size = data.len() / 4 * 3;
    format!("{kind}, some {size} bytes, {:016x}", hasher.finish())
}

/// The difference of two lists of lines as `diff -u` has it.
fn unified(old: &[String], new: &[String]) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.iter().map(String::as_str).collect(),
        new.iter().map(String::as_str).collect(),
    );
    let deadline = Some(Instant::now() + DIFF_TIME);
    let ops = diff_lines(Algorithm::Myers, &old, &new, deadline);
    let mut own = vec!["--- recorded".to_owned(), "+++ replayed".to_owned()];
    for group in group_diff_ops(ops, AROUND_LINES) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let range = |start: usize, end: usize| format!("{},{}", start + 1, end - start);
        own.push(format!(
            "@@ -{} +{} @@",
            range(first.old_range().start, last.old_range().end),
            range(first.new_range().start, last.new_range().end),
        ));
        for op in &group {
            let add = |own: &mut Vec<String>, sign: char, lines: &[&str]| {
                own.extend(lines.iter().map(|line| format!("{sign}{}", short(line))));
            };
            if matches!(op, DiffOp::Equal { .. }) {
                add(&mut own, ' ', &old[op.old_range()]);
            } else {
                add(&mut own, '-', &old[op.old_range()]);
                add(&mut own, '+', &new[op.new_range()]);
            }
        }
    }
    let more = own.len().saturating_sub(MAX_LINES);
    if more > 0 {
        own.truncate(MAX_LINES);
        own.push(format!("… {more} more lines"));
    }
    own.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Places, Secrets, unified};
    use crate::replay::RecordedOutcome;
    use serde_json::json;

    fn lines(outcome: &RecordedOutcome, places: Option<&Places>, marks: bool) -> Vec<String> {
        super::lines(outcome, places, &Secrets::default(), marks)
    }

    fn outcome(response: &serde_json::Value) -> RecordedOutcome {
        RecordedOutcome {
            state: "success".to_owned(),
            error_type: None,
            parts: vec![
                json!({"functionResponse": {"id": "x-1", "name": "t", "response": response}}),
            ],
        }
    }

    #[test]
    fn an_answer_is_compared_line_by_line() {
        let old = lines(&outcome(&json!({"output": "a\nb\nc", "n": 1})), None, false);
        assert_eq!(old, ["success", "n: 1", "output:", "  a", "  b", "  c"]);
        let new = lines(&outcome(&json!({"output": "a\nB\nc", "n": 1})), None, false);
        assert_eq!(
            unified(&old, &new),
            "--- recorded\n+++ replayed\n@@ -2,5 +2,5 @@\n n: 1\n output:\n   a\n-  b\n+  B\n   c"
        );
    }

    #[test]
    fn a_newline_at_the_end_is_told_where_nothing_else_differs() {
        let marked = |text: &str| lines(&outcome(&json!({ "output": text })), None, true);
        assert_eq!(
            marked("a\n"),
            ["success", "output:", "  a", "  (a newline at the end)"]
        );
        assert_eq!(marked("a"), ["success", "output:", "  a"]);
    }

    #[test]
    fn media_are_compared_and_not_shown() {
        let media = |data: &str| {
            let mut own = outcome(&json!({"output": "an image"}));
            own.parts
                .push(json!({"inlineData": {"mimeType": "image/png", "data": data}}));
            lines(&own, None, true)
        };
        assert_eq!(media("AAAA"), media("AAAA"));
        assert_ne!(media("AAAA"), media("AAAB"));
        let last = media("AAAA").pop().expect("a line");
        assert!(last.starts_with("image/png, some 3 bytes, "), "{last}");
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let old: Vec<String> = (0..300).map(|n| format!("{n}")).collect();
        let shown = unified(&old, &[]);
        assert!(shown.ends_with("\n… 103 more lines"), "{shown}");
    }
}
