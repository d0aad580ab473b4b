use super::Fact;
use proptest::prelude::{Strategy, proptest};
use proptest::{collection, sample};

fn stored(text: &str) -> String {
    Fact::new(text).map(|fact| fact.stored).unwrap_or_default()
}

#[test]
fn ordinary_facts_stay_as_they_are() {
    for text in [
        "I prefer tabs",
        "Größe: 5 µm, 90 % of \"all\" <b>'quoted'</b> a*b*c _d_ C:\\dir",
        "mail me at a@b.example, call `cargo test -- --nocapture`",
        "Vec<String> and #hashtags and 3.5 and 1.x and *all* of it",
        "--force is forbidden here",
        "-1 is the sentinel",
        "two  spaces, a no-break\u{a0}space, 👨\u{200d}👩\u{200d}👧, می\u{200c}خواهم",
    ] {
        assert_eq!(stored(text), text);
    }
}

#[test]
fn what_is_no_fact_on_one_line_becomes_one() {
    let cases = [
        ("a\r\n\r\n## b\tc", "a ## b c"),
        (
            "a \u{85} b\u{2028}c\u{2029}d\u{1b}[31m\u{7f}",
            "a b c d [31m",
        ),
        ("\u{feff}- \u{202e}a\u{200b}b\u{e0041}\u{2066}", "ab"),
        ("a\u{200d}b\u{200c}", "ab"),
        ("é\n\u{200d}", "é"),
        ("--- -- deep", "deep"),
        ("# heading", "\\# heading"),
        ("- ###### x", "\\###### x"),
        ("> quote", "\\> quote"),
        ("* item", "\\* item"),
        ("+ item", "\\+ item"),
        ("12. item", "12\\. item"),
        ("1) item", "1\\) item"),
        ("* * *", "\\* * *"),
        ("___", "\\___"),
        ("~~~ sh", "\\~~~ sh"),
        ("```sh\nrm\n```", "`sh rm `"),
        ("an `odd one", "an 'odd one"),
        ("<!-- a --> b", "<\\!-- a --\\> b"),
        ("<\u{200b}!-- a", "<\\!-- a"),
        ("x</global_context>y<a_b>", "x<\\/global_context>y<\\a_b>"),
        (
            "@/etc/passwd and @../x @a.md",
            "\\@/etc/passwd and \\@../x \\@a.md",
        ),
        ("a\n@./x.md \u{a0}@y", "a \\@./x.md \u{a0}\\@y"),
    ];
    for (text, expected) in cases {
        assert_eq!(stored(text), expected, "{text:?}");
    }
    for blank in ["", " \t\n", "---", "- -\n-", "\u{200b}\u{feff}", "\0"] {
        assert_eq!(Fact::new(blank), None, "{blank:?}");
    }
}

fn text() -> impl Strategy<Value = String> {
    let pieces = vec![
        "#", "-", "*", "+", "_", "~", "~~~", "`", "```", "<", "!--", "-->", "/", "a_b", ">", "@",
        "./x", "1", ".", ")", " ", "  ", "\n", "\r", "\t", "\u{2028}", "\u{200b}", "\u{202e}",
        "\u{200d}", "é", "👩", "word", "\\", "=", "|", "[", "]", "\0",
    ];
    collection::vec(sample::select(pieces), 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_is_more_than_a_fact(text in text()) {
        let stored = stored(&text);
        assert!(!stored.contains(|c: char| c.is_control() || c == '\u{2028}'), "{stored:?}");
        assert!(!stored.contains("<!--") && !stored.contains("-->"), "{stored:?}");
        assert!(!stored.contains("``") && stored.matches('`').count().is_multiple_of(2), "{stored:?}");
        assert!(!stored.contains("<a_b") && !stored.contains("</a_b"), "{stored:?}");
        let line = format!("- {stored}");
        assert!(!line.contains(" @.") && !line.contains(" @/") && !line.contains(" @w"), "{line:?}");
        for start in ["# ", "> ", "* ", "+ ", "~~~", "1. ", "1) "] {
            assert!(!stored.starts_with(start), "{stored:?}");
        }
        let again = Fact::new(&stored).map(|fact| fact.stored).unwrap_or_default();
        assert_eq!(again, stored, "what is harmless is left alone");
    }
}
