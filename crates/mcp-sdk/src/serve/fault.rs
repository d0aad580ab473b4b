//! Answers to bytes that are not a message.

use gemini_tools_core::json;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, RequestId};
use serde::Deserialize;
use serde_json::Value;

/// Returns the error of a text that could not be read as a message, and the id of its answer.
pub(super) fn of(text: &[u8]) -> (ErrorData, Option<RequestId>) {
    if let Err(e) = json::check(text) {
        let message = format!("The message is too large: {e}.");
        return (ErrorData::invalid_request(message, None), None);
    }
    let value = match json::read::<Value>(text) {
        Ok(value) => value,
        Err(e) => {
            let message = format!("The message is not valid JSON: {e}.");
            return (ErrorData::new(ErrorCode::PARSE_ERROR, message, None), None);
        }
    };
    let id = RequestId::deserialize(&value["id"]).ok();
    let message = match &value {
        // The protocol had them in 2025-03-26 only.
        Value::Array(_) => {
            "Batches are not supported: send each message alone, on a line or in a request of its own."
        }
        Value::Object(map) if map.contains_key("method") && id.is_some() => {
            let message = "The request's parameters can't be used.";
            return (ErrorData::invalid_params(message, None), id);
        }
        _ => "That is not a message of JSON-RPC 2.0.",
    };
    (ErrorData::invalid_request(message, None), id)
}

#[cfg(test)]
mod tests {
    use super::of;
    use serde_json::Value;

    #[test]
    fn every_fault_has_its_code_and_names_the_request_where_it_can() {
        for (line, code, id) in [
            ("{", -32700, None),
            ("nonsense", -32700, None),
            ("[]", -32600, None),
            ("1", -32600, None),
            (r#"{"id":"a"}"#, -32600, Some("\"a\"")),
            (r#"{"id":7,"method":"tools/call"}"#, -32602, Some("7")),
        ] {
            let (error, found) = of(line.as_bytes());
            assert_eq!(error.code.0, code, "{line}");
            let found = found.map(|id| serde_json::to_string(&id).expect("JSON"));
            assert_eq!(found.as_deref(), id, "{line}");
            assert!(serde_json::to_value(error).is_ok_and(|e: Value| e["message"].is_string()));
        }
    }
}
