//! The language of comments and pages: doc comments open as those of the standard library do, and
//! old names stay away.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that a doc comment does not begin with: a function's begins with a verb, a type's with a
/// noun phrase.
const OPENINGS: &str = "What Whether How Who Whose Where Which Why One Those Such All Nothing It";

/// Names that have others now.
const OLD_NAMES: [&str; 9] = [
    "warden",
    "mcp_client",
    "--print-repaired",
    "--replay",
    "gemini-tools-gemini-api",
    "gemini-tools-guarded-http",
    "gemini-tools-platform",
    "gemini-tools-startup",
    "gemini-tools-web-tools",
];

/// Parameters are described for a model, in other words.
#[test]
fn one_doc_comment_in_a_hundred_at_most_opens_with_a_question_word() {
    let mut total = 0;
    let mut odd = Vec::new();
    for path in files(&["src", "crates"], "rs") {
        let text = fs::read_to_string(&path).expect("a source");
        let mut was_doc = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let doc = line
                .strip_prefix("/// ")
                .or_else(|| line.strip_prefix("//! "));
            if let (Some(doc), false) = (doc, was_doc) {
                total += 1;
                let word = doc.split([' ', ',', '\'']).next().unwrap_or_default();
                if OPENINGS.split(' ').any(|opening| opening == word) {
                    odd.push(format!("{}:{}: {doc}", path.display(), index + 1));
                }
            }
            was_doc = line.starts_with("///") || line.starts_with("//!");
        }
    }
    assert!(total > 1000, "{total}");
    assert!(odd.len() * 100 <= total, "{}", odd.join("\n"));
}

#[test]
fn old_names_are_gone() {
    for path in files(&["src", "crates", "docs", "man", "README.md"], "") {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        for name in OLD_NAMES {
            assert!(!text.contains(name), "{}: {name}", path.display());
        }
    }
}

/// Returns the files below these paths of the checkout that end in `.extension`, or all.
pub(crate) fn files(roots: &[&str], extension: &str) -> Vec<PathBuf> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut left: Vec<PathBuf> = roots.iter().map(|root| checkout.join(root)).collect();
    let mut files = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a directory");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if extension.is_empty() || path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
    files
}
