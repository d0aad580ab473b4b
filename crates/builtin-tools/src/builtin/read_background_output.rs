//! `read_background_output`: reads what a background process has printed. It can wait for the
//! process to end, or for a line that matches a pattern.

use super::list_background_processes::state;
use super::query::Query;
use super::stop_background_process::{find, process_id};
use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::tool::{
    Cancellation, Confirmation, Context, ErrorKind, Kind, Limit, ToolError, ToolInfo,
    ToolInvocation, ToolResult, Usage,
};
use gemini_tools_process::condense::condense;
use gemini_tools_process::decode::OutputDecoder;
use gemini_tools_process::jobs::{Job, Jobs};
use gemini_tools_process::terminal::TerminalEmulator;
use gemini_tools_workspace::lines::read_at;
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use std::collections::VecDeque;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "read_background_output",
    summary: "Reads a background process's output",
    description: "Reads what a process that run_shell_command has left in the background has \
        printed so far: the last 'lines' lines, or 'lines' lines from 'offset'. With 'wait' it \
        waits so many seconds at most until the process ends, or until a line matches 'pattern' \
        (for example that a server is ready).",
    info: ToolInfo::new("Read Background Output", Kind::Read)
        .on_this_machine()
        .with_aliases(&["ReadBackgroundOutputTool"]),
    usage: Usage {
        renamed: &[("limit", "lines")],
        limits: &[
            Limit::Count(DEFAULT_LINES).of("lines, where `lines` is missing"),
            Limit::Seconds(DEFAULT_WAIT.as_secs())
                .of("the wait for `pattern`, where `wait` is missing"),
            Limit::Characters(MAX_LINE_CHARS).of("a line that is shown"),
        ],
        examples: &[
            "call_tool read_background_output 4711 lines=20",
            "call_tool read_background_output 4711 pattern='listening on' wait=30",
        ],
        errors: &[
            ErrorKind::InvalidToolParams.when("`pid` is not a background process of this project")
        ],
        ..Usage::NONE
    },
};

const DEFAULT_LINES: u64 = 100;

const DEFAULT_WAIT: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(100);

const MAX_LINE_CHARS: usize = 2000;

const CHUNK_BYTES: usize = 256 * 1024;

/// Of a longer line, such as one of a log without any line feed, the rest is not looked at.
const MAX_LINE_BYTES: usize = 64 * 1024;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// Process id, as `run_shell_command` or `list_background_processes` gave it.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pid: u64,
    /// How many lines to show. Default: 100.
    #[cfg_attr(test, schemars(range(min = 1)))]
    lines: Option<u64>,
    /// Line to begin with, counted from 0. Default: the last lines are shown.
    #[cfg_attr(test, schemars(range(min = 0)))]
    offset: Option<u64>,
    /// Seconds to wait for the end of the process, or for 'pattern'. Default: 0, with 'pattern' 30.
    #[cfg_attr(test, schemars(range(min = 0, max = 3600)))]
    wait: Option<f64>,
    /// Regular expression: wait until a line matches it.
    pattern: Option<String>,
}

pub(super) struct Call {
    jobs: Option<Jobs>,
    pid: i32,
    lines: u64,
    offset: Option<u64>,
    wait: Duration,
    pattern: Option<(String, Query)>,
}

pub(super) fn build(
    params: Params,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Call, ToolError> {
    let query = |text: &String| Query::new("pattern", text, false, false);
    let query = params.pattern.as_ref().map(query).transpose()?;
    let pattern = params.pattern.zip(query);
    let wait = match params.wait {
        Some(secs) => Duration::try_from_secs_f64(secs).unwrap_or_default(),
        None if pattern.is_some() => DEFAULT_WAIT,
        None => Duration::ZERO,
    };
    Ok(Call {
        jobs: workspace.jobs_dir().map(Jobs::new),
        pid: process_id(params.pid)?,
        lines: params.lines.unwrap_or(DEFAULT_LINES),
        offset: params.offset,
        wait,
        pattern,
    })
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let mut text = format!("Reads the output of background process {}", self.pid);
        if let Some((pattern, _)) = &self.pattern {
            let _ = write!(text, ", waiting for `{pattern}`");
        }
        text
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let mut job = find(self.jobs.as_ref(), self.pid)?;
        let mut window = Window::new(&self, &job)?;
        let started = Instant::now();
        let _waiting = (!self.wait.is_zero()).then(|| cx.cancel.wait_for_others());
        loop {
            // Checked before reading: if the process has ended by now, all output is read below.
            let is_running = job.is_running();
            window.read(&cx.cancel)?;
            if window.is_met() || !is_running || started.elapsed() >= self.wait {
                break;
            }
            let left = self.wait.saturating_sub(started.elapsed());
            std::thread::sleep(left.min(PAUSE));
            cx.cancel.check()?;
            job = find(self.jobs.as_ref(), self.pid)?;
        }
        window.finish();
        Ok(self.report(&job, &window, started.elapsed(), cx.view.condenses))
    }
}

impl Call {
    fn lines(&self, window: &Window<'_>, condenses: bool) -> String {
        let mut lines = String::new();
        for line in &window.shown {
            lines.push_str(line);
            lines.push('\n');
        }
        if !condenses || self.offset.is_some() {
            return lines;
        }
        let Some((mut short, count)) = condense(&lines, window.first) else {
            return lines;
        };
        let _ = writeln!(
            short,
            "[Condensed: {count} lines are left out; offset shows them.]"
        );
        short
    }

