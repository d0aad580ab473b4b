//! Decides how the lines of a new text are indented in the file.
//!
//! If the old text is indented differently from the file, it must follow from the new text how deep
//! its lines belong. If the new text is indented like the file, it is taken as it is. If it is
//! indented like the old text, each of its lines gets the indentation of the file that corresponds
//! to its own. If neither is clear, the edit is refused, since a line in the wrong block changes
//! what a program does.

use super::lines::{indentation, trim_end};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use std::borrow::Cow;
use std::collections::HashMap;

pub(super) const UNCLEAR: &str = "the indentation of its new lines is not clear";

/// A line of the old text that is not blank: its index, its indentation, and the indentation of the
/// line of the file for which it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) at: usize,
    pub(super) old: &'a str,
    pub(super) file: &'a str,
}

/// The old and the new text as lines without trailing blanks, the indentation of the old lines in
/// the file, and the file's unit of indentation.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    pub(super) old: &'a [&'a str],
    pub(super) new: &'a [&'a str],
    pub(super) pairs: &'a [Pair<'a>],
    pub(super) unit: &'a str,
    pub(super) is_unit_known: bool,
}

type Indents = Vec<String>;

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) ops: Vec<DiffOp>,
    pub(super) indents: Indents,
}

pub(super) fn layout(texts: &Texts<'_>) -> Result<Layout, &'static str> {
    let ops = diff_lines(Algorithm::Patience, texts.old, texts.new, None);
    let as_written = |ops| {
        let indents = texts.new.iter().map(|line| indentation(line).to_owned());
        let indents = indents.collect();
        Ok(Layout { ops, indents })
    };
    if texts.pairs.iter().all(|pair| pair.old == pair.file) {
        return as_written(ops);
    }
    let rules = Rule::all(texts);
    let as_file = texts.has_files_indentation(&rules);
    let as_file = as_file.filter(|as_file| *as_file || !texts.changes_at_files_depth(&ops));
    if !as_file.ok_or(UNCLEAR)? {
        let indents = Layouts::new(texts, &ops).agreed_indents(&rules);
        return Ok(Layout {
            ops,
            indents: indents.ok_or(UNCLEAR)?,
        });
    }
    // The diff is made again with the old text indented like the file, because a line that seemed
    // unchanged may equal another line of the new text then.
    as_written(texts.ops_with_files_indentation())
}

impl Texts<'_> {
    fn ops_with_files_indentation(&self) -> Vec<DiffOp> {
        let mut old: Vec<String> = self.old.iter().map(|&line| line.to_owned()).collect();
        // Lines that are the same at an end of both texts stay, however deep they are written.
        let is_same = |(old, new): &(&&str, &&str)| old == new;
        let first = self.old.iter().zip(self.new).take_while(is_same).count();
        let [olds, news] = [self.old, self.new].map(|lines| lines[first..].iter().rev());
        let last = olds.zip(news).take_while(is_same).count();
        let between = first..old.len() - last;
        for pair in self.pairs.iter().filter(|pair| between.contains(&pair.at)) {
            old[pair.at].replace_range(..pair.old.len(), pair.file);
        }
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        diff_lines(Algorithm::Patience, &old, self.new, None)
    }

    fn has_files_indentation(&self, rules: &[Rule<'_>]) -> Option<bool> {
        let is_regular = !rules.is_empty();
        let filled = || self.new.iter().copied().filter(|line| !line.is_empty());
        if filled().next().is_none() {
            return Some(false);
        }
        let of_new = common_indentation(filled().map(indentation));
        let of_old = common_indentation(self.pairs.iter().map(|pair| pair.old));
        let of_file = common_indentation(self.pairs.iter().map(|pair| pair.file));
        let [as_old, as_file, other] = self.votes();
        let is_single = self.pairs.len() == 1;
        if is_regular && of_file != of_old {
            return match (of_new == of_file, as_old > 0) {
                // The new text as a whole is as deep as the file, but one of its lines is as deep
                // as in the old text.
                (true, true) => None,
                (true, false) => Some(true),
                (false, true) => (as_file == 0).then_some(false),
                (false, false) => {
                    (of_new == of_old && (as_file == 0 || is_single)).then_some(false)
                }
            };
        }
        match (as_file, as_old + other) {
            (0, _) => Some(false),
            (_, 0) if self.counts_in_other_units(rules) || self.is_scaled() => None,
            (_, 0) => Some(of_new.starts_with(of_file)),
            _ => None,
        }
    }

    /// Returns true if the new lines of a change are as deep as the lines in the file that go, but
    /// not as these are in the old text.
    fn changes_at_files_depth(&self, ops: &[DiffOp]) -> bool {
        let mut changes = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
        let is_at_files_depth = |op: &DiffOp| {
            let pairs = self.pairs.iter();
            let gone = pairs.filter(|pair| op.old_range().contains(&pair.at));
            let new = &self.new[op.new_range()];
            let new = new.iter().filter(|line| !line.is_empty());
            let new = new
                .map(|line| indentation(line))
                .min_by_key(|line| line.len());
            let gone = gone.min_by_key(|pair| pair.file.len());
            gone.is_some_and(|gone| gone.old != gone.file && Some(gone.file) == new)
        };
        self.odd_first().is_none() && changes.any(is_at_files_depth)
    }

    /// Returns true if the new text may be indented by another unit than the file: some of its
    /// indentations are no multiples of the file's unit, or all of them are multiples of the unit
    /// that the old text seems to use instead. Always returns false if lines of the file are not
    /// indented by multiples of its unit.
    fn counts_in_other_units(&self, rules: &[Rule<'_>]) -> bool {
        let is_whole = |indent: &str| levels(indent, self.unit).is_some();
        let counts_in = |unit: &str| {
            let mut new = self.new.iter().map(|line| indentation(line));
            new.all(|indent| levels(indent, unit).is_some())
        };
        let mut others = rules.iter().filter(|rule| rule.from != rule.to);
        self.pairs.iter().all(|pair| is_whole(pair.file))
            && (!counts_in(self.unit) || others.any(|rule| counts_in(&rule.from)))
    }

    /// Returns true if the old text and the file are indented by spaces, and the numbers of spaces
    /// have the same ratio in every line, such as 2 to 4. The new text may then have to be indented
    /// by this ratio, too.
    fn is_scaled(&self) -> bool {
        let is_blanks = |pair: &Pair<'_>| ![pair.old, pair.file].concat().contains('\t');
        let ratio = |pair: &Pair<'_>| (pair.old.len(), pair.file.len());
        let mut deep = self
            .pairs
            .iter()
            .filter(|pair| !pair.old.is_empty() || !pair.file.is_empty());
        let Some(first) = deep.next().map(ratio) else {
            return false;
        };
        first.0 > 0
            && first.1 > 0
            && self.pairs.iter().all(is_blanks)
            && deep
                .map(ratio)
                .all(|(old, file)| old * first.1 == file * first.0)
    }

    /// Returns the first line of the old text if it is the only one whose indentation differs from
    /// the file's, as in a quotation that begins behind the indentation. If the line is deeper than
    /// in the file, another line of the old text must be indented, too: otherwise the old text may
    /// as well use a larger unit.
    fn odd_first(&self) -> Option<Pair<'_>> {
        let (first, rest) = self.pairs.split_first()?;
        let may_be_scaled = rest.iter().all(|pair| pair.old.is_empty());
        let is_odd = first.old != first.file
            && (first.old.len() < first.file.len() || !may_be_scaled)
            && rest.iter().all(|pair| pair.old == pair.file);
        is_odd.then_some(*first)
    }

    /// Counts what speaks for either reading of the new text's indentation. Of the lines that the
    /// old and the new text have once each, and that the old text indents differently from the
    /// file, it returns how many the new text indents like the old text, how many like the file,
    /// and how many in another way.
    fn votes(&self) -> [usize; 3] {
        let (old, new) = (by_content(self.old), by_content(self.new));
        let mut votes = [0; 3];
        for pair in self.pairs.iter().filter(|pair| pair.old != pair.file) {
            let content = self.old[pair.at].trim_start();
            if let (Some(Some(_)), Some(Some(line))) = (old.get(content), new.get(content)) {
                let choices = [pair.old, pair.file];
                let indent = indentation(line);
                votes[choices.iter().position(|c| *c == indent).unwrap_or(2)] += 1;
            }
        }
        votes
    }
}

fn by_content<'t>(lines: &[&'t str]) -> HashMap<&'t str, Option<&'t str>> {
    let mut by_content = HashMap::new();
    for line in lines {
        let entry = by_content.entry(line.trim_start());
        entry.and_modify(|one| *one = None).or_insert(Some(*line));
    }
    by_content
}

