//! A command's words, with placeholders for the arguments of a call.
//!
//! A command is an array of words and lists of words. In a word, `{name}` is replaced by a
//! parameter's value. The word stays a single argument, whatever the value contains, because no
//! shell is involved. If the value is a list, the word yields one argument per item. `{{` and `}}`
//! stand for braces, `{@dir}` for the directory of the tool's file, and `{@root}` for the
//! project's.
//!
//! A word whose parameter is missing is omitted. If the word consists of the parameter only, the
//! flag before it is omitted, too. A nested list is omitted as a whole if any of its parameters is
//! missing. `{?name}` is replaced by nothing, but requires the parameter to be present and not
//! `false`.
//!
//! A value that begins with `-` is rejected where a program would take it for an option. It is
//! allowed after a word `--`, and after other text, as in `--file={name}`.

use super::keys::Element;
use super::program_text::run_argument;
use super::report::{Report, nearest};
use gemini_tools_core::tool::ToolError;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Parameter(String),
    Condition(String),
    Directory,
    Root,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template(Vec<Element<Word>>);

#[derive(Debug, Clone, Copy)]
pub(super) struct Bindings<'a> {
    pub(super) args: &'a Map<String, Value>,
    pub(super) directory: &'a Path,
    pub(super) root: &'a Path,
    /// Set if a value that begins with `-` is rejected where a program could take it for an option.
    pub(super) guards_options: bool,
}

impl Bindings<'_> {
    /// Returns a parameter's values as texts; `None` if it is missing. `may_be_option` is true
    /// where a program would take a text that begins with `-` for an option.
    fn values(&self, name: &str, may_be_option: bool) -> Result<Option<Vec<String>>, ToolError> {
        let (values, is_text) = match self.args.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(list)) if list.is_empty() => return Ok(None),
            Some(Value::Array(list)) => (list.as_slice(), true),
            Some(value) => (std::slice::from_ref(value), value.is_string()),
        };
        let values = values.iter().map(|value| text_of(name, value));
        let values: Vec<String> = values.collect::<Result<_, _>>()?;
        if self.guards_options
            && may_be_option
            && is_text
            && let Some(bad) = values.iter().find(|text| text.starts_with('-'))
        {
            return Err(ToolError::invalid(format!(
                "\"{name}\" must not begin with \"-\", but it is {bad:?}: the program would take it \
                 for an option."
            ))
            .with_hint(
                "Write a path as ./-name. (The tool's author can allow it with an element \"--\" \
                 before it, or \"--option={…}\".)",
            ));
        }
        Ok(Some(values))
    }
}

impl Template {
    pub(super) fn read(
        report: &mut Report<'_>,
        key: &str,
        elements: &[Element<String>],
        parameters: &[String],
    ) -> Option<Self> {
        let mut template = Vec::new();
        for (i, element) in elements.iter().enumerate() {
            let place = format!("{key}[{i}]");
            let mut read = |text: &String| Word::read(report, &place, text, parameters);
            template.push(match element {
                Element::Word(text) => Element::Word(read(text)?),
                Element::Group(words) => {
                    Element::Group(words.iter().map(read).collect::<Option<_>>()?)
                }
            });
        }
        Some(Self(template))
    }

