//! The conditional command `[[ … ]]`.

use super::lists::Parser;
use super::{Piece, RESERVED, Word};

const UNARY: [&str; 23] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-t", "-u", "-w",
    "-x", "-z", "-G", "-L", "-N", "-O", "-S",
];

/// Binary operators that only compare their operands. Others are refused, such as `-eq`, which
/// evaluates its operands as arithmetic.
const BINARY: [&str; 8] = ["=", "==", "!=", "<", ">", "-ef", "-nt", "-ot"];

impl Parser<'_> {
    pub(super) fn test_expression(&mut self, parts: &mut Vec<Word>) -> Option<()> {
        self.enter()?;
        loop {
            self.term(parts)?;
            self.lines()?;
            let joint = ["||", "&&"].into_iter().find(|joint| self.take(joint));
            let Some(joint) = joint else {
                self.leave();
                return Some(());
            };
            parts.push(operator(joint));
        }
    }

    fn term(&mut self, parts: &mut Vec<Word>) -> Option<()> {
        self.budget.take(1, 0)?;
        self.lines()?;
        while self.take_word("!") {
            self.budget.take(1, 0)?;
            parts.push(operator("!"));
            self.lines()?;
        }
        if self.take("(") {
            parts.push(operator("("));
            self.test_expression(parts)?;
            self.lines()?;
            parts.push(operator(")"));
            return self.take(")").then_some(());
        }
        let first = self.word().filter(|word| !word.is_bare(&RESERVED))?;
        self.blanks();
        let is_option = |text: &str| text.starts_with('-') && text.len() <= 3;
        if first.is_bare(&UNARY) {
            let operand = self.word().filter(|word| !word.is_bare(&BINARY))?;
            parts.extend([first, operand]);
        } else if first.bare().is_some_and(is_option) {
            return None;
        } else {
            parts.push(first);
            if let Some(found) = BINARY.into_iter().find(|operator| self.take_word(operator)) {
                self.blanks();
                parts.extend([operator(found), self.word()?]);
            }
        }
        Some(())
    }
}

fn operator(text: &str) -> Word {
    Word {
        pieces: vec![Piece::Bare(text.to_owned())],
        text: text.to_owned(),
    }
}
