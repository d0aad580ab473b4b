//! Too many tools: instead of all declarations, a model gets one tool that searches them and one
//! that calls a tool that was found.
//!
//! Declarations are part of every request to a model. Those of two hundred tools cost tens of
//! thousands of tokens, and a model chooses among them worse than among few.

use super::catalogue::Catalogue;
use super::session::McpDeclaration;
use gemini_tools_core::tool::{
    Args, FunctionTool, Kind, Schema, TailToolCallRequest, Tool, ToolError, ToolResult, convert,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the tool that searches the tools of MCP servers.
pub const SEARCH: &str = "search_mcp_tools";

/// The name of the tool that calls a tool of an MCP server.
pub const CALL: &str = "call_mcp_tool";

/// Maximum number of tools that a search returns with their declarations. `NAMED` is that of
/// further tools of which it returns only the names, and `NAMED_SERVERS` that of the servers that
/// the declaration of the search tool names.
const DESCRIBED: usize = 5;

const NAMED: usize = 10;

const NAMED_SERVERS: usize = 20;

/// Returns the declarations for a model. If more than `limit` of `tools` are of MCP servers, the
/// search tool and the call tool stand for those.
pub fn offered(tools: Vec<Arc<McpDeclaration>>, limit: usize) -> Vec<Arc<McpDeclaration>> {
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    for (server, _) in tools.iter().filter_map(|tool| tool.origin.as_ref()) {
        *servers.entry(server).or_default() += 1;
    }
    let count: usize = servers.values().sum();
    if count <= limit {
        return tools;
    }
    let shown = servers.iter().take(NAMED_SERVERS);
    let shown: Vec<String> = shown
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    let more = if servers.len() > NAMED_SERVERS {
        " and others"
    } else {
        ""
    };
    let servers = format!("{}{more}", shown.join(", "));
    let counts = format!(" The servers, and how many tools each has: {servers}.");
    let own = [
        declaration(&search_tool(Arc::default()), &counts),
        declaration(&call_tool(), ""),
    ];
    let mut offered: Vec<_> = tools
        .into_iter()
        .filter(|tool| tool.origin.is_none())
        .chain(own.map(Arc::new))
        .collect();
    offered.sort_by(|a, b| a.name.cmp(&b.name));
    offered
}

fn declaration(tool: &dyn Tool, more: &str) -> McpDeclaration {
    let description = format!("{}{more}", tool.description());
    let is_read_only = tool.info().is_read_only;
    let schema = tool.parameters().value();
    McpDeclaration::of_no_server(tool.name(), &description, schema, is_read_only)
}

#[derive(Deserialize)]
struct Query {
    query: String,
}

/// Makes the tool that searches `tools`.
pub fn search_tool(tools: Arc<Catalogue>) -> impl Tool {
    let schema = Schema::from_static(
        r#"{"type":"object","required":["query"],"properties":{"query":{"type":"string","minLength":1,"description":"What the tool should do, in a few words, or its name."}}}"#,
    );
    FunctionTool::read_only(
        SEARCH,
        "Searches the tools of MCP servers, which are too many to be declared. Answers with the declarations of the \
         best, which call_mcp_tool calls.",
        schema,
        move |Query { query }, _| Ok(found(&tools, &query)),
    )
}

fn found(tools: &Catalogue, query: &str) -> ToolResult {
    let best = tools.ranked(query);
    let (described, named) = best.split_at(best.len().min(DESCRIBED));
    let mut lines: Vec<String> = described
        .iter()
        .map(|tool| format!("{}}}", tool.text))
        .collect();
    let named: Vec<&str> = named.iter().take(NAMED).map(|tool| &*tool.name).collect();
    if !named.is_empty() {
        lines.push(format!("Less likely: {}", named.join(", ")));
    }
    let text = if lines.is_empty() {
        format!(
            "None of the {} tools of MCP servers has any of these words. Try others.",
            tools.tools.len()
        )
    } else {
        lines.join("\n")
    };
    ToolResult::text(&text).with_display(text)
}

#[derive(Deserialize)]
struct Wanted {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Makes the tool whose result asks for a call of a server's tool, which is judged like any other.
pub fn call_tool() -> impl Tool {
    let schema = Schema::from_static(
        r#"{"type":"object","required":["name"],"properties":{"name":{"type":"string","minLength":1,"description":"The tool's name, as search_mcp_tools gives it."},"arguments":{"type":"object","description":"The tool's arguments, as its declaration has them."}}}"#,
    );
    FunctionTool::changing(
        CALL,
        "Calls a tool of an MCP server, which search_mcp_tools has found.",
        Kind::Other,
        schema,
        |Wanted { name, arguments }, _| {
            let mut result = ToolResult::text("");
            result.tail_tool_call_request = Some(TailToolCallRequest {
                name,
                args: arguments,
            });
            Ok(result)
        },
    )
}

/// Returns the name and the arguments of the server's tool that a call of [`CALL`] asks for.
///
/// # Errors
///
/// Returns `invalid_tool_params` if the arguments don't fit the schema.
pub fn wanted(mut args: Value) -> Result<(String, Value), ToolError> {
    let tool = call_tool();
    convert(&tool, &mut args);
    let Wanted { name, arguments } = Args::from_value(args)?.parse(tool.parameters())?;
    Ok((name, Value::Object(arguments)))
}

#[cfg(test)]
mod tests {
    use super::offered;
    use crate::catalogue::tests::tool;

    #[test]
    fn few_tools_are_declared_themselves() {
        let two = || vec![tool("a", "A.", &[]), tool("b", "B.", &[])];
        assert_eq!(offered(two(), 2), two());
        let offered = offered(two(), 1);
        let names: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, [super::CALL, super::SEARCH]);
        assert!(
            offered[1].description().contains("s (2)"),
            "{:?}",
            offered[1]
        );
    }
}
