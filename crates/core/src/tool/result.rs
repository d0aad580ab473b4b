//! Results of calls: content for the model, a display for people.

use super::ErrorKind;
use super::named::{NamedText, OddNames, PlacedLook};
use crate::message::Part;
use crate::text::show_name;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The outcome of a call, as in Gemini CLI's `ToolResult`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// Content for the model's history.
    pub llm_content: LlmContent,
    /// Display for a person.
    #[serde(default)]
    pub return_display: Display,
    /// The failure, if the tool itself reports one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ResultError>,
    /// Structured data for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Map<String, Value>>,
    /// A further call that runs at once, whose result takes the place of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_tool_call_request: Option<TailToolCallRequest>,
    /// Places in files that a search has found or a tool lists; the caller chooses which by
    /// [`ResultPlaces`](super::ResultPlaces). They are printed as `locations` of the data, but kept
    /// apart, because JSON values would take ten times as much memory.
    #[serde(skip)]
    pub locations: Option<Vec<FoundPlace>>,
    /// What the forms of an answer show beside or instead of the content. A tool that a program
    /// adds can ignore it.
    #[serde(skip)]
    pub view: ResultView,
}

/// The parts of a result that are only used for printing an answer. Most of them serve one tool.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ResultView {
    /// The tool has kept its text within bounds that its caller chose, so that the general
    /// limit of answers does not apply.
    pub is_limited: bool,
    /// Text with colours, for a terminal that shows them.
    pub terminal_text: Option<String>,
    /// Byte range of a command's output within the text, which also says other things about the
    /// command.
    pub command_output: Option<Range<usize>>,
    /// The text without lines that tell nothing, such as an exit code of 0. The forms `Content` and
    /// `Host` print it in place of the whole text.
    pub short_text: Option<String>,
    /// Shorter text for a model, if the text is longer than the limit of answers. The whole text is
    /// then stored in a file.
    pub outline: Option<String>,
    /// Text for people, if the content is in a notation for models.
    pub text_for_people: Option<String>,
    /// File names in the text, which are escaped in a text for people or pipes.
    pub odd_names: OddNames,
    /// Ranges of the text that have colours on a terminal, if the caller wants them.
    pub looks: Vec<PlacedLook>,
}

impl ToolResult {
    /// Makes a result that is the same text for the model and for people.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            llm_content: LlmContent::Text(text.into()),
            ..Self::default()
        }
    }

    /// Makes a result of content for the model, without a display for people.
    pub fn content(llm_content: LlmContent) -> Self {
        Self {
            llm_content,
            ..Self::default()
        }
    }

    /// Makes a result of a text that contains file names.
    pub fn named(text: NamedText) -> Self {
        let (text, odd_names, looks) = text.into_parts();
        let mut result = Self::text(text);
        result.view.odd_names = odd_names;
        result.view.looks = looks;
        result
    }

    /// Adds a line to the text and to its variants in the view.
    pub fn push_note(&mut self, note: &str) {
        self.llm_content.push_line(note);
        let others = [
            &mut self.view.short_text,
            &mut self.view.outline,
            &mut self.view.text_for_people,
            &mut self.view.terminal_text,
        ];
        for text in others.into_iter().flatten() {
            text.push('\n');
            text.push_str(note);
        }
    }

    /// Sets what people see.
    #[must_use]
    pub fn with_display(mut self, display: impl Into<Display>) -> Self {
        self.return_display = display.into();
        self
    }

    /// Adds one entry to [`ToolResult::data`].
    #[must_use]
    pub fn with_data(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data
            .get_or_insert_default()
            .insert(key.to_owned(), value.into());
        self
    }
}

/// A place in a file that a search has found, or the file alone if its lines were not wanted. The
/// fields are in the order of their names, as in all JSON output of these tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoundPlace {
    /// The column, from 1, in characters, or in bytes for [`super::ResultPlaces::Items`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The column after the last character of the match.
    #[serde(skip)]
    pub end_column: Option<u64>,
    /// The file's path, relative to the workspace's first root or absolute. A directory's path ends
    /// in a slash.
    #[serde(serialize_with = "as_text")]
    pub file: Arc<[u8]>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The line's text, or the number of matching lines if lines were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Box<str>>,
}

impl FoundPlace {
    /// Makes a place that is a file, without a line in it.
    pub fn file(path: impl Into<Arc<[u8]>>) -> Self {
        Self {
            file: path.into(),
            ..Self::default()
        }
    }
}

