//! Words of bash without their quotes.

#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    /// The text without quotes; `None` where it can't be known before the line runs.
    pub(super) value: Option<String>,
    /// The known beginning, without quotes: all of it where that is known.
    pub(super) known: String,
    pub(super) written: String,
    /// True if bash makes exactly one word of it.
    pub(super) is_single: bool,
    /// True if bash makes other words of it, by a pattern or by a list in braces.
    pub(super) is_expanded: bool,
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
