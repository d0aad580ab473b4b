//! Text that every match of an expression has, and where it is next.
//!
//! # How it works
//!
//! [`Needle::new`] takes the longest run of characters from an expression that each match must hold:
//! `resume` of `(pm|usb)_?resume\b`. A run ends where the expression leaves a choice other than that
//! between the two cases of an ASCII letter. Ignoring case, `s` and `k` end one as well, because they
//! are written in a third way beyond ASCII.
//!
//! [`Needle::find`] looks for two of its bytes at once, those that are rarest in source code, in 128
//! places each. A byte is compared after the bit that tells `a` from `A` was set, where
//! both are meant, so that ignoring case costs no more than not ignoring it. The engine of regular
//! expressions has up to 8 spellings of a few letters looked for in its place, which takes twice as
//! long. Where no case is ignored, `memchr::memmem` does the same with the processor's widest
//! registers.

use memchr::arch::all::packedpair::{HeuristicFrequencyRank, Pair};
use memchr::memmem;
use regex_syntax::hir::{Class, Hir, HirKind};

/// A shorter run is too frequent to be looked for, in bytes, unless it is all of the expression.
const MIN_BYTES: usize = 3;

/// Number of places that are looked at together.
const PLACES: usize = 128;

/// The bit that tells a letter of ASCII from the same letter in the other case.
const CASE: u8 = 0x20;

/// The bytes of source code from most to least frequent, with letters in lower case: the mean of each
/// byte's share in C, Rust, JavaScript and Python, 70 MB in all. Bytes that are not here rank as
/// rarest. `memchr`'s table isn't built from source code alone and ranks `_` as rare.
const BY_FREQUENCY: &[u8] =
    b" etsriano\ncld_pufm,h()gb.:\t0'=/y\"vxw;k-1*2{}#>3[]`q4658\\&z!j|<97+?%$@~^";

/// A ranking of bytes by their frequency in source code.
#[derive(Clone, Copy)]
struct InSourceCode;

impl HeuristicFrequencyRank for InSourceCode {
    fn rank(&self, byte: u8) -> u8 {
        let place = BY_FREQUENCY.iter().position(|other| *other == byte);
        let place = place.and_then(|place| u8::try_from(place).ok());
        place.map_or(0, |place| u8::MAX - place)
    }
}

/// A text that is looked for.
#[derive(Debug)]
pub(super) struct Needle {
    search: Search,
    /// The expression matches wherever this text is.
    pub(super) is_whole: bool,
}

#[derive(Debug)]
enum Search {
    Exact(Box<memmem::Finder<'static>>),
    CaselessText(CaselessText),
}

/// A text of which some letters may have either case.
#[derive(Debug)]
struct CaselessText {
    bytes: Vec<Byte>,
    /// Places of the two bytes in it that are looked for first.
    pair: (usize, usize),
}

/// A byte, in lower case where both cases are meant.
#[derive(Debug, Clone, Copy)]
struct Byte {
    value: u8,
    /// `CASE` where both cases are meant, else 0.
    either: u8,
}

impl Byte {
    fn is(self, byte: u8) -> bool {
        byte | self.either == self.value
    }
}

impl Needle {
    /// Returns the longest text that all matches of an expression have; `None` where there is none, or only a short one.
    pub(super) fn new(hir: &Hir) -> Option<Self> {
        let mut runs = Runs::default();
        runs.add(hir);
        runs.end();
        let is_whole = !runs.has_more;
        let bytes = runs.longest;
        let least = if is_whole { 2 } else { MIN_BYTES };
        if bytes.len() < least {
            return None;
        }
        let values: Vec<u8> = bytes.iter().map(|byte| byte.value).collect();
        let search = if bytes.iter().all(|byte| byte.either == 0) {
            Search::Exact(Box::new(memmem::Finder::new(&values).into_owned()))
        } else {
            let pair = Pair::with_ranker(&values, InSourceCode)?;
            let pair = (pair.index1().into(), pair.index2().into());
            Search::CaselessText(CaselessText { bytes, pair })
        };
        Some(Self { search, is_whole })
    }

    /// Returns the place where it begins for the first time.
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        match &self.search {
            Search::Exact(finder) => finder.find(text),
            Search::CaselessText(folded) => folded.find(text),
        }
    }
}

