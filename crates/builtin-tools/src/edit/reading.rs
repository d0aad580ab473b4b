//! Removes from the old and the new text what a model adds to a whole quotation: line numbers,
//! escapes, a Markdown code fence, or blanks other than spaces (see [`Reading`]).

use super::Reading;
use super::form::{plain, unescape, without_line_numbers};
use std::collections::BTreeSet;
use unicode_normalization::char::is_combining_mark;

/// The texts of an edit in one [`Reading`]. If it is not clear how the new text must be read,
/// `doubt` says why, and `doubtful` has the indices of the lines of the new text for which that
/// counts. An edit that adds none of these lines is not refused. `line` is the number, from 1, that
/// the first line of the old text says that it has, or 0.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) reading: Option<Reading>,
    pub(super) doubt: Option<&'static str>,
    pub(super) doubtful: Vec<usize>,
    pub(super) line: usize,
}

impl Texts {
    fn new(old: String, new: String, reading: Option<Reading>) -> Self {
        Self {
            old,
            new,
            reading,
            doubt: None,
            doubtful: Vec::new(),
            line: 0,
        }
    }

    pub(super) fn to_new(&self) -> Self {
        Self {
            old: self.new.clone(),
            ..self.clone()
        }
    }
}

/// Returns the pairs of texts for which the file is searched: the old and the new text as they are,
/// and once more for each [`Reading`] by which something, such as line numbers, can be removed from
/// them.
pub(super) fn pairs(text: &str, old: &str, new: &str) -> Vec<Texts> {
    // Invisible characters and unusual blanks in the old text are slips unless the file has them.
    // But one that is a mark on another, as in an emoji, belongs to that.
    let is_usual = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r') || is_combining_mark(c);
    let is_hidden = |c: char| (plain(c).is_none() || c.is_whitespace()) && !is_usual(c);
    let stray = old.chars().filter(|c| is_hidden(*c) && !text.contains(*c));
    let stray: BTreeSet<char> = stray.collect();
    let [old, new] = [old, new].map(|part| {
        let part = part.replace("\r\n", "\n");
        stray.iter().fold(part, |part, c| {
            if is_unicode_line_end(*c) {
                part.replace(&format!("{c}\n"), "\n").replace(*c, "\n")
            } else {
                part.replace(*c, &plain(*c).map(String::from).unwrap_or_default())
            }
        })
    });
    let mut pairs = vec![Texts::new(old.clone(), new.clone(), None)];
    if let Some((old, new, line)) = without_line_numbers(text, &old, &new) {
        let texts = Texts::new(old, new, Some(Reading::LineNumbers));
        pairs.push(Texts { line, ..texts });
    }
    if old.trim_start().lines().next() == new.trim_start().lines().next()
        && let (Some(old), Some(new)) = (without_fence(&old), without_fence(&new))
    {
        pairs.push(Texts::new(old, new, Some(Reading::Fence)));
    }
    let unescaped = [
        without_backslashes(&old, &new),
        without_entities(&old, &new),
    ];
    pairs.extend(unescaped.into_iter().flatten().map(|mut texts| {
        // If the old text has the file's own escapes escaped once more, but the new text has them
        // as the file does, then the new text may be written as it is meant, and must not be
        // unescaped.
        let [of_old, of_file, of_new] = [&old, &texts.old, &new].map(|text| escapes(text));
        let are_bare = of_file
            .difference(&of_old)
            .any(|escape| of_new.contains(escape));
        if are_bare && texts.new != new {
            texts.doubtful = (0..texts.new.split('\n').count()).collect();
            texts.doubt = Some(MIXED);
        }
        texts
    }));
    pairs
}

/// Finds the escapes of a text: runs of backslashes, and HTML entities. Each comes with up to two
/// characters before it and behind it on its line, because the same escape at another place is
/// another one.
fn escapes(text: &str) -> BTreeSet<(&str, &str, &str)> {
    let is_near = |c: char| c != '\n' && c != '\\';
    let (mut found, mut at) = (BTreeSet::new(), 0);
    while let Some(start) = text[at..].find(['\\', '&']).map(|n| at + n) {
        let rest = &text[start..];
        let length = if rest.starts_with('\\') {
            rest.find(|c| c != '\\').unwrap_or(rest.len())
        } else {
            leading_entity(rest).map_or(1, str::len)
        };
        at = start + length;
        let before = text[..start].char_indices().rev().take(2);
        let before = before.take_while(|(_, c)| is_near(*c)).last();
        let behind = text[at..].char_indices().take(2);
        let behind = behind.take_while(|(_, c)| is_near(*c)).last();
        found.insert((
            &text[before.map_or(start, |(n, _)| n)..start],
            &text[start..at],
            &text[at..behind.map_or(at, |(n, c)| at + n + c.len_utf8())],
        ));
    }
    found
}

fn leading_entity(text: &str) -> Option<&str> {
    let name = text.strip_prefix('&')?;
    let name = name.strip_prefix('#').unwrap_or(name);
    let behind = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let is_one = behind.len() < name.len() && behind.starts_with(';');
    is_one.then(|| &text[..=text.len() - behind.len()])
}

pub(super) fn is_other_blank(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii() && !is_unicode_line_end(c)
}

