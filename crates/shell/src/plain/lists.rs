//! Lists, pipelines, compound commands and here-documents.

use super::{
    Argument, Arm, Assignment, Command, Item, Joint, Piece, Pipeline, RESERVED, Redirect, Script,
    ShellDialect, Stage, Value, Word, is_name_byte, is_name_start,
};
use crate::budget::{Budget, MAX_DEPTH};

/// A document whose text begins on the next line.
pub(super) struct Pending {
    pub(super) number: usize,
    pub(super) delimiter: String,
    pub(super) is_quoted: bool,
    pub(super) strips_tabs: bool,
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    /// The position of the text in the line.
    pub(super) base: usize,
    /// The end of what is read.
    pub(super) end: usize,
    pub(super) at: usize,
    pub(super) dialect: ShellDialect,
    pub(super) depth: usize,
    pub(super) budget: &'a Budget,
    pub(super) documents: Vec<Option<Word>>,
    pub(super) pending: Vec<Pending>,
    /// True where a document of the text around this one has not begun yet.
    pub(super) is_waited_for: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        text: &'a str,
        dialect: ShellDialect,
        depth: usize,
        budget: &'a Budget,
    ) -> Self {
        Self {
            text,
            base: 0,
            end: text.len(),
            at: 0,
            dialect,
            depth,
            budget,
            documents: Vec::new(),
            pending: Vec::new(),
            is_waited_for: false,
        }
    }

    /// Counts one part that is a level deeper; `leave` ends the level.
    pub(super) fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.budget.exceed("more than 40 levels of nesting");
        }
        self.budget.take(1, 0)
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn raw(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        (at < self.end).then(|| self.text.as_bytes()[at])
    }

    /// Returns the next byte, past lines that are joined.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.dialect == ShellDialect::Printed
            && self.raw(0) == Some(b'\\')
            && self.raw(1) == Some(b'\n')
        {
            self.at += 2;
        }
        self.raw(0)
    }

    pub(super) fn starts_with(&mut self, text: &str) -> bool {
        self.peek();
        self.text[self.at..self.end].starts_with(text)
    }

    /// Takes a text that is next, whole: lines are not joined within it.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn is_posix(&self) -> bool {
        self.dialect == ShellDialect::Posix
    }

    /// Skips blanks and a comment.
    pub(super) fn blanks(&mut self) -> Option<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'#') => {
                    if self.dialect != ShellDialect::Printed {
                        return None;
                    }
                    while self.raw(0).is_some_and(|b| b != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return Some(()),
            }
        }
    }

    /// Takes the end of a line, and the documents that begin behind it.
    pub(super) fn newline(&mut self) -> Option<()> {
        self.at += 1;
        if self.is_waited_for {
            return None;
        }
        for pending in std::mem::take(&mut self.pending) {
            let word = self.document(&pending)?;
            self.documents[pending.number] = Some(word);
        }
        Some(())
    }

    pub(super) fn lines(&mut self) -> Option<()> {
        loop {
            self.blanks()?;
            if self.peek() != Some(b'\n') {
                return Some(());
            }
            self.newline()?;
        }
    }

    pub(super) fn document(&mut self, pending: &Pending) -> Option<Word> {
        let mut body = String::new();
        loop {
            let rest = &self.text[self.at..self.end];
            // A document that the text ends in is one that bash complains of.
            let line = rest.split_once('\n').map_or(rest, |(line, _)| line);
            if rest.is_empty() {
                return None;
            }
            self.at = (self.at + line.len() + 1).min(self.end);
            let line = if pending.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line == pending.delimiter {
                return self.document_text(&body, pending.is_quoted);
            }
            if !pending.is_quoted && line.ends_with('\\') {
                return None;
            }
            body.push_str(line);
            body.push('\n');
        }
    }

    /// Parses the text of a document, without the last line feed; no piece for nothing.
    pub(super) fn document_text(&self, body: &str, is_quoted: bool) -> Option<Word> {
        let Some(body) = body.strip_suffix('\n') else {
            return Some(Word::default());
        };
        if is_quoted {
            return Some(Word {
                pieces: vec![Piece::Quoted(body.to_owned())],
                text: body.to_owned(),
            });
        }
        self.budget.take(1, body.len())?;
        let mut reader = Reader::new(body, self.dialect, self.depth + 1, self.budget);
        reader.base = self.base + self.at.saturating_sub(body.len());
        let pieces = reader.double(None)?;
        // A document within a document.
        if !reader.documents.is_empty() {
            return None;
        }
        Some(Word {
            pieces: match pieces.as_slice() {
                [] => vec![Piece::Quoted(String::new())],
                [Piece::Quoted(_)] => pieces,
                _ => vec![Piece::Double(pieces)],
            },
            text: body.to_owned(),
        })
    }

    /// Parses a list of commands up to one of these words, or to what ends every list.
    pub(super) fn script(&mut self, ends: &[&str]) -> Option<Script> {
        self.enter()?;
        let mut items = Vec::new();
        loop {
            self.lines()?;
            if self.at_end(ends) {
                break;
            }
            let mut item = self.item()?;
            self.blanks()?;
            match self.peek() {
                Some(b'&') => {
                    self.at += 1;
                    item.is_background = true;
                }
                Some(b';') if !self.starts_with(";;") && !self.starts_with(";&") => self.at += 1,
                Some(b'\n') => self.newline()?,
                Some(b';' | b')') | None => {}
                // A word such as `}` needs an end before it.
                Some(_) => return None,
            }
            items.push(item);
        }
        self.leave();
        Some(Script { items })
    }

    /// Parses a list that must not be empty.
    pub(super) fn body(&mut self, ends: &[&str]) -> Option<Script> {
        self.script(ends).filter(|script| !script.items.is_empty())
    }

    pub(super) fn at_end(&mut self, ends: &[&str]) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => self.starts_with(";;") || self.starts_with(";&"),
            Some(_) => ends.iter().any(|end| self.is_at_word(end)),
        }
    }

    /// Returns true if this word is next, whole and not quoted.
    pub(super) fn is_at_word(&mut self, word: &str) -> bool {
        self.starts_with(word) && {
            let next = self.text.as_bytes().get(self.at + word.len());
            self.at + word.len() >= self.end
                || next.is_some_and(|b| {
                    matches!(
                        b,
                        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
                    )
                })
        }
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_at_word(word);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Option<()> {
        self.blanks()?;
        self.take_word(word).then_some(())
    }

    pub(super) fn item(&mut self) -> Option<Item> {
        let first = self.pipeline()?;
        let mut more = Vec::new();
        loop {
            self.blanks()?;
            let joint = if self.take("&&") {
                Joint::And
            } else if self.take("||") {
                Joint::Or
            } else {
                break;
            };
            self.lines()?;
            more.push((joint, self.pipeline()?));
        }
        Some(Item {
            first,
            more,
            is_background: false,
        })
    }

    pub(super) fn pipeline(&mut self) -> Option<Pipeline> {
        let mut timed = None;
        if !self.is_posix() && self.take_word("time") {
            self.blanks()?;
            timed = Some(if self.take_word("-p") {
                "time -p"
            } else {
                "time"
            });
            self.blanks()?;
            // With other options it is the program; without a command, what bash makes of it.
            if matches!(
                self.peek(),
                Some(b'-' | b';' | b'\n' | b'|' | b'&' | b'<' | b'>') | None
            ) {
                return None;
            }
        }
        let is_negated = self.take_word("!");
        if is_negated {
            self.blanks()?;
        }
        let mut stages = vec![self.stage()?];
        // Behind redirections, which are printed behind it.
        let begins_with_dash = |stage: &Stage| match &stage.command {
            Command::Simple { words, .. } => matches!(
                words.first(),
                Some(Argument::Word(word)) if word.text.starts_with('-')
            ),
            _ => false,
        };
        if timed.is_some() && stages.iter().any(begins_with_dash) {
            return None;
        }
        loop {
            self.blanks()?;
            if self.starts_with("||") || !self.take("|") {
                break;
            }
            if self.raw(0) == Some(b'&') {
                return None;
            }
            self.lines()?;
            stages.push(self.stage()?);
        }
        Some(Pipeline {
            is_negated,
            timed,
            stages,
        })
    }

    pub(super) fn stage(&mut self) -> Option<Stage> {
        self.blanks()?;
        self.enter()?;
        let command = self.command()?;
        self.leave();
        let (command, mut redirects) = match command {
            (command @ Command::Simple { .. }, redirects) => (command, redirects),
            (command, _) => (command, Vec::new()),
        };
        if !matches!(command, Command::Simple { .. } | Command::Function { .. }) {
            loop {
                self.blanks()?;
                match self.redirect()? {
                    Some(redirect) => redirects.push(redirect),
                    None => break,
                }
            }
        }
        Some(Stage { command, redirects })
    }

    pub(super) fn command(&mut self) -> Option<(Command, Vec<Redirect>)> {
        let compound = |command| Some((command, Vec::new()));
        if self.starts_with("((") {
            return None;
        }
        if self.take("(") {
            let script = self.nested(b')')?;
            return compound(Command::Subshell(script));
        }
        if self.take_word("{") {
            let script = self.body(&["}"])?;
            self.expect_word("}")?;
            return compound(Command::Group(script));
        }
        if self.take_word("if") {
            return compound(self.conditional()?);
        }
        for (word, is_until) in [("while", false), ("until", true)] {
            if self.take_word(word) {
                let condition = self.body(&["do"])?;
                let body = self.do_group()?;
                return compound(Command::Loop {
                    is_until,
                    condition,
                    body,
                });
            }
        }
        if self.take_word("for") {
            return compound(self.for_loop()?);
        }
        if self.take_word("case") {
            return compound(self.case()?);
        }
        if !self.is_posix() && self.take_word("[[") {
            let test = self.either()?;
            self.lines()?;
            self.expect_word("]]")?;
            return compound(Command::Test(test));
        }
        let start = self.at;
        if let Some(name) = self.function_name() {
            let end = self.at;
            self.blanks()?;
            if self.take("(") {
                self.blanks()?;
                if !self.take(")") {
                    return None;
                }
                return compound(self.function(name)?);
            }
            self.at = end;
        }
        self.at = start;
        if RESERVED.iter().any(|word| self.is_at_word(word)) {
            return None;
        }
        self.simple()
    }

    pub(super) fn function_name(&mut self) -> Option<String> {
        self.peek();
        let rest = &self.text.as_bytes()[self.at..self.end];
        let length = rest
            .iter()
            .take_while(|b| is_name_byte(**b) || **b == b'-')
            .count();
        let name = &self.text[self.at..self.at + length];
        let is_fine = rest.first().is_some_and(|b| is_name_start(*b)) && !RESERVED.contains(&name);
        is_fine.then(|| {
            self.at += length;
            name.to_owned()
        })
    }

    pub(super) fn function(&mut self, name: String) -> Option<Command> {
        let at = self.base + self.at;
        self.lines()?;
        let body = self.stage()?;
        let is_fine = matches!(body.command, Command::Group(_) | Command::Subshell(_));
        is_fine.then(|| Command::Function {
            name,
            body: Box::new(body),
            at,
        })
    }

    pub(super) fn conditional(&mut self) -> Option<Command> {
        let mut arms = Vec::new();
        loop {
            let condition = self.body(&["then"])?;
            self.expect_word("then")?;
            let body = self.body(&["elif", "else", "fi"])?;
            arms.push((condition, body));
            if !self.take_word("elif") {
                break;
            }
        }
        let otherwise = if self.take_word("else") {
            Some(self.body(&["fi"])?)
        } else {
            None
        };
        self.expect_word("fi")?;
        Some(Command::If { arms, otherwise })
    }

    pub(super) fn do_group(&mut self) -> Option<Script> {
        self.lines()?;
        self.expect_word("do")?;
        let body = self.body(&["done"])?;
        self.expect_word("done")?;
        Some(body)
    }

    pub(super) fn for_loop(&mut self) -> Option<Command> {
        self.blanks()?;
        let variable = self.name()?;
        self.lines()?;
        let mut words = None;
        if self.take_word("in") {
            let mut list = Vec::new();
            loop {
                self.blanks()?;
                match self.peek()? {
                    b';' => {
                        self.at += 1;
                        break;
                    }
                    b'\n' => break,
                    _ => list.push(self.word()?),
                }
            }
            words = Some(list);
        } else {
            let _ = self.take(";");
        }
        let body = self.do_group()?;
        Some(Command::For {
            variable,
            words,
            body,
        })
    }

    pub(super) fn case(&mut self) -> Option<Command> {
        self.blanks()?;
        let word = self.word()?;
        self.lines()?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.lines()?;
            if self.take_word("esac") {
                return Some(Command::Case { word, arms });
            }
            let _ = self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks()?;
                patterns.push(self.word().filter(|word| !word.is_bare(&["esac"]))?);
                self.blanks()?;
                if !self.take("|") {
                    break;
                }
            }
            if !self.take(")") {
                return None;
            }
            let body = self.script(&["esac"])?;
            arms.push(Arm { patterns, body });
            if !self.take(";;") {
                self.expect_word("esac")?;
                return Some(Command::Case { word, arms });
            }
        }
    }

    pub(super) fn simple(&mut self) -> Option<(Command, Vec<Redirect>)> {
        let mut assignments = Vec::new();
        let mut words: Vec<Argument> = Vec::new();
        let mut redirects = Vec::new();
        // Where what is neither blank nor a redirection begins and ends.
        let mut written: Option<(usize, usize)> = None;
        loop {
            self.blanks()?;
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => return None,
                Some(_) => {}
            }
            let start = self.at;
            self.part(&mut assignments, &mut words)?;
            written = Some((written.map_or(start, |(start, _)| start), self.at));
        }
        let is_reserved =
            matches!(words.first(), Some(Argument::Word(word)) if word.is_bare(&RESERVED));
        if is_reserved || written.is_none() && redirects.is_empty() {
            return None;
        }
        let (at, end) = written.unwrap_or((self.at, self.at));
        let command = Command::Simple {
            assignments,
            words,
            at: self.base + at,
            text: self.text.get(at..end)?.to_owned(),
        };
        Some((command, redirects))
    }

    /// Parses the next assignment or word of a simple command.
    pub(super) fn part(
        &mut self,
        assignments: &mut Vec<Assignment>,
        words: &mut Vec<Argument>,
    ) -> Option<()> {
        const DECLARE: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];
        let declares =
            matches!(words.first(), Some(Argument::Word(word)) if word.is_bare(&DECLARE));
        if words.is_empty() || declares {
            let start = self.at;
            match self.assignment()? {
                Some(assignment) if words.is_empty() => {
                    assignments.push(assignment);
                    return Some(());
                }
                Some(list) if matches!(list.value, Value::List(_)) => {
                    words.push(Argument::List(list));
                    return Some(());
                }
                _ => self.at = start,
            }
        }
        words.push(Argument::Word(self.word()?));
        // `a(b)`, and `a<(b)`, which is one word.
        let next = self.peek();
        let is_joined = matches!(next, Some(b'<' | b'>')) && self.raw(1) == Some(b'(');
        (next != Some(b'(') && !is_joined).then_some(())
    }
}
