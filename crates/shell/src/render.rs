//! Plain shell as text again, with one way to write each thing.
//!
//! What bash is given is this text and not the one that was read, so that it is understood in
//! one way only. Three things see to that: all that was quoted is in single quotes (within
//! double quotes only next to what is expanded), here-documents become here-strings, and each
//! command ends in `;` or `&`.

use super::plain::{
    Argument, Assignment, Command, Item, Joint, Operand, Piece, Pipeline, Plain, Redirect, Script,
    Stage, Target, Test, Value, Variable, Word,
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

/// Prints a word.
pub(super) fn text_of_word(word: &Word) -> String {
    let mut printer = Printer::new(&[]);
    printer.word(word);
    printer.out
}

/// Prints a command.
pub(super) fn text_of_stage(stage: &Stage, documents: &[Word]) -> String {
    let mut printer = Printer::new(documents);
    printer.stage(stage);
    printer.out
}

fn text_of_assignment(assignment: &Assignment) -> String {
    let mut printer = Printer::new(&[]);
    printer.assignment(assignment);
    printer.out
}

/// Prints a word or a list.
pub(super) fn text_of_argument(argument: &Argument) -> String {
    match argument {
        Argument::Word(word) => text_of_word(word),
        Argument::List(assignment) => text_of_assignment(assignment),
    }
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
        for (joint, pipeline) in &item.more {
            self.push(match joint {
                Joint::And => " && ",
                Joint::Or => " || ",
            });
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let Some(timed) = pipeline.timed {
            self.push(timed);
            self.push(" ");
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
            Command::Loop {
                is_until,
                condition,
                body,
            } => {
                self.push(if *is_until { "until " } else { "while " });
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
                if let Some(words) = words {
                    self.push(" in");
                    for word in words {
                        self.push(" ");
                        self.word(word);
                    }
                }
                self.push("; ");
                self.do_group(body);
            }
            Command::Case { word, arms } => {
                self.push("case ");
                self.word(word);
                self.push(" in");
                for arm in arms {
                    for (i, pattern) in arm.patterns.iter().enumerate() {
                        self.push(if i > 0 { " | " } else { " (" });
                        self.word(pattern);
                    }
                    self.push(") ");
                    self.script(&arm.body);
                    self.push(" ;;");
                }
                self.push(" esac");
            }
            Command::Function { name, body, .. } => {
                self.push(name);
                self.push("() ");
                self.stage(body);
            }
            Command::Test(test) => {
                self.push("[[ ");
                self.test(test);
                self.push(" ]]");
            }
        }
    }

    fn do_group(&mut self, body: &Script) {
        self.push("do ");
        self.script(body);
        self.push(" done");
    }

    fn simple(&mut self, assignments: &[Assignment], words: &[Argument]) {
        let mut space = "";
        for assignment in assignments {
            self.push(space);
            self.assignment(assignment);
            space = " ";
        }
        for word in words {
            self.push(space);
            match word {
                Argument::Word(word) => self.word(word),
                Argument::List(list) => self.assignment(list),
            }
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
            Target::Document(number) => self.documents.get(*number),
            Target::Word(_) => None,
        };
        if let Some(descriptor) = &redirect.descriptor {
            self.push(descriptor);
        }
        match (&redirect.target, document) {
            (Target::Word(word), _) => {
                self.push(redirect.operator);
                self.push(" ");
                self.word(word);
            }
            (Target::Document(_), Some(document)) if !document.pieces.is_empty() => {
                self.push("<<< ");
                self.word(document);
            }
            // A document without a line, which no here-string can be.
            (Target::Document(_), _) => self.push("< /dev/null"),
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

    /// Prints commands in the parentheses of a substitution. One redirection alone stands for what the
    /// file holds.
    fn substituted(&mut self, script: &Script) {
        self.push(" ");
        if let [
            Item {
                first,
                more,
                is_background: false,
            },
        ] = script.items.as_slice()
            && more.is_empty()
            && let [stage] = first.stages.as_slice()
            && !first.is_negated
            && first.timed.is_none()
            && matches!(&stage.command, Command::Simple { assignments, words, .. } if assignments.is_empty() && words.is_empty())
        {
            self.stage(stage);
        } else {
            self.script(script);
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
                match operand {
                    Operand::Text(text) => self.push(text),
                    Operand::Piece(piece) => self.piece(piece),
                }
            }
        }
        self.push("}");
    }

    fn test(&mut self, test: &Test) {
        match test {
            Test::Either(left, operator, right) => {
                self.test(left);
                self.push(" ");
                self.push(operator);
                self.push(" ");
                self.test(right);
            }
            Test::Not(inner) => {
                self.push("! ");
                self.test(inner);
            }
            Test::Group(inner) => {
                self.push("( ");
                self.test(inner);
                self.push(" )");
            }
            Test::Unary(operator, word) => {
                self.push(operator);
                self.push(" ");
                self.word(word);
            }
            Test::Binary(left, operator, right) => {
                self.word(left);
                self.push(" ");
                self.push(operator);
                self.push(" ");
                self.word(right);
            }
            Test::Word(word) => self.word(word),
        }
    }
}
