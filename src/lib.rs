//! Code that the four executables share. It is only for them, and changes without notice: the
//! library is the package `gemini-tools-library`.

pub mod start;

/// The version that `--version` prints after the executable's name: the package's version and, if
/// they were known when it was built, the commit and its day in UTC, as in `0.1.0 (abc1234,
/// 2026-11-21)`.
pub const VERSION: &str = env!("GEMINI_TOOLS_VERSION");
