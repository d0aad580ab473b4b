//! Where a key may go into the text of a settings file, and come out of it, each by one splice:
//! every other byte stays as it is. These are guesses, made from where the words are, in JSON, TOML
//! and YAML alike; [`super::set`] takes the first that proves right when the file is parsed.

use crate::syntax::Syntax;
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::ops::Range;

/// How many places of one kind are tried, of which the first is right in most files, and (`MOST`)
/// how many at which a value may end. The file is parsed again for each.
const FEW: usize = 8;

const MOST: usize = 500;

#[derive(Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) new: String,
}

impl Splice {
    pub(super) fn apply(&self, text: &str) -> String {
        let Range { start, end } = self.range;
        [&text[..start], &self.new, &text[end..]].concat()
    }
}

type Pair<'a> = (&'a str, &'a Value);

pub(super) struct Page<'a> {
    syntax: Syntax,
    text: &'a str,
    line_end: &'static str,
    /// The blanks by which a line is indented more than the line that it belongs to.
    unit: &'a str,
}

impl<'a> Page<'a> {
    pub(super) fn new(syntax: Syntax, text: &'a str) -> Self {
        let first = text.split_inclusive('\n').next().unwrap_or_default();
        let mut indents = text.lines().map(indent);
        Self {
            syntax,
            text,
            line_end: if first.ends_with("\r\n") {
                "\r\n"
            } else {
                "\n"
            },
            unit: indents.find(|indent| !indent.is_empty()).unwrap_or("  "),
        }
    }

    /// Writes a key and its value: on one line, or each key of an object on a line that begins with
    /// `line`. Strings, numbers and lists of these are the same in all syntaxes.
    fn pair(&self, (key, value): Pair<'_>, line: Option<&str>) -> String {
        let key = self.key(key);
        let value = self.value(value, line);
        match self.syntax {
            Syntax::Toml => format!("{key} = {value}"),
            _ if value.starts_with(self.line_end) => format!("{key}:{value}"),
            _ => format!("{key}: {value}"),
        }
    }

    fn is_json(&self) -> bool {
        !matches!(self.syntax, Syntax::Toml | Syntax::Yaml)
    }

    fn key(&self, key: &str) -> String {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if !self.is_json() && key.chars().all(is_bare) {
            return key.to_owned();
        }
        Value::from(key).to_string()
    }

    fn value(&self, value: &Value, line: Option<&str>) -> String {
        match value {
            Value::Array(list) => {
                let items = list.iter().map(|item| self.value(item, None));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Value::Object(map) if !map.is_empty() => {
                let deeper = line.map(|line| format!("{line}{}", self.unit));
                let deeper = deeper.as_deref();
                let pairs = map
                    .iter()
                    .map(|(key, value)| self.pair((key, value), deeper));
                let pairs: Vec<String> = pairs.collect();
                match (deeper, line) {
                    (Some(deeper), _) if self.syntax == Syntax::Yaml => {
                        format!("{deeper}{}", pairs.join(deeper))
                    }
                    (Some(deeper), Some(line)) => {
                        format!("{{{deeper}{}{line}}}", pairs.join(&format!(",{deeper}")))
                    }
                    _ => format!("{{{}}}", pairs.join(", ")),
                }
            }
            value => value.to_string(),
        }
    }

    fn indent_at(&self, at: usize) -> &'a str {
        indent(&self.text[line_start(self.text, at)..])
    }

    /// Returns the splices that may replace the value at the keys `at`. They differ in the place
    /// where the old value is taken to end.
    pub(super) fn in_place(&self, at: &[String], value: &Value) -> Vec<Splice> {
        let splices = words(self.text, at).into_iter().flat_map(|word| {
            let is_between = |c: char| c.is_whitespace() || ":=".contains(c);
            let mut rest = self.text[word.end..].trim_start_matches(is_between);
            let comment = |text: &'a str, (sign, end)| text.strip_prefix(sign)?.split_once(end);
            let signs = [("//", "\n"), ("/*", "*/"), ("#", "\n")];
            while let Some((_, next)) = signs.iter().find_map(|sign| comment(rest, *sign)) {
                rest = next.trim_start();
            }
            let start = self.text.len() - rest.len();
            let line = format!("{}{}", self.line_end, self.indent_at(start));
            let new = self.value(value, self.is_json().then_some(&line));
            ends(self.text, start).map(move |end| {
                let length = self.text[start..end].trim_end().len();
                let range = start..start + length;
                let new = new.clone();
                Splice { range, new }
            })
        });
        splices.take(MOST).collect()
    }

