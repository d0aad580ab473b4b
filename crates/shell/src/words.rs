//! Words of bash without their quotes.

/// A word of a command. `value` is its text without quotes, or `None` if that is known only when
/// the line runs. `pattern` is the word as bash expands it, as in [`super::Command::patterns`], or
/// `None` if it holds a variable or a substitution. A word that `is_expanded` holds a pattern or a
/// list in braces, which may turn it into other words; one that `is_input` is made by `xargs` from
/// its input.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    pub(super) value: Option<String>,
    pub(super) pattern: Option<String>,
    pub(super) known: String,
    pub(super) written: String,
    pub(super) is_single: bool,
    pub(super) is_expanded: bool,
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
