//! What a write takes away, for a keeper of old content: see `gemini-tools-journal`.
//!
//! When the new content is ready, the keeper is asked where the old file is to go and what is to
//! be written down. Both happen in the same steps as the change itself, which a kill does not cut
//! in two: the old file, which the write would remove, is renamed, and one line is appended to a
//! log. So keeping costs nearly nothing, and there is a line only for what was done.

use super::{OpenFile, Workspace, WorkspacePath, resolve::Entry};
use gemini_tools_platform::fd::{AsFd, BorrowedFd, OwnedFd};
use gemini_tools_platform::files;
use gemini_tools_platform::fs::AtFlags;
use gemini_tools_platform::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps what writes take away.
pub trait Keeper: fmt::Debug + Send + Sync {
    /// Prepares what is kept of a change that is about to be made; `None` where the user wants
    /// nothing kept of it. The answer is dropped where the change is not made after all.
    ///
    /// # Errors
    ///
    /// Returns why nothing can be kept, as the end of a sentence. The change is made all the same.
    fn prepare(&self, change: &Change<'_>) -> Result<Option<Keeping>, String>;
}

/// Whose change it is.
#[derive(Debug, Clone, Default)]
pub struct ChangeOrigin {
    /// The tool's name.
    pub tool: String,
    /// The call's id, where it has one.
    pub call: Option<String>,
    /// What the keeper is to call the change, where that is said.
    pub id: Option<String>,
    /// The changes that are taken back by this one, by what the keeper calls them.
    pub undoes: Vec<String>,
    /// What the keeper says of the content that is put back.
    pub restores: Option<String>,
}

/// A change that is about to be made.
#[derive(Debug)]
pub struct Change<'a> {
    /// Whose it is.
    pub origin: &'a ChangeOrigin,
    /// The absolute path, without links where the system can tell.
    pub path: &'a Path,
    /// The path below its root.
    pub rel: &'a Path,
    /// Whether it is a file of the user's own outside of all roots.
    pub is_users: bool,
    /// The directory of the file, or the deepest one above it that exists.
    pub dir: BorrowedFd<'a>,
    /// The directories above the file that the change makes.
    pub made_directories: usize,
    /// The file that is there; `None` where the change makes one.
    pub old: Option<&'a OpenFile>,
    /// The file that will be there; `None` where the change removes it.
    pub new: Option<&'a File>,
    /// Whether the old file can't be moved, so that it has to be copied.
    pub must_copy: bool,
}

/// Where the old file goes and what is written down when the change is made.
#[derive(Debug)]
pub struct Keeping {
    /// The directory for the old file, and its name there. Where it is not moved, it is removed as
    /// if it was not kept.
    pub moved_to: Option<(Arc<OwnedFd>, String)>,
    /// What exists already, for the change, and goes where it is not made.
    pub copies: Vec<(Arc<OwnedFd>, String)>,
    /// Open for appending.
    pub log: File,
    /// What is appended.
    pub line: Vec<u8>,
    /// Why the old content is lost, where it is.
    pub lost: Option<String>,
    is_made: AtomicBool,
    is_recorded: AtomicBool,
}

impl Keeping {
    /// A line for the log, and nothing else yet.
    pub fn new(log: File, line: Vec<u8>) -> Self {
        Self {
            moved_to: None,
            copies: Vec::new(),
            log,
            line,
            lost: None,
            is_made: AtomicBool::new(false),
            is_recorded: AtomicBool::new(false),
        }
    }

    /// Moves the old file away from `name` in `dir`; whether that was done. System calls only.
    pub(super) fn take(
        &self,
        dir: BorrowedFd<'_>,
        name: &(impl AsRef<OsStr> + ?Sized),
        old: &File,
    ) -> bool {
        // What its mode was is in the line.
        self.moved_to.as_ref().is_some_and(|(to, kept)| {
            files::move_away(old, dir, name.as_ref(), to.as_fd(), kept).is_ok()
        })
    }

