//! `save_memory`: adds a fact to the user's own memory file, for later sessions.
//!
//! Which file that is depends on the host ([`ClientHost`]): for Gemini CLI it is `GEMINI.md` in
//! `.gemini` of the user's home directory, or the file that `context.fileName` names.
//! [`super::memory`] decides where in it a fact goes, and [`super::fact`] what a fact looks like.
//! The memory file is the only file outside of the project that a tool edits.

use super::fact::Fact;
use super::memory::insertion;
use super::{BuiltinTool, ToolEnv};
#[cfg(feature = "full")]
use gemini_tools_core::client_host::HOSTS;
use gemini_tools_core::client_host::{ClientHost, GEMINI_CLI};
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::{
    Confirmation, Context, Display, ErrorKind, Kind, Limit, Location, ToolError, ToolInfo,
    ToolInvocation, ToolResult, Usage,
};
#[cfg(feature = "full")]
use gemini_tools_settings::settings::Settings;
use gemini_tools_workspace::journal::ChangeOrigin;
use gemini_tools_workspace::lines::beginning;
use gemini_tools_workspace::text::detect;
use gemini_tools_workspace::write::{Target, is_lost_race};
use gemini_tools_workspace::{Workspace, WorkspacePath, io_error, show_path};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const MAX_FACT_CHARS: usize = 10_000;

/// Maximum size in bytes of the memory file. Hosts read all of it into every session, so a larger
/// file is not a memory file.
const MAX_FILE_BYTES: usize = 1024 * 1024;

const SHOWN_CHARS: usize = 300;

const PAUSE: Duration = Duration::from_millis(1);

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "save_memory",
    summary: "Adds one line to ~/.gemini/GEMINI.md",
    description: "Remembers one fact for all later sessions, in the user's own memory file. Use it \
        when the user asks to remember something, or states a lasting preference or a fact about \
        themselves or their environment that later sessions need. Not for what matters in this \
        session only, nor for long texts. A fact that is known already is not added again.",
    info: ToolInfo::new("Save Memory", Kind::Think)
        .on_this_machine()
        .idempotent()
        .with_aliases(&["MemoryTool"]),
    usage: Usage {
        limits: &[
            Limit::Characters(MAX_FACT_CHARS).of("a fact"),
            Limit::Bytes(MAX_FILE_BYTES as u64).of("the file"),
        ],
        examples: &[
            "call_tool save_memory 'The tests need a database.'",
            "echo '{\"fact\":\"The tests need a database.\"}' | call_tool save_memory",
        ],
        errors: &[ErrorKind::InvalidToolParams.when("`fact` is blank or too long")],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// The fact: one short sentence that can be understood without this conversation.
    fact: String,
}

/// A call of the tool. `workspace` is the one whose undo journal keeps the old content. `is_named`
/// is set if the file is that of the MCP client's host: then the answer names it, while all other
/// answers have Gemini CLI's wording.
pub(super) struct Call {
    workspace: Arc<Workspace>,
    path: PathBuf,
    is_named: bool,
    fact: Fact,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    if params.fact.chars().count() > MAX_FACT_CHARS {
        return Err(ToolError::invalid(format!(
            "\"fact\" is longer than {MAX_FACT_CHARS} characters."
        ))
        .with_hint("Give the fact itself in a sentence; a text belongs into a file."));
    }
    let fact = Fact::new(&params.fact).ok_or_else(|| {
        ToolError::invalid("\"fact\" is blank.").with_hint("Say in a sentence what to remember.")
    })?;
    let workspace = &tool_env.workspace;
    #[cfg(feature = "full")]
    let name = tool_env.settings.context_file_names.first();
    #[cfg(not(feature = "full"))]
    let name = None;
    // A client whose memory file is not known uses Gemini CLI's.
    let host = tool_env.client_host.map(|host| match host.memory_file {
        "" => &GEMINI_CLI,
        _ => host,
    });
    let path = path_of(workspace, host.unwrap_or(&GEMINI_CLI), name).map_err(failure)?;
    Ok(Call {
        workspace: Arc::clone(workspace),
        path,
        is_named: host.is_some(),
        fact,
    })
}

/// Returns the paths of the memory files of all known hosts. Paths that can't be determined are
/// left out.
#[cfg(feature = "full")]
pub fn memory_files(workspace: &Workspace, settings: &Settings) -> Vec<PathBuf> {
    let name = settings.context_file_names.first();
    let path = |host: &&ClientHost| path_of(workspace, host, name).ok();
    HOSTS.iter().filter_map(path).collect()
}

/// Returns the path of a host's memory file. For Gemini CLI, `name` takes the place of the file's
/// usual name; it must not be a path.
fn path_of(
    workspace: &Workspace,
    host: &ClientHost,
    name: Option<&String>,
) -> Result<PathBuf, ToolError> {
    let directory = host.directory(workspace.home()).ok_or_else(|| {
        ToolError::new(
            ErrorKind::MemoryToolExecutionError,
            "There is no home directory to keep memories in.",
        )
        .with_hint(format!("Set {} to an absolute path.", host.variables()))
    })?;
    let name = name
        .filter(|_| host.is_gemini_cli())
        .map_or(host.memory_file, String::as_str);
    if !is_file_name(name) {
        return Err(ToolError::new(
            ErrorKind::MemoryToolExecutionError,
            format!("context.fileName in the user's settings.json is {name:?}, no name of a file; nothing was saved."),
        )
        .with_hint("It must be a name without directories, such as \"GEMINI.md\"."));
    }
    Ok(directory.join(name))
}

