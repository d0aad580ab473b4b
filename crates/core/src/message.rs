//! Messages of the Gemini API, whose parts hold the answers of tools.
//!
//! Field names and shapes follow the public `v1beta` API; fields that this crate does not know
//! are kept.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A part of a message: text, media, a call or a response to a call.
///
/// Normally one of the optional fields is set, beside which `thought` and `thought_signature` may
/// be. Fields that this crate does not know are kept in [`Part::other`], so that a part that is
/// sent back is unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Media in the message itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline_data: Option<Blob>,
    /// True for a thought of the model, which is shown apart and not sent back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought: Option<bool>,
    /// A signature that must be sent back with this part. Newer models refuse a call without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// A call that the model wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_call: Option<FunctionCall>,
    /// Media by address, as `{mimeType, fileUri}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_data: Option<Value>,
    /// The answer to a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_response: Option<FunctionResponse>,
    /// All other fields, unchanged.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Part {
    /// Makes a part that holds only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Makes the answer to a call: `{"output": …}` or `{"error": …}`.
    pub fn function_response(id: Option<&str>, name: &str, response: Value) -> Self {
        Self {
            function_response: Some(FunctionResponse {
                id: id.map(str::to_owned),
                name: name.to_owned(),
                response,
                parts: Vec::new(),
            }),
            ..Self::default()
        }
    }

    /// Makes a part that holds media; `data` is base64.
    pub fn inline_data(mime_type: impl Into<String>, data: String) -> Self {
        Self {
            inline_data: Some(Blob {
                mime_type: mime_type.into(),
                data,
            }),
            ..Self::default()
        }
    }
}

/// Media in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// The media type, such as `image/png`.
    pub mime_type: String,
    /// The bytes in base64 with padding.
    pub data: String,
}

/// The answer to a function call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionResponse {
    /// The call's id, where the caller gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// `{"output": …}` or `{"error": …}`.
    pub response: Value,
    /// Media that belong to the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// `user` or `model`; a response may omit it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The message's parts; a response may omit them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub parts: Vec<Part>,
}

impl Content {
    /// Makes a message of `user` or `model`.
    pub fn new(role: &str, parts: Vec<Part>) -> Self {
        let role = role.to_owned();
        Self { role, parts }
    }

    /// Makes a message of the user that consists of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new("user", vec![Part::text(text)])
    }
}

/// Deserializes `null` as the default value. Some servers write `null` for a missing field.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A call that the model wants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The call's id, where the model gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The function's name.
    #[serde(default)]
    pub name: String,
    /// The arguments, an object. Empty if the model omitted it. Anything else that the model gave is
    /// under [`NO_OBJECT`].
    #[serde(default, deserialize_with = "arguments")]
    pub args: Map<String, Value>,
    /// All other fields, unchanged.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The name of the only argument of a call whose arguments are not an object. No tool has such an
/// argument, so the call can be refused, and the model sees what it has given.
pub const NO_OBJECT: &str = "(not an object)";

fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(args) => args,
        Value::Null => Map::new(),
        other => Map::from_iter([(NO_OBJECT.to_owned(), other)]),
    })
}
