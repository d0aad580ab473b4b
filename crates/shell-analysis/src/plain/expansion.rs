//! `${…}`, subscripts and arithmetic.

use super::lists::Reader;
use super::{
    Arithmetic, Operand, Piece, ShellDialect, Subscript, Token, Variable, is_name_byte,
    is_name_start,
};

const OPERATORS: [&str; 35] = [
    "<<=", ">>=", "**", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "<", ">", "=", "!", "&", "|", "^",
    "~", "?",
];

/// Operators of `${…}`, longer ones first.
const EXPANSIONS: [&str; 22] = [
    ":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "+", "?", "#", "%",
    "/", "^", ",", ":", "@",
];

impl Reader<'_> {
    /// The rest of `${…}`.
    pub(super) fn braces(&mut self, is_quoted: bool) -> Option<Variable> {
        let is_length = self.starts_with("#") && self.raw(1) != Some(b'}');
        let is_indirect = !self.is_posix() && self.starts_with("!") && self.raw(1) != Some(b'}');
        if is_length || is_indirect {
            self.at += 1;
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
                if !is_indirect && (!is_length || matches!(byte, b'@' | b'*')) =>
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
            is_indirect,
            operation: None,
        };
        if self.take("}") {
            // A list's keys, in other words.
            return (!is_indirect || variable.subscript.is_none()).then_some(variable);
        }
        if is_length || is_indirect {
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

    /// What follows the operator in `${…}`, with the brace that ends it.
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

    /// The rest of `[…]`.
    pub(super) fn subscript(&mut self) -> Option<Subscript> {
        let subscript = match self.peek()? {
            byte @ (b'@' | b'*') => {
                self.at += 1;
                Subscript::All(char::from(byte))
            }
            b'$' => {
                self.at += 1;
                Subscript::Value(self.name()?)
            }
            byte if is_name_start(byte) => Subscript::Name(self.name()?),
            byte => {
                let mut number = String::new();
                if byte == b'-' {
                    number.push('-');
                    self.at += 1;
                }
                while let Some(byte @ b'0'..=b'9') = self.peek() {
                    number.push(char::from(byte));
                    self.at += 1;
                }
                if !number.ends_with(|c: char| c.is_ascii_digit()) || number.len() > 9 {
                    return None;
                }
                Subscript::Number(number)
            }
        };
        self.take("]").then_some(subscript)
    }

    /// Arithmetic up to `end`, which is taken.
    pub(super) fn arithmetic(&mut self, end: &str) -> Option<Arithmetic> {
        let mut tokens = Vec::new();
        let mut open = 0_usize;
        loop {
            let byte = self.peek()?;
            self.budget.take(usize::from(byte != b' '), 0)?;
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\n' if self.pending.is_empty() && !self.is_waited_for => self.at += 1,
                _ if open == 0 && self.take(end) => return Some(Arithmetic { tokens }),
                b'(' => {
                    open += 1;
                    self.at += 1;
                    tokens.push(Token::Operator("("));
                }
                b')' => {
                    open = open.checked_sub(1)?;
                    self.at += 1;
                    tokens.push(Token::Operator(")"));
                }
                b':' | b',' => {
                    self.at += 1;
                    tokens.push(Token::Operator(if byte == b':' { ":" } else { "," }));
                }
                b'0'..=b'9' => {
                    let rest = &self.text.as_bytes()[self.at..self.end];
                    let length = rest.iter().take_while(|b| is_name_byte(**b)).count();
                    let number = &self.text[self.at..self.at + length];
                    let is_number = number
                        .bytes()
                        .all(|b| b.is_ascii_hexdigit() || matches!(b, b'x' | b'X'));
                    if !is_number || length > 18 {
                        return None;
                    }
                    self.at += length;
                    tokens.push(Token::Number(number.to_owned()));
                }
                b'$' => {
                    let Piece::Variable(variable) = self.expansion(true)? else {
                        return None;
                    };
                    tokens.push(Token::Variable(variable));
                }
                byte if is_name_start(byte) => {
                    tokens.push(Token::Name(self.name()?));
                    // What a subscript evaluates is not known.
                    if self.peek() == Some(b'[') {
                        return None;
                    }
                }
                _ => {
                    let operator = OPERATORS.into_iter().find(|operator| self.take(operator))?;
                    tokens.push(Token::Operator(operator));
                }
            }
        }
    }
}

fn push_operand(operands: &mut Vec<Operand>, text: &str) {
    match operands.last_mut() {
        Some(Operand::Text(last)) => last.push_str(text),
        _ => operands.push(Operand::Text(text.to_owned())),
    }
}
