//! The baseline: known findings, which do not fail a run. A finding is recognised by its rule, its
//! file and the text of its line, but not by the line's number, so that the line may move.
//!
//! Below a heading, the baseline file has one line for each finding: rule, file and text, separated
//! by tabs; the lines are sorted. An existing file only ever gets shorter: new findings are never
//! added to it.

use crate::rules::Rule;
use crate::run::Finding;
use gemini_tools_core::text::{line_name, visible};
use std::collections::BTreeMap;

/// The first line of a baseline file.
const HEADING: &str =
    "# Known findings of call_tool --check; --update-baseline takes out what is gone.\n";

/// Known findings, each as its line in the file, with the number of findings that have this line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<String, u64>);

impl Baseline {
    /// Reads the text of a baseline file.
    ///
    /// # Errors
    ///
    /// Returns the number, from 1, of the first line that is neither a finding, nor a comment, nor
    /// empty.
    pub fn read(text: &str) -> Result<Self, usize> {
        let mut known = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            match line.split('\t').count() {
                _ if line.is_empty() || line.starts_with("# ") => {}
                3 => *known.0.entry(line.to_owned()).or_default() += 1,
                _ => return Err(number),
            }
        }
        Ok(known)
    }

    /// Creates a baseline of these findings. `rules` are the rules that [`Finding::rule`] refers
    /// to.
    pub fn of(rules: &[Rule], findings: &[Finding]) -> Self {
        let mut known = Self::default();
        for finding in findings {
            *known
                .0
                .entry(key(&rules[finding.rule].id, finding))
                .or_default() += 1;
        }
        known
    }

    /// Returns the findings that both baselines contain. If they contain the same finding several
    /// times, the smaller number counts.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(key, count)| {
            let count = count.min(other.0.get(key)?);
            Some((key.clone(), *count))
        });
        Self(both.collect())
    }

    /// Returns true if there are no known findings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of known findings.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the baseline as the text of its file.
    pub fn text(&self) -> String {
        let lines = self.0.iter();
        let lines = lines.map(|(key, count)| format!("{key}\n").repeat(*count as usize));
        HEADING.to_owned() + &lines.collect::<String>()
    }

    /// Removes one known finding with the rule, file and text of `finding`; returns false if there
    /// is none.
    pub(crate) fn take(&mut self, rule: &str, finding: &Finding) -> bool {
        let key = key(rule, finding);
        let Some(count) = self.0.get_mut(&key) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&key);
        }
        true
    }
}

/// Returns the line that stands for a finding in a baseline file.
fn key(rule: &str, finding: &Finding) -> String {
    format!(
        "{rule}\t{}\t{}",
        line_name(&finding.file),
        visible(&finding.text)
    )
}
