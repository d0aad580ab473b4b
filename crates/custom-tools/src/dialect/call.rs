//! Reads calls in the formats of other APIs and hosts, and writes results in the matching format.

use super::Dialect;
use super::reply;
use gemini_tools_core::answer::Answer;
use gemini_tools_core::json;
use gemini_tools_core::registry::bare_name;
use gemini_tools_core::tool::ToolError;
use serde_json::{Value, json};

/// One call in a message.
#[derive(Debug)]
pub struct DialectCall {
    /// The id that the answer must refer to.
    pub id: String,
    /// The tool's name as the caller writes it.
    pub name: String,
    /// The call's arguments, or why they can't be read.
    pub args: Result<Value, ToolError>,
}

/// The calls in a message, and the format in which they are answered.
#[derive(Debug)]
pub struct DialectRequest {
    /// The calls, in order.
    pub calls: Vec<DialectCall>,
    shape: Shape,
    is_list: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    ToolMessage,
    Output,
    ToolResult,
    UserMessage,
}

/// Why a message contains no call, to be reported in its dialect.
#[derive(Debug)]
pub struct DialectError {
    dialect: Dialect,
    message: String,
}

impl DialectError {
    /// Creates an error about a message that is not a call.
    pub fn new(dialect: Dialect, message: impl Into<String>) -> Self {
        Self {
            dialect,
            message: message.into(),
        }
    }

    /// Returns the JSON to answer with.
    pub fn to_value(&self) -> Value {
        let error = json!({"type": "invalid_request_error", "message": self.message});
        match self.dialect {
            Dialect::Anthropic => json!({"type": "error", "error": error}),
            _ => json!({"error": error}),
        }
    }
}

impl DialectRequest {
    /// Reads a call, or a message with several.
    ///
    /// # Errors
    ///
    /// Returns an error in the message's dialect. If just a call's arguments are malformed, that is
    /// not an error here, but in [`DialectCall::args`].
    pub fn read(dialect: Dialect, text: &[u8]) -> Result<Self, DialectError> {
        let text = text
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(text)
            .trim_ascii();
        let refuse = |message: String| DialectError::new(dialect, message);
        if text.is_empty() {
            return Err(refuse(
                "There is no call on standard input; give one as JSON.".to_owned(),
            ));
        }
        let value =
            json::read(text).map_err(|e| refuse(format!("The call is not valid JSON: {e}.")))?;
        match dialect {
            Dialect::Anthropic => anthropic(value),
            _ => openai(value),
        }
        .map_err(refuse)
    }

