//! The new content of the lines that an old text was found on.
//!
//! What the old and the new text have in common stays as the file has it, to the byte.

use super::Outcome;
use super::depth::{Layout, Pair, Texts, layout};
use super::form::{Blanks, FormChar, form};
use super::lines::{FileLines, ModelLines, indentation, trim_end};
use super::omission::omission;
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use gemini_tools_workspace::line_endings::fitted;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Time after which words are compared more coarsely.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// The place of a line of the old text in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePlace {
    /// A line that is the same but for blanks and look-alikes.
    Same(usize),
    /// A line that is nearly the same.
    Near(usize),
    /// Nowhere: a blank line that the file does not have.
    Missing,
    /// The lines that were left out, which end before this one.
    Elided(usize),
}

impl LinePlace {
    pub(super) fn line(self) -> Option<usize> {
        match self {
            Self::Same(line) | Self::Near(line) => Some(line),
            Self::Missing | Self::Elided(_) => None,
        }
    }
}

/// The lines of both texts, and what of the file has been dealt with.
pub(super) struct Merge<'a> {
    file: &'a FileLines<'a>,
    places: &'a [LinePlace],
    old: &'a ModelLines<'a>,
    new: &'a ModelLines<'a>,
    old_lines: Vec<&'a str>,
    new_lines: Vec<&'a str>,
    /// New content, line by line.
    out: Vec<String>,
    /// The next line of the file that is not dealt with.
    next: usize,
    /// True if the previous line of the old text stays.
    was_kept: bool,
}

impl<'a> Merge<'a> {
    pub(super) fn new(
        file: &'a FileLines<'a>,
        places: &'a [LinePlace],
        old: &'a ModelLines<'a>,
        new: &'a ModelLines<'a>,
    ) -> Self {
        Self {
            file,
            places,
            old,
            new,
            old_lines: old.trimmed(),
            new_lines: new.trimmed(),
            out: Vec::new(),
            next: 0,
            was_kept: true,
        }
    }

    /// Returns the place with its new content.
    pub(super) fn outcome(mut self) -> Outcome {
        let mut lines = self.places.iter().filter_map(|place| place.line());
        // A line of invisible characters may be none in the file.
        let first = lines.next();
        let Some(first) = first.filter(|_| self.places.len() == self.old_lines.len()) else {
            return Outcome::Nothing;
        };
        let last = lines.next_back().unwrap_or(first);
        self.next = first;
        let (old, new) = (self.old, self.new);
        let gone = |old: usize, new: usize, there| old.saturating_sub(new).min(there);
        let blank = self.file.blank_before(first);
        let first = first - gone(old.blank_before, new.blank_before, blank);
        let blank = self.file.blank_after(last);
        let end = last + gone(old.blank_after, new.blank_after, blank);
        let start = self.file.range(first).start;
        let added = new.blank_before.saturating_sub(old.blank_before);
        self.out.resize(added, String::new());
        if let Err(why) = self.merge() {
            return Outcome::Unclear(first + 1, why);
        }
        let added = new.blank_after.saturating_sub(old.blank_after);
        let length = self.out.len() + added;
        self.out.resize(length, String::new());
        // A text that is taken away whole takes its line end with it.
        let end = if self.out.is_empty() {
            self.file.end(end)
        } else {
            self.file.range(end).end
        };
        let new = fitted(self.file.text, start..end, &self.out.join("\n"));
        Outcome::One(start..end, new)
    }

