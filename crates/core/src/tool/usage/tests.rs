use super::{Names, misnamed};
use crate::tool::{
    Args, Context, ExtraArgument, Kind, Schema, Tool, ToolError, ToolInfo, ToolInvocation, Usage,
};
use serde_json::{Value, json};

pub(in crate::tool) struct Taking(Schema);

pub(in crate::tool) fn taking(schema: Value) -> Taking {
    Taking(Schema::from_value(schema))
}

impl Tool for Taking {
    fn name(&self) -> &'static str {
        "taking"
    }
    fn description(&self) -> &'static str {
        "For a test."
    }
    fn parameters(&self) -> &Schema {
        &self.0
    }
    fn info(&self) -> ToolInfo<'_> {
        ToolInfo::new("Taking", Kind::Other)
    }
    fn usage(&self) -> Usage<'_> {
        const MORE: &[ExtraArgument] = &[ExtraArgument {
            name: "no_ignore",
            kind: "boolean",
            meaning: "Takes all.",
        }];
        Usage {
            renamed: &[("file_path", "absolute_path")],
            paths: &["absolute_path"],
            undeclared: MORE,
            ..Usage::default()
        }
    }
    fn build(&self, _: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        Err(ToolError::invalid("It does nothing."))
    }
}

pub(in crate::tool) fn reader() -> Taking {
    taking(
        json!({"type": "object", "required": ["absolute_path"], "properties": {
        "absolute_path": {"type": "string"}, "limit": {"type": "number"}}}),
    )
}

#[test]
fn a_tool_that_takes_any_arguments_has_no_unknown_ones() {
    let args = || Args::from_value(json!({"zzz": 1})).expect("an object");
    for schema in [
        json!({"type": "object"}),
        json!({"properties": {"a": {}}, "additionalProperties": true}),
        json!({"properties": {"a": {}}, "additionalProperties": {"type": "number"}}),
        json!({"properties": {"a": {}}, "patternProperties": {"^z": {}}}),
        json!({"properties": {"a": {}}, "anyOf": [{"properties": {"zzz": {}}}]}),
        json!({"properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/b"}]}),
    ] {
        let shown = schema.to_string();
        let tool = taking(schema);
        let names = Names::new(&tool);
        assert!(names.unknown(args().as_map()).is_empty(), "{shown}");
    }
    let closed = taking(json!({"properties": {"a": {}}, "additionalProperties": false}));
    assert_eq!(Names::new(&closed).unknown(args().as_map()), ["zzz"]);
}

#[test]
fn a_missing_argument_under_a_wrong_name_is_pointed_out() {
    let said = |args: Value| misnamed(&reader(), &Args::from_value(args).expect("an object"));
    for (args, is_said) in [
        (json!({"file": "a"}), true),
        (json!({"zzz": "a"}), true),
        (json!({"zzz": "a", "yyy": 1}), false),
        (json!({"file_path": "a", "zzz": 1}), false),
        (json!({"wait_for_previous": true}), false),
        (json!({"limit": 1}), false),
    ] {
        let shown = args.to_string();
        assert_eq!(said(args).is_some(), is_said, "{shown}");
    }
}
