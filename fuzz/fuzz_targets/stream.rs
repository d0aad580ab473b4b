//! A stream in any pieces gives the same responses, or the same error, as in one piece.
#![no_main]

use std::ops::ControlFlow;

use gemini_tools::genai::{ApiErrorKind, GenerateContentResponse, ResponseStream, cited};
use libfuzzer_sys::fuzz_target;

fn read(
    pieces: &[&[u8]],
    is_wrapped: bool,
) -> (Vec<GenerateContentResponse>, Option<ApiErrorKind>) {
    let mut found = Vec::new();
    let mut keep = |response| {
        found.push(response);
        ControlFlow::Continue(())
    };
    let mut stream = ResponseStream::new(is_wrapped);
    for piece in pieces {
        if let Err(e) = stream.push(piece, &mut keep) {
            return (found, Some(e.kind));
        }
    }
    let ended = stream.finish(&mut keep);
    (found, ended.err().map(|e| e.kind))
}

fuzz_target!(|input: &[u8]| {
    // The first bytes say where the rest is cut.
    let [flags, cuts @ ..] = input else { return };
    let is_wrapped = flags & 1 == 1;
    let cut_count = usize::from(flags >> 4).min(cuts.len());
    let (cuts, stream) = cuts.split_at(cut_count);
    let whole = read(&[stream], is_wrapped);
    let mut pieces = Vec::new();
    let mut rest = stream;
    for cut in cuts {
        let (piece, behind) = rest.split_at(usize::from(*cut).min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    assert_eq!(read(&pieces, is_wrapped), whole);
    for response in &whole.0 {
        let _ = (cited(response), response.refusal());
    }
});
