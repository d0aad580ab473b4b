//! Words of bash without their quotes.

/// A word of a command.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about one word that hold in any combination"
)]
pub(super) struct Word {
    /// The text without quotes; `None` where it can't be known before the line runs.
    pub(super) value: Option<String>,
    /// The known beginning, without quotes: all of it where that is known.
    pub(super) known: String,
    /// Text if the variables and commands in it are empty: `-I` of `$x-I`.
    pub(super) if_empty: String,
    /// The text as it is printed.
    pub(super) text: String,
    /// The text as it is written.
    pub(super) written: String,
    /// True if any of it is quoted.
    pub(super) is_quoted: bool,
    /// True if it is a number, whatever the line does.
    pub(super) is_number: bool,
    /// True if bash makes exactly one word of it.
    pub(super) is_single: bool,
    /// True if bash makes other words of it, by a pattern or by a list in braces.
    pub(super) is_expanded: bool,
}

impl Word {
    /// Makes a word that can't be known, or that is a list.
    pub(super) fn unknown(text: String, written: String) -> Self {
        Self {
            value: None,
            known: String::new(),
            if_empty: String::new(),
            text,
            written,
            is_quoted: false,
            is_number: false,
            is_single: false,
            is_expanded: false,
        }
    }
}

/// Returns true if a name is in a list of names with blanks between them.
pub(super) fn is_among(name: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == name)
}
