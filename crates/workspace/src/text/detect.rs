//! Detects the encoding of a text by its bytes.
//!
//! A text that is valid UTF-8 is UTF-8, unless its zero bytes show that it is UTF-16, UTF-32 or no
//! text. Any other text may be damaged UTF-8 or in an older encoding. To decide, [`Evidence`]
//! weighs the valid UTF-8 sequences against the invalid places: it is damaged UTF-8 if they weigh
//! about as much. In an older encoding some sequences are valid by chance, but rarely between two
//! ASCII characters, and most bytes around them are invalid: in the legacy texts among the test
//! texts of `chardet`, the valid ones weigh at most 0.7 times as much.

use super::Encoding;
use super::wide;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

/// How many bytes from the beginning of a text are looked at to detect its encoding.
pub const SAMPLE_BYTES: usize = 256 * 1024;

const DECLARATION_BYTES: usize = 1024;

/// With at most this many invalid places in a text, the statistics of `chardetng` say little about
/// its encoding.
const SHORT_DAMAGE: usize = 16;

const MIN_EUC_DAMAGE: usize = 3;

/// How many bytes must follow an apparent UTF-16 byte-order mark before it can be taken for damage.
const MIN_UNMARKED_BYTES: usize = 12;

/// Returns the encoding of a text by its beginning, or `None` for what is not text.
///
/// A text is recognised by a byte-order mark, by being UTF-8 with at most a few damaged bytes, by
/// the encoding that an XML or HTML document declares, or by its statistics. `whole` is true if
/// `bytes` are the whole text. At most [`SAMPLE_BYTES`] are looked at.
pub fn detect(bytes: &[u8], whole: bool) -> Option<Encoding> {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let whole = whole && sample.len() == bytes.len();
    if wide::has_utf32_mark(sample) {
        return wide::marked_utf32(sample, whole);
    }
    if let Some((standard, mark)) = encoding_rs::Encoding::for_bom(sample)
        && (standard == encoding_rs::UTF_8 || !is_damage(&sample[mark..]))
    {
        return Some(Encoding::marked(standard));
    }
    if let Some(encoding) = wide::unmarked(sample, whole) {
        return Some(encoding);
    }
    if looks_binary(sample) {
        return None;
    }
    let sample = if whole {
        sample
    } else {
        without_cut_character(sample)
    };
    if std::str::from_utf8(sample).is_ok() {
        return Some(Encoding::default());
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, whole);
    let guess = detector.guess(None, Utf8Detection::Deny);
    if Evidence::of(sample).is_for_utf8(guess) {
        return Some(Encoding::default());
    }
    if !has_few_controls(sample) {
        return None;
    }
    let declared = declared(sample).filter(|e| holds(e, sample, whole));
    Some(Encoding::from(declared.unwrap_or(guess)))
}

/// Returns true if an apparent UTF-16 byte-order mark is damage at the start of UTF-8: `rest`, the
/// bytes after it, is mostly valid UTF-8 with line feeds, and has none of the zero bytes that
/// UTF-16 has.
fn is_damage(rest: &[u8]) -> bool {
    let is_text = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=0x7e | 0x80..);
    let is_possible =
        rest.len() >= MIN_UNMARKED_BYTES && rest.iter().all(is_text) && rest.contains(&b'\n');
    is_possible && {
        let evidence = Evidence::of(rest);
        evidence.clean * 2 + evidence.mixed > evidence.damage * 2
    }
}

fn without_cut_character(sample: &[u8]) -> &[u8] {
    let is_cut = |at: &usize| {
        let error = std::str::from_utf8(&sample[*at..]).err();
        error.is_some_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
    };
    let mut last = sample.len().saturating_sub(3)..sample.len();
    &sample[..last.find(is_cut).unwrap_or(sample.len())]
}

/// The evidence for and against UTF-8 in a text that is not valid UTF-8 as a whole. `clean` is the
/// weight of the characters in runs of non-ASCII bytes that are entirely valid UTF-8, and `mixed`
/// that of the valid characters in runs that also have invalid bytes; `damage` counts the invalid
/// places. `has_low_bytes` is true if there is a byte from 0x80 to 0xa0. Half of UTF-8's characters
/// have one. Of the EUC encodings only EUC-JP has any: two lead bytes of rare characters.
#[derive(Debug, Default)]
struct Evidence {
    clean: usize,
    mixed: usize,
    damage: usize,
    has_low_bytes: bool,
}

