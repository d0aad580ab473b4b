//! Arguments as a person types them on a command line: `KEY=VALUE`, `KEY=@FILE`, `KEY:=JSON`, and a
//! value without a key. The schema decides the type of a value that is not JSON.

use super::convert::{from_text, kinds};
use super::help::{quoted, sample};
use super::usage::{Names, required};
use super::{Args, Schema, Tool, ToolError};
use crate::json;
use crate::text::{excerpt, line_name, path_from_argument};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAX_SHOWN_CHARS: usize = 200;

/// A function that reads a file named on a command line. It gets the word that names it, such as
/// `content=@draft.txt`, and the path after the `@`; `-` is standard input.
pub type ReadNamed<'a> = &'a dyn Fn(&str, &Path) -> Result<String, ToolError>;

/// Returns the arguments that the words of a command line give to `tool`.
///
/// - `KEY=VALUE` takes the type of the parameter: JSON such as a number, a boolean, `null` or an
///   object if its schema allows no string, one item or a JSON list of items if it wants an array,
///   and otherwise the string.
/// - `KEY=@FILE` takes the content of a file as such a value, `KEY=@-` that of standard input;
///   `KEY=@@VALUE` is a value that begins with one `@`.
/// - `KEY:=JSON` is JSON, and `KEY:=@FILE` a file of JSON.
/// - A bare value, taken as it is, is that of the [`obvious_parameter`], such as the only required
///   one. A word without `=` is a bare value, and so is one whose text before its first `=` can't
///   be a name.
///
/// `KEY=` repeated gives an array several items. A word that is not UTF-8 can only name a file: after
/// `@`, or as the value of a parameter in [`super::Usage::paths`].
///
/// # Errors
///
/// Returns `invalid_tool_params` if a word belongs to no parameter, does not fit its parameter, is
/// given twice or names an argument that the tool doesn't have, and the error of `read` if a file
/// can't be read.
pub fn from_words(
    tool: &dyn Tool,
    words: &[OsString],
    read: ReadNamed<'_>,
) -> Result<Value, ToolError> {
    let words: Vec<Typed<'_>> = words.iter().map(|word| Typed::new(word)).collect();
    let names = Names::new(tool);
    let mut typed = TypedArguments {
        tool,
        names: &names,
        args: Map::new(),
        lists: Vec::new(),
    };
    let mut bare = Vec::new();
    for word in &words {
        match split(&names, &word.text) {
            Word::Bare => bare.push(word),
            Word::Json(key, text) => {
                let file = text.strip_prefix('@');
                let content = typed.content(word, key, file, read)?;
                let value = typed.json(key, text, content.as_deref())?;
                typed.insert(key, value)?;
            }
            Word::Text(key, text) => {
                let rest = text.strip_prefix('@');
                let file = rest.filter(|rest| !rest.starts_with('@'));
                let content = typed.content(word, key, file, read).map_err(|e| {
                    let (meant, typed) = (quoted(text), quoted(&format!("@{text}")));
                    match file {
                        Some(_) => e.with_hint(format!(
                            "For the text {meant} itself, write {key}={typed}."
                        )),
                        None => e,
                    }
                })?;
                typed.give(key, content.as_deref().or(rest).unwrap_or(text))?;
            }
        }
    }
    if !bare.is_empty() {
        typed.place(&bare)?;
    }
    let args = Args::from_map(typed.args);
    refuse_misread(tool, &names, &words, &args)?;
    refuse_unknown(tool, &args)?;
    Ok(args.into_value())
}

struct Typed<'a> {
    text: Cow<'a, str>,
    /// Set if the word is not UTF-8. Its text then has escapes, as paths take them.
    is_escaped: bool,
}

impl<'a> Typed<'a> {
    fn new(word: &'a OsStr) -> Self {
        let text = word.to_str();
        Self {
            text: text.map_or_else(|| line_name(word.as_bytes()), Cow::from),
            is_escaped: text.is_none(),
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        if self.is_escaped {
            path_from_argument(file)
        } else {
            file.into()
        }
    }
}

enum Word<'a> {
    Text(&'a str, &'a str),
    Json(&'a str, &'a str),
    Bare,
}

fn split<'a>(names: &Names<'_>, word: &'a str) -> Word<'a> {
    let Some((before, value)) = word.split_once('=') else {
        return Word::Bare;
    };
    let json_key = before
        .strip_suffix(':')
        .filter(|key| !names.knows(&format!("{key}:")));
    let key = json_key.unwrap_or(before);
    if !names.knows(key) && !could_be_name(key) {
        return Word::Bare;
    }
    if json_key.is_some() {
        Word::Json(key, value)
    } else {
        Word::Text(key, value)
    }
}

