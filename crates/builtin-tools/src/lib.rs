//! Gemini CLI's built-in tools.

pub mod builtin;
pub mod edit_match;
