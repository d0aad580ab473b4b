//! `@path` in a memory file: another file's text in its place.
//!
//! A file that is not imported leaves a comment with the reason. Files come from one directory
//! and what lies below, whatever a path or a link says.

use super::budget::{Budget, NotRead};
use crate::at_paths::without_punctuation;
use gemini_tools_workspace::{OpenFile, Workspace};
use pulldown_cmark::{Event, Parser, Tag};
use std::ops::Range;
use std::path::Path;

/// Files that one file imports through others.
const MAX_DEPTH: usize = 5;

/// A file by what the system knows it by, whatever name leads to it.
pub(super) type FileId = (i128, i128);

pub(super) fn id_of(open: &OpenFile) -> FileId {
    // Systems differ in how wide these are.
    (open.stat.st_dev.into(), open.stat.st_ino.into())
}

/// Puts imported texts in the place of imports.
pub(super) struct Importer<'a> {
    /// The workspace that files may come from.
    workspace: &'a Workspace,
    budget: &'a mut Budget,
    /// The file at hand and those that have led to it.
    chain: Vec<FileId>,
}

impl<'a> Importer<'a> {
    pub(super) fn new(workspace: &'a Workspace, budget: &'a mut Budget, file: FileId) -> Self {
        Self {
            workspace,
            budget,
            chain: vec![file],
        }
    }

    /// The text of a file of the directory `dir` with all that it imports.
    pub(super) fn expand(&mut self, text: &str, dir: &Path) -> String {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for at in find(text) {
            if let Some(replacement) = self.replacement(&text[at.start + 1..at.end], dir) {
                out.push_str(&text[done..at.start]);
                out.push_str(&replacement);
                done = at.end;
            }
        }
        out.push_str(&text[done..]);
        out
    }

    /// Returns the text in the place of an import; `None` leaves it as it is.
    fn replacement(&mut self, path: &str, dir: &Path) -> Option<String> {
        if !self.budget.take(0) {
            self.budget.left_out += 1;
            return None;
        }
        match self.import(path, dir) {
            Ok(text) => {
                let begin = format!("<!-- Imported from: {path} -->\n");
                let end = format!("\n<!-- End of import from: {path} -->");
                self.budget.take(begin.len() + end.len());
                Some(begin + &text + &end)
            }
            // A word, such as the name of a person, that does not name a file.
            Err(_) if !path.contains(['/', '.']) => None,
            Err(reason) => {
                let comment = format!("<!-- Import failed: {path} - {reason} -->");
                self.budget.take(comment.len());
                Some(comment)
            }
        }
    }

    fn import(&mut self, path: &str, dir: &Path) -> Result<String, NotRead> {
        if self.chain.len() > MAX_DEPTH {
            return Err(NotRead::TooDeep);
        }
        if path.contains('\0') {
            return Err(NotRead::Missing);
        }
        let place = self
            .workspace
            .place_of(&dir.join(path))
            .ok_or(NotRead::Outside)?;
        if self.workspace.is_gemini_ignored(&place) {
            return Err(NotRead::Closed);
        }
        let open = self.workspace.open_file(&place)?;
        let id = id_of(&open);
        if self.chain.contains(&id) {
            return Err(NotRead::Cycle);
        }
        let text = self.budget.read(&open)?;
        let dir = place.path().parent().unwrap_or(Path::new("/"));
        self.chain.push(id);
        let text = self.expand(&text, dir);
        self.chain.pop();
        Ok(text)
    }
}

/// The imports of a text with their `@`: at its start or after white space, and in no code.
fn find(text: &str) -> Vec<Range<usize>> {
    let mut code = code(text).into_iter().peekable();
    let mut found = Vec::new();
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        if text[..at]
            .chars()
            .next_back()
            .is_some_and(|c| !c.is_whitespace())
        {
            continue;
        }
        while code.next_if(|region| region.end <= at).is_some() {}
        if code.peek().is_some_and(|region| region.start <= at) {
            continue;
        }
        let rest = &text[at + 1..];
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let path = without_punctuation(&rest[..end]);
        let begins_as_path = |c: char| c == '.' || c == '/' || c == '_' || c.is_alphanumeric();
        if path.starts_with(begins_as_path) {
            found.push(at..at + 1 + path.len());
        }
    }
    found
}

/// Returns the parts of a Markdown text that are code, in order.
fn code(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new(text).into_offset_iter();
    let code = events
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))));
    code.map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use super::{code, find};

    #[test]
    fn blocks_and_spans_are_code() {
        let code = |text: &str| -> Vec<String> {
            let parts = code(text)
                .into_iter()
                .map(|range| text[range].trim().to_owned());
            parts.collect()
        };
        for (text, expected) in [
            ("a `b` c ``d ` e`` f", vec!["`b`", "``d ` e``"]),
            ("a `b\n\nc` d", vec![]),
            ("a \\`b` c", vec![]),
            ("a\n```sh\nb\n```\nc `d`", vec!["```sh\nb\n```", "`d`"]),
            ("```\nnever closed\n\n`x`", vec!["```\nnever closed\n\n`x`"]),
            ("a\n\n    b\nd", vec!["b"]),
            ("a\n    b", vec![]),
            ("- a\n\n    b\n", vec![]),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn imports_stand_apart_and_in_no_code() {
        let text =
            "@a.md @./b, x@c.d (@e.f) `@g.h` @/i/j.md.\n\n```\n@k.l\n```\n@_m @ @@ @(n) @~/o";
        let found: Vec<&str> = find(text).into_iter().map(|at| &text[at]).collect();
        assert_eq!(found, ["@a.md", "@./b", "@/i/j.md", "@_m"]);
    }
}
