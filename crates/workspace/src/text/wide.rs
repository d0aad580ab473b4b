//! Recognises UTF-32, and UTF-16 without a byte-order mark.

use super::{Encoding, Form};

/// Minimum number of characters of a text without a byte-order mark if at least half of them are
/// ASCII. Shorter data is not taken for text.
const MIN_ASCII: usize = 3;

const MIN_CHARACTERS: usize = 10;

/// Minimum number of characters of a text that is mostly Chinese or Korean. Half of all 16-bit
/// numbers are such characters, so short binary data often looks like such a text.
const MIN_IDEOGRAPHS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        let units = text.chars().map(u32::from);
        match self {
            ByteOrder::Little => units.flat_map(u32::to_le_bytes).collect(),
            ByteOrder::Big => units.flat_map(u32::to_be_bytes).collect(),
        }
    }

    pub(super) fn decode(self, bytes: &[u8]) -> impl Iterator<Item = char> {
        bytes.chunks(4).map(move |unit| {
            let unit = <[u8; 4]>::try_from(unit).ok();
            let unit = unit.map(|unit| match self {
                ByteOrder::Little => u32::from_le_bytes(unit),
                ByteOrder::Big => u32::from_be_bytes(unit),
            });
            unit.and_then(char::from_u32).unwrap_or('\u{fffd}')
        })
    }
}

/// Returns true if bytes begin with the byte-order mark of UTF-32. Little-endian UTF-16 whose first
/// character is NUL begins in the same way.
pub(super) fn has_utf32_mark(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..])
}

pub(super) fn marked_utf32(sample: &[u8], whole: bool) -> Option<Encoding> {
    let find = |order| {
        let form = Form::Utf32(order);
        let encoding = Encoding {
            form,
            has_mark: true,
        };
        let text = cut(sample, 4, whole).strip_prefix(encoding.mark())?;
        let odd = order.decode(text).filter(|c| is_odd(*c)).count();
        (odd * 40 <= text.len()).then_some(encoding)
    };
    find(ByteOrder::Little).or_else(|| find(ByteOrder::Big))
}

/// Detects UTF-32 and UTF-16 without a byte-order mark. Every character must be plausible, since
/// binary data has zero bytes too.
pub(super) fn unmarked(sample: &[u8], whole: bool) -> Option<Encoding> {
    if !sample.contains(&0) {
        return None;
    }
    let orders = [ByteOrder::Little, ByteOrder::Big];
    let order = orders
        .into_iter()
        .find(|order| is_text(order.decode(cut(sample, 4, whole))));
    if let Some(order) = order {
        return Some(Encoding {
            form: Form::Utf32(order),
            has_mark: false,
        });
    }
    let sample = cut(sample, 2, whole);
    // Binary data with ASCII names that end in a NUL looks like UTF-16. But most of its two-byte
    // units without a zero byte consist of two ASCII characters.
    let wide = sample.chunks_exact(2).filter(|unit| !unit.contains(&0));
    let is_ascii = |b: &u8| (b' '..0x7f).contains(b) || b"\t\n\r".contains(b);
    let is_pair = |unit: &&[u8]| unit.iter().all(is_ascii);
    if wide.clone().filter(is_pair).count() * 2 > wide.count() {
        return None;
    }
    let encodings = [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].map(Encoding::from);
    encodings.into_iter().find(|encoding| {
        let sample = without_half(sample, *encoding, whole);
        is_text(encoding.decode(sample).chars())
    })
}

fn cut(sample: &[u8], unit: usize, whole: bool) -> &[u8] {
    let rest = if whole { 0 } else { sample.len() % unit };
    &sample[..sample.len() - rest]
}

/// Drops the first half of a UTF-16 surrogate pair from the end of a sample that was cut there.
fn without_half(sample: &[u8], encoding: Encoding, whole: bool) -> &[u8] {
    let [.., a, b] = sample else { return sample };
    let high = if encoding.standard() == Some(encoding_rs::UTF_16LE) {
        b
    } else {
        a
    };
    let is_half = !whole && (0xd8..0xdc).contains(high);
    &sample[..sample.len() - if is_half { 2 } else { 0 }]
}

fn is_odd(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}' | '\u{85}'))
        || matches!(c, '\u{fffd}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Returns true for characters such as only a text has: some ASCII, punctuation, and letters of few
/// scripts. Binary data, read as characters, has letters of many.
fn is_text(characters: impl Iterator<Item = char>) -> bool {
    let (mut all, mut ascii, mut unknown) = (0, 0, 0);
    // Han and Hangul are counted separately: each fills many pages of 256 characters, and few texts
    // have both.
    let (mut han, mut hangul) = (0_usize, 0_usize);
    let mut pages = [0_usize; 256];
    for c in characters {
        if is_odd(c) {
            return false;
        }
        all += 1;
        let page = u32::from(c) >> 8;
        match page {
            _ if c.is_ascii() => ascii += 1,
            // Symbols and punctuation, which occur with every script.
            0 | 0x20..=0x2b | 0x30 | 0xfe | 0xff | 0x1f0..=0x1fa => {}
            0x31 | 0x4e..=0x9f => han += 1,
            0xac..=0xd7 => hangul += 1,
            // Rare characters. Many random 16-bit numbers are among them.
            0x34..=0x4d => unknown += 1,
            _ if !c.is_alphanumeric() && page > 0x1f => unknown += 1,
            _ => pages[page.min(255) as usize] += 1,
        }
    }
    pages.sort_unstable();
    let foreign = unknown + han.min(hangul) + pages.iter().rev().skip(2).sum::<usize>();
    let least = if ascii * 2 >= all {
        MIN_ASCII
    } else if (han + hangul) * 2 > all {
        MIN_IDEOGRAPHS
    } else {
        MIN_CHARACTERS
    };
    all >= least && ascii > 0 && ascii * 100 >= all && foreign * 20 <= all
}
