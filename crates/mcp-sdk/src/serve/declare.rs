//! Converts our tools to MCP declarations.

use super::server::Project;
use gemini_tools_core::client_host::ClientHost;
use gemini_tools_core::tool::{Cancellation, Tool};
use gemini_tools_mcp::McpDeclaration;
use rmcp::model;
use serde_json::{Map, Value};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

const MEMORY: &str = "save_memory";

/// The tools that nearly every task needs. Claude Code is told to load them from the start.
const FIRST_NEEDED: [&str; 6] = [
    "glob",
    "read_file",
    "replace",
    "run_shell_command",
    "search_file_content",
    "write_file",
];

#[derive(Debug, Clone, Copy)]
pub(super) struct Audience {
    pub(super) can_ask: bool,
    pub(super) host: Option<&'static ClientHost>,
}

pub(super) fn client_tools(
    project: &Project,
    audience: Audience,
    cancel: &Cancellation,
) -> Vec<model::Tool> {
    let session = &project.session;
    let Audience { can_ask, host } = audience;
    let shown = session.visible_tools(can_ask).into_iter();
    let has_memory = host.is_some_and(|host| !host.memory_file.is_empty());
    let ours = shown.filter(|tool| has_memory || tool.name() != MEMORY);
    let servers = session.visible_server_tools(can_ask, cancel);
    let mut tools = sorted(ours, &servers);
    if let Some(host) = host.filter(|host| host.obeys_hints) {
        for tool in &mut tools {
            tool.meta = Some(hints(&tool.name, host));
        }
    }
    tools
}

/// Returns hints for Claude Code. Without them it shows its model only a tool's name until the
/// model searches for it, and saves answers of more than 50,000 characters to a JSON file, of which
/// the model gets 2 KB.
fn hints(tool: &str, host: &ClientHost) -> model::MetaObject {
    let mut hints = model::MetaObject::default();
    if FIRST_NEEDED.contains(&tool) {
        hints.insert("anthropic/alwaysLoad".to_owned(), true.into());
    }
    if let Some(limit) = host.answer_limit("") {
        let key = "anthropic/maxResultSizeChars".to_owned();
        hints.insert(key, limit.size.into());
    }
    hints
}

pub(super) fn sorted<'a>(
    tools: impl Iterator<Item = &'a dyn Tool>,
    servers: &[Arc<McpDeclaration>],
) -> Vec<model::Tool> {
    let mut declared: Vec<_> = tools.map(ours).collect();
    declared.extend(servers.iter().map(|tool| server_tool(tool)));
    declared.sort_by(|a, b| a.name.cmp(&b.name));
    declared
}

pub(super) fn fingerprint(tools: &[model::Tool]) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(tools)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

fn ours(tool: &dyn Tool) -> model::Tool {
    let schema = object(tool.parameters().value().clone());
    let title = tool.info().display_name.to_owned();
    model::Tool::new(
        tool.name().to_owned(),
        tool.description().to_owned(),
        Arc::new(schema),
    )
    .with_title(title.clone())
    .with_annotations(annotations(title, tool))
}

fn annotations(title: String, tool: &dyn Tool) -> model::ToolAnnotations {
    let info = tool.info();
    model::ToolAnnotations::from_raw(
        Some(title),
        // A tool that sends data to the network is not harmless, even if it changes nothing here.
        Some(info.is_read_only && !info.is_open_world),
        // Codex runs unasked what only adds. What is added to the memory is obeyed later.
        Some(!info.is_read_only),
        Some(info.is_idempotent),
        Some(info.is_open_world),
    )
}

fn server_tool(listed: &McpDeclaration) -> model::Tool {
    let mut value = listed.declaration();
    let description = value["description"].as_str().unwrap_or_default().to_owned();
    let schema = object(value["parametersJsonSchema"].take());
    let title = listed.origin.as_ref().map_or_else(
        || listed.name.clone(),
        |(server, tool)| format!("{tool} ({server} MCP server)"),
    );
    let is_read_only = Some(listed.is_read_only);
    let annotations = model::ToolAnnotations::from_raw(
        Some(title.clone()),
        is_read_only,
        Some(!listed.is_read_only),
        is_read_only,
        Some(true),
    );
    model::Tool::new(listed.name.clone(), description, Arc::new(schema))
        .with_title(title)
        .with_annotations(annotations)
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(map) => map,
        _ => Map::from_iter([("type".to_owned(), Value::from("object"))]),
    }
}
