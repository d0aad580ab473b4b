//! Diagnostics for people and for CI: the findings of `lint` and `doctor`, and mistakes in
//! settings, policies, tool files and declarations.
//!
//! This module has the type and its one-line text. `gemini-tools-checks` writes the formats of CI
//! services.

use crate::text::show_path;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// The severity of a diagnostic. More severe ones are smaller.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something does not work: a tool is left out, a value is not in effect, a call fails.
    #[default]
    Error,
    /// Something works, but probably not as it was meant.
    Warning,
    /// Something was repaired.
    Repair,
}

impl Severity {
    /// Returns the word for the severity in texts and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Repair => "repair",
        }
    }
}

/// What a diagnostic is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file or directory.
    #[serde(serialize_with = "crate::tool::path_as_text")]
    File(PathBuf),
    /// An MCP server, by its name in the settings.
    Server(String),
    /// A command, a tool or a key of settings, as the user writes it.
    Subject(String),
}

impl From<&Path> for Origin {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<String> for Origin {
    fn from(subject: String) -> Self {
        Self::Subject(subject)
    }
}

impl From<&str> for Origin {
    fn from(subject: &str) -> Self {
        Self::Subject(subject.to_owned())
    }
}

/// Where a diagnostic points, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file, server or other subject of the diagnostic; `None` if it is unknown.
    #[serde(flatten)]
    pub origin: Option<Origin>,
    /// The line in the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<NonZeroU32>,
    /// The column in the line, from 1, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<NonZeroU32>,
    /// The column after the last character of the place, if known.
    #[serde(default, rename = "endColumn", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<NonZeroU32>,
    /// The text of the line, for reports that show it.
    #[serde(skip)]
    pub text: Option<String>,
    /// The tool, as its author calls it; empty if it has no name or several are meant.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The key in the file or the declaration; empty if the fault is in no single key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

impl Place {
    /// Returns the file or directory, or `None` if the diagnostic is about something else.
    pub fn file(&self) -> Option<&Path> {
        match &self.origin {
            Some(Origin::File(path)) => Some(path),
            _ => None,
        }
    }

    fn origin_text(&self) -> String {
        let (mut text, is_file) = match &self.origin {
            Some(Origin::File(path)) => (show_path(path).into_owned(), true),
            Some(Origin::Server(name)) => (format!("The MCP server {name}"), false),
            Some(Origin::Subject(subject)) => (subject.clone(), false),
            None => (String::new(), false),
        };
        match (self.line, self.column) {
            (Some(line), Some(column)) if is_file => text += &format!(":{line}:{column}"),
            (Some(line), None) if is_file => text += &format!(":{line}"),
            (Some(line), Some(column)) if text.is_empty() => {
                text = format!("line {line}, column {column}");
            }
            (Some(line), None) if text.is_empty() => text = format!("line {line}"),
            _ => {}
        }
        text
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&joined(&[&self.origin_text(), &self.tool, &self.key]))
    }
}

/// A finding: what is wrong and where, why it matters, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Severity of the fault.
    pub severity: Severity,
    /// The check's name, which does not change between versions.
    pub code: Cow<'static, str>,
    /// Where the fault is. Boxed to keep each `Result` that has a diagnostic as its error small.
    #[serde(flatten)]
    pub place: Box<Place>,
    /// What is wrong, or what was repaired.
    pub message: String,
    /// Why the fault matters; empty if the message says it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub why: Cow<'static, str>,
    /// What to do; empty if the message says it or nothing is needed.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub help: Cow<'static, str>,
}

impl Diagnostic {
    fn new(
        severity: Severity,
        code: impl Into<Cow<'static, str>>,
        tool: &str,
        key: &str,
        message: impl Into<String>,
    ) -> Self {
        let place = Place {
            tool: tool.to_owned(),
            key: key.to_owned(),
            ..Place::default()
        };
        Self {
            severity,
            code: code.into(),
            place: Box::new(place),
            message: message.into(),
            why: "".into(),
            help: "".into(),
        }
    }

    /// Creates an error about a tool and a key. Each may be empty.
    pub fn error(
        code: impl Into<Cow<'static, str>>,
        tool: &str,
        key: &str,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Error, code, tool, key, message)
    }

    /// Creates a warning about a tool and a key. Each may be empty.
    pub fn warning(
        code: impl Into<Cow<'static, str>>,
        tool: &str,
        key: &str,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Warning, code, tool, key, message)
    }

    /// Creates a repair of a tool's key. The message says what was repaired.
    pub fn repair(
        code: impl Into<Cow<'static, str>>,
        tool: &str,
        key: &str,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Repair, code, tool, key, message)
    }

    /// Sets the file that the diagnostic is about.
    #[must_use]
    pub fn in_file(self, file: &Path) -> Self {
        self.about(file)
    }

    /// Sets the MCP server that the diagnostic is about.
    #[must_use]
    pub fn about_server(self, server: &str) -> Self {
        self.about(Origin::Server(server.to_owned()))
    }

    /// Sets the file, server or other subject that the diagnostic is about.
    #[must_use]
    pub fn about(mut self, origin: impl Into<Origin>) -> Self {
        self.place.origin = Some(origin.into());
        self
    }

    /// Adds why the fault matters and what to do about it.
    #[must_use]
    pub fn advise(
        mut self,
        why: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        (self.why, self.help) = (why.into(), help.into());
        self
    }

    /// Returns the tool, the key and the message in one text, without file and line.
    pub fn what(&self) -> String {
        joined(&[&self.place.tool, &self.place.key, &self.message])
    }

    /// Returns the place and the message on one line, without severity and code.
    pub fn text(&self) -> String {
        joined(&[&self.place.to_string(), &self.message])
    }
}

fn joined(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|p| !p.is_empty()).collect();
    parts.join(": ")
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = self.severity.name();
        write!(f, "{severity}[{}]: {}", self.code, self.text())?;
        if !self.help.is_empty() {
            write!(f, " {}", self.help)?;
        }
        Ok(())
    }
}
