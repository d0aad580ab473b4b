//! `google_web_search`: an answer from Google's search with its sources, through the Gemini API.

use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::text::{excerpt, one_line};
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, Kind, ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_process::network::wire::WebTask;
use serde::Deserialize;

const SHOWN_CHARS: usize = 100;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "google_web_search",
    summary: "Answers with sources, by Google's search",
    description: "Searches the web with Google and answers the query from what was found, with \
        numbered sources. Use it for what may have changed since your training, or what you do \
        not know; use web_fetch to read a page whose address is known. Needs a credential for the \
        Gemini API.",
    info: ToolInfo::new("GoogleSearch", Kind::Search).with_aliases(&["WebSearchTool"]),
    usage: Usage {
        examples: &[
            "call_tool google_web_search 'release notes of Rust'",
            "echo '{\"query\":\"release notes of Rust\"}' | call_tool google_web_search",
        ],
        errors: &[
            ErrorKind::WebSearchFailed.when("there is no credential, or the API fails"),
            ErrorKind::InvalidToolParams.when("`query` is blank"),
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// What to search for, as a question or in keywords.
    query: String,
}

pub(super) struct Call {
    tool_env: ToolEnv,
    query: String,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    if params.query.trim().is_empty() {
        return Err(ToolError::invalid("\"query\" is blank.").with_hint("Say what to search for."));
    }
    Ok(Call {
        tool_env: tool_env.clone(),
        query: params.query,
    })
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let line = one_line(&self.query);
        let shown = excerpt(&line, SHOWN_CHARS);
        format!("Searches the web for \"{shown}\"")
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        // As in Gemini CLI, the user is not asked: only the query leaves the machine, to a service
        // that the user has chosen.
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let task = WebTask::Search { query: self.query };
        self.tool_env.ask_network(&task, cx)?.into_result()
    }
}
