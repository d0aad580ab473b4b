//! The agent: a host that hands a model the tools of two commands.
//!
//! [`pair`] knows the commands, [`turn`] asks the model, [`scheduler`] runs those of its
//! calls that pass the [gate](gemini_tools_approval::approval), [`session`] goes on until the model is done, and
//! every [`event`] goes to those who show or record it: those of [`output`], [`telemetry`] and
//! [`report`]. Nothing here prints.

pub mod at_paths;
mod batch_client;
pub mod call;
mod clock;
pub mod context;
pub mod event;
mod external_commands;
pub mod history;
pub mod loops;
pub mod output;
pub mod pair;
pub mod record;
pub mod report;
pub mod scheduler;
pub mod session;
pub mod stats;
pub mod telemetry;
pub mod turn;