    fn lines(&self, at: usize, lines: &str) -> Splice {
        let before = &self.text[..at];
        let is_begun = !before.is_empty() && !before.ends_with('\n');
        let end = if is_begun { self.line_end } else { "" };
        let new = format!("{end}{lines}{}", self.line_end);
        Splice { range: at..at, new }
    }

    fn next(&self, at: usize) -> (&'a str, &'a str) {
        let rest = self.text[at..].trim_start();
        (rest, self.indent_at(self.text.len() - rest.len()))
    }

    /// Puts a key on lines of its own. `comma` is what follows it if it is in braces; in TOML these
    /// are on one line.
    fn own_lines(&self, at: usize, indent: &str, pair: Pair<'_>, comma: Option<&str>) -> Splice {
        let line = format!("{}{indent}", self.line_end);
        let line = (self.is_json() || comma.is_none()).then_some(&*line);
        let pair = self.pair(pair, line);
        let comma = comma.unwrap_or_default();
        self.lines(at, &format!("{indent}{pair}{comma}"))
    }

    /// Puts a key into the braces that open at a place, in front of all others, so that none of
    /// their lines changes: on lines of its own if a line ends there.
    fn in_braces(&self, open: usize, pair: Pair<'_>, comma: &str) -> Vec<Splice> {
        let rest = &self.text[open..];
        let base = self.indent_at(open);
        let deeper = format!("{base}{}", self.unit);
        let alone = rest.strip_prefix('}');
        let alone = alone.map(|rest| rest[..line_end(rest, 0)].trim());
        if self.is_json() && matches!(alone, Some("" | ",")) {
            let mut splice = self.own_lines(open, &deeper, pair, Some(comma));
            splice.new += base;
            return vec![splice];
        }
        let ends = rest.match_indices('\n').map(|(end, _)| open + end + 1);
        let lines = ends.take(FEW).map(|at| {
            let indent = match self.next(at) {
                (rest, _) if rest.starts_with('}') => &*deeper,
                (_, indent) => indent,
            };
            self.own_lines(at, indent, pair, Some(comma))
        });
        let within = Splice {
            range: open..open,
            new: format!("{}{}{comma}", indent(rest), self.pair(pair, None)),
        };
        lines.chain([within]).collect()
    }

    /// Puts a key on the line below that of the key that contains it; `above` is the end of that
    /// key's word. A key that no other contains is put at the end of the file or, if that fails,
    /// before one of its first lines.
    fn in_block(&self, above: Option<usize>, pair: Pair<'_>) -> Vec<Splice> {
        let Some(above) = above else {
            let starts = self.text.match_indices('\n').map(|(end, _)| end + 1);
            let starts = [self.text.len(), 0].into_iter().chain(starts.take(FEW));
            // If the last line of a YAML file belongs to a block scalar, a line feed behind it
            // would become part of that value.
            let last = &self.text[line_start(self.text, self.text.len())..];
            let is_open = self.syntax == Syntax::Yaml && !indent(last).is_empty();
            return starts
                .skip(is_open.into())
                .map(|at| self.own_lines(at, "", pair, None))
                .collect();
        };
        let at = line_end(self.text, above);
        let (_, next) = self.next(at);
        let deeper = format!("{}{}", self.indent_at(above), self.unit);
        [next, &deeper]
            .map(|indent| self.own_lines(at, indent, pair, None))
            .into()
    }

    /// Adds an object to the end of a TOML file, as a table with a header.
    fn as_table(&self, at: &[String], map: &Map<String, Value>) -> Splice {
        let eol = self.line_end;
        let names: Vec<String> = at.iter().map(|key| self.key(key)).collect();
        let blank = if self.text.is_empty() { "" } else { eol };
        let mut new = format!("{blank}[{}]", names.join("."));
        for (key, value) in map {
            new += &format!("{eol}{}", self.pair((key, value), None));
        }
        self.lines(self.text.len(), &new)
    }

