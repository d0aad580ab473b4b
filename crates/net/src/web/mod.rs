//! The tasks of built-in tools that need the network: fetching pages, searching with Google, and
//! asking a model to correct edits.
//!
//! `gemini-tools-builtin-tools` declares the tools, checks their arguments, and sends the work as a
//! [`WebTask`]. `call_tool` leaves it to another executable (`serve_tools --connect`), so that
//! `call_tool` stays small and opens no socket itself; a program that uses the library can use
//! [`InProcess`].
//!
//! # Example
//!
//! ```
//! use gemini_tools_core::tool::{Context, ErrorKind};
//! use gemini_tools_process::network::wire::{FetchTask, WebAnswer, WebTask};
//!
//! // Other than public addresses, only those that the user has allowed are reached.
//! let task = WebTask::Fetch(FetchTask {
//!     prompt: "Read http://127.0.0.1/".to_owned(),
//!     urls: vec!["http://127.0.0.1/".to_owned()],
//!     unusable: Vec::new(),
//!     allowed: Vec::new(),
//! });
//! let answer = gemini_tools_net::web::run(&task, None, &Context::default());
//! assert!(matches!(answer, WebAnswer::Error { kind: ErrorKind::PolicyViolation, .. }));
//! ```

mod content;
mod fetch;
mod html;
mod model;
mod pages;
mod search;

pub use pages::{ALL_BYTES, AT_ONCE, MODEL_CHARS};

use gemini_tools_core::tool::{Context, ToolError, catch};
use gemini_tools_process::network::Network;
use gemini_tools_process::network::wire::{WebAnswer, WebTask};
use model::Model;
use std::path::Path;

/// Performs a task. `home` is the home directory, where credentials are found. A panic becomes an
/// error, because the caller waits for an answer.
pub fn run(task: &WebTask, home: Option<&Path>, cx: &Context) -> WebAnswer {
    let tool = match task {
        WebTask::Fetch(_) => "web_fetch",
        WebTask::Search { .. } => "google_web_search",
        WebTask::Model { .. } | WebTask::HasModel => "smart_edit",
    };
    catch(tool, || perform(task, home, cx)).unwrap_or_else(WebAnswer::from)
}

fn perform(task: &WebTask, home: Option<&Path>, cx: &Context) -> Result<WebAnswer, ToolError> {
    let of_result = |result| WebAnswer::Result(Box::new(result));
    match task {
        WebTask::Fetch(task) => pages::Call::new(task)?.run(home, cx).map(of_result),
        WebTask::Search { query } => search::search(query, home, cx).map(of_result),
        WebTask::Model {
            instruction,
            prompt,
            schema,
        } => Model::require(home)
            .and_then(|mut model| model.ask_json(instruction, prompt, schema.clone(), cx))
            .map(WebAnswer::Model)
            // The text includes the error's hint, because `smart_edit` appends it to a message of
            // its own.
            .map_err(|e| ToolError::failed(e.to_string())),
        WebTask::HasModel => {
            let has_model = Model::find(home).is_ok_and(|model| model.is_some());
            Ok(WebAnswer::HasModel(has_model))
        }
    }
}

/// A [`Network`] that performs tasks in this process, for programs that have no helper executable.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess;

impl Network for InProcess {
    fn run(
        &self,
        task: &WebTask,
        home: Option<&Path>,
        cx: &Context,
    ) -> Result<WebAnswer, ToolError> {
        Ok(run(task, home, cx))
    }
}
