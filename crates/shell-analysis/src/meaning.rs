//! What plain shell runs.
//!
//! How it works. The tree says which words are commands. What is left to know is where bash
//! evaluates a text that comes from elsewhere: arithmetic, subscripts, names that are computed,
//! builtins that take code. Arithmetic is understood where each variable in it holds a number
//! whatever the line does: everything that the line assigns to it is one, or nothing does, so
//! that its value is the user's own. All that remains unresolved is said so.

use super::plain::{
    Argument, Arithmetic, Assignment, Command, Operand, Piece, Plain, Redirect, Script,
    ShellDialect, Stage, Subscript, Target, Test, Token, Value, Variable, is_name,
};
use super::render::{text_of_argument, text_of_stage, text_of_word};
use super::words::Word;
use super::{Input, NUMBERS, Walk, builtins, wrappers};
use std::collections::{BTreeMap, BTreeSet};

/// Variables that bash itself fills with texts from elsewhere.
const FILLED: [&str; 8] = [
    "COPROC", "DIRSTACK", "MAPFILE", "OLDPWD", "OPTARG", "PWD", "REPLY", "_",
];

/// One thing in the tree.
#[derive(Clone, Copy)]
enum Node<'t> {
    /// A stage, and whether its commands may read what a pipe or a redirection around it gives.
    Stage(&'t Stage, bool),
    Assignment(&'t Assignment),
    Variable(&'t Variable),
    Arithmetic(&'t Arithmetic),
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
    /// Whether the commands here may read something that a pipe or a redirection gives them.
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
            Command::Count { parts, body } => {
                for part in parts {
                    self.arithmetic(part);
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
            Command::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
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
            Piece::Bare(_) | Piece::Quoted(_) => {}
            Piece::Double(inner) => inner.iter().for_each(|piece| self.piece(piece)),
            Piece::Variable(variable) => self.variable(variable),
            Piece::Substitution(script) => self.script(script),
            Piece::Process { mark, script } => {
                self.fed(*mark == '>', |visitor| visitor.script(script));
            }
            Piece::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
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

    fn arithmetic(&mut self, arithmetic: &'t Arithmetic) {
        (self.see)(Node::Arithmetic(arithmetic));
        for token in &arithmetic.tokens {
            if let Token::Variable(variable) = token {
                self.variable(variable);
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
            Test::Unary(_, word) | Test::Word(word) | Test::Matches(word, _) => self.word(word),
            Test::Binary(left, _, right) => {
                self.word(left);
                self.word(right);
            }
        }
    }
}

/// Whether what is asked for is a number by itself.
fn is_count(variable: &Variable) -> bool {
    variable.is_length || matches!(variable.name.as_str(), "#" | "?" | "$" | "!")
}

/// What is assigned to a variable.
enum Source<'t> {
    Word(&'t super::plain::Word),
    /// A number, by arithmetic.
    Number,
    /// Something else.
    Text,
}

/// Which variables hold numbers whatever the line does.
pub(super) struct Numbers {
    /// Variables to which the line assigns other things.
    texts: BTreeSet<String>,
    /// Variables to which the line assigns names of variables, and nothing else.
    names: BTreeSet<String>,
    /// Variables to which the line assigns anything.
    assigned: BTreeSet<String>,
    /// Nothing is known of any: the line runs texts that assign.
    is_unknown: bool,
}

impl Numbers {
    fn of(script: &Script, documents: &[super::plain::Word]) -> Self {
        let mut sources: BTreeMap<&str, Vec<Source<'_>>> = BTreeMap::new();
        let mut is_unknown = false;
        visit(script, documents, &mut |node| match node {
            Node::Stage(stage, _) => match &stage.command {
                Command::Simple { words, .. } => {
                    is_unknown |= assigned_by_words(words, &mut sources);
                }
                Command::For {
                    variable, words, ..
                } => {
                    let list = sources.entry(variable).or_default();
                    match words {
                        Some(words) => list.extend(words.iter().map(Source::Word)),
                        None => list.push(Source::Text),
                    }
                }
                _ => {}
            },
            Node::Assignment(assignment) => {
                let list = sources.entry(&assignment.name).or_default();
                match &assignment.value {
                    Value::Word(word) => list.push(Source::Word(word)),
                    Value::List(words) => list.extend(words.iter().map(Source::Word)),
                }
            }
            Node::Variable(variable) => {
                if matches!(&variable.operation, Some((":=" | "=", _))) {
                    sources
                        .entry(&variable.name)
                        .or_default()
                        .push(Source::Text);
                }
            }
            Node::Arithmetic(arithmetic) => {
                for name in arithmetic.tokens.iter().filter_map(Token::name) {
                    sources.entry(name).or_default().push(Source::Number);
                }
            }
            Node::Test(_) => {}
        });
        let is_name_of = |source: &Source<'_>| match source {
            Source::Word(word) => word.literal().is_some_and(|text| is_name(&text)),
            Source::Number | Source::Text => false,
        };
        let names = sources
            .iter()
            .filter(|(_, list)| !list.is_empty() && list.iter().all(is_name_of))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let mut numbers = Self {
            assigned: sources.keys().map(|name| (*name).to_owned()).collect(),
            names,
            texts: FILLED.iter().map(|name| (*name).to_owned()).collect(),
            is_unknown,
        };
        // A variable is a number as long as those are that it gets its value from.
        loop {
            let is_text = |list: &Vec<Source<'_>>| {
                list.iter().any(|source| match source {
                    Source::Word(word) => !numbers.is_number(word),
                    Source::Number => false,
                    Source::Text => true,
                })
            };
            let more: Vec<String> = sources
                .iter()
                .filter(|(name, list)| !numbers.texts.contains(**name) && is_text(list))
                .map(|(name, _)| (*name).to_owned())
                .collect();
            if more.is_empty() {
                return numbers;
            }
            numbers.texts.extend(more);
        }
    }

    fn holds(&self, name: &str) -> bool {
        let is_positional = name.bytes().all(|b| b.is_ascii_digit());
        !self.is_unknown
            && !is_positional
            && !matches!(name, "@" | "*" | "-")
            && !name.starts_with("BASH_")
            && !self.texts.contains(name)
    }

    fn variable_is_number(&self, variable: &Variable) -> bool {
        let is_count = is_count(variable);
        let subscript_is_one = match &variable.subscript {
            None | Some(Subscript::Number(_)) => true,
            Some(Subscript::Name(name) | Subscript::Value(name)) => self.holds(name),
            Some(Subscript::All(_)) => is_count,
        };
        variable.operation.is_none()
            && !variable.is_indirect
            && subscript_is_one
            && (is_count || self.holds(&variable.name))
    }

    /// Whether a variable is one word, and no option: a number that the line has assigned.
    fn is_counted(&self, variable: &Variable) -> bool {
        self.variable_is_number(variable)
            && (is_count(variable) || self.assigned.contains(&variable.name))
    }

    /// Whether each expansion in a word is such a variable, and the rest digits.
    fn counts(&self, word: &super::plain::Word) -> bool {
        let is_counted = |piece: &Piece| match piece {
            Piece::Variable(variable) => self.is_counted(variable),
            Piece::Double(inner) => inner.iter().all(|piece| match piece {
                Piece::Variable(variable) => self.is_counted(variable),
                _ => true,
            }),
            _ => true,
        };
        self.is_number(word) && word.pieces.iter().all(is_counted)
    }

    /// Whether a word that is assigned holds a number, or nothing.
    fn is_number(&self, word: &super::plain::Word) -> bool {
        word.pieces.iter().all(|piece| self.piece_is_number(piece))
    }

    fn piece_is_number(&self, piece: &Piece) -> bool {
        match piece {
            // Also lists in braces of numbers.
            Piece::Bare(text) => text.bytes().all(|b| {
                b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'{' | b'}' | b'.' | b',')
            }),
            Piece::Quoted(text) => text.bytes().all(|b| b.is_ascii_digit() || b == b'-'),
            Piece::Double(inner) => inner.iter().all(|piece| self.piece_is_number(piece)),
            Piece::Variable(variable) => self.variable_is_number(variable),
            Piece::Arithmetic(_) => true,
            Piece::Substitution(_) | Piece::Process { .. } => false,
        }
    }
}

impl Token {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// Notes the variables that a builtin assigns to. Whether it runs a text, or computes a name.
fn assigned_by_words<'t>(
    words: &'t [Argument],
    sources: &mut BTreeMap<&'t str, Vec<Source<'t>>>,
) -> bool {
    let mut texts = words.iter().map(|word| match word {
        Argument::Word(word) => word.literal(),
        Argument::List(_) => Some(String::new()),
    });
    let Some(Some(first)) = texts.next() else {
        return false;
    };
    match first.as_str() {
        // `builtin read x`, and texts that are run here. A file that is read may run anything itself.
        "builtin" | "eval" | "trap" => true,
        "command" => {
            !matches!(texts.next(), Some(Some(option)) if option == "-v" || option == "-V")
        }
        // A name that stands for another.
        "declare" | "typeset" | "local"
            if texts
                .by_ref()
                .flatten()
                .any(|text| text.starts_with('-') && text.contains('n')) =>
        {
            true
        }
        "read" | "mapfile" | "readarray" | "getopts" | "printf" | "wait" | "declare"
        | "typeset" | "local" | "readonly" | "export" | "unset" => {
            for word in &words[1..] {
                let Argument::Word(word) = word else { continue };
                let name = word.pieces.first().and_then(|piece| match piece {
                    Piece::Bare(text) => {
                        Some(text.split(['=', '+', '[']).next().unwrap_or_default())
                    }
                    Piece::Quoted(_) => None,
                    _ => Some(""),
                });
                match name {
                    Some(name) if is_name(name) => {
                        sources.entry(name).or_default().push(Source::Text);
                    }
                    Some(_) => {}
                    // A name in quotes, as in `printf -v 'x'`.
                    None => return true,
                }
            }
            false
        }
        _ => false,
    }
}

impl Walk<'_> {
    /// Adds what a script runs that is understood whole.
    pub(super) fn plain(&mut self, plain: &Plain) {
        let mut numbers = Numbers::of(&plain.script, &plain.documents);
        // Of what the commands around a script have assigned nothing is known here.
        numbers.is_unknown |= self.position.depth > 0;
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
                    self.plain_stage(stage, &plain.documents, &numbers);
                    self.position.is_fed = before;
                }
                Node::Assignment(assignment) => self.plain_assignment(assignment, &numbers),
                Node::Variable(variable) => self.plain_variable(variable, &numbers),
                Node::Arithmetic(arithmetic) => self.plain_arithmetic(arithmetic, &numbers),
                Node::Test(test) => self.plain_test(test, &numbers),
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

    fn plain_stage(&mut self, stage: &Stage, documents: &[super::plain::Word], numbers: &Numbers) {
        self.analysis.redirects |= !stage.redirects.is_empty();
        match &stage.command {
            Command::Simple {
                assignments,
                words,
                at,
                text,
            } if !words.is_empty() => {
                let holds_options = words.iter().any(may_hold_options);
                let words: Vec<Word> = words.iter().map(|word| word_of(word, numbers)).collect();
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
            Command::For {
                variable, words, ..
            } => {
                let are_numbers = words.iter().flatten().all(|word| numbers.is_number(word));
                self.assigns(
                    variable,
                    None,
                    &format!("for {variable}"),
                    are_numbers && words.is_some(),
                );
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

    fn plain_assignment(&mut self, assignment: &Assignment, numbers: &Numbers) {
        let text = text_of_argument(&Argument::List(assignment.clone()));
        let is_unknown = match &assignment.subscript {
            Some(Subscript::Name(name) | Subscript::Value(name)) => !numbers.holds(name),
            _ => false,
        };
        if is_unknown
            || assignment.subscript.is_some()
                && (assignment.name == "PATH" || wrappers::is_read_by_bash(&assignment.name))
        {
            self.unresolved(&text);
        }
        let (value, is_number) = match &assignment.value {
            Value::Word(word) => (word.literal(), numbers.is_number(word)),
            Value::List(words) => (None, words.iter().all(|word| numbers.is_number(word))),
        };
        // `splits` looks at it, with the command that follows it.
        if assignment.name == "IFS" {
            return;
        }
        self.assigns(&assignment.name, value.as_deref(), &text, is_number);
    }

    fn plain_variable(&mut self, variable: &Variable, numbers: &Numbers) {
        let text = || {
            text_of_word(&super::plain::Word {
                pieces: vec![Piece::Variable(variable.clone())],
                text: String::new(),
            })
        };
        if let Some(Subscript::Name(name) | Subscript::Value(name)) = &variable.subscript
            && !numbers.holds(name)
        {
            self.unresolved(&text());
        }
        if variable.is_indirect && (numbers.is_unknown || !numbers.names.contains(&variable.name)) {
            self.unresolved(&text());
        }
        if let Some((":=" | "=", _)) = &variable.operation {
            self.assigns(&variable.name, None, &text(), false);
        }
    }

    fn plain_arithmetic(&mut self, arithmetic: &Arithmetic, numbers: &Numbers) {
        let is_number = |token: &Token| match token {
            Token::Name(name) => numbers.holds(name),
            Token::Variable(variable) => numbers.variable_is_number(variable),
            Token::Number(_) | Token::Operator(_) => true,
        };
        let text = || {
            text_of_word(&super::plain::Word {
                pieces: vec![Piece::Arithmetic(arithmetic.clone())],
                text: String::new(),
            })
        };
        if !arithmetic.tokens.iter().all(is_number) {
            self.unresolved(&text());
        }
        for name in arithmetic.tokens.iter().filter_map(Token::name) {
            self.assigns(name, None, &text(), true);
        }
    }

    fn plain_test(&mut self, test: &Test, numbers: &Numbers) {
        if let Test::Binary(left, operator, right) = test
            && matches!(
                operator.as_str(),
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"
            )
            && !(numbers.is_number(left) && numbers.is_number(right))
        {
            self.unresolved(&format!(
                "{} {operator} {}",
                text_of_word(left),
                text_of_word(right)
            ));
        }
    }

    /// A variable gets a value, which is `None` where it is not known.
    pub(super) fn assigns(&mut self, name: &str, value: Option<&str>, text: &str, is_number: bool) {
        if NUMBERS.contains(&name) && !is_number {
            self.unresolved(text);
        }
        wrappers::assign(self, name, value, text);
    }
}

fn word_of(argument: &Argument, numbers: &Numbers) -> Word {
    let text = text_of_argument(argument);
    let Argument::Word(word) = argument else {
        return Word {
            value: None,
            known: String::new(),
            if_empty: String::new(),
            written: text.clone(),
            text,
            is_quoted: false,
            is_number: false,
            is_single: false,
            is_expanded: false,
        };
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
    let if_empty = match known.as_str() {
        // A dash between two variables is part of a name, as is `@` before a version.
        "" if value.is_none() => Some(beginning_if_empty(&word.pieces))
            .filter(|beginning| beginning != "-" && !beginning.starts_with('@'))
            .unwrap_or_default(),
        known => known.to_owned(),
    };
    Word {
        value,
        known,
        if_empty,
        is_quoted,
        is_number: numbers.counts(word),
        is_single: !has_list(word) && word.pieces.iter().all(|piece| is_single(piece, numbers)),
        is_expanded,
        written: word.text.clone(),
        text,
    }
}

/// What is known of the beginning of a word, and whether that is all of it.
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

/// The same where what a word begins with is empty, or is what stands for it then.
fn beginning_if_empty(pieces: &[Piece]) -> String {
    for (i, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Substitution(_) => {}
            Piece::Variable(variable) => {
                let (operator, operands) = match &variable.operation {
                    Some((operator, operands)) if operator.contains(['-', '=', '+']) => {
                        (operator, operands)
                    }
                    _ => continue,
                };
                let instead = operands.iter().map(|operand| match operand {
                    Operand::Text(text) => text.replace(['"', '\'', '\\'], ""),
                    Operand::Piece(piece) => beginning_if_empty(std::slice::from_ref(piece)),
                });
                let instead: String = instead.collect();
                let is_always = !operator.contains('+');
                if instead.starts_with('-') || is_always && !instead.is_empty() {
                    return instead;
                }
            }
            Piece::Double(inner) => {
                let (beginning, is_all) = beginning_of(inner);
                if !beginning.is_empty() {
                    return beginning;
                }
                if !is_all {
                    let beginning = beginning_if_empty(inner);
                    if !beginning.is_empty() {
                        return beginning;
                    }
                }
            }
            piece if beginning_of(std::slice::from_ref(piece)) == (String::new(), true) => {}
            _ => return beginning_of(&pieces[i..]).0,
        }
    }
    String::new()
}

/// Whether a piece of a word, but for a list in braces, makes no other words of it.
fn is_single(piece: &Piece, numbers: &Numbers) -> bool {
    match piece {
        Piece::Bare(text) => !text.contains(['*', '?', '[']) || text == "[",
        Piece::Quoted(_) | Piece::Arithmetic(_) => true,
        // All but what stands for several words even there.
        Piece::Double(inner) => inner.iter().all(|piece| match piece {
            Piece::Variable(variable) => {
                variable.is_length
                    || variable.name != "@" && variable.subscript != Some(Subscript::All('@'))
            }
            _ => true,
        }),
        Piece::Variable(variable) => numbers.is_counted(variable),
        Piece::Substitution(_) | Piece::Process { .. } => false,
    }
}

/// Whether a list in braces may hold options. Where something is before the list, all of its
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

/// Whether a word may hold a list in braces.
fn has_list(word: &super::plain::Word) -> bool {
    let bare = |piece: &Piece| match piece {
        Piece::Bare(text) => Some(text.clone()),
        _ => None,
    };
    let text: String = word.pieces.iter().filter_map(bare).collect();
    text.split_once('{')
        .is_some_and(|(_, rest)| rest.contains(',') || rest.contains(".."))
}

/// Whether a redirection says what a command reads.
fn is_input(redirect: &Redirect) -> bool {
    let is_zero = redirect
        .descriptor
        .as_deref()
        .map(|d| d.trim_start_matches('0'));
    redirect.operator.starts_with('<') && is_zero.is_none_or(str::is_empty)
        || is_zero.is_some_and(str::is_empty)
}

/// Whether a stage may change what the shell itself reads.
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

/// What a command reads, where its own redirections say it.
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

/// The grammar that a shell reads a script with; `None` for one whose grammar is another.
pub(super) fn dialect_of(shell: &str) -> Option<ShellDialect> {
    match shell {
        "bash" | "rbash" => Some(ShellDialect::Bash),
        "sh" | "dash" | "ash" | "hush" | "posh" => Some(ShellDialect::Posix),
        // These have words of their own that run others (`noglob`, `and`, `repeat`).
        _ => None,
    }
}
