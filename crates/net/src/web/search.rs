//! Implements `google_web_search`: the Gemini API answers a query from Google Search, with sources.

use super::model::{Model, tool_error};
use crate::gemini_api::{ApiError, RequestTool, cited};
use gemini_tools_core::tool::{Context, ErrorKind, ToolError, ToolResult};
use serde_json::json;
use std::path::Path;

const INSTRUCTION: &str = "You answer for a program that needs facts from the web. Search, then \
    answer the query completely and precisely, in plain text. Say what the pages say; where they \
    contradict each other, say so. If nothing was found, say that.";

pub(super) fn search(
    query: &str,
    home: Option<&Path>,
    cx: &Context,
) -> Result<ToolResult, ToolError> {
    let failed = |e: ApiError| tool_error(e, ErrorKind::WebSearchFailed, &cx.cancel);
    let mut model = Model::require(home).map_err(failed)?;
    let tools = vec![RequestTool::GoogleSearch {}];
    let response = model.ask(INSTRUCTION, query, tools, cx).map_err(failed)?;
    if response.text().trim().is_empty() {
        return Ok(ToolResult::text(format!(
            "No search results or information found for query: \"{query}\""
        ))
        .with_display("No information found.".to_owned())
        .with_data("sources", json!([])));
    }
    Ok(ToolResult::text(format!(
        "Web search results for \"{}\":\n\n{}",
        query,
        cited(&response)
    ))
    .with_display(format!("Search results for \"{query}\" returned."))
    .with_data("sources", response.sources()))
}
