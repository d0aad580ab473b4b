//! Recognises text encodings, and decodes and encodes text.

mod decoder;
mod detect;
mod restore;
mod wide;

pub use decoder::{DecodedReader, Decoder};
pub use detect::{SAMPLE_BYTES, declared, detect};
pub use restore::{MAX_RESTORED_BYTES, REPLACEMENT, Unwritable};

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use wide::ByteOrder;

/// A text encoding: UTF-8, UTF-16, UTF-32, or an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    form: Form,
    has_mark: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Standard(&'static encoding_rs::Encoding),
    Utf32(ByteOrder),
}

impl From<&'static encoding_rs::Encoding> for Encoding {
    fn from(standard: &'static encoding_rs::Encoding) -> Self {
        Self {
            form: Form::Standard(standard),
            has_mark: false,
        }
    }
}

impl Default for Encoding {
    fn default() -> Self {
        encoding_rs::UTF_8.into()
    }
}

impl Encoding {
    fn marked(standard: &'static encoding_rs::Encoding) -> Self {
        Self {
            form: Form::Standard(standard),
            has_mark: true,
        }
    }

    fn standard(self) -> Option<&'static encoding_rs::Encoding> {
        match self.form {
            Form::Standard(standard) => Some(standard),
            Form::Utf32(_) => None,
        }
    }

    /// Returns the name to show to people.
    pub fn name(self) -> &'static str {
        match self.form {
            _ if self.is_utf8() && self.has_mark => "UTF-8 with byte-order mark",
            Form::Standard(standard) => standard.name(),
            Form::Utf32(ByteOrder::Little) => "UTF-32LE",
            Form::Utf32(ByteOrder::Big) => "UTF-32BE",
        }
    }

    /// Returns true for UTF-8, with or without a byte-order mark.
    pub fn is_utf8(self) -> bool {
        self.standard() == Some(encoding_rs::UTF_8)
    }

    /// Returns true for an encoding older than Unicode, such as windows-1252 or GBK.
    pub fn is_legacy(self) -> bool {
        !self.is_utf8() && self.unit() == 1
    }

    /// Returns true for an older multi-byte encoding, in which the bytes of one character may occur
    /// within others.
    pub(super) fn is_ambiguous(self) -> bool {
        self.is_legacy() && self.standard().is_some_and(|e| !e.is_single_byte())
    }

    /// Returns true if bytes are a sequence of whole, valid characters. Returns false for UTF-32.
    pub fn is_whole(self, bytes: &[u8]) -> bool {
        let decode = |e: &'static encoding_rs::Encoding| {
            e.decode_without_bom_handling_and_without_replacement(bytes)
        };
        self.standard().and_then(decode).is_some()
    }

    /// Returns the byte-order mark that the file begins with; empty if it has none.
    pub fn mark(self) -> &'static [u8] {
        match self.name() {
            _ if !self.has_mark => b"",
            "UTF-16LE" => b"\xff\xfe",
            "UTF-16BE" => b"\xfe\xff",
            "UTF-32LE" => b"\xff\xfe\0\0",
            "UTF-32BE" => b"\0\0\xfe\xff",
            _ => b"\xef\xbb\xbf",
        }
    }

    /// Returns the size of one code unit, in bytes.
    pub fn unit(self) -> usize {
        match self.form {
            Form::Utf32(_) => 4,
            Form::Standard(e) if [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(&e) => 2,
            Form::Standard(_) => 1,
        }
    }

    /// Decodes bytes, without the byte-order mark, so that [`Encoding::encode_again`] restores them
    /// exactly. In UTF-8, invalid bytes become private-use characters. Returns `None` if the bytes
    /// can't be restored.
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

    /// Encodes text that was decoded, in parts at least, by [`Encoding::decode_fully`].
    ///
    /// # Errors
    ///
    /// Returns the first character that the encoding can't represent.
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
    /// Returns the first character that the encoding can't represent.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, char> {
        let units = text.encode_utf16();
        let standard = match self.form {
            Form::Utf32(order) => return Ok(order.encode(text).into()),
            Form::Standard(e) if e == encoding_rs::UTF_16LE => {
                return Ok(units.flat_map(u16::to_le_bytes).collect());
            }
            Form::Standard(e) if e == encoding_rs::UTF_16BE => {
                return Ok(units.flat_map(u16::to_be_bytes).collect());
            }
            Form::Standard(standard) => standard,
        };
        let (bytes, _, unmappable) = standard.encode(text);
        if unmappable {
            let lost = |c: &char| standard.encode(c.encode_utf8(&mut [0; 4])).2;
            return Err(text.chars().find(lost).unwrap_or('\u{fffd}'));
        }
        Ok(bytes)
    }

    /// Decodes all of a file's bytes except the byte-order mark. Bytes that are not valid in this
    /// encoding become U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        let bytes = bytes.strip_prefix(self.mark()).unwrap_or(bytes);
        match self.form {
            Form::Standard(standard) => standard.decode_without_bom_handling(bytes).0,
            Form::Utf32(order) => order.decode(bytes).collect(),
        }
    }
}

/// Returns the bytes of a text with its letters composed and decomposed, and in each of the older
/// encodings that [`detect`] recognises, except those that lack one of its characters.
pub fn other_spellings(text: &str) -> impl Iterator<Item = Vec<u8>> {
    let forms: [String; 2] = [text.nfc().collect(), text.nfd().collect()];
    let older = OLDER.iter().map(|older| older.encode(text));
    let older = older.filter(|(_, _, unmappable)| !unmappable);
    (forms.into_iter().map(String::into_bytes)).chain(older.map(|(bytes, _, _)| bytes.into_owned()))
}

static OLDER: [&encoding_rs::Encoding; 24] = [
    encoding_rs::WINDOWS_1252,
    encoding_rs::WINDOWS_1250,
    encoding_rs::WINDOWS_1251,
    encoding_rs::WINDOWS_1253,
    encoding_rs::WINDOWS_1254,
    encoding_rs::WINDOWS_1255,
    encoding_rs::WINDOWS_1256,
    encoding_rs::WINDOWS_1257,
    encoding_rs::WINDOWS_1258,
    encoding_rs::WINDOWS_874,
    encoding_rs::ISO_8859_2,
    encoding_rs::ISO_8859_4,
    encoding_rs::ISO_8859_5,
    encoding_rs::ISO_8859_6,
    encoding_rs::ISO_8859_7,
    encoding_rs::ISO_8859_8,
    encoding_rs::ISO_8859_13,
    encoding_rs::IBM866,
    encoding_rs::KOI8_U,
    encoding_rs::SHIFT_JIS,
    encoding_rs::EUC_JP,
    encoding_rs::EUC_KR,
    encoding_rs::GBK,
    encoding_rs::BIG5,
];

/// The first of 256 private-use characters, which stand for bytes that are not UTF-8.
const FIRST_STAND_IN: char = '\u{10ff00}';

fn stand_in(byte: u8) -> Option<char> {
    char::from_u32(u32::from(FIRST_STAND_IN) + u32::from(byte))
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

/// Returns true if a text has line feeds and each follows a carriage return.
pub fn has_only_crlf(text: &str) -> bool {
    let mut ends = text.match_indices('\n').peekable();
    ends.peek().is_some() && ends.all(|(at, _)| text[..at].ends_with('\r'))
}

#[cfg(test)]
pub(crate) mod tests;
