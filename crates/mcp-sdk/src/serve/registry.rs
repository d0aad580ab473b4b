//! Handles the requests of a client to a program that serves its own tools.

use super::{call, content, declare, fault};
use crate::on_thread;
use gemini_tools_core::answer::Answer;
use gemini_tools_core::registry::ToolRegistry;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_session::Clock;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::Arc;

/// The name and the instructions of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The name, for programs.
    pub name: String,
    /// The version, in any form.
    pub version: String,
    /// The name for people; `None` if it is `name`.
    pub title: Option<String>,
    /// Advice on the tools that a client may give to its model.
    pub instructions: Option<String>,
    /// True if results carry their data, or an error's kind, as `structuredContent` in addition to
    /// the text. Many clients pass both to their model, which then reads everything twice.
    pub structured_content: bool,
}

impl ServerInfo {
    /// Creates the description of a server with a name and a version, and everything else unset.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            title: None,
            instructions: None,
            structured_content: false,
        }
    }
}

pub(super) struct RegistryConnection {
    registry: Arc<ToolRegistry>,
    info: ServerInfo,
    pub(super) clock: Arc<Clock>,
}

impl RegistryConnection {
    pub(super) fn new(registry: ToolRegistry, info: ServerInfo) -> Self {
        Self {
            registry: Arc::new(registry),
            info,
            clock: Arc::default(),
        }
    }
}

impl ServerHandler for RegistryConnection {
    fn get_info(&self) -> ServerConfig {
        let info = &self.info;
        let mut own = Implementation::new(&info.name, &info.version);
        own.title.clone_from(&info.title);
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut config = ServerConfig::new(capabilities).with_server_info(own);
        config.instructions.clone_from(&info.instructions);
        config
    }

    fault::refuse_what_is_not_declared!(served: &["tools/call"]);
    fault::refuse_what_is_not_declared! {
        list_prompts(Option<PaginatedRequestParams>)
            -> rmcp::model::ListPromptsResult = "prompts/list";
        complete(rmcp::model::CompleteRequestParams)
            -> rmcp::model::CompleteResult = "completion/complete";
        list_resources(Option<PaginatedRequestParams>)
            -> rmcp::model::ListResourcesResult = "resources/list";
        list_resource_templates(Option<PaginatedRequestParams>)
            -> rmcp::model::ListResourceTemplatesResult = "resources/templates/list";
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        fault::refuse_cursor(request)?;
        let registry = Arc::clone(&self.registry);
        // This may run commands of the registry's sources, and block.
        let tools = on_thread(move || declare::sorted(registry.iter(), &[]));
        let tools = tools
            .await
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let structured = self.info.structured_content;
        let registry = Arc::clone(&self.registry);
        let work = move |cx| {
            let args = Value::Object(request.arguments.unwrap_or_default());
            let answer = Answer {
                name: &request.name,
                id: None,
                outcome: registry.execute(&request.name, args, &cx),
            };
            content::result(&answer, false, structured)
        };
        let cancel = Cancellation::default();
        let result = call::attend(&self.clock, cancel, None, &context, work).await;
        Ok(result
            .unwrap_or_else(|e| content::refused(&e, structured))
            .into())
    }
}
