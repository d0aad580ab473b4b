//! Turns a person's edits into a changed call.

use super::super::{ApprovalQuestion, ApprovalReply, ArgumentChange};
use gemini_tools_core::registry::bare_name;
use gemini_tools_core::tool::ConfirmationDetails;
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

const DIFF_TIME: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) name: String,
    pub(super) text: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Content,
    Whole { original: String },
    Arguments,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum EditOutcome {
    Change(ApprovalReply),
    Unchanged(&'static str),
    Invalid(String),
}

fn changed_lines(proposed: &str, edited: &str) -> (u64, u64) {
    let old: Vec<&str> = proposed.split_inclusive('\n').collect();
    let new: Vec<&str> = edited.split_inclusive('\n').collect();
    let deadline = Some(Instant::now() + DIFF_TIME);
    let ops = diff_lines(Algorithm::Myers, &old, &new, deadline);
    let changes = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    changes.fold((0, 0), |(added, removed), op| {
        (
            added + op.new_range().len() as u64,
            removed + op.old_range().len() as u64,
        )
    })
}

pub(super) fn proposal(question: &ApprovalQuestion<'_>) -> Proposal {
    if let Some(ConfirmationDetails::Edit {
        file_name,
        original_content,
        new_content,
        ..
    }) = &question.explanation.confirmation
    {
        let form = match (bare_name(question.name), original_content) {
            ("write_file", _) => Some(Form::Content),
            // For these tools an empty `old_string` means that the file does not exist, so it can't
            // stand for an empty file.
            ("replace" | "smart_edit", Some(original)) if !original.is_empty() => {
                Some(Form::Whole {
                    original: original.clone(),
                })
            }
            _ => None,
        };
        if let Some(form) = form {
            return Proposal {
                name: file_name.clone(),
                text: new_content.clone(),
                form,
            };
        }
    }
    let json = serde_json::to_string_pretty(question.args).unwrap_or_default();
    Proposal {
        name: format!("{}.json", bare_name(question.name)),
        text: json + "\n",
        form: Form::Arguments,
    }
}

impl Proposal {
    pub(super) fn applied(&self, question: &ApprovalQuestion<'_>, edited: &str) -> EditOutcome {
        if edited == self.text {
            return EditOutcome::Unchanged("Nothing was changed.");
        }
        let mut args = question.args.clone();
        let mut set = |key: &str, value: Value| args.insert(key.to_owned(), value);
        match &self.form {
            Form::Content => {
                set("content", edited.into());
            }
            Form::Whole { original } if original == edited => {
                return EditOutcome::Unchanged(
                    "That is what the file has already; say no to leave it so.",
                );
            }
            Form::Whole { original } => {
                set("old_string", original.as_str().into());
                set("new_string", edited.into());
                // `smart_edit` has no argument for the number of replacements.
                if bare_name(question.name) == "replace" {
                    set("expected_replacements", 1.into());
                    args.remove("allow_multiple");
                }
            }
            Form::Arguments => return from_json(question, edited),
        }
        let (added, removed) = changed_lines(&self.text, edited);
        EditOutcome::Change(ApprovalReply::Change(ArgumentChange {
            args,
            added,
            removed,
        }))
    }
}

fn from_json(question: &ApprovalQuestion<'_>, edited: &str) -> EditOutcome {
    let args: Map<String, Value> = match gemini_tools_core::json::read_unlimited(edited.as_bytes())
    {
        Ok(Value::Object(args)) => args,
        Ok(_) => return EditOutcome::Invalid("The arguments must be an object.".to_owned()),
        Err(e) => {
            let number = e.place().map_or(1, |(line, _)| line);
            let line = edited.lines().nth(number - 1);
            return EditOutcome::Invalid(format!(
                "The arguments are not valid JSON: {e}. The line: {}",
                line.unwrap_or_default().trim()
            ));
        }
    };
    if args == *question.args {
        return EditOutcome::Unchanged("Nothing was changed.");
    }
    EditOutcome::Change(ApprovalReply::Change(ArgumentChange {
        args,
        added: 0,
        removed: 0,
    }))
}

#[cfg(test)]
mod tests;
