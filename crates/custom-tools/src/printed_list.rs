//! Checks a printed list of declarations, and finds the position of each finding.
//!
//! [`read`](gemini_tools_core::declarations::read) repairs such a list in order to use it.
//! [`Lint::take_list`] reports what is wrong to the list's author, because another host may not
//! repair it.

use super::lint::Lint;
use super::position::nearest;
use gemini_tools_core::declarations::{Names, SCHEMA_KEYS, compile, unwrap};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::json;
use gemini_tools_core::position::{LineIndex, Node, NodeKind, Position, Search, Step};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::Value;
use std::path::Path;

const LONGEST_API_NAME: usize = 63;

impl Lint {
    /// Checks the text of a list of declarations. A tool counts as usable if there is no error in
    /// its declaration. `file` is where the text is from.
    pub fn take_list(&mut self, text: &str, file: Option<&Path>) {
        let (findings, tools) = check_list(text);
        self.files += 1;
        self.tools += tools;
        let findings = findings.into_iter().map(|finding| match file {
            Some(file) => finding.in_file(file),
            None => finding,
        });
        self.findings.extend(findings);
    }
}

fn check_list(text: &str) -> (Vec<Diagnostic>, usize) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (message, place) = match json::read(text.as_bytes()) {
        Ok(Value::Array(items)) => return check_items(items, &places(text)),
        Ok(_) => {
            let message = "It is not an array of declarations, which a discovery command prints; [ \
                           and ] around a declaration make it one.";
            (message.to_owned(), None)
        }
        Err(e) => {
            let message = format!("The text is not valid JSON: {}.", e.message());
            (message, e.place())
        }
    };
    let mut finding = Diagnostic::error("json", "", "", message);
    let place = place.map(|(line, column)| Position::new(line, column));
    finding.put_at(place.unwrap_or(Position::START));
    (vec![finding], 0)
}

fn check_items(items: Vec<Value>, top: &Node) -> (Vec<Diagnostic>, usize) {
    let (mut all, mut tools) = (Vec::new(), 0);
    let mut names = Names::new(LONGEST_API_NAME);
    for (i, item) in items.into_iter().enumerate() {
        let mut findings = Vec::new();
        for (steps, declaration) in unwrap(item, &mut findings) {
            check_declaration(&declaration, &mut names, &mut findings);
            tools += usize::from(findings.iter().all(|f| f.severity != Severity::Error));
            let path = [&[Step::Index(i)], &steps[..]].concat();
            for mut finding in findings.drain(..) {
                finding.put_at(find(top, &path, &finding.place.key).unwrap_or(top.at));
                all.push(finding);
            }
        }
    }
    all.sort_by_key(|finding| (finding.place.line, finding.place.column));
    (all, tools)
}

/// Checks one declaration. A fault for which the API would reject the declaration counts as an
/// error, although `gemini-tools-core` can repair it: another host may send the declaration as it
/// is.
fn check_declaration(declaration: &Value, names: &mut Names, findings: &mut Vec<Diagnostic>) {
    match compile(declaration, names, findings) {
        Ok(tool) if tool.name.len() > Names::LONGEST => {
            let message = format!(
                "It has {} characters; Gemini CLI 0.61 puts 16 before it, and the API takes 64. \
                 Make it {} at most.",
                tool.name.len(),
                Names::LONGEST
            );
            let finding = Diagnostic::warning("long-name", &tool.original, "name", message);
            findings.push(finding);
        }
        Ok(_) => {}
        Err(finding) => findings.push(finding),
    }
    for finding in findings {
        // The API rejects a declaration with either of these faults.
        if matches!(&*finding.code, "name" | "untyped") {
            finding.severity = Severity::Error;
        }
    }
}

fn find(top: &Node, path: &[Step], key: &str) -> Option<Position> {
    let (own, declaration) = top.find(path)?;
    let mut keys = SCHEMA_KEYS.iter();
    let schema = keys.find_map(|key| declaration.find(&[Step::Key((*key).to_owned())]));
    let schema: Vec<_> = schema.into_iter().collect();
    let search = Search {
        roots: schema.iter().map(|(_, node)| *node).chain([top]).collect(),
    };
    Some(nearest(&search, declaration, &schema, key).unwrap_or(own))
}

fn places(text: &str) -> Node {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let top = parsed.ok().and_then(|parsed| parsed.value);
    let start = Node {
        at: Position::START,
        kind: NodeKind::Other,
    };
    top.map_or(start, |top| place_of(&LineIndex::new(text), &top))
}

fn place_of(lines: &LineIndex<'_>, value: &ast::Value<'_>) -> Node {
    let kind = match value {
        ast::Value::Object(object) => {
            let entries = object.properties.iter().map(|property| {
                let name = property.name.as_str();
                let mut inner = place_of(lines, &property.value);
                if let ("$ref", ast::Value::StringLit(target)) = (name, &property.value) {
                    inner.kind = NodeKind::Target(target.value.clone().into_owned());
                }
                (name.to_owned(), lines.position(property.range.start), inner)
            });
            NodeKind::Map(entries.collect())
        }
        ast::Value::Array(array) => {
            NodeKind::List(array.elements.iter().map(|e| place_of(lines, e)).collect())
        }
        _ => NodeKind::Other,
    };
    Node {
        at: lines.position(value.range().start),
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::check_list;
    use gemini_tools_core::diagnostic::{Diagnostic, Severity};
    use std::num::NonZeroU32;

    fn numbers(finding: &Diagnostic) -> (u32, u32) {
        let number = |n: Option<NonZeroU32>| n.map_or(0, NonZeroU32::get);
        (number(finding.place.line), number(finding.place.column))
    }

    #[test]
    fn a_finding_has_the_place_where_its_key_stands() {
        let text = "[\n {\"name\": \"a\",\n  \"description\": \"d\",\n  \"parametersJsonSchema\": {\n   \
                    \"type\": \"object\",\n   \"properties\": {\n    \"x\": {\n     \"type\": \"array\",\n     \
                    \"items\": {\"description\": \"d\"}}}}}\n]";
        let (findings, tools) = check_list(text);
        let finding = findings.first().expect("untyped");
        assert_eq!((&*finding.code, numbers(finding)), ("untyped", (9, 6)));
        assert_eq!((finding.severity, tools), (Severity::Error, 0));
        let (findings, _) = check_list("{\n\"ä\": \"ü\",,}");
        let finding = findings.first().expect("no JSON");
        assert_eq!((&*finding.code, numbers(finding)), ("json", (2, 10)));
    }
}
