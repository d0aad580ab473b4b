use super::{Answer, Form};
use crate::message::Part;
use crate::tool::{ErrorKind, FoundPlace, LlmContent, PartOrText, ToolError, ToolResult};
use serde_json::{Value, json};

fn print(content: LlmContent, form: Form) -> Value {
    let answer = Answer {
        name: "t",
        id: Some("1"),
        outcome: Ok(ToolResult {
            llm_content: content,
            ..ToolResult::default()
        }),
    };
    serde_json::from_slice(&answer.to_json(form)).expect("JSON")
}

fn response(output: &str) -> Value {
    json!({"functionResponse":{"id":"1","name":"t","response":{"output":output}}})
}

#[test]
fn content_becomes_the_parts_of_the_contract() {
    let image = Part::inline_data("image/png", "AA==".to_owned());
    let image_json = json!({"inlineData":{"mimeType":"image/png","data":"AA=="}});
    let other: Part = serde_json::from_value(json!({"executableCode":{}})).expect("a part");
    let nested: Part = serde_json::from_value(json!({"functionResponse":{"name":"x","response":
        {"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}}))
    .expect("a part");
    let boxed = |p: &Part| PartOrText::Part(Box::new(p.clone()));
    let cases = [
        (LlmContent::Text("hi".into()), vec![response("hi")]),
        (
            LlmContent::Part(Box::new(Part::text("hi"))),
            vec![response("hi")],
        ),
        (
            LlmContent::Part(Box::new(image.clone())),
            vec![
                response("Binary content of type image/png was processed."),
                image_json.clone(),
            ],
        ),
        (
            LlmContent::Part(Box::new(other)),
            vec![response("Tool execution succeeded.")],
        ),
        (LlmContent::Part(Box::new(nested)), vec![response("a\nb")]),
        (
            LlmContent::List(vec![PartOrText::Text("one".into())]),
            vec![response("one")],
        ),
        (
            LlmContent::List(vec![PartOrText::Text("one".into()), boxed(&image)]),
            vec![
                response("Tool execution succeeded."),
                json!({"text":"one"}),
                image_json.clone(),
            ],
        ),
    ];
    for (content, parts) in cases {
        let printed = print(content, Form::Content);
        assert_eq!(printed, json!({"role":"user","parts":parts}));
    }
    let part = print(LlmContent::Part(Box::new(image)), Form::Part);
    assert_eq!(part["functionResponse"]["parts"][0], image_json);
}

#[test]
fn failures_name_their_kind_in_every_form() {
    let answer = Answer {
        name: "t",
        id: None,
        outcome: Err(ToolError::new(ErrorKind::FileNotFound, "No.").with_hint("Look.")),
    };
    let json = |form| -> Value { serde_json::from_slice(&answer.to_json(form)).expect("JSON") };
    assert_eq!(
        json(Form::Response),
        json!({"error":"No. Look.","errorType":"file_not_found"})
    );
    assert_eq!(
        json(Form::Content)["parts"][0]["functionResponse"]["response"],
        json!({"error":"No. Look."})
    );
    assert_eq!(json(Form::Result)["error"]["type"], "file_not_found");
    assert_eq!(answer.exit_status(), 1);
}

#[test]
fn a_text_over_the_limit_says_how_much_is_missing() {
    let lines = "line é\n".repeat(100);
    for outcome in [
        Ok(ToolResult::text(&*lines)),
        Err(ToolError::failed(&*lines)),
    ] {
        let (name, id) = ("t", None);
        let mut answer = Answer { name, id, outcome };
        answer.limit(Some(70), &|_| None);
        let text = answer.to_text();
        assert!(text.starts_with(&"line é\n".repeat(10)), "{text}");
        assert!(text.contains("630 more characters in 90 lines"), "{text}");
    }
}

#[test]
fn places_are_in_the_data_of_a_result_once_and_together() {
    let print = |told: Option<Value>| -> Vec<u8> {
        let mut result = ToolResult::text("x");
        result.locations = Some(vec![FoundPlace::file(*b"a")]);
        if let Some(told) = told {
            result = result.with_data("locations", told).with_data("n", 1);
        }
        let (name, id, outcome) = ("t", None, Ok(result));
        Answer { name, id, outcome }.to_json(Form::Result)
    };
    for (told, data) in [
        (None, r#"{"locations":[{"file":"a"}]}"#),
        (
            Some(json!([{ "file": "b", "line": 2 }])),
            r#"{"n":1,"locations":[{"file":"a"},{"file":"b","line":2}]}"#,
        ),
    ] {
        let printed = String::from_utf8(print(told)).expect("text");
        assert!(printed.contains(&format!(r#""data":{data}"#)), "{printed}");
    }
}

#[test]
fn a_note_is_in_every_text_of_a_result() {
    let mut result = ToolResult::text("whole\n".repeat(50));
    result.view.outline = Some("outline".into());
    result.view.short_text = Some("short".into());
    result.push_note("Note.");
    let mut answer = Answer {
        name: "t",
        id: None,
        outcome: Ok(result),
    };
    assert!(answer.to_host(None, &|_| None).ends_with("Note."));
    answer.limit(Some(200), &|_| None);
    assert!(
        answer.text().starts_with("outline\nNote.\n[Truncated"),
        "{}",
        answer.text()
    );
}