impl Evidence {
    fn of(sample: &[u8]) -> Self {
        let mut evidence = Self {
            has_low_bytes: sample.iter().any(|b| matches!(b, 0x80..=0xa0)),
            ..Self::default()
        };
        for run in sample.split(u8::is_ascii).filter(|run| !run.is_empty()) {
            let (weight, damage) = weigh(run);
            if damage == 0 {
                evidence.clean += weight;
            } else {
                evidence.mixed += weight;
                evidence.damage += damage;
            }
        }
        evidence
    }

    fn is_for_utf8(&self, guess: &'static encoding_rs::Encoding) -> bool {
        // In these encodings, a valid UTF-8 sequence would be a capital letter and a symbol, which
        // do not follow each other in a word.
        let has_no_sequences =
            guess.name().starts_with("windows-125") || guess.name().starts_with("ISO-8859");
        let is_short = self.damage <= SHORT_DAMAGE;
        if !guess.is_single_byte() && !self.has_low_bytes && self.damage >= MIN_EUC_DAMAGE {
            return self.clean * 6 + self.mixed >= self.damage * 2;
        }
        let mixed = self.mixed * if has_no_sequences && is_short { 6 } else { 1 };
        let weight = self.clean * 6 + mixed;
        // There may be one invalid place more, because one damaged spot of the text may count as
        // two places.
        weight > 0 && weight + 1 >= self.damage
    }
}

/// Returns the weight of the valid UTF-8 characters in a run of non-ASCII bytes, and its number of
/// invalid places. A longer sequence weighs more, because it is less often valid by chance.
fn weigh(run: &[u8]) -> (usize, usize) {
    let (mut weight, mut damage) = (0, 0);
    for chunk in run.utf8_chunks() {
        let characters = chunk.valid().chars();
        weight += characters.map(|c| 1 << (c.len_utf8() - 2)).sum::<usize>();
        damage += usize::from(!chunk.invalid().is_empty());
    }
    // A surrogate that was encoded by itself makes three invalid places, but is one character.
    let is_surrogate = |bytes: &&[u8]| matches!(bytes, [0xed, 0xa0..=0xbf, 0x80..=0xbf]);
    let surrogates = run.windows(3).filter(is_surrogate).count();
    // Neighbouring bytes that never occur in UTF-8 count as one invalid place.
    let is_foreign = |bytes: &&[u8]| bytes.iter().all(|b| matches!(b, 0xc0 | 0xc1 | 0xf5..));
    let repeated = run.windows(2).filter(is_foreign).count();
    // Java and others encode a NUL character as these two bytes, so they are not damage.
    let zeros = run.windows(2).filter(|b| *b == [0xc0, 0x80]).count();
    let damage = damage.saturating_sub(3 * surrogates + repeated + zeros);
    (weight + 2 * surrogates, damage)
}

/// Returns the encoding that an XML or HTML document declares; `None` if it declares none.
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
    // The declaration could be read as ASCII, so the document is not in UTF-16, even if the
    // declaration says so. It is taken for UTF-8 then.
    Some(match encoding.output_encoding() {
        same if same == encoding => encoding,
        _ => encoding_rs::UTF_8,
    })
}

fn value_of<'a>(tag: &'a str, key: &str) -> Option<&'a str> {
    let rest = &tag[tag.find(key)? + key.len()..];
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c))?;
    Some(&value[..end])
}

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

/// Returns true if a sample has a NUL or more than 30 % control characters, the rule of Gemini CLI.
fn looks_binary(sample: &[u8]) -> bool {
    if sample.contains(&0) {
        return true;
    }
    // The control characters of each piece of 255 bytes are counted in a `u8`, so that the compiler
    // uses vector instructions.
    let is_odd = |b: &u8| u8::from(*b < 9) | (u8::from(*b > 13) & u8::from(*b < 32));
    let odd: usize = sample
        .chunks(255)
        .map(|piece| usize::from(piece.iter().map(is_odd).sum::<u8>()))
        .sum();
    odd * 10 > sample.len() * 3
}

/// Returns true if at most 2 % of a sample are control characters, as in text. In an older encoding
/// every byte is a character, so nothing else tells text from binary data.
fn has_few_controls(sample: &[u8]) -> bool {
    let is_control = |b: &&u8| matches!(b, 0..=6 | 0xe..=0x1a | 0x1c..=0x1f | 0x7f);
    sample.iter().filter(is_control).count() * 50 <= sample.len()
}
