//! Plain shell as text again, with one way to write each thing.
//!
//! What bash is given is this text and not the one that was read, so that it is understood in
//! one way only. Three things see to that: all that was quoted is in single quotes (within
//! double quotes only next to what is expanded), here-documents become here-strings, and each
//! command ends in `;` or `&`.

use super::plain::{
    Assignment, Command, Item, Piece, Pipeline, Plain, Redirect, RedirectTarget, Script, Stage,
    Value, Variable, Word,
};

/// A printer of what is given to bash.
struct Printer<'a> {
    documents: &'a [Word],
    out: String,
}

impl Plain {
    /// Prints the line as it is given to bash.
    pub(super) fn text(&self) -> String {
        let mut printer = Printer::new(&self.documents);
        printer.script(&self.script);
        printer.out
    }
}

/// Prints a command.
pub(super) fn text_of_stage(stage: &Stage, documents: &[Word]) -> String {
    let mut printer = Printer::new(documents);
    printer.stage(stage);
    printer.out
}

/// Prints an assignment.
pub(super) fn text_of_assignment(assignment: &Assignment) -> String {
    let mut printer = Printer::new(&[]);
    printer.assignment(assignment);
    printer.out
}

/// Prints `${…}`.
pub(super) fn text_of_variable(variable: &Variable) -> String {
    let mut printer = Printer::new(&[]);
    printer.variable(variable);
    printer.out
}

/// Returns a text in single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn is_beyond_ascii(piece: &Piece) -> bool {
    matches!(piece, Piece::Quoted(text) if !text.is_ascii())
}

