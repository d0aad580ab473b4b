//! Findings in the formats that CI services read: SARIF 2.1.0, `JUnit` XML, and the annotations of
//! GitHub Actions.
//!
//! Nothing here looks for anything or prints.

mod github;
mod junit;
mod paths;
mod sarif;

pub use github::github;
pub use junit::junit;
pub use sarif::sarif;

use gemini_tools_core::diagnostic::{Diagnostic, Origin};
use std::path::Path;

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

impl CheckReport {
    /// Makes the paths of all issues those of the repository: relative to `GITHUB_WORKSPACE` if a file
    /// lies in it, else to the top of the git repository that `root` lies in, else to the current
    /// directory. Until then, relative ones count from `root`.
    pub fn use_repository_paths(&mut self, root: &Path) {
        let mut paths = paths::RepositoryPaths::of(root);
        for issue in &mut self.issues {
            if let Some(Origin::File(file)) = &mut issue.place.origin {
                *file = paths.path(file);
            }
        }
    }
}
