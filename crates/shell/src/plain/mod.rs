//! Plain shell: the part of bash that is understood whole.
//!
//! A recursive descent parser builds a tree of what is written. It knows the common part of bash's
//! grammar and no more: what it does not recognise, it refuses, and the line counts as unresolved.
//! What it accepts is printed again from the tree (`render`), with one way to quote, and the
//! printed text is what runs. So where bash would read the original characters differently from
//! this parser, no other program can run than the one that was judged: bash never gets the original
//! characters.
//!
//! A script that another shell reads as it is (`bash -c '…'`) is not printed again. Such a text
//! is parsed only if it has none of the characters about which shells differ ([`is_portable`]).

mod expansion;
mod lists;
mod test;
mod words;

use super::budget::Limits;
use lists::Parser;
use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

pub(super) const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while", "{", "}",
];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Script {
    pub(super) items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) first: Pipeline,
    pub(super) more: Vec<(&'static str, Pipeline)>,
    pub(super) is_background: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pipeline {
    pub(super) is_negated: bool,
    pub(super) is_timed: bool,
    pub(super) stages: Vec<Stage>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stage {
    pub(super) command: Command,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
        text: String,
    },
    Subshell(Script),
    Group(Script),
    If {
        arms: Vec<(Script, Script)>,
        otherwise: Option<Script>,
    },
    While {
        condition: Script,
        body: Script,
    },
    For {
        variable: String,
        words: Vec<Word>,
        body: Script,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    Test(Vec<Word>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) appends: bool,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Word(Word),
    List(Vec<Word>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Redirect {
    pub(super) descriptor: Option<String>,
    pub(super) operator: &'static str,
    pub(super) target: RedirectTarget,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RedirectTarget {
    Word(Word),
    Document(Rc<OnceCell<Word>>),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Word {
    pub(super) pieces: Vec<Piece>,
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// Unquoted characters that stand for themselves, are part of a pattern or a list in braces, or
    /// name a home directory (`~`).
    Bare(String),
    Quoted(String),
    /// Text within double quotes. It never holds `Bare`, `Double` or `Process`.
    Double(Vec<Piece>),
    Variable(Variable),
    Substitution(Script),
    Arithmetic(String),
    Process {
        mark: char,
        script: Script,
    },
}

/// A variable with what is done to its value. `subscript` is the text between brackets: `@`, `*` or
/// a number, because bash would evaluate any other. `operation` is the operator of an expansion
/// such as `${name:-…}`, with its operand, whose `Bare` pieces are printed as they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) subscript: Option<String>,
    pub(super) is_length: bool,
    pub(super) operation: Option<(&'static str, Vec<Piece>)>,
}

fn push_quoted(pattern: &mut String, text: &str) {
    for c in text.chars() {
        if r"*?[]{},~\".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
}

/// The first place where a text is more than plain shell, in words: the construct as it is written,
/// or the limit that the text exceeds, and its line and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPlain(String);

impl NotPlain {
    pub(super) fn new(text: &str, at: usize, limit: Option<&'static str>) -> Self {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let begins = |c: char| matches!(c, '$' | '@' | '`' | '\\' | '\'' | '"');
        if limit.is_none()
            && let Some(before) = text[..at].chars().next_back().filter(|c| begins(*c))
        {
            at -= before.len_utf8();
        }
        let (before, rest) = text.split_at(at);
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let construct = match (limit, rest.chars().next()) {
            (Some(limit), _) => limit.to_owned(),
            (None, None) => "the end".to_owned(),
            (None, Some('`')) => "a backtick".to_owned(),
            (None, Some(first)) if first.is_control() => "a control character".to_owned(),
            (None, Some(first)) => {
                let is_blank = first.is_whitespace();
                let is_same =
                    |c: &char| !is_blank && !c.is_whitespace() && is_word(*c) == is_word(first);
                let most = if is_word(first) { 30 } else { 3 };
                let more = rest.chars().skip(1).take(most - 1).take_while(is_same);
                format!("`{first}{}`", more.collect::<String>())
            }
        };
        let line = before.rsplit('\n').next().unwrap_or_default();
        let column = line.chars().count() + 1;
        Self(match before.matches('\n').count() {
            0 => format!("{construct} at column {column}"),
            lines => format!("{construct} at line {}, column {column}", lines + 1),
        })
    }
}

impl fmt::Display for NotPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if all shells read this text alike. A text is refused if it has backslashes,
/// comments, here-documents, lists in braces, syntax that not all shells have, or `case`, because
/// bash 3.2 takes the parenthesis after a pattern for the end of `$(…)`.
pub(super) fn is_portable(text: &str) -> bool {
    const OWN: [&str; 9] = ["$'", "$\"", "&>", "<<", "<(", ">(", "=(", "+=", "[["];
    let is_odd = |c: char| !c.is_ascii() || "\\`#~^".contains(c);
    let bytes = text.as_bytes();
    let is_followed_by =
        |at: usize, next: &[u8]| bytes.get(at + 1).is_some_and(|b| next.contains(b));
    let is_plain = |at: usize| match bytes[at] {
        b'{' => at > 0 && bytes[at - 1] == b'$' || is_followed_by(at, b"} "),
        b'!' => is_followed_by(at, b" ="),
        _ => true,
    };
    !text.contains(is_odd)
        && !OWN.iter().any(|own| text.contains(own))
        && !text
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| matches!(word, "time" | "esac"))
        && (0..bytes.len()).all(is_plain)
}

pub(super) fn parse(text: &str, budget: &Limits) -> Result<Script, NotPlain> {
    let not_plain = |at| NotPlain::new(text, at, budget.exceeded());
    let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
    if let Some(at) = text.find(is_odd) {
        return Err(not_plain(at));
    }
    budget.take(1, text.len()).ok_or_else(|| not_plain(0))?;
    let mut reader = Parser::new(text, 0, budget);
    let script = reader.script(&[]);
    let is_whole = reader.peek().is_none() && reader.pending.is_empty();
    script
        .filter(|_| is_whole)
        .ok_or_else(|| not_plain(reader.at))
}

impl Stage {
    fn begins_with_dash(&self) -> bool {
        let Command::Simple { words, .. } = &self.command else {
            return false;
        };
        words.first().is_some_and(|word| word.text.starts_with('-'))
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(is_name_start) && text.bytes().all(is_name_byte)
}

impl Word {
    pub(super) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Bare(text)] => Some(text),
            _ => None,
        }
    }

    fn has(&self, c: char) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Bare(text) | Piece::Quoted(text) => text.contains(c),
            _ => false,
        })
    }

    pub(super) fn is_bare(&self, texts: &[&str]) -> bool {
        self.bare().is_some_and(|text| texts.contains(&text))
    }

    /// Returns true if the word begins with `~+`, `~-` or a number such as `~1`, which stand for
    /// directories that `cd` and `pushd` set.
    fn begins_with_a_place(&self) -> bool {
        let Some(Piece::Bare(text)) = self.pieces.first() else {
            return false;
        };
        text.strip_prefix('~')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)))
    }

    /// Returns the word as bash expands it, with backslashes as the only quotes; `None` if a value
    /// is substituted in it, or if it begins with a directory that the shell remembers, such as
    /// `~+`.
    pub(super) fn pattern(&self) -> Option<String> {
        if self.begins_with_a_place() {
            return None;
        }
        let mut pattern = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bare(text) => pattern.push_str(text),
                Piece::Quoted(text) => push_quoted(&mut pattern, text),
                Piece::Double(inner) => {
                    for piece in inner {
                        let Piece::Quoted(text) = piece else {
                            return None;
                        };
                        push_quoted(&mut pattern, text);
                    }
                }
                _ => return None,
            }
        }
        Some(pattern)
    }

    /// Returns the word without quotes, or `None` if something is substituted in it. Patterns and
    /// lists in braces are returned as written.
    pub(super) fn literal(&self) -> Option<String> {
        if self.begins_with_a_place() {
            return None;
        }
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Bare(text) | Piece::Quoted(text) => Some(text.as_str()),
                Piece::Double(inner) => match inner.as_slice() {
                    [] => Some(""),
                    [Piece::Quoted(text)] => Some(text.as_str()),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }
}
