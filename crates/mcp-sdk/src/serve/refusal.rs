//! Requests for what no server here has. The SDK answers some of them with an empty result.

use rmcp::ErrorData;
use rmcp::model::{CustomRequest, ErrorCode, PaginatedRequestParams};

/// Requests that the SDK knows. One of these comes as an unknown request if the SDK could not read it.
const KNOWN: [&str; 4] = [
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/list",
];

/// Returns the error of a request whose method is not served.
pub(super) fn no_method(method: &str) -> ErrorData {
    let message = format!("There is no method {method:?} here.");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// Returns the error of a request that the SDK could not read, or does not know.
pub(super) fn unknown_request(request: &CustomRequest) -> ErrorData {
    let method = &request.method;
    if KNOWN.contains(&method.as_str()) {
        let message = format!("The parameters of {method} can't be used.");
        return ErrorData::invalid_params(message, None);
    }
    no_method(method)
}

/// Refuses the cursor of a page. A list of tools has one page.
///
/// # Errors
///
/// Returns the error of a cursor that no answer has given out.
pub(super) fn only_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) => Err(super::resources::no_page(&cursor)),
        None => Ok(()),
    }
}

/// Defines the methods of a `ServerHandler` that refuse prompts, completion and unknown requests.
macro_rules! refuse_what_is_not_declared {
    () => {
        async fn on_custom_request(
            &self,
            request: rmcp::model::CustomRequest,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::CustomResult, rmcp::ErrorData> {
            Err($crate::serve::refusal::unknown_request(&request))
        }

        async fn list_prompts(
            &self,
            _: Option<rmcp::model::PaginatedRequestParams>,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::ListPromptsResult, rmcp::ErrorData> {
            Err($crate::serve::refusal::no_method("prompts/list"))
        }

        async fn complete(
            &self,
            _: rmcp::model::CompleteRequestParams,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::CompleteResult, rmcp::ErrorData> {
            Err($crate::serve::refusal::no_method("completion/complete"))
        }
    };
}
pub(super) use refuse_what_is_not_declared;
