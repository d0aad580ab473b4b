//! Scripts of `sed`: which of them start no program.

use super::super::words::{Word, is_single};
use super::given::may_be_option;
use super::read_expression;
use std::iter::Peekable;
use std::str::Chars;

/// Long options that name neither a script nor a file with one.
const PLAIN_OPTIONS: [&str; 15] = [
    "--debug",
    "--follow-symlinks",
    "--help",
    "--in-place",
    "--null-data",
    "--posix",
    "--quiet",
    "--regexp-extended",
    "--sandbox",
    "--separate",
    "--silent",
    "--unbuffered",
    "--version",
    "--zero-terminated",
    "--",
];

/// Whether `sed` gets options that are known, and scripts that start nothing.
pub(super) fn is_plain(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    let mut script: Option<String> = None;
    let mut add = |text: Option<&str>| match (text, &mut script) {
        (None, _) => false,
        (Some(text), Some(script)) => {
            // Scripts are lines of one.
            script.push('\n');
            script.push_str(text);
            true
        }
        (Some(text), none) => {
            *none = Some(text.to_owned());
            true
        }
    };
    let mut has_script = false;
    let mut has_operand = false;
    while let Some(word) = words.next() {
        let Some(value) = word.value.as_deref() else {
            // A file, once the script is there.
            let is_file = word.text.starts_with("\"${") || !word.text.starts_with(['$', '"', '-']);
            let is_file = is_file || is_single(word) && word.text.starts_with('"');
            if has_script && is_file && !may_be_option(word) {
                continue;
            }
            return false;
        };
        let is_known = if let Some(text) = value.strip_prefix("--expression=") {
            if has_operand {
                return false;
            }
            has_script = true;
            add(Some(text))
        } else if value.starts_with("--") {
            PLAIN_OPTIONS.contains(&value.split('=').next().unwrap_or_default())
        } else if let Some(letters) = value.strip_prefix('-') {
            let is_other = |(_, c): &(usize, char)| !"nErsuz".contains(*c);
            match letters.char_indices().find(is_other) {
                None => true,
                Some((at, c)) => match letters.split_at(at + c.len_utf8()) {
                    // What follows is a suffix.
                    (flags, _) if flags.ends_with('i') => true,
                    (flags, attached) if flags.ends_with('e') => {
                        if has_operand {
                            return false;
                        }
                        has_script = true;
                        match attached {
                            "" => add(words.next().and_then(|word| word.value.as_deref())),
                            text => add(Some(text)),
                        }
                    }
                    _ => false,
                },
            }
        } else if !has_script {
            has_script = true;
            // Beside a script in an option it is a file.
            has_operand = true;
            add(Some(value))
        } else {
            true
        };
        if !is_known {
            return false;
        }
    }
    script.is_none_or(|script| is_plain_script(&script))
}

fn is_plain_script(script: &str) -> bool {
    let mut reader = Reader {
        rest: script.chars().peekable(),
    };
    loop {
        match reader.command() {
            Some(true) => {}
            Some(false) => return true,
            None => return false,
        }
    }
}

/// A walk over a script.
struct Reader<'s> {
    rest: Peekable<Chars<'s>>,
}

