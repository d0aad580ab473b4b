//! Lists, pipelines, compound commands and here-documents.

use super::{Assignment, Command, Item, Piece, Pipeline, RESERVED, Redirect, Script, Stage, Word};
use crate::budget::{Limits, MAX_DEPTH};
use std::cell::OnceCell;
use std::rc::Rc;

pub(super) struct Heredoc {
    pub(super) text: Rc<OnceCell<Word>>,
    pub(super) delimiter: String,
    pub(super) is_quoted: bool,
    pub(super) strips_tabs: bool,
}

/// A recursive descent parser. A method returns `None` where the text is more than plain shell,
/// with `at` at that place.
///
/// `pending` has the here-documents that were announced on this line, in the order of their texts.
/// `outer_heredoc_pending` is set inside of `$(…)` while a here-document of the enclosing line is
/// pending. Its text would begin at the next line feed, in the middle of the substitution, so a
/// line feed is refused.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) end: usize,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) budget: &'a Limits,
    pub(super) has_document: bool,
    pub(super) pending: Vec<Heredoc>,
    pub(super) outer_heredoc_pending: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, depth: usize, budget: &'a Limits) -> Self {
        Self {
            text,
            end: text.len(),
            at: 0,
            depth,
            budget,
            has_document: false,
            pending: Vec::new(),
            outer_heredoc_pending: false,
        }
    }

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

    /// Returns the next byte, skipping a backslash with its line feed, which joins lines.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.raw(0) == Some(b'\\') && self.raw(1) == Some(b'\n') {
            self.at += 2;
        }
        self.raw(0)
    }

    pub(super) fn starts_with(&mut self, text: &str) -> bool {
        self.peek();
        self.text[self.at..self.end].starts_with(text)
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'#') => {
                    while self.raw(0).is_some_and(|b| b != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn newline(&mut self) -> Option<()> {
        self.at += 1;
        if self.outer_heredoc_pending {
            return None;
        }
        for heredoc in std::mem::take(&mut self.pending) {
            let word = self.document(&heredoc)?;
            heredoc.text.set(word).ok()?;
        }
        Some(())
    }

    pub(super) fn lines(&mut self) -> Option<()> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Some(());
            }
            self.newline()?;
        }
    }

    fn document(&mut self, heredoc: &Heredoc) -> Option<Word> {
        let mut body = String::new();
        loop {
            let rest = &self.text[self.at..self.end];
            let line = rest.split_once('\n').map_or(rest, |(line, _)| line);
            if rest.is_empty() {
                // The text ends without the delimiter. bash would warn and take the rest for the
                // document; here it is refused.
                return None;
            }
            self.at = (self.at + line.len() + 1).min(self.end);
            let line = if heredoc.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line == heredoc.delimiter {
                return self.document_text(&body, heredoc.is_quoted);
            }
            if !heredoc.is_quoted && line.ends_with('\\') {
                return None;
            }
            body.push_str(line);
            body.push('\n');
        }
    }

    fn document_text(&self, body: &str, is_quoted: bool) -> Option<Word> {
        let Some(body) = body.strip_suffix('\n') else {
            return Some(Word::default());
        };
        // The last line feed is not part of the text: the here-string that is printed for the
        // document adds one.
        if is_quoted {
            return Some(Word {
                pieces: vec![Piece::Quoted(body.to_owned())],
                text: body.to_owned(),
            });
        }
        self.budget.take(1, body.len())?;
        let mut reader = Parser::new(body, self.depth + 1, self.budget);
        let pieces = reader.double(None)?;
        // A `$(…)` in the text of a here-document must not itself have a here-document.
        if reader.has_document {
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

    pub(super) fn script(&mut self, ends: &[&str]) -> Option<Script> {
        self.enter()?;
        let mut items = Vec::new();
        loop {
            self.lines()?;
            if self.at_end(ends) {
                break;
            }
            let mut item = self.item()?;
            self.blanks();
            match self.peek() {
                Some(b'&') => {
                    self.at += 1;
                    item.is_background = true;
                }
                Some(b';') if !matches!(self.raw(1), Some(b';' | b'&')) => self.at += 1,
                Some(b'\n') => self.newline()?,
                Some(b';' | b')') | None => {}
                // bash accepts a reserved word such as `}` directly behind a compound command. Here
                // a `;` or a line feed has to stand between.
                Some(_) => return None,
            }
            items.push(item);
        }
        self.leave();
        Some(Script { items })
    }

    fn body(&mut self, ends: &[&str]) -> Option<Script> {
        self.script(ends).filter(|script| !script.items.is_empty())
    }

    fn at_end(&mut self, ends: &[&str]) -> bool {
        // `;;&` is not in this list, and no command begins with it, so that it is refused.
        matches!(self.peek(), None | Some(b')'))
            || self.starts_with(";;") && !self.starts_with(";;&")
            || ends.iter().any(|end| self.is_at_word(end))
    }

    fn is_at_word(&mut self, word: &str) -> bool {
        self.starts_with(word) && {
            let next = self.raw(word.len());
            next.is_none_or(|b| b" \t\n;&|<>()".contains(&b))
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
        self.blanks();
        self.take_word(word).then_some(())
    }

    fn item(&mut self) -> Option<Item> {
        let first = self.pipeline()?;
        let mut more = Vec::new();
        loop {
            self.blanks();
            let operator = ["&&", "||"]
                .into_iter()
                .find(|operator| self.take(operator));
            let Some(operator) = operator else {
                break;
            };
            self.lines()?;
            more.push((operator, self.pipeline()?));
        }
        Some(Item {
            first,
            more,
            is_background: false,
        })
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let is_timed = self.take_word("time");
        if is_timed {
            self.blanks();
            // Behind `time`, options decide whether bash takes it for the reserved word or for the
            // program, and bash has other rules for `time` without a command. Both are refused.
            if matches!(
                self.peek(),
                Some(b'-' | b';' | b'\n' | b'|' | b'&' | b'<' | b'>') | None
            ) {
                return None;
            }
        }
        let is_negated = self.take_word("!");
        self.blanks();
        let mut stages = vec![self.stage()?];
        // `time >f -p` would be printed as `time -p >f`, which means something else.
        if is_timed && stages[0].begins_with_dash() {
            return None;
        }
        loop {
            self.blanks();
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
            is_timed,
            stages,
        })
    }

    fn stage(&mut self) -> Option<Stage> {
        self.blanks();
        self.enter()?;
        let (command, mut redirects) = self.command()?;
        self.leave();
        self.blanks();
        while let Some(redirect) = self.redirect()? {
            redirects.push(redirect);
            self.blanks();
        }
        Some(Stage { command, redirects })
    }

    fn command(&mut self) -> Option<(Command, Vec<Redirect>)> {
        let compound = |command| Some((command, Vec::new()));
        if self.starts_with("((") {
            return None;
        }
        if self.take("(") {
            let script = self.nested()?;
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
        if self.take_word("while") {
            let condition = self.body(&["do"])?;
            let body = self.do_group()?;
            return compound(Command::While { condition, body });
        }
        if self.take_word("for") {
            return compound(self.for_loop()?);
        }
        if self.take_word("case") {
            return compound(self.case()?);
        }
        if self.take_word("[[") {
            let mut parts = Vec::new();
            self.test_expression(&mut parts)?;
            self.lines()?;
            self.expect_word("]]")?;
            return compound(Command::Test(parts));
        }
        if RESERVED.iter().any(|word| self.is_at_word(word)) {
            return None;
        }
        self.simple()
    }

    fn conditional(&mut self) -> Option<Command> {
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

    fn do_group(&mut self) -> Option<Script> {
        self.lines()?;
        self.expect_word("do")?;
        let body = self.body(&["done"])?;
        self.expect_word("done")?;
        Some(body)
    }

    fn for_loop(&mut self) -> Option<Command> {
        self.blanks();
        let variable = self.name()?;
        self.lines()?;
        self.expect_word("in")?;
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek()? {
                b';' => {
                    self.at += 1;
                    break;
                }
                b'\n' => break,
                _ => words.push(self.word()?),
            }
        }
        let body = self.do_group()?;
        Some(Command::For {
            variable,
            words,
            body,
        })
    }

    fn case(&mut self) -> Option<Command> {
        self.blanks();
        let word = self.word()?;
        self.lines()?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.lines()?;
            if self.take_word("esac") {
                break;
            }
            let patterns = self.patterns()?;
            arms.push((patterns, self.script(&["esac"])?));
            if !self.take(";;") {
                self.expect_word("esac")?;
                break;
            }
        }
        Some(Command::Case { word, arms })
    }

    fn patterns(&mut self) -> Option<Vec<Word>> {
        self.take("(");
        let mut patterns = Vec::new();
        loop {
            self.blanks();
            patterns.push(self.word().filter(|word| !word.is_bare(&["esac"]))?);
            self.blanks();
            if !self.take("|") {
                return self.take(")").then_some(patterns);
            }
        }
    }

    fn simple(&mut self) -> Option<(Command, Vec<Redirect>)> {
        let mut assignments = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        let mut redirects = Vec::new();
        // Where the first assignment or word begins and the last one ends.
        let mut written: Option<(usize, usize)> = None;
        loop {
            self.blanks();
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
        let is_reserved = words.first().is_some_and(|word| word.is_bare(&RESERVED));
        if is_reserved || written.is_none() && redirects.is_empty() {
            return None;
        }
        let (at, end) = written.unwrap_or((self.at, self.at));
        let command = Command::Simple {
            assignments,
            words,
            text: self.text.get(at..end)?.to_owned(),
        };
        Some((command, redirects))
    }

    fn part(&mut self, assignments: &mut Vec<Assignment>, words: &mut Vec<Word>) -> Option<()> {
        if words.is_empty()
            && let Some(assignment) = self.assignment()?
        {
            assignments.push(assignment);
            return Some(());
        }
        words.push(self.word()?);
        // `a(b)` is refused, and so is `a<(b)`, which bash reads as one word.
        let next = self.peek();
        let is_joined = matches!(next, Some(b'<' | b'>')) && self.raw(1) == Some(b'(');
        (next != Some(b'(') && !is_joined).then_some(())
    }
}
