//! Consoles.

use super::fd::{AsFd, raw};
use super::io::{Errno, Result};
use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, GetConsoleMode, GetConsoleScreenBufferInfo,
};

/// Whether a handle is a console's.
pub fn isatty(fd: impl AsFd) -> bool {
    let mut mode = 0;
    // SAFETY: any handle may be asked.
    unsafe { GetConsoleMode(raw(fd.as_fd()), &raw mut mode) != 0 }
}

/// The size of a console's window.
#[derive(Debug, Clone, Copy)]
pub struct Winsize {
    /// How many columns are seen.
    pub ws_col: u16,
}

/// The size of a console's window.
///
/// # Errors
///
/// What the system says, also for what is not a console.
pub fn tcgetwinsize(fd: impl AsFd) -> Result<Winsize> {
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: any handle may be asked, and the structure is ours.
    if unsafe { GetConsoleScreenBufferInfo(raw(fd.as_fd()), &raw mut info) } == 0 {
        return Err(Errno::last());
    }
    let columns = i32::from(info.srWindow.Right) - i32::from(info.srWindow.Left) + 1;
    Ok(Winsize {
        ws_col: u16::try_from(columns).unwrap_or(0),
    })
}
