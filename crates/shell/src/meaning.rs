//! Finds the commands that a parsed script runs.
//!
//! The syntax tree says which words are commands. Two things evaluate text as code that is not in
//! the tree: builtins that take code (`builtins`, and `eval` in `wrappers`), and variables that
//! bash itself reads (`variables`). Such text is unresolved, unless it is known and can be parsed
//! too.

use super::plain::{
    self, Assignment, Command, Piece, RedirectTarget, Script, Stage, Value, Variable,
};
use super::words::Word;
use super::{Walk, variables, wrappers};

impl Walk<'_> {
    pub(super) fn script(&mut self, script: &Script) {
        for item in &script.items {
            let pipelines = std::iter::once(&item.first).chain(item.more.iter().map(|(_, p)| p));
            for stage in pipelines.flat_map(|pipeline| &pipeline.stages) {
                self.stage(stage);
            }
        }
    }

    fn stage(&mut self, stage: &Stage) {
        self.analysis.redirects |= !stage.redirects.is_empty();
        match &stage.command {
            Command::Simple {
                assignments,
                words,
                text,
            } => self.simple(stage, assignments, words, text),
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
            Command::While { condition, body } => {
                self.script(condition);
                self.script(body);
            }
            Command::For {
                variable,
                words,
                body,
            } => {
                variables::assign(self, variable, None, &format!("for {variable}"));
                self.texts(words);
                self.script(body);
            }
            Command::Case { word, arms } => {
                self.text(word);
                for (patterns, body) in arms {
                    self.texts(patterns);
                    self.script(body);
                }
            }
            Command::Test(parts) => self.texts(parts),
        }
        for redirect in &stage.redirects {
            match &redirect.target {
                // `<>` opens a file for writing, too.
                RedirectTarget::Word(word)
                    if redirect.operator.starts_with('<') && !redirect.operator.contains('>') =>
                {
                    self.text(word);
                    if redirect.operator == "<<<" {
                        self.keep_document();
                    }
                }
                RedirectTarget::Word(word) => {
                    if self.budget.take(1, word.text.len()).is_some() {
                        self.analysis.targets.push(word.pattern());
                    }
                    self.pieces(&word.pieces);
                }
                RedirectTarget::Document(text) => {
                    if let Some(text) = text.get() {
                        self.text(text);
                        self.keep_document();
                    }
                }
            }
        }
    }

    fn keep_document(&mut self) {
        let newest = self.analysis.texts.last().cloned();
        self.analysis.documents.extend(newest);
    }

    fn simple(
        &mut self,
        stage: &Stage,
        assignments: &[Assignment],
        arguments: &[plain::Word],
        text: &str,
    ) {
        let words: Vec<Word> = arguments.iter().map(word_of).collect();
        // `IFS=…` before one of these builtins changes only how the builtin splits its input.
        let splits = words
            .first()
            .is_some_and(|word| word.is_one_of(&["read", "mapfile", "readarray"]));
        if !splits && assignments.iter().any(|a| a.name == "IFS") {
            self.unresolved(&stage.to_string());
        }
        if arguments.iter().any(may_hold_options) {
            self.unresolved(text);
        }
        wrappers::resolve(self, &words, text, 0);
        for assignment in assignments {
            if assignment.name != "IFS" {
                let value = match &assignment.value {
                    Value::Word(word) => word.literal(),
                    Value::List(_) => None,
                };
                let text = assignment.to_string();
                variables::assign(self, &assignment.name, value.as_deref(), &text);
            }
            match &assignment.value {
                Value::Word(word) => self.text(word),
                Value::List(words) => {
                    self.analysis.arrays.name(&assignment.name);
                    self.texts(words);
                }
            }
        }
        for word in arguments {
            self.pieces(&word.pieces);
        }
    }

    fn texts(&mut self, words: &[plain::Word]) {
        for word in words {
            self.text(word);
        }
    }

    fn text(&mut self, word: &plain::Word) {
        let text = word.literal().unwrap_or_else(|| word.text.clone());
        if !text.is_empty() && self.budget.take(1, text.len()).is_some() {
            self.analysis.texts.push(text);
        }
        self.pieces(&word.pieces);
    }

    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Bare(_) | Piece::Quoted(_) | Piece::Arithmetic(_) => {}
            Piece::Double(inner) => self.pieces(inner),
            Piece::Substitution(script) | Piece::Process { script, .. } => self.script(script),
            Piece::Variable(variable) => {
                let Some((operator, operands)) = &variable.operation else {
                    return;
                };
                if matches!(*operator, ":=" | "=") {
                    let text = variable.to_string();
                    variables::assign(self, &variable.name, None, &text);
                    if variable.subscript.is_some() {
                        self.analysis.arrays.name(&variable.name);
                    }
                }
                self.pieces(operands);
            }
        }
    }
}

