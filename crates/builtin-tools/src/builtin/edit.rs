//! What `replace` and `smart_edit` have in common: these tools find the match, and this module
//! checks the texts, shows the difference and writes the file.

use super::nearest::nearest;
use super::syntax::{Check, Parser};
use super::{BuiltinTool, ToolEnv, placeholder};
use crate::edit::{has_lone_return, has_mixed_ends, loses_line_end, repeated, whole_line_ends};
use gemini_tools_core::tool::{
    Cancellation, Confirmation, Context, ErrorKind, FileDiff, ToolError, ToolResult,
};
use gemini_tools_syntax::MAX_BYTES;
use gemini_tools_workspace::edit::{Match, Occurrences, Replacement, SHOWN_BYTES, find};
use gemini_tools_workspace::journal::ChangeOrigin;
use gemini_tools_workspace::line_endings::{differ_in_ends_only, with_end};
use gemini_tools_workspace::lines::{beginning, encoding_of, read_range};
use gemini_tools_workspace::media::MAX_MEDIA_BYTES;
use gemini_tools_workspace::text::{Encoding, LineEnding, Unwritable};
use gemini_tools_workspace::write::Target;
use gemini_tools_workspace::{OpenFile, Workspace, WorkspacePath, show_path};
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// Maximum size in bytes of a file that is decoded whole, which takes several times its size.
const MAX_DECODED_BYTES: u64 = 4 * 1024 * 1024;

const NEAREST_TEXT_BYTES: usize = 64 * 1024;

const LISTED_LINES: usize = 50;

/// How many bytes around a match are searched for the ends of its lines.
const FAR_BYTES: u64 = 4096;

pub(super) struct Edit {
    pub(super) workspace: Arc<Workspace>,
    pub(super) place: WorkspacePath,
    pub(super) old: String,
    pub(super) new: String,
    parser: Parser,
}

pub(super) enum Plan {
    Create,
    Replace(Change),
}

/// What an edit will do with a file that is there. `notes` are sentences for the answer, each with a
/// leading space. `found_by` says how an inexact match was found; it is `None` for a literal one.
pub(super) struct Change {
    replacement: Replacement,
    encoding: Encoding,
    pub(super) notes: String,
    pub(super) found_by: Option<&'static str>,
}

#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) current: &'a OpenFile,
    pub(super) encoding: Encoding,
}

impl Edit {
    pub(super) fn new(
        tool_env: &ToolEnv,
        path: &str,
        [old, new]: [String; 2],
    ) -> Result<Self, ToolError> {
        Ok(Self {
            workspace: Arc::clone(&tool_env.workspace),
            place: tool_env.workspace.locate(path)?,
            old,
            new,
            parser: Parser::new(tool_env),
        })
    }

    pub(super) fn path(&self) -> String {
        show_path(self.place.path()).into_owned()
    }

    pub(super) fn lock(&self, cx: &Context) -> Result<Target, ToolError> {
        self.workspace.target(&self.place, &cx.cancel)
    }

    pub(super) fn io_error(&self, e: &std::io::Error) -> ToolError {
        gemini_tools_workspace::io_error(e, self.place.path())
    }