    pub(super) fn check_command(
        &self,
        report: &mut Report<'_>,
        key: &str,
        properties: &Value,
    ) -> Option<()> {
        match self.0.first() {
            Some(Element::Word(word)) if word.is_fixed() && !word.0.is_empty() => {}
            Some(_) => {
                let message = "The program must be fixed: a model must not choose what is run.";
                report.fault(&format!("{key}[0]"), message);
                return None;
            }
            None => {
                report.fault(key, "It is empty; its first word is the program.");
                return None;
            }
        }
        let is_free = |name: &str| !is_closed(&properties[name]);
        // Check the command both with all optional groups and without them.
        let shape = |has_groups: bool| {
            let elements = self.0.iter().enumerate();
            elements
                .filter(|(_, element)| match element {
                    Element::Word(_) => true,
                    Element::Group(words) => has_groups || words.iter().all(Word::is_fixed),
                })
                .flat_map(|(i, element)| element.words().iter().map(move |word| (i, word)))
                .collect()
        };
        let mut shapes = [true, false].into_iter().map(shape);
        let Some(i) = shapes.find_map(|shape| run_argument(&shape, is_free)) else {
            return Some(());
        };
        report.fault(
            &format!("{key}[{i}]"),
            "A parameter would become a program, or part of a program's text, where it could run \
             anything. Give it as an argument behind a program that is fixed, use \"script\" with \
             \"args\", or let it be only a number or one of an \"enum\".",
        );
        None
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(Element::words).flat_map(|word| {
            word.0.iter().filter_map(|piece| match piece {
                Piece::Parameter(name) | Piece::Condition(name) => Some(name.as_str()),
                _ => None,
            })
        })
    }

    pub(super) fn fill(&self, filling: Bindings<'_>) -> Result<Vec<OsString>, ToolError> {
        let mut out: Vec<OsString> = Vec::new();
        let mut options_over = false;
        // True if the last element may be a flag whose value is the next element.
        let mut last_is_flag = false;
        for element in &self.0 {
            match element {
                Element::Word(word) => {
                    let words = word.fill(filling, options_over)?;
                    // Only a `--` that the tool's author has written ends the options. A word with
                    // a parameter may become `--` as well, but then the model has chosen that.
                    let is_end = !word.has_parameter()
                        && words.as_deref().is_some_and(|words| words == ["--"]);
                    options_over |= is_end;
                    let is_parameter = matches!(word.0.as_slice(), [Piece::Parameter(_)]);
                    if words.is_none() && last_is_flag && is_parameter {
                        out.pop();
                    }
                    last_is_flag = words.is_some() && word.is_flag();
                    out.extend(words.into_iter().flatten());
                }
                Element::Group(group) => {
                    last_is_flag = false;
                    let words = group.iter().map(|word| word.fill(filling, options_over));
                    let words: Vec<Option<Vec<_>>> = words.collect::<Result<_, _>>()?;
                    if words.iter().all(Option::is_some) {
                        out.extend(words.into_iter().flatten().flatten());
                    }
                }
            }
        }
        Ok(out)
    }
}

impl Element<Word> {
    fn words(&self) -> &[Word] {
        match self {
            Element::Word(word) => std::slice::from_ref(word),
            Element::Group(words) => words,
        }
    }
}

