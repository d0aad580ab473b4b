//! Text encodings: recognising, decoding, encoding.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use std::borrow::Cow;

/// A text encoding: UTF-8, UTF-16 with a byte-order mark, or an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    /// The encoding as the WHATWG Encoding Standard has it.
    pub standard: &'static encoding_rs::Encoding,
    /// True if the file begins with a byte-order mark.
    has_mark: bool,
}

/// The bytes of a file by which its encoding is recognised.
pub const SAMPLE_BYTES: usize = 64 * 1024;

/// The bytes of an XML or HTML document in which it declares its encoding.
const DECLARATION_BYTES: usize = 1024;

/// Returns the encoding of a text by a sample of its beginning, or `None` for what is not text.
///
/// A text is recognised by a byte-order mark, by being valid UTF-8, by what an XML or HTML document
/// says of itself, or by its statistics. `whole` is true if the sample is all of the file.
pub fn detect(sample: &[u8], whole: bool) -> Option<Encoding> {
    if !is_utf32(sample)
        && let Some((standard, _)) = encoding_rs::Encoding::for_bom(sample)
    {
        let has_mark = true;
        return Some(Encoding { standard, has_mark });
    }
    if looks_binary(sample) {
        return None;
    }
    let is_utf8 = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(e) => !whole && e.error_len().is_none() || is_damaged_utf8(sample),
    };
    if is_utf8 {
        return Some(Encoding::without_mark(encoding_rs::UTF_8));
    }
    let declared = declared(sample).filter(|e| holds(e, sample, whole));
    Some(Encoding::without_mark(declared.unwrap_or_else(|| {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(sample, whole);
        detector.guess(None, Utf8Detection::Deny)
    })))
}

/// Returns the encoding that an XML or HTML document declares.
pub fn declared(bytes: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let head = &bytes[..bytes.len().min(DECLARATION_BYTES)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let instruction = head
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split("?>").next());
    let label = instruction
        .and_then(|text| value_of(text, "encoding"))
        .or_else(|| value_of(&head[head.find("<meta")?..], "charset"))?;
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes())?;
    // Who could read that was not reading UTF-16.
    Some(match encoding.output_encoding() {
        same if same == encoding => encoding,
        _ => encoding_rs::UTF_8,
    })
}

/// Returns the value of the first `key=` of a tag, with or without quotes.
fn value_of<'a>(tag: &'a str, key: &str) -> Option<&'a str> {
    let rest = &tag[tag.find(key)? + key.len()..];
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c))?;
    Some(&value[..end])
}

/// Returns true if bytes are text in an older encoding.
fn holds(encoding: &'static encoding_rs::Encoding, bytes: &[u8], whole: bool) -> bool {
    if encoding == encoding_rs::UTF_8 {
        return false;
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::new();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    text.reserve(room.unwrap_or_default());
    let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, whole);
    result == encoding_rs::DecoderResult::InputEmpty
}

/// Returns true for text with a byte-order mark of UTF-32, which counts as binary.
pub fn is_utf32(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..])
}

/// Returns true for a NUL or more than 30 % control characters, as Gemini CLI judges.
fn looks_binary(sample: &[u8]) -> bool {
    if sample.contains(&0) {
        return true;
    }
    // Counted in bytes, piece by piece: so the compiler makes vector instructions of it.
    let is_odd = |b: &u8| u8::from(*b < 9) | (u8::from(*b > 13) & u8::from(*b < 32));
    let odd: usize = sample
        .chunks(255)
        .map(|piece| usize::from(piece.iter().map(is_odd).sum::<u8>()))
        .sum();
    odd * 10 > sample.len() * 3
}

/// Returns true for text that is UTF-8 but for a few bytes: its other characters beyond ASCII would
/// turn to nonsense under any older encoding.
fn is_damaged_utf8(sample: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in sample.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad * 4
}

/// The first of 256 private-use characters that stand for bytes which are not UTF-8.
const FIRST_STAND_IN: char = '\u{10ff00}';

fn stand_in(byte: u8) -> Option<char> {
    char::from_u32(u32::from(FIRST_STAND_IN) + u32::from(byte))
}

impl Default for Encoding {
    /// Returns UTF-8 without a byte-order mark.
    fn default() -> Self {
        Self::without_mark(encoding_rs::UTF_8)
    }
}

