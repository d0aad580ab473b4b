//! Refuses new texts with placeholders such as `(rest of methods ...)`, or with the marks that tools
//! put where they cut a long line: in a file, they would replace the code that they stand for.

use crate::edit::{is_comment, omission};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use gemini_tools_workspace::OpenFile;
use gemini_tools_workspace::text::{DecodedReader, Encoding};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// The beginning of the marks that `read_file` and the searches put where they have cut a line.
const CUT: &str = "... [truncated";

const MAX_PIECE_BYTES: u64 = 64 * 1024;

const COMMENT_MARKS: [&str; 9] = ["#", "//", "/*", "*", "--", ";", "%", "<!--", "{/*"];

/// A comment that stands for code that is left out, such as `// ... other methods ...`, has at most
/// so many words.
const MAX_WORDS: usize = 6;

/// If nothing stands between the dots and the first word of such a comment, that word must be one
/// of these, as in `//...existing code`.
const LEFT: &str = "existing keep other previous remaining rest same unchanged";

pub(super) const REFUSED: (ErrorKind, &str) = ErrorKind::InvalidToolParams.when(
    "the new text has a placeholder in place of code, such as `// ... existing code ...`, that the \
     file does not have",
);

/// The placeholders of a new text. Each comes as it is written, and in a form that is the same for
/// all placeholders that say the same.
struct Placeholders<'t>(Vec<(&'t str, String)>);

impl<'t> Placeholders<'t> {
    fn of(new: &'t str) -> Self {
        Self(new.lines().filter_map(placeholder).collect())
    }

    fn find(&self, line: &str) -> Option<usize> {
        let known = (!self.0.is_empty()).then(|| placeholder(line))??.1;
        self.0.iter().position(|(_, form)| *form == known)
    }

    /// Takes out a placeholder that the old text has, once: if the new text has it twice, one of
    /// them stands for something else.
    fn remove_one(&mut self, line: &str) {
        self.find(line).map(|at| self.0.remove(at));
    }

    fn remove_known(&mut self, line: &str) {
        while let Some(at) = self.find(line) {
            self.0.remove(at);
        }
    }

    /// Returns true if these placeholders may be in the file itself, so that it must be searched
    /// for them. Dots alone stand for something else elsewhere in the file. So they count only in
    /// the old text, unless that is empty.
    fn may_be_in_file(&self, old: &str) -> bool {
        old.is_empty() || self.0.iter().all(|(_, form)| !form.is_empty())
    }

    fn refuse(&self, parameter: &str) -> Result<(), ToolError> {
        match self.0.first() {
            None => Ok(()),
            Some((line, _)) => Err(ToolError::invalid(format!(
                "{parameter} has the placeholder {:?} in place of code; nothing was written.",
                line.trim()
            ))
            .with_hint(
                "Give the complete text, without placeholders, or change only other lines of the \
                 file.",
            )),
        }
    }
}

fn placeholder(line: &str) -> Option<(&str, String)> {
    if let Some(at) = line.find(CUT) {
        let (mark, behind) = (&line[at..], &line[at + CUT.len()..]);
        if behind.starts_with(']') || behind.starts_with(", the line has ") {
            return Some((mark, mark.trim_end().to_owned()));
        }
    }
    let phrase = omission(line).filter(|phrase| !phrase.is_empty() || is_comment(line));
    Some((line, phrase.or_else(|| elided(line))?))
}

/// Returns `…` and the words of a comment that has dots and then up to `MAX_WORDS` words, such as
/// `// ... other methods ...`. Where it replaces text, it stands for what is left out, whatever the
/// words are.
fn elided(line: &str) -> Option<String> {
    let line = line.trim();
    let (mark, rest) = line.split_at(line.find("...").or(line.find('…'))?);
    let rest = rest.trim_start_matches(['.', '…']);
    let words = rest.trim_matches(|c: char| !c.is_alphanumeric());
    let (before, behind) = rest.split_once(words)?;
    let count = words.split_whitespace().count();
    let is_word = |c: char| c.is_alphanumeric() || " '-_".contains(c);
    let (first, others) = words.split_once(' ').unwrap_or((words, ""));
    let is_left = || !others.is_empty() && LEFT.split(' ').any(|word| word == first);
    let is_it = COMMENT_MARKS.iter().any(|known| mark.starts_with(known))
        && !mark.contains(char::is_alphanumeric)
        && (1..=MAX_WORDS).contains(&count)
        && words.chars().all(is_word)
        && ["", "(", "["].contains(&before.trim())
        && (!before.is_empty() || is_left())
        && behind.trim_matches(|c| " .…)]*/}->".contains(c)).is_empty();
    is_it.then(|| format!("…{}", words.to_lowercase()))
}

