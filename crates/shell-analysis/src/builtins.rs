//! Builtins of bash that evaluate texts, and the forms of them that do not.

use super::plain::is_name;
use super::words::{Word, is_among};
use super::{Walk, wrappers};

/// All builtins of bash.
const BUILTINS: &str = "\
    . : [ alias bg bind break builtin caller cd command compgen complete compopt continue \
    declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history \
    jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set \
    shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait";

/// Settings of `shopt` that change nothing but what patterns find and when a script ends.
const SETTINGS: &str = "\
    dotglob failglob globstar inherit_errexit lastpipe nocaseglob nocasematch nullglob xpg_echo";

/// Settings of `set -o` that run nothing.
const OPTIONS: &str = "\
    braceexpand errexit errtrace functrace noclobber noglob nounset pipefail verbose xtrace";

/// Whether a name is a builtin's.
pub(super) fn is_known(name: &str) -> bool {
    is_among(name, BUILTINS)
}

/// Adds what a builtin evaluates as unresolved.
pub(super) fn resolve(walk: &mut Walk<'_>, name: &str, rest: &[Word], text: &str) {
    let is_understood = match name {
        "bind" | "coproc" | "fc" | "let" => false,
        "compgen" | "complete" | "compopt" | "enable" | "history" => rest.is_empty(),
        "hash" => rest
            .iter()
            .all(|word| word.is("-r") || !may_be_option(word)),
        // `-x` runs the words behind it.
        "jobs" => rest.iter().all(|word| {
            let value = word.value.as_deref();
            value.is_some_and(|value| !value.starts_with('-') || !value.contains('x'))
        }),
        "printf" => is_plain_printf(rest),
        "read" => is_plain_read(walk, rest, text),
        "mapfile" | "readarray" => is_plain_mapfile(walk, rest, text),
        "declare" | "typeset" | "local" | "readonly" | "export" => {
            return declares(walk, rest, text);
        }
        "unset" => rest.iter().all(|word| {
            let value = word.value.as_deref().unwrap_or_default();
            is_name(value) || matches!(value, "-v" | "-f")
        }),
        "test" => is_plain_test(rest),
        "[" => rest
            .split_last()
            .is_some_and(|(last, rest)| last.is("]") && is_plain_test(rest)),
        "wait" => rest
            .iter()
            .all(|word| word.is("-n") || word.is("-f") || !may_be_option(word)),
        "getopts" => match rest {
            [options, name] if options.value.is_some() && name.is_name() => {
                let name = name.value.as_deref().unwrap_or_default();
                walk.assigns(name, None, text, false);
                true
            }
            _ => false,
        },
        "shopt" => rest.iter().all(|word| {
            let value = word.value.as_deref().unwrap_or_default();
            matches!(value, "-s" | "-u" | "-q" | "-p") || is_among(value, SETTINGS)
        }),
        "set" => is_plain_set(rest),
        _ => true,
    };
    if !is_understood {
        walk.unresolved(text);
    }
}

impl Word {
    fn is(&self, text: &str) -> bool {
        self.value.as_deref() == Some(text)
    }

    fn is_name(&self) -> bool {
        self.value.as_deref().is_some_and(is_name)
    }
}

/// Whether a word may become one that begins with a dash.
fn may_be_option(word: &Word) -> bool {
    if word.is_number {
        return false;
    }
    if let Some(value) = &word.value {
        return value.starts_with('-') || word.is_expanded;
    }
    // Only a quoted beginning stays what it is: other words may be split.
    let first = word
        .text
        .strip_prefix('"')
        .and_then(|text| text.chars().next());
    first.is_none_or(|c| matches!(c, '$' | '`' | '"' | '-'))
}

/// Whether a word becomes exactly one word.
fn is_one(word: &Word) -> bool {
    word.is_number || word.is_single
}

/// `-v` names a variable, whose subscript is evaluated.
fn is_plain_printf(rest: &[Word]) -> bool {
    let (format, values) = match rest {
        [] => return true,
        [dashes, format, values @ ..] if dashes.is("--") => (format, values),
        [format, values @ ..] if !may_be_option(format) => (format, values),
        _ => return false,
    };
    // `%n` assigns to the variable that a value names.
    let assigns = |format: &str| {
        format.split('%').skip(1).any(|part| {
            let flags = |c: char| c.is_ascii_digit() || "-+ #.*hlLqjzt'".contains(c);
            part.trim_start_matches(flags).starts_with('n')
        })
    };
    match &format.value {
        Some(value) => !assigns(value) && !format.is_expanded,
        None => values.is_empty(),
    }
}

