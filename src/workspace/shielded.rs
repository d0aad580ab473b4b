//! The one step of a write that a kill must not cut in two.
//!
//! A nameless file can only take an old file's place in two calls: it is given a temporary
//! name, then renamed. A kill between them would leave the temporary name behind. So a forked
//! child in a session of its own makes both calls; a kill of the tool does not reach it.

#![expect(
    unsafe_code,
    reason = "fork has no safe form; the child makes four system calls only"
)]

use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// Links `source` into `dir` as `temporary` and renames that to `name`, both or neither.
pub(super) fn link_and_rename(
    source: &str,
    dir: BorrowedFd<'_>,
    temporary: &str,
    name: &OsStr,
) -> Result<(), Errno> {
    // Everything that allocates happens before the fork.
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Errno::INVAL);
    let source = text(source.as_bytes())?;
    let temporary = text(temporary.as_bytes())?;
    let name = text(name.as_bytes())?;
    // SAFETY: until it exits, the child only makes system calls through `rustix`, which
    // neither allocates nor takes locks for borrowed C strings. It never returns from here.
    match unsafe { libc::fork() } {
        -1 => Err(Errno::AGAIN),
        0 => {
            let _ = rustix::process::setsid();
            let result = rustix::fs::linkat(CWD, &source, dir, &temporary, AtFlags::SYMLINK_FOLLOW)
                .and_then(|()| {
                    rustix::fs::renameat(dir, &temporary, dir, &name).inspect_err(|_| {
                        let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
                    })
                });
            let status = result.map_or_else(rustix::io::Errno::raw_os_error, |()| 0);
            // SAFETY: leaves at once, without running anything of the parent's at its exit.
            unsafe { libc::_exit(status & 0xff) }
        }
        child => {
            let status = loop {
                match rustix::process::waitpid(Pid::from_raw(child), WaitOptions::empty()) {
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                    Ok(None) => return Err(Errno::IO),
                    Ok(Some((_, status))) => break status,
                }
            };
            match status.exit_status() {
                Some(0) => Ok(()),
                Some(errno) => Err(Errno::from_raw_os_error(errno)),
                None => Err(Errno::IO),
            }
        }
    }
}
