//! Files of our own in the user's home directory: nobody else reads them, and they are there
//! whole or not at all.

use crate::sys::unix_fs::{DirBuilderExt, OpenOptionsExt};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
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
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)?;
    let new = directory.join(unfinished(name));
    let written = write_new(&new, content, flushes).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // It may not even have been made, and nothing else can be done about what is left.
        let _ = fs::remove_file(&new);
    }
    written?;
    if flushes {
        // The name, too, which Windows does with the file's.
        #[cfg(unix)]
        fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
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

fn write_new(path: &Path, content: &[u8], flushes: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path)?;
    if flushes {
        // Whatever the umask takes away: later calls must be able to read it.
        #[cfg(unix)]
        crate::sys::fs::fchmod(
            &file,
            crate::sys::fs::Mode::RUSR | crate::sys::fs::Mode::WUSR,
        )?;
    }
    file.write_all(content)?;
    if flushes {
        file.sync_all()?;
    }
    Ok(())
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
