//! Splits a line into words, as a shell does.

use std::iter::Peekable;
use std::str::Chars;

/// What a word may not contain.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    OpenQuote(char),
    TrailingBackslash,
}

pub struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
}

impl<'a> Lexer<'a> {
    pub fn new(line: &'a str) -> Self {
        Self { chars: line.chars().peekable() }
    }

    fn quoted(&mut self, quote: char, word: &mut String) -> Result<(), Fault> {
        while let Some(c) = self.chars.next() {
            match c {
                c if c == quote => return Ok(()),
                '\\' if quote == '"' => match self.chars.next() {
                    Some('n') => word.push('\n'),
                    Some('t') => word.push('\t'),
                    Some(c) => word.push(c),
                    None => return Err(Fault::TrailingBackslash),
                },
                c => word.push(c),
            }
        }
        Err(Fault::OpenQuote(quote))
    }

    fn skip_blanks(&mut self) -> bool {
        let mut skipped = false;
        while self.chars.next_if(|&c| c == ' ' || c == '\t').is_some() {
            skipped = true;
        }
        skipped || self.chars.peek().is_none()
    }
}
