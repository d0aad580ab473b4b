//! The agent: asks a model, runs the tool calls that the model makes, and sends back the results.
//! It reaches tools through two commands: one lists them, the other runs a call.
//!
//! [`pair`] finds the tools and runs the commands, [`turn`] asks the model, `scheduler` runs those
//! of its calls that the [gate](gemini_tools_policy::approval) lets pass, and [`session`] repeats
//! this until the model makes no more calls. Observers of the session's [`event`]s show or record
//! it: [`output`], [`telemetry`] and [`report`]. A [`model_script`] can take the model's place.
//! Observers write where the caller tells them to; nothing here prints by itself.
//!
//! Running a tool within its limits is up to `call_tool` or another call command, and talking to
//! the API up to `gemini-tools-net`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_agent::at_paths;
//!
//! // Files that a prompt names go to the model with it.
//! let prompt = "What does @src/main.rs do?";
//! let found = at_paths::find(prompt);
//! assert_eq!(found[0].path, "src/main.rs");
//! assert_eq!(&prompt[found[0].range.clone()], "@src/main.rs");
//! ```

pub mod at_paths;
mod batch_client;
pub mod call;
mod clock;
mod compression;
pub mod context;
mod conversation;
pub mod event;
mod external_commands;
pub mod kept;
mod loops;
pub mod model_script;
pub mod output;
pub mod pair;
pub mod record;
pub mod report;
mod scheduler;
pub mod session;
pub mod stats;
pub mod telemetry;
pub mod thought;
pub mod turn;
