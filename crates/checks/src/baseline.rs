//! Findings that are known and may stay for now. They are known by rule, file and text, so that a line may move.
//!
//! The file has a line for each finding, sorted: the rule, the file and the text with tabs between them. It may only
//! become shorter: what is new is never added to one that exists.

use crate::rules::Rule;
use crate::run::Finding;
use gemini_tools_core::text::{line_name, visible};
use std::collections::BTreeMap;

/// The first line of a file.
const HEADING: &str =
    "# Known findings of call_tool --check; --update-baseline takes out what is gone.\n";

/// Known findings, and how many there are of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<String, u64>);

impl Baseline {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Returns the number, from 1, of a line that is no finding.
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

    /// Returns the findings as known ones.
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

    /// Returns what both know.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(key, count)| {
            let count = count.min(other.0.get(key)?);
            Some((key.clone(), *count))
        });
        Self(both.collect())
    }

    /// Returns true if nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of findings.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the text of a file.
    pub fn text(&self) -> String {
        let lines = self.0.iter();
        let lines = lines.map(|(key, count)| format!("{key}\n").repeat(*count as usize));
        HEADING.to_owned() + &lines.collect::<String>()
    }

    /// Forgets one such finding; returns false if it is not known.
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

/// Returns the line of a finding.
fn key(rule: &str, finding: &Finding) -> String {
    format!(
        "{rule}\t{}\t{}",
        line_name(&finding.file),
        visible(&finding.text)
    )
}