/// What is needed to try several ways of indenting the new text. `lines` are the indices of its
/// lines that get an indentation: all except blank lines, and unchanged lines that stand for no
/// single line of the file, such as `...`. `kept` maps the unchanged ones to lines of the old text,
/// and `files` those to their indentation in the file.
struct Layouts<'t> {
    texts: &'t Texts<'t>,
    lines: Vec<usize>,
    kept: HashMap<usize, usize>,
    files: HashMap<usize, &'t str>,
}

impl<'t> Layouts<'t> {
    fn new(texts: &'t Texts<'t>, ops: &[DiffOp]) -> Self {
        let kept = ops.iter().filter(|op| matches!(op, DiffOp::Equal { .. }));
        let kept = kept.flat_map(|op| op.new_range().zip(op.old_range()));
        let kept: HashMap<usize, usize> = kept.collect();
        let files: HashMap<usize, &str> = texts.pairs.iter().map(|p| (p.at, p.file)).collect();
        let counts = |at: &usize| {
            let is_elsewhere = kept.get(at).is_some_and(|old| !files.contains_key(old));
            !texts.new[*at].is_empty() && !is_elsewhere
        };
        Self {
            texts,
            lines: (0..texts.new.len()).filter(counts).collect(),
            kept,
            files,
        }
    }

