//! Tools that read, find and change files, and what no path and no race gets at.

use gemini_tools_test_harness as harness;

mod apply_patch;
mod durability;
mod encodings;
mod glob;
mod ignore_rules;
mod in_place;
mod kept_access;
mod links_out;
mod list_directory;
mod listing_peers;
mod names;
mod nearest_paths;
mod patch_durability;
mod path_arguments;
mod paths;
mod peers;
mod races;
mod read_file;
mod read_many_files;
mod replace;
mod replace_properties;
mod search_file_content;
mod search_peers;
mod smart_edit;
mod smart_edit_cases;
mod undo;
mod undo_durability;
mod unseen;
mod write_file;
