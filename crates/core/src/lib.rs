//! What a tool is, and the registry of tools by name.

pub mod diagnostic;
pub mod json;
pub mod message;
pub mod names;
pub mod parallel;
pub mod position;
pub mod registry;
pub mod shown;
pub mod tool;
pub mod version;
