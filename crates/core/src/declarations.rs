//! Unwraps and repairs the tool declarations of discovery commands, custom tools and MCP servers.
//!
//! A fault with only one possible repair is repaired and reported. Any other fault costs the tool
//! that has it, and no other tool.
//!
//! This module only works on texts and values: it reads no files, runs no tool and prints nothing.
//! Callers obtain the declarations and show the findings.
//!
//! # Example
//!
//! ```
//! use gemini_tools_core::declarations::{Names, read};
//!
//! let printed = br#"[
//!     {"name": "count words", "description": "Counts.", "parameters": {"type": "OBJECT"}},
//!     {"description": "It has no name."}
//! ]"#;
//! let compiled = read(printed, &mut Names::new(Names::LONGEST))?;
//!
//! // The API accepts the new name; the tool's own program knows the tool by the old one.
//! let [tool] = &compiled.tools[..] else { panic!("one tool") };
//! assert_eq!((&*tool.name, &*tool.original), ("count_words", "count words"));
//! assert_eq!(tool.schema["type"], "object");
//!
//! // Each repair and each tool that was left out is reported.
//! assert!(!compiled.findings.is_empty());
//! # Ok::<(), String>(())
//! ```

mod names;
mod schema;

pub use names::Names;
pub use schema::{json_type, repair_schema};

use crate::diagnostic::Diagnostic;
use crate::position::Step;
use crate::text::with_deceptive;
use crate::tool::{Kind, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A longer description of a tool is reported, because every request to a model sends all
/// descriptions.
const LONG_DESCRIPTION_BYTES: usize = 4096;

/// A declaration that the Gemini API accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    /// The name that the model sees.
    pub name: String,
    /// The name that the tool's own program knows.
    pub original: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments, as a model gets it.
    pub schema: Value,
    /// The schema as its author wrote it, against which arguments are checked; `None` if `schema`
    /// restricts arguments just as much.
    pub whole: Option<Value>,
    /// The kind of the tool, if the declaration names one.
    pub kind: Option<Kind>,
    /// The MCP server that the tool comes from, as `get_tools --kinds` prints it.
    pub mcp: Option<ServerOrigin>,
}

/// The origin of an MCP server's tool, as `get_tools --kinds` prints it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ServerOrigin {
    /// The server's name in the settings.
    pub server: String,
    /// The tool's name on that server.
    pub tool: String,
    /// The server's hints about the effect of calls.
    pub annotations: Option<Map<String, Value>>,
}

impl ToolDeclaration {
    /// Returns the schema as a [`Schema`] that checks arguments against [`ToolDeclaration::whole`]
    /// if there is one.
    pub fn arguments(&self) -> Schema {
        Schema::from_value(self.schema.clone()).checked_by(self.whole.clone())
    }

    /// Returns the declaration as it is printed for a host: compact JSON.
    pub fn to_json(&self) -> String {
        format!(
            r#"{{"name":{},"description":{},"parametersJsonSchema":{}}}"#,
            Value::from(self.name.as_str()),
            Value::from(self.description.as_str()),
            self.schema
        )
    }
}

/// The outcome of compiling a list of declarations.
#[derive(Debug, Default)]
pub struct DeclarationList {
    /// The tools that can be declared, in the order in which they came.
    pub tools: Vec<ToolDeclaration>,
    /// The repairs, and the reasons for which tools were left out.
    pub findings: Vec<Diagnostic>,
}

/// Reads the output of a discovery command: an array of declarations and of wrappers of several.
///
/// # Errors
///
/// Returns the reason if the text is not a JSON array, for a message that says who printed it.
pub fn read(text: &[u8], names: &mut Names) -> Result<DeclarationList, String> {
    let value: Value =
        crate::json::read(text.trim_ascii()).map_err(|e| format!("it is not valid JSON: {e}."))?;
    let Value::Array(items) = value else {
        let reason = "it is not an array; [ and ] around the declarations make it one.";
        return Err(reason.to_owned());
    };
    let mut outcome = DeclarationList::default();
    for item in items {
        for (_, declaration) in unwrap(item, &mut outcome.findings) {
            match compile(&declaration, names, &mut outcome.findings) {
                Ok(tool) => outcome.tools.push(tool),
                Err(finding) => outcome.findings.push(finding),
            }
        }
    }
    Ok(outcome)
}

