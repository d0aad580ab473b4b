//! `stop_background_process`: ends processes that a command has left running.

use super::list_background_processes::{ending, still_running};
use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::text::counted;
use gemini_tools_core::tool::{
    Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, ToolError, ToolInfo,
    ToolInvocation, ToolResult, Usage,
};
use gemini_tools_process::ending::GRACE;
use gemini_tools_process::jobs::{Job, Jobs};
use serde::Deserialize;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "stop_background_process",
    summary: "Ends a background process",
    description: "Ends a process that run_shell_command has left in the background, with \
        everything that it started: politely first, then for good.",
    info: ToolInfo::new("Stop Background Process", Kind::Execute)
        .on_this_machine()
        .idempotent(),
    usage: Usage {
        examples: &[
            "call_tool stop_background_process 4711",
            "echo '{\"pid\":4711}' | call_tool stop_background_process",
        ],
        errors: &[
            ErrorKind::InvalidToolParams.when("`pid` is not a background process of this project")
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// Process id, as `run_shell_command` or `list_background_processes` gave it.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pid: u64,
}

pub(super) struct Call {
    jobs: Option<Jobs>,
    pid: i32,
}

pub(super) fn build(
    params: Params,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Call, ToolError> {
    Ok(Call {
        jobs: workspace.jobs_dir().map(Jobs::new),
        pid: process_id(params.pid)?,
    })
}

pub(super) fn process_id(pid: u64) -> Result<i32, ToolError> {
    i32::try_from(pid).map_err(|_| unknown(pid))
}

fn unknown(pid: impl std::fmt::Display) -> ToolError {
    ToolError::invalid(format!(
        "Process {pid} is not a background process of this project."
    ))
    .with_hint("Use list_background_processes to see which there are.")
}

pub(super) fn find(jobs: Option<&Jobs>, pid: i32) -> Result<Job, ToolError> {
    jobs.and_then(|jobs| jobs.find(pid))
        .ok_or_else(|| unknown(pid))
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        match find(self.jobs.as_ref(), self.pid) {
            Ok(job) => format!(
                "Ends process {} (`{}`)",
                self.pid,
                job.record.command.trim()
            ),
            Err(_) => format!("Ends process {}", self.pid),
        }
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        find(self.jobs.as_ref(), self.pid)?;
        Ok(Confirmation::Ask(ConfirmationDetails::Info {
            title: "Stop background process".to_owned(),
            prompt: self.describe(),
            urls: Vec::new(),
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let _waiting = cx.cancel.wait_for_others();
        let job = find(self.jobs.as_ref(), self.pid)?;
        if !job.is_alive(self.pid) {
            return Ok(ToolResult::text(format!(
                "Process {} was not running any more: {}.{}",
                self.pid,
                ending(&job, self.pid),
                still_running(&job)
            )));
        }
        let left = job.stop(self.pid, GRACE);
        if !left.is_empty() {
            let ids: Vec<_> = left.iter().map(|p| p.pid.to_string()).collect();
            return Err(ToolError::new(
                ErrorKind::ShellExecuteError,
                format!("These processes could not be ended: {}.", ids.join(", ")),
            )
            .with_hint("They may belong to another user."));
        }
        let below = job.living.iter().filter(|p| !p.is_alive()).count();
        Ok(ToolResult::text(format!(
            "Process {} was ended ({}).{}",
            self.pid,
            counted(below, "process"),
            still_running(&job)
        ))
        .with_data("ended", below))
    }
}
