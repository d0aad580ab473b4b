//! Errors, reading and writing.

use super::fd::{AsFd, BorrowedFd, raw};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::os::windows::fs::FileExt;
use std::os::windows::io::FromRawHandle;
use windows_sys::Win32::Foundation as code;

/// An error of the system, by the code of `GetLastError`; several that mean the same here are
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(u32);

/// What a function gives that may fail.
pub type Result<T> = std::result::Result<T, Errno>;

#[expect(missing_docs, reason = "the names are POSIX's")]
impl Errno {
    pub const NOENT: Self = Self(code::ERROR_FILE_NOT_FOUND);
    pub const ACCESS: Self = Self(code::ERROR_ACCESS_DENIED);
    pub const PERM: Self = Self(code::ERROR_PRIVILEGE_NOT_HELD);
    pub const EXIST: Self = Self(code::ERROR_ALREADY_EXISTS);
    pub const NOTDIR: Self = Self(code::ERROR_DIRECTORY);
    pub const ISDIR: Self = Self(code::ERROR_DIRECTORY_NOT_SUPPORTED);
    pub const NOSPC: Self = Self(code::ERROR_DISK_FULL);
    pub const DQUOT: Self = Self(code::ERROR_NOT_ENOUGH_QUOTA);
    pub const FBIG: Self = Self(code::ERROR_FILE_TOO_LARGE);
    pub const ROFS: Self = Self(code::ERROR_WRITE_PROTECT);
    pub const NAMETOOLONG: Self = Self(code::ERROR_FILENAME_EXCED_RANGE);
    pub const LOOP: Self = Self(code::ERROR_CANT_RESOLVE_FILENAME);
    pub const NXIO: Self = Self(code::ERROR_BAD_UNIT);
    pub const INVAL: Self = Self(code::ERROR_INVALID_PARAMETER);
    pub const INTR: Self = Self(code::ERROR_OPERATION_ABORTED);
    pub const AGAIN: Self = Self(code::ERROR_LOCK_VIOLATION);
    pub const WOULDBLOCK: Self = Self::AGAIN;
    pub const NOLCK: Self = Self(code::ERROR_LOCK_FAILED);
    pub const NOSYS: Self = Self(code::ERROR_CALL_NOT_IMPLEMENTED);
    pub const NOTSUP: Self = Self(code::ERROR_NOT_SUPPORTED);
    pub const OPNOTSUPP: Self = Self::NOTSUP;
    pub const PIPE: Self = Self(code::ERROR_BROKEN_PIPE);
    pub const SRCH: Self = Self(code::ERROR_NOT_FOUND);
    pub const CHILD: Self = Self(code::ERROR_WAIT_NO_CHILDREN);
    pub const BADF: Self = Self(code::ERROR_INVALID_HANDLE);
    pub const IO: Self = Self(code::ERROR_IO_DEVICE);
    pub const ILSEQ: Self = Self(code::ERROR_NO_UNICODE_TRANSLATION);
    /// A file is open in a way that forbids what was asked.
    pub const BUSY: Self = Self(code::ERROR_SHARING_VIOLATION);

    /// The error that the last call of this thread has left.
    pub fn last() -> Self {
        // SAFETY: has no preconditions.
        Self::of(unsafe { code::GetLastError() })
    }

    /// The error of a native status.
    pub(super) fn of_status(status: code::NTSTATUS) -> Self {
        // SAFETY: takes a number.
        Self::of(unsafe { code::RtlNtStatusToDosError(status) })
    }

    pub(super) fn of(code: u32) -> Self {
        match code {
            code::ERROR_PATH_NOT_FOUND
            | code::ERROR_INVALID_NAME
            | code::ERROR_BAD_PATHNAME
            | code::ERROR_INVALID_DRIVE
            | code::ERROR_DELETE_PENDING
            | code::ERROR_BAD_NETPATH
            | code::ERROR_BAD_NET_NAME => Self::NOENT,
            code::ERROR_FILE_EXISTS => Self::EXIST,
            code::ERROR_HANDLE_DISK_FULL => Self::NOSPC,
            code::ERROR_NO_DATA | code::ERROR_PIPE_NOT_CONNECTED => Self::PIPE,
            code::ERROR_INVALID_FUNCTION => Self::NOTSUP,
            code::ERROR_NOT_A_REPARSE_POINT => Self::INVAL,
            code::ERROR_BUFFER_OVERFLOW => Self::NAMETOOLONG,
            other => Self(other),
        }
    }

    /// The code of `GetLastError`.
    pub fn raw_os_error(self) -> i32 {
        self.0 as i32
    }

    /// The error of a code of `GetLastError`.
    pub fn from_raw_os_error(code: i32) -> Self {
        Self::of(code as u32)
    }

    /// The code of an error of the standard library, where it has one.
    pub fn from_io_error(error: &std::io::Error) -> Option<Self> {
        error.raw_os_error().map(Self::from_raw_os_error)
    }
}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.raw_os_error())
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::io::Error::from(*self).fmt(f)
    }
}

impl std::fmt::Debug for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::io::Error::from(*self).fmt(f)
    }
}

impl std::error::Error for Errno {}

fn as_file(fd: BorrowedFd<'_>) -> ManuallyDrop<File> {
    // SAFETY: the handle is open as long as it is borrowed, and the file is never dropped.
    ManuallyDrop::new(unsafe { File::from_raw_handle(raw(fd)) })
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Reads what there is, up to the buffer's length; 0 at the end.
///
/// # Errors
///
/// What the system says.
pub fn read(fd: impl AsFd, mut buffer: impl AsMut<[u8]>) -> Result<usize> {
    let file = as_file(fd.as_fd());
    (&*file).read(buffer.as_mut()).map_err(|e| errno(&e))
}

/// Writes what can be written. A console shows it as UTF-8, whatever its code page is.
///
/// # Errors
///
/// What the system says.
pub fn write(fd: impl AsFd, bytes: &[u8]) -> Result<usize> {
    if super::termios::isatty(fd.as_fd()) {
        super::console::show(fd.as_fd(), &String::from_utf8_lossy(bytes))?;
        return Ok(bytes.len());
    }
    let file = as_file(fd.as_fd());
    (&*file).write(bytes).map_err(|e| errno(&e))
}

/// Reads at a place of a file. Where reading goes on that names no place is undefined
/// afterwards.
///
/// # Errors
///
/// What the system says.
pub fn pread(fd: impl AsFd, mut buffer: impl AsMut<[u8]>, offset: u64) -> Result<usize> {
    let file = as_file(fd.as_fd());
    match file.seek_read(buffer.as_mut(), offset) {
        Err(e) if e.raw_os_error() == Some(code::ERROR_HANDLE_EOF as i32) => Ok(0),
        other => other.map_err(|e| errno(&e)),
    }
}

/// Does something once more as long as it is interrupted.
///
/// # Errors
///
/// What it gives.
pub fn retry_on_intr<T>(mut f: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match f() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// A second handle for the same object.
///
/// # Errors
///
/// What the system says.
pub fn fcntl_dupfd_cloexec(fd: impl AsFd, _from: i32) -> Result<super::fd::OwnedFd> {
    fd.as_fd().try_clone_to_owned().map_err(|e| errno(&e))
}
