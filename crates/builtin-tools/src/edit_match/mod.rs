//! Finding a text in a file although it is slightly wrong, as texts that models write from memory
//! are.
//!
//! # How it works
//!
//! `find_place` tries the tiers of `MatchTier`, from strict to lenient:
//!
//! 1. `mapped` compares the texts in a form without the differences between line ends and without
//!    blanks at the end of lines.
//! 2. `indent` compares lines without their indentation, which must differ in the same way for all.
//! 3. Both again, with characters that look alike taken for the same.
//! 4. All of this again, once without line numbers before the lines, and once with one level of
//!    backslashes taken off.
//! 5. `anchored` compares line by line; lines that the edit only quotes may differ a little, and
//!    what it changes or takes away must be in the file as the old text has it.
//!
//! The first tier that finds something decides. One place is the result; with two the search ends,
//! because a more lenient tier can't know better, and no edit is better than a wrong one.
//!
//! A place is not overwritten by the new text as it is. What the old and the new text have in
//! common stays as it is in the file, to the byte, so a wrong blank in a line that the model only
//! quoted does no harm. Only what differs between them is put in, with the line ends of the lines
//! around it, and as deep as `depth` finds out. If `depth` can read the new indentation in more than
//! one way, the edit is refused as unclear.
//!
//! This module works on text and knows no files and no tools. Finding a text literally is not here,
//! but in [`gemini_tools_workspace::edit`], which is asked before.

mod anchored;
mod depth;
mod indent;
mod lines;
mod mapped;
mod normal;
#[cfg(test)]
mod tiers;

use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_workspace::line_endings::fitted;
use std::cell::OnceCell;

pub(crate) use depth::behind;
pub(crate) use normal::{plain, unescape};

/// The distance of a text from that in the file, from strict to lenient. From strict to lenient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchTier {
    /// Line ends, blanks at the end of lines, line feeds at either end of the text.
    LineEnds,
    /// Every line is indented by more or less, or by tabs for blanks.
    Indentation,
    /// Quotes, dashes, blanks and other characters that look alike.
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
    pub(crate) const ALL: [Self; 6] = [
        Self::LineEnds,
        Self::Indentation,
        Self::LookAlikes,
        Self::LineNumbers,
        Self::Escapes,
        Self::Anchored,
    ];

    /// Describes the difference, for people and models.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            MatchTier::LineEnds => "line ends or blanks at the end of lines differ",
            MatchTier::Indentation => "the indentation is shifted",
            MatchTier::LookAlikes => "quotes, dashes or other characters look alike",
            MatchTier::LineNumbers => "line numbers are before the lines",
            MatchTier::Escapes => "the text is escaped once too often",
            MatchTier::Anchored => "lines that stay differ a little",
        }
    }

    /// A short name for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            MatchTier::LineEnds => "line_ends",
            MatchTier::Indentation => "indentation",
            MatchTier::LookAlikes => "look_alikes",
            MatchTier::LineNumbers => "line_numbers",
            MatchTier::Escapes => "escapes",
            MatchTier::Anchored => "anchored",
        }
    }
}

/// A place, and what is to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditMatch {
    /// First byte in the text.
    pub(crate) start: usize,
    /// After the last byte.
    pub(crate) end: usize,
    /// New text; its lines end as those around it.
    pub(crate) replacement: String,
    /// Distance of the old text.
    pub(crate) tier: MatchTier,
}

/// The reason why there is no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoMatch {
    /// No text is near enough.
    Nothing,
    /// Several places are, at these lines (from 1).
    Several(MatchTier, Vec<usize>),
    /// A place is, but the new text does not say clearly what should become of it.
    Unclear(MatchTier, usize, &'static str),
}

/// The result of a tier.
pub(super) enum Found {
    Nothing,
    One(EditMatch),
    /// First bytes.
    Several(Vec<usize>),
    Unclear(usize, &'static str),
}

/// Returns the unit that a file is indented by; `None` if no line is indented.
pub(crate) fn unit_of(text: &str) -> Option<String> {
    depth::unit_of(text.lines())
}

/// A function that changes both texts of an edit, if there is something to change.
type Change = fn(&str, &str) -> Option<(String, String)>;

/// Tries the given tiers from strict to lenient until one holds.
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
) -> Result<Result<EditMatch, NoMatch>, ToolError> {
    let find = |old: &str, new: &str, by| find_literally(text, old, new, by, tiers);
    if let Some(outcome) = find(old, new, None) {
        return Ok(outcome);
    }
    cancel.check()?;
    let changes: [(MatchTier, Change); 2] = [
        (MatchTier::LineNumbers, normal::without_line_numbers),
        (MatchTier::Escapes, normal::unescaped),
    ];
    for (tier, change) in changes {
        if tiers.contains(&tier)
            && let Some((old, new)) = change(old, new)
            && let Some(outcome) = find(&old, &new, Some(tier))
        {
            return Ok(outcome);
        }
    }
    if !tiers.contains(&MatchTier::Anchored) {
        return Ok(Err(NoMatch::Nothing));
    }
    let file = lines::Lines::of(text);
    let found = anchored::find(&file, old, new, cancel)?;
    Ok(outcome(text, MatchTier::Anchored, found).unwrap_or(Err(NoMatch::Nothing)))
}

