//! Finds the words of a rule that denies a command, wherever a command or a text mentions them.

use std::collections::BTreeSet;

/// Returns true if a text has the words of a prefix in their order. Other words may stand between.
/// Options count anywhere behind the first word, and their letters are compared as a set, without
/// regard to upper and lower case: `rm -rf` is mentioned by `rm -f -R x` and by `rm --recursive
/// --force x`.
///
/// The program that gets the text may interpret escapes or drop backslashes, so a text with
/// backslashes is read in all these ways: `x\nrm` has the word `rm` as well as `nrm`.
pub fn mentions(prefix: &str, text: &str) -> bool {
    mentioned(prefix, &std::iter::once(text))
}

pub(super) fn mentioned<'t>(prefix: &str, texts: &(impl Iterator<Item = &'t str> + Clone)) -> bool {
    let read = |reading: fn(&str) -> String| {
        let texts: Vec<String> = texts.clone().map(reading).collect();
        are_mentioned(prefix, texts.iter().map(String::as_str))
    };
    are_mentioned(prefix, texts.clone())
        || texts.clone().any(|text| text.contains('\\'))
            && (read(unescaped) || read(|text| text.replace('\\', "")))
}

/// Returns a text as `printf`, `awk` or `python` may read it: `\x72m` becomes `rm`, other escapes
/// become blanks, and lines that end in a backslash are joined.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        // Where programs pass the text on to each other, each level doubles the backslashes.
        let escape = behind.trim_start_matches('\\');
        let Some(first) = escape.chars().next() else {
            return out;
        };
        let (radix, skipped, most) = match first {
            '0'..='7' => (8, 0, 4),
            'x' => (16, 1, 2),
            'u' => (16, 1, 4),
            'U' => (16, 1, 8),
            _ => (0, first.len_utf8(), 0),
        };
        let is_digit = |b: &u8| radix > 0 && char::from(*b).is_digit(radix);
        let digits = escape[skipped..].bytes().take(most).take_while(is_digit);
        let end = skipped + digits.count();
        let number = u32::from_str_radix(&escape[skipped..end], radix.max(2));
        match number.ok().and_then(char::from_u32) {
            Some(c) if !c.is_control() => out.push(c),
            _ if first == '\n' => {}
            _ if first.is_alphanumeric() => out.push(' '),
            _ => out.push(first),
        }
        rest = &escape[end..];
    }
    out + rest
}

fn are_mentioned<'t>(prefix: &str, texts: impl Iterator<Item = &'t str>) -> bool {
    let wanted: Vec<&str> = prefix.split_whitespace().flat_map(parts).collect();
    let (options, words): (Vec<&str>, Vec<&str>) = wanted
        .iter()
        .copied()
        .partition(|word| word.starts_with('-'));
    let Some((first, following)) = words.split_first() else {
        return false;
    };
    // Names such as `.` and `[` are in texts of all kinds, and would match by accident.
    if !first.contains(|c: char| c.is_alphanumeric()) {
        return false;
    }
    let mut is_behind = false;
    let mut following = following.iter().peekable();
    let (mut letters, mut names) = (BTreeSet::new(), Vec::new());
    for part in texts.flat_map(parts) {
        if !is_behind {
            is_behind = is_or_has(part, first) || is_attached(part, first);
        } else if let Some(name) = part.strip_prefix("--") {
            names.push(name);
        } else if let Some(cluster) = part.strip_prefix('-') {
            letters.extend(cluster.chars().map(|c| c.to_ascii_lowercase()));
        } else if following.peek().is_some_and(|word| is_or_has(part, word)) {
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

/// Returns true if the word is the whole path or any component of it. A text that looks like a path
/// may be a script of `sed`, in which any component may be a command.
fn is_or_has(path: &str, word: &str) -> bool {
    path == word || path.split('/').any(|name| name == word)
}

fn is_attached(part: &str, word: &str) -> bool {
    let cluster = part.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    cluster.is_some_and(|cluster| cluster.len() > word.len() && cluster.ends_with(word))
}

/// Splits a text into words. Slashes don't separate words in what could be a path, and `s/a/rm/e`
/// could be one, too. They do in any other text, such as `s/x/git/;s/y/push/` for `sed`.
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

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_backslash_with_its_letter_is_between_words() {
        for text in [
            r"set -e\nrm -rf d\n",
            r"a:\n\trm -rf d\n",
            r"x\nrm\t-rf\td",
            r"x\012rm -rf d",
            r"x\0012rm -rf d",
            r"x\x0arm -rf d",
            r"x\u000arm -rf d",
            r"x\U0000000arm -rf d",
            r"x\\nrm -rf d",
            r"\x72m -rf d",
            r"\162m -rf d",
            r"r\m -rf d",
            "r\\\nm -rf d",
            r"x\rrm -rf d\",
            r"C:\rm -rf",
        ] {
            assert!(mentions("rm -rf", text), "{text}");
        }
        for text in [
            r"x\nrmdir -rf d",
            r"a\tform -rf",
            r"\",
            r"\x",
            r"\u",
            r"\é rm",
            r"alarm\n -rf",
        ] {
            assert!(!mentions("rm -rf", text), "{text}");
        }
    }

    #[test]
    fn every_name_in_a_path_counts() {
        for text in ["s/a/evil/e", "/opt/evil", "./evil", "evil/x", "y/x/evil/"] {
            assert!(mentions("evil", text), "{text}");
        }
        for text in ["s/a/evils/e", "/opt/evil.d/x", "devil/x"] {
            assert!(!mentions("evil", text), "{text}");
        }
        assert!(mentions("git push", "s/x/git/;s/y/push/"));
    }
}
