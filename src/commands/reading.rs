//! How bash reads the characters of a script: where words, commands, comments, quotes and
//! here-documents begin and end, and which lines go on in the next one.
//!
//! What is rare and hard to read is refused: a reading is certain, or there is none. Whether the
//! parser has read the same is asked in `agreement`.

use std::ops::Range;

/// Quotes and substitutions are followed so deep.
const MAX_DEPTH: usize = 40;

/// A script as bash reads it.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The script without each backslash and line feed that bash takes out.
    pub(super) text: String,
    /// The blanks, line feeds and operators outside of quotes.
    pub(super) ends: Vec<usize>,
    pub(super) comments: Vec<Range<usize>>,
    /// What is in quotes, with them, outside of other quotes.
    pub(super) quotes: Vec<Range<usize>>,
    /// `$(…)`, `<(…)` and `>(…)`, and what is in backticks.
    pub(super) substitutions: Vec<Range<usize>>,
    /// Where the lines stand that end here-documents.
    pub(super) documents: Vec<usize>,
}

/// Reads a script; `None` where it is not certain how bash does.
pub(super) fn read(script: &str) -> Option<Reading> {
    let mut reader = Reader {
        source: script.as_bytes(),
        at: 0,
        out: Vec::with_capacity(script.len()),
        reading: Reading::default(),
        pending: Vec::new(),
        depth: 0,
        is_in_backticks: false,
        is_unsure: false,
    };
    reader.code(Until::End)?;
    if reader.is_unsure || !reader.pending.is_empty() {
        return None;
    }
    reader.reading.text = String::from_utf8(reader.out).ok()?;
    Some(reader.reading)
}

/// What ends a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Paren,
}

/// How far a `case` has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Subject,
    In,
    /// Before the first character of a pattern.
    PatternStart,
    Pattern,
    Body,
}

/// A here-document whose text is still to come.
struct Document {
    end: Vec<u8>,
    is_quoted: bool,
    strips_tabs: bool,
}

/// A word that is being read.
#[derive(Default)]
struct Words {
    /// Where the word began that is being read.
    start: Option<usize>,
    /// Whether the next word may be a keyword.
    is_first: bool,
    /// Whether a word of this command has a bracket that is still open: bash may read a subscript.
    has_bracket: bool,
    /// Whether a parenthesis has just ended that is not a substitution.
    is_after_paren: bool,
    cases: Vec<Case>,
}