/// Refuses a placeholder in a text that replaces nothing. Dots alone and those with other words than
/// [`omission`] knows are allowed: they stand for no code then, and examples have them.
pub(super) fn check(parameter: &str, new: &str) -> Result<(), ToolError> {
    let mut found = Placeholders::of(new);
    let stands = |form: &String| !form.is_empty() && !form.starts_with('…');
    found.0.retain(|(_, form)| stands(form));
    found.refuse(parameter)
}

/// Refuses a placeholder among the lines that a patch adds, unless it is also among those that the
/// patch removes. One that the file has is allowed, as for [`check_file`].
pub(super) fn check_hunks(added: &str, old: &str, file: &str) -> Result<(), ToolError> {
    let mut found = Placeholders::of(added);
    old.lines().for_each(|line| found.remove_one(line));
    if found.may_be_in_file(old) {
        file.lines().for_each(|line| found.remove_known(line));
    }
    found.refuse("patch")
}

/// Refuses a placeholder that neither the old text nor any line of the file has. The file is read
/// only if the new text has a placeholder that `old` does not have.
pub(super) fn check_file(
    parameter: &str,
    new: &str,
    old: &str,
    open: &OpenFile,
    encoding: Encoding,
) -> io::Result<Result<(), ToolError>> {
    let mut found = Placeholders::of(new);
    old.lines().for_each(|line| found.remove_one(line));
    if !found.0.is_empty() && found.may_be_in_file(old) {
        let start = encoding.mark().len() as u64;
        (&open.file).seek(SeekFrom::Start(start))?;
        let mut text = BufReader::new(DecodedReader::new(&open.file, encoding));
        let mut line = Vec::new();
        while (&mut text)
            .take(MAX_PIECE_BYTES)
            .read_until(b'\n', &mut line)?
            > 0
        {
            found.remove_known(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    Ok(found.refuse(parameter))
}

#[cfg(test)]
mod tests {
    use super::{check as check_text, check_hunks};
    use gemini_tools_core::tool::ToolError;

    fn check(new: &str, old: &str) -> Result<(), ToolError> {
        match old {
            "" => check_text("content", new),
            _ => check_hunks(new, old, ""),
        }
    }

    #[test]
    fn only_a_placeholder_that_is_new_is_refused() {
        let text = "a\n  // ... existing code ...\n";
        assert!(check(text, "").is_err());
        assert!(check(text, "\n/* ... existing code ... */").is_ok());
        assert!(check("a\n...\n", "").is_ok());
        assert!(check("// ...\na", "// ...\nb\nc").is_ok());
        assert!(check("// ...\na\n// ...", "// ...\nb\nc").is_err());
        for line in [
            "// ...",
            "  /* ... */",
            "<!-- … -->",
            "# [...]",
            "-- ...",
            "REM ...",
        ] {
            assert!(check(line, "a();").is_err(), "{line}");
            assert!(check(line, "").is_ok(), "{line}");
        }
        for line in ["...", "    ...", "- ...", "): ...", "\"...\""] {
            assert!(check(line, "a();").is_ok(), "{line}");
        }
    }

    #[test]
    fn a_comment_of_dots_and_a_few_words_stands_for_what_it_replaces() {
        for line in [
            "// ... (rest of the file unchanged)",
            "    // ... rest of your code ...",
            "// ...rest of code",
            "# ... same as before ...",
            "/* … other styles … */",
            "{/* ... keep the existing buttons ... */}",
            "<!-- ... previous sections ... -->",
            "# [... rest of file unchanged ...]",
            "-- ... existing rows",
            "; ... what's left",
        ] {
            assert!(check(line, "a();").is_err(), "{line}");
            assert!(check(line, "").is_ok(), "{line}");
            assert!(check(line, line).is_ok(), "{line}");
        }
        for line in [
            "// ...and disregard older resolution values",
            "// ...rest",
            "// ...args",
            "// see ... for more",
            "// ... f(a);",
            "// ... one two three four five six seven",
            "- ... and so on",
            "f(...other values)",
            "' ... said he",
        ] {
            assert!(check(line, "a();").is_ok(), "{line}");
        }
    }

    #[test]
    fn the_mark_of_a_cut_line_is_no_text_of_it() {
        for mark in [
            "... [truncated]",
            "... [truncated, the line has 5000 bytes]",
            "... [truncated, the line has 9000 or more bytes]",
        ] {
            let text = format!("let a = \"bbb{mark}\nlet c = 1;\n");
            let error = check(&text, "").expect_err(mark);
            assert!(error.message.contains(mark), "{error:?}");
            assert!(check(&text, &text).is_ok());
        }
        assert!(check("bbb... [truncated at the end]\n", "").is_ok());
    }
}
