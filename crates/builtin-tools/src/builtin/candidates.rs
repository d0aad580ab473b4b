//! Writes expressions for the linear-time engine (`grep-regex`), which find candidate lines for a
//! pattern with look-around or back-references.
//!
//! Only the backtracking engine (`fancy_regex`) can decide whether a candidate matches, and it is
//! slow. With candidates, it need not look at every line of a project.
//!
//! # How it works
//!
//! [`candidates`] writes an expression that matches every line the pattern matches, and others
//! besides. Look-around is left out, except at an edge of the pattern, where no other part of the
//! pattern demands the text beside the match: `(?<=->)free` becomes `->free`. A back-reference
//! becomes whatever its group matches. Where the group can begin with any of several characters,
//! the pattern is written out for each of them: `(\w)\1` becomes `00|11|…|aa|…`.
//!
//! Lines may hold bytes that are not UTF-8, which the backtracking engine sees as U+FFFD. So a
//! class with characters beyond ASCII matches any bytes beyond ASCII here, which also keeps
//! compiled expressions small.

use fancy_regex::{Assertion, BacktrackingControlVerb, Expr, LookAround};
use regex_syntax::hir::{Class as HirClass, Hir, HirKind};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Maximum number of nodes of the pattern's syntax tree that are written out. A back-reference is
/// written as a copy of its group, so back-references to groups that have back-references
/// themselves multiply the nodes.
const MAX_NODES: usize = 20_000;

const MAX_CHOICES: usize = 128;

const MAX_WANDERING_CHOICES: usize = 4;

const MAX_COUNTED: usize = 16;

const LITERAL_WORTH: usize = 4;

const WIDE: &str = r"\x80-\xFF";

/// Returns expressions for the linear engine that match every line that the pattern matches, and
/// others besides. The more selective expression is first. Returns none if no such expression is
/// known.
pub(super) fn candidates(pattern: &str, ignore_case: bool) -> Vec<String> {
    let flag = if ignore_case { "(?i)" } else { "" };
    let Ok(tree) = Expr::parse_tree(&format!("{flag}{pattern}")) else {
        return Vec::new();
    };
    let mut writer = Writer::default();
    writer.find_groups(&tree.expr, false);
    let chosen = writer.write_choices(&tree.expr);
    (writer.chosen, writer.nodes) = (None, 0);
    let plain = writer.write(&tree.expr, Place::WHOLE);
    let plain = plain.map(|piece| writer.with_wide_lines(vec![piece.text]));
    chosen.into_iter().chain(plain).collect()
}

/// Returns true if a back-reference can repeat a text of more than `length` bytes.
pub(super) fn repeats_more(pattern: &str, length: usize) -> bool {
    let Ok(tree) = Expr::parse_tree(pattern) else {
        return false;
    };
    let mut writer = Writer::default();
    writer.find_groups(&tree.expr, false);
    let mut repeated = writer.groups.iter().filter(|g| g.reference.is_some());
    writer.other_references > 0 || repeated.any(|group| longest(group.body) > length)
}

fn longest(expr: &Expr) -> usize {
    match expr {
        // The other case of a letter may have more bytes: `k` also equals U+212A, which has 3.
        Expr::Literal { val, .. } => val.len() * 3,
        Expr::Any { .. } | Expr::Delegate { .. } => 4,
        Expr::Repeat { child, hi, .. } => longest(child).saturating_mul(*hi),
        Expr::Empty | Expr::Assertion(_) | Expr::KeepOut => 0,
        Expr::Concat(_) | Expr::Alt(_) | Expr::Group(_) | Expr::AtomicGroup(_) => {
            let children = expr.children_iter();
            children.fold(0, |sum, child| longest(child).saturating_add(sum))
        }
        _ => usize::MAX,
    }
}

/// A part of an expression. `worth` is a weighted number of the characters that a match of it
/// needs: the more, the fewer lines match. A literal character weighs `LITERAL_WORTH`, a class of
/// ASCII characters 1, and any other class 0.
#[derive(Debug, Default, Clone)]
struct Piece {
    text: String,
    worth: usize,
}

/// Where a part of the pattern is written. `is_first` and `is_last` tell whether it is at an edge
/// of the whole pattern. `is_original` is false for a copy of a group that is written in place of a
/// back-reference: the group's anchors and look-around say nothing about the text there.
#[derive(Debug, Clone, Copy)]
struct Place {
    is_first: bool,
    is_last: bool,
    is_original: bool,
}

