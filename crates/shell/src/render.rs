//! Prints parsed plain shell as text again, with one way to write each construct.
//!
//! bash gets this text instead of the original line, so that it can be understood in one way only.
//! Three rules ensure this: all that was quoted is in single quotes (within double quotes only next
//! to an expansion), here-documents become here-strings, and each command ends in `;` or `&`.

use super::plain::{
    Assignment, Command, Item, Piece, Pipeline, Redirect, RedirectTarget, Script, Stage, Value,
    Variable, Word,
};
use std::fmt::{Display, Formatter, Result, Write};

fn joined(things: &[impl Display], between: &str) -> String {
    let texts: Vec<String> = things.iter().map(ToString::to_string).collect();
    texts.join(between)
}

fn spaced(words: &[Word]) -> String {
    words
        .iter()
        .fold(String::new(), |text, word| text + " " + &word.to_string())
}

/// Prints commands for the inside of `$(…)`. The final `;` is dropped because `$(<file)`, a single
/// redirection that stands for the file's content, would lose its meaning with one.
fn substituted(script: &Script) -> String {
    let text = format!(" {script}");
    format!("{} ", text.strip_suffix(';').unwrap_or(&text))
}

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (i, item) in self.items.iter().enumerate() {
            let space = if i > 0 { " " } else { "" };
            let end = if item.is_background { " &" } else { ";" };
            write!(f, "{space}{item}{end}")?;
        }
        Ok(())
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.first.fmt(f)?;
        let mut more = self.more.iter();
        more.try_for_each(|(operator, pipeline)| write!(f, " {operator} {pipeline}"))
    }
}

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let time = if self.is_timed { "time " } else { "" };
        let not = if self.is_negated { "! " } else { "" };
        write!(f, "{time}{not}{}", joined(&self.stages, " | "))
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let command = self.command.to_string();
        let is_between = !command.is_empty() && !self.redirects.is_empty();
        let space = if is_between { " " } else { "" };
        write!(f, "{command}{space}{}", joined(&self.redirects, " "))
    }
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Command::Simple {
                assignments, words, ..
            } => {
                let is_between = !assignments.is_empty() && !words.is_empty();
                let space = if is_between { " " } else { "" };
                let (assignments, words) = (joined(assignments, " "), joined(words, " "));
                write!(f, "{assignments}{space}{words}")
            }
            Command::Subshell(script) => write!(f, "( {script} )"),
            Command::Group(script) => write!(f, "{{ {script} }}"),
            Command::If { arms, otherwise } => {
                let mut word = "if";
                for (condition, body) in arms {
                    write!(f, "{word} {condition} then {body}")?;
                    word = " elif";
                }
                if let Some(body) = otherwise {
                    write!(f, " else {body}")?;
                }
                f.write_str(" fi")
            }
            Command::While { condition, body } => write!(f, "while {condition} do {body} done"),
            Command::For {
                variable,
                words,
                body,
            } => write!(f, "for {variable} in{}; do {body} done", spaced(words)),
            // A pattern gets an opening parenthesis too, because older versions of bash count
            // parentheses to find the end of `$(…)`.
            Command::Case { word, arms } => {
                write!(f, "case {word} in")?;
                for (patterns, body) in arms {
                    write!(f, " ({}) {body} ;;", joined(patterns, " | "))?;
                }
                f.write_str(" esac")
            }
            Command::Test(parts) => write!(f, "[[{} ]]", spaced(parts)),
        }
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let operator = if self.appends { "+=" } else { "=" };
        write!(f, "{}{operator}", self.name)?;
        match &self.value {
            Value::Word(word) => word.fmt(f),
            Value::List(words) => write!(f, "({})", joined(words, " ")),
        }
    }
}

impl Display for Redirect {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.descriptor.as_deref().unwrap_or_default())?;
        match &self.target {
            RedirectTarget::Word(word) => write!(f, "{} {word}", self.operator),
            RedirectTarget::Document(text) => {
                match text.get().filter(|text| !text.pieces.is_empty()) {
                    Some(text) => write!(f, "<<< {text}"),
                    // A here-string always ends in a line feed, so it can't stand for an empty
                    // document.
                    None => f.write_str("< /dev/null"),
                }
            }
        }
    }
}

impl Display for Word {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.pieces.iter().try_for_each(|piece| piece.fmt(f))
    }
}

impl Display for Piece {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Piece::Bare(text) => f.write_str(text),
            Piece::Quoted(text) => write!(f, "'{}'", text.replace('\'', r"'\''")),
            Piece::Double(inner) => double(inner, f),
            Piece::Variable(variable) => variable.fmt(f),
            Piece::Substitution(script) => write!(f, "$({})", substituted(script)),
            Piece::Arithmetic(arithmetic) => write!(f, "$(( {arithmetic} ))"),
            Piece::Process { mark, script } => write!(f, "{mark}({})", substituted(script)),
        }
    }
}

fn double(inner: &[Piece], f: &mut Formatter<'_>) -> Result {
    let is_beyond_ascii = |piece: &Piece| matches!(piece, Piece::Quoted(text) if !text.is_ascii());
    if inner.iter().any(is_beyond_ascii) {
        // In some encodings, a backslash behind a byte that is not ASCII is half of a character,
        // and would escape nothing. Single quotes need no backslashes.
        return inner.iter().try_for_each(|piece| match piece {
            Piece::Quoted(_) => piece.fmt(f),
            piece => write!(f, "\"{piece}\""),
        });
    }
    f.write_char('"')?;
    for piece in inner {
        let Piece::Quoted(text) = piece else {
            piece.fmt(f)?;
            continue;
        };
        for c in text.chars() {
            let escape = if "$`\"\\".contains(c) { "\\" } else { "" };
            write!(f, "{escape}{c}")?;
        }
    }
    f.write_char('"')
}

impl Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let length = if self.is_length { "#" } else { "" };
        write!(f, "${{{length}{}", self.name)?;
        if let Some(subscript) = &self.subscript {
            write!(f, "[{subscript}]")?;
        }
        if let Some((operator, operands)) = &self.operation {
            write!(f, "{operator}{}", joined(operands, ""))?;
        }
        f.write_char('}')
    }
}
