//! `replace`: an exact text in one file, for another.

use super::nearest::{Candidate, nearest};
use super::{Declaration, Spec, Surroundings};
use crate::tool::{
    Args, Confirmation, ConfirmationDetails, Context, Display, ErrorKind, FileDiff, Kind, Location,
    Schema, ToolError, ToolInvocation, ToolResult,
};
use crate::workspace::edit::{Found, Match, Replacement, Unmappable, diff_texts, find};
use crate::workspace::media::MAX_MEDIA_BYTES;
use crate::workspace::text::{Content, Encoding, detect};
use crate::workspace::write::Target;
use crate::workspace::{OpenFile, Place, Workspace, show_path};
use serde::Deserialize;
use std::io::{Read, Write};
use std::sync::Arc;

/// So much of a file is looked at to recognise its encoding before it is edited.
const SAMPLE_BYTES: u64 = 1024 * 1024;

/// In larger files no near misses are looked for.
const NEAREST_BYTES: u64 = 4 * 1024 * 1024;

/// Up to this size a display holds the whole content before and after.
const WHOLE_BYTES: u64 = 1024 * 1024;

/// Line numbers that a message lists.
const LISTED_LINES: usize = 50;

pub(super) const DECLARATION: Declaration = Declaration {
    name: "replace",
    description: "Replaces an exact text in one file of the project. 'old_string' must be the \
        file's literal text with all its whitespace, long enough to be unique; nothing in either \
        string is special. By default it must occur exactly once; 'expected_replacements' says \
        how often otherwise. An empty 'old_string' creates a new file. All bytes outside of the \
        text stay as they are; on a mismatch nothing is changed and the answer says what is near. \
        Read the file first.",
    schema: include_str!("declarations/replace.json"),
    aliases: &["EditTool", "edit"],
};

pub(super) const SPEC: Spec = Spec {
    declaration: &DECLARATION,
    display_name: "Edit",
    kind: Kind::Edit,
    can_update_output: false,
    renamed: &[("absolute_path", "file_path"), ("path", "file_path")],
    undeclared: &["allow_multiple", "instruction"],
    build,
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
    /// However often it occurs: how later versions of Gemini CLI say it.
    #[cfg_attr(test, schemars(skip))]
    allow_multiple: Option<bool>,
}

struct Call {
    workspace: Arc<Workspace>,
    place: Place,
    old: String,
    new: String,
    /// `None` for any number.
    expected: Option<f64>,
}

fn build(
    args: Args,
    schema: &Schema,
    Surroundings { workspace, .. }: &Surroundings,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let params: Params = args.parse(schema)?;
    let expected = match (params.expected_replacements, params.allow_multiple) {
        (None, Some(true)) => None,
        (given, _) => Some(given.unwrap_or(1.0)),
    };
    Ok(Box::new(Call {
        place: workspace.locate(&params.file_path)?,
        workspace: Arc::clone(workspace),
        old: params.old_string,
        new: params.new_string,
        expected,
    }))
}

/// An edit that is ready to be written.
enum Plan {
    Create,
    Replace {
        replacement: Replacement,
        encoding: Encoding,
        by_line_ending: bool,
    },
}

impl Call {
    fn path(&self) -> String {
        show_path(self.place.path()).into_owned()
    }

    fn fail(&self, e: &std::io::Error) -> ToolError {
        crate::workspace::io_error(e, self.place.path())
    }

    fn plan(&self, target: &Target, cx: &Context) -> Result<Plan, ToolError> {
        let Some(current) = &target.current else {
            return if self.old.is_empty() {
                Ok(Plan::Create)
            } else {
                Err(ToolError::new(
                    ErrorKind::FileNotFound,
                    format!(
                        "{} does not exist, so nothing can be replaced in it.",
                        self.path()
                    ),
                )
                .with_hint("Check the path, or use an empty old_string to create the file."))
            };
        };
        if self.old.is_empty() {
            return Err(ToolError::new(
                ErrorKind::AttemptToCreateExistingFile,
                format!(
                    "{} exists already; an empty old_string creates a new file.",
                    self.path()
                ),
            )
            .with_hint("Give the text to replace, or use write_file to overwrite the file."));
        }
        if self.old == self.new {
            return Err(self.no_change("old_string and new_string are the same"));
        }
        let encoding = self.encoding(current)?;
        let found = find(
            current,
            self.place.path(),
            encoding,
            &self.old,
            &self.new,
            &cx.cancel,
        )?
        .map_err(|c| {
            self.unmappable(encoding, c, "old_string", ErrorKind::EditNoOccurrenceFound)
        })?;
        self.check_count(&found, current, encoding)?;
        let replacement =
            Replacement::new(found.matches, &self.old, &self.new, encoding).map_err(|c| {
                self.unmappable(encoding, c, "new_string", ErrorKind::EditPreparationFailure)
            })?;
        if replacement
            .changes_nothing(current)
            .map_err(|e| self.fail(&e))?
        {
            return Err(self.no_change("the file has the new text already"));
        }
        Ok(Plan::Replace {
            replacement,
            encoding,
            by_line_ending: found.by_line_ending,
        })
    }

