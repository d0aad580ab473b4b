//! Decides what an edit means whose old text is in the file literally: it may still cut a word, lack
//! the indentation of its line, or have forgotten what the new text repeats.

use super::depth::{placed_literally, unit_of};
use super::write::MIN_FORGOTTEN_BYTES;
use super::{Refusal, cuts_word, whole_lines, without_mark};
use std::borrow::Cow;

pub(super) const TWICE: &str = "new_string repeats what stands beside it there, which would then be there \
                     twice";

/// Returns `new` as it is to replace `old`, which is at `line` between the texts `around`. If the
/// match begins behind the indentation of a line, the further lines of `new` may lack it. `text`
/// returns the whole file, unless that is too large.
///
/// # Errors
///
/// Returns a refusal if the edit may be meant otherwise, or was made before.
pub(crate) fn place<'n, 'f>(
    around: [&str; 2],
    line: usize,
    old: &str,
    new: &'n str,
    text: impl Fn() -> Option<Cow<'f, str>>,
) -> Result<Cow<'n, str>, Refusal> {
    let [before, behind] = around;
    let above = before.rsplit('\n').next().unwrap_or_default();
    let cuts_word = cuts_word(before, old, behind);
    // The old text is indented more than its place in the file. Then another line may be meant: one
    // that has this indentation and is equal but for a mark at its end.
    let is_deeper = !above.is_empty() && above.trim().is_empty() && old.starts_with([' ', '\t']);
    let is_twin = |line: &str| without_mark(line.trim_end()) == without_mark(old.trim_end());
    if (cuts_word || is_deeper)
        && let Some(text) = text()
        && let Some(other) = if cuts_word {
            whole_lines(&text, old)
        } else {
            text.lines().position(is_twin).map(|at| at + 1)
        }
    {
        return Err(Refusal::Several {
            reading: None,
            lines: vec![line, other],
        });
    }
    let unclear = |why| Refusal::Unclear {
        reading: None,
        line,
        why,
    };
    match repeated(around, old, new) {
        Some((_, true)) => Err(Refusal::Applied { line }),
        Some(_) => Err(unclear(TWICE)),
        None => {
            let unit = || unit_of(text()?.lines());
            let mut placed = placed_literally(above, old, new, unit).map_err(unclear)?;
            if above.trim().is_empty() && loses_line_end(old, new, behind) {
                placed
                    .to_mut()
                    .push_str(if old.ends_with("\r\n") { "\r\n" } else { "\n" });
            }
            Ok(placed)
        }
    }
}

/// Returns true if `new` lacks the line end that `old` has at its end, so that its last line would
/// be joined with the line `behind`. A model that wants to join two lines writes both; or else it
/// changes nothing but the line end, or puts a blank in its place.
pub(crate) fn loses_line_end(old: &str, new: &str, behind: &str) -> bool {
    let ends = |text: &str| text.ends_with(char::is_whitespace);
    old.ends_with('\n')
        && !new.is_empty()
        && !ends(new)
        && !behind.is_empty()
        && old.trim_end() != new
}

/// Returns what would be in the file twice if `new` replaced `old`, which is between the texts
/// `around`; and whether that is all that the edit adds, so that it was probably made before.
pub(crate) fn repeated(around: [&str; 2], old: &str, new: &str) -> Option<(String, bool)> {
    let lf = |text: &str| text.replace("\r\n", "\n");
    let ([before, behind], [old, new]) = (around.map(lf), [old, new].map(lf));
    for (at, _) in new.match_indices(&old) {
        let added = [&new[..at], &new[at + old.len()..]];
        let text = added
            .map(str::trim)
            .into_iter()
            .find(|text| !text.is_empty());
        let is_there = before.ends_with(added[0]) && behind.starts_with(added[1]);
        // An edit that puts brackets around a text repeats nothing, even if the text beside it has
        // such brackets, too. So what is added on one line counts only if its brackets are in
        // pairs.
        let says_enough = new.contains('\n') || added.iter().all(|text| is_balanced(text));
        if let Some(text) = text.filter(|_| is_there && says_enough) {
            return Some((text.to_owned(), true));
        }
    }
    let is_end = |text: &str, end: &str| text.trim_end().ends_with(end.trim());
    let is_start = |text: &str, start: &str| text.trim_start().starts_with(start.trim());
    let is_forgotten = |line: &str, [old, new]: [&str; 2]| {
        let [line, old, new] = [line, old, new].map(str::trim_end);
        line.trim().len() >= MIN_FORGOTTEN_BYTES && line == new && line != old
    };
    let mut above = before.rsplit('\n');
    let mut below = behind.split('\n');
    let [head, rest] = [above.next(), below.next()].map(Option::unwrap_or_default);
    let last = [&old, &new].map(|text| text.lines().next_back().unwrap_or_default());
    let first = [&old, &new].map(|text| format!("{head}{}", text.lines().next().unwrap_or("")));
    let is_line_end = old.ends_with('\n') || rest.trim().is_empty();
    let below = if old.ends_with('\n') {
        Some(rest)
    } else {
        below.next()
    };
    let (is_line_start, above) = (head.trim().is_empty(), above.next());
    // The new text probably repeats what stands beside the old text if it begins or ends with that
    // and has as many open brackets and quotes as both together.
    let is_part = |part: &str, is: &dyn Fn(&str, &str) -> bool| {
        is(&new, part) && !is(&old, part) && balance(&[&*old, part].concat()) == balance(&new)
    };
    let [old_first, new_first] = &first;
    // The new text probably repeats the rest of a line if it has the whole line, of which the old
    // text quotes only a part.
    let has_whole = |parts: [[&str; 3]; 2], end: fn(&str) -> Option<&str>| {
        let mut texts = parts.iter().map(|parts| parts.concat());
        texts.any(|text| end(text.trim()) == end(new.trim()))
    };
    let whole = [head, &old, rest];
    let found = below
        .filter(|line| is_line_end && is_forgotten(line, last))
        .or(above.filter(|line| is_line_start && is_forgotten(line, [old_first, new_first])))
        .or(Some(rest).filter(|rest| {
            let has_line = || has_whole([["", &old, rest], whole], |text| text.lines().next_back());
            !is_line_end && (is_part(rest, &is_end) || has_line())
        }))
        .or(Some(head).filter(|head| {
            let is_cut = head.ends_with(char::is_whitespace) || !is_balanced(head);
            let has_line = || has_whole([[head, &old, ""], whole], |text| text.lines().next());
            !is_line_start && (is_cut && is_part(head, &is_start) || has_line())
        }));
    found.map(|text| (text.trim().to_owned(), false))
}

/// Returns by how much more often each opening bracket is in a text than its closing one, and
/// whether quotes are left open.
fn balance(text: &str) -> [isize; 7] {
    let count = |c: char| text.matches(c).count().cast_signed();
    let open = |quote: char| count(quote) % 2;
    let more = |[open, close]: [char; 2]| count(open) - count(close);
    let [round, square, curly, angle] = [['(', ')'], ['[', ']'], ['{', '}'], ['<', '>']].map(more);
    let [double, single, back] = ['"', '\'', '`'].map(open);
    [round, square, curly, angle, double, single, back]
}

fn is_balanced(text: &str) -> bool {
    balance(text) == [0; 7]
}