impl Place {
    const WHOLE: Self = Self {
        is_first: true,
        is_last: true,
        is_original: true,
    };
    const INNER: Self = Self {
        is_first: false,
        is_last: false,
        is_original: true,
    };
    const COPY: Self = Self {
        is_original: false,
        ..Self::INNER
    };

    fn inner(self) -> Self {
        Self {
            is_original: self.is_original,
            ..Self::INNER
        }
    }
}

#[derive(Debug)]
struct Group<'e> {
    body: &'e Expr,
    repeats: bool,
    reference: Option<bool>,
}

#[derive(Debug)]
struct Choice {
    group: usize,
    body: Piece,
    copy: Piece,
}

#[derive(Debug, Default)]
struct Writer<'e> {
    groups: Vec<Group<'e>>,
    chosen: Option<Choice>,
    copying: Vec<usize>,
    folds: bool,
    nodes: usize,
    other_references: usize,
    has_boundary: bool,
}

impl<'e> Writer<'e> {
    fn find_groups(&mut self, expr: &'e Expr, repeats: bool) {
        if let Expr::Group(body) = expr {
            self.groups.push(Group {
                body,
                repeats,
                reference: None,
            });
        }
        let repeats = repeats || matches!(expr, Expr::Repeat { hi, .. } if *hi > 1);
        for child in expr.children_iter() {
            self.find_groups(child, repeats);
        }
        if let Expr::Backref { group, casei } = expr
            && let Some(group) = group.checked_sub(1).and_then(|at| self.groups.get_mut(at))
        {
            group.reference = Some(*casei || group.reference.unwrap_or_default());
        } else {
            self.other_references += usize::from(matches!(
                expr,
                Expr::Backref { .. }
                    | Expr::BackrefWithRelativeRecursionLevel { .. }
                    | Expr::SubroutineCall(_)
                    | Expr::AstNode(..)
            ));
        }
    }

    /// Writes the pattern out once for each way in which a group with a back-reference to it can
    /// begin. Returns `None` if no group is suited for that, or if the result would be slow or too
    /// long.
    fn write_choices(&mut self, expr: &'e Expr) -> Option<String> {
        let is_apt = |group: &Group<'_>| group.reference.is_some() && !group.repeats;
        let group = self.groups.iter().position(is_apt)?;
        let choices = self.choices(group)?;
        // If the pattern has a repetition of letters without a limit, a match may begin at each
        // letter of a long word. For each of these matches, an automaton would have to track with
        // which of the choices it began.
        let body = self.groups[group].body;
        if choices.len() > MAX_WANDERING_CHOICES && self.wanders(expr, body, false) {
            return None;
        }
        let mut branches = Vec::new();
        for (body, copy) in choices {
            self.chosen = Some(Choice { group, body, copy });
            branches.push(self.write(expr, Place::WHOLE)?.text);
        }
        Some(self.with_wide_lines(branches))
    }

    /// Joins `branches` as alternatives. A word boundary is written as `(?-u:\b)`, which does not
    /// know whether a word ends beside a byte that is not ASCII. So if the pattern has one, a
    /// further alternative matches every line with such a byte.
    fn with_wide_lines(&self, mut branches: Vec<String>) -> String {
        if self.has_boundary {
            branches.push(format!("(?-u:[{WIDE}])"));
        }
        branches.join("|")
    }

    /// Returns true if `expr` repeats letters without a limit, or with one above `MAX_COUNTED`. A
    /// match may then begin at each letter of a long word. `group` does not count directly behind a
    /// word boundary or the start of the line, because it can begin only there.
    fn wanders(&self, expr: &Expr, group: &Expr, is_at_boundary: bool) -> bool {
        let mut before = None;
        match expr {
            Expr::Repeat { child, hi, .. } if *hi > MAX_COUNTED => {
                let class = self.class(child);
                class.is_none_or(|class| class.has(b'e'))
            }
            Expr::LookAround(_, LookAround::LookAheadNeg | LookAround::LookBehindNeg) => false,
            Expr::Group(body) if is_at_boundary && std::ptr::eq(&raw const **body, group) => false,
            _ => expr.children_iter().any(|child| {
                let before = before.replace(child);
                let is_at_boundary = matches!(
                    before,
                    Some(Expr::Assertion(
                        Assertion::StartText
                            | Assertion::StartLine { .. }
                            | Assertion::WordBoundary
                            | Assertion::LeftWordBoundary
                    ))
                );
                self.wanders(child, group, is_at_boundary)
            }),
        }
    }