    fn agreed_indents(&self, rules: &[Rule<'_>]) -> Option<Indents> {
        let odd_first = self.texts.odd_first();
        let table = self.table();
        let by_table = || {
            let table = table.as_ref()?;
            self.indents_with(|at| {
                table
                    .get(self.written_indent(at))
                    .map(|&file| file.to_owned())
            })
        };
        let indents = if rules.is_empty() && odd_first.is_none() {
            by_table()?
        } else {
            let by_rule = |rule: &Rule<'_>| {
                let indents = self.indents_with(|at| rule.apply(self.written_indent(at)));
                indents.filter(|indents| rule.from == rule.to || self.goes_by_steps(indents))
            };
            let nested = |indents: &Indents| self.is_nested(indents);
            let mut readings: Vec<_> = rules.iter().filter_map(by_rule).filter(nested).collect();
            if let Some(first) = odd_first
                && let Some(indents) = self
                    .indents_with(|at| self.indent_but_first(at, first))
                    .filter(nested)
                && (!readings.is_empty() || self.are_further_clear(first))
            {
                readings.push(indents);
                readings.extend(by_table());
            }
            // All ways of indenting that make sense must give the same result.
            let one = readings.pop()?;
            if readings.iter().any(|other| *other != one) {
                return None;
            }
            one
        };
        // A line that the edit keeps must get the indentation that it has in the file. In a new
        // indentation, a tab may follow a space only if the file has such an indentation, too.
        let is_mixed = |indent: &str| indent.contains(" \t");
        let may_mix = self.files.values().any(|file| is_mixed(file));
        let is_right = |at: &usize| match self.indent_of_kept(*at) {
            Some(file) => indents[*at] == file,
            None => may_mix || !is_mixed(&indents[*at]),
        };
        let is_clear = self.lines.iter().all(is_right) && !self.may_be_files(&indents);
        is_clear.then_some(indents)
    }

    /// Returns true if the lines that the new text adds may be indented for the file already,
    /// unlike the unchanged lines around them. That is so if they are indented by whole units as
    /// written, but not with `indents`, or if they fit the lines around them better as written.
    fn may_be_files(&self, indents: &Indents) -> bool {
        let is_whole = |indent: &str| levels(indent, self.texts.unit).is_some();
        let is_off = |at: &usize| is_whole(self.written_indent(*at)) && !is_whole(&indents[*at]);
        let are_whole = self.files.values().all(|file| is_whole(file));
        let is_kept = |at: &usize| self.kept.contains_key(at);
        let mut start = 0_usize;
        self.lines.split_inclusive(is_kept).any(|run| {
            let above = start.checked_sub(1).map(|n| self.lines[n]);
            start += run.len();
            let below = run.last().copied().filter(is_kept);
            let added = &run[..run.len() - usize::from(below.is_some())];
            are_whole && added.iter().any(is_off)
                || self.fits_as_written(indents, above, added, below)
        })
    }

