//! The tiers on which the normal forms of both texts are the same, character by character: the
//! place may begin and end within lines.

use super::depth;
use super::lines::{Lines, line_end};
use super::normal::{Level, Mapped, normalized};
use super::{EditMatch, Found, MatchTier};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The most line feeds that are taken off either end.
const MAX_TRIMMED_LINES: usize = 4;

/// After this, what is kept of the file is found more coarsely.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// Finds the place by the forms of the texts. The last line of the file counts as ended, so that
/// blanks at its end are treated as those of every other line.
pub(super) fn find(text: &str, old: &str, new: &str, level: Level) -> Found {
    if text.ends_with('\n') {
        return find_in_lines(text, old, new, level);
    }
    let added = line_end(text, 0..text.len());
    let mut found = find_in_lines(&[text, added].concat(), old, new, level);
    if let Found::One(place) = &mut found
        && place.end > text.len()
    {
        place.end = text.len();
        if place.replacement.ends_with(added) {
            let kept = place.replacement.len() - added.len();
            place.replacement.truncate(kept);
        }
    }
    found
}

fn find_in_lines(text: &str, old: &str, new: &str, level: Level) -> Found {
    let file = normalized(text, level);
    let (old_form, new_form) = (normalized(old, level), normalized(new, level));
    let forms = Forms {
        text,
        level,
        old_text: old,
        new_text: new,
        file: &file,
        old: &old_form,
        new: &new_form,
    };
    for part in forms.parts() {
        match forms.find(&part) {
            Found::Nothing => {}
            found => return found,
        }
    }
    Found::Nothing
}

/// The part of the texts that is looked for.
struct Trimmed {
    old: Range<usize>,
    new: Range<usize>,
    /// The place must be at the beginning of a line.
    at_line_start: bool,
    at_line_end: bool,
}

struct Forms<'a> {
    text: &'a str,
    level: Level,
    old_text: &'a str,
    new_text: &'a str,
    file: &'a [Mapped],
    old: &'a [Mapped],
    new: &'a [Mapped],
}

/// The old text and the place in the file say the same in these parts of their forms.
#[derive(Clone, Copy)]
struct Same<'a> {
    old: &'a [Mapped],
    place: &'a [Mapped],
}

