//! A walk comes to every path that a pattern matches: something below each of its directories can
//! match.
#![no_main]

use gemini_tools::workspace::pattern::PatternSet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    // Groups in groups take time by the fourth power of a name's length. A call has a time limit.
    if input.len() > 120 {
        return;
    }
    // A pattern and a path, each on a line.
    let Some((pattern, path)) = input.split_once('\n') else {
        return;
    };
    let is_name = |name: &&str| !["", ".", ".."].contains(name);
    let path: Vec<&str> = path.split('/').filter(is_name).collect();
    let path = path.join("/");
    if path.is_empty() || path.contains('\0') {
        return;
    }
    for ignore_case in [false, true] {
        let Ok(patterns) = PatternSet::for_paths([pattern], ignore_case) else {
            return;
        };
        let name_at = path.rfind('/').map_or(0, |at| at + 1);
        if patterns.matches(path.as_bytes(), name_at) {
            for (at, _) in path.match_indices('/') {
                assert!(patterns.can_match_below(&path.as_bytes()[..at]), "{path} {at}");
            }
        }
    }
});