    fn merge(&mut self) -> Result<(), &'static str> {
        let pairs = self.places.iter().enumerate().filter_map(|(at, place)| {
            let line = place.line().filter(|_| !self.old_lines[at].is_empty())?;
            Some(Pair {
                at,
                old: indentation(self.old_lines[at]),
                file: indentation(self.file.line(line)),
            })
        });
        let pairs: Vec<Pair<'_>> = pairs.collect();
        let layout = layout(&Texts {
            old: &self.old_lines,
            new: &self.new_lines,
            pairs: &pairs,
            unit: &self.file.unit(),
        })?;
        for op in &layout.ops {
            match op {
                DiffOp::Equal { .. } => {
                    for (old, new) in op.old_range().zip(op.new_range()) {
                        self.keep(old, new);
                    }
                }
                _ => self.change(op, &layout)?,
            }
        }
        Ok(())
    }

    /// Keeps a line as the file has it, with what the old text has left out before it.
    fn keep(&mut self, old: usize, new: usize) {
        let (until, own) = match self.places[old] {
            LinePlace::Same(line) | LinePlace::Near(line) => (line, Some(line)),
            LinePlace::Elided(until) => (until, None),
            LinePlace::Missing => return,
        };
        let skipped = self.next..until;
        let skipped = skipped.map(|line| self.file.whole(line).to_owned());
        self.out.extend(skipped);
        if let Some(line) = own {
            let (there, content) = (self.file.whole(line), self.file.line(line));
            let blanks = |lines: &[&'a str], at: usize| &lines[at][trim_end(lines[at]).len()..];
            let [before, after] = [blanks(&self.old.lines, old), blanks(&self.new.lines, new)];
            // Unless the edit is about the blanks at its end.
            let is_about_blanks = before != after && before == &there[content.len()..];
            self.out.push(if is_about_blanks {
                format!("{content}{after}")
            } else {
                there.to_owned()
            });
        }
        self.next = own.map_or(until, |line| line + 1);
        self.was_kept = true;
    }

    fn change(&mut self, op: &DiffOp, layout: &Layout) -> Result<(), &'static str> {
        let old = op.old_range();
        for at in old.clone() {
            self.drop_line(at, at == old.start)?;
        }
        let contents = self.contents(op);
        for (at, content) in op.new_range().zip(contents) {
            let (raw, line) = (self.new.lines[at], self.new_lines[at]);
            let is_omission = !old.is_empty() && omission(line).is_some();
            if is_omission && !self.old_lines.contains(&line) {
                return Err("the new text leaves lines out that the old one has");
            }
            let blanks = &raw[line.len()..];
            self.out
                .push(format!("{}{content}{blanks}", layout.indents[at]));
        }
        if !old.is_empty() {
            self.was_kept = false;
        }
        Ok(())
    }

    /// Drops a line that the new text does not have, which must be there as the old one says.
    fn drop_line(&mut self, old: usize, is_first: bool) -> Result<(), &'static str> {
        let line = match self.places[old] {
            LinePlace::Same(line) => line,
            LinePlace::Missing => return Ok(()),
            LinePlace::Near(_) | LinePlace::Elided(_) => {
                return Err("what it changes is not as it says");
            }
        };
        // Lines that the old text has left out are kept with a line that stays, if they are
        // next to one.
        let mut skipped = self.next..line;
        if is_first && self.was_kept {
            let kept = skipped.map(|line| self.file.whole(line).to_owned());
            self.out.extend(kept);
        } else if skipped.any(|line| !self.file.line(line).is_empty()) {
            return Err("it would change lines that old_string does not quote");
        }
        self.next = line + 1;
        Ok(())
    }

    /// Returns the new lines of a change without their indentation. Words that both texts have are
    /// in the file's spelling.
    fn contents(&self, op: &DiffOp) -> Vec<String> {
        let joined = |lines: &[&str]| {
            let lines: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
            lines.join("\n")
        };
        let new = joined(&self.new_lines[op.new_range()]);
        let old = joined(&self.old_lines[op.old_range()]);
        let places = self.places[op.old_range()].iter();
        let there = places.filter_map(|place| place.line());
        let there: Vec<&str> = there.map(|line| self.file.line(line)).collect();
        let there = joined(&there);
        let merged = if there == old {
            new
        } else {
            with_spelling(&old, &there, &new)
        };
        merged.split('\n').map(str::to_owned).collect()
    }
}

/// Returns the new text with the file's spelling of all words that it has in common with the old
/// one, which has the same form as the text that is there.
fn with_spelling(old: &str, there: &str, new: &str) -> String {
    let [old_form, there_form, new_form] = [old, there, new].map(|t| form(t, Blanks::Dropped));
    if old_form.len() != there_form.len() {
        return new.to_owned();
    }
    // What is one character in the file is kept or goes as one.
    let is_whole = |at: usize| there_form[at - 1].end() <= there_form[at].start();
    let old_words = words(&old_form, is_whole);
    let new_words = words(&new_form, |_| true);
    let mut out = String::with_capacity(new.len());
    for op in diff_words((&old_form, &old_words), (&new_form, &new_words)) {
        let is_kept = matches!(op, DiffOp::Equal { .. });
        for (n, word) in new_words[op.new_range()].iter().enumerate() {
            // The old word that this one is, or whose place it takes.
            let old_word = old_words[op.old_range()].get(n);
            let old_word = old_word.filter(|_| is_kept || n == 0);
            let blanks = before(new, &new_form, word);
            let is_same = |old_word: &&Range<usize>| before(old, &old_form, old_word) == blanks;
            let kept = old_word.filter(is_same);
            out.push_str(kept.map_or(blanks, |word| before(there, &there_form, word)));
            out.push_str(match old_word.filter(|_| is_kept) {
                Some(old_word) => source(there, &there_form, old_word),
                None => source(new, &new_form, word),
            });
        }
    }
    out.push_str(&new[new_form.last().map_or(0, |last| last.end())..]);
    out
}

/// Cuts a form into words and other characters.
fn words(form: &[FormChar], may_cut: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let ends_word = |before: FormChar, after: FormChar| {
        let is_one = is_word(before.c) && is_word(after.c) || before.c == '.' && after.c == '.';
        !is_one || before.end() < after.start()
    };
    let mut words = Vec::new();
    let mut start = 0;
    for at in 1..=form.len() {
        if at == form.len() || ends_word(form[at - 1], form[at]) && may_cut(at) {
            words.push(start..at);
            start = at;
        }
    }
    words
}

/// Returns the text of a word.
fn source<'t>(text: &'t str, form: &[FormChar], word: &Range<usize>) -> &'t str {
    &text[form[word.start].start()..form[word.end - 1].end()]
}

/// Returns the text between a word and the one before it.
fn before<'t>(text: &'t str, form: &[FormChar], word: &Range<usize>) -> &'t str {
    let end = form[word.start].start();
    let start = word.start.checked_sub(1).map_or(0, |at| form[at].end());
    &text[start.min(end)..end]
}

type Words<'a> = (&'a [FormChar], &'a [Range<usize>]);

fn diff_words(old: Words<'_>, new: Words<'_>) -> Vec<DiffOp> {
    let [old, new] = [old, new].map(|(form, words)| -> Vec<String> {
        let text = |word: &Range<usize>| form[word.clone()].iter().map(|char| char.c).collect();
        words.iter().map(text).collect()
    });
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let deadline = Some(Instant::now() + DIFF_TIME);
    diff_lines(Algorithm::Myers, &old, &new, deadline)
}
