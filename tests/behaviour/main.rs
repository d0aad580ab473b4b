//! Behaviour, through the executables: a module per tool and per promise.
//!
//! One test binary, because each further one would be linked anew; a test below fails on a file that was not declared.

use gemini_tools_test_harness as harness;

mod answers;
mod arguments;
mod background;
mod batch;
mod book;
mod book_in_browser;
mod call_tool_terminal;
mod ci_example;
mod command_lines;
mod commands;
mod conformance;
mod custom;
mod custom_commands;
mod custom_examples;
mod custom_faults;
mod custom_pairs;
mod dialects;
mod doctor;
mod durability;
mod ends;
mod explain;
mod formats;
mod gemini_api;
mod gemini_stream;
mod get_tools;
mod glob;
mod google_web_search;
mod ignore_rules;
mod init;
mod kept_access;
mod launchers;
mod links_out;
mod lint_files;
mod list_directory;
mod manual_pages;
mod mcp;
mod mcp_policy;
mod mcp_reached;
mod mcp_real;
mod memory;
mod names;
mod packages;
mod paths;
mod policy;
mod policy_cases;
mod process_trees;
mod races;
mod read_file;
mod read_many_files;
mod readme;
mod replace;
mod replace_properties;
mod report_in_browser;
mod run_agent;
mod run_agent_foreign;
mod run_agent_resume;
mod run_agent_terminal;
mod run_shell_command;
#[cfg(target_os = "linux")]
mod sandbox;
mod sarif;
mod save_memory;
mod save_memory_writers;
mod search_file_content;
mod serve;
mod serve_hostile;
mod serve_mcp;
mod serve_real;
mod serve_versions;
mod settings;
mod smart_edit;
mod smart_edit_cases;
mod stream;
mod trust;
mod untrusted;
mod versions;
mod web_fetch;
mod web_fetch_addresses;
mod web_fetch_limits;
mod web_fetch_model;
mod web_fetch_names;
mod write_file;

use std::fs;
use std::path::Path;

#[test]
fn every_file_of_this_directory_is_declared() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour");
    let main = fs::read_to_string(dir.join("main.rs")).expect("this file");
    for entry in fs::read_dir(dir).expect("this directory") {
        let path = entry.expect("its entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let declared = name == "main" || main.contains(&format!("\nmod {name};\n"));
        assert!(declared, "{} is not declared in main.rs", path.display());
    }
}
