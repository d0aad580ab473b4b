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
    // The byte offset 2 is in the middle of the character `é`.
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
