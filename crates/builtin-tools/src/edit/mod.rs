//! An edit as two claims: the text at this place reads as the old text, and afterwards it reads as
//! the new one.
//!
//! A *reading* ([`Reading`]) is what lies between a text and what somebody who quotes it from
//! memory believes to have seen: other indentation, blanks at the ends of lines, characters that
//! look alike, line numbers in front, one level of escapes. [`apply`] takes a text that is there
//! literally; where there is none, it looks for a place that has all lines of the old text under
//! one reading, and in their order. From the reading follows what the new text means in this file:
//! each reading has an inverse for new lines, and where the inverse is not unique, the edit is
//! refused. So it is where two places fit, or where two readings lead to different results.
//!
//! What is written is proved first. Read in the same way, the changed place is the new text, line
//! for line; lines that both texts have are in it as the file has them, to the byte; and what is
//! new was not beside the place already.
//!
//! # How it works
//!
//! - `reading` takes line numbers, escapes and the like off both texts; a file is searched for each
//!   such pair of texts.
//! - `fit` finds the places, by lines. Lines of the file may be missing from the old text only
//!   where it has a line such as `...`, or if they are blank. A line that stays may be mistyped.
//! - `write` makes the new content of a place and proves it, with the indentation from `depth`.
//! - `form` says which characters look alike, `omission` which lines stand for others.
//!
//! This module works on text and knows no files and no tools.

mod depth;
mod fit;
mod form;
mod lines;
mod omission;
mod reading;
mod write;

use gemini_tools_workspace::line_endings::fitted;
use std::ops::Range;

pub(crate) use depth::unit_of;
use fit::{Haystack, Rank};
pub(crate) use form::plain;
use lines::FileLines;
pub(crate) use omission::omission;
pub(crate) use write::placed_literally;

/// The most places whose results are compared.
const MAX_PLACES: usize = 20;

/// A difference between what is written and how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// Blanks, line ends, quotes, dashes and other characters that look alike.
    LookAlikes,
    /// Numbers before the lines.
    LineNumbers,
    /// One level of escapes, of JSON or HTML.
    Escapes,
    /// A fence of Markdown around both texts.
    Fence,
    /// Blank lines, or lines for which the old text has `...`.
    LinesLeftOut,
    /// Letters of lines that stay.
    Mistyped,
}

impl Reading {
    /// Describes the difference, for people and models.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::LookAlikes => {
                "indentation, blanks, line ends or characters that look alike differ"
            }
            Self::LineNumbers => "line numbers are before the lines",
            Self::Escapes => "the text is escaped once too often",
            Self::Fence => "the text has a fence around it",
            Self::LinesLeftOut => "lines that stay are left out, or blank ones differ",
            Self::Mistyped => "lines that stay differ a little",
        }
    }

    /// Returns a short name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LookAlikes => "look_alikes",
            Self::LineNumbers => "line_numbers",
            Self::Escapes => "escapes",
            Self::Fence => "fence",
            Self::LinesLeftOut => "lines_left_out",
            Self::Mistyped => "mistyped",
        }
    }
}

/// An edit that was proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The place, in bytes of the text.
    pub place: Range<usize>,
    /// Its new content, whose lines end as those around it.
    pub content: String,
    /// The reading of both texts; `None` where the old one is there literally.
    pub reading: Option<Reading>,
}

impl Edited {
    /// Returns the whole text with the edit in it.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        [
            &text[..self.place.start],
            &self.content,
            &text[self.place.end..],
        ]
        .concat()
    }
}

/// The reason not to make an edit. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No place has the old text under any reading.
    NotFound,
    /// Several places do; they begin on these lines.
    Several {
        /// The reading of the old text; `None` where it is there literally.
        reading: Option<Reading>,
        /// The lines that the places begin on.
        lines: Vec<usize>,
    },
    /// One place does, but what should become of it is not clear.
    Unclear {
        /// The reading of the old text.
        reading: Option<Reading>,
        /// The line that the place begins on.
        line: usize,
        /// Why: a clause, such as "the indentation of its new lines is not clear".
        why: &'static str,
    },
    /// The text has the new lines already.
    Applied {
        /// The line that they are at.
        line: usize,
    },
}

/// Replaces the old text by the new one in a text, also where the old one is quoted inexactly.
///
/// The line ends of both texts may be any; those of the text stay.
///
/// # Errors
///
/// Returns the reason for which there is no place, or no content, that is clearly meant.
pub fn apply(text: &str, old: &str, new: &str) -> Result<Edited, Refusal> {
    let (old, new) = whole_line_ends(old, new);
    let starts: Vec<usize> = literal_places(text, old);
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    match starts.as_slice() {
        [] => apply_inexactly(text, old, new),
        [at] => {
            let before = text[..*at].rsplit('\n').next().unwrap_or_default();
            let content = placed_literally(before, old, new, || depth::unit_of(text.lines()));
            let content = content.map_err(|why| Refusal::Unclear {
                reading: None,
                line: line_of(*at),
                why,
            })?;
            let place = *at..at + old.len();
            Ok(Edited {
                content: if has_mixed_ends(old, new) {
                    content.into_owned()
                } else {
                    fitted(text, place.clone(), &content)
                },
                place,
                reading: None,
            })
        }
        several => Err(Refusal::Several {
            reading: None,
            lines: several.iter().map(|at| line_of(*at)).collect(),
        }),
    }
}

