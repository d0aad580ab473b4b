//! The meaning of plain shell.
//!
//! The tree says which words are commands. What is left to know is where bash evaluates a text that
//! comes from elsewhere: arithmetic, names that are computed, builtins that take code. All of that is
//! unresolved.

use super::plain::{
    Argument, Assignment, Command, Operand, Piece, Plain, Redirect, Script, Stage, Target, Test,
    Value, Variable,
};
use super::render::{text_of_argument, text_of_stage, text_of_word};
use super::words::Word;
use super::{Input, NUMBERS, Walk, builtins, wrappers};

/// A part of the tree.
#[derive(Clone, Copy)]
enum Node<'t> {
    /// A stage, and whether its commands may read what a pipe or a redirection around it gives.
    Stage(&'t Stage, bool),
    Assignment(&'t Assignment),
    Variable(&'t Variable),
    Test(&'t Test),
}

/// Calls `see` for each thing in a script, in the order in which it is written.
fn visit<'t>(
    script: &'t Script,
    documents: &'t [super::plain::Word],
    see: &mut dyn FnMut(Node<'t>),
) {
    let mut visitor = Visitor {
        documents,
        see,
        is_fed: false,
    };
    visitor.script(script);
}

struct Visitor<'t, 's> {
    documents: &'t [super::plain::Word],
    see: &'s mut dyn FnMut(Node<'t>),
    /// True if the commands here may read something that a pipe or a redirection gives them.
    is_fed: bool,
}

impl<'t> Visitor<'t, '_> {
    fn script(&mut self, script: &'t Script) {
        for item in &script.items {
            let pipelines = std::iter::once(&item.first).chain(item.more.iter().map(|(_, p)| p));
            for pipeline in pipelines {
                for (i, stage) in pipeline.stages.iter().enumerate() {
                    self.fed(i > 0, |visitor| visitor.stage(stage));
                }
            }
        }
    }

    /// Visits what may be given something to read.
    fn fed(&mut self, is_fed: bool, visit: impl FnOnce(&mut Self)) {
        let before = self.is_fed;
        self.is_fed |= is_fed;
        visit(self);
        self.is_fed = before;
    }

    fn stage(&mut self, stage: &'t Stage) {
        (self.see)(Node::Stage(stage, self.is_fed));
        // A function may be called where it is fed.
        let is_function = matches!(stage.command, Command::Function { .. });
        let is_fed = is_function || stage.redirects.iter().any(is_input);
        self.fed(is_fed, |visitor| visitor.command(stage));
        for redirect in &stage.redirects {
            match &redirect.target {
                Target::Word(word) => self.word(word),
                Target::Document(number) => {
                    if let Some(word) = self.documents.get(*number) {
                        self.word(word);
                    }
                }
            }
        }
    }

    fn command(&mut self, stage: &'t Stage) {
        match &stage.command {
            Command::Simple {
                assignments, words, ..
            } => {
                for assignment in assignments {
                    self.assignment(assignment);
                }
                for word in words {
                    match word {
                        Argument::Word(word) => self.word(word),
                        Argument::List(list) => self.assignment(list),
                    }
                }
            }
            Command::Subshell(script) | Command::Group(script) => self.script(script),
            Command::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition);
                    self.script(body);
                }
                if let Some(body) = otherwise {
                    self.script(body);
                }
            }
            Command::Loop {
                condition, body, ..
            } => {
                self.script(condition);
                self.script(body);
            }
            Command::For { words, body, .. } => {
                for word in words.iter().flatten() {
                    self.word(word);
                }
                self.script(body);
            }
            Command::Case { word, arms } => {
                self.word(word);
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.word(pattern);
                    }
                    self.script(&arm.body);
                }
            }
            Command::Function { body, .. } => self.stage(body),
            Command::Test(test) => self.test(test),
        }
    }

    fn assignment(&mut self, assignment: &'t Assignment) {
        (self.see)(Node::Assignment(assignment));
        match &assignment.value {
            Value::Word(word) => self.word(word),
            Value::List(words) => words.iter().for_each(|word| self.word(word)),
        }
    }

    fn word(&mut self, word: &'t super::plain::Word) {
        for piece in &word.pieces {
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: &'t Piece) {
        match piece {
            Piece::Bare(_) | Piece::Quoted(_) | Piece::Arithmetic(_) => {}
            Piece::Double(inner) => inner.iter().for_each(|piece| self.piece(piece)),
            Piece::Variable(variable) => self.variable(variable),
            Piece::Substitution(script) => self.script(script),
            Piece::Process { mark, script } => {
                self.fed(*mark == '>', |visitor| visitor.script(script));
            }
        }
    }

    fn variable(&mut self, variable: &'t Variable) {
        (self.see)(Node::Variable(variable));
        for operand in variable.operation.iter().flat_map(|(_, operands)| operands) {
            if let Operand::Piece(piece) = operand {
                self.piece(piece);
            }
        }
    }

    fn test(&mut self, test: &'t Test) {
        (self.see)(Node::Test(test));
        match test {
            Test::Either(left, _, right) => {
                self.test(left);
                self.test(right);
            }
            Test::Not(inner) | Test::Group(inner) => self.test(inner),
            Test::Unary(_, word) | Test::Word(word) => self.word(word),
            Test::Binary(left, _, right) => {
                self.word(left);
                self.word(right);
            }
        }
    }
}

