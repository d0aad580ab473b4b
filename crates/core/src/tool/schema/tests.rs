use super::Schema;
use serde_json::{Value, json};

fn message(schema: Value, value: &Value) -> String {
    match Schema::from_value(schema).validate(value) {
        Ok(()) => String::new(),
        Err(e) => e.message,
    }
}

#[test]
fn messages_name_the_argument_and_what_was_expected() {
    let schema = json!({"type":"object","required":["a"],"properties":{
        "a":{"type":"string","minLength":1},"n":{"type":"integer","minimum":0,"maximum":9},
        "l":{"type":"array","minItems":1,"items":{"type":"string"}},
        "o":{"type":"object","properties":{"b":{"type":"boolean"}}},
        "e":{"enum":["x","y"]},
        "u":{"anyOf":[{"type":"string"},{"type":"number"}]}}});
    let cases = [
        (json!({}), r#""a" is missing; it is required."#),
        (json!({"a":""}), r#""a" must not be empty."#),
        (
            json!({"a":1}),
            r#""a" must be a string, but it is the number 1."#,
        ),
        (
            json!({"a":"x","n":1.5}),
            r#""n" must be an integer, but it is the number 1.5."#,
        ),
        (
            json!({"a":"x","n":-1}),
            r#""n" must be at least 0, but it is -1."#,
        ),
        (
            json!({"a":"x","n":10}),
            r#""n" must be at most 9, but it is 10."#,
        ),
        (
            json!({"a":"x","l":[]}),
            r#""l" must hold at least 1 element, not 0."#,
        ),
        (
            json!({"a":"x","l":["k",null]}),
            r#""l[1]" must be a string, but it is null."#,
        ),
        (
            json!({"a":"x","o":{"b":"no"}}),
            r#""o.b" must be a boolean, but it is the string "no"."#,
        ),
        (
            json!({"a":"x","e":"z"}),
            r#""e" must be one of "x", "y", but it is the string "z"."#,
        ),
        (
            json!({"a":"x","u":[]}),
            r#""u" must be a string, but it is an array."#,
        ),
        (
            json!([]),
            "The arguments must be an object, but it is an array.",
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(message(schema.clone(), &value), expected, "{value}");
    }
    let good = json!({"a":"x","n":5.0,"l":["k"],"o":{},"e":"y","u":3,"other":null});
    assert_eq!(message(schema, &good), "");
}

#[test]
fn the_keywords_of_other_peoples_schemas_count() {
    let cases = [
        (
            json!({"type":"string","maxLength":2}),
            json!("abc"),
            "at most 2 characters",
        ),
        (
            json!({"type":"string","pattern":"^[a-z]+$"}),
            json!("A1"),
            "must match ^[a-z]+$",
        ),
        (
            json!({"type":"number","exclusiveMaximum":1}),
            json!(1),
            "less than 1",
        ),
        (
            json!({"type":"number","multipleOf":0.1}),
            json!(0.25),
            "a multiple of 0.1",
        ),
        (
            json!({"type":"array","maxItems":1}),
            json!([1, 2]),
            "at most 1 element",
        ),
        (
            json!({"type":"array","uniqueItems":true}),
            json!([1, 1]),
            "twice",
        ),
        (
            json!({"type":"object","minProperties":1}),
            json!({}),
            "at least 1 property, not 0",
        ),
        (json!({"const":"a"}), json!("b"), "must be \"a\""),
        (
            json!({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}),
            json!({"b":1}),
            "\"b\" is not known; what is known: a.",
        ),
        (
            json!({"type":"object","additionalProperties":{"type":"string"}}),
            json!({"b":1}),
            "\"b\" must be a string",
        ),
    ];
    for (schema, value, expected) in cases {
        let text = message(schema, &value);
        assert!(text.contains(expected), "{value}: {text}");
    }
    assert_eq!(
        message(json!({"type":"number","multipleOf":0.1}), &json!(0.3)),
        ""
    );
}
