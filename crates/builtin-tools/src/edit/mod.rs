//! Finds the place of an edit even if the old text is quoted inexactly, and proves the result
//! before anything is written.
//!
//! Models quote a file from memory, and a quotation differs from the file in indentation, blanks at
//! the ends of lines, characters that look alike, line numbers in front or one level of escapes. A
//! *reading* ([`Reading`]) is one such kind of difference. If the old text occurs literally,
//! [`apply`] replaces it there. If not, it looks for a place that has all lines of the old text, in
//! their order, under one reading. The reading also tells what the new text means in this file,
//! because each reading can be inverted for new lines. A wrong edit is worse than none, so the edit
//! is refused if the inverse is not unique, if two places fit, or if two readings lead to different
//! results.
//!
//! An inexact edit is proved before it is returned: under the same reading, the changed place is
//! the new text, line for line; lines that both texts have are in it as the file has them, to the
//! byte; and the new lines were not beside the place already.
//!
//! # How it works
//!
//! - `reading` takes line numbers, escapes and the like off both texts. The file is searched for
//!   each pair of texts that results.
//! - `fit` finds the places, by lines. The old text may lack lines of the file only if they are
//!   blank or it has a line such as `...`. A line that the edit does not change may be mistyped.
//! - `write` makes the new content of a place and proves it, with the indentation from `depth`.
//! - `form` says which characters look alike, `omission` which lines, such as `...`, stand for
//!   lines that are left out.
//!
//! This module works on strings: it opens no files and knows nothing of tools.

mod depth;
mod fit;
mod form;
mod lines;
mod literal;
mod omission;
mod reading;
mod write;

use gemini_tools_workspace::line_endings::fitted;
use std::collections::HashMap;
use std::ops::Range;

use fit::{Fit, Haystack, Rank};
pub(crate) use form::{is_word, plain};
use lines::{FileLines, ModelLines, indentation};
pub(crate) use literal::{loses_line_end, place, repeated};
pub(crate) use omission::{is_comment, omission};
use reading::Texts;
use write::Fault;

pub(crate) const MAX_PLACES: usize = 20;

/// A kind of difference between the text of a file and a model's quotation of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reading {
    /// Indentation, blanks, line ends, quotes, dashes and other characters that look alike.
    LookAlikes,
    /// A line number in front of each line.
    LineNumbers,
    /// One level of backslash escapes, as in JSON, or of HTML entities.
    Escapes,
    /// A Markdown code fence around both texts.
    Fence,
    /// Blank lines that only the file or only the old text has, or lines for which the old text has
    /// `...`.
    LinesLeftOut,
    /// Mistyped letters in lines that the edit does not change.
    Mistyped,
}

impl Reading {
    /// Returns a clause that describes the difference, for messages to people and models.
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

    /// Returns the name that JSON data has for the reading, such as `line_numbers`.
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

/// An edit that can be made. After an inexact match, the content was checked to read as the new
/// text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// The range of the text to replace, in bytes.
    pub place: Range<usize>,
    /// The new content of this range. Its lines end as those around it, unless the old text has
    /// line ends of both kinds: then the new text's line ends are kept.
    pub content: String,
    /// How the old text differs from the file; `None` if the file has it literally.
    pub reading: Option<Reading>,
}

impl Edited {
    /// Returns the whole text with the edit applied.
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

/// Why an edit is refused. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The file does not have the old text, not even in an inexact quotation.
    NotFound,
    /// Several places have the old text, so it is not clear which is meant.
    Several {
        /// How the old text differs from the file; `None` if the file has it literally.
        reading: Option<Reading>,
        /// The lines that the places begin on. Of an inexact quotation, at most the first 21.
        lines: Vec<usize>,
    },
    /// The file does not have the old text literally, and the texts are too large, or have too much
    /// in common, to be compared otherwise.
    TooLarge,
    /// A place has the old text, but it is not clear what its new content should be.
    Unclear {
        /// How the old text differs from the file; `None` if the file has it literally.
        reading: Option<Reading>,
        /// The line that the place begins on.
        line: usize,
        /// Why: a clause, such as "the indentation of its new lines is not clear".
        why: &'static str,
    },
    /// The file has the new text already, so the edit was probably made before.
    Applied {
        /// The line that the new text begins on.
        line: usize,
    },
}

