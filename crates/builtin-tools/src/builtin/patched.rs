//! Computes the new content of each file that a patch changes, before any file is written.

use super::nearest::nearest;
use super::{placeholder, text_diff};
use crate::patch::{Change, FilePatch, Hunk, HunkError, MARK, Misfit, Patched, apply};
use gemini_tools_core::tool::{Context, DiffStat, ErrorKind, ToolError};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, changes, diff_lines};
use gemini_tools_workspace::files::mode;
use gemini_tools_workspace::lines::{beginning, encoding_of};
use gemini_tools_workspace::text::{Encoding, Unwritable};
use gemini_tools_workspace::write::{ChangedFile, NewContent, Target, mode_with};
use gemini_tools_workspace::{OpenFile, Workspace, WorkspacePath, io_error, show_path};
use std::collections::HashMap;
use std::ops::Range;

const MAX_PATCHED_BYTES: u64 = 64 * 1024 * 1024;

/// A file that a patch changes. `to` is the path to which the file is moved, or `None` if it stays
/// where it is.
pub(super) struct Subject {
    pub(super) place: WorkspacePath,
    pub(super) to: Option<WorkspacePath>,
    change: Change,
}

/// What the answer and the question to the user say about a file that a patch changes. `change` is
/// a verb such as "updates". `notes` say how hunks are quoted inexactly, and which are at other
/// lines than they say; `remarks` are sentences about changes that the caller has not seen and
/// about hard links, each with a leading space. `texts` are the file's texts before and after, or
/// `None` if it is created or deleted.
pub(super) struct PatchedFile {
    pub(super) name: String,
    pub(super) change: &'static str,
    pub(super) diff: String,
    pub(super) diff_stat: DiffStat,
    pub(super) notes: Vec<String>,
    pub(super) remarks: String,
    pub(super) texts: Option<(String, String)>,
}

impl Subject {
    /// Resolves the paths that one section of a patch names.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Workspace::locate`]. Returns `invalid_tool_params` if the section
    /// creates a file whose text has a placeholder such as `// ... existing code ...`.
    pub(super) fn locate(workspace: &Workspace, patch: FilePatch) -> Result<Self, ToolError> {
        let place = workspace.locate(&patch.path)?;
        let to = match &patch.change {
            Change::Update { to: Some(to), .. } => Some(workspace.locate(to)?),
            Change::Create { text, .. } => {
                placeholder::check("patch", text)?;
                None
            }
            _ => None,
        };
        let change = patch.change;
        Ok(Self { place, to, change })
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &WorkspacePath> {
        std::iter::once(&self.place).chain(&self.to)
    }
}

/// Locks the files of a patch and computes their new content, but writes nothing. Returns what the
/// answer says about each file, and what is to be written.
///
/// # Errors
///
/// Returns an error that names the files that the patch does not fit, and says why.
pub(super) fn plan(
    workspace: &Workspace,
    subjects: &[Subject],
    cx: &Context,
) -> Result<(Vec<PatchedFile>, Vec<ChangedFile>), ToolError> {
    check_distinct(workspace, subjects)?;
    let mut targets = lock(workspace, subjects, cx)?;
    let (mut shown, mut changed, mut misses) = (Vec::new(), Vec::new(), Vec::new());
    for subject in subjects {
        cx.cancel.check()?;
        let targets: Vec<Target> = targets.drain(..subject.places().count()).collect();
        let planning = Planning {
            workspace,
            subject,
            cx,
        };
        match planning.plan(targets, changed.len()) {
            Ok((file, files)) => {
                shown.push(file);
                changed.extend(files);
            }
            Err(e) => misses.push(e),
        }
    }
    match misses.len() {
        0 => Ok((shown, changed)),
        1 => Err(misses.remove(0)),
        // All hunks that don't fit are reported at once, so that a model need not send the patch
        // again for each of them.
        _ => {
            let messages: Vec<String> = misses.iter().map(|miss| miss.message.clone()).collect();
            let mut all = misses.remove(0);
            all.message = messages.join("\n");
            Err(all)
        }
    }
}

/// Refuses two paths that lead to one file, which would be changed twice.
fn check_distinct(workspace: &Workspace, subjects: &[Subject]) -> Result<(), ToolError> {
    let mut known: HashMap<_, &WorkspacePath> = HashMap::new();
    for place in subjects.iter().flat_map(Subject::places) {
        let Ok(stat) = workspace.stat(place) else {
            continue;
        };
        if let Some(other) = known.insert((stat.st_dev, stat.st_ino), place) {
            let names = [other, place].map(|place| workspace.display_name(place));
            return Err(ToolError::invalid(format!(
                "{} and {} are the same file.",
                names[0], names[1]
            ))
            .with_hint("Patch it by one of its names."));
        }
    }
    Ok(())
}

/// Locks all files in the order of their paths: two patches of the same files, each of which has
/// locked one, would wait for each other forever. Returns them in the order of the patch.
fn lock(
    workspace: &Workspace,
    subjects: &[Subject],
    cx: &Context,
) -> Result<Vec<Target>, ToolError> {
    let places: Vec<&WorkspacePath> = subjects.iter().flat_map(Subject::places).collect();
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|index| places[*index].path());
    let mut locked = Vec::new();
    for index in order {
        locked.push((index, workspace.target(places[index], &cx.cancel)?));
    }
    locked.sort_by_key(|(index, _)| *index);
    Ok(locked.into_iter().map(|(_, target)| target).collect())
}

