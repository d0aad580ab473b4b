//! The rung on which all lines are the same but for their indentation, and that differs in the
//! same way for all of them.

use super::lines::{Lines, ModelLines, indentation, line_end};
use super::normal::{Level, normal_line};
use super::{Found, Hit, Rung};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// How an indentation of the model becomes one of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shift {
    /// Is the same.
    None,
    /// The file has this more at the front.
    Add(String),
    /// The file has this less at the front.
    Remove(String),
    /// The model counts in one unit, the file in another, and begins so many levels deeper.
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
        let units = ["\t", "    ", "  ", "   ", "        "];
        let froms = units.into_iter();
        let tos = || std::iter::once(file_unit).chain(units);
        froms
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

    /// The file's form of a line of the model; `None` where it is not clear.
    pub(super) fn apply(&self, line: &str) -> Option<String> {
        let indent = indentation(line);
        let content = &line[indent.len()..];
        if content.is_empty() {
            return Some(String::new());
        }
        let shifted = match self {
            Shift::None => indent.to_owned(),
            Shift::Add(more) => format!("{more}{indent}"),
            Shift::Remove(less) => indent.strip_prefix(&**less)?.to_owned(),
            Shift::Convert { from, to, deeper } => {
                // What is left over aligns something, and does so in blanks.
                let level = indent.len() / from.len();
                let (full, rest) = indent.split_at(level * from.len());
                let level = levels(full, from)? as isize + deeper;
                format!("{}{rest}", to.repeat(usize::try_from(level).ok()?))
            }
        };
        Some(format!("{shifted}{content}"))
    }
}

/// How often the unit stands in an indentation that consists of it.
fn levels(indent: &str, unit: &str) -> Option<usize> {
    let n = indent.len() / unit.len();
    (unit.repeat(n) == indent).then_some(n)
}

/// What a file is indented by: a tab, or the commonest step in blanks.
pub(super) fn unit_of(file: &Lines<'_>) -> String {
    let mut tabs = 0_usize;
    let mut steps = [0_usize; 9];
    let mut before = 0_usize;
    for i in 0..file.len() {
        let line = file.line(i);
        if line.is_empty() {
            continue;
        }
        let indent = indentation(line);
        if indent.starts_with('\t') {
            tabs += 1;
        }
        let step = indent.len().abs_diff(before);
        if !indent.contains('\t') && (2..=8).contains(&step) {
            steps[step] += 1;
        }
        before = indent.len();
    }
    let (best, count) = steps
        .iter()
        .enumerate()
        .max_by_key(|(step, count)| (**count, usize::MAX - step))
        .unwrap_or((4, &0));
    if tabs > 0 && tabs >= *count {
        "\t".to_owned()
    } else {
        " ".repeat(if *count == 0 { 4 } else { best })
    }
}

pub(super) fn find(file: &Lines<'_>, old: &str, new: &str, level: Level) -> Found {
    let (old_lines, new_lines) = (ModelLines::of(old), ModelLines::of(new));
    let wanted = old_lines.core();
    if wanted.is_empty() || wanted.len() > file.len() {
        return Found::Nothing;
    }
    let form = |line: &str| normal_line(line.trim_start_matches([' ', '\t']), level);
    let wanted_forms: Vec<String> = wanted.iter().map(|line| form(line)).collect();
    let file_forms: Vec<String> = (0..file.len()).map(|i| form(file.line(i))).collect();
    // A line of one character, a bracket for example, says too little.
    if wanted_forms.iter().map(String::len).sum::<usize>() < 3 {
        return Found::Nothing;
    }
    let unit = unit_of(file);
    let mut hits = Vec::new();
    for at in 0..=file.len() - wanted.len() {
        if file_forms[at..at + wanted.len()] != wanted_forms {
            continue;
        }
        let pairs: Vec<(&str, &str)> = wanted
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
            .map(|(i, line)| (indentation(line), indentation(file.line(at + i))))
            .collect();
        if let Some(shift) = Shift::of(&pairs, &unit) {
            hits.push((at, shift));
        }
    }
    match hits.as_slice() {
        [] => Found::Nothing,
        [(at, shift)] => replace(file, *at, shift, &old_lines, &new_lines),
        several => Found::Several(
            several
                .iter()
                .map(|(at, _)| file.content[*at].start)
                .collect(),
        ),
    }
}

fn replace(
    file: &Lines<'_>,
    at: usize,
    shift: &Shift,
    old: &ModelLines<'_>,
    new: &ModelLines<'_>,
) -> Found {
    let core_end = at + old.core().len() - 1;
    let fitted = old.fit(new, file, at, core_end);
    let (first, last) = (at - fitted.before, core_end + fitted.after);
    let mut region = file.region(first, last);
    let newline = line_end(file.text, region.clone());
    let mut lines: Vec<String> = Vec::new();
    for op in capture_diff_slices(Algorithm::Patience, &fitted.old, &fitted.new) {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = op
        {
            lines.extend((0..len).map(|n| {
                let whole = file.whole(first + old_index + n);
                fitted.kept(old_index + n, new_index + n, whole)
            }));
            continue;
        }
        for i in op.new_range() {
            match shift.apply(fitted.new[i]) {
                Some(line) => lines.push(line + fitted.blanks_behind(i)),
                None => {
                    return Found::Unclear(
                        region.start,
                        "a new line is indented less than the text that it stands in",
                    );
                }
            }
        }
    }
    if lines.is_empty() {
        region.end = file.ends[last];
    }
    Found::One(Hit {
        start: region.start,
        end: region.end,
        replacement: lines.join(newline),
        rung: Rung::Indentation,
    })
}

#[cfg(test)]
mod tests {
    use super::Shift;

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
                .apply("        x"),
            Some("\t\tx".into())
        );
        assert_eq!(
            of(&[("  ", "\t\t"), ("    ", "\t\t\t")])
                .expect("one")
                .apply("      x"),
            Some("\t\t\t\tx".into())
        );
        assert_eq!(
            of(&[("  ", ""), ("    ", "  ")]).expect("one").apply("x"),
            None
        );
        assert_eq!(of(&[("", "  "), ("", "    ")]), None);
    }
}
