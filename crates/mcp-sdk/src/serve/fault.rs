//! Errors for requests that can't be served.

use gemini_tools_core::json;
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, ErrorCode, PaginatedRequestParams, RequestId};
use serde::Deserialize;
use serde_json::Value;

pub(super) fn unknown_request(request: &CustomRequest) -> ErrorData {
    let method = &request.method;
    if matches!(&**method, "tools/call" | "tools/list") {
        let message = format!("The parameters of {method} can't be used.");
        return ErrorData::invalid_params(message, None);
    }
    no_method(method)
}

pub(super) fn no_method(method: &str) -> ErrorData {
    let message = format!("There is no method {method:?} here.");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// Defines handlers that reject requests for which no capability is declared. The SDK's default
/// handlers would answer them with empty lists, as if they were supported.
macro_rules! refuse_what_is_not_declared {
    ($($name:ident($request:ty) -> $result:ty = $method:literal;)+) => {$(
        async fn $name(
            &self,
            _: $request,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<$result, rmcp::ErrorData> {
            Err($crate::serve::fault::no_method($method))
        }
    )+};
    () => {
        async fn on_custom_request(
            &self,
            request: rmcp::model::CustomRequest,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::CustomResult, rmcp::ErrorData> {
            Err($crate::serve::fault::unknown_request(&request))
        }

        async fn ping(
            &self,
            context: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<(), rmcp::ErrorData> {
            // Protocol versions without a handshake have no `ping`.
            if $crate::serve::rounds::are_needed(context.protocol_version().as_ref()) {
                return Err($crate::serve::fault::no_method("ping"));
            }
            Ok(())
        }
    };
}
pub(super) use refuse_what_is_not_declared;

/// Rejects a page cursor: every list of this server has a single page, so no cursor was ever
/// issued.
pub(super) fn refuse_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) => {
            let message = format!("There is no page {cursor:?} of the list.");
            Err(ErrorData::invalid_params(message, None))
        }
        None => Ok(()),
    }
}

/// Returns the error for text that is not a valid message, and the request's id if it can be read,
/// so that the client can match the error to its request.
pub(super) fn unreadable_message(text: &[u8]) -> (ErrorData, Option<RequestId>) {
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
        // Only protocol version 2025-03-26 had batches.
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
    use super::unreadable_message;
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
            let (error, found) = unreadable_message(line.as_bytes());
            assert_eq!(error.code.0, code, "{line}");
            let found = found.map(|id| serde_json::to_string(&id).expect("JSON"));
            assert_eq!(found.as_deref(), id, "{line}");
            assert!(serde_json::to_value(error).is_ok_and(|e: Value| e["message"].is_string()));
        }
    }
}
