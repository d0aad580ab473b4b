//! The agent: a host that hands a model the tools of two commands.
//!
//! [`pair`] knows the commands, [`turn`] asks the model, [`scheduler`] runs its calls by the
//! rules of [`approval`], [`session`] goes on until the model is done, and every [`event`] goes
//! to those who show or record it. Nothing here prints; only [`terminal`] asks a person, on the
//! controlling terminal.

pub mod approval;
pub mod at_paths;
pub mod call;
pub mod context;
pub mod event;
mod foreign;
pub mod history;
pub mod loops;
mod own;
pub mod pair;
pub mod record;
pub mod scheduler;
pub mod session;
pub mod stats;
pub mod terminal;
pub mod turn;
