//! Gemini CLI's settings, and whether a project is trusted.

pub mod settings;
pub mod trust;
