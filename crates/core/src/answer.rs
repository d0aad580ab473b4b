//! Turns the result of a call into what `call_tool` prints for a host or a person.
//!
//! A result becomes the same parts of a message to the model as in Gemini CLI. Long texts of
//! results are cut to a limit, with a marker that says how much is missing and where the whole text
//! is.

use crate::colours::{self, Look};
use crate::message::{Content, Part};
use crate::text::{counted, harmless_colours, harmless_lines, line_name, unread_sentence};
use crate::tool::{
    Display, ErrorKind, FoundPlace, LlmContent, PartOrText, ResultError, ResultView, ToolError,
    ToolResult,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const SUCCEEDED: &str = "Tool execution succeeded.";

/// The form in which the result of a call is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// A JSON object with a `functionResponse` part of the Gemini API, which holds media as its
    /// `parts`.
    #[default]
    Part,
    /// Only the `response` object of a `functionResponse` part, without media.
    Response,
    /// A message of the role `user` for the conversation, as a JSON object.
    Content,
    /// The whole [`ToolResult`] as a JSON object.
    Result,
    /// The plain text of the answer, for people and pipes.
    Text,
    /// Items that were found or listed, each on a line of its own.
    Lines,
    /// The text for a host that runs `call_tool` as a command and passes on what it prints.
    Host,
}

impl Form {
    /// The names of the forms on command lines, in the order of the variants.
    pub const NAMES: [&'static str; 7] = [
        "part", "response", "content", "result", "text", "lines", "host",
    ];

    /// Another name of [`Form::Part`] on command lines.
    pub const JSON: &str = "json";

    /// Returns true if the form is for people and pipes. Such an answer is not JSON and is not cut
    /// to a limit, and errors go to standard error.
    pub fn is_for_people(self) -> bool {
        matches!(self, Form::Text | Form::Lines)
    }

    /// Returns the form with this name, or `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        use Form::{Content, Host, Lines, Part, Response, Result, Text};
        let name = if name == Self::JSON { "part" } else { name };
        let mut all = [Part, Response, Content, Result, Text, Lines, Host].into_iter();
        all.find(|form| Self::NAMES[*form as usize] == name)
    }
}

/// A function that stores the whole of a text that is about to be cut, so that a later call can
/// read it. It returns the path of the file, or `None` if the text could not be stored.
pub type KeepText<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;

/// The outcome of one call, with what is needed to print it.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The tool's name, as the caller gave it.
    pub name: &'a str,
    /// The id that the caller gave the call.
    pub id: Option<&'a str>,
    /// The result or the error of the call.
    pub outcome: Result<ToolResult, ToolError>,
}

