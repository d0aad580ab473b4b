//! Condenses what a command prints, for a model: a run of similar lines becomes its first line, a
//! count and its last line, and a block of lines that was printed before becomes a count.
//!
//! It knows nothing of particular programs. `shape` tells which lines are similar, `alarm` which
//! lines report an error and always stay, `run` leaves lines out, and `history` knows the lines
//! that were shown. Lines are processed as they come, in bounded memory; the capture keeps the
//! whole output.

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
use std::collections::VecDeque;

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
    let mut condenser = Condenser::new(first);
    let mut short = String::new();
    let mut out = |piece: &str| short.push_str(piece);
    condenser.push(text, &mut out);
    condenser.finish(&mut out);
    is_worth_it(short.chars().count(), text.chars().count())
        .then(|| (short, condenser.left_out_lines()))
}

pub(crate) fn is_worth_it(condensed: usize, whole: usize) -> bool {
    whole >= MIN_CHARS && condensed < whole / 5 * 4
}

#[derive(Debug, Default)]
pub(crate) struct Condenser {
    /// The last lines, which are not passed on yet, because the last [`END_LINES`] of the output
    /// stay as they are. The first `done` bytes have been processed already; they are only removed
    /// when there are many, since that moves the rest.
    end: String,
    done: usize,
    sizes: VecDeque<usize>,
    open: usize,
    number: u64,
    is_in_pieces: bool,
    /// The last line with its properties, which need not be computed again if the line is repeated.
    previous: (String, Traits),
    pieces: Pieces,
    usual: Usual,
    run: Run,
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

impl Traits {
    fn new(text: &str, pieces: &mut Pieces) -> Self {
        Self {
            hash: hash(text),
            is_alarm: alarm::is_alarm(text),
            shape: shape(text, pieces),
        }
    }
}

impl Default for Traits {
    fn default() -> Self {
        Self::new("", &mut Pieces::default())
    }
}

impl Condenser {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        for piece in text.split_inclusive('\n') {
            self.end.push_str(piece);
            self.open += piece.len();
            if piece.ends_with('\n') || self.open >= MAX_LINE_BYTES {
                self.sizes.push_back(std::mem::take(&mut self.open));
            }
            if self.sizes.len() > END_LINES {
                self.take_line(out);
            }
        }
    }

    pub(crate) fn finish(&mut self, out: &mut impl FnMut(&str)) {
        self.run.end(1, out);
        out(&self.end[self.done..]);
    }

    pub(crate) fn left_out_lines(&self) -> u64 {
        self.run.left_out_lines
    }

    fn take_line(&mut self, out: &mut impl FnMut(&str)) {
        let Some(size) = self.sizes.pop_front() else {
            return;
        };
        let waiting = std::mem::take(&mut self.end);
        let text = &waiting[self.done..self.done + size];
        let is_whole = text.ends_with('\n');
        if is_whole && !self.is_in_pieces {
            self.look_at(text, out);
        } else {
            self.run.pass(text, out);
        }
        self.number += u64::from(is_whole);
        self.is_in_pieces = !is_whole;
        self.end = waiting;
        self.done += size;
        if self.done > MAX_LINE_BYTES {
            self.end.drain(..self.done);
            self.done = 0;
        }
    }

    fn look_at(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        if self.previous.0 != text {
            text.clone_into(&mut self.previous.0);
            self.previous.1 = Traits::new(text, &mut self.pieces);
        }
        let Traits {
            hash,
            is_alarm,
            shape,
        } = self.previous.1;
        if is_alarm {
            self.after_alarm.begin(text);
        }
        // A line that stays is no example for those after it, so it counts as one without a shape.
        let stays = is_alarm || self.after_alarm.includes(text);
        let shape = shape.and_then(|shape| self.usual.refine(shape, &self.pieces));
        let shape = shape.filter(|_| !stays);
        let line = Line {
            text,
            number: self.number,
            hash,
            shape,
        };
        // A run of similar lines keeps its last line, and before an error the last two, since they
        // may tell what the error is about.
        self.run.add(&line, if is_alarm { 2 } else { 1 }, out);
    }
}

#[cfg(test)]
mod tests;
