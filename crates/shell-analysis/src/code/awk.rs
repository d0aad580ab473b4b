//! Programs of `awk`: which of them start no program.

use super::super::words::{Word, is_single};
use super::{is_input, read_expression};

/// Whether `awk` gets a program that is known and starts nothing.
pub(super) fn is_plain(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    if let [only] = rest
        && matches!(only.value.as_deref(), Some("--version" | "--help" | "-V"))
    {
        return true;
    }
    let mut has_file = false;
    while let Some(word) = words.next() {
        let Some(value) = word.value.as_deref() else {
            return false;
        };
        match value {
            "--" => {
                let program = words.next().and_then(|word| word.value.as_deref());
                return has_file || program.is_some_and(starts_nothing);
            }
            "-F" | "-v" | "-f" => {
                let Some(next) = words.next() else {
                    return true;
                };
                if value == "-f" {
                    has_file = true;
                    if next.value.as_deref().is_none_or(is_input) {
                        return false;
                    }
                } else if !is_single(next) {
                    return false;
                }
            }
            _ if value.starts_with("-F") || value.starts_with("-v") => {}
            _ if value.starts_with('-') => return false,
            // Behind the program there are files and assignments only.
            program => return has_file || starts_nothing(program),
        }
    }
    true
}

/// What is before a slash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value: the slash divides.
    Value,
    /// An operator, or nothing: an expression begins.
    Other,
    /// Versions differ.
    Unsure,
}

/// Whether a program has no pipe, no `system`, no `getline` and no call of a computed name. One
/// that can't be taken apart has.
fn starts_nothing(program: &str) -> bool {
    let mut rest = program;
    let mut before = Before::Other;
    // Of each open parenthesis, whether it belongs to `if`, `while` or `for`.
    let mut parentheses = Vec::new();
    let mut is_behind_keyword = false;
    while let Some(c) = rest.chars().next() {
        let was_behind_keyword = std::mem::take(&mut is_behind_keyword);
        let len = match c {
            ' ' | '\t' => {
                is_behind_keyword = was_behind_keyword;
                1
            }
            '\\' if rest[1..].starts_with('\n') => {
                is_behind_keyword = was_behind_keyword;
                2
            }
            '/' if before == Before::Unsure => return false,
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                before = Before::Value;
                match end_of_string(rest) {
                    Some(len) => len,
                    None => return false,
                }
            }
            '/' if before == Before::Other => {
                before = Before::Value;
                match read_expression(&mut rest[1..].chars(), '/') {
                    Some(len) => len + 1,
                    None => return false,
                }
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
                let len = rest.find(is_end).unwrap_or(rest.len());
                match &rest[..len] {
                    "system" | "getline" => return false,
                    "if" | "while" | "for" => {
                        is_behind_keyword = true;
                        before = Before::Other;
                    }
                    "print" | "printf" | "return" | "in" | "else" | "do" | "exit" => {
                        before = Before::Other;
                    }
                    // Words of some versions, and variables in others.
                    "case" | "switch" | "length" => before = Before::Unsure,
                    _ => before = Before::Value,
                }
                len
            }
            '0'..='9' | '.' => {
                before = Before::Value;
                let is_part = |c: char| c.is_ascii_digit() || c == '.';
                let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                // Where a number ends before a letter is not looked into.
                if rest[len..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    return false;
                }
                len
            }
            '(' => {
                parentheses.push(was_behind_keyword);
                before = Before::Other;
                1
            }
            ')' => {
                before = match parentheses.pop() {
                    Some(false) => Before::Value,
                    Some(true) => Before::Unsure,
                    None => return false,
                };
                1
            }
            ']' => {
                before = Before::Value;
                1
            }
            '+' | '-' if rest[1..].starts_with(c) => {
                before = Before::Unsure;
                2
            }
            '|' if rest[1..].starts_with('|') => {
                before = Before::Other;
                2
            }
            c if "\n;{},[+-*/%^!<>=~?:$&".contains(c) => {
                before = Before::Other;
                1
            }
            _ => return false,
        };
        rest = &rest[len..];
    }
    true
}

/// Where a string ends that begins here, if it does so on this line.
fn end_of_string(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(at + 1),
            '\n' => return None,
            '\\' => {
                chars.next()?;
            }
            _ => {}
        }
    }
    None
}
