mod ends;

use super::{Reading, Refusal, apply};

fn edit(text: &str, old: &str, new: &str) -> Result<(String, Option<Reading>), Refusal> {
    apply(text, old, new).map(|edited| (edited.text(text), edited.reading))
}

#[track_caller]
fn gives(reading: Reading, text: &str, old: &str, new: &str, expected: &str) {
    assert_eq!(
        edit(text, old, new),
        Ok((expected.to_owned(), Some(reading)))
    );
}

#[test]
fn line_ends_and_blanks_at_line_ends_stay_as_the_file_has_them() {
    let text = "a  \r\nb\r\nc\t\r\nd";
    gives(
        Reading::LookAlikes,
        text,
        "a\nb\nc",
        "a\nB\nc",
        "a  \r\nB\r\nc\t\r\nd",
    );
    gives(
        Reading::LookAlikes,
        "a\nb\nc",
        "\n\na\nb\nc\n\n",
        "\n\na\nx\nc\n\n",
        "a\nx\nc",
    );
    gives(Reading::LookAlikes, "a \nb\nc\n", "a\nb\n", "", "c\n");
    gives(
        Reading::LookAlikes,
        "a \nb\nc\n",
        "a\r\nb\r\n",
        "a\r\nx\r\n",
        "a \nx\nc\n",
    );
}

#[test]
fn a_shifted_text_is_shifted_back() {
    let text = "def f():\n    if x:\n        y()\n    z()\n";
    gives(
        Reading::LookAlikes,
        text,
        "if x:\n    y()\n",
        "if x:\n    y()\n    w()\n",
        "def f():\n    if x:\n        y()\n        w()\n    z()\n",
    );
    gives(
        Reading::LookAlikes,
        "\tif (x) {\n\t\ty();\n\t}\n",
        "    if (x) {\n        y();\n    }",
        "    if (x) {\n        if (z) {\n            y();\n        }\n    }",
        "\tif (x) {\n\t\tif (z) {\n\t\t\ty();\n\t\t}\n\t}\n",
    );
}

#[test]
fn a_new_text_with_the_files_indentation_is_taken_as_it_is() {
    gives(
        Reading::LookAlikes,
        "def f():\n    for i in r:\n        log()\n        stop()\n    stop()\n    c()\n",
        "    log()\n    stop()\nstop()\nc()",
        "        log()\n        stop()\n    stop()\n    d()\n    c()",
        "def f():\n    for i in r:\n        log()\n        stop()\n    stop()\n    d()\n    c()\n",
    );
    gives(
        Reading::LookAlikes,
        "def f():\n    if a:\n        if b:\n            x()\n        else:\n            y()\n    else:\n        z()\n",
        "    if b:\n        x()\n    else:\n        y()\nelse:\n    z()",
        "        if b:\n            x()\n        else:\n            y()\n    else:\n        w()\n        z()",
        "def f():\n    if a:\n        if b:\n            x()\n        else:\n            y()\n    else:\n        w()\n        z()\n",
    );
    gives(
        Reading::LookAlikes,
        "function f() {\n    for (;;) {\n        if (a) {\n            x();\n        }\n    }\n    c();\n}\n",
        "    if (a) {\n        x();\n    }\n}\nc();",
        "        if (a) {\n            x();\n        }\n    }\n    d();\n    c();",
        "function f() {\n    for (;;) {\n        if (a) {\n            x();\n        }\n    }\n    d();\n    c();\n}\n",
    );
}

#[test]
fn blanks_of_new_text_are_those_of_one_text() {
    let gives = |text, old, new, expected| gives(Reading::LookAlikes, text, old, new, expected);
    gives(
        "  margin:  5px;\n",
        "margin: 5px;\n",
        "margin: 6px;\n",
        "  margin:  6px;\n",
    );
    gives("x\nf(a,  b)\ny\n", "f(a, b)\n", "\n", "x\n\ny\n");
    gives("x\nf(a,  b)\ny\n", "f(a, b)\n", "", "x\ny\n");
    gives(
        "题\n\u{3000}\u{3000}第一段。\n\u{3000}\u{3000}第二段。\n",
        "第一段。\n第二段。\n",
        "第一段。\n新。\n第二段。\n",
        "题\n\u{3000}\u{3000}第一段。\n\u{3000}\u{3000}新。\n\u{3000}\u{3000}第二段。\n",
    );
    gives(
        "f(a)\nb\n",
        "f(a)\u{2028}",
        "f(c)\u{2028}g\u{2028}",
        "f(c)\ng\nb\n",
    );
}

