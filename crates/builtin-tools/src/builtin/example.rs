//! `file_size`: the size of one file. An example for CONTRIBUTING.md, in no list of tools.

use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::text::counted;
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, Kind, Location, ToolError, ToolInfo, ToolInvocation,
    ToolResult, Usage,
};
use gemini_tools_workspace::{Workspace, WorkspacePath};
use std::sync::Arc;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "file_size",
    summary: "Tells the size of a file",
    description: "Tells the size of one file of the project in bytes, without reading it.",
    info: ToolInfo::new("FileSize", Kind::Read).on_this_machine(),
    usage: Usage {
        renamed: &[("path", "file_path")],
        examples: &[
            "call_tool file_size README.md",
            "call_tool file_size path=README.md",
        ],
        errors: &[ErrorKind::FileNotFound.when("there is no such file")],
        ..Usage::NONE
    },
};

#[derive(Debug, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// Path of the file: absolute, or relative to the project's root.
    file_path: String,
}

pub(super) struct Call {
    workspace: Arc<Workspace>,
    place: WorkspacePath,
}

pub(super) fn build(params: Params, env: &ToolEnv) -> Result<Call, ToolError> {
    let workspace = Arc::clone(&env.workspace);
    let place = workspace.locate(&params.file_path)?;
    Ok(Call { workspace, place })
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("Tells the size of `{}`", self.place.name().display())
    }

    fn locations(&self) -> Vec<Location> {
        let path = self.place.path().to_owned();
        vec![Location { path, line: None }]
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, _: &Context) -> Result<ToolResult, ToolError> {
        let size = self.workspace.open_file(&self.place)?.size();
        Ok(ToolResult::text(counted(
            usize::try_from(size).unwrap_or(usize::MAX),
            "byte",
        )))
    }
}
