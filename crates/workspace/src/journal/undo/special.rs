//! Taking back what only commands change: directories and links.

use super::step::{failed, parent};
use super::{FileOutcome, LocatedFile, Run, UndoRefusal, state};
use crate::OpenFile;
use crate::journal::entry::{FileState, NodeKind};
use crate::journal::keeper::new_id;
use crate::journal::node;
use gemini_tools_core::tool::ToolError;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, mkdirat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Run<'_> {
    /// Takes back changes of a path that is or was a directory or a link.
    pub(super) fn special(
        &self,
        located: &LocatedFile<'_>,
        path: &Path,
        chosen: &[usize],
        id: &str,
    ) -> Result<FileOutcome, ToolError> {
        let mut outcome = FileOutcome {
            path: path.to_owned(),
            ..FileOutcome::default()
        };
        let dir = parent(located)?;
        let present = present(located, dir.as_ref())?;
        if self.is_as_before(chosen, present.as_ref()) {
            outcome.undone = chosen.to_vec();
            outcome.is_done = true;
            return Ok(outcome);
        }
        outcome.undone = self.steps(chosen, present.as_ref(), &mut outcome.refused);
        let Some(&oldest) = outcome.undone.last() else {
            return Ok(outcome);
        };
        let entry = self.entry(oldest);
        let source = match entry.before.as_ref().map(|before| &before.kind) {
            Some(None) => self.old_content(oldest),
            _ => entry
                .loss()
                .map_or(Ok(None), |why| Err(format!("was not kept: {why}"))),
        };
        let done = match (source, dir) {
            (Err(reason), _) => Err(reason),
            _ if self.undo.is_explained => return Ok(outcome),
            (Ok(_), None) => Err("can't be made again, because its directory is gone".to_owned()),
            (Ok(source), Some(dir)) => self
                .exchange(located, &dir, present.as_ref(), &outcome.undone, id)
                .map(|()| source)
                .map_err(reason),
        };
        match done {
            Ok(None) => outcome.id = Some(id.to_owned()),
            Ok(source) => {
                let target = located
                    .workspace()
                    .target(&located.place, &self.undo.cancel)?;
                self.write(located, target, oldest, source, &mut outcome, id)?;
            }
            Err(reason) => {
                let undone = std::mem::take(&mut outcome.undone).into_iter();
                outcome.refused.extend(undone.map(|index| UndoRefusal {
                    index,
                    reason: reason.clone(),
                }));
            }
        }
        Ok(outcome)
    }

    /// Removes what is there, unless it only gets another mode, and makes the directory or link that was there.
    fn exchange(
        &self,
        located: &LocatedFile<'_>,
        dir: &OwnedFd,
        present: Option<&FileState>,
        undone: &[usize],
        id: &str,
    ) -> Result<(), Errno> {
        let name = Path::new(located.place.name());
        let wanted = undone
            .last()
            .and_then(|index| self.entry(*index).before.as_ref());
        let kind = |state: Option<&FileState>| state.map(|state| state.kind.clone());
        if kind(present) != kind(wanted)
            && let Some(found) = present
        {
            if found.kind.is_none() {
                let target = located
                    .workspace()
                    .target(&located.place, &self.undo.cancel);
                let origin = self.origin(located, &[], &new_id());
                let removed = target.and_then(|target| {
                    let target = target.recorded(located.shared, &located.place, origin);
                    target.remove(&located.place)
                });
                removed.map_err(|_| Errno::ACCESS)?;
            } else {
                let flags = match found.kind {
                    Some(NodeKind::Directory) => AtFlags::REMOVEDIR,
                    _ => AtFlags::empty(),
                };
                unlinkat(dir, name, flags)?;
                match wanted {
                    None => self.record(located, dir, id, present, undone),
                    Some(_) => self.record(located, dir, &new_id(), present, &[]),
                }
            }
        }
        let is_there = kind(present) == kind(wanted);
        match wanted.map(|wanted| (wanted.mode, &wanted.kind)) {
            None | Some((_, None | Some(NodeKind::Special))) => return Ok(()),
            Some((mode, Some(NodeKind::Directory))) => {
                if !is_there {
                    mkdirat(dir, name, Mode::from_raw_mode(0o700))?;
                }
                node::set_mode(dir, name, mode)?;
            }
            Some((_, Some(NodeKind::Link(target)))) => {
                symlinkat(OsStr::from_bytes(target), dir, name)?;
            }
        }
        let before = present.filter(|_| is_there);
        self.record(located, dir, id, before, undone);
        Ok(())
    }
}

/// Returns the present state of a path, with the digest of a regular file.
fn present(
    located: &LocatedFile<'_>,
    dir: Option<&OwnedFd>,
) -> Result<Option<FileState>, ToolError> {
    let name = Path::new(located.place.name());
    let present = dir.map(|dir| node::look(dir, name)).transpose();
    let present = present.map_err(|e| failed(e, located))?.flatten();
    let open = || located.workspace().open_file(&located.place).ok();
    Ok(present.map(|(found, _)| match &found.kind {
        None => open().map_or(found, |OpenFile { file, stat }| state(&file, &stat)),
        Some(_) => found,
    }))
}

/// Returns why a directory or link can't be put back, as the end of a sentence.
fn reason(errno: Errno) -> String {
    match errno {
        Errno::NOTEMPTY | Errno::EXIST => {
            "has files that came later, or that git ignores".to_owned()
        }
        errno => format!("can't be changed: {errno}"),
    }
}