#[test]
fn look_alikes_stay_where_they_are_only_quoted() {
    gives(
        Reading::LookAlikes,
        "say “hi” — don’t\u{a0}go",
        "say \"hi\" - don't go",
        "say \"hi\" - don't stay",
        "say “hi” — don’t\u{a0}stay",
    );
}

#[test]
fn escapes_and_line_numbers_are_taken_off() {
    gives(
        Reading::Escapes,
        "a(\"x\")\n\tb()\n",
        "a(\\\"x\\\")\\n\\tb()",
        "a(\\\"y\\\")\\n\\tb()",
        "a(\"y\")\n\tb()\n",
    );
    gives(
        Reading::LineNumbers,
        "  a\n  b\n",
        "12:   a\n13:   b",
        "12:   a\n13:   c",
        "  a\n  c\n",
    );
}

#[test]
fn a_line_that_stays_may_be_mistyped() {
    let text = "fn total(xs: &[u32]) -> u32 {\n    let mut sum = 0;\n    for x in xs {\n        sum += x;\n    }\n    sum\n}\n";
    gives(
        Reading::Mistyped,
        text,
        "fn totl(xs: &[u32]) -> u32 {\n    let mut sum = 0;\n    for x in xs {\n        sum += x;",
        "fn totl(xs: &[u32]) -> u32 {\n    let mut sum = 0;\n    for x in xs {\n        sum += x * 2;",
        &text.replace("sum += x;", "sum += x * 2;"),
    );
    // A line that the edit changes must not be mistyped.
    let old = "    let mut sum = 0;\n    for x in xs {\n        sum =+ x;\n    }\n    sum";
    let new = "    let mut sum = 0;\n    for x in xs {\n        sum += x * 2;\n    }\n    sum";
    assert_eq!(edit(text, old, new), Err(Refusal::NotFound));
}

