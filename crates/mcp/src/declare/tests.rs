use super::declare;
use gemini_tools_core::declarations::{Names, compile};
use gemini_tools_core::diagnostic::Severity;
use serde_json::{Value, json};

fn one(schema: &Value) -> Result<Value, String> {
    let tool = json!({"name": "t", "description": "d", "inputSchema": schema});
    let (tools, findings) = declare("s", &[tool]);
    match tools.first() {
        Some(tool) => {
            let text = format!("{}}}", tool.text);
            let mut value: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(value["name"], "s__t");
            Ok(value["parametersJsonSchema"].take())
        }
        None => Err(findings[0].text()),
    }
}

#[test]
fn a_server_is_judged_as_everybody_else_is() {
    for schema in [
        json!({"type": "object", "properties": {"x": {"description": "d"}}}),
        json!({"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {}]}}}),
        json!([]),
        json!({"type": "string"}),
        json!({"type": "object", "properties": {"x": {"$ref": "other.json"}}}),
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}}),
        json!({"type": "object", "properties": {"x": {"$ref": "#"}}}),
        json!({"$schema": "s", "properties": {"a": {"$ref": "#/$defs/a", "description": "d"},
            "e": {"enum": ["x"]}, "u": {"type": "STRING", "format": "uri"}},
            "$defs": {"a": {"type": "integer"}}}),
    ] {
        let custom = json!({"name": "t", "description": "d", "parametersJsonSchema": schema});
        let mut names = Names::new(Names::LONGEST);
        let custom = compile(&custom, &mut names, &mut Vec::new());
        let custom = custom.map(|c| c.schema).map_err(|f| f.text());
        assert_eq!(one(&schema), custom, "{schema}");
    }
    assert_eq!(one(&Value::Null).expect("made")["type"], "object");
}

#[test]
fn what_is_left_out_is_said_before_what_was_repaired() {
    let (tools, findings) = declare(
        "s",
        &[
            json!({"name": "a", "inputSchema": {"properties": {"x": {"type": "int"}}}}),
            json!({"name": "b", "inputSchema": {"type": "string"}}),
        ],
    );
    assert_eq!(tools.len(), 1);
    assert_eq!(findings[0].severity, Severity::Error);
    assert!(findings[0].text().starts_with("b: type: "), "{findings:?}");
    let has = |rule: &str| {
        findings
            .iter()
            .any(|f| f.place.tool == "a" && f.code == rule)
    };
    assert!(has("type-name") && has("no-description"), "{findings:?}");
}

#[test]
fn a_tool_with_invisible_text_is_left_out() {
    for text in [
        "a\u{200b}b",
        "a\u{202e}b",
        "a\u{e0041}",
        "a\u{1b}[0m",
        "a\u{200d}b",
    ] {
        for tool in [
            json!({"name": "t", "description": text}),
            json!({"name": "t", "annotations": {"title": text}}),
            json!({"name": "t", "inputSchema": {"type": "object",
                "properties": {"x": {"type": "string", "description": text}}}}),
            json!({"name": "t", "inputSchema": {"type": "object", "properties": {text: {}}}}),
            json!({"name": text}),
        ] {
            let (tools, findings) = declare("s", std::slice::from_ref(&tool));
            assert!(tools.is_empty(), "{tool}");
            assert_eq!(findings[0].code, "hidden-text");
        }
    }
    let fine = json!({"name": "t", "description": "Größe\n👩\u{200d}🚀 می\u{200c}خواهم",
        "icons": [{"src": "a\u{200b}"}], "_meta": {"x": "a\u{200b}"}});
    assert_eq!(declare("s", &[fine]).0.len(), 1);
}

#[test]
fn one_bad_tool_costs_only_itself() {
    let (tools, findings) = declare(
        "s",
        &[
            json!({"name": "b"}),
            json!({"name": "b"}),
            json!(7),
            json!({"name": "a b"}),
            json!({"name": "a_b"}),
            json!({"name": "a"}),
        ],
    );
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    // Which of two with one name is called depends on the settings, which may leave one out.
    assert_eq!(names, ["s__a", "s__a_b", "s__a_b", "s__b"]);
    let errors = findings.iter().filter(|f| f.severity == Severity::Error);
    assert_eq!(errors.count(), 2, "{findings:?}");
}
