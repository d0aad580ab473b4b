//! The depth of a new text's lines in the file.
//!
//! Where the old text is indented otherwise than the file, the new text does not say it either:
//! each of its lines has to be put where it belongs. Several readings may be possible, for
//! example that all lines are shifted by the same amount, or that the new text has the file's
//! indentation already. A line is placed only where all readings that fit agree; in all other
//! cases its depth is not known, and the edit is refused.

use super::lines::indentation;
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use std::collections::{BTreeSet, HashMap};

/// Reason for refusing an edit whose new lines can't be placed.
const UNCLEAR: &str = "the indentation of its new lines is not clear";

/// Units by which models and files indent.
const UNITS: [&str; 5] = ["\t", "    ", "  ", "   ", "        "];

/// The change from an indentation of the model to that of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shift {
    /// Is the same.
    None,
    /// The file has this more at the front.
    Add(String),
    /// The file has this less at the front.
    Remove(String),
    /// The model counts in one unit, the file in another, and begins deeper by that many levels.
    Convert {
        from: String,
        to: String,
        deeper: isize,
    },
}

impl Shift {
    /// The one way in which each first becomes its second. `file_unit` is what the file counts
    /// in.
    pub(super) fn of(pairs: &[(&str, &str)], file_unit: &str) -> Option<Self> {
        let (first_old, first_file) = pairs.first()?;
        if pairs.iter().all(|(old, file)| old == file) {
            return Some(Shift::None);
        }
        if let Some(more) = first_file.strip_suffix(first_old) {
            let fits = |(old, file): &(&str, &str)| *file == format!("{more}{old}");
            if pairs.iter().all(fits) {
                return Some(Shift::Add(more.to_owned()));
            }
        }
        if let Some(less) = first_old.strip_suffix(first_file) {
            let fits = |(old, file): &(&str, &str)| *old == format!("{less}{file}");
            if pairs.iter().all(fits) {
                return Some(Shift::Remove(less.to_owned()));
            }
        }
        let tos = || std::iter::once(file_unit).chain(UNITS);
        UNITS
            .into_iter()
            .flat_map(|from| tos().map(move |to| (from, to)))
            .filter_map(|(from, to)| Self::convert(pairs, from, to))
            .min_by_key(|(deeper, _)| deeper.unsigned_abs())
            .map(|(_, shift)| shift)
    }

    fn convert(pairs: &[(&str, &str)], from: &str, to: &str) -> Option<(isize, Self)> {
        let mut found = None;
        for (old, file) in pairs {
            let deeper = levels(file, to)? as isize - levels(old, from)? as isize;
            if *found.get_or_insert(deeper) != deeper {
                return None;
            }
        }
        let deeper = found?;
        let shift = Shift::Convert {
            from: from.to_owned(),
            to: to.to_owned(),
            deeper,
        };
        Some((deeper, shift))
    }

    /// Changes an indentation of the model into that of the file; returns `None` if it is not
    /// clear.
    fn apply(&self, indent: &str) -> Option<String> {
        Some(match self {
            Shift::None => indent.to_owned(),
            Shift::Add(more) => format!("{more}{indent}"),
            Shift::Remove(less) => indent.strip_prefix(&**less)?.to_owned(),
            Shift::Convert { from, to, deeper } => {
                // What is left over aligns something, and does so in blanks.
                let level = indent.len() / from.len();
                let (full, rest) = indent.split_at_checked(level * from.len())?;
                if !rest.is_empty() && levels(rest, to).is_some() {
                    return None;
                }
                let level = levels(full, from)? as isize + deeper;
                format!("{}{rest}", to.repeat(usize::try_from(level).ok()?))
            }
        })
    }
}

/// Returns the number of units in an indentation that consists of them.
fn levels(indent: &str, unit: &str) -> Option<usize> {
    let n = indent.len() / unit.len();
    (unit.repeat(n) == indent).then_some(n)
}

