use super::Events;
use proptest::prelude::*;

fn all(pieces: &[&[u8]]) -> Vec<String> {
    let mut events = Events::default();
    let mut found = Vec::new();
    for piece in pieces {
        let taken = events.push(piece).expect("small").into_iter();
        found.extend(taken.map(|(_, data)| String::from_utf8_lossy(&data).into_owned()));
    }
    let rest = events.finish();
    found.extend(rest.map(|data| String::from_utf8_lossy(&data).into_owned()));
    found
}

const STREAM: &str = "\u{feff}data: {\"a\":1}\r\n\r\n: a comment\n\ndata: {\"b\":\ndata: [2,\ndata:3]}\n\n\
    event: x\rid: 7\rdata: ünï\r\rretry: 5\n\ndata\n\ndata:\n\ndata: last";

#[test]
fn data_lines_are_collected_until_a_blank_line() {
    let found = all(&[STREAM.as_bytes()]);
    assert_eq!(found, ["{\"a\":1}", "{\"b\":\n[2,\n3]}", "ünï", "", "last"]);
}

#[test]
fn an_event_may_have_a_name_which_is_its_own_only() {
    let (mut events, mut found) = (Events::default(), Vec::new());
    let text = b"event: endpoint\rdata: /m\r\revent:none\n\nevent: a\nevent:b\ndata: 1\ndata: 2\n\ndata: 3\n\n";
    for piece in text.chunks(5) {
        found.extend(events.push(piece).expect("small"));
    }
    let event = |name: &str, data: &str| (name.into(), data.into());
    assert_eq!(
        found,
        [event("endpoint", "/m"), event("b", "1\n2"), event("", "3")]
    );
}

#[test]
fn a_stream_cut_at_any_byte_reads_the_same() {
    let bytes = STREAM.as_bytes();
    let whole = all(&[bytes]);
    for cut in 0..=bytes.len() {
        assert_eq!(all(&[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(all(&single), whole);
}

proptest! {
    #[test]
    fn any_stream_in_any_pieces_reads_the_same(
        text in "([a-z: ]|data: |\r|\n|\r\n|\u{feff}){0,60}",
        cuts in proptest::collection::vec(0_usize..200, 0..8),
    ) {
        let bytes = text.as_bytes();
        let mut at: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(all(&pieces), all(&[bytes]));
    }
}
