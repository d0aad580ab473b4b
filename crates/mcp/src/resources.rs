//! Two tools by which a model lists and reads the resources of MCP servers.

use super::content;
use super::session::{Mcp, McpDeclaration};
use gemini_tools_core::text::one_line;
use gemini_tools_core::tool::{
    Context, ErrorKind, FunctionTool, Schema, Tool, ToolError, ToolResult,
};
use gemini_tools_process::network::wire::ServerRequest;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

struct Spec {
    name: &'static str,
    description: &'static str,
    schema: &'static str,
}

const LIST: Spec = Spec {
    name: "list_mcp_resources",
    description: "Lists the resources that MCP servers offer: their URIs, names and descriptions. \
                  Read one with read_mcp_resource.",
    schema: r#"{"type":"object","properties":{"serverName":{"type":"string","description":"Only the resources of this server."}}}"#,
};

const READ: Spec = Spec {
    name: "read_mcp_resource",
    description: "Reads a resource of an MCP server by its URI, as list_mcp_resources gives it.",
    schema: r#"{"type":"object","required":["uri"],"properties":{"uri":{"type":"string","minLength":1,"description":"The URI of the resource."},"serverName":{"type":"string","description":"The server that has it, where several have one of this URI."}}}"#,
};

pub(super) fn is_resource_tool(name: &str) -> bool {
    name == LIST.name || name == READ.name
}

pub(super) fn declarations() -> Vec<Arc<McpDeclaration>> {
    let own =
        |spec: &Spec| McpDeclaration::of_no_server(spec.name, spec.description, spec.schema, true);
    [LIST, READ].iter().map(own).map(Arc::new).collect()
}

pub(super) fn tool(mcp: &Arc<Mcp>, name: &str) -> Option<Arc<dyn Tool>> {
    let spec = [LIST, READ].into_iter().find(|spec| spec.name == name)?;
    let mcp = Arc::clone(mcp);
    let run = move |params: Params, cx: &Context| {
        let servers = find_servers(&mcp, params.server_name.as_deref(), cx)?;
        match params.uri {
            Some(uri) if spec.name == READ.name => read(&mcp, &uri, &servers, cx),
            _ => list(&mcp, &servers, cx),
        }
    };
    let schema = Schema::from_static(spec.schema);
    let tool = FunctionTool::read_only(spec.name, spec.description, schema, run);
    Some(Arc::new(tool))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    uri: Option<String>,
    server_name: Option<String>,
}

fn find_servers(mcp: &Mcp, name: Option<&str>, cx: &Context) -> Result<Vec<usize>, ToolError> {
    let Some(name) = name else {
        return mcp.with_resources(cx);
    };
    if let Some(at) = mcp.servers.iter().position(|server| server.name == name) {
        return Ok(vec![at]);
    }
    let names: Vec<&str> = mcp.servers.iter().map(|s| s.name.as_str()).collect();
    Err(
        ToolError::invalid(format!("There is no MCP server named {name:?}."))
            .with_hint(format!("The servers are: {}.", names.join(", "))),
    )
}

fn list(mcp: &Mcp, servers: &[usize], cx: &Context) -> Result<ToolResult, ToolError> {
    let started = Instant::now();
    let (mut lines, mut data) = (Vec::new(), serde_json::Map::new());
    let mut failure = None;
    for &at in servers {
        let name = &mcp.servers[at].name;
        match mcp.request(at, ServerRequest::Resources, started, cx) {
            Ok(answer) => {
                for (list, key) in [("resources", "uri"), ("templates", "uriTemplate")] {
                    let items = answer[list].as_array().into_iter().flatten();
                    lines.extend(items.map(|item| line(name, item, key)));
                }
                data.insert(name.clone(), answer);
            }
            Err((_, e)) => {
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

fn read(mcp: &Mcp, uri: &str, servers: &[usize], cx: &Context) -> Result<ToolResult, ToolError> {
    let started = Instant::now();
    let mut failure = None;
    for &at in servers {
        let what = ServerRequest::Read {
            uri: uri.to_owned(),
        };
        match mcp.request(at, what, started, cx) {
            Ok(answer) => return Ok(content::resource(uri, &answer)),
            Err((_, e)) => {
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

fn line(server: &str, item: &Value, key: &str) -> String {
    let fields = [key, "name", "mimeType", "description"];
    let shown: Vec<String> = fields
        .iter()
        .filter_map(|field| item[*field].as_str())
        .filter(|text| !text.trim().is_empty())
        .map(one_line)
        .collect();
    format!("{server}: {}", shown.join(" | "))
}
