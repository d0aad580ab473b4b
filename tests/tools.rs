//! The tools, through `call_tool`: files, commands, the web, a project's own, and what holds for every call.

use gemini_tools_test_harness as harness;

mod calls;
mod custom;
mod files;
mod shell;
mod web;
