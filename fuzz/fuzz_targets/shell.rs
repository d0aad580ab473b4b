//! A line of shell that is understood is printed such that it is understood as itself, and starts
//! the same programs.
#![no_main]

use gemini_tools::commands::{Analysis, analyse};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

/// The programs in any order, each with its words; `None` is one that the shell finds out.
fn programs(analysis: &Analysis) -> BTreeSet<&[Option<String>]> {
    let programs = analysis.commands.iter();
    programs.map(|program| &*program.words).collect()
}

fuzz_target!(|line: &str| {
    let analysis = analyse(line);
    let Some(printed) = analysis.understood() else {
        return;
    };
    let again = analyse(printed);
    assert_eq!(again.understood(), Some(printed));
    assert_eq!(programs(&again), programs(&analysis));
});
