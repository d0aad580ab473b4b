//! Tail calls: a result may ask for a further call, whose result replaces it.
//!
//! A tail call is judged like any other call, by what it does and not by what asked for it.
//! [`execute`] is the only loop that makes them, and it makes no call that was not judged. A host
//! that judges calls itself, in another process, gets the request instead, and must refuse what
//! [`refuse_change`] and [`refuse_more`] refuse.

use crate::tool::{
    Args, Confirmation, Context, Tool, ToolError, ToolInvocation, ToolResult, build, catch, convert,
};
use serde_json::Value;
use std::sync::Arc;

const MAX_TAIL_CALLS: usize = 10;

/// What is done with tail calls, the further calls that results ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TailCalls {
    /// Tail calls are made.
    #[default]
    Make,
    /// Tail calls are made if no person need be asked. `judge` refuses all others: the caller would
    /// repeat the whole call after the person's reply, and the part before the tail call would run
    /// twice.
    MakeUnasked,
    /// A tail call is returned as [`ToolResult::tail_tool_call_request`], and the caller judges and
    /// makes it.
    Return,
}

/// Runs a call and the tail calls (further calls) that its results ask for. `find` looks tools up
/// by name. `judge` is asked before each call and returns what runs: it has built that call from
/// the arguments that it has judged, so that no other arguments and no other shell line can run.
///
/// # Errors
///
/// Returns the errors of finding, judging and running, `policy_violation` if a tool that only reads
/// asks for a change, and `execution_failed` if the tail calls don't end.
pub fn execute(
    mut tool: Arc<dyn Tool>,
    mut args: Value,
    cx: &Context,
    treatment: TailCalls,
    find: impl Fn(&str) -> Result<Arc<dyn Tool>, ToolError>,
    mut judge: impl FnMut(&dyn Tool, Value) -> Result<Box<dyn ToolInvocation>, ToolError>,
) -> Result<ToolResult, ToolError> {
    let mut made = 0;
    loop {
        // A panic inside the tool is this call's failure, not the end of the process.
        let mut result = catch(tool.name(), || {
            convert(&*tool, &mut args);
            let call = judge(&*tool, args)?;
            cx.cancel.check()?;
            call.run(cx)
        })?;
        let next = match result.tail_tool_call_request.take() {
            // The model gets to see a failure instead of a further call, as in Gemini CLI.
            Some(next) if result.error.is_none() => next,
            _ => return Ok(result),
        };
        if treatment == TailCalls::Return {
            result.tail_tool_call_request = Some(next);
            return Ok(result);
        }
        refuse_more(made, &next.name)?;
        made += 1;
        let wanted = find(&next.name)?;
        refuse_change(
            (tool.name(), only_reads(&*tool)),
            (wanted.name(), only_reads(&*wanted)),
        )?;
        tool = wanted;
        args = Value::Object(next.args);
    }
}

fn only_reads(tool: &dyn Tool) -> bool {
    let info = tool.info();
    info.is_read_only || info.kind.is_read_only()
}

/// Refuses a tail call (a call that a result asks for) if the asking tool only reads and the wanted
/// one may change something. Each pair is a tool's name and whether the tool only reads.
///
/// # Errors
///
/// Returns `policy_violation`.
pub fn refuse_change(asking: (&str, bool), wanted: (&str, bool)) -> Result<(), ToolError> {
    if !asking.1 || wanted.1 {
        return Ok(());
    }
    Err(ToolError::denied(format!(
        "{} says that it only reads, but asked for a call of {}, which may change something. That call was not made.",
        asking.0, wanted.0
    ))
    .with_hint("Call that tool itself if its call is wanted."))
}

pub(crate) fn unjudged(
    tool: &dyn Tool,
    args: Value,
    cx: &Context,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    build(tool, Args::from_value(args)?, cx)
}

/// Builds a call if it is allowed without asking a person.
///
/// # Errors
///
/// Returns `policy_violation` if a person must agree or the call is forbidden, or what is wrong
/// with the arguments.
pub(crate) fn unasked(
    tool: &dyn Tool,
    args: Value,
    cx: &Context,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let name = tool.name();
    let call = unjudged(tool, args, cx)?;
    let message = match call.confirmation(cx)? {
        Confirmation::NotNeeded => return Ok(call),
        Confirmation::Forbidden(reason) => reason,
        Confirmation::Ask(_) => format!(
            "A tool asked for a call of {name}, which needs approval, and nobody can be asked. That call was not made."
        ),
    };
    Err(ToolError::denied(message).with_hint("Call that tool itself if its call is wanted."))
}

/// Refuses a tail call of the tool `name` if the `made` tail calls before it are the maximum.
///
/// # Errors
///
/// Returns `execution_failed`.
pub fn refuse_more(made: usize, name: &str) -> Result<(), ToolError> {
    if made < MAX_TAIL_CALLS {
        return Ok(());
    }
    Err(ToolError::failed(format!(
        "The tail calls did not end after {MAX_TAIL_CALLS}; the last asked for {name}."
    )))
}
