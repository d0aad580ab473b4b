//! A fact for `save_memory`, in the form in which the memory file holds it.
//!
//! Hosts read the file into every later session, so a fact must stay what it is: one list item on
//! one line that a model reads as a fact. Nothing in it may begin a block of markdown, import a
//! file (`@path`, as in Gemini CLI 0.8.2 and 0.61), change the pairing of backticks in the rest of
//! the file (Gemini CLI 0.61 pairs them over the whole file), or begin or end a comment or a host's
//! tag such as `<global_context>`. Backslashes, which markdown does not show, prevent that; of
//! several adjacent backticks, one is kept, and one without a partner becomes an apostrophe.
//! [`super::memory`] decides where in the file a fact goes.

use gemini_tools_core::text::with_deceptive;

/// A fact that is not blank. `plain` has it on a single line and without the bullets of a list
/// before it, otherwise as it was given. `stored` has it escaped, as the file does behind the
/// bullet of the list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    plain: String,
    pub(super) stored: String,
}

impl Fact {
    pub(super) fn new(text: &str) -> Option<Self> {
        let line = one_line(text);
        let mut plain = line.trim();
        // A dash before a word is a part of it: `--force`, `-1`.
        while let rest = plain.trim_start_matches('-')
            && rest.len() < plain.len()
            && rest.starts_with(char::is_whitespace)
        {
            plain = rest.trim_start();
        }
        let is_blank = plain.chars().all(|c| c == '-' || c.is_whitespace());
        (!is_blank).then(|| Self {
            plain: plain.to_owned(),
            stored: neutralise_markup(plain),
        })
    }

    pub(super) fn is_line(&self, line: &[u8]) -> bool {
        let Some(([b'-' | b'*' | b'+', b' '], item)) = line.trim_ascii().split_at_checked(2) else {
            return false;
        };
        let item = item.trim_ascii();
        // The line may have been written by this tool, which escapes facts, or by Gemini CLI, which
        // does not.
        item == self.stored.as_bytes() || item == self.plain.as_bytes()
    }
}

/// Puts a text on one line: each run of blanks with a line end or another control character in it
/// becomes one space, and invisible characters are left out.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut has_break = false;
    for (c, deceives) in with_deceptive(text) {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            has_break = true;
        } else if !deceives && (!has_break || !c.is_whitespace()) {
            if has_break {
                out.truncate(out.trim_end().len());
                out.push(' ');
                has_break = false;
            }
            out.push(c);
        }
    }
    out.trim().to_owned()
}

fn neutralise_markup(line: &str) -> String {
    let line = single_backticks(line);
    let mut out = String::with_capacity(line.len() + 8);
    let mut previous: Option<char> = None;
    for (at, c) in line.char_indices() {
        let rest = &line[at + c.len_utf8()..];
        let follows_space = previous.is_none_or(char::is_whitespace);
        match c {
            '@' if follows_space && rest.starts_with(|n: char| !n.is_whitespace()) => {
                out.push_str("\\@");
            }
            '<' if rest.starts_with("!--") || is_host_tag(rest) => out.push_str("<\\"),
            '>' if line[..at].ends_with("--") => out.push_str("\\>"),
            _ => out.push(c),
        }
        previous = Some(c);
    }
    if let Some(at) = block_marker(&out) {
        out.insert(at, '\\');
    }
    out
}

fn single_backticks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        if c != '`' || !out.ends_with('`') {
            out.push(c);
        }
    }
    // A backtick without a partner would pair with one of another fact, so it becomes an
    // apostrophe.
    if out.matches('`').count() % 2 == 1
        && let Some(last) = out.rfind('`')
    {
        out.replace_range(last..=last, "'");
    }
    out
}

/// Returns true if the text after a `<` looks like a tag that hosts put around parts of a prompt.
/// The names of such tags have an underscore, which those of HTML elements don't have.
fn is_host_tag(rest: &str) -> bool {
    let name = rest.strip_prefix('/').unwrap_or(rest);
    name.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .next()
        .is_some_and(|name| name.contains('_'))
}

/// Returns where a backslash is needed so that the line does not begin a block within its list
/// item: a heading, quote, list, fence or thematic break. Returns `None` if it begins none.
fn block_marker(line: &str) -> Option<usize> {
    let after = |marker: usize| line[marker..].is_empty() || line[marker..].starts_with(' ');
    let run = |c: char| line.len() - line.trim_start_matches(c).len();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_break = ['*', '_']
        .into_iter()
        .any(|mark| line.matches(mark).count() >= 3 && line.chars().all(|c| c == mark || c == ' '));
    match line.chars().next()? {
        '#' if run('#') <= 6 && after(run('#')) => Some(0),
        '>' => Some(0),
        '+' | '*' if after(1) => Some(0),
        '~' if run('~') >= 3 => Some(0),
        _ if is_break => Some(0),
        _ if (1..=9).contains(&digits)
            && line[digits..].starts_with(['.', ')'])
            && after(digits + 1) =>
        {
            Some(digits)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
