//! What an API refuses though it is a sound schema.
//!
//! Every limit is one that the API itself states when it refuses a request.

use super::document::Item;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_declarations::{GEMINI_FORMATS, Names, named, within};
use gemini_tools_dialects::Dialect;
use gemini_tools_dialects::schema::{
    COMBINERS, LONGEST_KEY, fits_strict, is_of, takes_key, why_not_strict,
};
use serde_json::{Map, Value};

/// Older models of `OpenAI` refuse a longer description, in characters.
const OPENAI_DESCRIPTION_CHARS: usize = 1024;

/// What Gemini's own `Schema` knows, which is under `parameters`.
const GEMINI_KEYS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "propertyOrdering",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "default",
    "example",
    "anyOf",
];

pub(super) const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// Adds what an API has against a declaration.
pub(super) fn check(dialect: Dialect, item: &Item, schema: &Value, findings: &mut Vec<Diagnostic>) {
    let mut rules = Rules {
        item,
        schema,
        takes_null: dialect == Dialect::Gemini,
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
    /// Whether `null` is as good as nothing.
    takes_null: bool,
    findings: &'a mut Vec<Diagnostic>,
}

impl Rules<'_> {
    fn error(&mut self, rule: &'static str, place: &str, message: impl Into<String>) {
        let finding = Diagnostic::error(rule, self.item.name(), place, message);
        self.findings.push(finding);
    }

    fn warning(&mut self, rule: &'static str, place: &str, message: impl Into<String>) {
        let finding = Diagnostic::warning(rule, self.item.name(), place, message);
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
        self.check_description();
        if self.item.schema_key() == Some("parameters") {
            self.check_branches();
            for (place, node) in nodes(&self.item.schema()) {
                for message in why_not_native(node) {
                    self.error("native-schema", named(&place), message);
                }
            }
        }
    }

    /// Whether it is a text, which may be missing. For Gemini `null` is as good as missing.
    fn check_description(&mut self) {
        match self.item.value().get("description") {
            None | Some(Value::String(_)) => {}
            Some(Value::Null) if self.takes_null => {}
            Some(_) => self.error("description", "description", "It must be a text."),
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
                self.error("required", named(&place), message);
            }
        }
    }

    fn openai(&mut self, dialect: Dialect) {
        self.check_name(dialect, "OpenAI takes 1 to 64 letters, digits, _ and -");
        self.check_top(
            "OpenAI",
            &["allOf", "anyOf", "oneOf", "enum", "const", "not"],
        );
        self.check_description();
        let strict = &self.item.value()["strict"];
        if !matches!(strict, Value::Null | Value::Bool(_)) {
            self.error("strict", "strict", "It must be true or false.");
        }
        let strict = strict.as_bool();
        let is_bare = |key: &str| self.schema.get(key).is_none();
        if self.schema["type"] == "object" && is_bare("properties") && is_bare("$ref") {
            self.error(
                "no-properties",
                "schema",
                "OpenAI refuses a schema without \"properties\" at the top; where there are no \
                 arguments, say \"properties\": {}.",
            );
        }
        for (place, node) in nodes(self.schema) {
            if is_of(node, "array") && !node.contains_key("items") {
                self.error(
                    "array-items",
                    named(&place),
                    "OpenAI refuses an array without \"items\"; say what it holds.",
                );
            }
            if strict == Some(true)
                && let Some(reason) = why_not_strict(node)
            {
                self.error("strict", named(&place), reason);
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
        self.check_description();
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
        self.check_description();
        for (key, fault) in mcp_faults(self.item.value()) {
            self.error("tool-key", key, fault);
        }
        self.check_record("inputSchema", &self.item.schema());
        self.check_output();
        let annotations = &self.item.value()["annotations"];
        for hint in HINTS {
            if annotations.get(hint).is_some_and(|hint| !hint.is_boolean()) {
                let place = format!("annotations.{hint}");
                self.error("annotation", &place, "A hint must be true or false.");
            }
        }
        if annotations
            .get("title")
            .is_some_and(|title| !title.is_string())
        {
            self.error("annotation", "annotations.title", "It must be a text.");
        }
        if annotations["readOnlyHint"] == true && annotations["destructiveHint"] == true {
            self.warning(
                "annotation",
                "annotations.destructiveHint",
                "A tool that only reads can't destroy anything.",
            );
        }
    }

    /// Clients take no list of tools in which one schema of structured content is another than
    /// an object's.
    fn check_output(&mut self) {
        let schema = &self.item.value()["outputSchema"];
        if schema.is_object() && schema["type"] != "object" {
            self.error(
                "output-schema",
                "outputSchema",
                "Its \"type\" must be \"object\": clients refuse the whole list of tools otherwise.",
            );
        }
        self.check_record("outputSchema", schema);
    }

    /// `true` and `false` are schemas of which clients refuse the whole list.
    fn check_record(&mut self, key: &str, schema: &Value) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, _) in properties
            .into_iter()
            .flatten()
            .filter(|(_, s)| s.is_boolean())
        {
            let place = if key == "inputSchema" {
                within("", name)
            } else {
                within(key, name)
            };
            self.error(
                "boolean-schema",
                &place,
                "Clients refuse the whole list of tools for true or false in place of an object; \
                 write {} for true.",
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

    /// Whether the schema is under the key under which it is looked for.
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

/// What clients refuse in a tool besides its schemas, by its key, and why.
pub(super) fn mcp_faults(tool: &Value) -> Vec<(&'static str, &'static str)> {
    let is_text = |key: &str| tool.get(key).is_none_or(Value::is_string);
    let is_object = |key: &str| tool.get(key).is_none_or(Value::is_object);
    let mut faults = Vec::new();
    if !is_text("title") {
        faults.push(("title", "It must be a text."));
    }
    for key in ["annotations", "execution", "_meta", "outputSchema"] {
        if !is_object(key) {
            faults.push((key, "It must be an object."));
        }
    }
    let is_icon = |icon: &Value| icon["src"].is_string();
    let are_icons = |icons: &Value| icons.as_array().is_some_and(|all| all.iter().all(is_icon));
    if !tool.get("icons").is_none_or(are_icons) {
        faults.push((
            "icons",
            "It must be a list of objects with an address in \"src\".",
        ));
    }
    faults
}

/// Whether Gemini's own `Schema` has the key, which may also be written with underscores.
fn is_native(key: &str) -> bool {
    let plain = key.replace('_', "");
    GEMINI_KEYS
        .iter()
        .any(|own| own.eq_ignore_ascii_case(&plain))
}

/// What Gemini refuses of a schema under `parameters`, and not under `parametersJsonSchema`.
fn why_not_native(node: &Map<String, Value>) -> Vec<String> {
    const INSTEAD: &str = "under \"parametersJsonSchema\" it may stand";
    let mut all = Vec::new();
    let unknown: Vec<String> = node
        .keys()
        .filter(|key| !is_native(key))
        .map(|key| format!("{key:?}"))
        .collect();
    if !unknown.is_empty() {
        all.push(format!(
            "Under \"parameters\" Gemini does not know {}; {INSTEAD}.",
            unknown.join(", ")
        ));
    }
    if node.get("type").is_some_and(Value::is_array) {
        all.push(format!(
            "Under \"parameters\" Gemini takes one \"type\" and no list; {INSTEAD}."
        ));
    }
    let name = node.get("type").and_then(Value::as_str).unwrap_or_default();
    if name.eq_ignore_ascii_case("array") && !node.contains_key("items") {
        all.push(format!(
            "Under \"parameters\" Gemini refuses an array without \"items\"; {INSTEAD}."
        ));
    }
    let format = node.get("format").and_then(Value::as_str);
    if let Some(format) = format.filter(|format| !GEMINI_FORMATS.contains(format)) {
        all.push(format!(
            "Under \"parameters\" Gemini refuses the \"format\" {format:?}."
        ));
    }
    let values = node.get("enum").and_then(Value::as_array);
    let is_name = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if values.is_some_and(|values| !values.iter().all(is_name)) {
        all.push(format!(
            "Under \"parameters\" Gemini takes texts that are not empty in \"enum\" and nothing \
             else; {INSTEAD}."
        ));
    } else if values.is_some() && !name.eq_ignore_ascii_case("string") {
        all.push(format!(
            "Under \"parameters\" Gemini takes \"enum\" for strings only; {INSTEAD}."
        ));
    }
    all
}

/// Every schema in a schema, with its place; that of the whole is empty.
fn nodes(schema: &Value) -> Vec<(String, &Map<String, Value>)> {
    let mut all = Vec::new();
    let mut open = vec![(String::new(), schema)];
    while let Some((place, value)) = open.pop() {
        let Some(node) = value.as_object() else {
            continue;
        };
        if let Some(properties) = node.get("properties").and_then(Value::as_object) {
            open.extend(properties.iter().map(|(key, v)| (within(&place, key), v)));
        }
        for key in ["$defs", "definitions"] {
            let inner = node
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            let at = within(&place, key);
            open.extend(inner.map(|(name, v)| (within(&at, name), v)));
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