    fn fits_as_written(
        &self,
        indents: &Indents,
        above: Option<usize>,
        added: &[usize],
        below: Option<usize>,
    ) -> bool {
        let shallowest = added
            .iter()
            .min_by_key(|at| self.written_indent(**at).len());
        let (Some(at), Some(first), Some(last)) = (shallowest, added.first(), added.last()) else {
            return false;
        };
        let (written, result) = (self.written_indent(*at), &*indents[*at]);
        let old = |at: Option<usize>| self.kept.get(&at?).copied();
        let place = old(above).unwrap_or(0)..=old(below).unwrap_or(usize::MAX);
        let is_beside = |indent: &str| {
            let mut files = self.files.iter().filter(|(at, _)| place.contains(at));
            files.any(|(_, file)| *file == indent)
        };
        if written == result || !is_beside(written) {
            return false;
        }
        let new = self.texts.new;
        let is_deeper = above.is_some_and(|at| indents[at].len() < result.len());
        let opens = is_deeper && above.is_some_and(|at| wants_deeper(new[at], new[*first]));
        let mut files = self.files.values();
        let fits_above = opens || is_beside(result) || !is_deeper && files.any(|f| *f == result);
        let fits_below = below.is_none_or(|at| {
            let by = indents[at].strip_prefix(&*indents[*last]);
            let goes_on = opening(new[*last]).is_some()
                || is_unfinished(new[*last])
                || is_keyword(new[*last]) && !is_keyword(new[at]);
            goes_on || by.is_none_or(|by| by.is_empty() && !closes(new[at]))
        });
        !fits_above || !fits_below
    }

