//! An MCP server's tool as an implementation of [`Tool`].

use super::content;
use super::declare::DeclaredTool;
use super::session::Mcp;
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::{
    Args, Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, Schema, ServerTool, Tool,
    ToolError, ToolInfo, ToolInvocation, ToolResult,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

const MAX_SHOWN_CHARS: usize = 200;

pub(super) struct McpTool {
    mcp: Arc<Mcp>,
    server: usize,
    declared: Arc<DeclaredTool>,
    display_name: String,
    description: String,
    schema: Schema,
    is_read_only: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declaration {
    description: String,
    parameters_json_schema: Value,
}

impl McpTool {
    pub(super) fn new(
        mcp: &Arc<Mcp>,
        server: usize,
        declared: &DeclaredTool,
        is_read_only: bool,
    ) -> Result<Self, ToolError> {
        let text = format!("{}}}", declared.text);
        let declaration: Declaration = gemini_tools_core::json::read_unlimited(text.as_bytes())
            .map_err(|e| {
                ToolError::new(
                    ErrorKind::McpToolError,
                    format!(
                        "The cached declaration of the tool {} can't be read: {e}.",
                        declared.name
                    ),
                )
                .with_hint("Use get_tools --refresh.")
            })?;
        let server_name = &mcp.servers[server].name;
        Ok(Self {
            mcp: Arc::clone(mcp),
            server,
            display_name: format!("{} ({server_name} MCP server)", declared.original),
            description: declaration.description,
            schema: Schema::from_value(declaration.parameters_json_schema)
                .checked_by(serde_json::from_str(&declared.whole).ok()),
            declared: Arc::new(declared.clone()),
            is_read_only,
        })
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.declared.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> &Schema {
        &self.schema
    }

    fn info(&self) -> ToolInfo<'_> {
        // `is_read_only` is true only if the user trusts the server.
        let kind = if self.is_read_only {
            Kind::Read
        } else {
            Kind::Other
        };
        let mut info = ToolInfo::new(&self.display_name, kind).with_live_output();
        info.server = Some(ServerTool {
            name: &self.mcp.servers[self.server].name,
            tool: &self.declared.original,
        });
        info.annotations = self.declared.annotations.as_ref();
        info
    }

    fn build(&self, args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        Ok(Box::new(Call {
            mcp: Arc::clone(&self.mcp),
            server: self.server,
            declared: Arc::clone(&self.declared),
            arguments: args.as_map().clone(),
        }))
    }
}

struct Call {
    mcp: Arc<Mcp>,
    server: usize,
    declared: Arc<DeclaredTool>,
    arguments: Map<String, Value>,
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let server = &self.mcp.servers[self.server].name;
        let tool = &self.declared.original;
        let arguments = Value::Object(self.arguments.clone()).to_string();
        let shown = excerpt(&arguments, MAX_SHOWN_CHARS);
        format!("{tool} of the MCP server {server} with {shown}")
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        let server = &self.mcp.servers[self.server];
        if server.settings.trust {
            return Ok(Confirmation::NotNeeded);
        }
        let DeclaredTool { original, name, .. } = &*self.declared;
        Ok(Confirmation::Ask(ConfirmationDetails::Mcp {
            title: format!("Call {original} of the MCP server {}", server.name),
            server_name: server.name.clone(),
            tool_name: original.clone(),
            tool_display_name: name.clone(),
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let answer = self
            .mcp
            .call(self.server, &self.declared, &self.arguments, cx)?;
        Ok(content::result(&self.declared.original, &answer))
    }
}
