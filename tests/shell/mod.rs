//! Commands: how they are read, run, kept in the background, confined and ended.

mod background;
mod commands;
mod condense;
mod logs;
mod process_trees;
mod run_shell_command;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod undo;
mod undo_random;