impl Answer<'_> {
    /// Returns the exit status that `call_tool` has for this outcome, 0 for success.
    pub fn exit_status(&self) -> u8 {
        self.failure().map_or(0, |(_, kind)| kind.exit_status())
    }

    fn is_diff(&self) -> bool {
        matches!(
            &self.outcome,
            Ok(ToolResult { return_display: Display::FileDiff(diff), .. }) if !diff.file_diff.is_empty()
        )
    }

    /// Returns the message and kind of the failure, or `None` if the call succeeded. A failure of
    /// unknown kind is an [`ErrorKind::ExecutionFailed`].
    pub fn failure(&self) -> Option<(String, ErrorKind)> {
        match &self.outcome {
            Ok(result) => result.error.as_ref().map(|error| {
                (
                    error.message.clone(),
                    error.kind.unwrap_or(ErrorKind::ExecutionFailed),
                )
            }),
            Err(e) => Some((e.to_string(), e.kind)),
        }
    }

    /// Returns the media that belong to a failure, such as the picture of a page that is not as it
    /// should be. Its message says that they are there.
    pub fn media_of_failure(&self) -> Vec<Part> {
        let failed = self.outcome.as_ref().ok().filter(|r| r.error.is_some());
        let parts = failed.map(|result| result.llm_content.to_parts());
        let parts = parts.into_iter().flatten();
        parts.filter(|part| part.inline_data.is_some()).collect()
    }

    /// Cuts the texts of an answer, or its error, if together they have more than `limit`
    /// characters: several texts become one, before the media. The note at its end says how much is
    /// missing, and the whole text goes to `keep`. Nothing is cut if `limit` is `None`, or if the
    /// tool has kept to a limit of its own.
    pub fn limit(&mut self, limit: Option<usize>, keep: KeepText<'_>) {
        let Some(mut limit) = limit else { return };
        let result = match &mut self.outcome {
            Ok(result) => result,
            Err(e) => return limit_text(&mut e.message, limit, keep),
        };
        if result.view.is_limited {
            return;
        }
        let is_content = |error: &&mut ResultError| error.message == text_of(&result.llm_content);
        let (same, other): (Vec<_>, Vec<_>) = result.error.iter_mut().partition(is_content);
        for error in other {
            limit_text(&mut error.message, limit, keep);
            limit = limit.saturating_sub(error.message.chars().count());
        }
        if let (LlmContent::Text(text), Some(outline)) =
            (&mut result.llm_content, result.view.outline.take())
            && text.chars().nth(limit).is_some()
        {
            cut_to(text, &outline, keep);
            result.view.odd_names.keep_within(0);
        }
        limit_content(&mut result.llm_content, limit, keep);
        if let LlmContent::Text(text) = &result.llm_content {
            result.view.odd_names.keep_within(text.len());
        }
        for error in same {
            error.message = text_of(&result.llm_content);
        }
    }

    /// Returns the answer in a form as one line of JSON. For a form that is not JSON, returns the
    /// line of [`Form::Part`].
    pub fn to_json(&self, form: Form) -> Vec<u8> {
        self.to_json_with(form, Map::new())
    }

    /// Returns the same as [`Answer::to_json`], with the entries of `more` added to the outermost
    /// object.
    pub fn to_json_with(&self, form: Form, more: Map<String, Value>) -> Vec<u8> {
        let mut value = match form {
            Form::Part | Form::Text | Form::Lines | Form::Host => json_part(self),
            Form::Response => self.response().0,
            Form::Content => to_value(&Content {
                role: "user".to_owned(),
                parts: self.parts(),
            }),
            Form::Result => match &self.outcome {
                Ok(result) => to_value(result),
                Err(e) => json!({
                    "llmContent": e.to_string(),
                    "returnDisplay": e.message,
                    "error": { "message": e.to_string(), "type": e.kind },
                }),
            },
        };
        if let Value::Object(document) = &mut value {
            document.extend(more);
            if form == Form::Result
                && let Ok(result) = &self.outcome
                && result.locations.is_some()
                && let Some(locations) = places(result)
            {
                let mut data = result.data.clone().unwrap_or_default();
                // `places` has added this list to `locations`, and it must not be printed twice.
                data.remove("locations");
                document.remove("data");
                let data = DataWithPlaces {
                    data: &data,
                    locations: &locations,
                };
                return to_line(&ResultWithPlaces { data, document });
            }
        }
        to_line(&value)
    }

    /// Returns the text for a person or a pipe. File names in it are escaped so that they neither
    /// break a line nor control a terminal; arguments that are paths accept the escaped form.
    pub fn to_text(&self) -> String {
        let text = match &self.outcome {
            Err(e) => {
                // An error for a model may wrap a `ToolError` that says the same in words for
                // people.
                let inner = e
                    .source
                    .as_deref()
                    .and_then(|e| e.downcast_ref::<ToolError>());
                harmless_lines(&inner.unwrap_or(e).to_string())
            }
            Ok(ToolResult {
                view:
                    ResultView {
                        text_for_people: Some(text),
                        ..
                    },
                ..
            }) => text.clone(),
            Ok(result) => lines_of(result),
        };
        with_line_feed(text)
    }

    fn short_text(&self) -> Option<&str> {
        self.outcome.as_ref().ok()?.view.short_text.as_deref()
    }

    /// Returns the text for a host that passes on what a command prints: the `output` or `error` of
    /// the JSON, and the diff of an edit. Media are replaced by a line with their type and size.
    /// `limit`, in characters, applies only to edits, because [`Answer::limit`] cuts other
    /// content.
    pub fn to_host(&self, limit: Option<usize>, keep: KeepText<'_>) -> String {
        let mut text = match (self.short_text(), self.failure(), &self.outcome) {
            (Some(text), ..) => text.to_owned(),
            (None, Some((message, _)), _) => message,
            (None, None, Ok(result)) => match &result.view.text_for_people {
                Some(text) => text.clone(),
                None if self.is_diff() => lines_of(result),
                None => match &result.llm_content {
                    LlmContent::Text(text) => result.view.odd_names.replace_in(text).into_owned(),
                    content => host_text(&content.to_parts()),
                },
            },
            (None, None, Err(e)) => e.to_string(),
        };
        // Other content has been cut by `Answer::limit`, which does not see the diff.
        if let Some(limit) = limit.filter(|_| self.is_diff()) {
            limit_text(&mut text, limit, keep);
        }
        text
    }

    /// Returns the text that the model gets, with a sentence in place of media and without the
    /// diff.
    pub fn text(&self) -> String {
        match &self.outcome {
            Ok(result) => text_of(&result.llm_content),
            Err(e) => e.to_string(),
        }
    }

    /// Returns the texts and media of a successful result in their order, without empty texts. A
    /// failed call has none.
    pub fn contents(&self) -> Vec<Part> {
        let Ok(ToolResult {
            llm_content,
            error: None,
            ..
        }) = &self.outcome
        else {
            return Vec::new();
        };
        let mut parts = llm_content.to_parts();
        parts.retain(|part| part.text.as_ref().is_none_or(|text| !text.is_empty()));
        parts
    }

    /// Returns the text of [`Answer::to_text`] for a terminal: control characters are escaped, so
    /// that nothing in it controls the terminal, and if `has_colours` is set it is coloured.
    pub fn to_terminal(&self, has_colours: bool) -> String {
        let Ok(result) = &self.outcome else {
            return self.to_text();
        };
        if let Some(text) = result.view.terminal_text.as_ref().filter(|_| has_colours) {
            return format!("{}\n", harmless_colours(text.trim_end_matches('\n')));
        }
        if let (LlmContent::Text(text), false, None) = (
            &result.llm_content,
            self.is_diff(),
            &result.view.text_for_people,
        ) {
            let looks = if has_colours {
                &*result.view.looks
            } else {
                &[]
            };
            return with_line_feed(result.view.odd_names.terminal_text(text, looks));
        }
        let text = harmless_lines(&self.to_text());
        if has_colours && self.is_diff() {
            colours::diff(&text)
        } else {
            text
        }
    }

    /// Returns a line for each item that was found or listed: `path:line:column:text` for a match,
    /// the path alone for a file. Paths in the result may be relative to `root`; those below
    /// `directory` are printed relative to it. For a command the lines are its output, and for any
    /// other tool the text of the answer.
    pub fn to_lines(
        &self,
        root: &Path,
        directory: &Path,
        is_terminal: bool,
        has_colours: bool,
    ) -> String {
        let Ok(result) = &self.outcome else {
            return self.to_text();
        };
        if let (LlmContent::Text(text), Some(place)) =
            (&result.llm_content, result.view.command_output.clone())
            && let Some(output) = text.get(place)
        {
            let mut output = if is_terminal {
                harmless_lines(output)
            } else {
                output.to_owned()
            };
            if !output.is_empty() {
                output.push('\n');
            }
            return output;
        }
        let Some(places) = places(result) else {
            return if is_terminal || has_colours {
                self.to_terminal(has_colours)
            } else {
                self.to_text()
            };
        };
        let mut out = String::new();
        for place in places.iter() {
            let path = root.join(OsStr::from_bytes(&place.file));
            let path = path.strip_prefix(directory).unwrap_or(&path);
            push_place(&mut out, path, place, is_terminal, has_colours);
        }
        out
    }

    /// Returns the path of each item that was found or listed, once and with a NUL byte after it,
    /// in the bytes that the file system has. Returns `None` if the call failed or its result lists
    /// no places. Paths are relative as in [`Answer::to_lines`].
    pub fn to_paths(&self, root: &Path, directory: &Path) -> Option<Vec<u8>> {
        let mut paths = Vec::new();
        let mut seen = HashSet::new();
        for place in places(self.outcome.as_ref().ok()?)?.iter() {
            let path = root.join(OsStr::from_bytes(&place.file));
            let path = path.strip_prefix(directory).unwrap_or(&path);
            let name = match path.as_os_str().as_bytes() {
                b"" => b".",
                name => name,
            };
            if seen.insert(name.to_vec()) {
                paths.extend_from_slice(name);
                paths.push(0);
            }
        }
        Some(paths)
    }

    /// Returns the data of a call that has succeeded.
    pub fn data(&self) -> Option<&Map<String, Value>> {
        let result = self.outcome.as_ref().ok()?;
        result.data.as_ref().filter(|_| result.error.is_none())
    }

    /// Returns a sentence for a person about the files and directories that could not be read.
    pub fn unread(&self) -> Option<String> {
        let data = self.data()?;
        let count = data.get("unreadable")?.as_u64()?;
        let places = data.get("unreadablePlaces").and_then(Value::as_array);
        let places: Vec<_> = places
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        Some(unread_sentence(count, &places))
    }

    /// Returns a sentence for a person about what a list of results lacks because of its limit.
    pub fn remark(&self) -> Option<String> {
        let limited = |data: &&Map<String, Value>| data.get("limited") == Some(&Value::Bool(true));
        let data = self.data().filter(limited)?;
        let shown = match data.get("matches").and_then(Value::as_u64) {
            None => "some of the matches".to_owned(),
            Some(1) => "the first match".to_owned(),
            Some(n) => format!("the first {n} matches"),
        };
        Some(format!(
            "Showing only {shown}; narrow the search to see others."
        ))
    }

    /// Returns a sentence for a person about files with matches that are not text, so that no line
    /// of theirs is listed.
    pub fn binary_remark(&self) -> Option<String> {
        let names = self.data()?.get("binaryFiles")?.as_array()?;
        let files = counted(names.len(), "binary file");
        let first = names.first()?.as_str()?;
        Some(format!("{files} with matches not shown: {first}."))
    }

    fn response(&self) -> (Value, Vec<Part>) {
        if let Some((message, kind)) = self.failure() {
            let response = json!({ "error": message, "errorType": kind });
            return (response, self.media_of_failure());
        }
        let Ok(result) = &self.outcome else {
            return (Value::Null, Vec::new());
        };
        if let LlmContent::Text(text) = &result.llm_content {
            return (json!({ "output": text }), Vec::new());
        }
        let parts = result.llm_content.to_parts().into_iter();
        let (texts, media): (Vec<Part>, Vec<Part>) = parts.partition(|part| part.text.is_some());
        let texts = texts.into_iter().filter_map(|part| part.text);
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        let output = match (texts.is_empty(), media.first()) {
            (false, _) => texts.join("\n"),
            (true, Some(first)) => processed(first),
            (true, None) => SUCCEEDED.to_owned(),
        };
        (json!({ "output": output }), media)
    }

    /// Returns the parts of the message that goes back to the model.
    pub fn parts(&self) -> Vec<Part> {
        let answer = |response| Part::function_response(self.id, self.name, response);
        let failure = self.failure();
        let key = if failure.is_some() { "error" } else { "output" };
        let text = self.short_text().map(str::to_owned);
        if let Some(text) = text.or(failure.map(|(message, _)| message)) {
            let mut parts = vec![answer(json!({ key: text }))];
            parts.extend(self.media_of_failure());
            return parts;
        }
        let Ok(result) = &self.outcome else {
            return Vec::new();
        };
        let one = |part: &Part| -> Vec<Part> {
            if let Some(inner) = &part.function_response {
                let content = inner.response.get("content").and_then(Value::as_array);
                return match content {
                    None => vec![part.clone()],
                    Some(content) => {
                        let texts: Vec<_> =
                            content.iter().filter_map(|p| p["text"].as_str()).collect();
                        vec![answer(json!({ "output": texts.join("\n") }))]
                    }
                };
            }
            if part.inline_data.is_some() || part.file_data.is_some() {
                return vec![answer(json!({ "output": processed(part) })), part.clone()];
            }
            match &part.text {
                Some(text) => vec![answer(json!({ "output": text }))],
                None => vec![answer(json!({ "output": SUCCEEDED }))],
            }
        };
        match result.llm_content.to_parts().as_slice() {
            [single] => one(single),
            many => {
                let mut parts = vec![answer(json!({ "output": SUCCEEDED }))];
                parts.extend_from_slice(many);
                parts
            }
        }
    }
}

