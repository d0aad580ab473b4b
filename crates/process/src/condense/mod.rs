//! Condenses what a command prints, for a model: a run of similar lines becomes its first line, a
//! count and its last line, and a block of lines that was printed before becomes a count.
//!
//! It knows nothing of particular programs. `shape` tells which lines are similar, `alarm` which
//! lines report an error and always stay, `run` leaves lines out, and `history` knows the lines
//! that were shown.

mod alarm;
mod frames;
mod history;
mod paths;
mod pieces;
mod run;
mod shape;

pub(crate) use frames::own_frames;
use history::hash;
pub(crate) use paths::by_path;
use pieces::{Pieces, Usual};
use run::{Line, Run};
use shape::shape;

/// Number of last lines that stay as they are, since a command says there how it ended.
const END_LINES: usize = 8;

const AFTER_ALARM_LINES: usize = 2;

/// Maximum number of lines that stay after a reported error because they are indented deeper.
const DEEPER_LINES: usize = 40;

const MAX_LINE_BYTES: usize = 64 * 1024;

const MIN_CHARS: usize = 2_000;

/// Returns a text without its repetitions, and the number of lines that are left out; `None` if
/// that saves too little. `first` is the number of the first line.
pub fn condense(text: &str, first: u64) -> Option<(String, u64)> {
    let whole = text.chars().count();
    if whole < MIN_CHARS {
        return None;
    }
    let (short, left_out) = condensed(text, first);
    (short.chars().count() < whole / 5 * 4).then_some((short, left_out))
}

fn condensed(text: &str, first: u64) -> (String, u64) {
    let end = text.rmatch_indices('\n').nth(END_LINES);
    let (lines, end) = text.split_at(end.map_or(0, |(at, _)| at + 1));
    let mut condenser = Condenser::default();
    let mut out = String::new();
    for (number, line) in (first..).zip(lines.split_inclusive('\n')) {
        condenser.add(line, number, &mut out);
    }
    condenser.run.end(1, &mut out);
    (out + end, condenser.run.left_out_lines)
}

#[derive(Debug, Default)]
struct Condenser<'t> {
    /// The last line with its properties, which need not be computed again if the line is repeated.
    previous: Option<(&'t str, Traits)>,
    pieces: Pieces,
    usual: Usual,
    run: Run<'t>,
    after_alarm: AfterAlarm,
}

#[derive(Debug, Default)]
struct AfterAlarm {
    left: usize,
    indent: usize,
}

impl AfterAlarm {
    fn begin(&mut self, text: &str) {
        (self.left, self.indent) = (DEEPER_LINES, indent(text));
    }

    fn includes(&mut self, text: &str) -> bool {
        let is_next = self.left > DEEPER_LINES - AFTER_ALARM_LINES;
        let includes = is_next || self.left > 0 && indent(text) > self.indent;
        self.left = if includes { self.left - 1 } else { 0 };
        includes
    }
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[derive(Debug, Clone, Copy)]
struct Traits {
    hash: u64,
    is_alarm: bool,
    shape: Option<u64>,
}

impl<'t> Condenser<'t> {
    fn add(&mut self, text: &'t str, number: u64, out: &mut String) {
        if text.len() > MAX_LINE_BYTES {
            return self.run.pass(text, out);
        }
        let known = self.previous.filter(|(previous, _)| *previous == text);
        let traits = known.map_or_else(
            || Traits {
                hash: hash(text),
                is_alarm: alarm::is_alarm(text),
                shape: shape(text, &mut self.pieces),
            },
            |(_, traits)| traits,
        );
        self.previous = Some((text, traits));
        let Traits {
            hash,
            is_alarm,
            shape,
        } = traits;
        if is_alarm {
            self.after_alarm.begin(text);
        }
        // A line that stays is no example for those after it, so it counts as one without a shape.
        let stays = is_alarm || self.after_alarm.includes(text);
        let shape = shape.and_then(|shape| self.usual.refine(shape, &self.pieces));
        let shape = shape.filter(|_| !stays);
        let line = Line {
            text,
            number,
            hash,
            shape,
        };
        // A run of similar lines keeps its last line, and before an error the last two, since they
        // may tell what the error is about.
        self.run.add(line, if is_alarm { 2 } else { 1 }, out);
    }
}

#[cfg(test)]
mod tests;