fn could_be_name(key: &str) -> bool {
    let mut chars = key.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

struct TypedArguments<'a> {
    tool: &'a dyn Tool,
    names: &'a Names<'a>,
    args: Map<String, Value>,
    lists: Vec<String>,
}

impl TypedArguments<'_> {
    fn content(
        &self,
        word: &Typed<'_>,
        key: &str,
        file: Option<&str>,
        read: ReadNamed<'_>,
    ) -> Result<Option<String>, ToolError> {
        match file {
            Some(file) => read(&word.text, &word.path(file)).map(Some),
            None => self.check_value(word, key).map(|()| None),
        }
    }

    /// Refuses a value that is not UTF-8, unless it is a path, which takes its escapes.
    fn check_value(&self, word: &Typed<'_>, key: &str) -> Result<(), ToolError> {
        if !word.is_escaped || self.tool.usage().paths.contains(&self.names.own(key)) {
            return Ok(());
        }
        let shown = excerpt(&word.text, MAX_SHOWN_CHARS);
        let message = format!("{key} takes text in UTF-8, not \"{shown}\".");
        Err(ToolError::invalid(message).with_hint("Only paths may have other bytes."))
    }

    fn json(&self, key: &str, text: &str, content: Option<&str>) -> Result<Value, ToolError> {
        let json = content.unwrap_or(text);
        json::read(json.as_bytes()).map_err(|e| {
            let schema = self.names.schema(key).unwrap_or_default();
            let hint = match from_text(&schema, text) {
                Some(_) => format!("Without the colon it is: {key}={}.", quoted(text)),
                None => example(key, &schema),
            };
            let message = format!("The value of {key:?} is not valid JSON: {e}.");
            ToolError::invalid(message).with_hint(hint)
        })
    }

    fn give(&mut self, key: &str, text: &str) -> Result<(), ToolError> {
        let schema = self.names.schema(key).unwrap_or_default();
        let value = from_text(&schema, text).ok_or_else(|| {
            let kinds = kinds(&schema).unwrap_or_default().join(" or ");
            let message = format!("{key} takes a value of the type {kinds}, not {text:?}.");
            ToolError::invalid(message).with_hint(example(key, &schema))
        })?;
        let Value::Array(mut items) = value else {
            return self.insert(key, value);
        };
        if self.lists.iter().any(|list| list == key)
            && let Some(Value::Array(list)) = self.args.get_mut(key)
        {
            list.append(&mut items);
            return Ok(());
        }
        self.insert(key, items.into())?;
        self.lists.push(key.to_owned());
        Ok(())
    }

    fn insert(&mut self, key: &str, value: Value) -> Result<(), ToolError> {
        if self.args.insert(key.to_owned(), value).is_some() {
            let message = format!("{key} is given twice.");
            return Err(ToolError::invalid(message).with_hint("Give it once."));
        }
        Ok(())
    }

    fn place(&mut self, bare: &[&Typed<'_>]) -> Result<(), ToolError> {
        let own = self.tool.name();
        let names = self.names;
        let first = bare.first().map_or("", |word| &word.text);
        if names.spellings().next().is_none() && names.declared.is_some() {
            return Err(ToolError::invalid(format!(
                "{own} takes no arguments, but {first:?} is given."
            )));
        }
        let Some((name, _)) = obvious_parameter(self.tool.parameters()) else {
            return Err(ToolError::invalid(format!(
                "{first:?} is not an argument of the form KEY=VALUE, and {own} has no single \
                 parameter that it could be for."
            ))
            .with_hint(names.list()));
        };
        let mut given = self.args.keys();
        if let Some(given) = given.find(|given| names.own(given) == name) {
            return Err(ToolError::invalid(format!(
                "Unexpected {first:?}: the {name} of {own} is given as {given}= already."
            ))
            .with_hint(format!(
                "Write other arguments as KEY=VALUE. {}",
                names.list()
            )));
        }
        for word in bare {
            if self.args.contains_key(name) && !self.lists.iter().any(|list| list == name) {
                return Err(self.unexpected(&word.text, name));
            }
            self.check_value(word, name)?;
            self.give(name, &word.text)?;
        }
        Ok(())
    }

    /// Returns the error for a second value without a key. It may suggest `path=`, because those
    /// who are used to `grep` and `rg` type a path after the pattern.
    fn unexpected(&self, value: &str, name: &str) -> ToolError {
        let own = self.tool.name();
        let message = format!("Unexpected {value:?}: {own} takes one bare value, its {name}.");
        let takes_path = self.names.knows("path") && self.names.own("path") != name;
        let hint = if takes_path {
            format!("Did you mean path={}?", quoted(value))
        } else {
            "Write other arguments as KEY=VALUE.".to_owned()
        };
        let list = self.names.list();
        let hint = format!("{hint} Quote a value of several words. {list}");
        ToolError::invalid(message).with_hint(hint)
    }
}

