//! How people give a tool its arguments: the names that it knows, a value without a name, and
//! what was meant by a name that it does not know.
//!
//! A program gives one JSON object, and what the tool does not know of it is ignored: a model's
//! call should not fail because of an argument too many. A person types, so that a name that is
//! not known is a slip, and [`from_words`] refuses it with the nearest name.

use super::{Args, ErrorKind, Schema, Tool, ToolError};
use crate::json::parse_json;
use crate::registry::nearest;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::Path;

/// What a tool takes besides the parameters of its schema, and what helps to use it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage<'a> {
    /// Other names of arguments, and what they are called in the schema.
    pub renamed: &'a [(&'a str, &'a str)],
    /// Arguments that are understood but not declared.
    pub undeclared: &'a [Undeclared],
    /// Lines of shell that call it; where there are none they are made of the schema.
    pub examples: &'a [&'a str],
    /// The tool's own errors, and when it gives each, in markdown.
    pub errors: &'a [(ErrorKind, &'a str)],
    /// The file that makes the tool, of a user or a project.
    pub file: Option<&'a Path>,
}

/// An argument that is understood but not declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undeclared {
    /// The name.
    pub name: &'static str,
    /// The type, in the words of JSON Schema.
    pub kind: &'static str,
    /// What it means, in markdown.
    pub meaning: &'static str,
}

/// The names that a tool knows, each with the one to write.
struct Names<'a> {
    tool: &'a dyn Tool,
    /// The names of the schema; `None` where the tool takes any.
    declared: Option<Vec<&'a str>>,
}

impl<'a> Names<'a> {
    fn of(tool: &'a dyn Tool) -> Self {
        let mut declared = Vec::new();
        let is_closed = collect(tool.parameters().whole(), &mut declared);
        Self {
            tool,
            declared: (is_closed && !declared.is_empty() || takes_none(tool.parameters()))
                .then_some(declared),
        }
    }

    /// All names, with the one to write.
    fn spellings(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let usage = self.tool.usage();
        let declared = self.declared.clone().unwrap_or_default();
        let declared = declared.into_iter().map(|name| (name, name));
        let renamed = usage.renamed.iter().copied();
        let more = usage.undeclared.iter().map(|more| (more.name, more.name));
        declared.chain(renamed).chain(more)
    }

    fn knows(&self, name: &str) -> bool {
        self.spellings().any(|(known, _)| known == name)
    }

    /// Which of the arguments the tool would ignore.
    fn unknown<'n>(&self, args: &'n Map<String, Value>) -> Vec<&'n str> {
        if self.declared.is_none() {
            return Vec::new();
        }
        let keys = args.keys().map(String::as_str);
        keys.filter(|key| !Args::is_of_host(key) && !self.knows(key))
            .collect()
    }

    /// What is required and was not given, under any name.
    fn missing(&self, args: &Map<String, Value>) -> Vec<&'a str> {
        let is_given = |name: &&str| {
            let mut spellings = self.spellings().filter(|(_, own)| own == name);
            spellings.any(|(spelling, _)| args.contains_key(spelling))
        };
        let mut required = required(self.tool.parameters());
        required.retain(|name| !is_given(name));
        required
    }

    /// What was probably meant by a name that is not known: a near one, or the only one that is
    /// missing where nothing else is odd.
    fn meant(&self, name: &str, args: &Map<String, Value>) -> Option<&'a str> {
        let missing = self.missing(args);
        let near = nearest(name, self.spellings());
        let near_and_missing = near.iter().find(|near| missing.contains(near));
        let only_one = || match (missing.as_slice(), self.unknown(args).len()) {
            ([one], 1) => Some(one),
            _ => None,
        };
        near_and_missing
            .or_else(|| near.iter().find(|near| !args.contains_key(**near)))
            .or_else(only_one)
            .copied()
    }

    /// All that can be written, for a hint.
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

