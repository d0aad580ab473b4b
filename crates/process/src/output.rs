//! Writes to standard output so that a host reads every character whole, and tells how wide a line
//! of it may be.
//!
//! Gemini CLI decodes each piece that it reads by itself, and a character that is cut between two
//! pieces becomes U+FFFD. So a long text that is not ASCII is written in pieces that end between
//! characters, each only when the one before has been read: then the host reads exactly one of
//! these pieces at a time. Where the system doesn't tell how much has been read, JSON is written in
//! ASCII, with `\u` escapes, which cost a model several tokens for each character.

use crate::unread::{Reader, WatchedStream, reader};
use gemini_tools_core::text::with_deceptive;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::stdio::{stderr, stdout};
use rustix::termios::tcgetwinsize;
use std::borrow::Cow;
use std::io;
use std::time::Duration;

/// Longest text that is written at once, in bytes. A host reads that much in one piece, and it fits
/// into a pipe, so that a caller may wait for the end of this process before it reads.
const AT_ONCE_BYTES: usize = 60_000;

/// The first and the longest pause between two checks whether the reader has read everything. Each
/// pause is twice as long as the one before.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(2));

/// Writes all bytes of a text to standard output, without buffering.
///
/// # Errors
///
/// Returns the operating system's error; a reader that has gone away is `BrokenPipe`.
pub fn write_stdout(text: &[u8]) -> io::Result<()> {
    write_all(stdout(), text)
}

/// Writes a text to standard output. Where the system tells how much has been read, a long text is
/// written so that no character is cut between two reads of the host.
///
/// # Errors
///
/// Returns the same errors as [`write_stdout`].
pub fn write_text(text: &[u8]) -> io::Result<()> {
    match whole_characters(text) {
        Some(Reader::Watched(stream)) => write_pieces(&stream, text),
        _ => write_stdout(text),
    }
}

/// Writes JSON to standard output. Characters beyond ASCII are escaped if the host might otherwise
/// read one of them in two parts.
///
/// # Errors
///
/// Returns the same errors as [`write_stdout`].
pub fn write_json(json: &[u8]) -> io::Result<()> {
    match whole_characters(json) {
        Some(Reader::Watched(stream)) => write_pieces(&stream, json),
        Some(Reader::Unwatched) => write_stdout(&to_ascii(json)),
        _ => write_stdout(json),
    }
}

/// Writes JSON to a terminal. All of it is escaped to ASCII if some character could deceive the
/// reader or control the terminal.
///
/// # Errors
///
/// Returns the same errors as [`write_stdout`].
pub fn write_json_to_terminal(json: &str) -> io::Result<()> {
    write_stdout(&terminal_json(json.as_bytes()))
}

/// Returns JSON as [`write_json_to_terminal`] writes it.
pub fn terminal_json(json: &[u8]) -> Cow<'_, [u8]> {
    let deceives = |text: &str| with_deceptive(text).any(|(c, deceives)| deceives && c != '\n');
    match std::str::from_utf8(json) {
        Ok(text) if !deceives(text) => json.into(),
        _ => to_ascii(json),
    }
}

/// Returns true if a host reads every character whole when [`write_text`] writes this text; false
/// for a long text that is not ASCII, if the system does not tell how much has been read.
pub fn keeps_characters(text: &[u8]) -> bool {
    !matches!(whole_characters(text), Some(Reader::Unwatched))
}

fn whole_characters(text: &[u8]) -> Option<Reader<'static>> {
    (text.len() > AT_ONCE_BYTES && !text.is_ascii()).then(|| reader(stdout()))
}

const USUAL_WIDTH: usize = 80;

/// Returns the number of characters that a line has room for: `COLUMNS` if that is a number, or
/// else the width of the terminal on standard output or standard error, or else 80.
pub fn width() -> usize {
    let chosen = std::env::var("COLUMNS").ok();
    let chosen = chosen.and_then(|text| text.trim().parse::<usize>().ok());
    let of_terminal = || {
        let mut streams = [stdout(), stderr()].into_iter();
        streams.find_map(|stream| Some(usize::from(tcgetwinsize(stream).ok()?.ws_col)))
    };
    chosen
        .or_else(of_terminal)
        .filter(|width| *width > 0)
        .unwrap_or(USUAL_WIDTH)
}

fn write_all(to: BorrowedFd<'_>, text: &[u8]) -> io::Result<()> {
    let mut rest = text;
    while !rest.is_empty() {
        match retry_on_intr(|| rustix::io::write(to, rest)) {
            Ok(n) => rest = &rest[n..],
            // The reader has made the pipe non-blocking, and the pipe is full.
            Err(Errno::AGAIN) => {
                // If a signal interrupts the wait, the write is simply tried again.
                let _ = poll(&mut [PollFd::new(&to, PollFlags::OUT)], None);
            }
            // The reader has closed its socket before it had read everything.
            Err(Errno::CONNRESET) => return Err(io::ErrorKind::BrokenPipe.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn write_pieces(stream: &WatchedStream<'_>, text: &[u8]) -> io::Result<()> {
    let mut rest = text;
    while !rest.is_empty() {
        wait_until_read(stream);
        let (piece, after) = rest.split_at(piece_end(rest, stream.piece_bytes));
        write_all(stream.fd, piece)?;
        rest = after;
    }
    Ok(())
}

/// Returns where to end the first piece: after at most `most` bytes, and not within a character.
/// Invalid UTF-8 may be cut anywhere.
fn piece_end(text: &[u8], most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let is_start = |at: &usize| text[*at] & 0xc0 != 0x80;
    let shortest = most.saturating_sub(3).max(1);
    (shortest..=most).rev().find(is_start).unwrap_or(most)
}

fn wait_until_read(stream: &WatchedStream<'_>) {
    let (mut pause, longest) = PAUSES;
    while stream.unread_bytes().is_some_and(|bytes| bytes > 0) {
        // Without a reader the bytes are never read. The caller learns it from its next write.
        if stream.is_abandoned_after(pause) {
            return;
        }
        pause = (pause * 2).min(longest);
    }
}

/// Escapes DEL and every character beyond ASCII as `\u`. In JSON only strings hold such characters.
/// Bytes that are not UTF-8 are not JSON, and are returned unchanged.
fn to_ascii(json: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(json) else {
        return json.into();
    };
    let mut ascii = Vec::with_capacity(text.len() * 2);
    for c in text.chars() {
        if c.is_ascii() && c != '\u{7f}' {
            ascii.push(c as u8);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            ascii.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
    ascii.into()
}

#[cfg(test)]
mod tests {
    use super::{piece_end, to_ascii};
    use serde_json::{Value, json};

    #[test]
    fn a_piece_ends_where_a_character_does() {
        for text in ["日本語👋 Größe", "👋👋👋👋", "ab", "a"] {
            for most in 4..12 {
                let mut rest = text.as_bytes();
                let mut pieces = String::new();
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(piece_end(rest, most));
                    assert!((1..=most).contains(&piece.len()));
                    pieces += std::str::from_utf8(piece).expect("whole characters");
                    rest = after;
                }
                assert_eq!(pieces, text);
            }
        }
        assert_eq!(piece_end(&[0x80; 9], 4), 4);
    }

    #[test]
    fn json_in_ascii_says_the_same() {
        let value = json!({ "output": "日本語👋\n \"x\" \u{7f}", "ключ": 1 });
        let text = value.to_string();
        let line = to_ascii(text.as_bytes());
        assert!(line.is_ascii());
        assert_eq!(serde_json::from_slice::<Value>(&line).expect("JSON"), value);
    }
}
