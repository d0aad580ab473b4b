//! Colours on a terminal: whether to use them, and which colour each kind of text gets.
//!
//! As in other programs, `NO_COLOR` (no-color.org) and `CLICOLOR=0` switch colours off and
//! `CLICOLOR_FORCE` switches them on without a terminal (bixense.com/clicolors). A terminal whose
//! `TERM` is `dumb` or unset has none.

use std::ffi::OsString;

/// Whether output has colours, as the user chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColourChoice {
    /// Colours on a terminal, unless environment variables say otherwise.
    #[default]
    Auto,
    /// Colours everywhere, also in a file or a pipe.
    Always,
    /// No colours.
    Never,
}

impl ColourChoice {
    /// The names by which a choice is made, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["auto", "always", "never"];

    /// Returns the choice with this name, or `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::Auto, Self::Always, Self::Never].into_iter();
        all.find(|choice| Self::NAMES[*choice as usize] == name)
    }

    /// Returns true if a stream gets colours. `is_terminal` says whether it is a terminal.
    pub fn shows_on(self, is_terminal: bool) -> bool {
        self.shows_with(is_terminal, |name| std::env::var_os(name))
    }

    fn shows_with(self, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => return true,
            Self::Never => return false,
            Self::Auto => {}
        }
        if set("NO_COLOR").is_some() {
            return false;
        }
        if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            return true;
        }
        let is_dumb = set("TERM").is_none_or(|term| term == "dumb");
        is_terminal && !is_dumb && set("CLICOLOR").is_none_or(|value| value != "0")
    }
}

/// What a piece of text is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The path of a file.
    Path,
    /// The name of a directory in a listing.
    Directory,
    /// The number of a line.
    LineNumber,
    /// A match of a search.
    Match,
    /// The heading of a table, or the lines of a diff that name the files.
    Heading,
    /// Lines that a diff adds.
    Added,
    /// Lines that a diff removes.
    Removed,
    /// The position of a hunk of a diff in its file.
    Hunk,
}

impl Look {
    fn code(self) -> &'static str {
        match self {
            Self::Path => "35",
            Self::Directory => "1;34",
            Self::LineNumber | Self::Added => "32",
            Self::Match => "1;31",
            Self::Heading => "1",
            Self::Removed => "31",
            Self::Hunk => "36",
        }
    }

    /// Appends a text, which must not contain a line feed, in the colour of this look.
    pub fn push(self, out: &mut String, text: &str) {
        out.push_str(&format!("\x1b[{}m{text}\x1b[0m", self.code()));
    }
}

/// Returns a text in which the lines of a unified diff are coloured.
pub fn diff(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    // How many lines of the old and the new text the hunk still has. Between hunks, lines that begin
    // with `-` or `+` name the files.
    let (mut old, mut new) = (0_u64, 0_u64);
    for line in text.split_inclusive('\n') {
        let look = match line.as_bytes() {
            [b'@', b'@', ..] => {
                (old, new) = lengths(line).unwrap_or((u64::MAX, u64::MAX));
                Look::Hunk
            }
            [b'+' | b'-', ..] if (old, new) == (0, 0) => Look::Heading,
            [b'+', ..] => {
                new = new.saturating_sub(1);
                Look::Added
            }
            [b'-', ..] => {
                old = old.saturating_sub(1);
                Look::Removed
            }
            other => {
                // The remark `\ No newline at end of file` is no line of either text.
                let lines = u64::from(!other.starts_with(b"\\"));
                (old, new) = (old.saturating_sub(lines), new.saturating_sub(lines));
                out.push_str(line);
                continue;
            }
        };
        look.push(&mut out, line.trim_end_matches('\n'));
        out.push('\n');
    }
    out
}

fn lengths(heading: &str) -> Option<(u64, u64)> {
    let mut words = heading.split(' ').skip(1);
    let mut length = || match words.next()?.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length()?, length()?))
}

#[cfg(test)]
mod tests {
    use super::{ColourChoice, diff};

    #[test]
    fn the_option_comes_before_the_environment_and_no_color_before_force() {
        let shows = |choice: ColourChoice, is_terminal, env: &[(&str, &str)]| {
            choice.shows_with(is_terminal, |name| {
                let found = env.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).into())
            })
        };
        let xterm = ("TERM", "xterm");
        let (auto, always, never) = (
            ColourChoice::Auto,
            ColourChoice::Always,
            ColourChoice::Never,
        );
        for (choice, is_terminal, env, wanted) in [
            (auto, true, &[xterm][..], true),
            (auto, false, &[xterm], false),
            (auto, true, &[("TERM", "dumb")], false),
            (auto, true, &[xterm, ("NO_COLOR", "1")], false),
            (auto, true, &[xterm, ("NO_COLOR", "")], true),
            (auto, true, &[xterm, ("CLICOLOR", "0")], false),
            (auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (
                auto,
                false,
                &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
                false,
            ),
            (always, false, &[("NO_COLOR", "1")], true),
            (never, true, &[xterm, ("CLICOLOR_FORCE", "1")], false),
        ] {
            assert_eq!(
                shows(choice, is_terminal, env),
                wanted,
                "{choice:?} {env:?}"
            );
        }
        assert!(!shows(auto, true, &[]));
    }

    #[test]
    fn a_line_of_a_diff_has_the_colour_of_what_it_does() {
        assert_eq!(
            diff("Done.\n--- a\n+++ a\n@@ -1,2 +1,2 @@ x\n-old\n+new\n same\n"),
            "Done.\n\x1b[1m--- a\x1b[0m\n\x1b[1m+++ a\x1b[0m\n\x1b[36m@@ -1,2 +1,2 @@ x\x1b[0m\n\
             \x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n same\n"
        );
    }

    #[test]
    fn a_heading_is_one_between_hunks_of_all_files() {
        let first = "--- a\n+++ a\n@@ -1 +1,2 @@\n--- x\n+++ x\n+y\n\\ No newline at end of file\n";
        let both = format!("{first}--- b\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n");
        let coloured = diff(&both);
        let bold: Vec<&str> = coloured
            .lines()
            .filter(|line| line.contains("[1m"))
            .collect();
        assert_eq!(
            bold,
            [
                "\x1b[1m--- a\x1b[0m",
                "\x1b[1m+++ a\x1b[0m",
                "\x1b[1m--- b\x1b[0m",
                "\x1b[1m+++ /dev/null\x1b[0m",
            ]
        );
    }
}
