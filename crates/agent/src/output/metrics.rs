//! The statistics of a session in the shapes of Gemini CLI.

use crate::call::ToolCallDecision;
use crate::clock::millis;
use crate::stats::{ModelStats, Stats, ToolStats};
use gemini_tools_core::tool::TokenCounts;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(crate) fn metrics(stats: &Stats) -> Value {
    let tools = &stats.tools;
    json!({
        "models": by_name(&stats.models, model_metrics),
        "tools": {
            "totalCalls": tools.calls,
            "totalSuccess": tools.successes,
            "totalFail": tools.failures,
            "totalDurationMs": millis(tools.duration),
            "totalDecisions": decisions(tools),
            "byName": by_name(&stats.by_name, tool_metrics),
        },
        "files": {
            "totalLinesAdded": tools.lines.ai_added_lines,
            "totalLinesRemoved": tools.lines.ai_removed_lines,
        },
    })
}

fn by_name<T>(all: &BTreeMap<String, T>, to_json: impl Fn(&T) -> Value) -> Map<String, Value> {
    let all = all.iter();
    all.map(|(name, one)| (name.clone(), to_json(one)))
        .collect()
}

fn model_metrics(model: &ModelStats) -> Value {
    let mut tokens = json!(model.tokens);
    // The field `input` exists in newer versions of Gemini CLI only.
    tokens["input"] = uncached(&model.tokens).into();
    json!({
        "api": {
            "totalRequests": model.requests,
            "totalErrors": model.errors,
            "totalLatencyMs": millis(model.latency),
        },
        "tokens": tokens,
    })
}

fn tool_metrics(tool: &ToolStats) -> Value {
    json!({
        "count": tool.calls,
        "success": tool.successes,
        "fail": tool.failures,
        "durationMs": millis(tool.duration),
        "decisions": decisions(tool),
    })
}

fn decisions(tool: &ToolStats) -> Value {
    use ToolCallDecision::{Accept, AutoAccept, Modify, Reject};
    let mut counts = BTreeMap::from([Accept, Reject, Modify, AutoAccept].map(|all| (all, 0)));
    counts.extend(&tool.decisions);
    json!(counts)
}

pub(super) fn stream_stats(stats: &Stats) -> Value {
    let mut sum = TokenCounts::default();
    for model in stats.models.values() {
        sum += model.tokens;
    }
    let mut own = stream_tokens(&sum);
    own["duration_ms"] = millis(stats.duration).into();
    own["tool_calls"] = stats.tools.calls.into();
    own["models"] = by_name(&stats.models, |model| stream_tokens(&model.tokens)).into();
    own
}

fn stream_tokens(tokens: &TokenCounts) -> Value {
    json!({
        "total_tokens": tokens.total,
        "input_tokens": tokens.prompt,
        "output_tokens": tokens.candidates,
        "cached": tokens.cached,
        "input": uncached(tokens),
    })
}

fn uncached(tokens: &TokenCounts) -> u64 {
    tokens.prompt.saturating_sub(tokens.cached)
}
