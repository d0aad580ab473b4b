//! `${…}`, subscripts and arithmetic.

use super::lists::Reader;
use super::{Operand, Piece, ShellDialect, Variable, is_name_start};

/// Operators of `${…}`, longer ones first.
const EXPANSIONS: [&str; 16] = [
    ":-", ":=", ":+", ":?", "##", "%%", "//", "-", "=", "+", "?", "#", "%", "/", ":", "@",
];

impl Reader<'_> {
    /// Parses the rest of `${…}`.
    pub(super) fn braces(&mut self, is_quoted: bool) -> Option<Variable> {
        let is_length = self.starts_with("#") && self.raw(1) != Some(b'}');
        if is_length {
            self.at += 1;
        } else if self.starts_with("!") && self.raw(1) != Some(b'}') {
            return None;
        }
        let name = match self.peek()? {
            byte if is_name_start(byte) => self.name()?,
            byte if byte.is_ascii_digit() => {
                let mut digits = String::new();
                while let Some(byte @ b'0'..=b'9') = self.peek() {
                    digits.push(char::from(byte));
                    self.at += 1;
                }
                digits
            }
            byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
                if !is_length || matches!(byte, b'@' | b'*') =>
            {
                self.at += 1;
                char::from(byte).to_string()
            }
            _ => return None,
        };
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            if self.is_posix() {
                return None;
            }
            self.at += 1;
            subscript = Some(self.subscript()?);
        }
        let mut variable = Variable {
            name,
            subscript,
            is_length,
            operation: None,
        };
        if self.take("}") {
            return Some(variable);
        }
        if is_length {
            return None;
        }
        let operator = EXPANSIONS
            .into_iter()
            .find(|operator| self.take(operator))?;
        let is_common = matches!(
            operator,
            ":-" | ":=" | ":+" | ":?" | "-" | "=" | "+" | "?" | "#" | "##" | "%" | "%%"
        );
        // `@` works in ways of its own, such as expanding the value once more.
        if operator == "@" || self.is_posix() && !is_common {
            return None;
        }
        let operands = self.operands(is_quoted)?;
        if operator == ":" {
            // Offsets are arithmetic: numbers only.
            let is_number = |operand: &Operand| matches!(operand, Operand::Text(text) if text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'-' | b':')));
            if operands.is_empty() || !operands.iter().all(is_number) {
                return None;
            }
        }
        variable.operation = Some((operator, operands));
        Some(variable)
    }

    /// Parses what follows the operator in `${…}`, with the brace that ends it.
    fn operands(&mut self, is_quoted: bool) -> Option<Vec<Operand>> {
        let mut operands: Vec<Operand> = Vec::new();
        loop {
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(operands);
                }
                b'$' | b'`' => match self.expansion(is_quoted)? {
                    Piece::Quoted(_) => return None,
                    piece => operands.push(Operand::Piece(piece)),
                },
                b'"' if !is_quoted => {
                    self.at += 1;
                    let inner = self.double(Some(b'"'))?;
                    operands.push(Operand::Piece(Piece::Double(inner)));
                }
                b'\\' => {
                    let is_fine = self.dialect == ShellDialect::Printed
                        && matches!(
                            self.raw(1),
                            Some(b'/' | b'.' | b'*' | b'?' | b'[' | b']' | b'-')
                        );
                    if !is_fine {
                        return None;
                    }
                    let text = &self.text[self.at..self.at + 2];
                    self.at += 2;
                    push_operand(&mut operands, text);
                }
                byte => {
                    let is_fine = byte.is_ascii_alphanumeric()
                        || is_quoted
                            && matches!(byte, b'<' | b'>' | b'|' | b';' | b'&')
                            && self.raw(1) != Some(b'(')
                        || matches!(
                            byte,
                            b'_' | b'.'
                                | b'/'
                                | b':'
                                | b'@'
                                | b'%'
                                | b'+'
                                | b','
                                | b' '
                                | b'='
                                | b'*'
                                | b'?'
                                | b'-'
                                | b'['
                                | b']'
                                | b'^'
                                | b'!'
                                | b'~'
                                | b'#'
                        );
                    if !is_fine {
                        return None;
                    }
                    self.at += 1;
                    push_operand(&mut operands, char::from(byte).encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Parses the rest of `[…]`: `@`, `*` or a number.
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

    /// Parses the rest of `$((…))`: numbers and operators only, because the value of a variable would be
    /// evaluated.
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
                b' ' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&'
                | b'|' | b'^' | b'~' | b'?' | b':' => {}
                digit if digit.is_ascii_digit() => {}
                _ => return None,
            }
            self.at += 1;
            text.push(char::from(byte));
        }
    }
}

fn push_operand(operands: &mut Vec<Operand>, text: &str) {
    match operands.last_mut() {
        Some(Operand::Text(last)) => last.push_str(text),
        _ => operands.push(Operand::Text(text.to_owned())),
    }
}