fn as_text<S: Serializer>(name: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&show_name(name))
}

/// A failure that a tool reports in its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultError {
    /// The message for the model.
    pub message: String,
    /// The kind of the error, if known.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
}

/// A call of a tool that runs at once after the call that asks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TailToolCallRequest {
    /// The tool's name.
    pub name: String,
    /// The call's arguments.
    pub args: Map<String, Value>,
}

/// Content for a model: text, one part, or a list of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LlmContent {
    /// Text.
    Text(String),
    /// A single part.
    Part(Box<Part>),
    /// Parts and strings in order.
    List(Vec<PartOrText>),
}

impl LlmContent {
    /// Returns the content as parts. Empty texts of a list are left out, since the API would refuse
    /// them.
    pub fn to_parts(&self) -> Vec<Part> {
        match self {
            Self::Text(text) => vec![Part::text(text.as_str())],
            Self::Part(part) => vec![(**part).clone()],
            Self::List(list) => {
                let part = |item: &PartOrText| match item {
                    PartOrText::Text(text) => Part::text(text.as_str()),
                    PartOrText::Part(part) => (**part).clone(),
                };
                let parts = list.iter().map(part);
                parts.filter(|part| *part != Part::text("")).collect()
            }
        }
    }

    /// Adds a line of text at the end.
    pub fn push_line(&mut self, line: &str) {
        *self = match std::mem::take(self) {
            Self::Text(text) => Self::Text(format!("{}\n{line}", text.trim_end_matches('\n'))),
            Self::Part(part) => Self::List(vec![
                PartOrText::Part(part),
                PartOrText::Text(line.to_owned()),
            ]),
            Self::List(mut list) => {
                list.push(PartOrText::Text(line.to_owned()));
                Self::List(list)
            }
        };
    }
}

impl Default for LlmContent {
    fn default() -> Self {
        LlmContent::Text(String::new())
    }
}

/// An element of a list of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PartOrText {
    /// Text.
    Text(String),
    /// A part.
    Part(Box<Part>),
}

/// The display of a result for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Display {
    /// Markdown.
    Markdown(String),
    /// A file's change.
    FileDiff(Box<FileDiff>),
    /// Any other JSON, for hosts that understand it: tasks, lines of a terminal, a sub-agent's
    /// state.
    Other(Value),
}

impl Display {
    /// Returns the display as plain text; other JSON becomes compact JSON.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Display::Markdown(text) => text.into(),
            Display::FileDiff(diff) => diff.file_diff.as_str().into(),
            Display::Other(value) => value.to_string().into(),
        }
    }
}

impl Default for Display {
    fn default() -> Self {
        Display::Markdown(String::new())
    }
}

impl From<String> for Display {
    fn from(text: String) -> Self {
        Display::Markdown(text)
    }
}

impl From<FileDiff> for Display {
    fn from(diff: FileDiff) -> Self {
        Display::FileDiff(Box::new(diff))
    }
}

/// A file before and after a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// The change as a unified diff.
    pub file_diff: String,
    /// The file's name without directories.
    pub file_name: String,
    /// The content before; `None` for a new file, and for one that is too large to be shown whole.
    pub original_content: Option<String>,
    /// The content after; `None` if the file is too large to be shown whole.
    pub new_content: Option<String>,
    /// The numbers of lines added and removed.
    #[serde(default)]
    pub diff_stat: DiffStat,
}

/// Numbers of lines added and removed, by the model and by a user who has changed its proposal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    missing_docs,
    reason = "the names are the contract's and say what they mean"
)]
pub struct DiffStat {
    pub ai_added_lines: u64,
    pub ai_removed_lines: u64,
    pub user_added_lines: u64,
    pub user_removed_lines: u64,
}

impl DiffStat {
    /// Returns the number of lines that were added, by the model or the user.
    pub fn added(&self) -> u64 {
        self.ai_added_lines + self.user_added_lines
    }

    /// Returns the number of lines that were removed, by the model or the user.
    pub fn removed(&self) -> u64 {
        self.ai_removed_lines + self.user_removed_lines
    }
}

impl std::ops::AddAssign for DiffStat {
    fn add_assign(&mut self, other: Self) {
        self.ai_added_lines += other.ai_added_lines;
        self.ai_removed_lines += other.ai_removed_lines;
        self.user_added_lines += other.user_added_lines;
        self.user_removed_lines += other.user_removed_lines;
    }
}