fn push_place(
    out: &mut String,
    path: &Path,
    place: &FoundPlace,
    is_terminal: bool,
    has_colours: bool,
) {
    let mut name = line_name(path.as_os_str().as_bytes());
    if name.is_empty() {
        name = ".".into();
    }
    // `Path` drops the final slash, by which a directory is recognised in listings.
    if place.file.ends_with(b"/") && !name.ends_with('/') {
        name.to_mut().push('/');
    }
    let push = |out: &mut String, text: &str, look: Look| {
        if has_colours {
            look.push(out, text);
        } else {
            out.push_str(text);
        }
    };
    push(out, &name, Look::Path);
    for number in [place.line, place.column].into_iter().flatten() {
        out.push(':');
        push(out, &number.to_string(), Look::LineNumber);
    }
    if let Some(text) = &place.text {
        out.push(':');
        if is_terminal {
            out.push_str(&harmless_lines(text));
        } else {
            out.push_str(text);
        }
    }
    out.push('\n');
}

fn lines_of(result: &ToolResult) -> String {
    match (&result.llm_content, &result.return_display) {
        (_, Display::FileDiff(diff)) if !diff.file_diff.is_empty() => {
            let content = text_of(&result.llm_content);
            let is_in_it = content.contains(diff.file_diff.trim_end());
            let content = result.view.odd_names.replace_in(&content);
            // The content of some answers has the diff already, for the model.
            if is_in_it {
                content.into_owned()
            } else {
                format!("{content}\n{}", diff.file_diff)
            }
        }
        (LlmContent::Text(text), _) => result.view.odd_names.replace_in(text).into_owned(),
        (content, _) => text_of(content),
    }
}

