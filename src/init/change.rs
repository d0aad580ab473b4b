//! One file that is to be changed.

use crate::workspace::edit::diff_texts;
use crate::workspace::private;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A larger file is nobody's settings, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A file that can't be read, understood or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", crate::shown::show_path(path))]
pub struct InitError {
    path: PathBuf,
    reason: String,
}

impl InitError {
    pub(super) fn new(path: &Path, reason: impl fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// A file, as it is and as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub path: PathBuf,
    /// `None` where there is none.
    pub before: Option<String>,
    /// `None` where there is to be none.
    pub after: Option<String>,
}

/// A file's text; `None` where there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, InitError> {
    let fail = |e: &dyn fmt::Display| InitError::new(path, e);
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(fail(&e)),
        Ok(metadata) if !metadata.is_file() => return Err(fail(&"it is no regular file")),
        Ok(metadata) if metadata.len() > MAX_BYTES => return Err(fail(&"it is too large")),
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(|e| fail(&e))?;
    let text = String::from_utf8(bytes).map_err(|_| fail(&"it is no text in UTF-8"))?;
    Ok(Some(text))
}

/// The directories above a file that are not there, the highest first.
pub(super) fn missing(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut missing: Vec<_> = above
        .take_while(|dir| !dir.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

impl Change {
    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        let name = crate::shown::show_path(&self.path);
        diff_texts(before.unwrap_or_default(), after.unwrap_or_default(), &name).0
    }

    /// Whether the file is as it was.
    pub(super) fn check(&self) -> Result<(), InitError> {
        if read(&self.path)? == self.before {
            return Ok(());
        }
        Err(InitError::new(
            &self.path,
            "it has changed meanwhile; look again",
        ))
    }

    pub(super) fn make(&self) -> Result<(), InitError> {
        self.check()?;
        let fail = |e: io::Error| InitError::new(&self.path, e);
        match &self.after {
            None => fs::remove_file(&self.path).map_err(fail),
            Some(text) => write(&self.path, text).map_err(fail),
        }
    }
}

/// Writes a file as a whole, through a link where it is one, with the permissions that it has.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let real = crate::sys::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    fs::create_dir_all(real.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let permissions = fs::metadata(&real).ok().map(|m| m.permissions());
    private::put(&real, text.as_bytes(), 0o644, permissions, true)
}
