//! Patches: changes of several files in one text.
//!
//! A patch is in one of two grammars, told apart by their first marks: the envelope of codex's
//! `apply_patch` (`envelope`), and unified diffs, including git's (`unified`). Any other text is
//! refused. `place` finds where the hunks of a file belong and makes its new content.
//!
//! This module works on strings: it opens no files and knows nothing of tools.

mod envelope;
mod names;
mod place;
mod unified;

pub use names::unquoted;
pub use place::{HunkError, Misfit, Patched, apply};

use gemini_tools_core::tool::Kind;

/// The byte-order mark.
pub const MARK: char = '\u{feff}';

/// The change that a patch makes to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The path, as the patch has it.
    pub path: String,
    /// How the file changes.
    pub change: Change,
}

/// What a patch does with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new file.
    Create {
        /// The content of the new file.
        text: String,
        /// True if the new file is executable.
        is_executable: bool,
    },
    /// The file is removed.
    Delete {
        /// The lines that the file must consist of; `None` if the patch does not list them.
        hunks: Option<Vec<Hunk>>,
    },
    /// The file gets other content, another name or another mode.
    Update {
        /// The new path; `None` if the file keeps its path.
        to: Option<String>,
        /// The changes of the content, in their order in the file.
        hunks: Vec<Hunk>,
        /// Whether the file is executable from now on; `None` if its mode does not change.
        is_executable: Option<bool>,
    },
}

impl FilePatch {
    /// Returns the paths that the patch changes, each with the kind of change.
    pub fn effects(&self) -> Vec<(&str, Kind)> {
        let path = self.path.as_str();
        match &self.change {
            Change::Delete { .. } => vec![(path, Kind::Delete)],
            Change::Create { .. } | Change::Update { to: None, .. } => vec![(path, Kind::Edit)],
            Change::Update { to: Some(to), .. } => vec![(path, Kind::Move), (to, Kind::Edit)],
        }
    }
}

/// Lines that follow one another in a file, some of which are removed or added.
///
/// Where a hunk belongs, the two grammars say in different ways. An envelope may give `anchors`:
/// lines of the file anywhere above the hunk, the outermost first. A unified diff gives numbers
/// (`is_numbered`): `start` is the line of the old file at which the hunk begins, from 1, or `None`
/// if the numbers are wrong. In either, a hunk may have to be at the beginning or at the end of the
/// file.
///
/// `number` is the line of the patch at which the hunk begins, from 1. `separators` counts the
/// lines at the end of the hunk that are empty in the patch: they may be empty lines of the file,
/// or only separate sections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    anchors: Vec<String>,
    start: Option<usize>,
    is_numbered: bool,
    lines: Vec<Line>,
    is_at_end: bool,
    is_at_start: bool,
    number: usize,
    separators: usize,
}

/// A line of a hunk. `is_unended` is set if it has no line feed, because it is the last one of its
/// file, and `is_bare` if it is empty in the patch and lacks even the space that marks an unchanged
/// line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    role: Role,
    text: String,
    is_unended: bool,
    is_bare: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Context,
    Removed,
    Added,
}

impl Line {
    /// Parses a line of a hunk; `None` if it does not begin with a space, `-` or `+`. An empty line
    /// counts as an unchanged one that is empty, because blanks at the ends of lines are often
    /// lost.
    fn parse(text: &str) -> Option<Self> {
        let role = match text.as_bytes().first() {
            None | Some(b' ' | b'\r') => Role::Context,
            Some(b'-') => Role::Removed,
            Some(b'+') => Role::Added,
            _ => return None,
        };
        let is_marked = !text.is_empty() && !text.starts_with('\r');
        Some(Self {
            role,
            text: text[usize::from(is_marked)..].to_owned(),
            is_unended: false,
            is_bare: !is_marked,
        })
    }

    fn whole(&self) -> String {
        let end = if self.is_unended { "" } else { "\n" };
        format!("{}{end}", self.text)
    }
}

impl Hunk {
    fn push(&mut self, line: Line) {
        self.separators = if line.is_bare { self.separators + 1 } else { 0 };
        self.lines.push(line);
    }

    fn mark_last_unended(&mut self) {
        if let Some(last) = self.lines.last_mut() {
            last.is_unended = true;
            self.is_at_end = true;
        }
    }

    /// Returns true if a unified diff says that a line of the hunk is the last one of the file and
    /// has no end.
    fn says_end(&self) -> bool {
        self.is_numbered && self.lines.iter().any(|line| line.is_unended)
    }

    /// Returns whether the file's last line has an end after the change, if the hunk says so. A line
    /// that stays keeps the end that it has.
    fn is_ended(&self) -> Option<bool> {
        let last = self.new_lines().next_back().filter(|_| self.says_end())?;
        (last.role == Role::Added || !last.is_unended).then_some(!last.is_unended)
    }

