//! Other people's declarations, made such that the API takes them.
//!
//! Owned here: unwrapping, repairing and refusing declarations (of discovery commands, of
//! custom tools, of MCP servers), and saying what was done. One rule for all: what is certain is
//! repaired and told, what is not costs that tool and no other.
//!
//! Nothing here reads files or runs anything. Who has the declarations printed, and who shows the
//! findings, is up to the callers; what other APIs take is in `gemini-tools-dialects`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_declarations::{Names, read};
//!
//! let printed = br#"[
//!     {"name": "count words", "description": "Counts.", "parameters": {"type": "OBJECT"}},
//!     {"description": "It has no name."}
//! ]"#;
//! let compiled = read(printed, &mut Names::new(Names::LONGEST))?;
//!
//! // The name is one that the API takes, and the tool's own program knows it by the old one.
//! let [tool] = &compiled.tools[..] else { panic!("one tool") };
//! assert_eq!((&*tool.name, &*tool.original), ("count_words", "count words"));
//! assert_eq!(tool.schema["type"], "object");
//!
//! // What was repaired and what was left out is told.
//! assert!(!compiled.findings.is_empty());
//! # Ok::<(), gemini_tools_declarations::ReadError>(())
//! ```

mod hidden;
mod keywords;
mod names;
mod references;
mod schema;

pub use hidden::hidden_character;
pub use names::{NameError, Names};
pub use schema::{FORMATS as GEMINI_FORMATS, Tuples, named, repair_plain, within};
pub use schema::{repair_schema, untyped};

use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::{Kind, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

/// A declaration longer than this is reported: it is paid for with every request, in bytes.
const LONG_DESCRIPTION_BYTES: usize = 4096;

/// A declaration that the API takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// The name for the model.
    pub name: String,
    /// The name by which its own program knows the tool.
    pub original: String,
    /// For the model.
    pub description: String,
    /// The JSON Schema of the arguments, as a model is told it.
    pub schema: Value,
    /// What arguments are checked against, where a model can't be told all of it.
    pub whole: Option<Value>,
    /// What it does to the world, where that is said.
    pub kind: Option<Kind>,
    /// The MCP server that it comes from, as `get_tools --kinds` says it.
    pub mcp: Option<OfServer>,
}

/// What `get_tools --kinds` says of a tool of an MCP server besides its kind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct OfServer {
    /// The server's name in the settings.
    pub server: String,
    /// The tool's name there.
    pub tool: String,
    /// What the server says that calls of it do to the world.
    pub annotations: Option<Map<String, Value>>,
}

impl Compiled {
    /// The schema, which checks arguments as the tool's own does.
    pub fn arguments(&self) -> Schema {
        Schema::from_value(self.schema.clone()).checked_by(self.whole.clone())
    }

    /// As it is printed for a host: compact JSON.
    pub fn to_json(&self) -> String {
        format!(
            r#"{{"name":{},"description":{},"parametersJsonSchema":{}}}"#,
            Value::from(self.name.as_str()),
            Value::from(self.description.as_str()),
            self.schema
        )
    }
}

/// What became of a list of declarations.
#[derive(Debug, Default)]
pub struct CompiledDeclarations {
    /// What can be declared, in the order in which it came.
    pub tools: Vec<Compiled>,
    /// What was repaired, and what was left out.
    pub findings: Vec<Diagnostic>,
}

/// Why what a discovery command prints can't be read, for a message that says who printed it.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The text is not JSON.
    #[error("it is not valid JSON: {0}.")]
    Json(gemini_tools_core::json::JsonError),
    /// The text is JSON, but not an array.
    #[error("it is not an array; [ and ] around the declarations make it one.")]
    NotAnArray,
}

/// Reads what a discovery command prints: an array whose items are declarations or wrappers
/// of some.
///
/// # Errors
///
/// If it is not a JSON array.
pub fn read(text: &[u8], names: &mut Names) -> Result<CompiledDeclarations, ReadError> {
    let value: Value = gemini_tools_core::json::read(text.trim_ascii()).map_err(ReadError::Json)?;
    let Value::Array(items) = value else {
        return Err(ReadError::NotAnArray);
    };
    let mut outcome = CompiledDeclarations::default();
    for item in items {
        for declaration in unwrapped(item, &mut outcome.findings) {
            match compile(&declaration, names, &mut outcome.findings) {
                Ok(tool) => outcome.tools.push(tool),
                Err(finding) => outcome.findings.push(finding),
            }
        }
    }
    Ok(outcome)
}

/// The declarations in an item: those in either of Gemini's wrappers, that in `OpenAI`'s, or
/// the item itself.
fn unwrapped(mut item: Value, findings: &mut Vec<Diagnostic>) -> Vec<Value> {
    for key in ["functionDeclarations", "function_declarations"] {
        if let Some(Value::Array(list)) = item.get_mut(key).map(Value::take) {
            return list;
        }
    }
    if let Some(inner) = item.get_mut("function").filter(|f| f.is_object()) {
        let inner = inner.take();
        let name = inner["name"].as_str().unwrap_or_default();
        findings.push(Diagnostic::repair(
            "wrapper",
            name,
            "function",
            "The declaration was in a wrapper of another API and was taken out of it.",
        ));
        return vec![inner];
    }
    vec![item]
}

