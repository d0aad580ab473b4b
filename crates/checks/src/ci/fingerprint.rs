//! Fingerprints of lines, by which GitHub's code scanning recognises an alert after lines have
//! moved.
//!
//! A fingerprint is a hash of the hundred characters from the start of the line, without blanks and
//! tabs, and the number of lines up to this one that have the same hash. It is computed exactly as
//! by GitHub's action that uploads SARIF, which warns about a fingerprint that differs from its
//! own. Characters are UTF-16 code units, and the hash wraps around at 64 bits.

use std::collections::HashMap;

/// The length, in UTF-16 code units, of the text whose hash is a line's fingerprint. The text
/// begins with the line.
const WINDOW: usize = 100;

const BASE: u64 = 37;

const END: u16 = u16::MAX;

struct Rolling {
    window: [u16; WINDOW],
    /// The hashed text moves along the file as a window. For each position of the window, the
    /// number of the line that begins there; 0 if none does.
    lines: [u64; WINDOW],
    at: usize,
    hash: u64,
    counts: HashMap<u64, u64>,
    prints: HashMap<u64, String>,
}

impl Rolling {
    /// Stores the fingerprint of the line whose first character is the next to leave the window.
    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.lines[self.at]);
        if line > 0 {
            let count = self.counts.entry(self.hash).or_default();
            *count += 1;
            self.prints.insert(line, format!("{:x}:{count}", self.hash));
        }
    }

    fn push(&mut self, unit: u16) {
        let first = std::mem::replace(&mut self.window[self.at], unit);
        let leaves = BASE.wrapping_pow(WINDOW as u32).wrapping_mul(first.into());
        let hash = BASE.wrapping_mul(self.hash).wrapping_add(unit.into());
        self.hash = hash.wrapping_sub(leaves);
        self.at = (self.at + 1) % WINDOW;
    }
}

/// Returns the fingerprint of each line of a text, by its number from 1.
pub fn fingerprints(text: &str) -> HashMap<u64, String> {
    let mut rolling = Rolling {
        window: [0; WINDOW],
        lines: [0; WINDOW],
        at: 0,
        hash: 0,
        counts: HashMap::new(),
        prints: HashMap::new(),
    };
    let (mut line, mut begins, mut after_return) = (0, true, false);
    for unit in text.encode_utf16().chain([END]) {
        let is_second_end = after_return && unit == u16::from(b'\n');
        if is_second_end || [b' ', b'\t'].map(u16::from).contains(&unit) {
            after_return = false;
            continue;
        }
        after_return = unit == u16::from(b'\r');
        let unit = if after_return { b'\n'.into() } else { unit };
        rolling.finish_line();
        if begins {
            line += 1;
            rolling.lines[rolling.at] = line;
        }
        begins = unit == u16::from(b'\n');
        rolling.push(unit);
    }
    for _ in 0..WINDOW {
        rolling.finish_line();
        rolling.push(0);
    }
    rolling.prints
}