/// Returns true if a variable is a number by itself.
fn is_count(variable: &Variable) -> bool {
    variable.operation.is_none()
        && (variable.is_length || matches!(variable.name.as_str(), "#" | "?" | "$" | "!"))
}

/// Returns true if a word is a number whatever the line does.
fn is_number(word: &super::plain::Word) -> bool {
    fn is_part(piece: &Piece) -> bool {
        match piece {
            Piece::Bare(text) | Piece::Quoted(text) => text.bytes().all(|b| b.is_ascii_digit()),
            Piece::Double(inner) => inner.iter().all(is_part),
            Piece::Variable(variable) => is_count(variable),
            Piece::Arithmetic(_) => true,
            Piece::Substitution(_) | Piece::Process { .. } => false,
        }
    }
    !word.pieces.is_empty() && word.pieces.iter().all(is_part)
}

impl Walk<'_> {
    /// Adds what a script runs that is understood whole.
    pub(super) fn plain(&mut self, plain: &Plain) {
        if self.position.depth == 0 {
            self.functions(&plain.script);
        }
        self.texts(plain);
        let mut nodes = Vec::new();
        visit(&plain.script, &plain.documents, &mut |node| {
            nodes.push(node);
        });
        // By `exec` all that follows reads something else.
        let is_redirected = nodes.iter().any(|node| match node {
            Node::Stage(stage, _) => redirects_shell(stage),
            _ => false,
        });
        for node in nodes {
            match node {
                Node::Stage(stage, is_fed) => {
                    let before = self.position.is_fed;
                    self.position.is_fed |= is_fed || is_redirected;
                    self.plain_stage(stage, &plain.documents);
                    self.position.is_fed = before;
                }
                Node::Assignment(assignment) => self.plain_assignment(assignment),
                Node::Variable(variable) => self.plain_variable(variable),
                Node::Test(test) => self.plain_test(test),
            }
        }
    }

    /// Notes the texts outside of commands.
    fn texts(&mut self, plain: &Plain) {
        let mut words: Vec<&super::plain::Word> = plain.documents.iter().collect();
        visit(&plain.script, &plain.documents, &mut |node| match node {
            Node::Assignment(assignment) => match &assignment.value {
                Value::Word(word) => words.push(word),
                Value::List(list) => words.extend(list),
            },
            Node::Stage(stage, _) => {
                match &stage.command {
                    Command::For {
                        words: Some(list), ..
                    } => words.extend(list),
                    Command::Case { word, arms } => {
                        words.push(word);
                        words.extend(arms.iter().flat_map(|arm| &arm.patterns));
                    }
                    _ => {}
                }
                words.extend(stage.redirects.iter().filter_map(
                    |redirect| match &redirect.target {
                        Target::Word(word) if redirect.operator.starts_with('<') => Some(word),
                        _ => None,
                    },
                ));
            }
            Node::Test(Test::Binary(left, _, right)) => words.extend([left, right]),
            Node::Test(Test::Word(word)) => words.push(word),
            _ => {}
        });
        for word in words {
            let text = word.literal().unwrap_or_else(|| word.text.clone());
            if !text.is_empty() && self.budget.take(1, text.len()).is_some() {
                self.analysis.texts.push(text);
            }
        }
    }

    /// Functions that are there for all that follows: defined at the top, whatever else happens.
    fn functions(&mut self, script: &Script) {
        for item in &script.items {
            let [stage] = item.first.stages.as_slice() else {
                continue;
            };
            if let Command::Function { name, at, .. } = &stage.command
                && !item.is_background
                && stage.redirects.is_empty()
            {
                self.analysis.functions.push((name.clone(), *at));
            }
        }
    }

    fn plain_stage(&mut self, stage: &Stage, documents: &[super::plain::Word]) {
        self.analysis.redirects |= !stage.redirects.is_empty();
        match &stage.command {
            Command::Simple {
                assignments,
                words,
                at,
                text,
            } if !words.is_empty() => {
                let holds_options = words.iter().any(may_hold_options);
                let words: Vec<Word> = words.iter().map(word_of).collect();
                let mut input = input_of(&stage.redirects, documents);
                input.is_other |= self.position.is_fed && input.text.is_none();
                // So may what is in scripts that the command runs.
                self.position.is_fed |= input.is_other || input.text.is_some();
                self.splits(assignments, &words, text);
                if holds_options {
                    self.unresolved(text);
                }
                wrappers::resolve(self, &words, text, &input, *at);
            }
            Command::Simple { assignments, .. } => {
                let bare = text_of_stage(stage, documents);
                self.splits(assignments, &[], &bare);
            }
            // What is known of builtins and of programs that run others holds for these only.
            Command::Function { name, .. }
                if builtins::is_known(name)
                    || wrappers::is_known(name)
                    || name == "command_not_found_handle" =>
            {
                self.unresolved(&format!("{name}()"));
            }
            Command::For { variable, .. } => {
                self.assigns(variable, None, &format!("for {variable}"));
            }
            _ => {}
        }
    }

    /// `IFS=…` before a builtin that splits its input by it changes nothing else.
    fn splits(&mut self, assignments: &[Assignment], words: &[Word], text: &str) {
        let splits = matches!(
            words.first().and_then(|word| word.value.as_deref()),
            Some("read" | "mapfile" | "readarray")
        );
        if !splits && assignments.iter().any(|a| a.name == "IFS") {
            self.unresolved(text);
        }
    }

    fn plain_assignment(&mut self, assignment: &Assignment) {
        // `splits` looks at `IFS`, with the command that follows it.
        if assignment.name == "IFS" {
            return;
        }
        let text = text_of_argument(&Argument::List(assignment.clone()));
        let value = match &assignment.value {
            Value::Word(word) => word.literal(),
            Value::List(_) => None,
        };
        self.assigns(&assignment.name, value.as_deref(), &text);
    }

    fn plain_variable(&mut self, variable: &Variable) {
        if let Some((":=" | "=", _)) = &variable.operation {
            let text = text_of_word(&super::plain::Word {
                pieces: vec![Piece::Variable(variable.clone())],
                text: String::new(),
            });
            self.assigns(&variable.name, None, &text);
        }
    }

    /// Adds a comparison of numbers, whose operands are evaluated.
    fn plain_test(&mut self, test: &Test) {
        let is_operand = |word: &super::plain::Word| {
            is_number(word)
                || word
                    .literal()
                    .is_some_and(|text| text.parse::<i64>().is_ok())
        };
        if let Test::Binary(left, operator, right) = test
            && matches!(
                operator.as_str(),
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"
            )
            && ![left, right].into_iter().all(is_operand)
        {
            self.unresolved(&format!(
                "{} {operator} {}",
                text_of_word(left),
                text_of_word(right)
            ));
        }
    }

    /// Adds that a variable gets a value, which is `None` where it is not known.
    pub(super) fn assigns(&mut self, name: &str, value: Option<&str>, text: &str) {
        let is_number = value.is_some_and(|value| value.bytes().all(|b| b.is_ascii_digit()));
        if NUMBERS.contains(&name) && !is_number {
            self.unresolved(text);
        }
        wrappers::assign(self, name, value, text);
    }
}