/// Returns the unit of the lines' indentation: a tab, or the commonest step in blanks; `None` if no
/// line is indented more than another.
pub(super) fn unit_of<'t>(lines: impl IntoIterator<Item = &'t str>) -> Option<String> {
    let mut tabs = 0_usize;
    let mut steps = [0_usize; 9];
    let mut before = None;
    for line in lines {
        if line.is_empty() {
            continue;
        }
        let indent = indentation(line);
        if indent.starts_with('\t') {
            tabs += 1;
        }
        let step = indent.len().abs_diff(before.unwrap_or(indent.len()));
        if !indent.contains('\t') && (2..=8).contains(&step) {
            steps[step] += 1;
        }
        before = Some(indent.len());
    }
    let (best, count) = steps
        .iter()
        .enumerate()
        .max_by_key(|(step, count)| (**count, usize::MAX - step))?;
    if tabs > 0 && tabs >= *count {
        Some("\t".to_owned())
    } else {
        (*count > 0).then(|| " ".repeat(best))
    }
}

/// A line of the old text that says something: its number, its indentation, and the one of its
/// line in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) at: usize,
    pub(super) old: &'a str,
    pub(super) file: &'a str,
}

/// Both texts by lines, how they differ, and where the old one is.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    pub(super) old: &'a [&'a str],
    pub(super) new: &'a [&'a str],
    pub(super) ops: Vec<DiffOp>,
    pub(super) pairs: &'a [Pair<'a>],
    /// Unit of the file's indentation.
    pub(super) unit: &'a str,
}

/// A reading of the new text's indentation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reading<'a> {
    /// As that of the old text, which becomes the file's so.
    Shifted(Shift),
    /// Every line but the first has the file's indentation already.
    ButFirst(&'a str),
    /// Each indentation of the old text always becomes the same one of the file.
    Table(HashMap<&'a str, &'a str>),
    /// Each line takes the place of one of the old text.
    Paired,
}

/// The new content in the place of the old text.
#[derive(Debug)]
pub(super) struct Placed {
    /// Differences between the old and the new text.
    pub(super) ops: Vec<DiffOp>,
    /// The lines that only the new text has, by number, as the file is to have them.
    pub(super) lines: HashMap<usize, String>,
}

