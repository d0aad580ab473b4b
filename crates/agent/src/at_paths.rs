//! `@path` in a prompt: which files are meant, and the message with their contents.
//!
//! Reading them is `read_many_files`' work.

use gemini_tools_core::message::Part;
use gemini_tools_core::tool::{LlmContent, PartOrText};
use std::ops::Range;

/// Ends a sentence, or what is in parentheses, rather than a path.
const PUNCTUATION: [char; 7] = [',', '.', ';', ':', '!', '?', ')'];

/// A file or directory that a prompt names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtPath {
    /// Without the `@`, and without the backslashes that protect characters.
    pub path: String,
    /// The place in the prompt, in bytes, with the `@`.
    pub range: Range<usize>,
}

/// Finds the paths that a prompt names.
///
/// An `@` begins one at the start or after white space. It reaches to the next white space; a
/// backslash protects white space and other characters, as in a shell. Punctuation at its end is
/// the sentence's.
pub fn find(prompt: &str) -> Vec<AtPath> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = prompt[at..].find('@') {
        let start = at + next;
        at = start + 1;
        let before = prompt[..start].chars().next_back();
        if before.is_some_and(|c| !c.is_whitespace()) {
            continue;
        }
        let rest = &prompt[at..];
        let raw = without_punctuation(&rest[..end_of_path(rest)]);
        // A dot alone is a sentence's; the whole project is asked for by `@./`.
        if raw.is_empty() {
            continue;
        }
        at += raw.len();
        found.push(AtPath {
            path: unescaped(raw),
            range: start..at,
        });
    }
    found
}

/// Returns true if a word after an `@` can hardly mean anything but a file: it begins as paths do, or its
/// last part has an ending. Names of people and of packages (`@types/node`) don't.
pub fn looks_like_path(word: &str) -> bool {
    let begins = ["/", "./", "../", "~/"];
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_hidden = name.len() > 1 && name.starts_with('.');
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && ending.starts_with(|c: char| c.is_ascii_alphanumeric())
    });
    begins.iter().any(|start| word.starts_with(start)) || is_hidden || has_ending
}

/// Returns the bytes up to white space that no backslash protects.
fn end_of_path(rest: &str) -> usize {
    let mut is_protected = false;
    for (i, c) in rest.char_indices() {
        if !is_protected && c.is_whitespace() {
            return i;
        }
        is_protected = !is_protected && c == '\\';
    }
    rest.len()
}

/// Returns a path without the punctuation at its end. The directory above, as in `a/..`, is none.
pub(crate) fn without_punctuation(path: &str) -> &str {
    let mut rest = path;
    while let Some(shorter) = rest.strip_suffix(PUNCTUATION) {
        let backslashes = shorter.bytes().rev().take_while(|b| *b == b'\\').count();
        if backslashes % 2 == 1 {
            break;
        }
        if rest.ends_with("/..") {
            break;
        }
        rest = shorter;
    }
    rest
}

/// Takes the backslashes off that protect a character. Before a letter or a digit a backslash
/// protects nothing and belongs to the name.
fn unescaped(raw: &str) -> String {
    let mut path = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && !next.is_alphanumeric() => {
                path.push(*next);
                chars.next();
            }
            _ => path.push(c),
        }
    }
    path
}

/// Returns the parts of the user's message: the prompt, then what `read_many_files` has answered for
/// the paths in it.
///
/// The shape is that of Gemini CLI 0.8: a part that begins the contents, then for each file a
/// part that names it and one with its text; media and remarks stay parts of their own.
pub fn message_parts(prompt: &str, read: &LlmContent) -> Vec<Part> {
    let mut contents = Vec::new();
    match read {
        LlmContent::Text(text) => push_text(&mut contents, text),
        LlmContent::Part(part) => contents.push(part.as_ref().clone()),
        LlmContent::List(list) => {
            for element in list {
                match element {
                    PartOrText::Text(text) => push_text(&mut contents, text),
                    PartOrText::Part(part) => contents.push(part.as_ref().clone()),
                }
            }
        }
    }
    let mut parts = vec![Part::text(prompt.trim())];
    if !contents.is_empty() {
        parts.push(Part::text("\n--- Content from referenced files ---"));
        parts.append(&mut contents);
    }
    parts
}

/// The line after the last file.
const TAIL: &str = "--- End of content ---";

/// Takes an answer apart into files and remarks.
fn push_text(parts: &mut Vec<Part>, text: &str) {
    let (body, tail) = match text.strip_suffix(TAIL) {
        Some(body) => (body, Some(Part::text(format!("\n{TAIL}")))),
        None => (text, None),
    };
    let file_headers = file_headers(body);
    let first = file_headers.first().map_or(body.len(), |h| h.range.start);
    if !body[..first].trim().is_empty() {
        parts.push(Part::text(&body[..first]));
    }
    for (i, header) in file_headers.iter().enumerate() {
        let end = file_headers
            .get(i + 1)
            .map_or(body.len(), |h| h.range.start);
        let content = body[header.range.end..end].trim();
        parts.push(Part::text(format!("\nContent from @{}:\n", header.path)));
        parts.push(Part::text(content));
    }
    parts.extend(tail);
}

/// The line before a file's text.
struct FileHeader<'a> {
    path: &'a str,
    range: Range<usize>,
}

/// Returns the lines that begin a file: they name an absolute path, an empty line follows, and one
/// precedes them but for the first.
fn file_headers(text: &str) -> Vec<FileHeader<'_>> {
    let mut found: Vec<FileHeader<'_>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let path = line
            .strip_prefix("--- ")
            .and_then(|rest| rest.strip_suffix(" ---\n"))
            .filter(|path| path.starts_with('/'));
        let Some(path) = path.filter(|_| text[at..].starts_with('\n')) else {
            continue;
        };
        if found.is_empty() || text[..start].ends_with("\n\n") {
            found.push(FileHeader {
                path,
                range: start..at + 1,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests;
