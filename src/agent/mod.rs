//! An agent that works with the tools: what it tells the model before and with the prompt.

pub mod at_paths;
pub mod context;