    fn encoding(&self, current: &OpenFile) -> Result<Encoding, ToolError> {
        let mut sample = Vec::new();
        let file = &current.file;
        file.take(SAMPLE_BYTES)
            .read_to_end(&mut sample)
            .map_err(|e| self.fail(&e))?;
        // Bytes outside of the text stay as they are, so what is no text is edited as UTF-8.
        Ok(match detect(&sample, current.size() <= SAMPLE_BYTES) {
            Content::Text(encoding) => encoding,
            Content::Binary if current.size() > MAX_MEDIA_BYTES => {
                return Err(ToolError::new(
                    ErrorKind::FileTooLarge,
                    format!(
                        "{} has {} bytes and is not text; only binary files of up to \
                         {MAX_MEDIA_BYTES} bytes are edited.",
                        self.path(),
                        current.size()
                    ),
                ));
            }
            Content::Binary => Encoding::Utf8 { bom: false },
        })
    }

    fn no_change(&self, why: &str) -> ToolError {
        ToolError::new(
            ErrorKind::EditNoChange,
            format!("Nothing to change in {}: {why}.", self.path()),
        )
    }

    fn unmappable(
        &self,
        encoding: Encoding,
        c: Unmappable,
        what: &str,
        kind: ErrorKind,
    ) -> ToolError {
        ToolError::new(
            kind,
            format!(
                "{} is encoded in {}, which has no character {:?} of {what}; nothing was changed.",
                self.path(),
                encoding.name(),
                c.0
            ),
        )
        .with_hint(
            "Use characters that the file's encoding has, or convert the file to UTF-8 first.",
        )
    }

    fn check_count(
        &self,
        found: &Found,
        current: &OpenFile,
        encoding: Encoding,
    ) -> Result<(), ToolError> {
        let count = found.matches.len();
        if count == 0 {
            return Err(self.not_found(current, encoding));
        }
        let times = super::counted(count, "time");
        match self.expected {
            Some(expected) if (expected - count as f64).abs() > 0.0 => Err(ToolError::new(
                ErrorKind::EditExpectedOccurrenceMismatch,
                format!(
                    "old_string occurs {times} in {}, not {expected}: at {}; nothing was changed.",
                    self.path(),
                    line_list(&found.matches)
                ),
            )
            .with_hint(if (count as f64) > expected {
                "Give more of the text around the one that is meant, or set expected_replacements."
            } else {
                "Set expected_replacements to the number of occurrences."
            })),
            _ => Ok(()),
        }
    }

    /// A miss that teaches: what in the file is nearest, and how it differs.
    fn not_found(&self, current: &OpenFile, encoding: Encoding) -> ToolError {
        let mut message = format!(
            "old_string was not found in {}; nothing was changed.",
            self.path()
        );
        // What .geminiignore closes to reading is not shown by way of a miss either.
        let is_shown =
            current.size() <= NEAREST_BYTES && !self.workspace.is_gemini_ignored(&self.place);
        let candidates = if is_shown {
            let mut bytes = vec![0; usize::try_from(current.size()).unwrap_or(0)];
            rustix::io::retry_on_intr(|| rustix::io::pread(&current.file, &mut *bytes, 0))
                .map(|n| nearest(&encoding.decode(&bytes[..n]), &self.old))
                .unwrap_or_default()
        } else {
            Vec::new()
        };
        for Candidate {
            line,
            difference,
            excerpt,
        } in &candidates
        {
            message.push_str(&format!("\nNear: line {line}, {difference}:\n{excerpt}"));
        }
        let hint = if !is_shown {
            "Read the file and copy the text as it is."
        } else if candidates.is_empty() {
            "Nothing in the file is near to it: read the file and copy the text as it is."
        } else {
            "Copy the text as it is in the file, with all its whitespace."
        };
        ToolError::new(ErrorKind::EditNoOccurrenceFound, message).with_hint(hint)
    }