/// Tries the tiers on which every character of the old text counts. `by` is the tier that has
/// changed the texts before.
fn find_literally(
    text: &str,
    old: &str,
    new: &str,
    by: Option<MatchTier>,
    tiers: &[MatchTier],
) -> Option<Result<EditMatch, NoMatch>> {
    // Made when they are needed: together with the first attempt they could take too much memory.
    let file = OnceCell::new();
    let mapped = |level| mapped::find(text, old, new, level);
    let indent = |level| {
        let file = file.get_or_init(|| lines::Lines::of(text));
        indent::find(file, old, new, level)
    };
    let attempts: [(MatchTier, &dyn Fn() -> Found); 4] = [
        (MatchTier::LineEnds, &|| mapped(normal::Level::Plain)),
        (MatchTier::Indentation, &|| indent(normal::Level::Plain)),
        (MatchTier::LookAlikes, &|| mapped(normal::Level::LookAlike)),
        (MatchTier::LookAlikes, &|| indent(normal::Level::LookAlike)),
    ];
    let mut attempts = attempts.iter().filter(|(own, _)| tiers.contains(own));
    attempts.find_map(|(own, find)| outcome(text, by.map_or(*own, |by| by.max(*own)), find()))
}

/// Returns the result of a tier; `None` to go on with the next one.
fn outcome(text: &str, tier: MatchTier, found: Found) -> Option<Result<EditMatch, NoMatch>> {
    let line = |at: &usize| text[..*at].matches('\n').count() + 1;
    match found {
        Found::Nothing => None,
        Found::One(mut hit) => {
            hit.tier = tier;
            hit.replacement = fitted(text, hit.start..hit.end, &hit.replacement);
            Some(Ok(hit))
        }
        Found::Several(starts) => Some(Err(NoMatch::Several(
            tier,
            starts.iter().map(line).collect(),
        ))),
        Found::Unclear(at, why) => Some(Err(NoMatch::Unclear(tier, line(&at), why))),
    }
}

#[cfg(test)]
mod tests {
    use super::{MatchTier, NoMatch, find_place};
    use gemini_tools_core::tool::Cancellation;

    fn edit(text: &str, old: &str, new: &str) -> Result<(String, MatchTier), NoMatch> {
        let hit = find_place(text, old, new, &MatchTier::ALL, &Cancellation::default())
            .expect("not interrupted")?;
        let edited = format!(
            "{}{}{}",
            &text[..hit.start],
            hit.replacement,
            &text[hit.end..]
        );
        Ok((edited, hit.tier))
    }

    #[track_caller]
    fn gives(tier: MatchTier, text: &str, old: &str, new: &str, expected: &str) {
        assert_eq!(edit(text, old, new), Ok((expected.to_owned(), tier)));
    }

    #[test]
    fn line_ends_and_blanks_at_line_ends_stay_as_the_file_has_them() {
        let text = "a  \r\nb\r\nc\t\r\nd";
        gives(
            MatchTier::LineEnds,
            text,
            "a\nb \nc",
            "a\nB\nB2\nc",
            "a  \r\nB\r\nB2\r\nc\t\r\nd",
        );
        gives(
            MatchTier::LineEnds,
            "a\nb",
            "\n\na\nb\n\n",
            "\n\na\nx\n\n",
            "a\nx",
        );
        gives(
            MatchTier::LineEnds,
            "a \nb\r\nc\nd",
            "a\nb\nc",
            "a\nb\nx\nC",
            "a \nb\r\nx\nC\nd",
        );
        gives(MatchTier::LineEnds, "a \nb\nc\n", "a\nb\n", "", "c\n");
        gives(
            MatchTier::LineEnds,
            "a \nb\nc\n",
            "a\r\nb\r\n",
            "a\r\nx\r\ny\r\n",
            "a \nx\ny\nc\n",
        );
    }

    #[test]
    fn a_shifted_text_is_shifted_back() {
        let text = "def f():\n    if x:\n        y()\n    z()\n";
        gives(
            MatchTier::Indentation,
            text,
            "if x:\n    y()\n",
            "if x:\n    y()\n    w()\n",
            "def f():\n    if x:\n        y()\n        w()\n    z()\n",
        );
        gives(
            MatchTier::Indentation,
            "\tif (x) {\n\t\ty();\n\t}\n",
            "    if (x) {\n        y();\n    }",
            "    if (x) {\n        if (z) {\n            y();\n        }\n    }",
            "\tif (x) {\n\t\tif (z) {\n\t\t\ty();\n\t\t}\n\t}\n",
        );
    }

