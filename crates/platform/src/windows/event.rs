//! Waiting for handles. Windows has no call that waits for pipes of this kind and for processes
//! alike, so they are looked at in turn, with pauses that grow to [`LONGEST`].

use super::fd::{AsFd, BorrowedFd, raw};
use super::io::Errno;
use std::time::{Duration, Instant};
use windows_sys::Win32::Foundation::WAIT_TIMEOUT;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_TYPE_CHAR, FILE_TYPE_DISK, FILE_TYPE_PIPE, GetFileType,
};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// The longest pause between two looks.
const LONGEST: Duration = Duration::from_millis(8);

/// A time span, under POSIX's names.
#[derive(Debug, Clone, Copy, Default)]
#[expect(missing_docs, reason = "the names are POSIX's")]
pub struct Timespec {
    pub tv_sec: i64,
    pub tv_nsec: i64,
}

impl Timespec {
    fn duration(self) -> Duration {
        let seconds = u64::try_from(self.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(self.tv_nsec).unwrap_or(0))
    }
}

impl TryFrom<Duration> for Timespec {
    type Error = std::num::TryFromIntError;

    fn try_from(duration: Duration) -> Result<Self, Self::Error> {
        Ok(Self {
            tv_sec: i64::try_from(duration.as_secs())?,
            tv_nsec: i64::from(duration.subsec_nanos()),
        })
    }
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollFlags(u8);

impl PollFlags {
    /// Something can be read, or the end has come.
    pub const IN: Self = Self(1);
    /// Something can be written.
    pub const OUT: Self = Self(2);

    /// Whether nothing has come.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A handle that is waited for.
#[derive(Debug)]
pub struct PollFd<'a> {
    fd: BorrowedFd<'a>,
    wanted: PollFlags,
    come: PollFlags,
}

impl<'a> PollFd<'a> {
    /// Waits for `wanted`.
    pub fn new(fd: &'a impl AsFd, wanted: PollFlags) -> Self {
        Self::from_borrowed_fd(fd.as_fd(), wanted)
    }

    /// Waits for `wanted`.
    pub fn from_borrowed_fd(fd: BorrowedFd<'a>, wanted: PollFlags) -> Self {
        let come = PollFlags(0);
        Self { fd, wanted, come }
    }

    /// What has come.
    pub fn revents(&self) -> PollFlags {
        self.come
    }

    fn look(&mut self) -> bool {
        let is_ready = self.wanted == PollFlags::OUT || is_readable(self.fd);
        self.come = if is_ready { self.wanted } else { PollFlags(0) };
        is_ready
    }
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: the handle is open, and the pointers are null where nothing is asked for.
    unsafe {
        match GetFileType(raw(fd)) {
            FILE_TYPE_DISK => true,
            FILE_TYPE_PIPE => {
                let mut available = 0;
                let null = std::ptr::null_mut();
                let done = PeekNamedPipe(
                    raw(fd),
                    null,
                    0,
                    std::ptr::null_mut(),
                    &raw mut available,
                    std::ptr::null_mut(),
                );
                // The end has come where it fails.
                done == 0 || available > 0
            }
            // Another device, such as the null device, never makes a reader wait.
            FILE_TYPE_CHAR if !super::termios::isatty(fd) => true,
            // A console with input, a process that has ended, or no handle at all, which the
            // reader is told of.
            _ => WaitForSingleObject(raw(fd), 0) != WAIT_TIMEOUT,
        }
    }
}

/// Waits until something has come, at most so long; gives for how many handles.
///
/// # Errors
///
/// None on Windows.
pub fn poll(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<usize, Errno> {
    let started = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        let ready = fds.iter_mut().map(PollFd::look).filter(|is| *is).count();
        let left = timeout.map(|limit| limit.duration().saturating_sub(started.elapsed()));
        if ready > 0 || left.is_some_and(|left| left.is_zero()) {
            return Ok(ready);
        }
        std::thread::sleep(left.map_or(pause, |left| left.min(pause)));
        pause = (pause * 2).min(LONGEST);
    }
}
