//! Lines of a new text that stand for code which was left out, such as `(rest of methods ...)`:
//! written to a file, they take the place of that code.
//!
//! A line counts only if it says nothing else: without the marks of a comment and brackets around
//! it, it is a short phrase such as `rest of the code`, and dots are behind that, or on both
//! sides. Dots alone are ordinary text, and so is a comment without dots.

use gemini_tools_core::tool::ToolError;
use std::collections::HashSet;

/// Marks that begin or end a comment.
const MARKS: [&str; 12] = [
    "{/*", "*/}", "/*", "*/", "<!--", "-->", "//", "#", "--", ";", "%", "*",
];

/// Words for text that is left out; also in the plural.
const THINGS: [&str; 9] = [
    "code",
    "method",
    "function",
    "class",
    "file",
    "implementation",
    "import",
    "test",
    "content",
];

/// A placeholder in a form in which two that say the same are the same; `None` for any other
/// line.
fn placeholder(line: &str) -> Option<String> {
    let line = line.trim();
    let mut bare = line;
    while let Some(inner) = MARKS.iter().find_map(|mark| {
        bare.strip_prefix(mark)
            .or_else(|| bare.strip_suffix(mark))
            .map(str::trim)
    }) {
        bare = inner;
    }
    for (open, close) in [('(', ')'), ('[', ']'), ('<', '>')] {
        let inner = bare.strip_prefix(open).and_then(|b| b.strip_suffix(close));
        bare = inner.map_or(bare, str::trim);
    }
    let dots = ['.', '…'];
    if !bare.ends_with("...") && !bare.ends_with('…') {
        return None;
    }
    let before = &bare[..bare.len() - bare.trim_start_matches(dots).len()];
    if !before.is_empty() && !before.starts_with("...") && !before.starts_with('…') {
        return None;
    }
    let phrase = bare.trim_matches(dots).to_lowercase();
    let words: Vec<&str> = phrase.split_whitespace().collect();
    let is_thing = |word: &str| {
        let one = [Some(word), word.strip_suffix('s'), word.strip_suffix("es")];
        THINGS.iter().any(|thing| one.contains(&Some(thing)))
    };
    let is_one = match words.strip_prefix(&["the"]).unwrap_or(&words) {
        ["rest", "of"] | ["rest", "of", "the"] => true,
        ["rest", "of", "the", thing]
        | ["rest", "of", thing]
        | ["existing" | "unchanged", thing] => is_thing(thing),
        _ => false,
    };
    is_one.then(|| words.join(" "))
}

/// Refuses a new text with a placeholder that is in none of the texts it takes the place of.
///
/// # Errors
///
/// Names the first one.
pub(super) fn check<'t>(
    parameter: &str,
    new: &str,
    old: impl IntoIterator<Item = &'t str>,
) -> Result<(), ToolError> {
    let mut found = new
        .lines()
        .filter_map(|line| Some((line, placeholder(line)?)))
        .peekable();
    if found.peek().is_none() {
        return Ok(());
    }
    let known: HashSet<String> = old
        .into_iter()
        .flat_map(str::lines)
        .filter_map(placeholder)
        .collect();
    match found.find(|(_, form)| !known.contains(form)) {
        None => Ok(()),
        Some((line, _)) => Err(ToolError::invalid(format!(
            "{parameter} has the placeholder {:?} in place of code; nothing was written.",
            line.trim()
        ))
        .with_hint("Give the complete text, without placeholders.")),
    }
}

#[cfg(test)]
mod tests {
    use super::{check, placeholder};

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
            assert!(placeholder(line).is_some(), "{line}");
        }
        for line in [
            "...",
            "// ...",
            "    ...",
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
            assert_eq!(placeholder(line), None, "{line}");
        }
    }

    #[test]
    fn only_a_placeholder_that_is_new_is_refused() {
        let text = "a\n  // ... existing code ...\n";
        assert!(check("content", text, [""]).is_err());
        assert!(check("content", text, ["", "/* ... existing code ... */"]).is_ok());
        assert!(check("content", "a\n...\n", [""]).is_ok());
    }
}