fn is_unicode_line_end(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn without_fence(text: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.trim_matches('\n').split('\n').collect();
    let is_fenced = lines.len() > 2
        && lines[0].starts_with("```")
        && !lines[0][3..].contains(['`', '\\'])
        && lines[lines.len() - 1] == "```";
    is_fenced.then(|| {
        lines.pop();
        lines[1..].join("\n") + "\n"
    })
}

const MIXED: &str = "its new lines have escapes that the old ones do not have";

fn without_backslashes(old: &str, new: &str) -> Option<Texts> {
    let plain_old = unescape(old);
    if plain_old == old {
        return None;
    }
    let escapes_in = |text: &str| -> Vec<char> {
        let mut found = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '\\' {
                found.extend(chars.next());
            }
        }
        found
    };
    let of_old = escapes_in(old);
    // In a JSON string, quotes and line ends are escaped, and each backslash begins an escape.
    let is_json = |text: &str| {
        let escapes = escapes_in(text);
        let quotes = escapes.iter().filter(|c| **c == '"').count();
        let is_escape = |c: &char| r#""\/bfnrtu"#.contains(*c);
        !text.contains('\n') && text.matches('"').count() == quotes && escapes.iter().all(is_escape)
    };
    let is_proved = of_old.iter().any(|c| matches!(c, '"' | '\\'));
    if is_json(old) && is_json(new) && is_proved {
        let parse = |text: &str| serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
        if let (Some(old), Some(new)) = (parse(old), parse(new)) {
            let [old, new] = [old, new].map(|text| text.replace("\r\n", "\n"));
            return Some(Texts::new(old, new, Some(Reading::Escapes)));
        }
    }
    // The old text has escapes for line ends. A new text with line ends was not escaped.
    if of_old.contains(&'n') && !old.contains('\n') && new.contains('\n') {
        return Some(Texts::new(
            plain_old,
            new.to_owned(),
            Some(Reading::Escapes),
        ));
    }
    let mut texts = Texts::new(plain_old, unescape(new), Some(Reading::Escapes));
    texts.find_doubts(old, new, &of_old);
    Some(texts)
}

impl Texts {
    /// Marks the lines of the new text in which a backslash may be meant as a backslash, rather
    /// than begin an escape, as doubtful.
    fn find_doubts(&mut self, old: &str, new: &str, of_old: &[char]) {
        // TeX commands such as `\begin` are written with one backslash, so `\neg` may be one, too.
        let has_commands = has_tex_commands(&self.old) || has_tex_commands(&unescape(new));
        // Returns the quote that is open behind a `quote`, if `open` was open before it.
        let behind = |open: Option<char>, quote| match open {
            Some(one) if one == quote => None,
            open => open.or(Some(quote)),
        };
        let mut line = 0;
        let mut open: Option<char> = None;
        let mut chars = new.chars().peekable();
        while let Some(c) = chars.next() {
            let escaped = (c == '\\').then(|| chars.peek().copied()).flatten();
            match escaped {
                Some(escaped) if unescape(&format!("\\{escaped}")) != format!("\\{escaped}") => {
                    chars.next();
                    let is_letter = chars.peek().is_some_and(char::is_ascii_alphabetic);
                    let is_end = matches!(escaped, 'n' | 't' | 'r');
                    if !of_old.contains(&escaped)
                        || is_end && (open.is_some() || has_commands && is_letter)
                    {
                        self.doubtful.push(line);
                    }
                    if escaped == 'n' {
                        line += 1;
                        if self.doubtful.last() == Some(&(line - 1)) {
                            self.doubtful.push(line);
                        }
                        open = None;
                    } else if matches!(escaped, '"' | '`') {
                        open = behind(open, escaped);
                    }
                }
                // An escape such as `\u00eb`, which is not decoded.
                Some(escaped) if !of_old.contains(&escaped) => self.doubtful.push(line),
                _ if c == '\n' => {
                    line += 1;
                    open = None;
                }
                _ if matches!(c, '"' | '`' | '\'') && !old.contains("\\\"") => {
                    open = behind(open, c);
                }
                _ => {}
            }
        }
        self.doubt = Some(MIXED);
    }
}

fn has_tex_commands(text: &str) -> bool {
    text.split('\\').skip(1).any(|behind| {
        let mut letters = behind.chars();
        let first = letters.next().filter(char::is_ascii_alphabetic);
        let second = letters.next().filter(char::is_ascii_alphabetic);
        second.is_some() && first.is_some_and(|c| !"nrtabfvxuU".contains(c))
    })
}

const ENTITIES: [(&str, &str); 6] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&amp;", "&"),
];

/// Decodes HTML entities in both texts. If a character is there both as an entity and as itself, or
/// if only the new text has an entity, the texts were not escaped as a whole, and the lines
/// concerned are doubtful.
fn without_entities(old: &str, new: &str) -> Option<Texts> {
    let decode = |text: &str| {
        let entities = ENTITIES.into_iter();
        entities.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let plain = decode(old);
    if plain == old {
        return None;
    }
    let rest = |text: &str| {
        let entities = ENTITIES.into_iter();
        entities.fold(text.to_owned(), |text, (entity, _)| {
            text.replace(entity, "")
        })
    };
    let are_of_old = |text: &str| {
        let mut entities = ENTITIES.into_iter();
        entities.all(|(entity, c)| {
            if old.contains(entity) {
                !rest(text).contains(c)
            } else {
                !text.contains(entity)
            }
        })
    };
    let is_whole = |text: &str| {
        let rest = rest(text);
        let mut marks = rest.match_indices('&');
        let has_others = marks.any(|(at, _)| leading_entity(&rest[at..]).is_some());
        !has_others && are_of_old(text) || !rest.contains(['<', '>', '&'])
    };
    let mut texts = Texts::new(plain, decode(new), Some(Reading::Escapes));
    if !is_whole(old) || !is_whole(new) {
        let lines = new.split('\n').enumerate();
        let lines = lines.filter(|(_, line)| decode(line) != *line || !is_whole(line));
        texts.doubtful = lines.map(|(at, _)| at).collect();
        texts.doubt = Some(MIXED);
    }
    Some(texts)
}
