//! YAML 1.2 as the JSON that it stands for, with the places of its values.
//!
//! Scalars are told apart by the core schema. Merge keys (`<<`), which are of YAML 1.1 only, are
//! obeyed, because descriptions of APIs use them.

use crate::declaration::position::{Node, NodeKind, Position};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// As deep as JSON is read.
const MAX_DEPTH: usize = 128;

/// With all aliases in their places there may be so many values: each can double them.
const MAX_VALUES: usize = 2_000_000;

/// So many bytes of text count as one more value.
const BYTES_OF_VALUE: usize = 64;

/// Why a text can't be read, and where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: Position,
    pub(super) message: String,
}

/// A value, its places, and how many values are in it.
#[derive(Debug, Clone)]
struct Read {
    value: Value,
    node: Node,
    count: usize,
}

/// A collection that has begun.
struct Open {
    at: Position,
    anchor: usize,
    count: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Value>, Vec<Node>),
    Map {
        map: Map<String, Value>,
        entries: Vec<(String, Position, Node)>,
        key: Option<(String, Position)>,
        /// What `<<` brings.
        merged: Vec<Read>,
    },
}

/// Reads the one document of a text.
pub(super) fn read(text: &str) -> Result<(Value, Node), Fault> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => reader.take(event, position(&span.start))?,
            Err(e) => return Err(fault(position(e.marker()), format!("{}.", e.info()))),
        }
    }
    match reader.top {
        Some(read) => Ok((read.value, read.node)),
        None => Err(fault(Position::START, "There is nothing in it.")),
    }
}

fn position(marker: &Marker) -> Position {
    Position::new(marker.line(), marker.col() + 1)
}

