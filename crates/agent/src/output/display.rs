//! Converts what a tool shows people instead of its answer (`returnDisplay`) for a terminal or a
//! page, in each form that Gemini CLI knows.

use gemini_tools_core::text::{counted, one_line};
use gemini_tools_core::tool::Display;
use serde_json::Value;

const MAX_ITEMS: usize = 200;

#[derive(Debug, PartialEq)]
pub(crate) enum Shown {
    Markdown(String),
    Plain(String),
    Json(String),
    Steps(Steps),
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Steps {
    pub(crate) title: String,
    pub(crate) items: Vec<Step>,
    pub(crate) result: String,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) state: String,
    pub(crate) text: String,
}

impl Step {
    pub(crate) fn mark(&self) -> char {
        match self.state.as_str() {
            "completed" | "success" => '✓',
            "in_progress" | "running" | "executing" => '»',
            "cancelled" | "error" | "failed" => '✗',
            "blocked" => '⊘',
            _ => '☐',
        }
    }
}

impl Steps {
    pub(crate) fn lines(&self, most: usize) -> Vec<String> {
        let step = |step: &Step| format!("{} {}", step.mark(), step.text);
        let title = Some(self.title.clone()).filter(|title| !title.is_empty());
        let mut lines: Vec<String> = title
            .into_iter()
            .chain(self.items.iter().map(step))
            .collect();
        lines.extend(self.result.lines().next().map(str::to_owned));
        if lines.len() > most {
            let more = lines.len() + 1 - most;
            lines.truncate(most - 1);
            lines.push(format!("… {} more", counted(more, "line")));
        }
        lines
    }
}

/// Converts a tool's display for rendering. Returns `None` if it is empty or a diff; diffs are
/// rendered from the call's result.
pub(crate) fn shown(display: &Display) -> Option<Shown> {
    let shown = match display {
        Display::Markdown(text) => Shown::Markdown(text.clone()),
        Display::Other(value) => tasks(value)
            .or_else(|| sub_agent(value))
            .map(Shown::Steps)
            .or_else(|| terminal(value).map(Shown::Plain))
            .unwrap_or_else(|| Shown::Json(format!("{value:#}"))),
        _ => return None,
    };
    match &shown {
        Shown::Markdown(text) | Shown::Plain(text) if text.trim().is_empty() => None,
        _ => Some(shown),
    }
}

fn tasks(value: &Value) -> Option<Steps> {
    let tasks = value.get("todos")?.as_array()?;
    Some(Steps {
        items: items(tasks, &["description", "content"]),
        ..Steps::default()
    })
}

/// Reads Gemini CLI's `SubagentProgress`: the recent activity of a sub-agent, and its result.
fn sub_agent(value: &Value) -> Option<Steps> {
    let name = value["agentName"].as_str()?;
    let activity = value.get("recentActivity")?.as_array()?;
    let state = value["state"].as_str();
    let state = state.map(|state| format!(" ({state})"));
    Some(Steps {
        title: one_line(name) + &state.unwrap_or_default(),
        items: items(activity, &["displayName", "content", "description"]),
        result: value["result"].as_str().unwrap_or_default().to_owned(),
    })
}

fn items(steps: &[Value], keys: &[&str]) -> Vec<Step> {
    let text = |step: &Value| {
        let text = keys.iter().find_map(|key| step[*key].as_str());
        text.map_or_else(|| step.to_string(), one_line)
    };
    let mut items: Vec<Step> = steps
        .iter()
        .take(MAX_ITEMS)
        .map(|step| Step {
            state: one_line(step["status"].as_str().unwrap_or_default()),
            text: text(step),
        })
        .collect();
    if let Some(more) = steps.len().checked_sub(MAX_ITEMS + 1) {
        items.push(Step {
            state: String::new(),
            text: format!("{} more", more + 1),
        });
    }
    items
}

/// Reads Gemini CLI's `AnsiOutput`: an array of lines, each an array of styled tokens. Only the
/// text is kept.
fn terminal(value: &Value) -> Option<String> {
    let text = |token: &Value| Some(token.get("text")?.as_str()?.to_owned());
    let line = |line: &Value| -> Option<String> {
        let line: Option<String> = line.as_array()?.iter().map(text).collect();
        Some(line?.trim_end().to_owned())
    };
    let lines: Option<Vec<String>> = value.as_array()?.iter().map(line).collect();
    Some(lines?.join("\n").trim_end().to_owned())
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
            Some(Shown::Steps(steps)) => steps.lines(4),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tasks_and_sub_agents_are_steps_with_states() {
        let todos = json!({"todos": [
            {"description": "Look\nhere", "status": "completed"},
            {"description": "Change", "status": "in_progress"},
            {"description": "Test", "status": "pending"},
        ]});
        assert_eq!(lines(todos), ["✓ Look here", "» Change", "☐ Test"]);
        let many: Vec<Value> = (0..9)
            .map(|n| json!({"description": n.to_string()}))
            .collect();
        let many = lines(json!({ "todos": many }));
        assert_eq!(many, ["☐ 0", "☐ 1", "☐ 2", "… 6 lines more"]);
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
        let plain = |text: &str| Some(Shown::Plain(text.to_owned()));
        let token = |text: &str| json!({"text": text, "bold": true, "fg": "#f00"});
        let screen = json!([[token("a"), token("b  ")], [], [token("c")], []]);
        assert_eq!(of(screen), plain("ab\n\nc"));
        let json = |text: &str| Some(Shown::Json(text.to_owned()));
        assert_eq!(of(json!([1])), json("[\n  1\n]"));
        assert_eq!(
            of(json!({"todos": "none"})),
            json("{\n  \"todos\": \"none\"\n}")
        );
        assert_eq!(of(json!("*x*")), Some(Shown::Markdown("*x*".to_owned())));
        assert_eq!((of(json!(" \n")), of(json!([]))), (None, None));
    }
}
