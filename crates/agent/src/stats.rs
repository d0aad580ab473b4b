//! Statistics of a session.

use super::call::{CallRefusal, ToolCall, ToolCallDecision};
use gemini_tools_core::tool::{DiffStat, ModelCall, TokenCounts};
use std::collections::BTreeMap;
use std::time::Duration;

/// The statistics of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    /// Statistics of requests, by the model's name.
    pub models: BTreeMap<String, ModelStats>,
    /// Counts of all tools together.
    pub tools: ToolStats,
    /// Counts by the name of the tool.
    pub by_name: BTreeMap<String, ToolStats>,
    /// Calls that the policy has refused: the name of the tool, and why.
    pub refused: Vec<(String, CallRefusal)>,
    /// How often the model was asked for a turn.
    pub turns: u32,
    /// The time that the session took.
    pub duration: Duration,
    /// True if a built-in tool has changed files, so that `call_tool --undo` can undo something.
    pub has_changed_files: bool,
}

/// The requests to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelStats {
    /// All requests: those for turns, and others of the agent or its tools, such as for a summary.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
    /// The total time that the requests took.
    pub latency: Duration,
    /// The tokens of all requests.
    pub tokens: TokenCounts,
}

/// Statistics of the calls of one tool, or of all tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolStats {
    /// How many calls were made, whether or not they succeeded.
    pub calls: u64,
    /// Calls that succeeded.
    pub successes: u64,
    /// Calls that failed or were cancelled.
    pub failures: u64,
    /// Successful calls of a shell command that itself has failed.
    pub failed_commands: u64,
    /// The total running time.
    pub duration: Duration,
    /// The number of calls by decision.
    pub decisions: BTreeMap<ToolCallDecision, u64>,
    /// Lines that edits have added and removed.
    pub lines: DiffStat,
}

impl Stats {
    /// Counts a request to a model.
    pub fn count_model_call(&mut self, call: &ModelCall) {
        let own = self.models.entry(call.model.clone()).or_default();
        own.requests += 1;
        own.errors += u64::from(call.error.is_some());
        own.latency += Duration::from_millis(call.duration_ms);
        own.tokens += call.tokens;
    }

    /// Counts a call that is over.
    pub fn count_call(&mut self, call: &ToolCall) {
        if let Some(why) = call.refusal {
            self.refused.push((call.request.name.clone(), why));
        }
        let outcome = call.outcome();
        let has_succeeded = outcome.is_some_and(|outcome| outcome.error.is_none());
        let has_failed_command = outcome.is_some_and(|outcome| outcome.command_failure.is_some());
        self.has_changed_files |= call.changes_files && has_succeeded;
        let own = self.by_name.entry(call.request.name.clone()).or_default();
        for stats in [&mut self.tools, own] {
            stats.calls += 1;
            stats.successes += u64::from(has_succeeded);
            stats.failures += u64::from(!has_succeeded);
            stats.failed_commands += u64::from(has_failed_command);
            stats.duration += call.duration;
            if let Some(decision) = call.decision {
                *stats.decisions.entry(decision).or_default() += 1;
            }
            stats.lines += outcome
                .and_then(|outcome| outcome.diff_stat)
                .unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stats;
    use crate::call::ToolCall;
    use crate::output::tests::{done, edit, failed};
    use serde_json::json;

    #[test]
    fn only_a_successful_call_of_a_tool_that_can_be_undone_has_changed_files() {
        let named = |name: &str| done(name, json!({}), edit());
        let ours = |call: ToolCall| ToolCall {
            changes_files: true,
            ..call
        };
        for (call, expected) in [
            (ours(named("discovered_tool_write_file")), true),
            (named("write_file"), false),
            (ours(failed("write_file", json!({}), "no")), false),
        ] {
            let mut stats = Stats::default();
            stats.count_call(&call);
            assert_eq!(stats.has_changed_files, expected, "{}", call.request);
        }
    }
}
