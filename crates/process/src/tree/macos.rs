//! macOS: finds processes through `libproc` and `sysctl`.
//!
//! Two things are weaker than on Linux. A signal goes to a process id, which another process may
//! have got since the last check. And a process that has left its session and lost its parent is
//! not found.

#![expect(
    unsafe_code,
    reason = "the kernel writes into buffers of ours, which has no safe form in the libraries that are used"
)]

use super::{Identity, Stat, of_session};
use rustix::event::Timespec;
use rustix::process::{Pid, Signal};
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// How often to look for orphans. No signal tells the supervisor of their end.
pub(crate) const LOOK_FOR_ORPHANS: Option<Timespec> = Some(Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
});

/// Returns the living processes of a session, orphans or not: an orphan becomes a child of the
/// system's first process, but stays in its session.
pub(crate) fn orphans(session: i32) -> Vec<Identity> {
    if session <= 0 {
        return Vec::new();
    }
    of_session(session)
}

pub(super) fn signal(process: Identity, pid: Pid, signal: Signal) {
    if process.is_alive() {
        // The process may have ended in between, which makes the signal unnecessary.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Returns an id of this boot of the machine.
pub fn boot_id() -> String {
    let mut buffer = [0_u8; 64];
    let mut length = buffer.len();
    // SAFETY: the name ends in a NUL; the kernel writes at most `length` bytes.
    let status = unsafe {
        libc::sysctlbyname(
            c"kern.bootsessionuuid".as_ptr(),
            buffer.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
            ptr::null_mut(),
            0,
        )
    };
    if status != 0 {
        return String::new();
    }
    let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
    text.to_string_lossy().into_owned()
}

pub(super) fn all() -> Vec<Stat> {
    // SAFETY: without a buffer, the call only returns how many processes there are.
    let count = unsafe { libc::proc_listallpids(ptr::null_mut(), 0) };
    // More processes may be started before the next call.
    let room = usize::try_from(count).unwrap_or(0) + 256;
    let mut pids: Vec<c_int> = vec![0; room];
    let bytes = c_int::try_from(room * size_of::<c_int>()).unwrap_or(c_int::MAX);
    // SAFETY: the buffer has this many bytes.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast::<c_void>(), bytes) };
    pids.truncate(usize::try_from(count).unwrap_or(0));
    pids.into_iter().filter_map(stat).collect()
}

pub(super) fn stat(pid: i32) -> Option<Stat> {
    const SIZE: usize = size_of::<libc::proc_bsdinfo>();
    let size = c_int::try_from(SIZE).ok()?;
    // SAFETY: it consists of numbers, for which zero is a value; the kernel writes at most
    // `size` bytes into it.
    let (info, written) = unsafe {
        let mut info: libc::proc_bsdinfo = std::mem::zeroed();
        let buffer = (&raw mut info).cast::<c_void>();
        let written = libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, buffer, size);
        (info, written)
    };
    if written != size {
        return None;
    }
    let pid_of_session = Pid::from_raw(pid).map(Some);
    let session = pid_of_session.and_then(|pid| rustix::process::getsid(pid).ok());
    Some(Stat {
        identity: Identity {
            pid,
            start_time: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
        },
        parent: i32::try_from(info.pbi_ppid).ok()?,
        session: session.map_or(-1, Pid::as_raw_pid),
        is_zombie: info.pbi_status == libc::SZOMB,
    })
}
