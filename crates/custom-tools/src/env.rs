//! The environment variables of a tool's programs.

use super::call::MAX_VARIABLE_BYTES;
use gemini_tools_core::tool::{GivenInput, ToolError};
use gemini_tools_settings::settings::reference;
use std::ffi::OsString;
use std::path::Path;

/// Expands `$NAME`, `${NAME}` and `${NAME:-default}` in the variables that a tool's file sets; `$$`
/// is a dollar sign.
///
/// # Errors
///
/// Returns an error if a variable is not set and has no default.
pub(super) fn expanded(env: &[(String, String)]) -> Result<Vec<(OsString, OsString)>, ToolError> {
    env.iter()
        .map(|(name, text)| Ok((name.into(), expand(name, text)?)))
        .collect()
}

fn expand(variable: &str, text: &str) -> Result<OsString, ToolError> {
    let mut out = OsString::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$$") {
            out.push("$");
            rest = after;
            continue;
        }
        let (name, otherwise, length) = reference(rest);
        rest = &rest[length..];
        match (std::env::var_os(name), otherwise) {
            _ if name.is_empty() => out.push("$"),
            (Some(value), _) => out.push(value),
            (None, Some(otherwise)) => out.push(otherwise),
            (None, None) => {
                let message = format!(
                    "The tool needs {name} from the environment (for {variable}), but it is not set."
                );
                let hint = format!("Set it, or write ${{{name}:-}} in the tool's file.");
                return Err(ToolError::failed(message).with_hint(hint));
            }
        }
    }
    out.push(rest);
    Ok(out)
}

pub(super) fn given(given: &GivenInput) -> Result<Vec<(OsString, OsString)>, ToolError> {
    let responses = serde_json::to_string(&given.responses).unwrap_or_default();
    let state = given.state.clone().unwrap_or_default();
    if responses.len().max(state.len()) > MAX_VARIABLE_BYTES {
        return Err(ToolError::failed(format!(
            "The client's answers have {} bytes; in the environment there is room for {MAX_VARIABLE_BYTES}.",
            responses.len().max(state.len())
        )));
    }
    Ok(vec![
        ("GEMINI_TOOL_INPUT".into(), responses.into()),
        ("GEMINI_TOOL_STATE".into(), state.into()),
    ])
}

pub(super) fn places(name: &str, directory: &Path, root: &Path) -> [(OsString, OsString); 3] {
    [
        ("GEMINI_TOOL_NAME".into(), name.into()),
        ("GEMINI_TOOL_DIR".into(), directory.into()),
        ("GEMINI_TOOL_ROOT".into(), root.into()),
    ]
}