    fn written_indent(&self, at: usize) -> &'t str {
        indentation(self.texts.new[at])
    }

    fn indent_of_kept(&self, at: usize) -> Option<&'t str> {
        self.files.get(self.kept.get(&at)?).copied()
    }

    fn indents_with(&self, indent: impl Fn(usize) -> Option<String>) -> Option<Indents> {
        let mut indents = vec![String::new(); self.texts.new.len()];
        for at in &self.lines {
            indents[*at] = indent(*at)?;
        }
        Some(indents)
    }

    /// Returns true if `indents` fit the blocks of the new text. A line below one that opens a
    /// block must be deeper, unless it closes the block or one of the two lines is a label. If the
    /// old text has only one line, no other line may be deeper than the one above it. Two
    /// neighbouring lines that are both unchanged are not compared. Also returns false where the
    /// depth can't be known: for example, if neither text is indented and lines are added before
    /// the first or after the last unchanged line.
    fn is_nested(&self, indents: &Indents) -> bool {
        let is_single = self.texts.pairs.len() == 1;
        let is_flat = self.texts.pairs.iter().all(|pair| pair.old.is_empty());
        let is_flat_too = |at: &usize| self.written_indent(*at).is_empty();
        let is_irregular = |file: &&str| levels(file, self.texts.unit).is_none();
        if is_flat
            && self.lines.iter().all(is_flat_too)
            && (self.adds_at_an_edge() || self.files.values().any(is_irregular))
        {
            return false;
        }
        self.lines.windows(2).all(|two| {
            if two.iter().all(|at| self.kept.contains_key(at)) {
                return true;
            }
            let (above, below) = (self.texts.new[two[0]], self.texts.new[two[1]]);
            let by = indents[two[1]].strip_prefix(&*indents[two[0]]);
            let by = by.filter(|by| !by.is_empty());
            let steps = by.and_then(|by| levels(by, self.texts.unit));
            // The depth of two neighbouring lines is not known if one of them continues an
            // expression, begins or ends a block by a word, or may begin at the left margin.
            let mut beside = [above, below].into_iter();
            if is_flat
                && indents[two[0]] == indents[two[1]]
                && (goes_on(below) || is_unfinished(above) || beside.any(is_keyword))
            {
                return false;
            }
            match opening(above) {
                Some(':' | '{') if wants_deeper(above, below) => {
                    steps.is_some_and(|steps| steps == 1 || !is_single)
                }
                Some(_) if wants_deeper(above, below) => {
                    steps.is_some() || by.is_some() && !is_single
                }
                Some(_) => true,
                // If the old text has only one line, a line that is deeper than the one above it
                // may be a slip of the model.
                None => by.is_none() || !is_single,
            }
        })
    }

    fn goes_by_steps(&self, indents: &Indents) -> bool {
        self.lines.windows(2).all(|two| {
            let by = indents[two[1]].strip_prefix(&*indents[two[0]]);
            self.kept.contains_key(&two[1])
                // A new line that is deeper by more than one unit, or by a part of one, is aligned
                // with something above it. Such an alignment must not be converted to another unit.
                || by.is_none_or(|by| levels(by, self.texts.unit).is_some_and(|steps| steps <= 1))
        })
    }

    fn adds_at_an_edge(&self) -> bool {
        let olds: Vec<usize> = self.texts.pairs.iter().map(|pair| pair.at).collect();
        let is_kept = |at: &&usize| self.kept.contains_key(at);
        let Some(first) = self.lines.iter().position(|at| is_kept(&at)) else {
            return self.lines.len() > olds.len();
        };
        let last = self
            .lines
            .iter()
            .rposition(|at| is_kept(&at))
            .unwrap_or(first);
        let [first_old, last_old] = [first, last].map(|n| self.kept[&self.lines[n]]);
        let before = olds.iter().filter(|at| **at < first_old).count();
        let behind = olds.iter().filter(|at| **at > last_old).count();
        // Lines that are added at an edge may belong to another block.
        first > before || self.lines.len() - 1 - last > behind
    }

    fn indent_but_first(&self, at: usize, first: Pair<'_>) -> Option<String> {
        let own = self.written_indent(at);
        // If only one of the old text and the file has tabs before the first line, tabs before
        // other lines may be wrong in the file, too.
        let has_tabs = [own, first.old, first.file].map(|indent| indent.contains('\t'));
        if has_tabs[0] && has_tabs[1] != has_tabs[2] {
            return None;
        }
        let is_first = self.lines.first() == Some(&at);
        if !is_first || self.kept.get(&at).is_some_and(|old| *old != first.at) {
            let is_whole = self.texts.pairs.len() > 1 || levels(own, self.texts.unit).is_some();
            return is_whole.then(|| own.to_owned());
        }
        (own == first.old || own == first.file).then(|| first.file.to_owned())
    }

    /// Returns true if it is clear how deep the lines after the first of the new text belong. Each
    /// must be at least as deep as the first line in the file, or as another line of the old text.
    /// A line that is added directly behind the first must be as deep as that: a shallower one may
    /// belong to the first line or to the lines below.
    fn are_further_clear(&self, first: Pair<'_>) -> bool {
        // If the first new line has the file's indentation, the others have it, too.
        if self
            .lines
            .first()
            .is_some_and(|at| self.written_indent(*at) == first.file)
        {
            return true;
        }
        let behind = first.at + 1;
        let (old, new) = (self.texts.old, self.texts.new);
        let new = &new[self.lines.first().map_or(0, |at| at + 1)..];
        let ops = diff_lines(Algorithm::Patience, &old[behind..], new, None);
        ops.iter().all(|op| {
            let lines = &new[op.new_range()];
            let is_behind_first = op.new_range().start == 0 && lines.len() > op.old_range().len();
            let is_known = |line: &&str| {
                let mut further = self.texts.pairs[1..].iter();
                line.is_empty()
                    || line.starts_with(first.file)
                    || !is_behind_first && further.any(|pair| line.starts_with(pair.file))
            };
            matches!(op, DiffOp::Equal { .. }) || lines.iter().all(is_known)
        })
    }

    /// Maps each indentation of the old text to the file's. Returns `None` unless the mapping is
    /// one to one and keeps the order of the depths.
    fn table(&self) -> Option<HashMap<&'t str, &'t str>> {
        let pairs = self.texts.pairs;
        let files: HashMap<&str, &str> = pairs.iter().map(|p| (p.old, p.file)).collect();
        let olds: HashMap<&str, &str> = pairs.iter().map(|p| (p.file, p.old)).collect();
        let fits = |pair: &Pair<'_>| files[pair.old] == pair.file && olds[pair.file] == pair.old;
        let is_in_order = |(old, file): (&&str, &&str)| {
            let mut all = files.iter();
            all.all(|(a, b)| old.len().cmp(&a.len()) == file.len().cmp(&b.len()))
        };
        (pairs.iter().all(fits) && files.iter().all(is_in_order)).then_some(files)
    }
}