    fn file_diff(&self, plan: &Plan, target: &Target) -> Result<FileDiff, ToolError> {
        let file_name = self.place.name().to_string_lossy().into_owned();
        if let (
            Plan::Replace {
                replacement,
                encoding,
                ..
            },
            Some(current),
        ) = (plan, &target.current)
        {
            let (file_diff, diff_stat) = replacement
                .diff(current, &file_name)
                .map_err(|e| self.fail(&e))?;
            let mut diff = FileDiff {
                file_diff,
                file_name,
                diff_stat,
                ..FileDiff::default()
            };
            if current.size() <= WHOLE_BYTES {
                let mut bytes = vec![0; usize::try_from(current.size()).unwrap_or(0)];
                let n = rustix::io::pread(&current.file, &mut bytes, 0)
                    .map_err(|e| self.fail(&e.into()))?;
                bytes.truncate(n);
                diff.original_content = Some(encoding.decode(&bytes).into_owned());
                diff.new_content = Some(encoding.decode(&replacement.apply(&bytes)).into_owned());
            }
            Ok(diff)
        } else {
            let (file_diff, diff_stat) = diff_texts("", &self.new, &file_name);
            Ok(FileDiff {
                file_diff,
                file_name,
                original_content: None,
                new_content: Some(self.new.clone()),
                diff_stat,
            })
        }
    }
}

fn line_list(matches: &[Match]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for found in matches.iter().take(LISTED_LINES) {
        lines.push(format!("line {}", found.line));
    }
    if matches.len() > LISTED_LINES {
        lines.push(format!("and {} more", matches.len() - LISTED_LINES));
    }
    lines.join(", ")
}

/// A text as one line for a description.
fn brief(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    let short: String = line.chars().take(40).collect();
    if short.len() < text.len() {
        format!("{short}…")
    } else {
        short
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let path = show_path(self.workspace.display(self.place.path())).into_owned();
        if self.old.is_empty() {
            format!("Creates `{path}`")
        } else {
            format!(
                "Edits `{path}`: {} => {}",
                brief(&self.old),
                brief(&self.new)
            )
        }
    }

    fn locations(&self) -> Vec<Location> {
        vec![Location {
            path: self.place.path().to_owned(),
            line: None,
        }]
    }

    fn confirmation(&self, cx: &Context) -> Result<Confirmation, ToolError> {
        let target = self.workspace.target(&self.place, &cx.cancel)?;
        let plan = self.plan(&target, cx)?;
        let diff = self.file_diff(&plan, &target)?;
        Ok(Confirmation::Ask(ConfirmationDetails::Edit {
            title: self.describe(),
            file_name: diff.file_name,
            file_path: self.place.path().display().to_string(),
            file_diff: diff.file_diff,
            original_content: diff.original_content,
            new_content: diff.new_content.unwrap_or_else(|| self.new.clone()),
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let target = self.workspace.target(&self.place, &cx.cancel)?;
        let plan = self.plan(&target, cx)?;
        let display = if cx.wants_display {
            Display::FileDiff(Box::new(self.file_diff(&plan, &target)?))
        } else {
            Display::default()
        };
        cx.cancel.check()?;
        let path = self.path();
        let result = match plan {
            Plan::Create => {
                target.commit(&self.place, |file| file.write_all(self.new.as_bytes()))?;
                ToolResult::text(format!(
                    "Created {path} ({}).",
                    super::counted(self.new.len(), "byte")
                ))
                .with_data("created", true)
            }
            Plan::Replace {
                replacement,
                encoding,
                by_line_ending,
            } => {
                // A second handle on the same open file: the lock stays with the target.
                let source = target.reopened().map_err(|e| self.fail(&e))?;
                target.commit(&self.place, |file| replacement.write(&source, file))?;
                let count = replacement.matches.len();
                let what = if count == 1 {
                    "occurrence"
                } else {
                    "occurrences"
                };
                let mut text = format!(
                    "Replaced {count} {what} in {path}, at {}.",
                    line_list(&replacement.matches)
                );
                if by_line_ending {
                    text.push_str(" Line feeds in old_string stood for the file's CRLF line ends.");
                }
                if !encoding.is_utf8() {
                    text.push_str(&format!(" The file stays in {}.", encoding.name()));
                }
                let lines: Vec<u64> = replacement
                    .matches
                    .iter()
                    .take(1000)
                    .map(|m| m.line)
                    .collect();
                ToolResult::text(text)
                    .with_data("replacements", count)
                    .with_data("lines", lines)
            }
        };
        Ok(result.with_display(display))
    }
}