    /// Returns the splices that may set the value at the keys `at`, of which the first `depth`
    /// exist. `above` is the value of the last existing one: a null or an object.
    pub(super) fn insertions(
        &self,
        at: &[String],
        (depth, above): (usize, &Value),
        value: &Value,
    ) -> Vec<Splice> {
        let nested = |value, key: &String| Value::Object(Map::from_iter([(key.clone(), value)]));
        let whole = at[depth..].iter().rev().fold(value.clone(), nested);
        let key = &at[depth];
        let pair = (&**key, &whole[key]);
        let mut splices = Vec::new();
        if let (Syntax::Toml, Value::Object(map)) = (self.syntax, value) {
            splices.push(self.as_table(at, map));
        }
        let words = words(self.text, &at[..depth]).into_iter();
        let places: Vec<Option<usize>> = match depth {
            0 => vec![None],
            _ => words.map(|word| Some(word.end)).collect(),
        };
        let comma = match above.as_object() {
            Some(map) if !map.is_empty() => ",",
            _ => "",
        };
        for place in places {
            if !self.is_json() {
                splices.extend(self.in_block(place, pair));
            }
            let start = place.unwrap_or_default();
            // In the whole file, the first brace may be in a comment, so several are tried.
            let few = if place.is_some() { 1 } else { FEW };
            let opens = self.text[start..].match_indices('{').take(few);
            splices.extend(opens.flat_map(|(at, _)| self.in_braces(start + at + 1, pair, comma)));
        }
        if above.is_null() {
            splices.extend(self.in_place(&at[..depth], &whole));
        }
        if self.is_json() && depth == 0 {
            let value = self.value(&whole, Some(self.line_end));
            splices.push(self.lines(self.text.len(), &value));
        }
        splices
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// Finds the places in a text where the last of the keys `at` may stand: its word, with quotes, and
/// what follows a key. The likeliest comes first: inside of as many braces as there are keys before
/// it, and among those the last one, because a comment with the same word stands before the key.
fn words(text: &str, at: &[String]) -> Vec<Range<usize>> {
    let escaped = at.last().map(|key| escaped(key)).unwrap_or_default();
    let found = text.match_indices(&*escaped).filter_map(|(start, word)| {
        let end = start + word.len();
        let is_quoted = |quote| text[..start].ends_with(quote) && text[end..].starts_with(quote);
        let quote = usize::from(is_quoted('"') || is_quoted('\''));
        let rest = text[end + quote..].trim_start();
        rest.starts_with([':', '=', '.', ']'])
            .then_some(start - quote..end + quote)
    });
    let mut found: Vec<Range<usize>> = found.filter(|word| !word.is_empty()).collect();
    found.sort_by_key(|word| {
        let count = |brace| text[..word.start].matches(brace).count();
        let depth = count('{').abs_diff(count('}') + at.len());
        (depth, Reverse(word.start))
    });
    found
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the places after `from` at which a value can end, the nearest first.
fn ends(text: &str, from: usize) -> impl Iterator<Item = usize> {
    let marks = text[from..].match_indices([',', '}', ']', '"', '\'', '#', '/', '\n']);
    let ends = marks.flat_map(move |(at, mark)| [from + at, from + at + mark.len()]);
    ends.chain([text.len()])
}

/// Returns the splices that may take a key out: from its word to one of the places behind it where
/// a value can end, the nearest first.
pub(super) fn cuts(text: &str, at: &[String]) -> Vec<Splice> {
    let cuts = words(text, at).into_iter().flat_map(move |word| {
        let line = line_start(text, word.start);
        // The key of a table of TOML is within its header.
        let is_header = text[line..].starts_with('[');
        let start = if is_header { line } else { word.start };
        let comma = text[..start].trim_end().strip_suffix(',').map(str::len);
        ends(text, word.end).flat_map(move |end| {
            let starts = comma.into_iter().chain([start]);
            starts.map(move |start| cut(text, start..end))
        })
    });
    cuts.take(MOST).collect()
}

/// Returns the splice that removes a range, with its lines if nothing else is on them.
fn cut(text: &str, Range { start, end }: Range<usize>) -> Splice {
    let (from, to) = (line_start(text, start), line_end(text, end));
    let is_whole = text[from..start].trim().is_empty() && text[end..to].trim().is_empty();
    let range = if is_whole {
        from..to
    } else {
        start..end + indent(&text[end..]).len()
    };
    Splice {
        range,
        new: String::new(),
    }
}