/// Converts indentations of the old text to the file's. `old` is the smallest indentation in the
/// old text, and `file` that of the same line in the file. What a line has beyond `old` is
/// converted from the unit `from` to the unit `to`.
#[derive(Debug)]
struct Rule<'a> {
    old: &'a str,
    file: &'a str,
    from: String,
    to: String,
    is_single: bool,
    is_unit_known: bool,
}

impl<'a> Rule<'a> {
    /// Tries two rules: one that converts indentation from the unit of the model's texts to the
    /// file's, and one that leaves it as it is. Returns those that give each line of the old text
    /// the indentation that it has in the file.
    fn all(texts: &Texts<'a>) -> Vec<Self> {
        let Some(smallest) = texts.pairs.iter().min_by_key(|pair| pair.old.len()) else {
            return Vec::new();
        };
        let own = unit_of(texts.old.iter().chain(texts.new).copied());
        // Only a tab and 2, 4 or 8 spaces count as a unit. Other numbers of spaces align something
        // and are not converted.
        let is_unit = |unit: &str| ["\t", "  ", "    ", "        "].contains(&unit);
        let may_convert = texts.is_unit_known && is_unit(texts.unit);
        let own = own.as_deref().filter(|own| may_convert && is_unit(own));
        let units = own.into_iter().chain([texts.unit]);
        let rules = units.map(|from| Self {
            old: smallest.old,
            file: smallest.file,
            from: from.to_owned(),
            to: texts.unit.to_owned(),
            is_single: texts.pairs.iter().all(|pair| pair.old == smallest.old),
            is_unit_known: texts.is_unit_known,
        });
        let fits = |rule: &Self, pair: &Pair<'_>| {
            let file = rule.apply(pair.old);
            file.is_some_and(|file| file == pair.file)
        };
        rules
            .filter(|rule| texts.pairs.iter().all(|pair| fits(rule, pair)))
            .collect()
    }

    fn apply(&self, indent: &str) -> Option<String> {
        if let Some(more) = indent.strip_prefix(self.old) {
            if !more.is_empty() && !self.is_step_known(more) {
                return None;
            }
            return Some(format!("{}{}", self.file, self.convert(more)?));
        }
        // If all lines of the old text are equally deep, nothing tells how deep a shallower line
        // belongs.
        let less = self.old.strip_prefix(indent).filter(|_| !self.is_single)?;
        let file = self.file.strip_suffix(&self.convert(less)?)?;
        Some(file.to_owned())
    }

    /// Returns true if it is clear how deep a line belongs that is indented by `more` than the
    /// least indented line of the old text. It may be unclear if all lines of the old text are
    /// equally deep but have another indentation in the file: the model may use another unit, or
    /// may have quoted the text at another depth.
    fn is_step_known(&self, more: &str) -> bool {
        if !self.is_single || self.old == self.file {
            return true;
        }
        if !self.is_unit_known && !self.old.is_empty() {
            return false;
        }
        if self.from != self.to {
            let is_tab = self.from == "\t" || self.to == "\t";
            return self.old.is_empty() && is_tab
                || levels(self.old, &self.from) == levels(self.file, &self.to);
        }
        let (old, file) = (self.old.len(), self.file.len());
        if old == 0 || file == 0 {
            return true;
        }
        let scaled = more.len() * file;
        let is_scaled = scaled.is_multiple_of(old * self.to.len());
        // If both texts use the same unit, a line that is deeper by one unit is simply one level
        // deeper. More units may have to be scaled like the indentation of the old text, so their
        // depth is known only if that is not possible.
        levels(more, &self.to).is_some_and(|steps| steps == 1 || !is_scaled)
    }

    fn convert(&self, indent: &str) -> Option<String> {
        if self.from == self.to {
            let is_other = indent.contains('\t') && !self.to.contains('\t');
            return (!is_other).then(|| indent.to_owned());
        }
        let full = indent.len() / self.from.len() * self.from.len();
        let (full, rest) = indent.split_at_checked(full)?;
        let count = levels(full, &self.from).filter(|_| !rest.contains('\t'))?;
        // Spaces that do not fill a unit align something and can't be converted, except for the one
        // before the star of a block comment's line.
        let is_star = rest == " " && self.from.len() >= 4 && self.to == "\t";
        if !rest.is_empty() && !is_star {
            return None;
        }
        Some(self.to.repeat(count) + rest)
    }
}

