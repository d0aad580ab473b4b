//! Puts keys into the text of a settings file, and takes them out, each by one splice: every other
//! byte stays as it is. Where a splice is right is a guess, which [`super::set`] proves.

use super::tree::{Entry, Node};
use crate::syntax::Syntax;
use serde_json::{Map, Value};
use std::ops::Range;

/// The replacement of a range of a text.
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

/// How values are written in a file.
struct Style<'a> {
    syntax: Syntax,
    line_end: &'static str,
    /// By how much a line is indented more than the one that it belongs to.
    unit: &'a str,
}

impl<'a> Style<'a> {
    fn of(syntax: Syntax, text: &'a str) -> Self {
        let first = text.split_inclusive('\n').next().unwrap_or_default();
        let indents = text.lines().map(indent);
        Self {
            syntax,
            line_end: if first.ends_with("\r\n") {
                "\r\n"
            } else {
                "\n"
            },
            unit: indents
                .into_iter()
                .find(|indent| !indent.is_empty())
                .unwrap_or("  "),
        }
    }

    /// Writes a key and its value: on one line, or each key of an object on a line that begins with
    /// `line`. Strings, numbers and lists of these are the same in all syntaxes.
    fn pair(&self, key: &str, value: &Value, line: Option<&str>) -> String {
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
                let pairs = map.iter().map(|(key, value)| self.pair(key, value, deeper));
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

/// Where a key is to go: into the value `node`.
struct Place<'a> {
    style: Style<'a>,
    text: &'a str,
    node: &'a Node,
    /// Where the key of `node` begins; `None` if it is the whole file.
    above: Option<usize>,
    key: &'a str,
    value: Value,
}

/// Returns the splices that may set the value at the keys `at`, the best first, and how many keys
/// above the last one they add.
///
/// # Errors
///
/// Returns which value would have to be an object and is none.
pub(super) fn insertions(
    syntax: Syntax,
    text: &str,
    root: &Node,
    (at, value): (&[String], &Value),
) -> Result<(Vec<Splice>, usize), String> {
    let style = Style::of(syntax, text);
    let (mut node, mut depth, mut above) = (root, 0, None);
    while let Some((_, entry)) = at.get(depth).and_then(|key| node.get(key)) {
        (node, depth, above) = (&entry.node, depth + 1, Some(entry.at));
    }
    let span = node.span.clone();
    let Some((key, rest)) = at[depth..].split_first() else {
        let new = style.value(value, None);
        return Ok((vec![Splice { range: span, new }], 0));
    };
    if node.entries.is_none() && !is_blank(&text[span.clone()]) {
        let line = text[..span.start].matches('\n').count() + 1;
        let must = match depth {
            0 => "it must hold".to_owned(),
            _ => format!("{} must be", at[..depth].join(".")),
        };
        let what = match syntax {
            Syntax::Toml => "a table",
            Syntax::Yaml => "a mapping",
            _ => "an object",
        };
        return Err(format!(
            "{must} {what} (line {line}): correct that line, then run get_tools init again"
        ));
    }
    let place = Place {
        style,
        text,
        node,
        above,
        key,
        value: rest
            .iter()
            .rev()
            .fold(value.clone(), |below, key| nested(below, key)),
    };
    let splices = match value.as_object() {
        _ if node.is_braced(text) => place.in_braces(),
        Some(map) if syntax == Syntax::Toml => vec![place.as_table(at, map)],
        _ => place.in_block(),
    };
    Ok((splices, rest.len()))
}

/// Returns true for the text of a null, and for none.
pub(super) fn is_blank(text: &str) -> bool {
    ["", "null", "Null", "NULL", "~"].contains(&text.trim())
}

fn nested(below: Value, key: &str) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), below)]))
}