struct Reader<'s> {
    source: &'s [u8],
    at: usize,
    out: Vec<u8>,
    reading: Reading,
    pending: Vec<Document>,
    depth: usize,
    /// Bash takes backslashes out twice there.
    is_in_backticks: bool,
    /// Whether it is not certain how bash reads something.
    is_unsure: bool,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.get(self.at + ahead).copied()
    }

    /// Skips the lines' ends that bash takes out, and says what comes then.
    fn next_byte(&mut self) -> Option<u8> {
        while self.peek(0) == Some(b'\\') && self.peek(1) == Some(b'\n') {
            self.is_unsure |= self.is_in_backticks;
            self.at += 2;
        }
        self.peek(0)
    }

    fn take(&mut self) {
        self.out.push(self.source[self.at]);
        self.at += 1;
    }

    fn here(&self) -> usize {
        self.out.len()
    }

    /// A backslash and what it quotes.
    fn escaped(&mut self) -> Option<()> {
        self.take();
        self.peek(0)?;
        self.take();
        while self.peek(0).is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.take();
        }
        Some(())
    }

    fn deeper(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth < MAX_DEPTH).then_some(())
    }

    /// Code up to its end, which is taken too.
    fn code(&mut self, until: Until) -> Option<()> {
        self.deeper()?;
        let documents = self.pending.len();
        let mut words = Words {
            is_first: true,
            ..Words::default()
        };
        while let Some(byte) = self.next_byte() {
            let ends_word = matches!(
                byte,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
            );
            let is_substitution = matches!(byte, b'<' | b'>') && self.peek(1) == Some(b'(');
            if ends_word && !is_substitution && byte != b'(' {
                self.word_ends(&mut words);
            }
            match byte {
                b')' if until == Until::Paren && !words.is_in_pattern() => {
                    self.take();
                    self.depth -= 1;
                    return (self.pending.len() == documents && words.cases.is_empty())
                        .then_some(());
                }
                _ if ends_word && !is_substitution => self.operator(byte, &mut words)?,
                _ => self.word(byte, &mut words)?,
            }
        }
        self.word_ends(&mut words);
        self.depth -= 1;
        (until == Until::End && words.cases.is_empty()).then_some(())
    }

    fn operator(&mut self, byte: u8, words: &mut Words) -> Option<()> {
        if byte != b'(' || words.start.is_none() {
            self.reading.ends.push(self.here());
        }
        match byte {
            b' ' | b'\t' => {
                words.is_after_paren = false;
                self.take();
            }
            b'\n' => {
                words.command_ends();
                self.take();
                self.documents()?;
            }
            b'(' => self.paren(words)?,
            b')' => match words.cases.last_mut() {
                Some(case @ (Case::Pattern | Case::PatternStart)) => {
                    *case = Case::Body;
                    self.take();
                    words.command_ends();
                }
                _ => return None,
            },
            b'<' | b'>' => {
                words.is_after_paren = false;
                self.redirection()?;
            }
            b'&' if self.source.get(self.at + 1) == Some(&b'>') => self.take(),
            _ => {
                self.take();
                let mut ends_item = false;
                while let Some(next @ (b';' | b'&' | b'|')) = self.next_byte() {
                    ends_item |= byte == b';';
                    if next == b'&' && self.source.get(self.at + 1) == Some(&b'>') {
                        return None;
                    }
                    self.take();
                }
                words.command_ends();
                if let Some(case @ Case::Body) = words.cases.last_mut().filter(|_| ends_item) {
                    *case = Case::PatternStart;
                }
            }
        }
        Some(())
    }

    /// An opening parenthesis: of a list, a function, a subshell, a pattern, or arithmetic.
    fn paren(&mut self, words: &mut Words) -> Option<()> {
        if words.cases.last() == Some(&Case::PatternStart) && words.start.is_none() {
            self.take();
            words.cases.pop();
            words.cases.push(Case::Pattern);
            return Some(());
        }
        if words.is_in_pattern() {
            return None;
        }
        let is_list = words.start.is_some() && self.out.last() == Some(&b'=');
        if !is_list {
            self.word_ends(words);
        }
        self.take();
        if !is_list && self.next_byte() == Some(b'(') {
            self.take();
            self.arithmetic(b'(', b')')?;
        } else {
            self.code(Until::Paren)?;
        }
        words.is_after_paren = true;
        // What comes behind a function's name is its body.
        words.is_first = !is_list;
        Some(())
    }

    /// A redirection's operator, and the word behind that of a here-document.
    fn redirection(&mut self) -> Option<()> {
        let first = self.source[self.at];
        self.take();
        match (first, self.next_byte()) {
            (b'<', Some(b'<')) => {
                self.take();
                match self.next_byte() {
                    Some(b'<') => self.take(),
                    Some(b'-') => {
                        self.take();
                        self.document(true)?;
                    }
                    _ => self.document(false)?,
                }
            }
            (_, Some(b'>' | b'&' | b'|')) => self.take(),
            _ => {}
        }
        Some(())
    }

    /// The word by which a here-document ends.
    fn document(&mut self, strips_tabs: bool) -> Option<()> {
        while let Some(b' ' | b'\t') = self.next_byte() {
            self.reading.ends.push(self.here());
            self.take();
        }
        let mut end = Vec::new();
        let mut is_quoted = false;
        let start = self.at;
        loop {
            match self.next_byte() {
                Some(b'\\') => {
                    is_quoted = true;
                    let escaped = self.here() + 1;
                    self.escaped()?;
                    end.extend_from_slice(&self.out[escaped..]);
                }
                Some(quote @ (b'\'' | b'"')) => {
                    is_quoted = true;
                    self.take();
                    while self.peek(0)? != quote {
                        let byte = self.peek(0)?;
                        if matches!(byte, b'\\' | b'\n' | b'$' | b'`') {
                            return None;
                        }
                        end.push(byte);
                        self.take();
                    }
                    self.take();
                }
                None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>') => {
                    break;
                }
                Some(b'$' | b'`' | b'(' | b'#') => return None,
                Some(byte) => {
                    if byte.is_ascii_control() {
                        return None;
                    }
                    end.push(byte);
                    self.take();
                }
            }
        }
        self.pending.push(Document {
            end,
            is_quoted,
            strips_tabs,
        });
        (self.at > start).then_some(())
    }

    /// The texts of the here-documents that begin in the next line.
    fn documents(&mut self) -> Option<()> {
        for document in std::mem::take(&mut self.pending) {
            loop {
                self.peek(0)?;
                let mut line = self.here();
                while let Some(byte) = self.peek(0).filter(|byte| *byte != b'\n') {
                    match (byte, self.peek(1)) {
                        (b'\\', Some(b'\n')) if !document.is_quoted => self.at += 2,
                        (b'\\', Some(next)) if !document.is_quoted && next != b'\n' => {
                            self.take();
                            self.take();
                        }
                        _ => self.take(),
                    }
                }
                while document.strips_tabs && self.out.get(line) == Some(&b'\t') {
                    line += 1;
                }
                let is_end = self.out[line..] == document.end[..];
                if self.peek(0).is_some() {
                    self.take();
                }
                if is_end {
                    self.reading.documents.push(line);
                    break;
                }
            }
        }
        Some(())
    }

    /// One part of a word, or a comment.
    fn word(&mut self, byte: u8, words: &mut Words) -> Option<()> {
        let start = self.here();
        if byte == b'#' && words.start.is_none() {
            if words.is_after_paren || words.has_bracket || self.is_in_backticks {
                return None;
            }
            while self.peek(0).is_some_and(|byte| byte != b'\n') {
                self.take();
            }
            self.reading.comments.push(start..self.here());
            return Some(());
        }
        words.start.get_or_insert(start);
        words.is_after_paren = false;
        match byte {
            b'\\' => self.escaped()?,
            b'\'' => {
                self.single()?;
                self.reading.quotes.push(start..self.here());
            }
            b'"' => {
                self.take();
                self.double()?;
                self.reading.quotes.push(start..self.here());
            }
            b'`' => self.backticks(false)?,
            b'<' | b'>' => self.substitution(start)?,
            b'$' => self.dollar(false)?,
            _ => {
                words.has_bracket |= byte == b'[';
                words.has_bracket &= byte != b']';
                self.plain()?;
            }
        }
        Some(())
    }

    /// One character that means itself.
    fn plain(&mut self) -> Option<()> {
        let byte = self.peek(0)?;
        if byte.is_ascii() {
            self.take();
            return (!byte.is_ascii_control()).then_some(());
        }
        let rest = &self.source[self.at..];
        let length = rest
            .iter()
            .skip(1)
            .take_while(|b| **b & 0xc0 == 0x80)
            .count()
            + 1;
        let c = std::str::from_utf8(&rest[..length]).ok()?.chars().next()?;
        for _ in 0..length {
            self.take();
        }
        // Blanks for the parser, and letters for bash.
        let is_invisible = matches!(
            c,
            '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'
        );
        (!c.is_whitespace() && !c.is_control() && !is_invisible).then_some(())
    }

    /// `'…'`.
    fn single(&mut self) -> Option<()> {
        self.take();
        while self.peek(0)? != b'\'' {
            self.take();
        }
        self.take();
        Some(())
    }

    /// The rest of `"…"`.
    fn double(&mut self) -> Option<()> {
        self.deeper()?;
        loop {
            match self.next_byte()? {
                b'"' => {
                    self.take();
                    self.depth -= 1;
                    return Some(());
                }
                b'\\' => self.escaped()?,
                b'`' => self.backticks(true)?,
                b'$' => self.dollar(true)?,
                _ => self.take(),
            }
        }
    }

    /// A dollar sign and what belongs to it.
    fn dollar(&mut self, is_quoted: bool) -> Option<()> {
        let start = self.here();
        self.take();
        match self.next_byte() {
            Some(b'(') => {
                self.take();
                if self.next_byte() == Some(b'(') {
                    self.take();
                    self.arithmetic(b'(', b')')
                } else {
                    self.code(Until::Paren)?;
                    self.reading.substitutions.push(start..self.here());
                    Some(())
                }
            }
            Some(b'{') => {
                self.take();
                self.braces(is_quoted)
            }
            Some(b'[') => {
                self.take();
                self.arithmetic(b'[', b']')
            }
            Some(b'\'') if !is_quoted => {
                self.take();
                loop {
                    match self.peek(0)? {
                        b'\'' => break self.take(),
                        b'\\' => self.escaped()?,
                        _ => self.take(),
                    }
                }
                self.reading.quotes.push(start..self.here());
                Some(())
            }
            _ => Some(()),
        }
    }

    /// `<(…)` or `>(…)`.
    fn substitution(&mut self, start: usize) -> Option<()> {
        self.take();
        self.take();
        self.code(Until::Paren)?;
        self.reading.substitutions.push(start..self.here());
        Some(())
    }

    /// The rest of `${…}`.
    fn braces(&mut self, is_quoted: bool) -> Option<()> {
        self.deeper()?;
        // Newer versions run commands in some of these.
        if matches!(self.next_byte(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            return None;
        }
        loop {
            match self.next_byte()? {
                b'}' => {
                    self.take();
                    self.depth -= 1;
                    return Some(());
                }
                b'\\' => self.escaped()?,
                // Within double quotes it depends on the expansion whether these are quotes.
                b'\'' if is_quoted => return None,
                b'\'' => self.single()?,
                b'"' => {
                    self.take();
                    self.double()?;
                }
                b'`' => self.backticks(is_quoted)?,
                b'<' | b'>' if self.peek(1) == Some(b'(') => return None,
                b'$' if is_quoted && self.peek(1) == Some(b'\'') => return None,
                b'$' => self.dollar(is_quoted)?,
                _ => self.take(),
            }
        }
    }

    /// The rest of `((…))` or `$[…]`.
    fn arithmetic(&mut self, opens: u8, closes: u8) -> Option<()> {
        self.deeper()?;
        let mut open = 0;
        loop {
            match self.next_byte()? {
                byte if byte == opens => {
                    open += 1;
                    self.take();
                }
                byte if byte == closes && open > 0 => {
                    open -= 1;
                    self.take();
                }
                byte if byte == closes => {
                    self.take();
                    self.depth -= 1;
                    // Otherwise it is a subshell in a subshell.
                    let is_end = closes != b')' || self.next_byte() == Some(b')');
                    if closes == b')' && is_end {
                        self.take();
                    }
                    return is_end.then_some(());
                }
                b'\\' => self.escaped()?,
                b'\'' => self.single()?,
                b'"' => {
                    self.take();
                    self.double()?;
                }
                b'`' => self.backticks(false)?,
                b'$' => self.dollar(false)?,
                _ => self.take(),
            }
        }
    }

    /// A substitution in backticks. Bash looks for its end first, whatever is quoted in it.
    fn backticks(&mut self, is_quoted: bool) -> Option<()> {
        let start = self.here();
        self.take();
        let mut end = self.at;
        while *self.source.get(end)? != b'`' {
            if self.source[end] == b'\\' {
                let next = *self.source.get(end + 1)?;
                let is_read_twice = next == b'\\' || next == b'\n' || (is_quoted && next == b'"');
                if is_read_twice {
                    return None;
                }
                end += 1;
            }
            end += 1;
        }
        self.deeper()?;
        let mut inner = Reader {
            source: &self.source[..end],
            at: self.at,
            out: std::mem::take(&mut self.out),
            reading: std::mem::take(&mut self.reading),
            pending: Vec::new(),
            depth: self.depth,
            is_in_backticks: true,
            is_unsure: false,
        };
        inner.code(Until::End)?;
        let is_whole = inner.at == end && inner.pending.is_empty() && !inner.is_unsure;
        (self.out, self.reading) = (inner.out, inner.reading);
        self.at = end;
        self.take();
        self.reading.substitutions.push(start..self.here());
        self.depth -= 1;
        is_whole.then_some(())
    }

    /// A word has ended: whether it is one of `case`.
    fn word_ends(&mut self, words: &mut Words) {
        let Some(start) = words.start.take() else {
            return;
        };
        let word = &self.out[start..];
        let was_first = std::mem::take(&mut words.is_first);
        words.is_first = was_first
            && matches!(
                word,
                b"then"
                    | b"do"
                    | b"else"
                    | b"elif"
                    | b"if"
                    | b"while"
                    | b"until"
                    | b"!"
                    | b"{"
                    | b"time"
            );
        match words.cases.last().copied() {
            Some(Case::Subject) => words.step(Case::In),
            Some(Case::In) if word == b"in" => words.step(Case::PatternStart),
            Some(Case::PatternStart) if word == b"esac" => {
                words.cases.pop();
            }
            Some(Case::PatternStart) => words.step(Case::Pattern),
            Some(Case::Body) if was_first && word == b"esac" => {
                words.cases.pop();
            }
            Some(Case::In | Case::Pattern) => {}
            _ if was_first && word == b"case" => words.cases.push(Case::Subject),
            _ => {}
        }
    }
}

impl Words {
    fn step(&mut self, case: Case) {
        self.cases.pop();
        self.cases.push(case);
    }

    fn command_ends(&mut self) {
        self.is_first = true;
        self.has_bracket = false;
        self.is_after_paren = false;
    }

    fn is_in_pattern(&self) -> bool {
        matches!(self.cases.last(), Some(Case::Pattern | Case::PatternStart))
    }
}
