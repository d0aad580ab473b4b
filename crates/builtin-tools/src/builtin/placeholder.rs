//! Refuses new texts with placeholders such as `(rest of methods ...)`: in a file, they would
//! replace the code that they stand for.

use crate::edit::omission;
use gemini_tools_core::tool::{ErrorKind, ToolError};
use std::collections::HashSet;

pub(super) const REFUSED: (ErrorKind, &str) = ErrorKind::InvalidToolParams.when(
    "the new text has a placeholder in place of code, such as `// ... existing code ...`, that the \
     file does not have",
);

fn placeholder(line: &str) -> Option<String> {
    // Dots alone are ordinary text, not a placeholder.
    omission(line).filter(|phrase| !phrase.is_empty())
}

/// Refuses a new text with a placeholder, unless one of the old texts has the same one. The error
/// names the first such placeholder.
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
    use super::check;

    #[test]
    fn only_a_placeholder_that_is_new_is_refused() {
        let text = "a\n  // ... existing code ...\n";
        assert!(check("content", text, [""]).is_err());
        assert!(check("content", text, ["", "/* ... existing code ... */"]).is_ok());
        assert!(check("content", "a\n...\n", [""]).is_ok());
    }
}
