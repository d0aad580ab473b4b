//! The baseline: known findings, which do not fail a run. A finding is recognised by its rule, its
//! file and the text of its line, but not by the line's number, so that the line may move.
//!
//! Below a heading, the baseline file has one line for each finding: rule, file and text, separated
//! by tabs; tabs at the end of a line may be missing. A new file is sorted. An existing one only
//! ever gets shorter: new findings are never added to it, and lines of other rules and comments,
//! which begin with `#`, stay where they are.

use crate::rules::Rule;
use crate::run::Finding;
use gemini_tools_core::text::{line_name, visible};
use std::collections::{BTreeMap, HashSet};

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
        for (number, line) in (1_usize..).zip(text.lines()) {
            if !is_comment(line) {
                *known.0.entry(key_of(line).ok_or(number)?).or_default() += 1;
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
        let lines = lines.map(|(key, count)| {
            // Editors take away tabs at the end of a line.
            format!("{}\n", key.trim_end_matches('\t')).repeat(*count as usize)
        });
        HEADING.to_owned() + &lines.collect::<String>()
    }

    /// Takes these findings out of the text of a baseline file. Its other lines stay as they are.
    pub fn taken_out_of(mut self, text: &str) -> String {
        let mut kept = text.split_inclusive('\n').collect::<Vec<_>>();
        kept.retain(|line| {
            let line = line.lines().next().unwrap_or_default();
            is_comment(line) || !key_of(line).is_some_and(|key| self.remove(&key))
        });
        kept.concat()
    }

    pub(crate) fn by_rules(mut self, rules: &[Rule]) -> Self {
        let ids: HashSet<&str> = rules.iter().map(|rule| &*rule.id).collect();
        let is_of_rules = |key: &str| key.split('\t').next().is_some_and(|id| ids.contains(id));
        self.0.retain(|key, _| is_of_rules(key));
        self
    }

    pub(crate) fn take(&mut self, rule: &str, finding: &Finding) -> bool {
        self.remove(&key(rule, finding))
    }

    fn remove(&mut self, key: &str) -> bool {
        let Some(count) = self.0.get_mut(key) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.0.remove(key);
        }
        true
    }
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// Returns a line of a baseline file with the tabs that an editor may have removed from its end;
/// `None` if the line can't stand for a finding.
fn key_of(line: &str) -> Option<String> {
    let rule = line.split('\t').next()?;
    let missing = 2_usize.checked_sub(line.matches('\t').count())?;
    let is_rule = !rule.is_empty() && !rule.contains(char::is_whitespace);
    is_rule.then(|| line.to_owned() + &"\t".repeat(missing))
}

fn key(rule: &str, finding: &Finding) -> String {
    format!(
        "{rule}\t{}\t{}",
        line_name(&finding.file),
        visible(&finding.text)
    )
}