    fn choices(&mut self, group: usize) -> Option<Vec<(Piece, Piece)>> {
        let Group {
            body, reference, ..
        } = self.groups[group];
        self.folds = reference?;
        let choices = match body {
            Expr::Alt(branches) if branches.len() <= MAX_CHOICES => {
                let branches = branches.iter();
                let choice = branches.map(|branch| {
                    let body = self.write(branch, Place::INNER)?;
                    Some((body, self.write(branch, Place::COPY)?))
                });
                choice.collect()
            }
            Expr::Concat(items) => self.choices_of_first(body, items.first()?, &items[1..]),
            first => self.choices_of_first(body, first, &[]),
        };
        self.folds = false;
        choices.filter(|choices: &Vec<_>| choices.len() > 1)
    }

    fn choices_of_first(
        &mut self,
        body: &'e Expr,
        first: &'e Expr,
        rest: &'e [Expr],
    ) -> Option<Vec<(Piece, Piece)>> {
        let (one, more) = match first {
            Expr::Repeat { child, lo, hi, .. } if *lo >= 1 => (&**child, Some((lo - 1, *hi))),
            _ => (first, None),
        };
        let is_folded = self.folds || matches!(one, Expr::Delegate { casei: true, .. });
        let class = self.class(one)?;
        let mut others = class.clone();
        let mut heads = Vec::new();
        for byte in (b' '..=b'~').chain([b'\t']) {
            let other_case = byte.to_ascii_lowercase();
            let is_done = is_folded && byte != other_case && class.has(other_case);
            if class.has(byte) && !is_done {
                heads.push(literal(
                    char::from(byte).encode_utf8(&mut [0; 4]),
                    is_folded,
                ));
            }
            others.ascii[usize::from(byte)] = false;
        }
        let mut choices = Vec::new();
        for head in heads {
            let body = self.write_rest(&head, one, more, rest, Place::INNER)?;
            choices.push((body, self.write_rest(&head, one, more, rest, Place::COPY)?));
        }
        if let Some(head) = others.one() {
            let other = self.write_rest(&head, one, more, rest, Place::INNER)?;
            choices.push((other, self.write(body, Place::COPY)?));
        }
        Some(choices)
    }

    fn write_rest(
        &mut self,
        head: &Piece,
        one: &'e Expr,
        more: Option<(usize, usize)>,
        rest: &'e [Expr],
        place: Place,
    ) -> Option<Piece> {
        let mut whole = head.clone();
        if let Some((lo, hi)) = more {
            let hi = if hi == usize::MAX { hi } else { hi - 1 };
            whole.push(&self.repeat(one, lo, hi, place)?);
        }
        whole.push(&self.write_all(rest, place)?);
        Some(whole)
    }