impl Place<'_> {
    fn first(&self) -> Option<&Entry> {
        self.node.entries.iter().flatten().next()
    }

    fn indent_at(&self, at: usize) -> &str {
        indent(&self.text[line_start(self.text, at)..])
    }

    /// Puts the key on lines of its own, in front of the line that begins at `at`.
    fn line(&self, at: usize, comma: &str) -> Splice {
        let Self { style, text, .. } = self;
        let eol = style.line_end;
        let is_braced = self.node.is_braced(text);
        let base = self.indent_at(self.node.span.start);
        let own = match self.first() {
            Some(first) if !is_braced || text[self.node.span.start..first.at].contains('\n') => {
                self.indent_at(first.at).to_owned()
            }
            None if self.above.is_none() && !is_braced => String::new(),
            _ => format!("{base}{}", style.unit),
        };
        let line = format!("{eol}{own}");
        let line = (style.is_json() || !is_braced).then_some(&*line);
        let pair = style.pair(self.key, &self.value, line);
        self.insert(at, &format!("{own}{pair}{comma}{eol}"))
    }

    /// Puts lines at a place, after the end of the line before it if that has none.
    fn insert(&self, at: usize, lines: &str) -> Splice {
        let before = &self.text[..at];
        let is_begun = !before.is_empty() && !before.ends_with('\n');
        let end = if is_begun { self.style.line_end } else { "" };
        let new = format!("{end}{lines}");
        Splice { range: at..at, new }
    }

    /// The key goes before all others, so that none of their lines changes: on lines of its own if
    /// a line ends there. A place within a comment is no place, as the proof finds.
    fn in_braces(&self) -> Vec<Splice> {
        let Self {
            style, text, node, ..
        } = self;
        let (begin, close) = (node.span.start + 1, node.span.end - 1);
        let comma = self.first().map_or("", |_| ",");
        let gap = &text[begin..self.first().map_or(close, |entry| entry.at)];
        let ends = gap.match_indices('\n').map(|(end, _)| begin + end + 1);
        let mut splices: Vec<Splice> = ends.map(|at| self.line(at, comma)).collect();
        let rest = &text[node.span.end..line_end(text, close)];
        let is_alone = gap.is_empty() && comma.is_empty() && ["", ","].contains(&rest.trim());
        splices.push(if is_alone && style.is_json() {
            let Splice { range, new } = self.line(begin, "");
            let new = format!("{new}{}", self.indent_at(close));
            Splice { range, new }
        } else {
            let pair = style.pair(self.key, &self.value, None);
            let new = format!("{}{pair}{comma}", indent(gap));
            Splice {
                range: begin..begin,
                new,
            }
        });
        splices
    }

    /// The key goes below the line of the key above or, in the outermost mapping of a file, to its
    /// end or before the first key. A null is replaced.
    fn in_block(&self) -> Vec<Splice> {
        let Self {
            style, text, node, ..
        } = self;
        let span = node.span.clone();
        if style.is_json() || !span.is_empty() && node.entries.is_none() {
            let line = format!("{}{}", style.line_end, self.indent_at(span.start));
            let line = style.is_json().then_some(&*line);
            let new = style.value(&nested(self.value.clone(), self.key), line);
            if span.is_empty() {
                return vec![self.insert(span.start, &(new + style.line_end))];
            }
            return vec![Splice { range: span, new }];
        }
        let first = self.first().map_or(0, |first| line_start(text, first.at));
        let places = match self.above {
            Some(above) => vec![line_end(text, above)],
            None => vec![text.len(), first],
        };
        places.into_iter().map(|at| self.line(at, "")).collect()
    }

    /// An object of TOML goes to the end of the file, as a table with a header.
    fn as_table(&self, at: &[String], map: &Map<String, Value>) -> Splice {
        let Self { style, text, .. } = self;
        let eol = style.line_end;
        let names: Vec<String> = at.iter().map(|key| style.key(key)).collect();
        let blank = if text.is_empty() { "" } else { eol };
        let mut new = format!("{blank}[{}]{eol}", names.join("."));
        for (key, value) in map {
            new += &(style.pair(key, value, None) + eol);
        }
        self.insert(text.len(), &new)
    }
}

/// Returns the splices that may take the key `at` out, the best first, each with as many keys above
/// it as `made` says, or fewer. Of these keys none goes that has a comment beside the key.
pub(super) fn cuts(text: &str, root: &Node, at: &[String], made: usize) -> Vec<Splice> {
    let depths = at.len().saturating_sub(made)..=at.len();
    let found: Option<Vec<_>> = depths.map(|depth| root.find(&at[..depth])).collect();
    let found = found.unwrap_or_default();
    let Some((_, own)) = found.last() else {
        return Vec::new();
    };
    let is_bare = |(_, range): &&(_, Range<usize>)| {
        let around = [
            text.get(range.start..own.start),
            text.get(own.end..range.end),
        ];
        let has = |sign| around.iter().flatten().any(|text| text.contains(sign));
        !["#", "//", "/*"].into_iter().any(has)
    };
    let ranges = found.iter().filter(is_bare).flat_map(|(before, range)| {
        let Range { start, end } = *range;
        let after = text[end..].trim_start().strip_prefix(',');
        let after = after.map(|rest| start..text.len() - rest.len());
        let before = before.filter(|before| text[*before..start].trim() == ",");
        let before = before.map(|before| before..end);
        [after, before, Some(start..end)].into_iter().flatten()
    });
    ranges.map(|range| cut(text, range)).collect()
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
