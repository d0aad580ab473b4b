//! What this process was started with: the variables that configure these tools, from all sources.
//!
//! - [`variables`]: the variables `GEMINI_TOOLS_…` of the environment, of the user's files, and of
//!   a host that has not passed them on, and what is wrong with them.
//! - [`ancestors`]: the words and variables with which the processes above this one were started.
//!
//! These variables are read here and nowhere else, so that all programs find the same restrictions.
//! `gemini-tools-core` does not know them: a tool is the same thing whatever the environment.

pub mod ancestors;
pub mod variables;