/// Files, old texts and new texts of edits that are refused.
const REFUSED: &[(&str, &str, &str)] = &[
    // A line of the file that only looks like a comment was left out.
    (
        "#define HELP   1\n#define CMD   2\n\n#define SET 3\n",
        "#define HELP   1\n\n#define SET 3\n",
        "#define HELP   1\n#define CMD   2\n\n#define SET 3\n",
    ),
    (
        "# markdoc\n\n## 0.2.3\n\n- Updated\n\n## 0.2.2\n\n- a\n",
        "# markdoc\n\n## 0.2.2\n",
        "# markdoc\n\n## 0.2.3\n\n- Updated\n\n## 0.2.2\n",
    ),
    (
        "\tend = strchr(host);\n\tif (end) {\n\t\t*end = 0;\n\t\tend++;\n\t} else\n",
        "\tend = strchr(host);\n\tif (end) {\n\t\tend++;\n\t} else",
        "\tend = strchr(host);\n\tif (end) {\n\t\tif (p) {\n\t\t\t*end = 0;\n\t\t}\n\t\tend++;\n\t} else",
    ),
    // A line that old_string lacks is similar to the one that follows it.
    (
        "  },\n  \"scripts\": {\n    \"build\": \"astro-scripts build && tsc\",\n    \"build:ci\": \"astro-scripts build\",\n    \"dev\": \"x\"\n",
        "  },\n  \"scripts\": {\n    \"build:ci\": \"astro-scripts build\",\n",
        "  },\n  \"files\": [],\n  \"scripts\": {\n    \"build\": \"astro-scripts build && tsc\",\n    \"build:ci\": \"astro-scripts build\",\n",
    ),
    // `\neg` and `\to` are commands of TeX.
    (
        "\\begin{ex}\\label{ex:taut}\n  Show it.\n\\end{ex}\n",
        "\\begin{ex}\\label{ex:taut}\\n  Show it.\\n\\end{ex}",
        "\\begin{ex}\\label{ex:taut}\\n  Show that $\\neg A \\to B$.\\n\\end{ex}",
    ),
    // new_string has the marks of a diff.
    (
        "    /* Sort parameters\n     * have to take */\n    int sort_desc;\n",
        "     /* Sort parameters\n      * have to take */\n     int sort_desc;\n",
        "     /* Sort parameters\n      * have to take */\n+    int sort_dontsort;\n     int sort_desc;\n",
    ),
    // old_string lacks a blank line beside the change.
    (
        "</div>\n```\n\n### Slots\ntext of slots\n",
        "</div>\n```\n### Slots\ntext of slots",
        "</div>\n```\n### Props\n\nProps are so.\n\n### Slots\ntext of slots",
    ),
    // old_string lacks a line at its edge.
    (
        "a = one()\nb = two()\nc = three()\n",
        "a = one()  \nb = two()",
        "a = one()  \nb = 2\nc = three()",
    ),
    // The one quote of the new line may be that of the comment, or another one.
    ("f(\"Don’t\")\nend\n", "f(\"Don't\")\nend", "f('a')\nend"),
    // The file has other blanks within the line, and the edit does more than to replace words.
    ("  margin: 5px;\n", "  margin:5px;", "  margin:-5px;"),
    ("SUGGESTS=no\n", "SUGGESTS = no", "SUGGESTS: no"),
    ("`f(a, b, [c])`\n", "`f(a,b,[c])`", "`f(a,b[,c])`"),
    (
        "image: dbmate:1.16.2\n",
        "image: dbmate:1 .16.2",
        "build:\n  context: .\n  file: D",
    ),
    // The new line goes on in the next one, which no line of the file does.
    (
        "all:\n\tcc -c a.c\n\tld a.o\n",
        "\tld a.o \\\n",
        "\tld a.o \\\n\t  b.o\n",
    ),
    // The new line is as deep as in the file already, or not.
    (
        "if a:\n    x = 1\n    if b:\n        y = 2\nelse:\n    z = 3\n",
        "  if a:\n      x = 1\n      if b:\n          y = 2\n  else:",
        "  if a:\n      x = 1\n      if b:\n          y = 2\n    x = 4\n  else:",
    ),
    (
        "f:\n    'one',\n    'two',\n    'three',\n",
        "'one',\n'two',\n'three',\n",
        "'one',\n'two',\n    'new',\n'three',\n",
    ),
    // Only the file has wide blanks as indentation, and a line comes behind the last one.
    (
        "题\n\u{3000}\u{3000}第一段。\n\u{3000}\u{3000}第二段。\n",
        "第一段。\n第二段。\n",
        "第一段。\n第二段。\n第三段。\n",
    ),
    // Both texts have full-width signs, one of which the file never has.
    (
        "（a，b）\nf(c)\n",
        "（a,b）\nf（c）\n",
        "（a,b）\nf（c，d）\n",
    ),
    // Only the file has blanks at the ends of lines.
    (
        "one two \nthree four\n",
        "one two\nthree four",
        "one two\nnew line\nthree four",
    ),
];

#[test]
fn what_has_two_meanings_is_refused() {
    for (text, old, new) in REFUSED {
        let edited = edit(text, old, new);
        assert!(edited.is_err(), "{old:?}: {edited:?}");
    }
}

#[test]
fn what_is_done_already_is_said_to_be() {
    let text = "fn one() {\n    first();\n    second();\n    third();\n}\n";
    let old = "    first();\n    third();\n";
    let new = "    first();\n    second();\n    third();\n";
    assert_eq!(edit(text, old, new), Err(Refusal::Applied { line: 2 }));
    let old = "    first();\n    2nd();\n    third();\n";
    assert_eq!(edit(text, old, new), Err(Refusal::Applied { line: 2 }));
    // The file has the new line already, directly above the lines of old_string.
    let old = "  second(); \n  third();";
    let new = "  first();\n  second();\n  third();";
    assert_eq!(edit(text, old, new), Err(Refusal::Applied { line: 2 }));
}

