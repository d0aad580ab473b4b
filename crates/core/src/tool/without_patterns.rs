//! Stands in for patterns without the feature `patterns`: the packages for regular expressions
//! take longer to compile than all else that a program with one tool needs.

use std::marker::PhantomData;

pub(super) const ARE_CHECKED: bool = false;

#[derive(Default)]
pub(super) struct Patterns<'a>(PhantomData<&'a str>);

impl<'a> Patterns<'a> {
    #[expect(clippy::unused_self, reason = "as with patterns")]
    pub(super) fn fit(&mut self, _: &'a str, _: &str) -> Option<bool> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::tool::Schema;
    use serde_json::json;

    #[test]
    fn a_schema_with_patterns_is_refused_and_one_that_only_names_them_is_not() {
        let args = json!({});
        for (schema, is_checked) in [
            (json!({"properties": {"a": {"pattern": "^a"}}}), false),
            (json!({"patternProperties": {"^a": true}}), false),
            (
                json!({"anyOf": [true, {"$defs": {"a": {"pattern": ""}}}]}),
                false,
            ),
            (
                json!({"properties": {"pattern": {"default": {"pattern": "a"}}}}),
                true,
            ),
        ] {
            let result = Schema::from_value(schema.clone()).validate(&args);
            assert_eq!(result.is_ok(), is_checked, "{schema}");
        }
    }
}
