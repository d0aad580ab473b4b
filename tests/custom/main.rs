//! Tools that a project or its user adds.

use gemini_tools_test_harness as harness;

mod custom;
mod custom_commands;
mod custom_examples;
mod custom_faults;
mod custom_pairs;
