//! A response is read or refused; its parts go back as they came, and its sources can be shown.
#![no_main]

use gemini_tools::genai::{GenerateContentResponse, Part, cited};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(response) = serde_json::from_slice::<GenerateContentResponse>(input) else {
        return;
    };
    let shown = cited(&response);
    let bare: String = response.text();
    assert!(shown.len() >= bare.trim_end().len());
    let _ = response.refusal();
    for part in response.parts() {
        let sent = serde_json::to_vec(part).expect("a part can be written");
        let back: Part = serde_json::from_slice(&sent).expect("and read again");
        assert_eq!(&back, part);
    }
});