/// Makes a declaration such that the API takes it; what was repaired is added to `findings`.
///
/// # Errors
///
/// Why the tool is left out.
pub fn compile(
    declaration: &Value,
    names: &mut Names,
    findings: &mut Vec<Diagnostic>,
) -> Result<Compiled, Diagnostic> {
    let original = name_of(declaration)?;
    if let Some(hidden) = hidden_text(declaration, original) {
        return Err(hidden);
    }
    let mut repairs = Vec::new();
    let mut schema = parameters(declaration, original, &mut repairs);
    let description = declaration["description"].as_str().unwrap_or_default();
    // What was done to a tool that is left out is of no interest.
    let whole = check(original, description, &mut schema, &mut repairs)?;
    let name = names
        .take(original, findings)
        .map_err(|error| duplicate(original, error))?;
    findings.append(&mut repairs);
    Ok(Compiled {
        name,
        original: original.to_owned(),
        description: description.to_owned(),
        schema,
        whole,
        kind: Kind::deserialize(&declaration["kind"]).ok(),
        mcp: OfServer::deserialize(&declaration["mcp"]).ok(),
    })
}

/// The name of a declaration.
///
/// # Errors
///
/// That it has none.
pub fn name_of(declaration: &Value) -> Result<&str, Diagnostic> {
    let name = declaration["name"].as_str().filter(|n| !n.is_empty());
    name.ok_or_else(|| {
        Diagnostic::error(
            "nameless",
            "",
            "name",
            "A declaration has no name; the tool is left out.",
        )
    })
}

/// The finding that a name is another tool's.
pub fn duplicate(original: &str, error: NameError) -> Diagnostic {
    Diagnostic::error("duplicate-name", original, "name", error.to_string())
}

/// Checks what a model is told of a tool besides its name, whatever declares it: repairs the
/// schema of its arguments, and adds what is to be said to `findings`. Gives what
/// [`repair_schema`] does.
///
/// # Errors
///
/// Why the tool is left out.
pub fn check(
    original: &str,
    description: &str,
    schema: &mut Value,
    findings: &mut Vec<Diagnostic>,
) -> Result<Option<Value>, Diagnostic> {
    let whole = repair_schema(schema, original, findings)?;
    check_description(original, description, findings);
    Ok(whole)
}

/// Reports a description that is of no use, or too long.
pub fn check_description(original: &str, description: &str, findings: &mut Vec<Diagnostic>) {
    if description.trim().is_empty() {
        findings.push(Diagnostic::warning(
            "no-description",
            original,
            "description",
            "It is missing: a model can't know when to use the tool. Say what it does and when \
             to use it.",
        ));
    } else if description.len() > LONG_DESCRIPTION_BYTES {
        findings.push(Diagnostic::warning(
            "long-description",
            original,
            "description",
            format!(
                "It has {} bytes, which are sent with every request; shorten it.",
                description.len()
            ),
        ));
    }
}

/// Why a tool is held back in whose declaration something is hidden from people; `None` where
/// nothing is.
pub fn hidden_text(declaration: &Value, original: &str) -> Option<Diagnostic> {
    let hidden = hidden_in(declaration)?;
    Some(Diagnostic::error(
        "hidden-text",
        &original.escape_default().to_string(),
        &hidden.place,
        format!(
            "There is an invisible character ({}): text for the model that is hidden from \
             people. The tool is held back until it is gone.",
            hidden.character
        ),
    ))
}

/// The schema, under whatever key it is.
fn parameters(declaration: &Value, tool: &str, repairs: &mut Vec<Diagnostic>) -> Value {
    const ELSEWHERE: [&str; 4] = [
        "parameters",
        "inputSchema",
        "input_schema",
        "parameters_json_schema",
    ];
    let right = &declaration["parametersJsonSchema"];
    // What is not an object there is refused as one, and not overlooked.
    let elsewhere = ELSEWHERE
        .into_iter()
        .find(|key| !declaration[*key].is_null());
    match (right.is_null(), elsewhere) {
        (false, Some(key)) => {
            repairs.push(Diagnostic::repair(
                "parameters-unused",
                tool,
                key,
                format!("\"{key}\" is beside \"parametersJsonSchema\" and is not used."),
            ));
            right.clone()
        }
        (false, None) => right.clone(),
        (true, Some(key)) => {
            repairs.push(Diagnostic::repair(
                "parameters-key",
                tool,
                key,
                format!(
                    "The parameters are under \"{key}\"; Gemini CLI ignores this key, get_tools \
                     reads it anyway. The right key is \"parametersJsonSchema\"."
                ),
            ));
            if declaration[key].as_array().is_some_and(Vec::is_empty) {
                let message = "It is an empty list, as PHP writes an empty object; it was taken for \
                               one.";
                repairs.push(Diagnostic::repair("schema", tool, key, message));
                return Value::Object(empty_object());
            }
            declaration[key].clone()
        }
        (true, None) => json!({ "type": "object", "properties": {} }),
    }
}

struct Hidden {
    place: String,
    character: String,
}

/// The first hidden character anywhere in a declaration, keys included.
fn hidden_in(value: &Value) -> Option<Hidden> {
    fn find(value: &Value, place: &str) -> Option<Hidden> {
        let within = |key: &str| {
            let key = key.escape_default();
            if place.is_empty() {
                key.to_string()
            } else {
                format!("{place}.{key}")
            }
        };
        let of = |text: &str, place: String| {
            hidden_character(text).map(|c| Hidden {
                place,
                character: format!("U+{:04X}", u32::from(c)),
            })
        };
        match value {
            Value::String(text) => of(text, place.to_owned()),
            Value::Array(items) => items.iter().find_map(|item| find(item, place)),
            Value::Object(map) => map
                .iter()
                .find_map(|(key, item)| of(key, within(key)).or_else(|| find(item, &within(key)))),
            _ => None,
        }
    }
    find(value, "")
}

/// An object schema without properties, for tools that say nothing.
pub fn empty_object() -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("type".to_owned(), "object".into());
    map.insert("properties".to_owned(), json!({}));
    map
}

#[cfg(test)]
mod tests;
