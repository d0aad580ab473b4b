//! Tools that a project or its user adds.

mod custom_commands;
mod custom_examples;
mod custom_faults;
mod custom_pairs;
mod declared;
