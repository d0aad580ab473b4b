//! A command as a vector of arguments with places for the arguments of a call.
//!
//! `{name}` stands for a parameter; in one element it stays one argument, whatever it holds: no
//! shell ever sees it. A list in a place gives an argument for each of its elements. `{{` and
//! `}}` are braces. `{@dir}` is the directory of the tool's file, `{@root}` the project's.
//!
//! An element whose parameter is missing is left out, and with an element that is nothing but
//! the parameter the flag before it. A list in the command is left out as a whole if one of its
//! parameters is missing; `{?name}` in one stands for nothing, but wants the
//! parameter to be there and not to be `false`.
//!
//! A text that begins with `-` is not let into a place where a program would take it for one
//! of its options: it may be after an element that is `--`, or behind other text as in
//! `--file={name}`.

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

/// The arguments and paths that places are filled with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bindings<'a> {
    pub(super) args: &'a Map<String, Value>,
    pub(super) directory: &'a Path,
    pub(super) root: &'a Path,
    /// True if a text that begins with `-` is refused where it could be an option.
    pub(super) guards_options: bool,
}

impl Bindings<'_> {
    /// Returns the texts of a parameter's values; `None` if it is missing. `may_be_option` is true
    /// at a place where a program takes a text that begins with `-` for an option.
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

    /// Checks that a command's program is fixed, and that no argument of a call is run by it;
    /// `properties` are the schemas of the parameters.
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
        // With the groups, and without those that may be left out.
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

    /// Puts the arguments of a call in their places.
    pub(super) fn fill(&self, filling: Bindings<'_>) -> Result<Vec<OsString>, ToolError> {
        let mut out: Vec<OsString> = Vec::new();
        let mut options_over = false;
        // True if the last element may be a flag that the next one is the value of.
        let mut last_is_flag = false;
        for element in &self.0 {
            match element {
                Element::Word(word) => {
                    let words = word.fill(filling, options_over)?;
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
            options_over |= matches!(element, Element::Word(word) if word.text() == "--");
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

    /// Returns true if it looks like an option whose value comes next.
    fn is_flag(&self) -> bool {
        let text = self.text();
        self.is_fixed()
            && text.starts_with('-')
            && text != "-"
            && text != "--"
            && !text.contains('=')
    }

    /// Returns the word as a shell would have it, with `value` for each free argument and some
    /// text for all else that a call fills in.
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

    /// Returns the arguments that it becomes; `None` if a parameter is missing.
    fn fill(
        &self,
        filling: Bindings<'_>,
        options_over: bool,
    ) -> Result<Option<Vec<OsString>>, ToolError> {
        let mut words = vec![OsString::new()];
        let mut is_condition_only = !self.0.is_empty();
        for (at, piece) in self.0.iter().enumerate() {
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
                    let Some(values) = filling.values(name, at == 0 && !options_over)? else {
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

/// Returns true if a parameter's values are numbers, booleans or from a fixed list.
fn is_closed(schema: &Value) -> bool {
    match schema["type"].as_str() {
        _ if schema["enum"].is_array() || !schema["const"].is_null() => true,
        Some("integer" | "number" | "boolean") => true,
        Some("array") => is_closed(&schema["items"]),
        _ => false,
    }
}