    #[test]
    fn a_new_text_with_the_files_indentation_is_taken_as_it_is() {
        gives(
            MatchTier::Indentation,
            "def f():\n    for i in r:\n        log()\n        stop()\n    stop()\n    c()\n",
            "    log()\n    stop()\nstop()\nc()",
            "        log()\n        stop()\n    stop()\n    d()\n    c()",
            "def f():\n    for i in r:\n        log()\n        stop()\n    stop()\n    d()\n    c()\n",
        );
        gives(
            MatchTier::Indentation,
            "def f():\n    if a:\n        if b:\n            x()\n        else:\n            y()\n    else:\n        z()\n",
            "    if b:\n        x()\n    else:\n        y()\nelse:\n    z()",
            "        if b:\n            x()\n        else:\n            y()\n    else:\n        w()\n        z()",
            "def f():\n    if a:\n        if b:\n            x()\n        else:\n            y()\n    else:\n        w()\n        z()\n",
        );
        gives(
            MatchTier::Indentation,
            "function f() {\n    for (;;) {\n        if (a) {\n            x();\n        }\n    }\n    c();\n}\n",
            "    if (a) {\n        x();\n    }\n}\nc();",
            "        if (a) {\n            x();\n        }\n    }\n    d();\n    c();",
            "function f() {\n    for (;;) {\n        if (a) {\n            x();\n        }\n    }\n    d();\n    c();\n}\n",
        );
    }

    #[test]
    fn lines_that_stay_keep_their_ends_where_those_differ() {
        gives(
            MatchTier::Indentation,
            "    if (x) {\n        y();\r\n        z();\n    }\n",
            "if (x) {\n    y();\n    z();\n}",
            "if (x) {\n    y();\n    w();\n}",
            "    if (x) {\n        y();\r\n        w();\n    }\n",
        );
    }

    #[test]
    fn look_alikes_stay_where_they_are_only_quoted() {
        gives(
            MatchTier::LookAlikes,
            "say “hi” — don’t\u{a0}go",
            "say \"hi\" - don't go",
            "say \"hi\" - don't stay",
            "say “hi” — don’t\u{a0}stay",
        );
    }

    #[test]
    fn escapes_and_line_numbers_are_taken_off() {
        gives(
            MatchTier::Escapes,
            "a(\"x\")\n\tb()\n",
            "a(\\\"x\\\")\\n\\tb()",
            "a(\\\"y\\\")\\n\\tb()",
            "a(\"y\")\n\tb()\n",
        );
        gives(
            MatchTier::LineNumbers,
            "  a\n  b\n",
            "12:   a\n13:   b",
            "12:   a\n13:   c",
            "  a\n  c\n",
        );
    }

    #[test]
    fn what_is_only_quoted_may_differ_a_little() {
        let text = "fn total(xs: &[u32]) -> u32 {\n    // Adds them up.\n    let mut sum = 0;\n    for x in xs {\n        sum += x;\n    }\n    sum\n}\n";
        gives(
            MatchTier::Anchored,
            text,
            "fn total(xs: &[u32]) -> u32{\n    let mut sum = 0;\n    for x in xs {\n        sum += x;",
            "fn total(xs: &[u32]) -> u32{\n    let mut sum = 0;\n    for x in xs {\n        sum += x * 2;",
            &text.replace("sum += x;", "sum += x * 2;"),
        );
    }

    proptest::proptest! {
        #[test]
        fn any_texts_are_dealt_with_and_what_is_kept_is_not_touched(
            text in TEXT, old in TEXT, new in TEXT, from in 0_usize..40, length in 0_usize..20,
        ) {
            let _ = edit(&text, &old, &new);
            // A part of the text, with the slips of a model: what both texts have stays.
            let part: String = text.chars().skip(from).take(length).collect();
            let slipped = part.replace('\'', "’").replace("\r\n", "\n").replace(" \n", "\n");
            let appended = format!("{slipped}\nNEW");
            if let Ok((edited, tier)) = edit(&text, &slipped, &appended) {
                let without = edited.replace("\r\nNEW", "").replace("\nNEW", "").replace("NEW", "");
                let bare = |t: &str| t.split_whitespace().collect::<String>();
                proptest::prop_assert_eq!(bare(&without), bare(&text), "{:?}", tier);
            }
        }
    }

    /// Few different pieces, so that they meet.
    const TEXT: &str =
        "(a|bb|\\.\\.\\.|1: |\\\\n|\\\\|'|’|\u{e9}|e\u{301}|…| |\t|    |\n|\r\n|\r|\\{|// x){0,24}";

    #[test]
    fn two_places_are_one_too_many() {
        let twice = "a  \nb\n\na \nb\n";
        assert_eq!(
            edit(twice, "a\nb", "c"),
            Err(NoMatch::Several(MatchTier::LineEnds, vec![1, 4]))
        );
        assert_eq!(edit("x\ny\n", "something else", "z"), Err(NoMatch::Nothing));
    }
}