/// Computes the new content in the place of the old text.
///
/// # Errors
///
/// Where the depth of a line is not known.
pub(super) fn placed(mut texts: Texts<'_>) -> Result<Placed, &'static str> {
    if texts.pairs.iter().any(|pair| pair.old != pair.file) {
        let uniform = Shift::of(&texts.indents(), texts.unit);
        if !texts
            .has_files_indentation(uniform.as_ref())
            .ok_or(UNCLEAR)?
        {
            let lines = texts.shifted(uniform)?;
            let ops = texts.ops;
            return Ok(Placed { ops, lines });
        }
        // A line may be one of the old text that belongs elsewhere in the file.
        let kept_before = texts.kept();
        texts.ops = texts.ops_with_files_indentation();
        let kept = texts.kept();
        if uniform.is_none() && kept_before.keys().any(|i| !kept.contains_key(i)) {
            return Err(UNCLEAR);
        }
    }
    let lines = texts.changed().into_iter();
    let lines = lines.map(|i| (i, texts.new[i].to_owned())).collect();
    let ops = texts.ops;
    Ok(Placed { ops, lines })
}

impl<'a> Texts<'a> {
    /// The lines that only the new text has.
    fn changed(&self) -> Vec<usize> {
        let ops = self.ops.iter();
        ops.filter(|op| !matches!(op, DiffOp::Equal { .. }))
            .flat_map(DiffOp::new_range)
            .collect()
    }

    /// The lines of the new text that the old one has, and which one each is.
    fn kept(&self) -> HashMap<usize, usize> {
        let ops = self.ops.iter();
        ops.filter(|op| matches!(op, DiffOp::Equal { .. }))
            .flat_map(|op| op.new_range().zip(op.old_range()))
            .collect()
    }

    /// Compares the new text with the old one as the file indents it.
    fn ops_with_files_indentation(&self) -> Vec<DiffOp> {
        let mut old: Vec<String> = self.old.iter().map(|&line| line.to_owned()).collect();
        for pair in self.pairs {
            old[pair.at].replace_range(..pair.old.len(), pair.file);
        }
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        diff_lines(Algorithm::Patience, &old, self.new, None)
    }

    /// The lines that only the new text has where it is not indented as the file is.
    fn shifted(&self, uniform: Option<Shift>) -> Result<HashMap<usize, String>, &'static str> {
        let changed = self.changed();
        // Where the old text has one depth only, a lower one is not known.
        let depths: BTreeSet<&str> = self.pairs.iter().map(|pair| pair.old).collect();
        let is_lower = |i: &usize| {
            let line = self.new[*i];
            !line.is_empty() && depths.iter().all(|depth| !line.starts_with(depth))
        };
        if depths.len() == 1 && changed.iter().any(is_lower) {
            return Err(UNCLEAR);
        }
        let readings = self.readings(uniform, &changed);
        let placed = readings
            .iter()
            .filter_map(|reading| self.placed_by(reading, &changed));
        let mut fitting = placed.filter(|lines| self.is_nested(lines));
        let lines = fitting.next().ok_or(UNCLEAR)?;
        if fitting.all(|other| other == lines) {
            Ok(lines)
        } else {
            Err(UNCLEAR)
        }
    }

    fn indents(&self) -> Vec<(&'a str, &'a str)> {
        self.pairs.iter().map(|p| (p.old, p.file)).collect()
    }

    /// The first line of the old text, where it alone may be indented otherwise than the file.
    fn odd_first(&self) -> Option<Pair<'a>> {
        let (first, rest) = self.pairs.split_first()?;
        rest.iter()
            .all(|pair| pair.old == pair.file)
            .then_some(*first)
    }

    /// Returns true if the new text is indented as the file is, and not as the old text; `None` if
    /// that is not clear.
    fn has_files_indentation(&self, uniform: Option<&Shift>) -> Option<bool> {
        let filled = || self.new.iter().copied().filter(|line| !line.is_empty());
        let of_new = common(filled().map(indentation));
        let of_old = common(self.pairs.iter().map(|pair| pair.old));
        let of_file = common(self.pairs.iter().map(|pair| pair.file));
        // Lines that both texts have, and that tell one indentation from the other.
        let (mut as_old, mut as_file, mut other) = (0, 0, 0);
        let (old_by_content, new_by_content) = (by_content(self.old), by_content(self.new));
        for pair in self.pairs.iter().filter(|pair| pair.old != pair.file) {
            let content = self.old[pair.at].trim_start();
            let there = new_by_content.get(content).copied().flatten();
            let is_only_one = old_by_content.get(content).is_some_and(Option::is_some);
            if let (Some(line), true) = (there, is_only_one) {
                match indentation(line) {
                    indent if indent == pair.old => as_old += 1,
                    indent if indent == pair.file => as_file += 1,
                    _ => other += 1,
                }
            }
        }
        if filled().next().is_none() {
            return Some(false);
        }
        if uniform.is_none() {
            let first = filled().next().map(indentation).unwrap_or_default();
            let is_odd = |pair: Pair<'_>| !first.starts_with(pair.file);
            let is_files = as_file > 0
                && as_old + other == 0
                && of_new.starts_with(of_file)
                && !self.odd_first().is_some_and(is_odd);
            return Some(is_files);
        }
        if of_file != of_old {
            return if of_new == of_old || as_old > 0 {
                Some(false)
            } else {
                (of_new == of_file).then_some(true)
            };
        }
        // Both begin at the same depth, and count in other units.
        let units = [
            unit_of(filled()),
            unit_of(self.old.iter().copied()),
            Some(self.unit.to_owned()),
        ];
        let [of_new, of_old, of_file] = units;
        match (as_old, as_file) {
            (0, 0) => Some(of_new.is_some() && of_new == of_file && of_new != of_old),
            (0, _) if of_new.is_some_and(|unit| Some(unit) != of_file) => Some(false),
            (0, _) => (other == 0).then_some(true),
            (_, 0) => Some(false),
            _ => None,
        }
    }

    /// The lines of the new text as the file is to have them, by one reading; `None` where it
    /// does not tell.
    fn placed_by(
        &self,
        reading: &Reading<'_>,
        changed: &[usize],
    ) -> Option<HashMap<usize, String>> {
        let first = self.new.iter().position(|line| !line.is_empty());
        let mut lines = HashMap::new();
        for i in changed {
            let line = self.new[*i];
            let indent = indentation(line);
            let file = match reading {
                _ if line.is_empty() => String::new(),
                Reading::Shifted(shift) => shift.apply(indent)?,
                Reading::ButFirst(file) if first == Some(*i) => {
                    self.takes_place_of_first(*i).then(|| (*file).to_owned())?
                }
                Reading::ButFirst(_) if self.pairs.len() > 1 => indent.to_owned(),
                Reading::ButFirst(_) => self.unit.repeat(levels(indent, self.unit)?),
                Reading::Table(known) => (*known.get(indent)?).to_owned(),
                Reading::Paired => self.partners_indentation(*i)?.to_owned(),
            };
            lines.insert(*i, file + &line[indent.len()..]);
        }
        Some(lines)
    }

    /// Returns true if the first line of the new text takes the place of the old one's first.
    fn takes_place_of_first(&self, i: usize) -> bool {
        let content = self.new[i].trim_start();
        let mut others = self.old.iter().skip(1);
        let of_others = others.any(|line| line.trim_start() == content);
        let op = self.ops.iter().find(|op| op.new_range().contains(&i));
        !of_others && op.is_some_and(|op| op.old_range().len() <= op.new_range().len())
    }

    /// Returns the readings that fit the place of the old text.
    fn readings(&self, uniform: Option<Shift>, changed: &[usize]) -> Vec<Reading<'a>> {
        let pairs = self.indents();
        let mut readings = Vec::new();
        let lines = self.old.iter().chain(self.new).copied();
        let model_unit = unit_of(lines);
        match uniform {
            Some(Shift::None) | None => {}
            Some(shift @ (Shift::Add(_) | Shift::Remove(_))) => {
                readings.push(Reading::Shifted(shift));
                // One depth alone does not tell how wide a step is.
                if let Some(own) = model_unit.filter(|own| own != self.unit)
                    && let Some((_, shift)) = Shift::convert(&pairs, &own, self.unit)
                {
                    readings.push(Reading::Shifted(shift));
                }
            }
            Some(Shift::Convert { from, to, deeper }) => {
                let own = model_unit.and_then(|own| Shift::convert(&pairs, &own, self.unit));
                let are_whole = changed
                    .iter()
                    .all(|i| levels(indentation(self.new[*i]), &from).is_some());
                match own {
                    Some((_, own)) => readings.push(Reading::Shifted(own)),
                    None if are_whole => {
                        readings.push(Reading::Shifted(Shift::Convert { from, to, deeper }));
                    }
                    None => {}
                }
            }
        }
        let odd_one = self.odd_first();
        readings.extend(odd_one.map(|first| Reading::ButFirst(first.file)));
        let known: HashMap<&str, &str> = pairs.iter().copied().collect();
        let is_function = pairs.iter().all(|(old, file)| known[old] == *file);
        let files: BTreeSet<&str> = known.values().copied().collect();
        if is_function && files.len() == known.len() && (odd_one.is_none() || pairs.len() == 1) {
            readings.push(Reading::Table(known));
        } else if !is_function {
            readings.push(Reading::Paired);
        }
        readings
    }

    /// The indentation of the one line that a new line takes the place of.
    fn partners_indentation(&self, i: usize) -> Option<&'a str> {
        let op = self.ops.iter().find(|op| op.new_range().contains(&i))?;
        let filled = |lines: &[&'a str], range: std::ops::Range<usize>| -> Vec<usize> {
            range.filter(|n| !lines[*n].is_empty()).collect()
        };
        let old = filled(self.old, op.old_range());
        let new = filled(self.new, op.new_range());
        if old.len() != new.len() {
            return None;
        }
        let alike = |(a, b): (&usize, &usize)| {
            let (a, b) = (self.old[*a], self.new[*b]);
            indentation(a) == indentation(b) && Role::of(a) == Role::of(b)
        };
        if !old.iter().zip(&new).all(alike) {
            return None;
        }
        let partner = old[new.iter().position(|n| *n == i)?];
        let pair = self.pairs.iter().find(|pair| pair.at == partner)?;
        Some(pair.file)
    }

    /// Returns true if the lines after one that opens a block are deeper than it, and by whole
    /// steps, wherever one of the two is new: a text all of whose lines are at one depth does not
    /// tell.
    fn is_nested(&self, placed: &HashMap<usize, String>) -> bool {
        let kept = self.kept();
        let by_line: HashMap<usize, &Pair<'_>> = self.pairs.iter().map(|p| (p.at, p)).collect();
        let files = |old: usize| by_line.get(&old).copied();
        let depth = |i: usize| -> Option<&str> {
            match placed.get(&i) {
                Some(line) => Some(indentation(line)),
                None => files(*kept.get(&i)?).map(|pair| pair.file),
            }
        };
        let filled: Vec<usize> = (0..self.new.len())
            .filter(|i| !self.new[*i].is_empty())
            .collect();
        filled.windows(2).all(|two| {
            let (Some(above), Some(below)) = (depth(two[0]), depth(two[1])) else {
                return true;
            };
            let both_stay = two.iter().all(|i| kept.contains_key(i));
            // In the file the block may begin at the same depth, as `case` does behind `switch`.
            let is_flat = kept.get(&two[0]).is_some_and(|old| {
                let next = (old + 1..self.old.len()).find_map(files);
                next.is_some_and(|next| !is_deeper(next.file, above))
            });
            if both_stay || is_flat {
                return true;
            }
            let by = below.strip_prefix(above).filter(|by| !by.is_empty());
            match opening(self.new[two[0]]) {
                Some(':' | '{') if wants_deeper(self.new[two[0]], self.new[two[1]]) => {
                    by.is_some_and(|by| levels(by, self.unit).is_some())
                }
                Some(_) => by.is_some() || !wants_deeper(self.new[two[0]], self.new[two[1]]),
                // One line alone does not tell a step from a slip.
                None => self.pairs.len() > 1 || by.is_none(),
            }
        })
    }
}

