//! `google_web_search`: an answer from Google's search, by the Gemini API, with its sources.

use super::model::{Model, tool_error};
use super::{Declaration, Spec, ToolEnv};
use gemini_tools_core::tool::{
    Args, Confirmation, Context, ErrorKind, Kind, Location, Schema, ToolError, ToolInvocation,
    ToolResult,
};
use gemini_tools_gemini_api::{ApiError, RequestTool, cited};
use gemini_tools_workspace::Workspace;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// What the model is told.
const INSTRUCTION: &str = "You answer for a program that needs facts from the web. Search, then \
    answer the query completely and precisely, in plain text. Say what the pages say; where they \
    contradict each other, say so. If nothing was found, say that.";

/// Maximum characters of a query in a description.
const SHOWN_CHARS: usize = 100;

pub(super) const DECLARATION: Declaration = Declaration {
    name: "google_web_search",
    description: "Searches the web with Google and answers the query from what was found, with \
        numbered sources. Use it for what may have changed since your training, or what you do \
        not know; use web_fetch to read a page whose address is known. Needs a credential for the \
        Gemini API.",
    schema: include_str!("declarations/google_web_search.json"),
    aliases: &["WebSearchTool"],
    kind: Kind::Search,
    is_idempotent: true,
    is_open_world: true,
    renamed: &[],
};

pub(super) const SPEC: Spec = Spec {
    declaration: &DECLARATION,
    display_name: "GoogleSearch",
    can_update_output: false,
    undeclared: &[],
    build,
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// What to search for, as a question or in keywords.
    query: String,
}

struct Call {
    workspace: Arc<Workspace>,
    query: String,
}

fn build(
    args: Args,
    schema: &Schema,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let params: Params = args.parse(schema)?;
    if params.query.trim().is_empty() {
        return Err(ToolError::invalid("\"query\" is blank.").with_hint("Say what to search for."));
    }
    Ok(Box::new(Call {
        workspace: Arc::clone(workspace),
        query: params.query,
    }))
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let line = self.query.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(SHOWN_CHARS).collect();
        let more = if short.len() < line.len() { "…" } else { "" };
        format!("Searches the web for \"{short}{more}\"")
    }

    fn locations(&self) -> Vec<Location> {
        Vec::new()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        // As in Gemini CLI: only the query leaves the machine, to a service that the user has
        // chosen.
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let failed = |e: ApiError| tool_error(e, ErrorKind::WebSearchFailed, cx);
        let mut model = Model::find(&self.workspace)
            .and_then(|found| found.ok_or_else(ApiError::no_credential))
            .map_err(failed)?;
        let tools = vec![RequestTool::GoogleSearch {}];
        let response = model
            .ask(INSTRUCTION, &self.query, tools, cx)
            .map_err(failed)?;
        if response.text().trim().is_empty() {
            return Ok(ToolResult::text(format!(
                "No search results or information found for query: \"{}\"",
                self.query
            ))
            .with_display("No information found.".to_owned()));
        }
        let grounding = response
            .candidates
            .first()
            .and_then(|c| c.grounding_metadata.as_ref());
        let sources: Vec<Value> = grounding
            .into_iter()
            .flat_map(|g| &g.grounding_chunks)
            .filter_map(|chunk| serde_json::to_value(chunk).ok())
            .collect();
        Ok(ToolResult::text(format!(
            "Web search results for \"{}\":\n\n{}",
            self.query,
            cited(&response)
        ))
        .with_display(format!("Search results for \"{}\" returned.", self.query))
        .with_data("sources", sources))
    }
}
