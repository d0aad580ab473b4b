//! Recognises a line of which only a number says that it differs, such as the one with status 500
//! among many with 200.

use std::collections::HashMap;

/// In lines that differ only in their numbers, a number stands out if so many lines before it have
/// had the same other number in its place. With fewer lines, each step of a counter that seldom
/// changes would stand out.
const USUAL_LINES: u32 = 4;

const MAX_LINES: u32 = 8 * USUAL_LINES;

const MAX_SHAPES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Numbers {
    of_shapes: HashMap<u64, Vec<Place>>,
}

#[derive(Debug)]
struct Place {
    usual: u64,
    last: u64,
    /// How many lines had the usual number. When another number stands out, [`USUAL_LINES`] are
    /// subtracted, so that it takes as many lines again before the next one does.
    lines: u32,
}

impl Numbers {
    pub(super) fn stand_out(&mut self, shape: u64, text: &str) -> bool {
        if self.of_shapes.len() > MAX_SHAPES {
            self.of_shapes.clear();
        }
        let places = self.of_shapes.entry(shape).or_default();
        let mut stands_out = false;
        for (at, number) in integers(text).enumerate() {
            let Some(place) = places.get_mut(at) else {
                let (usual, last, lines) = (number, number, 1);
                places.push(Place { usual, last, lines });
                continue;
            };
            if number == place.usual {
                place.lines = MAX_LINES.min(place.lines + 1);
            } else if place.lines == 1 {
                place.usual = number;
            } else if number != place.last && place.lines >= USUAL_LINES {
                place.lines -= USUAL_LINES;
                stands_out = true;
            }
            place.last = number;
        }
        stands_out
    }
}

/// Returns the whole numbers among the words of a text, and those behind `=` or `:`.
fn integers(text: &str) -> impl Iterator<Item = u64> {
    text.split_ascii_whitespace().filter_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.rsplit(['=', ':']).next()?.parse().ok()
    })
}
