//! A line of shell that is understood is printed such that it is understood as itself, and starts
//! the same programs.
#![no_main]

use gemini_tools::commands::analyse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    let analysis = analyse(line);
    let Some(printed) = analysis.understood() else {
        return;
    };
    let again = analyse(printed);
    assert_eq!(again.understood(), Some(printed));
    assert_eq!(again.root_commands(), analysis.root_commands());
});
