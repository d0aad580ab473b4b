//! Work on data of strangers, in a process that may die of it: see [`isolated`]. All else that was
//! here is in `gemini-tools-process` and `gemini-tools-workspace`.

pub mod calls;
pub mod isolated;