struct Planning<'a> {
    workspace: &'a Workspace,
    subject: &'a Subject,
    cx: &'a Context,
}

/// What the answer says about a file, and what is written: two changes if the file is moved,
/// otherwise one.
type Plan = (PatchedFile, Vec<ChangedFile>);

impl Planning<'_> {
    /// Plans the change of one file. `index` is the position that its first [`ChangedFile`] gets in
    /// the list for all files.
    fn plan(&self, mut targets: Vec<Target>, index: usize) -> Result<Plan, ToolError> {
        let new_target = self.subject.to.as_ref().and_then(|_| targets.pop());
        let Some(target) = targets.pop() else {
            return Err(ToolError::failed("The patch has a file without a place."));
        };
        match &self.subject.change {
            Change::Create {
                text,
                is_executable,
            } => self.create(target, text, *is_executable),
            Change::Delete { hunks } => self.delete(target, hunks.as_deref()),
            Change::Update {
                hunks,
                is_executable,
                ..
            } => self.update(target, new_target, hunks, *is_executable, index),
        }
    }

    fn create(&self, target: Target, text: &str, is_executable: bool) -> Result<Plan, ToolError> {
        check_absent(&self.subject.place, &target)?;
        let new = NewContent {
            bytes: text.as_bytes().to_vec(),
            access_of: None,
            is_executable: is_executable.then_some(true),
        };
        let is_executable = new.is_executable;
        let shown = self.shown("creates", [None, Some(text)], is_executable, Vec::new());
        Ok((shown, vec![part(&self.subject.place, target, Some(new))]))
    }

    fn delete(&self, target: Target, listed: Option<&[Hunk]>) -> Result<Plan, ToolError> {
        self.check_no_link()?;
        let hunks = listed.unwrap_or_default();
        let (old, _) = self.old(&target, hunks)?;
        let left = apply(&old, hunks).map_err(|e| self.miss(&e, &old))?.text;
        if listed.is_some() && !left.is_empty() {
            let why = "has lines that the patch does not remove, so it is not removed";
            let message = self.about(why);
            return Err(ToolError::new(ErrorKind::EditNoOccurrenceFound, message));
        }
        let shown = PatchedFile {
            remarks: self.check_seen(&target, None)?,
            ..self.shown("deletes", [Some(&old), None], None, Vec::new())
        };
        Ok((shown, vec![part(&self.subject.place, target, None)]))
    }

    fn update(
        &self,
        target: Target,
        new_target: Option<Target>,
        hunks: &[Hunk],
        is_executable: Option<bool>,
        index: usize,
    ) -> Result<Plan, ToolError> {
        let (old, encoding) = self.old(&target, hunks)?;
        let mode = target.current.as_ref().map_or(0, |file| mode(&file.stat));
        let is_executable = is_executable.filter(|is| mode_with(mode, *is) != mode);
        let added: String = hunks.iter().map(Hunk::added).collect();
        let removed: String = hunks.iter().map(Hunk::removed).collect();
        placeholder::check_hunks(&added, &removed, &old)?;
        let patched = apply(&old, hunks).map_err(|e| self.miss(&e, &old))?;
        let notes = notes(&patched);
        let text = patched.text;
        if text == old && is_executable.is_none() && new_target.is_none() {
            let message = self.about("is as the patch makes it already");
            return Err(ToolError::new(ErrorKind::EditNoChange, message));
        }
        let bytes = encoding.encode_again(&text).map_err(|c| {
            let path = self.subject.place.path();
            let kind = ErrorKind::EditPreparationFailure;
            super::unwritable(Unwritable::Character(c), path, encoding, kind, "the patch")
        })?;
        let change = if new_target.is_some() {
            "moves"
        } else {
            "updates"
        };
        let mut shown = self.shown(change, [Some(&old), Some(&text)], is_executable, notes);
        shown.remarks = self.check_seen(&target, Some(&replaced_lines(&old, &text)))?;
        shown.remarks += &super::hard_links_note(&target);
        let mark = if has_mark(encoding, hunks) {
            b""
        } else {
            encoding.mark()
        };
        // Without the byte order mark, which the parser of a language may take for a fault.
        let plain = |text: String| text.trim_start_matches(MARK).to_owned();
        shown.texts = Some((plain(old), plain(text)));
        let new = NewContent {
            bytes: [mark, &bytes].concat(),
            access_of: new_target.is_some().then_some(index),
            is_executable,
        };
        let place = &self.subject.place;
        let Some((to, new_target)) = self.subject.to.as_ref().zip(new_target) else {
            return Ok((shown, vec![part(place, target, Some(new))]));
        };
        self.check_no_link()?;
        check_absent(to, &new_target)?;
        let parts = vec![part(place, target, None), part(to, new_target, Some(new))];
        Ok((shown, parts))
    }

    fn check_seen(
        &self,
        target: &Target,
        lines: Option<&[Range<usize>]>,
    ) -> Result<String, ToolError> {
        super::unseen::check(self.workspace, &self.subject.place, target, lines, self.cx)
    }

    fn about(&self, why: &str) -> String {
        format!(
            "{} {why}; no file was changed.",
            show_path(self.subject.place.path())
        )
    }

    /// Refuses a symbolic link, since its target would be moved or removed in its place.
    fn check_no_link(&self) -> Result<(), ToolError> {
        if !self.workspace.is_link(&self.subject.place) {
            return Ok(());
        }
        let why = "is a symbolic link, which is not moved or removed by a patch";
        Err(ToolError::new(ErrorKind::FileWriteFailure, self.about(why))
            .with_hint("Use run_shell_command."))
    }

    /// Returns the file's present text and its encoding. The text begins with the byte-order mark
    /// if that is text for the hunks. Refuses a file that would not have the same bytes after its
    /// text is encoded again.
    fn old(&self, target: &Target, hunks: &[Hunk]) -> Result<(String, Encoding), ToolError> {
        let place = &self.subject.place;
        let Some(current) = &target.current else {
            let error = ToolError::new(ErrorKind::FileNotFound, self.about("does not exist"))
                .with_hint("Check the path in the patch.");
            return Err(self.workspace.with_nearest(error, place));
        };
        if current.size() > MAX_PATCHED_BYTES {
            let why = format!(
                "has {} bytes, and at most {MAX_PATCHED_BYTES} can be patched",
                current.size()
            );
            return Err(ToolError::new(ErrorKind::FileTooLarge, self.about(&why)));
        }
        let (encoding, bytes) = read(current).map_err(|e| io_error(&e, place.path()))?;
        if let Some(mut text) = encoding.decode_fully(&bytes) {
            if has_mark(encoding, hunks) {
                text.insert(0, MARK);
            }
            return Ok((text, encoding));
        }
        let name = encoding.name();
        let why =
            format!("has bytes that are not {name}, so a patch would change more than its lines");
        let error = ToolError::new(ErrorKind::EditPreparationFailure, self.about(&why));
        Err(error.with_hint("Use replace for this file."))
    }

    fn miss(&self, e: &HunkError, old: &str) -> ToolError {
        let (kind, hint) = match e.misfit {
            Misfit::Applied => (ErrorKind::EditNoChange, "Leave the hunk out."),
            Misfit::Ambiguous => (
                ErrorKind::EditExpectedOccurrenceMismatch,
                "Give more lines around the change, or a line above it after \"@@ \".",
            ),
            Misfit::Misplaced => (
                ErrorKind::EditNoOccurrenceFound,
                "Give the hunks in the order of the file, with lines that stay on both sides of each change.",
            ),
            Misfit::Missing => (
                ErrorKind::EditNoOccurrenceFound,
                "Copy the lines exactly as the file has them.",
            ),
        };
        let path = show_path(self.subject.place.path());
        let mut message = format!(
            "The hunk at line {} of the patch does not fit {path}: {}; no file was changed.",
            e.number, e.why
        );
        if e.misfit == Misfit::Missing && !e.wanted.is_empty() {
            let near = || nearest(old, &e.wanted);
            let near = super::quoted(self.workspace, &self.subject.place, near);
            if let Some(near) = near.iter().flatten().next() {
                message.push_str(&format!("\nNear: {near}"));
            }
        }
        ToolError::new(kind, message).with_hint(hint)
    }

    fn shown(
        &self,
        change: &'static str,
        [old, new]: [Option<&str>; 2],
        is_executable: Option<bool>,
        notes: Vec<String>,
    ) -> PatchedFile {
        let name = self
            .workspace
            .display_name(&self.subject.place)
            .into_owned();
        let to = self
            .subject
            .to
            .as_ref()
            .map(|to| self.workspace.display_name(to));
        let diff = text_diff(name.clone(), old, new.unwrap_or_default());
        // The lines that git writes for a change of the mode. Without them, a user could take a
        // patch that makes a program of a file for a change of its text only.
        let modes = match is_executable {
            None => "",
            Some(true) if old.is_none() => "new file mode 100755\n",
            Some(true) => "old mode 100644\nnew mode 100755\n",
            Some(false) => "old mode 100755\nnew mode 100644\n",
        };
        let mut text = String::new();
        if !modes.is_empty() {
            let new_name = to.as_deref().unwrap_or(&name);
            text = format!("diff --git {name} {new_name}\n{modes}");
        }
        if let Some(to) = to {
            text.push_str(&format!("rename from {name}\nrename to {to}\n"));
        }
        text.push_str(&diff.file_diff);
        if text.is_empty() {
            text = format!("--- {name}\n+++ {name}\n");
        }
        PatchedFile {
            name,
            change,
            diff: text,
            diff_stat: diff.diff_stat,
            notes,
            remarks: String::new(),
            texts: None,
        }
    }
}

