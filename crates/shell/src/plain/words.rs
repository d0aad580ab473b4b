//! Words, assignments and redirections.

use super::lists::{Heredoc, Parser};
use super::{
    Assignment, Piece, Redirect, RedirectTarget, Script, Value, Variable, Word, is_name_byte,
    is_name_start,
};
use std::rc::Rc;

const OPERATORS: [&str; 12] = [
    "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">",
];

impl<'a> Parser<'a> {
    #[expect(clippy::option_option, reason = "refused, or another word")]
    pub(super) fn assignment(&mut self) -> Option<Option<Assignment>> {
        let start = self.at;
        let Some(name) = self.name() else {
            self.at = start;
            return Some(None);
        };
        if self.peek() == Some(b'[') {
            // `a[…]=value` is refused, because bash evaluates the subscript. Without `=` the word
            // is a pattern, such as `a[bc]`.
            self.at = start;
            let word = self.word()?;
            self.at = start;
            return (!word.has('=')).then_some(None);
        }
        let appends = self.take("+=");
        if !appends && !self.take("=") {
            if self.peek() == Some(b'+') {
                self.at += 1;
                // `+` and `=` on two lines, joined by a backslash, are refused.
                if self.peek() == Some(b'=') {
                    return None;
                }
            }
            self.at = start;
            return Some(None);
        }
        let value = if self.take("(") {
            Value::List(self.list()?)
        } else {
            Value::Word(self.word_or_nothing()?)
        };
        Some(Some(Assignment {
            name,
            appends,
            value,
        }))
    }

