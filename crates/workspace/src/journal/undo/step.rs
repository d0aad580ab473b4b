//! Taking back a change of the mode, and the record of what an undo does by itself.

use super::{LocatedFile, Run};
use crate::journal::entry::{FileState, JournalEntry};
use crate::journal::keeper::{new_id, now};
use crate::journal::{UNDO, node};
use crate::resolve::ResolveError;
use crate::{Workspace, system_error};
use gemini_tools_core::tool::ToolError;
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::path::Path;

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
        if is_content_back {
            self.record(located, &dir, id, Some(&present), chosen);
        } else {
            self.record(located, &dir, &new_id(), Some(&present), &[]);
        }
        Ok(true)
    }

    /// Records a step of the undo, whose result is there, by an id.
    pub(super) fn record(
        &self,
        located: &LocatedFile<'_>,
        dir: &OwnedFd,
        id: &str,
        before: Option<&FileState>,
        undone: &[usize],
    ) {
        let name = Path::new(located.place.name());
        let Some(journal) = located.shared.journal.get() else {
            return;
        };
        let at = now();
        let Ok(hour) = journal.open_hour(at) else {
            return;
        };
        let path = crate::walk::real_path(dir).map(|dir| dir.join(name));
        let path = path.unwrap_or_else(|| located.place.path().to_owned());
        let undone = undone.iter().map(|index| self.entry(*index).id.clone());
        let entry = JournalEntry {
            tool: UNDO.to_owned(),
            call: Some(self.call.clone()),
            command: Some(self.call.clone()),
            before: before.cloned(),
            after: node::look(dir, name).ok().flatten().map(|(state, _)| state),
            undoes: undone.collect(),
            ..journal.entry(id.to_owned(), at, &path)
        };
        // An undo that can't be recorded was made all the same.
        hour.append(&[entry]);
    }
}

/// Opens the directory of a path beneath its root; `None` where there is none.
pub(super) fn parent(located: &LocatedFile<'_>) -> Result<Option<OwnedFd>, ToolError> {
    let place = &located.place;
    let Some(above) = place.parent() else {
        return Ok(None);
    };
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
