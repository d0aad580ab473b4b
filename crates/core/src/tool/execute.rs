//! Builds and runs calls.

use super::usage::misnamed;
use super::{Args, Context, ErrorKind, Tool, ToolError, ToolInvocation};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Converts the arguments to the types of the schema (see [`convert`](super::convert)), checks them
/// and builds a call.
///
/// # Errors
///
/// Returns `invalid_tool_params`, naming the argument, what was expected, and perhaps which
/// argument was meant, or what building returns.
pub fn build(
    tool: &dyn Tool,
    args: Args,
    cx: &Context,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let mut args = args.into_value();
    super::convert(tool, &mut args);
    let args = Args::from_value(args)?;
    let misnamed = misnamed(tool, &args);
    let built = if tool.info().checks_arguments {
        tool.build(args, cx)
    } else {
        let args = args.checked(tool.parameters());
        args.and_then(|args| tool.build(args, cx))
    };
    built.map_err(|e| match misnamed {
        Some(misnamed) if e.kind == ErrorKind::InvalidToolParams => {
            let hint = e.hint.iter().map(String::as_str).chain([&*misnamed]);
            let hint = hint.collect::<Vec<_>>().join(" ");
            e.with_hint(hint)
        }
        _ => e,
    })
}

/// Turns a panic of `f` into an error that names the tool.
///
/// # Errors
///
/// Returns the error of `f`, or `unhandled_exception`.
pub fn catch<T>(name: &str, f: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(ToolError::new(
            ErrorKind::UnhandledException,
            format!("The tool {name} has crashed (internal error): {text}."),
        )
        .with_hint("This is a fault of the tool, not of the arguments; please report it."))
    })
}
