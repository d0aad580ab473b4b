//! Handles under the names of descriptors.

pub use std::os::windows::io::{BorrowedHandle as BorrowedFd, OwnedHandle as OwnedFd};

use super::io::Errno;
use std::fs::File;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::sync::Arc;

/// What has a handle.
pub trait AsFd {
    /// The handle.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_handle()
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        *self
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_handle()
    }
}

impl AsFd for std::io::Stderr {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_handle()
    }
}

impl<T: AsFd> AsFd for Arc<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: AsFd> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self).as_fd()
    }
}

/// The handle as the system's functions take it.
pub(super) fn raw(fd: BorrowedFd<'_>) -> windows_sys::Win32::Foundation::HANDLE {
    fd.as_raw_handle()
}

/// Handles that the system's functions give.
pub trait FromRaw: Sized {
    /// Takes a handle, or the error that was left where it is null or `INVALID_HANDLE_VALUE`.
    ///
    /// # Errors
    ///
    /// What the system has said last.
    ///
    /// # Safety
    ///
    /// The handle must be the caller's own, as the system's functions give it.
    unsafe fn from_raw(handle: windows_sys::Win32::Foundation::HANDLE) -> Result<Self, Errno>;
}

impl FromRaw for OwnedFd {
    unsafe fn from_raw(handle: windows_sys::Win32::Foundation::HANDLE) -> Result<Self, Errno> {
        use std::os::windows::io::FromRawHandle;
        if handle.is_null() || handle == windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE {
            return Err(Errno::last());
        }
        // SAFETY: the caller promises that it is theirs.
        Ok(unsafe { Self::from_raw_handle(handle) })
    }
}
