//! From what a server says about its tools to what a model is told: names, and what is left
//! out. Schemas and descriptions are judged as those of all others' tools are
//! ([`gemini_tools_core::declarations`]).

use super::names;
use gemini_tools_core::declarations::{check, empty_object, hidden_text};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::text::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DeclaredTool {
    /// The tool's name on the server.
    pub(super) original: String,
    /// The tool's name for a model.
    pub(super) name: String,
    /// Tells this declaration from every other.
    pub(super) hash: String,
    /// Annotations of the tool, as the server sent them.
    pub(super) annotations: Option<Map<String, Value>>,
    /// Reason why the tool is not declared to a model: the declaration is not what was accepted.
    pub(super) held: Option<String>,
    /// The declaration as compact JSON, without the closing brace; empty where it is held back.
    pub(super) text: String,
    /// Schema that arguments are checked against, as compact JSON; empty if it is the declared one.
    pub(super) whole: String,
}

impl DeclaredTool {
    /// Returns true if the server says that calls of the tool change nothing.
    pub(super) fn says_it_reads(&self) -> bool {
        let hint = self
            .annotations
            .as_ref()
            .and_then(|a| a.get("readOnlyHint"));
        hint == Some(&Value::Bool(true))
    }
}

/// Returns all tools of a server, sorted by name, and the findings about its declarations, left-out
/// tools first.
pub(super) fn declare(server: &str, tools: &[Value]) -> (Vec<DeclaredTool>, Vec<Diagnostic>) {
    let (mut declared, mut findings) = (BTreeMap::<String, DeclaredTool>::new(), Vec::new());
    for tool in tools {
        match declare_one(server, tool) {
            Ok((one, more)) => {
                if let Some(other) = declared.get(&one.name) {
                    findings.push(Diagnostic::error(
                        "name-clash",
                        &one.original,
                        "",
                        format!(
                            "It is left out, because its {:?} has the name {} already.",
                            other.original, one.name
                        ),
                    ));
                } else {
                    findings.extend(more);
                    declared.insert(one.name.clone(), one);
                }
            }
            Err(finding) => findings.push(finding),
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    (declared.into_values().collect(), findings)
}

fn declare_one(server: &str, tool: &Value) -> Result<(DeclaredTool, Vec<Diagnostic>), Diagnostic> {
    let Some(original) = tool["name"].as_str().filter(|name| !name.is_empty()) else {
        return Err(Diagnostic::error(
            "nameless",
            "",
            "name",
            "A tool without a name is left out.",
        ));
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

/// Returns the tool's fields that a model or a person goes by.
fn without_metadata(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(map) = tool.as_object_mut() {
        map.remove("_meta");
        map.remove("icons");
    }
    tool
}

#[cfg(test)]
mod tests {
    use super::declare;
    use gemini_tools_core::declarations::{Names, compile};
    use gemini_tools_core::diagnostic::Severity;
    use serde_json::{Value, json};

    /// Returns a tool's schema in the declared form, or the reason why the tool is left out.
    fn one(schema: &Value) -> Result<Value, String> {
        let tool = json!({"name": "t", "description": "d", "inputSchema": schema});
        let (tools, findings) = declare("s", &[tool]);
        match tools.first() {
            Some(tool) => {
                let text = format!("{}}}", tool.text);
                let mut value: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(value["name"], "s__t");
                Ok(value["parametersJsonSchema"].take())
            }
            None => Err(findings[0].text()),
        }
    }

    #[test]
    fn a_server_is_judged_as_everybody_else_is() {
        for schema in [
            json!({"type": "object", "properties": {"x": {"description": "d"}}}),
            json!({"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {}]}}}),
            json!([]),
            json!({"type": "string"}),
            json!({"type": "object", "properties": {"x": {"$ref": "other.json"}}}),
            json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}}),
            json!({"type": "object", "properties": {"x": {"$ref": "#"}}}),
            json!({"$schema": "s", "properties": {"a": {"$ref": "#/$defs/a", "description": "d"},
                "e": {"enum": ["x"]}, "u": {"type": "STRING", "format": "uri"}},
                "$defs": {"a": {"type": "integer"}}}),
        ] {
            let custom = json!({"name": "t", "description": "d", "parametersJsonSchema": schema});
            let mut names = Names::new(Names::LONGEST);
            let custom = compile(&custom, &mut names, &mut Vec::new());
            let custom = custom.map(|c| c.schema).map_err(|f| f.text());
            assert_eq!(one(&schema), custom, "{schema}");
        }
        assert_eq!(one(&Value::Null).expect("made")["type"], "object");
    }

    #[test]
    fn what_is_left_out_is_said_before_what_was_repaired() {
        let (tools, findings) = declare(
            "s",
            &[
                json!({"name": "a", "inputSchema": {"properties": {"x": {"type": "int"}}}}),
                json!({"name": "b", "inputSchema": {"type": "string"}}),
            ],
        );
        assert_eq!(tools.len(), 1);
        assert_eq!(findings[0].severity, Severity::Error);
        assert!(findings[0].text().starts_with("b: type: "), "{findings:?}");
        let has = |rule: &str| {
            findings
                .iter()
                .any(|f| f.place.tool == "a" && f.code == rule)
        };
        assert!(has("type-name") && has("no-description"), "{findings:?}");
    }

    #[test]
    fn a_tool_with_invisible_text_is_left_out() {
        for text in [
            "a\u{200b}b",
            "a\u{202e}b",
            "a\u{e0041}",
            "a\u{1b}[0m",
            "a\u{200d}b",
        ] {
            for tool in [
                json!({"name": "t", "description": text}),
                json!({"name": "t", "annotations": {"title": text}}),
                json!({"name": "t", "inputSchema": {"type": "object",
                    "properties": {"x": {"type": "string", "description": text}}}}),
                json!({"name": "t", "inputSchema": {"type": "object", "properties": {text: {}}}}),
                json!({"name": text}),
            ] {
                let (tools, findings) = declare("s", std::slice::from_ref(&tool));
                assert!(tools.is_empty(), "{tool}");
                assert_eq!(findings[0].code, "hidden-text");
            }
        }
        let fine = json!({"name": "t", "description": "Größe\n👩\u{200d}🚀 می\u{200c}خواهم",
            "icons": [{"src": "a\u{200b}"}], "_meta": {"x": "a\u{200b}"}});
        assert_eq!(declare("s", &[fine]).0.len(), 1);
    }

    #[test]
    fn one_bad_tool_costs_only_itself() {
        let (tools, findings) = declare(
            "s",
            &[
                json!({"name": "b"}),
                json!({"name": "b"}),
                json!(7),
                json!({"name": "a b"}),
                json!({"name": "a_b"}),
                json!({"name": "a"}),
            ],
        );
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["s__a", "s__a_b", "s__b"]);
        let errors = findings.iter().filter(|f| f.severity == Severity::Error);
        assert_eq!(errors.count(), 3, "{findings:?}");
    }
}