/// Returns what is known of a word.
fn word_of(argument: &Argument) -> Word {
    let text = text_of_argument(argument);
    let Argument::Word(word) = argument else {
        return Word::unknown(text.clone(), text);
    };
    let is_quoted = word
        .pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Quoted(_) | Piece::Double(_)));
    // A list in braces makes several words.
    let value = word.literal().filter(|_| !has_list(word));
    let has_pattern = |piece: &Piece| match piece {
        Piece::Bare(part) => part.contains(['*', '?']) || part.contains('[') && text.len() > 1,
        _ => false,
    };
    let is_expanded = has_list(word) || word.pieces.iter().any(has_pattern);
    let known = match &value {
        Some(value) if !is_expanded => value.clone(),
        _ => beginning_of(&word.pieces).0,
    };
    // A dash between two variables is part of a name, as is `@` before a version.
    let mut if_empty = known.clone();
    if value.is_none() && known.is_empty() {
        push_if_empty(&word.pieces, &mut if_empty);
        if if_empty == "-" || if_empty.starts_with('@') {
            if_empty.clear();
        }
    }
    Word {
        value,
        known,
        if_empty,
        is_quoted,
        is_number: is_number(word),
        is_single: !has_list(word) && word.pieces.iter().all(is_single),
        is_expanded,
        written: word.text.clone(),
        text,
    }
}

