//! Converts declarations, names, calls and results of tools to and from the formats of other hosts
//! and APIs.
//!
//! This module knows the formats, and the names and schemas that each API accepts. Names of
//! arguments that had to be changed for an API are restored in calls ([`restore`]). The limits are
//! those that the APIs state when they reject a request.
//!
//! # Example
//!
//! ```
//! use gemini_tools_custom_tools::dialect::{Dialect, DialectRequest, GeminiDeclaration};
//!
//! let declaration: GeminiDeclaration = serde_json::from_str(
//!     r#"{
//!         "name": "shout",
//!         "description": "In capitals.",
//!         "parametersJsonSchema": {"type":"object"}
//!     }"#,
//! )?;
//! assert_eq!(
//!     declaration.to_json(Dialect::Anthropic, false),
//!     r#"{"name":"shout","description":"In capitals.","input_schema":{"type":"object"}}"#,
//! );
//!
//! let call = br#"{"type": "tool_use", "id": "t1", "name": "shout", "input": {"text": "hi"}}"#;
//! let request = DialectRequest::read(Dialect::Anthropic, call).expect("a call");
//! assert_eq!(request.calls[0].name, "shout");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod call;
mod reply;
mod schema;

pub use call::{DialectCall, DialectError, DialectRequest};
pub use gemini_tools_core::names::Dialect;
pub use schema::restore;

use gemini_tools_core::tool::Kind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A tool's declaration, as `get_tools` prints it for Gemini.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeminiDeclaration {
    /// The tool's name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments, in the order in which it was written.
    pub parameters_json_schema: Box<RawValue>,
    /// The kind, if it is declared.
    #[serde(default)]
    pub kind: Option<Kind>,
}

impl GeminiDeclaration {
    /// Returns the schema as a value.
    pub fn schema(&self) -> Value {
        serde_json::from_str(self.parameters_json_schema.get()).unwrap_or(Value::Null)
    }

    /// Formats the declaration in a dialect, as compact JSON. `with_kind` adds the kind, if the
    /// dialect has a place for it.
    pub fn to_json(&self, dialect: Dialect, with_kind: bool) -> String {
        let name = json!(dialect.name_for(&self.name));
        let description = json!(self.description);
        let schema = match schema::fitted(dialect, &self.schema()) {
            Some(fitted) => Cow::Owned(fitted.to_string()),
            None => Cow::Borrowed(self.parameters_json_schema.get()),
        };
        let kind = self.kind.filter(|_| with_kind).map(|kind| json!(kind));
        match dialect {
            Dialect::Gemini => {
                let kind = kind.map_or(String::new(), |kind| format!(r#","kind":{kind}"#));
                format!(
                    r#"{{"name":{name},"description":{description},"parametersJsonSchema":{schema}{kind}}}"#
                )
            }
            Dialect::OpenAi => format!(
                r#"{{"type":"function","function":{{"name":{name},"description":{description},"parameters":{schema}}}}}"#
            ),
            // Without `strict: false`, this API treats every parameter as required.
            Dialect::OpenAiResponses => format!(
                r#"{{"type":"function","name":{name},"description":{description},"parameters":{schema},"strict":false}}"#
            ),
            Dialect::Anthropic => {
                format!(r#"{{"name":{name},"description":{description},"input_schema":{schema}}}"#)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;

    #[test]
    fn names_that_fit_stay_and_others_fit_afterwards() {
        let long = "x".repeat(65);
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name_for("read_file"), "read_file");
            for odd in ["a.b", "a b", "", "a/b", "café", &long, &"y".repeat(200)] {
                let name = dialect.name_for(odd);
                assert!(dialect.takes_name(&name), "{dialect:?} {odd}: {name}");
                assert_eq!(dialect.takes_name(odd), name == odd, "{dialect:?} {odd}");
            }
        }
        assert_ne!(
            Dialect::OpenAi.name_for("a.b"),
            Dialect::OpenAi.name_for("a/b")
        );
    }
}
