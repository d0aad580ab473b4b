//! A tool's file, a manifest or a script with a block of comments, is a tool, or is not, or it is
//! said what is wrong with it.
#![no_main]

use gemini_tools::custom::read_file;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &str| {
    for file in ["/tools/t.toml", "/tools/t.py"] {
        let _ = read_file(Path::new(file), text);
    }
});