impl Encoding {
    fn without_mark(standard: &'static encoding_rs::Encoding) -> Self {
        let has_mark = false;
        Self { standard, has_mark }
    }

    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        if self.is_utf8() && self.has_mark {
            return "UTF-8 with byte-order mark";
        }
        self.standard.name()
    }

    /// Returns true if the bytes are UTF-8.
    pub fn is_utf8(self) -> bool {
        self.standard == encoding_rs::UTF_8
    }

    /// Returns true for an encoding older than Unicode.
    pub fn is_legacy(self) -> bool {
        !self.is_utf8() && !self.has_mark
    }

    /// Returns true for an older encoding with characters of several bytes, in which the bytes of one
    /// character can be inside of others.
    pub(super) fn is_ambiguous(self) -> bool {
        self.is_legacy() && !self.standard.is_single_byte()
    }

    /// Returns the byte-order mark that the file begins with.
    pub fn mark(self) -> &'static [u8] {
        match self.standard.name() {
            _ if !self.has_mark => b"",
            "UTF-16LE" => b"\xff\xfe",
            "UTF-16BE" => b"\xfe\xff",
            _ => b"\xef\xbb\xbf",
        }
    }

    /// Returns the bytes of one code unit.
    pub fn unit(self) -> usize {
        // UTF-16 is only known by its mark.
        if self.has_mark && !self.is_utf8() {
            2
        } else {
            1
        }
    }

    /// Decodes bytes so that [`Encoding::encode_again`] gives the very same bytes, without the
    /// byte-order mark; bytes that are not UTF-8 become characters that are not in use.
    /// Returns `None` if that can't be.
    pub fn decode_fully(self, bytes: &[u8]) -> Option<String> {
        let content = bytes.strip_prefix(self.mark()).unwrap_or(bytes);
        let text = if self.is_utf8() {
            let mut text = String::with_capacity(content.len());
            for chunk in content.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().filter_map(|b| stand_in(*b)));
            }
            text
        } else {
            self.decode(bytes).into_owned()
        };
        (self.encode_again(&text).ok()? == content).then_some(text)
    }

    /// Encodes text that may hold parts of what [`Encoding::decode_fully`] gave.
    ///
    /// # Errors
    ///
    /// Returns the first character that the encoding does not have.
    pub fn encode_again(self, text: &str) -> Result<Vec<u8>, char> {
        if !self.is_utf8() || !text.contains(|c| c >= FIRST_STAND_IN) {
            return self.encode(text).map(Cow::into_owned);
        }
        let mut bytes = Vec::with_capacity(text.len());
        for c in text.chars() {
            match u8::try_from(u32::from(c).wrapping_sub(u32::from(FIRST_STAND_IN))) {
                Ok(byte) => bytes.push(byte),
                Err(_) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        Ok(bytes)
    }

    /// Encodes text, without a byte-order mark.
    ///
    /// # Errors
    ///
    /// Returns the first character that the encoding can't hold.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, char> {
        let units = text.encode_utf16();
        match self.standard.name() {
            "UTF-16LE" => return Ok(units.flat_map(u16::to_le_bytes).collect()),
            "UTF-16BE" => return Ok(units.flat_map(u16::to_be_bytes).collect()),
            _ => {}
        }
        let (bytes, _, unmappable) = self.standard.encode(text);
        if unmappable {
            let lost = |c: &char| self.standard.encode(c.encode_utf8(&mut [0; 4])).2;
            return Err(text.chars().find(lost).unwrap_or('\u{fffd}'));
        }
        Ok(bytes)
    }

    /// Decodes all of a file's bytes, the byte-order mark left out. What is not text in this
    /// encoding becomes U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        let bytes = bytes.strip_prefix(self.mark()).unwrap_or(bytes);
        self.standard.decode_without_bom_handling(bytes).0
    }
}

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`.
    Lf,
    /// `\r\n`.
    Crlf,
    /// `\r`.
    Cr,
}

impl LineEnding {
    /// Returns the line end that a text begins with.
    pub(super) fn at_start(text: &str) -> Self {
        if text.starts_with("\r\n") {
            LineEnding::Crlf
        } else if text.starts_with('\r') {
            LineEnding::Cr
        } else {
            LineEnding::Lf
        }
    }

    /// Returns the characters of the line end.
    pub fn text(self) -> &'static str {
        match self {
            LineEnding::Lf => "\n",
            LineEnding::Crlf => "\r\n",
            LineEnding::Cr => "\r",
        }
    }
}

/// Returns true if a text has line feeds, and a carriage return before each.
pub fn has_only_crlf(text: &str) -> bool {
    let mut ends = text.match_indices('\n').peekable();
    ends.peek().is_some() && ends.all(|(at, _)| text[..at].ends_with('\r'))
}

#[cfg(test)]
mod tests;
