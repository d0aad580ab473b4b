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
    /// The option that the word becomes if everything before its dash turns out to be empty:
    /// `--to=y` for `$x--to=y`.
    pub(super) behind: String,
    pub(super) written: String,
    pub(super) is_single: bool,
    pub(super) is_expanded: bool,
    pub(super) is_input: bool,
}

impl Word {
    pub(super) fn is(&self, text: &str) -> bool {
        self.value.as_deref() == Some(text)
    }

    /// Returns the beginning of the option that the word is, or may be: `--x=` for `--x=$y`, `$y--x=`
    /// and `{,}--x=`. Nothing is known of one that is a variable's value as a whole.
    pub(super) fn option(&self) -> &str {
        if self.known.is_empty() {
            &self.behind
        } else {
            &self.known
        }
    }

    /// Returns true if letters may follow those that are known. Where even the dash is known only if
    /// what stands before it is empty, this is not supposed: `$name-$version` is rarely an option.
    pub(super) fn may_go_on(&self) -> bool {
        self.value.is_none() && !self.known.is_empty()
    }

    pub(super) fn is_one_of(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(text))
    }
}

pub(super) fn is_among(name: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == name)
}
