//! Marks of sources in an answer, and their list.

use super::{GenerateContentResponse, GroundingMetadata, Part};
use gemini_tools_core::text::one_line;
use std::collections::BTreeMap;

/// Returns the answer's text with `[1]` behind what source 1 supports, and the list of sources.
///
/// The API gives places in bytes of the UTF-8 text of one part. A place in the middle of a
/// character moves behind it; where the API's own words for a stretch are elsewhere, and there
/// only, those count.
pub fn cited(response: &GenerateContentResponse) -> String {
    let mut text = response.text();
    let grounding = response
        .candidates
        .first()
        .and_then(|c| c.grounding_metadata.as_ref());
    let Some(grounding) = grounding.filter(|g| !g.grounding_chunks.is_empty()) else {
        return text;
    };
    for (at, sources) in places(response.parts(), &text, grounding).into_iter().rev() {
        for source in sources.iter().rev() {
            text.insert_str(at, &format!("[{}]", source + 1));
        }
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n\nSources:\n");
    text.push_str(&source_list(grounding));
    text
}

/// Returns one line for each source.
fn source_list(grounding: &GroundingMetadata) -> String {
    let lines: Vec<String> = grounding
        .grounding_chunks
        .iter()
        .enumerate()
        .map(|(i, chunk)| {
            let web = chunk.web.clone().unwrap_or_default();
            let or = |text: &str, other: &str| match one_line(text) {
                line if line.is_empty() => other.to_owned(),
                line => line,
            };
            let (title, uri) = (or(&web.title, "Untitled"), or(&web.uri, "no address"));
            format!("[{}] {title} ({uri})", i + 1)
        })
        .collect();
    lines.join("\n")
}

/// Returns the sources for each place of the text, by place; each source once, in the order given.
fn places(
    parts: &[Part],
    text: &str,
    grounding: &GroundingMetadata,
) -> BTreeMap<usize, Vec<usize>> {
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for support in &grounding.grounding_supports {
        let Some(segment) = &support.segment else {
            continue;
        };
        let Some((offset, length)) = part_at(parts, segment.part_index) else {
            continue;
        };
        let within = |n: usize| offset + n.min(length);
        let (start, mut end) = (within(segment.start_index), within(segment.end_index));
        let words = segment.text.as_str();
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
        for &source in &support.grounding_chunk_indices {
            if source < grounding.grounding_chunks.len() && !here.contains(&source) {
                here.push(source);
            }
        }
    }
    found
}

/// Returns the offset of a part's text in the whole text, and its length, in bytes.
fn part_at(parts: &[Part], index: usize) -> Option<(usize, usize)> {
    let length = |part: &Part| match (part.thought, &part.text) {
        (Some(true), _) | (_, None) => 0,
        (_, Some(text)) => text.len(),
    };
    let part = parts.get(index)?;
    Some((parts[..index].iter().map(length).sum(), length(part)))
}

#[cfg(test)]
mod tests {
    use super::cited;
    use crate::gemini_api::GenerateContentResponse;
    use serde_json::{Value, json};

    fn cite(parts: &Value, supports: &Value, chunks: usize) -> String {
        let chunks: Vec<Value> = (0..chunks)
            .map(|i| json!({"web": {"uri": format!("https://{i}.example"), "title": format!("T{i}")}}))
            .collect();
        let response: GenerateContentResponse = serde_json::from_value(json!({"candidates": [{
            "content": {"parts": parts},
            "groundingMetadata": {"groundingChunks": chunks, "groundingSupports": supports},
        }]}))
        .expect("a response");
        cited(&response)
    }

    fn support(end: usize, sources: &[usize]) -> Value {
        json!({"segment": {"endIndex": end}, "groundingChunkIndices": sources})
    }

    #[test]
    fn marks_stand_at_byte_places() {
        let text = "Zürich is größer. 日本 too.";
        let first = text.find('.').expect("a stop") + 1;
        let supports = json!([support(text.len(), &[1]), support(first, &[0, 1])]);
        assert_eq!(
            cite(&json!([{"text": text}]), &supports, 2),
            "Zürich is größer.[1][2] 日本 too.[2]\n\nSources:\n\
             [1] T0 (https://0.example)\n[2] T1 (https://1.example)"
        );
    }

    #[test]
    fn several_supports_at_one_place_are_joined_and_odd_ones_do_no_harm() {
        let supports = json!([
            support(3, &[1]), support(3, &[0, 1]), support(999, &[0]), support(3, &[7]),
            {"groundingChunkIndices": [0]}, {"segment": {"endIndex": 1, "partIndex": 4}, "groundingChunkIndices": [0]},
        ]);
        let cited = cite(&json!([{"text": "abc def"}]), &supports, 2);
        assert!(cited.starts_with("abc[2][1] def[1]\n\nSources:"), "{cited}");
        // In the middle of a character.
        let cited = cite(&json!([{"text": "aé"}]), &json!([support(2, &[0])]), 1);
        assert!(cited.starts_with("aé[1]\n"), "{cited}");
    }

    #[test]
    fn places_count_from_their_part_and_thoughts_do_not_count() {
        let parts = json!([{"text": "hm", "thought": true}, {"text": "One. "}, {"text": "Two."}]);
        let supports = json!([
            {"segment": {"partIndex": 2, "endIndex": 4}, "groundingChunkIndices": [0]},
            {"segment": {"partIndex": 1, "endIndex": 4}, "groundingChunkIndices": [0]},
        ]);
        assert!(cite(&parts, &supports, 1).starts_with("One.[1] Two.[1]\n"));
    }

    #[test]
    fn the_words_of_a_stretch_count_where_its_numbers_are_wrong() {
        let supports = json!([{
            "segment": {"startIndex": 0, "endIndex": 4, "text": "größer"}, "groundingChunkIndices": [0],
        }]);
        let cited = cite(&json!([{"text": "ist größer als"}]), &supports, 1);
        assert!(cited.starts_with("ist größer[1] als"), "{cited}");
    }

    #[test]
    fn without_sources_the_text_stays_as_it_is() {
        assert_eq!(
            cite(&json!([{"text": "abc "}]), &json!([support(1, &[0])]), 0),
            "abc "
        );
    }
}
