//! Each repair and each refusal, by example.

use super::{Names, compile, hidden_character, read};
use crate::diagnostic::Severity;
use serde_json::{Value, json};
use std::borrow::Cow;

fn schema_of(declaration: &Value) -> Result<(Value, Vec<Cow<'static, str>>), String> {
    let mut findings = Vec::new();
    let mut names = Names::new(Names::LONGEST);
    match compile(declaration, &mut names, &mut findings) {
        Ok(tool) => {
            assert_typed(&tool.schema);
            let rules = findings
                .iter()
                .filter(|f| f.severity == Severity::Repair)
                .map(|f| f.code.clone())
                .collect();
            Ok((tool.schema, rules))
        }
        Err(finding) => Err(format!("{finding}")),
    }
}

fn assert_typed(schema: &Value) {
    let branches = ["anyOf", "oneOf", "allOf"].map(|key| schema[key].as_array());
    let branches: Vec<&Value> = branches.into_iter().flatten().flatten().collect();
    assert!(
        schema["type"] != Value::Null || !branches.is_empty(),
        "{schema}"
    );
    branches.into_iter().for_each(assert_typed);
    schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .for_each(|(_, inner)| assert_typed(inner));
    for key in ["items", "additionalProperties"] {
        let inner = schema.get(key).filter(|inner| inner.is_object());
        inner.into_iter().for_each(assert_typed);
    }
}

fn repaired(parameter: &Value) -> (Value, Vec<Cow<'static, str>>) {
    let declaration = json!({"name": "t", "description": "d",
        "parametersJsonSchema": {"type": "object", "properties": {"x": parameter}}});
    let (mut schema, rules) = schema_of(&declaration).expect("can be repaired");
    (schema["properties"]["x"].take(), rules)
}

fn anything() -> Value {
    let types = ["string", "number", "boolean", "object", "array", "null"];
    json!({"anyOf": types.map(|name| json!({"type": name}))})
}

#[test]
fn what_may_be_anything_is_said_to_be_of_any_type() {
    let mut described = anything();
    described["description"] = "d".into();
    for (given, wanted) in [
        (json!({"description": "d"}), described),
        (json!({}), anything()),
        (json!(true), anything()),
        (
            json!({"type": "array", "items": {"title": "t"}}),
            json!({"type": "array", "items": {"title": "t", "anyOf": anything()["anyOf"]}}),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {}]}),
            json!({"anyOf": [{"type": "string"}, anything()]}),
        ),
    ] {
        let (schema, rules) = repaired(&given);
        assert_eq!(schema, wanted, "{given}");
        assert!(rules.iter().any(|rule| rule == "untyped"), "{rules:?}");
    }
}

#[test]
fn what_stands_beside_a_type_has_types_too() {
    let either = json!([{"required": ["a"]}, {"properties": {"b": {}}}]);
    let wanted = json!([{"type": "object", "required": ["a"]},
        {"type": "object", "properties": {"b": anything()}}]);
    for key in ["anyOf", "oneOf", "allOf"] {
        let (schema, rules) = repaired(&json!({"type": "object", key: either}));
        assert_eq!(schema, json!({"type": "object", key: wanted}), "{key}");
        assert!(rules.iter().any(|rule| rule == "untyped"), "{rules:?}");
    }
}

#[test]
fn arguments_are_checked_against_what_a_model_can_not_be_told() {
    let of = |x: Value| {
        let declaration = json!({"name": "t", "description": "d",
            "parametersJsonSchema": {"type": "OBJECT", "properties": {"x": x}}});
        let mut names = Names::new(Names::LONGEST);
        compile(&declaration, &mut names, &mut Vec::new()).expect("compiled")
    };
    let tool = of(
        json!({"type": "LIST", "description": "d", "nullable": true, "minItems": 1,
        "prefixItems": [{"type": "STRING"}]}),
    );
    assert_eq!(
        tool.whole,
        Some(
            json!({"type": "object", "properties": {"x": {"type": ["array", "null"],
            "description": "d", "minItems": 1, "prefixItems": [{"type": "string"}]}}})
        )
    );
    let fits = |x: Value| tool.arguments().validate(&json!({"x": x})).is_ok();
    assert!(fits(json!(["a", 1])) && fits(Value::Null));
    assert!(!fits(json!([1])) && !fits(json!([])) && !fits(json!("a")));
    let plain = json!({"name": "t", "description": "d", "parametersJsonSchema":
        {"$schema": "s", "type": "object", "properties": {"x": {"type": "string", "description": "d"}}}});
    let mut names = Names::new(Names::LONGEST);
    let tool = compile(&plain, &mut names, &mut Vec::new()).expect("compiled");
    assert_eq!(tool.whole, None, "the declaration says it all");
}