    fn write(&mut self, expr: &'e Expr, place: Place) -> Option<Piece> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return None;
        }
        Some(match expr {
            Expr::Assertion(assertion) if place.is_original => self.assertion(*assertion),
            Expr::Assertion(_)
            | Expr::Empty
            | Expr::KeepOut
            | Expr::DefineGroup { .. }
            | Expr::BacktrackingControlVerb(BacktrackingControlVerb::Fail)
            | Expr::BackrefExistsCondition { .. } => Piece::default(),
            Expr::Literal { val, casei } => literal(val, *casei || self.folds),
            Expr::LiteralBytes { bytes } => {
                let text: String = bytes.iter().copied().map(char::from).collect();
                literal(&text, self.folds)
            }
            Expr::Any { .. } | Expr::Delegate { .. } => self.class(expr)?.one()?,
            Expr::Concat(items) => self.write_all(items, place)?,
            Expr::LookAround(..) => self.write_all(std::slice::from_ref(expr), place)?,
            Expr::Alt(branches) => {
                let branches = branches.iter().map(|branch| self.write(branch, place));
                Piece::any_of(branches.collect::<Option<Vec<_>>>()?)
            }
            Expr::Group(body) => self.group(body, place)?,
            Expr::AtomicGroup(body) => self.write(body, place)?,
            Expr::Repeat { child, lo, hi, .. } => self.repeat(child, *lo, *hi, place)?,
            Expr::Backref { group, casei } => self.copy(group.checked_sub(1)?, *casei)?,
            Expr::Conditional {
                condition,
                true_branch,
                false_branch,
            } => {
                let place = place.inner();
                let mut then = self.write(condition, place)?;
                then.push(&self.write(true_branch, place)?);
                Piece::any_of(vec![then, self.write(false_branch, place)?])
            }
            _ => return None,
        })
    }

    fn write_all(&mut self, items: &'e [Expr], place: Place) -> Option<Piece> {
        let mut whole = Piece::default();
        // A look-ahead at the end of the pattern demands one text, and the rest of the pattern
        // demands another one at the same place. To find candidate lines, either text will do, so
        // the one is written that is likely to be in fewer lines.
        let mut ahead: Option<Piece> = None;
        for (i, item) in items.iter().enumerate() {
            let here = Place {
                is_first: place.is_first && whole.text.is_empty(),
                is_last: place.is_last && i + 1 == items.len(),
                ..place
            };
            match item {
                Expr::LookAround(body, LookAround::LookAhead) if place.is_last => {
                    let at_end = Place {
                        is_last: true,
                        ..here
                    };
                    let mut other = whole.clone();
                    other.push(&self.write(body, at_end)?);
                    if ahead.as_ref().is_none_or(|best| best.worth < other.worth) {
                        ahead = Some(other);
                    }
                }
                Expr::LookAround(body, LookAround::LookBehind) if here.is_first => {
                    let before = Place {
                        is_last: false,
                        ..here
                    };
                    whole.push(&self.write(body, before)?);
                }
                Expr::LookAround(..) => {}
                _ => whole.push(&self.write(item, here)?),
            }
        }
        let ahead = ahead.filter(|ahead| ahead.worth > whole.worth);
        Some(ahead.unwrap_or(whole))
    }

    fn group(&mut self, body: &'e Arc<Expr>, place: Place) -> Option<Piece> {
        let at = self
            .groups
            .iter()
            .position(|group| std::ptr::eq(group.body, Arc::as_ptr(body)));
        match &self.chosen {
            Some(chosen) if Some(chosen.group) == at => Some(if place.is_original {
                chosen.body.clone()
            } else {
                chosen.copy.clone()
            }),
            _ => self.write(body, place),
        }
    }

    fn copy(&mut self, group: usize, ignores_case: bool) -> Option<Piece> {
        match &self.chosen {
            Some(chosen) if chosen.group == group => return Some(chosen.copy.clone()),
            _ if self.copying.contains(&group) => return None,
            _ => {}
        }
        let body = self.groups.get(group)?.body;
        let folds = self.folds;
        self.folds |= ignores_case;
        self.copying.push(group);
        let copy = self.write(body, Place::COPY);
        self.copying.pop();
        self.folds = folds;
        copy
    }

    fn repeat(&mut self, child: &'e Expr, lo: usize, hi: usize, place: Place) -> Option<Piece> {
        // It only matters whether a line matches, not how far the match goes. Lazy repetitions let
        // the engine stop at the first possible end.
        let times = match (lo, hi) {
            (_, 0) => return Some(Piece::default()),
            (1, 1) => String::new(),
            (0, usize::MAX) => "*?".to_owned(),
            (1, usize::MAX) => "+?".to_owned(),
            (_, usize::MAX) => format!("{{{lo},}}?"),
            _ => format!("{{{lo},{hi}}}?"),
        };
        let class = match child {
            Expr::Any { .. } | Expr::Delegate { .. } if hi == usize::MAX => self.class(child),
            _ => None,
        };
        let one = match class {
            Some(class) => class.bytes(),
            None => self.write(child, place.inner())?,
        };
        Some(Piece {
            text: format!("(?:{}){times}", one.text),
            worth: one.worth.saturating_mul(lo),
        })
    }

    fn assertion(&mut self, assertion: Assertion) -> Piece {
        let text = match assertion {
            Assertion::StartText
            | Assertion::StartLine { crlf: false }
            | Assertion::StartLineOniguruma { crlf: false } => "(?m:^)",
            // The backtracking engine gets each line without its `\r\n`, or, if the pattern has a
            // carriage return, without its `\n`. So `$` must match before both; with the flag `R`
            // it would not match between them.
            Assertion::EndText
            | Assertion::EndTextIgnoreTrailingNewlines { .. }
            | Assertion::EndLine { .. } => "(?:(?Rm:$)|(?m:$))",
            Assertion::WordBoundary
            | Assertion::LeftWordBoundary
            | Assertion::RightWordBoundary => {
                // Unicode's word boundary is not used: it never matches beside a byte that is not
                // UTF-8, and a large automaton with it is slow on text with characters beyond
                // ASCII.
                self.has_boundary = true;
                r"(?-u:\b)"
            }
            _ => "",
        };
        Piece {
            text: text.to_owned(),
            worth: 0,
        }
    }

    fn class(&self, expr: &Expr) -> Option<Class> {
        let (text, ignores_case) = match expr {
            Expr::Any { .. } => ("(?s:.)", false),
            Expr::Delegate { inner, casei } => (inner.as_str(), *casei || self.folds),
            _ => return None,
        };
        let mut parser = regex_syntax::ParserBuilder::new();
        let parser = parser.case_insensitive(ignores_case);
        Class::new(&parser.build().parse(text).ok()?)
    }
}

