//! The resources of MCP servers, as two tools.

use super::content;
use super::session::{Mcp, McpDeclaration};
use gemini_tools_core::tool::{
    Args, Confirmation, Context, ErrorKind, Kind, Location, Schema, Tool, ToolError, ToolInfo,
    ToolInvocation, ToolResult,
};
use gemini_tools_process::network::wire::ServerRequest;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// The fixed facts about a resource tool.
struct Spec {
    name: &'static str,
    display_name: &'static str,
    description: &'static str,
    schema: &'static str,
    kind: Kind,
}

const LIST: Spec = Spec {
    name: "list_mcp_resources",
    display_name: "ListMcpResources",
    description: "Lists the resources that MCP servers offer: their URIs, names and descriptions. \
                  Read one with read_mcp_resource.",
    schema: r#"{"type":"object","properties":{"serverName":{"type":"string","description":"Only the resources of this server."}}}"#,
    kind: Kind::Search,
};

const READ: Spec = Spec {
    name: "read_mcp_resource",
    display_name: "ReadMcpResource",
    description: "Reads a resource of an MCP server by its URI, as list_mcp_resources gives it.",
    schema: r#"{"type":"object","required":["uri"],"properties":{"uri":{"type":"string","minLength":1,"description":"The URI of the resource."},"serverName":{"type":"string","description":"The server that has it, where several have one of this URI."}}}"#,
    kind: Kind::Read,
};

/// Returns true if a name is that of a resource tool.
pub(super) fn is_one(name: &str) -> bool {
    name == LIST.name || name == READ.name
}

/// Returns the declarations of both tools.
pub(super) fn declarations() -> Vec<McpDeclaration> {
    [LIST, READ]
        .iter()
        .map(|spec| McpDeclaration {
            name: spec.name.to_owned(),
            alias: spec.name.to_owned(),
            origin: None,
            text: format!(
                r#"{{"name":{},"description":{},"parametersJsonSchema":{}"#,
                json!(spec.name),
                json!(spec.description),
                spec.schema
            ),
            annotations: None,
            is_read_only: true,
        })
        .collect()
}

/// Returns the tool of this name.
pub(super) fn tool(mcp: &Arc<Mcp>, name: &str) -> Option<Arc<dyn Tool>> {
    let spec = [LIST, READ].into_iter().find(|spec| spec.name == name)?;
    Some(Arc::new(ResourceTool {
        mcp: Arc::clone(mcp),
        schema: Schema::from_static(spec.schema),
        spec,
    }))
}

struct ResourceTool {
    mcp: Arc<Mcp>,
    spec: Spec,
    schema: Schema,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    uri: Option<String>,
    server_name: Option<String>,
}

impl Tool for ResourceTool {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn description(&self) -> &str {
        self.spec.description
    }

    fn parameters(&self) -> &Schema {
        &self.schema
    }

    fn info(&self) -> ToolInfo<'_> {
        ToolInfo {
            checks_arguments: true,
            ..ToolInfo::new(self.spec.display_name, self.spec.kind)
        }
    }

    fn build(&self, args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        let Params { uri, server_name } = args.parse(&self.schema)?;
        if let Some(name) = &server_name
            && !self.mcp.servers.iter().any(|server| server.name == *name)
        {
            let names: Vec<&str> = self.mcp.servers.iter().map(|s| s.name.as_str()).collect();
            return Err(
                ToolError::invalid(format!("There is no MCP server named {name:?}."))
                    .with_hint(format!("The servers are: {}.", names.join(", "))),
            );
        }
        Ok(Box::new(Call {
            mcp: Arc::clone(&self.mcp),
            uri,
            server: server_name,
        }))
    }
}

/// Reads the resource of `uri`, or lists where there is none.
struct Call {
    mcp: Arc<Mcp>,
    uri: Option<String>,
    server: Option<String>,
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        match &self.uri {
            Some(uri) => format!("Reads the MCP resource {uri}"),
            None => "Lists the resources of MCP servers".to_owned(),
        }
    }

    fn locations(&self) -> Vec<Location> {
        Vec::new()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let named = |name: &String| {
            let at = self.mcp.servers.iter().position(|s| s.name == *name);
            at.into_iter().collect()
        };
        let servers: Vec<usize> = match &self.server {
            Some(name) => named(name),
            None => self.mcp.with_resources(cx)?,
        };
        match &self.uri {
            Some(uri) => self.read(uri, &servers, cx),
            None => self.list(&servers, cx),
        }
    }
}

impl Call {
    fn list(&self, servers: &[usize], cx: &Context) -> Result<ToolResult, ToolError> {
        let started = Instant::now();
        let (mut lines, mut data) = (Vec::new(), serde_json::Map::new());
        let mut failure = None;
        for &at in servers {
            let name = &self.mcp.servers[at].name;
            match self.mcp.request(at, ServerRequest::Resources, started, cx) {
                Ok(answer) => {
                    for (list, key) in [("resources", "uri"), ("templates", "uriTemplate")] {
                        let items = answer[list].as_array().into_iter().flatten();
                        lines.extend(items.map(|item| line(name, item, key)));
                    }
                    data.insert(name.clone(), answer);
                }
                Err(e) => {
                    cx.cancel.check()?;
                    lines.push(format!("{name}: {e}"));
                    failure = Some(e);
                }
            }
        }
        if let Some(e) = failure
            && data.is_empty()
        {
            return Err(e);
        }
        let text = if lines.is_empty() {
            "No MCP server has resources.".to_owned()
        } else {
            lines.join("\n")
        };
        let mut result = ToolResult::text(&text).with_display(text);
        result.data = Some(data);
        Ok(result)
    }

    fn read(&self, uri: &str, servers: &[usize], cx: &Context) -> Result<ToolResult, ToolError> {
        let started = Instant::now();
        let mut failure = None;
        for &at in servers {
            let what = ServerRequest::Read {
                uri: uri.to_owned(),
            };
            match self.mcp.request(at, what, started, cx) {
                Ok(answer) => return Ok(content::resource(uri, &answer)),
                Err(e) => {
                    cx.cancel.check()?;
                    failure.get_or_insert(e);
                }
            }
        }
        Err(failure.unwrap_or_else(|| {
            ToolError::new(
                ErrorKind::McpToolError,
                format!("No MCP server has resources, and so none has {uri}."),
            )
        }))
    }
}

/// Returns the line for a resource or a template of resources.
fn line(server: &str, item: &Value, key: &str) -> String {
    let fields = [key, "name", "mimeType", "description"];
    let shown: Vec<String> = fields
        .iter()
        .filter_map(|field| item[*field].as_str())
        .filter(|text| !text.trim().is_empty())
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    format!("{server}: {}", shown.join(" | "))
}
