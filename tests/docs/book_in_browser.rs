//! The book in a real browser, built by mdBook: Chromium, by `scripts/report.d/look_at_book.mjs`, on a phone and on a
//! desktop. Without mdBook, node or a browser the tests are skipped and say so, but not in CI.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::book::pages;
use crate::harness::page::{in_checkout, is_installed};
use crate::harness::skipped;

/// `look_at_book.mjs` ends so where there is no browser.
const NO_BROWSER: i32 = 77;

/// `scripts/book --installed` ends so where there is no mdBook.
const NO_MDBOOK: i32 = 77;

const VIEWS: [(&str, u64); 2] = [("phone", 360), ("desktop", 1280)];

/// What the browser has seen of each page, once for all tests.
fn seen() -> Option<&'static Value> {
    static SEEN: OnceLock<Option<Value>> = OnceLock::new();
    SEEN.get_or_init(look).as_ref()
}

fn skip(missing: &str) -> Option<Value> {
    skipped(missing);
    None
}

fn look() -> Option<Value> {
    if !is_installed("node") {
        return skip("node");
    }
    let directory = TempDir::with_prefix("gemini-tools-book-").expect("a temporary directory");
    let mut build = Command::new(in_checkout("scripts/book"));
    build.arg("--installed").arg(directory.path());
    let made = build.output().expect("a shell");
    if made.status.code() == Some(NO_MDBOOK) {
        return skip("mdbook");
    }
    let stderr = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{stderr}");
    let mut look = Command::new("node");
    look.arg(in_checkout("scripts/report.d/look_at_book.mjs"));
    look.arg(directory.path());
    // For people who want to see it too.
    look.args(env::var_os("GEMINI_TOOLS_TEST_SCREENSHOTS"));
    let looked = look.output().expect("node");
    if looked.status.code() == Some(NO_BROWSER) {
        return skip("chromium");
    }
    let stderr = String::from_utf8_lossy(&looked.stderr);
    assert!(looked.status.success(), "{stderr}");
    Some(serde_json::from_slice(&looked.stdout).expect("what was seen"))
}

/// The pages of a view, by their path in the book.
fn of_view(seen: &'static Value, view: &str) -> &'static serde_json::Map<String, Value> {
    seen[view].as_object().expect("pages by path")
}

fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().filter_map(Value::as_str).collect()
}

#[test]
fn every_page_of_the_book_is_built() {
    let Some(seen) = seen() else { return };
    for (view, _) in VIEWS {
        for page in pages() {
            let path = page.name().strip_prefix("docs/").expect("a page of docs");
            let path = path
                .replace("README.md", "index.html")
                .replace(".md", ".html");
            assert!(seen[view].get(&path).is_some(), "{view}: {path}");
        }
    }
}

#[test]
fn no_page_of_the_book_is_wider_than_the_screen() {
    let Some(seen) = seen() else { return };
    for (view, width) in VIEWS {
        for (path, page) in of_view(seen, view) {
            let fits = &page["fits"];
            for key in ["scrollWidth", "innerWidth"] {
                assert!(
                    fits[key].as_u64() <= Some(width),
                    "{view}: {path}: {fits:#}"
                );
            }
            assert_eq!(fits["lost"], json!([]), "{view}: {path}");
        }
    }
}

#[test]
fn every_page_of_the_book_has_its_heading_and_text_that_can_be_read() {
    let Some(seen) = seen() else { return };
    for (view, _) in VIEWS {
        for (path, page) in of_view(seen, view) {
            let headings = texts(&page["headings"]);
            assert_eq!(headings.len(), 1, "{view}: {path}: {headings:?}");
            assert!(!headings[0].is_empty(), "{view}: {path}");
            assert!(
                page["smallest"].as_f64() >= Some(11.0),
                "{view}: {path}: {}",
                page["smallest"]
            );
            let words = page["words"].as_u64();
            assert!(words > Some(30), "{view}: {path}: {words:?}");
        }
    }
}

#[test]
fn images_of_the_book_are_shown_and_nothing_is_missing() {
    let Some(seen) = seen() else { return };
    let mut images = 0;
    for (view, _) in VIEWS {
        for (path, page) in of_view(seen, view) {
            for key in ["broken", "failed", "complaints", "outside"] {
                assert_eq!(page[key], json!([]), "{view}: {path}: {key}");
            }
            images += page["images"].as_u64().expect("a number");
        }
    }
    assert!(images >= 2, "the recording is in the book");
}

#[test]
fn links_of_the_built_book_lead_to_pages_and_anchors() {
    let Some(seen) = seen() else { return };
    let pages = of_view(seen, "desktop");
    let anchors: BTreeMap<&str, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, page)| (path.as_str(), texts(&page["ids"]).into_iter().collect()))
        .collect();
    let mut count = 0;
    for (path, page) in pages {
        for target in texts(&page["links"]) {
            let (file, id) = target.split_once('#').unwrap_or((target, ""));
            let ids = anchors.get(file);
            let ids = ids.unwrap_or_else(|| panic!("{path}: {target} is not a page"));
            assert!(id.is_empty() || ids.contains(id), "{path}: {target}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}
