//! What kind of value each keyword of JSON Schema takes.
//!
//! An API that holds schemas against the meta-schema refuses the whole request for one `null` or
//! one number in quotes.

use serde_json::Value;

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Boolean,
    Number,
    AboveZero,
    Count,
    Schema,
    /// `items`, which was a list of schemas in older drafts.
    SchemaOrSchemas,
    Schemas,
    NamedSchemas,
    List,
}

const KINDS: [(Kind, &[&str]); 10] = [
    (
        Kind::Text,
        &[
            "title",
            "description",
            "format",
            "pattern",
            "contentEncoding",
            "contentMediaType",
            "$comment",
            "$id",
            "$schema",
            "$ref",
            "$anchor",
            "$dynamicRef",
            "$dynamicAnchor",
        ],
    ),
    (
        Kind::Boolean,
        &["uniqueItems", "readOnly", "writeOnly", "deprecated"],
    ),
    (
        Kind::Number,
        &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
    ),
    (Kind::AboveZero, &["multipleOf"]),
    (
        Kind::Count,
        &[
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ],
    ),
    (
        Kind::Schema,
        &[
            "not",
            "if",
            "then",
            "else",
            "contains",
            "propertyNames",
            "additionalProperties",
            "additionalItems",
            "unevaluatedItems",
            "unevaluatedProperties",
        ],
    ),
    (Kind::SchemaOrSchemas, &["items"]),
    (Kind::Schemas, &["anyOf", "oneOf", "allOf", "prefixItems"]),
    (
        Kind::NamedSchemas,
        &[
            "properties",
            "patternProperties",
            "dependentSchemas",
            "$defs",
            "definitions",
        ],
    ),
    (Kind::List, &["examples"]),
];

/// What a keyword takes, where this value is not of that kind.
pub(super) fn mismatch(keyword: &str, value: &Value) -> Option<&'static str> {
    let mut kinds = KINDS.iter();
    let (kind, _) = kinds.find(|(_, keywords)| keywords.contains(&keyword))?;
    (!kind.fits(value)).then(|| kind.name())
}

/// Whether a value is a schema, and not something else in its place.
pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Kind::Text => value.is_string(),
            Kind::Boolean => value.is_boolean(),
            Kind::Number => value.is_number(),
            Kind::AboveZero => value.as_f64().is_some_and(|number| number > 0.0),
            Kind::Count => value
                .as_f64()
                .is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            Kind::Schema => is_schema(value),
            Kind::SchemaOrSchemas => is_schema(value) || value.is_array(),
            Kind::Schemas => value.as_array().is_some_and(|list| !list.is_empty()),
            Kind::NamedSchemas => value.is_object(),
            Kind::List => value.is_array(),
        }
    }

    /// For a message.
    fn name(self) -> &'static str {
        match self {
            Kind::Text => "a text",
            Kind::Boolean => "true or false",
            Kind::Number => "a number",
            Kind::AboveZero => "a number above 0",
            Kind::Count => "a whole number, 0 or more",
            Kind::Schema | Kind::SchemaOrSchemas => "a schema",
            Kind::Schemas => "a list of schemas that is not empty",
            Kind::NamedSchemas => "an object whose values are schemas",
            Kind::List => "a list",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mismatch;
    use serde_json::json;

    #[test]
    fn a_keyword_takes_values_of_its_kind_only() {
        for (keyword, good, bad) in [
            ("description", json!("d"), json!(null)),
            ("uniqueItems", json!(true), json!("true")),
            ("minimum", json!(-1.5), json!("1")),
            ("multipleOf", json!(0.1), json!(0)),
            ("minLength", json!(2.0), json!(1.5)),
            ("maxItems", json!(0), json!(-1)),
            ("additionalProperties", json!(false), json!("no")),
            ("items", json!([{}]), json!(3)),
            ("anyOf", json!([{}]), json!([])),
            ("properties", json!({}), json!([])),
            ("examples", json!([1]), json!(1)),
        ] {
            assert_eq!(mismatch(keyword, &good), None, "{keyword}");
            assert!(mismatch(keyword, &bad).is_some(), "{keyword}");
        }
        for anything in ["default", "const", "enum", "x-own"] {
            assert_eq!(mismatch(anything, &json!(null)), None, "{anything}");
        }
    }
}
