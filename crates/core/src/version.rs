//! The version of this build. `get_tools`, `call_tool` and the processes that they start must be of
//! the same build.

use std::sync::OnceLock;

static VERSION: OnceLock<&'static str> = OnceLock::new();

/// Sets the version of this build, which executables do when they start. Later calls have no
/// effect.
pub fn set(version: &'static str) {
    let _ = VERSION.set(version);
}

/// Returns the version that was [`set`], otherwise that of this package, such as `0.1.0`.
#[must_use]
pub fn get() -> &'static str {
    VERSION.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}
