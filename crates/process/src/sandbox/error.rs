use std::path::{Path, PathBuf};

/// The reason why a command can't have its sandbox. Nothing was run then, and nothing must be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The kernel or the processor can't enforce the policy.
    #[error("{why}.")]
    Unavailable {
        /// The reason, as a sentence without its full stop.
        why: String,
        /// The remedy, as sentences.
        remedy: &'static str,
    },
    /// A writable path is not absolute.
    #[error(
        "The sandbox can't make {} writable: it is not absolute.",
        on_one_line(path)
    )]
    NotAbsolute {
        /// The path.
        path: PathBuf,
    },
    /// A writable path leads through a symbolic link that a command in the sandbox could point
    /// elsewhere.
    #[error(
        "The sandbox can't make {} writable: it leads through a symbolic link that commands in the \
         sandbox could change.",
        on_one_line(path)
    )]
    ThroughLink {
        /// The path.
        path: PathBuf,
        /// The path to which it leads.
        real: PathBuf,
    },
    /// A writable path can't be opened.
    #[error("The sandbox can't make {} writable: {why}.", on_one_line(path))]
    Unreachable {
        /// The path.
        path: PathBuf,
        /// The operating system's error.
        why: String,
    },
}

/// Returns a path on one line: a name may hold line feeds and what moves a terminal's cursor.
fn on_one_line(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}