impl CaselessText {
    fn find(&self, text: &[u8]) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            #[expect(unsafe_code, reason = "what the processor has is known here only")]
            // SAFETY: the processor has it.
            return unsafe { self.find_with_avx2(text) };
        }
        self.find_by_pieces(text)
    }

    /// Finds it with code for registers of twice the width.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn find_with_avx2(&self, text: &[u8]) -> Option<usize> {
        self.find_by_pieces(text)
    }

    #[expect(
        clippy::inline_always,
        reason = "only so is it compiled for the wider registers"
    )]
    #[inline(always)]
    fn find_by_pieces(&self, text: &[u8]) -> Option<usize> {
        let places = (text.len() + 1).checked_sub(self.bytes.len())?;
        let Some(last) = places.checked_sub(PLACES) else {
            return (0..places).find(|&at| self.is_at(&text[at..]));
        };
        let mut at = 0;
        loop {
            let found = self.find_in_piece(&text[at..]);
            if let Some(found) = found {
                return Some(at + found);
            }
            if at == last {
                return None;
            }
            // The last piece overlaps the one before, so that all are of one size.
            at = last.min(at + PLACES);
        }
    }

    /// Looks in the first `PLACES` places of a text. The loops are made for the compiler to do many places at once:
    /// they have no branch, and bounds that are known.
    #[expect(
        clippy::inline_always,
        reason = "only so is it compiled for the wider registers"
    )]
    #[inline(always)]
    fn find_in_piece(&self, text: &[u8]) -> Option<usize> {
        let (first, second) = (self.bytes[self.pair.0], self.bytes[self.pair.1]);
        let firsts = text[self.pair.0..].first_chunk::<PLACES>()?;
        let seconds = text[self.pair.1..].first_chunk::<PLACES>()?;
        let mut any = 0;
        for (one, other) in firsts.iter().zip(seconds) {
            any |= u8::from(first.is(*one)) & u8::from(second.is(*other));
        }
        // Usually there is no hit, so their positions are computed only when there is one.
        if any == 0 {
            return None;
        }
        let mut hits = [0_u8; PLACES];
        for ((hit, one), other) in hits.iter_mut().zip(firsts).zip(seconds) {
            *hit = u8::from(first.is(*one)) & u8::from(second.is(*other));
        }
        let (words, _) = hits.as_chunks();
        for (word, hits) in words.iter().enumerate() {
            let mut hits = u64::from_le_bytes(*hits);
            while hits != 0 {
                let at = word * size_of::<u64>() + hits.trailing_zeros() as usize / 8;
                if self.is_at(&text[at..]) {
                    return Some(at);
                }
                hits &= hits - 1;
            }
        }
        None
    }

    fn is_at(&self, text: &[u8]) -> bool {
        let mut pairs = self.bytes.iter().zip(text);
        pairs.all(|(byte, other)| byte.is(*other))
    }
}

/// The runs of text that all matches of an expression have.
#[derive(Debug, Default)]
struct Runs {
    current: Vec<Byte>,
    longest: Vec<Byte>,
    /// Something else than the longest run belongs to the expression.
    has_more: bool,
}

impl Runs {
    fn add(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                let exact = |&value: &u8| Byte { value, either: 0 };
                self.current.extend(literal.0.iter().map(exact));
            }
            HirKind::Class(class) => match either_case(class) {
                Some(letter) => self.current.push(letter),
                None => self.interrupt(),
            },
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(subs) => {
                for sub in subs {
                    self.add(sub);
                }
            }
            HirKind::Repetition(repetition) => {
                self.interrupt();
                if repetition.min > 0 {
                    self.add(&repetition.sub);
                    self.interrupt();
                }
            }
            HirKind::Look(_) | HirKind::Alternation(_) => self.interrupt(),
        }
    }

    fn interrupt(&mut self) {
        self.has_more = true;
        self.end();
    }

    fn end(&mut self) {
        let run = std::mem::take(&mut self.current);
        if run.len() > self.longest.len() {
            self.longest = run;
        }
    }
}

