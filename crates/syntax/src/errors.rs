//! Finds syntax errors that a change has introduced.
//!
//! Valid text may contain what the grammar does not know, so an error alone means nothing. The
//! change is blamed only if a part around it parsed in the old text and does not in the new one.
//! The part may mean something else out of its context, so the whole new text must have an error
//! there as well. Most edits cost the parsing of one such part, in both versions.

use crate::change::{Change, Part};
use crate::parser::{TimedParser, is_source};
use crate::{BUDGET, Language, SyntaxError};
use std::borrow::Cow;
use std::ops::Range;
use tree_sitter::{Node, Tree};

const MAX_ERRORS: usize = 3;

const LINE_CHARS: usize = 120;

/// The most errors that are collected from one tree; a text that is wrong throughout has many.
const MAX_FAULTS: usize = 1_000;

/// Returns at most three syntax errors that `new` has and `old` does not, by line.
///
/// Nothing is returned for texts that can't be judged: those over [`crate::MAX_BYTES`], generated
/// or minified ones, those that take the parser longer than [`crate::BUDGET`], and changes of a
/// part that did not parse before, unless a single change breaks up a pair of brackets or quotes.
#[must_use]
pub fn new_errors(old: &str, new: &str, language: Language) -> Vec<SyntaxError> {
    if !is_source(old) || !is_source(new) {
        return Vec::new();
    }
    let Some(parser) = TimedParser::new(language, BUDGET) else {
        return Vec::new();
    };
    let change = Change::new(old, new);
    Judge {
        parser,
        change,
        new,
        faults: None,
    }
    .judge()
    .unwrap_or_default()
}

struct Judge<'t> {
    parser: TimedParser,
    change: Change<'t>,
    new: &'t str,
    /// The ranges of lines with errors in the whole new text; `None` until they are needed.
    faults: Option<Vec<Range<usize>>>,
}

impl Judge<'_> {
    fn judge(&mut self) -> Option<Vec<SyntaxError>> {
        let mut parts = self.change.parts();
        parts.push(self.change.whole());
        for part in parts {
            let (old, new) = self.change.texts(&part);
            let (faults, is_balanced) = self.faults_of(&new, &part)?;
            if faults.is_empty() && self.change.is_whole(&part) {
                break;
            }
            let (old_faults, old_is_balanced) = self.faults_of(&old, &part)?;
            // Code with macros may not parse as C at all, but its brackets and quotes are in pairs.
            // Only a change that breaks up pairs is therefore reported, and not if preprocessor
            // directives changed, because each branch of an `#if` may have its own part of a pair.
            let is_odd = old_is_balanced && !is_balanced && !self.change.any(is_directive);
            if !old_faults.is_empty() {
                if is_odd && self.change.is_whole(&part) {
                    return Some(self.report_only_hunk());
                }
                continue;
            }
            if faults.is_empty() || self.counts_pairs_only() && !is_odd {
                break;
            }
            if self.is_confirmed(&part)? {
                return Some(self.report(faults));
            }
        }
        Some(Vec::new())
    }

    fn counts_pairs_only(&self) -> bool {
        let language = self.parser.language;
        matches!(language, Language::C | Language::Cpp)
            || language == Language::JavaScript && self.new.contains("@flow")
            || self.change.any(|line| may_be_unknown(line, language))
    }

    /// Returns the lines, counted in the new text, in which a part's text has errors, and whether
    /// its brackets and quotes are in pairs. Returns `None` if the time is up.
    fn faults_of(&mut self, text: &str, part: &Part) -> Option<(Vec<Range<usize>>, bool)> {
        let is_php = self.parser.language == Language::Php && part.new.start > 0;
        let text = if is_php {
            Cow::Owned(format!("<?php {text}"))
        } else {
            Cow::Borrowed(text)
        };
        let tree = self.parser.parse(&text)?;
        let from = part.new.start;
        let faults = faults(&tree, &text, self.parser.language).into_iter();
        let faults = faults.map(|lines| from + lines.start..from + lines.end);
        Some((faults.collect(), is_balanced(&tree)))
    }

    fn is_confirmed(&mut self, part: &Part) -> Option<bool> {
        if self.faults.is_none() {
            let tree = self.parser.parse(self.new)?;
            self.faults = Some(faults(&tree, self.new, self.parser.language));
        }
        // If an outermost part leaves a bracket open, the parser may only notice it at the end of
        // the file.
        let end = (!part.is_outermost()).then_some(part.new.end);
        let mut faults = self.faults.iter().flatten();
        Some(
            faults
                .any(|fault| end.is_none_or(|end| fault.start < end) && part.new.start < fault.end),
        )
    }

    /// Returns the first changed line if all changed lines are neighbours. Where nothing around the
    /// change parsed before, nothing else says which of several changes broke up a pair.
    fn report_only_hunk(&self) -> Vec<SyntaxError> {
        match self.change.hunks(BUDGET).as_slice() {
            [hunk] => vec![self.error_at(hunk.start)],
            _ => Vec::new(),
        }
    }

    fn error_at(&self, line: usize) -> SyntaxError {
        SyntaxError {
            line: line + 1,
            text: excerpt(self.change.new_line(line)),
        }
    }

    /// Returns the changed lines to blame: for each range of lines that does not parse, the
    /// smallest first, a changed line within the range, or else the nearest one before it.
    fn report(&self, mut faults: Vec<Range<usize>>) -> Vec<SyntaxError> {
        let hunks = self.change.hunks(BUDGET);
        faults.sort_by_key(|lines| (lines.len(), lines.start));
        let mut lines = Vec::new();
        for fault in faults {
            let inside = hunks
                .iter()
                .find(|hunk| hunk.start < fault.end && fault.start < hunk.end);
            let before = hunks.iter().rev().find(|hunk| hunk.end <= fault.start);
            let line = match (inside, before) {
                (Some(hunk), _) => hunk.start.max(fault.start),
                (None, Some(hunk)) => hunk.end - 1,
                (None, None) => hunks.first().map_or(fault.start, |hunk| hunk.start),
            };
            if !lines.contains(&line) && lines.len() < MAX_ERRORS {
                lines.push(line);
            }
        }
        lines.sort_unstable();
        lines.into_iter().map(|line| self.error_at(line)).collect()
    }
}

