//! What is written for people: the book, the README, the manual pages, the help and the completions.

use gemini_tools_test_harness as harness;

mod book;
mod book_in_browser;
mod command_lines;
mod manual_pages;
mod readme;
mod skill;
mod tool_help;

use std::fs;

/// A file that is not declared is not compiled, and none of its tests runs.
#[test]
fn every_file_of_every_test_binary_is_declared() {
    let tests = harness::checkout().join("tests");
    for directory in fs::read_dir(tests).expect("the tests") {
        let directory = directory.expect("an entry").path();
        let main = fs::read_to_string(directory.join("main.rs")).unwrap_or_default();
        for file in fs::read_dir(directory).expect("a directory") {
            let path = file.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy();
            let is_module = path.extension().is_some_and(|e| e == "rs") && name != "main";
            let is_declared = main.contains(&format!("\nmod {name};\n"));
            assert!(
                !is_module || is_declared,
                "{}: not in main.rs",
                path.display()
            );
        }
    }
}
