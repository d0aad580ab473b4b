//! What the environment of a server holds.
//!
//! A server gets ours without what looks like a credential, and what its configuration names. A
//! tool that needs a key is given it there: `"env": {"GITHUB_TOKEN": "$GITHUB_TOKEN"}`. Gemini
//! CLI 0.61 does the same; 0.8 passes everything on.

use gemini_tools_core::secrets::is_secret;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Returns the environment of a server that is configured with `own`.
pub(super) fn of_server(own: &BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, value)| !is_secret(&name.to_string_lossy(), &value.to_string_lossy()))
        .collect();
    all.insert("GEMINI_CLI".into(), "1".into());
    for (name, value) in own {
        all.insert(name.into(), value.into());
    }
    all
}