#[test]
fn what_is_certain_is_repaired_and_told() {
    for (given, wanted, rule) in [
        (
            json!({"type": "STRING"}),
            json!({"type": "string"}),
            "type-name",
        ),
        (
            json!({"type": "int"}),
            json!({"type": "integer"}),
            "type-name",
        ),
        (
            json!({"enum": ["a", "b"]}),
            json!({"type": "string", "enum": ["a", "b"]}),
            "type",
        ),
        (
            json!({"enum": [1, 2]}),
            json!({"type": "integer", "enum": [1, 2]}),
            "type",
        ),
        (
            json!({"const": "a"}),
            json!({"type": "string", "enum": ["a"]}),
            "const",
        ),
        (
            json!({"items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "string"}}),
            "type",
        ),
        (
            json!({"properties": {"y": {"type": "string"}}}),
            json!({"type": "object", "properties": {"y": {"type": "string"}}}),
            "type",
        ),
        (
            json!({"type": "string", "nullable": true}),
            json!({"type": ["string", "null"]}),
            "nullable",
        ),
        (
            json!({"type": "string", "format": "uri"}),
            json!({"type": "string"}),
            "keyword",
        ),
        (
            json!({"type": "string", "x-odd": 1}),
            json!({"type": "string"}),
            "keyword",
        ),
        (
            json!({"type": "string", "anyOf": [{"pattern": "^a"}, {"enum": ["b"]}]}),
            json!({"type": "string", "anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "enum": ["b"]}]}),
            "type",
        ),
    ] {
        let (schema, rules) = repaired(&given);
        assert_eq!(schema, wanted, "{given}");
        assert!(rules.iter().any(|r| r == rule), "{given}: {rules:?}");
    }
    let (schema, rules) =
        repaired(&json!({"type": "string", "format": "date-time", "$comment": "c"}));
    assert_eq!(schema, json!({"type": "string", "format": "date-time"}));
    assert_eq!(rules, Vec::<&str>::new(), "nothing worth telling");
}

#[test]
fn what_the_api_does_not_take_is_left_out_told_and_checked_all_the_same() {
    for (given, wanted, told) in [
        (
            json!({"type": "array", "items": [{"type": "string"}], "minItems": "1"}),
            json!({"type": "array"}),
            r#"The API does not take "items": [{"type":"string"}], "minItems": "1"."#,
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {}}),
            json!({"type": "array"}),
            r#"The API does not take "prefixItems"."#,
        ),
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "object"}),
            r#"The API does not take "patternProperties"."#,
        ),
        (
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": true, "multipleOf": 0}),
            json!({"type": "number", "minimum": 1}),
            r#"The API does not take "exclusiveMinimum": true, "multipleOf": 0."#,
        ),
        (
            json!({"type": "string", "description": null, "format": "uri", "enum": []}),
            json!({"type": "string"}),
            r#"The API does not take "description": null, "enum": [], "format": "uri"."#,
        ),
        (
            json!({"type": "object", "additionalProperties": {}, "required": "a", "anyOf": []}),
            json!({"type": "object"}),
            r#"The API does not take "anyOf": [], "required": "a"."#,
        ),
        (
            json!({"type": ["string", "any"]}),
            anything(),
            r#"The API does not take "type": ["string","any"]."#,
        ),
    ] {
        let declaration = json!({"name": "t", "description": "d",
            "parametersJsonSchema": {"type": "object", "properties": {"x": given}}});
        let mut findings = Vec::new();
        let mut names = Names::new(Names::LONGEST);
        let tool = compile(&declaration, &mut names, &mut findings).expect("repaired");
        assert_eq!(tool.schema["properties"]["x"], wanted, "{given}");
        let texts: Vec<&str> = findings.iter().map(|f| &*f.message).collect();
        assert!(texts.contains(&told), "{texts:?}");
        let whole = tool.whole.expect("arguments are checked against it");
        assert_eq!(whole["properties"]["x"], given);
    }
    let (schema, rules) = repaired(&json!({"enum": ["a", 1, null]}));
    let types = json!({"type": ["integer", "null", "string"], "enum": ["a", 1, null]});
    assert_eq!((schema, &*rules), (types, &["type".into()][..]));
}

#[test]
fn properties_that_are_no_schemas_cost_the_tool_and_booleans_are_any() {
    for wrong in [json!("string"), json!(null), json!([]), json!(1)] {
        let declaration = json!({"name": "t", "description": "d",
            "parametersJsonSchema": {"type": "object", "properties": {"x": wrong}}});
        let text = schema_of(&declaration).expect_err("no schema");
        assert!(
            text.starts_with("error[schema]: t: x: A schema is an object"),
            "{text}"
        );
    }
    assert_eq!(repaired(&json!(false)).0, anything());
}

#[test]
fn parameters_are_found_under_other_keys() {
    for key in ["parameters", "inputSchema", "input_schema"] {
        let declaration = json!({"name": "t", "description": "d",
            key: {"type": "OBJECT", "properties": {"x": {"type": "STRING"}}}});
        let (schema, rules) = schema_of(&declaration).expect("repaired");
        assert_eq!(schema["properties"]["x"]["type"], "string", "{key}");
        assert!(rules.iter().any(|r| r == "parameters-key"), "{rules:?}");
    }
    let (schema, _) = schema_of(&json!({"name": "t", "description": "d"})).expect("no parameters");
    assert_eq!(schema, json!({"type": "object", "properties": {}}));
}