    fn list(&mut self) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.lines()?;
            match self.peek()? {
                b')' => {
                    self.at += 1;
                    return Some(words);
                }
                // A list with `[key]=value` is refused, because bash evaluates the key.
                b'[' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' => return None,
                _ => words.push(self.word()?),
            }
        }
    }

    pub(super) fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        while let Some(byte) = self.peek() {
            let fits = if name.is_empty() {
                is_name_start(byte)
            } else {
                is_name_byte(byte)
            };
            if !fits {
                break;
            }
            name.push(char::from(byte));
            self.at += 1;
        }
        (!name.is_empty()).then_some(name)
    }

    #[expect(clippy::option_option, reason = "refused, or something else")]
    pub(super) fn redirect(&mut self) -> Option<Option<Redirect>> {
        let start = self.at;
        let mut descriptor = String::new();
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            descriptor.push(char::from(byte));
            self.at += 1;
        }
        let descriptor = (!descriptor.is_empty()).then_some(descriptor);
        let is_process = matches!(self.peek(), Some(b'<' | b'>')) && self.raw(1) == Some(b'(');
        let found = OPERATORS.iter().find(|operator| self.starts_with(operator));
        let found = found.filter(|operator| descriptor.is_none() || !operator.starts_with('&'));
        let Some(operator) = found.filter(|_| !is_process) else {
            self.at = start;
            return (!is_process || descriptor.is_none()).then_some(None);
        };
        if descriptor.as_ref().is_some_and(|digits| digits.len() > 3) {
            return None;
        }
        // An operator that a backslash and a line feed divide is not put together. What follows its
        // first part is read as the target, and is refused unless it is a word.
        self.at += operator.len();
        self.blanks();
        let (operator, target) = match *operator {
            "<<" | "<<-" => ("<<", self.delimiter(*operator == "<<-")?),
            operator => {
                let word = self.word()?;
                if matches!(operator, ">&" | "<&") && !is_descriptor(&word.literal()?) {
                    return None;
                }
                (operator, RedirectTarget::Word(word))
            }
        };
        Some(Some(Redirect {
            descriptor,
            operator,
            target,
        }))
    }

    fn delimiter(&mut self, strips_tabs: bool) -> Option<RedirectTarget> {
        let word = self.word()?;
        let is_quoted = word.pieces.iter().any(|p| matches!(p, Piece::Quoted(_)));
        let delimiter = word.literal()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if delimiter.is_empty() || !delimiter.chars().all(is_plain) {
            return None;
        }
        let text = Rc::default();
        self.has_document = true;
        self.pending.push(Heredoc {
            text: Rc::clone(&text),
            delimiter,
            is_quoted,
            strips_tabs,
        });
        Some(RedirectTarget::Document(text))
    }

    pub(super) fn word(&mut self) -> Option<Word> {
        self.word_or_nothing()
            .filter(|word| !word.pieces.is_empty())
    }

    fn word_or_nothing(&mut self) -> Option<Word> {
        self.budget.take(1, 0)?;
        let mut pieces: Vec<Piece> = Vec::new();
        self.peek();
        let start = self.at;
        if matches!(self.raw(0), Some(b'<' | b'>')) && self.raw(1) == Some(b'(') {
            let mark = char::from(self.raw(0)?);
            self.at += 2;
            let script = self.nested()?;
            pieces.push(Piece::Process { mark, script });
        }
        while let Some(byte) = self.peek() {
            if b" \t\n;&|<>()".contains(&byte) {
                break;
            }
            self.piece(byte, &mut pieces)?;
        }
        // bash opens `{name}>file` on a new descriptor and assigns its number to `name`.
        if matches!(self.peek(), Some(b'<' | b'>'))
            && matches!(pieces.last(), Some(Piece::Bare(text)) if text.ends_with('}'))
        {
            return None;
        }
        let text = self.text.get(start..self.at)?.to_owned();
        Some(Word { pieces, text })
    }

    fn piece(&mut self, byte: u8, pieces: &mut Vec<Piece>) -> Option<()> {
        match byte {
            b'\'' => {
                self.at += 1;
                let text = self.text[self.at..self.end].split_once('\'')?.0;
                if self.is_before_document() && text.contains('\n') {
                    return None;
                }
                self.at += text.len() + 1;
                push_text(pieces, text);
            }
            b'"' => {
                self.at += 1;
                let inner = self.double(Some(b'"'))?;
                match inner.as_slice() {
                    [] => push_text(pieces, ""),
                    [Piece::Quoted(text)] => push_text(pieces, text),
                    _ => pieces.push(Piece::Double(inner)),
                }
            }
            b'\\' => {
                self.at += 1;
                let quoted = self.character()?;
                push_text(pieces, quoted);
            }
            b'$' | b'`' => match self.expansion(false)? {
                Piece::Quoted(text) => push_text(pieces, &text),
                piece => pieces.push(piece),
            },
            _ => {
                let text = self.character()?;
                match pieces.last_mut() {
                    _ if !text.is_ascii() => push_text(pieces, text),
                    Some(Piece::Bare(last)) => last.push_str(text),
                    _ => pieces.push(Piece::Bare(text.to_owned())),
                }
            }
        }
        Some(())
    }

    fn character(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..self.end];
        let length = rest.chars().next()?.len_utf8();
        self.at += length;
        Some(&rest[..length])
    }

    /// Returns true while a here-document is pending. A quoted text that goes on to the next line
    /// would swallow the beginning of the document.
    fn is_before_document(&self) -> bool {
        self.outer_heredoc_pending || !self.pending.is_empty()
    }

    pub(super) fn double(&mut self, end: Option<u8>) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        loop {
            let Some(byte) = self.peek() else {
                return end.is_none().then_some(pieces);
            };
            match byte {
                _ if Some(byte) == end => {
                    self.at += 1;
                    return Some(pieces);
                }
                b'\\' => {
                    let next = self.text[self.at + 1..self.end].chars().next();
                    match next {
                        Some(c @ ('$' | '`' | '\\')) => {
                            push_text(&mut pieces, c.encode_utf8(&mut [0; 4]));
                            self.at += 2;
                        }
                        Some('"') if end.is_some() => {
                            push_text(&mut pieces, "\"");
                            self.at += 2;
                        }
                        _ => {
                            push_text(&mut pieces, "\\");
                            self.at += 1;
                        }
                    }
                }
                b'$' | b'`' => match self.expansion(true)? {
                    Piece::Quoted(text) => push_text(&mut pieces, &text),
                    piece => pieces.push(piece),
                },
                b'\n' if end.is_some() && self.is_before_document() => return None,
                _ => {
                    let text = self.character()?;
                    push_text(&mut pieces, text);
                }
            }
        }
    }

    pub(super) fn expansion(&mut self, is_quoted: bool) -> Option<Piece> {
        self.enter()?;
        let piece = self.expanded(is_quoted)?;
        self.leave();
        Some(piece)
    }

    fn expanded(&mut self, is_quoted: bool) -> Option<Piece> {
        if self.peek() == Some(b'`') {
            return self.backticks(is_quoted);
        }
        self.at += 1;
        let variable = |name| {
            Some(Piece::Variable(Variable {
                name,
                ..Variable::default()
            }))
        };
        match self.peek() {
            Some(b'(') if self.starts_with("((") => {
                self.at += 2;
                Some(Piece::Arithmetic(self.arithmetic()?))
            }
            Some(b'(') => {
                self.at += 1;
                Some(Piece::Substitution(self.nested()?))
            }
            Some(b'{') => {
                self.at += 1;
                Some(Piece::Variable(self.braces(is_quoted)?))
            }
            Some(b'[') => None,
            Some(b'"' | b'\'') if !is_quoted => None,
            Some(byte) if is_name_start(byte) => variable(self.name()?),
            Some(byte @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.at += 1;
                variable(char::from(byte).to_string())
            }
            _ => Some(Piece::Quoted("$".to_owned())),
        }
    }

    pub(super) fn nested(&mut self) -> Option<Script> {
        let script = self.script_within_line()?;
        self.take(")").then_some(script)
    }

    /// Parses a list of commands in which the enclosing line's here-documents can't begin, and
    /// which must not leave any pending itself.
    fn script_within_line(&mut self) -> Option<Script> {
        let pending = std::mem::take(&mut self.pending);
        let was_within_line = self.outer_heredoc_pending;
        self.outer_heredoc_pending |= !pending.is_empty();
        let script = self.script(&[])?;
        if !self.pending.is_empty() {
            return None;
        }
        self.pending = pending;
        self.outer_heredoc_pending = was_within_line;
        Some(script)
    }

    fn backticks(&mut self, is_quoted: bool) -> Option<Piece> {
        self.at += 1;
        let inner = self.text[self.at..self.end].split_once('`')?.0;
        // Within backticks a backslash has other rules of quoting, and so has `"` if the backticks
        // are quoted: both are refused.
        if inner.contains('\\') || is_quoted && inner.contains('"') {
            return None;
        }
        let end = std::mem::replace(&mut self.end, self.at + inner.len());
        let script = self.script_within_line()?;
        if self.at != self.end {
            return None;
        }
        self.end = end;
        self.at += 1;
        Some(Piece::Substitution(script))
    }
}

fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    let is_short = text == "-" || (1..4).contains(&digits.len());
    is_short && digits.bytes().all(|b| b.is_ascii_digit())
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Quoted(last)) => last.push_str(text),
        _ => pieces.push(Piece::Quoted(text.to_owned())),
    }
}
