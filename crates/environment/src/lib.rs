//! What this process was started with: the variables that set these tools up, wherever they come from.
//!
//! - [`variables`]: `GEMINI_TOOLS_…`, of the environment, of the user's files, and of a host that has not handed them on.
//! - [`ancestors`]: the words and variables that the processes above this one were started with.
//!
//! They are read here and nowhere else, so that all programs find the same restrictions. `gemini-tools-core` knows
//! nothing of them: a tool is the same thing whatever the environment.

pub mod ancestors;
pub mod variables;