#[test]
fn each_reading_has_an_inverse_for_new_lines() {
    // HTML entities.
    gives(
        Reading::Escapes,
        "git config bogus &&\n\trejected\n",
        "git config bogus &amp;&amp;\n\trejected",
        "git config bogus &amp;&amp;\n\tstatus 2&gt;err &amp;&amp;\n\trejected",
        "git config bogus &&\n\tstatus 2>err &&\n\trejected\n",
    );
    // No-break spaces.
    gives(
        Reading::LookAlikes,
        "  - scipy=1.9\n  - tqdm=4.64\n",
        "\u{a0}\u{a0}-\u{a0}scipy=1.9\n\u{a0}\u{a0}-\u{a0}tqdm=4.64",
        "\u{a0}\u{a0}-\u{a0}scipy=1.9\n  - stats=0.13\n\u{a0}\u{a0}-\u{a0}tqdm=4.64",
        "  - scipy=1.9\n  - stats=0.13\n  - tqdm=4.64\n",
    );
    // Typographic quotes.
    gives(
        Reading::LookAlikes,
        "say('one')\nsay('two')\n",
        "say(‘one’)\nsay(‘two’)",
        "say(‘one’)\nsay(‘new’)\nsay(‘two’)",
        "say('one')\nsay('new')\nsay('two')\n",
    );
    // An escaped JSON string.
    gives(
        Reading::Escapes,
        "a(\"x\\n\");\nb();\n",
        "a(\\\"x\\\\n\\\");\\nb();",
        "a(\\\"x\\\\n\\\");\\nc(\\\"y\\\\t\\\");\\nb();",
        "a(\"x\\n\");\nc(\"y\\t\");\nb();\n",
    );
    // A Markdown code fence.
    gives(
        Reading::Fence,
        "one();\ntwo();\n",
        "```js\none();\ntwo();\n```",
        "```js\none();\nthree();\n```",
        "one();\nthree();\n",
    );
}

#[test]
fn half_a_line_end_joins_no_lines_and_mixed_ends_stay() {
    let text = "line1\r\nline2\r\n";
    let same = edit(text, "line1\r", "line one").map(|(text, _)| text);
    assert_eq!(same.as_deref(), Ok("line one\r\nline2\r\n"));
    for (text, old, new) in [
        ("the end of it\r\n", "end\r", "END\r"),
        ("the end of it\n", "end\r", "END\r"),
        ("the end of it\r\n", "end\r", "END\n"),
    ] {
        assert!(edit(text, old, new).is_err(), "{text:?}");
    }
    let blank = edit("a\r\n\r\n", "a\r\n\r", "b\n").map(|(text, _)| text);
    assert_eq!(blank.as_deref(), Ok("b\r\n\r\n"));
    let edited = edit("/bin/a\n", "/bin/a\r", "/bin/a\r/bin/b\r").map(|(text, _)| text);
    assert_eq!(edited.as_deref(), Ok("/bin/a\n/bin/b\n"));
    let text = "a\r\nb\nc\r\n";
    let edited = edit(text, "a\nb\nc", "a\nB\nc").map(|(text, _)| text);
    assert_eq!(edited.as_deref(), Ok("a\r\nB\nc\r\n"));
    let edited = edit(text, "a\r\nb\nc", "a\r\nb\nn\nc").map(|(text, _)| text);
    assert_eq!(edited.as_deref(), Ok("a\r\nb\nn\nc\r\n"));
    assert!(edit(text, "a\nb\nc", "a\nb\nn\nc").is_err());
}

