//! A buffer for input of unknown size, waiting for input, and reading all of it.

use gemini_tools_core::tool::{Cancellation, TICK};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, retry_on_intr};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

const FIRST_BYTES: usize = 4 * 1024;

/// A buffer that starts small and grows once a read has filled it. Zeroing a large buffer touches
/// all its pages, and each page costs as much as reading a few kilobytes.
#[derive(Debug)]
pub struct ReadBuffer {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl ReadBuffer {
    /// Returns a buffer that grows to at most `max_bytes`.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            bytes: vec![0; FIRST_BYTES.min(max_bytes)],
            max_bytes,
        }
    }

    /// Reads once, and returns the bytes read; none at the end of the input.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    #[doc(hidden)]
    pub fn read(&mut self, fd: impl AsFd) -> Result<&[u8], Errno> {
        let count = retry_on_intr(|| read(fd.as_fd(), &mut self.bytes[..]))?;
        if count == self.bytes.len() && count < self.max_bytes {
            // The bytes just read stay at the beginning of the buffer.
            self.bytes.resize(self.max_bytes, 0);
        }
        Ok(&self.bytes[..count])
    }
}

/// Waits until standard input can be read. Returns false if `is_over` returns true before that; it
/// is asked after every [`TICK`].
pub fn wait_for_stdin(is_over: impl Fn() -> bool) -> bool {
    while !is_over() {
        if is_readable(rustix::stdio::stdin(), TICK) {
            return true;
        }
    }
    false
}

/// Reads standard input to its end, even if it has more than `limit` bytes: if its reader went away,
/// the writer could fail.
///
/// # Errors
///
/// Returns the errors of [`read_named`].
pub fn read_stdin(limit: usize, cancel: &Cancellation) -> io::Result<Vec<u8>> {
    read_all(rustix::stdio::stdin(), limit, true, cancel)
}

/// Reads a file that a person names. It may be a device, or a FIFO such as that of `<(command)`:
/// neither opening nor reading it waits longer than the call may take.
///
/// # Errors
///
/// Returns the operating system's error, one for a file with more than `limit` bytes, or
/// `Interrupted` after an interruption of the call.
pub fn read_named(path: &Path, limit: usize, cancel: &Cancellation) -> io::Result<Vec<u8>> {
    // Otherwise opening a FIFO would wait for its writer, and a signal would not end that.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    read_all(open(path, flags, Mode::empty())?, limit, false, cancel)
}

fn read_all(
    fd: impl AsFd,
    limit: usize,
    drains: bool,
    cancel: &Cancellation,
) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::other(format!("it is larger than {limit} bytes"));
    let mut bytes = Vec::new();
    let mut buffer = ReadBuffer::new(64 * 1024);
    let mut is_too_large = false;
    while cancel.interruption().is_none() {
        if !is_readable(&fd, TICK) {
            continue;
        }
        match buffer.read(&fd) {
            Ok([]) if is_too_large => return Err(too_large()),
            Ok([]) => return Ok(bytes),
            Ok(piece) if bytes.len() + piece.len() <= limit && !is_too_large => {
                bytes.extend_from_slice(piece);
            }
            Ok(_) if drains => (is_too_large, bytes) = (true, Vec::new()),
            Ok(_) => return Err(too_large()),
            Err(Errno::AGAIN) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Err(ErrorKind::Interrupted.into())
}

pub(crate) fn is_readable(fd: impl AsFd, pause: Duration) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    let pause = Timespec::try_from(pause).unwrap_or_default();
    poll(&mut fds, Some(&pause)).is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::{FIRST_BYTES, ReadBuffer};
    use std::fs::File;

    #[test]
    fn a_buffer_that_was_filled_takes_more_the_next_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("long");
        let content: Vec<u8> = (0..=255).cycle().take(5 * FIRST_BYTES).collect();
        std::fs::write(&path, &content).expect("written");
        let file = File::open(&path).expect("opened");
        let mut buffer = ReadBuffer::new(3 * FIRST_BYTES);
        let mut sizes = Vec::new();
        let mut all = Vec::new();
        loop {
            let piece = buffer.read(&file).expect("read");
            if piece.is_empty() {
                break;
            }
            sizes.push(piece.len() / FIRST_BYTES);
            all.extend_from_slice(piece);
        }
        assert_eq!(sizes, [1, 3, 1]);
        assert!(all == content, "each piece is what was read");
    }
}
