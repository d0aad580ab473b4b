//! Files that are there whole or not at all: our own in the user's home directory, which nobody
//! else reads, and settings that are changed for the user.

use crate::sys::unix_fs::{DirBuilderExt, OpenOptionsExt};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes what can be found out again. Where it can't be written it is found out again.
pub(crate) fn write_cache(path: &Path, content: &[u8]) {
    // Nobody could do anything about it.
    let _ = write(path, content, false);
}

/// Writes what must survive a loss of power.
///
/// # Errors
///
/// What the system says.
pub(crate) fn write_record(path: &Path, content: &[u8]) -> io::Result<()> {
    write(path, content, true)
}

fn write(path: &Path, content: &[u8], flushes: bool) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)?;
    // Whatever the umask takes away: later calls must be able to read it.
    let exactly = if flushes { owners_only() } else { None };
    put(path, content, 0o600, exactly, flushes)?;
    if flushes {
        // The name, too, which Windows does with the file's.
        #[cfg(unix)]
        fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "there are none on Windows")]
fn owners_only() -> Option<Permissions> {
    use crate::sys::unix_fs::PermissionsExt;
    Some(Permissions::from_mode(0o600))
}

/// What a new file inherits from the user's directory is right.
#[cfg(windows)]
fn owners_only() -> Option<Permissions> {
    None
}

/// Puts a file where it is to be in one step. It is made with `mode`, of which the umask takes
/// away, and has the permissions `exactly` where they are given.
///
/// # Errors
///
/// What the system says; nothing half-written is left then.
pub(crate) fn put(
    path: &Path,
    content: &[u8],
    mode: u32,
    exactly: Option<Permissions>,
    flushes: bool,
) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let new = path.with_file_name(unfinished(name));
    let fill = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        let mut file = options.open(&new)?;
        if let Some(permissions) = exactly {
            file.set_permissions(permissions)?;
        }
        file.write_all(content)?;
        if flushes {
            file.sync_all()?;
        }
        fs::rename(&new, path)
    };
    fill().inspect_err(|_| {
        // It may not even have been made, and nothing else can be done about what is left.
        let _ = fs::remove_file(&new);
    })
}

/// A name that no other writer has.
fn unfinished(name: &std::ffi::OsStr) -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut own = OsString::from(".");
    own.push(name);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    own.push(format!(".{}.{number}", std::process::id()));
    own
}

#[cfg(test)]
mod tests {
    use super::{write_cache, write_record};
    use crate::sys::unix_fs::PermissionsExt;
    use std::fs;

    #[test]
    fn a_file_is_whole_its_owners_and_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("below/it");
        for content in ["long enough", "x"] {
            write_record(&path, content.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("text"), content);
            write_cache(&path, content.as_bytes());
            assert_eq!(fs::read_to_string(&path).expect("text"), content);
        }
        let mode = |path: &std::path::Path| {
            let meta = fs::metadata(path).expect("it is there");
            meta.permissions().mode() & 0o777
        };
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&dir.path().join("below")), 0o700);
        assert_eq!(
            fs::read_dir(dir.path().join("below")).expect("it").count(),
            1
        );
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let dir = tempfile::tempdir().expect("a directory");
        let taken = dir.path().join("directory");
        fs::create_dir_all(taken.join("full")).expect("made");
        assert!(write_record(&taken, b"x").is_err());
        write_cache(&taken, b"x");
        assert_eq!(fs::read_dir(dir.path()).expect("it").count(), 1);
        assert!(write_record(&taken.join("full/no\0name"), b"x").is_err());
    }
}