proptest::proptest! {
    #[test]
    fn any_texts_are_dealt_with_and_what_is_kept_is_not_touched(
        text in TEXT, old in TEXT, new in TEXT, from in 0_usize..40, length in 0_usize..20,
    ) {
        let _ = edit(&text, &old, &new);
        // The old text is a part of the file with a model's typical slips. The edit must change
        // nothing but what the new text adds.
        let part: String = text.chars().skip(from).take(length).collect();
        let slipped = part.replace('\'', "’").replace("\r\n", "\n").replace(" \n", "\n");
        let appended = format!("{slipped}\nNEW");
        if let Ok((edited, reading)) = edit(&text, &slipped, &appended) {
            let without = edited.replace("\r\nNEW", "").replace("\nNEW", "").replace("NEW", "");
            let bare = |t: &str| t.split_whitespace().collect::<String>();
            proptest::prop_assert_eq!(bare(&without), bare(&text), "{:?}", reading);
        }
    }

    #[test]
    fn the_blanks_of_a_changed_line_are_all_of_one_text(
        words in proptest::collection::vec("(ab|c)?[=:,()-]", 2..8),
        put in proptest::collection::vec("x?[=:,()-]", 0..3),
        at in 0_usize..8, gone in 0_usize..3,
        blanks in proptest::collection::vec(proptest::bool::ANY, 30),
    ) {
        let line = |words: &[String], from: usize| {
            let words = words.iter().zip(&blanks[from..]);
            let words = words.map(|(word, blank)| format!("{word}{}", if *blank { " " } else { "" }));
            words.collect::<String>().trim_end().to_owned()
        };
        let mut changed = words.clone();
        let at = at.min(words.len());
        changed.splice(at..(at + gone).min(words.len()), put);
        let [file, old, new] = [line(&words, 0), line(&words, 10), line(&changed, 20)];
        if let Ok((edited, reading)) = edit(&file, &old, &new) {
            let is_one = edited == new || edited == line(&changed, 0) || edited == file;
            proptest::prop_assert!(is_one, "{:?} {:?} {:?} {:?}", edited, old, new, reading);
        }
    }
}

const TEXT: &str = "(a|bb|\\.\\.\\.|1: |\\\\n|\\\\|'|’|，|\u{e9}|e\u{301}|…| |\u{3000}|\u{2028}|\t|    |\n|\r\n|\r|\\{|// x){0,24}";

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
    assert_eq!(edit(text, text, &more), Ok((more.clone(), None)));
}

#[test]
fn two_places_are_one_too_many() {
    let twice = "a  \nb\n\na \nb\n";
    let (reading, lines) = (Some(Reading::LookAlikes), vec![1, 4]);
    assert_eq!(
        edit(twice, "a\nb", "c"),
        Err(Refusal::Several { reading, lines })
    );
    assert_eq!(
        edit("x\ny\n", "something else", "z"),
        Err(Refusal::NotFound)
    );
    let (reading, lines) = (None, vec![1, 2]);
    assert_eq!(
        edit("x\nx\n", "x", "z"),
        Err(Refusal::Several { reading, lines })
    );
}

#[track_caller]
fn is_unclear(text: &str, old: &str, new: &str) {
    let refusal = edit(text, old, new);
    assert!(
        matches!(refusal, Err(Refusal::Unclear { .. })),
        "{refusal:?}, of {old:?} in {text:?}"
    );
}

#[test]
fn a_blank_line_in_the_place_of_a_line_is_no_blank_line_too_many() {
    // A line is added or removed beside a blank line.
    let text = "# One size for each.\n[size]\n  name = one\n\n[end]\n";
    is_unclear(
        text,
        "# One size for each.  \n[size]\n\n",
        "# One size for each.\n[size]\n  pattern = o.*\n\n",
    );
    is_unclear(
        text,
        "# One size for each.  \n[size]\n\n",
        "# One size of each.\n[size]\n",
    );
    // The file has the blank line below `another line;`, old_string above it.
    is_unclear(
        "one line;\nanother line;\n\nthe end;\n",
        "one line;\n\nanother line;",
        "one line;\n\nanother line;\na third line;",
    );
}

#[test]
fn what_dots_stand_for_must_be_one_run_of_lines() {
    let text = "first value;\nx\nfn parse(\n  a\n  second value;\nx\nfn parse(\n  a\n";
    let refusal = edit(
        text,
        "first value;\n// ... existing code ...\nfn parse(",
        "first value;\n// ... existing code ...\nfn other();\nfn parse(",
    );
    assert!(
        matches!(refusal, Err(Refusal::Several { .. })),
        "{refusal:?}"
    );
}

#[test]
fn a_place_that_is_only_like_it_is_not_changed_if_another_has_the_new_text() {
    let refusal = edit(
        "  key = start(1);\n  more(key);\n  use(key);\n--\n    key = start(1);\n    use(key);\n",
        "  key = start(1);\n  use(key);\n",
        "  key = start(1);\n  more(key);\n  use(key);\n",
    );
    assert_eq!(refusal, Err(Refusal::Applied { line: 1 }));
}

