//! Builtins of bash that evaluate texts, and the forms of them that do not.

use super::plain::is_name;
use super::words::{Word, is_among};
use super::{Walk, wrappers};

/// Names of bash's builtins.
const BUILTINS: &str = "\
    . : [ alias bg bind break builtin caller cd command compgen complete compopt continue \
    declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history \
    jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set \
    shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait";

/// Builtins that evaluate their arguments, or assign to variables that these name.
const EVALUATING: &str = "\
    bind compgen complete compopt coproc enable fc getopts hash history jobs let mapfile readarray \
    shopt";

/// Settings of `set -o` that run nothing.
pub(super) const OPTIONS: &str = "\
    braceexpand errexit errtrace functrace noclobber noglob nounset pipefail verbose xtrace";

/// Returns true if a name is a builtin's.
pub(super) fn is_known(name: &str) -> bool {
    is_among(name, BUILTINS)
}

/// Adds what a builtin evaluates as unresolved.
pub(super) fn resolve(walk: &mut Walk<'_>, name: &str, rest: &[Word], text: &str) {
    let is_understood = match name {
        "let" | "coproc" => false,
        "printf" => is_plain_printf(rest),
        "read" => is_plain_read(walk, rest, text),
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
        "wait" => !rest.iter().any(may_be_option),
        "set" => is_plain_set(rest),
        name => !is_among(name, EVALUATING) || rest.is_empty(),
    };
    if !is_understood {
        walk.unresolved(text);
    }
}

impl Word {
    fn is(&self, text: &str) -> bool {
        self.value.as_deref() == Some(text)
    }
}

/// Returns true if a word may become one that begins with a dash.
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

/// Returns true unless an argument of `printf` may be `-v` or `%n`, which assign to a variable whose subscript is
/// evaluated.
fn is_plain_printf(rest: &[Word]) -> bool {
    let (format, values) = match rest {
        [] => return true,
        [dashes, format, values @ ..] if dashes.is("--") => (format, values),
        [format, values @ ..] if !may_be_option(format) => (format, values),
        _ => return false,
    };
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

/// Returns true for options without values, `-p`, `-t`, `-n` and `-d` with theirs, and names.
fn is_plain_read(walk: &mut Walk<'_>, rest: &[Word], text: &str) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(value) = word.value.as_deref() else {
            return false;
        };
        if let Some(letters) = value.strip_prefix('-') {
            let flags = letters.strip_suffix(['a', 'd', 'n', 'p', 't']);
            let is_known = flags
                .unwrap_or(letters)
                .bytes()
                .all(|b| matches!(b, b'r' | b's' | b'e'));
            // An array gets its name, which is the next word, by a letter of its own.
            let takes_value = flags.is_some() && !letters.ends_with('a');
            if !is_known || takes_value && !words.next().is_some_and(|word| word.is_single) {
                return false;
            }
        } else if is_name(value) && !word.is_quoted {
            walk.assigns(value, None, text);
        } else {
            return false;
        }
    }
    true
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
            let is_known = |b| matches!(b, b'a' | b'A' | b'g' | b'p' | b'r' | b'x');
            if !letters.bytes().all(is_known) {
                walk.unresolved(text);
            }
        } else if is_name(name) && behind.starts_with('=') {
            let value = word.value.as_deref();
            let value = value.and_then(|value| value.split_once('='));
            walk.assigns(name, value.map(|(_, value)| value), &word.text);
        } else if !(is_name(name) && behind.is_empty())
            || wrappers::is_read_by_bash(name) && name != "HOME"
        {
            walk.unresolved(text);
        }
    }
}

/// Returns true if no operand can turn out to be `-v` or `-R`, which evaluate subscripts.
fn is_plain_test(rest: &[Word]) -> bool {
    const BINARY: &str = "= == != < > -eq -ne -lt -le -gt -ge -ef -nt -ot =~";
    let is_evaluating = |word: &Word| word.is("-v") || word.is("-R");
    let is_unary = |word: &Word| {
        let value = word.value.as_deref().unwrap_or_default();
        value.len() == 2 && value.starts_with('-') && !is_evaluating(word)
    };
    let is_binary = |word: &Word| {
        let value = word.value.as_deref();
        value.is_some_and(|value| is_among(value, BINARY))
    };
    let rest = match rest {
        [not, rest @ ..] if not.is("!") => rest,
        rest => rest,
    };
    let is_plain = match rest {
        [] | [_] => true,
        [operator, _] => is_unary(operator),
        [_, operator, _] => is_binary(operator),
        // More of them are joined by `-a` and `-o`: each word must be known.
        words => words
            .iter()
            .all(|word| word.value.is_some() && !is_evaluating(word)),
    };
    is_plain && rest.iter().all(|word| word.is_single)
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
        let letters = match letters.strip_suffix('o') {
            Some(letters) => {
                let name = words.next().and_then(|word| word.value.as_deref());
                if !name.is_some_and(|name| is_among(name, OPTIONS)) {
                    return false;
                }
                letters
            }
            None => letters,
        };
        if !letters.bytes().all(|b| b"CETabefhmuvx".contains(&b)) {
            return false;
        }
    }
    true
}
