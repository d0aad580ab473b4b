//! Findings in the formats that CI services read: SARIF 2.1.0, `JUnit` XML, and the annotations of
//! GitHub Actions.
//!
//! Nothing here looks for anything or prints.

mod github;
mod junit;
mod sarif;

pub use github::github;
pub use junit::junit;
pub use sarif::sarif;

use gemini_tools_core::diagnostic::Diagnostic;

/// The results of one run.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// The name of the run, `get_tools lint` for example.
    pub suite: String,
    /// The issues, in order.
    pub issues: Vec<Diagnostic>,
    /// The names of what was looked at and is well.
    pub passed: Vec<String>,
    /// Further remarks, such as that not every issue is listed.
    pub remarks: Vec<String>,
    /// The reason for which the run failed, if it did.
    pub failure: Option<String>,
}