/// The lines by what they say without their indentation; `None` where several say it.
fn by_content<'t>(lines: &[&'t str]) -> HashMap<&'t str, Option<&'t str>> {
    let mut found = HashMap::new();
    for line in lines {
        let entry = found.entry(line.trim_start());
        entry.and_modify(|one| *one = None).or_insert(Some(*line));
    }
    found
}

fn is_deeper(indent: &str, than: &str) -> bool {
    indent.len() > than.len() && indent.starts_with(than)
}

/// Returns the common beginning of all indentations.
fn common<'t>(mut all: impl Iterator<Item = &'t str>) -> &'t str {
    let first = all.next().unwrap_or_default();
    all.fold(first, |common, indent| {
        let same = common.bytes().zip(indent.bytes());
        &common[..same.take_while(|(a, b)| a == b).count()]
    })
}

/// The effect of a line on the depth of those around it.
#[derive(Debug, PartialEq, Eq)]
struct Role<'t> {
    /// With what it opens a block.
    opens: Option<char>,
    /// The word or bracket by which it goes on or ends one.
    ends: Option<&'t str>,
}

impl<'t> Role<'t> {
    fn of(line: &'t str) -> Self {
        let line = line.trim_start();
        let word_end = line.find(|c: char| !c.is_alphanumeric());
        let first = match word_end {
            Some(0) => line.get(..1).unwrap_or_default(),
            Some(end) => &line[..end],
            None => line,
        };
        let is_end = [
            "}", ")", "]", "-", "*", "<", "else", "elif", "elsif", "except", "finally", "catch",
            "case", "default", "end", "fi", "done", "esac", "when", "rescue", "ensure",
        ]
        .contains(&first);
        Self {
            opens: opening(line),
            ends: is_end.then_some(first),
        }
    }
}

