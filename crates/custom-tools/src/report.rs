//! The findings about a tool's file.

use gemini_tools_core::diagnostic::Diagnostic;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) tool: &'a str,
    pub(super) file: &'a Path,
    pub(super) findings: Vec<Diagnostic>,
}

impl Report<'_> {
    pub(super) fn fault(&mut self, key: &str, message: impl Into<String>) {
        let finding = Diagnostic::error("manifest", self.tool, key, message);
        self.findings.push(finding.in_file(self.file));
    }

    pub(super) fn warn(&mut self, code: &'static str, key: &str, message: impl Into<String>) {
        let finding = Diagnostic::warning(code, self.tool, key, message);
        self.findings.push(finding.in_file(self.file));
    }
}

pub(super) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let lower = name.to_lowercase().replace('-', "_");
    names
        .map(|other| (strsim::normalized_damerau_levenshtein(&lower, other), other))
        .filter(|(score, _)| *score >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, other)| {
            format!(" Did you mean {other:?}?")
        })
}

/// Returns [`nearest`] for an error message of serde, in which the first quoted name is the unknown
/// one, and those in backticks are the known ones.
pub(super) fn nearest_name(message: &str) -> String {
    let written = message.split(['`', '"']).nth(1).unwrap_or_default();
    let names = message.split('`').skip(1).step_by(2);
    nearest(written, names.filter(|name| *name != written))
}
