//! `@path` in a prompt: which files are meant, and the message with their contents.
//!
//! Reading them is `read_many_files`' work.

use gemini_tools_core::message::Part;
use gemini_tools_core::tool::LlmContent;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

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
    for part in read.to_parts() {
        match &part.text {
            Some(text) => push_text(&mut contents, text),
            None => contents.push(part),
        }
    }
    let mut parts = vec![Part::text(prompt.trim())];
    if !contents.is_empty() {
        parts.push(Part::text("\n--- Content from referenced files ---"));
        parts.append(&mut contents);
    }
    parts
}

/// The line that begins a file: it names an absolute path, an empty line follows, and one precedes it
/// but for the first.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static FILE_HEADER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^--- (/.*) ---\n\n").unwrap());

/// The line after the last file.
const TAIL: &str = "--- End of content ---";

/// Takes an answer apart into files and remarks.
fn push_text(parts: &mut Vec<Part>, text: &str) {
    let (body, tail) = match text.strip_suffix(TAIL) {
        Some(body) => (body, Some(Part::text(format!("\n{TAIL}")))),
        None => (text, None),
    };
    let mut path = None;
    let mut start = 0;
    let mut take = |path: Option<&str>, text: &str| match path {
        Some(path) => {
            parts.push(Part::text(format!("\nContent from @{path}:\n")));
            parts.push(Part::text(text.trim()));
        }
        None if text.trim().is_empty() => {}
        None => parts.push(Part::text(text)),
    };
    for header in FILE_HEADER.captures_iter(body) {
        let (line, [next]) = header.extract();
        let at = header.get_match().start();
        if path.is_none() || body[..at].ends_with("\n\n") {
            take(path.replace(next), &body[start..at]);
            start = at + line.len();
        }
    }
    take(path, &body[start..]);
    parts.extend(tail);
}

#[cfg(test)]
mod tests;
