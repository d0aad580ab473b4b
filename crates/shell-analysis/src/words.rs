//! Words of bash and what is left of them when quotes are removed.

use tree_sitter::Node;

/// One word of a command.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// Without quotes; `None` where it can't be known before the line runs.
    pub(super) value: Option<String>,
    /// What is known of its beginning, without quotes: all of it where that is known.
    pub(super) known: String,
    /// The same, where the variables and commands that it begins with are empty: `-I` of `$x-I`.
    pub(super) if_empty: String,
    /// As it is written; of plain shell as it is printed.
    pub(super) text: String,
    /// As it is written.
    pub(super) written: String,
    /// Whether any of it is quoted.
    pub(super) is_quoted: bool,
    /// Whether it is a number, whatever the line does.
    pub(super) is_number: bool,
    /// Whether bash makes exactly one word of it, where that is known from plain shell.
    pub(super) is_single: Option<bool>,
}

impl Word {
    /// Makes one word of two.
    pub(super) fn append(&mut self, other: Self) {
        if self.value.is_some() {
            self.known.push_str(&other.known);
            self.if_empty.push_str(&other.if_empty);
        }
        self.value = match (self.value.take(), other.value) {
            (Some(value), Some(more)) => Some(value + &more),
            _ => None,
        };
        self.text.push_str(&other.text);
        self.written.push_str(&other.written);
        self.is_quoted |= other.is_quoted;
        self.is_number &= other.is_number;
        self.is_single = None;
    }
}

/// The source text of a node.
pub(super) fn text_of<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// A word of a command.
pub(super) fn word_of(node: Node<'_>, source: &str) -> Word {
    let text = text_of(node, source).to_owned();
    let value = literal(node, source);
    let known = match &value {
        Some(value) if !is_expanded(&text) => value.clone(),
        _ => {
            let bare = text.trim_start_matches('"');
            let ends = ['$', '`', '"', '\'', '\\', '*', '?', '[', '{'];
            bare[..bare.find(ends).unwrap_or(bare.len())].to_owned()
        }
    };
    Word {
        if_empty: known.clone(),
        known,
        value,
        is_quoted: text.contains(['\'', '"', '\\']),
        is_number: false,
        is_single: None,
        written: text.clone(),
        text,
    }
}

/// What a word is when quotes are removed, where that can be known.
pub(super) fn literal(node: Node<'_>, source: &str) -> Option<String> {
    let text = text_of(node, source);
    match node.kind() {
        "command_name" => {
            let inner = literal(node.named_child(0)?, source)?;
            // A pattern or a list in the place of a name: which program that is, the disk says.
            (!has_pattern(text)).then_some(inner)
        }
        "word" | "number" | "variable_name" | "test_operator" | "extglob_pattern" | "regex" => {
            (!text.contains("$(") && !text.contains('`')).then(|| unescape(text, |_| true))
        }
        "raw_string" => Some(text.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
        "ansi_c_string" => ansi_c(text.strip_prefix("$'")?.strip_suffix('\'')?),
        "string" | "translated_string" => {
            let mut cursor = node.walk();
            let is_plain = node
                .named_children(&mut cursor)
                .all(|c| matches!(c.kind(), "string_content" | "string"));
            let inner = text
                .trim_start_matches('$')
                .strip_prefix('"')?
                .strip_suffix('"')?;
            is_plain.then(|| unescape(inner, |c| matches!(c, '"' | '\\' | '$' | '`' | '\n')))
        }
        "concatenation" => {
            let mut value = String::new();
            let mut cursor = node.walk();
            let mut end = node.start_byte();
            for child in node.children(&mut cursor) {
                value.push_str(source.get(end..child.start_byte())?);
                end = child.end_byte();
                let translates =
                    |next: Node<'_>| next.kind() == "string" && next.start_byte() == end;
                if child.is_named() {
                    value.push_str(&literal(child, source)?);
                } else if text_of(child, source) == "$"
                    && child.next_sibling().is_some_and(translates)
                {
                    // `$"…"` is a string that may be translated.
                } else {
                    value.push_str(text_of(child, source));
                }
            }
            Some(value)
        }
        _ => None,
    }
}

/// Removes backslashes before characters that they quote.
fn unescape(text: &str, quotes: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(next) if quotes(next) => out.push(next),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

/// Whether `is_wanted` says so of a character that is not quoted, of which it is told with what
/// follows.
fn has_unquoted(text: &str, is_wanted: impl Fn(char, &str) -> bool) -> bool {
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            (None, c) if is_wanted(c, chars.as_str()) => return true,
            _ => {}
        }
    }
    false
}

/// Whether a name holds a pattern, a list in braces, or another expansion by the disk, that
/// is not quoted.
fn has_pattern(text: &str) -> bool {
    has_unquoted(text, |c, _| match c {
        '*' | '?' | '{' => true,
        // A lone bracket is the command of that name.
        '[' => text.len() > 1,
        _ => false,
    })
}

/// Whether bash makes other words of an argument: by a pattern or by a list in braces that is
/// not quoted.
pub(super) fn is_expanded(text: &str) -> bool {
    has_unquoted(text, |c, rest| match c {
        '*' | '?' => true,
        '[' => text.len() > 1,
        '{' => rest.contains(',') || rest.contains(".."),
        _ => false,
    })
}

/// Whether bash makes exactly one word of an argument, whatever its expansions yield.
pub(super) fn is_single(word: &Word) -> bool {
    if let Some(is_single) = word.is_single {
        return is_single;
    }
    if is_expanded(&word.text) {
        return false;
    }
    if word.value.is_some() {
        return true;
    }
    let text = &word.text;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            (None, '$' | '`' | '<' | '>' | '~') => return false,
            // Quotes of its own within a substitution would be mistaken for those around it.
            (Some('"'), '$' | '`') => {
                let rest = chars.as_str();
                let is_plain = !rest.starts_with(['(', '{']) && c == '$';
                let is_last = rest
                    .find(['"', '\'', '\\'])
                    .is_some_and(|at| at + 1 == rest.len());
                if rest.contains('@') || !(is_plain || is_last) {
                    return false;
                }
            }
            _ => {}
        }
    }
    quote.is_none()
}

/// The escapes of `$'…'`.
pub(super) fn ansi_c(text: &str) -> Option<String> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        let mut number = |radix: u32, most: usize, first: &str| -> Option<u32> {
            let digits = rest
                .chars()
                .take(most)
                .take_while(|c| c.is_digit(radix))
                .count();
            let value = u32::from_str_radix(&format!("{first}{}", &rest[..digits]), radix).ok();
            rest = &rest[digits..];
            value
        };
        match c {
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(0x1b),
            'f' => out.push(0xc),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(0xb),
            'x' => out.push(u8::try_from(number(16, 2, "")? & 0xff).ok()?),
            '0'..='7' => out.push(u8::try_from(number(8, 2, &c.to_string())? & 0xff).ok()?),
            'u' | 'U' => {
                let most = if c == 'u' { 4 } else { 8 };
                let c = char::from_u32(number(16, most, "")?)?;
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            }
            'c' => return None,
            other => out.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
        // Bash ends the text there.
        if out.last() == Some(&0) {
            out.pop();
            break;
        }
    }
    String::from_utf8(out).ok()
}
