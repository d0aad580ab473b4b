//! Converts the tool declarations of a server to those that a model gets, and decides which are
//! left out. Schemas and descriptions are checked as those of any tool are
//! ([`gemini_tools_core::declarations`]).

use super::names;
use gemini_tools_core::declarations::{check, empty_object, hidden_text};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::text::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A tool as a server declares it.
///
/// `hash` is that of the declaration without metadata that nobody sees. If it changes, a tool whose
/// declarations are pinned must be accepted again. `held` is the reason why the tool is withheld
/// from the model, because its declaration is not the accepted one; `None` if it is not withheld.
/// `text` is the declaration as compact JSON without the closing brace, so that the caller can
/// append fields; it is empty if the tool is withheld. `whole` is the full schema as compact JSON
/// if the declared one had to be simplified for the API, and otherwise empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DeclaredTool {
    pub(super) original: String,
    pub(super) name: String,
    pub(super) hash: String,
    pub(super) annotations: Option<Map<String, Value>>,
    pub(super) held: Option<String>,
    pub(super) text: String,
    pub(super) whole: String,
}

impl DeclaredTool {
    /// Returns true if the server claims that the tool only reads. Whether that is believed depends
    /// on the settings.
    pub(super) fn says_it_reads(&self) -> bool {
        let hint = self
            .annotations
            .as_ref()
            .and_then(|a| a.get("readOnlyHint"));
        hint == Some(&Value::Bool(true))
    }
}

pub(super) fn declare(server: &str, tools: &[Value]) -> (Vec<DeclaredTool>, Vec<Diagnostic>) {
    let (mut declared, mut findings) = (BTreeMap::<_, DeclaredTool>::new(), Vec::new());
    for tool in tools {
        match declare_one(server, tool) {
            // Two tools may get the same name here, because names are changed to what the API
            // accepts. Both are kept, since the settings may exclude one of them. Only a tool that
            // the server declares twice under its own name is left out.
            Ok((one, more)) => match declared.entry((one.name.clone(), one.original.clone())) {
                Entry::Vacant(entry) => {
                    findings.extend(more);
                    entry.insert(one);
                }
                Entry::Occupied(_) => {
                    let message =
                        "The server declares it twice; the second declaration is left out.";
                    findings.push(Diagnostic::error("name-clash", &one.original, "", message));
                }
            },
            Err(finding) => findings.push(finding),
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    (declared.into_values().collect(), findings)
}

fn declare_one(server: &str, tool: &Value) -> Result<(DeclaredTool, Vec<Diagnostic>), Diagnostic> {
    let Some(original) = tool["name"].as_str().filter(|name| !name.is_empty()) else {
        let message = "A tool without a name is left out.";
        return Err(Diagnostic::error("nameless", "", "name", message));
    };
    if tool["execution"]["taskSupport"] == "required" {
        let message = "It is left out, because it runs only as a task, which is not supported.";
        return Err(Diagnostic::error("task", original, "execution", message));
    }
    let told = without_metadata(tool);
    if let Some(hidden) = hidden_text(&told, original) {
        return Err(hidden);
    }
    let name = names::qualified(server, original);
    let description = tool["description"].as_str().unwrap_or_default();
    let mut schema = match &tool["inputSchema"] {
        Value::Null => Value::Object(empty_object()),
        schema => schema.clone(),
    };
    let mut findings = Vec::new();
    let whole = check(original, description, &mut schema, &mut findings)?;
    let text = format!(
        r#"{{"name":{},"description":{},"parametersJsonSchema":{schema}"#,
        json!(name),
        json!(description),
    );
    let declared = DeclaredTool {
        original: original.to_owned(),
        name,
        hash: hex(&Sha256::digest(told.to_string())[..16]),
        annotations: tool["annotations"].as_object().cloned(),
        held: None,
        text,
        whole: whole.map_or_else(String::new, |whole| whole.to_string()),
    };
    Ok((declared, findings))
}

/// Returns the declaration without fields that neither the model nor a person sees, so that a
/// change of those is not taken for a new declaration.
fn without_metadata(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(map) = tool.as_object_mut() {
        map.remove("_meta");
        map.remove("icons");
    }
    tool
}

#[cfg(test)]
mod tests;