    fn is_unchanged(&self) -> bool {
        self.lines.iter().all(|line| line.role == Role::Context)
    }

    fn drop_separators(&mut self) {
        self.lines.truncate(self.lines.len() - self.separators);
        self.separators = 0;
    }

    fn old(&self) -> impl DoubleEndedIterator<Item = &Line> + Clone {
        self.lines.iter().filter(|line| line.role != Role::Added)
    }

    fn new_lines(&self) -> impl DoubleEndedIterator<Item = &Line> + Clone {
        self.lines.iter().filter(|line| line.role != Role::Removed)
    }

    /// Returns true if the hunk takes the byte-order mark of the file for text. A hunk that was
    /// written by a program does if it has a line with the mark, or adds lines before the first
    /// line of the file, which has it.
    pub fn has_mark(&self) -> bool {
        let has_mark = || self.lines.iter().any(|line| line.text.starts_with(MARK));
        self.start == Some(0) || self.start.is_some() && has_mark()
    }

    /// Returns the lines that are added, with their line feeds, as one text.
    pub fn added(&self) -> String {
        self.text_of(Role::Added)
    }

    /// Returns the lines that go, with their line feeds, as one text.
    pub fn removed(&self) -> String {
        self.text_of(Role::Removed)
    }

    fn text_of(&self, role: Role) -> String {
        let lines = self.lines.iter().filter(|line| line.role == role);
        lines.map(Line::whole).collect()
    }
}

/// What is wrong with the text of a patch, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// What is wrong with this line: a clause.
    pub why: String,
}

impl PatchError {
    fn new(line: usize, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { line, why }
    }
}

/// Parses a patch: an envelope, which begins with `*** Begin Patch`, or a unified diff.
///
/// # Errors
///
/// Returns the first line that does not belong in such a patch or contradicts the lines before it,
/// and what is wrong; also an error if there is no patch in the text, or it changes no file.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, PatchError> {
    let lines = Lines::unwrapped(text);
    let is_envelope = |line: &str| line.trim() == envelope::BEGIN;
    let patches = if lines.get(0).is_some_and(is_envelope) {
        envelope::parse(&lines)?
    } else if unified::has_section(&lines) {
        unified::parse(&lines)?
    } else {
        let why = "no patch begins there: it has neither \"*** Begin Patch\" nor the lines \"--- a/FILE\" and \"+++ b/FILE\"";
        return Err(PatchError::new(lines.first, why));
    };
    if patches.is_empty() {
        return Err(PatchError::new(lines.first, "the patch changes no file"));
    }
    Ok(patches)
}

/// The lines of a patch, without line ends, without blank lines before it, and without a Markdown
/// code fence or a here-document around it. `first` is the number, from 1, of the first of them in
/// the text that was given.
struct Lines<'t> {
    texts: Vec<&'t str>,
    first: usize,
}

impl<'t> Lines<'t> {
    fn unwrapped(text: &'t str) -> Self {
        // A program may have written a byte-order mark before the patch.
        let text = text.trim_start_matches(MARK);
        let mut texts: Vec<&str> = text
            .strip_suffix('\n')
            .unwrap_or(text)
            .split('\n')
            .collect();
        // Line ends `\r\n` of the whole patch say nothing about the line ends of the files. The last
        // line may have none.
        let (_, ended) = texts.split_last().unwrap_or((&"", &[]));
        if ended.iter().all(|line| line.ends_with('\r')) {
            let whole = |line: &&'t str| line.strip_suffix('\r').unwrap_or(line);
            texts = texts.iter().map(whole).collect();
        }
        let mut first = 1;
        let mut trim = |texts: &mut Vec<&str>| {
            let blank = texts
                .iter()
                .take_while(|line| line.trim().is_empty())
                .count();
            texts.drain(..blank);
            first += blank;
        };
        trim(&mut texts);
        let is_wrapped = |texts: &[&str]| match texts {
            [first, .., last] => {
                let (first, last) = (first.trim(), last.trim());
                let mark = |quote: &str| format!("<<{quote}{last}{quote}");
                let marks = ["", "'", "\""].map(mark);
                first.starts_with("```") && last == "```"
                    || !last.is_empty() && marks.iter().any(|mark| first.ends_with(mark))
            }
            _ => false,
        };
        let mut end = texts.len();
        while end > 0 && texts[end - 1].trim().is_empty() {
            end -= 1;
        }
        if is_wrapped(&texts[..end]) {
            texts.truncate(end - 1);
            texts.remove(0);
            first += 1;
        }
        Self { texts, first }
    }

    fn number(&self, at: usize) -> usize {
        self.first + at
    }

    fn get(&self, at: usize) -> Option<&'t str> {
        self.texts.get(at).copied()
    }

    fn starts_with(&self, at: usize, marks: &[char]) -> bool {
        self.get(at).is_some_and(|line| line.starts_with(marks))
    }
}

#[cfg(test)]
mod tests;
