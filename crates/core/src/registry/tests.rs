use super::{Others, Source, ToolRegistry, is_valid_name};
use crate::tool::{
    Args, Confirmation, Context, ErrorKind, FunctionTool, Kind, LlmContent, Location, Schema,
    TailToolCallRequest, Tool, ToolError, ToolInfo, ToolInvocation, ToolResult,
};
use serde_json::{Map, json};
use std::sync::Arc;

struct Chain {
    name: &'static str,
    next: Option<&'static str>,
    schema: Schema,
}

fn chain(name: &'static str, next: Option<&'static str>) -> Chain {
    Chain {
        name,
        next,
        schema: Schema::from_static(r#"{"type":"object"}"#),
    }
}

struct Call(&'static str, Option<&'static str>);

impl Tool for Chain {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &'static str {
        "For a test."
    }
    fn parameters(&self) -> &Schema {
        &self.schema
    }
    fn info(&self) -> ToolInfo<'_> {
        ToolInfo {
            aliases: if self.name == "called" {
                &["alias"]
            } else {
                &[]
            },
            ..ToolInfo::new(self.name, Kind::Other)
        }
    }
    fn build(&self, _: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        Ok(Box::new(Call(self.name, self.next)))
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        self.0.to_owned()
    }
    fn locations(&self) -> Vec<Location> {
        Vec::new()
    }
    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }
    fn run(self: Box<Self>, _: &Context) -> Result<ToolResult, ToolError> {
        assert_ne!(self.0, "panics", "as asked");
        let mut result = ToolResult::text(self.0);
        result.tail_tool_call_request = self.1.map(|name| TailToolCallRequest {
            name: name.to_owned(),
            args: Map::new(),
        });
        Ok(result)
    }
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::default();
    for tool in [
        chain("first", Some("last")),
        chain("last", None),
        chain("loops", Some("loops")),
        chain("panics", None),
    ] {
        registry.register(tool).expect("a new name");
    }
    registry
}

#[test]
fn a_tail_call_takes_the_place_of_the_first_result() {
    let result = registry()
        .execute("first", json!({}), &Context::default())
        .expect("ends");
    assert_eq!(result.llm_content, LlmContent::Text("last".to_owned()));
}

#[test]
fn a_tail_call_that_needs_approval_is_made_only_where_each_is_judged() {
    let mut registry = registry();
    let writes = |_: serde_json::Value, _: &Context| Ok(ToolResult::text("written"));
    let schema = Schema::from_static(r#"{"type":"object"}"#);
    let writes = FunctionTool::changing("writes", "Writes.", Kind::Edit, schema, writes);
    registry.register(writes).expect("a new name");
    registry
        .register(chain("asks", Some("writes")))
        .expect("a new name");
    let cx = Context::default();
    let error = registry.execute("asks", json!({}), &cx);
    let error = error.expect_err("nobody was asked about writes");
    assert_eq!(error.kind, ErrorKind::PolicyViolation);
    assert!(error.message.contains("a call of writes"), "{error}");
    // `execute` does not judge the first call: its caller has done that.
    registry.execute("writes", json!({}), &cx).expect("made");
    let mut judged = Vec::new();
    let made = registry.execute_judged("asks", json!({}), &cx, |tool, args| {
        judged.push(tool.name().to_owned());
        crate::tool::build(tool, Args::from_value(args)?, &cx)
    });
    assert_eq!(
        made.expect("made").llm_content,
        LlmContent::Text("written".to_owned())
    );
    assert_eq!(judged, ["asks", "writes"]);
}

#[test]
fn tail_calls_that_do_not_end_are_an_error() {
    let error = registry()
        .execute("loops", json!({}), &Context::default())
        .expect_err("never ends");
    assert_eq!(error.kind, ErrorKind::ExecutionFailed);
}

#[test]
fn a_panic_becomes_an_error() {
    let error = registry()
        .execute("panics", json!({}), &Context::default())
        .expect_err("panics");
    assert_eq!(error.kind, ErrorKind::UnhandledException);
    assert!(error.message.contains("panics"), "{error}");
}

#[test]
fn arguments_are_checked_for_a_tool_whose_build_takes_anything() {
    let mut registry = ToolRegistry::default();
    let schema = json!({"type": "object", "required": ["text"], "additionalProperties": false,
        "properties": {"text": {"type": "string"}}});
    let loose = Chain {
        schema: Schema::from_value(schema),
        ..chain("loose", None)
    };
    registry.register(loose).expect("new");
    let cx = Context::default();
    for (args, named) in [
        (json!({}), "\"text\" is missing"),
        (json!({"text": 1}), "\"text\" must be a string"),
        (json!({"text": "a", "other": 1}), "\"other\" is not known"),
    ] {
        let run = registry.execute("loose", args, &cx);
        let error = run.expect_err("refused");
        assert_eq!(error.kind, ErrorKind::InvalidToolParams, "{error}");
        assert!(error.message.contains(named), "{error}");
    }
    // `wait_for_previous` is an argument for the host, so the tool does not get it.
    let args = json!({"text": "a", "wait_for_previous": true});
    registry.execute("loose", args, &cx).expect("taken");
}

#[test]
fn a_name_can_be_taken_once_but_replaced_and_removed() {
    let mut registry = registry();
    assert!(registry.register(chain("last", None)).is_err());
    assert!(
        registry
            .replace(chain("last", None))
            .expect("valid")
            .is_some()
    );
    assert!(registry.unregister("last").is_some());
    assert!(registry.get("last").is_none());
    assert!(registry.register(chain("9lives", None)).is_err());
}

#[test]
fn the_hosts_prefix_is_accepted_and_misses_name_the_nearest() {
    let registry = registry();
    assert_eq!(
        registry.get("discovered_tool_last").expect("found").name(),
        "last"
    );
    let error = registry.missing("zzzzzz", &Others::default());
    assert!(
        error.to_string().contains("first, last, loops, panics"),
        "{error}"
    );
}

#[test]
fn a_tool_of_a_source_is_found_by_its_alias_too() {
    let mut registry = registry();
    registry.add_source(Source::new(|| vec![Arc::new(chain("called", None))]));
    for name in ["called", "alias", "discovered_tool_alias"] {
        assert_eq!(registry.get(name).map(Tool::name), Some("called"), "{name}");
    }
    registry.register(chain("alias", None)).expect("new");
    assert_eq!(registry.get("alias").map(Tool::name), Some("alias"));
}

#[test]
fn names_follow_the_api() {
    assert!(is_valid_name("a.b-c_1") && is_valid_name("_x"));
    for bad in ["", "1a", "a b", "é", &"x".repeat(64)] {
        assert!(!is_valid_name(bad), "{bad}");
    }
}
