//! In which line of a document something stands.

use super::document::{Item, Step};
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::num::NonZeroU32;

/// A line's number, from 1.
pub(super) fn line(number: usize) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(number.max(1)).ok()?)
}

/// A document with the places of its values.
pub(super) struct Positions<'a> {
    text: &'a str,
    top: Option<Value<'a>>,
}

impl<'a> Positions<'a> {
    /// The places in a text that is valid JSON.
    pub(super) fn of(text: &'a str) -> Self {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
        Self {
            text,
            top: parsed.ok().and_then(|parsed| parsed.value),
        }
    }

    /// The line, from 1, of what stands at the end of a path.
    pub(super) fn line_of_path(&self, path: &[Step]) -> Option<NonZeroU32> {
        self.line(self.find(path)?.0)
    }

    /// The line of a place within a declaration, as findings name it; of the nearest that is
    /// there, where it is itself not.
    pub(super) fn line_of(&self, item: &Item, place: &str) -> Option<NonZeroU32> {
        let (own, declaration) = self.find(&item.path)?;
        let schema = self.find(&item.schema_path);
        let place_in_schema = if place == "schema" { "" } else { place };
        let mut best = (place.len() + 1, own);
        let in_schema = schema
            .map(|(at, schema)| deepest(schema, place_in_schema).unwrap_or((usize::MAX, at)))
            .filter(|(rest, _)| *rest < place_in_schema.len().max(1));
        let in_declaration = deepest(declaration, place);
        for found in in_declaration.into_iter().chain(in_schema) {
            if found.0 < best.0 && !place.is_empty() {
                best = found;
            }
        }
        if place == "schema"
            && let Some((at, _)) = schema
        {
            best.1 = at;
        }
        self.line(best.1)
    }

    fn line(&self, at: usize) -> Option<NonZeroU32> {
        line(self.text.get(..at)?.matches('\n').count() + 1)
    }

    /// Where a value begins, with its name, and the value.
    fn find(&self, path: &[Step]) -> Option<(usize, &Value<'a>)> {
        let mut value = self.top.as_ref()?;
        let mut at = value.range().start;
        for step in path {
            (at, value) = match (step, value) {
                (Step::Key(name), Value::Object(object)) => {
                    let mut all = object.properties.iter();
                    let property = all.find(|p| p.name.as_str() == name)?;
                    (property.range.start, &property.value)
                }
                (Step::Index(i), Value::Array(array)) => {
                    let element = array.elements.get(*i)?;
                    (element.range().start, element)
                }
                _ => return None,
            };
        }
        Some((at, value))
    }
}

/// Follows a place such as `a.items.anyOf[1]` as far as it goes: how much of it is left, and where
/// the last value begins. Names of properties of a schema stand without `properties`, and may hold
/// dots themselves: the longest that fits is taken.
fn deepest(value: &Value<'_>, place: &str) -> Option<(usize, usize)> {
    let place = place.strip_prefix('.').unwrap_or(place);
    if place.is_empty() {
        return None;
    }
    match value {
        Value::Object(object) => {
            let rest_after = |name: &str| {
                let rest = place.strip_prefix(name)?;
                (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
            };
            let fits = object.properties.iter();
            let fits = fits.filter_map(|p| Some((p, rest_after(p.name.as_str())?)));
            let direct = fits
                .min_by_key(|(_, rest)| rest.len())
                .map(|(p, rest)| deepest(&p.value, rest).unwrap_or((rest.len(), p.range.start)));
            let inner = object.get("properties");
            let inner = inner.and_then(|p| deepest(&p.value, place));
            direct
                .into_iter()
                .chain(inner)
                .min_by_key(|(rest, _)| *rest)
        }
        Value::Array(array) => {
            let (index, rest) = place.strip_prefix('[')?.split_once(']')?;
            let element = array.elements.get(index.parse::<usize>().ok()?)?;
            let own = (rest.len(), element.range().start);
            Some(deepest(element, rest).unwrap_or(own))
        }
        _ => None,
    }
}