/// Returns the known beginning of a word, and true if that is all of it.
fn beginning_of(pieces: &[Piece]) -> (String, bool) {
    let mut known = String::new();
    for piece in pieces {
        match piece {
            Piece::Quoted(text) => known.push_str(text),
            Piece::Bare(text) => {
                let end = text.find(['*', '?', '[', '{']).unwrap_or(text.len());
                known.push_str(&text[..end]);
                if end < text.len() {
                    return (known, false);
                }
            }
            Piece::Double(inner) => {
                let (beginning, is_all) = beginning_of(inner);
                known.push_str(&beginning);
                if !is_all {
                    return (known, false);
                }
            }
            _ => return (known, false),
        }
    }
    (known, true)
}

/// Adds a word without its variables and commands, or with what stands for those that are empty.
fn push_if_empty(pieces: &[Piece], text: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Bare(part) | Piece::Quoted(part) => text.push_str(part),
            Piece::Double(inner) => push_if_empty(inner, text),
            Piece::Variable(variable) => {
                let operation = variable.operation.iter();
                let instead = operation.filter(|(operator, _)| operator.contains(['-', '=', '+']));
                for operand in instead.flat_map(|(_, operands)| operands) {
                    match operand {
                        Operand::Text(part) => text.push_str(&part.replace(['"', '\'', '\\'], "")),
                        Operand::Piece(piece) => push_if_empty(std::slice::from_ref(piece), text),
                    }
                }
            }
            Piece::Substitution(_) | Piece::Arithmetic(_) | Piece::Process { .. } => {}
        }
    }
}

/// Returns true if a piece of a word, but for a list in braces, makes no other words of it.
fn is_single(piece: &Piece) -> bool {
    match piece {
        Piece::Bare(text) => !text.contains(['*', '?', '[']) || text == "[",
        Piece::Quoted(_) | Piece::Arithmetic(_) => true,
        // All but what stands for several words even there.
        Piece::Double(inner) => inner.iter().all(|piece| match piece {
            Piece::Variable(variable) => {
                variable.is_length
                    || variable.name != "@" && variable.subscript.as_deref() != Some("@")
            }
            _ => true,
        }),
        Piece::Variable(variable) => is_count(variable),
        Piece::Substitution(_) | Piece::Process { .. } => false,
    }
}

/// Returns true if a list in braces may hold options. Where something is before the list, all of its
/// words begin with that.
fn may_hold_options(argument: &Argument) -> bool {
    let Argument::Word(word) = argument else {
        return false;
    };
    if !has_list(word) || !beginning_of(&word.pieces).0.is_empty() {
        return false;
    }
    let text: String = word
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Bare(text) | Piece::Quoted(text) => text,
            // What a variable holds counts for no option, but it may hold nothing.
            _ => "",
        })
        .collect();
    text.contains("{-") || text.contains(",-")
}

/// Returns true if a word may hold a list in braces.
fn has_list(word: &super::plain::Word) -> bool {
    let bare = |piece: &Piece| match piece {
        Piece::Bare(text) => Some(text.clone()),
        _ => None,
    };
    let text: String = word.pieces.iter().filter_map(bare).collect();
    text.split_once('{')
        .is_some_and(|(_, rest)| rest.contains(',') || rest.contains(".."))
}

/// Returns true if a redirection says what a command reads.
fn is_input(redirect: &Redirect) -> bool {
    let is_zero = redirect
        .descriptor
        .as_deref()
        .map(|d| d.trim_start_matches('0'));
    redirect.operator.starts_with('<') && is_zero.is_none_or(str::is_empty)
        || is_zero.is_some_and(str::is_empty)
}

/// Returns true if a stage may change what the shell itself reads.
fn redirects_shell(stage: &Stage) -> bool {
    let Command::Simple { words, .. } = &stage.command else {
        return false;
    };
    let has_redirects = !stage.redirects.is_empty();
    words.iter().any(|word| match word {
        Argument::Word(word) => match word.literal().as_deref() {
            Some("exec") | None => has_redirects,
            // The texts that these run may do so.
            Some("eval" | "trap" | "." | "source") => true,
            Some(_) => false,
        },
        Argument::List(_) => false,
    })
}

/// Returns what a command reads, where its own redirections say it.
fn input_of(redirects: &[Redirect], documents: &[super::plain::Word]) -> Input {
    let mut input = Input {
        text: None,
        is_other: false,
    };
    let mut inputs = redirects.iter().filter(|redirect| is_input(redirect));
    let Some(redirect) = inputs.next() else {
        return input;
    };
    input.text = match (&redirect.target, redirect.operator) {
        (Target::Document(number), _) => {
            documents.get(*number).and_then(super::plain::Word::literal)
        }
        (Target::Word(word), "<<<") => word.literal(),
        _ => None,
    };
    input.is_other = input.text.is_none() || inputs.next().is_some();
    input
}
