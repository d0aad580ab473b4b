//! `replace`, for random files: every byte outside the match stays, whatever the encoding and the line endings.

use std::fs;

use proptest::prelude::{BoxedStrategy, Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::{collection, sample};
use serde_json::json;

use crate::harness::{Workspace, trials};

#[derive(Clone, Copy, Debug)]
enum Encoding {
    Utf8,
    Utf8Marked,
    Utf16Le,
    Utf16Be,
    Windows1252,
}

impl Encoding {
    /// The bytes of a text, without a mark.
    fn bytes(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Utf8Marked => text.as_bytes().to_vec(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Windows1252 => encoding_rs::WINDOWS_1252.encode(text).0.into_owned(),
        }
    }

    fn mark(self) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Windows1252 => Vec::new(),
            marked => marked.bytes("\u{feff}"),
        }
    }
}

/// Characters that every encoding above has, for windows-1252's sake.
fn character() -> impl Strategy<Value = char> {
    sample::select(
        "abcXYZ 019_{}()$&\\\"'\täöüßéñçÀÎ€–œ¿"
            .chars()
            .collect::<Vec<_>>(),
    )
}

fn ending() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just("\n"), 4 => Just("\r\n"), 1 => Just("\r"), 1 => Just("\n\n"), 1 => Just("")]
}

/// Lines with mixed endings.
fn text() -> BoxedStrategy<String> {
    let line = (collection::vec(character(), 0..30), ending());
    let line =
        line.prop_map(|(line, ending)| line.into_iter().chain(ending.chars()).collect::<String>());
    collection::vec(line, 0..12)
        .prop_map(|lines| lines.concat())
        .boxed()
}

/// A text on one line.
fn line() -> BoxedStrategy<String> {
    collection::vec(character(), 0..20)
        .prop_map(String::from_iter)
        .boxed()
}

/// A file in parts: before the match, the match, what replaces it, after the match.
#[derive(Clone, Debug)]
struct Edit {
    encoding: Encoding,
    before: String,
    old: String,
    new: String,
    after: String,
}

fn edit() -> impl Strategy<Value = Edit> {
    let encoding = sample::select(vec![
        Encoding::Utf8,
        Encoding::Utf8Marked,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Windows1252,
    ]);
    (encoding, text(), line(), line(), text()).prop_map(|(encoding, before, old, new, after)| {
        // `#` and `@` are not characters of the rest, so that there is one match. A short legacy text may be taken for
        // one in another 8-bit encoding: its match is ASCII on lines of its own, which all of them agree on.
        let legacy = matches!(encoding, Encoding::Windows1252);
        let ascii = |text: String| {
            text.chars()
                .filter(|c| !legacy || c.is_ascii())
                .collect::<String>()
        };
        let edge = if legacy { "\n" } else { "" };
        Edit {
            encoding,
            before: before + edge,
            old: format!("#{}#", ascii(old)),
            new: format!("@{}@", ascii(new)),
            after: edge.to_owned() + &after,
        }
    })
}

