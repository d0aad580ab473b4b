//! `call_tool --explain` for people: what a call would do, as text.

use gemini_tools::colours::{self, Look};
use gemini_tools::text::{harmless_lines, visible};
use serde_json::Value;

/// Converts an explanation from JSON to text: what the call does and where, whether it needs
/// approval and by which rule, and the diff of an edit.
pub(crate) fn text(json: &str, has_colours: bool) -> String {
    // We have written this JSON ourselves, so it can be parsed.
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let lines = |value: &Value| value.as_str().map(harmless_lines).unwrap_or_default();
    let line = |value: &Value| visible(value.as_str().unwrap_or_default()).into_owned();
    // Further lines of the description are indented, so that none can pass for one of the facts
    // below.
    let mut out = lines(&value["description"]).replace('\n', "\n  ");
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
        let number = location["line"].as_u64();
        let number = number.map_or_else(String::new, |number| format!(":{number}"));
        fact("Where", &format!("{}{number}", line(&location["path"])));
    }
    let confirmation = &value["confirmation"];
    for (name, key) in [("Programs", "rootCommands"), ("Addresses", "urls")] {
        let list = confirmation[key].as_array().into_iter().flatten();
        let list: Vec<String> = list.map(line).collect();
        if !list.is_empty() {
            fact(name, &list.join(" "));
        }
    }
    let policy = &value["policy"];
    let needs = match policy["decision"].as_str() {
        Some("deny") => "the policy denies it",
        Some("ask_user") => "needed",
        // Whether the tool itself would ask does not matter, because the policy's rules decide.
        _ => "not needed",
    };
    let mut why = line(&policy["rule"]);
    if policy["file"].is_string() {
        why.push_str(&format!(", {}", line(&policy["file"])));
    }
    fact("Approval", &format!("{needs} ({why})"));
    let diff = lines(&confirmation["fileDiff"]);
    if has_colours {
        out.push_str(&colours::diff(&diff));
    } else {
        out.push_str(&diff);
    }
    out
}
