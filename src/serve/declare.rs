//! Our tools as the protocol declares them.

use super::server::Project;
use crate::mcp::Listed;
use crate::tool::{Cancellation, Kind, Tool};
use rmcp::model;
use serde_json::{Map, Value};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// All tools that a client is told of, sorted by name.
pub(super) fn declared(
    project: &Project,
    can_ask: bool,
    cancel: &Cancellation,
) -> Vec<model::Tool> {
    let session = &project.session;
    let mut tools: Vec<_> = session.shown(can_ask).into_iter().map(ours).collect();
    let servers = session.shown_of_servers(can_ask, cancel);
    tools.extend(servers.iter().filter_map(of_server));
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// A number that is another one where the declarations are others.
pub(super) fn fingerprint(tools: &[model::Tool]) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(tools)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

fn ours(tool: &dyn Tool) -> model::Tool {
    let declaration = tool.declaration(None);
    let schema = object(declaration.parameters_json_schema.value().clone());
    let title = tool.display_name().to_owned();
    let annotations = model::ToolAnnotations::from_raw(
        Some(title.clone()),
        Some(tool.is_read_only()),
        Some(is_destructive(tool)),
        Some(tool.is_idempotent()),
        Some(tool.is_open_world()),
    );
    model::Tool::new(
        declaration.name.to_owned(),
        declaration.description.to_owned(),
        Arc::new(schema),
    )
    .with_title(title)
    .with_annotations(annotations)
}

/// What only adds to the world can't destroy anything; of what is not known that is not known.
fn is_destructive(tool: &dyn Tool) -> bool {
    !tool.is_read_only() && !matches!(tool.kind(), Kind::Think | Kind::Plan | Kind::Communicate)
}

fn of_server(listed: &Listed) -> Option<model::Tool> {
    let text = format!("{}}}", listed.text);
    let mut value: Value = serde_json::from_str(&text).ok()?;
    let description = value["description"].as_str().unwrap_or_default().to_owned();
    let schema = object(value["parametersJsonSchema"].take());
    let title = listed.origin.as_ref().map_or_else(
        || listed.name.clone(),
        |(server, tool)| format!("{tool} ({server} MCP server)"),
    );
    let reads = listed.is_read_only;
    let annotations = model::ToolAnnotations::from_raw(
        Some(title.clone()),
        Some(reads),
        Some(!reads),
        Some(reads),
        Some(true),
    );
    let tool = model::Tool::new(listed.name.clone(), description, Arc::new(schema));
    Some(tool.with_title(title).with_annotations(annotations))
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(map) => map,
        _ => Map::from_iter([("type".to_owned(), Value::from("object"))]),
    }
}
