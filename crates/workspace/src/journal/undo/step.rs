//! Taking back a change of the mode, and the record of what an undo does by itself.

use super::{LocatedFile, Run};
use crate::journal::entry::{FileState, JournalEntry};
use crate::journal::keeper::{new_id, now};
use crate::journal::{UNDO, node, place};
use crate::resolve::ResolveError;
use crate::{Workspace, WorkspacePath, system_error};
use gemini_tools_core::tool::ToolError;
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr, write};
use std::path::Path;

/// A change of a path by the undo itself.
pub(super) struct Step<'a> {
    pub(super) id: String,
    pub(super) before: Option<&'a FileState>,
    pub(super) undone: &'a [usize],
}

impl Run<'_> {
    /// Gives a file back the mode that commands have changed, unless it was changed since. Returns true if
    /// it did, or would.
    pub(super) fn give_mode_back(
        &self,
        located: &LocatedFile<'_>,
        chosen: &[usize],
        id: &str,
    ) -> Result<bool, ToolError> {
        let mut by_commands = chosen
            .iter()
            .map(|index| self.entry(*index))
            .filter(|entry| entry.command.is_some());
        let newest = by_commands.next();
        let oldest = by_commands.next_back().or(newest);
        let states = newest
            .zip(oldest)
            .map(|(newest, oldest)| (&newest.after, &oldest.before));
        let Some((Some(after), Some(before))) = states else {
            return Ok(false);
        };
        if after.mode == before.mode {
            return Ok(false);
        }
        let left = chosen
            .first()
            .and_then(|index| self.entry(*index).after.as_ref());
        let Some(dir) = parent(located)? else {
            return Ok(false);
        };
        let name = Path::new(located.place.name());
        let present = node::look(&dir, name).map_err(|e| failed(e, located))?;
        let Some((present, _)) = present else {
            return Ok(false);
        };
        let is_content_back = self.is_same(Some(before), Some(&present));
        let is_as_left = self.is_same(left, Some(&present)) || is_content_back;
        if present.mode != after.mode || present.kind.is_some() || !is_as_left {
            return Ok(false);
        }
        if self.undo.is_explained {
            return Ok(true);
        }
        node::set_mode(&dir, name, before.mode).map_err(|e| failed(e, located))?;
        // The content's own undo is recorded with it.
        let (id, undone) = if is_content_back {
            (id.to_owned(), chosen)
        } else {
            (new_id(), &[][..])
        };
        let before = Some(&present);
        let step = Step { id, before, undone };
        self.record(located, &dir, &step);
        Ok(true)
    }

    /// Records a step of the undo, whose result is there.
    pub(super) fn record(&self, located: &LocatedFile<'_>, dir: &OwnedFd, step: &Step<'_>) {
        let name = Path::new(located.place.name());
        let Some(journal) = located.shared.journal.get() else {
            return;
        };
        let at = now();
        let Ok((_, log, _)) = journal.open_hour(at / place::HOUR_MILLIS) else {
            return;
        };
        let path = crate::walk::real_path(dir).map(|dir| dir.join(name));
        let path = path.unwrap_or_else(|| located.place.path().to_owned());
        let undone = step
            .undone
            .iter()
            .map(|index| self.entry(*index).id.clone());
        let entry = JournalEntry {
            tool: UNDO.to_owned(),
            call: Some(self.call.clone()),
            command: Some(self.call.clone()),
            before: step.before.cloned(),
            after: node::look(dir, name).ok().flatten().map(|(state, _)| state),
            undoes: undone.collect(),
            ..journal.entry(step.id.clone(), at, &path)
        };
        let line = serde_json::to_vec(&entry).unwrap_or_default();
        // An undo that can't be recorded was made all the same.
        let _ = retry_on_intr(|| write(&log, &[b"\n", &*line, b"\n"].concat()));
    }
}

/// Opens the directory of a path beneath its root; `None` where there is none.
pub(super) fn parent(located: &LocatedFile<'_>) -> Result<Option<OwnedFd>, ToolError> {
    let place = &located.place;
    let (Some(rel), Some(path)) = (place.rel().parent(), place.path().parent()) else {
        return Ok(None);
    };
    let above = WorkspacePath::new(place.root, rel.to_owned(), path.to_owned());
    let flags = crate::files::PATH_ONLY | OFlags::DIRECTORY;
    match located.workspace().open_beneath(&above, flags) {
        Ok(dir) => Ok(Some(dir)),
        Err(ResolveError::System(Errno::NOENT | Errno::NOTDIR)) => Ok(None),
        Err(e) => Err(Workspace::path_error(e, place)),
    }
}

pub(super) fn failed(errno: Errno, located: &LocatedFile<'_>) -> ToolError {
    system_error(errno, &located.place.path().display().to_string())
}