/// Replaces the old text with the new one, even if the old one is quoted inexactly.
///
/// Both texts may have any line ends. Those of `text` are kept, unless `old` has both kinds.
///
/// # Errors
///
/// Returns a refusal if it is not clear which text of the file is meant, or how it should change.
pub fn apply(text: &str, old: &str, new: &str) -> Result<Edited, Refusal> {
    let mut starts: Vec<usize> = literal_places(text, old);
    let whole = whole_line_ends(old, new).filter(|_| starts.is_empty());
    let (old, new) = match &whole {
        Some((old, new)) => (&**old, &**new),
        None => (old, new),
    };
    if whole.is_some() {
        starts = literal_places(text, old);
    }
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    match starts.as_slice() {
        [] => apply_inexactly(text, old, new),
        [at] => {
            let place = *at..at + old.len();
            let around = [&text[..place.start], &text[place.end..]];
            let content = literal::place(around, line_of(*at), old, new, || Some(text.into()))?;
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

/// Completes both texts if the old one ends in `\r`, because a line end `\r\n` was cut in two
/// there. Each lone `\r` in the texts is a line end then, and the new text ends in one like the
/// old. Without the `\r`, the old text would also be found in the middle of a line. Returns `None`
/// for any other old text.
pub(crate) fn whole_line_ends(old: &str, new: &str) -> Option<(String, String)> {
    old.strip_suffix('\r')?;
    let whole = |text: &str| text.replace('\r', "\r\n").replace("\r\n\n", "\r\n");
    // A `\n` at the end of the new text is the rest of the line end that was cut in the old one.
    // But if other line ends of the old text are whole, the `\n` is one, too: that of an empty last
    // line.
    let is_cut_too = new.ends_with('\r') || new.ends_with('\n') && !old.contains('\n');
    let end = if is_cut_too { "" } else { "\r\n" };
    Some((whole(old), whole(new) + end))
}

/// Returns true if the old text has both `\r\n` and `\n`, and the new text has no lone `\r`. Then
/// the line ends of both texts are taken literally.
pub(crate) fn has_mixed_ends(old: &str, new: &str) -> bool {
    let crlf = old.matches("\r\n").count();
    let has_both = crlf > 0 && crlf < old.matches('\n').count();
    has_both && !has_lone_return(new)
}

pub(crate) fn has_lone_return(text: &str) -> bool {
    text.replace("\r\n", "").contains('\r')
}

pub(crate) fn cuts_word(before: &str, text: &str, behind: &str) -> bool {
    before.ends_with(is_word) && text.starts_with(is_word)
        || text.ends_with(is_word) && behind.starts_with(is_word)
}

/// Returns the line, from 1, at which the file has the old text as whole lines, if one looks past
/// slips. If the old text cuts a word where it is literally, these lines may be meant.
pub(crate) fn whole_lines(text: &str, old: &str) -> Option<usize> {
    let places = places_at(&[Rank::Strict, Rank::Loose], text, old);
    let first = places.first().map(|(place, _)| place.start);
    first.map(|at| text[..at].matches('\n').count() + 1)
}

/// Returns the offsets at which a text occurs literally, without those that would split a `\r\n`.
fn literal_places(text: &str, old: &str) -> Vec<usize> {
    let is_cut = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
    let starts = text.match_indices(old).map(|(at, _)| at);
    let whole = |at: &usize| !is_cut(*at) && !is_cut(at + old.len());
    if old.is_empty() {
        return Vec::new();
    }
    let mut starts: Vec<usize> = starts.filter(whole).collect();
    // Where the file has both line ends, a model can't see which of them a place has.
    if !starts.is_empty() && !old.contains('\r') && old.contains('\n') {
        let crlf = old.replace('\n', "\r\n");
        let crlf = text.match_indices(&crlf).map(|(at, _)| at);
        starts.extend(crlf.filter(whole));
    }
    // One place that overlaps the only one is enough to leave it open which is meant.
    if let [at] = starts[..] {
        let next = at + text[at..].chars().next().map_or(0, char::len_utf8);
        let mut others = text[next..].match_indices(old).map(|(n, _)| next + n);
        starts.extend(others.find(whole));
    }
    starts
}

pub(crate) fn apply_inexactly(text: &str, old: &str, new: &str) -> Result<Edited, Refusal> {
    apply_at(|_| true, text, old, new)
}

pub(crate) fn apply_to_lines(text: &str, old: &str, new: &str) -> Result<Edited, Refusal> {
    apply_at(|rank| rank != Rank::Part, text, old, new)
}

fn apply_at(counts: fn(Rank) -> bool, text: &str, old: &str, new: &str) -> Result<Edited, Refusal> {
    let file = FileLines::new(text);
    let haystack = Haystack::new(&file);
    let pairs = reading::pairs(text, old, new);
    // Ranks go from strict to lenient. The first rank at which the old text fits the file decides,
    // even if the edit is refused then: a more lenient rank would only guess, and no edit is better
    // than a wrong one.
    for rank in Rank::ALL.into_iter().filter(|rank| counts(*rank)) {
        let mut edits: Vec<Result<Edited, Refusal>> = Vec::new();
        for pair in &pairs {
            let mut fits = haystack.fits(pair, rank);
            let is_said = |fit: &Fit<'_>| fit.first_line() + 1 == pair.line;
            if fits.iter().any(is_said) {
                fits.retain(is_said);
            }
            let Some(first) = fits.first() else { continue };
            let edit = edit_at(&haystack, pair, first, rank);
            // An old text with `...` may fit in several ways that lead to the same result.
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
        if haystack.is_exhausted() {
            return Err(Refusal::TooLarge);
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
    // The old text is nowhere, perhaps because the edit was made before.
    let mut pairs = pairs.iter().filter(|pair| haystack.may_be_done(pair));
    let line = pairs.find_map(|pair| haystack.line_of_new(pair));
    Err(line.map_or(Refusal::NotFound, |line| Refusal::Applied {
        line: line + 1,
    }))
}

fn edit_at(
    haystack: &Haystack<'_>,
    texts: &Texts,
    fit: &Fit<'_>,
    rank: Rank,
) -> Result<Edited, Refusal> {
    let file = haystack.file.text;
    let edit = write::write(haystack, texts, fit, rank);
    // If the file has the new text already, the edit was made before, and the place that was found is
    // only similar to the old text. One line may be there by chance.
    let edit = edit.and_then(|edit| match haystack.line_of_new(texts) {
        _ if fit.leaves_block => Err("... would stand for lines of another block".into()),
        Some(line) if texts.new.trim().contains('\n') => Err(Fault::Applied(line)),
        _ if rank != Rank::Part && is_quoted_elsewhere(haystack, texts, fit) => {
            Err("half of its lines are elsewhere as they are".into())
        }
        _ if rank == Rank::Part && is_repeated(file, haystack.place(fit), texts) => {
            Err(literal::TWICE.into())
        }
        // The edit would change nothing. What the new text has differently, such as one more line
        // end, has no effect at this place.
        _ if edit.content == file[edit.place.clone()]
            && !file.replace("\r\n", "\n").contains(&texts.new) =>
        {
            Err("what new_string has otherwise makes no difference there".into())
        }
        _ => Ok(edit),
    });
    edit.map_err(|fault| {
        let why = match fault {
            Fault::Unclear(why) => why,
            Fault::Applied(line) if haystack.may_be_done(texts) => {
                return Refusal::Applied { line: line + 1 };
            }
            Fault::Applied(_) => "the file has a part of the new text already",
        };
        Refusal::Unclear {
            reading: Some(rank.reading(texts)),
            line: fit.first_line() + 1,
            why,
        }
    })
}

/// Returns a line without the mark at its end, which a model may have mistyped.
pub(crate) fn without_mark(line: &str) -> &str {
    line.strip_suffix([',', ';', '.', ':']).unwrap_or(line)
}

fn is_repeated(file: &str, place: Range<usize>, texts: &Texts) -> bool {
    let around = [&file[..place.start], &file[place.end..]];
    repeated(around, &texts.old, &texts.new).is_some()
}

/// Returns true if half of the old text's lines are at another place exactly, and fewer are as deep
/// at the one that was found. It probably means that other place then, which has changed since the
/// model read it.
fn is_quoted_elsewhere(haystack: &Haystack<'_>, texts: &Texts, fit: &Fit<'_>) -> bool {
    let file = haystack.file;
    let (old, _) = ModelLines::pair(&texts.old, &texts.new);
    let old = old.trimmed();
    let filled = || old.iter().enumerate().filter(|(_, line)| !line.is_empty());
    let is_as_deep = |(at, old): &(usize, &&str)| {
        let line = fit.places[*at].line();
        line.is_some_and(|line| indentation(file.line(line)) == indentation(old))
    };
    let here = filled().filter(is_as_deep).count();
    // Marks at the ends of lines don't count, because the model may have mistyped them, whichever
    // place it means.
    let marked = filled().map(|(at, line)| (without_mark(line), at));
    let indices: HashMap<&str, usize> = marked.collect();
    // For each line of the file at which the old text may begin, how many of its lines are there,
    // and how many characters these have.
    let mut starts: HashMap<usize, [usize; 2]> = HashMap::new();
    for line in (0..fit.first_line()).chain(fit.last_line() + 1..file.len()) {
        let text = without_mark(file.line(line));
        if let Some(start) = indices.get(text).and_then(|at| line.checked_sub(*at)) {
            let [lines, chars] = starts.entry(start).or_default();
            *lines += 1;
            *chars += text.trim().chars().count();
        }
    }
    starts.into_values().any(|[lines, chars]| {
        lines > here && lines * 2 >= indices.len() && chars >= fit::MIN_ANCHOR_CHARS
    })
}

pub(crate) fn fitting_places(text: &str, old: &str) -> Vec<(Range<usize>, Reading)> {
    let ranks = [Rank::Strict, Rank::Loose, Rank::Part, Rank::LinesLeftOut];
    places_at(&ranks, text, old)
}

/// Returns the places that the old text fits at the first of these ranks at which it fits any.
fn places_at(ranks: &[Rank], text: &str, old: &str) -> Vec<(Range<usize>, Reading)> {
    let file = FileLines::new(text);
    let haystack = Haystack::new(&file);
    let pairs = reading::pairs(text, old, old);
    let places = ranks.iter().map(|rank| -> Vec<_> {
        let fits = pairs.iter().flat_map(|pair| {
            let fits = haystack.fits(pair, *rank).into_iter();
            fits.map(|fit| (haystack.place(&fit), rank.reading(pair)))
        });
        fits.collect()
    });
    places
        .into_iter()
        .find(|places| !places.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
