//! Keeps the beginning and the end of a text, and counts the characters and lines between.

use gemini_tools_core::text::count_newlines;

/// The share of the limit that the beginning of the text gets, in fifths. The rest goes to the end,
/// where a command reports its result.
const HEAD_FIFTHS: usize = 1;

#[derive(Default)]
pub(super) struct Ends {
    limit: usize,
    head: String,
    /// The end of the text, and more: it grows to twice the size that is kept before it is cut, so
    /// that most pushes move no text.
    tail: String,
    pub(super) chars: usize,
    lines: u64,
}

impl Ends {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.chars += text.chars().count();
        self.lines += count_newlines(text.as_bytes());
        let mut rest = text;
        // A character has at most four bytes.
        let room = (self.limit * 4).saturating_sub(self.head.len());
        if room > 0 && self.tail.is_empty() {
            let at = boundary(rest, room.min(rest.len()));
            self.head.push_str(&rest[..at]);
            rest = &rest[at..];
        }
        let keep = self.limit * 4;
        if rest.len() > keep {
            rest = &rest[boundary(rest, rest.len() - keep)..];
            self.tail.clear();
        }
        if self.tail.len() + rest.len() > keep * 2 {
            let from = boundary(&self.tail, self.tail.len() - keep.min(self.tail.len()));
            self.tail.drain(..from);
        }
        self.tail.push_str(rest);
    }

    /// Returns at most `limit` characters of the text. If some are missing, `marker` makes the note
    /// between beginning and end from a phrase such as `9 characters in 2 lines`.
    pub(super) fn cut(self, marker: impl FnOnce(String) -> String) -> String {
        let limit = self.limit;
        if self.chars <= limit {
            return self.head + &self.tail;
        }
        let for_head = limit / 5 * HEAD_FIFTHS;
        let nth =
            |text: &str, n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
        let head_end = nth(&self.head, for_head);
        // The text is cut between lines, unless a line takes most of the room.
        let head_end = match self.head[..head_end].rfind('\n') {
            Some(at) if at >= head_end / 2 => at + 1,
            _ => head_end,
        };
        let for_tail = limit - for_head;
        // If the tail is short, `head` still has the text before it, and nothing between is
        // missing.
        let end = if self.tail.chars().count() < for_tail {
            self.head.clone() + &self.tail
        } else {
            self.tail
        };
        let skip = end.chars().count().saturating_sub(for_tail);
        let from = nth(&end, skip);
        let end = &end[from..];
        let end = match end.find('\n') {
            Some(at) if at < end.len() / 2 => &end[at + 1..],
            _ => end,
        };
        let head = &self.head[..head_end];
        let chars = self.chars - head.chars().count() - end.chars().count();
        let line_feeds = |text: &str| count_newlines(text.as_bytes());
        let lines = self
            .lines
            .saturating_sub(line_feeds(head) + line_feeds(end));
        let missing = if lines == 0 {
            format!("{chars} characters")
        } else {
            format!("{chars} characters in {lines} lines")
        };
        let gap = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("{head}{gap}{}{end}", marker(missing))
    }
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}
