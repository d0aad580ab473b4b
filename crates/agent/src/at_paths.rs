//! Finds the `@path` words of a prompt, and builds the message that carries the contents of those
//! files.
//!
//! Reading the files is left to the tool `read_many_files`.

use gemini_tools_core::message::Part;
use gemini_tools_core::tool::LlmContent;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

const PUNCTUATION: [char; 7] = [',', '.', ';', ':', '!', '?', ')'];

/// Matches an `@` at the beginning or after white space, with the word that follows it.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)(?:^|\s)@((?:\\.|\S)+)").unwrap());

/// A file or directory that a prompt names as `@path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtPath {
    /// The path without the `@`, with escaped characters unescaped.
    pub path: String,
    /// The byte range of the word in the prompt, including the `@`.
    pub range: Range<usize>,
}

/// Finds the paths that a prompt names.
///
/// An `@` marks a path if it is at the start of the prompt or after white space. The path extends
/// to the next white space; a backslash escapes white space and punctuation. Punctuation at the end
/// of a path belongs to the sentence and is left out.
pub fn find(prompt: &str) -> Vec<AtPath> {
    let words = WORD.captures_iter(prompt).filter_map(|word| word.get(1));
    let paths = words.filter_map(|word| {
        let raw = without_punctuation(word.as_str());
        // Only punctuation follows the `@`, as in a sentence that ends with `@.`. The word `@./` is
        // a path: it names the whole project.
        (!raw.is_empty()).then(|| AtPath {
            path: unescaped(raw),
            range: word.start() - 1..word.start() + raw.len(),
        })
    });
    paths.collect()
}

/// Returns true if a word after an `@` is most likely a path, so that it is worth a warning if
/// there is no such file: it begins as paths do, or its last component is a hidden name or has an
/// extension. Names of people and of packages (`@types/node`) are not.
pub fn looks_like_path(word: &str) -> bool {
    let begins = ["/", "./", "../", "~/"];
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_hidden = name.len() > 1 && name.starts_with('.');
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && ending.starts_with(|c: char| c.is_ascii_alphanumeric())
    });
    begins.iter().any(|start| word.starts_with(start)) || is_hidden || has_ending
}

fn without_punctuation(path: &str) -> &str {
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

/// Removes each backslash that escapes a character. Unlike in a shell, a backslash before a letter
/// or digit is kept as a part of the name.
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

/// Returns the parts of the user's message: the prompt, followed by the contents of the files it
/// mentions, as `read_many_files` has returned them.
pub fn message_parts(prompt: &str, read: &LlmContent) -> Vec<Part> {
    let mut contents = read.to_parts();
    // The API refuses an empty text, of this request and of all that follow.
    contents.retain(|part| part.text.as_deref() != Some(""));
    let mut parts = vec![Part::text(prompt.trim())];
    if !contents.is_empty() {
        parts.push(Part::text("\n--- Content from referenced files ---"));
        parts.append(&mut contents);
    }
    parts
}

#[cfg(test)]
mod tests;