impl Piece {
    fn push(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        self.worth += other.worth;
    }

    fn any_of(branches: Vec<Self>) -> Self {
        let worth = branches.iter().map(|branch| branch.worth).min();
        let texts: Vec<_> = branches.into_iter().map(|branch| branch.text).collect();
        Self {
            text: format!("(?:{})", texts.join("|")),
            worth: worth.unwrap_or_default(),
        }
    }
}

fn literal(text: &str, ignores_case: bool) -> Piece {
    let plain = text.replace(char::REPLACEMENT_CHARACTER, "");
    // U+FFFD in the pattern may stand for bytes that are not UTF-8, which the backtracking engine
    // sees as this character.
    let parts = text.split(char::REPLACEMENT_CHARACTER);
    let parts = parts.map(|part| match regex_syntax::escape(part) {
        part if ignores_case && !part.is_empty() => format!("(?i:{part})"),
        part => part,
    });
    let parts: Vec<String> = parts.collect();
    Piece {
        worth: plain.len() * LITERAL_WORTH,
        text: parts.join(&format!("(?-u:[{WIDE}]{{1,4}}?)")),
    }
}

#[derive(Debug, Clone)]
struct Class {
    ascii: [bool; 128],
    is_wide: bool,
}

impl Class {
    fn new(hir: &Hir) -> Option<Self> {
        let ranges: Vec<RangeInclusive<u32>> = match hir.kind() {
            HirKind::Class(HirClass::Unicode(class)) => {
                let ranges = class.ranges().iter();
                ranges.map(|r| r.start().into()..=r.end().into()).collect()
            }
            HirKind::Class(HirClass::Bytes(class)) => {
                let ranges = class.ranges().iter();
                ranges.map(|r| r.start().into()..=r.end().into()).collect()
            }
            HirKind::Literal(one) => {
                let first = u32::from(*one.0.first()?);
                vec![first..=first]
            }
            _ => return None,
        };
        let has = |code: u32| ranges.iter().any(|range| range.contains(&code));
        let mut ascii = [false; 128];
        for (code, is_in) in (0..).zip(&mut ascii) {
            *is_in = code != u32::from(b'\n') && has(code);
        }
        Some(Self {
            ascii,
            is_wide: ranges.iter().any(|range| *range.end() > 0x7f),
        })
    }

    fn has(&self, byte: u8) -> bool {
        self.ascii.get(usize::from(byte)) == Some(&true)
    }

    fn set(&self) -> String {
        let mut set = String::new();
        let mut at = 0;
        while at < self.ascii.len() {
            let run = self.ascii[at..].iter().take_while(|is_in| **is_in).count();
            if run > 0 {
                set.push_str(&format!(r"\x{at:02X}-\x{:02X}", at + run - 1));
            }
            at += run + 1;
        }
        set
    }

    fn worth(&self) -> usize {
        usize::from(!self.is_wide)
    }

    fn one(&self) -> Option<Piece> {
        let set = self.set();
        let text = match (set.is_empty(), self.is_wide) {
            (true, false) => return None,
            (false, false) => format!("(?-u:[{set}])"),
            (true, true) => format!("(?-u:[{WIDE}]{{1,4}}?)"),
            (false, true) => format!("(?-u:[{set}]|[{WIDE}]{{1,4}}?)"),
        };
        Some(Piece {
            text,
            worth: self.worth(),
        })
    }

    fn bytes(&self) -> Piece {
        let wide = if self.is_wide { WIDE } else { "" };
        Piece {
            text: format!("(?-u:[{}{wide}])", self.set()),
            worth: self.worth(),
        }
    }
}