fn is_file_name(name: &str) -> bool {
    !name.contains('\0') && Path::new(name).file_name().is_some_and(|last| last == name)
}

/// Converts an error to the form in which Gemini CLI's tool gives it: its message is a JSON object.
fn failure(e: ToolError) -> ToolError {
    let kind = match e.kind {
        kept @ (ErrorKind::Cancelled | ErrorKind::Timeout | ErrorKind::NoSpaceLeft) => kept,
        _ => ErrorKind::MemoryToolExecutionError,
    };
    let text = Value::from(e.to_string());
    ToolError::new(kind, format!(r#"{{"success":false,"error":{text}}}"#)).with_source(e)
}

struct Plan {
    target: Target,
    place: WorkspacePath,
    old: Vec<u8>,
    new: Option<Vec<u8>>,
}

impl Call {
    fn plan(&self, cx: &Context) -> Result<Plan, ToolError> {
        let (workspace, place) = Workspace::for_user_file(&self.path)?;
        let target = workspace.target(&place, &cx.cancel)?;
        let old = match &target.current {
            Some(current) => beginning(current, MAX_FILE_BYTES + 1),
            None => Ok(Vec::new()),
        };
        let old = old.map_err(|e| io_error(&e, &self.path))?;
        self.check(&old)?;
        let new = insertion(&old, &self.fact).map(|(at, lines)| {
            let (before, after) = old.split_at(at);
            [before, lines.as_bytes(), after].concat()
        });
        Ok(Plan {
            target,
            place,
            old,
            new,
        })
    }

    fn check(&self, old: &[u8]) -> Result<(), ToolError> {
        let what = if old.len() > MAX_FILE_BYTES {
            format!("larger than {MAX_FILE_BYTES} bytes")
        } else {
            match detect(old, true) {
                // The new line is UTF-8 whatever the encoding of the rest, because Gemini CLI reads
                // the whole file as UTF-8.
                Some(encoding) if encoding.unit() == 1 => return Ok(()),
                Some(encoding) => {
                    format!("encoded in {}, which hosts don't read", encoding.name())
                }
                None => "not a text file".to_owned(),
            }
        };
        let path = self.path.display();
        Err(
            ToolError::new(ErrorKind::FileWriteFailure, format!("{path} is {what}."))
                .with_hint("Nothing was saved; look at that file."),
        )
    }

    /// Adds the fact, and tries again as long as other processes change the file meanwhile. Returns
    /// whether the fact is new, and notes for the answer, each with a leading space.
    fn save(&self, cx: &Context) -> Result<(bool, String), ToolError> {
        loop {
            cx.cancel.check()?;
            let plan = self.plan(cx)?;
            let Some(new) = plan.new else {
                return Ok((false, String::new()));
            };
            let origin = ChangeOrigin {
                is_users_file: true,
                ..super::origin(&TOOL, cx)
            };
            let (workspace, place) = (&self.workspace, &plan.place);
            match super::commit(plan.target, workspace, place, origin, |file| {
                file.write_all(&new)
            }) {
                // Another process has changed the file since it was read.
                Err(e) if is_lost_race(&e) => std::thread::sleep(PAUSE),
                written => return Ok((true, written?)),
            }
        }
    }
}

fn decode(file: &[u8]) -> Cow<'_, str> {
    encoding_rs::UTF_8.decode_with_bom_removal(file).0
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("Remembers a fact in `{}`", show_path(&self.path))
    }

    fn locations(&self) -> Vec<Location> {
        vec![self.path.as_path().into()]
    }

    fn confirmation(&self, cx: &Context) -> Result<Confirmation, ToolError> {
        let plan = self.plan(cx).map_err(failure)?;
        let Some(new) = plan.new else {
            return Ok(Confirmation::NotNeeded);
        };
        let name = plan.place.name().to_string_lossy().into_owned();
        let (old, new) = (decode(&plan.old), decode(&new));
        let old = plan.target.current.is_some().then_some(&*old);
        let diff = super::text_diff(name, old, &new);
        let title = self.describe();
        Ok(super::ask_about_edit(title, &self.path, diff, &new))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        // As Gemini CLI does. The journal, which is written first, never makes a home directory. If
        // this fails, so does the write, which says why.
        if let Some(home) = self.workspace.home() {
            let _ = std::fs::create_dir_all(home);
        }
        let (is_new, notes) = self.save(cx).map_err(failure)?;
        let quoted = excerpt(&self.fact.stored, SHOWN_CHARS);
        let mut message = if is_new {
            format!("Okay, I've remembered that: \"{quoted}\"")
        } else {
            format!("Known already, so nothing was changed: \"{quoted}\"")
        };
        if self.is_named {
            message = format!("{message} (in {})", show_path(&self.path));
        }
        if !notes.is_empty() {
            message = format!("{message}.{notes}");
        }
        let text = format!(r#"{{"success":true,"message":{}}}"#, Value::from(&*message));
        let mut result = ToolResult::text(text)
            .with_display(Display::Markdown(message.clone()))
            .with_data("added", is_new)
            .with_data("path", show_path(&self.path));
        result.view.text_for_people = Some(message);
        // The answer is JSON, which must not be cut, so it counts as limited already.
        result.view.is_limited = true;
        Ok(result)
    }
}
