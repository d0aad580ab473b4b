//! The builtins of bash that evaluate their arguments as code, and the uses of them that are
//! harmless.

use super::Walk;
use super::plain::is_name;
use super::variables;
use super::words::{Word, is_among};

/// Builtins that evaluate an argument as code, or assign to a variable that an argument names.
/// Without arguments they evaluate nothing.
const EVALUATING: &str = "\
    alias bind compgen complete compopt coproc enable fc getopts hash history jobs let mapfile readarray \
    shopt";

const OPTIONS: &str = "\
    braceexpand errexit errtrace functrace noclobber noglob nounset pipefail verbose xtrace";

pub(super) fn resolve(walk: &mut Walk<'_>, name: &str, rest: &[Word], text: &str) {
    let is_understood = match name {
        "printf" => is_plain_printf(rest),
        "read" => is_plain_read(walk, rest, text),
        "declare" | "typeset" | "local" | "readonly" | "export" => {
            let makes_arrays = rest.iter().any(makes_array);
            rest.iter()
                .all(|word| is_plain_declaration(walk, word, makes_arrays))
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

/// Returns true if the option letters of `set` or `bash`, such as the `e` of `set -e`, switch on
/// nothing that runs a program. If the last letter is `o`, `name` is the option that follows it.
pub(super) fn is_setting(letters: &str, name: Option<&Word>) -> bool {
    let setting = letters.strip_suffix('o');
    let is_named = || name.is_some_and(|name| OPTIONS.split(' ').any(|known| name.is(known)));
    let letters = setting.unwrap_or(letters);
    letters.bytes().all(|b| b"CETabefhmuvx".contains(&b)) && (setting.is_none() || is_named())
}

fn may_be_option(word: &Word) -> bool {
    if let Some(value) = &word.value {
        return value.starts_with('-') || word.is_expanded;
    }
    // The word can't be an option if it begins with something other than `-`. A variable at its
    // beginning could be an option, unless it is one that always is a number, such as `$#`: only
    // these are not split without quotes.
    let is_other = !word.known.is_empty() && !word.known.starts_with('-');
    !(word.is_single && (is_other || word.written.starts_with('$')))
}

/// Returns false if `printf` may assign to a variable (`-v NAME` or `%n`): a subscript in that
/// name, as in `a[$(rm x)]`, would be evaluated.
fn is_plain_printf(rest: &[Word]) -> bool {
    let Some((format, values)) = rest.split_first() else {
        return true;
    };
    let assigns = |format: &str| {
        format.split('%').skip(1).any(|part| {
            let flags = |c: char| c.is_ascii_digit() || "-+ #.*hlLqjzt'".contains(c);
            part.trim_start_matches(flags).starts_with('n')
        })
    };
    let is_plain = match &format.value {
        Some(value) => !assigns(value),
        None => values.is_empty(),
    };
    is_plain && !may_be_option(format)
}

/// Returns true for an option that makes its operand an array, such as the `-a` of `read` or the
/// `-rA` of `declare`.
fn makes_array(word: &Word) -> bool {
    word.known.starts_with('-') && word.known.contains(['a', 'A'])
}

fn is_plain_read(walk: &mut Walk<'_>, rest: &[Word], text: &str) -> bool {
    let makes_arrays = rest.iter().any(makes_array);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(value) = word.value.as_deref() else {
            return false;
        };
        let Some(letters) = value.strip_prefix('-') else {
            if !is_name(value) {
                return false;
            }
            if makes_arrays {
                walk.analysis.arrays.name(value);
            }
            variables::assign(walk, value, None, text);
            continue;
        };
        // The value of `-a` is the name of an array. It is not taken here, because the next
        // iteration checks it like the names of other variables and records the assignment.
        let flags = letters.strip_suffix(['a', 'd', 'n', 'p', 't']);
        let takes_value = flags.is_some() && !letters.ends_with('a');
        let is_known = flags
            .unwrap_or(letters)
            .bytes()
            .all(|b| b"rse".contains(&b));
        if !is_known || takes_value && !words.next().is_some_and(|word| word.is_single) {
            return false;
        }
    }
    true
}

fn is_plain_declaration(walk: &mut Walk<'_>, word: &Word, makes_arrays: bool) -> bool {
    if let Some((name, value)) = word.known.split_once('=') {
        let name = name.strip_suffix('+').unwrap_or(name);
        let value = word.value.as_ref().map(|_| value);
        // A nested script may be for a shell that splits an unquoted value into words. The second
        // word would then be another declaration.
        let is_one = is_name(name) && (walk.depth == 0 || word.is_single);
        if is_one {
            variables::assign(walk, name, value, &word.written);
            walk.analysis.arrays.declare(name, value, &word.written);
        }
        if makes_arrays {
            walk.analysis.arrays.name(name);
        }
        return is_one;
    }
    let value = word.value.as_deref().unwrap_or_default();
    if makes_arrays {
        walk.analysis.arrays.name(value);
    }
    match value.strip_prefix(['-', '+']) {
        Some(letters) => letters.bytes().all(|b| b"aAgprx".contains(&b)),
        None => is_name(value) && (value == "HOME" || !variables::is_read_by_bash(value)),
    }
}

/// Returns false if an operand may turn out to be `-v` or `-R`: these take the name of a variable,
/// and bash evaluates a subscript in it.
fn is_plain_test(rest: &[Word]) -> bool {
    const BINARY: &str = "= == != < > -eq -ne -lt -le -gt -ge -ef -nt -ot =~";
    let is_evaluating = |word: &Word| word.is_one_of(&["-v", "-R"]);
    let is_unary = |word: &Word| {
        let value = word.value.as_deref().unwrap_or_default();
        value.len() == 2 && value.starts_with('-') && !is_evaluating(word)
    };
    let is_binary = |word: &Word| BINARY.split(' ').any(|operator| word.is(operator));
    let rest = match rest {
        [not, rest @ ..] if not.is("!") => rest,
        rest => rest,
    };
    let is_plain = match rest {
        [] | [_] => true,
        [operator, _] => is_unary(operator),
        [_, operator, _] => is_binary(operator),
        // In longer expressions, joined by `-a` and `-o`, any word might be an operator, so each
        // word must be known.
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
        if value == Some("--") {
            break;
        }
        let Some(letters) = value.and_then(|value| value.strip_prefix(['-', '+'])) else {
            return false;
        };
        let name = letters.ends_with('o').then(|| words.next()).flatten();
        if !is_setting(letters, name) {
            return false;
        }
    }
    true
}
