//! Colours and marks, for people only.

use gemini_tools::colours::ColourChoice;
use std::io::IsTerminal;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    has_colours: bool,
    pub(crate) has_marks: bool,
}

impl Style {
    /// Returns the style for standard output: marks on a terminal, and colours if it supports them.
    /// `NO_COLOR` switches colours off; `CLICOLOR_FORCE` switches both on in a pipe, too.
    pub(crate) fn for_stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let has_colours = ColourChoice::Auto.shows_on(is_terminal);
        Self {
            has_colours,
            has_marks: has_colours || is_terminal,
        }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.has_colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }
}
