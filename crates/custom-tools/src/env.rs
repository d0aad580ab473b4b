//! The variables of a tool's programs.

use gemini_tools_core::tool::{ErrorKind, ToolError};
use std::ffi::OsString;
use std::path::Path;

/// The variables of a tool's file with `$NAME`, `${NAME}` and `${NAME:-otherwise}` replaced;
/// `$$` is a dollar sign.
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
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push("$");
            rest = after;
            continue;
        }
        let (name, otherwise, after) = if let Some(inner) = rest.strip_prefix('{')
            && let Some((inner, after)) = inner.split_once('}')
        {
            match inner.split_once(":-") {
                Some((name, otherwise)) => (name, Some(otherwise), after),
                None => (inner, None, after),
            }
        } else {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            (&rest[..end], None, &rest[end..])
        };
        rest = after;
        if name.is_empty() {
            out.push("$");
            continue;
        }
        match (std::env::var_os(name).filter(|v| !v.is_empty()), otherwise) {
            (Some(value), _) => out.push(value),
            (None, Some(otherwise)) => out.push(otherwise),
            (None, None) => {
                return Err(ToolError::new(
                    ErrorKind::ExecutionFailed,
                    format!("The tool wants {name} from the environment (for {variable}), and it is not set."),
                )
                .with_hint(format!("Set it, or write ${{{name}:-}} in the tool's file.")));
            }
        }
    }
    out.push(rest);
    Ok(out)
}

/// What every program of a tool may know of where it is.
pub(super) fn places(name: &str, directory: &Path, root: &Path) -> [(OsString, OsString); 3] {
    [
        ("GEMINI_TOOL_NAME".into(), name.into()),
        ("GEMINI_TOOL_DIR".into(), directory.into()),
        ("GEMINI_TOOL_ROOT".into(), root.into()),
    ]
}
