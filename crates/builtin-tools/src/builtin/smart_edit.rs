//! `smart_edit`: replaces a text in one file, even if the old text is quoted slightly wrong.
//!
//! [`crate::edit`] finds the old text in the file. If it can't, a model may correct both texts
//! once, guided by the call's instruction. The corrected old text is then looked for in the same
//! way.

#[cfg(feature = "full")]
mod correction;

use super::edit::{Edit, Plan, Subject, line_list};
use super::{BuiltinTool, OUTSIDE, ToolEnv, placeholder};
use crate::edit::{self, Edited, MAX_PLACES, Reading, Refusal, apply_inexactly};
#[cfg(feature = "full")]
use gemini_tools_core::tool::ConfirmationDetails;
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, Kind, Limit, Location, ToolError, ToolInfo, ToolInvocation,
    ToolResult, Usage,
};
use gemini_tools_workspace::edit::Replacement;
use gemini_tools_workspace::text::Unwritable;
use gemini_tools_workspace::write::Target;
use serde::Deserialize;

const MODEL_CHARS: usize = 400_000;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "smart_edit",
    summary: "Replaces a text, also if quoted inexactly",
    description: "Replaces one text in one file of the project, also where 'old_string' differs \
        slightly from the file: in line ends, indentation, kinds of quotes, escapes, or in lines \
        that are only quoted as context. It must mean exactly one place; the answer says how it \
        was found and shows what changed. If it is not clear, nothing is changed. Use replace for \
        several places at once. Give some lines of context around the change.",
    info: ToolInfo::new("Smart Edit", Kind::Edit)
        .on_this_machine()
        .with_aliases(&["SmartEditTool"]),
    usage: Usage {
        renamed: &[("absolute_path", "file_path"), ("path", "file_path")],
        paths: &["file_path"],
        limits: &[Limit::Characters(MODEL_CHARS)
            .of("a file that is sent to a model, where edit matching ends")],
        examples: &[
            "call_tool smart_edit file_path=README.md old_string=one new_string=two instruction='Count on.' --explain",
            "call_tool smart_edit file_path=README.md old_string=one new_string=two instruction='Count on.'",
        ],
        errors: &[
            ErrorKind::FileNotFound.when("there is no such file, and `old_string` is not empty"),
            ErrorKind::EditNoOccurrenceFound.when("no reading of `old_string` fits"),
            ErrorKind::EditExpectedOccurrenceMismatch.when("`old_string` matches several places"),
            ErrorKind::EditNoChange.when("`old_string` and `new_string` are the same"),
            ErrorKind::AttemptToCreateExistingFile
                .when("`old_string` is empty, and the file exists"),
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
    /// What the change is for and where it belongs, in a sentence that can be understood
    /// without the conversation.
    #[cfg_attr(
        not(feature = "full"),
        expect(dead_code, reason = "only a model reads it")
    )]
    instruction: String,
    /// The text to replace, as it is in the file; empty to create the file.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
}

pub(super) struct Call {
    edit: Edit,
    #[cfg(feature = "full")]
    instruction: String,
    #[cfg(feature = "full")]
    tool_env: ToolEnv,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    let texts = [params.old_string, params.new_string];
    Ok(Call {
        edit: Edit::new(tool_env, &params.file_path, texts)?,
        #[cfg(feature = "full")]
        instruction: params.instruction,
        #[cfg(feature = "full")]
        tool_env: tool_env.clone(),
    })
}

impl Call {
    fn plan(&self, target: &Target, cx: &Context) -> Result<Plan, ToolError> {
        match self.edit.subject(target)? {
            None => Ok(Plan::Create),
            Some(subject) => {
                let [old, new] = self.edit.texts(subject, &cx.cancel)?;
                self.plan_for(subject, &old, &new, cx)
            }
        }
    }

    fn plan_for(
        &self,
        subject: Subject<'_>,
        old: &str,
        new: &str,
        cx: &Context,
    ) -> Result<Plan, ToolError> {
        let found = self.edit.find(subject, old, &cx.cancel)?;
        match found.matches.as_slice() {
            [] => {}
            [place] if found.overlap.is_none() => {
                let [before, behind] = self.edit.around(subject, place, new)?;
                let text = || self.text(subject).ok().flatten().map(Into::into);
                let line = place.line as usize;
                let new = edit::place([&before, &behind], line, old, new, text)
                    .map_err(|refusal| self.refused(&refusal, subject))?;
                return self.edit.literal_plan(subject, found, &new, &cx.cancel);
            }
            _ => {
                let lines = found.lines();
                let times = gemini_tools_core::text::counted(lines.len(), "time");
                return Err(ambiguous(format!(
                    "old_string occurs {times} in {}: at {}; nothing was changed.",
                    self.edit.path(),
                    line_list(lines.into_iter())
                )));
            }
        }
        self.inexact_plan(subject, old, new, cx)
    }

