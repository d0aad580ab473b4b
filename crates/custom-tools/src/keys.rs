//! The keys of a tool's file: of a manifest, or of the block in a script.

use super::report::nearest_name;
use gemini_tools_core::tool::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, Deserializer};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    #[serde(default)]
    pub(super) description: String,
    pub(super) display_name: Option<String>,
    pub(super) kind: Option<Kind>,
    pub(super) read_only: Option<bool>,
    pub(super) params: Option<BTreeMap<String, Parameter>>,
    pub(super) parameters: Option<Map<String, Value>>,
    pub(super) command: Option<Vec<Element<String>>>,
    pub(super) script: Option<String>,
    pub(super) args: Option<Vec<Element<String>>>,
    pub(super) discovery_command: Option<CommandLine>,
    pub(super) call_command: Option<CommandLine>,
    pub(super) stdin: Option<String>,
    pub(super) output: Option<Output>,
    pub(super) success_statuses: Option<Vec<u8>>,
    pub(super) streaming: Option<bool>,
    pub(super) prompt: Option<bool>,
    pub(super) resource: Option<String>,
    pub(super) timeout: Option<f64>,
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, Scalar>,
    pub(super) sandbox: Option<String>,
    #[serde(skip)]
    pub(super) written: Vec<String>,
}

/// A parameter in the short form. It serializes as the JSON Schema of its values.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase"))]
pub(super) struct Parameter {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) description: Option<String>,
    pub(super) default: Option<Value>,
    #[serde(default, skip_serializing)]
    pub(super) required: bool,
    #[serde(rename = "enum")]
    pub(super) values: Option<Vec<Value>>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    exclusive_minimum: Option<Number>,
    exclusive_maximum: Option<Number>,
    multiple_of: Option<Number>,
    pub(super) items: Option<Items>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    unique_items: Option<bool>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    pattern: Option<String>,
    properties: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "a type in quotes, or a schema")]
pub(super) enum Items {
    #[serde(serialize_with = "type_only")]
    Type(String),
    Schema(Map<String, Value>),
}

fn type_only<S: serde::Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("type", name)])
}

/// A word of a command, or several words that are omitted together if a parameter in them is
/// missing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a word in quotes, or a list of such words")]
pub(super) enum Element<W> {
    Word(W),
    Group(Vec<W>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a command line in quotes, or a list of words")]
pub(super) enum CommandLine {
    Line(String),
    Words(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text or a number")]
pub(super) enum Scalar {
    Text(String),
    Number(Number),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Output {
    Text,
    Json,
    ToolResult,
}

#[derive(Debug)]
pub(super) struct KeyFault {
    pub(super) key: String,
    pub(super) message: String,
    pub(super) span: Option<Range<usize>>,
}

impl Keys {
    pub(super) fn parse(toml: &str) -> Result<Self, KeyFault> {
        let table = DeTable::parse(toml).map_err(|e| KeyFault {
            key: String::new(),
            message: format!("The manifest is not valid TOML: {}.", one_line(&e)),
            span: e.span(),
        })?;
        let names = table.get_ref().keys();
        let written = names.map(|name| name.get_ref().to_string()).collect();
        let keys = serde_path_to_error::deserialize(Deserializer::from(table));
        let keys: Self = keys.map_err(|e| {
            let path = e.path().to_string();
            let e = e.into_inner();
            let message = one_line(&e);
            let mut sentence = format!("{message}.{}", nearest_name(&message));
            sentence[..1].make_ascii_uppercase();
            KeyFault {
                key: if path == "." { String::new() } else { path },
                message: sentence,
                span: e.span(),
            }
        })?;
        Ok(Self { written, ..keys })
    }
}

fn one_line(e: &toml::de::Error) -> String {
    e.message().trim().replace('\n', "; ")
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn a_fault_names_its_key_its_place_and_the_nearest_name() {
        for (toml, key, at, said) in [
            ("a = 1\ndescripton = \"d\"", "a", 0, "Unknown field `a`"),
            (
                "descripton = \"d\"",
                "descripton",
                0,
                "Did you mean \"description\"?",
            ),
            (
                "kind = \"reed\"",
                "kind",
                7,
                "Unknown variant `reed`, expected one of `read`",
            ),
            ("kind = \"reed\"", "kind", 7, "Did you mean \"read\"?"),
            ("kind = 1", "kind", 7, "Wanted string or table."),
            (
                "[params.x]\ntype = \"string\"\nrequird = true",
                "params.x.requird",
                27,
                "Did you mean \"required\"?",
            ),
            ("params.x = 1", "params.x", 11, "Invalid type: integer `1`"),
            ("command = [1]", "command[0]", 10, "A word in quotes"),
            ("description = ", "", 14, "The manifest is not valid TOML: "),
        ] {
            let fault = Keys::parse(toml).expect_err(toml);
            let start = fault.span.as_ref().map(|span| span.start);
            assert!(fault.message.contains(said), "{fault:?}");
            assert_eq!((&*fault.key, start), (key, Some(at)), "{fault:?}");
        }
    }
}