impl Forms<'_> {
    /// The texts whole, then with ever more line feeds taken off both at either end.
    fn parts(&self) -> Vec<Trimmed> {
        let edges = |form: &[Mapped]| {
            let before = form.iter().take_while(|m| m.c == '\n').count();
            let after = form.iter().rev().take_while(|m| m.c == '\n').count();
            (before, after)
        };
        let (before, after) = edges(self.old);
        let (new_before, new_after) = edges(self.new);
        let mut parts = Vec::new();
        for from_front in 0..=before.min(MAX_TRIMMED_LINES) {
            for from_end in 0..=after.min(MAX_TRIMMED_LINES) {
                if from_front + from_end >= self.old.len() {
                    continue;
                }
                // What stays in the old text stays in the new one.
                let of_new =
                    |off: usize, old: usize, new: usize| off.min(new.saturating_sub(old - off));
                let new_start = of_new(from_front, before, new_before);
                let new_end = self.new.len() - of_new(from_end, after, new_after);
                parts.push(Trimmed {
                    old: from_front..self.old.len() - from_end,
                    new: new_start..new_end.max(new_start),
                    at_line_start: from_front > 0,
                    at_line_end: from_end > 0 && from_end == after,
                });
            }
        }
        parts.sort_by_key(|part| part.old.start + self.old.len() - part.old.end);
        parts
    }

    fn find(&self, part: &Trimmed) -> Found {
        let old = &self.old[part.old.clone()];
        if old.is_empty() || old.iter().all(|m| m.c.is_whitespace()) {
            return Found::Nothing;
        }
        let places = self.places(old, part);
        match places.as_slice() {
            [] => Found::Nothing,
            [at] => self.placed(*at, part),
            several => Found::Several(several.iter().map(|at| self.file[*at].start).collect()),
        }
    }

    /// Returns the places of the old text's form in that of the file, without overlap.
    fn places(&self, old: &[Mapped], part: &Trimmed) -> Vec<usize> {
        let form: String = self.file.iter().map(|m| m.c).collect();
        let needle: String = old.iter().map(|m| m.c).collect();
        let mut places = Vec::new();
        let (mut byte, mut char_at) = (0, 0);
        for at in memchr::memmem::find_iter(form.as_bytes(), needle.as_bytes()) {
            char_at += form[byte..at].chars().count();
            byte = at;
            let (first, last) = (char_at, char_at + old.len() - 1);
            // One character of the file may be several of the form.
            let is_whole = (first == 0 || self.file[first - 1].end <= self.file[first].start)
                && self
                    .file
                    .get(last + 1)
                    .is_none_or(|next| self.file[last].end <= next.start);
            let starts_line = first == 0 || self.file[first - 1].c == '\n';
            let ends_line = self.file.get(last + 1).is_none_or(|m| m.c == '\n');
            if is_whole && (starts_line || !part.at_line_start) && (ends_line || !part.at_line_end)
            {
                places.push(first);
            }
        }
        places
    }

    /// The new text at the place, with its lines as deep as they belong.
    fn placed(&self, at: usize, part: &Trimmed) -> Found {
        let start = self.file[at].start;
        let line_start = self.text[..start].rfind('\n').map_or(0, |n| n + 1);
        let [old, new] = [
            (self.old_text, &self.old[part.old.clone()]),
            (self.new_text, &self.new[part.new.clone()]),
        ]
        .map(|(text, form)| match form {
            [] => "",
            [first, .., last] => &text[first.start..last.end],
            [one] => &text[one.start..one.end],
        });
        let unit = || Some(Lines::of(self.text).unit());
        match depth::behind(&self.text[line_start..start], old, new, unit) {
            Ok(placed) if placed == new => self.hit(at, part),
            Ok(placed) => {
                let form = normalized(&placed, self.level);
                let forms = Forms {
                    new_text: &placed,
                    new: &form,
                    ..*self
                };
                let part = Trimmed {
                    old: part.old.clone(),
                    new: 0..form.len(),
                    ..*part
                };
                forms.hit(at, &part)
            }
            Err(why) => Found::Unclear(start, why),
        }
    }

    fn hit(&self, at: usize, part: &Trimmed) -> Found {
        let old = &self.old[part.old.clone()];
        let new = &self.new[part.new.clone()];
        let place = &self.file[at..at + old.len()];
        let (start, mut end) = (place[0].start, place[place.len() - 1].end);
        let newline = line_end(self.text, start..end);
        let mut replacement = String::new();
        // Lines first, so that what is kept stays together; then words within what differs.
        let (old_lines, new_lines) = (
            pieces(old, |i| old[i - 1].c == '\n'),
            pieces(new, |i| new[i - 1].c == '\n'),
        );
        for op in diff(old, new, &old_lines, &new_lines) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = op
            {
                for n in 0..len {
                    let (i, j) = (&old_lines[old_index + n], &new_lines[new_index + n]);
                    self.keep_line(Same { old, place }, i, new, j, &mut replacement);
                }
                continue;
            }
            let (old_part, new_part) = (
                range_of(&old_lines[op.old_range()]),
                range_of(&new_lines[op.new_range()]),
            );
            let same = Same {
                old: &old[old_part.clone()],
                place: &place[old_part],
            };
            self.merge_words(same, &new[new_part], newline, &mut replacement);
        }
        // A text that is taken away whole takes its line end with it.
        if new.is_empty() && part.at_line_end {
            end = self.text[end..]
                .find('\n')
                .map_or(self.text.len(), |n| end + n + 1);
        }
        Found::One(EditMatch {
            start,
            end,
            replacement,
            tier: MatchTier::LineEnds,
        })
    }

    /// The file's own text for a part of the form.
    fn kept(&self, place: &[Mapped], range: Range<usize>) -> &str {
        if range.is_empty() {
            return "";
        }
        &self.text[place[range.start].start..place[range.end - 1].end]
    }

    /// A line that both texts have stays as the file has it, unless the edit is about the
    /// blanks at its end.
    fn keep_line(
        &self,
        Same { old, place }: Same<'_>,
        line: &Range<usize>,
        new: &[Mapped],
        new_line: &Range<usize>,
        out: &mut String,
    ) {
        let at = line.end - 1;
        let has_blanks = old[at].c == '\n' && at > 0;
        let of_old = has_blanks.then(|| blanks_before(self.old_text, old, at));
        let of_file = has_blanks.then(|| blanks_before(self.text, place, at));
        let of_new =
            (new_line.end > 1).then(|| blanks_before(self.new_text, new, new_line.end - 1));
        match (of_old, of_file, of_new) {
            (Some(before), Some(file), Some(after)) if before == file && before != after => {
                out.push_str(self.kept(place, line.start..at));
                out.push_str(after);
                out.push_str(self.kept(place, at..line.end));
            }
            (_, Some(file), _) if line.start == at => {
                // A blank line's blanks are before its first character.
                out.push_str(file);
                out.push_str(self.kept(place, line.clone()));
            }
            _ => out.push_str(self.kept(place, line.clone())),
        }
    }

    fn merge_words(
        &self,
        Same { old, place }: Same<'_>,
        new: &[Mapped],
        newline: &str,
        out: &mut String,
    ) {
        // What is one character in the file is kept or goes as one.
        let is_apart = |i: usize| place[i - 1].end <= place[i].start;
        let old_words = pieces(old, |i| ends_word(old[i - 1].c, old[i].c) && is_apart(i));
        let new_words = pieces(new, |i| ends_word(new[i - 1].c, new[i].c));
        // Blanks at the end of a line that changes are the new text's.
        for op in diff(old, new, &old_words, &new_words) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = op
            {
                for n in 0..len {
                    let word = &new_words[new_index + n];
                    if new[word.start].c == '\n' {
                        out.push_str(blanks_before(self.new_text, new, word.start));
                    }
                    out.push_str(self.kept(place, old_words[old_index + n].clone()));
                }
                continue;
            }
            let range = range_of(&new_words[op.new_range()]);
            if range.is_empty() {
                continue;
            }
            if new[range.start].c == '\n' {
                out.push_str(blanks_before(self.new_text, new, range.start));
            }
            let source = &self.new_text[new[range.start].start..new[range.end - 1].end];
            out.push_str(&source.replace("\r\n", "\n").replace('\n', newline));
        }
    }
}

