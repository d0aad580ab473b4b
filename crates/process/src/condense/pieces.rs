//! Recognises a line of which only a piece that its shape leaves out says that it differs, such as
//! the one with status 500 among many with 200.

use super::history::hash;
use std::collections::HashMap;
use std::hash::Hash;

/// A piece is usual in its place once `USUAL_LINES` lines had it there. From then on, a line with
/// another one stands out, or, in a place with categories such as a status, one in `LINES_FOR_ONE`
/// of these lines. At most `MAX_LINES` lines are counted: so many are needed in a place that often
/// changes. A place with more than `MAX_VALUES` different pieces has no categories, but a counter
/// or names.
const USUAL_LINES: u8 = 4;

const LINES_FOR_ONE: u8 = 8;

const MAX_LINES: u8 = 128;

const MAX_VALUES: usize = 4;

const MAX_PLACES: usize = 16 * 1024;

/// The pieces of a line that its shape leaves out.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    /// The hash of its place in the line.
    place: u64,
    text: u64,
    /// True if it may be a status or a count: a name or a size that changes now and then says less.
    may_be_category: bool,
}

impl Pieces {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the pieces of a token: its text up to each mark that separates values. Brackets before it
    /// do not count, since they may be a token of their own. Of a clock only words count, because
    /// its numbers say when, not what.
    pub(super) fn push(&mut self, place: impl Hash, text: &str, is_clock: bool) {
        self.add(place, text, is_clock, true);
    }

    /// Adds the pieces of what is never a category: a token that says how long something took, and
    /// the arrangement of the line's tokens.
    pub(super) fn push_measure(&mut self, place: impl Hash, text: &str) {
        self.add(place, text, false, false);
    }

    fn add(&mut self, place: impl Hash, text: &str, is_clock: bool, may_be_category: bool) {
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
        let place = hash(&place);
        for (at, piece) in (0..).zip(pieces.filter(counts).chain(empty)) {
            self.0.push(Piece {
                place: place.rotate_left(at),
                text: hash(piece),
                may_be_category: may_be_category && is_whole_number(piece),
            });
        }
    }
}

fn is_whole_number(piece: &str) -> bool {
    let number = piece.trim_matches(|c: char| !c.is_alphanumeric());
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The pieces that are usual in each place of each shape.
#[derive(Debug, Default)]
pub(super) struct Usual(HashMap<u64, Place>);

#[derive(Debug)]
struct Place {
    usual: u64,
    /// How many lines had the usual piece, less those that had another one.
    lines: u8,
    /// How many lines are needed for another piece to stand out.
    needed: u8,
    /// The categories since one has become usual, which is the first. Lines with different ones are
    /// not alike.
    values: Vec<u64>,
    is_varied: bool,
}

impl Usual {
    /// Returns the shape of the next line with what its pieces add to it; `None` if one of them
    /// stands out.
    pub(super) fn refine(&mut self, shape: u64, pieces: &Pieces) -> Option<u64> {
        if self.0.len() > MAX_PLACES {
            self.0.clear();
        }
        let mut refined = Some(shape);
        for piece in &pieces.0 {
            let place = self.0.entry(shape ^ piece.place).or_insert_with(|| Place {
                usual: piece.text,
                lines: 0,
                needed: USUAL_LINES,
                values: Vec::new(),
                is_varied: !piece.may_be_category,
            });
            let category = place.look_at(piece.text);
            // The category is combined with its place. Otherwise two lines in which two categories
            // have changed places would have the same shape.
            let category = category.map(|category| category.wrapping_mul(piece.place | 1));
            refined = refined.and_then(|shape| Some(shape ^ category?));
        }
        refined
    }
}

impl Place {
    /// Returns what the piece adds to the shape: 0 if it says nothing; `None` if it stands out.
    fn look_at(&mut self, piece: u64) -> Option<u64> {
        let is_usual = piece == self.usual;
        let stands_out = !is_usual && self.lines >= self.needed;
        if is_usual {
            self.lines = MAX_LINES.min(self.lines + 1);
        } else if stands_out {
            self.lines -= self.needed;
            self.need_more();
        } else {
            self.lines = self.lines.saturating_sub(1);
            if self.lines == 0 {
                // This piece is the usual one from now on. Another one then needs more lines to
                // stand out, or every step of a counter would.
                (self.usual, self.lines) = (piece, 1);
                self.need_more();
            }
        }
        let category = self.category(piece);
        (!stands_out).then_some(category)
    }

    fn need_more(&mut self) {
        self.needed = if self.is_varied {
            MAX_LINES.min(self.needed.saturating_mul(4))
        } else {
            LINES_FOR_ONE
        };
    }

    fn category(&mut self, piece: u64) -> u64 {
        if self.is_varied || self.values.is_empty() && self.lines < USUAL_LINES {
            return 0;
        }
        match self.values.iter().position(|value| *value == piece) {
            Some(0) => 0,
            Some(_) => piece,
            None if self.values.len() < MAX_VALUES => {
                self.values.push(piece);
                if self.values.len() == 1 { 0 } else { piece }
            }
            None => {
                (self.values, self.is_varied) = (Vec::new(), true);
                0
            }
        }
    }
}
