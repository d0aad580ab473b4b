//! What is written for people: the book, the README, the manual pages, the help and the completions.

use gemini_tools_test_harness as harness;

mod architecture;
mod book;
mod book_in_browser;
mod command_lines;
mod manual_pages;
mod readme;
mod skill;
mod tool_help;

use std::fs;

/// `scripts/check` leaves out what has not the programs that it needs, by these names.
#[test]
fn each_test_that_needs_a_program_is_there() {
    let tests = harness::checkout().join("tests");
    let needs = fs::read_to_string(tests.join("needs.txt")).expect("the needs");
    for line in needs.lines() {
        let (_, name) = line.split_once(' ').expect("programs and a test");
        let mut path: Vec<&str> = name.split("::").collect();
        let function = path.pop().expect("a function");
        let directory = if path.len() == 1 { "docs/" } else { "" };
        let file = tests.join(format!("{directory}{}.rs", path.join("/")));
        let text = fs::read_to_string(&file).unwrap_or_default();
        assert!(text.contains(function), "{line}: not in {}", file.display());
    }
}

/// A file that is not declared is not compiled, and none of its tests runs.
#[test]
fn every_file_of_every_test_binary_is_declared() {
    let tests = harness::checkout().join("tests");
    for directory in fs::read_dir(tests).expect("the tests") {
        let directory = directory.expect("an entry").path();
        let root = ["main.rs", "mod.rs"].map(|name| directory.join(name));
        let Some(root) = root.into_iter().find(|root| root.is_file()) else {
            continue;
        };
        let declared = fs::read_to_string(&root).expect("its text");
        for file in fs::read_dir(directory).expect("a directory") {
            let path = file.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy();
            let is_module = path.extension().is_some_and(|e| e == "rs") && path != root;
            let is_declared = declared.contains(&format!("\nmod {name};\n"));
            assert!(
                !is_module || is_declared,
                "{}: not in {}",
                path.display(),
                root.display()
            );
        }
    }
}
