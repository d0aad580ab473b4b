//! Recognises a line of which only a piece that its shape leaves out says that it differs, such as
//! the one with status 500 among many with 200.

use super::history::hash;
use std::collections::HashMap;
use std::hash::Hash;

/// Number of lines with the same piece in its place that are needed for another one to stand out.
const USUAL_LINES: u8 = 4;

/// Number of lines that are remembered at most. So many are needed in a place that often changes,
/// such as that of a counter or a name.
const MAX_LINES: u8 = 32 * USUAL_LINES;

const MAX_PLACES: usize = 16 * 1024;

/// The pieces of a line that its shape leaves out: for each the hashes of its place in the line and
/// of its text.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<(u64, u64)>);

impl Pieces {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the pieces of a token: its text up to each mark that separates values. Brackets before it
    /// do not count, since they may be a token of their own. Of a clock only words count, because
    /// its numbers say when, not what.
    pub(super) fn push(&mut self, place: impl Hash, text: &str, is_clock: bool) {
        let text = text.trim_start_matches(['[', '(']);
        let is_fraction = text.starts_with(|c: char| c.is_ascii_digit());
        let separates = |c: char| match c {
            _ if is_clock => !c.is_alphabetic(),
            '/' => is_fraction,
            _ => "=:,;|()[]".contains(c),
        };
        let pieces = text.split_inclusive(separates);
        let counts = |piece: &&str| !is_clock || piece.contains(char::is_alphabetic);
        let empty = text.is_empty().then_some("");
        for (at, piece) in pieces.filter(counts).chain(empty).enumerate() {
            self.0.push((hash(&(&place, at)), hash(piece)));
        }
    }
}

/// The pieces that are usual in each place of each shape.
#[derive(Debug, Default)]
pub(super) struct Usual(HashMap<u64, Place>);

#[derive(Debug)]
struct Place {
    usual: u64,
    last: u64,
    /// How many lines had the usual piece, less those that had another one.
    lines: u8,
    /// How many lines are needed for another piece to stand out.
    needed: u8,
}

impl Usual {
    /// Looks at the next line of a shape. Returns true if one of its pieces stands out.
    pub(super) fn stand_out(&mut self, shape: u64, pieces: &Pieces) -> bool {
        if self.0.len() > MAX_PLACES {
            self.0.clear();
        }
        let mut stands_out = false;
        for (place, piece) in &pieces.0 {
            let place = self.0.entry(shape ^ place).or_insert(Place {
                usual: *piece,
                last: *piece,
                lines: 0,
                needed: USUAL_LINES,
            });
            stands_out |= place.stands_out(*piece);
        }
        stands_out
    }
}

impl Place {
    fn stands_out(&mut self, piece: u64) -> bool {
        let is_new = piece != self.last;
        self.last = piece;
        if piece == self.usual {
            self.lines = MAX_LINES.min(self.lines + 1);
            return false;
        }
        if is_new && self.lines >= self.needed {
            self.lines -= self.needed;
            self.need_more();
            return true;
        }
        self.lines = self.lines.saturating_sub(1);
        if self.lines == 0 {
            // Another piece has become usual. Not every step of a counter shall stand out.
            (self.usual, self.lines) = (piece, 1);
            self.need_more();
        }
        false
    }

    fn need_more(&mut self) {
        self.needed = MAX_LINES.min(self.needed.saturating_mul(4));
    }
}