#[test]
fn depth_that_no_line_tells_is_unclear() {
    let text = "{\n\tone(1);\n\ttwo(2);\n\n";
    is_unclear(text, "one(1);\ntwo(2);\n", "one(1);\ntwo(2);\n&end\n");
    is_unclear(
        text,
        "one(1);\ntwo(2);\n",
        "one(1);\n#ifdef X\nx();\n#endif\ntwo(2);\n",
    );
    gives(
        Reading::LookAlikes,
        text,
        "one(1);\ntwo(2);\n",
        "one(1);\nx();\ntwo(2);\n",
        "{\n\tone(1);\n\tx();\n\ttwo(2);\n\n",
    );
}

#[test]
fn blanks_and_line_ends_of_the_file_are_not_exchanged_for_those_of_a_slip() {
    is_unclear(
        "one();\n\t\ntwo();\n",
        "one();  \n\t\ntwo();  \n",
        "one();  \n  \nmore();  \n",
    );
    // The lines of the file end in two ways, and a line that moves would take its line end with it.
    is_unclear(
        "one(1);\r\ntwo(2);\nthree(3);\r\n",
        "one(1); \ntwo(2);\nthree(3);",
        "two(2); \nfour(4);\nthree(3);",
    );
}

#[test]
fn a_forgotten_line_is_found_behind_one_that_is_there_twice() {
    let text = "if A\none = 1\nendif\nendif\n\nrest\n";
    is_unclear(
        text,
        "if A \none = 1\nendif\n\n",
        "if A\none = 2\nendif\nendif\n\n",
    );
    let text = "begin\nbegin\none = 1\nend\n";
    is_unclear(
        text,
        "begin\none = 1 \nend\n",
        "begin\nbegin\none = 2\nend\n",
    );
    // The line that old_string lacks differs from the next ones only in blanks, but must not be
    // taken for one of them.
    let text = "for t in [\n  quote(a.0.0),\n  quote(a .0.0),\n  quote(a. 0.0),\n";
    let refusal = edit(
        text,
        "for t in [\n  quote(a .0.0),\n  quote(a. 0.0),\n",
        "for t of [\n  quote(a.0.0),\n  quote(a .0.0),\n  quote(a. 0.0),\n",
    );
    assert!(refusal.is_err(), "{refusal:?}");
}

#[test]
fn dots_that_the_file_has_stand_for_themselves() {
    let text = "if foo:\n    ...\n\n\nThe next section of the page\n";
    is_unclear(
        text,
        "if foo:\n    ...\nThe next section of the page\n",
        "if foo:\n    ...\n.. _label:\nThe next section of the page\n",
    );
}

#[test]
fn a_change_of_look_alikes_is_made_as_it_is_written() {
    gives(
        Reading::LookAlikes,
        "first line;\nno matter---we go\nlast line;\n",
        "first  line;\nno matter---we go\nlast line;\n",
        "first  line;\nno matter—we go\nlast line;\n",
        "first line;\nno matter—we go\nlast line;\n",
    );
}

#[test]
fn blanks_of_one_new_line_are_not_taken_for_a_slip() {
    is_unclear(
        "one();\ntwo();\n",
        "one();  \ntwo();  \n",
        "one();  \nmore();\n  \ntwo();  \n",
    );
    gives(
        Reading::LookAlikes,
        "one();\ntwo();\n",
        "one();  \ntwo();  \n",
        "one();  \nmore();  \ntwo();  \n",
        "one();\nmore();\ntwo();\n",
    );
    // new_string adds a blank line where the file already has one that old_string lacks.
    is_unclear(
        "one();\ntwo();\n\n",
        "one();  \ntwo();\n",
        "one();  \ntwo();\n\n",
    );
}

#[test]
fn a_fence_is_around_both_texts_only_if_it_is_the_same() {
    let edited = edit(
        "```sh\n$ npm start\n```\n",
        "```h\n$ npm start\n```",
        "```bash\nnpm start\n```",
    );
    assert!(edited.is_err(), "{edited:?}");
}

#[test]
fn a_line_that_moves_is_as_the_file_has_it() {
    gives(
        Reading::LookAlikes,
        "first(1);\nkeys('a', 'b');\nlast(2);\n",
        "first(1);\nkeys('a','b');\nlast(2);\n",
        "keys('a','b');\nfirst(1);\nlast(2);\n",
        "keys('a', 'b');\nfirst(1);\nlast(2);\n",
    );
}

