//! The words of a rule that denies, wherever a command or a text mentions them.

use super::base;
use std::collections::BTreeSet;

/// Returns true if a text has the words of a prefix in their order. Other words may stand between; options
/// count wherever they stand behind the first word, and letters as a set, in either case: `rm -rf`
/// is mentioned by `rm -f -R x` and by `rm --recursive --force x`.
pub fn mentions(prefix: &str, text: &str) -> bool {
    mentioned(prefix, std::iter::once(text))
}

pub(super) fn mentioned<'t>(prefix: &str, texts: impl Iterator<Item = &'t str>) -> bool {
    let wanted: Vec<&str> = prefix.split_whitespace().flat_map(parts).collect();
    let (options, words): (Vec<&str>, Vec<&str>) = wanted
        .iter()
        .copied()
        .partition(|word| word.starts_with('-'));
    let Some((first, following)) = words.split_first() else {
        return false;
    };
    // Names like `.` and `[` are in texts of all kinds.
    if !first.contains(|c: char| c.is_alphanumeric()) {
        return false;
    }
    let mut is_behind = false;
    let mut following = following.iter().peekable();
    let (mut letters, mut names) = (BTreeSet::new(), Vec::new());
    for part in texts.flat_map(parts) {
        if !is_behind {
            is_behind = part == *first || base(part) == *first || is_attached(part, first);
        } else if let Some(name) = part.strip_prefix("--") {
            names.push(name);
        } else if let Some(cluster) = part.strip_prefix('-') {
            letters.extend(cluster.chars().map(|c| c.to_ascii_lowercase()));
        } else if following.peek().is_some_and(|word| **word == part) {
            following.next();
        }
    }
    let has_letter = |c: char| letters.contains(&c.to_ascii_lowercase());
    let has_option = |option: &&str| match option.strip_prefix("--") {
        Some(wanted) => {
            let begins = |name: &&str| name.starts_with(wanted) || wanted.starts_with(*name);
            names.iter().any(|name| !name.is_empty() && begins(name))
                || wanted.chars().next().is_some_and(has_letter)
        }
        None => option[1..]
            .chars()
            .all(|c| has_letter(c) || names.iter().any(|name| name.starts_with(c))),
    };
    is_behind && following.peek().is_none() && options.iter().all(has_option)
}

/// Returns true if a word stands behind letters of options without a blank: `-Oevil`.
fn is_attached(part: &str, word: &str) -> bool {
    let cluster = part.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    cluster.is_some_and(|cluster| cluster.len() > word.len() && cluster.ends_with(word))
}

/// Returns the words of a text. A path is one word; in what holds other characters, such as a script of
/// `sed`, slashes are between words too.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
    let ends_path = move |c: char| !is_word(c) && !matches!(c, '/' | '~' | '@' | '%');
    let is_path = move |part: &str| !part.contains(ends_path);
    text.split(|c: char| c.is_whitespace() || matches!(c, '=' | ':' | ',' | '\'' | '"'))
        .flat_map(move |part| {
            let slash = is_path(part);
            part.split(move |c: char| !(is_word(c) || slash && c == '/'))
        })
        .filter(|part| !part.is_empty())
}
