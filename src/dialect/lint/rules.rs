//! What an API refuses though it is a sound schema.
//!
//! Every limit is one that the API itself states when it refuses a request.

use super::super::Dialect;
use super::super::schema::{COMBINERS, LONGEST_KEY, fits_strict, takes_key, why_not_strict};
use super::document::Item;
use crate::declaration::{Finding, Names};
use serde_json::{Map, Value};

/// Older models of `OpenAI` refuse a longer description, in characters.
const OPENAI_DESCRIPTION_CHARS: usize = 1024;

const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// Adds what an API has against a declaration.
pub(super) fn check(dialect: Dialect, item: &Item, schema: &Value, findings: &mut Vec<Finding>) {
    let mut rules = Rules {
        item,
        schema,
        findings,
    };
    match dialect {
        Dialect::Gemini => rules.gemini(),
        Dialect::OpenAi | Dialect::OpenAiResponses => rules.openai(dialect),
        Dialect::Anthropic => rules.anthropic(),
        Dialect::Mcp => rules.mcp(),
    }
}

struct Rules<'a> {
    item: &'a Item,
    schema: &'a Value,
    findings: &'a mut Vec<Finding>,
}

impl Rules<'_> {
    fn error(&mut self, rule: &'static str, place: &str, message: impl Into<String>) {
        let finding = Finding::refusal(rule, self.item.name(), place, message);
        self.findings.push(finding);
    }

    fn warning(&mut self, rule: &'static str, place: &str, message: impl Into<String>) {
        let finding = Finding::warning(rule, self.item.name(), place, message);
        self.findings.push(finding);
    }

    fn gemini(&mut self) {
        let name = self.item.name();
        if (Names::LONGEST + 1..=Dialect::Gemini.longest_name()).contains(&name.len()) {
            let message = format!(
                "It has {} characters; Gemini CLI 0.61 puts 16 before it, and the API takes 64. \
                 Make it {} at most.",
                name.len(),
                Names::LONGEST
            );
            self.warning("long-name", "name", message);
        }
        if self.item.schema_key() == Some("parameters") {
            self.check_branches();
        }
    }

    /// Gemini's own `Schema` wants each required property beside its name, which JSON Schema does
    /// not.
    fn check_branches(&mut self) {
        for (place, node) in nodes(self.schema) {
            let properties = node.get("properties");
            let is_there = |key: &str| properties.is_some_and(|all| all.get(key).is_some());
            let required = node.get("required").and_then(Value::as_array);
            let mut keys = required.into_iter().flatten().filter_map(Value::as_str);
            if let Some(key) = keys.find(|key| !is_there(key)) {
                let message = format!(
                    "Under \"parameters\" Gemini refuses {key:?} in \"required\" without such a \
                     property beside it; under \"parametersJsonSchema\" it may stand."
                );
                self.error("required", &place, message);
            }
        }
    }

    fn openai(&mut self, dialect: Dialect) {
        self.check_name(dialect, "OpenAI takes 1 to 64 letters, digits, _ and -");
        self.check_top(
            "OpenAI",
            &["allOf", "anyOf", "oneOf", "enum", "const", "not"],
        );
        let strict = self.item.value()["strict"].as_bool();
        for (place, node) in nodes(self.schema) {
            let is_array = node.get("type").is_some_and(|t| t == "array");
            if is_array && !node.contains_key("items") {
                self.error(
                    "array-items",
                    &place,
                    "OpenAI refuses an array without \"items\"; say what it holds.",
                );
            }
            if strict == Some(true)
                && let Some(reason) = why_not_strict(node)
            {
                self.error("strict", &place, reason);
            }
        }
        let is_silent = dialect == Dialect::OpenAiResponses && strict.is_none();
        if is_silent && !fits_strict(self.schema) {
            self.warning(
                "strict-by-default",
                "",
                "Without \"strict\" the Responses API makes every parameter a required one; say \
                 \"strict\": false.",
            );
        }
        let description = self.item.value()["description"].as_str();
        let chars = description.unwrap_or_default().chars().count();
        if chars > OPENAI_DESCRIPTION_CHARS {
            let message = format!(
                "It has {chars} characters; some models take {OPENAI_DESCRIPTION_CHARS} only."
            );
            self.warning("description-length", "description", message);
        }
    }

    fn anthropic(&mut self) {
        self.check_name(
            Dialect::Anthropic,
            "Anthropic takes 1 to 128 letters, digits, _ and -",
        );
        self.check_top("Anthropic", &COMBINERS);
        self.check_key("input_schema", "Anthropic");
        for (place, node) in nodes(self.schema) {
            let properties = node.get("properties").and_then(Value::as_object);
            for key in properties.into_iter().flat_map(Map::keys) {
                if !takes_key(key) {
                    let message = format!(
                        "Anthropic takes 1 to {LONGEST_KEY} letters, digits, _, . and - in the \
                         name of a property."
                    );
                    self.error("property-name", &within(&place, key), message);
                }
            }
        }
    }

    fn mcp(&mut self) {
        let name = self.item.name();
        if !name.is_empty() && !Dialect::Mcp.takes_name(name) {
            self.warning(
                "name",
                "name",
                "The protocol wants 1 to 128 letters, digits, _, - and .; clients may refuse \
                 others.",
            );
        } else if !name.is_empty() && !Dialect::OpenAi.takes_name(name) {
            self.warning(
                "name",
                "name",
                "Clients for OpenAI take at most 64 letters, digits, _ and -, and may refuse or \
                 change others.",
            );
        }
        self.check_key("inputSchema", "The protocol");
        let annotations = &self.item.value()["annotations"];
        for hint in HINTS {
            if !matches!(annotations[hint], Value::Null | Value::Bool(_)) {
                let place = format!("annotations.{hint}");
                self.error("annotation", &place, "A hint must be true or false.");
            }
        }
        if annotations["readOnlyHint"] == true && annotations["destructiveHint"] == true {
            self.warning(
                "annotation",
                "annotations.destructiveHint",
                "A tool that only reads can't destroy anything.",
            );
        }
    }

    fn check_name(&mut self, dialect: Dialect, rule: &str) {
        let name = self.item.name();
        if !name.is_empty() && !dialect.takes_name(name) {
            let message = format!("{rule} in a name; {} would do.", dialect.name_for(name));
            self.error("name", "name", message);
        }
    }

    /// Whether the schema stands under the key under which it is looked for.
    fn check_key(&mut self, key: &'static str, who: &str) {
        match self.item.schema_key() {
            Some(own) if own == key => {}
            Some(own) => {
                let message = format!("{who} looks for the schema under {key:?}.");
                self.error("schema-key", own, message);
            }
            None => {
                let message = format!("{key:?} is missing; {who} wants one, also an empty one.");
                self.error("schema-key", "", message);
            }
        }
    }

    fn check_top(&mut self, who: &str, refused: &[&str]) {
        for key in refused {
            if self.schema.get(*key).is_some() {
                let message = format!(
                    "{who} refuses {key:?} at the top of a schema; put it into a property, or \
                     describe it in words."
                );
                self.error("top-level", key, message);
            }
        }
    }
}

fn within(place: &str, key: &str) -> String {
    if place.is_empty() || place == "schema" {
        key.to_owned()
    } else {
        format!("{place}.{key}")
    }
}

/// Every schema in a schema, with its place as findings name it.
fn nodes(schema: &Value) -> Vec<(String, &Map<String, Value>)> {
    let mut all = Vec::new();
    let mut open = vec![("schema".to_owned(), schema)];
    while let Some((place, value)) = open.pop() {
        let Some(node) = value.as_object() else {
            continue;
        };
        if let Some(properties) = node.get("properties").and_then(Value::as_object) {
            open.extend(properties.iter().map(|(key, v)| (within(&place, key), v)));
        }
        for key in ["items", "additionalProperties"] {
            open.extend(node.get(key).map(|v| (within(&place, key), v)));
        }
        for key in COMBINERS {
            let branches = node
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let branches = branches.enumerate();
            open.extend(branches.map(|(i, v)| (within(&place, &format!("{key}[{i}]")), v)));
        }
        all.push((place, node));
    }
    all
}
