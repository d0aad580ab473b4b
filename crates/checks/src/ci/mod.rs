//! Formats findings for CI services: SARIF 2.1.0, `JUnit` XML, and the annotations of GitHub
//! Actions.
//!
//! Nothing here runs a check or prints.

mod fingerprint;
mod github;
mod junit;
mod paths;
mod sarif;

pub use fingerprint::fingerprints;
pub use github::github;
pub use junit::junit;
pub use sarif::sarif;

use gemini_tools_core::diagnostic::{Diagnostic, Origin, Severity};
use std::collections::HashSet;
use std::path::Path;

/// Returns the word for a severity in reports and in rule files.
pub(crate) fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Repair => "note",
        other => other.name(),
    }
}

/// A rule, as reports describe it.
#[derive(Debug, Clone)]
pub struct ReportedRule {
    /// The rule's name, which its issues have as their code.
    pub id: String,
    /// What the rule demands, in a few words.
    pub description: String,
    /// What to do about an issue; may be empty.
    pub help: String,
    /// The address of a page about the rule; may be empty.
    pub url: String,
    /// The severity of the rule's issues.
    pub level: Severity,
}

/// The results of one run of checks.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// The name of the run, `get_tools lint` for example.
    pub suite: String,
    /// All rules that were checked, in order. Empty if only the rules that have issues are known.
    pub rules: Vec<ReportedRule>,
    /// The issues, in order.
    pub issues: Vec<Diagnostic>,
    /// For each issue, in the same order, the text by which a code scanning service recognises it
    /// after lines have moved. Empty texts, or an empty list, stand for issues without one.
    pub fingerprints: Vec<String>,
    /// The names of checked things that have no issues.
    pub passed: Vec<String>,
    /// Further remarks, such as that not every issue is listed.
    pub remarks: Vec<String>,
    /// Why the run itself failed, if it did.
    pub failure: Option<String>,
    /// The level from which on an issue makes the run fail.
    pub fails: Severity,
}

impl CheckReport {
    /// Converts the paths of all issues to those within the repository: relative to
    /// `GITHUB_WORKSPACE` if the file is there, else to the top of the git repository that contains
    /// `root`, else to the current directory, and absolute if the file is in none of them. Relative
    /// paths are resolved against `root` first.
    pub fn use_repository_paths(&mut self, root: &Path) {
        let origins = self.issues.iter_mut().map(|issue| &mut issue.place.origin);
        let files = origins.filter_map(|origin| match origin {
            Some(Origin::File(file)) => Some(file),
            _ => None,
        });
        paths::make_relative(root, files);
    }

    /// Keeps at most this many issues, the most severe ones, in their order. A remark says so if
    /// others are dropped.
    pub fn keep_most_severe(&mut self, most: usize) {
        if self.issues.len() <= most {
            return;
        }
        let mut order: Vec<usize> = (0..self.issues.len()).collect();
        order.sort_by_key(|&i| self.issues[i].severity);
        let kept: HashSet<usize> = order.into_iter().take(most).collect();
        let is_kept = |i: &usize| kept.contains(i);
        let mut numbers = 0..;
        self.issues
            .retain(|_| numbers.next().is_some_and(|i| is_kept(&i)));
        let mut numbers = 0..;
        self.fingerprints
            .retain(|_| numbers.next().is_some_and(|i| is_kept(&i)));
        self.remarks
            .push(format!("Only the {most} most severe findings are listed."));
    }
}
