//! Finds the lines and columns of findings in a tool's file.

use super::{MAX_MANIFEST_BYTES, block};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::position::{LineIndex, Node, NodeKind, Position, Search, Step};
use gemini_tools_workspace::file_owner::FileOwner;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) struct Source<'a> {
    text: &'a str,
    is_manifest: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, is_manifest: bool) -> Self {
        Self { text, is_manifest }
    }

    pub(super) fn position(&self, toml: &str, at: usize) -> Position {
        self.outside(LineIndex::new(toml).position(at))
    }

    fn outside(&self, inside: Position) -> Position {
        if self.is_manifest {
            return inside;
        }
        let line = block::first_line(self.text) + inside.line.get() as usize - 1;
        let own = self.text.lines().nth(line - 1).unwrap_or_default();
        Position::new(
            line,
            block::margin(self.text, own) + inside.column.get() as usize,
        )
    }
}

/// Sets the position of each finding that has none: that of `key` if given, otherwise that of the
/// finding's own key. If the key is not found, the position is the start of the TOML. If the file
/// can't be read, no position is set.
pub(super) fn put(
    file: &Path,
    owner: FileOwner<'_>,
    key: Option<&str>,
    findings: &mut [Diagnostic],
) {
    if findings.iter().all(|finding| finding.place.line.is_some()) {
        return;
    }
    let Ok(Some(bytes)) = owner.beginning(file, MAX_MANIFEST_BYTES) else {
        return;
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let source = Source::new(&text, file.extension().is_some_and(|e| e == "toml"));
    let toml = match block::find(&text) {
        _ if source.is_manifest => text.clone(),
        Ok(Some(toml)) => toml,
        _ => String::new(),
    };
    let top = DeTable::parse(&toml).ok();
    let top = top.map(|top| table(&LineIndex::new(&toml), Position::START, top.get_ref()));
    for finding in findings.iter_mut().filter(|f| f.place.line.is_none()) {
        let key = key.unwrap_or(&finding.place.key);
        let found = top.as_ref().and_then(|top| find(top, key));
        finding.put_at(source.outside(found.unwrap_or(Position::START)));
    }
}

fn find(top: &Node, place: &str) -> Option<Position> {
    let step = |key: &str| [Step::Key(key.to_owned())];
    let schemas = ["params", "parameters"].map(|key| top.find(&step(key)));
    let schemas: Vec<_> = schemas.into_iter().flatten().collect();
    nearest(&Search { roots: vec![top] }, top, &schemas, place)
}

/// Returns the position of the key `place`, which is looked for in a declaration and in the
/// `schemas` of its arguments. If the key is missing, returns that of the innermost parent that
/// exists.
pub(super) fn nearest(
    search: &Search<'_>,
    declaration: &Node,
    schemas: &[(Position, &Node)],
    place: &str,
) -> Option<Position> {
    if place == "schema" {
        return schemas.first().map(|(at, _)| *at);
    }
    let nodes = schemas.iter().map(|(_, node)| *node);
    let found = [declaration].into_iter().chain(nodes);
    let found = found.filter_map(|node| search.deepest(node, place));
    found.min_by_key(|found| found.rest).map(|found| found.at)
}

fn table(lines: &LineIndex<'_>, at: Position, table: &DeTable<'_>) -> Node {
    let entries = table.iter().map(|(name, value)| {
        let at = lines.position(name.span().start);
        (name.get_ref().to_string(), at, node(lines, value))
    });
    Node {
        at,
        kind: NodeKind::Map(entries.collect()),
    }
}

fn node(lines: &LineIndex<'_>, value: &Spanned<DeValue<'_>>) -> Node {
    let at = lines.position(value.span().start);
    match value.get_ref() {
        DeValue::Table(inner) => table(lines, at, inner),
        DeValue::Array(items) => Node {
            at,
            kind: NodeKind::List(items.iter().map(|item| node(lines, item)).collect()),
        },
        _ => Node {
            at,
            kind: NodeKind::Other,
        },
    }
}