fn example(key: &str, schema: &Value) -> String {
    match sample(schema) {
        Value::String(text) => format!("Write {key}={}.", quoted(&text)),
        Value::Bool(_) => format!("Write {key}=true or {key}=false."),
        value @ Value::Number(_) => format!("Write a number, such as {key}={value}."),
        value => {
            let value = quoted(&value.to_string());
            format!("Write JSON, such as {key}:={value}.")
        }
    }
}

/// Refuses a word such as `a=b` if the tool has no argument `a` and the whole word may be meant as
/// the value of the [`obvious_parameter`]. Shows how to type both.
fn refuse_misread(
    tool: &dyn Tool,
    names: &Names<'_>,
    words: &[Typed<'_>],
    args: &Args,
) -> Result<(), ToolError> {
    let map = args.as_map();
    let unknown = names.unknown(map);
    let [unknown] = unknown.as_slice() else {
        return Ok(());
    };
    let Some((name, _)) = obvious_parameter(tool.parameters()) else {
        return Ok(());
    };
    let is_given = map.keys().any(|key| names.own(key) == name);
    let read_as = |word: &&str| matches!(split(names, word), Word::Text(key, _) if key == *unknown);
    let mut words = words.iter().map(|word| &*word.text);
    let Some(word) = words.find(read_as).filter(|_| !is_given) else {
        return Ok(());
    };
    if names.near(unknown, map).is_some() {
        return Ok(());
    }
    let value = &word[unknown.len() + 1..];
    Err(ToolError::invalid(format!(
        "The tool {} has no argument {unknown:?}.",
        tool.name()
    ))
    .with_hint(format!(
        "Did you mean {name}={}, or {name}={} for all of it?",
        quoted(value),
        quoted(word)
    )))
}

impl<'a> Names<'a> {
    fn schema(&self, name: &str) -> Option<Cow<'a, Value>> {
        let own = self.own(name);
        let declared = self.tool.parameters().value()["properties"].get(own);
        declared.map(Cow::Borrowed).or_else(|| {
            let mut undeclared = self.tool.usage().undeclared.iter();
            let more = undeclared.find(|more| more.name == own)?;
            Some(Cow::Owned(json!({ "type": more.kind })))
        })
    }

    fn list(&self) -> String {
        let required = required(self.tool.parameters());
        let others = self.spellings().map(|(_, own)| own);
        let mut names: Vec<&str> = required.into_iter().chain(others).collect();
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        match names.as_slice() {
            [] => "It takes no arguments.".to_owned(),
            [one] => format!("It takes {one} only."),
            all => format!("It takes {}.", all.join(", ")),
        }
    }
}

/// Refuses arguments that the tool would ignore, and suggests those that may be meant.
///
/// # Errors
///
/// Returns `invalid_tool_params`, naming the unknown arguments.
pub fn refuse_unknown(tool: &dyn Tool, args: &Args) -> Result<(), ToolError> {
    let names = Names::new(tool);
    let args = args.as_map();
    let unknown = names.unknown(args);
    if unknown.is_empty() {
        return Ok(());
    }
    let hints = unknown.iter().filter_map(|name| {
        let meant = names.suggestion(name, args)?;
        Some(match unknown.as_slice() {
            [_] => format!("Did you mean {meant}?"),
            _ => format!("Did you mean {meant} by \"{name}\"?"),
        })
    });
    let hints: Vec<String> = hints.collect();
    let hint = if hints.is_empty() {
        names.list()
    } else {
        hints.join(" ")
    };
    Err(ToolError::invalid(format!(
        "The tool {} has no argument \"{}\".",
        tool.name(),
        unknown.join("\" or \"")
    ))
    .with_hint(hint))
}

/// Returns the parameter that a value without a name is meant for, with its schema: the only
/// required parameter, or else the only one. Returns `None` if there is no such one, or if it takes
/// objects or lists of them.
pub fn obvious_parameter(schema: &Schema) -> Option<(&str, &Value)> {
    let properties = schema.value()["properties"].as_object()?;
    let name = match required(schema).as_slice() {
        [one] => *one,
        [] if properties.len() == 1 => properties.keys().next()?,
        _ => return None,
    };
    let (name, property) = properties.get_key_value(name)?;
    let is_object = property["type"] == "object" || property["properties"].is_object();
    let holds_others =
        property["items"]["type"] == "object" || property["items"]["type"] == "array";
    (!is_object && !holds_others).then_some((name, property))
}

#[cfg(test)]
mod tests;
