//! Refuses new texts with placeholders such as `(rest of methods ...)`: in a file, they would
//! replace the code that they stand for.

use crate::edit::omission;
use gemini_tools_core::tool::{ErrorKind, ToolError};
use gemini_tools_workspace::OpenFile;
use gemini_tools_workspace::text::{DecodedReader, Encoding};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Length in bytes of the pieces in which longer lines of a file are looked at.
const LINE_BYTES: u64 = 64 * 1024;

pub(super) const REFUSED: (ErrorKind, &str) = ErrorKind::InvalidToolParams.when(
    "the new text has a placeholder in place of code, such as `// ... existing code ...`, that the \
     file does not have",
);

/// The placeholders of a new text, each with its line.
struct Placeholders<'t>(Vec<(&'t str, String)>);

impl<'t> Placeholders<'t> {
    fn of(new: &'t str) -> Self {
        let found = |line| Some((line, placeholder(line)?));
        Self(new.lines().filter_map(found).collect())
    }

    /// Removes the placeholders that `line`, a line of an old text, has, too.
    fn remove_known(&mut self, line: &str) {
        if !self.0.is_empty()
            && let Some(known) = placeholder(line)
        {
            self.0.retain(|(_, form)| *form != known);
        }
    }

    fn refuse(&self, parameter: &str) -> Result<(), ToolError> {
        match self.0.first() {
            None => Ok(()),
            Some((line, _)) => Err(ToolError::invalid(format!(
                "{parameter} has the placeholder {:?} in place of code; nothing was written.",
                line.trim()
            ))
            .with_hint("Give the complete text, without placeholders.")),
        }
    }
}

fn placeholder(line: &str) -> Option<String> {
    // Dots alone are ordinary text, not a placeholder.
    omission(line).filter(|phrase| !phrase.is_empty())
}

/// Refuses a new text with a placeholder, unless the old text has the same one. The error names the
/// first such placeholder.
pub(super) fn check(parameter: &str, new: &str, old: &str) -> Result<(), ToolError> {
    let mut found = Placeholders::of(new);
    old.lines().for_each(|line| found.remove_known(line));
    found.refuse(parameter)
}

/// Does what [`check`] does, but also accepts a placeholder that a line of the file has. The file
/// is read only if the new text has a placeholder that `old` does not have.
pub(super) fn check_file(
    parameter: &str,
    new: &str,
    old: &str,
    open: &OpenFile,
    encoding: Encoding,
) -> io::Result<Result<(), ToolError>> {
    let mut found = Placeholders::of(new);
    old.lines().for_each(|line| found.remove_known(line));
    if !found.0.is_empty() {
        let start = encoding.mark().len() as u64;
        (&open.file).seek(SeekFrom::Start(start))?;
        let mut text = BufReader::new(DecodedReader::new(&open.file, encoding));
        let mut line = Vec::new();
        while (&mut text).take(LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
            found.remove_known(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    Ok(found.refuse(parameter))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn only_a_placeholder_that_is_new_is_refused() {
        let text = "a\n  // ... existing code ...\n";
        assert!(check("content", text, "").is_err());
        assert!(check("content", text, "\n/* ... existing code ... */").is_ok());
        assert!(check("content", "a\n...\n", "").is_ok());
    }
}