/// Returns the declarations in an item, each with the steps that lead to it from the item. The
/// wrappers `functionDeclarations` and `function_declarations` of Gemini and `function` of `OpenAI`
/// are removed; any other item is itself a declaration.
pub fn unwrap(mut item: Value, findings: &mut Vec<Diagnostic>) -> Vec<(Vec<Step>, Value)> {
    let step = |key: &str| Step::Key(key.to_owned());
    for key in ["functionDeclarations", "function_declarations"] {
        if let Some(Value::Array(list)) = item.get_mut(key).map(Value::take) {
            let list = list.into_iter().enumerate();
            return list
                .map(|(i, declaration)| (vec![step(key), Step::Index(i)], declaration))
                .collect();
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
        return vec![(vec![step("function")], inner)];
    }
    vec![(Vec::new(), item)]
}

/// Turns a declaration into one that the API accepts, and adds what was repaired to `findings`.
///
/// # Errors
///
/// Returns the finding because of which the tool is dropped.
pub fn compile(
    declaration: &Value,
    names: &mut Names,
    findings: &mut Vec<Diagnostic>,
) -> Result<ToolDeclaration, Diagnostic> {
    let name = declaration["name"].as_str().filter(|n| !n.is_empty());
    let Some(original) = name else {
        let message = "A declaration has no name; the tool is left out.";
        return Err(Diagnostic::error("nameless", "", "name", message));
    };
    if let Some(hidden) = hidden_text(declaration, original) {
        return Err(hidden);
    }
    let mut repairs = Vec::new();
    let mut schema = parameters(declaration, original, &mut repairs);
    let description = declaration["description"].as_str().unwrap_or_default();
    // Repairs of a tool that is left out are not reported.
    let whole = check(original, description, &mut schema, &mut repairs)?;
    let name = names
        .take(original, findings)
        .map_err(|reason| Diagnostic::error("duplicate-name", original, "name", reason))?;
    findings.append(&mut repairs);
    Ok(ToolDeclaration {
        name,
        original: original.to_owned(),
        description: description.to_owned(),
        schema,
        whole,
        kind: Kind::deserialize(&declaration["kind"]).ok(),
        mcp: ServerOrigin::deserialize(&declaration["mcp"]).ok(),
    })
}

/// Checks a tool's description and repairs its schema, adding to `findings`. Returns the schema
/// against which arguments are to be checked, if that is not the repaired one (see
/// [`repair_schema`]).
///
/// # Errors
///
/// Returns the finding because of which the tool is dropped.
pub fn check(
    original: &str,
    description: &str,
    schema: &mut Value,
    findings: &mut Vec<Diagnostic>,
) -> Result<Option<Value>, Diagnostic> {
    let whole = repair_schema(schema, original, findings)?;
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
    Ok(whole)
}

/// Returns a finding if the declaration has text that people can't see; it must not be used then.
pub fn hidden_text(declaration: &Value, original: &str) -> Option<Diagnostic> {
    let (place, hidden) = find_hidden(declaration, "")?;
    let message = format!(
        "There is an invisible character (U+{:04X}): text for the model that is hidden from people. \
         The tool is held back until it is gone.",
        u32::from(hidden)
    );
    let original = original.escape_default().to_string();
    Some(Diagnostic::error("hidden-text", &original, &place, message))
}

/// The keys under which declarations have their arguments' schema; the first is Gemini CLI's own.
pub const SCHEMA_KEYS: [&str; 5] = [
    "parametersJsonSchema",
    "parameters",
    "inputSchema",
    "input_schema",
    "parameters_json_schema",
];

fn parameters(declaration: &Value, tool: &str, repairs: &mut Vec<Diagnostic>) -> Value {
    let mut keys = SCHEMA_KEYS.into_iter();
    let mut keys = keys.by_ref().filter(|key| !declaration[*key].is_null());
    let Some(key) = keys.next() else {
        return Value::Object(empty_object());
    };
    if key != SCHEMA_KEYS[0] {
        let message = format!(
            "The parameters are under \"{key}\"; Gemini CLI ignores this key, get_tools reads it \
             anyway. The right key is \"parametersJsonSchema\"."
        );
        repairs.push(Diagnostic::repair("parameters-key", tool, key, message));
    } else if let Some(unused) = keys.next() {
        let message = format!("\"{unused}\" is beside \"parametersJsonSchema\" and is not used.");
        let repair = Diagnostic::repair("parameters-unused", tool, unused, message);
        repairs.push(repair);
    }
    declaration[key].clone()
}

/// Returns the first character that hides text from people or changes its direction: controls,
/// tags, bidirectional controls, zero-width characters. Joiners are allowed between the letters or
/// emoji that they join.
fn hidden_character(text: &str) -> Option<char> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')) {
        return None;
    }
    with_deceptive(text)
        .find(|(c, deceives)| *deceives && !matches!(c, '\t' | '\n' | '\r'))
        .map(|(c, _)| c)
}

fn find_hidden(value: &Value, place: &str) -> Option<(String, char)> {
    let within = |key: &str| {
        let dot = if place.is_empty() { "" } else { "." };
        format!("{place}{dot}{}", key.escape_default())
    };
    let look = |text: &str, place: String| Some((place, hidden_character(text)?));
    match value {
        Value::String(text) => look(text, place.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| find_hidden(item, place)),
        Value::Object(map) => map.iter().find_map(|(key, item)| {
            look(key, within(key)).or_else(|| find_hidden(item, &within(key)))
        }),
        _ => None,
    }
}

/// Returns the schema of an object without properties, for tools that declare none.
pub fn empty_object() -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("type".to_owned(), "object".into());
    map.insert("properties".to_owned(), json!({}));
    map
}

#[cfg(test)]
mod tests;
