//! Inserts source numbers such as `[1]` into an answer, and appends the list of sources.

use super::messages::list;
use super::{GenerateContentResponse, Part};
use gemini_tools_core::text::one_line;
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the answer's text with a number such as `[1]` after each passage that a source supports,
/// followed by the list of sources.
///
/// The API gives positions as byte offsets into the UTF-8 text of one part. An offset inside a
/// character is moved to the character's end. The API also quotes the passage; if the text at the
/// offset differs from the quote, and the quote occurs exactly once, the number is put after that
/// occurrence.
pub fn cited(response: &GenerateContentResponse) -> String {
    let mut text = response.text();
    let sources = response.sources();
    if sources.is_empty() {
        return text;
    }
    let supports = list(&response.grounding()["groundingSupports"]);
    let places = places(response.parts(), &text, supports, sources.len());
    for (at, sources) in places.into_iter().rev() {
        for source in sources.iter().rev() {
            text.insert_str(at, &format!("[{}]", source + 1));
        }
    }
    text.truncate(text.trim_end().len());
    let lines = sources.iter().enumerate().map(|(i, chunk)| {
        let or =
            |key: &str, other: &str| match one_line(chunk["web"][key].as_str().unwrap_or_default())
            {
                line if line.is_empty() => other.to_owned(),
                line => line,
            };
        let (title, uri) = (or("title", "Untitled"), or("uri", "no address"));
        format!("[{}] {title} ({uri})", i + 1)
    });
    let lines: Vec<String> = lines.collect();
    format!("{text}\n\nSources:\n{}", lines.join("\n"))
}

fn places(
    parts: &[Part],
    text: &str,
    supports: &[Value],
    sources: usize,
) -> BTreeMap<usize, Vec<usize>> {
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let number = |value: &Value| value.as_u64().map(|number| number as usize);
    for support in supports.iter().filter(|own| own["segment"].is_object()) {
        let segment = &support["segment"];
        let index = |key: &str| number(&segment[key]).unwrap_or_default();
        let Some((offset, length)) = part_at(parts, index("partIndex")) else {
            continue;
        };
        let within = |n: usize| offset + n.min(length);
        let (start, mut end) = (within(index("startIndex")), within(index("endIndex")));
        let words = segment["text"].as_str().unwrap_or_default();
        if !words.is_empty() && text.get(start..end) != Some(words) {
            let mut hits = text.match_indices(words);
            if let (Some((at, _)), None) = (hits.next(), hits.next()) {
                end = at + words.len();
            }
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let here = found.entry(end).or_default();
        for source in list(&support["groundingChunkIndices"])
            .iter()
            .filter_map(number)
        {
            if source < sources && !here.contains(&source) {
                here.push(source);
            }
        }
    }
    found
}

/// Returns the byte offset of the part `index` within the joined text, and its length. Thoughts are
/// left out of that text.
fn part_at(parts: &[Part], index: usize) -> Option<(usize, usize)> {
    let length = |part: &Part| match (part.thought, &part.text) {
        (Some(true), _) | (_, None) => 0,
        (_, Some(text)) => text.len(),
    };
    let part = parts.get(index)?;
    Some((parts[..index].iter().map(length).sum(), length(part)))
}

#[cfg(test)]
mod tests;
