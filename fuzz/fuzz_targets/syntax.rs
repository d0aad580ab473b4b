//! A text and what an edit makes of it are compared and outlined: no panic, and lines that are
//! there.
//!
//! `FUZZ_LANGUAGE` (as in `Language::ALL`, e.g. `Rust`) holds the run to one grammar; otherwise a
//! byte of the input chooses. The first six bytes say the edit and the rest is the text, so that
//! any file with six bytes before it is a seed.

#![no_main]

use std::sync::LazyLock;

use gemini_tools::syntax::{Language, new_errors, outline};
use libfuzzer_sys::fuzz_target;

static ONLY: LazyLock<Option<Language>> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_LANGUAGE").ok()?;
    let language = Language::ALL.iter().find(|language| format!("{language:?}") == name);
    Some(*language.unwrap_or_else(|| panic!("FUZZ_LANGUAGE={name}: one of {:?}", Language::ALL)))
});

fuzz_target!(|input: &[u8]| {
    let Some((&[language, low, high, cut, low_from, high_from], text)) = input.split_first_chunk()
    else {
        return;
    };
    let language = ONLY.unwrap_or(Language::ALL[usize::from(language) % Language::ALL.len()]);
    let text = String::from_utf8_lossy(text);
    let place = |low, high| {
        text.floor_char_boundary(usize::from(u16::from_le_bytes([low, high])) % (text.len() + 1))
    };
    let (at, from) = (place(low, high), place(low_from, high_from));
    let behind = text.floor_char_boundary(at.saturating_add(usize::from(cut)).min(text.len()));
    let more = &text[from..text.floor_char_boundary(from.saturating_add(40).min(text.len()))];
    let new = format!("{}{more}{}", &text[..at], &text[behind.max(at)..]);
    let lines = new.lines().count();
    for error in new_errors(&text, &new, language) {
        assert!((1..=lines.max(1)).contains(&error.line), "{error:?}");
    }
    for symbol in outline(&new, language).into_iter().flatten() {
        let (first, last) = symbol.lines();
        assert!(1 <= first && first <= last && last <= lines, "{symbol:?}");
    }
});