    /// Gives the old file its second name, before a rename takes the first.
    pub(super) fn link(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        match &self.moved_to {
            Some((to, kept)) => files::link(dir, name, to.as_fd(), kept),
            None => Ok(()),
        }
    }

    /// Takes that back.
    pub(super) fn unlink(&self) {
        if let Some((to, kept)) = &self.moved_to {
            let _ = gemini_tools_platform::fs::unlinkat(to, kept.as_str(), AtFlags::empty());
        }
    }

    /// Writes down that the change was made. System calls only.
    pub(super) fn record(&self) {
        self.is_made.store(true, Ordering::Relaxed);
        // One call, so that lines of several writers don't mix. Where the disk is full the change
        // is made all the same, and can't be taken back.
        let write = || gemini_tools_platform::io::write(&self.log, &self.line);
        let written = gemini_tools_platform::io::retry_on_intr(write);
        let is_whole = written.is_ok_and(|count| count == self.line.len());
        self.is_recorded.store(is_whole, Ordering::Relaxed);
    }

    /// Returns why a change that was made can't be taken back, where that is so.
    fn obstacle(&self) -> Option<String> {
        if !self.is_recorded.load(Ordering::Relaxed) {
            return Some("the journal's log could not be written".to_owned());
        }
        self.lost.clone()
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if !self.is_made.load(Ordering::Relaxed) {
            for (dir, name) in &self.copies {
                let _ =
                    gemini_tools_platform::fs::unlinkat(&**dir, name.as_str(), AtFlags::empty());
            }
        }
    }
}

/// The keeper of a change, and what it is told of it.
#[derive(Debug)]
pub(super) struct Kept {
    keeper: Arc<dyn Keeper>,
    origin: ChangeOrigin,
    is_users: bool,
    path: PathBuf,
    rel: PathBuf,
}

impl Kept {
    /// `None` where there is no keeper, or `.geminiignore` closes the file.
    pub(super) fn of(
        keepers: &Workspace,
        own: Option<&Workspace>,
        place: &WorkspacePath,
        origin: ChangeOrigin,
    ) -> Option<Self> {
        let keeper = keepers.keeper.get()?;
        if own.is_none() && keepers.is_gemini_ignored(place) {
            return None;
        }
        Some(Self {
            keeper: Arc::clone(keeper),
            origin,
            is_users: own.is_some(),
            path: place.path().to_owned(),
            rel: place.rel().to_owned(),
        })
    }

    pub(super) fn prepare(
        &self,
        entry: &Entry,
        old: Option<&OpenFile>,
        new: Option<&File>,
        must_copy: bool,
    ) -> Preparation {
        let real = if self.is_users {
            None
        } else {
            real_path(entry)
        };
        let prepared = self.keeper.prepare(&Change {
            origin: &self.origin,
            path: real.as_deref().unwrap_or(&self.path),
            rel: &self.rel,
            is_users: self.is_users,
            dir: entry.dir.as_fd(),
            made_directories: entry.missing.len(),
            old,
            new,
            must_copy,
        });
        match prepared {
            Ok(keeping) => Preparation {
                keeping,
                obstacle: None,
            },
            Err(reason) => Preparation {
                keeping: None,
                obstacle: Some(reason),
            },
        }
    }
}

/// What a keeper has prepared for a change.
#[derive(Debug, Default)]
pub(super) struct Preparation {
    pub(super) keeping: Option<Keeping>,
    obstacle: Option<String>,
}

impl Preparation {
    /// Returns why the change, which was made, can't be taken back, where that is so.
    pub(super) fn into_obstacle(self) -> Option<String> {
        let of_keeping = || self.keeping.as_ref().and_then(Keeping::obstacle);
        self.obstacle.clone().or_else(of_keeping)
    }
}

/// The path of an entry, without links.
fn real_path(entry: &Entry) -> Option<PathBuf> {
    let mut path = super::walk::real_path(&entry.dir)?;
    path.extend(&entry.missing);
    path.push(entry.name.as_deref()?);
    Some(path)
}
