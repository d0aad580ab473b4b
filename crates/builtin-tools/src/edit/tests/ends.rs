//! What a match begins and ends with: invisible characters, line feeds, indentation and words.

use super::{edit, gives, is_unclear};
use crate::edit::{Reading, Refusal};

#[test]
fn what_goes_is_there_in_the_same_characters() {
    is_unclear("limit = 10³\n", "limit = 103", "limit = 104");
    is_unclear("① first\n", "1 first\n", "1 other\n");
    is_unclear("x = “b²”\n", "x = \"b2\"\n", "x = \"c2\"\n");
    is_unclear("今日は25℃。\n", "今日は25°C。\n", "明日は25°C。\n");
    let fullwidth = "１２：３０ “x”…\n";
    gives(
        Reading::LookAlikes,
        fullwidth,
        "12:30 \"x\"...\n",
        "12:45 \"x\"...\n",
        "１２：45 “x”…\n",
    );
    // In a line that the edit keeps, `3` may stand for the `³` of the file.
    gives(
        Reading::LookAlikes,
        "limit = 10³\nx = 1\n",
        "limit = 103\nx = 1\n",
        "limit = 103\nx = 2\n",
        "limit = 10³\nx = 2\n",
    );
}

#[test]
fn selectors_and_marks_of_direction_are_invisible() {
    for (text, old) in [("⚠️ one\n", "⚠ one\n"), ("⚠ one\n", "⚠️ one\n")] {
        gives(
            Reading::LookAlikes,
            text,
            old,
            &format!("{old}✔️ two\n"),
            &format!("{text}✔️ two\n"),
        );
    }
    gives(
        Reading::LookAlikes,
        "say \u{2066}x\u{2069} one\n",
        "say x one\n",
        "say x two\n",
        "say \u{2066}x\u{2069} two\n",
    );
}

#[test]
fn a_part_of_a_line_keeps_the_line_feeds_of_the_new_text() {
    gives(
        Reading::LookAlikes,
        "foo bar\nLINE “one”\nXyz abc\n",
        "bar\nLINE \"one\"\nXyz",
        "bar\n",
        "foo bar\n abc\n",
    );
    // If the old text ends in a line feed, the line keeps its end in the file, whether or not the
    // new text has a line feed there.
    for new in ["bar \"y\"", "bar \"y\"\n"] {
        let text = "foo bar “x”\nnext\n";
        let after = "foo bar “y”\nnext\n";
        gives(Reading::LookAlikes, text, "bar \"x\"\n", new, after);
    }
    // The new line feed would put the rest of the line on a line of its own, which would not be as
    // deep as its block.
    is_unclear("    foo “x” bar\n", "foo \"x\"", "foo \"x\"\n");
    is_unclear("a “x” b", "a \"x\" b", "a \"x\" b\n");
}

#[test]
fn a_place_that_has_changed_is_not_looked_for_at_another_depth() {
    let text = "class A:\n    def run(self):\n        start()\n        stop()\n\n\nclass B:\n    class C:\n        def run(self):\n            start()\n            wait()\n";
    let old = "    def run(self):\n        start()\n        wait()\n";
    is_unclear(text, old, &old.replace("wait()", "wait(5)"));
    let other = text.replacen("start()", "begin()", 1);
    assert!(edit(&other, old, &old.replace("wait()", "wait(5)")).is_ok());
}

#[test]
fn a_word_is_not_cut_where_whole_lines_may_be_meant() {
    for (text, old) in [
        ("discount = 1\ncount    = 1\n", "count = 1\n"),
        ("xfoo\nbar\n\nfoo \nbar\n", "foo\nbar\n"),
        ("x = 10\nx  = 1\n", "x = 1"),
    ] {
        let new = old.replace('1', "2").replace("bar", "qux");
        let edited = edit(text, old, &new);
        assert!(matches!(edited, Err(Refusal::Several { .. })), "{edited:?}");
    }
    let edited = edit("discount = 1\n", "count = 1\n", "count = 2\n");
    assert_eq!(edited, Ok(("discount = 2\n".to_owned(), None)));
}

const HIDDEN: &str = "(\u{200f}|\u{ad}|\u{200d}|\u{feff}|\r |\u{85}|\u{2028}|\u{2029} ){0,2}";

proptest::proptest! {
    #[test]
    fn what_the_file_has_around_a_match_is_neither_lost_nor_doubled(
        head in "(say |\tsay |\t)?", lead in HIDDEN, trail in HIDDEN, tail in "( more|  )?",
        told in proptest::array::uniform2(proptest::bool::ANY), blanks in "( |  )?",
    ) {
        let text = format!("first\n{head}{lead}“x” mid end{trail}{tail}\nlast\n");
        let [lead, trail] = [(lead, told[0]), (trail, told[1])].map(|(hidden, is_told)| {
            if is_told { hidden } else { String::new() }
        });
        let old = format!("{lead}\"x\" mid end{trail}{blanks}");
        if let Ok((edited, _)) = edit(&text, &old, &old.replace("mid", "new")) {
            proptest::prop_assert_eq!(edited, text.replace("mid", "new"), "{:?}", old);
        }
    }

    #[test]
    fn line_feeds_around_a_part_of_a_line_are_those_of_the_new_text(
        parts in proptest::sample::select(vec![("foo ", ""), ("", " bar"), ("foo ", " bar")]),
        above in "\n{0,2}", below in "\n{0,2}",
    ) {
        let file = |middle: &str| format!("{}{middle}{}\nnext\n", parts.0, parts.1);
        let new = |x: &str| format!("{above}{x}{below}");
        let edited = edit(&file("“x” y"), "\"x\" y", &new("\"x\" z"));
        let edited = edited.map(|(text, _)| text);
        proptest::prop_assert_eq!(edited, Ok(file(&new("“x” z"))));
    }
}
