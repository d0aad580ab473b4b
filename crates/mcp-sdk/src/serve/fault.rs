//! Errors for requests that can't be served.

use crate::message::{self, Message};
use gemini_tools_core::json;
use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CustomRequest, ErrorCode, InitializeRequestParams, InitializeResult,
    JsonRpcMessage, PaginatedRequestParams, RequestId,
};
use rmcp::service::{RequestContext, RxJsonRpcMessage};
use rmcp::{ErrorData, RoleServer, ServerHandler};

/// Returns the error for a request that the SDK could not read: it has an unknown method, or one of
/// those `served` with parameters that don't fit.
pub(super) fn unknown_request(request: &CustomRequest, served: &[&str]) -> ErrorData {
    let method = &request.method;
    if served.contains(&&**method) {
        // The parameters of a call are written by a model, which needs to know what is wrong with
        // them.
        let why = (method == "tools/call").then(|| {
            let params = request.params.clone().unwrap_or_default();
            json::from_value::<CallToolRequestParams>(params).err()
        });
        let why = why
            .flatten()
            .map_or_else(String::new, |why| format!(" ({why})"));
        let message = format!("The parameters of {method} can't be used{why}.");
        return ErrorData::invalid_params(message, None);
    }
    no_method(method)
}

pub(super) fn no_method(method: &str) -> ErrorData {
    let message = format!("There is no method {method:?} here.");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

pub(super) fn has_begun() -> ErrorData {
    ErrorData::invalid_request("The session has begun: initialize comes once.", None)
}

/// Begins a session in the version that is agreed on. The SDK's own handler would keep the one that
/// the client has asked for, and send it what only that version has.
pub(super) fn begin(
    handler: &impl ServerHandler,
    mut request: InitializeRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<InitializeResult, ErrorData> {
    let head = context.extensions.get::<Parts>();
    if head.is_some_and(|head| head.headers.contains_key(super::http::SESSION)) {
        return Err(has_begun());
    }
    let agreed = handler.negotiate_initialize(&request)?;
    request.protocol_version = agreed.protocol_version.clone();
    context.peer.set_peer_info(request);
    Ok(agreed)
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
    (served: $served:expr) => {
        async fn on_custom_request(
            &self,
            request: rmcp::model::CustomRequest,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::CustomResult, rmcp::ErrorData> {
            Err($crate::serve::fault::unknown_request(&request, $served))
        }

        async fn initialize(
            &self,
            request: rmcp::model::InitializeRequestParams,
            context: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::InitializeResult, rmcp::ErrorData> {
            $crate::serve::fault::begin(self, request, &context)
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

/// Returns the error for a request with the id of another one. It must not have that id: it would
/// be taken for the answer to the other request.
pub(super) fn id_in_use(id: &RequestId) -> ErrorData {
    let message = format!("The id {id} is that of a request that is not answered yet.");
    ErrorData::invalid_request(message, None)
}

pub(super) fn read(
    text: &[u8],
) -> Result<RxJsonRpcMessage<RoleServer>, (ErrorData, Option<RequestId>)> {
    let refusal = |id| {
        let message = "The request's parameters can't be used.";
        (ErrorData::invalid_params(message, None), id)
    };
    match message::read(text) {
        Message::Request(id, value) => json::from_value(value).map_err(|_| refusal(Some(id))),
        Message::Notification(value) => json::from_value(value).map_err(|_| refusal(None)),
        Message::Response(id, result) => Ok(match json::from_value(result) {
            Ok(result) => JsonRpcMessage::response(result, id),
            Err(e) => JsonRpcMessage::error(message::unusable(&e.to_string()), Some(id)),
        }),
        Message::Error(id, error) => Ok(JsonRpcMessage::error(error, id)),
        Message::Unreadable(id, error) => Err((error, id)),
    }
}
