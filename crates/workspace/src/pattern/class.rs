//! Classes in patterns, such as `[a-z]`: those of the tools' patterns and of ignore files are
//! written alike.

/// A class that ends before the position `end`. `ranges` has the first and the last character of
/// each range, also of one that runs backwards. `has_unknown_name` is set if what looks like a
/// named class, as in `[[:word:]]`, is none; its bracket is in `ranges` then.
pub(crate) struct Class {
    pub(crate) negated: bool,
    pub(crate) ranges: Vec<(char, char)>,
    pub(crate) end: usize,
    pub(crate) has_unknown_name: bool,
}

type Named = (&'static str, &'static [(char, char)]);

const NAMED: [Named; 12] = [
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("digit", &[('0', '9')]),
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("upper", &[('A', 'Z')]),
    ("lower", &[('a', 'z')]),
    // Git does not count the vertical tab and the form feed.
    ("space", &[('\t', '\n'), ('\r', '\r'), (' ', ' ')]),
    ("blank", &[('\t', '\t'), (' ', ' ')]),
    ("cntrl", &[('\0', '\u{1f}'), ('\u{7f}', '\u{7f}')]),
    ("graph", &[('!', '~')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

pub(crate) fn class<C: Copy + Into<char>>(pattern: &[C], start: usize) -> Option<Class> {
    let at = |i: usize| pattern.get(i).map(|c| (*c).into());
    let negated = matches!(at(start + 1)?, '!' | '^');
    let first = start + 1 + usize::from(negated);
    let (mut ranges, mut has_unknown_name) = (Vec::new(), false);
    let (mut i, mut close) = (first, 0);
    loop {
        let mut from = at(i)?;
        match from {
            ']' if i > first => break,
            '[' if at(i + 1) == Some(':') => {
                if close < i + 2 {
                    close = (i + 2..pattern.len()).find(|i| at(*i) == Some(']'))?;
                }
                let name = pattern[i + 2..close].iter().map(|c| (*c).into());
                let is_so = |(known, _): &&Named| known.chars().chain([':']).eq(name.clone());
                if let Some((_, named)) = NAMED.iter().find(is_so) {
                    ranges.extend(*named);
                    i = close + 1;
                    continue;
                }
                has_unknown_name |= close > i + 2 && at(close - 1) == Some(':');
            }
            '\\' => {
                i += 1;
                from = at(i)?;
            }
            _ => {}
        }
        let mut to = from;
        if at(i + 1) == Some('-') && at(i + 2).is_some_and(|c| c != ']') {
            i += 2;
            to = at(i)?;
            if to == '\\' {
                i += 1;
                to = at(i)?;
            }
        }
        ranges.push((from, to));
        i += 1;
    }
    Some(Class {
        negated,
        ranges,
        end: i + 1,
        has_unknown_name,
    })
}