/// Returns the places in files that a result lists: [`ToolResult::locations`] and the entry
/// `locations` of its data, which a project's own tools may give. Returns `None` if it has neither.
pub fn places(result: &ToolResult) -> Option<Cow<'_, [FoundPlace]>> {
    let told = result.data.as_ref().and_then(|data| data.get("locations"));
    let Some(told) = told.and_then(Value::as_array) else {
        return result.locations.as_deref().map(Cow::Borrowed);
    };
    let mut places = result.locations.clone().unwrap_or_default();
    places.extend(told.iter().map(|place| FoundPlace {
        line: place["line"].as_u64(),
        column: place["column"].as_u64(),
        end_column: place["endColumn"].as_u64(),
        text: place["text"].as_str().map(Into::into),
        ..FoundPlace::file(place["file"].as_str().unwrap_or_default().as_bytes())
    }));
    Some(Cow::Owned(places))
}

fn json_part(answer: &Answer<'_>) -> Value {
    let (response, media) = answer.response();
    // Moves the response, which may be long and which `json!` would copy.
    let mut inner = Map::from_iter([
        ("name".to_owned(), answer.name.into()),
        ("response".to_owned(), response),
    ]);
    if let Some(id) = answer.id {
        inner.insert("id".to_owned(), id.into());
    }
    if !media.is_empty() {
        inner.insert("parts".to_owned(), to_value(&media));
    }
    Value::from_iter([("functionResponse", inner)])
}