fn is_directive(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Returns true if a line may have what is valid, and in common use, but unknown to the grammar.
fn may_be_unknown(line: &str, language: Language) -> bool {
    let has = |marks: &[&str]| marks.iter().any(|mark| line.contains(mark));
    match language {
        Language::Css => {
            let hacks = [" *", "@-moz-", "progid:", "\\9"];
            has(&["(..", ">=", "<=", "@container"]) || has(&hacks) || line.starts_with('*')
        }
        Language::CSharp => has(&["#if", "#el", "#endif", "allows ref"]),
        Language::Json => has(&["e+", "E+"]),
        Language::Html => has(&["& ", "&&", "{{", "{%"]),
        Language::JavaScript => has_single_ampersand(line),
        Language::TypeScript | Language::Tsx => {
            let types = ["import(", "export type *", "in out ", "static accessor"];
            has(&types) || language == Language::Tsx && has_single_ampersand(line)
        }
        Language::Bash => line.matches("<<").count() > 1,
        Language::Python => has(&["\x0c"]),
        _ => false,
    }
}

/// Returns true for an `&` that JSX takes as text, such as one between parameters of an address.
fn has_single_ampersand(line: &str) -> bool {
    line.replace("&&", "").contains('&')
}

fn excerpt(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn is_balanced(tree: &Tree) -> bool {
    let mut open = [0_i64; 5];
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.child_count() == 0 && !node.is_missing() {
            match node.kind() {
                "(" => open[0] += 1,
                ")" => open[0] -= 1,
                "[" | "[[" => open[1] += node.kind().len() as i64,
                "]" | "]]" => open[1] -= node.kind().len() as i64,
                "{" => open[2] += 1,
                "}" => open[2] -= 1,
                // The first quote may have a prefix, as in `L"x"`.
                kind => {
                    open[3] ^= i64::from(kind.ends_with('"'));
                    open[4] ^= i64::from(kind.ends_with('\''));
                }
            }
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return open == [0; 5];
            }
        }
    }
}

/// Returns the ranges of lines, from 0, that did not parse, or in which a token is missing.
fn faults(tree: &Tree, text: &str, language: Language) -> Vec<Range<usize>> {
    let has_more = matches!(language, Language::Python | Language::Bash);
    let mut faults = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() || lacks_hidden(node) {
            faults.push(lines_of(node));
        } else if language == Language::Python {
            faults.extend(misplaced(node));
        } else if language == Language::Bash && is_reserved(node, text) {
            faults.push(lines_of(node));
        }
        if faults.len() >= MAX_FAULTS {
            return faults;
        }
        let descends = node.has_error() || has_more;
        if descends && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return faults;
            }
        }
    }
}

/// Returns true if a node has an error that none of its children has: a token without a node of its
/// own, such as the end of a line, is missing.
fn lacks_hidden(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.has_error() && !node.children(&mut cursor).any(|child| child.has_error())
}

fn lines_of(node: Node<'_>) -> Range<usize> {
    node.start_position().row..node.end_position().row + 1
}

/// Returns true for a word of Bash that ends or continues a statement and has none before it, as
/// `fi` without `if`. The grammar takes it for the name of a program.
fn is_reserved(node: Node<'_>, text: &str) -> bool {
    let words = ["fi", "done", "esac", "then", "do", "else", "elif", "}"];
    node.kind() == "command_name" && words.contains(&&text[node.byte_range()])
}

/// Finds an indentation error of Python, which the grammar accepts: a statement that begins a line
/// at another column than the first statement of its block, a block without a statement, or a
/// module that begins indented.
fn misplaced(node: Node<'_>) -> Option<Range<usize>> {
    if !matches!(node.kind(), "block" | "module") {
        return None;
    }
    let mut cursor = node.walk();
    let mut statements = node
        .named_children(&mut cursor)
        .filter(|child| child.kind() != "comment");
    let Some(first) = statements.next() else {
        return (node.kind() == "block").then(|| lines_of(node));
    };
    let mut row = first.end_position().row;
    let odd = statements.find(|child| {
        let start = child.start_position();
        let begins_line = start.row > row;
        row = child.end_position().row;
        begins_line && start.column != first.start_position().column
    });
    let is_module = node.kind() == "module";
    let odd = odd.or_else(|| (is_module && first.start_position().column > 0).then_some(first));
    odd.map(lines_of)
}
