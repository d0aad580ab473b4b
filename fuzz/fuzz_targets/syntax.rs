//! Any two texts, in any language, are compared and outlined: no panic, and lines that are there.

#![no_main]

use gemini_tools::syntax::{Language, new_errors, outline};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, usize, &str, &str)| {
    let (language, at, text, more) = input;
    let language = Language::ALL[usize::from(language) % Language::ALL.len()];
    let mut at = at % (text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let new = format!("{}{more}{}", &text[..at], &text[at..]);
    let lines = new.lines().count();
    for error in new_errors(text, &new, language) {
        assert!((1..=lines.max(1)).contains(&error.line), "{error:?}");
    }
    for symbol in outline(&new, language) {
        let (first, last) = symbol.lines();
        assert!(1 <= first && first <= last && last <= lines, "{symbol:?}");
    }
});
