use super::{ByteOrder, DecodedReader, Encoding, Form, declared, detect, has_only_crlf};
use std::io::Read;
use std::io::Write;

fn encoding_of(bytes: &[u8]) -> Option<Encoding> {
    detect(bytes, true)
}

#[test]
fn encodings_are_recognised_and_round_trip() {
    let text = "Größe: 5 µm\nnächste Zeile 👋\n";
    let marked = Encoding::marked;
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
fn wide_text_is_recognised_with_and_without_a_mark_and_round_trips() {
    let texts = [
        "int x = 1;\r\n",
        "hi\n",
        "Привет, мир!\nКак дела?\n",
        "日本語のテキスト、改行\nと、もう一行。\n",
        "Ünïcode 👋 text\n",
        "שלום עולם\n",
    ];
    for (text, mark) in texts.iter().flat_map(|text| [(text, true), (text, false)]) {
        for (name, bytes) in wide(text, mark) {
            let encoding = encoding_of(&bytes).expect("text");
            assert_eq!(
                (encoding.name(), encoding.mark().is_empty()),
                (name, !mark),
                "{text}"
            );
            assert_eq!(
                encoding.decode_fully(&bytes).as_deref(),
                Some(*text),
                "{name}"
            );
            let mut pieces = String::new();
            let content = &bytes[encoding.mark().len()..];
            let mut reader = DecodedReader::new(OneByOne(content), encoding);
            reader.read_to_string(&mut pieces).expect("a text");
            assert_eq!(pieces, *text, "{name}");
        }
    }
}

fn wide(text: &str, has_mark: bool) -> [(&'static str, Vec<u8>); 4] {
    let forms = [
        Form::Standard(encoding_rs::UTF_16LE),
        Form::Standard(encoding_rs::UTF_16BE),
        Form::Utf32(ByteOrder::Little),
        Form::Utf32(ByteOrder::Big),
    ];
    forms.map(|form| {
        let encoding = Encoding { form, has_mark };
        let bytes = encoding.encode(text).expect("all of Unicode");
        (encoding.name(), [encoding.mark(), &bytes].concat())
    })
}

struct OneByOne<'a>(&'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn a_cut_sample_of_wide_text_is_recognised() {
    let text = "Zeile mit Ünïcode 👋 und mehr\n".repeat(4);
    for (name, bytes) in wide(&text, false) {
        for end in 40..bytes.len() {
            let found = detect(&bytes[..end], false).map(Encoding::name);
            assert_eq!(found, Some(name), "{end}");
        }
    }
}

#[test]
fn binary_data_with_zero_bytes_is_no_wide_text() {
    let numbers = |step: u32| (0..200_u32).map(move |i| i * step);
    let cases: Vec<Vec<u8>> = vec![
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0".to_vec(),
        b"usr\0etc\0home\0ab\0cd\0".repeat(20),
        b"ab\0cde\0f".to_vec(),
        b"a\0b\0c".to_vec(),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x06\0\0\0".to_vec(),
        b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20".to_vec(),
        numbers(1).flat_map(u32::to_le_bytes).collect(),
        numbers(977).flat_map(u32::to_le_bytes).collect(),
        numbers(7).flat_map(|n| (n as u16).to_le_bytes()).collect(),
        numbers(331)
            .flat_map(|n| (n as u16).to_be_bytes())
            .collect(),
        numbers(1).flat_map(|n| (n as f32).to_le_bytes()).collect(),
    ];
    for bytes in cases {
        let found = encoding_of(&bytes).map(Encoding::name);
        assert_eq!(found, None, "{:?}", String::from_utf8_lossy(&bytes[..8]));
    }
    let mut random = Random::new(0x51ed);
    for trial in 0..2_000 {
        let mut bytes: Vec<u8> = (0..random.below(300) + 8).map(|_| random.byte()).collect();
        bytes[3] = 0;
        // The data must not begin with a byte-order mark.
        bytes[0] &= 0x7f;
        let found = encoding_of(&bytes).map(Encoding::name);
        assert_eq!(found, None, "trial {trial}: {bytes:?}");
    }
}

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let given = std::env::var("GEMINI_TOOLS_SEED").ok();
        let seed = given.and_then(|seed| seed.parse().ok()).unwrap_or(seed);
        let _ = writeln!(std::io::stderr(), "seed {seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }

    pub(crate) fn one_of<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

#[test]
fn damaged_utf8_is_utf8_however_short() {
    let words = [
        "José",
        "für",
        "naïve",
        "©",
        "—",
        "“so”",
        "żółć",
        "čeština",
        "mañana",
        "Ελλάδα",
        "привет",
        "мир",
        "ёж",
        "שלום",
        "مرحبا",
        "日本",
        "日本語",
        "编译错误",
        "头文件",
        "한국어",
        "ไทย",
        "हिन्दी",
        "🚀",
        "✅",
        "việt",
        "İstanbul",
    ];
    let damage: [&[u8]; 10] = [
        b"\xff",
        b"\xfe",
        b"\x80",
        b"\xbf",
        b"\xe9",
        b"\xc0\x80",
        b"\xed\xa0\xbd",
        b"\xe2\x82",
        b"\xf0\x9f\x9a",
        b"\xc3",
    ];
    let mut random = Random::new(0x16);
    for trial in 0..2_000 {
        let most = random.below(13) + 1;
        let (mut bytes, mut count) = (b"/* a */\n".to_vec(), 0);
        while count < most {
            let word = random.one_of(&words);
            count += word.chars().filter(|c| !c.is_ascii()).count();
            bytes.extend_from_slice(word.as_bytes());
            bytes.extend_from_slice(random.one_of(&[&b" "[..], b"\n", b", x = 1;\n", b"\t"]));
        }
        for _ in 0..=random.below(1 + count.min(3)) {
            let ends: Vec<usize> = (0..=bytes.len())
                .filter(|at| bytes.get(*at).is_none_or(|b| b & 0xc0 != 0x80))
                .collect();
            let at = ends[random.below(ends.len())];
            bytes.splice(at..at, random.one_of(&damage).iter().copied());
        }
        let found = encoding_of(&bytes).map(Encoding::name);
        let shown = String::from_utf8_lossy(&bytes);
        assert_eq!(found, Some("UTF-8"), "trial {trial}: {shown:?} {bytes:x?}");
        let text = Encoding::default().decode_fully(&bytes).expect("a text");
        assert_eq!(
            Encoding::default().encode_again(&text),
            Ok(bytes),
            "trial {trial}"
        );
    }
}

#[test]
fn a_window_of_utf8_is_utf8_wherever_it_is_cut() {
    let text = "naïve 日本語 🚀 привет\n".repeat(3).into_bytes();
    for from in 0..40 {
        for to in from + 20..text.len() {
            let found = detect(&text[from..to], false).map(Encoding::name);
            assert_eq!(found, Some("UTF-8"), "{from}..{to}");
        }
    }
}

#[test]
fn short_texts_in_older_encodings_are_no_damaged_utf8() {
    for (label, text) in [
        ("windows-1252", "Straße, größer; naïve café à la crème\n"),
        ("windows-1251", "Ошибка: файл не найден\n"),
        ("koi8-r", "Ошибка: файл не найден, ещё раз\n"),
        ("ibm866", "Ошибка: не удалось найти файл на диске\n"),
        ("gbk", "编译错误：找不到头文件。\n"),
        ("big5", "編譯錯誤：找不到標頭檔。\n"),
        (
            "shift_jis",
            "コンパイルエラー：ファイルが見つかりません。\n",
        ),
        ("euc-jp", "コンパイルエラー：ファイルが見つかりません。\n"),
        ("euc-kr", "컴파일 오류: 파일을 찾을 수 없습니다.\n"),
        ("windows-1253", "Σφάλμα: το αρχείο δεν βρέθηκε\n"),
        ("windows-1255", "שגיאה: הקובץ לא נמצא\n"),
    ] {
        let standard = encoding_rs::Encoding::for_label(label.as_bytes()).expect("known");
        let bytes = standard.encode(text).0;
        let found = encoding_of(&bytes).expect("text");
        assert_eq!(
            found.decode(&bytes),
            text,
            "{label} read as {}",
            found.name()
        );
    }
}

#[test]
fn short_lines_in_euc_are_no_damaged_utf8() {
    for (label, text) in [
        ("euc-jp", "<strong>フリーランスのススメ</strong>\n"),
        (
            "euc-jp",
            "Pioneer SE-M570 密閉型ダイナミックステレオヘッドホン\n",
        ),
        ("euc-jp", "ドライベルモット　1／4\n"),
        ("euc-jp", "ブログの創始者、ジョセフ・ブログ。\n"),
        ("euc-kr", "07. 키는몇센치?? 알아서뭐해\n"),
        ("gbk", "很久，很久\n"),
    ] {
        let standard = encoding_rs::Encoding::for_label(label.as_bytes()).expect("known");
        let found = encoding_of(&standard.encode(text).0).expect("text");
        assert_eq!(found.name(), standard.name(), "{text}");
    }
}

#[test]
fn damage_that_looks_like_a_mark_or_a_zero_byte_leaves_utf8() {
    for bytes in [
        &b"\xff\xfe/* \xe9a */\n\xe6\x97\xa5\xbf\xe6\x9c\xac\xe8\xaa\x9e\n"[..],
        b"\xfe\xff/* a */\nJos\xc3\xa9, x = 1;\n",
        b"/* a */\nJos\xc3\xa9\xc0\x80 \x80",
        b"/* \x80a */\nJos\xc0\x80\xc3\xa9, x = 1;\n",
    ] {
        assert_eq!(encoding_of(bytes), Some(Encoding::default()), "{bytes:x?}");
    }
    // Text in UTF-16, of which each byte is ASCII.
    for text in ["「」おおうお", "ただ\u{2020}の\u{a20}", "扡捤"] {
        for (name, bytes) in wide(text, true).into_iter().take(2) {
            assert_eq!(
                encoding_of(&bytes).map(Encoding::name),
                Some(name),
                "{text}"
            );
        }
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
    // The text is too short for its letters to show the encoding.
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