    fn report(
        &self,
        job: &Job,
        window: &Window<'_>,
        waited: Duration,
        condenses: bool,
    ) -> ToolResult {
        let total = window.total;
        let mut text = format!("Process {}: {}.\n", self.pid, state(job, self.pid));
        match (&self.pattern, &window.first_match) {
            (Some((pattern, _)), Some(line)) => {
                let _ = writeln!(text, "Line {line} matches {pattern:?}.");
            }
            (Some((pattern, _)), None) => {
                let _ = writeln!(
                    text,
                    "No line matched {pattern:?} within {:.1} s.",
                    waited.as_secs_f64()
                );
            }
            (None, _) => {}
        }
        let first = window.first;
        let shown = window.shown.len() as u64;
        let end = first + shown;
        if shown == 0 {
            text.push_str(if total == 0 {
                "There is no output yet.\n"
            } else {
                "There is no output from this line on yet.\n"
            });
        } else {
            let _ = writeln!(
                text,
                "Showing lines {first} to {} of {total} (counted from 0):",
                end - 1
            );
            text.push_str(&self.lines(window, condenses));
        }
        if let Some(encoding) = window.decoder.decoded_from() {
            let _ = writeln!(text, "[Decoded from {encoding}.]");
        }
        // If the last line has not ended yet, the process may still write the rest of it. The next
        // call must then begin with this line again, or the caller would never see that rest.
        let may_go_on = job.is_running() && window.ends_within_a_line && end == total;
        let next = if may_go_on { total - 1 } else { end };
        if end < total {
            let _ = writeln!(text, "[Truncated: continue with offset {next}.]");
        } else if job.is_running() {
            let _ = writeln!(text, "[To read on from here later: offset {next}.]");
        }
        let mut result = ToolResult::text(text.trim_end())
            .with_display(format!("{shown} lines"))
            .with_data("nextOffset", next)
            .with_data("totalLines", total)
            .with_data("running", job.is_running());
        if self.pattern.is_some() {
            result = result.with_data("matched", window.first_match.is_some());
        }
        result
    }
}

struct Window<'a> {
    call: &'a Call,
    file: File,
    position: u64,
    buffer: Vec<u8>,
    decoder: OutputDecoder,
    terminal: TerminalEmulator,
    partial: String,
    first_match: Option<u64>,
    first: u64,
    shown: VecDeque<String>,
    total: u64,
    ends_within_a_line: bool,
}

impl<'a> Window<'a> {
    fn new(call: &'a Call, job: &Job) -> Result<Self, ToolError> {
        Ok(Self {
            call,
            file: open(&job.log)?,
            position: 0,
            buffer: vec![0; CHUNK_BYTES],
            decoder: OutputDecoder::default(),
            terminal: TerminalEmulator::default(),
            partial: String::new(),
            first_match: None,
            first: call.offset.unwrap_or(0),
            shown: VecDeque::new(),
            total: 0,
            ends_within_a_line: false,
        })
    }

    fn read(&mut self, cancel: &Cancellation) -> Result<(), ToolError> {
        loop {
            cancel.check()?;
            let n = read_at(&self.file, &mut self.buffer, self.position).map_err(|e| {
                ToolError::new(
                    ErrorKind::ReadContentFailure,
                    format!("The output can't be read: {e}."),
                )
            })?;
            if n == 0 {
                return Ok(());
            }
            self.position += n as u64;
            self.push(n);
        }
    }

    fn push(&mut self, n: usize) {
        let mut text = String::new();
        let terminal = &mut self.terminal;
        self.decoder.push(&self.buffer[..n], |piece| {
            terminal.push(piece, &mut |t| text.push_str(t));
        });
        for piece in text.split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(end) => {
                    grow(&mut self.partial, end);
                    let line = std::mem::take(&mut self.partial);
                    self.line(line);
                }
                None => grow(&mut self.partial, piece),
            }
        }
    }

    fn line(&mut self, line: String) {
        let number = self.total;
        self.total += 1;
        if self.first_match.is_none() && self.matches(&line) {
            self.first_match = Some(number);
        }
        let line = shortened(line);
        if let Some(offset) = self.call.offset {
            if number >= offset && (self.shown.len() as u64) < self.call.lines {
                self.shown.push_back(line);
            }
            return;
        }
        self.shown.push_back(line);
        if self.shown.len() as u64 > self.call.lines {
            self.shown.pop_front();
        }
        self.first = self.total - self.shown.len() as u64;
    }

    /// Returns the last line of the output if no line feed has ended it yet, as that of a prompt.
    fn unfinished(&self) -> String {
        let held = self.decoder.unfinished();
        format!("{}{}{held}", self.partial, self.terminal.unfinished())
    }

    fn matches(&self, line: &str) -> bool {
        let pattern = self.call.pattern.as_ref();
        pattern.is_some_and(|(_, query)| query.is_match(line.as_bytes()).unwrap_or(false))
    }

    fn is_met(&self) -> bool {
        self.first_match.is_some() || self.matches(&self.unfinished())
    }

    fn finish(&mut self) {
        let terminal = &mut self.terminal;
        let partial = &mut self.partial;
        self.decoder.finish(|piece| {
            terminal.push(piece, &mut |t| grow(partial, t));
        });
        let unfinished = self.unfinished();
        self.ends_within_a_line = !unfinished.is_empty();
        if self.ends_within_a_line {
            self.line(unfinished);
        }
    }
}

fn grow(line: &mut String, piece: &str) {
    let mut room = MAX_LINE_BYTES.saturating_sub(line.len()).min(piece.len());
    while !piece.is_char_boundary(room) {
        room -= 1;
    }
    line.push_str(&piece[..room]);
}

fn shortened(line: String) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        None => line,
        Some((at, _)) => format!("{}… [truncated]", &line[..at]),
    }
}

fn open(path: &Path) -> Result<File, ToolError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|e| gemini_tools_workspace::system_error(e, &path.display().to_string()))
}
