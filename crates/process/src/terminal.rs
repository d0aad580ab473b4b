//! Turns a program's output into what a terminal would show, as plain text: without escape
//! sequences, and with only the last state of a line that was overwritten.

use crate::decode::OutputDecoder;

/// Maximum length of a line in characters: a longer one is passed on in parts, and text that later
/// overwrites such a part becomes a line of its own. An escape sequence of more than
/// `MAX_SEQUENCE_BYTES` characters counts as text, unless it is a string such as a title.
const MAX_LINE_CHARS: usize = 64 * 1024;

const MAX_SEQUENCE_BYTES: usize = 4096;

const PLAIN_BLOCK_BYTES: usize = 64;

/// Returns a program's whole output as a terminal would show it.
pub fn plain_text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut terminal = TerminalEmulator::default();
    let mut decoder = OutputDecoder::default();
    let mut show = |piece: &str| terminal.push(piece, &mut |shown| out.push_str(shown));
    decoder.push(bytes, &mut show);
    decoder.finish(&mut show);
    terminal.finish_line(&mut |shown| out.push_str(shown));
    out
}

/// Returns the first 200 characters of a program's output, on one line.
pub fn excerpt(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 200;
    let text = plain_text(bytes).trim().replace('\n', " ⏎ ");
    gemini_tools_core::text::excerpt(&text, MAX_CHARS).into_owned()
}

/// Turns output into the text that a terminal would show, piece by piece.
#[derive(Debug, Default)]
pub struct TerminalEmulator {
    state: State,
    line: Vec<char>,
    column: usize,
    parameters: String,
    sequence: usize,
    /// Number of control characters that don't occur in text, a sign of binary data.
    pub odd: u64,
    /// True if the lines that were passed on are not those of the output, since the cursor left a
    /// line within it, or a sequence that never ended took up the end of a line.
    pub has_own_lines: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    Intermediate,
    Control,
    /// Within a string for the terminal itself, such as a title, up to BEL or ST.
    String,
    StringEscape,
}

impl TerminalEmulator {
    /// Returns the line that has not ended yet.
    pub fn unfinished(&self) -> String {
        self.line.iter().collect()
    }

    /// Takes the next piece of output and passes complete lines to `out`.
    pub fn push(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state != State::Text {
                let c = rest.chars().next().unwrap_or_default();
                self.sequence_char(c, out);
                rest = &rest[c.len_utf8()..];
                continue;
            }
            // Most output is plain; whole lines of it are passed on as they are.
            let plain = plain_prefix(rest);
            if plain > 0 {
                self.plain(&rest[..plain], out);
                rest = &rest[plain..];
                continue;
            }
            let c = rest.chars().next().unwrap_or_default();
            self.control(c, out);
            rest = &rest[c.len_utf8()..];
        }
    }

    fn plain(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        let mut text = text;
        if !self.line.is_empty() || self.column > 0 {
            let end = text.find('\n');
            self.write(&text[..end.unwrap_or(text.len())], out);
            let Some(end) = end else { return };
            self.finish_line(out);
            out("\n");
            text = &text[end + 1..];
        }
        if let Some(end) = text.rfind('\n') {
            out(&text[..=end]);
            text = &text[end + 1..];
        }
        self.write(text, out);
    }

    fn write(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        for c in text.chars() {
            self.put(c, out);
        }
    }

    /// Passes on the unfinished line and starts a new one.
    pub fn finish_line(&mut self, out: &mut impl FnMut(&str)) {
        if !self.line.is_empty() {
            let line: String = self.line.drain(..).collect();
            out(&line);
        }
        self.column = 0;
    }

    fn control(&mut self, c: char, out: &mut impl FnMut(&str)) {
        match c {
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\u{1b}' => {
                self.state = State::Escape;
                self.parameters.clear();
                self.sequence = 0;
            }
            // Programs print NUL between names, which may contain any other character.
            '\0' => self.put('\u{2400}', out),
            '\u{7}' | '\u{b}' | '\u{c}' | '\u{e}' | '\u{f}' => {}
            _ => self.odd += 1,
        }
    }

    fn put(&mut self, c: char, out: &mut impl FnMut(&str)) {
        if self.column < self.line.len() {
            self.line[self.column] = c;
        } else {
            self.line.resize(self.column, ' ');
            self.line.push(c);
        }
        self.column += 1;
        if self.line.len() >= MAX_LINE_CHARS {
            self.finish_line(out);
        }
    }

    fn sequence_char(&mut self, c: char, out: &mut impl FnMut(&str)) {
        self.sequence += 1;
        let is_string = matches!(self.state, State::String | State::StringEscape);
        if c == '\n' || (self.sequence > MAX_SEQUENCE_BYTES && !is_string) {
            // No sequence continues on the next line: this one was never ended and counts as text.
            self.state = State::Text;
            self.has_own_lines |= c == '\n';
            return;
        }
        self.state = match self.state {
            State::Text => State::Text,
            State::Escape => match c {
                '[' => State::Control,
                ']' | 'P' | 'X' | '^' | '_' => State::String,
                ' '..='/' => State::Intermediate,
                _ => State::Text,
            },
            State::Intermediate => match c {
                ' '..='/' => State::Intermediate,
                _ => State::Text,
            },
            State::Control if matches!(c, ' '..='?') => {
                self.parameters.push(c);
                State::Control
            }
            State::Control => {
                self.run_control(c, out);
                State::Text
            }
            State::String => match c {
                '\u{7}' => State::Text,
                '\u{1b}' => State::StringEscape,
                _ => State::String,
            },
            State::StringEscape => match c {
                '\\' => State::Text,
                _ => State::String,
            },
        };
    }

    /// Executes the control sequences that erase in the line or move the cursor. When the cursor
    /// leaves a line, the line is passed on first, because a user has seen it; no earlier line is
    /// overwritten.
    fn run_control(&mut self, last: char, out: &mut impl FnMut(&str)) {
        let number = |default: usize| {
            let first = self.parameters.split(';').next().unwrap_or_default();
            first
                .parse::<usize>()
                .unwrap_or(default)
                .min(MAX_LINE_CHARS)
        };
        match last {
            'K' => match number(0) {
                0 => self.line.truncate(self.column),
                1 => {
                    let end = (self.column + 1).min(self.line.len());
                    self.line[..end].fill(' ');
                }
                _ => self.line.clear(),
            },
            'D' => self.column = self.column.saturating_sub(number(1).max(1)),
            'C' => self.column = (self.column + number(1).max(1)).min(MAX_LINE_CHARS),
            'G' => self.column = number(1).max(1) - 1,
            'A' | 'B' | 'E' | 'F' | 'H' | 'd' | 'f' if !self.line.is_empty() => {
                self.finish_line(out);
                self.has_own_lines = true;
                out("\n");
            }
            _ => {}
        }
    }
}