/// Returns true if these hunks take the byte-order mark of a file for text, so that they may remove
/// it. In UTF-16 it never is: no program compares such files by lines of bytes.
fn has_mark(encoding: Encoding, hunks: &[Hunk]) -> bool {
    encoding.is_utf8() && !encoding.mark().is_empty() && hunks.iter().any(Hunk::has_mark)
}

fn notes(patched: &Patched) -> Vec<String> {
    let readings = patched.readings.iter();
    let mut notes: Vec<String> = readings.map(|one| one.describe().to_owned()).collect();
    if !patched.moved.is_empty() {
        let lines: Vec<String> = patched.moved.iter().map(usize::to_string).collect();
        let lines = lines.join(", ");
        notes.push(format!("not at the lines that it says, but at {lines}"));
    }
    notes
}

fn check_absent(place: &WorkspacePath, target: &Target) -> Result<(), ToolError> {
    if target.current.is_none() {
        return Ok(());
    }
    let message = format!(
        "{} exists already; no file was changed.",
        show_path(place.path())
    );
    Err(
        ToolError::new(ErrorKind::AttemptToCreateExistingFile, message)
            .with_hint("Update the file, or delete it in a patch before."),
    )
}

fn part(place: &WorkspacePath, target: Target, new: Option<NewContent>) -> ChangedFile {
    let place = place.clone();
    ChangedFile { place, target, new }
}

fn replaced_lines(old: &str, new: &str) -> Vec<Range<usize>> {
    let lines = |text| -> Vec<&str> { str::split_inclusive(text, '\n').collect() };
    let ops = diff_lines(Algorithm::Myers, &lines(old), &lines(new), None);
    changes(&ops).map(DiffOp::old_range).collect()
}

fn read(current: &OpenFile) -> std::io::Result<(Encoding, Vec<u8>)> {
    // A file whose encoding can't be told is read as UTF-8. The caller, `Planning::old`, decodes
    // bytes that are not valid UTF-8 in such a way that encoding the text again gives the same
    // bytes. It refuses the file if that is impossible.
    let encoding = encoding_of(current)?.unwrap_or_default();
    Ok((encoding, beginning(current, usize::MAX)?))
}