/// With what a line opens a block, if it does.
fn opening(line: &str) -> Option<char> {
    let code = line.split(" #").next().unwrap_or(line);
    let code = code.split(" //").next().unwrap_or(code).trim_end();
    let last = code.chars().next_back()?;
    let is_tag = last == '>'
        && code.trim_start().starts_with('<')
        && !code.contains("</")
        && !code.ends_with("/>");
    (":{([".contains(last) || is_tag).then_some(last)
}

/// Returns true if a line must be deeper than the one above it.
fn wants_deeper(above: &str, below: &str) -> bool {
    let below = below.trim_start();
    let is_label = [
        "case ",
        "default",
        "public",
        "private",
        "protected",
        "- ",
        "signals",
    ];
    let starts = |line: &str| is_label.iter().any(|word| line.starts_with(word));
    let is_end = below.starts_with(['}', ')', ']']) || below.starts_with("</");
    opening(above).is_some() && !is_end && !starts(above.trim_start()) && !starts(below)
}

/// The new text for a place that begins within a line, as it has to be written there.
/// `before` is what comes before the place on its line, `file_unit` what the file counts in.
///
/// The first line of the old text lacks indentation that the file has. Where the old text has
/// further lines, they have the file's; where it has none, the further lines of the new text
/// may have the file's indentation, or that of the first one.
///
/// # Errors
///
/// Where the depth of a line is not known.
pub(crate) fn behind<'t>(
    before: &str,
    old: &str,
    new: &'t str,
    file_unit: impl FnOnce() -> Option<String>,
) -> Result<std::borrow::Cow<'t, str>, &'static str> {
    use std::borrow::Cow;
    let prefix = indentation(before);
    let bare = |line: &'_ str| line.trim_end_matches(['\r', ' ', '\t']).len();
    let lines_of = |text: &'_ str| text.split('\n').map(bare).collect::<Vec<usize>>();
    let (old_sizes, new_sizes) = (lines_of(old), lines_of(new));
    let cut = |text: &'t str, sizes: &[usize]| -> Vec<&'t str> {
        text.split('\n').zip(sizes).map(|(l, n)| &l[..*n]).collect()
    };
    let new_lines = cut(new, &new_sizes);
    let old_lines: Vec<&str> = old
        .split('\n')
        .zip(&old_sizes)
        .map(|(line, n)| &line[..*n])
        .collect();
    let filled = |line: &&&str| !line.is_empty();
    let old_rest: Vec<&str> = old_lines[1..].iter().filter(filled).copied().collect();
    let rest: Vec<&str> = new_lines[1..].iter().filter(filled).copied().collect();
    let (first, own) = (new_lines[0], indentation(old_lines[0]));
    if prefix.is_empty() || old_lines[0].is_empty() || new.trim().is_empty() {
        return Ok(Cow::Borrowed(new));
    }
    let all_start_with = |indent: &str| rest.iter().all(|line| line.starts_with(indent));
    if prefix.len() < before.len() {
        // Behind other text: what is literal is meant, but for lines that would leave its block.
        let is_known = !old_rest.is_empty() || all_start_with(prefix);
        return is_known.then_some(Cow::Borrowed(new)).ok_or(UNCLEAR);
    }
    let whole = format!("{prefix}{own}");
    let indent = indentation(first);
    let trimmed = |lines: &[&str]| -> Vec<String> {
        lines
            .iter()
            .map(|line| line.trim_start().to_owned())
            .collect()
    };
    // An edit of nothing but the indentation says what it wants.
    if trimmed(&old_lines) == trimmed(&new_lines) {
        return Ok(Cow::Borrowed(new));
    }
    let without_doubled = || Cow::Borrowed(&new[prefix.len()..]);
    if !old_rest.is_empty() {
        let is_doubled = is_first_doubled(old_lines[0], first, &old_rest, &rest, prefix)?;
        if is_doubled {
            return Ok(without_doubled());
        }
        let is_as_before = first.is_empty() || indent == own;
        if is_as_before && !are_further_known(&old_lines[1..], &new_lines[1..], own, &whole) {
            return Err(UNCLEAR);
        }
        return Ok(Cow::Borrowed(new));
    }
    if indent == whole && all_start_with(&whole) {
        return Ok(without_doubled());
    }
    if indent != own && !first.is_empty() {
        return Err(UNCLEAR);
    }
    let Some(below) = rest.first() else {
        return Ok(Cow::Borrowed(new));
    };
    if first.is_empty() {
        return all_start_with(&whole)
            .then_some(Cow::Borrowed(new))
            .ok_or(UNCLEAR);
    }
    let (opens, below) = (wants_deeper(first, below), indentation(below));
    let is_literal = !opens && all_start_with(&whole);
    let is_shifted = opens
        && is_deeper(below, own)
        && !is_deeper(below, &whole)
        && all_start_with(own)
        && unit_of(new_lines.iter().copied()) == file_unit();
    if is_literal && is_deeper(below, own) {
        return Ok(Cow::Borrowed(new));
    }
    let nested = new_lines.iter().filter(filled).collect::<Vec<_>>();
    let is_nested = nested.windows(2).all(|two| {
        !wants_deeper(two[0], two[1]) || is_deeper(indentation(two[1]), indentation(two[0]))
    });
    // A further line ends the block at the depth that the first one has in the file.
    let ends_block = opens
        && is_deeper(below, &whole)
        && all_start_with(&whole)
        && rest.iter().any(|line| indentation(line) == whole);
    if ends_block && is_nested {
        return Ok(Cow::Borrowed(new));
    }
    if !is_shifted || !is_nested {
        return Err(UNCLEAR);
    }
    let mut shifted = String::with_capacity(new.len() + prefix.len() * new_lines.len());
    for (i, line) in new.split('\n').enumerate() {
        if i > 0 {
            shifted.push('\n');
            shifted.push_str(if new_lines[i].is_empty() { "" } else { prefix });
        }
        shifted.push_str(line);
    }
    Ok(Cow::Owned(shifted))
}

