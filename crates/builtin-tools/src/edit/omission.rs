//! Lines that stand for code which was left out: `...`, also in a comment and with a short phrase,
//! such as `// ... existing code ...`.
//!
//! A line counts only if it says nothing else: without the marks of a comment and brackets around
//! it, it is dots alone, or a short phrase such as `rest of the code` with dots behind it or on
//! both sides. A comment without dots is ordinary text.

const MARKS: [&str; 12] = [
    "{/*", "*/}", "/*", "*/", "<!--", "-->", "//", "#", "--", ";", "%", "*",
];

const THINGS: &str = "code method function class file implementation import test content";

const DOTS: [char; 2] = ['.', '…'];

/// Returns the phrase of a line that stands for code, in lower case and with single spaces. It is
/// empty for dots alone. Returns `None` for any other line.
pub(crate) fn omission(line: &str) -> Option<String> {
    let mut bare = line.trim();
    while let Some(inner) = MARKS.iter().find_map(|mark| {
        bare.strip_prefix(mark)
            .or_else(|| bare.strip_suffix(mark))
            .map(str::trim)
    }) {
        bare = inner;
    }
    let are_dots = |text: &str| text.starts_with("...") || text.starts_with('…');
    if are_dots(bare) && bare.trim_matches(DOTS).is_empty() {
        return Some(String::new());
    }
    for (open, close) in [('(', ')'), ('[', ']'), ('<', '>')] {
        let inner = bare.strip_prefix(open).and_then(|b| b.strip_suffix(close));
        bare = inner.map_or(bare, str::trim);
    }
    if !bare.ends_with("...") && !bare.ends_with('…') || bare.starts_with('.') && !are_dots(bare)
    {
        return None;
    }
    let phrase = bare.trim_matches(DOTS).to_lowercase();
    let words: Vec<&str> = phrase.split_whitespace().collect();
    let is_thing = |word: &str| {
        let one = [Some(word), word.strip_suffix('s'), word.strip_suffix("es")];
        THINGS.split(' ').any(|thing| one.contains(&Some(thing)))
    };
    let is_omission = match words.strip_prefix(&["the"]).unwrap_or(&words) {
        ["rest", "of"] | ["rest", "of", "the"] => true,
        ["rest", "of", "the", thing]
        | ["rest", "of", thing]
        | ["existing" | "unchanged", thing] => is_thing(thing),
        _ => false,
    };
    is_omission.then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::omission;

    #[test]
    fn dots_stand_for_lines_only_if_they_stand_alone() {
        for line in ["...", "  // ...", "/* … */", "    ..."] {
            assert_eq!(omission(line).as_deref(), Some(""), "{line}");
        }
        for line in [
            "...args,",
            "foo(...)",
            "(...)",
            "// see x...",
            "..",
            "a",
            "",
        ] {
            assert_eq!(omission(line), None, "{line}");
        }
    }
    #[test]
    fn what_stands_for_code_is_told_from_ordinary_text() {
        for line in [
            "(rest of methods ...)",
            "  // ... existing code ...",
            "// rest of ...",
            "    # ... rest of the function ...",
            "// rest of methods...",
            "/* ... Rest of the implementation ... */",
            "<!-- ... rest of the file ... -->",
            "{/* … existing code … */}",
            "... unchanged code ...",
            "unchanged methods ...",
            "// The rest of the class…",
        ] {
            assert!(omission(line).is_some(), "{line}");
        }
        for line in [
            "fn f(...args) {}",
            "const [first, ...rest] = list;",
            "f(existing, ...other);",
            "return { ...previous, code };",
            "The rest of the day was sunny...",
            "// Remaining time in seconds",
            "# Loads the rest of the file",
            "// the rest of the code reads this flag before it starts, so it is set here...",
            "# existing code is kept",
            "// Other methods are in base.rs",
            "print('Loading code...')",
            "println!(\"rest of the code ...\");",
            "rest of the code unchanged",
            "## Unchanged",
            "same...",
            "# rest of the code unchanged",
            "// Other fields remain unchanged",
            "# Existing tests unchanged",
            "* Existing files remain unchanged.",
            " * Existing fields stay the same.",
            "## Other Sections ...",
            "Remaining test cases...",
            "The rest of the code is in lib.rs ...",
            "... rest of the code",
            "existing code.",
        ] {
            assert_eq!(omission(line), None, "{line}");
        }
    }
}