/// Returns the text before a character that the form leaves out.
fn blanks_before<'t>(text: &'t str, form: &[Mapped], at: usize) -> &'t str {
    match at.checked_sub(1).and_then(|before| form.get(before)) {
        // None is left out within one character of the text that is several of the form.
        Some(before) => text.get(before.end..form[at].start).unwrap_or_default(),
        None => "",
    }
}

/// Cuts a form into pieces; `ends` tells whether a piece ends before a character.
fn pieces(form: &[Mapped], ends: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for i in 1..=form.len() {
        if i == form.len() || ends(i) {
            found.push(start..i);
            start = i;
        }
    }
    found
}

fn ends_word(before: char, after: char) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_blank = |c: char| c == ' ' || c == '\t';
    // Three dots may be one character in the file.
    let are_dots = before == '.' && after == '.';
    !(is_word(before) && is_word(after) || is_blank(before) && is_blank(after) || are_dots)
}

fn range_of(pieces: &[Range<usize>]) -> Range<usize> {
    match (pieces.first(), pieces.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        _ => 0..0,
    }
}

fn diff(
    old: &[Mapped],
    new: &[Mapped],
    old_pieces: &[Range<usize>],
    new_pieces: &[Range<usize>],
) -> Vec<DiffOp> {
    let texts = |form: &[Mapped], pieces: &[Range<usize>]| -> Vec<String> {
        let text = |piece: &Range<usize>| form[piece.clone()].iter().map(|m| m.c).collect();
        pieces.iter().map(text).collect()
    };
    let (old, new) = (texts(old, old_pieces), texts(new, new_pieces));
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let deadline = Some(Instant::now() + DIFF_TIME);
    diff_lines(Algorithm::Myers, &old, &new, deadline)
}