/// Returns what is left to print on a terminal that has shown the live output `shown` while the
/// call ran. Returns `None` if the whole answer must be printed: if its content is no text, if its
/// output does not begin with `shown`, or if the call has failed and its text holds no output of a
/// command.
pub fn after_live(result: &ToolResult, shown: &str) -> Option<String> {
    let LlmContent::Text(text) = &result.llm_content else {
        return None;
    };
    let whole = || (result.error.is_none()).then_some(0..text.len());
    let place = result.view.command_output.clone().or_else(whole)?;
    let output = text.get(place.clone())?;
    let shown = shown.trim_start_matches(['\n', ' ', '\t']);
    let rest = match output.strip_prefix(shown) {
        Some(rest) => rest,
        None if shown.trim_end() == output.trim_end() => "",
        None => return None,
    };
    let after = text.get(place.end..)?;
    let after = if rest.is_empty() && shown.ends_with('\n') {
        after.trim_start_matches('\n')
    } else {
        after
    };
    Some(with_line_feed(harmless_lines(&format!("{rest}{after}"))))
}

fn with_line_feed(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn host_text(parts: &[Part]) -> String {
    let texts: Vec<String> = parts.iter().filter_map(host_line).collect();
    if texts.is_empty() {
        return SUCCEEDED.to_owned();
    }
    texts.join("\n")
}

/// Returns the text of a part, or a sentence with the type and size of its media. Returns `None`
/// for an empty text.
fn host_line(part: &Part) -> Option<String> {
    if let Some(text) = &part.text {
        return (!text.is_empty()).then(|| text.clone());
    }
    Some(match (&part.inline_data, &part.file_data) {
        (Some(data), _) => {
            // Base64 encodes three bytes in four characters.
            let bytes = data.data.trim_end_matches('=').len() * 3 / 4;
            let mime = data.mime_type.split_whitespace().collect::<String>();
            format!("The content is not shown ({mime}, {bytes} bytes).")
        }
        (None, Some(file)) => format!(
            "The content is not shown ({}, {}).",
            file["mimeType"].as_str().unwrap_or("unknown"),
            file["fileUri"].as_str().unwrap_or("no address"),
        ),
        (None, None) => SUCCEEDED.to_owned(),
    })
}

fn processed(part: &Part) -> String {
    let mime = match (&part.inline_data, &part.file_data) {
        (Some(data), _) => data.mime_type.as_str(),
        (None, Some(file)) => file["mimeType"].as_str().unwrap_or("unknown"),
        (None, None) => return SUCCEEDED.to_owned(),
    };
    format!("Binary content of type {mime} was processed.")
}

fn text_of(content: &LlmContent) -> String {
    let text = |part: Part| part.text.clone().unwrap_or_else(|| processed(&part));
    let texts: Vec<String> = content.to_parts().into_iter().map(text).collect();
    texts.join("\n")
}

fn limit_content(content: &mut LlmContent, limit: usize, keep: KeepText<'_>) {
    let mut texts = texts_mut(content);
    let sizes = texts.iter().map(|text| text.chars().count() + 1);
    if sizes.sum::<usize>() <= limit + 1 {
        return;
    }
    let all: Vec<String> = texts.iter_mut().map(|text| mem::take(*text)).collect();
    let mut whole = all.join("\n");
    limit_text(&mut whole, limit, keep);
    *texts[0] = whole;
    if let LlmContent::List(list) = content {
        list.retain(|item| match item {
            PartOrText::Text(text) => !text.is_empty(),
            PartOrText::Part(part) => part.text.as_ref().is_none_or(|text| !text.is_empty()),
        });
    }
}

fn texts_mut(content: &mut LlmContent) -> Vec<&mut String> {
    match content {
        LlmContent::Text(text) => vec![text],
        LlmContent::Part(part) => part.text.iter_mut().collect(),
        LlmContent::List(list) => {
            let texts = list.iter_mut().filter_map(|item| match item {
                PartOrText::Text(text) => Some(text),
                PartOrText::Part(part) => part.text.as_mut(),
            });
            texts.collect()
        }
    }
}

/// Cuts a text that has more than `limit` characters, and appends how much is missing. The whole
/// text goes to `keep`.
pub fn limit_text(text: &mut String, limit: usize, keep: KeepText<'_>) {
    if text.len() <= limit {
        return;
    }
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return;
    };
    // The cut is at the end of a line, unless that would use less than half of the room.
    let end = match text[..end].rfind('\n') {
        Some(newline) if newline > end / 2 => newline + 1,
        _ => end,
    };
    let shown = text[..end].to_owned();
    cut_to(text, &shown, keep);
}