pub(super) fn levels(indent: &str, unit: &str) -> Option<usize> {
    let n = indent.len() / unit.len();
    (unit.repeat(n) == indent).then_some(n)
}

/// Returns the unit of the lines' indentation: a tab, or the commonest step between neighbouring
/// lines, of 2 to 8 spaces. Returns `None` if no line begins with a tab and there is no such step.
pub(crate) fn unit_of<'t>(lines: impl IntoIterator<Item = &'t str>) -> Option<String> {
    let mut tabs = 0_usize;
    let mut steps = [0_usize; 9];
    let mut before = None;
    for line in lines {
        if line.is_empty() {
            continue;
        }
        let indent = indentation(line);
        if !indent.is_ascii() {
            before = None;
            continue;
        }
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

fn common_indentation<'t>(mut all: impl Iterator<Item = &'t str>) -> &'t str {
    let first = all.next().unwrap_or_default();
    all.fold(first, |common, indent| {
        let mut both = common.char_indices().zip(indent.chars());
        let end = both.find(|((_, a), b)| a != b);
        &common[..end.map_or(common.len().min(indent.len()), |((at, _), _)| at)]
    })
}

fn opening(line: &str) -> Option<char> {
    let code = line.split(" #").next().unwrap_or(line);
    let code = code.split(" //").next().unwrap_or(code).trim_end();
    let last = code.chars().next_back()?;
    let is_tag = last == '>'
        && code.trim_start().starts_with('<')
        && !code.trim_start().starts_with("<!")
        && !code.contains("</")
        && !code.ends_with("/>");
    (":{([".contains(last) || is_tag).then_some(last)
}

const LABELS: &str = "case |default|public|private|protected|- |signals";

fn is_label(line: &str) -> bool {
    LABELS.split('|').any(|label| line.starts_with(label))
}

fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    let marks = ["? ", ": ", ".", "&& ", "|| ", "+ ", "| ", "* ", "*/", ";;"];
    marks.iter().any(|mark| line.starts_with(mark)) || line.starts_with([')', ']', '}'])
}

fn is_unfinished(line: &str) -> bool {
    let marks = ["&&", "||", "=", "\\", " +", " -", "|", "?", " and", " or"];
    marks.iter().any(|mark| line.trim_end().ends_with(mark))
}

const BLOCK_WORDS: &str = "begin do done elif else elsif elseif end endfor endforeach endfunction \
    endif endwhile esac fi then";

const DIRECTIVES: &str = "define error if ifdef ifndef include pragma undef";

fn is_among(word: &str, words: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

/// Returns true for a line whose depth, or that of its neighbours, does not follow from brackets.
/// It may be a directive of the C preprocessor, which may begin at the left margin, a label, an
/// entry of a list, a condition without braces, or a line with a word that begins or ends a block.
fn is_keyword(line: &str) -> bool {
    let line = line.trim_start();
    let word = |text| str::split(text, |c: char| !c.is_ascii_alphabetic()).next();
    if let Some(directive) = line.strip_prefix('#') {
        let word = word(directive.trim_start()).unwrap_or_default();
        return is_among(word, DIRECTIVES) || is_among(word, BLOCK_WORDS);
    }
    // A label, or an entry of a list; the lines below may belong to it.
    if is_label(line)
        || ["* ", "+ ", ".. "]
            .iter()
            .any(|mark| line.starts_with(mark))
    {
        return true;
    }
    let last = line.rsplit(' ').next().unwrap_or_default();
    let is_word = |text: &str| is_among(&text.to_ascii_lowercase(), BLOCK_WORDS);
    // A condition or loop whose only statement has no braces.
    let first = word(line).unwrap_or_default();
    let is_headless = ["if", "for", "while"].contains(&first) && line.ends_with(')');
    is_headless || is_word(first) || is_word(last) || line.contains(" do |")
}

fn closes(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['}', ')', ']']) || line.starts_with("</")
}

