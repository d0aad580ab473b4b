use super::check;
use serde_json::{Value, json};

/// Schemas, each with values that fit and values that don't.
fn cases() -> [(Value, Value, Value); 8] {
    let text = json!({"type": "string"});
    [
        (
            json!({"patternProperties": {"^x-": text}, "additionalProperties": false}),
            json!([{"x-a": "y"}, {}, 7]),
            json!([{"y": "y"}, {"x-a": 1}]),
        ),
        (
            json!({"prefixItems": [text], "items": {"type": "number"}}),
            json!([["a", 1, 2], [], ["a"]]),
            json!([["a", "b"], [1]]),
        ),
        (
            json!({"items": [text], "additionalItems": false}),
            json!([["a"], []]),
            json!([["a", "b"], [1]]),
        ),
        (
            json!({"enum": [1, {"a": 2.0}]}),
            json!([1.0, {"a": 2}]),
            json!([true, "1"]),
        ),
        (
            json!({"maxItems": 2.0}),
            json!([[1, 2]]),
            json!([[1, 2, 3]]),
        ),
        (
            json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!([{"a": 1}, {"b": 1}]),
            json!([{"a": 1, "b": 1}, {}]),
        ),
        (json!({"not": text}), json!([1, null]), json!(["a"])),
        (
            json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
            json!([{"ab": 1}]),
            json!([{"A": 1}]),
        ),
    ]
}

fn more_cases() -> [(Value, Value, Value); 6] {
    let text = json!({"type": "string"});
    [
        (
            json!({"$defs": {"n": {"required": ["v"], "properties": {"c": {"items": {"$ref": "#/$defs/n"}}}}}, "$ref": "#/$defs/n"}),
            json!([{"v": 1, "c": [{"v": 1, "c": []}]}]),
            json!([{"v": 1, "c": [{}]}]),
        ),
        (
            json!({"$defs": {"x": {"$anchor": "here", "type": "string"}}, "$ref": "#here", "minLength": 2}),
            json!(["ab"]),
            json!(["a", 1]),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"x": text},
                "$ref": "#/definitions/x", "minLength": 2}),
            json!(["a"]),
            json!([1]),
        ),
        (
            json!({"properties": {"a": false}}),
            json!([{}]),
            json!([{"a": 1}]),
        ),
        // Unknown keywords are ignored.
        (
            json!({"if": {"required": ["a"]}, "then": false, "contains": false, "dependentRequired": {"a": ["b"]},
                "unevaluatedProperties": false, "$dynamicRef": "#nowhere", "format": "date"}),
            json!([{"a": 1}, [1], "b"]),
            json!([]),
        ),
        // What can't be checked is left to the tool.
        (
            json!({"$ref": "#/nowhere", "patternProperties": {"(": text}, "pattern": "(", "additionalProperties": false}),
            json!([{"a": 1}, "b"]),
            json!([]),
        ),
    ]
}

#[test]
fn every_keyword_that_declarations_have_counts_and_no_other() {
    for (schema, good, bad) in cases().into_iter().chain(more_cases()) {
        for value in good.as_array().expect("a list") {
            assert_eq!(check(&schema, value), Ok(()), "{schema} {value}");
        }
        for value in bad.as_array().expect("a list") {
            assert!(check(&schema, value).is_err(), "{schema} {value}");
        }
    }
}

#[test]
fn messages_say_where_and_what_was_expected() {
    for (schema, value, expected) in [
        (
            json!({"patternProperties": {"^x-": true}, "properties": {"a": true}, "additionalProperties": false}),
            json!({"b": 1}),
            "\"b\" is not known; what is known: a, ^x-.",
        ),
        (
            json!({"properties": {"l": {"prefixItems": [{"type": "string"}]}}}),
            json!({"l": [1]}),
            "\"l[0]\" must be a string, but it is the number 1.",
        ),
        (
            json!({"not": {"required": ["a"]}}),
            json!({"a": 1}),
            "The arguments must not fit {\"required\":[\"a\"]}.",
        ),
        (
            json!({"maximum": 9_007_199_254_740_992_u64}),
            json!(9_007_199_254_740_993_u64),
            "The arguments must be at most 9007199254740992, but it is 9007199254740993.",
        ),
    ] {
        assert_eq!(check(&schema, &value), Err(expected.to_owned()));
    }
}

#[test]
fn a_long_list_is_looked_through_once() {
    let unique = json!({"uniqueItems": true});
    let mut items: Vec<Value> = (0..300_000).map(Value::from).collect();
    items.push(json!(299_999));
    let refused = check(&unique, &Value::from(items));
    let message = refused.expect_err("the last one is there twice");
    assert!(message.contains("299999"), "{message}");
    for (value, fits) in [
        (json!([1, true, "1", [1], {"a": 1}, null, false, 0]), true),
        (json!([{"a": 1, "b": [2]}, {"a": 1, "b": [2]}]), false),
    ] {
        assert_eq!(check(&unique, &value).is_ok(), fits, "{value}");
    }
}

#[test]
fn a_reference_is_looked_up_once() {
    let mut definitions = serde_json::Map::new();
    for i in 0..20_000 {
        definitions.insert(format!("d{i}"), json!({"description": "d"}));
    }
    definitions.insert(
        "last".to_owned(),
        json!({"$anchor": "here", "type": "integer"}),
    );
    let schema = json!({"$defs": definitions, "items": {"$ref": "#here"}});
    let mut items: Vec<Value> = (0..20_000).map(Value::from).collect();
    assert_eq!(check(&schema, &Value::from(items.clone())), Ok(()));
    items.push("a".into());
    assert!(check(&schema, &Value::from(items)).is_err());
}

#[test]
fn a_schema_that_never_comes_to_an_end_is_left_to_the_tool() {
    let own = json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
    assert_eq!(check(&own, &json!(1)), Ok(()));
    let mut definitions = serde_json::Map::new();
    for i in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
        definitions.insert(format!("d{i}"), json!({"anyOf": [next, next]}));
    }
    definitions.insert("d60".to_owned(), false.into());
    let large = json!({"$defs": definitions, "not": {"not": {"$ref": "#/$defs/d0"}}});
    assert_eq!(check(&large, &json!(1)), Ok(()));
    let deep = json!({"items": {"$ref": "#"}, "minItems": 1});
    let value = (0..120).fold(json!([1]), |value, _| json!([value]));
    assert_eq!(check(&deep, &value), Ok(()));
}
