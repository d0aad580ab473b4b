//! Looking for bytes in texts of any size.
//!
//! `memchr` asks the processor which of its instructions it has, and uses the best. On a virtual machine each question
//! is answered by the host, which takes 60 µs together, a tenth of a small call. So small texts are looked through with
//! what every processor of the kind has.

use memchr::arch::all::twoway;
use memchr::memmem;
use std::sync::OnceLock;

/// From this size on the best instructions make up for the questions, in bytes.
const LARGE_BYTES: usize = 64 * 1024;

/// The searches for single bytes that need no question.
#[cfg(target_arch = "x86_64")]
mod every_processor {
    pub(super) use memchr::arch::x86_64::sse2::memchr::{One, Two};
}

/// Elsewhere nothing is asked.
#[cfg(not(target_arch = "x86_64"))]
mod every_processor {
    pub(super) struct One(u8);

    impl One {
        pub(super) fn new(byte: u8) -> Option<Self> {
            Some(Self(byte))
        }

        pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
            memchr::memchr(self.0, text)
        }

        pub(super) fn rfind(&self, text: &[u8]) -> Option<usize> {
            memchr::memrchr(self.0, text)
        }
    }

    pub(super) struct Two(u8, u8);

    impl Two {
        pub(super) fn new(one: u8, other: u8) -> Option<Self> {
            Some(Self(one, other))
        }

        pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
            memchr::memchr2(self.0, self.1, text)
        }
    }
}
use every_processor::{One, Two};

fn is_small(text: &[u8]) -> bool {
    text.len() < LARGE_BYTES
}

/// Where a byte is for the first time.
pub fn position(byte: u8, text: &[u8]) -> Option<usize> {
    match One::new(byte).filter(|_| is_small(text)) {
        Some(one) => one.find(text),
        None => memchr::memchr(byte, text),
    }
}

/// Where a byte is for the last time.
pub fn last_position(byte: u8, text: &[u8]) -> Option<usize> {
    match One::new(byte).filter(|_| is_small(text)) {
        Some(one) => one.rfind(text),
        None => memchr::memrchr(byte, text),
    }
}

/// Where one of two bytes is for the first time.
pub fn position_of_either(one: u8, other: u8, text: &[u8]) -> Option<usize> {
    match Two::new(one, other).filter(|_| is_small(text)) {
        Some(two) => two.find(text),
        None => memchr::memchr2(one, other, text),
    }
}

/// Counts line feeds.
pub fn count_newlines(bytes: &[u8]) -> u64 {
    // A sum of this many fits a byte. In this form the compiler makes vector instructions of it
    // on every machine.
    const PIECE_BYTES: usize = 192;
    let in_piece = |piece: &[u8]| {
        let sum = piece
            .iter()
            .map(|byte| u8::from(*byte == b'\n'))
            .fold(0_u8, u8::wrapping_add);
        u64::from(sum)
    };
    bytes.chunks(PIECE_BYTES).map(in_piece).sum()
}

/// A text to look for, again and again.
#[derive(Debug)]
pub struct Finder {
    needle: Vec<u8>,
    in_small: twoway::Finder,
    in_large: OnceLock<memmem::Finder<'static>>,
}

impl Finder {
    /// Looks for `needle`.
    #[must_use]
    pub fn new(needle: &[u8]) -> Self {
        Self {
            needle: needle.to_vec(),
            in_small: twoway::Finder::new(needle),
            in_large: OnceLock::new(),
        }
    }

    /// What is looked for.
    #[must_use]
    pub fn needle(&self) -> &[u8] {
        &self.needle
    }

    /// Where it begins for the first time.
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        if is_small(text) {
            return self.in_small.find(text, &self.needle);
        }
        let make = || memmem::Finder::new(&self.needle).into_owned();
        self.in_large.get_or_init(make).find(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Finder, LARGE_BYTES, count_newlines, last_position, position, position_of_either};

    #[test]
    fn small_and_large_texts_are_looked_through_alike() {
        for length in [
            0,
            1,
            15,
            16,
            17,
            63,
            64,
            200,
            LARGE_BYTES - 1,
            LARGE_BYTES,
            LARGE_BYTES + 40,
        ] {
            let mut text = vec![b'.'; length];
            assert_eq!(position(b'x', &text), None);
            assert_eq!(last_position(b'x', &text), None);
            assert_eq!(position_of_either(b'x', b'y', &text), None);
            assert_eq!(Finder::new(b"xy").find(&text), None);
            for at in [0, length / 3, length / 2, length.saturating_sub(2)] {
                let Some(place) = text.get_mut(at..at + 2) else {
                    continue;
                };
                place.copy_from_slice(b"xy");
                assert_eq!(position(b'x', &text), Some(at), "{length}");
                assert_eq!(last_position(b'y', &text), Some(at + 1), "{length}");
                assert_eq!(position_of_either(b'y', b'x', &text), Some(at), "{length}");
                assert_eq!(Finder::new(b"xy").find(&text), Some(at), "{length}");
                text[at..at + 2].copy_from_slice(b"..");
            }
        }
        assert_eq!(Finder::new(b"").find(b"text"), Some(0));
    }

    #[test]
    fn line_feeds_are_counted_whatever_their_number() {
        for n in [0, 1, 191, 192, 193, 255, 256, 10_000] {
            let text = vec![b'\n'; n];
            assert_eq!(count_newlines(&text), n as u64);
        }
    }
}
