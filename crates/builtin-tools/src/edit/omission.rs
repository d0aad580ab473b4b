//! Lines that stand for code which was left out: `...`, also in a comment and with a short phrase,
//! such as `// ... existing code ...`.
//!
//! A line counts only if it says nothing else: without the marks of a comment, of whatever language,
//! and brackets around it, it is dots alone, or a short phrase such as `rest of the code` with dots
//! behind it or on both sides. A comment without dots is ordinary text.

const THINGS: &str = "code method function class file implementation import test content";

const MAX_MARK_LETTERS: usize = 3;

const DOTS: [char; 2] = ['.', '…'];

/// Returns the phrase of a line that stands for code, in lower case and with single spaces. It is
/// empty for dots alone. Returns `None` for any other line.
///
/// What marks a comment differs by language. So a mark may be anything that has neither letters nor
/// digits, or a word of up to `MAX_MARK_LETTERS` letters before the phrase, such as `REM` or `dnl`.
pub(crate) fn omission(line: &str) -> Option<String> {
    let line = line.trim();
    let is_letter = |c: char| c.is_alphanumeric();
    let Some(start) = line.find(is_letter) else {
        return are_dots_alone(line).then(String::new);
    };
    let core = line.trim_matches(|c| !is_letter(c));
    let (before, behind) = (&line[..start], &line[start + core.len()..]);
    let behind = behind.trim_start();
    if !starts_with_dots(behind) || is_quoted(before, behind) {
        return None;
    }
    let core = core.to_lowercase();
    let words: Vec<&str> = core.split_whitespace().collect();
    if is_phrase(words.strip_prefix(&["the"]).unwrap_or(&words)) {
        return Some(words.join(" "));
    }
    let (mark, rest) = words.split_first()?;
    let is_mark = mark.chars().all(char::is_alphabetic) && mark.chars().count() <= MAX_MARK_LETTERS;
    let words = match rest.split_first() {
        Some((dots, words)) if dots.trim_matches(DOTS).is_empty() => words,
        _ => rest,
    };
    let is_remark = words.is_empty() && matches!(*mark, "rem" | "dnl");
    (is_remark || is_mark && is_phrase(words)).then(|| words.join(" "))
}

fn starts_with_dots(text: &str) -> bool {
    text.starts_with("...") || text.starts_with('…')
}

fn is_quoted(before: &str, behind: &str) -> bool {
    ['"', '\'', '`']
        .iter()
        .any(|quote| before.contains(*quote) && behind.contains(*quote))
}

fn is_phrase(words: &[&str]) -> bool {
    let is_thing = |word: &str| {
        let one = [Some(word), word.strip_suffix('s'), word.strip_suffix("es")];
        THINGS.split(' ').any(|thing| one.contains(&Some(thing)))
    };
    match words {
        ["rest", "of"] | ["rest", "of", "the"] => true,
        ["rest", "of", "the", thing]
        | ["rest", "of", thing]
        | ["existing" | "unchanged", thing] => is_thing(thing),
        _ => false,
    }
}

/// Returns true if a line without letters consists of dots, apart from comment marks and brackets
/// around them. Code such as `): ...`, or `...);` at the end of parameters, does not.
fn are_dots_alone(line: &str) -> bool {
    let dots = line.trim_matches(|c| !DOTS.contains(&c));
    let (before, behind) = line.split_once(dots).unwrap_or_default();
    let opened = before.matches(['(', '[', '{', '<']).count();
    let closed = behind.matches([')', ']', '}', '>']).count();
    let mut words = dots.split_whitespace();
    words.clone().any(starts_with_dots)
        && words.all(|word| word.trim_matches(DOTS).is_empty())
        && opened == closed
        && !before.contains([')', ']', '}'])
        && !behind.contains([',', '"', '\'', '`'])
}

/// Returns true if the dots of a line are in a comment. Dots outside of one may be code, for
/// example in Python and YAML.
pub(crate) fn is_comment(line: &str) -> bool {
    let dots = line.find("...").or(line.find('…'));
    let before = &line[..dots.unwrap_or_default()];
    let marks = ["/", "#", "%", ";", "!", "\"", "'", "--", "(*", "{-", ".."];
    marks.iter().any(|mark| before.contains(mark)) || before.contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::omission;

    #[test]
    fn dots_stand_for_lines_only_if_they_stand_alone() {
        for line in [
            "...",
            "  // ...",
            "/* … */",
            "    ...",
            "(* ... *)",
            "//...",
            "(...)",
            "# [...]",
            "REM ...",
        ] {
            assert_eq!(omission(line).as_deref(), Some(""), "{line}");
        }
        for line in [
            "...args,",
            "foo(...)",
            "): ...",
            "...);",
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
            "(* ... existing code ... *)",
            "C     ... existing code ...",
            "      ! rest of the file ...",
            "\" ... unchanged code ...",
            "' ... existing code ...",
            "REM ... rest of the code ...",
            "@c rest of the file ...",
            "dnl ... existing code ...",
            ".\\\" ... existing code ...",
            "{- ... existing code ... -}",
            "--[[ ... existing code ... ]]",
            "{# ... existing code ... #}",
            ".. ... existing code ...",
            "[//]: # (... existing code ...)",
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
            "See the rest of the file ...",
            "\"... existing code ...\",",
            "log(\"rest of the code ...\")",
            "rest of the code ..2",
        ] {
            assert_eq!(omission(line), None, "{line}");
        }
    }
}
