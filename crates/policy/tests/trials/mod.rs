//! What the tests with random lines share: their seeds, and the question whether a line runs.

use gemini_tools_core::tool::Kind;
use gemini_tools_policy::{Decision, Mode, Policy, PolicyCall};
use serde_json::{Map, Value};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the seed of a test: that of `GEMINI_TOOLS_SEED`, or a new one. It is printed.
pub(crate) fn seed(test: &str) -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time");
    let seed = number("GEMINI_TOOLS_SEED").unwrap_or(now.as_secs() ^ u64::from(now.subsec_nanos()));
    let _ = writeln!(std::io::stderr(), "{test}: GEMINI_TOOLS_SEED={seed}");
    seed
}

/// Returns what bash is given for a line that runs without a question, or `None` for other lines.
pub(crate) fn unasked(policy: &Policy, line: &str) -> Option<String> {
    let mut args = Map::new();
    args.insert("command".to_owned(), Value::from(line));
    let call = PolicyCall {
        kind: Kind::Execute,
        is_built_in: true,
        ..PolicyCall::of_tool("run_shell_command", &[], &args)
    };
    let verdict = policy.check(&call, Mode::Default, true);
    let runs = verdict.understood.unwrap_or_else(|| line.to_owned());
    (verdict.decision == Decision::Allow).then_some(runs)
}
