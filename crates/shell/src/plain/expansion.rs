//! `${…}`, subscripts and arithmetic.

use super::lists::Parser;
use super::{Piece, Variable, is_name_start};

/// Operators of `${…}`. Longer ones come first, because the first one that fits is taken.
const OPERATORS: [&str; 15] = [
    ":-", ":=", ":+", ":?", "##", "%%", "//", "-", "=", "+", "?", "#", "%", "/", ":",
];

impl Parser<'_> {
    pub(super) fn braces(&mut self, is_quoted: bool) -> Option<Variable> {
        let is_mark_alone = self.raw(1) == Some(b'}');
        // `${!name}` names its variable by the value of another variable, which is not known.
        if !is_mark_alone && self.starts_with("!") {
            return None;
        }
        let is_length = !is_mark_alone && self.take("#");
        let name = self.parameter()?;
        let has_length = |c: char| c.is_ascii_alphanumeric() || "_@*".contains(c);
        if is_length && !name.starts_with(has_length) {
            return None;
        }
        let subscript = if self.take("[") {
            Some(self.subscript()?)
        } else {
            None
        };
        let mut variable = Variable {
            name,
            subscript,
            is_length,
            operation: None,
        };
        if self.take("}") {
            return Some(variable);
        }
        let operator = OPERATORS.into_iter().find(|operator| self.take(operator));
        let operator = operator.filter(|_| !is_length)?;
        let operands = self.operands(is_quoted)?;
        // bash evaluates the offsets of `${name:1:2}` as arithmetic, so only numbers are accepted.
        let is_number = |operand: &Piece| matches!(operand, Piece::Bare(text) if text.bytes().all(|b| b.is_ascii_digit() || b" -:".contains(&b)));
        if operator == ":" && (operands.is_empty() || !operands.iter().all(is_number)) {
            return None;
        }
        variable.operation = Some((operator, operands));
        Some(variable)
    }

    fn parameter(&mut self) -> Option<String> {
        let byte = self.peek()?;
        if is_name_start(byte) {
            return self.name();
        }
        let mut text = String::new();
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            text.push(char::from(digit));
            self.at += 1;
        }
        if text.is_empty() && b"@*#?-$!".contains(&byte) {
            text.push(char::from(byte));
            self.at += 1;
        }
        (!text.is_empty()).then_some(text)
    }

    fn operands(&mut self, is_quoted: bool) -> Option<Vec<Piece>> {
        let mut operands: Vec<Piece> = Vec::new();
        loop {
            let length = match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(operands);
                }
                b'$' | b'`' => match self.expansion(is_quoted)? {
                    Piece::Quoted(_) => return None,
                    piece => {
                        operands.push(piece);
                        continue;
                    }
                },
                b'"' if !is_quoted => {
                    self.at += 1;
                    let inner = self.double(Some(b'"'))?;
                    operands.push(Piece::Double(inner));
                    continue;
                }
                b'\\' if self.raw(1).is_some_and(|b| b"/.*?[]-".contains(&b)) => 2,
                byte if byte.is_ascii_alphanumeric() => 1,
                byte if b"_./:@%+, =*?-[]^!~#".contains(&byte) => 1,
                byte if is_quoted && b"<>|;&".contains(&byte) && self.raw(1) != Some(b'(') => 1,
                _ => return None,
            };
            let text = &self.text[self.at..self.at + length];
            self.at += length;
            match operands.last_mut() {
                Some(Piece::Bare(last)) => last.push_str(text),
                _ => operands.push(Piece::Bare(text.to_owned())),
            }
        }
    }

    fn subscript(&mut self) -> Option<String> {
        let rest = &self.text[self.at..self.end];
        let (subscript, _) = rest.split_once(']')?;
        let digits = subscript.strip_prefix('-').unwrap_or(subscript);
        let is_number =
            (1..9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        (is_number || matches!(subscript, "@" | "*")).then(|| {
            self.at += subscript.len() + 1;
            subscript.to_owned()
        })
    }

    /// Parses the rest of `$((…))`. Only numbers and operators are accepted: bash would evaluate
    /// the value of a variable as an expression, and run the substitutions in its subscripts.
    pub(super) fn arithmetic(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut open = 0_usize;
        loop {
            let byte = self.peek()?;
            self.budget.take(usize::from(byte != b' '), 0)?;
            if open == 0 && self.take("))") {
                return Some(text.trim().to_owned());
            }
            match byte {
                b'(' => open += 1,
                b')' => open = open.checked_sub(1)?,
                _ if byte.is_ascii_digit() || b" +-*/%<>=!&|^~?:".contains(&byte) => {}
                _ => return None,
            }
            self.at += 1;
            text.push(char::from(byte));
        }
    }
}
