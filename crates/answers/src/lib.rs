//! From a result to the JSON that a host reads.
//!
//! # What it owns
//!
//! - [`answer`]: the forms of an [`Answer`](answer::Answer), the limit of its texts, and the exit
//!   status of `call_tool`;
//! - [`kept_answers`]: where the whole of a text goes that is too long for a model, for later calls
//!   to read;
//! - [`output`]: writing to standard output, so that a host reads every character whole.
//!
//! What a result holds is up to the tools (`gemini-tools-core` has its type), what other APIs and
//! hosts make of it up to `gemini-tools-custom-tools`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_answers::answer::{Answer, Form};
//! use gemini_tools_core::tool::{ErrorKind, ToolError, ToolResult};
//!
//! let mut answer = Answer {
//!     name: "shout",
//!     id: Some("c1"),
//!     outcome: Ok(ToolResult::text("HI")),
//! };
//! let json: serde_json::Value = serde_json::from_slice(&answer.to_json(Form::Part))?;
//! assert_eq!(json["functionResponse"]["id"], "c1");
//! assert_eq!(json["functionResponse"]["response"]["output"], "HI");
//! assert_eq!(answer.exit_status(), 0);
//!
//! answer.outcome = Err(ToolError::new(ErrorKind::FileNotFound, "a.txt does not exist."));
//! let json: serde_json::Value = serde_json::from_slice(&answer.to_json(Form::Response))?;
//! assert_eq!(json["errorType"], "file_not_found");
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod answer;
pub mod kept_answers;
pub mod output;