/// Returns true if the depth of the new text's further lines that the old one does not have is
/// clear: at least that of the first line in the file, which lacks indentation in both texts, or
/// that of a line beside them. Directly behind the first line, one that is indented as that line is
/// may belong to it or to the lines below.
fn are_further_known(old: &[&str], new: &[&str], own: &str, whole: &str) -> bool {
    let ops = diff_lines(Algorithm::Patience, old, new, None);
    let mut is_kept = vec![false; new.len()];
    for op in &ops {
        is_kept[op.new_range()].fill(matches!(op, DiffOp::Equal { .. }));
    }
    let is_filled = |i: &usize| !new[*i].is_empty();
    let filled = |lines: &[&'_ str]| lines.iter().filter(|line| !line.is_empty()).count();
    ops.iter().all(|op| {
        let place = op.new_range();
        if matches!(op, DiffOp::Equal { .. }) {
            return true;
        }
        let removed = &old[op.old_range()];
        let is_behind_first = place.start == 0 && filled(&new[place.clone()]) > filled(removed);
        let above = (0..place.start).rev().find(is_filled);
        let below = (place.end..new.len()).find(is_filled);
        let beside = [above, below].into_iter().flatten();
        let depths: Vec<&str> = beside
            .filter(|i| is_kept[*i])
            .map(|i| new[i])
            .chain(removed.iter().copied().filter(|line| !line.is_empty()))
            .map(indentation)
            .collect();
        place.filter(is_filled).all(|i| {
            let is_beside = depths.iter().any(|depth| new[i].starts_with(depth));
            let is_as_first = is_behind_first && indentation(new[i]) == own;
            new[i].starts_with(whole) || is_beside && !is_as_first
        })
    })
}

/// Returns true if the first line of the new text, which takes the place of one that lacks
/// `prefix`, has the file's indentation, so that it would be there twice. `old` and `new` are the
/// first lines of the texts, `old_rest` and `rest` the others.
///
/// # Errors
///
/// Where that is not clear.
fn is_first_doubled(
    old: &str,
    new: &str,
    old_rest: &[&str],
    rest: &[&str],
    prefix: &str,
) -> Result<bool, &'static str> {
    let (indent, own) = (indentation(new), indentation(old));
    let whole = format!("{prefix}{own}");
    let is_kept = |a: &str, b: &str| a.trim_start() == b.trim_start();
    // The first line, where it stays, must not be a further one without its indentation, nor the
    // other way round.
    let mut moved = rest.iter().filter(|line| is_kept(line, old));
    if moved.any(|line| !line.starts_with(&whole)) || old_rest.iter().any(|line| is_kept(line, new))
    {
        return Err(UNCLEAR);
    }
    let is_nested = |first_indent: &str| {
        rest.first().is_none_or(|below| {
            !wants_deeper(new, below) || is_deeper(indentation(below), first_indent)
        })
    };
    if new.is_empty() || indent == own && (is_kept(new, old) || is_nested(&whole)) {
        return Ok(false);
    }
    let stays = old_rest.iter().any(|line| rest.contains(line));
    let common_of = |lines: &[&str]| common(lines.iter().map(|line| indentation(line))).len();
    let is_deeper_as_a_whole = is_kept(new, old)
        && common_of(rest) == indent.len() + common_of(old_rest)
        && is_nested(&format!("{prefix}{indent}"));
    let all_start = rest.iter().all(|line| line.starts_with(&whole));
    if indent != whole || !is_nested(&whole) {
        Err(UNCLEAR)
    } else if stays || rest.is_empty() {
        Ok(true)
    } else if is_deeper_as_a_whole {
        Ok(false)
    } else if all_start {
        Ok(true)
    } else {
        Err(UNCLEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::{Shift, behind};

    #[test]
    fn one_way_fits_all_lines_or_none_does() {
        let of = |pairs: &[(&str, &str)]| Shift::of(pairs, "\t");
        assert_eq!(
            of(&[("", "  "), ("  ", "    ")]),
            Some(Shift::Add("  ".into()))
        );
        assert_eq!(
            of(&[("    ", "\t"), ("", "")])
                .expect("one")
                .apply("        "),
            Some("\t\t".into())
        );
        assert_eq!(
            of(&[("  ", "\t\t"), ("    ", "\t\t\t")])
                .expect("one")
                .apply("      "),
            Some("\t\t\t\t".into())
        );
        assert_eq!(
            of(&[("  ", ""), ("    ", "  ")]).expect("one").apply(""),
            None
        );
        assert_eq!(of(&[("", "  "), ("", "    ")]), None);
    }

    #[test]
    fn a_text_behind_its_indentation_is_placed_or_refused() {
        let cases = [
            // Not behind an indentation.
            ("", "a()", "b()\nc()", Some("b()\nc()")),
            ("    ", "a()", "b()", Some("b()")),
            // The further lines have the file's indentation, or that of the first.
            ("    ", "a()", "a()\n    b()", Some("a()\n    b()")),
            ("    ", "a()", "if x:\n    a()", Some("if x:\n        a()")),
            (
                "        ",
                "a()",
                "if x:\n    a()\nb()",
                Some("if x:\n            a()\n        b()"),
            ),
            // It can't be told.
            ("    ", "a()", "a()\nb()", None),
            ("    ", "a()", "if x:\na()", None),
            ("    ", "a()", "return 1\n\n\ndef b():\n    pass", None),
            ("    ", "a()", "if x:\n  a()", None),
            ("    ", "a()", "\na()", None),
            ("    ", "a()", "  b()", None),
            ("    x = ", "a()", "a()\nb()", None),
            ("    x = ", "a()", "a()\n    b()", Some("a()\n    b()")),
            // The first line has the file's indentation already.
            ("    ", "a()", "    b()", Some("b()")),
            ("    ", "a()", "    b()\n    c()", Some("b()\n    c()")),
            (
                "    ",
                "a:\n        b()",
                "    c:\n        d()",
                Some("c:\n        d()"),
            ),
            ("    ", "a:\n        b()", "c:\n        d()\ne()", None),
            // A further line that is new is as deep as the first in the file, or as one beside it.
            ("    ", "a()\nx()", "a()\nb()\nx()", None),
            (
                "        ",
                "a()\n        c()",
                "a()\nb()\n        c()",
                None,
            ),
            ("  ", "  a()\nx()", "  a()\n  b()\nx()", None),
            ("    ", "a()\nx()", "a()\ny()", Some("a()\ny()")),
            (
                "    ",
                "a()\nx()",
                "a()\n    b()\nx()",
                Some("a()\n    b()\nx()"),
            ),
            (
                "    ",
                "a()\n    c()\nx()",
                "a()\n    c()\nb()\nx()",
                Some("a()\n    c()\nb()\nx()"),
            ),
            (
                "    ",
                "a()\n\ndef g():",
                "a()\n\ndef h():\n    pass\n\ndef g():",
                Some("a()\n\ndef h():\n    pass\n\ndef g():"),
            ),
            // The block that the first line opens ends at the depth which that has in the file.
            (
                "    ",
                "g(a)",
                "g(a, {\n        b: 1,\n    })",
                Some("g(a, {\n        b: 1,\n    })"),
            ),
            (
                "    ",
                "return x",
                "if x:\n        return 1\n    return x",
                Some("if x:\n        return 1\n    return x"),
            ),
            ("    ", "a()", "if x:\n        b()\nc()", None),
            // Only the indentation is meant.
            ("    ", "a()", "    a()", Some("    a()")),
            (
                "    ",
                "a:\n        b()",
                "    a:\n            b()",
                Some("    a:\n            b()"),
            ),
        ];
        for (before, old, new, expected) in cases {
            let placed = behind(before, old, new, || Some("    ".to_owned()));
            assert_eq!(placed.ok().as_deref(), expected, "{old:?} {new:?}");
        }
    }
}