    /// Returns the message that answers all calls, in order.
    pub fn answer(&self, answers: &[Answer<'_>]) -> Value {
        let all = self.calls.iter().zip(answers);
        let mut list: Vec<Value> = all
            .map(|(call, answer)| match self.shape {
                Shape::ToolMessage => json!({"role": "tool", "tool_call_id": call.id,
                    "content": reply::text(answer)}),
                Shape::Output => json!({"type": "function_call_output", "call_id": call.id,
                    "output": reply::for_responses(answer)}),
                Shape::ToolResult | Shape::UserMessage => reply::tool_result(&call.id, answer),
            })
            .collect();
        match self.shape {
            Shape::UserMessage => json!({"role": "user", "content": list}),
            _ if self.is_list => list.into(),
            _ => list.pop().unwrap_or_default(),
        }
    }

    fn one(call: DialectCall, shape: Shape) -> Self {
        Self {
            calls: vec![call],
            shape,
            is_list: false,
        }
    }

    fn several(calls: Vec<DialectCall>, shape: Shape, none: String) -> Result<Self, String> {
        if calls.is_empty() {
            return Err(none);
        }
        Ok(Self {
            calls,
            shape,
            is_list: true,
        })
    }
}

impl DialectCall {
    /// Returns true if the call is of the tool `name`, even if one of the two names was changed to
    /// fit an API.
    pub fn is_of(&self, name: &str) -> bool {
        let (own, other) = (bare_name(&self.name), bare_name(name));
        own == other
            || gemini_tools_core::names::is_mapped(other, own)
            || gemini_tools_core::names::is_mapped(own, other)
    }
}

fn text_at(value: &Value, key: &str) -> Result<String, String> {
    match &value[key] {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Null => Err(format!("{key:?} is missing in the call.")),
        other => Err(format!(
            "{key:?} of the call must be a text that is not empty, but it is {other}."
        )),
    }
}

/// Parses arguments. `OpenAI` sends them as a string that contains JSON; other servers with the
/// same API send them as JSON.
fn openai_args(value: &Value) -> Result<Value, ToolError> {
    match value {
        Value::Null => Ok(json!({})),
        Value::String(text) if text.trim().is_empty() => Ok(json!({})),
        Value::String(text) => json::read(text.as_bytes()).map_err(|e| {
            ToolError::invalid(format!("\"arguments\" is not valid JSON: {e}."))
                .with_hint(r#"Give a text that holds one object, such as "{\"path\":\"src\"}"."#)
        }),
        other => Ok(other.clone()),
    }
}

const OPENAI_SHAPES: &str = "Give a tool call {\"id\":…,\"type\":\"function\",\"function\":\
    {\"name\":…,\"arguments\":\"{…}\"}}, a message with \"tool_calls\", or an item of the type \
    \"function_call\".";

fn openai(mut value: Value) -> Result<DialectRequest, String> {
    if let Some(Value::Array(choices)) = value.get_mut("choices") {
        let first = choices.first_mut().map(|choice| choice["message"].take());
        value = first.ok_or("\"choices\" is empty: there is no message in it.")?;
    }
    if let Some(Value::Array(calls)) = value.get_mut("tool_calls") {
        return tool_calls(calls);
    }
    if let Some(Value::Array(items)) = value.get_mut("output") {
        return function_calls(items);
    }
    match value {
        Value::Array(items) if items.iter().any(|item| item.get("function").is_some()) => {
            tool_calls(&items)
        }
        Value::Array(items) => function_calls(&items),
        one if one["type"] == "function_call" => {
            Ok(DialectRequest::one(function_call(&one)?, Shape::Output))
        }
        one if one["function"].is_object() => {
            Ok(DialectRequest::one(tool_call(&one)?, Shape::ToolMessage))
        }
        _ => Err(format!("That is not a call of a tool. {OPENAI_SHAPES}")),
    }
}

fn tool_calls(calls: &[Value]) -> Result<DialectRequest, String> {
    let calls: Result<Vec<DialectCall>, String> = calls.iter().map(tool_call).collect();
    let none = "\"tool_calls\" is empty: there is nothing to call.";
    DialectRequest::several(calls?, Shape::ToolMessage, none.to_owned())
}

fn tool_call(call: &Value) -> Result<DialectCall, String> {
    let function = &call["function"];
    if !function.is_object() {
        return Err(format!(
            "\"function\" is missing in a call. {OPENAI_SHAPES}"
        ));
    }
    Ok(DialectCall {
        id: text_at(call, "id")?,
        name: text_at(function, "name")?,
        args: openai_args(&function["arguments"]),
    })
}

fn function_calls(items: &[Value]) -> Result<DialectRequest, String> {
    let calls = items.iter().filter(|item| item["type"] == "function_call");
    let calls: Result<Vec<DialectCall>, String> = calls.map(function_call).collect();
    let none = format!("There is no call of a tool in it. {OPENAI_SHAPES}");
    DialectRequest::several(calls?, Shape::Output, none)
}

fn function_call(item: &Value) -> Result<DialectCall, String> {
    Ok(DialectCall {
        id: text_at(item, "call_id")?,
        name: text_at(item, "name")?,
        args: openai_args(&item["arguments"]),
    })
}

fn anthropic(mut value: Value) -> Result<DialectRequest, String> {
    const SHAPES: &str = "Give a block {\"type\":\"tool_use\",\"id\":…,\"name\":…,\"input\":{…}}, \
        or a message with such blocks in its \"content\".";
    let use_of = |block: &Value| -> Result<DialectCall, String> {
        Ok(DialectCall {
            id: text_at(block, "id")?,
            name: text_at(block, "name")?,
            args: Ok(match &block["input"] {
                Value::Null => json!({}),
                input => input.clone(),
            }),
        })
    };
    if value["type"] == "tool_use" {
        return Ok(DialectRequest::one(use_of(&value)?, Shape::ToolResult));
    }
    let (blocks, shape) = match value.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => (blocks, Shape::UserMessage),
        Some(_) => return Err(format!("The message holds only text. {SHAPES}")),
        None => match value {
            Value::Array(blocks) => (blocks, Shape::ToolResult),
            _ => return Err(format!("That is not a call of a tool. {SHAPES}")),
        },
    };
    let uses = blocks.iter().filter(|block| block["type"] == "tool_use");
    let calls: Result<Vec<DialectCall>, String> = uses.map(use_of).collect();
    let none = format!("There is no block \"tool_use\" in it. {SHAPES}");
    DialectRequest::several(calls?, shape, none)
}