#[test]
fn references_are_put_in_place_and_cycles_cut() {
    let declaration = json!({"name": "t", "description": "d", "parametersJsonSchema": {
        "type": "object",
        "$defs": {
            "name": {"type": "string", "minLength": 1},
            "node": {"type": "object", "properties": {
                "name": {"$ref": "#/$defs/name"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
        "properties": {
            "tree": {"$ref": "#/$defs/node"},
            "who": {"$ref": "#/$defs/name", "description": "whose"}}}});
    let (schema, rules) = schema_of(&declaration).expect("repaired");
    assert!(!schema.to_string().contains('$'), "{schema}");
    assert_eq!(
        schema["properties"]["who"],
        json!({"type": "string", "minLength": 1, "description": "whose"})
    );
    let children = &schema["properties"]["tree"]["properties"]["children"];
    assert_eq!(children["items"], json!({"type": "object"}));
    assert!(
        rules.iter().any(|r| r == "cyclic-reference") && rules.iter().any(|r| r == "reference"),
        "{rules:?}"
    );
}

#[test]
fn what_can_not_be_known_costs_the_tool() {
    let with = |schema: &Value| {
        schema_of(&json!({"name": "t", "description": "d", "parametersJsonSchema": schema}))
    };
    let of = |x: &Value| with(&json!({"type": "object", "properties": {"x": x}}));
    for (result, rule, place) in [
        (
            of(&json!({"$ref": "#/$defs/none"})),
            "reference",
            "leads nowhere",
        ),
        (
            of(&json!({"$ref": "other.json"})),
            "reference",
            "leads nowhere",
        ),
        (
            with(&json!({"type": "string"})),
            "schema",
            "must be an object",
        ),
        (with(&json!([])), "schema", "not an object"),
        (
            schema_of(&json!({"description": "d"})),
            "nameless",
            "no name",
        ),
        (
            schema_of(&json!({"name": "t", "description": "Reads.\u{e0049}\u{e0067}"})),
            "hidden-text",
            "description",
        ),
        (
            of(&json!({"type": "string", "description": "a\u{202e}b"})),
            "hidden-text",
            "U+202E",
        ),
    ] {
        let text = result.expect_err(rule);
        assert!(
            text.starts_with(&format!("error[{rule}]")) && text.contains(place),
            "{text}"
        );
    }
}

#[test]
fn a_schema_that_grows_without_end_is_refused() {
    let mut defs = serde_json::Map::new();
    for i in 0..40 {
        let next = format!("#/$defs/d{}", i + 1);
        defs.insert(
            format!("d{i}"),
            json!({"type": "object", "properties":
            {"a": {"$ref": next}, "b": {"$ref": next}}}),
        );
    }
    defs.insert("d40".to_owned(), json!({"type": "string"}));
    let declaration = json!({"name": "t", "description": "d", "parametersJsonSchema":
        {"type": "object", "$defs": defs, "properties": {"x": {"$ref": "#/$defs/d0"}}}});
    let text = schema_of(&declaration).expect_err("too large");
    assert!(text.contains("large-schema"), "{text}");
}

#[test]
fn declarations_may_stand_alone_or_in_any_wrapper() {
    let one = |name: &str| json!({"name": name, "description": "d"});
    let list = json!([
        one("a"),
        {"function_declarations": [one("b"), one("c")]},
        {"functionDeclarations": [one("d"), one("a")]},
        {"type": "function", "function": one("e")},
        {"description": "nameless"},
    ]);
    let mut names = Names::new(Names::LONGEST);
    let outcome = read(list.to_string().as_bytes(), &mut names).expect("an array");
    let found: Vec<_> = outcome.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(found, ["a", "b", "c", "d", "e"]);
    let errors = outcome
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error);
    assert_eq!(errors.count(), 2, "{:?}", outcome.findings);
    for text in ["", "{}", "[", "nothing"] {
        let mut names = Names::new(Names::LONGEST);
        assert!(read(text.as_bytes(), &mut names).is_err(), "{text:?}");
    }
}

#[test]
fn writing_of_all_sorts_is_seen() {
    for text in [
        "plain\ttext\r\nin lines",
        "wörld 世界 🌍",
        "⚠️ careful",
        "👨‍👩‍👧 family",
        "می‌خواهم",
        "🏳️‍🌈",
    ] {
        assert_eq!(hidden_character(text), None, "{text:?}");
    }
}

#[test]
fn what_nobody_sees_is_found() {
    for (text, c) in [
        ("a\u{200b}b", '\u{200b}'),
        ("a\u{202e}b", '\u{202e}'),
        ("a\u{2066}b", '\u{2066}'),
        ("a\u{e0041}b", '\u{e0041}'),
        ("\u{feff}a", '\u{feff}'),
        ("a\u{200d}b", '\u{200d}'),
        ("a\x1b[8m", '\x1b'),
        ("\u{fe0f}", '\u{fe0f}'),
    ] {
        assert_eq!(hidden_character(text), Some(c), "{text:?}");
    }
}