impl<'a> Printer<'a> {
    fn new(documents: &'a [Word]) -> Self {
        Self {
            documents,
            out: String::new(),
        }
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn script(&mut self, script: &Script) {
        for (i, item) in script.items.iter().enumerate() {
            if i > 0 {
                self.push(" ");
            }
            self.item(item);
            self.push(if item.is_background { " &" } else { ";" });
        }
    }

    fn item(&mut self, item: &Item) {
        self.pipeline(&item.first);
        for (operator, pipeline) in &item.more {
            self.push(" ");
            self.push(operator);
            self.push(" ");
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if pipeline.is_timed {
            self.push("time ");
        }
        if pipeline.is_negated {
            self.push("! ");
        }
        for (i, stage) in pipeline.stages.iter().enumerate() {
            self.push(if i > 0 { " | " } else { "" });
            self.stage(stage);
        }
    }

    fn stage(&mut self, stage: &Stage) {
        let start = self.out.len();
        self.command(&stage.command);
        for redirect in &stage.redirects {
            if self.out.len() > start {
                self.push(" ");
            }
            self.redirect(redirect);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple {
                assignments, words, ..
            } => self.simple(assignments, words),
            Command::Subshell(script) => {
                self.push("( ");
                self.script(script);
                self.push(" )");
            }
            Command::Group(script) => {
                self.push("{ ");
                self.script(script);
                self.push(" }");
            }
            Command::If { arms, otherwise } => {
                let mut word = "if ";
                for (condition, body) in arms {
                    self.push(word);
                    self.script(condition);
                    self.push(" then ");
                    self.script(body);
                    word = " elif ";
                }
                if let Some(body) = otherwise {
                    self.push(" else ");
                    self.script(body);
                }
                self.push(" fi");
            }
            Command::While { condition, body } => {
                self.push("while ");
                self.script(condition);
                self.push(" ");
                self.do_group(body);
            }
            Command::For {
                variable,
                words,
                body,
            } => {
                self.push("for ");
                self.push(variable);
                self.push(" in");
                self.words(words);
                self.push("; ");
                self.do_group(body);
            }
            Command::Case { word, arms } => self.case(word, arms),
            Command::Test(parts) => {
                self.push("[[");
                self.words(parts);
                self.push(" ]]");
            }
        }
    }

    /// Prints `case`. The parentheses of patterns are pairs, because older versions of bash count
    /// them within `$(…)`.
    fn case(&mut self, word: &Word, arms: &[(Vec<Word>, Script)]) {
        self.push("case ");
        self.word(word);
        self.push(" in");
        for (patterns, body) in arms {
            let mut before = " (";
            for pattern in patterns {
                self.push(before);
                self.word(pattern);
                before = " | ";
            }
            self.push(") ");
            self.script(body);
            self.push(" ;;");
        }
        self.push(" esac");
    }

    /// Prints words, each behind a blank.
    fn words(&mut self, words: &[Word]) {
        for word in words {
            self.push(" ");
            self.word(word);
        }
    }

    fn do_group(&mut self, body: &Script) {
        self.push("do ");
        self.script(body);
        self.push(" done");
    }

    fn simple(&mut self, assignments: &[Assignment], words: &[Word]) {
        let mut space = "";
        for assignment in assignments {
            self.push(space);
            self.assignment(assignment);
            space = " ";
        }
        for word in words {
            self.push(space);
            self.word(word);
            space = " ";
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.push(&assignment.name);
        self.push(if assignment.appends { "+=" } else { "=" });
        match &assignment.value {
            Value::Word(word) => self.word(word),
            Value::List(words) => {
                self.push("(");
                for (i, word) in words.iter().enumerate() {
                    if i > 0 {
                        self.push(" ");
                    }
                    self.word(word);
                }
                self.push(")");
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect) {
        let document = match &redirect.target {
            RedirectTarget::Document(number) => self.documents.get(*number),
            RedirectTarget::Word(_) => None,
        };
        if let Some(descriptor) = &redirect.descriptor {
            self.push(descriptor);
        }
        match (&redirect.target, document) {
            (RedirectTarget::Word(word), _) => {
                self.push(redirect.operator);
                self.push(" ");
                self.word(word);
            }
            (RedirectTarget::Document(_), Some(document)) if !document.pieces.is_empty() => {
                self.push("<<< ");
                self.word(document);
            }
            // A document without a line, which no here-string can be.
            (RedirectTarget::Document(_), _) => self.push("< /dev/null"),
        }
    }

    fn word(&mut self, word: &Word) {
        for piece in &word.pieces {
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Bare(text) => self.push(text),
            Piece::Quoted(text) => self.push(&quoted(text)),
            // In double quotes, a backslash behind what is not ASCII may be half of a character.
            Piece::Double(inner) if inner.iter().any(is_beyond_ascii) => {
                for piece in inner {
                    match piece {
                        Piece::Quoted(text) => self.push(&quoted(text)),
                        piece => {
                            self.push("\"");
                            self.piece(piece);
                            self.push("\"");
                        }
                    }
                }
            }
            Piece::Double(inner) => {
                self.push("\"");
                for piece in inner {
                    match piece {
                        Piece::Quoted(text) => {
                            for c in text.chars() {
                                if matches!(c, '$' | '`' | '"' | '\\') {
                                    self.out.push('\\');
                                }
                                self.out.push(c);
                            }
                        }
                        piece => self.piece(piece),
                    }
                }
                self.push("\"");
            }
            Piece::Variable(variable) => self.variable(variable),
            Piece::Substitution(script) => {
                self.push("$(");
                self.substituted(script);
                self.push(")");
            }
            Piece::Arithmetic(arithmetic) => {
                self.push("$(( ");
                self.push(arithmetic);
                self.push(" ))");
            }
            Piece::Process { mark, script } => {
                self.out.push(*mark);
                self.push("(");
                self.substituted(script);
                self.push(")");
            }
        }
    }

    /// Prints commands in the parentheses of a substitution. The last needs no end, and one
    /// redirection alone must have none: it stands for what the file holds.
    fn substituted(&mut self, script: &Script) {
        self.push(" ");
        self.script(script);
        if self.out.ends_with(';') {
            self.out.pop();
        }
        self.push(" ");
    }

    fn variable(&mut self, variable: &Variable) {
        self.push("${");
        if variable.is_length {
            self.push("#");
        }
        self.push(&variable.name);
        if let Some(subscript) = &variable.subscript {
            self.push("[");
            self.push(subscript);
            self.push("]");
        }
        if let Some((operator, operands)) = &variable.operation {
            self.push(operator);
            for operand in operands {
                self.piece(operand);
            }
        }
        self.push("}");
    }
}
