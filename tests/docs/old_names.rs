//! Names that have others now stay away.

use std::fs;
use std::path::{Path, PathBuf};

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
