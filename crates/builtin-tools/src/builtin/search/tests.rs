use super::{FileSearcher, Hits, MAX_LINE_BYTES, SearchRequest};
use crate::builtin::query::Query;
use gemini_tools_core::tool::{Cancellation, ResultPlaces};
use std::io::{Seek, Write};

fn search(pattern: &str, text: &[u8], context: u64) -> Option<Hits> {
    let query = Query::new("pattern", pattern, true, false).expect("valid");
    let request = SearchRequest {
        before: context,
        after: context,
        most: 20_000,
        lines: true,
        places: ResultPlaces::Matches,
    };
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(text).expect("written");
    file.rewind().expect("rewound");
    FileSearcher::new(&query, None, &Cancellation::default(), request)
        .search(&mut file)
        .expect("searched")
}

fn shown(hits: &Hits) -> Vec<(u64, bool, &str)> {
    hits.lines
        .iter()
        .map(|l| (l.number, l.is_match, &*l.text))
        .collect()
}

#[test]
fn lines_are_found_with_their_numbers_and_context() {
    let hits = search("b|e", b"a\nb\nc\nd\ne\nf\n", 1).expect("found");
    assert_eq!(
        shown(&hits),
        [
            (1, false, "a"),
            (2, true, "b"),
            (3, false, "c"),
            (4, false, "d"),
            (5, true, "e"),
            (6, false, "f")
        ]
    );
    let hits = search("^$", b"x\n\ny\n", 0).expect("found");
    assert_eq!(shown(&hits), [(2, true, "")]);
    assert!(search("x", b"", 0).is_none());
}

#[test]
fn a_carriage_return_can_be_asked_for_and_is_no_part_of_a_line_end() {
    let text = b"a\r\nb\nc\r\n";
    let numbers = |pattern| {
        let hits = search(pattern, text, 0).expect("found");
        shown(&hits).iter().map(|l| l.0).collect::<Vec<_>>()
    };
    assert_eq!(numbers(r"\r"), [1, 3]);
    assert_eq!(numbers("[abc]$"), [1, 2, 3]);
    assert_eq!(numbers(r"\rx?|b"), [1, 2, 3]);
}

#[test]
fn look_around_and_back_references_work() {
    let hits = search(r"foo(?!bar)", b"foobar\nfoobaz\n", 0).expect("found");
    assert_eq!(shown(&hits), [(2, true, "foobaz")]);
    let hits = search(r"(\w)\1", b"abc\nabba\n", 0).expect("found");
    assert_eq!(shown(&hits), [(2, true, "abba")]);
}

#[test]
fn an_expression_that_may_take_long_finds_the_same_lines() {
    let filler = "filler line\n".repeat(100_000);
    let text = format!("needle one\r\n{filler}  a needle two\nneedles\n{filler}needle");
    // Look-around, a back-reference, and a pattern that is large when it is compiled.
    for pattern in ["needle(?!s)", r"n(e)\1dle\b", r"needle\b|([a-z]{100}!){20}"] {
        let hits = search(pattern, text.as_bytes(), 0).expect("found");
        let expected = [
            (1, true, "needle one"),
            (100_002, true, "  a needle two"),
            (200_004, true, "needle"),
        ];
        assert_eq!(shown(&hits), expected, "{pattern}");
        assert_eq!(hits.lines[1].column, Some(5), "{pattern}");
    }
}

#[test]
fn older_encodings_are_searched_as_they_are_read() {
    let hits = search("CAF.", b"caf\xe9 cr\xe8me\n", 0).expect("found");
    assert_eq!(shown(&hits), [(1, true, "café crème")]);
    let utf16: Vec<u8> = "\u{feff}eins\nzwölf\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let hits = search("zwölf", &utf16, 0).expect("found");
    assert_eq!(shown(&hits), [(2, true, "zwölf")]);
    assert!(
        search("needle", b"needle\0\nneedle\n", 0)
            .expect("found")
            .is_binary
    );
}

#[test]
fn large_files_are_searched_in_blocks_up_to_a_line_that_is_too_long() {
    let mut text = "filler line\n".repeat(200_000).into_bytes();
    text.extend_from_slice(b"the needle\n");
    let hits = search("needle", &text, 0).expect("found");
    assert_eq!(shown(&hits), [(200_001, true, "the needle")]);

    let line = |before: usize, after: usize| {
        let (before, after) = ("x".repeat(before), "y".repeat(after));
        format!("needle one\n{before}needle{after}\nend needle")
    };
    let text = line(MAX_LINE_BYTES / 2, MAX_LINE_BYTES / 3);
    let hits = search("needle", text.as_bytes(), 0).expect("found");
    let lines = shown(&hits);
    assert_eq!(lines.iter().map(|l| l.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(lines[1].2.contains("needle") && lines[1].2.len() < 5_000);
    assert_eq!(hits.unsearched, None);

    for encoded in [false, true] {
        let mut text = line(MAX_LINE_BYTES, 0).into_bytes();
        if encoded {
            let text16 = String::from_utf8(text).expect("ASCII");
            let text16 = format!("\u{feff}{text16}");
            text = text16.encode_utf16().flat_map(u16::to_le_bytes).collect();
        }
        let hits = search("needle", &text, 0).expect("found");
        assert_eq!(shown(&hits), [(1, true, "needle one")]);
        let reason = hits.unsearched.expect("a reason");
        assert_eq!(reason, "line 2 is longer than 2 MiB");
    }
}

#[test]
fn context_is_the_same_wherever_a_piece_of_a_large_file_ends() {
    for length in [7, 1_000, 300_000] {
        let count = 3_500_000 / length;
        let is_match = |i: usize| i.is_multiple_of(97) || i % 1_000 == 1;
        let line = |i: usize| {
            let name = if is_match(i) { "needle" } else { "other" };
            format!("{name}{i}{}\n", " .".repeat(length / 2))
        };
        let text: String = (0..count).map(line).collect();
        let near = |i: usize| (i.saturating_sub(3)..=i + 3).any(|k| k < count && is_match(k));
        let expected: Vec<_> = (0..count)
            .filter(|i| near(*i))
            .map(|i| (i as u64 + 1, is_match(i)))
            .collect();
        let hits = search("needle", text.as_bytes(), 3).expect("found");
        let found: Vec<_> = hits.lines.iter().map(|l| (l.number, l.is_match)).collect();
        assert_eq!(found, expected, "lines of {length}");
    }
}

#[test]
fn large_files_in_other_encodings_are_decoded_on_the_way() {
    let mut text = "\u{feff}".to_owned();
    text.push_str(&"größer als ein Stück\n".repeat(100_000));
    text.push_str("zwölf\n");
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let hits = search("^zwölf$", &utf16, 0).expect("found");
    assert_eq!(shown(&hits), [(100_001, true, "zwölf")]);
}

#[test]
fn a_long_line_is_cut_around_its_match() {
    let text = format!("{}needle{}\n", "x".repeat(10_000), "y".repeat(10_000));
    let hits = search("needle", text.as_bytes(), 0).expect("found");
    let line = shown(&hits)[0].2;
    assert!(
        line.contains("needle") && line.len() < 2_100,
        "{}",
        line.len()
    );
}
