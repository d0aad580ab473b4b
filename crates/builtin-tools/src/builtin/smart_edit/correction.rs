//! Asks a model to correct an edit that failed, through `serve_tools --connect`.

use super::super::edit::Plan;
use super::Call;
use gemini_tools_core::tool::{Context, ErrorKind, ToolError};
use gemini_tools_process::network::wire::{WebAnswer, WebTask};
use gemini_tools_workspace::write::Target;
use serde::Deserialize;
use serde_json::json;

const INSTRUCTION: &str = "An edit of a file has failed, because its search text is not in the file \
    exactly once. Correct the edit. The search text that you give must be in the file literally \
    and exactly once, with all its whitespace, and must be where the instruction means; the \
    replacement must do what the instruction wants, and nothing else. If the file is as the \
    instruction wants it already, say that no changes are required. If it is not clear where the \
    edit belongs, give an empty search text.";

impl Call {
    pub(super) fn corrected_plan(
        &self,
        target: Target,
        cx: &Context,
    ) -> Result<(Plan, Target), ToolError> {
        let miss = match self.plan(&target, cx) {
            Err(e) if is_miss(e.kind) && self.may_correct(cx) => e,
            other => return Ok((other?, target)),
        };
        let Ok(Some(subject)) = self.edit.subject(&target) else {
            return Err(miss);
        };
        let text = self.text(subject)?;
        let Some(text) = text.filter(|text| text.len() <= super::MODEL_CHARS) else {
            return Err(miss);
        };
        // Unlocks the file, so that other writers need not wait for the model.
        drop(target);
        let correction = match self.correction(&text, &miss, cx) {
            Ok(correction) => correction,
            Err(e) => {
                cx.cancel.check()?;
                return Err(uncorrected(miss, &format!("without success: {e}")));
            }
        };
        if correction.no_changes_required {
            return Err(self.edit.no_change(&format!(
                "a model that was asked to correct the edit says that none is needed ({})",
                correction.explanation
            )));
        }
        let target = self.edit.lock(cx)?;
        let Some(subject) = self.edit.subject(&target)? else {
            return Err(miss);
        };
        let (old, new) = (correction.search.as_str(), correction.replace.as_str());
        self.edit.check_new(new, subject)?;
        if old.trim().is_empty() || old == new {
            return Err(miss);
        }
        let mut plan = self.plan_for(subject, old, new, cx);
        if let Ok(Plan::Replace(change)) = &mut plan {
            let note = format!(
                " A model has corrected the texts, because old_string was not found: {}",
                correction.explanation
            );
            change.notes.insert_str(0, &note);
            change.found_by = Some("model");
        }
        let why = "but what it gave is not found exactly once either.";
        Ok((plan.map_err(|_| uncorrected(miss, why))?, target))
    }

    /// Returns true if a model may be asked: there is a credential, the settings allow it, and
    /// `.geminiignore` does not exclude the file, which would be sent.
    pub(super) fn may_correct(&self, cx: &Context) -> bool {
        let edit = &self.edit;
        if self.tool_env.settings.disable_llm_correction
            || edit.workspace.is_gemini_ignored(&edit.place)
        {
            return false;
        }
        let asked = self.tool_env.ask_network(&WebTask::HasModel, cx);
        matches!(asked, Ok(WebAnswer::HasModel(true)))
    }

    fn correction(
        &self,
        text: &str,
        miss: &ToolError,
        cx: &Context,
    ) -> Result<Correction, ToolError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "search": {"type": "string"},
                "replace": {"type": "string"},
                "no_changes_required": {"type": "boolean"},
                "explanation": {"type": "string"},
            },
            "required": ["search", "replace", "no_changes_required", "explanation"],
        });
        let prompt = format!(
            "The instruction:\n{}\n\nThe search text that failed:\n<search>\n{}\n</search>\n\nThe \
             replacement:\n<replace>\n{}\n</replace>\n\nThe error:\n{}\n\nThe file, {}:\n<file>\n\
             {text}\n</file>",
            self.instruction,
            self.edit.old,
            self.edit.new,
            miss.message,
            self.edit.path()
        );
        let task = WebTask::Model {
            instruction: INSTRUCTION.to_owned(),
            prompt,
            schema,
        };
        match self.tool_env.ask_network(&task, cx)? {
            WebAnswer::Model(answer) => {
                let text = answer.to_string();
                gemini_tools_core::json::from_value(answer).map_err(|e| {
                    ToolError::failed(format!(
                        "What the model has answered is not what was asked for: {e}: {text}"
                    ))
                })
            }
            other => Err(other
                .into_result()
                .err()
                .unwrap_or_else(|| ToolError::failed("The model has not answered."))),
        }
    }
}

fn uncorrected(mut miss: ToolError, why: &str) -> ToolError {
    miss.message = format!("{}\nA model was asked to correct it, {why}", miss.message);
    miss
}

#[derive(Debug, Deserialize)]
struct Correction {
    search: String,
    replace: String,
    #[serde(default)]
    no_changes_required: bool,
    #[serde(default)]
    explanation: String,
}

pub(super) fn is_miss(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::EditNoOccurrenceFound | ErrorKind::EditExpectedOccurrenceMismatch
    )
}
