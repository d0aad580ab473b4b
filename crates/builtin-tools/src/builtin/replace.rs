//! `replace`: replaces an exact text in one file.

use super::edit::{Edit, Plan, line_list};
use super::{BuiltinTool, OUTSIDE, ToolEnv, placeholder};
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, Kind, Limit, Location, ToolError, ToolInfo, ToolInvocation,
    ToolResult, Usage,
};
use gemini_tools_workspace::edit::{MAX_PLACES, Occurrences};
use gemini_tools_workspace::write::Target;
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "replace",
    summary: "Replaces an exact text with another",
    description: "Replaces an exact text in one file of the project. 'old_string' must be the \
        file's literal text with all its whitespace, long enough to be unique; nothing in either \
        string is special. By default it must occur exactly once; 'expected_replacements' says \
        how often otherwise. An empty 'old_string' creates a new file. All bytes outside of the \
        text stay as they are; on a mismatch nothing is changed and the answer says what is near. \
        Read the file first.",
    info: ToolInfo::new("Edit", Kind::Edit)
        .on_this_machine()
        .with_aliases(&["EditTool", "edit"]),
    usage: Usage {
        renamed: &[("absolute_path", "file_path"), ("path", "file_path")],
        paths: &["file_path"],
        limits: &[Limit::Count(MAX_PLACES as u64).of("places that one call replaces")],
        examples: &[
            "call_tool replace file_path=README.md old_string=one new_string=two --explain",
            "call_tool replace file_path=README.md old_string=one new_string=two expected_replacements=1",
        ],
        errors: &[
            ErrorKind::FileNotFound.when("there is no such file, and `old_string` is not empty"),
            ErrorKind::EditNoOccurrenceFound.when("`old_string` is not in the file"),
            ErrorKind::EditExpectedOccurrenceMismatch
                .when("`old_string` occurs more or less often than expected"),
            ErrorKind::EditNoChange.when("`old_string` and `new_string` are the same"),
            ErrorKind::AttemptToCreateExistingFile
                .when("`old_string` is empty, and the file exists"),
            ErrorKind::TargetIsDirectory.when("it is a directory"),
            OUTSIDE,
            placeholder::REFUSED,
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// Path of the file: absolute, or relative to the project's root.
    file_path: String,
    /// The literal text to replace; empty to create the file.
    old_string: String,
    /// The literal text to put in its place.
    new_string: String,
    /// How often the text must occur; all occurrences are replaced. Default: 1.
    #[cfg_attr(test, schemars(range(min = 1)))]
    expected_replacements: Option<f64>,
    /// Replaces all occurrences, however many there are.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    allow_multiple: Option<bool>,
    /// Ignored; Gemini CLI 0.61 sends one.
    #[expect(dead_code, reason = "it is named for help only")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("undeclared" = true)))]
    instruction: Option<IgnoredAny>,
}

pub(super) struct Call {
    edit: Edit,
    expected: Option<f64>,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    let expected = match (params.expected_replacements, params.allow_multiple) {
        (None, Some(true)) => None,
        (given, _) => Some(given.unwrap_or(1.0)),
    };
    let texts = [params.old_string, params.new_string];
    let edit = Edit::new(tool_env, &params.file_path, texts)?;
    Ok(Call { edit, expected })
}

impl Call {
    fn plan(&self, target: &Target, cx: &Context) -> Result<Plan, ToolError> {
        let edit = &self.edit;
        let Some(subject) = edit.subject(target)? else {
            return Ok(Plan::Create);
        };
        let [old, new] = edit.texts(subject, &cx.cancel)?;
        let found = edit.find(subject, &old, &cx.cancel)?;
        if found.matches.is_empty() {
            return Err(edit.not_found(subject));
        }
        self.check_count(&found)?;
        let note = edit.repetition(subject, &found, [&old, &new])?;
        let mut plan = edit.literal_plan(subject, found, &new, &cx.cancel)?;
        if let Plan::Replace(change) = &mut plan {
            change.notes += &note;
        }
        Ok(plan)
    }

    fn check_count(&self, found: &Occurrences) -> Result<(), ToolError> {
        let Some(expected) = self.expected else {
            return Ok(());
        };
        let lines = found.lines();
        let count = lines.len() as f64;
        if found.overlap.is_none() && (expected - count).abs() <= 0.0 {
            return Ok(());
        }
        let times = gemini_tools_core::text::counted(lines.len(), "time");
        let how = if found.overlap.is_some() {
            "at places that overlap".to_owned()
        } else {
            format!("not {expected}")
        };
        Err(ToolError::new(
            ErrorKind::EditExpectedOccurrenceMismatch,
            format!(
                "old_string occurs {times} in {}, {how}: at {}; nothing was changed.",
                self.edit.path(),
                line_list(lines.into_iter())
            ),
        )
        .with_hint(if found.overlap.is_some() {
            "Include more of the surrounding text in old_string."
        } else if count > expected {
            "Include more of the surrounding text in old_string, or set expected_replacements."
        } else {
            "Set expected_replacements to the number of occurrences."
        }))
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        self.edit.describe()
    }

    fn locations(&self) -> Vec<Location> {
        super::locations(&self.edit.place)
    }

    fn confirmation(&self, cx: &Context) -> Result<Confirmation, ToolError> {
        let target = self.edit.lock(cx)?;
        let plan = self.plan(&target, cx)?;
        self.edit.confirmation(&plan, &target)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let target = self.edit.lock(cx)?;
        let plan = self.plan(&target, cx)?;
        self.edit.carry_out(plan, target, &TOOL, cx)
    }
}
