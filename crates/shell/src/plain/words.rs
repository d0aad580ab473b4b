//! Words, assignments and redirections.

use super::lists::{Pending, Reader};
use super::{
    Assignment, Piece, Redirect, Script, ShellDialect, Target, Value, Variable, Word, is_name_byte,
    is_name_start,
};

impl Reader<'_> {
    /// Parses `NAME=` or `NAME+=` and what follows; takes nothing where it is none.
    #[expect(clippy::option_option, reason = "refused, or another word")]
    pub(super) fn assignment(&mut self) -> Option<Option<Assignment>> {
        let start = self.at;
        let Some(name) = self.name() else {
            self.at = start;
            return Some(None);
        };
        if self.peek() == Some(b'[') {
            // A pattern such as `a[bc]`: what a subscript evaluates is not known.
            self.at = start;
            let word = self.word()?;
            self.at = start;
            return (!word.has('=')).then_some(None);
        }
        let appends = self.take("+=");
        if !appends && !self.take("=") {
            if self.peek() == Some(b'+') {
                self.at += 1;
                // Lines that are joined within the operator are refused rather than followed.
                if self.peek() == Some(b'=') {
                    return None;
                }
            }
            self.at = start;
            return Some(None);
        }
        if appends && self.is_posix() {
            return None;
        }
        let value = if self.peek() == Some(b'(') {
            if self.is_posix() {
                return None;
            }
            self.at += 1;
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

    /// Parses the rest of `(…)` in an assignment.
    pub(super) fn list(&mut self) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.lines()?;
            match self.peek()? {
                b')' => {
                    self.at += 1;
                    return Some(words);
                }
                // `[key]=value` evaluates the key.
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
        let operators: &[&'static str] = if descriptor.is_empty() {
            &[
                "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">",
            ]
        } else {
            &["<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">"]
        };
        let is_process = matches!(self.peek(), Some(b'<' | b'>')) && self.raw(1) == Some(b'(');
        let found = operators.iter().find(|operator| self.starts_with(operator));
        let Some(operator) = found.filter(|_| !is_process) else {
            self.at = start;
            return if is_process && !descriptor.is_empty() {
                None
            } else {
                Some(None)
            };
        };
        if descriptor.len() > 3 {
            return None;
        }
        // Joined lines within an operator are refused rather than followed.
        self.at += operator.len();
        if self.is_posix() && (operator.starts_with('&') || *operator == "<<<") {
            return None;
        }
        let descriptor = (!descriptor.is_empty()).then_some(descriptor);
        self.blanks()?;
        let (operator, target) = match *operator {
            "<<" | "<<-" => ("<<", self.delimiter(*operator == "<<-")?),
            operator => {
                let word = self.word()?;
                if matches!(operator, ">&" | "<&") {
                    let text = word.literal()?;
                    let digits = text.strip_suffix('-').unwrap_or(&text);
                    let is_fine = text == "-" || !digits.is_empty() && digits.len() < 4;
                    if !is_fine || !digits.bytes().all(|b| b.is_ascii_digit()) {
                        return None;
                    }
                }
                (operator, Target::Word(word))
            }
        };
        Some(Some(Redirect {
            descriptor,
            operator,
            target,
        }))
    }

    pub(super) fn delimiter(&mut self, strips_tabs: bool) -> Option<Target> {
        if self.dialect != ShellDialect::Printed {
            return None;
        }
        let word = self.word()?;
        let is_quoted = word.pieces.iter().any(|p| matches!(p, Piece::Quoted(_)));
        let delimiter = word.literal()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if delimiter.is_empty() || !delimiter.chars().all(is_plain) {
            return None;
        }
        let number = self.documents.len();
        self.documents.push(None);
        self.pending.push(Pending {
            number,
            delimiter,
            is_quoted,
            strips_tabs,
        });
        Some(Target::Document(number))
    }

    pub(super) fn word(&mut self) -> Option<Word> {
        self.word_or_nothing()
            .filter(|word| !word.pieces.is_empty())
    }

    pub(super) fn word_or_nothing(&mut self) -> Option<Word> {
        self.budget.take(1, 0)?;
        let mut pieces: Vec<Piece> = Vec::new();
        self.peek();
        let start = self.at;
        if matches!(self.peek(), Some(b'<' | b'>')) && self.raw(1) == Some(b'(') {
            if self.is_posix() {
                return None;
            }
            let mark = char::from(self.raw(0)?);
            self.at += 2;
            let script = self.nested(b')')?;
            pieces.push(Piece::Process { mark, script });
        }
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\'' => {
                    self.at += 1;
                    let rest = &self.text[self.at..self.end];
                    let text = rest.split_once('\'')?.0;
                    self.refuse_lines_before_documents(text)?;
                    self.at += text.len() + 1;
                    push_text(&mut pieces, text);
                }
                b'"' => {
                    self.at += 1;
                    let inner = self.double(Some(b'"'))?;
                    match inner.as_slice() {
                        [] => push_text(&mut pieces, ""),
                        [Piece::Quoted(text)] => push_text(&mut pieces, text),
                        _ => pieces.push(Piece::Double(inner)),
                    }
                }
                b'\\' => {
                    if self.dialect != ShellDialect::Printed {
                        return None;
                    }
                    let quoted = self.text[self.at + 1..self.end].chars().next()?;
                    self.at += 1 + quoted.len_utf8();
                    push_text(&mut pieces, quoted.encode_utf8(&mut [0; 4]));
                }
                b'$' | b'`' => match self.expansion(false)? {
                    Piece::Quoted(text) => push_text(&mut pieces, &text),
                    piece => pieces.push(piece),
                },
                _ if !byte.is_ascii() => {
                    let c = self.text[self.at..self.end].chars().next()?;
                    self.at += c.len_utf8();
                    push_text(&mut pieces, c.encode_utf8(&mut [0; 4]));
                }
                _ => {
                    self.at += 1;
                    match pieces.last_mut() {
                        Some(Piece::Bare(text)) => text.push(char::from(byte)),
                        _ => pieces.push(Piece::Bare(char::from(byte).to_string())),
                    }
                }
            }
        }
        // `{name}>file` makes a descriptor.
        if matches!(self.peek(), Some(b'<' | b'>'))
            && matches!(pieces.last(), Some(Piece::Bare(text)) if text.ends_with('}'))
        {
            return None;
        }
        if self.dialect != ShellDialect::Printed && has_differences(&pieces, self.is_posix()) {
            return None;
        }
        let text = self.text.get(start..self.at)?.to_owned();
        Some(Word { pieces, text })
    }

    /// Refuses quotes that go on to the next line where a document waits for this one to end.
    pub(super) fn refuse_lines_before_documents(&self, text: &str) -> Option<()> {
        let waits = self.is_waited_for || !self.pending.is_empty();
        (!waits || !text.contains('\n')).then_some(())
    }

    /// Parses the text of `"…"`, or of a document where nothing ends it.
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
                    if self.dialect != ShellDialect::Printed {
                        return None;
                    }
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
                b'$' | b'`' => {
                    let piece = self.expansion(true)?;
                    match piece {
                        Piece::Quoted(text) => push_text(&mut pieces, &text),
                        piece => pieces.push(piece),
                    }
                }
                b'\n' if end.is_some() && (self.is_waited_for || !self.pending.is_empty()) => {
                    return None;
                }
                _ => {
                    let c = self.text[self.at..self.end].chars().next()?;
                    self.at += c.len_utf8();
                    push_text(&mut pieces, c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Parses what a dollar sign or a backtick begins.
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
        match self.peek() {
            Some(b'(') if self.starts_with("((") => {
                self.at += 2;
                Some(Piece::Arithmetic(self.arithmetic()?))
            }
            Some(b'(') => {
                self.at += 1;
                Some(Piece::Substitution(self.nested(b')')?))
            }
            Some(b'{') => {
                self.at += 1;
                Some(Piece::Variable(self.braces(is_quoted)?))
            }
            Some(b'[') => None,
            Some(b'"' | b'\'') if !is_quoted => None,
            Some(byte) if is_name_start(byte) => {
                Some(Piece::Variable(Variable::new(&self.name()?)))
            }
            Some(byte @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.at += 1;
                Some(Piece::Variable(Variable::new(
                    &char::from(byte).to_string(),
                )))
            }
            _ => Some(Piece::Quoted("$".to_owned())),
        }
    }

    /// Parses a list of commands in parentheses whose first is taken.
    pub(super) fn nested(&mut self, end: u8) -> Option<Script> {
        let pending = std::mem::take(&mut self.pending);
        let was_waited_for = self.is_waited_for;
        self.is_waited_for |= !pending.is_empty();
        let script = self.script(&[])?;
        if self.peek() != Some(end) || !self.pending.is_empty() {
            return None;
        }
        self.at += 1;
        self.pending = pending;
        self.is_waited_for = was_waited_for;
        Some(script)
    }

    pub(super) fn backticks(&mut self, is_quoted: bool) -> Option<Piece> {
        if self.dialect != ShellDialect::Printed {
            return None;
        }
        self.at += 1;
        let rest = &self.text[self.at..self.end];
        let inner = rest.split_once('`')?.0;
        if inner.contains('\\') || is_quoted && inner.contains('"') {
            return None;
        }
        let end = self.end;
        self.end = self.at + inner.len();
        let pending = std::mem::take(&mut self.pending);
        let was_waited_for = self.is_waited_for;
        self.is_waited_for |= !pending.is_empty();
        let script = self.script(&[])?;
        if self.at != self.end || !self.pending.is_empty() {
            return None;
        }
        self.end = end;
        self.at += 1;
        self.pending = pending;
        self.is_waited_for = was_waited_for;
        Some(Piece::Substitution(script))
    }
}

/// Returns true if shells may read pieces in different ways where they stand as they are.
fn has_differences(pieces: &[Piece], is_posix: bool) -> bool {
    pieces.iter().enumerate().any(|(i, piece)| match piece {
        Piece::Bare(text) => {
            // History, lists in braces, and names of directories.
            text.contains('!') && text != "!" && text != "!="
                || text.contains('#')
                || is_posix && i == 0 && text.contains(['{', '~', '^', '=']) && !is_assigned(text)
                || is_posix && text.contains('{') && text != "{}"
        }
        _ => false,
    })
}

fn is_assigned(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(name, rest)| !name.is_empty() && !rest.contains(['{', '~', '^']))
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Quoted(last)) => last.push_str(text),
        _ => pieces.push(Piece::Quoted(text.to_owned())),
    }
}