fn fault(at: Position, message: impl Into<String>) -> Fault {
    Fault {
        at,
        message: message.into(),
    }
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    anchors: HashMap<usize, Read>,
    values: usize,
    top: Option<Read>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(_) if self.top.is_some() => Err(fault(
                at,
                "A second document begins; give each in a file of its own.",
            )),
            Event::Scalar(text, style, anchor, tag) => {
                if self.wants_key() {
                    return self.key(&text, at);
                }
                let value = scalar(&text, style, tag.as_deref()).ok_or_else(|| {
                    fault(at, format!("{text} is a number that JSON can't hold."))
                })?;
                let kind = match (&value, self.last_key()) {
                    (Value::String(target), Some("$ref")) => NodeKind::Target(target.clone()),
                    _ => NodeKind::Other,
                };
                let node = Node { at, kind };
                let count = 1 + text.len() / BYTES_OF_VALUE;
                self.complete(Read { value, node, count }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                self.begin(at, anchor, OpenKind::List(Vec::new(), Vec::new()))
            }
            Event::MappingStart(anchor, _) => {
                let kind = OpenKind::Map {
                    map: Map::new(),
                    entries: Vec::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.begin(at, anchor, kind)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => {
                let Some(mut read) = self.anchors.get(&anchor).cloned() else {
                    return Err(fault(at, "The alias leads to what it stands in."));
                };
                if self.wants_key() {
                    return match &read.value {
                        Value::String(text) => self.key(&text.clone(), at),
                        _ => Err(fault(at, "A key must be a text.")),
                    };
                }
                read.node.at = at;
                self.complete(read, 0)
            }
            _ => Ok(()),
        }
    }

    /// Whether a key comes next.
    fn wants_key(&self) -> bool {
        matches!(
            self.open.last().map(|open| &open.kind),
            Some(OpenKind::Map { key: None, .. })
        )
    }

    /// The key whose value comes next.
    fn last_key(&self) -> Option<&str> {
        match &self.open.last()?.kind {
            OpenKind::Map {
                key: Some((key, _)),
                ..
            } => Some(key),
            _ => None,
        }
    }

    fn key(&mut self, text: &str, at: Position) -> Result<(), Fault> {
        if let Some(Open {
            kind: OpenKind::Map { map, key, .. },
            count,
            ..
        }) = self.open.last_mut()
        {
            *count += text.len() / BYTES_OF_VALUE;
            if map.contains_key(text) {
                return Err(fault(
                    at,
                    format!("The key {text:?} stands here a second time."),
                ));
            }
            *key = Some((text.to_owned(), at));
        }
        Ok(())
    }

    fn begin(&mut self, at: Position, anchor: usize, kind: OpenKind) -> Result<(), Fault> {
        if self.wants_key() {
            return Err(fault(at, "A key must be a text."));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(fault(
                at,
                format!("It is nested more deeply than {MAX_DEPTH} levels."),
            ));
        }
        self.open.push(Open {
            at,
            anchor,
            count: 1,
            kind,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let (value, kind) = match open.kind {
            OpenKind::List(values, nodes) => (values.into(), NodeKind::List(nodes)),
            OpenKind::Map {
                mut map,
                mut entries,
                merged,
                ..
            } => {
                for read in merged {
                    merge(&mut map, &mut entries, read);
                }
                (map.into(), NodeKind::Map(entries))
            }
        };
        let node = Node { at: open.at, kind };
        self.complete(
            Read {
                value,
                node,
                count: open.count,
            },
            open.anchor,
        )
    }

    /// Puts a value where it belongs.
    fn complete(&mut self, read: Read, anchor: usize) -> Result<(), Fault> {
        let at = read.node.at;
        self.values += read.count;
        if self.values > MAX_VALUES {
            let message = format!("Its aliases stand for more than {MAX_VALUES} values.");
            return Err(fault(at, message));
        }
        if anchor > 0 {
            self.values += read.count;
            self.anchors.insert(anchor, read.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.top = Some(read);
            return Ok(());
        };
        open.count += read.count;
        match &mut open.kind {
            OpenKind::List(values, nodes) => {
                values.push(read.value);
                nodes.push(read.node);
            }
            OpenKind::Map {
                map,
                entries,
                key,
                merged,
            } => match key.take() {
                Some((name, _)) if name == "<<" => match read.value {
                    Value::Object(_) => merged.push(read),
                    Value::Array(items) if items.iter().all(Value::is_object) => {
                        let nodes = match read.node.kind {
                            NodeKind::List(nodes) => nodes,
                            _ => Vec::new(),
                        };
                        let all = items.into_iter().zip(nodes);
                        merged.extend(all.map(|(value, node)| Read {
                            value,
                            node,
                            count: 0,
                        }));
                    }
                    _ => return Err(fault(at, "<< takes a mapping or a list of such.")),
                },
                Some((name, key_at)) => {
                    entries.push((name.clone(), key_at, read.node));
                    map.insert(name, read.value);
                }
                None => {}
            },
        }
        Ok(())
    }
}

/// Adds what is not there yet.
fn merge(map: &mut Map<String, Value>, entries: &mut Vec<(String, Position, Node)>, read: Read) {
    let (Value::Object(more), NodeKind::Map(places)) = (read.value, read.node.kind) else {
        return;
    };
    for place in places {
        if !map.contains_key(&place.0) {
            entries.push(place);
        }
    }
    for (name, value) in more {
        map.entry(name).or_insert(value);
    }
}

/// What a scalar stands for; `None` where JSON has nothing for it.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Option<Value> {
    let is_core = tag.is_none_or(|tag| tag.is_yaml_core_schema() && tag.suffix != "str");
    if style != ScalarStyle::Plain || !is_core {
        return Some(text.into());
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" => Some(true.into()),
        "false" | "False" | "FALSE" => Some(false.into()),
        ".nan" | ".NaN" | ".NAN" => None,
        _ if matches!(unsigned, ".inf" | ".Inf" | ".INF") => None,
        _ => Some(number(text).map_or_else(|| text.into(), Value::Number)),
    }
}

/// The number that a text is, if it is one.
fn number(text: &str) -> Option<Number> {
    let of_radix = |digits: &str, radix| {
        let is_number = digits.chars().all(|c| c.is_digit(radix));
        let number = u64::from_str_radix(digits, radix)
            .ok()
            .filter(|_| is_number);
        number.map(Number::from)
    };
    if let Some(digits) = text.strip_prefix("0o") {
        return of_radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return of_radix(digits, 16);
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    let unsigned = plain.strip_prefix('-').unwrap_or(plain);
    let begins = |c: char| c.is_ascii_digit();
    let fits = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !unsigned.trim_start_matches('.').starts_with(begins) || !unsigned.chars().all(fits) {
        return None;
    }
    // What has two points or signs is a text: a version, a date, an address.
    let whole = plain.parse::<i64>().map(Number::from);
    let whole = whole.or_else(|_| plain.parse::<u64>().map(Number::from));
    whole.ok().or_else(|| Number::from_f64(plain.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Position, read};
    use serde_json::{Value, json};

    fn value(text: &str) -> Value {
        read(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).0
    }

    #[test]
    fn scalars_are_what_the_core_schema_says() {
        for (text, wanted) in [
            ("a: 3.1.0", json!({"a": "3.1.0"})),
            ("a: 3.0", json!({"a": 3.0})),
            ("a: -7", json!({"a": -7})),
            ("a: +7", json!({"a": 7})),
            ("a: 0x1F", json!({"a": 31})),
            ("a: 0o17", json!({"a": 15})),
            ("a: 1e3", json!({"a": 1000.0})),
            ("a: .5", json!({"a": 0.5})),
            ("a: 18446744073709551615", json!({"a": u64::MAX})),
            ("a: 2026-11-21", json!({"a": "2026-11-21"})),
            ("a: 1_000", json!({"a": "1_000"})),
            ("a: yes", json!({"a": "yes"})),
            ("a: True", json!({"a": true})),
            ("a:", json!({"a": null})),
            ("a: ~", json!({"a": null})),
            ("a: '7'", json!({"a": "7"})),
            ("a: !!str 7", json!({"a": "7"})),
            ("a: !own 7", json!({"a": "7"})),
            ("200: x", json!({"200": "x"})),
            ("a: |\n  b\n  c\n", json!({"a": "b\nc\n"})),
            ("[a, {b: c}]", json!(["a", {"b": "c"}])),
        ] {
            assert_eq!(value(text), wanted, "{text}");
        }
    }

    #[test]
    fn aliases_and_merge_keys_are_what_they_stand_for() {
        assert_eq!(
            value("a: &x {b: 1}\nc: *x\nd: {<<: *x, b: 2, e: 3}\nf: {<<: [*x, {g: 4}]}"),
            json!({"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 2, "e": 3}, "f": {"b": 1, "g": 4}})
        );
        let mut doubling = "a0: &a0 [x]\n".to_owned();
        for i in 1..40 {
            doubling.push_str(&format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1));
        }
        let long = "x".repeat(1 << 20);
        let texts = format!("a: &a {long}\nb: [{}]\n", "*a,".repeat(1000));
        let names = format!("a: &a {{? {long} : 1}}\nb: [{}]\n", "*a,".repeat(1000));
        for text in [doubling, texts, names] {
            let fault = read(&text).expect_err("too much");
            assert!(fault.message.contains("alias"), "{fault:?}");
        }
    }

    #[test]
    fn faults_say_where() {
        for (text, line, column) in [
            ("a: 1\na: 2\n", 2, 1),
            ("a: 1\n---\nb: 2\n", 2, 1),
            ("a:\n  - .inf\n", 2, 5),
            ("{[a]: b}", 1, 2),
            ("a: 1\n  b: 2\n", 2, 4),
        ] {
            let fault = read(text).expect_err(text);
            assert_eq!(fault.at, Position::new(line, column), "{text}: {fault:?}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(read(&deep).is_err());
        let mut deep = String::new();
        for i in 0..1000 {
            deep.push_str(&format!("{}a:\n", " ".repeat(i)));
        }
        assert!(read(&deep).is_err());
        assert!(read("").is_err());
        assert!(read("a: *a").is_err());
        assert!(read("a: &a [*a]").is_err());
    }
}
