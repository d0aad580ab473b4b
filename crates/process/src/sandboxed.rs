//! The answer to a call whose sandbox can't be had.

use crate::sandbox::SandboxError;
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::{ErrorKind, ToolError};

/// Returns the error of a call whose command can't have its sandbox: `policy_violation`, because nothing
/// runs without it.
pub fn sandbox_error(error: &SandboxError) -> ToolError {
    let hint = match error {
        SandboxError::Unavailable { remedy, .. } => format!(
            "{remedy} Without a sandbox, commands run only if the user asks for that \
             (GEMINI_TOOLS_SANDBOX=off)."
        ),
        SandboxError::NotAbsolute { .. } => "Write it as an absolute path.".to_owned(),
        SandboxError::ThroughLink { real, .. } => format!(
            "If it is meant, name where it leads instead: {}.",
            show_path(real)
        ),
        _ => "Take it out of tools.sandboxAllowedPaths, or make it accessible.".to_owned(),
    };
    ToolError::new(ErrorKind::PolicyViolation, error.to_string()).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::sandbox_error;
    use crate::sandbox::SandboxError;
    use gemini_tools_core::tool::ErrorKind;

    #[test]
    fn each_error_says_what_to_do() {
        let path = || "/a\nb".into();
        for (error, message, hint) in [
            (
                SandboxError::Unavailable {
                    why: "No kernel".to_owned(),
                    remedy: "Take another.",
                },
                "No kernel.",
                "GEMINI_TOOLS_SANDBOX=off",
            ),
            (
                SandboxError::NotAbsolute { path: path() },
                r"/a\nb writable",
                "absolute path",
            ),
            (
                SandboxError::ThroughLink {
                    path: path(),
                    real: "/real".into(),
                },
                r"/a\nb writable",
                "/real",
            ),
            (
                SandboxError::Unreachable {
                    path: path(),
                    why: "no".to_owned(),
                },
                r"/a\nb writable: no.",
                "sandboxAllowedPaths",
            ),
        ] {
            let error = sandbox_error(&error);
            assert_eq!(error.kind, ErrorKind::PolicyViolation);
            assert!(error.message.contains(message), "{}", error.message);
            let said = error.hint.unwrap_or_default();
            assert!(said.contains(hint), "{said}");
        }
    }
}
