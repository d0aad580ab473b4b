//! Who owns a file.

use super::fd::{FromRaw, OwnedFd};
use std::ffi::c_void;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::{
    EqualSid, GetSecurityDescriptorOwner, GetTokenInformation, IsWellKnownSid, PSID, TOKEN_QUERY,
    TOKEN_USER, TokenUser, WinBuiltinAdministratorsSid, WinLocalSystemSid,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Whether the owner that a descriptor names is the user, the system or its administrators.
pub(super) fn is_trusted(descriptor: &[u64]) -> bool {
    let mut owner: PSID = std::ptr::null_mut();
    let mut is_default = 0;
    // SAFETY: the descriptor is one that the system has written, and outlives the pointer to its
    // owner.
    unsafe {
        let at = descriptor.as_ptr().cast_mut().cast::<c_void>();
        let done = GetSecurityDescriptorOwner(at, &raw mut owner, &raw mut is_default);
        if done == 0 || owner.is_null() {
            return false;
        }
        IsWellKnownSid(owner, WinBuiltinAdministratorsSid) != 0
            || IsWellKnownSid(owner, WinLocalSystemSid) != 0
            || user().is_some_and(|user| {
                let user = user.as_ptr().cast::<TOKEN_USER>();
                EqualSid((*user).User.Sid, owner) != 0
            })
    }
}

/// The user that this process runs as: a `TOKEN_USER`, with what it points to behind it.
fn user() -> Option<Vec<u64>> {
    let mut token: HANDLE = std::ptr::null_mut();
    let mut buffer = vec![0_u64; 64];
    let mut needed = 0;
    // SAFETY: the buffer has this many bytes, and begins at a boundary of words.
    unsafe {
        if OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) == 0 {
            return None;
        }
        let token = OwnedFd::from_raw(token).ok()?;
        let room = (buffer.len() * 8) as u32;
        let at = buffer.as_mut_ptr().cast::<c_void>();
        let done = GetTokenInformation(token.as_raw_handle(), TokenUser, at, room, &raw mut needed);
        (done != 0).then_some(buffer)
    }
}
