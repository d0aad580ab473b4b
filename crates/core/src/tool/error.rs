//! The error that all tools return to their callers.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;

/// The kind of an error. It serializes to its name in snake case, which hosts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the names are the contract's and say what they mean"
)]
#[non_exhaustive]
pub enum ErrorKind {
    PolicyViolation,
    InvalidToolParams,
    Unknown,
    UnhandledException,
    ToolNotRegistered,
    ExecutionFailed,
    FileNotFound,
    FileWriteFailure,
    ReadContentFailure,
    AttemptToCreateExistingFile,
    FileTooLarge,
    PermissionDenied,
    NoSpaceLeft,
    TargetIsDirectory,
    PathNotInWorkspace,
    SearchPathNotFound,
    SearchPathNotADirectory,
    EditPreparationFailure,
    EditNoOccurrenceFound,
    EditExpectedOccurrenceMismatch,
    EditNoChange,
    GlobExecutionError,
    GrepExecutionError,
    LsExecutionError,
    PathIsNotADirectory,
    McpToolError,
    MemoryToolExecutionError,
    ReadManyFilesSearchError,
    ShellExecuteError,
    DiscoveredToolExecutionError,
    WebFetchNoUrlInPrompt,
    WebFetchFallbackFailed,
    WebFetchProcessingError,
    WebSearchFailed,
    Cancelled,
    Timeout,
}

impl ErrorKind {
    /// Pairs this kind with the case in which a tool returns it, in markdown, for
    /// [`Usage::errors`](super::Usage::errors).
    pub const fn when(self, case: &str) -> (Self, &str) {
        (self, case)
    }

    /// Returns the exit status of `call_tool` for this kind.
    pub fn exit_status(self) -> u8 {
        match self {
            ErrorKind::ToolNotRegistered | ErrorKind::InvalidToolParams => 2,
            ErrorKind::PolicyViolation => 3,
            ErrorKind::Timeout => 124,
            ErrorKind::Cancelled => 130,
            _ => 1,
        }
    }
}

/// The reason why a call failed, in words that a model can act on.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolError {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Message: a sentence that names the path or the argument.
    pub message: String,
    /// Advice for the next attempt.
    pub hint: Option<String>,
    /// Underlying error.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolError {
    /// Makes an error without hint or source.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// Makes the error of a call whose arguments can't be used as they are.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidToolParams, message)
    }

    /// Makes the error of a call that could not be made, or that has failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ExecutionFailed, message)
    }

    /// Makes the error of a call that must not run.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::PolicyViolation, message)
    }

    /// Adds advice for the next attempt.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Copies the error for another caller, without the underlying error.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            kind: self.kind,
            message: self.message.clone(),
            hint: self.hint.clone(),
            source: None,
        }
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => {
                // After a message of several lines the hint begins a new line.
                let gap = if self.message.contains('\n') {
                    '\n'
                } else {
                    ' '
                };
                write!(f, "{gap}{hint}")
            }
            None => Ok(()),
        }
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}