/// Returns the letter that a class has in both cases, if it has nothing else.
fn either_case(class: &Class) -> Option<Byte> {
    let class = match class {
        Class::Unicode(class) => class.to_byte_class()?,
        Class::Bytes(class) => class.clone(),
    };
    let [upper, lower] = class.ranges() else {
        return None;
    };
    let letter = lower.start();
    let is_one = upper.start() == upper.end() && letter == lower.end();
    let is_pair = letter.is_ascii_lowercase() && upper.start() == letter ^ CASE;
    (is_one && is_pair).then_some(Byte {
        value: letter,
        either: CASE,
    })
}

#[cfg(test)]
mod tests {
    use super::{Needle, PLACES, Search};

    fn needle(pattern: &str, ignore_case: bool) -> Option<Needle> {
        let hir = regex_syntax::ParserBuilder::new()
            .case_insensitive(ignore_case)
            .utf8(false)
            .build()
            .parse(pattern)
            .expect("a pattern");
        Needle::new(&hir)
    }

    /// The text that is looked for, in lower case where both are meant, and whether it is all.
    fn shown(pattern: &str, ignore_case: bool) -> Option<(String, bool)> {
        let needle = needle(pattern, ignore_case)?;
        let bytes = match &needle.search {
            Search::Exact(finder) => finder.needle().to_vec(),
            Search::CaselessText(folded) => folded.bytes.iter().map(|byte| byte.value).collect(),
        };
        Some((String::from_utf8(bytes).expect("UTF-8"), needle.is_whole))
    }

    #[test]
    fn the_longest_text_that_every_match_has_is_looked_for() {
        for (pattern, ignore_case, text) in [
            ("PM_RESUME", false, Some(("PM_RESUME", true))),
            ("(?:PM)_(RE)", false, Some(("PM_RE", true))),
            ("PM_RE", true, Some(("pm_re", true))),
            // Each s may be written as \u{17f}, and each k as \u{212a}.
            ("pm_resume", true, Some(("pm_re", false))),
            ("(?-u)pm_resume", true, Some(("pm_resume", true))),
            ("[pP]m_x", false, Some(("pm_x", true))),
            ("[pPq]m_x", false, Some(("m_x", false))),
            ("[p-q]m_x", false, Some(("m_x", false))),
            (r"\b[a-z]+_noirq\b", false, Some(("_noirq", false))),
            ("ab(cde)+fg", false, Some(("cde", false))),
            ("(abc)?defg(hijklm)*", false, Some(("defg", false))),
            ("(abc|abd)efg", false, Some(("efg", false))),
            ("größe", true, None),
            ("größe", false, Some(("größe", true))),
            ("if", false, Some(("if", true))),
            (r"\bif", false, None),
            ("abc|def", false, None),
            ("x", false, None),
            ("", false, None),
            ("^$", false, None),
        ] {
            let expected = text.map(|(text, is_whole)| (text.to_owned(), is_whole));
            assert_eq!(shown(pattern, ignore_case), expected, "{pattern}");
        }
    }

    #[test]
    fn it_is_found_first_wherever_it_is_and_nowhere_else() {
        for (pattern, spellings) in [
            ("Re_tu", ["re_tu", "RE_TU", "rE_Tu"]),
            (r"a\{b", ["a{b", "A{B", "a{B"]),
        ] {
            let needle = needle(pattern, true).expect("a needle");
            for length in 0..2 * PLACES + 8 {
                // What differs in the bit of the case alone is not the same character.
                let others = spellings[0].replace('_', "\x7f").replace('{', "[");
                let others: Vec<u8> = others.bytes().cycle().take(length).collect();
                assert_eq!(needle.find(&others), None, "{pattern} in {length}");
                for at in 0..=length {
                    let mut text = others.clone();
                    let spelling = spellings[at % spellings.len()].as_bytes();
                    let Some(place) = text.get_mut(at..at + spelling.len()) else {
                        continue;
                    };
                    place.copy_from_slice(spelling);
                    assert_eq!(needle.find(&text), Some(at), "{pattern} in {length}");
                    if let Some(second) = text.len().checked_sub(spelling.len())
                        && second >= at + spelling.len()
                    {
                        text[second..].copy_from_slice(spelling);
                        assert_eq!(needle.find(&text), Some(at), "the first of two");
                    }
                }
            }
        }
    }
}