/// Takes half a line end off the end of both texts: the other half is in the file.
pub(crate) fn whole_line_ends<'t>(old: &'t str, new: &'t str) -> (&'t str, &'t str) {
    match old.strip_suffix('\r') {
        Some(old) if old.contains('\n') || !new.ends_with('\n') => {
            (old, new.strip_suffix('\r').unwrap_or(new))
        }
        _ => (old, new),
    }
}

/// Returns true if the lines of the old text end in different ways, and those of the new one in no
/// other way: then the line ends of both are meant as they are.
pub(crate) fn has_mixed_ends(old: &str, new: &str) -> bool {
    let crlf = old.matches("\r\n").count();
    let has_both = crlf > 0 && crlf < old.matches('\n').count();
    has_both && !new.replace("\r\n", "").contains('\r')
}

/// Returns where a text is literally; nowhere between the halves of a line end.
fn literal_places(text: &str, old: &str) -> Vec<usize> {
    let is_cut = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
    let starts = text.match_indices(old).map(|(at, _)| at);
    let whole = |at: &usize| !is_cut(*at) && !is_cut(at + old.len());
    if old.is_empty() {
        return Vec::new();
    }
    starts.filter(whole).collect()
}

/// The same for an old text that is not there literally.
///
/// # Errors
///
/// As [`apply`].
pub(crate) fn apply_inexactly(text: &str, old: &str, new: &str) -> Result<Edited, Refusal> {
    let file = FileLines::new(text);
    let haystack = Haystack::new(&file);
    let pairs = reading::pairs(text, old, new);
    // Ranks go from strict to lenient. The first at which something fits decides, since a more
    // lenient one can't know better, and no edit is better than a wrong one.
    for rank in Rank::ALL {
        let mut edits: Vec<Result<Edited, Refusal>> = Vec::new();
        for pair in &pairs {
            let fits = haystack.fits(pair, rank);
            let Some(first) = fits.first() else { continue };
            let edit = write::write(&haystack, pair, first, rank);
            // The old text may be there no more, and another place only be like it.
            let edit = edit.and_then(|edit| match haystack.line_of_literal_new(pair) {
                Some(line) => Err(Refusal::Applied { line: line + 1 }),
                None => Ok(edit),
            });
            // Lines for which the old text has `...` may begin at several places.
            let is_same = |other| match (&edit, write::write(&haystack, pair, other, rank)) {
                (Ok(edit), Ok(other)) => edit.text(text) == other.text(text),
                _ => false,
            };
            let several = fits.len();
            edits.push(
                if several == 1 || several <= MAX_PLACES && fits[1..].iter().all(is_same) {
                    edit
                } else {
                    Err(Refusal::Several {
                        reading: Some(rank.reading(pair)),
                        lines: fits.iter().map(|fit| fit.first_line() + 1).collect(),
                    })
                },
            );
        }
        let Some(first) = edits.pop() else { continue };
        let result = |edit: &Result<Edited, Refusal>| match edit {
            Ok(edit) => Ok((edit.place.clone(), edit.content.clone())),
            Err(refusal) => Err(refusal.clone()),
        };
        let are_one = edits.iter().all(|other| result(other) == result(&first));
        return match first {
            _ if are_one => first,
            Ok(edit) => Err(Refusal::Unclear {
                reading: edit.reading,
                line: file.line_of(edit.place.start) + 1,
                why: "it can be read in two ways that lead to different results",
            }),
            refused => refused,
        };
    }
    // The new text may be there already.
    for pair in &pairs {
        if let Some(line) = haystack.line_of_new(pair) {
            return Err(Refusal::Applied { line: line + 1 });
        }
    }
    Err(Refusal::NotFound)
}

pub(crate) fn fitting_places(text: &str, old: &str) -> Vec<(Range<usize>, Reading)> {
    let file = FileLines::new(text);
    let haystack = Haystack::new(&file);
    let pairs = reading::pairs(text, old, old);
    let ranks = [Rank::Strict, Rank::Loose, Rank::Part, Rank::LinesLeftOut];
    for rank in ranks {
        let mut places = Vec::new();
        for pair in &pairs {
            let fits = haystack.fits(pair, rank);
            places.extend(
                fits.iter()
                    .map(|fit| (haystack.place(fit), rank.reading(pair))),
            );
        }
        if !places.is_empty() {
            return places;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
