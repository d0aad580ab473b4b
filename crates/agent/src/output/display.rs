//! Converts what a tool shows people instead of its answer (`returnDisplay`) for a terminal or a
//! page, in each form that Gemini CLI knows.

use gemini_tools_core::text::one_line;
use gemini_tools_core::tool::Display;
use serde_json::Value;

#[derive(Debug, PartialEq)]
pub(crate) enum Shown {
    Markdown(String),
    Lines(Vec<String>),
    Json(String),
}

/// Converts a tool's display for rendering. Returns `None` if it is empty or a diff; diffs are
/// rendered from the call's result.
pub(crate) fn shown(display: &Display) -> Option<Shown> {
    match display {
        Display::Markdown(text) if !text.trim().is_empty() => Some(Shown::Markdown(text.clone())),
        Display::Other(value) => Some(match lines(value) {
            Some(lines) => Shown::Lines(lines),
            None => Shown::Json(format!("{value:#}")),
        }),
        _ => None,
    }
}

/// Reads Gemini CLI's `TodoList`, `SubagentProgress` (recent activity, and the result) and
/// `AnsiOutput` (an array of lines, each an array of styled tokens).
fn lines(value: &Value) -> Option<Vec<String>> {
    if let Some(tasks) = value["todos"].as_array() {
        return Some(tasks.iter().map(step).collect());
    }
    if let Some(name) = value["agentName"].as_str()
        && let Some(activity) = value["recentActivity"].as_array()
    {
        let state = value["state"].as_str().unwrap_or("unknown");
        let result = value["result"].as_str().unwrap_or_default().lines();
        let mut lines = vec![format!("{} ({state})", one_line(name))];
        lines.extend(activity.iter().map(step));
        lines.extend(result.map(str::to_owned));
        return Some(lines);
    }
    let text = |token: &Value| Some(token["text"].as_str()?.to_owned());
    let line = |line: &Value| {
        line.as_array()?
            .iter()
            .map(text)
            .collect::<Option<String>>()
    };
    let lines: Option<Vec<String>> = value.as_array()?.iter().map(line).collect();
    lines.filter(|lines| !lines.is_empty())
}

fn step(step: &Value) -> String {
    let mark = match step["status"].as_str().unwrap_or_default() {
        "completed" | "success" => '✓',
        "in_progress" | "running" | "executing" => '»',
        "cancelled" | "error" | "failed" => '✗',
        "blocked" => '⊘',
        _ => '☐',
    };
    let mut keys = ["displayName", "description", "content"].iter();
    let text = keys.find_map(|key| step[*key].as_str());
    format!("{mark} {}", text.map_or_else(|| step.to_string(), one_line))
}

#[cfg(test)]
mod tests {
    use super::{Shown, shown};
    use gemini_tools_core::tool::Display;
    use serde_json::{Value, json};

    fn of(value: Value) -> Option<Shown> {
        shown(&serde_json::from_value::<Display>(value).expect("a display"))
    }

    #[track_caller]
    fn lines(value: Value) -> Vec<String> {
        match of(value) {
            Some(Shown::Lines(lines)) => lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tasks_and_sub_agents_are_lines_with_marks() {
        let todos = json!({"todos": [
            {"description": "Look\nhere", "status": "completed"},
            {"description": "Change", "status": "in_progress"},
            {"description": "Test", "status": "pending"},
        ]});
        assert_eq!(lines(todos), ["✓ Look here", "» Change", "☐ Test"]);
        let agent = json!({"isSubagentProgress": true, "agentName": "finder", "state": "completed",
            "recentActivity": [
                {"id": "1", "type": "thought", "content": "Hm", "status": "completed"},
                {"id": "2", "type": "tool_call", "content": "glob", "displayName": "Glob",
                    "status": "error"},
            ],
            "result": "Found."});
        assert_eq!(
            lines(agent),
            ["finder (completed)", "✓ Hm", "✗ Glob", "Found."]
        );
        assert_eq!(lines(json!({"todos": []})), Vec::<String>::new());
    }

    #[test]
    fn lines_of_a_terminal_are_their_text_and_other_json_is_itself() {
        let token = |text: &str| json!({"text": text, "bold": true, "fg": "#f00"});
        let screen = json!([[token("a"), token("b")], [], [token("c")]]);
        assert_eq!(lines(screen), ["ab", "", "c"]);
        let json = |text: &str| Some(Shown::Json(text.to_owned()));
        assert_eq!(of(json!([1])), json("[\n  1\n]"));
        assert_eq!(
            of(json!({"todos": "none"})),
            json("{\n  \"todos\": \"none\"\n}")
        );
        assert_eq!(of(json!("*x*")), Some(Shown::Markdown("*x*".to_owned())));
        assert_eq!(of(json!(" \n")), None);
    }
}
