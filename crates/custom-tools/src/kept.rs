//! Reads and writes cache files.
//!
//! A cache file that is malformed or of another version is ignored: everything in it can be
//! computed again.

use gemini_tools_workspace::atomic_file;
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::stamp::Stamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::SystemTime;

const VERSION: &str = concat!("6 ", env!("CARGO_PKG_VERSION"));

const MAX_KEPT_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct KeptFile<T> {
    version: String,
    content: T,
}

pub(super) fn read<T: DeserializeOwned>(file: &Path) -> Option<(T, SystemTime)> {
    let text = FileOwner::Users.beginning(file, MAX_KEPT_BYTES).ok()??;
    let written = Stamp::from_path(file)?.modified();
    let kept: KeptFile<T> = serde_json::from_slice(&text).ok()?;
    (kept.version == VERSION).then_some((kept.content, written))
}

/// Writes a cache file atomically. Errors are ignored, and so is content with a path that is not
/// UTF-8.
pub(super) fn write<T: Serialize>(file: &Path, content: &T) {
    let version = VERSION.to_owned();
    if let Ok(text) = serde_json::to_vec(&KeptFile { version, content }) {
        atomic_file::write_cache(file, &text);
    }
}
