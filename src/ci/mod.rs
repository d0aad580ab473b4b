//! What was found, in the formats that CI services read: SARIF 2.1.0, `JUnit` XML, and the
//! annotations of GitHub Actions.
//!
//! Nothing here looks for anything or prints.

mod github;
mod junit;
mod sarif;

pub use github::github;
pub use junit::junit;
pub use sarif::sarif;

/// How much an issue matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It must not stay.
    Error,
    /// It had better not.
    Warning,
    /// Good to know.
    Note,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Which rule has found it; stays the same from version to version.
    pub rule: String,
    /// How much it matters.
    pub level: Level,
    /// What was found, in one sentence.
    pub message: String,
    /// The file, absolute or relative to the current directory.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u64>,
    /// The column in that, from 1, in characters.
    pub column: Option<u64>,
}

/// All that one run has found.
#[derive(Debug, Default)]
pub struct Report {
    /// What has looked, `get_tools lint` for example.
    pub suite: String,
    /// What was found, in order.
    pub issues: Vec<Issue>,
    /// What was looked at and is well.
    pub passed: Vec<String>,
    /// What else there is to say, such as that not everything is told.
    pub remarks: Vec<String>,
    /// Why it could not look, where that is so.
    pub failure: Option<String>,
}
