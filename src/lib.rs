//! What the four executables share. It is for them only, and changes without notice: the library is the package
//! `gemini-tools-library`.

pub mod start;

/// Version as the executables' `--version` prints it after their name: the package's version, then,
/// if the build knew them, the commit and its day in UTC, as `0.1.0 (abc1234, 2026-11-21)`.
pub const VERSION: &str = env!("GEMINI_TOOLS_VERSION");