/// Collects the names that an object may have; `false` where it may have others.
fn collect<'s>(schema: &'s Value, names: &mut Vec<&'s str>) -> bool {
    let Some(map) = schema.as_object() else {
        return true;
    };
    let is_open = |key: &str| match map.get(key) {
        Some(Value::Bool(any)) => *any,
        Some(Value::Object(_)) => true,
        _ => false,
    };
    let mut is_closed = !map.contains_key("$ref")
        && [
            "additionalProperties",
            "unevaluatedProperties",
            "patternProperties",
        ]
        .iter()
        .all(|key| !is_open(key));
    let properties = map.get("properties").and_then(Value::as_object);
    for name in properties.into_iter().flat_map(Map::keys) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let parts = map.get(key).and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            is_closed &= collect(part, names);
        }
    }
    for key in ["if", "then", "else"] {
        is_closed &= map.get(key).is_none_or(|part| collect(part, names));
    }
    let dependent = map.get("dependentSchemas").and_then(Value::as_object);
    for part in dependent.into_iter().flat_map(Map::values) {
        is_closed &= collect(part, names);
    }
    is_closed
}

/// Whether a schema says that there are no parameters, instead of nothing about them.
fn takes_none(schema: &Schema) -> bool {
    let schema = schema.whole();
    let has_none = |map: &Map<String, Value>| map.is_empty();
    schema["properties"].as_object().is_some_and(has_none) && collect(schema, &mut Vec::new())
}

