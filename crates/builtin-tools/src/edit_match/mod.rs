//! Finding a text in a file although it is slightly wrong, as texts that models write from memory
//! are.
//!
//! # How it works
//!
//! `find_place` tries the tiers of `MatchTier`, from strict to lenient:
//!
//! 1. `exact` compares the texts in a form without blanks and with one of the characters that look
//!    alike. A place that is not whole lines must have the old text's blanks.
//! 2. The same without line numbers before the lines, and with one level of backslashes taken off.
//! 3. `anchored` compares line by line; lines that the edit only quotes may differ a little, and
//!    what it changes or takes away must be in the file as the old text has it.
//!
//! The first tier that finds something decides. One place is the result; with two the search ends,
//! because a more lenient tier can't know better, and no edit is better than a wrong one.
//!
//! A place is not overwritten by the new text as it is. `merge` keeps what the old and the new text
//! have in common as it is in the file, to the byte, so a wrong blank in a line that the model only
//! quoted does no harm. Only what differs between them is put in, with the line ends of the lines
//! around it, and as deep as `depth` finds out. If `depth` can't tell, the edit is refused as
//! unclear.
//!
//! This module works on text and knows no files and no tools. Finding a text literally is not here,
//! but in [`gemini_tools_workspace::edit`], which is asked before.

mod anchored;
mod depth;
mod exact;
mod form;
mod lines;
mod merge;
mod omission;
#[cfg(test)]
mod tiers_tests;

use gemini_tools_core::tool::{Cancellation, ToolError};
use std::ops::Range;

pub(crate) use depth::{place_behind, unit_of};
pub(crate) use form::{plain, unescape};
pub(crate) use omission::omission;

/// The distance of a text from that in the file, from strict to lenient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchTier {
    /// Blanks, line ends, quotes, dashes and other characters that look alike.
    LookAlikes,
    /// Numbers before the lines.
    LineNumbers,
    /// Backslashes before what needs none.
    Escapes,
    /// Lines that are only quoted differ a little, or are missing.
    Anchored,
}

impl MatchTier {
    /// Every tier, from strict to lenient.
    pub(crate) const ALL: [Self; 4] = [
        Self::LookAlikes,
        Self::LineNumbers,
        Self::Escapes,
        Self::Anchored,
    ];

    /// Describes the difference, for people and models.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::LookAlikes => {
                "indentation, blanks, line ends or characters that look alike differ"
            }
            Self::LineNumbers => "line numbers are before the lines",
            Self::Escapes => "the text is escaped once too often",
            Self::Anchored => "lines that stay differ a little",
        }
    }

    /// Returns a short name for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LookAlikes => "look_alikes",
            Self::LineNumbers => "line_numbers",
            Self::Escapes => "escapes",
            Self::Anchored => "anchored",
        }
    }
}

/// The result of looking for a text. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No text is near enough.
    Nothing,
    /// A place, in bytes, and its new text, whose lines end as those around it.
    One(Range<usize>, String),
    /// Several places are near enough; they begin on these lines.
    Several(Vec<usize>),
    /// A place on this line is near enough, but for this reason it is not clear what should become
    /// of it.
    Unclear(usize, &'static str),
}

/// Tries the given tiers from strict to lenient until one finds something, and returns that tier
/// with its result.
///
/// # Errors
///
/// Returns an error if the call is interrupted.
pub(crate) fn find_place(
    text: &str,
    old: &str,
    new: &str,
    tiers: &[MatchTier],
    cancel: &Cancellation,
) -> Result<(MatchTier, Outcome), ToolError> {
    let file = lines::FileLines::new(text);
    let variants = [
        (
            MatchTier::LookAlikes,
            Some((old.to_owned(), new.to_owned())),
        ),
        (MatchTier::LineNumbers, form::without_line_numbers(old, new)),
        (MatchTier::Escapes, form::without_escapes(old, new)),
    ];
    let haystack = exact::Haystack::new(&file);
    for (tier, variant) in variants {
        cancel.check()?;
        if let Some((old, new)) = variant.filter(|_| tiers.contains(&tier)) {
            let outcome = haystack.find(&old, &new);
            if outcome != Outcome::Nothing {
                return Ok((tier, outcome));
            }
        }
    }
    drop(haystack);
    let outcome = if tiers.contains(&MatchTier::Anchored) {
        anchored::find(&file, old, new, cancel)?
    } else {
        Outcome::Nothing
    };
    Ok((MatchTier::Anchored, outcome))
}

#[cfg(test)]
mod tests;
