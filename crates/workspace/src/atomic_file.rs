//! Writes files as a whole or not at all: those of these tools below the user's home directory, and
//! settings that are changed for the user.

use crate::files::{flush_names, make_private};
use crate::{OpenFile, access};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fstat, open, renameat_with};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a file whose content can be computed again, so that errors need no report. Returns false
/// if it could not be written.
pub fn write_cache(path: &Path, content: &[u8]) -> bool {
    write(path, content, false).is_ok()
}

/// Writes a file and returns once it is on the disk, so that it survives a loss of power.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn write_record(path: &Path, content: &[u8]) -> io::Result<()> {
    write(path, content, true)
}

fn write(path: &Path, content: &[u8], flushes: bool) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_private(directory)?;
    put(path, content, 0o600, None, flushes)?;
    if flushes {
        flush_names(directory)?;
    }
    Ok(())
}

/// Writes a temporary file and renames it to `path`. It gets the owner, mode and extended attributes
/// of the file `like`, or else, if there is none, `mode` less the bits of the umask, except that its
/// owner can always read and write it. With `flushes`, the content is on the disk before the file
/// gets its name.
///
/// # Errors
///
/// Returns the operating system's error, that the file can't have the same access, or that `path` is
/// there and leads to no regular file: a device or a pipe would be gone. Nothing half-written is
/// left then.
pub fn put(
    path: &Path,
    content: &[u8],
    mode: u32,
    like: Option<&Path>,
    flushes: bool,
) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if path.symlink_metadata().is_ok() && !path.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(&prefix)
        .rand_bytes(12)
        .permissions(Permissions::from_mode(mode));
    // The temporary file is removed if a call below fails before the file has its final name.
    let mut new = builder.tempfile_in(directory)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match like.map(|like| (like, open(like, flags, Mode::empty()))) {
        Some((like, Ok(old))) => {
            let stat = fstat(&old)?;
            let file = File::from(old);
            access::keep(new.as_file(), &OpenFile { file, stat }, like)
                .map_err(|e| io::Error::other(e.message))?;
        }
        Some((_, Err(e))) if e != Errno::NOENT => return Err(e.into()),
        _ => {
            let given = new.as_file().metadata()?.permissions().mode();
            new.as_file()
                .set_permissions(Permissions::from_mode(given | 0o600))?;
        }
    }
    new.write_all(content)?;
    if flushes {
        new.as_file().sync_all()?;
    } else if renameat_with(CWD, new.path(), CWD, path, RenameFlags::EXCHANGE).is_ok() {
        // Where a file is renamed over another, ext4 begins to write it to the disk at once, which
        // takes longer than a small call. It does not where two files change places; the old one
        // has the temporary name now, and is removed.
        return Ok(());
    }
    new.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{write_cache, write_record};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