fn word_of(word: &plain::Word) -> Word {
    let has_list = has_list(word);
    let has_pattern = |piece: &Piece| match piece {
        Piece::Bare(part) => part.contains(['*', '?']) || part.contains('[') && word.text != "[",
        _ => false,
    };
    let is_expanded = has_list || word.pieces.iter().any(has_pattern);
    // A list in braces, such as `{a,b}`, makes several words, so that no single value is known.
    let value = word.literal().filter(|_| !has_list);
    let known = match &value {
        Some(value) if !is_expanded => value.clone(),
        _ => beginning_of(&word.pieces).0,
    };
    Word {
        value,
        pattern: word.pattern(),
        known,
        behind: option_behind(word),
        written: word.text.clone(),
        is_single: !has_list && word.pieces.iter().all(is_single),
        is_expanded,
        is_input: false,
    }
}

fn beginning_of(pieces: &[Piece]) -> (String, bool) {
    let mut known = String::new();
    for piece in pieces {
        let is_all = match piece {
            Piece::Quoted(text) => {
                known.push_str(text);
                true
            }
            Piece::Bare(text) => {
                let end = text.find(['*', '?', '[', '{']).unwrap_or(text.len());
                known.push_str(&text[..end]);
                end == text.len()
            }
            Piece::Double(inner) => {
                let (beginning, is_all) = beginning_of(inner);
                known.push_str(&beginning);
                is_all
            }
            _ => false,
        };
        if !is_all {
            return (known, false);
        }
    }
    (known, true)
}

/// Returns true if bash can't split this piece of a word into several words. Lists in braces are
/// not considered here, because they can extend over several pieces: `has_list` finds them.
fn is_single(piece: &Piece) -> bool {
    match piece {
        Piece::Bare(text) => !text.contains(['*', '?', '[']) || text == "[",
        Piece::Quoted(_) | Piece::Arithmetic(_) => true,
        // Within double quotes only `$@` and `${name[@]}` make several words.
        Piece::Double(inner) => inner.iter().all(|piece| match piece {
            Piece::Variable(variable) => {
                variable.is_length
                    || variable.name != "@" && variable.subscript.as_deref() != Some("@")
            }
            _ => true,
        }),
        Piece::Variable(variable) => is_number(variable),
        Piece::Substitution(_) | Piece::Process { .. } => false,
    }
}

fn is_number(variable: &Variable) -> bool {
    let is_special = || matches!(variable.name.as_str(), "#" | "?" | "$" | "!");
    variable.operation.is_none() && (variable.is_length || is_special())
}

fn may_hold_options(word: &plain::Word) -> bool {
    let text = shortest(&word.pieces);
    has_list(word) && (text.contains("{-") || text.contains(",-"))
}

fn option_behind(word: &plain::Word) -> String {
    let text = shortest(&word.pieces);
    let may_vanish = ["{,", ",,", ",}"].iter().any(|list| text.contains(list));
    let mut parts = text.split(|c| may_vanish && "{,}".contains(c) && has_list(word));
    let option = parts.find(|part| part.starts_with('-'));
    option.unwrap_or_default().to_owned()
}

/// Returns a word without quotes and without what may be empty: variables and substitutions, but
/// for those that stand for an option if the variable is empty, as in `${x:---y}`.
fn shortest(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Bare(text) | Piece::Quoted(text) => text.clone(),
        Piece::Double(inner) => shortest(inner),
        Piece::Arithmetic(_) => "0".to_owned(),
        Piece::Variable(Variable {
            operation: Some((operator, operands)),
            ..
        }) => {
            let text = shortest(operands);
            let value = match *operator {
                ":" | ":?" | "?" | "#" | "##" | "%" | "%%" => "",
                "/" | "//" => text.split_once('/').unwrap_or_default().1,
                _ => &text,
            };
            let is_option = value.starts_with('-');
            String::from(if is_option { value } else { "" })
        }
        _ => String::new(),
    };
    pieces.iter().map(text).collect()
}

fn has_list(word: &plain::Word) -> bool {
    let bare = |piece: &Piece| match piece {
        Piece::Bare(text) => Some(text.clone()),
        _ => None,
    };
    let text: String = word.pieces.iter().filter_map(bare).collect();
    text.split_once('{')
        .is_some_and(|(_, rest)| rest.contains(',') || rest.contains(".."))
}
