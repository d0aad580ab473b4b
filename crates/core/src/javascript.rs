//! Regular expressions of JavaScript (ECMA-262), translated for the crate `fancy_regex`.

const SETS: [char; 6] = ['d', 'D', 's', 'S', 'w', 'W'];

/// In JavaScript a character class may be empty, and then matches no character. This is the content
/// of such a class for Rust's engines, which do not accept an empty one.
const EMPTY: &str = r"&&\D\d";

const BOUNDARY: &str = "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))";

const NO_BOUNDARY: &str = "(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))";

/// Translates an expression. In ECMA-262, `\d` and `\w` match only ASCII. A class may be empty;
/// within it, `[`, `&&`, `~~` and a `-` that forms no range stand for themselves.
///
/// With `is_unicode`, as in JSON Schema, `\p` is a property, `\s` also matches a byte order mark, and
/// `.` matches none of four characters that end a line. Without it, as in rules, a brace that is no
/// part of a count stands for itself, and so does a letter whose backslash has no meaning.
pub fn translated(pattern: &str, is_unicode: bool) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut is_in_class = false;
    // Within a class: whether the previous character can begin a range, and whether the next one
    // ends a range.
    let (mut may_begin, mut ends) = (false, false);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        let before = &pattern[..pattern.len() - rest.len() - c.len_utf8()];
        let is_set = c == '\\' && rest.starts_with(SETS);
        let behind = rest.strip_prefix('\\');
        let is_range = c == '-'
            && may_begin
            && !rest.starts_with(']')
            && !behind.is_some_and(|rest| rest.starts_with(SETS));
        match c {
            '\\' => match chars.next() {
                Some(next) => escape(next, is_in_class, is_unicode, &mut out),
                None => out.push('\\'),
            },
            '[' if is_in_class => out.push_str(r"\["),
            '-' if is_in_class && !is_range => out.push_str(r"\-"),
            '&' | '~' if is_in_class => out.extend(['\\', c]),
            ']' if is_in_class => {
                is_in_class = false;
                out.push(c);
            }
            c if is_in_class => out.push(c),
            '.' if is_unicode => out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            '{' if is_unicode && rest.starts_with(',') => out.push_str(r"\{"),
            '{' if !is_unicode && !counts(rest) => out.push_str(r"\{"),
            '}' if !is_unicode && !closes_count(before) => out.push_str(r"\}"),
            '[' => {
                let not = if rest.starts_with('^') { "^" } else { "" };
                chars = rest[not.len()..].chars();
                // Without this, a `]` that follows at once would be a character of the class.
                let is_empty = chars.as_str().starts_with(']');
                out.extend(["[", not, if is_empty { EMPTY } else { "" }]);
                (is_in_class, may_begin, ends) = (true, false, false);
                continue;
            }
            c => out.push(c),
        }
        may_begin = is_in_class && !(is_set || is_range || ends);
        ends = is_range;
    }
    out
}

fn escape(next: char, is_in_class: bool, is_unicode: bool, out: &mut String) {
    let set = |inner: &str| {
        if is_in_class {
            inner.to_owned()
        } else {
            format!("[{inner}]")
        }
    };
    match next {
        'd' => out.push_str(&set("0-9")),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str(&set("0-9A-Za-z_")),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' if is_unicode => out.push_str(&set(r"\s\x{FEFF}")),
        'S' if is_unicode => out.push_str(r"[^\s\x{FEFF}]"),
        'b' if is_in_class => out.push_str("\\x08"),
        'b' => out.push_str(BOUNDARY),
        'B' => out.push_str(NO_BOUNDARY),
        '0' => out.push_str("\\x00"),
        'v' => out.push_str("\\x0B"),
        's' | 'S' | 'n' | 'r' | 't' | 'f' | 'x' | 'u' | 'k' | '1'..='9' => out.extend(['\\', next]),
        other if !is_unicode && (other.is_ascii_alphanumeric() || matches!(other, '<' | '>')) => {
            out.push(other);
        }
        other if other.is_ascii() => out.extend(['\\', other]),
        other => out.push(other),
    }
}

fn counts(rest: &str) -> bool {
    rest.split_once('}').is_some_and(|(inner, _)| {
        inner.starts_with(|c: char| c.is_ascii_digit())
            && inner.bytes().all(|b| b.is_ascii_digit() || b == b',')
            && inner.matches(',').count() < 2
    })
}

fn closes_count(before: &str) -> bool {
    before.rfind('{').is_some_and(|at| {
        !before[..at].ends_with('\\') && counts(&format!("{}}}", &before[at + 1..]))
    })
}