    fn inexact_plan(
        &self,
        subject: Subject<'_>,
        old: &str,
        new: &str,
        cx: &Context,
    ) -> Result<Plan, ToolError> {
        let are_comparable = [old, new]
            .iter()
            .all(|text| Edit::is_comparable(subject.current, text));
        if !are_comparable {
            return Err(self.edit.too_large(subject));
        }
        let Some(text) = self.text(subject)? else {
            return Err(self.edit.not_found(subject));
        };
        cx.cancel.check()?;
        match apply_inexactly(&text, old, new) {
            Ok(edited) => self.inexact_edit(subject, &text, &edited),
            Err(refusal) => Err(self.refused(&refusal, subject)),
        }
    }

    fn refused(&self, refusal: &Refusal, subject: Subject<'_>) -> ToolError {
        let path = self.edit.path();
        let described = |reading: &Option<Reading>| reading.map_or("", Reading::describe);
        match refusal {
            Refusal::NotFound => self.edit.not_found(subject),
            Refusal::TooLarge => self.edit.too_large(subject),
            Refusal::Several {
                reading: None,
                lines,
            } => ambiguous(format!(
                "old_string is in {path} within a line, and as whole lines if one looks past slips \
                 (at {}); nothing was changed.",
                line_list(lines.iter().map(|line| *line as u64))
            )),
            Refusal::Unclear {
                reading: None,
                line,
                why,
            } => ToolError::new(
                ErrorKind::EditNoOccurrenceFound,
                format!("old_string is at line {line} of {path}, but {why}; nothing was changed."),
            )
            .with_hint("Give whole lines in both texts, with the indentation that the file has."),
            Refusal::Several { reading, lines } => {
                let places = match lines.len() {
                    0..=MAX_PLACES => gemini_tools_core::text::counted(lines.len(), "place"),
                    _ => format!("more than {MAX_PLACES} places"),
                };
                ambiguous(format!(
                    "old_string is not in {path} literally; it fits {places} if one looks past \
                     this: {} (at {}). Nothing was changed.",
                    described(reading),
                    line_list(lines.iter().map(|line| *line as u64))
                ))
            }
            Refusal::Unclear { reading, line, why } => self.edit.missed(
                format!(
                    "old_string is not in {path} literally. It resembles line {line} and after \
                     ({}), but {why}; nothing was changed.",
                    described(reading)
                ),
                subject,
            ),
            Refusal::Applied { line } => self
                .edit
                .no_change(&format!("the new text is at line {line} already")),
        }
    }

    /// Returns the whole file as text. Returns `None` if it is too large, or if its bytes would not
    /// be the same after the text is encoded again.
    fn text(
        &self,
        Subject { current, encoding }: Subject<'_>,
    ) -> Result<Option<String>, ToolError> {
        if !Edit::is_comparable(current, "") {
            return Ok(None);
        }
        Ok(encoding.decode_fully(&self.edit.whole(current)?))
    }

    fn inexact_edit(
        &self,
        subject: Subject<'_>,
        text: &str,
        edited: &Edited,
    ) -> Result<Plan, ToolError> {
        let (encoding, place) = (subject.encoding, edited.place.clone());
        let unwritable = |c| self.edit.unwritable(encoding, Unwritable::Character(c));
        let bytes = |part: &str| {
            encoding
                .encode_again(part)
                .map(|bytes| bytes.len() as u64)
                .map_err(&unwritable)
        };
        let line = text[..place.start].matches('\n').count() as u64 + 1;
        let start = encoding.mark().len() as u64 + bytes(&text[..place.start])?;
        let end = start + bytes(&text[place])?;
        let replacement = Replacement::of_range(start..end, line, &edited.content, encoding)
            .map_err(unwritable)?;
        let note = edited.reading.map_or_else(String::new, |reading| {
            format!(
                " old_string is not there literally, but this is what it means: {}.",
                reading.describe()
            )
        });
        let name = edited.reading.map(Reading::name);
        self.edit.plan(subject, replacement, note, name)
    }
}

fn ambiguous(message: String) -> ToolError {
    ToolError::new(ErrorKind::EditExpectedOccurrenceMismatch, message)
        .with_hint("Include more of the surrounding text in old_string.")
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
        match self.plan(&target, cx) {
            Ok(plan) => self.edit.confirmation(&plan, &target),
            // A model is not asked before the user agrees, because it costs time and money.
            #[cfg(feature = "full")]
            Err(e) if correction::is_miss(e.kind) && self.may_correct(cx) => {
                Ok(Confirmation::Ask(ConfirmationDetails::Info {
                    title: self.edit.describe(),
                    prompt: format!(
                        "{e}\nA model will be asked to correct the edit; what it gives is applied \
                         if it means exactly one place."
                    ),
                    urls: Vec::new(),
                }))
            }
            Err(e) => Err(e),
        }
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let target = self.edit.lock(cx)?;
        #[cfg(feature = "full")]
        let (plan, target) = self.corrected_plan(target, cx)?;
        #[cfg(not(feature = "full"))]
        let plan = self.plan(&target, cx)?;
        self.edit.carry_out(plan, target, &TOOL, cx)
    }
}
