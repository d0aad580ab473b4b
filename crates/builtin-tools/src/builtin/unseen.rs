//! Refuses a write that would undo changes that its caller has not seen. The error shows these
//! changes, and the same write succeeds when it is repeated.

use gemini_tools_core::tool::{Context, ErrorKind, ToolError};
#[cfg(feature = "full")]
use gemini_tools_process::jobs::Jobs;
use gemini_tools_workspace::seen::UnseenChange;
use gemini_tools_workspace::write::Target;
use gemini_tools_workspace::{Workspace, WorkspacePath, show_path};
use std::ops::Range;
use std::path::Path;

/// Checks a write of a file for changes that its caller has not seen. `lines` are the lines of the
/// present file, counted from 0, that the write replaces; `None` means all of them. Returns a note
/// for the answer, with a leading space; it is empty if there is nothing to say.
///
/// # Errors
///
/// Returns `file_write_failure` with the change as a diff if the write would undo it. From then on,
/// the caller counts as knowing the change, so the same call succeeds when it is repeated.
pub(super) fn check(
    workspace: &Workspace,
    place: &WorkspacePath,
    target: &Target,
    lines: Option<&[Range<usize>]>,
    cx: &Context,
) -> Result<String, ToolError> {
    if !cx.view.remembers {
        return Ok(String::new());
    }
    let Some(change) = workspace.unseen_change(target, place) else {
        workspace.writes_to(target, place);
        let is_overwritten = lines.is_none() && target.current.is_some();
        let is_new = is_overwritten && workspace.is_unread_and_new(target);
        if !is_new {
            return Ok(String::new());
        }
        let undo = if workspace.keeps_changes() {
            "; call_tool --undo gives it back"
        } else {
            ""
        };
        return Ok(format!(
            " What was there had been written since this conversation began, and you had not read it{undo}."
        ));
    };
    if change.is_gone {
        return Ok(" It had been removed since you read it.".to_owned());
    }
    let is_elsewhere = lines.is_some_and(|lines| !lines.iter().any(|lines| change.meets(lines)));
    if is_elsewhere {
        return Ok(" The file was changed since you read it, elsewhere.".to_owned());
    }
    let diff = difference(workspace, place, &change);
    let is_told = cx.view.tells_unseen || change.may_be_own || may_be_own(workspace, &change);
    if let Some(led_to) = &change.led_to {
        return elsewhere(workspace, place, target, led_to, is_told);
    }
    if is_told {
        return Ok(format!(
            " The file was changed since you read it, and this write has undone that.{diff}"
        ));
    }
    let path = show_path(place.path());
    workspace.saw_target(target, place);
    // Of a large file, it is not known which lines have changed, so the message says "might".
    let would = if change.places.is_some() {
        "would"
    } else {
        "might"
    };
    let message = format!(
        "{path} was changed by somebody else since you read it, and this {would} undo that; nothing was written.{diff}"
    );
    let hint = "Keep that change in what you write, or make the same call again to undo it.";
    Err(ToolError::new(ErrorKind::FileWriteFailure, message).with_hint(hint))
}

/// Refuses a write of a path that leads to another file than when the caller saw it, or only says
/// so.
fn elsewhere(
    workspace: &Workspace,
    place: &WorkspacePath,
    target: &Target,
    led_to: &Path,
    is_told: bool,
) -> Result<String, ToolError> {
    workspace.saw_target(target, place);
    let led_to = show_path(led_to);
    if is_told {
        return Ok(format!(
            " When you last saw it, the path led to {led_to}, which was not changed."
        ));
    }
    let path = show_path(place.path());
    let message = format!(
        "{path} leads to another file now than when you last saw it, which was {led_to}; nothing was written."
    );
    let hint = "Read it, or make the same call again to write there.";
    Err(ToolError::new(ErrorKind::FileWriteFailure, message).with_hint(hint))
}

fn difference(workspace: &Workspace, place: &WorkspacePath, change: &UnseenChange) -> String {
    if change.diff.is_empty() {
        return String::new();
    }
    let diff = || format!("\nWhat changed:\n{}", change.diff.trim_end());
    super::quoted(workspace, place, diff).unwrap_or_default()
}

/// Returns true if a background command of this conversation may have made the change: one that
/// still runs, or was started after the caller had seen the file.
#[cfg(feature = "full")]
fn may_be_own(workspace: &Workspace, change: &UnseenChange) -> bool {
    let jobs = workspace.jobs_dir().map(|dir| Jobs::new(dir).list());
    let conversation = workspace.seen().conversation();
    jobs.unwrap_or_default()
        .iter()
        .filter(|job| job.record.conversation == conversation)
        .any(|job| job.is_running() || job.record.started_at >= change.seen_at)
}

#[cfg(not(feature = "full"))]
fn may_be_own(_: &Workspace, _: &UnseenChange) -> bool {
    false
}
