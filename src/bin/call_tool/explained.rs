//! `call_tool --explain` for people: what a call would do, as text.

use gemini_tools::colours::{self, Look};
use gemini_tools::text::harmless_lines;
use serde_json::Value;

/// Returns the text of an explanation, which comes as a document of JSON: what the call does, where,
/// whether it needs approval and which rule says so, and at last the diff of an edit.
pub(crate) fn text(json: &str, has_colours: bool) -> String {
    // It is ours.
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let str = |value: &Value| value.as_str().map(harmless_lines).unwrap_or_default();
    let mut out = str(&value["description"]);
    out.push('\n');
    let mut fact = |name: &str, text: &str| {
        if has_colours {
            Look::Heading.push(&mut out, &format!("{name}:"));
        } else {
            out.push_str(&format!("{name}:"));
        }
        out.push_str(&format!(" {text}\n"));
    };
    for location in value["locations"].as_array().into_iter().flatten() {
        let line = location["line"].as_u64();
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        fact("Where", &format!("{}{line}", str(&location["path"])));
    }
    let confirmation = &value["confirmation"];
    for (name, key) in [("Programs", "rootCommands"), ("Addresses", "urls")] {
        let list = confirmation[key].as_array().into_iter().flatten();
        let list: Vec<String> = list.map(str).collect();
        if !list.is_empty() {
            fact(name, &list.join(" "));
        }
    }
    let policy = &value["policy"];
    let needs = match policy["decision"].as_str() {
        Some("deny") => "the policy denies it",
        Some("ask_user") => "needed",
        // What the tool itself would ask is up to the rules.
        _ => "not needed",
    };
    let mut why = str(&policy["rule"]);
    if let Some(file) = policy["file"].as_str() {
        why.push_str(&format!(", {}", harmless_lines(file)));
    }
    fact("Approval", &format!("{needs} ({why})"));
    let diff = str(&confirmation["fileDiff"]);
    if has_colours {
        out.push_str(&colours::diff(&diff));
    } else {
        out.push_str(&diff);
    }
    out
}
