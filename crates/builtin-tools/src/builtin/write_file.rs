//! `write_file`: writes the whole content of one file.

use super::syntax::Parser;
use super::{BuiltinTool, OUTSIDE, ToolEnv, placeholder};
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, FileDiff, Kind, Limit, Location, ToolError, ToolInfo,
    ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::edit::SHOWN_BYTES;
use gemini_tools_workspace::line_endings::with_end;
use gemini_tools_workspace::lines::{beginning, encoding_of};
use gemini_tools_workspace::text::{
    Encoding, LineEnding, MAX_RESTORED_BYTES, REPLACEMENT, SAMPLE_BYTES, has_only_crlf,
};
use gemini_tools_workspace::write::Target;
use gemini_tools_workspace::{Workspace, WorkspacePath};
use serde::Deserialize;
use std::io::Write;
use std::sync::Arc;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "write_file",
    summary: "Writes the whole content of a file",
    description: "Writes the whole content of one file of the project, making it and missing \
        directories where needed, overwriting what was there. Permissions, encoding, byte-order \
        mark and uniform CRLF line ends of an existing file are kept. For changing part of a file \
        use replace.",
    info: ToolInfo::new("WriteFile", Kind::Edit)
        .on_this_machine()
        .idempotent()
        .with_aliases(&["WriteFileTool"]),
    usage: Usage {
        renamed: &[("absolute_path", "file_path"), ("path", "file_path")],
        paths: &["file_path"],
        limits: &[Limit::Bytes(SHOWN_BYTES as u64)
            .of("a present file that is compared with the new content")],
        examples: &[
            "call_tool write_file file_path=notes.md content='A note.'",
            "jq -n --rawfile content README.md '{file_path: \"copy.md\", $content}' | call_tool write_file",
        ],
        errors: &[
            ErrorKind::TargetIsDirectory.when("it is a directory"),
            ErrorKind::PathIsNotADirectory.when("a part of the path is a file"),
            OUTSIDE,
            ErrorKind::ReadContentFailure.when("it is a device, FIFO or socket"),
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
    /// All of the file's new content.
    content: String,
}

pub(super) struct Call {
    workspace: Arc<Workspace>,
    place: WorkspacePath,
    content: String,
    parser: Parser,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    let workspace = &tool_env.workspace;
    Ok(Call {
        parser: Parser::new(tool_env),
        place: workspace.locate(&params.file_path)?,
        workspace: Arc::clone(workspace),
        content: params.content,
    })
}

struct Plan {
    bytes: Vec<u8>,
    encoding: Encoding,
    /// The file's present text. It is empty for a new file, and `None` if the present file is too
    /// large or not text.
    old_text: Option<String>,
}

impl Call {
    /// Encodes the content like the present file, with that file's byte order mark. The content
    /// gets line ends `\r\n` if all lines of that file have them and the content has no carriage
    /// return.
    fn plan(&self, target: &Target) -> Result<Plan, ToolError> {
        let fresh = |old_text| Plan {
            bytes: self.content.clone().into_bytes(),
            encoding: Encoding::default(),
            old_text,
        };
        let check_new = || placeholder::check("content", &self.content);
        let Some(current) = &target.current else {
            check_new()?;
            return Ok(fresh(Some(String::new())));
        };
        let fail = |e: std::io::Error| gemini_tools_workspace::io_error(&e, self.place.path());
        let whole = current.size() <= SHOWN_BYTES as u64;
        // U+FFFD in the content may stand for invalid bytes anywhere in the present file, so all of
        // it is read.
        let compares = whole || self.content.contains(REPLACEMENT);
        let limit = if compares {
            MAX_RESTORED_BYTES
        } else {
            SAMPLE_BYTES
        };
        let old = beginning(current, limit).map_err(fail)?;
        let Some(encoding) = encoding_of(current).map_err(fail)? else {
            check_new()?;
            return Ok(fresh(None));
        };
        let old_text = encoding.decode(&old).into_owned();
        placeholder::check_file("content", &self.content, "", current, encoding)
            .map_err(fail)??;
        let mut content = self.content.as_str();
        let crlf;
        if has_only_crlf(&old_text) && !content.contains('\r') {
            crlf = with_end(content, LineEnding::Crlf);
            content = &crlf;
        }
        let content = content.strip_prefix('\u{feff}').unwrap_or(content);
        let is_marked = encoding.is_utf8() && self.content.starts_with('\u{feff}');
        let mark = if is_marked {
            "\u{feff}".as_bytes()
        } else {
            encoding.mark()
        };
        let mut bytes = mark.to_vec();
        let kept = if compares { &*old } else { &[] };
        let encoded = encoding.encode_over(kept, content).map_err(|why| {
            let (path, kind) = (self.place.path(), ErrorKind::FileWriteFailure);
            super::unwritable(why, path, encoding, kind, "content")
        })?;
        bytes.extend_from_slice(&encoded);
        Ok(Plan {
            bytes,
            encoding,
            old_text: whole.then_some(old_text),
        })
    }

    /// Refuses a write that would undo changes that the caller has not seen. A write that leaves
    /// the content as it is undoes nothing.
    fn check_seen(&self, target: &Target, plan: &Plan, cx: &Context) -> Result<String, ToolError> {
        let is_same = target.current.as_ref().is_some_and(|current| {
            let size = plan.bytes.len();
            let same_size = current.size() == size as u64;
            same_size && beginning(current, size).is_ok_and(|bytes| bytes == plan.bytes)
        });
        if is_same {
            return Ok(String::new());
        }
        super::unseen::check(&self.workspace, &self.place, target, None, cx)
    }

    fn diff(&self, plan: &Plan, is_new: bool) -> FileDiff {
        let name = self.place.name().to_string_lossy().into_owned();
        let new = plan.encoding.decode(&plan.bytes);
        match &plan.old_text {
            Some(old) => super::text_diff(name, (!is_new).then_some(old), &new),
            None => FileDiff {
                file_name: name,
                new_content: (new.len() <= SHOWN_BYTES).then(|| new.into_owned()),
                ..FileDiff::default()
            },
        }
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("Writes `{}`", self.workspace.display_name(&self.place))
    }

    fn locations(&self) -> Vec<Location> {
        super::locations(&self.place)
    }

    fn confirmation(&self, cx: &Context) -> Result<Confirmation, ToolError> {
        let target = self.workspace.target(&self.place, &cx.cancel)?;
        let diff = self.diff(&self.plan(&target)?, target.current.is_none());
        let (title, path) = (self.describe(), self.place.path());
        Ok(super::ask_about_edit(title, path, diff, &self.content))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let target = self.workspace.target(&self.place, &cx.cancel)?;
        let is_new = target.current.is_none();
        let plan = self.plan(&target)?;
        cx.cancel.check()?;
        let seen = self.check_seen(&target, &plan, cx)?;
        let old = plan.old_text.as_deref().unwrap_or_default();
        let new = plan.encoding.decode(&plan.bytes).into_owned();
        let check = self.parser.check(&self.workspace, &self.place, old, new);
        let origin = super::origin(&TOOL, cx);
        let notes = super::commit(target, &self.workspace, &self.place, origin, |file| {
            file.write_all(&plan.bytes)
        })?;
        let done = if is_new {
            "created and wrote to new file"
        } else {
            "overwrote file"
        };
        let kept = if plan.encoding.is_utf8() {
            String::new()
        } else {
            format!(" in {}, the encoding it had", plan.encoding.name())
        };
        let size = super::counted(plan.bytes.len(), "byte");
        let before = format!("Successfully {done}: ");
        let after = format!(". It has {size}{kept}.{notes}{seen}");
        let text = super::about_path(&before, self.place.path(), &after);
        let mut result = ToolResult::named(text)
            .with_data("created", is_new)
            .with_data("bytes", plan.bytes.len());
        if cx.wants_display {
            result.return_display = self.diff(&plan, is_new).into();
        }
        Ok(check.add_to(result))
    }
}