fn plain_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    // Whole blocks come first, without branches, so that the compiler checks many bytes at once.
    for block in bytes.chunks_exact(PLAIN_BLOCK_BYTES) {
        if block.iter().fold(false, |any, b| any | may_be_control(*b)) {
            break;
        }
        from += PLAIN_BLOCK_BYTES;
    }
    let is_control = |i: usize, b: u8| {
        // U+0080 to U+009F are control characters; the others that begin with 0xc2 are not.
        may_be_control(b) && (b != 0xc2 || matches!(bytes.get(i + 1), Some(0x80..=0x9f)))
    };
    let mut rest = bytes.iter().enumerate().skip(from);
    rest.find(|(i, b)| is_control(*i, **b))
        .map_or(bytes.len(), |(i, _)| i)
}

fn may_be_control(b: u8) -> bool {
    matches!(b, 0..=8 | 0xb..=0x1f | 0x7f | 0xc2)
}

#[cfg(test)]
mod tests {
    use super::{OutputDecoder, TerminalEmulator};
    use proptest::prelude::{ProptestConfig, any, proptest};

    fn shown(pieces: &[&[u8]]) -> String {
        let mut text = String::new();
        let (mut decoder, mut terminal) = (OutputDecoder::default(), TerminalEmulator::default());
        for piece in pieces {
            decoder.push(piece, |t| terminal.push(t, &mut |t| text.push_str(t)));
        }
        decoder.finish(|t| terminal.push(t, &mut |t| text.push_str(t)));
        terminal.finish_line(&mut |t| text.push_str(t));
        text
    }

    #[test]
    fn text_is_what_a_terminal_would_show() {
        let cases: [(&[u8], &str); 20] = [
            (b"plain\ntext", "plain\ntext"),
            (b"\x1b[31mred\x1b[0m plain\n", "red plain\n"),
            (b" 10%\r 20%\r100%\n", "100%\n"),
            (b"longer\rshort\n", "shortr\n"),
            (b"longer\r\x1b[Kshort\n", "short\n"),
            (b"dos\r\nlines\r\n", "dos\nlines\n"),
            (b"x\x08\x08y\x08z", "z"),
            (
                b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
                "alink",
            ),
            (b"\x1b]never ended\nnext\n", "next\n"),
            (b"a\x00b\x00", "a\u{2400}b\u{2400}"),
            (b"caf\xe9!\n", "café!\n"),
            (b"\x1b(Bset\x1b[2J\x1b[1;1Hhome", "set\nhome"),
            (b"one\ntwo\r\x1b[Athree\n", "one\ntwo\nthree\n"),
            (b"one\n\x1b[1A\x1b[2Ktwo\n", "one\ntwo\n"),
            (b"bell\x07 end", "bell end"),
            (b"1\x1b[3Cx", "1   x"),
            (b"abc\x1b[2D_", "a_c"),
            (b"abc\x1b[1G_", "_bc"),
            ("\u{9b}31mx".as_bytes(), "31mx"),
            (b"tab\tend\r\n", "tab\tend\n"),
        ];
        for (input, expected) in cases {
            assert_eq!(shown(&[input]), expected, "{input:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn where_output_is_cut_makes_no_difference(
            text in any::<String>(),
            at in 0_usize..200,
        ) {
            let bytes = text.as_bytes();
            let at = at.min(bytes.len());
            assert_eq!(shown(&[bytes]), shown(&[&bytes[..at], &bytes[at..]]));
        }
    }
}
