//! What holds for every call: arguments, answers, ways to call, time and memory.

mod answers;
mod arguments;
mod batch;
mod call_tool_terminal;
mod conformance;
mod defaults;
mod ends;
mod memory;
#[cfg(target_os = "linux")]
mod no_socket;
mod propagate;
mod save_memory;
mod save_memory_writers;
mod stream;
mod typed;
