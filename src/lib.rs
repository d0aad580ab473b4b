//! The four executables, each a module with a function `run` that the file in `src/bin` calls, and
//! what they share. It changes without notice: the library is the package `gemini-tools-library`.

#[cfg(feature = "call_tool")]
pub mod call_tool;
#[cfg(feature = "get_tools")]
pub mod get_tools;
#[cfg(feature = "run_agent")]
pub mod run_agent;
#[cfg(feature = "serve_tools")]
pub mod serve_tools;
pub mod start;

/// The version that `--version` prints after the executable's name: the package's version and, if
/// they were known when it was built, the commit and its day in UTC, as in `0.1.0 (abc1234,
/// 2026-11-21)`.
pub const VERSION: &str = env!("GEMINI_TOOLS_VERSION");