/// The names of required arguments.
fn required(schema: &Schema) -> Vec<&str> {
    let list = schema.value()["required"].as_array();
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The arguments of a call that the tool would ignore, where it does not take any.
pub fn unknown_arguments(tool: &dyn Tool, args: &Args) -> Vec<String> {
    let unknown = Names::of(tool).unknown(args.as_map()).into_iter();
    unknown.map(str::to_owned).collect()
}

/// Refuses arguments that the tool would ignore, and says what may have been meant.
///
/// # Errors
///
/// `invalid_tool_params`, naming them.
pub fn refuse_unknown(tool: &dyn Tool, args: &Args) -> Result<(), ToolError> {
    let names = Names::of(tool);
    let args = args.as_map();
    let unknown = names.unknown(args);
    let own = tool.name();
    let hints: Vec<String> = match unknown.as_slice() {
        [] => return Ok(()),
        [one] => {
            let meant = names.meant(one, args);
            meant
                .map(|meant| format!("Did you mean {meant}?"))
                .into_iter()
                .collect()
        }
        several => {
            let meant = several
                .iter()
                .filter_map(|name| Some((name, names.meant(name, args)?)));
            meant
                .map(|(name, meant)| format!("Did you mean {meant} by \"{name}\"?"))
                .collect()
        }
    };
    let hint = if hints.is_empty() {
        names.list()
    } else {
        hints.join(" ")
    };
    Err(ToolError::invalid(format!(
        "The tool {own} has no argument \"{}\".",
        unknown.join("\" or \"")
    ))
    .with_hint(hint))
}

/// What to say besides of a call that lacks a required argument and has one that the tool does
/// not know.
pub(super) fn misnamed(tool: &dyn Tool, args: &Args) -> Option<String> {
    let args = args.as_map();
    let names = Names::of(tool);
    let missing = names.missing(args);
    if missing.is_empty() {
        return None;
    }
    let meant = names.unknown(args).into_iter().find_map(|name| {
        let meant = names.meant(name, args)?;
        missing.contains(&meant).then_some((name, meant))
    });
    let (name, meant) = meant?;
    Some(format!(
        "The tool {} has no argument \"{name}\": did you mean {meant}?",
        tool.name()
    ))
}

/// Adds to an error about arguments what [`misnamed`] has said before.
pub(super) fn with_misnamed(mut error: ToolError, misnamed: Option<String>) -> ToolError {
    if let Some(misnamed) = misnamed
        && error.kind == ErrorKind::InvalidToolParams
    {
        error.hint = Some(match error.hint.take() {
            Some(hint) => format!("{hint} {misnamed}"),
            None => misnamed,
        });
    }
    error
}

/// The parameter that a value without a name is for, and its schema: the only required one, or
/// the only one there is.
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

/// One word of a command line.
enum Word<'a> {
    Named(&'a str, Value),
    /// A value without a name.
    Bare(&'a str),
}

/// Arguments as a person types them: `KEY=VALUE` is a string, `KEY:=JSON` anything else, and a
/// value without a name is for the [`obvious_parameter`]. A word is such a value where nothing is
/// before its `=` that could be a name.
///
/// # Errors
///
/// `invalid_tool_params` where a word can't be used, or names an argument that the tool does not
/// have.
pub fn from_words(tool: &dyn Tool, words: &[String]) -> Result<Value, ToolError> {
    let names = Names::of(tool);
    let mut args = Map::new();
    let mut bare = Vec::new();
    for word in words {
        match read_word(&names, word)? {
            Word::Named(key, value) => {
                args.insert(key.to_owned(), value);
            }
            Word::Bare(value) => bare.push(value),
        }
    }
    if !bare.is_empty() {
        place(tool, &names, &bare, &mut args)?;
    } else if let Some(hint) = whole_word(tool, &names, words, &args) {
        refuse_unknown(tool, &Args::from_map(args.clone())).map_err(|e| {
            let said = e.hint.clone().unwrap_or_default();
            e.with_hint(format!("{said} {hint}"))
        })?;
    }
    let args = Args::from_map(args);
    refuse_unknown(tool, &args)?;
    Ok(args.into_value())
}

fn read_word<'a>(names: &Names<'_>, word: &'a str) -> Result<Word<'a>, ToolError> {
    let Some((before, value)) = word.split_once('=') else {
        return Ok(Word::Bare(word));
    };
    let json_key = before
        .strip_suffix(':')
        .filter(|key| !names.knows(&format!("{key}:")));
    let key = json_key.unwrap_or(before);
    if !names.knows(key) && !could_be_name(key) {
        return Ok(Word::Bare(word));
    }
    let value = match json_key {
        Some(key) => parse_json(value.as_bytes()).map_err(|e| {
            ToolError::invalid(format!("The value of {key:?} is not valid JSON: {e}."))
                .with_hint("Use KEY=VALUE for a string.")
        })?,
        None => Value::from(value),
    };
    Ok(Word::Named(key, value))
}

fn could_be_name(key: &str) -> bool {
    let mut chars = key.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Gives values without a name to the parameter that they are for.
fn place(
    tool: &dyn Tool,
    names: &Names<'_>,
    bare: &[&str],
    args: &mut Map<String, Value>,
) -> Result<(), ToolError> {
    let own = tool.name();
    let first = bare.first().copied().unwrap_or_default();
    if names.spellings().next().is_none() && names.declared.is_some() {
        return Err(ToolError::invalid(format!(
            "{own} takes no arguments, but {first:?} is given."
        )));
    }
    let Some((name, property)) = obvious_parameter(tool.parameters()) else {
        return Err(ToolError::invalid(format!(
            "{first:?} is not an argument of the form KEY=VALUE, and {own} has no single \
             parameter that it could be for."
        ))
        .with_hint(names.list()));
    };
    let mut given = names
        .spellings()
        .filter(|(_, to)| *to == name)
        .map(|(from, _)| from);
    if let Some(given) = given.find(|given| args.contains_key(*given)) {
        return Err(ToolError::invalid(format!(
            "{first:?} would be the {name} of {own}, which is given as {given}= already."
        ))
        .with_hint(format!(
            "Write other arguments as KEY=VALUE. {}",
            names.list()
        )));
    }
    let has_type = |wanted: &str| match &property["type"] {
        Value::String(one) => one == wanted,
        Value::Array(several) => several.iter().any(|one| one == wanted),
        _ => false,
    };
    if has_type("array") && !has_type("string") {
        let values: Result<Vec<Value>, _> = bare
            .iter()
            .map(|word| typed(own, name, &property["items"], word))
            .collect();
        args.insert(name.to_owned(), values?.into());
        return Ok(());
    }
    if let [_, second, ..] = bare {
        return Err(ToolError::invalid(format!(
            "{own} takes one value without a name, its {name}, but {second:?} is another."
        ))
        .with_hint(format!(
            "Quote a value of several words, and write other arguments as KEY=VALUE. {}",
            names.list()
        )));
    }
    args.insert(name.to_owned(), typed(own, name, property, first)?);
    Ok(())
}

/// A value without a name in the type of its parameter.
fn typed(tool: &str, name: &str, schema: &Value, word: &str) -> Result<Value, ToolError> {
    let kind = schema["type"].as_str().unwrap_or("string");
    if !matches!(kind, "integer" | "number" | "boolean") {
        return Ok(word.into());
    }
    let value = parse_json(word.as_bytes()).ok();
    let value = value.filter(|value| value.is_number() || value.is_boolean());
    value.ok_or_else(|| {
        ToolError::invalid(format!(
            "{word:?} would be the {name} of {tool}, which is a {kind}."
        ))
    })
}

/// A word such as `CC=gcc make` that was meant as a whole, and was read as an argument.
fn whole_word(
    tool: &dyn Tool,
    names: &Names<'_>,
    words: &[String],
    args: &Map<String, Value>,
) -> Option<String> {
    let [word] = words else {
        return None;
    };
    if !word.contains(char::is_whitespace) {
        return None;
    }
    let (name, _) = obvious_parameter(tool.parameters())?;
    if names.unknown(args).is_empty() {
        return None;
    }
    let quoted = word.replace('\'', "'\\''");
    Some(format!(
        "To give all of it as the {name}, write {name}='{quoted}'."
    ))
}

#[cfg(test)]
mod tests {
    use super::{from_words, misnamed, obvious_parameter, unknown_arguments};
    use crate::tool::{
        Args, Context, Kind, Schema, Tool, ToolError, ToolInfo, ToolInvocation, Undeclared, Usage,
    };
    use serde_json::{Value, json};

    struct Taking(Schema);

    fn taking(schema: Value) -> Taking {
        Taking(Schema::from_value(schema))
    }

    impl Tool for Taking {
        fn name(&self) -> &'static str {
            "taking"
        }
        fn description(&self) -> &'static str {
            "For a test."
        }
        fn parameters(&self) -> &Schema {
            &self.0
        }
        fn info(&self) -> ToolInfo<'_> {
            ToolInfo {
                display_name: "Taking",
                aliases: &[],
                kind: Kind::Other,
                is_read_only: false,
                is_idempotent: false,
                is_open_world: true,
                can_update_output: false,
                checks_arguments: false,
                server: None,
                annotations: None,
            }
        }
        fn usage(&self) -> Usage<'_> {
            Usage {
                renamed: &[("file_path", "absolute_path")],
                undeclared: &[Undeclared {
                    name: "no_ignore",
                    kind: "boolean",
                    meaning: "Takes all.",
                }],
                ..Usage::default()
            }
        }
        fn build(&self, _: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
            Err(ToolError::invalid("It does nothing."))
        }
    }

    fn reader() -> Taking {
        taking(
            json!({"type": "object", "required": ["absolute_path"], "properties": {
            "absolute_path": {"type": "string"}, "limit": {"type": "number"}}}),
        )
    }

    fn typed(tool: &Taking, words: &[&str]) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        from_words(tool, &words).map_err(|e| e.to_string())
    }

    #[test]
    fn a_value_without_a_name_is_for_the_only_required_parameter() {
        for (words, args) in [
            (&["a.md"][..], json!({"absolute_path": "a.md"})),
            (
                &["a.md", "limit:=2"],
                json!({"absolute_path": "a.md", "limit": 2}),
            ),
            (
                &["limit:=2", "a.md"],
                json!({"absolute_path": "a.md", "limit": 2}),
            ),
            (&["=a"], json!({"absolute_path": "=a"})),
            (&["x y=z"], json!({"absolute_path": "x y=z"})),
            (
                &["http://a/?b=c"],
                json!({"absolute_path": "http://a/?b=c"}),
            ),
            (&["absolute_path=a=b"], json!({"absolute_path": "a=b"})),
            (
                &["file_path=a", "no_ignore:=true"],
                json!({"file_path": "a", "no_ignore": true}),
            ),
        ] {
            assert_eq!(typed(&reader(), words), Ok(args), "{words:?}");
        }
        let lists = taking(
            json!({"type": "object", "required": ["paths"], "properties": {
            "paths": {"type": "array", "items": {"type": "string"}}}}),
        );
        assert_eq!(typed(&lists, &["a", "b"]), Ok(json!({"paths": ["a", "b"]})));
        let counts = taking(json!({"type": "object", "properties": {"pid": {"type": "integer"}}}));
        assert_eq!(typed(&counts, &["17"]), Ok(json!({"pid": 17})));
        assert!(
            typed(&counts, &["x"])
                .is_err_and(|e| e.contains("an integer") || e.contains("integer"))
        );
    }

    #[test]
    fn what_can_not_be_placed_is_refused() {
        for (words, said) in [
            (
                &["a", "b"][..],
                "takes one value without a name, its absolute_path, but \"b\"",
            ),
            (&["a", "absolute_path=b"], "given as absolute_path= already"),
            (&["a", "file_path=b"], "given as file_path= already"),
            (&["limit:=x"], "\"limit\" is not valid JSON"),
            (
                &["file=a"],
                "no argument \"file\". Did you mean absolute_path?",
            ),
            (&["FOO=make it"], "absolute_path='FOO=make it'"),
            (
                &["absolute_path=a", "lmit:=2"],
                "no argument \"lmit\". Did you mean limit?",
            ),
            (
                &["absolute_path=a", "zzz=1"],
                "It takes absolute_path, limit, no_ignore.",
            ),
            (
                &["fil=a", "lmit:=2"],
                "\"fil\" or \"lmit\". Did you mean limit by \"lmit\"?",
            ),
        ] {
            let error = typed(&reader(), words).expect_err("refused");
            assert!(error.contains(said), "{words:?}: {error}");
        }
        let two = taking(
            json!({"type": "object", "required": ["a", "b"], "properties": {
            "a": {"type": "string"}, "b": {"type": "string"}}}),
        );
        let error = typed(&two, &["x"]).expect_err("refused");
        assert!(error.contains("no single parameter"), "{error}");
        let none = taking(json!({"type": "object", "properties": {}}));
        let error = typed(&none, &["x=1"]).expect_err("refused");
        assert!(error.contains("no argument \"x\""), "{error}");
    }

    #[test]
    fn an_object_or_a_list_of_objects_is_not_obvious() {
        for property in [
            json!({"type": "object"}),
            json!({"type": "array", "items": {"type": "object"}}),
        ] {
            let schema = json!({"required": ["a"], "properties": {"a": property}});
            assert_eq!(obvious_parameter(&Schema::from_value(schema)), None);
        }
    }

    #[test]
    fn a_tool_that_takes_any_arguments_has_no_unknown_ones() {
        let args = || Args::from_value(json!({"zzz": 1})).expect("an object");
        for schema in [
            json!({"type": "object"}),
            json!({"properties": {"a": {}}, "additionalProperties": true}),
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "number"}}),
            json!({"properties": {"a": {}}, "patternProperties": {"^z": {}}}),
            json!({"properties": {"a": {}}, "anyOf": [{"properties": {"zzz": {}}}]}),
            json!({"properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/b"}]}),
        ] {
            let shown = schema.to_string();
            assert!(
                unknown_arguments(&taking(schema), &args()).is_empty(),
                "{shown}"
            );
        }
        let closed = json!({"properties": {"a": {}}, "additionalProperties": false});
        assert_eq!(unknown_arguments(&taking(closed), &args()), ["zzz"]);
    }

    #[test]
    fn a_missing_argument_under_a_wrong_name_is_pointed_out() {
        let said = |args: Value| misnamed(&reader(), &Args::from_value(args).expect("an object"));
        for (args, is_said) in [
            (json!({"file": "a"}), true),
            (json!({"zzz": "a"}), true),
            (json!({"zzz": "a", "yyy": 1}), false),
            (json!({"file_path": "a", "zzz": 1}), false),
            (json!({"wait_for_previous": true}), false),
            (json!({"limit": 1}), false),
        ] {
            let shown = args.to_string();
            assert_eq!(said(args).is_some(), is_said, "{shown}");
        }
    }
}
