use super::{Encoding, declared, detect, has_only_crlf};

fn encoding_of(bytes: &[u8]) -> Option<Encoding> {
    detect(bytes, true)
}

#[test]
fn encodings_are_recognised_and_round_trip() {
    let text = "Größe: 5 µm\nnächste Zeile 👋\n";
    let marked = |standard| Encoding {
        standard,
        has_mark: true,
    };
    for encoding in [
        marked(encoding_rs::UTF_8),
        Encoding::default(),
        marked(encoding_rs::UTF_16LE),
        marked(encoding_rs::UTF_16BE),
    ] {
        let mut bytes = encoding.mark().to_vec();
        bytes.extend_from_slice(&encoding.encode(text).expect("all of Unicode"));
        assert_eq!(encoding_of(&bytes), Some(encoding));
        assert_eq!(encoding.decode(&bytes), text, "{}", encoding.name());
    }
}

#[test]
fn utf32_is_binary() {
    for bytes in [&b"\xff\xfe\0\0a\0\0\0"[..], b"\0\0\xfe\xff\0\0\0a"] {
        assert_eq!(encoding_of(bytes), None);
    }
}

#[test]
fn what_is_decoded_fully_comes_back_to_the_byte() {
    let utf8 = encoding_of(b"\xef\xbb\xbf").expect("a mark");
    let bytes = b"\xef\xbb\xbfa\xff\xe4\xf6b\xe2\x82";
    let text = utf8.decode_fully(bytes).expect("any bytes");
    assert!(text.starts_with('a') && text.contains('b'));
    assert_eq!(utf8.encode_again(&text).expect("bytes"), bytes[3..]);
    let stand_in = "x\u{10ff41}".as_bytes();
    assert_eq!(
        utf8.decode_fully(stand_in),
        None,
        "it would come back as another byte"
    );
    let utf16 = encoding_of(b"\xff\xfe").expect("a mark");
    assert_eq!(
        utf16.decode_fully(b"\xff\xfea\0\n\0").as_deref(),
        Some("a\n")
    );
    assert_eq!(
        utf16.decode_fully(b"\xff\xfe\0\xd8"),
        None,
        "half of a pair"
    );
}

#[test]
fn older_text_is_named_and_says_what_it_cannot_hold() {
    let encoding = encoding_of(b"caf\xe9 cr\xe8me\n").expect("text");
    assert_eq!(encoding.name(), "windows-1252");
    assert_eq!(encoding.decode(b"caf\xe9"), "café");
    assert_eq!(encoding.encode("a≠b"), Err('≠'));
    assert_eq!(encoding.encode("é").as_deref(), Ok(&b"\xe9"[..]));
}

#[test]
fn what_a_document_says_of_itself_counts_where_it_holds() {
    let named = |bytes: &[u8]| encoding_of(bytes).map(Encoding::name);
    // Too short to be told by its letters.
    for (head, expected) in [
        (
            &b"<?xml version=\"1.0\" encoding=\"ISO-8859-2\"?><a>"[..],
            "ISO-8859-2",
        ),
        (
            b"<?xml version='1.0' encoding='x-mac-cyrillic' ?>\n",
            "x-mac-cyrillic",
        ),
        (b"<html><head><META CHARSET=windows-1251>", "windows-1251"),
        (
            b"<meta http-equiv=Content-Type content='text/html; charset=windows-1250'>",
            "windows-1250",
        ),
    ] {
        let bytes = [head, b"\xf5r\xfbltet\n"].concat();
        assert_eq!(named(&bytes), Some(expected));
        let encoding = encoding_of(&bytes).expect("text");
        let text = encoding.decode_fully(&bytes).expect("all of it");
        assert_eq!(encoding.encode_again(&text).expect("bytes"), bytes);
        let utf8 = [head, "ő".as_bytes()].concat();
        assert_eq!(named(&utf8), Some("UTF-8"), "valid UTF-8 is that");
    }
    let not_so = b"<?xml version=\"1.0\" encoding=\"EUC-JP\"?><a>caf\xe9 cr\xe8me\n";
    assert_eq!(named(not_so), Some("windows-1252"), "not valid in it");
    let cut = b"<meta charset=shift_jis>\x83";
    assert_eq!(detect(cut, false).map(Encoding::name), Some("Shift_JIS"));
    let far = [
        &[b' '; 1024][..],
        b"<meta charset=windows-1251>\xe9t\xe9 fran\xe7ais\n",
    ]
    .concat();
    assert_eq!(
        named(&far),
        Some("windows-1252"),
        "too far from the beginning"
    );
}

#[test]
fn the_encoding_of_a_document_is_found() {
    for (head, expected) in [
        ("<meta charset=\"Windows-1252\">", Some("windows-1252")),
        (
            "<meta http-equiv=x content='text/html; charset=euc-jp'>",
            Some("EUC-JP"),
        ),
        ("<meta charset=utf-16>", Some("UTF-8")),
        ("<?xml version='1.0'?><meta charset=koi8-r>", Some("KOI8-R")),
        ("<?xml version='1.0'?><a encoding='koi8-r'>", None),
        ("<p charset=x>", None),
        ("<meta charset=nothing>", None),
        ("<meta charset=utf-8", None),
    ] {
        let name = declared(head.as_bytes()).map(encoding_rs::Encoding::name);
        assert_eq!(name, expected, "{head}");
    }
}

#[test]
fn binary_content_and_damaged_utf8_are_told_apart_from_text() {
    assert_eq!(encoding_of(b"\x00\x01\x02"), None);
    assert_eq!(encoding_of(b"\x01\x02\x03\x04ab"), None);
    let damaged = "ÄÖÜäöüß".repeat(3).into_bytes();
    let damaged = [&damaged[..], b"\xff"].concat();
    assert_eq!(encoding_of(&damaged), Some(Encoding::default()));
    let cut = &"é".as_bytes()[..1];
    assert_eq!(detect(cut, false), Some(Encoding::default()));
}

#[test]
fn line_endings() {
    assert!(has_only_crlf("a\r\nb\r\n"));
    assert!(!has_only_crlf("a\nb\r\n") && !has_only_crlf("a"));
}
