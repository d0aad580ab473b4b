//! What a process sees to before it does anything.

/// Nothing: Windows gives no file the handle of a missing stream, and keeps how children end.
pub fn prepare() -> bool {
    true
}
