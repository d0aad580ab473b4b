//! The help for one tool: what it does, its arguments, examples, and how it fails. Built-in tools
//! add text of their own ([`Usage`]); for others the help is made from the declaration.

use super::{Parameter, ServerTool, Tool, ToolInfo, obvious_parameter, parameters};
use crate::text::{one_line, visible, wrapped};
use serde_json::{Map, Value};
use std::path::Path;

const INDENT: usize = 6;

const NARROWEST: usize = 40;

const STATUSES: &str = "Exit status: 0 done, 1 the tool failed, 2 unknown tool or unusable \
    arguments, 3 refused by policy, 124 out of time, 130 and 143 interrupted.";

/// Returns the help for a tool, in lines of up to `width` characters, but at least 40. Examples are
/// not broken.
pub fn help(tool: &dyn Tool, width: usize) -> String {
    let width = width.max(NARROWEST);
    let (info, usage) = (tool.info(), tool.usage());
    let mut page = Page {
        width,
        text: String::new(),
    };
    page.paragraph("", tool.description());
    page.heading("Usage");
    page.example(&synopsis(tool));
    let schema = tool.parameters().value();
    let all = parameters(schema);
    if all.is_empty() {
        page.paragraph("", "It has no parameters.");
    } else {
        page.heading("Parameters");
        for parameter in &all {
            page.parameter(parameter);
        }
    }
    if !usage.undeclared.is_empty() || !usage.renamed.is_empty() {
        page.heading("Understood as well");
        for (other, name) in usage.renamed {
            page.item(other, &format!("the same as {name}"), "");
        }
        for more in usage.undeclared {
            page.item(more.name, more.kind, more.meaning);
        }
    }
    if !usage.limits.is_empty() {
        page.heading("Limits");
        for (thing, limit) in usage.limits {
            page.paragraph("  ", &format!("{thing}: {limit}"));
        }
    }
    page.heading("Examples");
    for example in usage.examples {
        page.example(example);
    }
    if usage.examples.is_empty() {
        for example in made_examples(tool) {
            page.example(&example);
        }
    }
    if !usage.errors.is_empty() {
        page.heading("Errors");
        for (kind, when) in usage.errors {
            let kind = serde_json::to_value(kind).unwrap_or_default();
            page.item(kind.as_str().unwrap_or_default(), "", when);
        }
    }
    page.text.push('\n');
    page.paragraph("", STATUSES);
    page.paragraph("", &about(&info, usage.file));
    page.text
}

fn about(info: &ToolInfo<'_>, file: Option<&Path>) -> String {
    let kind = serde_json::to_value(info.kind).unwrap_or_default();
    let mut about = format!("Kind: {}.", kind.as_str().unwrap_or_default());
    if !info.aliases.is_empty() {
        about.push_str(&format!(" Other names: {}.", info.aliases.join(", ")));
    }
    if let Some(ServerTool { name, tool }) = info.server {
        about.push_str(&format!(
            " From the MCP server {name}, which calls it {tool}."
        ));
    }
    if let Some(file) = file {
        about.push_str(&format!(" From {}.", crate::text::show_path(file)));
    }
    about
}

fn synopsis(tool: &dyn Tool) -> String {
    let name = tool.name();
    let schema = tool.parameters();
    if schema.value()["properties"]
        .as_object()
        .is_none_or(Map::is_empty)
    {
        return format!("call_tool {name}");
    }
    let first = match obvious_parameter(schema) {
        None => "KEY=VALUE".to_owned(),
        Some((parameter, property)) => {
            let is_list = property["type"] == "array";
            let more = if is_list { "..." } else { "" };
            let value = format!("{}{more}", visible(parameter).to_uppercase());
            let all = parameters(schema.value());
            if all.first().is_some_and(|first| first.is_required) {
                format!("{value} [KEY=VALUE]")
            } else {
                format!("[{value}] [KEY=VALUE]")
            }
        }
    };
    format!("call_tool {name} {first} [KEY=@FILE] [KEY:=JSON]")
}

fn made_examples(tool: &dyn Tool) -> Vec<String> {
    let name = tool.name();
    let members = sample_members(tool.parameters().value());
    let mut typed = format!("call_tool {name}");
    for (key, value) in &members {
        let key = visible(key);
        typed.push_str(&match value {
            Value::String(text) => format!(" {key}={text}"),
            Value::Bool(_) | Value::Number(_) => format!(" {key}={value}"),
            other => format!(" {key}:={}", quoted(&other.to_string())),
        });
    }
    let json = quoted(&visible(&Value::Object(members).to_string()));
    vec![typed, format!("echo {json} | call_tool {name}")]
}

pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(super) fn sample(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    let least = schema.get("minimum").cloned();
    match schema["type"].as_str() {
        Some("integer" | "number") => least.unwrap_or_else(|| 1.into()),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(vec![sample(&schema["items"])]),
        Some("object") => Value::Object(sample_members(schema)),
        _ => "VALUE".into(),
    }
}

fn sample_members(schema: &Value) -> Map<String, Value> {
    let properties = &schema["properties"];
    let mut members = parameters(schema);
    members.retain(|member| properties.get(&member.name).is_some());
    let required = members.iter().filter(|member| member.is_required).count();
    members.truncate(required.max(1));
    let member = |member: super::Parameter<'_>| {
        let value = sample(&properties[&member.name]);
        (member.name, value)
    };
    members.into_iter().map(member).collect()
}

struct Page {
    width: usize,
    text: String,
}

impl Page {
    fn heading(&mut self, heading: &str) {
        self.text.push_str(&format!("\n{heading}:\n"));
    }

    /// Adds a line that people copy into a shell, and that is therefore never broken.
    fn example(&mut self, line: &str) {
        self.text.push_str(&format!("  {}\n", visible(line)));
    }

    fn parameter(&mut self, parameter: &Parameter<'_>) {
        let mut kind = parameter.kind.clone();
        if parameter.is_required {
            kind.push_str(", required");
        }
        if let Some(default) = parameter.default {
            kind.push_str(&format!(", default {default}"));
        }
        self.item(&parameter.name, &kind, parameter.description);
    }

    fn item(&mut self, name: &str, kind: &str, meaning: &str) {
        let head = format!("  {}  {}", visible(name), visible(kind));
        self.text.push_str(head.trim_end());
        self.text.push('\n');
        if !meaning.is_empty() {
            self.paragraph(&" ".repeat(INDENT), meaning);
        }
    }

    fn paragraph(&mut self, indent: &str, text: &str) {
        // A terminal does not show markdown, so its backticks are removed.
        let text = text.replace('`', "");
        for part in text.trim().split("\n\n") {
            let lines = wrapped(&visible(&one_line(part)), self.width - indent.len());
            for line in lines.split('\n') {
                self.text.push_str(format!("{indent}{line}").trim_end());
                self.text.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{quoted, sample};
    use serde_json::json;

    #[test]
    fn a_sample_fits_its_schema() {
        for (schema, value) in [
            (json!({"type": "string"}), json!("VALUE")),
            (json!({"type": "string", "default": "x"}), json!("x")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("a")),
            (json!({"type": "integer", "minimum": 3}), json!(3)),
            (
                json!({"type": "array", "items": {"type": "number"}}),
                json!([1]),
            ),
            (json!({"type": "boolean"}), json!(true)),
        ] {
            assert_eq!(sample(&schema), value, "{schema}");
        }
        assert_eq!(quoted("a-b"), "a-b");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