/// Each case is a process that flushes a file to the disk, so the counts are modest.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases * trials(),
        max_shrink_iters: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn bytes_outside_the_match_stay(edit in edit()) {
        let Edit { encoding, before, old, new, after } = edit;
        let file = |middle: &str| {
            let parts = [before.as_str(), middle, &after].map(|part| encoding.bytes(part));
            [encoding.mark(), parts.concat()].concat()
        };
        let ws = Workspace::new().file("a.txt", file(&old));
        let arguments = json!({"file_path": "a.txt", "old_string": old, "new_string": new});
        let answer = ws.tool("replace").arguments(&arguments).changing(&["a.txt"]).run();
        answer.output();
        let got = fs::read(ws.path("a.txt")).expect("the edited file");
        assert!(got == file(&new), "{encoding:?}: {:?}", String::from_utf8_lossy(&got));
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn any_bytes_around_an_ascii_match_stay(
        before in collection::vec(any::<u8>(), 0..200),
        after in collection::vec(any::<u8>(), 0..200),
    ) {
        let file = |middle: &[u8]| [&before[..], b"\nneedle\n", middle, b"\n", &after].concat();
        let ws = Workspace::new().file("a.txt", file(b"<old>"));
        let arguments = json!({"file_path": "a.txt", "old_string": "<old>", "new_string": "<new>"});
        let answer = ws.tool("replace").arguments(&arguments).changing(&["a.txt"]).run();
        let got = fs::read(ws.path("a.txt")).expect("the edited file");
        // What is not text may be refused, but not damaged.
        let want = if answer.status() == 0 { file(b"<new>") } else { file(b"<old>") };
        assert!(got == want, "status {}: {:?}", answer.status(), String::from_utf8_lossy(&got));
    }
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn editing_back_gives_the_old_file(before in text(), old in line(), new in line(), after in text()) {
        let (old, new) = (format!("#{old}#"), format!("@{new}@"));
        let content = format!("{before}{old}{after}");
        let ws = Workspace::new().file("a.txt", &content);
        for (old, new) in [(&old, &new), (&new, &old)] {
            let arguments = json!({"file_path": "a.txt", "old_string": old, "new_string": new});
            ws.tool("replace").arguments(&arguments).changing(&["a.txt"]).run().output();
        }
        assert_eq!(fs::read(ws.path("a.txt")).expect("the file"), content.as_bytes());
    }
}

/// The kinds of line ends that a text has, a lone carriage return being one.
fn kinds(text: &str) -> std::collections::BTreeSet<&str> {
    let is_end = |c: char| c == '\r' || c == '\n';
    let mut found = std::collections::BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_end) {
        let end = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        found.insert(&rest[at..at + end]);
        rest = &rest[at + end..];
    }
    found
}

/// Words with any line ends between them.
fn ends_at_random() -> BoxedStrategy<String> {
    let end = sample::select(vec!["\n", "\r\n", "\r"]);
    collection::vec(("[ab]{0,2}", end), 0..6)
        .prop_map(|lines| {
            lines
                .into_iter()
                .map(|(word, end)| word + end)
                .collect::<String>()
        })
        .boxed()
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn no_edit_brings_another_kind_of_line_end_into_a_file(
        before in ends_at_random(), quoted in ends_at_random(), after in ends_at_random(),
        new in ends_at_random(), kind in sample::select(vec!["\n", "\r\n", "\r", ""]),
        tool in sample::select(vec!["replace", "smart_edit"]),
    ) {
        // The empty kind is a file with all of them.
        let own = |text: &str| {
            let lines = text.replace("\r\n", "\n").replace('\r', "\n");
            if kind.is_empty() { text.to_owned() } else { lines.replace('\n', kind) }
        };
        let (before, after) = (own(&before) + "#", "#".to_owned() + &own(&after));
        let content = format!("{before}x{}x{after}", own(&quoted));
        let ws = Workspace::new().file("a.txt", &content);
        let arguments = json!({"file_path": "a.txt", "instruction": "x", "old_string": format!("x{quoted}x"),
            "new_string": format!("x{new}y")});
        ws.tool(tool).arguments(&arguments).changing(&["a.txt"]).run().output();
        let got = String::from_utf8(fs::read(ws.path("a.txt")).expect("the file")).expect("UTF-8");
        let middle = got.strip_prefix(&before).and_then(|rest| rest.strip_suffix(&after));
        let middle = middle.unwrap_or_else(|| panic!("{content:?} became {got:?}"));
        let plain = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
        assert_eq!(plain(middle), plain(&format!("x{new}y")), "{content:?} became {got:?}");
        // A carriage return alone is a character of the new text, not an end of its lines.
        let mut had = kinds(&content);
        let has_none = had.is_empty();
        had.extend(kinds(&new).into_iter().filter(|end| *end == "\r"));
        assert!(kinds(&got).is_subset(&had) || has_none, "{content:?} became {got:?}");
    }
}