/// Replaces `text` by `shown`, its shortened version, and adds how much is missing and in which
/// file `keep` has stored the whole text.
fn cut_to(text: &mut String, shown: &str, keep: KeepText<'_>) {
    let missing = |count: fn(&str) -> usize| count(text).saturating_sub(count(shown));
    let how_much = format!(
        "{} more characters in {} lines",
        missing(|text| text.chars().count()),
        missing(|text| text.lines().count())
    );
    let file = keep(text);
    shown.clone_into(text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let rest = match file {
        Some(file) => format!(
            "The whole answer is in {}; read it with read_file.",
            file.display()
        ),
        None => "Narrow the call down to see them.".to_owned(),
    };
    text.push_str(&format!("[Truncated: {how_much}. {rest}]"));
}

fn to_value(value: &impl Serialize) -> Value {
    // Serializing only fails for maps whose keys are not strings, and no type here has such a map.
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A whole result as JSON. The places that a search has found are serialized directly, because they
/// would take ten times as much memory as JSON values.
#[derive(Serialize)]
struct ResultWithPlaces<'a> {
    data: DataWithPlaces<'a>,
    #[serde(flatten)]
    document: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct DataWithPlaces<'a> {
    #[serde(flatten)]
    data: &'a Map<String, Value>,
    locations: &'a [FoundPlace],
}

#[derive(Default)]
struct ByteCount(usize);

impl io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serializes a value as one line of JSON that ends in a line feed.
pub fn to_line(value: &impl Serialize) -> Vec<u8> {
    // The length is counted first: a buffer that grows is in memory twice while it is moved, and a
    // call that reads an image of 19 MB would take 120 MB instead of 94.
    let mut count = ByteCount::default();
    let _ = serde_json::to_writer(&mut count, value);
    let mut line = Vec::with_capacity(count.0 + 1);
    if serde_json::to_writer(&mut line, value).is_err() {
        line.clear();
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
