//! What is to be said about a declaration or a tool's file.

use crate::shown::show_path;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The tool is left out.
    Error,
    /// The tool works, but hardly as it was meant.
    Warning,
    /// Something was put right.
    Repair,
}

impl Severity {
    /// As it stands before a finding.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Repair => "repair",
        }
    }
}

/// Who declares a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// An MCP server, by its name in the settings.
    Server(String),
}

/// One thing about one tool: what, where, and why or what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Which rule found it; stays the same from version to version.
    pub rule: Cow<'static, str>,
    /// Who declares the tool, where that is known; boxed, because results hold findings.
    #[serde(flatten)]
    pub origin: Option<Box<Origin>>,
    /// The line in the file, from 1, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<NonZeroU32>,
    /// The column in that line, from 1, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<NonZeroU32>,
    /// The tool, as whoever declared it calls it; empty where it has no name.
    pub tool: String,
    /// The key in the file or the declaration; empty where it is about the whole.
    pub place: String,
    /// What was found, or done, and why or what to do about it.
    pub message: String,
}

impl Finding {
    fn new(
        severity: Severity,
        rule: &'static str,
        tool: &str,
        place: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            rule: rule.into(),
            origin: None,
            line: None,
            column: None,
            tool: tool.to_owned(),
            place: place.to_owned(),
            message: message.into(),
        }
    }

    /// Something was put right.
    pub fn repair(rule: &'static str, tool: &str, place: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Repair, rule, tool, place, message)
    }

    /// Something is hardly as it was meant.
    pub fn warning(
        rule: &'static str,
        tool: &str,
        place: &str,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Warning, rule, tool, place, message)
    }

    /// The tool is left out.
    pub fn refusal(
        rule: &'static str,
        tool: &str,
        place: &str,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Error, rule, tool, place, message)
    }

    /// Says which file it is about.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.origin = Some(Box::new(Origin::File(file.to_owned())));
        self
    }

    /// Says which MCP server it is about.
    #[must_use]
    pub fn of_server(mut self, server: &str) -> Self {
        self.origin = Some(Box::new(Origin::Server(server.to_owned())));
        self
    }

    /// Where it is and what, without the severity.
    pub fn text(&self) -> String {
        let mut origin = match self.origin.as_deref() {
            Some(Origin::File(path)) => show_path(path),
            Some(Origin::Server(name)) => format!("The MCP server {name}").into(),
            None => "".into(),
        };
        if self.file().is_some() {
            for number in [self.line, self.column].into_iter().flatten() {
                origin = format!("{origin}:{number}").into();
            }
        }
        let parts = [&*origin, &self.about()];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        parts.join(": ")
    }

    /// The file that it is about, where there is one.
    pub fn file(&self) -> Option<&Path> {
        match self.origin.as_deref() {
            Some(Origin::File(path)) => Some(path),
            _ => None,
        }
    }

    /// What it is about within the file, and what was found.
    pub fn about(&self) -> String {
        let parts = [&*self.tool, &self.place, &self.message];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        parts.join(": ")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}[{}]: {}",
            self.severity.name(),
            self.rule,
            self.text()
        )
    }
}
