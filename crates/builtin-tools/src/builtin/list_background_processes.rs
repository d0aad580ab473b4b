//! `list_background_processes`: lists the processes that commands have left running, including
//! those that have ended since.

use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::tool::{
    Confirmation, Context, Kind, Limit, ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::jobs::{Job, Jobs, seconds};
use gemini_tools_process::signal_name;
use serde::Deserialize;
use std::fmt::Write;
use std::time::SystemTime;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "list_background_processes",
    summary: "Lists what commands have left running",
    description: "Lists the processes that commands of run_shell_command have left in the \
        background in this project: process id, state (running, or how it ended), age and command.",
    info: ToolInfo::new("List Background Processes", Kind::Read)
        .on_this_machine()
        .with_aliases(&["ListBackgroundProcessesTool"]),
    usage: Usage {
        limits: &[
            Limit::Count(MAX_ENDED as u64).of("processes that have ended, the last ones"),
            Limit::Characters(MAX_COMMAND_CHARS).of("a command line that is shown"),
        ],
        examples: &[
            "call_tool list_background_processes",
            "call_tool list_background_processes --output text",
        ],
        ..Usage::NONE
    },
};

const MAX_ENDED: usize = 20;

const MAX_COMMAND_CHARS: usize = 200;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {}

pub(super) struct Call {
    jobs: Option<Jobs>,
}

#[expect(clippy::unnecessary_wraps, reason = "all tools' calls are built alike")]
pub(super) fn build(Params {}: Params, env: &ToolEnv) -> Result<Call, ToolError> {
    let jobs = env.workspace.jobs_dir().map(Jobs::new);
    Ok(Call { jobs })
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        "Lists background processes".to_owned()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, _: &Context) -> Result<ToolResult, ToolError> {
        let jobs = self.jobs.map(|jobs| jobs.list()).unwrap_or_default();
        let (running, ended): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|j| j.is_running());
        let now = seconds(SystemTime::now());
        let mut text = String::new();
        for job in running.iter().chain(ended.iter().take(MAX_ENDED)) {
            let _ = writeln!(text, "{}", line(job, now));
        }
        if text.is_empty() {
            text.push_str("There are no background processes.");
        }
        if ended.len() > MAX_ENDED {
            let _ = writeln!(
                text,
                "({} older ones that have ended)",
                ended.len() - MAX_ENDED
            );
        }
        Ok(ToolResult::text(text.trim_end())
            .with_display(format!("{} running", running.len()))
            .with_data("running", running.len()))
    }
}

fn line(job: &Job, now: u64) -> String {
    let command: String = job
        .record
        .command
        .trim()
        .replace(['\n', '\r', '\t'], " ")
        .chars()
        .take(MAX_COMMAND_CHARS)
        .collect();
    let others: Vec<_> = job
        .living
        .iter()
        .filter(|p| p.pid != job.pid())
        .map(|p| p.pid.to_string())
        .collect();
    let with = if others.is_empty() {
        String::new()
    } else {
        format!(", with {}", others.join(" "))
    };
    format!(
        "{} {}: {command} (started {}{with}; output in {})",
        job.pid(),
        state(job, job.pid()),
        ago(now.saturating_sub(job.record.started_at)),
        job.log.display()
    )
}

/// Says how a process is. The process whose id names the job counts as running as long as any
/// process of the job runs.
pub(super) fn state(job: &Job, pid: i32) -> String {
    if job.living.iter().any(|p| p.pid == pid) {
        return "running".to_owned();
    }
    let how = ending(job, pid);
    if pid == job.pid() && !job.living.is_empty() {
        return format!("running ({pid} itself {how})");
    }
    how
}

pub(super) fn ending(job: &Job, pid: i32) -> String {
    match job.ending_of(pid) {
        Some(ProcessEnd::Code(code)) => format!("exited with code {code}"),
        Some(ProcessEnd::Signal(signal)) => format!("ended by {}", signal_name(signal)),
        None => "ended".to_owned(),
    }
}

pub(super) fn still_running(job: &Job) -> String {
    let alive = job.living.iter().filter(|p| p.is_alive());
    let ids: Vec<_> = alive.map(|p| p.pid.to_string()).collect();
    match ids.as_slice() {
        [] => String::new(),
        ids => format!(" Still running of the same command: {}.", ids.join(" ")),
    }
}

fn ago(secs: u64) -> String {
    match secs {
        0..120 => format!("{secs} s ago"),
        120..7200 => format!("{} min ago", secs / 60),
        7200..172_800 => format!("{} h ago", secs / 3600),
        _ => format!("{} days ago", secs / 86400),
    }
}
