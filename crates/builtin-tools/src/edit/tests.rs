use super::{MatchTier, Outcome, find_place};
use gemini_tools_core::tool::Cancellation;

fn edit(text: &str, old: &str, new: &str) -> Result<(String, MatchTier), (MatchTier, Outcome)> {
    let found = find_place(text, old, new, &MatchTier::ALL, &Cancellation::default());
    match found.expect("not interrupted") {
        (tier, Outcome::One(place, new)) => {
            let mut edited = text.to_owned();
            edited.replace_range(place, &new);
            Ok((edited, tier))
        }
        other => Err(other),
    }
}

#[track_caller]
fn gives(tier: MatchTier, text: &str, old: &str, new: &str, expected: &str) {
    assert_eq!(edit(text, old, new), Ok((expected.to_owned(), tier)));
}

#[test]
fn line_ends_and_blanks_at_line_ends_stay_as_the_file_has_them() {
    let text = "a  \r\nb\r\nc\t\r\nd";
    gives(
        MatchTier::LookAlikes,
        text,
        "a\nb \nc",
        "a\nB\nB2\nc",
        "a  \r\nB\r\nB2\r\nc\t\r\nd",
    );
    gives(
        MatchTier::LookAlikes,
        "a\nb",
        "\n\na\nb\n\n",
        "\n\na\nx\n\n",
        "a\nx",
    );
    gives(MatchTier::LookAlikes, "a \nb\nc\n", "a\nb\n", "", "c\n");
    gives(
        MatchTier::LookAlikes,
        "a \nb\nc\n",
        "a\r\nb\r\n",
        "a\r\nx\r\ny\r\n",
        "a \nx\ny\nc\n",
    );
}

#[test]
fn a_shifted_text_is_shifted_back() {
    let text = "def f():\n    if x:\n        y()\n    z()\n";
    gives(
        MatchTier::LookAlikes,
        text,
        "if x:\n    y()\n",
        "if x:\n    y()\n    w()\n",
        "def f():\n    if x:\n        y()\n        w()\n    z()\n",
    );
    gives(
        MatchTier::LookAlikes,
        "\tif (x) {\n\t\ty();\n\t}\n",
        "    if (x) {\n        y();\n    }",
        "    if (x) {\n        if (z) {\n            y();\n        }\n    }",
        "\tif (x) {\n\t\tif (z) {\n\t\t\ty();\n\t\t}\n\t}\n",
    );
}

#[test]
fn a_new_text_with_the_files_indentation_is_taken_as_it_is() {
    gives(
        MatchTier::LookAlikes,
        "def f():\n    for i in r:\n        log()\n        stop()\n    stop()\n    c()\n",
        "    log()\n    stop()\nstop()\nc()",
        "        log()\n        stop()\n    stop()\n    d()\n    c()",
        "def f():\n    for i in r:\n        log()\n        stop()\n    stop()\n    d()\n    c()\n",
    );
    gives(
        MatchTier::LookAlikes,
        "def f():\n    if a:\n        if b:\n            x()\n        else:\n            y()\n    else:\n        z()\n",
        "    if b:\n        x()\n    else:\n        y()\nelse:\n    z()",
        "        if b:\n            x()\n        else:\n            y()\n    else:\n        w()\n        z()",
        "def f():\n    if a:\n        if b:\n            x()\n        else:\n            y()\n    else:\n        w()\n        z()\n",
    );
    gives(
        MatchTier::LookAlikes,
        "function f() {\n    for (;;) {\n        if (a) {\n            x();\n        }\n    }\n    c();\n}\n",
        "    if (a) {\n        x();\n    }\n}\nc();",
        "        if (a) {\n            x();\n        }\n    }\n    d();\n    c();",
        "function f() {\n    for (;;) {\n        if (a) {\n            x();\n        }\n    }\n    d();\n    c();\n}\n",
    );
}

#[test]
fn look_alikes_stay_where_they_are_only_quoted() {
    gives(
        MatchTier::LookAlikes,
        "say “hi” — don’t\u{a0}go",
        "say \"hi\" - don't go",
        "say \"hi\" - don't stay",
        "say “hi” — don’t\u{a0}stay",
    );
}

#[test]
fn escapes_and_line_numbers_are_taken_off() {
    gives(
        MatchTier::Escapes,
        "a(\"x\")\n\tb()\n",
        "a(\\\"x\\\")\\n\\tb()",
        "a(\\\"y\\\")\\n\\tb()",
        "a(\"y\")\n\tb()\n",
    );
    gives(
        MatchTier::LineNumbers,
        "  a\n  b\n",
        "12:   a\n13:   b",
        "12:   a\n13:   c",
        "  a\n  c\n",
    );
}

#[test]
fn what_is_only_quoted_may_differ_a_little() {
    let text = "fn total(xs: &[u32]) -> u32 {\n    // Adds them up.\n    let mut sum = 0;\n    for x in xs {\n        sum += x;\n    }\n    sum\n}\n";
    gives(
        MatchTier::Anchored,
        text,
        "fn total(xs: &[u32]) -> u32{\n    let mut sum = 0;\n    for x in xs {\n        sum += x;",
        "fn total(xs: &[u32]) -> u32{\n    let mut sum = 0;\n    for x in xs {\n        sum += x * 2;",
        &text.replace("sum += x;", "sum += x * 2;"),
    );
}

proptest::proptest! {
    #[test]
    fn any_texts_are_dealt_with_and_what_is_kept_is_not_touched(
        text in TEXT, old in TEXT, new in TEXT, from in 0_usize..40, length in 0_usize..20,
    ) {
        let _ = edit(&text, &old, &new);
        // A part of the text, with the slips of a model: what both texts have stays.
        let part: String = text.chars().skip(from).take(length).collect();
        let slipped = part.replace('\'', "’").replace("\r\n", "\n").replace(" \n", "\n");
        let appended = format!("{slipped}\nNEW");
        if let Ok((edited, tier)) = edit(&text, &slipped, &appended) {
            let without = edited.replace("\r\nNEW", "").replace("\nNEW", "").replace("NEW", "");
            let bare = |t: &str| t.split_whitespace().collect::<String>();
            proptest::prop_assert_eq!(bare(&without), bare(&text), "{:?}", tier);
        }
    }
}

/// Few different pieces, so that they meet.
const TEXT: &str =
    "(a|bb|\\.\\.\\.|1: |\\\\n|\\\\|'|’|\u{e9}|e\u{301}|…| |\t|    |\n|\r\n|\r|\\{|// x){0,24}";

#[test]
fn lines_of_invisible_characters_are_dealt_with() {
    for blank in ["\u{a0}", "\u{200b}", "\u{c}"] {
        for old in [format!("foo(a) \n{blank}"), format!("{blank}\nfoo(a) ")] {
            let edited = edit("foo(a)\nb\n", &old, "foo(c)\n");
            let edited = edited.map(|(text, _)| text);
            assert!(
                edited.is_err() || edited.as_deref() == Ok("foo(c)\nb\n"),
                "{old:?} {edited:?}"
            );
        }
    }
    let text = "foo(a): \u{200b}";
    let more = format!("{text}\nNEW");
    gives(MatchTier::LookAlikes, text, text, &more, &more);
}

#[test]
fn two_places_are_one_too_many() {
    let twice = "a  \nb\n\na \nb\n";
    assert_eq!(
        edit(twice, "a\nb", "c"),
        Err((MatchTier::LookAlikes, Outcome::Several(vec![1, 4])))
    );
    assert_eq!(
        edit("x\ny\n", "something else", "z"),
        Err((MatchTier::Anchored, Outcome::Nothing))
    );
}