    /// Refuses an edit that can't succeed wherever `old_string` is: if the file is missing, if it
    /// exists although `old_string` is empty, which asks to create it, or if nothing would change.
    /// Returns `None` if the file is to be created.
    pub(super) fn subject<'t>(&self, target: &'t Target) -> Result<Option<Subject<'t>>, ToolError> {
        let Some(current) = &target.current else {
            return if self.old.is_empty() {
                placeholder::check("new_string", &self.new)?;
                Ok(None)
            } else {
                let error = ToolError::new(
                    ErrorKind::FileNotFound,
                    format!(
                        "{} does not exist, so nothing can be replaced in it.",
                        self.path()
                    ),
                )
                .with_hint("Check the path, or use an empty old_string to create the file.");
                Err(self.workspace.with_nearest(error, &self.place))
            };
        };
        if self.old.is_empty() {
            return Err(ToolError::new(
                ErrorKind::AttemptToCreateExistingFile,
                format!(
                    "{} exists already; an empty old_string creates a new file.",
                    self.path()
                ),
            )
            .with_hint("Give the text to replace, or use write_file to overwrite the file."));
        }
        if self.old == self.new {
            return Err(self.no_change("old_string and new_string are the same"));
        }
        if differ_in_ends_only(&self.old, &self.new) {
            return Err(self
                .no_change("the texts differ in line ends only, and an edit keeps the file's")
                .with_hint("Convert line ends with a command, or write the whole file."));
        }
        let encoding = self.encoding(current)?;
        let subject = Subject { current, encoding };
        self.check_new(&self.new, subject)?;
        Ok(Some(subject))
    }

    pub(super) fn check_new(
        &self,
        new: &str,
        Subject { current, encoding }: Subject<'_>,
    ) -> Result<(), ToolError> {
        placeholder::check_file("new_string", new, &self.old, current, encoding)
            .map_err(|e| self.io_error(&e))?
    }

    pub(super) fn whole(&self, current: &OpenFile) -> Result<Vec<u8>, ToolError> {
        beginning(current, usize::MAX).map_err(|e| self.io_error(&e))
    }

    pub(super) fn find(
        &self,
        Subject { current, encoding }: Subject<'_>,
        old: &str,
        cancel: &Cancellation,
    ) -> Result<Occurrences, ToolError> {
        let path = self.place.path();
        find(current, path, encoding, old, cancel)?.map_err(|c| {
            let kind = ErrorKind::EditNoOccurrenceFound;
            super::unwritable(Unwritable::Character(c), path, encoding, kind, "old_string")
        })
    }

    /// Returns both texts as they are looked for and written. A `\r` at the end of the old text is
    /// taken as a part of a line end `\r\n`, unless the file has the text with a lone `\r`.
    pub(super) fn texts(
        &self,
        subject: Subject<'_>,
        cancel: &Cancellation,
    ) -> Result<[Cow<'_, str>; 2], ToolError> {
        let given = [&*self.old, &*self.new].map(Cow::Borrowed);
        let Some((old, new)) = whole_line_ends(&self.old, &self.new) else {
            return Ok(given);
        };
        let found = self.find(subject, &self.old, cancel)?;
        let is_there = !found.matches.is_empty() && !found.by_line_ending;
        Ok(if is_there {
            given
        } else {
            [old, new].map(Cow::Owned)
        })
    }

    /// Returns the texts before and behind a match, as much of them as `new` may repeat.
    pub(super) fn around(
        &self,
        Subject { current, encoding }: Subject<'_>,
        place: &Match,
        new: &str,
    ) -> Result<[String; 2], ToolError> {
        let far = FAR_BYTES + 2 * new.len() as u64;
        let first = encoding.mark().len() as u64;
        let start = place.start.max(first);
        // The text begins at a multiple of four bytes, so that no code unit of UTF-16 or UTF-32 is
        // cut in two.
        let from = (start.saturating_sub(far) / 4 * 4).max(first);
        let read = |from: u64, until: u64| {
            let bytes = read_range(&current.file, from, until - from);
            let bytes = bytes.map_err(|e| self.io_error(&e))?;
            Ok(encoding.decode(&bytes).into_owned())
        };
        Ok([read(from, start)?, read(place.end, place.end + far)?])
    }

    /// Returns a sentence for the answer that says which text is in the file twice after the edit, or
    /// that two lines are joined, if that is so at the first of the places.
    pub(super) fn repetition(
        &self,
        subject: Subject<'_>,
        found: &Occurrences,
        [old, new]: [&str; 2],
    ) -> Result<String, ToolError> {
        let Some(place) = found.matches.first() else {
            return Ok(String::new());
        };
        let [before, behind] = self.around(subject, place, new)?;
        let head = before.rsplit('\n').next().unwrap_or_default();
        let is_indented = |text: &str| text.starts_with([' ', '\t']);
        Ok(
            if let Some((text, _)) = repeated([&before, &behind], old, new) {
                let text = brief(&text);
                format!(" Now `{text}` is there twice: it stood beside old_string already.")
            } else if is_indented(head)
                && head.trim().is_empty()
                && !is_indented(old)
                && new.starts_with(head)
            {
                " Now the indentation of the first line is there twice: it stood before old_string already."
                .to_owned()
            } else if loses_line_end(old, new, &behind) && !behind.starts_with(['\r', '\n']) {
                " Now the last line and the one below it are one line: old_string ends in a line end, \
             new_string does not."
                .to_owned()
            } else {
                String::new()
            },
        )
    }

    pub(super) fn literal_plan(
        &self,
        subject: Subject<'_>,
        found: Occurrences,
        new: &str,
        cancel: &Cancellation,
    ) -> Result<Plan, ToolError> {
        let Subject { current, encoding } = subject;
        let path = self.place.path();
        let is_literal = !found.by_line_ending && !found.by_replacement;
        let as_written = is_literal && has_mixed_ends(&self.old, new);
        let note = if found.by_line_ending {
            " The line ends in old_string stood for those of the file."
        } else if found.by_replacement {
            " \u{fffd} in old_string stood for bytes that are no text."
        } else {
            ""
        };
        // If a lone `\r` of the old text stood for a line end of the file, so does that of the new.
        let new = if found.by_line_ending && has_lone_return(&self.old) {
            &with_end(new, LineEnding::Lf)
        } else {
            new
        };
        let replacement = if as_written {
            Replacement::as_written(found.matches, new, encoding)
        } else {
            Replacement::new(found, new, current, path, encoding, cancel)?
        };
        let replacement = replacement.map_err(|why| self.unwritable(encoding, why))?;
        self.plan(subject, replacement, note.to_owned(), None)
    }

    pub(super) fn plan(
        &self,
        Subject { current, encoding }: Subject<'_>,
        replacement: Replacement,
        mut notes: String,
        found_by: Option<&'static str>,
    ) -> Result<Plan, ToolError> {
        if replacement
            .changes_nothing(current)
            .map_err(|e| self.io_error(&e))?
        {
            return Err(self.no_change("the file has the new text already"));
        }
        if !encoding.is_utf8() {
            notes += &format!(" The file stays in {}.", encoding.name());
        } else if !replacement.is_ascii() && self.encoding_of(current)?.is_none() {
            notes += " The file is no text in an encoding that is known; the new text is in UTF-8.";
        }
        Ok(Plan::Replace(Change {
            replacement,
            encoding,
            notes,
            found_by,
        }))
    }

    fn encoding_of(&self, current: &OpenFile) -> Result<Option<Encoding>, ToolError> {
        encoding_of(current).map_err(|e| self.io_error(&e))
    }

    pub(super) fn encoding(&self, current: &OpenFile) -> Result<Encoding, ToolError> {
        let (known, size) = (self.encoding_of(current)?, current.size());
        if known.is_none() && size > MAX_MEDIA_BYTES {
            return Err(ToolError::new(
                ErrorKind::FileTooLarge,
                format!(
                    "{} has {size} bytes and is not text; only binary files of up to \
                     {MAX_MEDIA_BYTES} bytes are edited.",
                    self.path()
                ),
            ));
        }
        // A binary file can be edited as UTF-8: an edit changes no bytes outside of the text that
        // it replaces.
        Ok(known.unwrap_or_default())
    }

    pub(super) fn no_change(&self, why: &str) -> ToolError {
        ToolError::new(
            ErrorKind::EditNoChange,
            format!("Nothing to change in {}: {why}.", self.path()),
        )
        .with_hint("If another change was meant, give its text in new_string.")
    }

    pub(super) fn unwritable(&self, encoding: Encoding, why: Unwritable) -> ToolError {
        let kind = ErrorKind::EditPreparationFailure;
        super::unwritable(why, self.place.path(), encoding, kind, "new_string")
    }

    pub(super) fn is_comparable(current: &OpenFile, text: &str) -> bool {
        current.size() <= MAX_DECODED_BYTES && text.len() <= NEAREST_TEXT_BYTES
    }

    pub(super) fn not_found(&self, subject: Subject<'_>) -> ToolError {
        let message = format!(
            "old_string was not found in {}; nothing was changed.",
            self.path()
        );
        self.missed(message, subject)
    }

    pub(super) fn too_large(&self, subject: Subject<'_>) -> ToolError {
        let message = format!(
            "old_string is not in {} as it is, and this is too large to be compared otherwise; \
             nothing was changed.",
            self.path()
        );
        self.missed(message, subject)
    }

    pub(super) fn missed(&self, mut message: String, subject: Subject<'_>) -> ToolError {
        let Subject { current, encoding } = subject;
        let is_small = Self::is_comparable(current, &self.old);
        let near = || {
            let bytes = beginning(current, usize::MAX).unwrap_or_default();
            nearest(&encoding.decode(&bytes), &self.old)
        };
        let near = is_small
            .then(|| super::quoted(&self.workspace, &self.place, near))
            .flatten();
        for near in near.iter().flatten() {
            message.push_str(&format!("\nNear: {near}"));
        }
        let hint = match near.as_deref() {
            None if !is_small => {
                "What is near was not sought: this takes too long. Read the file and copy the text \
                 exactly."
            }
            None => "Read the file and copy the text exactly.",
            Some([]) => "The file has no similar text. Read the file and copy the text exactly.",
            Some(_) => "Copy the text exactly as the file has it, with all whitespace.",
        };
        ToolError::new(ErrorKind::EditNoOccurrenceFound, message).with_hint(hint)
    }

    pub(super) fn file_diff(&self, plan: &Plan, target: &Target) -> Result<FileDiff, ToolError> {
        let file_name = self.place.name().to_string_lossy().into_owned();
        let (Plan::Replace(change), Some(current)) = (plan, &target.current) else {
            return Ok(super::text_diff(file_name, None, &self.new));
        };
        let Change {
            replacement,
            encoding,
            ..
        } = change;
        let diff = replacement.diff(current, &file_name);
        let (file_diff, diff_stat) = diff.map_err(|e| self.io_error(&e))?;
        let mut diff = FileDiff {
            file_diff,
            file_name,
            diff_stat,
            ..FileDiff::default()
        };
        let whole = SHOWN_BYTES as u64;
        if current.size() <= whole && replacement.new_size(current) <= whole {
            let bytes = self.whole(current)?;
            diff.original_content = Some(encoding.decode(&bytes).into_owned());
            diff.new_content = Some(encoding.decode(&replacement.apply(&bytes)).into_owned());
        }
        Ok(diff)
    }

    pub(super) fn describe(&self) -> String {
        let path = self.workspace.display_name(&self.place);
        if self.old.is_empty() {
            format!("Creates `{path}`")
        } else {
            format!(
                "Edits `{path}`: {} => {}",
                brief(&self.old),
                brief(&self.new)
            )
        }
    }

    pub(super) fn confirmation(
        &self,
        plan: &Plan,
        target: &Target,
    ) -> Result<Confirmation, ToolError> {
        let diff = self.file_diff(plan, target)?;
        let (title, path) = (self.describe(), self.place.path());
        Ok(super::ask_about_edit(title, path, diff, &self.new))
    }

    pub(super) fn carry_out(
        &self,
        plan: Plan,
        target: Target,
        tool: &BuiltinTool,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        let is_inexact = matches!(&plan, Plan::Replace(change) if change.found_by.is_some());
        let diff = (cx.wants_display || is_inexact).then(|| self.file_diff(&plan, &target));
        let diff = diff.transpose()?;
        cx.cancel.check()?;
        let check = self.check(&plan, &target)?;
        let origin = super::origin(tool, cx);
        let result = match plan {
            Plan::Create => self.create(target, origin)?,
            Plan::Replace(mut change) => {
                let lines = || replaced_lines(&change.replacement, &target);
                change.notes += &self.check_seen(lines, &target, cx)?;
                self.replace(target, origin, &change, diff.as_ref())?
            }
        };
        let result = check.add_to(result);
        Ok(match diff.filter(|_| cx.wants_display) {
            Some(diff) => result.with_display(diff),
            None => result,
        })
    }

    /// Starts parsing the new content in another process, to note the syntax errors of the edit.
    fn check(&self, plan: &Plan, target: &Target) -> Result<Check, ToolError> {
        let (Plan::Replace(change), Some(current)) = (plan, &target.current) else {
            return Ok(Check::default());
        };
        let replacement = &change.replacement;
        let is_large = current.size().max(replacement.new_size(current)) > MAX_BYTES as u64;
        if is_large || !self.parser.can_parse(&self.place.name().to_string_lossy()) {
            return Ok(Check::default());
        }
        let old = self.whole(current)?;
        let new = replacement.apply(&old);
        let text = |bytes: &[u8]| change.encoding.decode(bytes).into_owned();
        let (old, new) = (text(&old), text(&new));
        Ok(self.parser.check(&self.workspace, &self.place, &old, new))
    }

    fn check_seen(
        &self,
        lines: impl FnOnce() -> std::io::Result<Vec<Range<usize>>>,
        target: &Target,
        cx: &Context,
    ) -> Result<String, ToolError> {
        if !cx.view.remembers || self.workspace.unseen_change(target, &self.place).is_none() {
            return Ok(String::new());
        }
        let lines = lines().map_err(|e| self.io_error(&e))?;
        super::unseen::check(&self.workspace, &self.place, target, Some(&lines), cx)
    }

    fn create(&self, target: Target, origin: ChangeOrigin) -> Result<ToolResult, ToolError> {
        let notes = super::commit(target, &self.workspace, &self.place, origin, |file| {
            file.write_all(self.new.as_bytes())
        })?;
        let size = gemini_tools_core::text::counted(self.new.len(), "byte");
        let after = format!(". It has {size}.{notes}");
        let before = "Successfully created and wrote to new file: ";
        let text = super::about_path(before, self.place.path(), &after);
        Ok(ToolResult::named(text).with_data("created", true))
    }

    fn replace(
        &self,
        target: Target,
        origin: ChangeOrigin,
        Change {
            replacement,
            notes,
            found_by,
            ..
        }: &Change,
        diff: Option<&FileDiff>,
    ) -> Result<ToolResult, ToolError> {
        // The old content is read through a second handle of the same open file, because `commit`
        // takes the target, which holds the lock.
        let source = target.reopened().map_err(|e| self.io_error(&e))?;
        let more = super::commit(target, &self.workspace, &self.place, origin, |file| {
            replacement.write(&source, file)
        })?;
        let count = replacement.matches.len();
        // The wording is Gemini CLI's, which has no singular here.
        let mut after = format!(
            " ({count} replacements). The text was at {}.{notes}{more}",
            line_list(replacement.matches.iter().map(|place| place.line))
        );
        // A text that was quoted inexactly may have been found where nobody expects it, so the diff
        // is shown.
        let inexact = found_by.and(diff);
        let shown = inexact
            .and_then(|diff| super::quoted(&self.workspace, &self.place, || &diff.file_diff));
        if let Some(diff) = shown {
            after.push_str(&format!("\nWhat changed:\n{diff}"));
        }
        let before = "Successfully modified file: ";
        let text = super::about_path(before, self.place.path(), &after);
        let lines = replacement.matches.iter().map(|place| place.line);
        let result = ToolResult::named(text)
            .with_data("replacements", count)
            .with_data("lines", lines.take(1000).collect::<Vec<u64>>());
        Ok(match *found_by {
            Some(found_by) => result.with_data("found_by", found_by),
            None => result,
        })
    }
}

fn replaced_lines(
    replacement: &Replacement,
    target: &Target,
) -> std::io::Result<Vec<Range<usize>>> {
    let Some(current) = &target.current else {
        return Ok(Vec::new());
    };
    let lines = |place: &Match| {
        let first = place.line as usize - 1;
        let bytes = read_range(&current.file, place.start, place.end - place.start)?;
        let inner = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let more = gemini_tools_core::text::count_newlines(inner) as usize;
        Ok(first..first + more + 1)
    };
    replacement.matches.iter().map(lines).collect()
}

pub(super) fn line_list(lines: impl ExactSizeIterator<Item = u64>) -> String {
    let more = lines.len().saturating_sub(LISTED_LINES);
    let mut list: Vec<String> = lines
        .take(LISTED_LINES)
        .map(|line| format!("line {line}"))
        .collect();
    if more > 0 {
        list.push(format!("and {more} more"));
    }
    list.join(", ")
}

fn brief(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    let short: String = line.chars().take(40).collect();
    if short.len() < text.len() {
        format!("{short}…")
    } else {
        short
    }
}
