//! `apply_patch`: changes many files by one patch, either all of them or none.
//!
//! [`crate::patch`] parses the text and finds where its hunks belong; `patched` computes the new
//! content of each file.

use super::patched::{PatchedFile, Subject, plan};
use super::syntax::{Check, Parser};
use super::{BuiltinTool, OUTSIDE, ToolEnv, placeholder};
use crate::patch::{self, FilePatch};
use gemini_tools_core::text::counted;
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{
    Confirmation, ConfirmationDetails, Context, ErrorKind, FileChange, FileDiff, Kind, Limit,
    Location, ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::write::MAX_CHANGED_FILES;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

const NAMED_FILES: usize = 3;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "apply_patch",
    summary: "Changes many files at once, or none",
    description: "Changes several files of the project by one patch: edits, new files, removals and renames. All of it \
        is done, or nothing. 'patch' is a unified diff as git writes it, or has this form: a line '*** Begin Patch', \
        then for each file '*** Update File: PATH' (and '*** Move to: PATH' to rename it) with hunks, '*** Add File: \
        PATH' with lines that begin with '+', or '*** Delete File: PATH', then '*** End Patch'. A hunk begins with \
        '@@', or '@@ LINE' with a line above it such as that of its function; its lines begin with ' ' if they stay, \
        '-' if they go and '+' if they are new. Give three lines that stay around each change; they must mean one \
        place. Use replace for a single edit.",
    info: ToolInfo::new("ApplyPatch", Kind::Edit).on_this_machine(),
    usage: Usage {
        renamed: &[("input", "patch"), ("diff", "patch")],
        limits: &[Limit::Count(MAX_CHANGED_FILES as u64).of("files of one patch")],
        examples: &[
            "printf '%s\\n' '*** Begin Patch' '*** Add File: a.txt' '+hello' '*** End Patch' | call_tool apply_patch patch=@- --explain",
            "printf '%s\\n' '*** Begin Patch' '*** Add File: a.txt' '+hello' '*** End Patch' | call_tool apply_patch patch=@-",
        ],
        errors: &[
            ErrorKind::InvalidToolParams
                .when("`patch` is in neither grammar, or names a file twice"),
            ErrorKind::FileNotFound.when("a file that the patch changes is not there"),
            ErrorKind::AttemptToCreateExistingFile.when("a file that the patch creates is there"),
            ErrorKind::EditNoOccurrenceFound.when("a hunk fits nowhere"),
            ErrorKind::EditExpectedOccurrenceMismatch.when("a hunk fits several places"),
            ErrorKind::EditNoChange
                .when("nothing changes, or a hunk's new lines are there already"),
            OUTSIDE,
            placeholder::REFUSED,
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// The whole patch. Paths are relative to the project's root.
    patch: String,
}

pub(super) struct Call {
    workspace: Arc<Workspace>,
    parser: Parser,
    subjects: Vec<Subject>,
}

pub(super) fn build(params: Params, env: &ToolEnv) -> Result<Call, ToolError> {
    let workspace = Arc::clone(&env.workspace);
    let patches = patch::parse(&params.patch).map_err(|e| {
        ToolError::invalid(format!("Line {} of the patch: {}.", e.line, e.why)).with_hint(
            "Give a unified diff as git writes it, or sections between \"*** Begin Patch\" and \"*** End Patch\".",
        )
    })?;
    let subjects = subjects(&workspace, patches)?;
    Ok(Call {
        workspace,
        parser: Parser::new(env),
        subjects,
    })
}

/// Resolves the paths of the patch. Refuses a file that two sections name, because what the second
/// section changes would depend on the result of the first.
fn subjects(workspace: &Workspace, patches: Vec<FilePatch>) -> Result<Vec<Subject>, ToolError> {
    let mut subjects: Vec<Subject> = Vec::new();
    for patch in patches {
        let subject = Subject::locate(workspace, patch)?;
        for place in subject.places() {
            let is_known =
                |other: &Subject| other.places().any(|other| other.path() == place.path());
            if subjects.iter().any(is_known) {
                let path = workspace.display_name(place);
                return Err(ToolError::invalid(format!(
                    "The patch has two sections about {path}."
                ))
                .with_hint(
                    "Put all hunks of a file into one section, in their order in the file.",
                ));
            }
        }
        subjects.push(subject);
    }
    let count = subjects.iter().flat_map(Subject::places).count();
    if count > MAX_CHANGED_FILES {
        return Err(ToolError::invalid(format!(
            "The patch changes {count} files, and at most {MAX_CHANGED_FILES} are changed at once."
        ))
        .with_hint("Divide it into several patches."));
    }
    Ok(subjects)
}

fn whole_diff(files: &[PatchedFile]) -> FileDiff {
    let mut diff = FileDiff {
        file_name: match files {
            [file] => file.name.clone(),
            _ => counted(files.len(), "file"),
        },
        ..FileDiff::default()
    };
    for file in files {
        diff.file_diff.push_str(&file.diff);
        diff.diff_stat += file.diff_stat;
    }
    diff
}

impl Call {
    fn tell(
        &self,
        file: &PatchedFile,
        subject: &Subject,
        check: Check,
        text: &mut NamedText,
    ) -> Value {
        let path = subject.place.path();
        let mut data = json!({"change": file.change, "path": path.display().to_string()});
        text.push_str(&format!("\n{} ", file.change));
        text.push_path(self.workspace.display(path));
        if let Some(to) = &subject.to {
            text.push_str(" => ");
            text.push_path(self.workspace.display(to.path()));
            data["new_path"] = to.path().display().to_string().into();
        }
        text.push_str(&file.remarks);
        if !file.notes.is_empty() {
            // The notes say that a hunk is quoted inexactly, or is elsewhere. It may have changed
            // unexpected text, so the diff is shown.
            text.push_str(&format!(" ({})", file.notes.join("; ")));
            let diff = || format!("\n{}", file.diff.trim_end());
            let diff = super::quoted(&self.workspace, &subject.place, diff);
            text.push_str(&diff.unwrap_or_default());
        }
        if let Some((note, errors)) = check.finish() {
            text.push_str(&note);
            data["syntaxErrors"] = errors;
        }
        data
    }

    fn line(&self) -> String {
        format!("a patch of {}", counted(self.subjects.len(), "file"))
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let names = self
            .subjects
            .iter()
            .map(|subject| self.workspace.display_name(&subject.place));
        let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let count = counted(names.len(), "file");
        let more = names.len().saturating_sub(NAMED_FILES);
        names.truncate(NAMED_FILES);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        format!("Patches {count}: {}", names.join(", "))
    }

    fn locations(&self) -> Vec<Location> {
        let places = self.subjects.iter().flat_map(Subject::places);
        places.map(|place| place.path().into()).collect()
    }

    fn confirmation(&self, cx: &Context) -> Result<Confirmation, ToolError> {
        let (files, _) = plan(&self.workspace, &self.subjects, cx)?;
        let diff = whole_diff(&files);
        let first = &self.subjects[0].place;
        let change = |(file, subject): (&PatchedFile, &Subject)| FileChange {
            change: file.change.to_owned(),
            file_path: subject.place.path().display().to_string(),
            new_path: subject
                .to
                .as_ref()
                .map(|to| to.path().display().to_string()),
            file_diff: file.diff.clone(),
        };
        Ok(Confirmation::Ask(ConfirmationDetails::Edit {
            title: self.describe(),
            file_name: diff.file_name,
            file_path: first.path().display().to_string(),
            file_diff: diff.file_diff,
            original_content: None,
            new_content: String::new(),
            files: files.iter().zip(&self.subjects).map(change).collect(),
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let (files, changed) = plan(&self.workspace, &self.subjects, cx)?;
        let begin = |(file, subject): (&PatchedFile, &Subject)| match &file.texts {
            Some((old, new)) => {
                let place = &subject.place;
                self.parser.check(&self.workspace, place, old, new.clone())
            }
            None => Check::default(),
        };
        let checks: Vec<Check> = files.iter().zip(&self.subjects).map(begin).collect();
        let origin = super::origin(&TOOL, cx);
        let not_kept = self
            .workspace
            .change_files(&changed, &origin, &self.line(), &cx.cancel)?;
        let mut text = NamedText::default();
        text.push_str(&format!(
            "Successfully applied the patch to {}:",
            counted(files.len(), "file")
        ));
        let mut data = Vec::new();
        for ((file, subject), check) in files.iter().zip(&self.subjects).zip(checks) {
            data.push(self.tell(file, subject, check, &mut text));
        }
        if let Some(reason) = not_kept {
            text.push_str(&format!(
                "\ncall_tool --undo can't take this change back: {reason}."
            ));
        }
        let mut result = ToolResult::named(text).with_data("files", data);
        if cx.wants_display {
            result.return_display = whole_diff(&files).into();
        }
        Ok(result)
    }
}
