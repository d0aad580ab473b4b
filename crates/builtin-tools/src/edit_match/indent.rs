//! The tier on which all lines are the same but for their indentation, and that differs in the
//! same way for all of them.

use super::depth::{Pair, Placed, Shift, Texts, placed};
use super::lines::{Lines, ModelLines, indentation, line_end};
use super::normal::{Level, normal_line};
use super::{EditMatch, Found, MatchTier};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};

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
    let unit = file.unit();
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
        if Shift::of(&pairs, &unit).is_some() {
            hits.push(at);
        }
    }
    match hits.as_slice() {
        [] => Found::Nothing,
        [at] => replace(file, *at, &unit, &old_lines, &new_lines),
        several => Found::Several(several.iter().map(|at| file.content[*at].start).collect()),
    }
}

fn replace(
    file: &Lines<'_>,
    at: usize,
    unit: &str,
    old: &ModelLines<'_>,
    new: &ModelLines<'_>,
) -> Found {
    let core_end = at + old.core().len() - 1;
    let fitted = old.fit(new, file, at, core_end);
    let (first, last) = (at - fitted.before, core_end + fitted.after);
    let mut region = file.region(first, last);
    let newline = line_end(file.text, region.clone());
    let ops = diff_lines(Algorithm::Patience, &fitted.old, &fitted.new, None);
    let pairs: Vec<Pair<'_>> = (0..fitted.old.len())
        .filter(|i| !fitted.old[*i].is_empty())
        .map(|i| Pair {
            at: i,
            old: indentation(fitted.old[i]),
            file: indentation(file.line(first + i)),
        })
        .collect();
    let placed = placed(Texts {
        old: &fitted.old,
        new: &fitted.new,
        ops,
        pairs: &pairs,
        unit,
    });
    let Placed {
        ops,
        lines: new_lines,
    } = match placed {
        Ok(placed) => placed,
        Err(why) => return Found::Unclear(region.start, why),
    };
    let mut lines: Vec<String> = Vec::new();
    for op in ops {
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
            lines.push(format!("{}{}", new_lines[&i], fitted.blanks_behind(i)));
        }
    }
    if lines.is_empty() {
        region.end = file.ends[last];
    }
    Found::One(EditMatch {
        start: region.start,
        end: region.end,
        replacement: lines.join(newline),
        tier: MatchTier::Indentation,
    })
}
