//! `list_directory`: lists the entries of one directory.

use super::scope::ignored_note;
use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::colours::Look;
use gemini_tools_core::text::{collation_key, counted};
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, FoundPlace, Kind, Limit, Location, ResultPlaces, ToolError,
    ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::ignore::IgnoreSource;
use gemini_tools_workspace::pattern::PatternSet;
use gemini_tools_workspace::walk::DirectoryEntry;
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath, show_path};
use serde::Deserialize;
use std::cmp::Reverse;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "list_directory",
    summary: "Lists directories first, then files",
    description: "Lists the names of the files and directories that a directory of the project \
        holds: directories first, marked [DIR], then files, each by name. Entries that .gitignore \
        or .geminiignore name are left out and counted; 'ignore' leaves out more.",
    info: ToolInfo::new("ReadFolder", Kind::Read)
        .on_this_machine()
        .with_aliases(&["LSTool"]),
    usage: Usage {
        renamed: &[("dir_path", "path")],
        paths: &["path"],
        limits: &[
            Limit::Bytes(gemini_tools_workspace::walk::MAX_ENTRIES_BYTES as u64)
                .of("names of entries"),
        ],
        examples: &[
            "call_tool list_directory src",
            "call_tool list_directory . ignore:='[\"*.lock\"]'",
        ],
        errors: &[
            ErrorKind::FileNotFound.when("there is no such directory"),
            ErrorKind::PathIsNotADirectory.when("`path` is a file"),
            ErrorKind::PathNotInWorkspace.when("`path` is outside"),
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// Path of the directory: absolute, or relative to the project's root.
    path: String,
    /// Glob patterns of names to leave out, such as "*.log".
    ignore: Option<Vec<String>>,
    /// Which ignore files count.
    file_filtering_options: Option<FilteringOptions>,
}

/// Which ignore files count.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FilteringOptions {
    /// Whether to leave out what .gitignore names. Default: true.
    respect_git_ignore: Option<bool>,
    /// Whether to leave out what .geminiignore names. Default: true.
    respect_gemini_ignore: Option<bool>,
}

impl FilteringOptions {
    pub(super) fn respect(self) -> Respect {
        Respect {
            git: self.respect_git_ignore.unwrap_or(true),
            gemini: self.respect_gemini_ignore.unwrap_or(true),
        }
    }
}

pub(super) struct Call {
    workspace: Arc<Workspace>,
    place: WorkspacePath,
    ignore: PatternSet,
    respect: Respect,
}

pub(super) fn build(
    params: Params,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Call, ToolError> {
    // For Gemini CLI an empty path is the root, and models give one where a schema demands a path.
    let path = if params.path.is_empty() {
        "."
    } else {
        &params.path
    };
    let place = workspace.locate(path)?;
    let ignore = params.ignore.unwrap_or_default();
    let ignore = super::scope::patterns(workspace, &ignore, std::slice::from_ref(&place))?;
    Ok(Call {
        ignore: PatternSet::for_names_or_paths(ignore, false)?,
        place,
        workspace: Arc::clone(workspace),
        respect: params.file_filtering_options.unwrap_or_default().respect(),
    })
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("Lists `{}`", self.workspace.display_name(&self.place))
    }

    fn locations(&self) -> Vec<Location> {
        super::locations(&self.place)
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let entries = self
            .workspace
            .list_dir(&self.place, self.respect)
            .map_err(|e| self.explain(e))?;
        cx.cancel.check()?;
        let count = |who| entries.iter().filter(|e| e.ignored == Some(who)).count();
        let note = ignored_note(count(IgnoreSource::Git), count(IgnoreSource::Gemini));
        let is_shown = |entry: &&DirectoryEntry| {
            entry.ignored.is_none() && !self.ignore.matches(&entry.name, 0)
        };
        let mut shown: Vec<&DirectoryEntry> = entries.iter().filter(is_shown).collect();
        shown.sort_by_cached_key(|entry| (!entry.is_dir, order(&entry.name)));
        let path = self.place.path();
        let mut text = NamedText::answering(cx);
        if shown.is_empty() {
            let why = if entries.is_empty() {
                "is empty"
            } else {
                "has only entries that are left out"
            };
            text.push_str("Directory ");
            text.push_path(path);
            text.push_str(&format!(" {why}."));
        } else {
            text.push_str("Directory listing for ");
            text.push_path(path);
            text.push_str(":");
            for entry in &shown {
                if entry.is_dir {
                    text.push_str("\n[DIR] ");
                    text.push_name_as(&entry.name, Look::Directory);
                } else {
                    text.push_str("\n");
                    text.push_plain_name(&entry.name);
                }
            }
        }
        if !note.is_empty() {
            text.push_str(&format!("\n\n({note})"));
        }
        let summary = format!("Listed {}", counted(shown.len(), "entry"));
        let mut result = ToolResult::named(text)
            .with_display(summary)
            .with_data("entries", shown.len());
        if cx.view.places == ResultPlaces::Items {
            let entries = shown.iter().map(|entry| self.place(entry));
            result.locations = Some(entries.collect());
        }
        Ok(result)
    }
}

impl Call {
    fn place(&self, entry: &DirectoryEntry) -> FoundPlace {
        let directory = self.place.path().as_os_str().as_bytes();
        let end: &[u8] = if entry.is_dir { b"/" } else { b"" };
        FoundPlace::file([directory, b"/", &entry.name, end].concat())
    }

    fn explain(&self, e: ToolError) -> ToolError {
        match self.workspace.file_type(&self.place) {
            Ok(_) if e.kind == ErrorKind::PathIsNotADirectory => ToolError::new(
                e.kind,
                format!(
                    "{} is a file, not a directory.",
                    show_path(self.place.path())
                ),
            )
            .with_hint("Use read_file to see what it holds."),
            _ => self.workspace.with_nearest(e, &self.place),
        }
    }
}

/// Returns the key by which names are sorted. If names differ only in letter case, small letters
/// come first.
fn order(name: &[u8]) -> (Vec<u8>, Reverse<&[u8]>) {
    (collation_key(name), Reverse(name))
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn names_are_ordered_as_people_expect() {
        let mut names = [
            "zeta", "Makefile", ".hidden", "alpha", "f10", "f2", "F3", "_x", "-y", "1", "été",
            "eu", "Été", "a", "A",
        ];
        names.sort_by_key(|name| order(name.as_bytes()));
        assert_eq!(
            names,
            [
                "_x", "-y", ".hidden", "1", "a", "A", "alpha", "été", "Été", "eu", "f10", "f2",
                "F3", "Makefile", "zeta"
            ]
        );
    }
}
