//! Decodes what a program prints, in whatever encoding.
//!
//! Output that is valid UTF-8 is taken as UTF-8. Every other line, such as one of an old file in a
//! `diff`, is decoded by itself, from the encoding that all such lines so far look like. If a line
//! fits no encoding, or is UTF-8 except for some bytes, its bytes that are not UTF-8 show as
//! `\x{ff}`.

use gemini_tools_core::text::show_name;
use gemini_tools_workspace::text::{Encoding, detect};
use std::borrow::Cow;
use std::str::Utf8Error;

const MAX_LINE_BYTES: usize = 64 * 1024;

const SAMPLE_BYTES: usize = 16 * 1024;

/// Decodes bytes piece by piece. A piece may be cut anywhere, even within a character.
#[derive(Debug, Default)]
pub struct OutputDecoder {
    /// The unfinished last line, which is decoded when it is complete.
    held: Vec<u8>,
    sample: Vec<u8>,
    judged_bytes: usize,
    encoding: Option<Encoding>,
    first: Option<Encoding>,
    /// True if there was a character beyond ASCII in UTF-8, which shows that the output is in this
    /// encoding.
    has_utf8: bool,
}

impl OutputDecoder {
    /// Takes the next piece of output and passes text to `out`, as far as it can be decoded.
    pub fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&str)) {
        let mut all = std::mem::take(&mut self.held);
        let all = if all.is_empty() {
            bytes
        } else {
            all.extend_from_slice(bytes);
            &all
        };
        let (whole, rest) = match std::str::from_utf8(all) {
            Ok(text) => {
                self.has_utf8 |= !text.is_ascii();
                return out(text);
            }
            Err(e) if e.error_len().is_none() => all.split_at(e.valid_up_to()),
            Err(_) => all.split_at(settled(all)),
        };
        self.lines(whole, &mut out);
        self.held = rest.to_vec();
    }

    /// Decodes the unfinished line at the end of the output.
    pub fn finish(&mut self, mut out: impl FnMut(&str)) {
        let held = std::mem::take(&mut self.held);
        if self.is_cut_character(&held) {
            return out(&show_name(&held));
        }
        self.lines(&held, &mut out);
    }

    /// Returns true for a character of UTF-8 that the end of the output has cut, as that of
    /// `head -c` may. In output of another encoding the same bytes are a character.
    fn is_cut_character(&self, held: &[u8]) -> bool {
        let is_cut = |e: Utf8Error| e.valid_up_to() == 0 && e.error_len().is_none();
        self.has_utf8 && std::str::from_utf8(held).is_err_and(is_cut)
    }

    /// Returns the text of the unfinished line.
    pub fn unfinished(&self) -> Cow<'_, str> {
        if self.is_cut_character(&self.held) {
            return show_name(&self.held);
        }
        self.text(&self.held).0
    }

    /// Returns the name of the encoding, other than UTF-8, that lines were decoded from; `None` if
    /// there were no such lines.
    pub fn decoded_from(&self) -> Option<&'static str> {
        self.first.and(self.encoding).map(Encoding::name)
    }

    /// Returns a decoder that uses the final encoding from the beginning, or `None` if that never
    /// changed. Decoding all output again corrects lines that were decoded before enough was known.
    pub fn better(&self) -> Option<Self> {
        (self.first.is_some() && self.first != self.encoding).then(|| Self {
            encoding: self.encoding,
            // With this value the decoder never guesses again.
            judged_bytes: SAMPLE_BYTES,
            ..Self::default()
        })
    }

    fn lines(&mut self, bytes: &[u8], out: &mut impl FnMut(&str)) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            self.has_utf8 |= !text.is_ascii();
            return out(text);
        }
        let lines = || bytes.split_inclusive(|b| *b == b'\n');
        for line in lines().filter(|line| std::str::from_utf8(line).is_err()) {
            if self.sample.len() < SAMPLE_BYTES {
                self.sample
                    .extend_from_slice(&line[..line.len().min(SAMPLE_BYTES)]);
            }
        }
        // The encoding is guessed again only after the sample has grown by a quarter. With many
        // short pieces, this would otherwise take too long.
        if self.sample.len() * 4 > self.judged_bytes * 5 && self.judged_bytes < SAMPLE_BYTES {
            self.judged_bytes = self.sample.len();
            let encoding = detect(&self.sample, true).filter(|e| e.is_legacy());
            self.encoding = encoding.or(self.encoding);
        }
        for line in lines() {
            let (text, encoding) = self.text(line);
            out(&text);
            self.first = self.first.or(encoding);
        }
    }

    fn text<'l>(&self, line: &'l [u8]) -> (Cow<'l, str>, Option<Encoding>) {
        if let Ok(text) = std::str::from_utf8(line) {
            return (text.into(), None);
        }
        let own = detect(line, true).filter(|encoding| encoding.is_legacy());
        let candidates = [own.and(self.encoding), own];
        let found = candidates.into_iter().flatten().find(|e| e.is_whole(line));
        match found {
            Some(encoding) => (encoding.decode(line).into_owned().into(), found),
            None => (show_name(line), None),
        }
    }
}

