//! `[[ … ]]`.

use super::lists::Reader;
use super::{RESERVED, Test};

const UNARY: [&str; 23] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-t", "-u", "-w",
    "-x", "-z", "-G", "-L", "-N", "-O", "-S",
];

const BINARY: [&str; 14] = [
    "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-ef", "-nt", "-ot",
];

impl Reader<'_> {
    /// Parses an expression of `||`.
    pub(super) fn either(&mut self) -> Option<Test> {
        let depth = self.depth;
        self.enter()?;
        let mut left = self.both()?;
        loop {
            self.lines()?;
            if !self.take("||") {
                break;
            }
            // The tree gets a level deeper by each.
            self.enter()?;
            left = Test::Either(Box::new(left), "||", Box::new(self.both()?));
        }
        self.depth = depth;
        Some(left)
    }

    /// Parses an expression of `&&`.
    fn both(&mut self) -> Option<Test> {
        let depth = self.depth;
        let mut left = self.term()?;
        loop {
            self.lines()?;
            if !self.take("&&") {
                self.depth = depth;
                return Some(left);
            }
            self.enter()?;
            left = Test::Either(Box::new(left), "&&", Box::new(self.term()?));
        }
    }

    /// Parses an operand of these.
    fn term(&mut self) -> Option<Test> {
        self.lines()?;
        if self.take_word("!") {
            self.enter()?;
            let inner = self.term()?;
            self.leave();
            return Some(Test::Not(Box::new(inner)));
        }
        if self.take("(") {
            let inner = self.either()?;
            self.lines()?;
            return self.take(")").then(|| Test::Group(Box::new(inner)));
        }
        let first = self.word().filter(|word| !word.is_bare(&RESERVED))?;
        self.blanks()?;
        if let Some(operator) = first.bare() {
            if UNARY.contains(&operator) {
                let operator = operator.to_owned();
                let operand = self.word().filter(|word| !word.is_bare(&BINARY))?;
                return Some(Test::Unary(operator, operand));
            }
            if operator.starts_with('-') && operator.len() <= 3 {
                return None;
            }
        }
        if let Some(operator) = BINARY.into_iter().find(|operator| self.take_word(operator)) {
            self.blanks()?;
            let second = self.word()?;
            return Some(Test::Binary(first, operator.to_owned(), second));
        }
        Some(Test::Word(first))
    }
}
