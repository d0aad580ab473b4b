//! Lines of a new text that stand for code which was left out, such as `(rest of methods ...)`:
//! written to a file, they take the place of that code.
//!
//! A line counts only if it says nothing else: its words must name what was left out, between
//! dots, or in a comment that says it stays as it was. Dots alone are ordinary text.

use crate::tool::ToolError;
use std::collections::HashSet;

/// What begins a comment, or ends one.
const MARKS: [&str; 12] = [
    "{/*", "*/}", "/*", "*/", "<!--", "-->", "//", "#", "--", ";", "%", "*",
];

/// How it begins, after an article, that something was left out.
const OPENINGS: [&str; 9] = [
    "rest",
    "remaining",
    "remainder",
    "existing",
    "unchanged",
    "previous",
    "same",
    "other",
    "omitted",
];

/// What is left out; also in the plural.
const THINGS: [&str; 18] = [
    "code",
    "method",
    "function",
    "implementation",
    "class",
    "file",
    "content",
    "line",
    "import",
    "body",
    "logic",
    "test",
    "field",
    "definition",
    "component",
    "section",
    "case",
    "item",
];

/// How it ends that something stays.
const ENDINGS: [&str; 9] = [
    "unchanged",
    "omitted",
    "as before",
    "as is",
    "the same",
    "not shown",
    "stays",
    "remains",
    "for brevity",
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
    let is_comment = bare.len() < line.len();
    for (open, close) in [('(', ')'), ('[', ']'), ('<', '>')] {
        let inner = bare.strip_prefix(open).and_then(|b| b.strip_suffix(close));
        bare = inner.map_or(bare, str::trim);
    }
    let dots = |text: &str| text.starts_with("...") || text.starts_with('…');
    let has_dots_before = dots(bare);
    let has_dots_behind = bare.ends_with("...") || bare.ends_with('…');
    let phrase = bare.trim_matches(['.', '…', ' ', '\t', ':']).to_lowercase();
    let mut words: Vec<&str> = phrase.split_whitespace().collect();
    if matches!(
        words.first(),
        Some(&("the" | "all" | "your" | "my" | "and"))
    ) {
        words.remove(0);
    }
    let is_thing = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        THINGS.iter().any(|thing| {
            [Some(word), word.strip_suffix('s'), word.strip_suffix("es")].contains(&Some(thing))
        })
    };
    let is_short = words.len() <= 8 && words.iter().all(|w| w.chars().any(char::is_alphanumeric));
    let opens = words.first().is_some_and(|word| OPENINGS.contains(word));
    let ends = ENDINGS.iter().any(|end| phrase.ends_with(end));
    let names = words.iter().any(is_thing);
    let is_one =
        is_short && opens && names && (has_dots_before || has_dots_behind || is_comment && ends);
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
            "{parameter} has the line {:?}, which stands for code that it leaves out; nothing was \
             written.",
            line.trim()
        ))
        .with_hint("Give all of the text that is to be in the file.")),
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
            "# rest of the code unchanged",
            "    # ... rest of the function ...",
            "// rest of methods...",
            "/* ... remaining implementation ... */",
            "<!-- ... rest of the file ... -->",
            "{/* … existing code … */}",
            "... unchanged code ...",
            "unchanged methods ...",
            "// The rest of the class stays the same",
            "-- remaining code as before",
            "// ... other imports ...",
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
