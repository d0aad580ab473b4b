//! Declarations of any dialect, held against what their API really takes.
//!
//! Owned here: telling dialects apart, what each API refuses, and where it is.
//! What is wrong with a schema as such is found by the compiler of declarations.
//!
//! [`ci`] has the formats of CI services for what was found, here and elsewhere. Reading files, and
//! showing what was found, is up to the callers.
//!
//! # Example
//!
//! ```
//! use gemini_tools_lint::lint;
//!
//! let text = r#"[{
//!     "name": "pets.list", "description": "Lists pets.", "input_schema": {"type": "object"}
//! }]"#;
//! let linted = lint(text, None);
//! assert_eq!(linted.tools, 0);
//!
//! let finding = &linted.findings[0];
//! assert_eq!(finding.code, "name");
//! assert!(finding.message.starts_with("Anthropic takes 1 to 128 letters"), "{finding:?}");
//! ```

pub mod ci;
mod document;
mod json;
mod repaired;
mod rules;

use document::{Document, Item};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::json::JsonError;
use gemini_tools_core::position::{Node, Position};
use gemini_tools_declarations::{self as declaration, Names, Tuples};
use gemini_tools_dialects::{Dialect, schema};
use repaired::Repaired;
use serde_json::{Value, json};

/// How many tools `OpenAI` takes in a request.
const MAX_OPENAI_TOOLS: usize = 128;

/// What a document holds.
#[derive(Debug, Default)]
pub struct Linted {
    /// What is wrong with it.
    pub findings: Vec<Diagnostic>,
    /// How many tools its API would take.
    pub tools: usize,
    /// The list of tools as its API takes it, each as compact JSON: declarations with what had to
    /// be changed, all else as it was. Those that can't be repaired are left out.
    pub repaired: Vec<String>,
}

/// Looks at a document; `chosen` says what it is, where that is known.
pub fn lint(text: &str, chosen: Option<Dialect>) -> Linted {
    let mut linted = Linted::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (value, top) = match read(text) {
        Ok(read) => read,
        Err(finding) => {
            linted.findings.push(finding);
            return linted;
        }
    };
    let document = match Document::read(value, chosen) {
        Ok(document) => document,
        Err(message) => {
            let mut finding = Diagnostic::error("dialect", "", "", message);
            finding.put_at(top.at);
            linted.findings.push(finding);
            return linted;
        }
    };
    let mut names = Names::new(document.dialect.longest_name());
    let mut repaired = Vec::new();
    for item in &document.items {
        let mut findings = Vec::new();
        repaired.push(look_at(&document, item, &top, &mut names, &mut findings));
        let has_error = findings.iter().any(|f| f.severity == Severity::Error);
        linted.tools += usize::from(!has_error);
        for mut finding in findings {
            finding.put_at(item.position(&top, &finding.place.key).unwrap_or(top.at));
            linted.findings.push(finding);
        }
    }
    linted.repaired = repaired::list(&document, repaired, &top);
    for (path, mut finding) in document.findings {
        finding.put_at(top.find(&path).map_or(top.at, |(at, _)| at));
        linted.findings.push(finding);
    }
    let is_openai = matches!(document.dialect, Dialect::OpenAi | Dialect::OpenAiResponses);
    if is_openai && document.items.len() > MAX_OPENAI_TOOLS {
        let message = format!(
            "There are {} tools; the API takes {MAX_OPENAI_TOOLS} in a request.",
            document.items.len()
        );
        let mut finding = Diagnostic::error("too-many-tools", "", "", message);
        finding.put_at(top.at);
        linted.findings.push(finding);
    }
    linted
        .findings
        .sort_by_key(|finding| (finding.place.line, finding.place.column));
    linted
}

/// Reads JSON with the places of its values.
fn read(text: &str) -> Result<(Value, Node), Diagnostic> {
    let e = match serde_json::from_str(text) {
        Ok(value) => return Ok((value, json::places(text))),
        Err(e) => JsonError::new(text.as_bytes(), &e),
    };
    let message = format!("The text is not valid JSON: {}.", e.what());
    let mut finding = Diagnostic::error("json", "", "", message);
    let place = e.place().map(|(line, column)| Position::new(line, column));
    finding.put_at(place.unwrap_or(Position::START));
    Err(finding)
}

