//! Suggests names for a search that found nothing: those in the searched files that resemble a word
//! of the pattern.
//!
//! A search without a match is most often one for a name that is spelled differently: `retryLimits`
//! for `retry_limit`. To suggest such names, up to [`READ_BYTES`] of the files are read a second
//! time. A search with matches skips this and costs nothing more.

use crate::edit::is_word;
use std::collections::BTreeSet;
use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};

const SHOWN: usize = 3;

pub(super) const READ_BYTES: usize = 32 * 1024 * 1024;

const FILE_BYTES: usize = 256 * 1024;

const MIN_BYTES: usize = 4;

const MAX_BYTES: usize = 64;

/// A name resembles a word if their edit distance is at most the length of the longer one, in
/// bytes, divided by this.
const NEAR_PART: usize = 3;

/// The words of a pattern that a search has not found, and how many bytes of files may still be
/// read to find names like them.
pub(super) struct Wanted {
    words: Vec<(String, String)>,
    lengths: [usize; 2],
    room: AtomicUsize,
}

impl Wanted {
    pub(super) fn new(pattern: &str, is_fixed: bool) -> Option<Self> {
        let text = if is_fixed {
            pattern.to_owned()
        } else {
            literals(pattern)
        };
        let words = text
            .split(|c: char| !is_word(c))
            .filter(|word| may_be_name(word));
        let words: Vec<_> = words.map(|word| (word.to_owned(), plain(word))).collect();
        let lengths = || words.iter().map(|(_, plain)| plain.len());
        let shortest = lengths().min()?;
        let longest = lengths().max()?;
        Some(Self {
            lengths: [
                shortest - shortest / NEAR_PART,
                longest + longest / NEAR_PART,
            ],
            words,
            room: AtomicUsize::new(READ_BYTES),
        })
    }

    pub(super) fn is_done(&self) -> bool {
        self.room.load(Ordering::Relaxed) == 0
    }
}

/// Returns a regular expression with spaces in place of its escapes and character classes, so that
/// only the words are left that it has literally.
fn literals(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut is_in_class = false;
    while let Some(c) = chars.next() {
        let is_literal = match c {
            '\\' => {
                chars.next();
                false
            }
            '[' | ']' => {
                is_in_class = c == '[';
                false
            }
            _ => !is_in_class,
        };
        text.push(if is_literal { c } else { ' ' });
    }
    text
}

/// Returns true if a word may be a name. One of less than `MIN_BYTES` resembles too many names, and
/// one of more than `MAX_BYTES` is data.
fn may_be_name(word: &str) -> bool {
    (MIN_BYTES..=MAX_BYTES).contains(&word.len()) && !word.starts_with(|c: char| c.is_numeric())
}

/// Returns a name in lower case and without underscores, so that `retryLimit` and `RETRY_LIMIT` are
/// equal.
fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| *c != '_');
    letters.flat_map(char::to_lowercase).collect()
}

/// The names that one worker has found. `nearest` are the most similar ones so far, each behind two
/// edit distances to the wanted word: first without regard to letter case and underscores, then of
/// the names as they are written.
pub(super) struct NearNames<'a> {
    wanted: &'a Wanted,
    nearest: BTreeSet<(usize, usize, String)>,
    seen: HashSet<String>,
    buffer: Vec<u8>,
}

impl<'a> NearNames<'a> {
    pub(super) fn new(wanted: &'a Wanted) -> Self {
        Self {
            wanted,
            nearest: BTreeSet::new(),
            seen: HashSet::new(),
            buffer: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, file: impl Read) {
        let room = self.wanted.room.load(Ordering::Relaxed).min(FILE_BYTES);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let read = file.take(room as u64).read_to_end(&mut buffer);
        let spend = |room: usize| Some(room.saturating_sub(buffer.len().max(1)));
        // `fetch_update` fails only if its closure returns `None`, which this one never does.
        let _ = self
            .wanted
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        if read.is_ok() && memchr::memchr(0, &buffer).is_none() {
            self.look_at(&String::from_utf8_lossy(&buffer));
        }
        self.buffer = buffer;
    }

    fn look_at(&mut self, text: &str) {
        let [least, most] = self.wanted.lengths;
        for word in text.split(|c: char| !is_word(c)) {
            if word.len() < least || !may_be_name(word) || self.seen.contains(word) {
                continue;
            }
            let word_plain = plain(word);
            if !(least..=most).contains(&word_plain.len()) {
                continue;
            }
            self.seen.insert(word.to_owned());
            let near = self
                .wanted
                .words
                .iter()
                .filter_map(|(wanted, wanted_plain)| {
                    let most = wanted_plain.len().max(word_plain.len()) / NEAR_PART;
                    let is_near = wanted_plain.len().abs_diff(word_plain.len()) <= most;
                    let distance =
                        is_near.then(|| strsim::osa_distance(wanted_plain, &word_plain))?;
                    (distance <= most).then(|| (distance, strsim::osa_distance(wanted, word)))
                });
            if let Some((distance, written)) = near.min() {
                self.nearest.insert((distance, written, word.to_owned()));
                if self.nearest.len() > SHOWN {
                    self.nearest.pop_last();
                }
            }
        }
    }

    pub(super) fn nearest(workers: Vec<Self>) -> Vec<String> {
        let all = workers.into_iter().flat_map(|worker| worker.nearest);
        let all: BTreeSet<_> = all.collect();
        all.into_iter().map(|(.., name)| name).take(SHOWN).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{NearNames, Wanted};

    fn nearest(pattern: &str, text: &str) -> Vec<String> {
        let Some(wanted) = Wanted::new(pattern, false) else {
            return Vec::new();
        };
        let mut names = NearNames::new(&wanted);
        names.read(text.as_bytes());
        NearNames::nearest(vec![names])
    }

    #[test]
    fn names_with_slips_and_in_another_style_are_near() {
        let text = "fn retry_limit(x) { retryLimits(x); other_thing(); RetryCount }";
        assert_eq!(nearest("retryLimit", text), ["retry_limit", "retryLimits"]);
        assert_eq!(nearest(r"fn\s+otherThings\(", text), ["other_thing"]);
        assert_eq!(nearest("größe", "let groesse = Größen;"), ["Größen"]);
        // Three names are suggested, the nearest first.
        let text = "valu3 vale value1 values values2";
        assert_eq!(nearest("value", text), ["vale", "valu3", "value1"]);
    }

    #[test]
    fn what_a_pattern_does_not_say_is_not_looked_for() {
        let text = "word sword words abc";
        for pattern in [r"\word", "[wordz]+", "ab.", "123456", r"^\s*$", ""] {
            assert_eq!(nearest(pattern, text), [""; 0], "{pattern}");
        }
        assert_eq!(nearest("words", "\0words"), [""; 0]);
    }
}