impl Reader<'_> {
    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.rest.next_if(|c| is_skipped(*c)).is_some() {}
    }

    fn skip_blanks(&mut self) {
        self.skip(|c| matches!(c, ' ' | '\t'));
    }

    fn skip_line(&mut self) {
        self.skip(|c| c != '\n');
    }

    fn has_digits(&mut self) -> bool {
        let is_one = self.rest.peek().is_some_and(char::is_ascii_digit);
        self.skip(|c| c.is_ascii_digit());
        is_one
    }

    /// Reads one command. `None` where it is not plain, and `false` at the end.
    fn command(&mut self) -> Option<bool> {
        self.skip(|c| c.is_ascii_whitespace() || c == ';');
        if self.rest.peek().is_none() {
            return Some(false);
        }
        if self.address()? {
            self.skip_blanks();
            if self.rest.next_if_eq(&',').is_some() {
                self.skip_blanks();
                let is_relative = self.rest.next_if(|c| matches!(c, '+' | '~')).is_some();
                let has_one = if is_relative {
                    self.has_digits()
                } else {
                    self.address()?
                };
                if !has_one {
                    return None;
                }
            }
        }
        self.skip(|c| matches!(c, ' ' | '\t' | '!'));
        match self.rest.next()? {
            '{' => return Some(true),
            '#' => self.skip_line(),
            's' => {
                let mark = self.mark()?;
                read_expression(&mut self.rest, mark)?;
                self.part(mark)?;
                self.skip(|c| matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9'));
                self.end()?;
            }
            'y' => {
                let mark = self.mark()?;
                self.part(mark)?;
                self.part(mark)?;
                self.end()?;
            }
            'q' | 'Q' | 'l' | 'L' => {
                self.skip_blanks();
                self.has_digits();
                self.end()?;
            }
            'd' | 'D' | 'p' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' | 'F'
            | '}' => self.end()?,
            ':' | 'b' | 't' | 'T' => {
                self.skip_blanks();
                self.skip(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
                // Whether a brace belongs to a label differs: what ends both must follow.
                self.skip(|c| c == '}');
                if !self
                    .rest
                    .peek()
                    .is_none_or(|c| matches!(c, ' ' | '\n' | ';'))
                {
                    return None;
                }
            }
            'r' | 'w' | 'R' | 'W' => {
                let mut file = String::new();
                while let Some(c) = self.rest.next_if(|c| *c != '\n') {
                    file.push(c);
                }
                if file.contains("/dev/") || file.contains("/proc/") {
                    return None;
                }
            }
            'a' | 'i' | 'c' => self.text()?,
            _ => return None,
        }
        Some(true)
    }

    /// Reads a number, `$` or an expression. Whether there was one.
    fn address(&mut self) -> Option<bool> {
        let mark = match self.rest.peek() {
            Some('$') => {
                self.rest.next();
                return Some(true);
            }
            Some('/') => self.rest.next()?,
            Some('\\') => {
                self.rest.next();
                self.mark()?
            }
            Some('0'..='9') => {
                self.has_digits();
                self.skip_blanks();
                if self.rest.next_if_eq(&'~').is_some() {
                    self.skip_blanks();
                    self.has_digits();
                }
                return Some(true);
            }
            _ => return Some(false),
        };
        read_expression(&mut self.rest, mark)?;
        self.skip(|c| matches!(c, 'I' | 'M'));
        Some(true)
    }

    fn mark(&mut self) -> Option<char> {
        self.rest
            .next()
            .filter(|c| c.is_ascii_graphic() && *c != '\\')
    }

    /// Reads up to a mark without a backslash, which must be there on this line.
    fn part(&mut self, mark: char) -> Option<()> {
        loop {
            match self.rest.next()? {
                c if c == mark => return Some(()),
                '\n' => return None,
                '\\' => {
                    self.rest.next()?;
                }
                _ => {}
            }
        }
    }

    /// Reads what `a`, `i` and `c` put out. It goes on behind a backslash at the end of a line,
    /// where it has begun on a line of its own; elsewhere versions differ.
    fn text(&mut self) -> Option<()> {
        self.skip_blanks();
        let mut goes_on = false;
        if self.rest.next_if_eq(&'\\').is_some() {
            // Versions differ in what blanks at the end of that line mean.
            if self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {
                self.skip_blanks();
                if matches!(self.rest.peek(), None | Some('\n')) {
                    return None;
                }
            }
            goes_on = self.rest.next_if_eq(&'\n').is_some();
            if !goes_on && self.rest.peek() == Some(&'\\') {
                return None;
            }
        }
        while let Some(c) = self.rest.next() {
            match c {
                '\n' => break,
                '\\' if self.rest.next() == Some('\n') && !goes_on => return None,
                _ => {}
            }
        }
        Some(())
    }

    /// The end of a command.
    fn end(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.rest.peek() {
            None | Some(';' | '\n' | '}' | '#') => Some(()),
            Some(_) => None,
        }
    }
}
