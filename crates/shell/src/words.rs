//! Words of bash without their quotes.

#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    /// The text without quotes, or `None` if it is known only when the line runs.
    pub(super) value: Option<String>,
    /// The word as bash expands it, as in [`super::Command::patterns`]; `None` if it holds a
    /// variable or a substitution.
    pub(super) pattern: Option<String>,
    pub(super) known: String,
    pub(super) written: String,
    pub(super) is_single: bool,
    /// True if the word holds a pattern or a list in braces, which may turn it into other words.
    pub(super) is_expanded: bool,
    /// True for a word that `xargs` makes of its input.
    pub(super) is_input: bool,
}

impl Word {
    pub(super) fn is(&self, text: &str) -> bool {
        self.value.as_deref() == Some(text)
    }

    pub(super) fn is_one_of(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(text))
    }
}

pub(super) fn is_among(name: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == name)
}