fn wants_deeper(above: &str, below: &str) -> bool {
    let is_labelled = [above, below]
        .iter()
        .any(|line| is_label(line.trim_start()));
    opening(above).is_some() && !closes(below) && !is_labelled
}

/// Returns false if the new text may leave the block of the line in which it begins, because one of
/// its further lines is less indented than that line. `head` is the text of that line before the
/// match. Always returns true if `head` is only indentation, or if the old text has several lines.
pub(super) fn stays_in_block(head: &str, old: &str, new: &str) -> bool {
    let block = indentation(head);
    let mut further = new.lines().skip(1).filter(|line| !line.trim().is_empty());
    head.trim().is_empty()
        || old.trim_end().contains('\n')
        || further.all(|line| line.starts_with(block))
}

/// Returns the new text, indented as needed, for an old text that the file has literally. `before`
/// is the text before the match on its line.
///
/// If `before` is only indentation, the first line of the old text lacks this indentation. The
/// further lines of the new text may then be indented like the file, or relative to their own first
/// line. `file_unit` returns the file's unit of indentation.
///
/// # Errors
///
/// Returns why the depth of a line is not clear.
pub(crate) fn placed_literally<'t>(
    before: &str,
    old: &str,
    new: &'t str,
    file_unit: impl FnOnce() -> Option<String>,
) -> Result<Cow<'t, str>, &'static str> {
    if !stays_in_block(before, old, new) {
        return Err(UNCLEAR);
    }
    let [old_lines, new_lines] =
        [old, new].map(|text| text.split('\n').map(trim_end).collect::<Vec<_>>());
    let is_behind_indentation = !before.is_empty() && before.trim().is_empty();
    if !is_behind_indentation || new.trim().is_empty() {
        return Ok(Cow::Borrowed(new));
    }
    let first = format!("{before}{}", indentation(old_lines[0]));
    let is_moved = is_moved(&old_lines, &new_lines);
    // If only the first line of the old text lacks the file's indentation, and the new text has
    // that there, the model has merely completed the line. It does not want another depth, unless
    // all lines are deeper by as much.
    let is_completed = old_lines.len() > 1 && indentation(new_lines[0]) == first && !is_moved;
    if !is_completed && is_literal(&old_lines, &new_lines) {
        return Ok(Cow::Borrowed(new));
    }
    if new_lines[0].is_empty() || is_moved {
        return Err(UNCLEAR);
    }
    let pairs = old_lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.is_empty());
    let pairs: Vec<Pair<'_>> = pairs
        .map(|(at, line)| {
            let old = indentation(line);
            let file = if at == 0 { &*first } else { old };
            Pair { at, old, file }
        })
        .collect();
    let unit = file_unit();
    let layout = layout(&Texts {
        old: &old_lines,
        new: &new_lines,
        pairs: &pairs,
        unit: unit.as_deref().unwrap_or("    "),
        is_unit_known: unit.is_some(),
    })?;
    let mut out = String::with_capacity(new.len());
    for (at, line) in new.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let (indent, head) = (&layout.indents[at], if at == 0 { before } else { "" });
        out.push_str(indent.strip_prefix(head).ok_or(UNCLEAR)?);
        out.push_str(&line[indentation(new_lines[at]).len()..]);
    }
    Ok(Cow::Owned(out))
}

fn is_literal(old: &[&str], new: &[&str]) -> bool {
    let is_same = |(old, new): (&&str, &&str)| old.trim_start() == new.trim_start();
    let is_one_line = old.len() == 1 && new.len() == 1;
    old[0].is_empty()
        || is_one_line && indentation(old[0]) == indentation(new[0])
        || old.len() == new.len() && old.iter().zip(new).all(is_same)
}

/// Returns true if the new text may be the old one with more indentation in every line. If so, the
/// first line of the new text is not indented like the file.
fn is_moved(old: &[&str], new: &[&str]) -> bool {
    let depth = |lines: &[&str]| {
        let further = lines[1..].iter().filter(|line| !line.is_empty());
        let mut further = further.map(|line| indentation(line)).peekable();
        further
            .peek()
            .is_some()
            .then(|| common_indentation(further).len())
    };
    let by = indentation(new[0]).strip_prefix(indentation(old[0]));
    let by = by.map_or(0, str::len);
    by > 0 && depth(old).is_some_and(|old| depth(new) == Some(old + by))
}

#[cfg(test)]
mod tests;