#[test]
fn an_addition_among_blank_lines_that_the_file_does_not_have_is_unclear() {
    is_unclear(
        "one\n}\n\n\n/**\n",
        "one\n}\n\n\n\n/**\n",
        "one\n}\n\n\n\nmore\n}\n\n\n\n/**\n",
    );
}

#[test]
fn a_number_of_the_file_is_no_line_number() {
    for (text, old, new) in [
        (
            "11:30 lunch\n14:00 call\n",
            "12:30 lunch\n",
            "12:30 dinner\n",
        ),
        ("p:\n  444: https\n", "  443: https\n", "  443: h2\n"),
        ("f:\n\tnop\nL7:\tret\n", "L3:\tret\n", "L3:\tjmp out\n"),
    ] {
        assert_eq!(edit(text, old, new), Err(Refusal::NotFound), "{old}");
    }
}

#[test]
fn dots_stand_for_lines_of_one_block() {
    let text = "function a()\n  x()\n  y()\nend\n\nfunction b()\n  log()\n  return cached\nend\n";
    let old = "function a()\n  ...\n  return cached\nend\n";
    assert!(edit(text, old, &old.replace("cached", "nil")).is_err());
    let old = "function b()\n  ...\n  return cached\nend\n";
    gives(
        Reading::LinesLeftOut,
        text,
        old,
        &old.replace("cached", "nil"),
        &text.replace("cached", "nil"),
    );
}

#[test]
fn dots_stand_for_at_least_one_line() {
    let text = "{\n  \"a\": {\n    \"x\": 1\n  }\n}\n";
    let old = "  \"a\": {\n    ...\n    \"x\": 1\n";
    assert_eq!(
        edit(text, old, &old.replace('1', "2")),
        Err(Refusal::NotFound)
    );
}

#[test]
fn tabs_between_columns_count() {
    let blanks = edit(
        "x\t5\t7\ny\t6\t8\n",
        "x 5 7\ny 6 8\n",
        "x 5 7\nz 1 2\ny 6 8\n",
    );
    assert!(blanks.is_err(), "{blanks:?}");
    let column = edit("x\t5\t\t7\n", "x\t\t5\t7\n", "x\t\t6\t7\n");
    assert!(column.is_err(), "{column:?}");
}

#[test]
fn another_word_is_no_slip() {
    let text = "alpha one two\nbeta three four\nif enabled then\nx > limit\ndelta position left\n";
    for (from, to, at, put) in [
        ("position left", "position right", "\n", "\nNEW\n"),
        ("if enabled", "if not enabled", "alpha", "gamma"),
        ("x > limit", "x < limit", "alpha", "gamma"),
        ("beta three", "beta seven", "delta", "gamma"),
    ] {
        let old = text.replace(from, to);
        let new = match at {
            "\n" => format!("{}{put}", old.trim_end()),
            at => old.replace(at, put),
        };
        assert!(edit(text, &old, &new).is_err(), "{to}");
    }
}

#[test]
fn what_is_not_done_is_not_said_to_be() {
    let text = "fn one() {\n    start(1);\n    log_the_value(x);\n    finish(x);\n}\n";
    let old = "    start();\n    log_the_value(x);\n    finish(x);\n";
    for new in [
        // The edit adds nothing by which the file could show that it was made.
        "    log_the_value(x);\n    finish(x);\n",
        // The edit changes nothing else but indentation.
        "      log_the_value(x);\n      finish(x);\n",
        // The file has the new line, but also one that the edit removes.
        "    start(1);\n    log_the_value(x);\n",
    ] {
        assert_eq!(edit(text, old, new), Err(Refusal::NotFound), "{new}");
    }
}

#[test]
fn a_line_that_goes_has_its_blanks_where_the_file_has_them() {
    let css = ".menu.item {\n}\nrm -rf build/ *.o\nx  = f(a, b)\n";
    for (old, new) in [
        (".menu .item {\n}\n", ".menu .entry {\n}\n"),
        ("rm -rf build/*.o\n", "rm -rf build/*.a\n"),
        ("x = f(a,b)\n", "x = g(a,b)\n"),
    ] {
        assert_eq!(edit(css, old, new), Err(Refusal::NotFound), "{old}");
    }
    gives(
        Reading::LookAlikes,
        css,
        "x = f(a, b)\n",
        "x = g(a, b)\n",
        &css.replace("f(a", "g(a"),
    );
}