impl Word {
    fn read(
        report: &mut Report<'_>,
        place: &str,
        text: &str,
        parameters: &[String],
    ) -> Option<Self> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '{' | '}' if chars.peek() == Some(&c) => {
                    chars.next();
                    plain.push(c);
                }
                '{' => {
                    let mut name = String::new();
                    let is_closed = chars.by_ref().any(|c| {
                        if c != '}' {
                            name.push(c);
                        }
                        c == '}'
                    });
                    if !is_closed {
                        report.fault(place, "A brace is not closed; for a brace itself write {{.");
                        return None;
                    }
                    let piece = Self::piece(report, place, &name, parameters)?;
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(piece);
                }
                '}' => {
                    let message =
                        "A closing brace has no opening one; for a brace itself write }}.";
                    report.fault(place, message);
                    return None;
                }
                '\0' => {
                    let message = "It holds a NUL character, which no argument can hold.";
                    report.fault(place, message);
                    return None;
                }
                c => plain.push(c),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Some(Self(pieces))
    }

    fn piece(
        report: &mut Report<'_>,
        place: &str,
        name: &str,
        parameters: &[String],
    ) -> Option<Piece> {
        match name {
            "@dir" => return Some(Piece::Directory),
            "@root" => return Some(Piece::Root),
            _ => {}
        }
        let (kind, bare): (fn(String) -> Piece, _) = match name.strip_prefix('?') {
            Some(bare) => (Piece::Condition, bare),
            None => (Piece::Parameter, name),
        };
        if !parameters.iter().any(|p| p == bare) {
            let nearest = nearest(bare, parameters.iter().map(String::as_str));
            let message = format!(
                "There is no parameter {bare:?}.{nearest} Declare it under [params], or write {{{{ \
                 for a brace itself."
            );
            report.fault(place, message);
            return None;
        }
        Some(kind(bare.to_owned()))
    }

    fn is_fixed(&self) -> bool {
        let is_fixed = |p: &Piece| !matches!(p, Piece::Parameter(_) | Piece::Condition(_));
        self.0.iter().all(is_fixed)
    }

    fn has_parameter(&self) -> bool {
        self.0.iter().any(|p| matches!(p, Piece::Parameter(_)))
    }

    fn is_flag(&self) -> bool {
        let text = self.text();
        self.is_fixed()
            && text.starts_with('-')
            && text != "-"
            && text != "--"
            && !text.contains('=')
    }

    /// Formats the word for a shell, for analysis. Each parameter whose text the model can choose
    /// becomes `value`.
    pub(super) fn in_shell(&self, is_free: impl Fn(&str) -> bool, value: &str) -> String {
        let quoted = |text: &str| {
            let quoted = shlex::try_quote(text).unwrap_or_default();
            quoted.into_owned()
        };
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => quoted(text),
            Piece::Parameter(name) if is_free(name) => value.to_owned(),
            Piece::Parameter(_) => "1".to_owned(),
            Piece::Condition(_) => String::new(),
            Piece::Directory | Piece::Root => "/d".to_owned(),
        });
        if self.0.is_empty() {
            return quoted("");
        }
        pieces.collect()
    }

    fn text(&self) -> String {
        let text = |p: &Piece| match p {
            Piece::Text(text) => text.clone(),
            _ => String::new(),
        };
        self.0.iter().map(text).collect()
    }

    fn fill(
        &self,
        filling: Bindings<'_>,
        options_over: bool,
    ) -> Result<Option<Vec<OsString>>, ToolError> {
        let mut words = vec![OsString::new()];
        let mut is_condition_only = !self.0.is_empty();
        for piece in &self.0 {
            is_condition_only &= matches!(piece, Piece::Condition(_));
            match piece {
                Piece::Text(text) => words.iter_mut().for_each(|word| word.push(text)),
                Piece::Directory => words
                    .iter_mut()
                    .for_each(|word| word.push(filling.directory)),
                Piece::Root => words.iter_mut().for_each(|word| word.push(filling.root)),
                Piece::Condition(name) => match filling.args.get(name) {
                    None | Some(Value::Null | Value::Bool(false)) => return Ok(None),
                    Some(_) => {}
                },
                Piece::Parameter(name) => {
                    // The value is at the start of the argument even if something precedes it that
                    // yields nothing, such as `{?flag}` or another parameter with an empty value.
                    let is_start = words.iter().any(|word| word.is_empty());
                    let Some(values) = filling.values(name, is_start && !options_over)? else {
                        return Ok(None);
                    };
                    words = words
                        .iter()
                        .flat_map(|word| {
                            values.iter().map(|value| {
                                let mut word = word.clone();
                                word.push(value);
                                word
                            })
                        })
                        .collect();
                }
            }
        }
        if is_condition_only {
            words.clear();
        }
        Ok(Some(words))
    }
}

pub(super) fn text_of(name: &str, value: &Value) -> Result<String, ToolError> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains('\0') {
        return Err(ToolError::invalid(format!(
            "\"{name}\" holds a NUL character, which no argument of a program can hold."
        )));
    }
    Ok(text)
}

/// Returns true if the values of a parameter are numbers, booleans or from a fixed list, so that
/// the model can't choose a text.
fn is_closed(schema: &Value) -> bool {
    match schema["type"].as_str() {
        _ if schema["enum"].is_array() || !schema["const"].is_null() => true,
        Some("integer" | "number" | "boolean") => true,
        Some("array") => is_closed(&schema["items"]),
        _ => false,
    }
}
