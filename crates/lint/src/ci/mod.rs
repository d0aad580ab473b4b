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

use gemini_tools_core::diagnostic::Diagnostic;

/// All that one run has found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// What has looked, `get_tools lint` for example.
    pub suite: String,
    /// What was found, in order.
    pub issues: Vec<Diagnostic>,
    /// What was looked at and is well.
    pub passed: Vec<String>,
    /// What else there is to say, such as that not everything is told.
    pub remarks: Vec<String>,
    /// Why it could not look, where that is so.
    pub failure: Option<String>,
}