/// Adds what is wrong with one declaration; gives it back as its API takes it.
fn look_at(
    document: &Document,
    item: &Item,
    top: &Node,
    names: &mut Names,
    findings: &mut Vec<Diagnostic>,
) -> Option<String> {
    let dialect = document.dialect;
    if dialect == Dialect::Gemini {
        return for_gemini(item, top, names, findings);
    }
    let mut schema = item.schema();
    let sound = repair(dialect, item, &mut schema, names, findings);
    rules::check(dialect, item, &schema, findings);
    if let Err(finding) = sound {
        findings.push(finding);
        return None;
    }
    let schema = schema::fitted(dialect, &schema).unwrap_or(schema);
    let wants_schema = matches!(dialect, Dialect::Anthropic | Dialect::Mcp);
    let repaired = Repaired {
        name: dialect.name_for(item.name()).into_owned(),
        is_loose: must_be_loose(dialect, item, &schema, findings),
        schema: (wants_schema || item.schema_key().is_some()).then_some(schema),
    };
    repaired.to_json(dialect, item, top)
}

/// Repairs what no API takes, and leaves what is one API's own affair.
fn repair(
    dialect: Dialect,
    item: &Item,
    schema: &mut Value,
    names: &mut Names,
    findings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let name = declaration::name_of(item.value())?;
    let description = &item.value()["description"];
    let told = json!({"name": name, "description": description, "parametersJsonSchema": schema});
    if let Some(hidden) = declaration::hidden_text(&told, name) {
        return Err(hidden);
    }
    let tuples = match dialect {
        Dialect::Anthropic => Tuples::Prefixed,
        Dialect::OpenAi | Dialect::OpenAiResponses => Tuples::Joined,
        Dialect::Gemini | Dialect::Mcp => Tuples::AsTheyAre,
    };
    let described = description.as_str().unwrap_or_default();
    declaration::check_description(name, described, findings);
    declaration::repair_plain(schema, name, tuples, findings)?;
    // Whether the API takes it is looked at elsewhere.
    let taken = names.take(name, &mut Vec::new());
    taken.map_err(|error| declaration::duplicate(name, error))?;
    Ok(())
}

/// Whether a function of `OpenAI` is only taken with strict mode off.
fn must_be_loose(dialect: Dialect, item: &Item, schema: &Value, findings: &[Diagnostic]) -> bool {
    let is_refused = findings.iter().any(|finding| finding.code == "strict");
    let is_silent = item.value()["strict"].is_null();
    is_refused || dialect == Dialect::OpenAiResponses && is_silent && !schema::fits_strict(schema)
}

fn for_gemini(
    item: &Item,
    top: &Node,
    names: &mut Names,
    findings: &mut Vec<Diagnostic>,
) -> Option<String> {
    let before = findings.len();
    let compiled = declaration::compile(item.value(), names, findings);
    for finding in &mut findings[before..] {
        // As it is the API would refuse it.
        if matches!(&*finding.code, "name" | "untyped") {
            finding.severity = Severity::Error;
        }
    }
    let tool = match compiled {
        Ok(tool) => tool,
        Err(finding) => {
            findings.push(finding);
            return None;
        }
    };
    rules::check(Dialect::Gemini, item, &tool.schema, findings);
    let repaired = Repaired {
        name: tool.name,
        schema: item.schema_key().map(|_| tool.schema),
        is_loose: false,
    };
    repaired.to_json(Dialect::Gemini, item, top)
}

#[cfg(test)]
mod tests {
    use super::lint;
    use gemini_tools_core::diagnostic::Severity;
    use std::num::NonZeroU32;

    fn numbers(finding: &gemini_tools_core::diagnostic::Diagnostic) -> (u32, u32) {
        let number = |n: Option<NonZeroU32>| n.map_or(0, NonZeroU32::get);
        (number(finding.place.line), number(finding.place.column))
    }

    #[test]
    fn a_finding_has_the_place_where_its_key_stands() {
        let text = "[\n {\"name\": \"a\",\n  \"description\": \"d\",\n  \"parametersJsonSchema\": {\n   \
                    \"type\": \"object\",\n   \"properties\": {\n    \"x\": {\n     \"type\": \"array\",\n     \
                    \"items\": {\"description\": \"d\"}}}}}\n]";
        let linted = lint(text, None);
        let finding = linted.findings.first().expect("untyped");
        assert_eq!((&*finding.code, numbers(finding)), ("untyped", (9, 6)));
        assert_eq!(finding.severity, Severity::Error);
        let linted = lint("{\n\"ä\": \"ü\",,}", None);
        let finding = linted.findings.first().expect("no JSON");
        assert_eq!((&*finding.code, numbers(finding)), ("json", (2, 10)));
    }
}