fn is_plain_read(walk: &mut Walk<'_>, rest: &[Word], text: &str) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(value) = word.value.as_deref() else {
            return false;
        };
        if let Some(letters) = value.strip_prefix('-') {
            let taking = letters.find(['d', 'n', 'N', 'p', 't', 'u', 'i']);
            let flags = &letters[..taking.unwrap_or(letters.len())];
            // An array gets its name by a letter of its own.
            if !flags
                .strip_suffix(if taking.is_none() { "a" } else { "" })
                .unwrap_or(flags)
                .bytes()
                .all(|b| matches!(b, b'r' | b's' | b'e'))
            {
                return false;
            }
            if taking.is_some_and(|at| at + 1 == letters.len()) && !words.next().is_some_and(is_one)
            {
                return false;
            }
        } else if is_name(value) && !word.is_quoted {
            walk.assigns(value, None, text, false);
        } else {
            return false;
        }
    }
    true
}

fn is_plain_mapfile(walk: &mut Walk<'_>, rest: &[Word], text: &str) -> bool {
    rest.iter().all(|word| match word.value.as_deref() {
        Some("-t") => true,
        Some(value) if is_name(value) => {
            walk.assigns(value, None, text, false);
            true
        }
        _ => false,
    })
}

fn declares(walk: &mut Walk<'_>, rest: &[Word], text: &str) {
    for word in rest {
        let end = word
            .text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(word.text.len());
        let (name, behind) = word.text.split_at(end);
        let behind = behind.strip_prefix('+').unwrap_or(behind);
        if let Some(letters) = word.text.strip_prefix(['-', '+']) {
            let is_known = letters
                .bytes()
                .all(|b| matches!(b, b'a' | b'A' | b'g' | b'p' | b'r' | b'x'));
            if !is_known {
                walk.unresolved(text);
            }
        } else if is_name(name) && (behind.is_empty() || behind.starts_with('=')) {
            let value = word
                .value
                .as_deref()
                .and_then(|value| value.split_once('='));
            let value = value.map(|(_, value)| value);
            if !behind.is_empty() {
                let is_number =
                    value.is_some_and(|value| value.bytes().all(|b| b.is_ascii_digit()));
                walk.assigns(name, value, &word.text, is_number);
            } else if wrappers::is_read_by_bash(name) && name != "HOME" {
                walk.unresolved(text);
            }
        } else {
            walk.unresolved(text);
        }
    }
}

/// Whether no operand can turn out to be `-v` or `-R`, which evaluate subscripts.
fn is_plain_test(rest: &[Word]) -> bool {
    const BINARY: [&str; 15] = [
        "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-ef", "-nt", "-ot",
        "=~",
    ];
    if !rest.iter().all(is_one) {
        return false;
    }
    let rest = match rest {
        [not, rest @ ..] if not.is("!") => rest,
        rest => rest,
    };
    let is_unary = |word: &Word| {
        word.value.as_deref().is_some_and(|value| {
            value.len() == 2 && value.starts_with('-') && !matches!(value, "-v" | "-R")
        })
    };
    let is_binary = |word: &Word| {
        word.value
            .as_deref()
            .is_some_and(|value| BINARY.contains(&value))
    };
    match rest {
        [] | [_] => true,
        [operator, _] => is_unary(operator),
        [_, operator, _] => is_binary(operator),
        // More of them are joined by `-a` and `-o`: each word must be known.
        words => words.iter().all(|word| {
            word.value
                .as_deref()
                .is_some_and(|value| !matches!(value, "-v" | "-R"))
        }),
    }
}

fn is_plain_set(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let value = word.value.as_deref();
        if matches!(value, Some("--" | "-")) {
            return true;
        }
        let Some(letters) = value.and_then(|value| value.strip_prefix(['-', '+'])) else {
            return !may_be_option(word);
        };
        for letter in letters.chars() {
            match letter {
                'C' | 'E' | 'T' | 'a' | 'b' | 'e' | 'f' | 'h' | 'm' | 'u' | 'v' | 'x' => {}
                'o' => {
                    let name = words.next().and_then(|word| word.value.as_deref());
                    if !name.is_some_and(|name| is_among(name, OPTIONS)) {
                        return false;
                    }
                }
                _ => return false,
            }
        }
    }
    true
}
