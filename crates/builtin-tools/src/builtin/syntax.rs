//! Asks a parser about source files: which syntax errors a change causes, and what a file defines.
//!
//! The parser is another process (`serve_tools --connect`), started when it is first needed. If it
//! can't be started or gives no answer in time, the answers of tools silently lack these facts.

use super::ToolEnv;
use gemini_tools_core::tool::{LlmContent, ToolResult};
#[cfg(feature = "full")]
use gemini_tools_process::network::link::Link;
use gemini_tools_syntax::{Language, MAX_BYTES, Symbol, SyntaxError};
use gemini_tools_workspace::lines::{beginning, encoding_of};
use gemini_tools_workspace::text::Encoding;
use gemini_tools_workspace::{OpenFile, Workspace, WorkspacePath};
use std::io;
#[cfg(feature = "full")]
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// The connection to the parser. Without the feature `full`, or if the user's settings disable it,
/// no file can be parsed.
#[derive(Debug, Clone, Default)]
pub(super) struct Parser {
    #[cfg(feature = "full")]
    link: Option<Arc<Link>>,
}

impl Parser {
    #[cfg(feature = "full")]
    pub(super) fn new(tool_env: &ToolEnv) -> Self {
        let is_on = !tool_env.settings.disable_syntax;
        let link = is_on.then(|| Arc::clone(&tool_env.parser));
        Self { link }
    }

    #[cfg(not(feature = "full"))]
    pub(super) fn new(_: &ToolEnv) -> Self {
        Self::default()
    }

    #[cfg_attr(
        not(feature = "full"),
        expect(clippy::unused_self, reason = "there is no parser to ask")
    )]
    pub(super) fn can_parse(&self, name: &str) -> bool {
        #[cfg(feature = "full")]
        let is_there = self.link.is_some();
        #[cfg(not(feature = "full"))]
        let is_there = false;
        is_there && Language::of_name(name).is_some()
    }

    pub(super) fn check(
        &self,
        workspace: &Workspace,
        place: &WorkspacePath,
        old: &str,
        new: String,
    ) -> Check {
        // Errors of a new file are not reported: only a comparison with an old text tells them from
        // syntax that the grammar does not know.
        let is_judged = !old.is_empty() && old.len().max(new.len()) <= MAX_BYTES;
        let name = place.name().to_string_lossy().into_owned();
        if !is_judged || !self.can_parse(&name) {
            return Check::default();
        }
        // The errors quote lines of the file, so none are looked for if `.geminiignore` names it.
        let begin = || {
            #[cfg(feature = "full")]
            let errors = Some(self.link.as_ref()?.begin_errors(name, old, new));
            #[cfg(not(feature = "full"))]
            let errors = None;
            errors
        };
        Check(super::quoted(workspace, place, begin).flatten())
    }

    /// Returns what a file defines, or `None` if that is not known. Without an `encoding`, the
    /// file's own is detected.
    pub(super) fn outline_of(
        &self,
        place: &WorkspacePath,
        open: &OpenFile,
        encoding: Option<Encoding>,
    ) -> io::Result<Option<Vec<Symbol>>> {
        let name = place.name().to_string_lossy().into_owned();
        if open.size() > MAX_BYTES as u64 || !self.can_parse(&name) {
            return Ok(None);
        }
        let encoding = match encoding {
            None => encoding_of(open)?,
            known => known,
        };
        let Some(encoding) = encoding else {
            return Ok(None);
        };
        let text = encoding.decode(&beginning(open, MAX_BYTES)?).into_owned();
        if text.len() > MAX_BYTES {
            return Ok(None);
        }
        #[cfg(feature = "full")]
        let symbols = self.link.as_ref().and_then(|link| link.outline(name, text));
        #[cfg(not(feature = "full"))]
        let symbols = None;
        Ok(symbols)
    }
}

/// A search for the syntax errors that a change causes. The parser looks for them while the file is
/// written. `finish` waits for it and returns a note on the errors, which begins with a line feed,
/// and the errors as JSON; `None` if there are none.
#[derive(Debug, Default)]
pub(super) struct Check(Option<Receiver<Vec<SyntaxError>>>);

impl Check {
    pub(super) fn add_to(self, mut result: ToolResult) -> ToolResult {
        let Some((note, errors)) = self.finish() else {
            return result;
        };
        if let LlmContent::Text(text) = &mut result.llm_content {
            text.push_str(&note);
        }
        result.with_data("syntaxErrors", errors)
    }

    pub(super) fn finish(self) -> Option<(String, serde_json::Value)> {
        let errors = self.0.and_then(|receiver| receiver.recv().ok())?;
        if errors.is_empty() {
            return None;
        }
        let lines: Vec<_> = errors
            .iter()
            .map(|error| format!("line {} `{}`", error.line, error.text))
            .collect();
        let note = format!(
            "\nThe change has broken the syntax of the file: {}.",
            lines.join(", ")
        );
        Some((note, serde_json::to_value(errors).unwrap_or_default()))
    }
}
