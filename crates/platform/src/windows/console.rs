//! The console of a process, whatever its standard streams are.

use super::fd::{AsFd, BorrowedFd, raw};
use super::io::{Errno, Result};
use std::fs::File;
use std::os::windows::io::AsHandle;
use std::process::Stdio;
use std::time::Duration;
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0};
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT,
    ENABLE_PROCESSED_OUTPUT, ENABLE_VIRTUAL_TERMINAL_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING,
    FlushConsoleInputBuffer, GetConsoleMode, INPUT_RECORD, KEY_EVENT, ReadConsoleInputW,
    SetConsoleMode, WriteConsoleW,
};
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// How much is written at once, in units of UTF-16: older systems fail with more than 64 KiB.
const MAX_UNITS: usize = 8 * 1024;

/// A console, as the process's user sees it.
#[derive(Debug)]
pub struct Console {
    input: File,
    output: File,
}

/// How a console treats keys and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    input: CONSOLE_MODE,
    output: CONSOLE_MODE,
}

impl Modes {
    /// Keys come one by one, are not shown and mean nothing to the console.
    #[must_use]
    pub fn with_single_keys(self) -> Self {
        let cooked = ENABLE_LINE_INPUT
            | ENABLE_ECHO_INPUT
            | ENABLE_PROCESSED_INPUT
            | ENABLE_VIRTUAL_TERMINAL_INPUT;
        Self {
            input: self.input & !cooked,
            ..self
        }
    }

    /// Colours that are in the text are shown.
    #[must_use]
    pub fn with_escape_sequences(self) -> Self {
        Self {
            output: self.output | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING,
            ..self
        }
    }
}

impl Console {
    /// The console of this process.
    ///
    /// # Errors
    ///
    /// What the system says, also where there is none.
    pub fn open() -> std::io::Result<Self> {
        let open = |name| File::options().read(true).write(true).open(name);
        Ok(Self {
            input: open("CONIN$")?,
            output: open("CONOUT$")?,
        })
    }

    fn input(&self) -> HANDLE {
        raw(self.input.as_fd())
    }

    fn output(&self) -> HANDLE {
        raw(self.output.as_fd())
    }

    /// How it treats keys and text.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn modes(&self) -> Result<Modes> {
        let (mut input, mut output) = (0, 0);
        // SAFETY: both handles are open, and the numbers are ours.
        let done = unsafe {
            GetConsoleMode(self.input(), &raw mut input) != 0
                && GetConsoleMode(self.output(), &raw mut output) != 0
        };
        done.then_some(Modes { input, output })
            .ok_or_else(Errno::last)
    }

    /// Has it treat keys and text otherwise.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_modes(&self, modes: Modes) -> Result<()> {
        // SAFETY: both handles are open.
        let done = unsafe {
            SetConsoleMode(self.input(), modes.input) != 0
                && SetConsoleMode(self.output(), modes.output) != 0
        };
        done.then_some(()).ok_or_else(Errno::last)
    }

    /// Shows a text.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn write(&self, text: &str) -> Result<()> {
        show(self.output.as_fd(), text)
    }

    /// Forgets the keys that were pressed before.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn forget_keys(&self) -> Result<()> {
        // SAFETY: the handle is open.
        match unsafe { FlushConsoleInputBuffer(self.input()) } {
            0 => Err(Errno::last()),
            _ => Ok(()),
        }
    }

    /// The keys that are pressed, where they are characters of ASCII; none where none is for so
    /// long.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn read(&self, buffer: &mut [u8], limit: Duration) -> Result<usize> {
        let limit = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX - 1);
        // SAFETY: the handle is open.
        match unsafe { WaitForSingleObject(self.input(), limit) } {
            WAIT_OBJECT_0 => {}
            WAIT_FAILED => return Err(Errno::last()),
            _ => return Ok(0),
        }
        let mut records = [INPUT_RECORD::default(); 64];
        let (room, mut count) = (records.len().min(buffer.len()), 0);
        // SAFETY: there is room for this many.
        let done = unsafe {
            ReadConsoleInputW(
                self.input(),
                records.as_mut_ptr(),
                room as u32,
                &raw mut count,
            )
        };
        if done == 0 {
            return Err(Errno::last());
        }
        let keys = records[..room.min(count as usize)].iter().filter_map(key);
        let mut length = 0;
        for (place, key) in buffer.iter_mut().zip(keys) {
            *place = key;
            length += 1;
        }
        Ok(length)
    }

    /// The console, for another program: input, output, standard error.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn streams(&self) -> std::io::Result<[Stdio; 3]> {
        let stream = |file: &File| file.as_handle().try_clone_to_owned().map(Stdio::from);
        Ok([
            stream(&self.input)?,
            stream(&self.output)?,
            stream(&self.output)?,
        ])
    }
}

/// Shows a text on a console, whose handle this is.
pub(super) fn show(console: BorrowedFd<'_>, text: &str) -> Result<()> {
    let console = raw(console);
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut rest = units.as_slice();
    while !rest.is_empty() {
        let (mut count, mut written) = (rest.len().min(MAX_UNITS), 0);
        // Both halves of a character go together.
        if count < rest.len() && (0xd800..0xdc00).contains(&rest[count - 1]) {
            count -= 1;
        }
        let none = std::ptr::null();
        // SAFETY: this many units are there, and the last argument must be null.
        let done =
            unsafe { WriteConsoleW(console, rest.as_ptr(), count as u32, &raw mut written, none) };
        if done == 0 {
            return Err(Errno::last());
        }
        if written == 0 {
            return Err(Errno::IO);
        }
        rest = &rest[(written as usize).min(rest.len())..];
    }
    Ok(())
}

/// The character of ASCII that a record is about, where a key was pressed.
fn key(record: &INPUT_RECORD) -> Option<u8> {
    if u32::from(record.EventType) != KEY_EVENT {
        return None;
    }
    // SAFETY: the type says which event it is, and every value is a character.
    let (is_down, unit) = unsafe {
        let event = record.Event.KeyEvent;
        (event.bKeyDown != 0, event.uChar.UnicodeChar)
    };
    let byte = u8::try_from(unit).ok()?;
    // Keys such as Shift have none.
    (is_down && (1..0x80).contains(&byte)).then_some(byte)
}
