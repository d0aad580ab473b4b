//! A parser of server-sent events, as the API and MCP servers send them.
//!
//! This is not one of the existing crates, because those are for asynchronous streams. It is fed
//! from blocking reads, copes with a stream that is cut anywhere, and bounds the size of an event.
//! Each byte is looked at once. Line ends may be LF, CR LF or CR (WHATWG HTML, section 9.2). A
//! byte-order mark at the start is skipped, and so are comments and unknown fields.

use gemini_tools_core::json::MAX_WITH_MEDIA_BYTES;
use thiserror::Error;

/// The error for an event of the stream that is too large, perhaps endless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an event of the stream has more than {MAX_WITH_MEDIA_BYTES} bytes")]
pub struct SseError;

/// The name and the data of an event; the name is empty where the event has none.
pub type Event = (Vec<u8>, Vec<u8>);

/// Assembles events from bytes as they arrive.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a CR. If the next is a LF, the two are one line end.
    after_cr: bool,
    is_past_mark: bool,
}

impl Events {
    /// Parses the next bytes, and returns the events that they complete.
    ///
    /// # Errors
    ///
    /// Returns an error if an event is too large.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SseError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                self.check_size()?;
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.check_size()?;
            events.extend(self.end_line());
        }
        Ok(events)
    }

    /// Ends the stream. Returns the data of an event whose blank line is missing: the API may omit
    /// it at the very end.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        if !self.line.is_empty()
            && let Some((_, data)) = self.end_line()
        {
            return Some(data);
        }
        self.end_event().map(|(_, data)| data)
    }

    fn check_size(&self) -> Result<(), SseError> {
        if self.line.len() + self.name.len() + self.data.len() > MAX_WITH_MEDIA_BYTES {
            return Err(SseError);
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.is_past_mark, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.end_event();
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data
                .extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        } else if let Some(name) = line.strip_prefix(b"event:") {
            self.name = name.strip_prefix(b" ").unwrap_or(name).to_vec();
        }
        None
    }

    /// Ends the current event and returns its name and data. An event without data is dropped, as
    /// the specification demands.
    fn end_event(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        std::mem::take(&mut self.has_data).then(|| (name, std::mem::take(&mut self.data)))
    }
}

#[cfg(test)]
mod tests;