#[test]
fn a_slip_is_in_a_letter_of_a_word() {
    let text = "alpha one two\nbeta three four\n@@\ngamma five six\ndelta seven eight\n";
    for (there, quoted) in [
        ("my @items = load();", "my $items = load();"),
        ("x = load[value];", "x = load(value);"),
        ("x = this?.value;", "x = this.value;"),
        ("run <- go . start", "run <- go $ start"),
        ("total ≥ maximum", "total ≤ maximum"),
        ("| Linux | ❌ |", "| Linux | ✅ |"),
        ("رقم المادة ٣ هنا", "رقم المادة ٤ هنا"),
        ("仅限男性用户使用的选项", "仅限女性用户使用的选项"),
        ("the_names of all", "thenames of all"),
    ] {
        let text = text.replace("@@", there);
        let old = text.replace(there, quoted);
        let edited = edit(&text, &old, &old.replace("eight", "NINE"));
        assert_eq!(edited, Err(Refusal::NotFound), "{quoted}");
    }
    let old = text.replace("beta", "bta").replace("@@", "@@,");
    let fresh = old.replace("eight", "NINE");
    let wanted = text.replace("eight", "NINE");
    assert!(
        edit(text, &old, &fresh).is_err(),
        "a mark is all that a line has"
    );
    let old = text.replace("beta", "bta");
    let fresh = old.replace("eight", "NINE");
    gives(Reading::Mistyped, text, &old, &fresh, &wanted);
}

#[test]
fn dots_end_where_the_block_of_lines_that_are_not_indented_ends() {
    for (text, old) in [
        (
            "[a]\nx=1\ny=2\n\n[b]\nx=3\nport=4000\n",
            "[a]\nx=1\n...\nport=4000\n",
        ),
        (
            "[a]\nx=1\ny=2\n[b]\nz=3\nport=4000\n",
            "[a]\nx=1\n...\nport=4000\n",
        ),
        (
            "first() {\nx=1\n}\nsecond() {\nport=4000\n}\n",
            "first() {\nx=1\n...\nport=4000\n",
        ),
        (
            "## First\nabc\n## Second part\nport=4000\n",
            "## First\n...\nport=4000\n",
        ),
        (
            "def first():\n    pass\ndef second():\n    pass\nport=4000\n",
            "def first():\n...\nport=4000\n",
        ),
    ] {
        let edited = edit(text, old, &old.replace("4000", "5000"));
        assert!(edited.is_err(), "{old}: {edited:?}");
    }
    let text = "import a1\nimport b1\nimport c1\nimport d1\n";
    let old = "import a1\n...\nimport d1\n";
    let new = old.replace("d1", "e1");
    gives(
        Reading::LinesLeftOut,
        text,
        old,
        &new,
        &text.replace("d1", "e1"),
    );
}

#[test]
fn what_takes_too_long_is_not_compared() {
    // Lines with the same letters in other orders: only the distance tells them apart.
    let words: Vec<String> = (0..128)
        .map(|n| format!("a{}", "b".repeat(n / 9)))
        .collect();
    let line = |n: usize| [&words[n..], &words[..n]].concat().concat();
    let text: Vec<String> = (0..128).map(|n| format!("{n}\n{}\n", line(n))).collect();
    let old = format!("0\n{}x\n1\n{}\n2", line(0), line(1));
    assert_eq!(
        edit(&text.concat(), &old, &old.replace('2', "z")),
        Err(Refusal::TooLarge)
    );
    let fits: Vec<String> = (0..4000).map(|n| format!("{n}x\n")).collect();
    let text = format!("{}{}", "a line that is there\n".repeat(300), fits.concat());
    let Err(Refusal::Several { lines, .. }) = edit(&text, "a line that is there ", "x") else {
        panic!("one place of 300");
    };
    assert_eq!(lines.len(), super::MAX_PLACES + 1);
}
