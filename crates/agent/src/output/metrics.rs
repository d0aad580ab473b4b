//! The statistics of a session in the shapes of Gemini CLI.

use crate::clock::millis;
use crate::stats::{ModelStats, Stats, ToolStats};
use serde::Serialize;
use std::collections::BTreeMap;

/// `stats` of the JSON output.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metrics<'a> {
    models: BTreeMap<&'a str, Model>,
    tools: Tools<'a>,
    files: Files,
}

#[derive(Debug, Serialize)]
struct Model {
    api: Api,
    tokens: Tokens,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_field_names,
    reason = "the names are those of Gemini CLI"
)]
struct Api {
    total_requests: u64,
    total_errors: u64,
    total_latency_ms: u64,
}

#[derive(Debug, Serialize)]
struct Tokens {
    /// What of the prompts was not cached; only newer versions of Gemini CLI have it.
    input: u64,
    prompt: u64,
    candidates: u64,
    total: u64,
    cached: u64,
    thoughts: u64,
    tool: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    total_calls: u64,
    total_success: u64,
    total_fail: u64,
    total_duration_ms: u64,
    total_decisions: Decisions,
    by_name: BTreeMap<&'a str, Tool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    count: u64,
    success: u64,
    fail: u64,
    duration_ms: u64,
    decisions: Decisions,
}

#[derive(Debug, Serialize)]
struct Decisions {
    accept: u64,
    reject: u64,
    modify: u64,
    auto_accept: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Files {
    total_lines_added: u64,
    total_lines_removed: u64,
}

/// `stats` of the last line of the streamed JSON output.
#[derive(Debug, Serialize)]
pub(super) struct StreamStats<'a> {
    #[serde(flatten)]
    tokens: StreamTokens,
    duration_ms: u64,
    tool_calls: u64,
    models: BTreeMap<&'a str, StreamTokens>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct StreamTokens {
    total_tokens: u64,
    input_tokens: u64,
    output_tokens: u64,
    cached: u64,
    input: u64,
}

fn uncached(model: &ModelStats) -> u64 {
    model.prompt.saturating_sub(model.cached)
}

fn decisions(tool: &ToolStats) -> Decisions {
    let of = |name: &str| tool.decisions.get(name).copied().unwrap_or_default();
    Decisions {
        accept: of("accept"),
        reject: of("reject"),
        modify: of("modify"),
        auto_accept: of("auto_accept"),
    }
}

impl<'a> From<&'a Stats> for Metrics<'a> {
    fn from(stats: &'a Stats) -> Self {
        let model = |(name, own): (&'a String, &ModelStats)| {
            let api = Api {
                total_requests: own.requests,
                total_errors: own.errors,
                total_latency_ms: millis(own.latency),
            };
            let tokens = Tokens {
                input: uncached(own),
                prompt: own.prompt,
                candidates: own.candidates,
                total: own.total,
                cached: own.cached,
                thoughts: own.thoughts,
                tool: own.tool,
            };
            (name.as_str(), Model { api, tokens })
        };
        let tool = |(name, own): (&'a String, &ToolStats)| {
            let tool = Tool {
                count: own.calls,
                success: own.successes,
                fail: own.failures,
                duration_ms: millis(own.duration),
                decisions: decisions(own),
            };
            (name.as_str(), tool)
        };
        Self {
            models: stats.models.iter().map(model).collect(),
            tools: Tools {
                total_calls: stats.tools.calls,
                total_success: stats.tools.successes,
                total_fail: stats.tools.failures,
                total_duration_ms: millis(stats.tools.duration),
                total_decisions: decisions(&stats.tools),
                by_name: stats.by_name.iter().map(tool).collect(),
            },
            files: Files {
                total_lines_added: stats.tools.lines.ai_added,
                total_lines_removed: stats.tools.lines.ai_removed,
            },
        }
    }
}

impl<'a> From<&'a Stats> for StreamStats<'a> {
    fn from(stats: &'a Stats) -> Self {
        let mut tokens = StreamTokens::default();
        let mut models = BTreeMap::new();
        for (name, model) in &stats.models {
            let own = StreamTokens {
                total_tokens: model.total,
                input_tokens: model.prompt,
                output_tokens: model.candidates,
                cached: model.cached,
                input: uncached(model),
            };
            tokens.total_tokens += own.total_tokens;
            tokens.input_tokens += own.input_tokens;
            tokens.output_tokens += own.output_tokens;
            tokens.cached += own.cached;
            tokens.input += own.input;
            models.insert(name.as_str(), own);
        }
        Self {
            tokens,
            duration_ms: millis(stats.duration),
            tool_calls: stats.tools.calls,
            models,
        }
    }
}