/// Returns how many bytes can be decoded now: up to the last line feed, and what follows it if that
/// is ASCII, which needs no context, or too long to be held.
fn settled(bytes: &[u8]) -> usize {
    let end = bytes
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    let rest = &bytes[end..];
    if rest.is_ascii() || rest.len() > MAX_LINE_BYTES {
        bytes.len()
    } else {
        end
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputDecoder, show_name};
    use encoding_rs::{GBK, WINDOWS_1252};

    fn decoded(pieces: &[&[u8]]) -> (String, Option<&'static str>) {
        let mut text = String::new();
        let mut decoder = OutputDecoder::default();
        for piece in pieces {
            decoder.push(piece, |piece| text.push_str(piece));
        }
        decoder.finish(|piece| text.push_str(piece));
        (text, decoder.decoded_from())
    }

    #[test]
    fn lines_in_an_older_encoding_are_decoded_wherever_they_are_cut() {
        let text = "编译错误：找不到头文件。\n第二行\n";
        let bytes = GBK.encode(text).0;
        for at in 0..=bytes.len() {
            let (before, after) = bytes.split_at(at);
            assert_eq!(
                decoded(&[before, after]),
                (text.to_owned(), Some("GBK")),
                "{at}"
            );
        }
    }

    #[test]
    fn each_line_is_what_it_looks_like() {
        let old = WINDOWS_1252.encode("-größer für François\n").0;
        let mixed = [&old[..], "+größer 日本 für\n".as_bytes(), b"ascii\n"].concat();
        let expected = "-größer für François\n+größer 日本 für\nascii\n".to_owned();
        assert_eq!(decoded(&[&mixed]), (expected, Some("windows-1252")));
        let damaged = "größer 日本 \u{0}".replace('\0', "").into_bytes();
        let damaged = [&damaged[..], b"\xff\n"].concat();
        assert_eq!(
            decoded(&[&damaged]),
            ("größer 日本 \\x{ff}\n".to_owned(), None)
        );
        assert_eq!(decoded(&[b"\x01\x02\xff\x03\n"]).1, None, "no text at all");
    }

    #[test]
    fn a_character_that_the_end_cuts_is_no_other_one() {
        for at in 1..3 {
            let whole = "漢字".as_bytes();
            let shown = show_name(&whole[3..3 + at]);
            let expected = (format!("漢{shown}"), None);
            assert_eq!(decoded(&[&whole[..3 + at]]), expected);
            assert_eq!(decoded(&[&whole[..3], &whole[3..3 + at]]), expected);
        }
        assert_eq!(decoded(&[b"caf\xe9"]).0, "café");
    }

    #[test]
    fn utf8_is_passed_on_before_its_line_ends() {
        let mut decoder = OutputDecoder::default();
        let mut text = String::new();
        decoder.push("Größe? ".as_bytes(), |piece| text.push_str(piece));
        assert_eq!(text, "Größe? ");
        decoder.push(b"\xe9t\xe9", |piece| text.push_str(piece));
        assert_eq!((&*text, &*decoder.unfinished()), ("Größe? ", "été"));
    }
}
